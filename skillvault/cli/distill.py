"""distill: make a skill of a finished session."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import click

from skillvault import api
from skillvault.api import Vault
from skillvault.cli.options import (
    dry_option,
    json_option,
    now_option,
    open_vault,
    print_json,
    say,
    vault_option,
)
from skillvault.cli.run_report import end_distilling, print_done, run_shape
from skillvault.loop.run import Report


@click.command()
@click.argument("session", metavar="FILE|ID")
@click.option("--domain", metavar="NAME", help="The domain, if the session names none.")
@vault_option
@now_option
@dry_option
@json_option
def distill(
    session: str,
    domain: str | None,
    vault_path: Path | None,
    now: datetime | None,
    dry: bool,
    as_data: bool,
) -> None:
    """Make a skill of a finished session.

    FILE is a session, or a transcript of Claude Code or Codex. ID is a session's, also one that
    stands only in its outcomes. What comes of a transcript waits in proposed/.
    """
    vault = open_vault(vault_path)
    on_done = None if as_data else print_done
    name, unread, report = api.distill(
        vault, session, domain=domain, now=now, dry=dry, on_done=on_done
    )
    _say_unread(unread)
    if as_data:
        print_json({"session": name, **run_shape(report)})
    elif not dry:
        _explain(vault, name, report)
    end_distilling(vault, report, dry=dry)


def _say_unread(unread: Mapping[str, int]) -> None:
    """Which lines of a transcript were not understood, each kind once."""
    for kind, count in sorted(unread.items()):
        say(f"not understood: {count} line{'s' * (count > 1)}: {kind}")


def _explain(vault: Vault, name: str, report: Report) -> None:
    """Where the session stands, if no skill came of it now."""
    if report.quarantined or any(done.change.step == "distill" for done in report.done):
        return
    _, answers = vault.why_not(name)
    click.echo(f"session {name}: {answers[-1].state}: {answers[-1].reason}")

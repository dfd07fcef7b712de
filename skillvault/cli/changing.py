"""The commands that bring outcomes in and run the loop: init, record, import, run."""

import sys
from datetime import datetime
from pathlib import Path

import click

from skillvault import exchange
from skillvault.api import Vault
from skillvault.cli.report import print_done, print_intake, print_refused, print_run, run_shape
from skillvault.cli.shared import (
    as_json,
    dry_option,
    given_file,
    json_option,
    now_option,
    opened,
    say,
    track,
    vault_option,
)
from skillvault.errors import UnavailableError, UsageError
from skillvault.steps.registry import STEPS
from skillvault.steps.run import Report
from skillvault.vault.files import layout


@click.command()
@click.argument("path", default=".", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--domain", "domains", multiple=True, metavar="NAME", help="Add a domain; repeatable."
)
@click.option("--post-merge", is_flag=True, help="Install a hook that runs the loop after a pull.")
@now_option
def init(path: Path, domains: tuple[str, ...], post_merge: bool, now: datetime | None) -> None:
    """Make a vault in PATH, or complete a clone of one.

    It adds what is missing (inbox/, quarantine/, the hook) and changes no file of yours.
    """
    vault, made = Vault.init(path, domains, post_merge=post_merge, now=now)
    for line in made.did:
        click.echo(f"made {line}")
    if not made.did:
        click.echo(f"{vault.root} is a complete vault; nothing to do")
    for line in made.left:
        say(f"to do by hand: {line}")
    if any(line.startswith("the first commit") for line in made.did):
        say("next: skillvault record --example > my-outcome.yaml, edit it, record it, run")


@click.command()
@click.argument("file", required=False)
@click.option("--example", is_flag=True, help="Print an example to edit; record nothing.")
@vault_option
@now_option
@dry_option
@json_option
def record(
    file: str | None,
    example: bool,
    vault_path: Path | None,
    now: datetime | None,
    dry: bool,
    as_data: bool,
) -> None:
    """Record one outcome from FILE, or from stdin (-).

    The outcome is YAML, JSON, or Markdown with front matter.
    """
    if example:
        click.echo(_example().read_text(encoding="utf-8"), nl=False)
        return
    if file is None and sys.stdin.isatty():
        raise UsageError(
            "no outcome; pass a FILE, or - for stdin; `skillvault record --example` prints one"
        )
    given = given_file(file or "-")
    report = opened(vault_path).record([given], now=now, dry=dry, track=track)
    _intake(report, dry=dry, as_data=as_data)


@click.command("import")
@click.argument("format_name", metavar="FORMAT", type=click.Choice(sorted(exchange.FORMATS)))
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--domain", metavar="NAME", help="Give the outcomes this domain.")
@vault_option
@now_option
@dry_option
@json_option
def import_(
    format_name: str,
    files: tuple[Path, ...],
    domain: str | None,
    vault_path: Path | None,
    now: datetime | None,
    dry: bool,
    as_data: bool,
) -> None:
    """Import results of other tools.

    FORMAT is the tool that wrote FILES.
    """
    vault = opened(vault_path)
    report = vault.import_files(format_name, files, domain=domain, now=now, dry=dry, track=track)
    _intake(report, dry=dry, as_data=as_data)


def _intake(report: Report, *, dry: bool, as_data: bool) -> None:
    """Say what was taken in; exit 1 where something was not."""
    print_intake(report, dry=dry, as_data=as_data)
    if report.quarantined:
        sys.exit(1)


@click.command()
@click.argument("wanted", nargs=-1, metavar="[STEP]...", type=click.Choice(list(STEPS)))
@click.option(
    "--batch", is_flag=True, help="Send all questions to Claude as one batch, at half price."
)
@click.option("--retry", is_flag=True, help="Ask the judge again about outcomes it failed at.")
@vault_option
@now_option
@dry_option
@json_option
def run(
    wanted: tuple[str, ...],
    batch: bool,
    retry: bool,
    vault_path: Path | None,
    now: datetime | None,
    dry: bool,
    as_data: bool,
) -> None:
    """Do what is due, and print one line a commit.

    With STEPs it does only these; without, all of them, from the inbox to expiry.
    """
    vault = opened(vault_path)
    if batch and dry:
        raise UsageError(
            "--batch sends paid requests, so it cannot be a dry run; remove --batch or --dry-run"
        )
    if retry:
        vault.store.ledger.revive()
    on_done = None if as_data else print_done
    report = vault.run(wanted, now=now, dry=dry, on_done=on_done, track=track, batch=batch)
    if as_data:
        as_json(run_shape(report))
        print_refused(report)
    else:
        print_run(report)
    if report.unavailable and not batch:
        sys.exit(UnavailableError.exit_code)


def _example() -> Path:
    return layout.resource("vault_template") / "examples" / "outcome.yaml"

"""close: say how a decision ended, by what was seen and not by what was claimed."""

import shlex
import sys
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

import click
from msgspec.structs import replace

from skillvault.api import Vault
from skillvault.cli.options import (
    dry_option,
    json_option,
    now_option,
    open_vault,
    say,
    vault_option,
)
from skillvault.cli.run_report import end_intake
from skillvault.exchange.suite_report import failing_assertion, printable
from skillvault.exchange.watched import watch_command
from skillvault.model.errors import SkillvaultError, UsageError
from skillvault.model.records import OBSERVERS, Observer, Status
from skillvault.sessions.closing import Closing, closing_by_exit, closing_by_report

_ONE = "--junit FILE, --ctrf FILE, --from-exit N, --status S or --run -- COMMAND"
_REPORT = click.Path(path_type=Path, exists=True)
_WORDS = 200  # characters of a command
_LINES = 40  # of the end of an output


@click.command()
@click.argument("decision", metavar="ID")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND]")
@click.option("--junit", type=_REPORT, metavar="FILE", help="Close by this JUnit report.")
@click.option("--ctrf", type=_REPORT, metavar="FILE", help="Close by this CTRF report.")
@click.option("--from-exit", type=int, metavar="N", help="Close by a command's exit code.")
@click.option("--status", type=click.Choice(get_args(Status)), help="Close as a person saw it.")
@click.option("--run", "runs", is_flag=True, help="Run COMMAND and close by its exit code.")
@click.option("--evidence", metavar="TEXT", help="Say what shows it.")
@click.option("--by", type=click.Choice(OBSERVERS), help="Say who saw it.")
@click.option("--agent", metavar="NAME", help="Of agents that use one ID close this one's.")
@click.option("--domain", metavar="NAME", help="Use this domain (default: the decision's).")
@vault_option
@now_option
@dry_option
@json_option
def close(  # noqa: PLR0913 (one an option)
    decision: str,
    command: tuple[str, ...],
    evidence: str | None,
    by: Observer | None,
    agent: str | None,
    domain: str | None,
    vault_path: Path | None,
    now: datetime | None,
    dry: bool,
    as_data: bool,
    **sources: Any,
) -> None:
    """Close a decision by what was seen of its end.

    The result joins what was recommended and recorded for ID, whichever arrives first.
    """
    source = _chosen_way(sources, command)
    if source == "runs" and as_data:
        raise UsageError("--json is for the other ways; --run passes on what COMMAND prints")
    vault = open_vault(vault_path)
    code = 0
    if source == "runs":
        closing, code = _watched(command)
    else:
        closing = _closing(source, sources[source])
    closing = replace(
        closing,
        agent=agent,
        domain=domain,
        observed_by=by or closing.observed_by,
        evidence=closing.evidence if evidence is None else evidence,
    )
    if source == "runs":
        _close_quietly(vault, decision, closing, now=now, dry=dry)
        sys.exit(code)
    report = vault.close(decision, closing, now=now, dry=dry)
    end_intake(vault, report, dry=dry, as_data=as_data)


def _chosen_way(sources: dict[str, Any], command: tuple[str, ...]) -> str:
    """The one way to tell how it ended; UsageError for none, several, or a stray command."""
    chosen = [name for name, value in sources.items() if value is not None and value is not False]
    if len(chosen) != 1:
        raise UsageError(f"say how it ended in one way: {_ONE}")
    if (chosen == ["runs"]) != bool(command):
        raise UsageError("--run needs a COMMAND behind --, and only --run takes one")
    return chosen[0]


def _closing(source: str, value: Any) -> Closing:
    if source in ("junit", "ctrf"):
        return closing_by_report(source, value)
    if source == "from_exit":
        return closing_by_exit(value)
    return Closing(status=value, observed_by="person")


def _watched(command: tuple[str, ...]) -> tuple[Closing, int]:
    ended = watch_command(command)
    lines = printable(ended.output).splitlines()[-_LINES:]
    evidence = failing_assertion(ended.output) if ended.exit_code else "\n".join(lines)
    return closing_by_exit(ended.exit_code, evidence, shlex.join(command)[:_WORDS]), ended.exit_code


def _close_quietly(
    vault: Vault, decision: str, closing: Closing, *, now: datetime | None, dry: bool
) -> None:
    """Close after a command that ran: its exit code is passed on, whatever becomes of this."""
    try:
        report = vault.close(decision, closing, now=now, dry=dry)
    except SkillvaultError as error:
        say(f"skillvault: not closed: {error}")
        return
    for refused in report.quarantined:
        say(f"skillvault: not closed: {refused.message}")
    for waiting in report.waiting:
        say(f"skillvault: {decision} waits: {waiting.reason}")
    if report.done:
        say(f"skillvault: {decision} closed: {closing.status}, by {closing.observed_by}")

"""import: results of other tools as outcomes, skills of other programs as proposals."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

import click

from skillvault.api import Vault
from skillvault.cli.install import print_report
from skillvault.cli.options import (
    dry_option,
    echo,
    json_option,
    now_option,
    open_vault,
    say,
    track,
    vault_option,
)
from skillvault.cli.run_report import end_intake, pack
from skillvault.exchange import formats
from skillvault.model.errors import UsageError
from skillvault.model.records import Trust
from skillvault.model.text.text import flat, shorten
from skillvault.review.importing import FORMATS
from skillvault.review.installing import InstallReport
from skillvault.sessions.transcripts import CLIENTS, transcript_files
from skillvault.vault.files.arrival import shown

_WIDTHS = (20, 8, 10, 8, 60)  # when, status, by, action, task
_LARGE = 8 << 20  # bytes of transcripts from which on a bar is worth showing


def import_transcripts(
    vault: Vault,
    client: str,
    paths: Sequence[Path],
    *,
    domain: str | None,
    trust: Trust,
    now: datetime | None,
    dry: bool,
    as_data: bool,
) -> None:
    """Bring transcripts in, and end as an intake does."""
    is_table = dry and not as_data
    if is_table:
        echo(_row("made at", "status", "seen by", "action", "task"))
    with _bar(sum(file.stat().st_size for file in transcript_files(paths))) as advance:
        report, read = vault.import_transcripts(
            client,
            paths,
            domain=domain,
            trust=trust,
            now=now,
            dry=dry,
            advance=advance,
            on_outcomes=_print_rows if is_table else None,
        )
    for kind, count in sorted(read.unread.items()):
        lines = f"{count} line{'s were' if count > 1 else ' was'}"
        say(shown(f"{lines} not understood: {kind}; the rest was read"))
    if is_table:
        report.done = []  # the table says it
    end_intake(vault, report, dry=dry, as_data=as_data)


def _print_rows(outcomes: Sequence[dict[str, Any]]) -> None:
    """A line an outcome."""
    for outcome in outcomes:
        decision, result = outcome["decision"], outcome["result"]
        made = decision.get("made_at", outcome["occurred_at"])
        seen = result.get("observed_by", "nobody")
        echo(_row(made, result["status"], seen, decision["action"], decision["task"]))


def _row(*values: str) -> str:
    cells = (shorten(flat(value), width) for value, width in zip(values, _WIDTHS, strict=True))
    padded = (f"{cell:{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))
    return shown("  ".join(padded)).rstrip()


@contextmanager
def _bar(size: int) -> Iterator[Callable[[int], object]]:
    """A progress bar on stderr for so many bytes, where they are many and somebody looks."""
    if size < _LARGE:
        yield int
        return
    from rich import console, progress  # noqa: PLC0415 (only long work pays for rich)

    screen = console.Console(stderr=True)
    with progress.Progress(console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("reading transcripts", total=size)
        yield lambda count: bar.advance(task, count)


_SKILLS = "skills"
_REPORTS = ("ctrf", "junit")


@click.command("import")
@click.argument(
    "format_name",
    metavar="FORMAT",
    type=click.Choice([*sorted(formats.FORMATS), *CLIENTS, _SKILLS]),
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--domain", metavar="NAME", help="Give the outcomes this domain.")
@click.option("--decision", metavar="ID", help="Take a test report as the end of this decision.")
@click.option(
    "--trust",
    type=click.Choice(get_args(Trust)),
    default="local",
    help="Give transcripts of others the trust untrusted.",
)
@click.option(
    "--from",
    "skill_format",
    type=click.Choice(FORMATS),
    help="Read the skills as this program writes them (default: as they look).",
)
@vault_option
@now_option
@dry_option
@json_option
def import_(  # noqa: PLR0913 (one an option)
    format_name: str,
    files: tuple[Path, ...],
    domain: str | None,
    decision: str | None,
    trust: Trust,
    skill_format: str | None,
    vault_path: Path | None,
    now: datetime | None,
    dry: bool,
    as_data: bool,
) -> None:
    """Import results of other tools, or skills.

    FORMAT is the tool that wrote FILES. With claude-code and codex they are transcripts, or folders
    of them, one outcome a prompt. With skills they are folders or files with skills of another
    program, which wait for your approval.
    """
    _check(format_name, domain, skill_format)
    if decision is not None and format_name not in _REPORTS:
        raise UsageError("--decision is for test reports; write junit or ctrf")
    if trust != "local" and format_name not in CLIENTS:
        raise UsageError("--trust is for transcripts; drop a file into inbox/untrusted/ instead")
    vault = open_vault(vault_path)
    if format_name in CLIENTS:
        import_transcripts(
            vault, format_name, files, domain=domain, trust=trust, now=now, dry=dry, as_data=as_data
        )
        return
    if format_name != _SKILLS:
        report = vault.import_files(
            format_name,
            files,
            domain=domain,
            decision=decision,
            now=now,
            dry=dry,
            track=track,
        )
        end_intake(vault, report, dry=dry, as_data=as_data)
        return
    brought = InstallReport()
    for path in files:
        brought.include(vault.curate.installer.import_skills(path, skill_format, now=now, dry=dry))
    if brought.installed and not dry:
        pack(vault)
    print_report(brought, as_data=as_data)


def _check(format_name: str, domain: str | None, skill_format: str | None) -> None:
    """UsageError for options that do not go together."""
    if format_name == _SKILLS and domain is not None:
        raise UsageError("--domain is for outcomes; a skill has the domain that it names")
    if format_name != _SKILLS and skill_format is not None:
        raise UsageError("--from is for skills; write `skillvault import skills PATH`")

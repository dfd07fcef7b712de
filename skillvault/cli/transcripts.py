"""How an import of transcripts goes on and reads: a bar, a dry run as a table, what was left."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from skillvault.api import Vault
from skillvault.cli.options import echo, say
from skillvault.cli.run_report import end_intake
from skillvault.model.records import Trust
from skillvault.model.text.text import flat, shorten
from skillvault.sessions.transcripts import transcript_files
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

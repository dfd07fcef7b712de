"""cold: leave the records of closed months out of the work tree of this clone."""

from datetime import UTC, datetime
from pathlib import Path

import click

from skillvault.cli.options import (
    echo,
    json_option,
    now_option,
    open_vault,
    print_json,
    say,
    vault_option,
)
from skillvault.model.text.text import pluralize
from skillvault.vault.commit.cold import ColdReport, leave_out_months, take_back_months


@click.command()
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    metavar="MONTHS",
    help="Keep the files of so many months, with this one.",
)
@click.option("--off", is_flag=True, help="Put all files back.")
@vault_option
@now_option
@json_option
def cold(
    keep: int, off: bool, vault_path: Path | None, now: datetime | None, as_data: bool
) -> None:
    """Leave the outcomes of closed months out of this clone's work tree.

    Git and every command read them from the history. Removes no file that you edited, staged or
    added. `skillvault watch` moves on with each month.
    """
    store = open_vault(vault_path).store
    today = (now or datetime.now(UTC)).date()
    report = take_back_months(store) if off else leave_out_months(store, today, keep)
    if as_data:
        print_json(report)
    else:
        _print(report)


def _print(report: ColdReport) -> None:
    if report.files:
        size = f"{report.size:,} bytes"
        echo(f"left out {pluralize(report.files, 'file')} of closed months ({size})")
    if report.returned:
        echo(f"put back {pluralize(report.returned, 'file')}")
    if not (report.files or report.returned):
        echo("nothing to do")
    for path, state in report.stay.items():
        say(f"stays with its month, because it is not committed: {state} {path}")

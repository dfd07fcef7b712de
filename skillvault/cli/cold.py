"""cold, clone: leave the files of closed months out of a clone of a vault."""

import shutil
from contextlib import ExitStack
from datetime import UTC, date, datetime
from pathlib import Path

import click

from skillvault.cli.options import (
    Options,
    common_options,
    echo,
    json_option,
    now_option,
    print_json,
    say,
)
from skillvault.model.errors import NotAVaultError, UsageError
from skillvault.model.text.text import pluralize
from skillvault.vault.commit.cold import (
    ColdReport,
    check_out_open_months,
    leave_out_months,
    take_back_months,
)
from skillvault.vault.files import layout
from skillvault.vault.git.promisor import clone_history
from skillvault.vault.git.repository import Git
from skillvault.vault.setup import SetupReport, add_local_files

_keep_option = click.option(
    "--keep",
    type=click.IntRange(1, 1200),
    default=2,
    show_default=True,
    metavar="MONTHS",
    help="Keep the files of so many months, this one included.",
)


@click.command()
@_keep_option
@click.option("--off", is_flag=True, help="Put all files back.")
@common_options(now_option, json_option)
def cold(keep: int, off: bool, options: Options) -> None:
    """Leave the files of closed months out of this clone.

    Commands read them from git. No file that you edited, staged or added is removed. `skillvault
    watch` moves on with each month.
    """
    store, today = options.open_vault().store, _today(options.now)
    report = take_back_months(store) if off else leave_out_months(store, today, keep)
    print_json(report) if options.as_json else _print_cold(report)


def _print_cold(report: ColdReport) -> None:
    if report.files:
        size = f"{report.size:,} bytes"
        echo(f"left out {pluralize(report.files, 'file')} of closed months ({size})")
    if report.returned:
        echo(f"put back {pluralize(report.returned, 'file')}")
    if not (report.files or report.returned):
        echo("nothing to do")
    for path, state in report.stay.items():
        say(f"stays with its month, because it is not committed: {state} {path}")


def _today(now: datetime | None) -> date:
    return (now or datetime.now(UTC)).date()


@click.command()
@click.argument("url")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@_keep_option
@now_option
def clone(url: str, path: Path | None, keep: int, now: datetime | None) -> None:
    """Clone a vault without the files of closed months.

    The history is whole. The texts of older files are fetched when the vault is first used.
    """
    root = layout.real_path(path or Path(url.rstrip("/").rpartition("/")[2].removesuffix(".git")))
    if root.exists():
        raise UsageError(f"{root}: exists already; name another folder")
    root.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as cleanup:
        cleanup.callback(shutil.rmtree, root, ignore_errors=True)
        clone_history(url, root)
        git, report = Git(root), SetupReport()
        head = git.head()
        if head is None or layout.VAULT_FILE not in git.entries(head, [layout.VAULT_FILE]):
            raise NotAVaultError(
                f"{url}: is not a vault (it has no {layout.VAULT_FILE}); nothing was kept"
            )
        count = check_out_open_months(git, _today(now), keep)
        add_local_files(root, git, report, post_merge=False)
        cleanup.pop_all()
    echo(
        f"cloned {pluralize(count, 'file')} to {root}, with the texts of {pluralize(keep, 'month')}"
    )
    for line in report.left:
        say(f"to do by hand: {line}")
    say(f"next: skillvault --vault {root} status, which fetches the other texts and indexes them")

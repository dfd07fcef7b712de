"""undo: the vault as if what a commit made had been rejected."""

from datetime import datetime
from pathlib import Path

import click

from skillvault.api import undo as undo_commit
from skillvault.cli.options import (
    dry_option,
    json_option,
    now_option,
    open_vault,
    print_json,
    vault_option,
)
from skillvault.cli.run_report import print_recomputed, run_shape


@click.command()
@click.argument("what", metavar="COMMIT|SKILL")
@click.option("--reason", default="", metavar="TEXT", help="Say why; later runs repeat it.")
@vault_option
@now_option
@dry_option
@json_option
def undo(
    what: str,
    reason: str,
    vault_path: Path | None,
    now: datetime | None,
    dry: bool,
    as_data: bool,
) -> None:
    """Undo what a commit learned, or what made a skill.

    The vault becomes as if that had been rejected when it was proposed, and what rests on it is
    computed again. What a person wrote later stays; if that cannot be, nothing is done.
    """
    report = undo_commit(open_vault(vault_path), what, reason, now=now, dry=dry)
    print_json(run_shape(report)) if as_data else print_recomputed(report)

"""retract: an outcome that was wrong counts nowhere."""

from datetime import datetime
from pathlib import Path

import click

from skillvault.api import retract as retract_outcome
from skillvault.cli.options import (
    dry_option,
    json_option,
    now_option,
    open_vault,
    print_json,
    say,
    vault_option,
)
from skillvault.cli.run_report import print_recomputed, run_shape


@click.command()
@click.argument("outcome")
@click.option("--reason", required=True, metavar="TEXT", help="Say what was wrong with it.")
@vault_option
@now_option
@dry_option
@json_option
def retract(
    outcome: str,
    reason: str,
    vault_path: Path | None,
    now: datetime | None,
    dry: bool,
    as_data: bool,
) -> None:
    """Let an outcome that was wrong count nowhere.

    It stays as it is written. What rested on it is computed again, in the same commit. OUTCOME is a
    path, an id or the beginning of an id; `skillvault impact OUTCOME` shows what would change.
    """
    report = retract_outcome(open_vault(vault_path), outcome, reason, now=now, dry=dry)
    if as_data:
        print_json(run_shape(report))
        return
    print_recomputed(report)
    if not dry:
        say("`git revert` of this commit, and `skillvault run`, count it again")

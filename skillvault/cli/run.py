"""run: do what is due."""

import sys
from datetime import datetime
from pathlib import Path

import click

from skillvault.cli.options import (
    dry_option,
    json_option,
    now_option,
    open_vault,
    print_json,
    track,
    vault_option,
)
from skillvault.cli.run_report import pack, print_done, print_refused, print_run, run_shape
from skillvault.loop.registry import STEPS
from skillvault.model.errors import UnavailableError, UsageError


@click.command()
@click.argument("wanted", nargs=-1, metavar="[STEP]...", type=click.Choice(list(STEPS)))
@click.option(
    "--batch", is_flag=True, help="Send all questions to Claude as one batch, at half price."
)
@click.option(
    "--code",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Capture by this folder of code instead of those of the policy (repeatable).",
)
@click.option("--retry", is_flag=True, help="Ask the judge again about outcomes it failed at.")
@vault_option
@now_option
@dry_option
@json_option
def run(
    wanted: tuple[str, ...],
    batch: bool,
    code: tuple[Path, ...],
    retry: bool,
    vault_path: Path | None,
    now: datetime | None,
    dry: bool,
    as_data: bool,
) -> None:
    """Do what is due, and print one line a commit.

    With STEPs it does only these; without, all of them, from the inbox to expiry.
    """
    vault = open_vault(vault_path)
    if batch and dry:
        raise UsageError(
            "--batch sends paid requests, so it cannot be a dry run; remove --batch or --dry-run"
        )
    if code and wanted and "capture" not in wanted:
        raise UsageError("--code is for the step capture; name that step too, or no step")
    if retry:
        vault.store.ledger.forget_failures()
    on_done = None if as_data else print_done
    report = vault.run(
        wanted, now=now, dry=dry, on_done=on_done, track=track, batch=batch, code=code
    )
    if as_data:
        print_json(run_shape(report))
        print_refused(report)
    else:
        print_run(report)
    if not dry:
        pack(vault)
    if report.unavailable and not batch:
        sys.exit(UnavailableError.exit_code)

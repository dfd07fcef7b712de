"""The command that is asked before acting: judge. Its exit code is the answer."""

import sys
from datetime import datetime
from pathlib import Path

import click

from skillvault.cli.shared import as_json, given_file, json_option, now_option, opened, vault_option
from skillvault.learning.advise import Advice

NO = 10  # the exit code of a no


@click.command()
@click.argument("file", metavar="DECISION")
@vault_option
@now_option
@json_option
def judge(file: str, vault_path: Path | None, now: datetime | None, as_data: bool) -> None:
    """Ask whether a decision may be carried out.

    DECISION is a file (or - for stdin) like an outcome without a result. Exit code 0 for yes,
    10 for no. If the judge cannot be asked, the answer is yes, with a warning.
    """
    found = opened(vault_path).advise(*given_file(file), now=now)
    if as_data:
        as_json(found)
    else:
        _print(found)
    if not found.proceed:
        sys.exit(NO)


def _print(found: Advice) -> None:
    click.echo(f"{'proceed' if found.proceed else 'no'}: {found.reason}")
    for warning in found.warnings:
        click.echo(f"  warning: {warning}")
    if found.suggestion:
        click.echo(f"  suggestion: {found.suggestion}")
    if found.amount is not None:
        click.echo(f"  amount: {found.amount:g} at confidence {found.confidence:g}")

"""judge: may a decision be carried out? The exit code is the answer."""

import sys
from datetime import datetime
from pathlib import Path

import click

from skillvault.cli.options import (
    echo,
    input_file,
    json_option,
    now_option,
    open_vault,
    print_json,
    vault_option,
)
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
    advice = open_vault(vault_path).advise(*input_file(file), now=now)
    if as_data:
        print_json(advice)
    else:
        _print(advice)
    if not advice.proceed:
        sys.exit(NO)


def _print(advice: Advice) -> None:
    echo(f"{'proceed' if advice.proceed else 'no'}: {advice.reason}")
    for warning in advice.warnings:
        echo(f"  warning: {warning}")
    if advice.suggestion:
        echo(f"  suggestion: {advice.suggestion}")
    if advice.amount is not None:
        echo(f"  amount: {advice.amount:g} at confidence {advice.confidence:g}")

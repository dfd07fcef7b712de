"""check: everything that must hold in a vault."""

import os
import sys
from pathlib import Path

import click
import msgspec

from skillvault.cli.options import echo, json_option, open_vault, print_json, vault_option
from skillvault.model.records import Problem


@click.command()
@click.option("--staged", is_flag=True, help="Check what is staged instead of the work tree.")
@vault_option
@json_option
def check(staged: bool, vault_path: Path | None, as_data: bool) -> None:
    """Check everything that must hold in a vault.

    Exit code 1, with a list, if something does not hold.
    """
    index = os.environ.get("GIT_INDEX_FILE") if staged else None
    checked = open_vault(vault_path).check(
        staged=staged, index=str(Path(index).absolute()) if index else None
    )
    if as_data:
        print_json(msgspec.to_builtins(checked))
    else:
        for problem in checked.problems:
            echo(_line(problem), err=staged)
        for note in checked.notes if not staged else ():
            echo(f"note: {_line(note)}")
        if not staged and not checked.problems:
            echo("all holds")
    if checked.problems:
        sys.exit(1)


def _line(problem: Problem) -> str:
    return f"{problem.path}: {problem.message} [{problem.code}]"

"""The command that looks for what is wrong: doctor. It must work where nothing else does."""

import sys
from pathlib import Path

import click

from skillvault.api import Vault
from skillvault.cli.options import echo, json_option, print_json, vault_option, vault_path_of
from skillvault.inspect.doctor import Row


@click.command()
@click.option("--mend", is_flag=True, help="Make commits once more that no branch has.")
@vault_option
@json_option
def doctor(mend: bool, vault_path: Path | None, as_data: bool) -> None:
    """Find what keeps the vault from working, and how to fix it.

    Exit code 1 if there is a problem. Without --mend nothing is changed but what a killed
    skillvault left.
    """
    rows = Vault.doctor(vault_path_of(vault_path), mend=mend)
    if as_data:
        print_json(rows)
    else:
        _print(rows)
    if any(row.state == "problem" for row in rows):
        sys.exit(1)


def _print(rows: list[Row]) -> None:
    width = max(len(row.check) for row in rows)
    for row in rows:
        echo(f"{row.state:7}  {row.check:{width}}  {row.detail}")
        if row.fix:
            echo(f"{'':7}  {'':{width}}  fix: {row.fix}")

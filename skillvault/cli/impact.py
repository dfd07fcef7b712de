"""impact: what came of a record."""

from pathlib import Path

import click

from skillvault.cli.options import json_option, open_vault, print_json, vault_option
from skillvault.cli.tree import print_tree


@click.command()
@click.argument("ref")
@vault_option
@json_option
def impact(ref: str, vault_path: Path | None, as_data: bool) -> None:
    """Show what came of an outcome, evaluation or fact.

    REF is a path, an id or the beginning of an id.
    """
    tree = open_vault(vault_path).impact(ref)
    print_json(tree) if as_data else print_tree(tree, "targets")

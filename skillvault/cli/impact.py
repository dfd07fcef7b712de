"""impact: what came of a record."""

from pathlib import Path

import click

from skillvault.api import if_retracted
from skillvault.cli.options import echo, json_option, open_vault, print_json, vault_option
from skillvault.cli.tree import print_tree
from skillvault.model.records import Ref


@click.command()
@click.argument("ref")
@vault_option
@json_option
def impact(ref: str, vault_path: Path | None, as_data: bool) -> None:
    """Show what came of an outcome, evaluation or fact.

    REF is a path, an id or the beginning of an id. Of an outcome also what retracting it would
    change.
    """
    vault = open_vault(vault_path)
    tree = vault.impact(ref)
    changes = if_retracted(vault, Ref(tree["ref"]["kind"], tree["ref"]["id"]))
    if as_data:
        print_json({**tree, "if_retracted": changes})
        return
    print_tree(tree, "targets")
    if changes:
        echo("if it is retracted (`skillvault retract`):")
        for change in changes:
            echo(f"  {change['step']}: {change['subject']}")

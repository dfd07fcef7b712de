"""why: from which outcomes a record came."""

from pathlib import Path

import click

from skillvault.cli.options import json_option, open_vault, print_json, vault_option
from skillvault.cli.tree import print_tree


@click.command()
@click.argument("ref")
@vault_option
@json_option
def why(ref: str, vault_path: Path | None, as_data: bool) -> None:
    """Show from which outcomes a skill, fact or evaluation came.

    The runs that speak against a skill or a fact stand below.

    REF is a name, a path, an id or the beginning of an id.
    """
    tree = open_vault(vault_path).why(ref)
    if as_data:
        print_json(tree)
        return
    print_tree(tree, "sources")
    if tree["against"]:
        click.echo("against it:")
        for evaluation in tree["against"]:
            click.echo(f"  evaluation {evaluation}")

"""why: from which outcomes a record came."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from skillvault.cli.options import echo, json_option, open_vault, print_json, vault_option
from skillvault.cli.tree import print_tree


@click.command()
@click.argument("ref")
@vault_option
@json_option
def why(ref: str, vault_path: Path | None, as_data: bool) -> None:
    """Show from which outcomes a skill, fact or evaluation came.

    What a skill says separates outcomes stands below with its test, and so do the runs that speak
    against a skill or a fact.

    REF is a name, a path, an id or the beginning of an id.
    """
    tree = open_vault(vault_path).why(ref)
    if as_data:
        print_json(tree)
        return
    print_tree(tree, "sources")
    _print_rules(tree["rules"])
    if tree["against"]:
        echo("against it:")
        for evaluation in tree["against"]:
            echo(f"  evaluation {evaluation}")


def _print_rules(rules: Sequence[Mapping[str, Any]]) -> None:
    if rules:
        echo("rules:")
    for rule in rules:
        (met, of), (other, others) = rule["met"], rule["other"]
        episodes, all_episodes = rule["episodes"]
        echo(f"  {rule['action']} {rule['rule']}")
        echo(
            f"    {rule['result']}: {met} of {of} that meet it, in {episodes} of {all_episodes} "
            f"episodes; {other} of {others} others"
        )
        echo(f"    p {rule['p']:.2g} among all conditions at once, {rule['z']:.1f} standard errors")
        for held in rule["held"]:
            echo(f"    held against: {held}")

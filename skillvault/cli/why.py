"""why: from which outcomes a record came."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from skillvault.cli.options import echo, json_option, open_vault, print_json, vault_option
from skillvault.cli.tree import print_tree
from skillvault.loop.learned import Writing
from skillvault.model.text.text import flat


@click.command()
@click.argument("ref")
@vault_option
@json_option
def why(ref: str, vault_path: Path | None, as_data: bool) -> None:
    """Show from which outcomes a skill, fact or evaluation came.

    Of a pattern it shows the rule, who wrote it, and the code that bears it out.

    What a skill says separates outcomes stands below with its test, and so do the runs that speak
    against a skill or a fact, and what a judge answered about it.

    REF is a name, a path, an id or the beginning of an id.
    """
    tree = open_vault(vault_path).why(ref)
    if as_data:
        print_json(tree)
        return
    print_tree(tree, "sources")
    if "pattern" in tree:
        _print_pattern(tree["pattern"], tree["written"])
    _print_rules(tree["rules"])
    _print_answers(tree.get("answers", ()))
    if tree["against"]:
        echo("against it:")
        for evaluation in tree["against"]:
            echo(f"  evaluation {evaluation}")


def _print_pattern(pattern: Mapping[str, Any], written: Writing | None) -> None:
    echo(f"rule: {pattern['pattern']}")
    if written:
        day = written.date[:10]
        echo(f"written: {written.sha[:10]} {day} {written.author}: {written.subject}")
    where = f" ({pattern['code']})" if pattern["code"] else ""
    lines = f" on {pattern['lines']} lines" if pattern["lines"] else ""
    echo(f"evidence: {pattern['occurrences']} files{lines}{where}, {pattern['confidence']}")
    echo(f"  {pattern['evidence']}")
    if pattern["missed"]:
        echo(f"missed: {pattern['missed'].at} in {pattern['missed'].code}")


def _print_answers(answers: Sequence[Mapping[str, Any]]) -> None:
    if answers:
        echo("answers:")
    for answer in answers:
        session = f", session {answer['session']}" if answer["session"] else ""
        echo(f"  {answer['key']} by {answer['by']}{session}: {answer['question']}")
        for name, words in answer["reply"].items():
            if words and isinstance(words, str):
                echo(f"    {name}: {flat(words)}")


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

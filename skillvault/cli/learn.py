"""learn: note a rule, or list what was learned."""

from pathlib import Path

import click

from skillvault.api import Vault
from skillvault.cli.options import (
    dry_option,
    echo,
    json_option,
    open_vault,
    print_json,
    say,
    vault_option,
)
from skillvault.learning.capture.prompt import Told
from skillvault.loop.learned import Learned
from skillvault.model.errors import UsageError


@click.command()
@click.argument("rule", required=False)
@click.option(
    "--scope",
    multiple=True,
    metavar="PATTERN",
    help="Look for it in these files only, as in '*.yaml'; repeatable. YAML and markdown count for "
    "no other rule.",
)
@click.option("--list", "lists", is_flag=True, help="Print the patterns and the latest rules.")
@vault_option
@dry_option
@json_option
def learn(
    rule: str | None,
    scope: tuple[str, ...],
    lists: bool,
    vault_path: Path | None,
    dry: bool,
    as_data: bool,
) -> None:
    """Note a RULE in LEARNINGS.md, or list what was learned.

    A rule that enough files of the code bear out becomes a pattern (`skillvault run capture`).
    """
    if lists == (rule is not None):
        raise UsageError('pass a rule, as in `skillvault learn "RULE"`, or --list')
    if lists and scope:
        raise UsageError("--scope is of a rule; pass one")
    if lists and dry:
        raise UsageError("--dry-run is of a rule; pass one")
    vault = open_vault(vault_path)
    if rule is not None:
        _note(vault, rule, scope, dry=dry, as_data=as_data)
        return
    found, waiting = vault.notebook.told(), len(vault.notebook.uncommitted())
    if as_data:
        print_json(learned_shape(found.told))
    elif found.told.prompt_text or not waiting:
        echo(found.told.prompt_text or "nothing learned yet; note a rule")
    say_cut(found)
    if waiting:
        rules = f"{waiting} rule" + "s" * (waiting > 1)
        say(f"not committed yet, so in no prompt: {rules}; next: skillvault run")


def _note(vault: Vault, rule: str, scope: tuple[str, ...], *, dry: bool, as_data: bool) -> None:
    noted = vault.learn(rule, scope, dry=dry)
    if as_data:
        print_json({"rule": noted})
    elif dry:
        echo(f"would note in LEARNINGS.md: {noted}")
    else:
        echo(f"noted in LEARNINGS.md: {noted}")
        say("next: skillvault run (it looks for the rule in your code)")


def learned_shape(told: Told) -> dict[str, object]:
    """Patterns and rules as JSON."""
    keys = ("id", "pattern", "confidence", "occurrences", "evidence")
    return {
        "patterns": [{key: getattr(one, key) for key in keys} for one in told.patterns],
        "rules": list(told.rules),
        "cut": {"patterns": told.cut_patterns, "rules": told.cut_rules},
    }


def say_cut(found: Learned) -> None:
    """What was left out over the budget, and why there are no patterns, on stderr."""
    told = found.told
    cut = {"pattern": told.cut_patterns, "rule": told.cut_rules}
    parts = [f"{count} {noun}" + "s" * (count > 1) for noun, count in cut.items() if count]
    if parts:
        say(f"left out over capture.budget: {' and '.join(parts)}")
    if found.problem:
        say(f"{found.problem.path}: {found.problem.message}; rules alone are told")

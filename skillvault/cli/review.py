"""review: what waits for a person, in a terminal, as JSON, or as branches."""

import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import click

from skillvault.api import Vault, proposal_branches, proposals
from skillvault.cli import sitting
from skillvault.cli.basis import basis_lines, notes_of
from skillvault.cli.options import (
    echo,
    json_option,
    now_option,
    open_vault,
    print_json,
    say,
    vault_option,
)
from skillvault.model.errors import UsageError
from skillvault.review.review import WaitingSkill


@click.command()
@click.option("--branch", is_flag=True, help="Make a branch of each, for a pull request.")
@vault_option
@now_option
@json_option
def review(branch: bool, vault_path: Path | None, now: datetime | None, as_data: bool) -> None:
    """Review the skills that wait for you, one after the other.

    In a terminal a key decides about each; elsewhere they are listed with the commands that do.
    """
    vault = open_vault(vault_path)
    if branch and as_data:
        raise UsageError("--branch makes branches and --json prints values; choose one of them")
    if branch:
        _print_branches(vault, now)
    elif as_data:
        print_json(proposals(vault))
    elif sys.stdin.isatty() and sys.stdout.isatty():
        sitting.sit(vault)
    else:
        _print_list(proposals(vault))


def _print_branches(vault: Vault, now: datetime | None) -> None:
    branches = proposal_branches(vault, now=now)
    for one in branches:
        echo(f"{one.branch}  {one.commit[:10]}{'' if one.made else '  (was there)'}")
    if not branches:
        echo("nothing waits for you")


def _print_list(waiting: Sequence[WaitingSkill]) -> None:
    for number, skill in enumerate(waiting):
        if number:
            echo()
        echo(f"{skill.name}  ({skill.kind}, {skill.domain or 'every domain'})")
        echo(f"  {skill.description}")
        for line in basis_lines(skill.basis):
            echo(f"  {line}")
        for line in notes_of(skill):
            echo(f"  {line}")
        say(f"  skillvault skill approve {skill.name}")
        say(f'  skillvault skill reject {skill.name} --reason "…"')
    if not waiting:
        echo("nothing waits for you")

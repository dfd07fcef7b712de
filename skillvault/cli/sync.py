"""sync: bring the clones of a team together."""

import sys
from datetime import datetime
from pathlib import Path

import click

from skillvault import api
from skillvault.cli.options import (
    echo,
    json_option,
    now_option,
    open_vault,
    print_json,
    say,
    vault_option,
)
from skillvault.team.sync import Exchanged


@click.command()
@click.option("--take-over", is_flag=True, help="Let this clone be the one that learns.")
@vault_option
@now_option
@json_option
def sync(take_over: bool, vault_path: Path | None, now: datetime | None, as_data: bool) -> None:
    """Fetch, merge by the rules, check and push.

    Nothing is published that would break the vault, and nothing is forced. Without a connection
    all waits.
    """
    exchanged = api.sync(open_vault(vault_path), take_over=take_over, now=now)
    if as_data:
        print_json(exchanged)
    else:
        print_exchanged(exchanged)
    if exchanged.problems:
        sys.exit(1)


def print_exchanged(exchanged: Exchanged) -> None:
    """What a sync did, and what a person has to see to."""
    if exchanged.claimed:
        echo(f"this clone, {exchanged.claimed}, learns from now on")
    if exchanged.received:
        how = f", merged as {exchanged.merged[:10]}" if exchanged.merged else ""
        echo(f"received {_commits(exchanged.received)}{how}")
    for place in exchanged.decided:
        echo(f"  changed on both sides: {place}")
    if exchanged.sent:
        echo(f"sent {_commits(exchanged.sent)}")
    idle = not (exchanged.received or exchanged.sent or exchanged.claimed)
    if idle and not exchanged.problems and not exchanged.away:
        echo(f"nothing new here or in {exchanged.remote}")
    for problem in exchanged.problems:
        say(f"{problem.path}: {problem.message} [{problem.code}]")
    if exchanged.problems:
        say("nothing was published; both sides stay as they are")
    for key, values in exchanged.undecided.items():
        say(f"vault.yaml: {key} is {' or '.join(values)}; write one, and remove the comment")
    if exchanged.away:
        say(f"{exchanged.away}; {_commits(exchanged.waiting)} wait")


def _commits(count: int) -> str:
    return f"{count} commit{'' if count == 1 else 's'}"

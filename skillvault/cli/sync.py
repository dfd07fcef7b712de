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
from skillvault.steps.sync import Exchanged


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
    synced = api.sync(open_vault(vault_path), take_over=take_over, now=now)
    if as_data:
        print_json(synced)
    else:
        print_synced(synced)
    if synced.problems:
        sys.exit(1)


def print_synced(synced: Exchanged) -> None:
    """What a sync did, and what a person has to see to."""
    if synced.claimed:
        echo(f"this clone, {synced.claimed}, learns from now on")
    if synced.received:
        how = f", merged as {synced.merged[:10]}" if synced.merged else ""
        echo(f"received {_commits(synced.received)}{how}")
    for place in synced.decided:
        echo(f"  changed on both sides: {place}")
    if synced.sent:
        echo(f"sent {_commits(synced.sent)}")
    if not (synced.received or synced.sent or synced.problems or synced.away):
        echo(f"nothing new here or in {synced.remote}")
    for problem in synced.problems:
        say(f"{problem.path}: {problem.message} [{problem.code}]")
    if synced.problems:
        say("nothing was published; both sides stay as they are")
    for key, values in synced.undecided.items():
        say(f"vault.yaml: {key} is {' or '.join(values)}; write one, and remove the comment")
    if synced.away:
        say(f"{synced.away}; {_commits(synced.waiting)} wait")


def _commits(count: int) -> str:
    return f"{count} commit{'' if count == 1 else 's'}"

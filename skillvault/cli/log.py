"""log: the commits of the loop."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from skillvault.api import logged
from skillvault.cli.basis import basis_lines
from skillvault.cli.options import (
    echo,
    json_option,
    open_vault,
    print_json,
    since_option,
    vault_option,
)
from skillvault.inspect.logbook import LoggedCommit, Wanted


@click.command()
@click.option(
    "-n", "limit", type=click.IntRange(min=1), metavar="N", help="Show only the newest N."
)
@since_option("all")
@click.option("--domain", metavar="NAME", help="Show what was learned in a domain.")
@click.option("--step", metavar="STEP", help="Show what a step did, such as generate or merge.")
@click.option("--skill", metavar="NAME", help="Show what made or changed a skill.")
@click.option("-p", "patch", is_flag=True, help="Show each one's texts, and what they rest on.")
@vault_option
@json_option
def log(
    limit: int | None,
    since: timedelta | datetime | None,
    domain: str | None,
    step: str | None,
    skill: str | None,
    patch: bool,
    vault_path: Path | None,
    as_data: bool,
) -> None:
    """Show the commits of the loop, newest first."""
    vault = open_vault(vault_path)
    start = datetime.now(UTC) - since if isinstance(since, timedelta) else since
    asks = Wanted(since=start, domain=domain, step=step, skill=skill)
    commits = vault.log(limit, asks)
    if as_data:
        print_json(list(logged(vault, commits, skill)) if patch else commits)
    elif patch:
        for number, commit in enumerate(logged(vault, commits, skill)):
            echo("\n".join([*([""] if number else []), *_commit_lines(commit)]))
    else:
        for line in dict.fromkeys(f"{c.sha[:10]} {c.date[:10]} {c.subject}" for c in commits):
            echo(line)


def _commit_lines(commit: LoggedCommit) -> Iterator[str]:
    """A commit as it is read: the skill stands first, then its table, then its links in a line."""
    yield f"commit {commit.sha[:10]}  {commit.date[:10]}  {commit.author}"
    yield ""
    yield from (f"    {line}".rstrip() for line in commit.text.splitlines())
    if commit.patch:
        yield ""
        yield from commit.patch.rstrip("\n").split("\n")
    # What a person decided rests on no outcome, and says its reason itself.
    footer = list(basis_lines(commit.basis)) if commit.basis.rows else []
    footer += [f"links: {commit.links}"] if commit.links else []
    footer += [f"files: {', '.join(commit.others)}"] if commit.others else []
    yield from ["", *footer] if footer else []

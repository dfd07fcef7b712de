"""The commands that only read: status, log, why, impact, why-not, check."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from skillvault.cli.shared import as_json, json_option, opened, vault_option
from skillvault.records import Problem

if TYPE_CHECKING:
    from skillvault.steps.status import JudgeStatus


@click.command()
@vault_option
@json_option
def status(vault_path: Path | None, as_data: bool) -> None:
    """Show what is in the vault and what waits."""
    found = opened(vault_path).status()
    if as_data:
        as_json(found)
        return
    links = found.links["total"]
    click.echo(f"domains: {', '.join(found.domains) or 'none yet'}")
    click.echo(
        f"{_of(found.outcomes, 'outcome')}, {found.evaluations} evaluated, "
        f"{_of(found.facts, 'fact')}"
    )
    click.echo(
        f"{_of(found.skills, 'skill')}, {found.proposed} proposed, {found.archived} archived, "
        f"{_of(links, 'link')}"
    )
    todo = [f"{step} {count}" for step, count in found.waiting.items() if count]
    click.echo(f"waiting: {', '.join(todo)}; next: skillvault run" if todo else "nothing waits")
    _print_judge(found.judge)
    if found.quarantine:
        click.echo(f"quarantine: {found.quarantine} file(s); `skillvault quarantine list` says why")
    if found.paused:
        click.echo(f"paused: {found.paused}")


def _print_judge(judge: "JudgeStatus") -> None:
    """What a paid judge took today, and whether it is asked; of the free one nothing."""
    if judge.provider != "offline":
        took = f"{_of(judge.calls, 'call')}, {_of(judge.tokens, 'token')}, ${judge.usd:.4f}"
        click.echo(f"judge: {judge.model}; today {took}")
        if judge.closed:
            click.echo(f"not asked now: {judge.closed}")
    if judge.aside:
        count = _of(len(judge.aside), "outcome")
        click.echo(
            f"set aside: {count} that the judge failed at; `skillvault run --retry` asks again"
        )


def _of(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


@click.command()
@click.option(
    "-n", "limit", type=click.IntRange(min=1), metavar="N", help="Show only the newest N."
)
@vault_option
@json_option
def log(limit: int | None, vault_path: Path | None, as_data: bool) -> None:
    """Show the commits of the loop, newest first."""
    commits = opened(vault_path).log(limit)
    if as_data:
        as_json(commits)
        return
    for commit in commits:
        click.echo(f"{commit.sha[:10]} {commit.date[:10]} {commit.subject}")


@click.command()
@click.argument("ref")
@vault_option
@json_option
def why(ref: str, vault_path: Path | None, as_data: bool) -> None:
    """Show from which outcomes a skill, fact or evaluation came.

    REF is a name, a path, an id or the beginning of an id.
    """
    tree = opened(vault_path).why(ref)
    as_json(tree) if as_data else _print_tree(tree, "sources")


@click.command()
@click.argument("ref")
@vault_option
@json_option
def impact(ref: str, vault_path: Path | None, as_data: bool) -> None:
    """Show what came of an outcome, evaluation or fact.

    REF is a path, an id or the beginning of an id.
    """
    tree = opened(vault_path).impact(ref)
    as_json(tree) if as_data else _print_tree(tree, "targets")


def _print_tree(tree: dict[str, Any], below: str) -> None:
    click.echo(_node(tree["ref"]))
    _print_branches(tree[below], below, "")
    if not tree[below]:
        nothing = (
            "written by hand or not linked" if below == "sources" else "nothing came of it yet"
        )
        click.echo(f"└── ({nothing})")
    click.echo("commits:")
    for commit in tree["commits"]:
        by = commit["step"] or "by hand"
        click.echo(f"  {commit['sha'][:10]} {commit['date'][:10]} {commit['subject']} ({by})")


def _print_branches(branches: list[dict[str, Any]], below: str, lead: str) -> None:
    for number, branch in enumerate(branches):
        last = number == len(branches) - 1
        link = branch["link"].rpartition("-")[0] if branch["link"] else "of"
        click.echo(f"{lead}{'└── ' if last else '├── '}{link} {_node(branch['ref'])}")
        _print_branches(branch[below], below, lead + ("    " if last else "│   "))


def _node(ref: dict[str, Any]) -> str:
    return f"{ref['kind']} {ref['id']}" + (f"  {ref['path']}" if ref["path"] else "  (removed)")


@click.command("why-not")
@click.argument("ref")
@vault_option
@json_option
def why_not(ref: str, vault_path: Path | None, as_data: bool) -> None:
    """Show why an outcome, fact or domain taught nothing.

    If it taught something, it shows what; with the numbers that decided it.
    """
    (kind, name), answers = opened(vault_path).why_not(ref)
    if as_data:
        as_json({kind: name, "steps": answers})
        return
    click.echo(f"{kind} {name}")
    for answer in answers:
        click.echo(f"  {answer.step}: {answer.state}: {answer.reason}")


@click.command()
@click.option("--staged", is_flag=True, help="Check what is staged instead of the work tree.")
@vault_option
@json_option
def check(staged: bool, vault_path: Path | None, as_data: bool) -> None:
    """Check everything that must hold in a vault.

    Exit code 1, with a list, if something does not hold.
    """
    index = os.environ.get("GIT_INDEX_FILE") if staged else None
    found = opened(vault_path).check(
        staged=staged, index=str(Path(index).absolute()) if index else None
    )
    if as_data:
        as_json(msgspec.to_builtins(found))
    else:
        for problem in found.problems:
            click.echo(_line(problem), err=staged)
        for note in found.notes if not staged else ():
            click.echo(f"note: {_line(note)}")
        if not staged and not found.problems:
            click.echo("all holds")
    if found.problems:
        sys.exit(1)


def _line(problem: Problem) -> str:
    return f"{problem.path}: {problem.message} [{problem.code}]"

"""review, undo, retract: the decisions of a person about skills, commits and outcomes."""

import sys
from collections.abc import Sequence

import click

from skillvault.api import proposal_branches, proposals
from skillvault.api import retract as retract_outcome
from skillvault.api import undo as undo_commit
from skillvault.cli import review_inbox
from skillvault.cli.options import (
    Options,
    common_options,
    echo,
    json_option,
    now_option,
    print_json,
    say,
    write_options,
)
from skillvault.cli.run import print_recomputed, run_shape
from skillvault.cli.sync import print_merged_branches
from skillvault.cli.why import basis_lines, due_lines, notes_of, rule_lines
from skillvault.model.errors import UsageError
from skillvault.model.records import Correction, Fact
from skillvault.review.branches import BranchReport
from skillvault.review.proposal import WaitingSkill


@click.command()
@click.argument("outcome")
@click.option("--reason", required=True, metavar="TEXT", help="Say what was wrong with it.")
@write_options
def retract(outcome: str, reason: str, options: Options) -> None:
    """Retract a wrong outcome, so that nothing counts it.

    Its file stays. What was learned from it is computed again, in the same commit. OUTCOME is a
    path, an id or the beginning of an id. `skillvault impact OUTCOME` shows what would change.
    """
    report = retract_outcome(options.open_vault(), outcome, reason, **options.keywords)
    if options.as_json:
        print_json(run_shape(report))
        return
    print_recomputed(report)
    if not options.dry:
        commit = (report.done[0].commit or "")[:10]
        say(f"`skillvault undo {commit}` counts it again")


@click.command()
@click.argument("target", metavar="COMMIT|SKILL")
@click.option("--reason", default="", metavar="TEXT", help="Say why; later runs repeat it.")
@write_options
def undo(target: str, reason: str, options: Options) -> None:
    """Undo a commit of the program, or the commit that made a skill.

    If it is a decision, its files are restored. Records that the program made are removed, as if
    you had rejected them, and records that used them are computed again. What a person wrote stays;
    if that is not possible, nothing changes.
    """
    report = undo_commit(options.open_vault(), target, reason, **options.keywords)
    print_json(run_shape(report)) if options.as_json else print_recomputed(report)


@click.command()
@click.option("--branch", is_flag=True, help="Make a branch for each skill, for a pull request.")
@click.option("--push", is_flag=True, help="Push the branches, and print where to merge them.")
@common_options(now_option, json_option)
def review(branch: bool, push: bool, options: Options) -> None:
    """Review the skills, rules and facts that wait for you.

    In a terminal, one key decides about each. Elsewhere it lists them with their commands.
    """
    vault, now = options.open_vault(), options.now
    if branch and options.as_json:
        raise UsageError("--branch makes branches and --json prints values; choose one of them")
    if push and not branch:
        raise UsageError("--push pushes branches; write `skillvault review --branch --push`")
    if branch:
        print_branches(proposal_branches(vault, push=push, now=now), pushed=push)
    elif options.as_json:
        print_json([*proposals(vault), *vault.memory.waiting(), *vault.memory.due(now)])
    elif sys.stdin.isatty() and sys.stdout.isatty():
        review_inbox.review_all(vault, now)
    else:
        _print_list(proposals(vault), vault.memory.waiting(), vault.memory.due(now))


def print_branches(report: BranchReport, *, pushed: bool) -> None:
    """Print the branches of proposals, and what to do with them."""
    for row in report.branches:
        echo(f"{row.branch}  {row.commit[:10]}{'' if row.made else '  (was there)'}")
        if row.url:
            say(f"  open a pull request: {row.url}")
    if not report.branches:
        echo("nothing waits for you")
    elif pushed and not any(row.url for row in report.branches):
        say("the address of the remote is none of GitHub, GitLab, Gitea, Codeberg or Bitbucket;")
        say("open the pull requests on its own page, or merge the branches with git")
    print_merged_branches(report.merged)


def _print_list(
    proposals: Sequence[WaitingSkill], rules: Sequence[Correction], facts: Sequence[Fact]
) -> None:
    items = [
        (f"{rule.id}  (rule, {rule.scope})", rule_lines(rule), ("fact approve", "fact reject"))
        for rule in rules
    ]
    items += [
        (f"{fact.id}  (fact, {fact.domain})", due_lines(fact), ("fact keep", "fact retire"))
        for fact in facts
    ]
    items += [
        (
            f"{skill.name}  ({skill.kind}, {skill.domain or 'every domain'})",
            [skill.description, *basis_lines(skill.basis), *notes_of(skill)],
            ("skill approve", "skill reject"),
        )
        for skill in proposals
    ]
    for number, (title, lines, (keep, refuse)) in enumerate(items):
        if number:
            echo()
        echo(title)
        for line in lines:
            echo(f"  {line}")
        name = title.partition(" ")[0]
        say(f"  skillvault {keep} {name}")
        say(f'  skillvault {refuse} {name} --reason "…"')
    if not items:
        echo("nothing waits for you")

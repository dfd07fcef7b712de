"""why, why-not, impact, log: print where records come from, and what was learned from them.

`inspect/` finds the answers.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skillvault.api import question
from skillvault.cli.options import (
    echo,
    echo_diff,
    open_history,
    print_json,
    read_options,
    since_option,
)
from skillvault.inspect.logbook import Basis, CommitReport, LogFilter, describe_commits
from skillvault.learning.corrections import DOCUMENT, needs_review
from skillvault.learning.lint import lint_rule
from skillvault.model.records import Correction, Fact, Ref
from skillvault.model.text.text import flatten
from skillvault.review import retract
from skillvault.vault.files import redact

if TYPE_CHECKING:
    from skillvault.loop.learned import RuleOrigin
    from skillvault.review.proposal import WaitingSkill

_MAX_ROWS = 10  # the latest outcomes that a table shows


def basis_lines(basis: Basis) -> Iterator[str]:
    """Yield `rests on …`, and a row for each outcome with its session, occasion and decision."""
    if not basis.rows:
        yield "rests on no outcome"
        return
    yield f"rests on {basis.sentence}"
    rows = basis.rows[-_MAX_ROWS:]
    if len(basis.rows) > len(rows):
        yield f"  … {len(basis.rows) - len(rows)} earlier ones"
    width = max(len(row.session or "-") for row in rows)
    for row in rows:
        session, occasion = row.session or "-", f"occasion {row.episode}"
        yield f"  {row.outcome}  {row.status:7}  {session:{width}}  {occasion:11}  {row.decision}"


def notes_of(skill: "WaitingSkill") -> list[str]:
    """Return further notes about a proposal."""
    lines = [f"for it {len(skill.supporting)} runs, against it {len(skill.against)}"]
    if skill.facts:
        lines.append(f"made of facts: {', '.join(skill.facts)}")
    if skill.replaces:
        lines.append(f"replaces {', '.join(skill.replaces)}")
    if nearest := skill.nearest:
        lines.append(f"nearest live skill: {nearest.skill} ({nearest.share:.0%} the same)")
    if rejected := skill.rejected:
        reason = rejected.reason or "without a reason"
        lines.append(f"similar to {rejected.skill}, which was rejected: {reason}")
    lines.append(
        skill.stats.decision if skill.stats else "never shown: whether it helps is not known"
    )
    return lines


@click.command()
@click.option(
    "-n", "limit", type=click.IntRange(1, 10**9), metavar="N", help="Show only the newest N."
)
@since_option("all")
@click.option("--domain", metavar="NAME", help="Show only this domain.")
@click.option("--step", metavar="STEP", help="Show only this step, such as generate.")
@click.option("--skill", metavar="NAME", help="Show only what made or changed this skill.")
@click.option("-p", "patch", is_flag=True, help="Also print messages, diffs and evidence.")
@read_options
def log(
    limit: int | None,
    since: timedelta | datetime | None,
    domain: str | None,
    step: str | None,
    skill: str | None,
    patch: bool,
    vault_path: Path | None,
    as_json: bool,
) -> None:
    """Show the commits that learned something, newest first."""
    vault = open_history(vault_path)
    start = datetime.now(UTC) - since if isinstance(since, timedelta) else since
    commit_filter = LogFilter(since=start, domain=domain, step=step, skill=skill)
    commits = vault.log(limit, commit_filter)
    patches = (
        describe_commits(vault.store, vault.store.snapshot(), commits, skill) if patch else None
    )
    if as_json:
        print_json(commits if patches is None else list(patches))
    elif patches is not None:
        for number, commit in enumerate(patches):
            _print_commit(commit, is_first=not number)
    else:
        for line in dict.fromkeys(f"{c.sha[:10]} {c.date[:10]} {c.subject}" for c in commits):
            echo(line)


def _print_commit(commit: CommitReport, *, is_first: bool) -> None:
    """Print a commit for reading: its message and diff, then its basis and its links."""
    if not is_first:
        echo()
    echo(f"commit {commit.sha[:10]}  {commit.date[:10]}  {commit.author}", color="yellow")
    echo()
    for line in commit.text.splitlines():
        echo(f"    {line}".rstrip())
    if commit.patch:
        echo()
        echo_diff(commit.patch.rstrip("\n").split("\n"))
    # A decision of a person rests on no outcome, and its message gives the reason.
    footer = list(basis_lines(commit.basis)) if commit.basis.rows else []
    footer += [f"links: {commit.links}"] if commit.links else []
    footer += [f"files: {', '.join(commit.others)}"] if commit.others else []
    for line in ["", *footer] if footer else []:
        echo(line)


@click.command("why-not")
@click.argument("ref")
@read_options
def why_not(ref: str, vault_path: Path | None, as_json: bool) -> None:
    """Show why a record, a rule or a domain taught nothing.

    Shows the numbers that decided. If it did teach something, shows what.
    """
    (kind, name), answers = open_history(vault_path).why_not(ref)
    if as_json:
        print_json({kind: name, "steps": answers})
        return
    echo(f"{kind} {name}")
    for answer in answers:
        echo(f"  {answer.step}: {answer.state}: {answer.reason}")


_LAYER_ORIGINS = {"seed": "comes with the package", "domain": "comes from a folder of skills"}


def print_tree(tree: dict[str, Any], branch_key: str) -> None:
    """Print a tree; `branch_key` is `sources` or `targets`."""
    echo(_node_text(tree["ref"]))
    _print_branches(tree[branch_key], branch_key, "")
    if stated := tree.get("stated"):
        day = f" on {stated['date']}" if stated["date"] else ""
        place = f" in {stated['repository']}" if stated["repository"] else ""
        session = stated["session"]
        source = session if session.startswith(DOCUMENT) else f"session {session}"
        echo(f"└── stated{day}{place}, {source}")
    elif not tree[branch_key] and (layer := tree["ref"].get("layer")):
        echo(f"└── ({_LAYER_ORIGINS[layer]})")
    elif not tree[branch_key] and "pattern" not in tree:  # the rule of a pattern is printed below
        notes = {"sources": "written by hand or not linked", "targets": "nothing came of it yet"}
        echo(f"└── ({notes[branch_key]})")
    echo("commits:")
    for commit in tree["commits"]:
        author = commit["step"] or "by hand"
        echo(f"  {commit['sha'][:10]} {commit['date'][:10]} {commit['subject']} ({author})")


def _print_branches(branches: list[dict[str, Any]], branch_key: str, indent: str) -> None:
    for number, branch in enumerate(branches):
        is_last = number == len(branches) - 1
        link = branch["link"].rpartition("-")[0] if branch["link"] else "of"
        echo(f"{indent}{'└── ' if is_last else '├── '}{link} {_node_text(branch['ref'])}")
        _print_branches(branch[branch_key], branch_key, indent + ("    " if is_last else "│   "))


def _node_text(ref: dict[str, Any]) -> str:
    return f"{ref['kind']} {ref['id']}" + (f"  {ref['path']}" if ref["path"] else "  (removed)")


@click.command()
@click.argument("ref")
@read_options
def why(ref: str, vault_path: Path | None, as_json: bool) -> None:
    """Show from which outcomes a skill, fact or evaluation came.

    For a pattern, shows the rule, its author, and the code that supports it.

    Below it are the conditions that a skill names, with their test; the runs against a skill or
    fact; and what a judge answered.

    REF is a name, a path, an id or the beginning of an id.
    """
    tree = open_history(vault_path).why(ref)
    if as_json:
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


def _print_pattern(pattern: Mapping[str, Any], origin: "RuleOrigin | None") -> None:
    echo(f"rule: {pattern['pattern']}")
    if origin:
        day = origin.date[:10]
        echo(f"written: {origin.sha[:10]} {day} {origin.author}: {origin.subject}")
    code_note = f" ({pattern['code']})" if pattern["code"] else ""
    line_note = f" on {pattern['lines']} lines" if pattern["lines"] else ""
    echo(f"evidence: {pattern['occurrences']} files{line_note}{code_note}, {pattern['confidence']}")
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
                echo(f"    {name}: {flatten(words)}")


def _print_rules(rules: Sequence[Mapping[str, Any]]) -> None:
    if rules:
        echo("rules:")
    for rule in rules:
        (hits, count), (other_hits, other_count) = rule["met"], rule["other"]
        occasions, all_occasions = rule["episodes"]
        echo(f"  {rule['action']} {rule['rule']}")
        echo(
            f"    {rule['result']}: {hits} of {count} that meet it, in {occasions} of "
            f"{all_occasions} occasions; {other_hits} of {other_count} others"
        )
        echo(f"    p {rule['p']:.2g} among all conditions at once, {rule['z']:.1f} standard errors")
        for condition in rule["held"]:
            echo(f"    held against: {condition}")


@click.command()
@click.argument("ref")
@read_options
def impact(ref: str, vault_path: Path | None, as_json: bool) -> None:
    """Show what was learned from an outcome, evaluation or fact.

    REF is a path, an id or the beginning of an id. For an outcome, the command also shows what
    retracting it would change.
    """
    vault = open_history(vault_path)
    tree = vault.impact(ref)
    changes = retract.preview(question(vault), Ref(tree["ref"]["kind"], tree["ref"]["id"]))
    if as_json:
        print_json({**tree, "if_retracted": changes})
        return
    print_tree(tree, "targets")
    if changes:
        echo("if it is retracted (`skillvault retract`):")
        for change in changes:
            echo(f"  {change['step']}: {change['subject']}")


def rule_lines(rule: Correction) -> list[str]:
    """Return the lines about a waiting rule: its text, its author, and what its lint found."""
    sessions = 1 + len(rule.confirmed)
    is_document = rule.session.startswith(DOCUMENT)
    place = rule.session if is_document else f"session {rule.session}"
    origin = f"stated on {rule.created_at:%Y-%m-%d} in {place}"
    repeat_note = f", in {sessions} sessions" if sessions > 1 else ""
    if is_document or needs_review(rule.text, redact.secret_kinds):
        served_note = "; served to nobody until you approve it"
    else:  # a guide quotes the words after its runs
        nobody_note = "" if rule.said_by else "; a rule for nobody until you approve it"
        served_note = f"{nobody_note}; a guide about that run may quote it"
    superseded = [f"replaces the rule {rule.supersedes}"] if rule.supersedes else []
    lines = [f'"{rule.text}"', f"{origin}{repeat_note}{served_note}", *superseded]
    return [*lines, *lint_rule(rule.text, redact.secret_kinds)]


def due_lines(fact: Fact) -> list[str]:
    """Return the lines about a fact that is due for review: its text and its dates."""
    since = f"a fact since {fact.created_at:%Y-%m-%d}, " if fact.created_at else ""
    return [f'"{fact.text}"', f"{since}to be reviewed by {(fact.review_by or '')[:10]}"]

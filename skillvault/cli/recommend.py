"""recommend, search: print what an agent reads before a task.

The text for the agent goes to stdout, messages for a person go to stderr. The texts are written in
`learning/recommend/render.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from skillvault.api import Vault
from skillvault.cli.options import (
    at_option,
    echo,
    now_option,
    open_vault_as_of,
    print_json,
    read_options,
    say,
    vault_option,
)
from skillvault.learning.capture import prompt
from skillvault.learning.recommend import render
from skillvault.learning.recommend.relevance import value_of
from skillvault.model.errors import UsageError
from skillvault.model.records import Problem, Scalar
from skillvault.model.text.text import join_items, shorten
from skillvault.serving.background import is_taught
from skillvault.serving.inquiry import KINDS
from skillvault.serving.shelf import has_model
from skillvault.sessions import transcripts
from skillvault.vault.files.arrival import make_printable

if TYPE_CHECKING:
    from skillvault.learning.capture.prompt import LearnedText
    from skillvault.learning.recommend.recommend import Selection
    from skillvault.learning.recommend.shelf import Strategy
    from skillvault.loop.learned import LearnedPrompt

_MAX_TEXT_LENGTH = 62  # characters of a text in a list
FORMATS = ("prompt", "xml", "json")
STRATEGIES = ("tag", "semantic", "hybrid")
_MODEL_IS_MISSING = (
    "no model for --strategy semantic is installed; the built-in ranking is used; "
    "`pip install '.[semantic]'` in a clone of skillvault brings one"
)


# ── recommend ────────────────────────────────────────────────────────────────────────


@click.command()
@click.argument("words", metavar="[TASK]", default="")
@click.option(
    "--domain",
    metavar="NAME",
    help="Name the domain (default: the only one, the repository's, or that of the best match).",
)
@click.option("--task", default="", metavar="TEXT|-", help="Describe the task; - reads stdin.")
@click.option(
    "--context",
    "pairs",
    multiple=True,
    metavar="KEY=VALUE",
    help="Add what is known, such as volatility=high; repeatable.",
)
@click.option("--role", metavar="ROLE", help="Show only skills for this role (or the stage).")
@click.option("--stage", metavar="STAGE", help="Show only skills for this stage (or the role).")
@click.option(
    "--pin", "pins", multiple=True, metavar="NAME", help="Show this skill first; repeatable."
)
@click.option(
    "-k",
    "k",
    type=click.IntRange(min=0),
    metavar="N",
    help="Show at most N (default: recommend.limit; with a task recommend.named).",
)
@click.option(
    "--budget",
    type=click.IntRange(min=0),
    metavar="TOKENS",
    help="Limit the whole answer (default: recommend.budget).",
)
@click.option(
    "--strategy",
    type=click.Choice(STRATEGIES),
    help="Choose the ranking (default: hybrid with a task, else tag).",
)
@click.option("--action", metavar="NAME", help="Show the skills about this action first.")
@click.option("--decision", metavar="ID", help="Record what was shown for this decision.")
@click.option("--agent", metavar="NAME", help="Name the agent that asks; it owns the record.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(FORMATS),
    default="prompt",
    show_default=True,
    help="Choose how the answer is printed.",
)
@click.option(
    "--with-learned", is_flag=True, help="Also print the patterns and rules of LEARNINGS.md."
)
@click.option(
    "--explain",
    is_flag=True,
    help="Print the parts of each score, and why other skills are not shown.",
)
@at_option
@vault_option
@now_option
def recommend(  # noqa: PLR0913 (click hands a command one argument an option)
    words: str,
    domain: str | None,
    task: str,
    pairs: tuple[str, ...],
    role: str | None,
    stage: str | None,
    pins: tuple[str, ...],
    k: int | None,
    budget: int | None,
    strategy: Strategy | None,
    action: str | None,
    decision: str | None,
    agent: str | None,
    output_format: str,
    with_learned: bool,
    explain: bool,
    at: str | None,
    vault_path: Path | None,
    now: datetime | None,
) -> None:
    """Print the skills that an agent should read before a TASK."""
    if words and task:
        raise UsageError("--task: the task is given twice; pass it once")
    if at is not None and decision is not None:
        raise UsageError("--decision: an answer of the past is not recorded; remove it, or --at")
    with open_vault_as_of(vault_path, at) as (vault, past_time):
        selection = vault.recommend(
            domain,
            _read_task(words or task),
            context=_parse_context(pairs),
            role=role,
            stage=stage,
            pins=pins,
            k=k,
            budget=budget,
            strategy=strategy,
            decision=decision,
            agent=agent,
            action=action,
            explain=explain,
            now=now or past_time,
        )
        learned = vault.notebook.learned_rules(_repository(vault)) if with_learned else None
        _print_answer(selection, output_format, learned)
        if learned:
            print_cuts(learned)
        if strategy == "semantic" and not has_model():
            say(_MODEL_IS_MISSING)
        if explain and output_format != "json":
            _print_reasons(selection)
        _print_problems(selection, vault.shelf.problems)
        if selection.near_domain is not None:
            _print_unknown_domain(selection, pins)
            return
        if action is not None and not is_taught(vault.store.snapshot(), selection.domain, action):
            say(f"--action {action}: no skill is about the action {action}")
        if not selection.recommended:
            say(_explain_none(selection, has_rules=bool(learned and learned.text.prompt_text)))


def _repository(vault: Vault) -> str | None:
    """Return the name of the repository of the current folder; None in the vault itself."""
    folder = Path.cwd()
    return None if folder.is_relative_to(vault.root) else transcripts.repository_of(str(folder))


def _read_task(task: str) -> str:
    if task != "-":
        return task
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise UsageError("--task -: stdin is not UTF-8; write the task as UTF-8 text") from None


def _parse_context(pairs: Iterable[str]) -> dict[str, Scalar]:
    context: dict[str, Scalar] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not (key.strip() and sign):
            raise UsageError(
                f"--context {pair}: not a pair; write KEY=VALUE, such as volatility=high"
            )
        context[key.strip()] = value_of(value.strip())
    return context


def _print_answer(selection: Selection, output_format: str, learned: LearnedPrompt | None) -> None:
    if output_format == "json":
        extra = {"learned": learned_shape(learned.text)} if learned else {}
        print_json({**render.selection_values(selection), **extra})
        return
    text = render.xml(selection) if output_format == "xml" else selection.prompt
    output = prompt.frame_learned(text, learned.text) if learned else text
    if output:
        echo(output)


def _print_reasons(selection: Selection) -> None:
    for skill in selection.recommended:
        parts = ", ".join(f"{part} {value:+.2f}" for part, value in skill.reasons.items())
        scores = f"score {skill.score:.2f}, relevance {skill.relevance:.2f} ({parts})"
        say(f"shown: {skill.name}: {scores}")
    for withheld in selection.withheld:
        if withheld.reason != "unknown-pin":
            say(f"not shown: {withheld.name}: {withheld.reason}: {withheld.detail}")
    for fact in selection.facts:
        evidence = f"evidence {fact.evidence:.2f} that it answers the task"
        say(f"shown: {fact.handle} {fact.id}: {evidence}")
    for name in selection.unknown_context:
        say(f"unknown context: {name}: no boost in vault.yaml and no skill uses it")


def _print_problems(selection: Selection, problems: Iterable[Problem]) -> None:
    for skill in selection.withheld:
        if skill.reason == "unknown-pin":
            hint = "`skillvault skill list --layers` shows the names"
            say(f"--pin {skill.name}: {skill.detail}; {hint}")
    for problem in problems:
        say(f"not read: {problem.path}: {problem.message}")


def _print_unknown_domain(selection: Selection, pins: Iterable[str]) -> None:
    say(f"{selection.domain}: no such domain; did you mean {selection.near_domain}?")
    for pin in pins:
        say(f"--pin {pin}: ignored, because there is no such domain")
    if selection.decision is not None:
        say(f"--decision {selection.decision}: not recorded, because there is no such domain")


def _explain_none(selection: Selection, *, has_rules: bool) -> str:
    held_out_count = sum(withheld.reason == "held-out" for withheld in selection.withheld)
    low_ranked = sum(withheld.reason == "rank" for withheld in selection.withheld)
    counts = {
        "that did not help": selection.excluded_low_effectiveness,
        "over the budget": selection.over_budget,
        "to compare": held_out_count,
        "by rank": low_ranked,
    }
    left_out = [f"{count} {why}" for why, count in counts.items() if count]
    if left_out:
        return f"no skill to show: left out {', '.join(left_out)}; `--explain` says why each"
    if selection.facts:
        return "no skill to show; `skillvault fact list` lists all facts"
    if has_rules:
        return "no skill about this yet; the rules of LEARNINGS.md are printed"
    return "nothing learned about this yet; record how it ends"


def learned_shape(rules: LearnedText) -> dict[str, object]:
    """Convert patterns and rules to the JSON of `--json`."""
    keys = ("id", "pattern", "confidence", "occurrences", "evidence")
    return {
        "stated": [{"rule": rule.text, "approved": rule.said_at is None} for rule in rules.stated],
        "patterns": [{key: getattr(pattern, key) for key in keys} for pattern in rules.patterns],
        "rules": list(rules.rules),
        "cut": {
            "patterns": rules.cut_patterns,
            "rules": rules.cut_rules,
            "stated": rules.cut_stated,
        },
    }


def print_cuts(learned: LearnedPrompt) -> None:
    """Print on stderr what the budget cut, and why there are no patterns."""
    rules = learned.text
    cut = {"correction": rules.cut_stated, "pattern": rules.cut_patterns, "rule": rules.cut_rules}
    parts = [f"{count} {noun}" + "s" * (count > 1) for noun, count in cut.items() if count]
    if parts:
        say(f"left out over capture.budget: {join_items(parts)}")
    if learned.problem:
        say(f"{learned.problem.path}: {learned.problem.message}; only the rules are printed")


# ── search ───────────────────────────────────────────────────────────────────────────


@click.command()
@click.argument("text")
@click.option("--kind", type=click.Choice(KINDS), help="Find only records of this kind.")
@click.option("--domain", metavar="NAME", help="Find only what holds in this domain.")
@click.option(
    "-k",
    "k",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Print at most N.",
)
@click.option("--words", is_flag=True, help="Rank by words alone, without word vectors.")
@click.option("--untrusted", is_flag=True, help="Also find what untrusted sources say.")
@at_option
@read_options
def search(  # noqa: PLR0913 (click hands a command one argument an option)
    text: str,
    kind: str | None,
    domain: str | None,
    k: int,
    words: bool,
    untrusted: bool,
    at: str | None,
    vault_path: Path | None,
    as_json: bool,
) -> None:
    """Search skills, facts and evaluations for TEXT.

    Prints the best first: score, kind and text, and the id below.
    """
    with open_vault_as_of(vault_path, at) as (vault, _):
        hits = vault.search(
            text, kind=kind, domain=domain, k=k, semantic=not words, untrusted=untrusted
        )
    if as_json:
        print_json(hits)
        return
    for hit in hits:
        echo(
            make_printable(f"{hit.score:.2f}  {hit.kind:10}  {shorten(hit.text, _MAX_TEXT_LENGTH)}")
        )
        notes = [hit.id, hit.note, "untrusted" * (hit.trust != "local")]
        echo(make_printable(f"{'':6}{'  '.join(filter(None, notes))}"))
    if not hits:
        echo("nothing found")

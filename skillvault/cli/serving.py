"""The commands that put what was learned in front of an agent: recommend, search.

What an agent reads goes to stdout; what a person should know of it goes to stderr.
"""

import sys
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from skillvault.cli.shared import as_json, json_option, now_option, opened, say, vault_option
from skillvault.errors import UsageError

if TYPE_CHECKING:  # an agent waits for these commands: what they load is loaded when they run
    from skillvault.learning.recommend.recommend import Answer, Served
    from skillvault.learning.recommend.shelf import Strategy
    from skillvault.records import Problem, Scalar

FORMATS = ("prompt", "xml", "json")
STRATEGIES = ("tag", "semantic", "hybrid")
KINDS = ("skill", "fact", "evaluation")
_LINE = 80  # characters of a text in a list
_NO_MODEL = (
    "no model for --strategy semantic is installed; the built-in ranking is used; "
    "`pip install 'skillvault-git[semantic]'` brings one"
)


# ── recommend ────────────────────────────────────────────────────────────────────────


@click.command()
@click.option("--domain", required=True, metavar="NAME", help="Say the domain of the task.")
@click.option("--task", default="", metavar="TEXT|-", help="Say what is to be done; - reads stdin.")
@click.option(
    "--context", "pairs", multiple=True, metavar="KEY=VALUE", help="Say what is known; repeatable."
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
    help="Show at most N (default: recommend.limit).",
)
@click.option(
    "--budget",
    type=click.IntRange(min=0),
    metavar="TOKENS",
    help="Limit the texts together (default: recommend.budget).",
)
@click.option(
    "--strategy",
    type=click.Choice(STRATEGIES),
    help="Choose the ranking (default: hybrid with a task, else tag).",
)
@click.option("--decision", metavar="ID", help="Record what was shown for this decision.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="prompt",
    show_default=True,
    help="Choose how the answer is printed.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Print the parts of each score, and why the others are not shown.",
)
@vault_option
@now_option
def recommend(  # noqa: PLR0913 (click hands a command one argument an option)
    domain: str,
    task: str,
    pairs: tuple[str, ...],
    role: str | None,
    stage: str | None,
    pins: tuple[str, ...],
    k: int | None,
    budget: int | None,
    strategy: "Strategy | None",
    decision: str | None,
    form: str,
    explain: bool,
    vault_path: Path | None,
    now: datetime | None,
) -> None:
    """Print the skills that an agent should read before a task."""
    from skillvault.steps.shelf import has_model  # noqa: PLC0415 (loaded when it is needed)

    vault = opened(vault_path)
    answer = vault.recommend(
        domain,
        _typed(task),
        context=_context(pairs),
        role=role,
        stage=stage,
        pins=pins,
        k=k,
        budget=budget,
        strategy=strategy,
        decision=decision,
        explain=explain,
        now=now,
    )
    _print_answer(answer, form)
    if strategy == "semantic" and not has_model():
        say(_NO_MODEL)
    if explain and form != "json":
        _print_reasons(answer)
    _print_about(answer, vault.shelf.problems)
    if not answer.recommended and form != "json":
        say(_why_none(answer))


def _typed(task: str) -> str:
    """The task, from stdin for `-`."""
    if task != "-":
        return task
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise UsageError("--task -: stdin is not UTF-8; write the task as UTF-8 text") from None


def _context(pairs: Iterable[str]) -> "dict[str, Scalar]":
    """Key -> value of the pairs; of a key that comes twice the last."""
    from skillvault.learning.recommend.relevance import value_of  # noqa: PLC0415 (loaded when it is needed)

    found: dict[str, Scalar] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not (key.strip() and sign):
            raise UsageError(
                f"--context {pair}: not a pair; write KEY=VALUE, such as volatility=high"
            )
        found[key.strip()] = value_of(value.strip())
    return found


def _print_answer(answer: "Answer", form: str) -> None:
    from skillvault.learning.recommend import render as pack  # noqa: PLC0415 (loaded when it is needed)
    from skillvault.learning.recommend.recommend import plain  # noqa: PLC0415

    if form == "json":
        as_json(plain(answer))
    elif text := pack.xml(answer) if form == "xml" else pack.prompt(answer):
        click.echo(text)


def _print_about(answer: "Answer", problems: "Iterable[Problem]") -> None:
    """What was asked for and is not there, and what could not be read."""
    for one in answer.withheld:
        if one.reason == "unknown-pin":
            say(f"--pin {one.name}: {one.detail}; `skillvault skill list --layers` shows the names")
    for problem in problems:
        say(f"not read: {problem.path}: {problem.message}")


def _print_reasons(answer: "Answer") -> None:
    for one in answer.recommended:
        say(f"shown: {one.name}: score {one.score:.2f}, relevance {one.relevance:.2f} {_sum(one)}")
    for left in answer.withheld:
        if left.reason != "unknown-pin":
            say(f"not shown: {left.name}: {left.reason}: {left.detail}")


def _sum(one: "Served") -> str:
    return f"({', '.join(f'{part} {value:+.2f}' for part, value in one.reasons.items())})"


def _why_none(answer: "Answer") -> str:
    """One line: how many skills there were, and what became of them."""
    counts = {
        "for low effectiveness": answer.excluded_low_effectiveness,
        "for low relevance": answer.excluded_low_relevance,
        "over the budget": answer.over_budget,
        "held out": sum(one.reason == "held-out" for one in answer.withheld),
    }
    counts["by rank"] = answer.total_considered - sum(counts.values())
    left_out = [f"{count} {why}" for why, count in counts.items() if count]
    if left_out:
        said = f"{answer.total_considered} considered, left out {', '.join(left_out)}"
        return f"no skill to show: {said}; `--explain` says why each"
    return "no skill to show: 0 considered; `skillvault skill list --layers` lists them all"


# ── search ───────────────────────────────────────────────────────────────────────────


@click.command()
@click.argument("text")
@click.option("--kind", type=click.Choice(KINDS), help="Find only records of this kind.")
@click.option("--domain", metavar="NAME", help="Find only records of this domain.")
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
@vault_option
@json_option
def search(
    text: str,
    kind: str | None,
    domain: str | None,
    k: int,
    words: bool,
    vault_path: Path | None,
    as_data: bool,
) -> None:
    """Search skills, facts and evaluations for TEXT.

    Prints the best first: score, kind, id and text.
    """
    from skillvault.text import shorten  # noqa: PLC0415 (loaded when it is needed)
    from skillvault.vault.files.arrival import shown  # noqa: PLC0415

    found = opened(vault_path).search(text, kind=kind, domain=domain, k=k, semantic=not words)
    if as_data:
        as_json(found)
        return
    for one in found:
        line = f"{one.score:.2f}  {one.kind:10}  {one.id}  {shorten(one.text, _LINE)}"
        click.echo(shown(line.rstrip()))
    if not found:
        click.echo("nothing found")

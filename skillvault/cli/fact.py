"""fact: list, show, add, keep and retire facts; approve and reject stated rules."""

from collections.abc import Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import get_args

import click
import msgspec

from skillvault.api import question
from skillvault.cli.options import (
    Options,
    echo,
    open_vault,
    print_json,
    read_options,
    say,
    write_options,
)
from skillvault.cli.run import decide_each, print_changes, print_committed, print_sides
from skillvault.inspect import lookup
from skillvault.learning.lint import lint_rule
from skillvault.learning.promote import versions
from skillvault.model.errors import UsageError
from skillvault.model.records import Importance, ref_of
from skillvault.model.text.text import pluralize, shorten
from skillvault.review.memory import ListedFact
from skillvault.serving.shelf import choose_domain
from skillvault.vault.files.redact import secret_kinds

_LINE = 160  # characters of a fact in a list
_ids_argument = click.argument("ids", metavar="ID...", nargs=-1, required=True)


@click.group()
def fact() -> None:
    """List, show, add, keep and retire facts."""


@fact.command("list")
@click.option("--domain", metavar="NAME", help="List only the facts of this domain.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["lines", "memory"]),
    default="lines",
    help="Print each fact and its id, or a MEMORY.md for each domain.",
)
@read_options
def list_(domain: str | None, form: str, vault_path: Path | None, as_json: bool) -> None:
    """List the facts that are not superseded."""
    vault = open_vault(vault_path)
    facts = vault.memory.facts(domain, trusted=form == "memory")
    if as_json:
        print_json(facts)
    elif form == "memory":
        _print_memory(facts)
    else:
        for fact_ in facts:
            echo(f"{fact_.importance:6}  {shorten(fact_.text, _LINE)}")
            echo(f"{'':6}  {fact_.id}  {fact_.note}")
        if not facts:
            echo("no facts yet; `skillvault run -v` says why, `skillvault fact add` adds one")
        if count := len(vault.memory.waiting()):
            say(f"{pluralize(count, 'rule')} not approved yet; see `skillvault review`")


def _print_memory(facts: list[ListedFact]) -> None:
    for domain in dict.fromkeys(fact_.domain for fact_ in facts):
        echo(f"# MEMORY.md: {domain}\n")
        for importance in get_args(Importance):
            group = [f for f in facts if (f.domain, f.importance) == (domain, importance)]
            if group:
                echo(f"## {importance.capitalize()}\n")
                for fact_ in group:
                    lines = fact_.text.splitlines()
                    echo("- " + "\n  ".join([f"{lines[0]} {fact_.note}", *lines[1:]]))
                echo()


@fact.command()
@click.argument("ref", metavar="ID")
@read_options
def show(ref: str, vault_path: Path | None, as_json: bool) -> None:
    """Print one fact as it is committed.

    Prints the runs for and against it on stderr.
    """
    vault = open_vault(vault_path)
    record, path = vault.memory.fact(ref)
    if as_json:
        evidence = msgspec.to_builtins(lookup.both_sides(question(vault).snapshot, ref_of(record)))
        print_json({**msgspec.to_builtins(record), "path": path, **evidence})
        return
    print_committed(vault, path)
    print_sides(vault, ref_of(record))


@fact.command()
@click.argument("text")
@click.option(
    "--domain", metavar="NAME", help="Use this domain (default: the only one, or the repository's)."
)
@click.option(
    "--importance",
    type=click.Choice(get_args(Importance)),
    default="medium",
    show_default=True,
    help="Set the importance; MEMORY.md is ordered by it.",
)
@click.option("--supersedes", metavar="ID", help="Replace this fact.")
@click.option("--keep-both", is_flag=True, help="Keep older versions of the fact beside it.")
@click.option(
    "--review-by",
    callback=lambda *values: _day(values[2]),
    metavar="DAY",
    help="Review the fact by this day, such as 2027-01-31.",
)
@write_options
def add(domain: str | None, options: Options, **values: object) -> None:
    """Add a fact, as one commit in your name.

    It replaces an older version of the same statement, such as another port or owner.
    """
    vault = options.open_vault()
    domain = domain or choose_domain(vault.shelf, Path.cwd())
    report = vault.memory.add_fact(domain=domain, **options.keywords, **values)  # type: ignore[arg-type]  # click's types
    print_changes(report, as_json=options.as_json)
    for remark in () if options.dry else versions.remarks_of(report.done[0].change):
        say(remark)


@fact.command()
@_ids_argument
@click.option("--text", default="", metavar="TEXT", help="Give the one rule this text.")
@write_options
def approve(ids: tuple[str, ...], text: str, options: Options) -> None:
    """Approve rules that you stated, so that every agent gets them."""
    _check_text(ids, text)
    memory = options.open_vault().memory
    for rule in memory.waiting():
        if rule.id.startswith(ids):
            for line in lint_rule(text or rule.text, secret_kinds):
                say(f"{rule.id}: {line}")
    decide_each(ids, options, memory.approve, text)


@fact.command()
@_ids_argument
@click.option("--reason", required=True, metavar="TEXT", help="Say why it is not a rule.")
@write_options
def reject(ids: tuple[str, ...], reason: str, options: Options) -> None:
    """Reject rules that you stated; they are not proposed again."""
    decide_each(ids, options, options.open_vault().memory.reject, reason)


@fact.command("keep")
@_ids_argument
@click.option("--text", default="", metavar="TEXT", help="Give the one fact this text.")
@click.option(
    "--review-by",
    callback=lambda *values: _day(values[2]),
    metavar="DAY",
    help="Review again by this day (default: after a period as long as the first one).",
)
@write_options
def keep_facts(ids: tuple[str, ...], text: str, review_by: str | None, options: Options) -> None:
    """Keep facts that are to be reviewed, for another period."""
    _check_text(ids, text)
    keep = partial(options.open_vault().memory.keep, review_by=review_by)
    decide_each(ids, options, keep, text)


@fact.command("retire")
@_ids_argument
@click.option("--reason", required=True, metavar="TEXT", help="Say why it no longer holds.")
@write_options
def retire_facts(ids: tuple[str, ...], reason: str, options: Options) -> None:
    """Remove facts that no longer hold.

    Their older versions go, too, and they are not made again.
    """
    decide_each(ids, options, options.open_vault().memory.retire, reason)


def _check_text(ids: Sequence[str], text: str) -> None:
    if text and len(ids) > 1:
        raise UsageError("--text is for one rule or fact; name one ID, or leave --text out")


def _day(value: str | None) -> str | None:
    if value is None:
        return None
    try:
        return date.fromisoformat(value).isoformat()
    except ValueError:
        raise UsageError(f"--review-by {value}: not a day; write it as 2027-01-31") from None

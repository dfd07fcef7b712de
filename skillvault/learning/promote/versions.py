"""Older versions of a fact: find them, replace them, and name them beside the current one."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from skillvault.learning.promote.facts import statement_of
from skillvault.model.change import Change, Edit
from skillvault.model.records import Fact, Link, Ref, link_of
from skillvault.model.sameness.versions import ValueChange, find_value_change, is_copy
from skillvault.model.text.text import flatten, join_items, shorten

_VALUE = 60  # characters of an older value beside the current one


class OlderVersion(Struct, frozen=True):
    """A fact of which another one is a newer version, with the values that differ."""

    fact: Fact
    change: ValueChange


class Succession(Struct, frozen=True):
    """The records and edits by which a fact replaces its older versions; `latest` directly."""

    latest: Fact | None = None
    links: tuple[Link, ...] = ()
    edits: tuple[Edit, ...] = ()


def find_copies(text: str, facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts that say a text in the same words, whatever their case and spacing."""
    return [fact for fact in facts if is_copy(statement_of(fact), text)]


def find_predecessors(text: str, facts: Iterable[Fact]) -> list[OlderVersion]:
    """Return the facts that a statement is another version of, the oldest first."""
    return [
        OlderVersion(fact, change)
        for fact in sorted(facts, key=lambda fact: fact.order)
        if fact.kind != "correction" and (change := find_value_change(statement_of(fact), text))
    ]


def is_replaceable(fact: Fact, supporters: int, opponents: int, newer_runs: int = 1) -> bool:
    """Return True if a newer version is as well supported; a person's word counts as one run."""
    return supporters - opponents + (fact.kind == "human") <= newer_runs


def plan_succession(fact: str, predecessors: Sequence[Fact], now: datetime) -> Succession:
    """Let a fact replace the latest of its older versions, and each of those the one before.

    A version that replaces another one already stays as it is.
    """
    if not predecessors:
        return Succession()
    *earlier, latest = predecessors
    pairs = [
        (source, target)
        for source, target in zip(earlier, predecessors[1:], strict=True)
        if target.supersedes is None
    ]
    ends = [*((source.id, target.id) for source, target in pairs), (latest.id, fact)]
    return Succession(
        latest=latest,
        links=tuple(
            link_of("superseded", Ref("fact", source), Ref("fact", target), now)
            for source, target in ends
        ),
        edits=tuple(
            Edit(f"memory/{target.domain}/{target.id}.md", ("supersedes",), source.id)
            for source, target in pairs
        ),
    )


def addition_change(fact: Fact, succession: Succession, remarks: Sequence[str] = ()) -> Change:
    """Return the commit by which a person adds a fact, in their name."""
    older = [link.source for link in succession.links]
    replaced = f"It replaces {join_items([ref.id for ref in older])}." if older else ""
    return Change(
        step="add",
        subject=f"fact {fact.id}",
        reason="\n".join(filter(None, [replaced, *remarks, fact.text])),
        writes=(fact, *succession.links),
        edits=succession.edits,
        sources=tuple(older),
        targets=(Ref("fact", fact.id),),
    )


def remarks_of(change: Change) -> list[str]:
    """Return what the commit of an added fact says of other facts."""
    texts = [record.text for record in change.writes if isinstance(record, Fact)]
    return change.reason.removesuffix(texts[0]).splitlines()


def day_of(fact: Fact) -> str:
    """Return the day since which a fact is in the vault; "" if its file does not say."""
    return f"{fact.created_at.astimezone(UTC):%Y-%m-%d}" if fact.created_at else ""


def note_of(fact: Fact, predecessor: Fact | None = None) -> str:
    """Return the date of a fact, and what held before it: `(2026-11-20; was 14, until then)`."""
    day = day_of(fact) or "undated"
    if predecessor is None:
        return f"({day})"
    change = find_value_change(statement_of(predecessor), statement_of(fact))
    older = change.older if change else flatten(statement_of(predecessor))
    end = f", until {day}" if fact.created_at else ""
    return f"({day}; was {shorten(older, _VALUE)}{end})"


def is_due(fact: Fact, day: str) -> bool:
    """Return True if a fact was to be reviewed by a day that has come."""
    return bool(day) and fact.review_by is not None and fact.review_by[: len(day)] <= day

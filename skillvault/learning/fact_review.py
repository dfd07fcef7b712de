"""The rules for a person's review of facts: find due facts, keep, reword or retire them."""

from collections.abc import Container, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta

from skillvault.model.change import Change, Edit, Rewrite
from skillvault.model.records import Fact, Ref
from skillvault.model.text.text import shorten

_REVIEW_DAYS = 90  # days until the next review of a fact without a date
_MAX_SUBJECT = 50  # characters


def is_due(fact: Fact, day: str) -> bool:
    """Return True if a fact is to be reviewed by `day` (or by that month or year)."""
    return bool(day) and fact.review_by is not None and fact.review_by[: len(day)] <= day


def due_facts(facts: Iterable[Fact], replaced_ids: Container[str]) -> list[Fact]:
    """Return the current trusted facts, the longest overdue first."""
    facts = [fact for fact in facts if fact.id not in replaced_ids and fact.trust == "local"]
    return sorted(facts, key=lambda fact: (fact.review_by or "", fact.id))


def next_review(fact: Fact, now: datetime) -> str:
    """Return the next day for review: the period of the fact, counted from now."""
    period = timedelta(days=_REVIEW_DAYS)
    if fact.review_by and fact.created_at:
        start = fact.created_at.astimezone(UTC).date()
        with suppress(ValueError):  # `check` reports a date that a person misspelled
            period = max(date.fromisoformat(fact.review_by[:10]) - start, timedelta(days=1))
    return (now.astimezone(UTC).date() + period).isoformat()


def keep_change(fact: Fact, path: str, day: str, text: str = "") -> Change:
    """Return the change that keeps a fact until another review, with a new `text` if given."""
    is_reworded = bool(text) and text != fact.text
    return Change(
        step="keep",
        subject=shorten(f"fact {fact.id}", _MAX_SUBJECT),
        reason=f"It is to be reviewed by {day} again.\n{text or fact.text}",
        edits=(Edit(path, ("review_by",), day),),
        rewrites=(Rewrite(path, text + "\n"),) if is_reworded else (),
        targets=(Ref("fact", fact.id),),
    )


def retire_change(fact: Fact, paths: Sequence[str], reason: str) -> Change:
    """Return the change that removes a fact and its older versions.

    An older version would hold again without its newer version.
    """
    return Change(
        step="retire",
        subject=shorten(f"fact {fact.id}", _MAX_SUBJECT),
        reason=f"{reason}\n{fact.text}",
        removes=tuple(paths),
        targets=(Ref("fact", fact.id),),
        why=reason,
    )


def day_of(at: datetime) -> str:
    """Return the day of a time in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d}"

"""Causes: insights of one kind that say the same, and how often it ended otherwise all the same.

Groups are the connected components over distinct normal forms, so that no order of arrival
changes them.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from skillvault.brief import Cause, Insight, InsightKind
from skillvault.learning.account.answers import normal_value
from skillvault.learning.account.insight import insights_of
from skillvault.learning.contrast.recorded import is_report
from skillvault.reading import stated
from skillvault.records import Outcome
from skillvault.sameness import Form, components, most_like_others, normal_form
from skillvault.text import percent

# Of these each wording is a cause of its own; of others only those that two outcomes share.
_APART = frozenset({"error", "answer", "lesson"})
# These quote the reasoning: another outcome may rest on the same words and end otherwise.
REASONED = frozenset(
    {"unchecked", "exposed", "guess", "certainty", "risk", "ground", "found", "check"}
)
_PATH = re.compile(r"(?:[A-Za-z]:)?(?:[\w.~-]*[/\\])+[\w.~-]*(?::\d+)*|\b[\w-]+\.[a-z]{1,4}:\d+\b")
_ID = re.compile(r"\b(?=[\w-]*\d)(?:0x)?[0-9a-fA-F-]{8,}\b|\b[A-Z]{2,}[-_]\d+\b")
_NUMBER = re.compile(r"[-+]?\d[\d.,:_]*")

_LINE = 300  # characters of a message that are compared
_WORD = re.compile(r"\w+")

Shown = tuple[Outcome, Insight]


def signature(message: str) -> str:
    """An error's type and message, without paths, numbers and ids."""
    plain = _PATH.sub(" ", message[:_LINE])
    plain = _ID.sub(" ", plain)
    return " ".join(_NUMBER.sub(" ", plain).casefold().split())


def own_values(outcome: Outcome) -> tuple[str, ...]:
    """What an outcome's words hold of it alone: its target, its figures, what it observed."""
    values = (outcome.result.score, outcome.result.amount, outcome.result.entry_value)
    figures = [f"{value:g}" for value in values if value is not None]
    if outcome.result.score is not None:
        figures.append(percent(outcome.result.score))  # as an insight tells it
    context = (str(value) for value in outcome.context.values() if value is not None)
    target = (outcome.decision.target,) if outcome.decision.target else ()
    return (*target, *figures, *context)


@lru_cache(maxsize=8192)
def _form(quote: str, own: tuple[str, ...]) -> Form:
    return normal_form(quote, own)


def form_of(outcome: Outcome, insight: Insight) -> Form | str:
    """What two insights of a kind must have in common to be one cause."""
    if insight.kind == "answer":
        return normal_value(insight.quote)
    if insight.kind == "error":
        return signature(insight.quote)
    return _form(insight.quote, own_values(outcome))


def causes(
    members: Sequence[Outcome], agreeing: Sequence[Outcome], others: Sequence[Outcome]
) -> list[Cause]:
    """What the members show, kind by kind.

    `agreeing` are all that ended as the members did, `others` those that ended otherwise.
    """
    by_kind: dict[InsightKind, list[Shown]] = defaultdict(list)
    for outcome in members:
        for insight in insights_of(outcome):
            by_kind[insight.kind].append((outcome, insight))
    if not by_kind:
        return []
    material = _Material(
        {outcome.id for outcome in members}, _by_wording(agreeing), _by_wording(others)
    )
    return [cause for kind, shown in by_kind.items() for cause in _of_kind(kind, shown, material)]


_ADVISED = frozenset({"found", "ground", "check"})  # what one would do again


class _Material(NamedTuple):
    """Which outcomes are looked at, and which of all say a statement: its wording -> their ids.

    `agreeing` ended as they did, `others` otherwise.
    """

    members: Collection[str]
    agreeing: Mapping[frozenset[str], list[str]]
    others: Mapping[frozenset[str], list[str]]


def _by_wording(outcomes: Iterable[Outcome]) -> dict[frozenset[str], list[str]]:
    holders: dict[frozenset[str], list[str]] = defaultdict(list)
    for outcome in outcomes:
        own = own_values(outcome)
        statements = stated(outcome.decision.reasoning)
        for wording in {wording_of(statement, own) for statement in statements}:
            holders[wording].append(outcome.id)
    return holders


def wording_of(statement: str, own: tuple[str, ...]) -> frozenset[str]:
    """A statement's words and figures, but for the outcome's own: cheap, and nearly a form."""
    words = frozenset(_WORD.findall(statement.casefold()))
    return words.difference(*(_WORD.findall(value.casefold()) for value in own))


def _of_kind(kind: InsightKind, shown: Sequence[Shown], material: _Material) -> Iterator[Cause]:
    forms: dict[Form | str, list[Shown]] = defaultdict(list)
    for outcome, insight in shown:
        forms[form_of(outcome, insight)].append((outcome, insight))
    groups = [
        [pair for form in group for pair in forms[form]] for group in _components(kind, list(forms))
    ]
    single = [pairs for pairs in groups if len(pairs) == 1 and kind not in _APART]
    yield from (_cause(kind, pairs, material) for pairs in groups if pairs not in single)
    if len(single) == 1:
        yield _cause(kind, single[0], material)
    elif single:
        # Only the kind agrees; the latest stands for them.
        pairs = sorted((pair for pairs in single for pair in pairs), key=_order)
        yield Cause(
            kind=kind,
            quote=pairs[-1][1].quote,
            shown_by=tuple(outcome.id for outcome, _ in pairs),
            of=len(material.members),
            alike=False,
        )


def _components(kind: InsightKind, forms: list[Form | str]) -> list[list[Form | str]]:
    """Forms that say the same; an error and an answer say it in the same words or not at all."""
    if kind in ("error", "answer"):
        return [[form] for form in forms]
    worded = [form for form in forms if not isinstance(form, str)]
    return [[worded[place] for place in group] for group in components(worded)]


def _cause(kind: InsightKind, pairs: Sequence[Shown], material: _Material) -> Cause:
    shown_by = {outcome.id for outcome, _ in pairs}
    agreeing, against = set(shown_by), set[str]()
    if kind in REASONED:
        wordings = {wording_of(insight.quote, own_values(outcome)) for outcome, insight in pairs}
        agreeing |= {name for wording in wordings for name in material.agreeing.get(wording, ())}
        shown_by |= agreeing.intersection(material.members)
        against = {name for wording in wordings for name in material.others.get(wording, ())}
    return Cause(
        kind=kind,
        quote=_quote(pairs),
        shown_by=tuple(sorted(shown_by)),
        of=len(material.members),
        agreeing=len(agreeing),
        against=tuple(sorted(against)),
        supposed=all(insight.supposed for _, insight in pairs),
        report=kind in _ADVISED and all(is_report(outcome) for outcome, _ in pairs),
    )


def _quote(pairs: Sequence[Shown]) -> str:
    """The words of the insight most like the others, of one form the earliest."""
    first: dict[Form | str, str] = {}
    for outcome, insight in sorted(pairs, key=_order):
        first.setdefault(form_of(outcome, insight), insight.quote)
    worded = [(quote, form) for form, quote in first.items() if not isinstance(form, str)]
    return most_like_others(worded) if worded else next(iter(first.values()))


def _order(shown: Shown) -> tuple[datetime, str]:
    return shown[0].order

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

from skillvault.learning.account.answers import normal_value
from skillvault.learning.account.insight import VALUE, insights_of
from skillvault.learning.contrast.recorded import is_report
from skillvault.model.brief import Cause, Insight, InsightKind
from skillvault.model.reading import stated, substance
from skillvault.model.records import Outcome
from skillvault.model.sameness.form import Form, normal_form
from skillvault.model.sameness.forms import components, most_like_others
from skillvault.model.text.text import percent, terms

# Of these each wording is a cause of its own; of others only those that two outcomes share.
_APART = frozenset({"error", "answer", "lesson", "found", "check"})
# Of these no wording matters: all of a subject are one cause.
_BY_KIND = frozenset({"stopped", "claim"})
# What runs of one subject saw: two say the same too if they share values and some words.
_SEEN = frozenset({"found", "check"})
_SHARED_WORDS = 0.25
_SHARED_VALUES = 0.4
# These quote the reasoning: another outcome may rest on the same words and end otherwise.
REASONED = frozenset(
    {"unchecked", "exposed", "guess", "certainty", "risk", "ground", "found", "check"}
)
_PATH = re.compile(r"(?:[A-Za-z]:)?(?:[\w.~-]*[/\\])+[\w.~-]*(?::\d+)*|\b[\w-]+\.[a-z]{1,4}:\d+\b")
_ID = re.compile(r"\b(?=[\w-]*\d)(?:0x)?[0-9a-fA-F-]{8,}\b|\b[A-Z]{2,}[-_]\d+\b")
_QUOTED = re.compile(r"\"[^\"]{1,60}\"|'[^']{1,60}'|`[^`]{1,60}`")
_NUMBER = re.compile(r"[-+]?\d[\d.,:_]*")

_SIGNED = re.compile(r"(?:(?<!\w)[-−–+])?[$€£¥]?\d[\d.,:_]*(?:\s?[%‰])?")

_SPEAKS = 3  # words of a message that says something without the names that it quotes
_LINE = 300  # characters of a message that are compared
_WORD = re.compile(r"\w+")

Shown = tuple[Outcome, Insight]


def signature(message: str) -> str:
    """An error's type and message, without paths, numbers, ids and quoted names."""
    line = message[:_LINE]
    unquoted = _QUOTED.sub(" ", line)
    # Of `KeyError: 'amount'` the name is all there is.
    plain = _PATH.sub(" ", unquoted if len(unquoted.split()) > _SPEAKS else line)
    plain = _ID.sub(" ", plain)
    return " ".join(_NUMBER.sub(" ", plain).casefold().split())


def figures_in(statement: str) -> tuple[str, ...]:
    """The figures of a statement in their order, each with its sign and unit."""
    figures = (match.rstrip(".,:") for match in _SIGNED.findall(statement))
    return tuple(re.sub(r"[−–]", "-", re.sub(r"[\s+]", "", figure)) for figure in figures)


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
    if not members:
        return []
    by_kind: dict[InsightKind, list[Shown]] = defaultdict(list)
    for outcome in agreeing:
        for insight in insights_of(outcome):
            by_kind[insight.kind].append((outcome, insight))
    if by_kind["found"]:  # what was seen is so for whoever saw it
        seen = ((outcome, insight) for outcome in others for insight in insights_of(outcome))
        by_kind["found"] += (pair for pair in seen if pair[1].kind == "found")
    ids = {outcome.id for outcome in members}
    ended_so = {outcome.id for outcome in agreeing}
    material = _Material(ids, ended_so, _by_wording(agreeing), _by_wording(others))
    causes = (cause for kind, shown in by_kind.items() for cause in _of_kind(kind, shown, material))
    return [cause for cause in causes if cause.shown_by]


_ADVISED = frozenset({"found", "ground", "check"})  # what one would do again


class _Material(NamedTuple):
    """Which outcomes are looked at, and which of all say a statement: its wording -> their ids.

    `ended_so` are all that ended as they did; `agreeing` are of these, `others` ended otherwise.
    Of each statement the figures stand beside its outcome.
    """

    members: Collection[str]
    ended_so: Collection[str]
    agreeing: Mapping[frozenset[str], list[tuple[str, tuple[str, ...]]]]
    others: Mapping[frozenset[str], list[tuple[str, tuple[str, ...]]]]


def _by_wording(
    outcomes: Iterable[Outcome],
) -> dict[frozenset[str], list[tuple[str, tuple[str, ...]]]]:
    """Wording -> (outcome, the figures beside it) of each statement."""
    holders: dict[frozenset[str], list[tuple[str, tuple[str, ...]]]] = defaultdict(list)
    for outcome in outcomes:
        own = own_values(outcome)
        statements = stated(outcome.decision.reasoning)
        for statement in statements:
            figures = figures_in(statement)
            for wording in set(_wordings(statement, own)):
                holders[wording].append((outcome.id, figures))
    return holders


def _wordings(statement: str, own: tuple[str, ...]) -> Iterator[frozenset[str]]:
    """A statement's wording with its outcome's own values and without them.

    One value may be another's own: who says the same word for word always says the same.
    """
    yield wording_of(statement, ())
    yield wording_of(statement, own)


def wording_of(statement: str, own: tuple[str, ...]) -> frozenset[str]:
    """A statement's words and figures, but for the outcome's own: cheap, and nearly a form."""
    words = frozenset(_WORD.findall(statement.casefold()))
    return words.difference(*(_WORD.findall(value.casefold()) for value in own))


def _of_kind(kind: InsightKind, shown: Sequence[Shown], material: _Material) -> Iterator[Cause]:
    forms: dict[Form | str, list[Shown]] = defaultdict(list)
    for outcome, insight in shown:
        forms[form_of(outcome, insight)].append((outcome, insight))
    alike = [list(forms)] if kind in _BY_KIND else _components(kind, list(forms))
    groups = [[pair for form in group for pair in forms[form]] for group in alike]
    if kind in _SEEN:
        groups = _seen_alike(groups)
    if groups and kind in _BY_KIND:
        yield _of_whole_kind(kind, groups[0], material)
        return
    single = [pairs for pairs in groups if len(pairs) == 1 and kind not in _APART]
    yield from (_cause(kind, pairs, material) for pairs in groups if pairs not in single)
    if len(single) == 1:
        yield _cause(kind, single[0], material)
    elif single:
        yield _of_whole_kind(kind, [pair for pairs in single for pair in pairs], material)


def _of_whole_kind(kind: InsightKind, pairs: Sequence[Shown], material: _Material) -> Cause:
    """A cause of which only the kind agrees; what says most stands for them, then the latest."""
    ordered = sorted(pairs, key=_order)
    example = max(
        ordered, key=lambda pair: (kind == "claim" and substance(pair[1].quote), _order(pair))
    )
    form, figures = form_of(*example), figures_in(example[1].quote)
    same = (o.id for o, i in ordered if form_of(o, i) == form and figures_in(i.quote) == figures)
    return Cause(
        kind=kind,
        quote=example[1].quote,
        stated_by=tuple(sorted(same)),
        shown_by=tuple(o.id for o, _ in ordered if o.id in material.members),
        of=len(material.members),
        agreeing=len(ordered),
        alike=False,
        report=kind in _ADVISED and all(is_report(outcome) for outcome, _ in ordered),
    )


def _components(kind: InsightKind, forms: list[Form | str]) -> list[list[Form | str]]:
    """Forms that say the same; an error and an answer say it in the same words or not at all."""
    if kind in ("error", "answer"):
        return [[form] for form in forms]
    worded = [form for form in forms if not isinstance(form, str)]
    return [[worded[place] for place in group] for group in components(worded)]


def _seen_alike(groups: Iterable[list[Shown]]) -> list[list[Shown]]:
    """Groups of what was seen, those joined that share values and words."""
    joined: list[list[Shown]] = []
    for group in groups:
        near = [other for other in joined if any(_sees_same(a, b) for a in group for b in other)]
        joined = [other for other in joined if other not in near]
        joined.append([pair for other in (*near, group) for pair in other])
    return joined


def _sees_same(a: Shown, b: Shown) -> bool:
    first, second = a[1].quote, b[1].quote
    values, others = _values(first), _values(second)
    shared = len(values & others)
    if not shared or _overlap(terms(first), terms(second)) < _SHARED_WORDS:
        return False
    return shared == min(len(values), len(others)) or _overlap(values, others) >= _SHARED_VALUES


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / max(len(a | b), 1)


@lru_cache(maxsize=8192)
def _values(statement: str) -> frozenset[str]:
    return frozenset(match.strip('`"') for match in VALUE.findall(statement))


def _cause(kind: InsightKind, pairs: Sequence[Shown], material: _Material) -> Cause:
    every = {outcome.id for outcome, _ in pairs}
    shown_by = every.intersection(material.members)
    agreeing = every.intersection(material.ended_so)
    against = every - agreeing
    quote = _quote([pair for pair in pairs if pair[0].id in material.members] or pairs)
    figures = figures_in(quote)
    same = kind == "answer"  # of which the form is the value
    stated_by = {o.id for o, i in pairs if same or figures_in(i.quote) == figures}
    if kind in REASONED:
        wordings = {
            wording
            for outcome, insight in pairs
            for wording in _wordings(insight.quote, own_values(outcome))
        }
        worded = {said for wording in wordings for said in material.agreeing.get(wording, ())}
        otherwise = {said for wording in wordings for said in material.others.get(wording, ())}
        agreeing |= {name for name, _ in worded}
        shown_by |= agreeing.intersection(material.members)
        against |= {name for name, _ in otherwise}
        stated_by |= {name for name, beside in worded | otherwise if beside == figures}
    return Cause(
        kind=kind,
        quote=quote,
        stated_by=tuple(sorted(stated_by)),
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

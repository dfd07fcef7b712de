"""Tries that did the same, with the same figures or of one kind whatever the figures.

Groups are values of the set of tries: no order of arrival changes them.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache

from skillvault.learning.tries.sentences import FIGURE, plain_figure
from skillvault.model.sameness.comparison import components
from skillvault.model.sameness.form import Form, normal_form
from skillvault.model.tries import Try


def group_by_deed(tries: Iterable[Try]) -> list[list[Try]]:
    """Tries that did the same, each group and the groups by time.

    A try without a deed stands alone.
    """
    ordered = sorted(tries, key=_order)
    return _grouped(ordered, [_deed_form(each) for each in ordered if each.deed])


def group_by_kind(tries: Iterable[Try]) -> list[list[Try]]:
    """As `group_by_deed`, whatever the figures."""
    ordered = sorted(tries, key=_order)
    return _grouped(ordered, [_kind_form(each) for each in ordered if each.deed])


def _grouped(ordered: Sequence[Try], forms: Sequence[Form]) -> list[list[Try]]:
    """`forms` are those of the tries with a deed, in their order."""
    done = [each for each in ordered if each.deed]
    groups = [[done[place] for place in places] for places in components(forms)]
    silent = [[each] for each in ordered if not each.deed]
    return sorted(groups + silent, key=lambda group: _order(group[0]))


def _order(attempt: Try) -> tuple[datetime, str]:
    return attempt.at, attempt.id


def _deed_form(attempt: Try) -> Form:
    return _form(_own_words(attempt), attempt.target or "", figures=True)


def _kind_form(attempt: Try) -> Form:
    return _form(_own_words(attempt), attempt.target or "", figures=False)


def _own_words(attempt: Try) -> str:
    """The deed without the figures of its grounds that were observed."""
    text = attempt.deed
    for ground in attempt.grounds if attempt.observed else ():
        text = text.replace(ground, _without(ground, attempt.observed))
    return text


def _without(ground: str, observed: Sequence[str]) -> str:
    return FIGURE.sub(lambda match: " " if plain_figure(match[0]) in observed else match[0], ground)


@lru_cache(maxsize=8192)  # once for each text: a guide compares all its tries again
def _form(deed: str, target: str, *, figures: bool) -> Form:
    """The form of a deed without its target."""
    text = deed
    for name in filter(None, (target, _ticker(target))):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", " ", text, flags=re.IGNORECASE)
    return normal_form(text, figures=figures)


def _ticker(target: str) -> str:
    """The short name of a market: SOL for SOL-PERP."""
    head = re.split(r"[-/_:]", target)[0]
    return head if head.isupper() and len(head) > 1 else ""

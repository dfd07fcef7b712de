"""What each statement of a reasoning says about its decision, and what would fit any other.

What the statements are is read in `reading`.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from skillvault.judge.offline.citations import cited, contradicted, words_of
from skillvault.model.english import FULL, base_form, weight
from skillvault.model.records import Decision, Scalar
from skillvault.model.sameness.form import Form, normal_form

# The words of deciding, whatever is decided: they tell nothing of this decision.
_GENERAL = """
    able address advantage advantages align alternative alternatively analyse analysis analyze
    approach appropriate aspect assess assessment assumption balance basis benefit best better
    careful carefully certain certainty challenge chance check choice choose circumstance clear
    clearly comparable compare compelling complete comprehensive concern conclude conclusion
    condition confidence confident confirm confluence consider consideration consistent context
    conviction convincing correct criteria crucial decide decision determine diligence
    disadvantage downside due effective efficient ensure essential evaluate evaluation evidence
    examine expect expected experience factor favorable favourable general good guarantee
    however ideal identify impact implement important indicate inform information insight
    investigate issue justify likelihood main matter meaningful method methodology mitigate
    mitigation moreover necessary objective odds opportunity optimal option outcome outweigh
    overall perfect performance positive possible potential practice prefer prepare probability
    problem proceed process proper properly quality ratio reason reasonable recommend relevant
    reliable requirement resonate result review reward risk robust safe scenario sense setup
    sharpe significant situation solid solution sound strategy strength strong suitable support
    sure therefore think thorough thoroughly trust understand upside valid validate value verify
    view warrant weigh
"""
# A figure beside one of these gives the odds of success: a claim, and nothing that was seen.
_ODDS = re.compile(
    r"\b(?:probab\w+|likelihood|chances?|odds|confiden\w+|confluence|certainty|conviction"
    r"|(?:success|win|hit)[- ](?:rates?|ratio)|expect\w*|sharpe|reward|upside|significan\w+"
    r"|outperform\w*|effective(?:ness)?|proven)\b|\bp ?[<>=] ?0?\.",
    re.IGNORECASE,
)
# What one does, and not what one sees or thinks.
_ACT = re.compile(
    r"\b(?:i|we) (?!(?:also|then|still|now|only|see|find|notice|get|have|know|guess|think)\b)(\w+)",
    re.IGNORECASE,
)
# What has not happened when it is written cannot have shown anything.
_AHEAD = re.compile(
    r"\b(?:i|we|then|to)(?:'ll| will| shall| should| need to| have to| plan to| intend to"
    r"| am going to| are going to)\b|\blet(?:'s| me| us)\b|^(?:if|should|once|when)\b",
    re.IGNORECASE,
)
_LITERAL = re.compile(r"[\d._/()]|^-")  # of a name that is written in code, a path, a version
_MIXED = 1 / 3  # of the words of a statement, those that fit any decision


class Statement(NamedTuple):
    """A statement, and what in it is of this decision.

    `cited` are the conditions that it names with their values, `contradicted` those whose value
    it gives otherwise; `things` what it calls by name, `figures` what it counts or measures;
    `matter` its other words, `general` those that fit any decision.
    """

    text: str
    cited: tuple[str, ...]
    contradicted: tuple[str, ...]
    things: frozenset[str]
    figures: frozenset[str]
    matter: frozenset[str]
    general: frozenset[str]
    is_ahead: bool

    @property
    def generality(self) -> float:
        """The share of its words that fit any decision."""
        return len(self.general) / max(len(self.general | self.matter), 1)

    @property
    def is_specific(self) -> bool:
        """Whether it says more about the matter than about deciding."""
        return bool(self.matter | self.things) and self.generality <= _MIXED

    @property
    def is_anchored(self) -> bool:
        """Whether it names something that can be looked up: a condition, a thing, a measure."""
        measures = bool(self.figures) and len(self.matter) >= 2
        return self.is_specific and (bool(self.cited or self.things) or measures)

    @property
    def is_grounded(self) -> bool:
        """Whether it says something that not every decision could."""
        plain = self.is_specific and len(self.matter) >= 4 and not self.is_ahead
        return self.is_anchored or plain

    @property
    def is_finding(self) -> bool:
        """Whether something was looked at and came out: a name alone is no result."""
        results = self.figures | set(filter(_LITERAL.search, self.things))
        anchors = len(self.things | self.figures) + len(self.cited)
        shows = bool(results) and anchors >= 2 and len(self.matter) >= 2
        return shows and self.is_specific and not self.is_ahead


def statements_of(
    texts: Iterable[str], decision: Decision, context: Mapping[str, Scalar]
) -> tuple[Statement, ...]:
    """What each text says; one that repeats another adds nothing."""
    called = " ".join(filter(None, (decision.action, decision.target, *context)))
    own = words_of(called) | normal_form(called).names
    by_form = {normal_form(text): text for text in texts}
    return tuple(_statement(text, form, context, own) for form, text in by_form.items())


def _statement(
    text: str, form: Form, context: Mapping[str, Scalar], own: frozenset[str]
) -> Statement:
    named = cited(text, form, context)
    own = own.union(*(words_of(str(context[key])) for key in named))
    return Statement(
        text=text,
        cited=named,
        contradicted=contradicted(text, form, context),
        things=frozenset(filter(_is_thing, (form.names | form.proper) - own)),
        figures=frozenset() if _ODDS.search(text) else form.numbers,
        matter=form.stems - own - _general(),
        general=(form.stems & _general()) - own,
        is_ahead=_is_ahead(text),
    )


@lru_cache(maxsize=1)
def _general() -> frozenset[str]:
    return normal_form(_GENERAL).stems


def _is_ahead(text: str) -> bool:
    """An announcement, a condition, or what "I raise" and not what "I raised"."""
    verbs = [act[1].lower() for act in _ACT.finditer(text)]
    intends = any(not verb.endswith("ed") and base_form(verb) == verb for verb in verbs)
    return intends or bool(_AHEAD.search(text))


def _is_thing(name: str) -> bool:
    """`risk/reward` is two words and no name."""
    return "/" not in name or any(weight(part) >= FULL for part in name.split("/"))

"""What of a model's reply is believed: its words within a schema, its numbers by rule.

A reply that cannot be used is an UnusableError with the reason, which the model is told once.
"""

import re
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from skillvault.brief import Insight, Opinion, Verdict
from skillvault.judge.claude.retries import Kept
from skillvault.judge.offline.verdict import GOOD
from skillvault.records import Applicability, InsightType
from skillvault.text import flat, shorten

_SENTENCE, _INSIGHT, _MOST = 300, 500, 4
_FIGURE = re.compile(r"\d+ of \d+|[\d,]*\d(?:\.\d+)? ?%|\d+\.\d+|\d{3,}")
_Shape = TypeVar("_Shape", bound=Struct)


class UnusableError(Exception):
    """A reply that cannot be used, and why."""


class VerdictSaid(Struct, frozen=True, forbid_unknown_fields=True):
    """A verdict as the model gives it; whether that is a good decision follows by rule."""

    quality_score: float
    strengths: list[str]
    weaknesses: list[str]
    missed_factors: list[str]


class InsightSaid(Struct, frozen=True, forbid_unknown_fields=True):
    """An insight as the model gives it."""

    key_insight: str
    insight_type: InsightType
    applicability: Applicability
    better_approach: str


class OpinionSaid(Struct, frozen=True, forbid_unknown_fields=True):
    """An opinion as the model gives it."""

    quality_score: float
    confidence: float
    warnings: list[str]
    suggestion: str
    insight: str


def schema(shape: type[Struct]) -> dict[str, Any]:
    """The JSON schema of a shape as structured outputs take it: one object, all keys required."""
    (found,), parts = msgspec.json.schema_components([shape], ref_template="#/$defs/{name}")
    name = found["$ref"].rpartition("/")[2]
    objects = {key: _plain(part) for key, part in parts.items()}
    return {**objects.pop(name), **({"$defs": objects} if objects else {})}


def _plain(part: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in part.items() if key not in ("title", "description")}
    return {**kept, "additionalProperties": False}


def shaped(reply: Kept, shape: type[_Shape]) -> _Shape:
    """The reply as its shape; UnusableError where it is cut off, refused or something else."""
    if reply.stop == "refusal":
        raise UnusableError("the reply was refused")
    if reply.stop in ("max_tokens", "model_context_window_exceeded"):
        raise UnusableError("the reply was cut off")
    if not reply.text.strip():
        raise UnusableError("the reply was empty")
    try:
        return msgspec.json.decode(reply.text, type=shape)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise UnusableError(f"the reply did not keep to its schema ({error})") from None


def verdict_of(said: VerdictSaid) -> Verdict:
    """The verdict, its quality within 0..1, good or not by rule."""
    quality = _fraction(said.quality_score)
    return Verdict(
        was_good_decision=quality >= GOOD,
        quality_score=quality,
        strengths=_lines(said.strengths),
        weaknesses=_lines(said.weaknesses),
        missed_factors=_lines(said.missed_factors),
    )


def insight_of(said: InsightSaid, shown: str) -> Insight:
    """The insight; UnusableError where it has figures that were not `shown`."""
    check_figures(f"{said.key_insight}\n{said.better_approach}", shown)
    return Insight(
        key_insight=shorten(flat(said.key_insight), _INSIGHT),
        insight_type=said.insight_type,
        applicability=said.applicability,
        better_approach=shorten(flat(said.better_approach), _INSIGHT) or None,
    )


def opinion_of(said: OpinionSaid, shown: str) -> Opinion:
    """The opinion; UnusableError where it has figures that were not `shown`."""
    check_figures("\n".join((said.insight, said.suggestion, *said.warnings)), shown)
    return Opinion(
        quality=_fraction(said.quality_score),
        confidence=_fraction(said.confidence),
        warnings=_lines(said.warnings),
        suggestion=shorten(flat(said.suggestion), _SENTENCE),
        insight=shorten(flat(said.insight), _INSIGHT),
    )


def _fraction(said: float) -> float:
    return round(min(max(said, 0.0), 1.0), 2)


def check_figures(text: str, shown: str) -> None:
    """UnusableError for a share, a percentage or a larger number that was not shown."""
    known = _even(shown)
    for figure in _FIGURE.findall(text):
        if _even(figure) not in known:
            raise UnusableError(f"the reply has a figure that the record does not: {figure}")


def _even(text: str) -> str:
    return text.replace(" %", "%").replace(",", "")


def _lines(said: list[str]) -> tuple[str, ...]:
    lines = (shorten(flat(each), _SENTENCE) for each in said)
    return tuple(dict.fromkeys(filter(None, lines)))[:_MOST]

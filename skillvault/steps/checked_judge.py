"""A judge whose every reply is checked at the door: its types, its choices, its ranges.

Floor 3, beside the steps. What a judge of anybody's making says is foreign text: secrets and hidden
characters leave it, and what cannot be used is refused as a bad reply is.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct

from skillvault.brief import Brief, Case, Draft, InsightText, Verdict
from skillvault.errors import BadInputError, UnansweredError
from skillvault.judge import Judge
from skillvault.records import Decision, JudgeInfo, Scalar

_Reply = TypeVar("_Reply", bound=Struct)


class CheckedJudge:
    """The judge of a run, whose replies are what they must be."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    @property
    def info(self) -> JudgeInfo:
        """Which judge this is."""
        return self._judge.info

    @property
    def at_once(self) -> int:
        """How many questions it takes at once."""
        return self._judge.at_once

    def verdict(
        self,
        domain: str,
        decision: Decision,
        context: Mapping[str, Scalar],
        applied: Sequence[str] | None,
        entry_value: float | None,
    ) -> Verdict:
        """How good the decision was; UnansweredError for a verdict that cannot be used."""
        verdict = self._judge.verdict(domain, decision, context, applied, entry_value)
        return _checked(verdict, Verdict, "verdict")

    def insight(self, case: Case, verdict: Verdict) -> InsightText | None:
        """What the outcome teaches; UnansweredError for an insight that cannot be used."""
        insight = self._judge.insight(case, verdict)
        return None if insight is None else _checked(insight, InsightText, "insight")

    def write(self, brief: Brief) -> Draft | None:
        """The text of a skill; the offline judge's with a note for one that cannot be used."""
        draft = self._judge.write(brief)
        try:
            return None if draft is None else _checked(draft, Draft, "text")
        except UnansweredError as error:
            return _offline(brief, f"Written by the offline judge: {error}.")


def _checked(reply: object, kind: type[_Reply], what: str) -> _Reply:
    """A reply as the record it must be, clean; UnansweredError says what is wrong with it."""
    from skillvault.vault.files import redact  # noqa: PLC0415 (a question asks no judge)

    try:
        return msgspec.convert(redact.cleaned(_plain(reply)), kind)
    except (msgspec.ValidationError, BadInputError, TypeError) as error:
        raise UnansweredError(f"the judge's {what} cannot be used ({error})") from None


def _plain(reply: object) -> object:
    """A reply as plain values; TypeError for a number that is none."""
    plain = msgspec.to_builtins(reply)
    quality = plain.get("quality_score") if isinstance(plain, dict) else None
    if isinstance(quality, float) and math.isnan(quality):  # which no range leaves out
        raise TypeError("quality_score is no number")
    return plain


def _offline(brief: Brief, note: str) -> Draft | None:
    from skillvault.judge.offline.judge import OfflineJudge  # noqa: PLC0415 (as above)

    plain = OfflineJudge().write(brief)
    return msgspec.structs.replace(plain, note=note) if plain else None

"""The default judge: free, offline, and the same words for the same outcome every time.

Each method imports what it needs: a vault that is only asked needs none of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillvault.judge.offline import drafting, planning, telling, verdict
from skillvault.judge.offline import drafting as recounting
from skillvault.model.brief import (
    Agreement,
    Brief,
    Case,
    Draft,
    Findings,
    InsightText,
    Opinion,
    Period,
    Recurrence,
    SessionExcerpt,
    Verdict,
)
from skillvault.model.records import OFFLINE, Decision, JudgeInfo, Outcome, Scalar, Skill

_INFO = JudgeInfo(name=OFFLINE, version="2")


@dataclass(frozen=True)
class OfflineJudge:
    """Reads what was recorded, counts, and quotes; it invents nothing."""

    info: JudgeInfo = _INFO
    at_once: int = 1  # it waits for nothing

    def verdict(
        self,
        domain: str,  # noqa: ARG002 - the protocol's; this judge has no knowledge of domains
        decision: Decision,
        context: Mapping[str, Scalar],
        applied: Sequence[str] | None,
        entry_value: float | None,
    ) -> Verdict:
        """How good the decision was: a sum of its features, 0.4 when there is nothing to judge."""
        return verdict.judged(decision, context, applied, entry_value)

    def insight(
        self,
        case: Case,
        verdict: Verdict,  # noqa: ARG002 - the protocol's; what an outcome shows needs none
    ) -> InsightText | None:
        """The most telling statement that the outcome among its peers supports."""
        return telling.told(case)

    def write(self, brief: Brief) -> Draft | None:
        """The text that the brief supports; None where it supports none."""
        match brief:
            case Findings():
                return drafting.drafted(brief)
            case Recurrence():
                return drafting.consolidated(brief)
            case Period():
                return planning.planned(brief)
            case Agreement():
                return drafting.joined(brief)
            case SessionExcerpt():
                return recounting.recounted(brief)

    def advise(
        self,
        outcome: Outcome,
        skills: Sequence[Skill],
        *,
        thorough: bool,  # noqa: ARG002 - the protocol's; this judge has but one way
    ) -> tuple[Opinion, JudgeInfo]:
        """The verdict before the fact, and the warnings that fit."""
        return verdict.opined(outcome, skills), self.info

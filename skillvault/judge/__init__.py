"""Who says how good a decision was, and puts what an outcome teaches into words.

A judge sees the decision before the result: `verdict` is blind by its very signature.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from skillvault.model.brief import Brief, Case, Draft, InsightText, Opinion, Verdict
from skillvault.model.records import Decision, JudgeInfo, Outcome, Scalar, Skill


class Judge(Protocol):
    """Whoever judges outcomes and writes skills from them.

    Each question raises UnavailableError if nobody can be asked now; `verdict` and `insight`
    raise NoAnswerError if there is no usable answer.
    """

    @property
    def info(self) -> JudgeInfo:
        """Which judge this is, as its evaluations name it."""
        ...

    @property
    def at_once(self) -> int:
        """How many questions it takes at once."""
        ...

    def verdict(
        self,
        domain: str,
        decision: Decision,
        context: Mapping[str, Scalar],
        applied: Sequence[str] | None,
        entry_value: float | None,
    ) -> Verdict:
        """How good the decision was, from what was known when it was made."""
        ...

    def insight(self, case: Case, verdict: Verdict) -> InsightText | None:
        """What the outcome teaches; None if it supports no statement."""
        ...

    def write(self, brief: Brief) -> Draft | None:
        """The text of a skill; None if the material supports none, and then none is made."""
        ...


class Adviser(Judge, Protocol):
    """A judge that is also asked before a decision is carried out."""

    def advise(
        self, outcome: Outcome, skills: Sequence[Skill], *, thorough: bool
    ) -> tuple[Opinion, JudgeInfo]:
        """What speaks for and against a decision, and who says so.

        `outcome` is the one it would have, `skills` are those that fit it; `thorough`: much is at
        stake. UnavailableError and NoAnswerError as of a judge.
        """
        ...

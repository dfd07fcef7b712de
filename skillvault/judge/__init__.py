"""The protocols of judges: they rate decisions, put insights into words and write skills.

A judge sees the decision before the result: a `BlindCase` holds none.
"""

from collections.abc import Sequence
from typing import Protocol

from skillvault.model.brief import BlindCase, Brief, Case, Draft, InsightText, Opinion, Verdict
from skillvault.model.records import JudgeInfo, Outcome, Skill


class Judge(Protocol):
    """A judge of outcomes, who writes skills from them.

    Each question raises UnavailableError if nobody can be asked now; `verdict` and `insight`
    raise UnansweredError if there is no usable answer.
    """

    @property
    def info(self) -> JudgeInfo:
        """The judge as its evaluations name it."""
        ...

    @property
    def at_once(self) -> int:
        """The number of questions that it takes at once."""
        ...

    def verdict(self, case: BlindCase) -> Verdict:
        """Rate the decision by what was known when it was made."""
        ...

    def insight(self, case: Case, verdict: Verdict) -> InsightText | None:
        """Return what the outcome teaches; None if it supports no statement."""
        ...

    def write(self, brief: Brief) -> Draft | None:
        """Return the text of a skill; None if the material supports none."""
        ...


class Adviser(Judge, Protocol):
    """A judge that is also asked before a decision is carried out."""

    def advise(
        self, outcome: Outcome, skills: Sequence[Skill], *, thorough: bool
    ) -> tuple[Opinion, JudgeInfo]:
        """Return an opinion on a decision, and its author.

        `outcome` is the one it would have, `skills` are those that fit it; `thorough`: much is at
        stake. Raises UnavailableError and UnansweredError as a judge does.
        """
        ...

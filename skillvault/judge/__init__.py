"""Define the protocol of a judge: it rates decisions, states insights and writes skills.

A judge rates a `BlindCase`, which has the decision but not its result.
"""

from collections.abc import Sequence
from typing import Protocol

from skillvault.model.brief import BlindCase, Brief, Case, Draft, InsightText, Opinion, Verdict
from skillvault.model.records import JudgeInfo, Outcome, Skill


class Judge(Protocol):
    """A judge of outcomes, which also writes skills.

    The methods raise UnavailableError if the judge cannot be asked now. `verdict` and `insight`
    raise NoAnswerError for an unusable answer.
    """

    @property
    def info(self) -> JudgeInfo:
        """The name and version that evaluations of this judge record."""
        ...

    @property
    def at_once(self) -> int:
        """The number of questions that the judge takes at the same time."""
        ...

    def verdict(self, case: BlindCase) -> Verdict:
        """Rate a decision by the facts at the time of the decision."""
        ...

    def insight(self, case: Case, verdict: Verdict) -> InsightText | None:
        """Return the lesson of an outcome; None if it supports no statement."""
        ...

    def write(self, brief: Brief) -> Draft | None:
        """Write the text of a skill; None if the brief supports no text."""
        ...


class Adviser(Judge, Protocol):
    """A judge that also gives opinions on decisions before they are carried out."""

    def advise(
        self, outcome: Outcome, skills: Sequence[Skill], *, thorough: bool
    ) -> tuple[Opinion, JudgeInfo]:
        """Return an opinion on a decision, and its author.

        `outcome` has the decision without a result, `skills` are the skills that fit it. Set
        `thorough` if much is at stake. Raises UnavailableError and NoAnswerError.
        """
        ...

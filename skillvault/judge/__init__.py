"""The protocol of a judge: it rates decisions, states lessons and writes texts of skills.

Implementations are `offline` (rules), `claude` (the API), and `agent` (stored answers).
`loop/judging/judges.py` builds the judge of a vault.
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
        """The number of questions that the judge can answer at the same time."""
        ...

    def verdict(self, case: BlindCase) -> Verdict:
        """Rate a decision without knowing its result."""
        ...

    def insight(self, case: Case, verdict: Verdict) -> InsightText | None:
        """Return the lesson of an outcome, or None if the outcome supports no statement."""
        ...

    def write(self, brief: Brief) -> Draft | None:
        """Write the text of a skill, or return None if the brief supports no text."""
        ...


class Adviser(Judge, Protocol):
    """A judge that also gives opinions on decisions before they are carried out."""

    def advise(
        self, outcome: Outcome, skills: Sequence[Skill], *, thorough: bool
    ) -> tuple[Opinion, JudgeInfo]:
        """Return an opinion on a decision, and the judge that gave it.

        `outcome` has the decision without a result; `skills` are the skills that fit the decision.
        Set `thorough` for an important decision. Raise UnavailableError or NoAnswerError.
        """
        ...

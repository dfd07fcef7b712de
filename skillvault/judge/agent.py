"""An agent or a client as the judge: its answers count, and until then the offline judge's words.

Nobody is asked here and nobody waits; `loop.judging.questions` says what may be asked.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from skillvault.judge.claude.questions import Question, Questions
from skillvault.judge.offline.judge import OfflineJudge
from skillvault.model.brief import BlindCase, Brief, Case, Draft, InsightText, Verdict
from skillvault.model.records import Answer, JudgeInfo

_Value = TypeVar("_Value")
_OFFLINE = OfflineJudge()


@dataclass(frozen=True)
class AgentJudge:
    """A judge by the given answers, which `answers` finds by the keys of their questions."""

    questions: Questions
    answers: Callable[[str], Answer | None]
    name: str = "agent"
    model: str | None = None

    @property
    def info(self) -> JudgeInfo:
        """The offline judge, whose words count until an agent answers."""
        return _OFFLINE.info

    @property
    def at_once(self) -> int:
        """It waits for nothing."""
        return _OFFLINE.at_once

    def author(self) -> JudgeInfo:
        """Return who answers, with the version of the current prompts."""
        return JudgeInfo(
            name=self.name, version="1", model=self.model, prompt=self.questions.version
        )

    def verdict(self, case: BlindCase) -> Verdict:
        """Rate the decision."""
        return self.given_verdict(case) or _OFFLINE.verdict(case)

    def given_verdict(self, case: BlindCase) -> Verdict | None:
        """Return the verdict that was answered."""
        return self._read_answer(self.questions.verdict_question(case))

    def insight(self, case: Case, verdict: Verdict) -> InsightText | None:
        """Return what the outcome teaches."""
        question = self.questions.insight_question(case, verdict)
        return (question and self._read_answer(question)) or _OFFLINE.insight(case, verdict)

    def write(self, brief: Brief) -> Draft | None:
        """Return the text of a skill."""
        plain = _OFFLINE.write(brief)
        if plain is None:
            return None
        return self._read_answer(self.questions.text_question(brief, plain)) or plain

    # Before a decision nobody waits for an answer.
    advise = staticmethod(_OFFLINE.advise)

    def _read_answer(self, question: Question[_Value]) -> _Value | None:
        return question.read_answer(self.answers(question.matter.question))

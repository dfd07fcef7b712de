"""Judge by the stored answers of an agent or a client; without an answer, use the offline judge.

This judge asks nobody and never waits. `loop/judging/` hands its questions out and stores the
answers.
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
    """A judge that uses stored answers; `answers` finds an answer by the key of its question."""

    questions: Questions
    answers: Callable[[str], Answer | None]
    name: str = "agent"
    model: str | None = None

    @property
    def info(self) -> JudgeInfo:
        """The info of the offline judge, whose text is used until an agent answers."""
        return _OFFLINE.info

    @property
    def at_once(self) -> int:
        """The number 1, because no question takes time."""
        return _OFFLINE.at_once

    def author(self) -> JudgeInfo:
        """Return the author of the answers, with the version of the current prompts."""
        return JudgeInfo(
            name=self.name, version="1", model=self.model, prompt=self.questions.version
        )

    def verdict(self, case: BlindCase) -> Verdict:
        """Rate the decision."""
        return self.answered_verdict(case) or _OFFLINE.verdict(case)

    def answered_verdict(self, case: BlindCase) -> Verdict | None:
        """Return the stored verdict, or None."""
        return self._read_answer(self.questions.verdict_question(case))

    def insight(self, case: Case, verdict: Verdict) -> InsightText | None:
        """Return the lesson of an outcome."""
        question = self.questions.insight_question(case, verdict)
        return (question and self._read_answer(question)) or _OFFLINE.insight(case, verdict)

    def write(self, brief: Brief) -> Draft | None:
        """Write the text of a skill."""
        draft = _OFFLINE.write(brief)
        if draft is None:
            return None
        return self._read_answer(self.questions.text_question(brief, draft)) or draft

    # An opinion on a decision cannot wait for an answer.
    advise = staticmethod(_OFFLINE.advise)

    def _read_answer(self, question: Question[_Value]) -> _Value | None:
        return question.read_answer(self.answers(question.topic.question))

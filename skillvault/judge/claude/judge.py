"""Judge with Claude: ask a question, check the reply, and ask again if it is unusable.

`questions` builds the questions, `replies` checks the replies, `wire` sends requests, and
`loop/judging/paid_calls` limits calls and retries.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from skillvault.judge.claude.prompts import lacks_material
from skillvault.judge.claude.questions import JudgeRequest, Question, Questions, with_answer
from skillvault.judge.claude.replies import PricedReply, UnusableError
from skillvault.judge.offline.judge import OfflineJudge
from skillvault.model.brief import (
    AnswerCost,
    BlindCase,
    Brief,
    Case,
    Draft,
    InsightText,
    Opinion,
    Verdict,
    add_cost,
    answer_cost,
)
from skillvault.model.errors import NoAnswerError
from skillvault.model.records import Answer, JudgeInfo, Outcome, Skill
from skillvault.model.text.text import flatten, shorten

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class ClaudeJudge:
    """The judge that asks Claude for verdicts, insights, skill texts and opinions.

    `ask` sends a request and `forget_reply` deletes its useless reply. `answers` finds a stored
    answer by the key of its question, so that no question is asked twice.
    """

    questions: Questions
    ask: Callable[[JudgeRequest], PricedReply]
    forget_reply: Callable[[JudgeRequest], None]
    answers: Callable[[str], Answer | None]

    @property
    def info(self) -> JudgeInfo:
        """The model, and the digest of the prompts for verdicts and insights."""
        return self._info(self.questions.policy.model)

    @property
    def at_once(self) -> int:
        """The number of questions that the policy allows at the same time."""
        return self.questions.policy.concurrency

    def verdict(self, case: BlindCase) -> Verdict:
        """Rate a decision; the request contains nothing about the result."""
        if not case.decision.reasoning.strip():  # nothing to judge for a model
            return OfflineJudge().verdict(case)
        verdict, cost = self._ask_or_reuse(self.questions.verdict_question(case))
        return msgspec.structs.replace(verdict, spent=cost)

    def insight(self, case: Case, verdict: Verdict) -> InsightText | None:
        """Return the lesson of an outcome, or None if the outcome supports no statement."""
        question = self.questions.insight_question(case, verdict)
        if question is None:
            return None
        insight, cost = self._ask_or_reuse(question)
        return msgspec.structs.replace(insight, spent=cost)

    def write(self, brief: Brief) -> Draft | None:
        """Write the text of a skill; if Claude's text is unusable, return the offline text."""
        offline_draft = OfflineJudge().write(brief)
        if offline_draft is None:
            return None
        question = self.questions.text_question(brief, offline_draft)
        if lacks_material(brief):
            return question.read_answer(self.answers(question.topic.question)) or offline_draft
        try:
            draft, _ = self._ask_or_reuse(question)
        except NoAnswerError as error:
            reason = shorten(flatten(str(error)), 200)
            note = (
                f"Written by the offline judge, because Claude's text could not be used: {reason}."
            )
            return msgspec.structs.replace(offline_draft, note=note)
        return draft

    def advise(
        self, outcome: Outcome, skills: Sequence[Skill], *, thorough: bool
    ) -> tuple[Opinion, JudgeInfo]:
        """Return an opinion on a decision before it is carried out."""
        policy = self.questions.policy
        model = policy.model if thorough else policy.fast_model
        question = self.questions.opinion_question(outcome, skills, model)
        reply, cost = self._ask_twice(question)
        prompt = self.questions.prompts.digest("advice")
        judge = JudgeInfo(name="claude", version="1", model=model, prompt=prompt)
        return question.value_of(reply), add_cost(judge, cost)

    def _info(self, model: str) -> JudgeInfo:
        return JudgeInfo(name="claude", version="1", model=model, prompt=self.questions.version)

    def _ask_or_reuse(self, question: Question[_Value]) -> tuple[_Value, AnswerCost | None]:
        answer = self.answers(question.topic.question)
        value = question.read_answer(answer)
        if answer is not None and value is not None:
            return value, answer_cost(answer.judge)
        reply, cost = self._ask_twice(question)
        new_answer = question.as_answer(reply, add_cost(self._info(question.request.model), cost))
        return with_answer(question.value_of(reply), new_answer), cost

    def _ask_twice(self, question: Question[_Value]) -> tuple[Mapping[str, object], AnswerCost]:
        """Return an accepted reply and its cost; if the first reply is unusable, ask again."""
        request = question.request
        first_reply = self.ask(request)
        try:
            return question.accept(first_reply), _round(first_reply.spent)
        except UnusableError as error:
            # The reason is framed as data, because it quotes outcomes.
            reason = self.questions.prompts.frame_data({"of_no_use": str(error)})
            complaint = (
                f"Your last reply could not be used. Reply again, with all of it. Why:\n{reason}"
            )
            refusal = (first_reply.text.strip() or "(nothing)", complaint)
            retry = msgspec.structs.replace(request, key=f"{request.key}-again", refused=refusal)
        reply = self.ask(retry)
        try:
            return question.accept(reply, final=True), _round(first_reply.spent + reply.spent)
        except UnusableError as error:
            self.forget_reply(request)
            self.forget_reply(retry)
            raise NoAnswerError(str(error)) from None


def _round(cost: AnswerCost) -> AnswerCost:
    """Round the cost to the stored precision, so that sums are equal everywhere."""
    return AnswerCost(cost.tokens, round(cost.cost_usd, 6))

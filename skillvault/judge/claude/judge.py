"""Claude as the judge.

`questions` holds the questions, `replies` the checks of replies, `wire` the network, and
`loop/judging/paid_calls` caps and retries.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from skillvault.judge.claude.prompts import says_too_little
from skillvault.judge.claude.questions import JudgeRequest, Question, Questions, with_answer
from skillvault.judge.claude.replies import KeptReply, UnusableError
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
    """Asks for a verdict before the result is shown, then for an insight; writes skills.

    `ask` sends a question, and `forget_reply` drops a useless reply. `answers` finds the answer
    to a question by its key: an answered question is not asked again.
    """

    questions: Questions
    ask: Callable[[JudgeRequest], KeptReply]
    forget_reply: Callable[[JudgeRequest], None]
    answers: Callable[[str], Answer | None]

    @property
    def info(self) -> JudgeInfo:
        """Claude, by its model and the prompts of both questions."""
        return self._info(self.questions.rules.model)

    @property
    def at_once(self) -> int:
        """As many questions as the policy allows."""
        return self.questions.rules.concurrency

    def verdict(self, case: BlindCase) -> Verdict:
        """Rate the decision; the request holds nothing of its result."""
        if not case.decision.reasoning.strip():  # there is nothing to judge by
            return OfflineJudge().verdict(case)
        verdict, spent = self._ask_or_reuse(self.questions.verdict_question(case))
        return msgspec.structs.replace(verdict, spent=spent)

    def insight(self, case: Case, verdict: Verdict) -> InsightText | None:
        """Return what the outcome teaches; do not ask if it supports no statement."""
        question = self.questions.insight_question(case, verdict)
        if question is None:
            return None
        insight, spent = self._ask_or_reuse(question)
        return msgspec.structs.replace(insight, spent=spent)

    def write(self, brief: Brief) -> Draft | None:
        """Return the text of a skill; the offline one, with a note, if Claude's is of no use."""
        plain = OfflineJudge().write(brief)
        if plain is None:
            return None
        question = self.questions.text_question(brief, plain)
        if says_too_little(brief):
            return question.read_answer(self.answers(question.matter.question)) or plain
        try:
            draft, _ = self._ask_or_reuse(question)
        except NoAnswerError as error:
            why = shorten(flatten(str(error)), 200)
            note = f"Written by the offline judge, as Claude's text was of no use: {why}."
            return msgspec.structs.replace(plain, note=note)
        return draft

    def advise(
        self, outcome: Outcome, skills: Sequence[Skill], *, thorough: bool
    ) -> tuple[Opinion, JudgeInfo]:
        """Return an opinion on a decision before it is carried out."""
        rules = self.questions.rules
        model = rules.model if thorough else rules.fast_model
        question = self.questions.opinion_question(outcome, skills, model)
        reply, spent = self._ask_twice(question)
        prompt = self.questions.prompts.digest("advice")
        judge = JudgeInfo(name="claude", version="1", model=model, prompt=prompt)
        return question.value_of(reply), add_cost(judge, spent)

    def _info(self, model: str) -> JudgeInfo:
        prompt = self.questions.version
        return JudgeInfo(name="claude", version="1", model=model, prompt=prompt)

    def _ask_or_reuse(self, question: Question[_Value]) -> tuple[_Value, AnswerCost | None]:
        """Return the value of an answer, stored or new, and its cost."""
        answer = self.answers(question.matter.question)
        value = question.read_answer(answer)
        if answer is not None and value is not None:
            return value, answer_cost(answer.judge)
        reply, spent = self._ask_twice(question)
        new_answer = question.as_answer(reply, add_cost(self._info(question.request.model), spent))
        return with_answer(question.value_of(reply), new_answer), spent

    def _ask_twice(self, question: Question[_Value]) -> tuple[Mapping[str, object], AnswerCost]:
        """Return the accepted reply and its cost; if it is unusable, ask once more and say why."""
        request = question.request
        first = self.ask(request)
        try:
            return question.accept(first), _round(first.spent)
        except UnusableError as error:
            # As data, since the reason quotes outcomes.
            why = self.questions.prompts.frame_data({"of_no_use": str(error)})
            complaint = f"Your last reply was of no use. Reply again, whole. Why:\n{why}"
            refused = (first.text.strip() or "(nothing)", complaint)
            repeat = msgspec.structs.replace(request, key=f"{request.key}-again", refused=refused)
        second = self.ask(repeat)
        try:
            return question.accept(second, last=True), _round(first.spent + second.spent)
        except UnusableError as error:
            self.forget_reply(request)
            self.forget_reply(repeat)
            raise NoAnswerError(str(error)) from None


def _round(spent: AnswerCost) -> AnswerCost:
    """Round the cost as it is stored, so that sums are equal everywhere."""
    return AnswerCost(spent.tokens, round(spent.cost_usd, 6))

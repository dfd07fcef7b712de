"""Claude as the judge.

What is asked stands in `questions`, what of a reply is believed in `replies`, what goes over the
network in `wire`, caps and retries in `loop/judging/paid_calls`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from skillvault.judge.claude.prompts import says_too_little
from skillvault.judge.claude.questions import Asked, Question, Questions, with_answer
from skillvault.judge.claude.replies import Kept, UnusableError
from skillvault.judge.offline.judge import OfflineJudge
from skillvault.model.brief import (
    Brief,
    Case,
    Draft,
    InsightText,
    Opinion,
    Spent,
    Verdict,
    billed,
    spent_of,
)
from skillvault.model.errors import UnansweredError
from skillvault.model.records import Answer, Decision, JudgeInfo, Outcome, Scalar, Skill
from skillvault.model.text.text import flat, shorten

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class ClaudeJudge:
    """Asks for a verdict before the result is shown, then for what it teaches; writes skills.

    `ask` sends a question, and `forget_reply` drops a reply of no use. `answers` gives what was
    answered to a question by its key: nobody is asked that again.
    """

    questions: Questions
    ask: Callable[[Question], Kept]
    forget_reply: Callable[[Question], None]
    answers: Callable[[str], Answer | None]

    @property
    def info(self) -> JudgeInfo:
        """Claude, by its model and the prompts of both questions."""
        return self._info(self.questions.rules.model)

    @property
    def at_once(self) -> int:
        """As many questions as the policy allows."""
        return self.questions.rules.concurrency

    def verdict(
        self,
        domain: str,
        decision: Decision,
        context: Mapping[str, Scalar],
        applied: Sequence[str] | None,
        entry_value: float | None,
    ) -> Verdict:
        """How good the decision was; the request holds nothing of how it ended."""
        if not decision.reasoning.strip():  # there is nothing to judge by
            return OfflineJudge().verdict(domain, decision, context, applied, entry_value)
        question = self.questions.verdict_question(
            domain, decision, context=context, applied=applied, entry_value=entry_value
        )
        verdict, spent = self._answered(question)
        return msgspec.structs.replace(verdict, spent=spent)

    def insight(self, case: Case, verdict: Verdict) -> InsightText | None:
        """What the outcome teaches; nobody is asked where it supports no statement."""
        question = self.questions.insight_question(case, verdict)
        if question is None:
            return None
        insight, spent = self._answered(question)
        return msgspec.structs.replace(insight, spent=spent)

    def write(self, brief: Brief) -> Draft | None:
        """The text of a skill; the offline one, which says so, where Claude's is of no use."""
        plain = OfflineJudge().write(brief)
        if plain is None:
            return None
        question = self.questions.text_question(brief, plain)
        if says_too_little(brief):
            return question.answered(self.answers(question.matter.question)) or plain
        try:
            draft, _ = self._answered(question)
        except UnansweredError as error:
            why = shorten(flat(str(error)), 200)
            note = f"Written by the offline judge, as Claude's text was of no use: {why}."
            return msgspec.structs.replace(plain, note=note)
        return draft

    def advise(
        self, outcome: Outcome, skills: Sequence[Skill], *, thorough: bool
    ) -> tuple[Opinion, JudgeInfo]:
        """What speaks for and against a decision that is about to be carried out."""
        rules = self.questions.rules
        model = rules.model if thorough else rules.fast_model
        question = self.questions.opinion_question(outcome, skills, model)
        reply, spent = self._replied(question)
        prompt = self.questions.prompts.digest("advice")
        judge = JudgeInfo(name="claude", version="1", model=model, prompt=prompt)
        return question.says(reply), billed(judge, spent)

    def _info(self, model: str) -> JudgeInfo:
        prompt = self.questions.version
        return JudgeInfo(name="claude", version="1", model=model, prompt=prompt)

    def _answered(self, question: Asked[_Value]) -> tuple[_Value, Spent | None]:
        """What an answer says and took, kept or new."""
        answer = self.answers(question.matter.question)
        kept = question.answered(answer)
        if answer is not None and kept is not None:
            return kept, spent_of(answer.judge)
        reply, spent = self._replied(question)
        answer_given = question.given(reply, billed(self._info(question.sent.model), spent))
        return with_answer(question.says(reply), answer_given), spent

    def _replied(self, question: Asked[_Value]) -> tuple[Mapping[str, object], Spent]:
        """What of a reply is believed, and what it took; asked once more with the reason."""
        first = self.ask(question.sent)
        try:
            return question.accepted(first), _rounded(first.spent)
        except UnusableError as error:
            again = self._again(question.sent, first.text, str(error))
        second = self.ask(again)
        try:
            return question.accepted(second, last=True), _rounded(first.spent + second.spent)
        except UnusableError as error:
            self.forget_reply(question.sent)
            self.forget_reply(again)
            raise UnansweredError(str(error)) from None

    def _again(self, sent: Question, reply: str, reason: str) -> Question:
        """The question, with the reply and what was wrong; as data, since it quotes outcomes."""
        why = self.questions.prompts.fenced({"of_no_use": reason})
        complaint = f"Your last reply was of no use. Reply again, whole. Why:\n{why}"
        return msgspec.structs.replace(
            sent,
            key=f"{sent.key}-again",
            refused=(reply.strip() or "(nothing)", complaint),
        )


def _rounded(spent: Spent) -> Spent:
    """As it is written down, so that sums are the same wherever they are made."""
    return Spent(spent.tokens, round(spent.cost_usd, 6))

"""Claude as the judge.

What is asked stands in `prompts`, what of a reply is believed in `replies`, caps and retries in
`retries`, what goes over the network in `wire`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from skillvault.brief import (
    Brief,
    Case,
    Draft,
    InsightText,
    Opinion,
    SessionExcerpt,
    Spent,
    Verdict,
    billed,
)
from skillvault.errors import UnansweredError
from skillvault.judge.claude import prompts as asking
from skillvault.judge.claude.replies import (
    InsightReply,
    OpinionReply,
    SessionReply,
    SkillReader,
    SkillReply,
    UnusableError,
    VerdictReply,
    insight_of,
    opinion_of,
    schema,
    shaped,
    verdict_of,
)
from skillvault.judge.claude.retries import Caller, Kept, Question
from skillvault.judge.offline.judge import OfflineJudge
from skillvault.policy import DistillPolicy, JudgePolicy
from skillvault.records import Decision, JudgeInfo, Outcome, Scalar, Skill
from skillvault.text import flat, shorten

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class ClaudeJudge:
    """Asks for a verdict before the result is shown, then for what it teaches; writes skills."""

    rules: JudgePolicy
    prompts: asking.Prompts
    caller: Caller
    distilling: DistillPolicy

    @property
    def info(self) -> JudgeInfo:
        """Claude, by its model and the prompts of both questions."""
        prompt = self.prompts.digest("verdict", "insight")
        return JudgeInfo(name="claude", version="1", model=self.rules.model, prompt=prompt)

    @property
    def at_once(self) -> int:
        """As many questions as the policy allows."""
        return self.rules.concurrency

    def verdict(
        self,
        domain: str,
        decision: Decision,
        context: Mapping[str, Scalar],
        applied: Sequence[str] | None,
        entry_value: float | None,
    ) -> Verdict:
        """How good the decision was; the request holds nothing of how it ended."""
        material = asking.decided(domain, decision, context, applied, entry_value)
        question = self._question("verdict", material, VerdictReply)
        reply, spent = self._answered(question, lambda kept: shaped(kept, VerdictReply))
        return msgspec.structs.replace(verdict_of(reply), spent=spent)

    def insight(self, case: Case, verdict: Verdict) -> InsightText | None:
        """What the outcome teaches; nobody is asked where it supports no statement."""
        if OfflineJudge().insight(case, verdict) is None:
            return None
        judged = {"verdict": asking.judged(verdict), "shown": asking.shown(case.insights)}
        material = asking.ended(case.outcome) | judged
        about = asking.digest(case.outcome.received, str(judged["verdict"]))
        question = self._question("insight", material, InsightReply, about=about)

        def read(reply: Kept) -> InsightText:
            return insight_of(shaped(reply, InsightReply), question.user)

        insight, spent = self._answered(question, read)
        return msgspec.structs.replace(insight, spent=spent)

    def write(self, brief: Brief) -> Draft | None:
        """The text of a skill; the offline one, which says so, where Claude's is of no use."""
        plain = OfflineJudge().write(brief)
        if plain is None:
            return None
        prompt, material, headings = asking.skill_request(brief, plain)
        reader = SkillReader(brief, plain, headings)
        shape = SessionReply if isinstance(brief, SessionExcerpt) else SkillReply
        question = self._of_sessions if shape is SessionReply else self._question
        asked = question(prompt, material, shape)
        try:
            draft, _ = self._answered(asked, lambda kept: reader.draft(shaped(kept, shape), asked))
        except UnansweredError as error:
            why = shorten(flat(str(error)), 200)
            note = f"Written by the offline judge, as Claude's text was of no use: {why}."
            return msgspec.structs.replace(plain, note=note)
        return draft

    def advise(
        self, outcome: Outcome, skills: Sequence[Skill], *, thorough: bool
    ) -> tuple[Opinion, JudgeInfo]:
        """What speaks for and against a decision that is about to be carried out."""
        o, size = outcome, outcome.result.entry_value
        decision = asking.decided(o.domain, o.decision, o.context, o.applied, size)
        material = {"decision": decision, "skills": {skill.name: skill.body for skill in skills}}
        model = self.rules.model if thorough else self.rules.fast_model
        question = self._question("advice", material, OpinionReply, model=model)

        def read(reply: Kept) -> Opinion:
            return opinion_of(shaped(reply, OpinionReply), question.user)

        opinion, spent = self._answered(question, read)
        prompt = self.prompts.digest("advice")
        judge = JudgeInfo(name="claude", version="1", model=model, prompt=prompt)
        return opinion, billed(judge, spent)

    def _of_sessions(
        self, prompt: str, material: Mapping[str, Any], shape: type[Struct]
    ) -> Question:
        """A question about sessions: to the fast model, for a short answer."""
        question = self._question(prompt, material, shape, model=self.rules.fast_model)
        return msgspec.structs.replace(question, max_tokens=self.distilling.max_tokens)

    def _question(
        self,
        prompt: str,
        material: Mapping[str, Any],
        shape: type[Struct],
        *,
        about: str = "",
        model: str | None = None,
    ) -> Question:
        system, user = self.prompts.text(prompt), self.prompts.fenced(material)
        name = model or self.rules.model
        key = asking.digest(prompt, name, system, about or user)
        return Question(
            key=f"{prompt}-{key}",
            model=name,
            system=system,
            user=user,
            schema=schema(shape),
        )

    def _answered(self, question: Question, read: Callable[[Kept], _Value]) -> tuple[_Value, Spent]:
        """What a reply says and took; asked once more with the reason where it is of no use."""
        first = self.caller.ask(question)
        try:
            return read(first), first.spent
        except UnusableError as error:
            again = self._again(question, str(error))
        second = self.caller.ask(again)
        try:
            return read(second), first.spent + second.spent
        except UnusableError as error:
            self.caller.forget_reply(question)
            self.caller.forget_reply(again)
            raise UnansweredError(str(error)) from None

    def _again(self, question: Question, reason: str) -> Question:
        """The question, with what was wrong; as data, since it quotes replies and outcomes."""
        why = self.prompts.fenced({"of_no_use": reason})
        user = f"{question.user}\n\nYour last reply was of no use. Reply again, whole. Why:\n{why}"
        return msgspec.structs.replace(question, key=f"{question.key}-again", user=user)

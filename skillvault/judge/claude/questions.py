"""Each question of a judge as a value: what is sent, and what of a reply is believed.

Claude and an agent are asked the same. Nobody is asked here.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from skillvault.judge.claude import prompts as asking
from skillvault.judge.claude.figures import Shown
from skillvault.judge.claude.replies import (
    InsightReader,
    InsightReply,
    Kept,
    OpinionReply,
    SessionReply,
    SkillReader,
    SkillReply,
    UnusableError,
    VerdictReply,
    check_opinion,
    opinion_of,
    parse_reply,
    schema,
    verdict_of,
)
from skillvault.judge.offline.judge import OfflineJudge
from skillvault.model.brief import (
    AcceptedAnswer,
    Brief,
    Case,
    Draft,
    InsightText,
    Opinion,
    QuestionTopic,
    SessionExcerpt,
    Verdict,
)
from skillvault.model.errors import NoAnswerError
from skillvault.model.policy import DistillPolicy, JudgePolicy
from skillvault.model.records import Answer, Decision, JudgeInfo, Outcome, Scalar, Skill

_Value = TypeVar("_Value")
_ReplyCheck: TypeAlias = Callable[..., Any]  # of a reply, what was shown and `last: bool`
_OF_DOMAIN = ("sections", "facts")  # what stands first in a record, as in others of its domain


class JudgeRequest(Struct, frozen=True, kw_only=True):
    """What is sent. `key` is what its reply is kept under, the same after a crash.

    The first `shared` characters of `user` are those of other questions of its kind and domain too.
    `max_tokens`: the most of its reply, if that is not the policy's to say. `refused` is the reply
    to the same that was of no use, and what it is told of that.
    """

    key: str
    model: str
    system: str
    user: str
    schema: dict[str, Any]
    shared: int = 0
    max_tokens: int | None = None
    refused: tuple[str, str] | None = None

    @property
    def size(self) -> int:
        """Its bytes, but for the schema."""
        texts = (self.system, self.user, *(self.refused or ()))
        return sum(len(text.encode()) for text in texts)

    def limit(self, rules: JudgePolicy) -> int:
        """The most tokens of its reply."""
        return self.max_tokens or rules.max_tokens


@dataclass(frozen=True)
class Question(Generic[_Value]):
    """A question: what it is about, how it is sent, what of a reply is believed and comes of it.

    `check` takes a reply and what was shown, and gives what is kept of it (UnusableError with
    every reason if nothing is); `value` is made of that alone, so that it is the same in any clone.
    """

    matter: QuestionTopic
    make_request: Callable[[], JudgeRequest]
    shape: type[Struct]
    check: _ReplyCheck
    value: Callable[[Any], _Value]
    clean: Callable[[Any], Any]

    @cached_property
    def request(self) -> JudgeRequest:
        """What is sent."""
        return self.make_request()

    def accept(self, reply: Kept, *, last: bool = False) -> dict[str, Any]:
        """What of a reply is kept; UnusableError with every reason.

        `last`: nobody is asked again, so that what cannot be believed goes and the rest stays.
        """
        shown = Shown(self.request.user)
        believed = self.check(parse_reply(reply, self.shape), shown, last=last)
        accepted: dict[str, Any] = self.clean(msgspec.to_builtins(believed))
        return accepted

    def value_of(self, reply: Mapping[str, Any]) -> _Value:
        """What an accepted reply says; NoAnswerError for one in another shape."""
        try:
            return self.value(msgspec.convert(reply, self.shape))
        except (msgspec.ValidationError, UnusableError) as error:
            raise NoAnswerError(
                f"the answer {self.matter.question} cannot be read: {error}"
            ) from None

    def as_answer(self, reply: Mapping[str, Any], judge: JudgeInfo) -> AcceptedAnswer:
        """An accepted reply, as it is kept."""
        return AcceptedAnswer(matter=self.matter, reply=dict(reply), judge=judge)

    def read_answer(self, answer: Answer | None) -> _Value | None:
        """What a kept answer says, with who gave it; None for none that can be read."""
        if answer is None:
            return None
        try:
            value = self.value_of(answer.reply)
        except NoAnswerError:
            return None
        return with_answer(value, self.as_answer(answer.reply, answer.judge))


def with_answer(value: _Value, given: AcceptedAnswer) -> _Value:
    """A verdict, an insight or a text, with the answer that it was made of."""
    assert isinstance(value, Verdict | InsightText | Draft)
    return msgspec.structs.replace(value, answer=given)


@dataclass(frozen=True)
class Questions:
    """What a judge asks, by the prompts of a vault and the rules of its policy."""

    rules: JudgePolicy
    prompts: asking.Prompts
    distilling: DistillPolicy

    @property
    def version(self) -> str:
        """What tells the prompts of an evaluation from those of other versions."""
        return self.prompts.digest("verdict", "insight")

    def verdict_question(
        self,
        domain: str,
        decision: Decision,
        *,
        context: Mapping[str, Scalar],
        applied: Sequence[str] | None,
        entry_value: float | None,
    ) -> Question[Verdict]:
        """How good the decision was; the question holds nothing of how it ended."""
        material = asking.decided(domain, decision, context, applied, entry_value)
        subject = asking.about(domain, decision)
        matter = QuestionTopic("verdict", subject, _material_digest(material))
        reading = (VerdictReply, _accept_all, verdict_of)
        return self._question(matter, material, reading)

    def insight_question(self, case: Case, verdict: Verdict) -> Question[InsightText] | None:
        """What the outcome teaches; None where it supports no statement."""
        if OfflineJudge().insight(case, verdict) is None:
            return None
        blind = {"verdict": asking.judged(verdict)} if verdict.answer else {}
        judged = {**blind, "shown": asking.shown(case.insights)}
        failures = [asking.ended(failure) for failure in case.failures]
        # First what questions of one domain and subject share.
        around = {"facts": dict(case.facts), "earlier": list(case.earlier), "failures": failures}
        surrounding = {key: value for key, value in around.items() if value}
        material = surrounding | asking.ended(case.outcome) | judged
        received = [outcome.received for outcome in (case.outcome, *case.failures)]
        kind = "contrast" if failures else "insight"
        matter = QuestionTopic(kind, case.outcome.id, asking.digest(*received, size=16))
        reader = InsightReader(case.outcome, dict(case.facts))
        reading = (InsightReply, reader.check_figures, reader.insight_text)
        return self._question(matter, material, reading)

    def opinion_question(
        self, outcome: Outcome, skills: Sequence[Skill], model: str
    ) -> Question[Opinion]:
        """What speaks for and against a decision that is about to be carried out."""
        o, size = outcome, outcome.result.entry_value
        decision = asking.decided(o.domain, o.decision, o.context, o.applied, size)
        material = {"decision": decision, "skills": {skill.name: skill.body for skill in skills}}
        matter = QuestionTopic("advice", model, _material_digest(material))
        reading = (OpinionReply, check_opinion, opinion_of)
        return self._question(matter, material, reading, model=model)

    def text_question(self, brief: Brief, plain: Draft) -> Question[Draft]:
        """The text of a skill, beside the offline one."""
        prompt, material, headings = asking.skill_request(brief)
        subject = asking.subject_of(brief)
        matter = QuestionTopic(prompt, subject, _material_digest(material))
        reader = SkillReader(brief, plain, headings)
        around = asking.surroundings(brief, plain, self.rules.reasoning_characters)
        request = {"sections": list(headings), **around, **material}
        of_sessions = isinstance(brief, SessionExcerpt)
        shape = SessionReply if of_sessions else SkillReply
        reading = (shape, reader.check_figures, reader.draft)
        if not of_sessions:
            return self._question(matter, request, reading)
        limit = self.distilling.max_tokens
        return self._question(matter, request, reading, model=self.rules.fast_model, limit=limit)

    def _question(
        self,
        matter: QuestionTopic,
        material: Mapping[str, Any],
        reading: tuple[type[Struct], _ReplyCheck, Callable[[Any], _Value]],
        *,
        model: str | None = None,
        limit: int | None = None,
    ) -> Question[_Value]:
        shape, check, value = reading

        def make_request() -> JudgeRequest:
            name, system = model or self.rules.model, self.prompts.text(matter.kind)
            user = self.prompts.fenced(material)
            of_domain = {key: material[key] for key in _OF_DOMAIN if key in material}
            return JudgeRequest(
                key=matter.question,
                model=name,
                system=system,
                user=user,
                schema=schema(shape),
                shared=self.prompts.shared(user, of_domain),
                max_tokens=limit,
            )

        return Question(matter, make_request, shape, check, value, self.prompts.clean)


def _material_digest(material: Mapping[str, Any]) -> str:
    """Sixteen hex digits of a material, in whatever order its keys stand."""
    text = json.dumps(material, ensure_ascii=False, sort_keys=True, default=str)
    return asking.digest(text, size=16)


def _accept_all(reply: Any, _shown: Shown, *, last: bool) -> Any:  # noqa: ARG001 (as the others)
    return reply

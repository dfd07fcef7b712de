"""Build the questions to a judge, each with its request and the check of its reply.

Claude and an agent get the same questions; `judge.py` and `loop/judging/` send them. To ask a new
kind of question, add a method to `Questions`, a reply to `replies` and a prompt to `prompt_texts/`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from skillvault.judge.claude import prompts as prompting
from skillvault.judge.claude import replies
from skillvault.judge.claude.figures import RecordFigures
from skillvault.judge.offline.judge import insight_text
from skillvault.model.brief import (
    AcceptedAnswer,
    BlindCase,
    Brief,
    Case,
    Draft,
    InsightText,
    Opinion,
    Passage,
    QuestionTopic,
    SessionExcerpt,
    Verdict,
    blind_case,
)
from skillvault.model.errors import NoAnswerError
from skillvault.model.policy import DistillPolicy, JudgePolicy
from skillvault.model.records import Answer, JudgeInfo, Outcome, Skill

_Value = TypeVar("_Value")
_ReplyCheck: TypeAlias = Callable[..., Any]  # takes a reply, RecordFigures and `final: bool`
_DOMAIN_KEYS = ("sections", "facts")  # come first, because all questions of a domain share them


class JudgeRequest(Struct, frozen=True, kw_only=True):
    """A request to the model, whose reply is stored under `key`.

    The first `shared` characters of `user` are the same for all questions of a kind and domain.
    `max_tokens` replaces the limit of the policy. `refused` is an unusable reply to the same
    request, with the complaint about it.
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
        """The number of bytes of the request without the schema."""
        texts = (self.system, self.user, *(self.refused or ()))
        return sum(len(text.encode()) for text in texts)

    def limit(self, policy: JudgePolicy) -> int:
        """Return the highest number of tokens of the reply."""
        return self.max_tokens or policy.max_tokens


@dataclass(frozen=True)
class Question(Generic[_Value]):
    """A question, the check of its reply, and the conversion of the reply to a value.

    `check` takes a reply and the figures of the record. It returns the reply to store, or raises
    UnusableError with every reason. `value` converts only the stored reply, so that all clones get
    the same value.
    """

    topic: QuestionTopic
    make_request: Callable[[], JudgeRequest]
    shape: type[Struct]
    check: _ReplyCheck
    value: Callable[[Any], _Value]
    clean: Callable[[Any], Any]

    @cached_property
    def request(self) -> JudgeRequest:
        """The request for this question, built on first use."""
        return self.make_request()

    def accept(self, reply: replies.PricedReply, *, final: bool = False) -> dict[str, Any]:
        """Check a reply and return what to store; raise UnusableError with every reason.

        Remove unsupported parts from a `final` reply instead of refusing it.
        """
        record = RecordFigures(self.request.user)
        checked_reply = self.check(replies.parse_reply(reply, self.shape), record, final=final)
        stored_reply: dict[str, Any] = self.clean(msgspec.to_builtins(checked_reply))
        return stored_reply

    def value_of(self, reply: Mapping[str, Any]) -> _Value:
        """Return the value of an accepted reply; raise NoAnswerError if it has another shape."""
        try:
            return self.value(msgspec.convert(reply, self.shape))
        except (msgspec.ValidationError, replies.UnusableError) as error:
            raise NoAnswerError(
                f"the answer {self.topic.question} cannot be read: {error}"
            ) from None

    def as_answer(self, reply: Mapping[str, Any], judge: JudgeInfo) -> AcceptedAnswer:
        """Return the answer that stores an accepted reply of a judge."""
        return AcceptedAnswer(topic=self.topic, reply=dict(reply), judge=judge)

    def read_answer(self, answer: Answer | None) -> _Value | None:
        """Return the value of a stored answer, or None without an answer that can be read."""
        if answer is None:
            return None
        try:
            value = self.value_of(answer.reply)
        except NoAnswerError:
            return None
        return with_answer(value, self.as_answer(answer.reply, answer.judge))


def with_answer(value: _Value, answer: AcceptedAnswer) -> _Value:
    """Attach an answer to the verdict, insight or text that was read from it."""
    assert isinstance(value, Verdict | InsightText | Draft)
    return msgspec.structs.replace(value, answer=answer)


@dataclass(frozen=True)
class Questions:
    """The questions of a judge, with the prompts and the policy of a vault.

    `calibrate` returns the accuracy of the judge's latest verdicts in a domain, as material.
    """

    policy: JudgePolicy
    prompts: prompting.Prompts
    distill_policy: DistillPolicy
    calibrate: Callable[[str], Mapping[str, Any]] = lambda _domain: {}

    @property
    def version(self) -> str:
        """The digest of the prompts for evaluations."""
        return self.prompts.digest("verdict", "insight")

    def verdict_question(self, case: BlindCase) -> Question[Verdict]:
        """Return the question how good a decision was; it contains nothing about the result."""
        material = prompting.decision_material(case)
        subject = prompting.subject_line(case.domain, case.decision.action, case.decision.target)
        topic = QuestionTopic("verdict", subject, _material_digest(material))
        reply_reader = (replies.VerdictReply, replies.check_verdict, replies.verdict_of)

        def with_calibration() -> Mapping[str, Any]:
            record = self.calibrate(case.domain)
            return {**material, "calibration": record} if record else material

        return self._question(topic, with_calibration, reply_reader)

    def insight_question(self, case: Case, verdict: Verdict | None) -> Question[InsightText] | None:
        """Return the question for the lesson of an outcome, or None if there is no lesson."""
        if insight_text(case) is None:
            return None
        insights = [
            {"kind": i.kind, "quote": i.quote, **({"supposed": True} if i.supposed else {})}
            for i in case.insights
        ]
        failures = [prompting.outcome_material(failure) for failure in case.failures]
        # What questions of one domain and subject share comes first.
        shared = {"facts": dict(case.facts), "earlier": list(case.earlier), "failures": failures}
        material = {key: value for key, value in shared.items() if value}
        material |= prompting.outcome_material(case.outcome)
        if verdict is not None and verdict.answer:
            material["verdict"] = prompting.verdict_material(verdict)
        material["shown"] = insights
        arrival_digests = [outcome.received for outcome in (case.outcome, *case.failures)]
        kind = "contrast" if failures else "insight"
        topic = QuestionTopic(kind, case.outcome.id, prompting.digest(*arrival_digests, size=16))
        reader = replies.InsightReader(case.outcome, dict(case.facts))
        reply_reader = (replies.InsightReply, reader.check_figures, reader.insight_text)
        return self._question(topic, material, reply_reader)

    def opinion_question(
        self, outcome: Outcome, skills: Sequence[Skill], model: str
    ) -> Question[Opinion]:
        """Return the question for an opinion on a decision before it is carried out."""
        decision = prompting.decision_material(blind_case(outcome))
        material = {"decision": decision, "skills": {skill.name: skill.body for skill in skills}}
        topic = QuestionTopic("advice", model, _material_digest(material))
        reply_reader = (replies.OpinionReply, replies.check_opinion, replies.opinion_of)
        return self._question(topic, material, reply_reader, model=model)

    def text_question(self, brief: Brief, offline_draft: Draft) -> Question[Draft]:
        """Return the question for the text of a skill, with the offline text as the fallback."""
        content = prompting.brief_material(brief, offline_draft, self.policy.reasoning_characters)
        digest = _material_digest(content.material)
        topic = QuestionTopic(content.prompt, content.subject, digest)
        request = {"sections": list(content.headings), **content.extras, **content.material}
        reply_reader: tuple[type[Struct], _ReplyCheck, Callable[[Any], Draft]]
        if isinstance(brief, Passage):
            passage_reader = replies.PassageReader(brief.source.text)
            reply_reader = (
                replies.PassageReply,
                passage_reader.check_support,
                passage_reader.draft,
            )
            return self._question(topic, request, reply_reader)
        reader = replies.SkillReader(brief, offline_draft, content.headings)
        if isinstance(brief, SessionExcerpt):
            reply_reader = (replies.SessionReply, reader.check_figures, reader.draft)
            model, limit = self.policy.fast_model, self.distill_policy.max_tokens
            return self._question(topic, request, reply_reader, model=model, limit=limit)
        reply_reader = (replies.SkillReply, reader.check_figures, reader.draft)
        return self._question(topic, request, reply_reader)

    def _question(
        self,
        topic: QuestionTopic,
        material: Mapping[str, Any] | Callable[[], Mapping[str, Any]],
        reply_reader: tuple[type[Struct], _ReplyCheck, Callable[[Any], _Value]],
        *,
        model: str | None = None,
        limit: int | None = None,
    ) -> Question[_Value]:
        shape, check, value = reply_reader

        def make_request() -> JudgeRequest:
            data = material() if callable(material) else material
            user = self.prompts.frame_data(data)
            domain_material = {key: data[key] for key in _DOMAIN_KEYS if key in data}
            return JudgeRequest(
                key=topic.question,
                model=model or self.policy.model,
                system=self.prompts.prompt_text(topic.kind),
                user=user,
                schema=replies.schema(shape),
                shared=self.prompts.shared_length(user, domain_material),
                max_tokens=limit,
            )

        return Question(topic, make_request, shape, check, value, self.prompts.clean)


def _material_digest(material: Mapping[str, Any]) -> str:
    text = json.dumps(material, ensure_ascii=False, sort_keys=True, default=str)
    return prompting.digest(text, size=16)

"""Check a model's replies, and convert them to verdicts, insights, opinions and drafts.

Each kind of reply has a shape (`…Reply`), a check and a conversion, which `questions` combines. A
check raises UnusableError with every reason, so that the model can try again once.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from skillvault.judge.claude.figures import RecordFigures, find_unsupported
from skillvault.judge.offline.drafting import MAX_LABEL, slug_labels
from skillvault.judge.offline.verdict import GOOD
from skillvault.model.brief import (
    Agreement,
    AnswerCost,
    Brief,
    Draft,
    Findings,
    InsightText,
    Opinion,
    SessionExcerpt,
    Verdict,
)
from skillvault.model.records import Applicability, InsightType, Outcome
from skillvault.model.sameness.comparison import likeness
from skillvault.model.sameness.form import normal_form
from skillvault.model.text.hidden_characters import remove_hidden
from skillvault.model.text.text import flatten, sentences, shorten, slug

_MAX_TITLE, _MAX_DESCRIPTION, _MAX_SECTION = 70, 400, 4000  # characters
_USE_WORD = re.compile(r"use\b", re.IGNORECASE)
_MAX_SENTENCE, _MAX_INSIGHT, _MAX_SENTENCES = 300, 500, 4
_SUPPOSED = "Supposed: "
_SLUG_WORDS = 4  # words in the name of a fact
_VERBATIM = re.compile(r"`([^`]+)`|https?://\S+|\S*\d\S*")  # parts that must not be reworded
_PUNCTUATION = ".,;:!?()[]\"'`*_"
_MIN_LIKENESS = 0.3  # an insight that is more alike may be confused with a fact
_Shape = TypeVar("_Shape", bound=Struct)


class UnusableError(Exception):
    """The reason why a reply cannot be used."""


class PricedReply(Struct, frozen=True, kw_only=True):
    """A stored reply, with its cost at the prices of that day."""

    text: str
    stop: str
    spent: AnswerCost


class VerdictReply(Struct, frozen=True, forbid_unknown_fields=True):
    """A verdict of the model; whether the decision was good follows from the quality."""

    quality_score: float
    strengths: list[str]
    weaknesses: list[str]
    missed_factors: list[str]


class InsightReply(Struct, frozen=True, forbid_unknown_fields=True):
    """An insight of the model; replies of earlier versions have only the first four fields.

    `fact` is the id of a repeated or contradicted fact, and `evidence` a quote of the record. The
    check adds `unlike`: the shown facts that look similar, though the model calls its insight new.
    """

    key_insight: str
    insight_type: InsightType
    applicability: Applicability
    better_approach: str
    relation: Literal["new", "repeats", "contradicts"] = "new"
    fact: str = ""
    observed: bool = True
    evidence: str | None = None
    slug: str = ""
    unlike: list[str] = msgspec.field(default_factory=list)


class OpinionReply(Struct, frozen=True, forbid_unknown_fields=True):
    """An opinion of the model."""

    quality_score: float
    confidence: float
    warnings: list[str]
    suggestion: str
    insight: str


def schema(shape: type[Struct]) -> dict[str, Any]:
    """Return the JSON schema of a shape for structured outputs, which need all keys required."""
    (reference,), parts = msgspec.json.schema_components([shape], ref_template="#/$defs/{name}")
    name = reference["$ref"].rpartition("/")[2]
    objects = {key: _simplify_schema(part) for key, part in parts.items()}
    return {**objects.pop(name), **({"$defs": objects} if objects else {})}


def _simplify_schema(part: dict[str, Any]) -> dict[str, Any]:
    """Make all keys of an object's schema required; an optional key becomes a string."""
    properties: dict[str, Any] = {}
    for name, key_schema in part["properties"].items():
        values = {key: value for key, value in key_schema.items() if key != "default"}
        properties[name] = {"type": "string"} if "anyOf" in key_schema else values
    properties.pop("unlike", None)
    new_part = {key: value for key, value in part.items() if key not in ("title", "description")}
    new_part |= {"properties": properties, "required": list(properties)}
    return {**new_part, "additionalProperties": False}


def parse_reply(reply: PricedReply, shape: type[_Shape]) -> _Shape:
    """Parse a reply; raise UnusableError if it is cut off, refused or malformed."""
    if reply.stop == "refusal":
        raise UnusableError("the reply was refused")
    if reply.stop in ("max_tokens", "model_context_window_exceeded"):
        raise UnusableError("the reply was cut off")
    if not reply.text.strip():
        raise UnusableError("the reply was empty")
    try:
        return msgspec.json.decode(reply.text, type=shape)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise UnusableError(f"the reply did not keep to its schema ({error})") from None


def check_verdict(reply: VerdictReply, _record: RecordFigures, *, final: bool) -> VerdictReply:  # noqa: ARG001
    """Return the reply unchanged, because the figures of a verdict are not checked."""
    return reply


def verdict_of(reply: VerdictReply) -> Verdict:
    """Convert a reply to a verdict; a decision of quality GOOD or more was good."""
    quality = _clamp(reply.quality_score)
    return Verdict(
        was_good_decision=quality >= GOOD,
        quality_score=quality,
        strengths=_short_sentences(reply.strengths),
        weaknesses=_short_sentences(reply.weaknesses),
        missed_factors=_short_sentences(reply.missed_factors),
    )


class InsightReader(NamedTuple):
    """A reader of insights; `facts` maps the ids of the shown facts to their lines."""

    outcome: Outcome
    facts: Mapping[str, str]

    def check_figures(
        self, reply: InsightReply, record: RecordFigures, *, final: bool
    ) -> InsightReply:
        """Return the reply to store; raise UnusableError with every reason.

        The figures of a fact support only an insight that names the fact. Remove sentences with
        unsupported figures from a `final` reply instead of refusing it.
        """
        record = record.without_other_facts(reply.fact)
        advice_figures = find_unsupported(reply.better_approach, record, advice=True)
        figures = [*find_unsupported(reply.key_insight, record), *advice_figures]
        is_unknown = reply.relation != "new" and reply.fact not in self.facts
        if final:
            insight = _remove_claims(reply.key_insight, record) if figures else reply.key_insight
            approach = _remove_claims(reply.better_approach, record, advice=True)
            if insight or not figures:
                facts = [] if is_unknown else self._similar_facts(reply)
                if is_unknown:
                    reply = replace(reply, relation="new", fact="")
                return replace(reply, key_insight=insight, better_approach=approach, unlike=facts)
        _refuse_faults(figures, f"{reply.fact!r} is no fact of the record" if is_unknown else "")
        return replace(reply, unlike=self._similar_facts(reply))

    def insight_text(self, reply: InsightReply) -> InsightText:
        """Convert a reply to an insight, marked as supposed if the outcome does not support it."""
        is_quoted = reply.evidence is None or self.outcome.contains_quote(reply.evidence)
        is_supported = reply.observed and is_quoted
        prefix = "" if is_supported or not reply.key_insight.strip() else _SUPPOSED
        words = "-".join(slug(reply.slug).split("-")[:_SLUG_WORDS])
        name = words or slug(reply.key_insight, limit=48) or slug(self.outcome.domain)
        return InsightText(
            key_insight=shorten(prefix + flatten(reply.key_insight), _MAX_INSIGHT),
            insight_type=reply.insight_type,
            applicability=reply.applicability,
            better_approach=shorten(flatten(reply.better_approach), _MAX_INSIGHT) or None,
            repeats=reply.fact or None if reply.relation == "repeats" else None,
            contradicts=reply.fact or None if reply.relation == "contradicts" else None,
            unlike=tuple(reply.unlike),
            slug=name or None,
        )

    def _similar_facts(self, reply: InsightReply) -> list[str]:
        if reply.relation != "new":
            return []
        insight = normal_form(reply.key_insight)
        return sorted(
            fact
            for fact, line in self.facts.items()
            if likeness(insight, normal_form(line)) > _MIN_LIKENESS
        )


def check_opinion(reply: OpinionReply, record: RecordFigures, *, final: bool) -> OpinionReply:
    """Return the reply to store; raise UnusableError if it claims unsupported figures.

    Remove sentences with such claims from a `final` reply instead of refusing it.
    """
    if final:
        return replace(
            reply,
            insight=_remove_claims(reply.insight, record),
            suggestion=_remove_claims(reply.suggestion, record, advice=True),
            warnings=[text for text in reply.warnings if not find_unsupported(text, record)],
        )
    claims = find_unsupported("\n".join((reply.insight, *reply.warnings)), record)
    _refuse_faults([*claims, *find_unsupported(reply.suggestion, record, advice=True)])
    return reply


def opinion_of(reply: OpinionReply) -> Opinion:
    """Convert a reply to an opinion."""
    return Opinion(
        quality=_clamp(reply.quality_score),
        confidence=_clamp(reply.confidence),
        warnings=_short_sentences(reply.warnings),
        suggestion=shorten(flatten(reply.suggestion), _MAX_SENTENCE),
        insight=shorten(flatten(reply.insight), _MAX_INSIGHT),
    )


def _clamp(number: float) -> float:
    return round(min(max(number, 0.0), 1.0), 2)


def _refuse_faults(figures: Sequence[str], *faults: str) -> None:
    reasons = [fault for fault in faults if fault]
    if figures:
        figure_list = ", ".join(dict.fromkeys(figures))
        reasons.append(f"the reply has figures that the record does not: {figure_list}")
    if reasons:
        raise UnusableError("; ".join(reasons))


def _remove_claims(text: str, record: RecordFigures, *, advice: bool = False) -> str:
    return " ".join(s for s in sentences(text) if not find_unsupported(s, record, advice=advice))


def _short_sentences(texts: list[str]) -> tuple[str, ...]:
    lines = (shorten(flatten(text), _MAX_SENTENCE) for text in texts)
    return tuple(dict.fromkeys(filter(None, lines)))[:_MAX_SENTENCES]


# ── a skill's text ───────────────────────────────────────────────────────────────────


class SectionReply(Struct, frozen=True, forbid_unknown_fields=True):
    """A section that the model wrote."""

    heading: str
    text: str


class SkillReply(Struct, frozen=True, forbid_unknown_fields=True):
    """A skill's text that the model wrote."""

    title: str
    description: str
    sections: list[SectionReply]


class SessionReply(SkillReply, frozen=True, forbid_unknown_fields=True):
    """A skill's text about sessions, with labels for search."""

    tags: list[str]
    roles: list[str]
    stages: list[str]


class SkillReader(NamedTuple):
    """A reader of skill drafts.

    The model may write only the sections of `headings`; the other sections of the offline draft
    stay unchanged.
    """

    brief: Brief
    offline_draft: Draft
    headings: tuple[str, ...]

    def check_figures(self, reply: SkillReply, record: RecordFigures, *, final: bool) -> SkillReply:
        """Return the reply to store; raise UnusableError with every reason.

        Remove items with unsupported claims from a `final` reply instead of refusing it.
        """
        if final:
            reply = self._remove_items(reply, record)
        texts = _section_texts(reply)
        title, description = flatten(reply.title), _plain_line(reply.description)
        is_foreign = not texts or not texts.keys() <= set(self.headings)
        _refuse_faults(
            find_unsupported("\n".join((title, description, *texts.values())), record),
            f"the sections must be of these: {', '.join(self.headings)}" if is_foreign else "",
            "the title or the description is empty" if not title or not description else "",
            _label_fault(reply) if isinstance(reply, SessionReply) else "",
        )
        return reply

    def _remove_items(self, reply: SkillReply, record: RecordFigures) -> SkillReply:
        """Remove lines with unsupported claims; replace such a title by the offline title."""
        sections = []
        for section in reply.sections:
            lines = _clean_section(section.text).splitlines()
            text = "\n".join(line for line in lines if not find_unsupported(line, record))
            sections.append(SectionReply(section.heading, text))
        title = self.offline_draft.title if find_unsupported(reply.title, record) else reply.title
        description = _remove_claims(reply.description, record) or self.offline_draft.description
        return replace(reply, title=title, description=description, sections=sections)

    def draft(self, reply: SkillReply) -> Draft:
        """Convert a reply to a draft, with missing parts from the offline draft."""
        offline_draft, description = self.offline_draft, _plain_line(reply.description)
        # A client may show only the beginning of a description, so the use comes first.
        use, _, _ = offline_draft.description.partition(". ")
        if _USE_WORD.match(use) and not _USE_WORD.match(description):
            description = f"{use.removesuffix('.')}. {description}"
        texts = {
            name: text for name, text in _section_texts(reply).items() if name in self.headings
        }
        if isinstance(reply, SessionReply):
            offline_draft = replace(
                offline_draft,
                tags=slug_labels(reply.tags) or offline_draft.tags,
                roles=slug_labels(reply.roles),
                stages=slug_labels(reply.stages),
            )
        is_titled = isinstance(self.brief, Findings | Agreement | SessionExcerpt)
        return replace(
            offline_draft,
            title=shorten(flatten(reply.title), _MAX_TITLE) if is_titled else offline_draft.title,
            description=shorten(description, _MAX_DESCRIPTION),
            sections=self._sections(texts),
        )

    def _sections(self, texts: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        """Return the model's sections and the other offline sections, in the offline order."""
        old_texts = {
            name: text for name, text in self.offline_draft.sections if name not in self.headings
        }
        order = [name for name, _ in self.offline_draft.sections]
        for index, name in enumerate(self.headings):
            if name not in order:
                preceding = [order.index(h) + 1 for h in self.headings[:index] if h in order]
                following = [order.index(h) for h in self.headings[index:] if h in order]
                start = min([*following, min(1, len(old_texts))])
                order.insert(max(preceding, default=start), name)
        sections = {**old_texts, **texts}
        return tuple((name, sections[name]) for name in order if name in sections)


def _section_texts(reply: SkillReply) -> dict[str, str]:
    texts = {section.heading: _clean_section(section.text) for section in reply.sections}
    return {name: text for name, text in texts.items() if text}


def _plain_line(text: str) -> str:
    return flatten(text).replace(">", "")


def _label_fault(reply: SessionReply) -> str:
    """Return the complaint about a bad tag, role or stage, or "" if all are good."""
    names = (*reply.tags, *reply.roles, *reply.stages)
    fault = next((name for name in names if not slug(name, limit=MAX_LABEL)), None)
    if fault is None:
        return ""
    return f"{flatten(fault)[:MAX_LABEL]!r} is no name of a tag, a role or a stage"


def _clean_section(text: str) -> str:
    lines = (line.rstrip() for line in remove_hidden(text[:_MAX_SECTION]).splitlines())
    plain_lines = (line for line in lines if not line.lstrip().startswith(("#", "---", "```")))
    return "\n".join(plain_lines).replace("<", "‹").strip()


# ── a passage of a document ──────────────────────────────────────────────────────────


class RuleReply(Struct, frozen=True, forbid_unknown_fields=True):
    """A rule, with the words of the passage that state the rule."""

    rule: str
    quote: str


class PassageReply(Struct, frozen=True, forbid_unknown_fields=True):
    """The rules and the steps that a passage states; most passages state neither."""

    rules: list[RuleReply]
    title: str
    description: str
    steps: list[str]


class PassageReader(NamedTuple):
    """A reader of the rules and steps in a passage of a document."""

    passage: str

    def check_support(
        self, reply: PassageReply, _record: RecordFigures, *, final: bool
    ) -> PassageReply:
        """Return the reply to store; raise UnusableError with every reason.

        Remove unsupported rules and steps from a `final` reply instead of refusing it.
        """
        faults = {rule: self._find_fault(rule.rule, rule.quote) for rule in reply.rules}
        texts = [reply.title, reply.description, *reply.steps] if reply.steps else []
        step_faults = list(filter(None, map(self._find_fault, texts)))
        if reply.steps and not (flatten(reply.title) and flatten(reply.description)):
            step_faults.append("the steps have no title or no description")
        if final:
            rules = [rule for rule in reply.rules if not faults[rule]]
            return replace(reply, rules=rules, steps=[] if step_faults else reply.steps)
        _refuse_faults([], *faults.values(), *step_faults)
        return reply

    def _find_fault(self, text: str, quote: str | None = None) -> str:
        """Return the reason why the passage does not support a text, or ""."""
        passage = " ".join(self.passage.split())
        if quote is not None and (" ".join(quote.split()) or "\n") not in passage:
            return f"{shorten(quote, _MAX_SENTENCE)!r} does not stand in the passage"
        exact = (match[1] or match[0].strip(_PUNCTUATION) for match in _VERBATIM.finditer(text))
        foreign = [
            word for word in exact if not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", passage)
        ]
        return f"not in the passage: {', '.join(foreign)}" if foreign else ""

    def draft(self, reply: PassageReply) -> Draft:
        """Convert a reply to a draft with the rules, and with the steps as a section."""
        steps = (f"{number}. {flatten(step)}" for number, step in enumerate(reply.steps, 1))
        rules = (shorten(flatten(rule.rule), _MAX_SENTENCE) for rule in reply.rules)
        return Draft(
            title=shorten(flatten(reply.title), _MAX_TITLE),
            description=shorten(_plain_line(reply.description), _MAX_DESCRIPTION),
            sections=(("Steps", "\n".join(steps)),) if reply.steps else (),
            rules=tuple(dict.fromkeys(filter(None, rules))),
        )

"""What of a model's reply is believed: its words within a schema, its numbers by rule.

A reply that cannot be used is an UnusableError with the reason, which the model is told once.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from skillvault.judge.claude.figures import Shown, unsupported
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

TITLE, DESCRIPTION, SECTION = 70, 400, 4000  # characters
_USE = re.compile(r"use\b", re.IGNORECASE)
_SENTENCE, _INSIGHT, _MOST = 300, 500, 4
SUPPOSED = "Supposed: "
_SLUG = 4  # words of a fact's name
_NEAR = 0.3  # likeness from which an insight might be taken for a fact
_LABEL, _LABELS = 40, 8  # characters of a tag, a role or a stage, and how many
_Shape = TypeVar("_Shape", bound=Struct)


class UnusableError(Exception):
    """A reply that cannot be used, and why."""


class Kept(Struct, frozen=True, kw_only=True):
    """A reply as it is kept, with its cost at the prices of its day."""

    text: str
    stop: str
    spent: AnswerCost


class VerdictReply(Struct, frozen=True, forbid_unknown_fields=True):
    """A verdict as the model gives it; whether that is a good decision follows by rule."""

    quality_score: float
    strengths: list[str]
    weaknesses: list[str]
    missed_factors: list[str]


class InsightReply(Struct, frozen=True, forbid_unknown_fields=True):
    """An insight as the model gives it; of earlier versions it has the first four alone.

    `fact` is the id of the one that it repeats or contradicts; `evidence` are words of the record.
    `unlike` is no part of a reply, but kept with it: facts that were shown with words like those of
    an insight that is new.
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
    """An opinion as the model gives it."""

    quality_score: float
    confidence: float
    warnings: list[str]
    suggestion: str
    insight: str


def schema(shape: type[Struct]) -> dict[str, Any]:
    """The JSON schema of a shape as structured outputs take it: one object, all keys required."""
    (reference,), parts = msgspec.json.schema_components([shape], ref_template="#/$defs/{name}")
    name = reference["$ref"].rpartition("/")[2]
    objects = {key: _plain(part) for key, part in parts.items()}
    return {**objects.pop(name), **({"$defs": objects} if objects else {})}


def _plain(part: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in part.items() if key not in ("title", "description")}
    properties = {name: _without_default(of) for name, of in part["properties"].items()}
    properties.pop("unlike", None)
    every = {"properties": properties, "required": list(properties)}
    return {**kept, **every, "additionalProperties": False}


def _without_default(part: dict[str, Any]) -> dict[str, Any]:
    """The schema of a key that must be given; what may be absent of old is a text."""
    if "anyOf" in part:
        return {"type": "string"}
    return {key: value for key, value in part.items() if key != "default"}


def parse_reply(reply: Kept, shape: type[_Shape]) -> _Shape:
    """The reply as its shape; UnusableError if it is cut off, refused or something else."""
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


def verdict_of(reply: VerdictReply) -> Verdict:
    """The verdict, its quality within 0..1, good or not by rule."""
    quality = _fraction(reply.quality_score)
    return Verdict(
        was_good_decision=quality >= GOOD,
        quality_score=quality,
        strengths=_sentences(reply.strengths),
        weaknesses=_sentences(reply.weaknesses),
        missed_factors=_sentences(reply.missed_factors),
    )


class InsightReader(NamedTuple):
    """Makes an insight of a reply about an outcome; `facts` are those that were shown: id, line."""

    outcome: Outcome
    facts: Mapping[str, str]

    def check_figures(self, reply: InsightReply, shown: Shown, *, last: bool) -> InsightReply:
        """The reply; UnusableError with every reason.

        At the `last` time the sentences go that claim figures which the record does not bear out.
        """
        better = unsupported(reply.better_approach, shown, advice=True)
        figures = [*unsupported(reply.key_insight, shown), *better]
        unknown = reply.relation != "new" and reply.fact not in self.facts
        if last:
            insight = _without_claims(reply.key_insight, shown) if figures else reply.key_insight
            approach = _without_claims(reply.better_approach, shown, advice=True)
            if insight or not figures:
                kept_reply = replace(reply, key_insight=insight, better_approach=approach)
                if unknown:
                    kept_reply = replace(kept_reply, relation="new", fact="")
                return replace(kept_reply, unlike=[] if unknown else self._denied(reply))
        _require(figures, f"{reply.fact!r} is no fact of the record" if unknown else "")
        return replace(reply, unlike=self._denied(reply))

    def insight_text(self, reply: InsightReply) -> InsightText:
        """The insight that a reply gives; what no words of the outcome bear out is supposed."""
        quoted = reply.evidence is None or self.outcome.contains_quote(reply.evidence)
        supposed = "" if (reply.observed and quoted) or not reply.key_insight.strip() else SUPPOSED
        words = "-".join(slug(reply.slug).split("-")[:_SLUG])
        about = words or slug(reply.key_insight, limit=48) or slug(self.outcome.domain)
        return InsightText(
            key_insight=shorten(supposed + flatten(reply.key_insight), _INSIGHT),
            insight_type=reply.insight_type,
            applicability=reply.applicability,
            better_approach=shorten(flatten(reply.better_approach), _INSIGHT) or None,
            repeats=reply.fact or None if reply.relation == "repeats" else None,
            contradicts=reply.fact or None if reply.relation == "contradicts" else None,
            unlike=tuple(reply.unlike),
            slug=about or None,
        )

    def _denied(self, reply: InsightReply) -> list[str]:
        """The shown facts with words like those of an insight that is new."""
        if reply.relation != "new":
            return []
        insight = normal_form(reply.key_insight)
        alike = (
            f for f, line in self.facts.items() if likeness(insight, normal_form(line)) > _NEAR
        )
        return sorted(alike)


def check_opinion(reply: OpinionReply, shown: Shown, *, last: bool) -> OpinionReply:
    """The reply; UnusableError if it claims figures that the record does not bear out.

    At the `last` time the sentences go that do.
    """
    kept = replace(
        reply,
        insight=_without_claims(reply.insight, shown),
        suggestion=_without_claims(reply.suggestion, shown, advice=True),
        warnings=[text for text in reply.warnings if not unsupported(text, shown)],
    )
    if last:
        return kept
    claims = unsupported("\n".join((reply.insight, *reply.warnings)), shown)
    _require([*claims, *unsupported(reply.suggestion, shown, advice=True)])
    return reply


def opinion_of(reply: OpinionReply) -> Opinion:
    """The opinion that a reply gives."""
    return Opinion(
        quality=_fraction(reply.quality_score),
        confidence=_fraction(reply.confidence),
        warnings=_sentences(reply.warnings),
        suggestion=shorten(flatten(reply.suggestion), _SENTENCE),
        insight=shorten(flatten(reply.insight), _INSIGHT),
    )


def _fraction(number: float) -> float:
    return round(min(max(number, 0.0), 1.0), 2)


def _require(figures: Sequence[str], *others: str) -> None:
    """UnusableError with every reason: figures that the record does not bear out, and others."""
    reasons = [reason for reason in others if reason]
    if figures:
        named = ", ".join(dict.fromkeys(figures))
        reasons.append(f"the reply has figures that the record does not: {named}")
    if reasons:
        raise UnusableError("; ".join(reasons))


def _without_claims(text: str, shown: Shown, *, advice: bool = False) -> str:
    """A text without the sentences that claim what the record does not bear out."""
    kept = (s for s in sentences(text) if not unsupported(s, shown, advice=advice))
    return " ".join(kept)


def _sentences(texts: list[str]) -> tuple[str, ...]:
    lines = (shorten(flatten(text), _SENTENCE) for text in texts)
    return tuple(dict.fromkeys(filter(None, lines)))[:_MOST]


# ── a skill's text ───────────────────────────────────────────────────────────────────


class SectionReply(Struct, frozen=True, forbid_unknown_fields=True):
    """A section as the model writes it."""

    heading: str
    text: str


class SkillReply(Struct, frozen=True, forbid_unknown_fields=True):
    """A skill's text as the model writes it."""

    title: str
    description: str
    sections: list[SectionReply]


class SessionReply(SkillReply, frozen=True, forbid_unknown_fields=True):
    """The same of sessions, with what it is about, for whom and for which stages."""

    tags: list[str]
    roles: list[str]
    stages: list[str]


class SkillReader(NamedTuple):
    """Makes a skill's draft of a reply.

    `headings` are those the model may write; other sections of `plain`, the offline judge's text,
    stay as they are.
    """

    brief: Brief
    plain: Draft
    headings: tuple[str, ...]

    def check_figures(self, reply: SkillReply, shown: Shown, *, last: bool) -> SkillReply:
        """The reply; UnusableError with every reason.

        At the `last` time the items go that claim what the record does not bear out.
        """
        kept_reply = self._without_items(reply, shown) if last else reply
        written = _texts_of(kept_reply)
        title, about = flatten(kept_reply.title), _plain_line(kept_reply.description)
        foreign = not written or not written.keys() <= set(self.headings)
        figures = unsupported("\n".join((title, about, *written.values())), shown)
        labels = _bad_label(kept_reply) if isinstance(kept_reply, SessionReply) else ""
        _require(
            figures,
            f"the sections must be of these: {', '.join(self.headings)}" if foreign else "",
            "the title or the description is empty" if not title or not about else "",
            labels,
        )
        return kept_reply

    def _without_items(self, reply: SkillReply, shown: Shown) -> SkillReply:
        """A reply without the items, or the title and description, that claim too much."""
        sections = [
            SectionReply(section.heading, _borne_out(_tidy(section.text), shown))
            for section in reply.sections
        ]
        title = self.plain.title if unsupported(reply.title, shown) else reply.title
        about = _without_claims(reply.description, shown) or self.plain.description
        return replace(reply, title=title, description=about, sections=sections)

    def draft(self, reply: SkillReply) -> Draft:
        """The draft that a reply gives."""
        title, about = flatten(reply.title), _plain_line(reply.description)
        written = {name: text for name, text in _texts_of(reply).items() if name in self.headings}
        return msgspec.structs.replace(
            self._labelled(reply),
            title=shorten(title, TITLE) if self._may_name else self.plain.title,
            description=shorten(_when_first(about, self.plain.description), DESCRIPTION),
            sections=self._sections(written),
        )

    def _labelled(self, reply: SkillReply) -> Draft:
        """The offline draft with the labels that a reply gives."""
        if not isinstance(reply, SessionReply):
            return self.plain
        return msgspec.structs.replace(
            self.plain,
            tags=_labels(reply.tags) or self.plain.tags,
            roles=_labels(reply.roles),
            stages=_labels(reply.stages),
        )

    @property
    def _may_name(self) -> bool:
        """Whether the title is the model's to find."""
        return isinstance(self.brief, Findings | Agreement | SessionExcerpt)

    def _sections(self, written: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        """The written sections, and those of the offline text that are counted, in its order.

        So a text that is rewritten reads like one that was written so at once.
        """
        counted = {name: text for name, text in self.plain.sections if name not in self.headings}
        order = [name for name, _ in self.plain.sections]
        for place, name in enumerate(self.headings):
            if name not in order:
                earlier = [order.index(h) + 1 for h in self.headings[:place] if h in order]
                later = [order.index(h) for h in self.headings[place:] if h in order]
                order.insert(max(earlier, default=min([*later, min(1, len(counted))])), name)
        both = {**counted, **written}
        return tuple((name, both[name]) for name in order if name in both)


def _texts_of(reply: SkillReply) -> dict[str, str]:
    """Heading -> its text, of those with any."""
    texts = {section.heading: _tidy(section.text) for section in reply.sections}
    return {name: text for name, text in texts.items() if text}


def _plain_line(text: str) -> str:
    return flatten(text).replace(">", "")


def _when_first(about: str, plain: str) -> str:
    """A description that begins with when to use the skill, as the one by rule does.

    A host with many skills shows no more than the beginning.
    """
    when, _, _ = plain.partition(". ")
    if _USE.match(about) or not _USE.match(when):
        return about
    return f"{when.removesuffix('.')}. {about}"


def _labels(names: list[str]) -> tuple[str, ...]:
    """Names as slugs, the first few."""
    slugs = (slug(name, limit=_LABEL) for name in names)
    return tuple(dict.fromkeys(filter(None, slugs)))[:_LABELS]


def _bad_label(reply: SessionReply) -> str:
    """That a name is none of a tag, a role or a stage; "" if all are."""
    names = (*reply.tags, *reply.roles, *reply.stages)
    bad = next((name for name in names if not slug(name, limit=_LABEL)), None)
    return (
        "" if bad is None else f"{flatten(bad)[:_LABEL]!r} is no name of a tag, a role or a stage"
    )


def _borne_out(text: str, shown: Shown) -> str:
    """A section's text without the items that claim what the record does not bear out."""
    return "\n".join(line for line in text.splitlines() if not unsupported(line, shown))


def _tidy(text: str) -> str:
    """A section's text without headings, rules and tags of its own."""
    lines = (line.rstrip() for line in remove_hidden(text[:SECTION]).splitlines())
    kept = (line for line in lines if not line.lstrip().startswith(("#", "---", "```")))
    return "\n".join(kept).replace("<", "‹").strip()

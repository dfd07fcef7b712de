"""Detect which skills a decision applied: from its tool log, its words, or what it repeats.

A mention counts if the name stands as a whole word, is used and is not turned down. Outcomes
are joined with what was shown for their decisions, whichever arrived first; nothing is stored.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct

from skillvault import aliases, markdown
from skillvault.learning.effect.estimate import UNSEEN, Offer
from skillvault.records import Outcome, Recommendation

Match = Literal["tool", "explicit", "implicit", "none"]
CONFIDENCE: Mapping[Match, float] = {"tool": 1.0, "explicit": 0.95, "implicit": 0.6, "none": 0.0}
PHRASES = 3  # distinct key phrases of a skill that make an implicit use
AROUND = 50  # characters of the text on each side of a quote

_QUOTES = "\"'`*“”‘’«»"
_FILLER = (
    r"(?:the|this|that|these|those|a|an|our|my|any|its|both|all|lessons?|rules?|skills?|named)"
)
_USE = (
    r"(?:appl\w+|us(?:e|es|ed|ing)|follow\w*|rely\w*|reli\w+|load\w*|consult\w*|invok\w+|need\w*)"
)
_LEAD = rf"(?:\s+{_FILLER})*[\s:(\[{_QUOTES}]*$"
# What stands before a name that is turned down, or only looked at.
_REFUSED = re.compile(
    rf"(?:\b(?:ignor|skip|reject|disregard|dismiss|overrid|overrul|declin|discard|refus|consider)\w*"
    rf"|\b(?:not|never|without|cannot|instead\s+of|rather\s+than|no\s+need\s+(?:for|to))"
    rf"(?:\s+(?:\w+ly|to|be|been|have|going))*(?:\s+{_USE})?(?:\s+on)?"
    rf"|n[’']t(?:\s+(?:\w+ly|to|be|been|have))*(?:\s+{_USE})?(?:\s+on)?){_LEAD}",
    re.IGNORECASE,
)
# What stands behind one: `'x' does not apply`, `x was ignored`.
_UNUSED = re.compile(
    rf"^[{_QUOTES}]*(?:\s+(?:skill|lesson|rule))?\s+"
    r"(?:(?:is|was|were|are|does|do|did|has|have|had|can|could|would|will|should)\s*(?:not\b|n[’']t)"
    r"|(?:isn|wasn|doesn|didn|hasn|couldn|wouldn|won|can)[’']t\b|cannot\b|never\b"
    r"|(?:is|was|were)\s+(?:ignored|rejected|skipped|disregarded|dismissed|considered)\b)",
    re.IGNORECASE,
)
# A name of one word is a word like others but beside one of these.
_CUE = re.compile(rf"\b(?:{_USE}|based\s+on|per|skill)(?:\s+{_FILLER})*[\s:(\[]*$", re.IGNORECASE)
_LISTED = r"(?:[\w./-]+(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s+or\s+))"
_SKILLS = re.compile(rf"\bskills?\s*[:(]\s*{_LISTED}{{0,8}}$", re.IGNORECASE)
_SKILL = re.compile(
    r"^(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s+or\s+)[\w./-]+){0,8}\s+skills?\b", re.IGNORECASE
)
_FOLDER = re.compile(r"\bskills?/(?:[\w.-]+/){0,2}$", re.IGNORECASE)

_WORD = re.compile(r"[^\W_]+")

_PART = re.compile(r"[^-_\s]+")
# The headings of the texts that the program itself writes.
TEMPLATE = frozenset(
    """
    pattern to recognize|what went wrong|better approach|checklist|pattern conditions|why it worked
    |entry criteria|risk management|market context|context|core approach|entry rules|exit rules
    |position sizing|what to avoid|performance notes|consolidated learning|application|origin
    |synthesized insight|when this applies|key principles|evidence|overview|usage|examples|example
    """.replace("\n    ", "")
    .strip()
    .split("|")
)


class Detection(Struct, frozen=True):
    """Whether a decision applied a skill, how that is known, and the words that say so."""

    applied: bool
    match: Match = "none"
    confidence: float = 0.0
    quote: str | None = None


NONE = Detection(applied=False)


def by_first_word(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Skills' names by their first word, so that a text is asked only for what it may name."""
    by_word: dict[str, list[str]] = {}
    for name in sorted(set(names)):
        by_word.setdefault(_first(name), []).append(name)
    return {first: tuple(group) for first, group in by_word.items()}


def detect_all(
    reasoning: str,
    applied: Iterable[str] | None,
    names: Mapping[str, Iterable[str]],
    shown: Mapping[str, str],
) -> dict[str, Detection]:
    """Name -> detection of each skill that was applied, by name.

    `applied` is the outcome's own list, `names` are those of all skills `by_first_word`;
    `shown` maps a skill that was shown to its text, at the version shown. A name within a
    longer one that stands there is no mention of its own.
    """
    detections = {name: _detection("tool") for name in _listed(applied or (), names, shown)}
    words = {word.lower() for word in _WORD.findall(reasoning)}
    named = {name for word in words for name in names.get(word, ())}
    text = reasoning
    for name in sorted({*named, *shown} - detections.keys(), key=lambda name: (-len(name), name)):
        mention = explicit_use(name, text, reasoning)
        detection = mention if mention.applied else implicit_use(shown.get(name, ""), reasoning)
        if detection.applied:
            detections[name] = detection
        text = _name(name).sub(lambda match: " " * len(match[0]), text)
    return dict(sorted(detections.items()))


def _listed(
    applied: Iterable[str], names: Mapping[str, Iterable[str]], shown: Iterable[str]
) -> set[str]:
    """The skills of the outcome's own list; a foreign name's `_` stands for `-`."""
    logged = {name.replace("_", "-") for name in applied}
    firsts = set(map(_first, logged))
    return logged & {*shown, *(name for first in firsts for name in names.get(first, ()))}


def detect(name: str, body: str, reasoning: str) -> Detection:
    """Whether the reasoning applies this one skill, which was shown with this body."""
    mention = explicit_use(name, reasoning)
    return mention if mention.applied else implicit_use(body, reasoning)


def explicit_use(name: str, text: str, quoted: str | None = None) -> Detection:
    """A mention that is used; the quote is taken from the `whole` text."""
    for match in _name(name).finditer(text):
        before, after = (
            text[max(0, match.start() - 160) : match.start()],
            text[match.end() :][:160],
        )
        if _REFUSED.search(before) or _UNUSED.match(after):
            continue
        if _is_name(name, match[0]) or _is_cued(before, after):
            return _detection("explicit", _around(quoted or text, match.start(), match.end()))
    return NONE


def implicit_use(body: str, reasoning: str) -> Detection:
    """A use that is not named: the text repeats enough key phrases."""
    words = reasoning.lower()
    hits = [(at, at + len(p)) for p in key_phrases(body) if (at := words.find(p)) >= 0]
    if len(hits) < PHRASES:
        return NONE
    return _detection("implicit", _around(reasoning, *min(hits)))


@lru_cache(maxsize=1024)
def key_phrases(body: str) -> tuple[str, ...]:
    """What a skill says in words of its own, in lower case, each once.

    Bold text of 5 to 50 characters, the first five words of a list item from 10 characters
    on, headings that are not the template's. A single word is no phrase: any text may hold it.
    """
    openings = (" ".join(bullet.split()[:5]) for bullet in markdown.bullets(body))
    headers = (header.strip(" *_`#") for header in markdown.headings(body))
    candidates = [
        *(text for text in markdown.bold(body) if 5 <= len(text) <= 50),
        *(opening.strip(_QUOTES + " ") for opening in openings if len(opening) >= 10),
        *(header for header in headers if len(header) >= 5 and header.lower() not in TEMPLATE),
    ]
    phrases = (" ".join(phrase.lower().split()) for phrase in candidates)
    return tuple(dict.fromkeys(phrase for phrase in phrases if " " in phrase))


@lru_cache(maxsize=1024)
def _name(name: str) -> re.Pattern[str]:
    """The name as a whole word, its hyphens also as underscores or spaces."""
    parts = [re.escape(part) for part in _parts(name)]
    return re.compile(rf"(?<![\w-])(?<!\w[.@]){'[-_ ]'.join(parts)}(?![\w-])", re.IGNORECASE)


def _parts(name: str) -> list[str]:
    return _PART.findall(name) or [name]


def _first(name: str) -> str:
    return _parts(name.lower())[0]


def _is_name(name: str, mention: str) -> bool:
    """A name of several words is one by itself; spelled with spaces, from three words on."""
    words = len(_parts(name))
    return words > 2 or (words == 2 and " " not in mention)


def _is_cued(before: str, after: str) -> bool:
    quoted = before[-1:] in _QUOTES and after[:1] in _QUOTES and before and after
    return bool(
        quoted
        or _CUE.search(before)
        or _SKILLS.search(before)
        or _FOLDER.search(before)
        or _SKILL.match(after)
    )


def _detection(match: Match, quote: str | None = None) -> Detection:
    return Detection(applied=True, match=match, confidence=CONFIDENCE[match], quote=quote)


def _around(text: str, start: int, end: int) -> str:
    return text[max(0, start - AROUND) : end + AROUND].strip()


# ── outcomes joined with what was shown for their decisions ──────────────────────────

ReadText = Callable[[str, str], str]  # (skill, blob) -> the skill's text at that version


class DetectedUse(Struct, frozen=True, order=True):
    """The part of one skill in one outcome's decision, and how that is known.

    `match` is none if it was offered and not applied; `confidence` is then how likely it was
    applied all the same. `made` is when the decision was made.
    """

    skill: str
    outcome: str
    made: datetime
    match: Match
    confidence: float
    quote: str | None = None
    offer: Offer = ""

    @property
    def applied(self) -> bool:
        """Whether the decision applied it."""
        return self.match != "none"


def detected_uses(
    outcome: Outcome,
    shown: Iterable[Recommendation],
    names: Mapping[str, Iterable[str]],
    read: ReadText,
) -> list[DetectedUse]:
    """What an outcome's decision applied, was shown and had held out, by skill.

    `shown` are the recommendations of its decision; those less trusted than the outcome do not
    count. `names` are those of all skills, by `by_first_word`.
    """
    counted = _as_trusted(outcome, shown)
    texts = {skill.skill: read(skill.skill, skill.blob) for r in counted for skill in r.shown}
    held_out = {skill.skill for r in counted for skill in r.held_out} - texts.keys()
    called = aliases.aliases_of(counted, lambda name, _: aliases.title_of(texts[name]))
    applied = outcome.applied and aliases.resolved(outcome.applied, called)
    detections = detect_all(outcome.decision.reasoning, applied, names, texts)
    fallback = outcome.decision.made_at or outcome.occurred_at
    decided = min((r.at for r in counted), default=fallback)
    # A tool log says all that was applied; reasoning may leave it out.
    unnamed = 0.0 if outcome.applied is not None else UNSEEN
    return [
        DetectedUse(
            skill=name,
            outcome=outcome.id,
            made=decided,
            match=detections[name].match if name in detections else "none",
            confidence=detections[name].confidence
            if name in detections
            else unnamed * (name in texts),
            quote=detections[name].quote if name in detections else None,
            offer="shown" if name in texts else "held" if name in held_out else "",
        )
        for name in sorted({*detections, *texts, *held_out})
    ]


def decision_stats(
    name: str,
    shown: Sequence[Recommendation],
    outcomes: Sequence[Outcome],
    uses: Iterable[DetectedUse],
) -> dict[str, Any]:
    """What `stats --decision` answers: the decision, its end, each skill's and fact's part in it.

    `{decision, domain, outcome, score, outcomes, detections, skills: [{skill, blob, shown,
    held_out, relevance, badge, applied, match, confidence, quote, contributed_to_success}],
    facts: [{fact, blob, applied}], unresolved}`; `detections` counts the applied skills;
    `unresolved` are handles that mean nothing that was shown; the outcome
    is that of the last one, `pending` before there is any.
    """
    last = max(outcomes, key=lambda outcome: outcome.order, default=None)
    status = last.result.status if last else "pending"
    applied = {o.skill: o for o in sorted(uses) if last and o.outcome == last.id and o.applied}
    rows = {
        row["skill"]: row
        for recommendation in sorted(shown, key=_order)
        for row in _offered(recommendation)
    }
    for skill in applied:
        rows.setdefault(skill, _row(skill))
    domains = [
        *(recommendation.domain for recommendation in shown),
        *(outcome.domain for outcome in outcomes),
    ]
    return {
        "decision": name,
        "domain": domains[0] if domains else None,
        "outcome": status,
        "score": last.result.score if last else None,
        "outcomes": [outcome.id for outcome in sorted(outcomes, key=lambda outcome: outcome.order)],
        "detections": len(applied),
        "skills": [{**row, **_part(applied.get(skill), status)} for skill, row in rows.items()],
        **_listed_beside(last, shown, applied),
    }


def _as_trusted(outcome: Outcome, shown: Iterable[Recommendation]) -> list[Recommendation]:
    """Those of the recommendations that are trusted as much as the outcome."""
    return [r for r in shown if outcome.trust == "untrusted" or r.trust == "local"]


def _listed_beside(
    last: Outcome | None, shown: Sequence[Recommendation], applied: Iterable[str]
) -> dict[str, Any]:
    """The shown facts, and the handles that mean nothing, by an outcome's own list."""
    called = (last.applied if last else None) or ()
    names = aliases.aliases_of(_as_trusted(last, shown) if last else [])
    listed = set(aliases.resolved(called, names))
    blobs = {f.fact: f.blob for answer in sorted(shown, key=_order) for f in answer.facts}
    unresolved = aliases.unresolved(called, names)
    return {
        "facts": [{"fact": f, "blob": blob, "applied": f in listed} for f, blob in blobs.items()],
        "unresolved": [call for call in unresolved if call not in set(applied)],
    }


def _order(recommendation: Recommendation) -> tuple[datetime, str]:
    return recommendation.at, recommendation.id


def _offered(recommendation: Recommendation) -> list[dict[str, Any]]:
    shown = [
        _row(skill.skill, blob=skill.blob, shown=True, relevance=skill.relevance, badge=skill.badge)
        for skill in recommendation.shown
    ]
    held_out = [
        _row(skill.skill, blob=skill.blob, held_out=True) for skill in recommendation.held_out
    ]
    return [*shown, *held_out]


def _row(skill: str, **values: Any) -> dict[str, Any]:
    defaults = {"blob": None, "shown": False, "held_out": False, "relevance": None, "badge": None}
    return {"skill": skill, **defaults, **values}


def _part(use: DetectedUse | None, status: str) -> dict[str, Any]:
    """What a skill had to do with the outcome; whether it contributed is open while pending."""
    return {
        "applied": use is not None,
        "match": use.match if use else "none",
        "confidence": use.confidence if use else 0.0,
        "quote": use.quote if use else None,
        "contributed_to_success": None
        if status == "pending"
        else use is not None and status == "success",
    }

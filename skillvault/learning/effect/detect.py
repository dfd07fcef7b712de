"""Detect which skills a decision applied: from its own list, its words, or what it repeats.

The list of an outcome is final, an empty one too. Its text counts only where there is none:
`mentions` says who is mentioned, `cues` how. Outcomes are joined with what was shown for
their decisions, whichever arrived first; nothing is stored.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct

from skillvault.learning.effect.cues import Reading, read_mentions
from skillvault.learning.effect.lift import UNSEEN, Offer
from skillvault.learning.effect.mentions import by_first_word, find_mentions
from skillvault.model import aliases, decision_outcomes
from skillvault.model.decision_outcomes import Claim, choose_outcome
from skillvault.model.records import Outcome, Recommendation
from skillvault.model.text import markdown

Match = Literal["tool", "explicit", "implicit", "overruled", "none"]
APPLIED: frozenset[Match] = frozenset({"tool", "explicit", "implicit"})
CONFIDENCE: Mapping[Match, float] = {
    "tool": 1.0,
    "explicit": 0.95,
    "implicit": 0.6,
    "overruled": 0.95,
    "none": 0.0,
}
PHRASES = 3  # distinct key phrases of a skill that make an implicit use
OVERRULED = -0.25  # the weight of a decision that acted against a skill; an application's is 1
AROUND = 50  # characters of the text on each side of a quote

_QUOTES = "\"'`*“”‘’«»"
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
    """Whether a decision applied a skill, how that is known, and the words that say so.

    One that was overruled, acted against knowingly, was not applied.
    """

    applied: bool
    match: Match = "none"
    confidence: float = 0.0
    quote: str | None = None


NONE = Detection(applied=False)


def detect_all(
    reasoning: str,
    applied: Iterable[str] | None,
    names: Mapping[str, Iterable[str]],
    shown: Mapping[str, str],
    *,
    handles: Mapping[str, str] | None = None,
) -> dict[str, Detection]:
    """Name -> detection of each skill that was applied or overruled, or is said not to be.

    `applied` is the outcome's own list, `names` are those of all skills `by_first_word`;
    `shown` maps a skill that was shown to its text, at the version shown, in the order shown;
    `handles` is what they were called there, S1, S2, … if nothing else is known.
    """
    if applied is not None:
        return {name: _detection("tool") for name in sorted(_listed(applied, names, shown))}
    called = handles_of(shown) if handles is None else handles
    detections = _explicit(reasoning, names, shown, called)
    unquoted = "\n".join(
        line for line in reasoning.split("\n") if not line.lstrip().startswith(">")
    )
    for name in shown.keys() - detections.keys():
        if (implicit := implicit_use(shown[name], unquoted)).applied:
            detections[name] = implicit
    return dict(sorted(detections.items()))


def handles_of(shown: Iterable[str]) -> dict[str, str]:
    """What the skills of one receipt are called in its text: S1, S2, … in the order shown."""
    return {f"S{n}": name for n, name in enumerate(shown, 1)}


def _listed(
    applied: Iterable[str], names: Mapping[str, Iterable[str]], shown: Iterable[str]
) -> set[str]:
    """The skills of the outcome's own list; a foreign name's `_` stands for `-`."""
    logged = {name.replace("_", "-") for name in applied}
    known = (name for word in by_first_word(logged) for name in names.get(word, ()))
    return logged & {*shown, *known}


def detect(name: str, body: str, reasoning: str) -> Detection:
    """Whether the reasoning applies this one skill, which was shown with this body."""
    return detect_all(reasoning, None, by_first_word([name]), {name: body}).get(name, NONE)


def _explicit(
    text: str,
    names: Mapping[str, Iterable[str]],
    shown: Mapping[str, str],
    handles: Mapping[str, str],
) -> dict[str, Detection]:
    """The skills of which the text says whether they were applied.

    The last that says so counts; what is mentioned and no more was applied, if nothing else is
    said. What was applied once is not undone by a place that did without it.
    """
    decided: dict[str, tuple[Reading, str]] = {}
    for mention, reading in read_mentions(text, find_mentions(text, names, shown, handles)):
        before = decided.get(mention.skill, ("open", ""))[0]
        if _outweighs(reading, before):
            decided[mention.skill] = reading, _around(text, mention.start, mention.end)
    return {
        name: NONE
        if reading == "declined"
        else _detection("overruled" if reading == "overruled" else "explicit", quote)
        for name, (reading, quote) in decided.items()
        if reading != "open"
    }


def _outweighs(reading: Reading, before: Reading) -> bool:
    """Whether a later reading takes the place of an earlier one."""
    return {
        "applied": before != "applied",
        "overruled": True,
        "declined": before != "applied",
        "named": before == "open",
        "due": False,
        "open": False,
    }[reading]


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
        *(text for text in markdown.bold_texts(body) if 5 <= len(text) <= 50),
        *(opening.strip(_QUOTES + " ") for opening in openings if len(opening) >= 10),
        *(header for header in headers if len(header) >= 5 and header.lower() not in TEMPLATE),
    ]
    phrases = (" ".join(phrase.lower().split()) for phrase in candidates)
    return tuple(dict.fromkeys(phrase for phrase in phrases if " " in phrase))


def weight(match: str, confidence: float) -> float:
    """How much of an application a match is in the sums of the effect: OVERRULED..1.

    One that was overruled speaks for the skill if the decision failed, and against it otherwise:
    a little of an application that ended the other way.
    """
    if match in APPLIED:
        return 1.0
    return OVERRULED if match == "overruled" else confidence


def _detection(match: Match, quote: str | None = None) -> Detection:
    return Detection(match in APPLIED, match, CONFIDENCE[match], quote)


def _around(text: str, start: int, end: int) -> str:
    return text[max(0, start - AROUND) : end + AROUND].strip()


# ── outcomes joined with what was shown for their decisions ──────────────────────────

ReadText = Callable[[str, str], str]  # (skill, blob) -> the skill's text at that version


class DetectedUse(Struct, frozen=True, order=True):
    """The part of one skill in one outcome's decision, and how that is known.

    `match` is `overruled` if the decision acted against it knowingly, `none` if it was offered and
    not applied; `confidence` is then how likely it was applied all the same. `made` is when the
    decision was made.
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
        return self.match in APPLIED

    @property
    def overruled(self) -> bool:
        """Whether the decision acted against it, knowing it."""
        return self.match == "overruled"


def detected_uses(
    outcome: Outcome,
    shown: Iterable[Recommendation],
    names: Mapping[str, Iterable[str]],
    read: ReadText,
    *,
    ends: Sequence[Claim] = (),
) -> list[DetectedUse]:
    """What an outcome's decision applied, overruled, was shown and had held out, by skill.

    `shown` are the recommendations of its decision, of which its own count, and `ends` its trusted
    outcomes; see `claims`. `names` are those of all skills, by `by_first_word`. A skill that was
    held out counts as shown if the decision says whether it applied it: the agent has read it all
    the same.
    """
    counted = decision_outcomes.select_receipts(decision_outcomes.claim_of(outcome), shown, ends)
    texts = {skill.skill: read(skill.skill, skill.blob) for r in counted for skill in r.shown}
    held_out = {skill.skill for r in counted for skill in r.held_out} - texts.keys()
    called = aliases.aliases_of(counted, lambda name, _: aliases.title_of(texts[name]))
    applied = outcome.applied and aliases.resolve_names(outcome.applied, called)
    handles = {
        handle.strip("[]"): name
        for handle, name in aliases.aliases_of(counted).items()
        if handle.startswith("[") and name in texts
    }
    reasoning = outcome.decision.reasoning
    detections = detect_all(reasoning, applied, names, texts, handles=handles)
    fallback = outcome.decision.made_at or outcome.occurred_at
    decided = min((r.at for r in counted), default=fallback)
    # A list says all that was applied; reasoning may leave it out.
    unnamed = Detection(applied=False, confidence=0.0 if outcome.applied is not None else UNSEEN)
    uses: list[DetectedUse] = []
    for name in sorted({*detections, *texts, *held_out}):
        detection = detections.get(name, unnamed if name in texts else NONE)
        was_shown = name in texts or (name in held_out and name in detections)
        offer: Offer = "shown" if was_shown else "held" if name in held_out else ""
        if offer or detection != NONE:
            reading = (detection.match, detection.confidence, detection.quote, offer)
            uses.append(DetectedUse(name, outcome.id, decided, *reading))
    return uses


def decision_stats(
    name: str,
    shown: Sequence[Recommendation],
    outcomes: Sequence[Outcome],
    uses: Iterable[DetectedUse],
) -> dict[str, Any]:
    """What `stats --decision` answers: the decision, its end, each skill's and fact's part in it.

    `shown` and `outcomes` are those of one agent.
    `{decision, domain, outcome, score, outcomes, detections, skills: [{skill, blob, shown,
    held_out, relevance, badge, read, applied, overruled, match, confidence, quote,
    contributed_to_success}], facts: [{fact, blob, applied}], unresolved}`; `detections` counts the
    applied skills; `unresolved` are handles that mean nothing that was shown; the outcome is that
    of the one that counts (see `observed`), `pending` before there is any. `observed_by` saw it,
    `via` a hook where one told so, `claimed` is how it ended by the agent's word where somebody
    else saw it, `claim` that word, and a `surprise` is a claimed success that was seen to fail.
    `read`: it was held out, and the decision speaks of it all the same.
    """
    last = choose_outcome(outcomes)
    status = last.result.status if last else "pending"
    parts = {use.skill: use for use in sorted(uses) if last and use.outcome == last.id}
    rows = {
        row["skill"]: row
        for recommendation in sorted(shown, key=_order)
        for row in _offered(recommendation)
    }
    for skill, use in parts.items():
        if use.applied or use.overruled:
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
        **_seen(last),
        "outcomes": [outcome.id for outcome in sorted(outcomes, key=lambda outcome: outcome.order)],
        "detections": sum(use.applied for use in parts.values()),
        "skills": [{**row, **_part(row, parts.get(skill), status)} for skill, row in rows.items()],
        **_listed_beside(last, shown, rows),
    }


def end_of(agent: str | None, outcomes: Iterable[Outcome]) -> dict[str, Any]:
    """`{agent, outcome, outcomes}`: how a decision ended that another agent gave the same id."""
    own = sorted((o for o in outcomes if o.source.agent == agent), key=lambda o: o.order)
    last = choose_outcome(own)
    status = last.result.status if last else "pending"
    return {"agent": agent, "outcome": status, "outcomes": [outcome.id for outcome in own]}


def _seen(outcome: Outcome | None) -> dict[str, Any]:
    """Who saw how a decision ended, and what its agent had claimed."""
    if outcome is None:
        return {"observed_by": None, "via": None, "claimed": None, "claim": "", "surprise": False}
    result = outcome.result
    return {
        "observed_by": outcome.observer,
        "via": result.via,
        "claimed": result.claimed,
        "claim": result.claim,
        "surprise": outcome.is_claim_refused,
    }


def _listed_beside(
    last: Outcome | None, shown: Sequence[Recommendation], skills: Iterable[str]
) -> dict[str, Any]:
    """The shown facts, and the handles that mean nothing, by an outcome's own list."""
    called = (last.applied if last else None) or ()
    names = aliases.aliases_of(shown if last else [])
    listed = set(aliases.resolve_names(called, names))
    blobs = {f.fact: f.blob for answer in sorted(shown, key=_order) for f in answer.facts}
    unresolved = aliases.find_unknown_handles(called, names)
    return {
        "facts": [{"fact": f, "blob": blob, "applied": f in listed} for f, blob in blobs.items()],
        "unresolved": [call for call in unresolved if call not in set(skills)],
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


def _part(row: Mapping[str, Any], use: DetectedUse | None, status: str) -> dict[str, Any]:
    """What a skill had to do with the outcome; whether it contributed is open while pending."""
    applied = use is not None and use.applied
    named = use if use and (use.applied or use.overruled) else None
    return {
        "read": bool(row["held_out"] and use and use.offer == "shown"),
        "applied": applied,
        "overruled": use is not None and use.overruled,
        "match": named.match if named else "none",
        "confidence": named.confidence if named else 0.0,
        "quote": named.quote if named else None,
        "contributed_to_success": None if status == "pending" else applied and status == "success",
    }

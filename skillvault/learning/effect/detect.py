"""Detect the skills that a decision applied.

If an outcome lists the skills that it applied, the list decides, even if it is empty. Otherwise the
reasoning decides: it names a skill (`mentions` finds and reads the names) or repeats phrases of the
skill's text. `loop/effects.py` stores the detected uses; `stats --decision` shows them.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

import msgspec
from msgspec import Struct

from skillvault.learning.effect.lift import UNSEEN, Offer
from skillvault.learning.effect.mentions import Reading, find_mentions, index_by_word, read_mentions
from skillvault.model import aliases, decision_outcomes
from skillvault.model.decision_outcomes import Claim, choose_outcome
from skillvault.model.records import Outcome, Recommendation
from skillvault.model.text import markdown

Match = Literal["tool", "explicit", "implicit", "overruled", "none"]
APPLIED: frozenset[Match] = frozenset({"tool", "explicit", "implicit"})
_CONFIDENCE = {"tool": 1.0, "explicit": 0.95, "implicit": 0.6, "overruled": 0.95}
OVERRULED = -0.25  # the weight of a decision that acted against a skill; applied skills have 1
_MIN_PHRASES = 3  # a text that repeats so many key phrases of a skill uses the skill
_QUOTE_MARGIN = 50  # characters on each side of a mention that a quote includes
_QUOTES = "\"'`*“”‘’«»"
_TEMPLATE_HEADINGS = frozenset(  # of the texts that the program writes
    (
        "pattern to recognize|what went wrong|better approach|checklist|pattern conditions"
        "|why it worked|entry criteria|risk management|market context|context|core approach"
        "|entry rules|exit rules|position sizing|what to avoid|performance notes"
        "|consolidated learning|application|origin|synthesized insight|when this applies"
        "|key principles|evidence|overview|usage|examples|example"
    ).split("|")
)


class Detection(Struct, frozen=True):
    """The use of a skill in a decision, with a quote of the reasoning as evidence.

    An overruled skill was not applied: the decision mentioned the skill and acted against it.
    """

    match: Match = "none"
    confidence: float = 0.0
    quote: str | None = None

    @property
    def is_applied(self) -> bool:
        """True if the decision applied the skill."""
        return self.match in APPLIED


NO_USE = Detection()


def detect_all(
    reasoning: str,
    applied: Iterable[str] | None,
    names: Mapping[str, Iterable[str]],
    shown_texts: Mapping[str, str],
    *,
    handles: Mapping[str, str] | None = None,
) -> dict[str, Detection]:
    """Return how a text uses each skill that it applies, overrules or declines.

    `applied` is the list of the outcome, or None if the outcome has no list. `names` is the result
    of `index_by_word` for all skills. `shown_texts` maps each skill that the agent got to its text,
    in the order shown. `handles` maps the short names in the recommendation to skills (default: S1,
    S2, …).
    """
    if applied is not None:
        listed_names = {name.replace("_", "-") for name in applied}  # `_` in a foreign name is `-`
        candidates = (name for word in index_by_word(listed_names) for name in names.get(word, ()))
        skills = listed_names & {*shown_texts, *candidates}
        return {name: _detection("tool") for name in sorted(skills)}
    handle_names = handles_of(shown_texts) if handles is None else handles
    detections = _find_explicit(reasoning, names, shown_texts, handle_names)
    lines = (line for line in reasoning.split("\n") if not line.lstrip().startswith(">"))
    own_text = "\n".join(lines)
    for name in shown_texts.keys() - detections.keys():
        if (detection := _find_implicit(shown_texts[name], own_text)).is_applied:
            detections[name] = detection
    return dict(sorted(detections.items()))


def handles_of(names: Iterable[str]) -> dict[str, str]:
    """Map the handles S1, S2, … to skills, in the order shown."""
    return {f"S{number}": name for number, name in enumerate(names, 1)}


def detect(name: str, body: str, reasoning: str) -> Detection:
    """Return how a text uses one skill, or NO_USE."""
    return detect_all(reasoning, None, index_by_word([name]), {name: body}).get(name, NO_USE)


def _find_explicit(
    text: str,
    names: Mapping[str, Iterable[str]],
    shown_texts: Mapping[str, str],
    handles: Mapping[str, str],
) -> dict[str, Detection]:
    """Detect the skills that a text names; the strongest reading of a skill counts."""
    readings: dict[str, tuple[Reading, str]] = {}
    for mention, reading in read_mentions(text, find_mentions(text, names, shown_texts, handles)):
        earlier_reading = readings.get(mention.skill, ("open", ""))[0]
        if _is_stronger(reading, earlier_reading):
            readings[mention.skill] = reading, _quote_around(text, mention.start, mention.end)
    detections: dict[str, Detection] = {}
    for name, (reading, quote) in readings.items():
        if reading == "declined":
            detections[name] = NO_USE
        elif reading != "open":
            match: Match = "overruled" if reading == "overruled" else "explicit"
            detections[name] = _detection(match, quote)
    return detections


def _is_stronger(reading: Reading, earlier_reading: Reading) -> bool:
    if reading in ("applied", "declined"):
        return earlier_reading != "applied"
    return reading == "overruled" or (reading == "named" and earlier_reading == "open")


def _find_implicit(body: str, reasoning: str) -> Detection:
    """Detect a use without a name: the text repeats enough key phrases of the skill."""
    text = reasoning.lower()
    spans = [(start, start + len(p)) for p in key_phrases(body) if (start := text.find(p)) >= 0]
    if len(spans) < _MIN_PHRASES:
        return NO_USE
    return _detection("implicit", _quote_around(reasoning, *min(spans)))


@lru_cache(maxsize=1024)
def key_phrases(body: str) -> tuple[str, ...]:
    """Return phrases that are typical of a skill, in lower case, without duplicates.

    The phrases are bold text of 5 to 50 characters, the first five words of list items (at least
    10 characters), and headings that the program's templates do not have. A single word is no
    phrase, because it may occur in any text.
    """
    openings = (" ".join(bullet.split()[:5]) for bullet in markdown.bullets(body))
    headers = (header.strip(" *_`#") for header in markdown.headings(body))
    candidates = [
        *(text for text in markdown.bold_texts(body) if 5 <= len(text) <= 50),
        *(opening.strip(_QUOTES + " ") for opening in openings if len(opening) >= 10),
        *(h for h in headers if len(h) >= 5 and h.lower() not in _TEMPLATE_HEADINGS),
    ]
    phrases = (" ".join(phrase.lower().split()) for phrase in candidates)
    return tuple(dict.fromkeys(phrase for phrase in phrases if " " in phrase))


def weight(match: str, confidence: float) -> float:
    """Return the weight of a match in the estimate of the effect, from OVERRULED to 1.

    The weight of an overruled skill is negative: the skill gains if the decision failed, and loses
    if it succeeded.
    """
    if match in APPLIED:
        return 1.0
    return OVERRULED if match == "overruled" else confidence


def _detection(match: Match, quote: str | None = None) -> Detection:
    return Detection(match, _CONFIDENCE[match], quote)


def _quote_around(text: str, start: int, end: int) -> str:
    return text[max(0, start - _QUOTE_MARGIN) : end + _QUOTE_MARGIN].strip()


# ── outcomes joined with the recommendations for their decisions ─────────────────────

ReadText = Callable[[str, str], str]  # (skill, blob) -> the skill's text at that version


class DetectedUse(Struct, frozen=True, order=True):
    """The use of one skill in the decision of one outcome.

    `match` is `none` if the agent got the skill and the text does not show that it was applied;
    `confidence` is then the probability that it was. `made` is the time of the decision.
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
        """True if the decision applied the skill."""
        return self.match in APPLIED

    @property
    def overruled(self) -> bool:
        """True if the decision mentioned the skill and acted against it."""
        return self.match == "overruled"


def detected_uses(
    outcome: Outcome,
    receipts: Iterable[Recommendation],
    names: Mapping[str, Iterable[str]],
    read_text: ReadText,
    *,
    claims: Sequence[Claim] = (),
) -> list[DetectedUse]:
    """Return the skills that a decision applied, overruled, was shown, or was not shown.

    `receipts` has the recommendations for the decision, `claims` the claims of its outcomes.
    `names` is the result of `index_by_word` for all skills. A held-out skill that the decision
    mentions counts as shown, because the agent has read it elsewhere.
    """
    claim = decision_outcomes.claim_of(outcome)
    receipts = decision_outcomes.select_receipts(claim, receipts, claims)
    texts = {skill.skill: read_text(skill.skill, skill.blob) for r in receipts for skill in r.shown}
    held_out_names = {skill.skill for r in receipts for skill in r.held_out} - texts.keys()
    titles = aliases.aliases_of(receipts, lambda name, _: aliases.title_of(texts[name]))
    applied = outcome.applied and aliases.resolve_names(outcome.applied, titles)
    handles = {
        handle.strip("[]"): name
        for handle, name in aliases.aliases_of(receipts).items()
        if handle.startswith("[") and name in texts
    }
    reasoning = outcome.decision.reasoning
    detections = detect_all(reasoning, applied, names, texts, handles=handles)
    default_time = outcome.decision.made_at or outcome.occurred_at
    decision_time = min((receipt.at for receipt in receipts), default=default_time)
    # A list names every applied skill; reasoning may leave some out.
    non_use = Detection(confidence=0.0 if outcome.applied is not None else UNSEEN)
    uses: list[DetectedUse] = []
    for name in sorted({*detections, *texts, *held_out_names}):
        detection = detections.get(name, non_use if name in texts else NO_USE)
        was_shown = name in texts or (name in held_out_names and name in detections)
        offer: Offer = "shown" if was_shown else "held" if name in held_out_names else ""
        if offer or detection != NO_USE:
            reading = (detection.match, detection.confidence, detection.quote, offer)
            uses.append(DetectedUse(name, outcome.id, decision_time, *reading))
    return uses


def decision_stats(
    name: str,
    receipts: Sequence[Recommendation],
    outcomes: Sequence[Outcome],
    uses: Iterable[DetectedUse],
) -> dict[str, Any]:
    """Return the output of `stats --decision` for one decision of one agent.

    The keys are `{decision, domain, outcome, score, observed_by, via, claimed, claim, surprise,
    outcomes, detections, skills: [{skill, blob, shown, held_out, relevance, badge, read, applied,
    overruled, match, confidence, quote, contributed_to_success}], facts: [{fact, blob, applied}],
    unresolved}`.

    `outcome` is the status of the outcome that `choose_outcome` picks, or `pending`. `observed_by`
    names who saw the result, and `via` the hook that reported it. If somebody other than the agent
    saw the result, `claimed` is the status that the agent reported, and `claim` are its words.
    `surprise` is true if the agent claimed success and somebody saw a failure. `detections` counts
    the applied skills. `read` is true for a held-out skill that the decision mentions.
    `unresolved` lists unknown handles.
    """
    outcome = choose_outcome(outcomes)
    by_time = sorted(receipts, key=lambda receipt: (receipt.at, receipt.id))
    status = outcome.result.status if outcome else "pending"
    parts = {use.skill: use for use in sorted(uses) if outcome and use.outcome == outcome.id}
    rows: dict[str, dict[str, Any]] = {}
    for receipt in by_time:
        for offer in receipt.shown:
            shown_values = {"relevance": offer.relevance, "badge": offer.badge}
            rows[offer.skill] = _row(offer.skill, blob=offer.blob, shown=True, **shown_values)
        for held in receipt.held_out:
            rows[held.skill] = _row(held.skill, blob=held.blob, held_out=True)
    for skill, use in parts.items():
        if use.applied or use.overruled:
            rows.setdefault(skill, _row(skill))
    domains = [*(answer.domain for answer in receipts), *(o.domain for o in outcomes)]
    return {
        "decision": name,
        "domain": domains[0] if domains else None,
        "outcome": status,
        "score": outcome.result.score if outcome else None,
        "observed_by": outcome.observer if outcome else None,
        "via": outcome.result.via if outcome else None,
        "claimed": outcome.result.claimed if outcome else None,
        "claim": outcome.result.claim if outcome else "",
        "surprise": outcome is not None and outcome.is_claim_refused,
        "outcomes": [outcome.id for outcome in sorted(outcomes, key=lambda outcome: outcome.order)],
        "detections": sum(use.applied for use in parts.values()),
        "skills": [
            {**row, **_skill_part(row, parts.get(skill), status)} for skill, row in rows.items()
        ],
        **_fact_part(outcome, by_time, rows),
    }


def end_of(agent: str | None, outcomes: Iterable[Outcome]) -> dict[str, Any]:
    """Return `{agent, outcome, outcomes}` for the decision of one of several agents."""
    outcomes = sorted((o for o in outcomes if o.source.agent == agent), key=lambda o: o.order)
    outcome = choose_outcome(outcomes)
    status = outcome.result.status if outcome else "pending"
    return {"agent": agent, "outcome": status, "outcomes": [o.id for o in outcomes]}


def _fact_part(
    outcome: Outcome | None, receipts: Sequence[Recommendation], skills: Collection[str]
) -> dict[str, Any]:
    named_skills = (outcome.applied if outcome else None) or ()
    names = aliases.aliases_of(receipts if outcome else [])
    applied = set(aliases.resolve_names(named_skills, names))
    blobs = {fact.fact: fact.blob for answer in receipts for fact in answer.facts}
    unknown_handles = aliases.find_unknown_handles(named_skills, names)
    return {
        "facts": [{"fact": f, "blob": blob, "applied": f in applied} for f, blob in blobs.items()],
        "unresolved": [handle for handle in unknown_handles if handle not in skills],
    }


def _row(skill: str, **values: Any) -> dict[str, Any]:
    defaults = {"blob": None, "shown": False, "held_out": False, "relevance": None, "badge": None}
    return {"skill": skill, **defaults, **values}


def _skill_part(row: Mapping[str, Any], use: DetectedUse | None, status: str) -> dict[str, Any]:
    """Return how a decision used a skill; `contributed_to_success` is None if it is pending."""
    applied, overruled = (use.applied, use.overruled) if use else (False, False)
    detection = NO_USE
    if use and (applied or overruled):
        detection = Detection(use.match, use.confidence, use.quote)
    return {
        "read": bool(row["held_out"] and use and use.offer == "shown"),
        "applied": applied,
        "overruled": overruled,
        **msgspec.structs.asdict(detection),
        "contributed_to_success": None if status == "pending" else applied and status == "success",
    }

"""The texts of warnings and patterns; a section that the outcome cannot support is left out."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from skillvault.brief import Case, Contrast, Draft, Episode
from skillvault.judge.offline.reading import Reading, read, telling
from skillvault.judge.offline.speech import (
    clause,
    counts,
    ended,
    evidence_lines,
    exception,
    figure,
    held_for,
    holding,
    how,
    lead,
    mostly,
    plain,
    quoted,
    risk,
    sentence,
    share,
    subject,
)
from skillvault.judge.offline.telling import (
    REFUSED,
    Cause,
    cause_of,
    shared_by_others,
    supports,
    unweighed,
)
from skillvault.records import (
    Evaluation,
    Outcome,
    Scalar,
    SkillKind,
)
from skillvault.text import count_of, listed, percent, shorten

TITLE = 70
DESCRIPTION = 400
_MAX_CONTEXT = 8
_ENOUGH = 3  # on either side, for a comparison that could have found something
_TERM = re.compile(r"the reasoning (?:(?P<no>does not mention)|mentions) '(?P<term>.+)'")
_HOURS = re.compile(r"decided between (\d\d):00 and (\d\d):00 UTC")


class _Material(NamedTuple):
    """What a text may rest on."""

    case: Case
    evaluation: Evaluation
    reading: Reading
    cause: Cause | None

    @property
    def outcome(self) -> Outcome:
        return self.case.outcome


def drafted(brief: Episode) -> Draft | None:
    """A draft of a warning or a pattern; None where there is nothing to rest it on."""
    kind, case = brief.kind, brief.case
    writers = _SECTIONS.get(kind)
    if writers is None or not supports(case):
        return None
    outcome = case.outcome
    reading = read(outcome.decision.reasoning)
    material = _Material(case, brief.evaluation, reading, cause_of(outcome))
    bodies = [(name, _bulleted(write(material))) for name, write in writers]
    sections = tuple((name, body) for name, body in bodies if body)
    return Draft(_title(material), _description(kind, material), sections)


def _bulleted(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in dict.fromkeys(lines) if line)


# ── warning ──────────────────────────────────────────────────────────────────────────


def _recognized(material: _Material) -> Iterator[str]:
    """What was there before the result: what, when, in which context."""
    more = [*_separating(material.case), *_entry(material.outcome)]
    if more or material.outcome.decision.target:
        yield sentence(subject(material.outcome))
    yield from more


def _went_wrong(material: _Material) -> Iterator[str]:
    yield from _result(material)
    yield from _evidence(material.outcome)
    if material.cause:
        yield sentence(material.cause.told)
    said = material.cause.quote if material.cause else "\n"
    weak = [text for text in material.evaluation.weaknesses if said not in text]
    yield from (sentence(text) for text in weak[:3])
    yield sentence(share(material.case))


def _better(material: _Material) -> Iterator[str]:
    if material.evaluation.better_approach:
        yield material.evaluation.better_approach
    told = 1 if material.outcome.result.status == "failure" else 0
    others = shared_by_others(material.case)[told:3]
    yield from (_shared(c, material.case, "others") for c in others)


def _checklist(material: _Material) -> Iterator[str]:
    """Questions one can answer before acting, each from something in the record."""
    for c in holding(material.case):
        meaning = sentence(risk(c, material.case.group))
        yield f"[ ] Does this hold: {plain(c.condition, 110)}? {meaning}"
    reading = material.reading
    for doubt in dict.fromkeys((*reading.unchecked, *reading.guesses[:3])):
        still = "checked now" if doubt in reading.unchecked else "known now, or still guessed"
        yield f"[ ] Is this {still}: {quoted(doubt)}"
    if reading.unfinished:
        yield "[ ] Is the last announced step carried out, and its result reported?"
    elif reading.claim and material.outcome.result.score is None:
        yield f"[ ] Is this tested against the task itself: {quoted(reading.claim)}"
    if left_out := unweighed(material.evaluation.missed_factors, material.case):
        yield f"[ ] Is it weighed that {listed(left_out)}?"


# ── pattern ──────────────────────────────────────────────────────────────────────────


def _worked(material: _Material) -> Iterator[str]:
    yield from _result(material)
    yield from _evidence(material.outcome)
    if material.cause:
        yield sentence(material.cause.told)
    before = material.case.before
    if before and before.result.status == "failure" and (cause := cause_of(before)):
        how = "was reported and refused" if cause.name == REFUSED else "failed"
        yield sentence(f"before it this {how}: {cause.quote}")
    found = _other(material, material.reading.found, 2)
    yield from (f"Found on the way: {quoted(text)}" for text in found)
    yield sentence(share(material.case))


def _criteria(material: _Material) -> Iterator[str]:
    for c in holding(material.case):
        yield sentence(f"{clause(c.condition)}: {risk(c, material.case.group)}")
    grounds = _other(material, material.reading.reasons + material.reading.conditions, 2)
    yield from (f"The ground given: {quoted(text)}" for text in grounds)
    if material.outcome.applied:
        yield f"Apply {listed(plain(name) for name in material.outcome.applied[:4])}."


def _managed(material: _Material) -> Iterator[str]:
    """How the risk was kept small, as far as the record says."""
    reading = material.reading
    yield from (f"Limit: {quoted(text)}" for text in reading.plans[:2])
    risks = [text for text in reading.risks if text not in (*reading.plans, *reading.reasons)]
    yield from (f"Risk seen: {quoted(text)}" for text in _other(material, risks, 2))
    yield from (f"Check: {quoted(text)}" for text in _other(material, reading.checks, 3))
    if reading.plans and material.outcome.result.entry_value is not None:
        yield f"Size at entry: {_money(material.outcome)}."
    others = shared_by_others(material.case)[:2]
    yield from (_shared(c, material.case, "others") for c in others)


# ── lines ────────────────────────────────────────────────────────────────────────────


def _separating(case: Case) -> Iterator[str]:
    """The contrasts, or in one sentence that there is none and what could have shown one."""
    holds = holding(case)
    for c in holds:
        yield sentence(f"{clause(c.condition)}: so in {counts(c, case.group)}")
    if holds or case.alike[0] == case.alike[1]:
        return
    if case.contrasts:
        yield sentence(exception(mostly(case) or case.contrasts[0], case.group))
        return
    if case.leads:
        yield sentence(lead(case.leads, case.group, "others"))
        return
    alike, peers = case.alike
    if min(alike, peers - alike) < _ENOUGH:
        yield sentence(f"too few to compare: {count_of(*case.alike)} were {case.group}")
        return
    missing = f"; not recorded: {listed(case.unrecorded)}" if case.unrecorded else ""
    yield sentence(
        f"nothing recorded separates the {case.group} ({count_of(*case.alike)}) "
        f"from the others{missing}"
    )


def _shared(contrast: Contrast, case: Case, others: str) -> str:
    """What the outcomes that ended otherwise have in common."""
    return (
        f"What the {others} share: {plain(contrast.condition, 110)} "
        f"({count_of(*contrast.in_group)} of them, {count_of(*contrast.in_rest)} {case.group})."
    )


def _entry(outcome: Outcome) -> Iterator[str]:
    """The context at entry, in one line."""
    context = {key: value for key, value in outcome.context.items() if value not in (None, "")}
    values = [f"{plain(key)} {_value(value)}" for key, value in context.items()]
    del values[_MAX_CONTEXT:]
    if outcome.decision.confidence is not None:
        values.append(f"confidence {outcome.decision.confidence:g}")
    if outcome.result.entry_value is not None:
        values.append(f"entry value {_money(outcome)}")
    if values:
        yield f"At entry: {'; '.join(values)}."


def _value(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return figure(value) if isinstance(value, int | float) else plain(str(value))


def _money(outcome: Outcome) -> str:
    return f"{figure(outcome.result.entry_value or 0.0)} {outcome.result.unit or ''}".strip()


def _result(material: _Material) -> Iterator[str]:
    """How it ended, unless that is the bare status and the cause says more."""
    outcome = material.outcome
    span, reason = held_for(outcome), how(outcome)
    if not (span or reason or outcome.result.score is not None) and material.cause:
        return
    after = f" after {span}" if span else ""
    by = f": {plain(reason, 160)}" if reason else ""
    yield sentence(f"it {ended(outcome)}{after}{by}")


def _evidence(outcome: Outcome) -> Iterator[str]:
    """The evidence's lines that `how` did not tell already."""
    rest = [line for line in evidence_lines(outcome) if line != how(outcome)]
    yield from (f"Evidence: {quoted(line, 160)}" for line in rest[:3])


def _other(material: _Material, texts: Sequence[str], most: int) -> list[str]:
    """The first few that say something, and that the cause does not already quote."""
    told = material.cause.told if material.cause else ""
    fresh = [text for text in texts if quoted(text, 60)[:-2] not in told]
    return [text for text in fresh if telling(text) > 0][:most]


# ── title and description ────────────────────────────────────────────────────────────


def _title(material: _Material) -> str:
    """Specific and short: what, on what, how it ended, and when or why."""
    decision = material.outcome.decision
    target = f"{plain(decision.target, 24)} " if decision.target else ""
    what = f"{target}{plain(decision.action, 36)}"
    why, ending = _why(material), _ending(material.outcome)
    if not why:
        return shorten(f"{what} {ending}", TITLE)
    # The reason stands first: of a long title the name keeps the beginning.
    return shorten(f"{what}: {shorten(why, TITLE - len(what) - len(ending) - 4)}, {ending}", TITLE)


def _why(material: _Material) -> str:
    if holds := holding(material.case):
        return _briefly(holds[0].condition)
    if material.cause:
        return material.cause.quote.strip("“”").rstrip(".")
    return plain(how(material.outcome) or "")


def _briefly(condition: str) -> str:
    """A condition as part of a title: `mentions breakout`, `decided 18-24 UTC`."""
    if term := _TERM.match(condition):
        return f"{'no mention of' if term['no'] else 'mentions'} {term['term']}"
    if hours := _HOURS.match(condition):
        return f"decided {hours[1]}-{hours[2]} UTC"
    return plain(condition)


def _ending(outcome: Outcome) -> str:
    score = outcome.result.score
    if score is None:
        return {"success": "succeeded", "failure": "failed", "neutral": "neutral"}[
            outcome.result.status
        ]
    return f"{'lost' if score < 0 else 'gained'} {percent(abs(score)).lstrip('+')}"


def _description(kind: SkillKind, material: _Material) -> str:
    """What it tells and when to use it."""
    about, cause = subject(material.outcome), material.cause
    holds = holding(material.case)
    when = f", above all {clause(holds[0].condition)}" if holds else ""
    why = f" ({cause.name}: {shorten(cause.quote, 120)})" if cause else ""
    lead = "Warns of" if kind == "warning" else "Describes"
    text = f"{lead} {about} that {ended(material.outcome)}{why}. Use before {about}{when}."
    return shorten(text.replace("<", "").replace(">", ""), DESCRIPTION)


_SECTIONS: dict[str, tuple[tuple[str, Callable[[_Material], Iterator[str]]], ...]] = {
    "warning": (
        ("Pattern to Recognize", _recognized),
        ("What Went Wrong", _went_wrong),
        ("Better Approach", _better),
        ("Checklist", _checklist),
    ),
    "pattern": (
        ("Pattern Conditions", _recognized),
        ("Why It Worked", _worked),
        ("Entry Criteria", _criteria),
        ("Risk Management", _managed),
    ),
}

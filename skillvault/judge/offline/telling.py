"""What an outcome teaches, in one to three sentences.

Ids, times and one-off numbers stay out, so that the same lesson reads alike the next time;
what was said or reported stands in it verbatim, so that different causes never read alike.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from skillvault.brief import Case, Contrast, Insight, Verdict
from skillvault.judge.offline.reading import Reading, read, telling
from skillvault.judge.offline.speech import (
    clause,
    counts,
    ended,
    exception,
    holding,
    how,
    kind_of,
    lead,
    mostly,
    plain,
    quoted,
    risk,
    sentence,
    share,
    subject,
)
from skillvault.judge.offline.verdict import NOT_WEIGHED
from skillvault.records import (
    InsightType,
    Outcome,
)
from skillvault.text import count_of, listed, shorten

LONGEST = 500
REFUSED = "reported success that was refused"
_A_WORD = re.compile(r"[^\W\d_]{2}|[^\x00-\x7f]")


class Cause(NamedTuple):
    """The statement of the reasoning that says most about how it ended.

    `name` is what kind it is in a few words, `told` a clause that quotes it.
    """

    name: str
    told: str
    quote: str
    kind: InsightType
    better: str | None = None


def told(case: Case, verdict: Verdict) -> Insight | None:
    """The insight; None for an outcome without reasoning, context and evidence."""
    outcome = case.outcome
    if not supports(case):
        return None
    cause = cause_of(outcome)
    sentences = [_opening(case, cause), _contrast(case), _usual(case)]
    text = " ".join(sentence(each) for each in sentences if each)
    return Insight(
        key_insight=shorten(text, LONGEST),
        insight_type=_kind(case, cause),
        better_approach=_better(case, cause, verdict),
    )


def supports(case: Case) -> bool:
    """True when the outcome recorded anything a statement could rest on."""
    outcome = case.outcome
    context = any(value not in (None, "") for value in outcome.context.values())
    return bool(
        outcome.decision.reasoning.strip()
        or context
        or outcome.result.evidence.strip()
        or holding(case)
    )


def cause_of(outcome: Outcome) -> Cause | None:
    """The most telling statement of the reasoning, given how it ended."""
    reading = read(outcome.decision.reasoning)
    if outcome.result.status == "failure":
        return _fault(reading)
    return _merit(reading)


def _fault(reading: Reading) -> Cause | None:
    """Why a failure may have failed: not done, not checked, guessed, or refused."""
    if reading.unfinished:
        step = quoted(reading.unfinished, 80)
        return Cause(
            "stopped before it was done",
            f"the work stops {_at(reading.unfinished)}, {step}, and no result was reported",
            step,
            "execution",
            _carried_out(reading.unfinished),
        )
    for name, statements in (
        ("went on unchecked", reading.unchecked),
        ("went without a way out", reading.exposed),
        ("rested on a guess", _strong(reading)),
    ):
        if statements:
            return _guessed(name, statements[0], reading)
    if reading.hype:
        said = quoted(reading.hype[0])
        return Cause("certainty in place of grounds", f"its ground was {said}", said, "risk")
    if reading.claim:
        return _refused(reading.claim, reading)
    if reading.guesses:
        return _guessed("rested on a guess", reading.guesses[0], reading)
    return _thought(reading)


def _at(step: str) -> str:
    return "waiting" if step.lower().startswith("wait") else "at an announced step"


def _carried_out(step: str) -> str:
    if _at(step) == "waiting":
        return "Do not stop at waiting: fetch the result, look at it, and report only then."
    return "Carry out the announced step, look at what it returns, and report only then."


def _strong(reading: Reading) -> tuple[str, ...]:
    """Guesses on which something rested: a run that checked much may well say `probably`."""
    return reading.guesses if len(reading.guesses) > len(reading.checks) else ()


_ADVICE = {
    "went on unchecked": "find a way to check first, where this stood",
    "went without a way out": "name the way out before acting, where this stood",
    "rested on a guess": "settle this before building on it",
}


def _guessed(name: str, statement: str, reading: Reading) -> Cause:
    said = quoted(statement)
    claim = f", and still reported {quoted(reading.claim, 100)}" if reading.claim else ""
    return Cause(
        name,
        f"it {name}: {said}{claim}",
        said,
        "method",
        sentence(f"{_ADVICE[name]}: {said}"),
    )


def _refused(claim: str, reading: Reading) -> Cause:
    said = quoted(claim)
    return Cause(
        REFUSED,
        f"it reported {said}, which was refused; {_own_check(claim, reading)}",
        said,
        "execution",
        f"Do not take {said} for the right result again; test it against each requirement "
        "of the task before reporting it.",
    )


def _own_check(claim: str, reading: Reading) -> str:
    checks = [text for text in reading.checks if text != claim]
    if checks:
        return f"its own check was {quoted(checks[0], 100)}"
    if reading.existence:
        return f"its only check was that a result exists, {quoted(reading.existence[0], 80)}"
    if reading.announced:
        return "it announced a check and tells no result of one"
    return "it shows no check of its own"


def _thought(reading: Reading) -> Cause | None:
    if reading.risks:
        said = quoted(reading.risks[0])
        return Cause("the risk it named came", f"it had named the risk: {said}", said, "risk")
    best = next(iter(reading.reasons), None) or reading.thesis
    if best is None:
        return None
    said = quoted(best)
    return Cause("the reasoning did not hold", f"its ground was {said}", said, "method")


def _merit(reading: Reading) -> Cause | None:
    """Why a success may have succeeded: what was found, how it was checked, the grounds."""
    grounds = (*reading.found, *reading.reasons, *reading.plans)
    key = next((text for text in grounds if telling(text) > 0), None)
    check = next((text for text in reading.checks if text != key), None)
    best = key or check or reading.thesis
    if best is None:
        return None
    said = quoted(best)
    if best == check:
        return Cause("how it was checked", f"it was checked by {said}", said, "execution")
    checked = f"; checked by {quoted(check, 100)}" if key and check else ""
    if key in reading.found:
        return Cause("what it found", f"it found {said}{checked}", said, "method")
    return Cause("what it rested on", f"it rested on {said}{checked}", said, "method")


# ── the sentences ────────────────────────────────────────────────────────────────────


def _opening(case: Case, cause: Cause | None) -> str:
    """When these conditions, this action on that led to this, because."""
    outcome = case.outcome
    reason = how(outcome)
    by = f" ({plain(reason, 120)})" if reason else ""
    ground = f": {cause.told}" if cause else ""
    return f"{_when(case)}{subject(outcome)} {ended(outcome)}{by}{ground}"


def _when(case: Case) -> str:
    """The conditions that matter: those that separate, else those the decision weighed."""
    holds = holding(case)
    if holds:
        return f"{listed([clause(c.condition) for c in holds[:2]])}, "
    outcome = case.outcome
    said = outcome.decision.reasoning.lower()
    # `5m` or `v2` is a setting; a condition that teaches has a word.
    words = {
        key: value
        for key, value in outcome.context.items()
        if isinstance(value, str)
        and _A_WORD.search(value)
        and (key in case.varying or case.alike[1] == 1)
    }
    weighed = {k: v for k, v in words.items() if v.lower() in said}
    chosen = list((weighed or words).items())[:3]
    return (
        f"when {listed([f'{plain(k)} is {plain(v, 40)}' for k, v in chosen])}, " if chosen else ""
    )


def _contrast(case: Case) -> str:
    """What separates it, with counts; or that it is the exception."""
    holds = holding(case)
    if holds:
        return " and ".join(f"this holds for {counts(c, case.group)}" for c in holds[:1])
    if usual := mostly(case):
        return exception(usual, case.group)
    return lead(case.leads, case.group, "others")


def _usual(case: Case) -> str:
    return "" if holding(case) else share(case)


def _kind(case: Case, cause: Cause | None) -> InsightType:
    """What the lesson is about: its first condition, else its cause."""
    if holds := holding(case):
        return kind_of(holds[0].condition)
    if cause:
        return cause.kind
    return "risk" if case.outcome.result.status == "failure" else "context"


def _better(case: Case, cause: Cause | None, verdict: Verdict) -> str | None:
    """What to do instead; only after a failure, and only from what was recorded."""
    if case.outcome.result.status != "failure":
        return None
    action = plain(case.outcome.decision.action)
    graded = case.outcome.result.score is not None
    against = (
        f"Leave out {action}, or take it smaller," if graded else f"Do not go on with {action}"
    )
    advice = [f"{against} {clause(c.condition)}: {risk(c, case.group)}." for c in holding(case)[:1]]
    advice += [
        f"What the others share: {plain(c.condition, 90)} ({count_of(*c.in_group)} of the others, "
        f"{count_of(*c.in_rest)} {case.group})."
        for c in shared_by_others(case)[:1]
    ]
    if case.solved and (what := cause_of(case.solved)):
        advice.append(sentence(f"what worked on it later: {what.quote}"))
    if cause and cause.better:
        advice.append(cause.better)
    if not holding(case) and case.opposite_leads:
        advice.append(sentence(lead(case.opposite_leads, "others", case.group)))
    if left_out := unweighed(verdict.missed_factors, case):
        advice.append(f"Weigh before deciding that {listed(left_out)}.")
    return " ".join(advice[:4]) or None


def shared_by_others(case: Case) -> list[Contrast]:
    """What separates the others, without this outcome's own condition turned round."""
    total = case.alike[1]
    return [
        c
        for c in case.opposite
        if case.outcome.id not in c.holds_for
        and not any(
            c.holds_for.isdisjoint(mine.holds_for)
            and len(c.holds_for) + len(mine.holds_for) == total
            for mine in case.contrasts
        )
    ]


def unweighed(missed: Iterable[str], case: Case) -> list[str]:
    """The conditions at entry that the verdict found left out: `volatility was high`.

    Only those on which the peers differ: what is always so is nothing to weigh.
    """
    told = [m.removesuffix(NOT_WEIGHED) for m in missed if m.endswith(NOT_WEIGHED)]
    conditions = [c.condition for c in holding(case)]  # these are told with their counts
    keys = [k for k in case.varying if not any(c.startswith(f"{k} ") for c in conditions)]
    return [m for m in told if any(m.startswith(f"{plain(key)} was ") for key in keys)]

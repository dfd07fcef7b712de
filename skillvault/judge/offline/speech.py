"""How a judge speaks: conditions as clauses, results as figures, foreign text as quotes."""

import re
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal

from skillvault.brief import Case, Contrast
from skillvault.records import (
    InsightType,
    Outcome,
)
from skillvault.text import count_of, inert, listed, percent

_APPLIED = re.compile(r"^(?P<no>did not apply|applied) (?P<skill>.+)$")
_MEASURE = re.compile(r" of \S+ or more$| below \S+$")
# What went wrong says more than where.
_TELLING_LINES = (
    re.compile(r"error\b|exception|assert|expected|mismatch|refused|denied|错误", re.IGNORECASE),
    re.compile(r"fail|error|timeout|失败", re.IGNORECASE),
)
# A verifier's bare verdict is the status said again.
_BARE = re.compile(
    r"^(?:verifier )?(?:reward|score|status|result)?\W*[\d.]*\W*$|^(?:fail|pass)(?:ed)?\W*$",
    re.IGNORECASE,
)
_HUGE = 1e15
QUOTE = "'"  # around a term in a condition
_HOW = ("exit_reason", "reason", "error", "cause")


def quoted(text: str, limit: int = 140) -> str:
    """Foreign text as one quoted line that cannot pass for structure."""
    return f"“{inert(text, limit)}”"


def plain(text: str, limit: int = 60) -> str:
    """A foreign name or value inside a sentence of ours, without quotes."""
    return inert(text, limit)


def subject(outcome: Outcome) -> str:
    """The action, and on what."""
    decision = outcome.decision
    target = f" on {plain(decision.target)}" if decision.target else ""
    return f"{plain(decision.action)}{target}"


def ended(outcome: Outcome) -> str:
    """The result as a verb phrase."""
    score, status = outcome.result.score, outcome.result.status
    if score is not None:
        return f"ended at {percent(score)}"
    return {"success": "succeeded", "failure": "failed", "neutral": "ended neutral"}[status]


def evidence_lines(outcome: Outcome) -> list[str]:
    """The evidence's lines, each once, without a test runner's `E` margin."""
    lines = (re.sub(r"^E\s{2,}", "", line).strip() for line in outcome.result.evidence.splitlines())
    return [line for line in dict.fromkeys(lines) if re.search(r"\w", line)]


def how(outcome: Outcome) -> str | None:
    """What the result itself says of how it came, in a few words; None for a bare verdict."""
    result = outcome.result
    lines = evidence_lines(outcome)
    named = (result.extra.get(key) for key in _HOW)
    said = (
        next((line for cue in _TELLING_LINES for line in lines if cue.search(line)), None),
        next((value for value in named if isinstance(value, str)), None),
        None if _BARE.match(result.summary.strip()) else result.summary,
        *lines[:1],
    )
    return next((text for text in said if text and text.strip()), None)


def clause(condition: str) -> str:
    """A contrast's condition as a clause that can open or end a sentence."""
    if skill := _APPLIED.match(condition):
        no = "not " if skill["no"] != "applied" else ""
        return f"when {plain(skill['skill'])} was {no}applied"
    if _MEASURE.search(condition):
        return f"with {plain(condition, 90)}"
    return f"when {plain(condition, 110)}"


def counts(contrast: Contrast, group: str) -> str:
    """A contrast's counts: `5 of 6 losses beyond 10 %, against 50 of 173 others`."""
    return f"{count_of(*contrast.in_group)} {group}, against {count_of(*contrast.in_rest)} others"


def holding(case: Case) -> list[Contrast]:
    """The contrasts whose condition this outcome meets, at most three."""
    return [c for c in case.contrasts if case.outcome.id in c.holds_for][:3]


def mostly(case: Case) -> Contrast | None:
    """The first contrast that most of the like outcomes meet, and this one does not."""
    return next((c for c in case.contrasts if 2 * c.in_group[0] > c.in_group[1]), None)


def share(case: Case) -> str:
    """How usual this ending is: `Losses beyond 10 % so far: 6 of 179 enter_long decisions`."""
    k, n = case.alike
    action = plain(case.outcome.decision.action)
    if n == 1:
        return f"the only {action} decision so far"
    return f"{_upper(case.group)} so far: {'all' if k == n else f'{k} of'} {n} {action} decisions"


def risk(contrast: Contrast, group: str) -> str:
    """What the counts mean for a decision: `then 5 of 55 were …, otherwise 1 of 124`."""
    (met, of), (other, others) = contrast.in_group, contrast.in_rest
    otherwise = count_of(of - met, of + others - met - other)
    return f"then {count_of(met, met + other)} were {group}, otherwise {otherwise}"


def exception(contrast: Contrast, group: str) -> str:
    """That an outcome lacks a condition which its like meet more often than the others."""
    k, n = contrast.in_group
    lead = "it is an exception: " if 2 * k > n else ""
    return (
        f"{lead}“{plain(contrast.condition, 90)}” holds for {counts(contrast, group)}, "
        "and not for this one"
    )


def lead(leads: Sequence[Contrast], group: str, rest: str) -> str:
    """What all of a few mention and none of the rest, with the word that it is not sure."""
    if not leads:
        return ""
    words = [f"“{c.condition.split(QUOTE)[1]}”" for c in leads]
    k, n = leads[0].in_group[1], leads[0].in_rest[1]
    return (
        f"all {k} {group} that gave a reasoning mention {listed(words)}, none of the {n} {rest} "
        "does: too few to be sure"
    )


def figure(value: float) -> str:
    """A number in six digits, without an exponent."""
    return f"{Decimal(f'{value:.6g}'):f}" if abs(value) < _HUGE else f"{value:g}"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """A sentence of ours: a capital unless it opens with a foreign name, one full stop."""
    head = text.split(" ", 1)[0]
    opened = text if re.search(r"[^a-z']", head.rstrip(",:")) else _upper(text)
    return opened if re.search(r"[.!?:…。！？]”?$", opened) else f"{opened}."


def held_for(outcome: Outcome) -> str | None:
    """From decision to end, in the unit a person would choose."""
    made = outcome.decision.made_at
    if made is None or outcome.occurred_at - made < timedelta(seconds=1):
        return None
    return _span(outcome.occurred_at - made)


def _span(time: timedelta) -> str:
    if time < timedelta(minutes=2):
        return f"{time.total_seconds():.0f} seconds"
    minutes = round(time.total_seconds() / 60)
    for size, name in ((1440, "day"), (60, "hour")):
        if minutes >= 2 * size:
            return f"{round(minutes / size)} {name}s"
    return f"{minutes} minute{'' if minutes == 1 else 's'}"


def kind_of(condition: str) -> InsightType:
    """What a condition is about."""
    if condition.startswith(("decided ", "made within")):
        return "timing"
    if re.match(r"(?:entry value|.*leverage|.*size)\b", condition):
        return "sizing"
    if condition.startswith(("target is", "action is")):
        return "selection"
    if condition.startswith(("applied", "did not apply", "the reasoning")):
        return "method"
    return "context"

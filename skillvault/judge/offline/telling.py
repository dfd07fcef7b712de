"""What one outcome teaches, in one or two sentences: about itself alone.

Ids, times and one-off numbers stay out, so that the same lesson reads alike the next time;
what was said or reported stands in it verbatim, so that different causes never read alike.
"""

import re

from skillvault.brief import Case, Cause, Insight, InsightKind, InsightText
from skillvault.judge.offline.speech import ended, plain, quoted, sentence, subject
from skillvault.reading import how, read
from skillvault.records import InsightType, Outcome
from skillvault.text import listed, shorten

LONGEST = 500
_A_WORD = re.compile(r"[^\W\d_]{2}|[^\x00-\x7f]")
_CLAUSES: dict[InsightKind, str] = {
    "lesson": "its own lesson: {}",
    "answer": "it answered {}, which was refused",
    "unchecked": "it went on unchecked: {}",
    "exposed": "it went without a way out: {}",
    "guess": "it rested on a guess: {}",
    "certainty": "its ground was {}",
    "risk": "it had named the risk: {}",
    "found": "it found {}",
    "check": "it was checked by {}",
}
_SUPPOSED = "its own lesson, supposed: {}"
_ADVICE: dict[InsightKind, str] = {
    "answer": "Do not give {} again for this task",
    "unchecked": "Find a way to check first, where this stood: {}",
    "exposed": "Name the way out before acting, where this stood: {}",
    "guess": "Settle this before building on it: {}",
    "claim": "Test {} against each requirement of the task before reporting it",
}
_TYPES: dict[InsightKind, InsightType] = {
    "certainty": "risk",
    "risk": "risk",
    "stopped": "execution",
    "answer": "execution",
    "claim": "execution",
    "check": "execution",
    "error": "execution",
}


def told(case: Case) -> InsightText | None:
    """The insight; None for an outcome that shows nothing and whose conditions nobody recorded."""
    outcome = case.outcome
    if not case.insights and not _when(outcome):
        return None
    main = main_of(case.insights)
    reason = how(outcome)
    by = f" ({plain(reason, 120)})" if reason else ""
    ground = f": {clause_of(main, outcome)}" if main else ""
    text = sentence(f"{_when(outcome)}{subject(outcome)} {ended(outcome)}{by}{ground}")
    failed = outcome.result.status == "failure"
    advice = [advice_of(main)] if main and failed else []
    return InsightText(
        key_insight=shorten(text, LONGEST),
        insight_type=_TYPES.get(main.kind, "method") if main else _untold(outcome),
        better_approach=next(filter(None, advice), None),
    )


def _untold(outcome: Outcome) -> InsightType:
    return "risk" if outcome.result.status == "failure" else "context"


def main_of(insights: tuple[Insight, ...]) -> Insight | None:
    """The insight that an outcome is told by; what the result says stands beside it."""
    return next((insight for insight in insights if insight.kind != "error"), None)


def clause_of(insight: Insight, outcome: Outcome) -> str:
    """What an outcome shows, as a clause that quotes it."""
    failed = outcome.result.status == "failure"
    said = quoted(insight.quote)
    if insight.kind == "stopped":
        step = quoted(insight.quote, 80)
        return f"the work stops {_at(insight.quote)}, {step}, and no result was reported"
    if insight.kind == "claim":
        return f"it reported {said}, which was refused; {_own_check(insight.quote, outcome)}"
    if insight.kind == "answer" and not failed:
        return f"it answered {said}"
    if insight.kind == "ground":
        return f"its ground was {said}" if failed else f"it rested on {said}"
    clause = (_SUPPOSED if insight.supposed else _CLAUSES[insight.kind]).format(said)
    return clause if failed else f"{clause}{_checked(insight, outcome)}"


def _checked(insight: Insight, outcome: Outcome) -> str:
    """How a success was checked, where that is not what is told already."""
    checks = [text for text in read(outcome.decision.reasoning).checks if text != insight.quote]
    return f"; checked by {quoted(checks[0], 100)}" if checks and insight.kind == "found" else ""


def advice_of(shown: Insight | Cause) -> str | None:
    """What to do instead, after a failure of this kind."""
    if shown.kind == "stopped":
        return _carried_out(shown.quote)
    if shown.kind == "lesson":
        lead = "supposed: " if shown.supposed else ""
        return sentence(f"{lead}{plain(shown.quote, 300)}")
    advice = _ADVICE.get(shown.kind)
    return sentence(advice.format(quoted(shown.quote))) if advice else None


def _at(step: str) -> str:
    return "waiting" if step.lower().startswith("wait") else "at an announced step"


def _carried_out(step: str) -> str:
    if _at(step) == "waiting":
        return "Do not stop at waiting: fetch the result, look at it, and report only then."
    return "Carry out the announced step, look at what it returns, and report only then."


def _own_check(claim: str, outcome: Outcome) -> str:
    reading = read(outcome.decision.reasoning)
    checks = [text for text in reading.checks if text != claim]
    if checks:
        return f"its own check was {quoted(checks[0], 100)}"
    if reading.existence:
        return f"its only check was that a result exists, {quoted(reading.existence[0], 80)}"
    if reading.announced:
        return "it announced a check and tells no result of one"
    return "it shows no check of its own"


def _when(outcome: Outcome) -> str:
    """The conditions that the decision weighed, else those that were recorded."""
    said = outcome.decision.reasoning.lower()
    # `5m` or `v2` is a setting; a condition that teaches has a word.
    words = {
        key: value
        for key, value in outcome.context.items()
        if isinstance(value, str) and _A_WORD.search(value)
    }
    weighed = {key: value for key, value in words.items() if value.lower() in said}
    chosen = [f"{plain(k)} is {plain(v, 40)}" for k, v in (weighed or words).items()][:3]
    return f"when {listed(chosen)}, " if chosen else ""

"""What one outcome teaches, in one or two sentences: about itself alone.

Ids, times and one-off numbers stay out, so that the same lesson reads alike the next time;
what was said or reported stands in it verbatim, so that different causes never read alike.
"""

import re

from skillvault.learning.contrast.recorded_values import STRATA
from skillvault.model.brief import Case, Insight, InsightKind, InsightText
from skillvault.model.reading import how, is_concrete
from skillvault.model.records import InsightType, Outcome
from skillvault.model.speech import ended, plain, quoted, sentence, subject
from skillvault.model.text.text import listed, whole

_QUOTE = 220
_A_WORD = re.compile(r"[^\W\d_]{2}|[^\x00-\x7f]")
# After a failure, then after a success.
_CLAUSES: dict[InsightKind, tuple[str, str]] = {
    "lesson": ("its own lesson: {}", "its own lesson: {}"),
    "answer": ("it answered {}, which was refused", "it answered {}"),
    "unchecked": ("it went on unchecked: {}", ""),
    "exposed": ("it went without a way out: {}", ""),
    "guess": ("it rested on an assumption: {}", ""),
    "certainty": ("its ground was {}", ""),
    "claim": ("it reported {}, which was refused", ""),
    "risk": ("it had named the risk: {}", ""),
    "ground": ("its ground was {}", "it rested on {}"),
    "found": ("it found {}", "it found {}"),
    "check": ("it was checked by {}", "it was checked by {}"),
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
    "answer": "execution",
    "claim": "execution",
    "check": "execution",
    "error": "execution",
}


def told(case: Case) -> InsightText | None:
    """The insight; None for an outcome that shows nothing and whose conditions nobody recorded."""
    outcome, main = case.outcome, _main(case.insights)
    reason = how(outcome)
    if not (main or reason or _when(outcome)):
        return None
    by = f" ({whole(reason, 120).rstrip('.')})" if reason else ""
    ground = f": {_clause(main, outcome)}" if main else ""
    failed = outcome.result.status == "failure"
    return InsightText(
        key_insight=sentence(f"{_when(outcome)}{subject(outcome)} {ended(outcome)}{by}{ground}"),
        insight_type=_TYPES.get(main.kind, "method") if main else _untold(outcome),
        better_approach=_advice(main) if main and failed else None,
    )


def _untold(outcome: Outcome) -> InsightType:
    return "risk" if outcome.result.status == "failure" else "context"


def _main(insights: tuple[Insight, ...]) -> Insight | None:
    """The insight that an outcome is told by; what the result says stands beside it.

    What only its kind says is counted by the account, and teaches nothing by itself.
    """
    return next((insight for insight in insights if not _is_kind_alone(insight)), None)


def _is_kind_alone(insight: Insight) -> bool:
    hollow = insight.kind == "claim" and not is_concrete(insight.quote)
    return hollow or insight.kind in ("error", "stopped")


def _clause(insight: Insight, outcome: Outcome) -> str:
    """What an outcome shows, as a clause that quotes it."""
    failed = outcome.result.status == "failure"
    clause = _SUPPOSED if insight.supposed else _CLAUSES[insight.kind][not failed]
    return clause.format(quoted(insight.quote, _QUOTE))


def _advice(insight: Insight) -> str | None:
    """What to do instead, after a failure of this kind."""
    if insight.kind == "lesson":
        lead = "supposed: " if insight.supposed else ""
        return sentence(f"{lead}{whole(insight.quote, 300)}")
    advice = _ADVICE.get(insight.kind)
    return sentence(advice.format(quoted(insight.quote, _QUOTE))) if advice else None


def _when(outcome: Outcome) -> str:
    """The conditions that the decision weighed, else those that were recorded."""
    reasoning = outcome.decision.reasoning.lower()
    # `5m` or `v2` is a setting; a condition that teaches has a word.
    words = {
        key: value
        for key, value in outcome.context.items()
        if isinstance(value, str) and key not in STRATA and _A_WORD.search(value)
    }
    weighed = {key: value for key, value in words.items() if value.lower() in reasoning}
    chosen = [f"{plain(k)} is {plain(v, 40)}" for k, v in (weighed or words).items()][:3]
    return f"when {listed(chosen)}, " if chosen else ""

"""The offline judge, the default: it costs nothing and always gives the same answer.

It rates by the rules of `verdict`, writes texts with `drafting`, and states insights here. An
insight leaves out ids, times and one-off numbers, so that equal lessons get equal texts.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from skillvault.judge.offline import drafting, verdict
from skillvault.model.brief import (
    Agreement,
    BlindCase,
    Brief,
    Case,
    Draft,
    Findings,
    Insight,
    InsightKind,
    InsightText,
    Opinion,
    Passage,
    Period,
    Recurrence,
    SessionExcerpt,
    Verdict,
)
from skillvault.model.conditions import conditions_of
from skillvault.model.decision_outcomes import is_refused
from skillvault.model.phrases import (
    describe_result,
    describe_subject,
    inline,
    make_sentence,
    quote_text,
)
from skillvault.model.reasoning import describe_cause, fault_of
from skillvault.model.records import (
    OFFLINE,
    OFFLINE_VERSION,
    InsightType,
    JudgeInfo,
    Outcome,
    Skill,
)
from skillvault.model.text.text import join_items, whole_sentences

_INFO = JudgeInfo(name=OFFLINE, version=OFFLINE_VERSION)
_MAX_QUOTE = 220
_WORD = re.compile(r"[^\W\d_]{2}|[^\x00-\x7f]")
# The clause of each kind of insight after a failure, and after a success.
_CLAUSES: dict[InsightKind, tuple[str, str]] = {
    "lesson": ("its own lesson: {}", "its own lesson: {}"),
    "answer": ("it answered {}, which was refused", "it answered {}"),
    "unchecked": ("it did not check: {}", ""),
    "exposed": ("it had no way out: {}", ""),
    "guess": ("it assumed: {}", ""),
    "certainty": ("the agent's reason was {}", ""),
    "risk": ("it had named the risk: {}", ""),
    "ground": ("the agent's reason was {}", "it relied on {}"),
    "found": ("it found {}", "it found {}"),
    "check": ("it was checked by {}", "it was checked by {}"),
}
_SUPPOSED = "its own lesson, supposed: {}"
_ADVICE: dict[InsightKind, str] = {
    "answer": "Do not give {} again for this task",
    "unchecked": "Find a way to check this first: {}",
    "exposed": "Name the way out before acting on this: {}",
    "guess": "Settle this before building on it: {}",
}
_INSIGHT_TYPES: dict[InsightKind, InsightType] = {
    "certainty": "risk",
    "risk": "risk",
    "answer": "execution",
    "check": "execution",
    "error": "execution",
}


@dataclass(frozen=True)
class OfflineJudge:
    """A judge that only counts and quotes the record."""

    info: JudgeInfo = _INFO
    at_once: int = 1  # because no question takes time

    def verdict(self, case: BlindCase) -> Verdict:
        """Rate the decision by its features; without features the quality is 0.4."""
        return verdict.judge_decision(case)

    def insight(
        self,
        case: Case,
        verdict: Verdict,  # noqa: ARG002 (part of the protocol)
    ) -> InsightText | None:
        """Return the most telling statement that the outcome supports, or None."""
        return insight_text(case)

    def write(self, brief: Brief) -> Draft | None:
        """Write the text of a skill, or return None if the brief supports no text."""
        match brief:
            case Findings():
                return drafting.draft_account(brief)
            case Recurrence():
                return drafting.draft_recurrence(brief)
            case Period():
                return drafting.draft_period(brief)
            case Agreement():
                return drafting.draft_agreement(brief)
            case SessionExcerpt():
                return drafting.draft_sessions(brief)
            case Passage():
                return Draft("", "", (), note="By structure it is neither rules nor steps.")

    def advise(
        self,
        outcome: Outcome,
        skills: Sequence[Skill],
        *,
        thorough: bool,  # noqa: ARG002 (part of the protocol)
    ) -> tuple[Opinion, JudgeInfo]:
        """Return an opinion on a decision with the warnings of the skills, and this judge."""
        return verdict.form_opinion(outcome, skills), self.info


def insight_text(case: Case) -> InsightText | None:
    """Return the insight about an outcome, or None if there is nothing to say.

    A mere error is skipped, because only its frequency teaches something. A refused claim says
    nothing about the cause, and neither do findings of the same report.
    """
    outcome = case.outcome
    # A person's words are quoted in a guide and as a proposed rule. A fact with them would stay
    # when the person rejects the rule.
    cause = fault_of(outcome) if is_refused(outcome) else describe_cause(outcome)
    empty_kinds = ("error", "stopped")
    insight = next((item for item in case.insights if item.kind not in empty_kinds), None)
    insight = None if insight and insight.kind == "claim" else insight
    conditions = _conditions_clause(outcome)
    if not (insight or cause or conditions):
        return None
    has_failed = outcome.result.status == "failure"
    cause_note = f" ({whole_sentences(cause, 120).rstrip('.')})" if cause else ""
    method_note = ""
    insight_type: InsightType = "risk" if has_failed else "context"
    if insight:
        clause = _SUPPOSED if insight.supposed else _CLAUSES[insight.kind][not has_failed]
        method_note = f": {clause.format(quote_text(insight.quote, _MAX_QUOTE))}"
        insight_type = _INSIGHT_TYPES.get(insight.kind, "method")
    subject = f"{describe_subject(outcome)}{conditions}"
    result = f"{subject} {describe_result(outcome)}{cause_note}"
    return InsightText(
        key_insight=make_sentence(f"{result}{method_note}"),
        insight_type=insight_type,
        better_approach=_advice(insight) if insight and has_failed else None,
    )


def _advice(insight: Insight) -> str | None:
    if insight.kind == "lesson":
        prefix = "supposed: " if insight.supposed else ""
        return make_sentence(f"{prefix}{whole_sentences(insight.quote, 300)}")
    advice = _ADVICE.get(insight.kind)
    return make_sentence(advice.format(quote_text(insight.quote, _MAX_QUOTE))) if advice else None


def _conditions_clause(outcome: Outcome) -> str:
    """Return a clause with the conditions that the reasoning mentions, or with all conditions."""
    reasoning = outcome.decision.reasoning.lower()
    # `5m` or `v2` is a setting; only a condition with a word teaches something.
    words = {
        key: value
        for key, value in conditions_of(outcome).items()
        if isinstance(value, str) and _WORD.search(value)
    }
    mentions = {key: value for key, value in words.items() if value.lower() in reasoning}
    values = [f"{inline(k)} {inline(v, 40)}" for k, v in (mentions or words).items()][:3]
    return f" with {join_items(values)}" if values else ""

"""What a model is shown: fenced data under a fixed prompt, clean of secrets, within a size.

Outcomes are data and never instructions: nothing in them can close the fence.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from skillvault.learning.account.sentences import labels_of, tried_sentence
from skillvault.learning.tries.tries import try_of
from skillvault.model.brief import (
    Agreement,
    Brief,
    Draft,
    Findings,
    Insight,
    Period,
    Recurrence,
    SessionExcerpt,
    Statement,
    Verdict,
)
from skillvault.model.conditions import Separation, clause
from skillvault.model.records import OFFLINE, Decision, Evaluation, Outcome, Scalar, Session, stamp
from skillvault.model.text.text import count_of, format_number, format_percent, shorten

NAMES = (
    "verdict", "insight", "contrast", "advice", "account", "recurrence", "strategy", "agreement",
    "session",
)  # fmt: skip
_FOLDER = Path(__file__).parent / "prompt_texts"
_CAPS = (6000, 1500, 400)  # characters of one text; the next where the whole is too long
_WHOLE = 60_000  # characters of all data, far below 100,000 tokens
_ITEMS = 200  # of a list or a mapping
_TRIES = 60  # lines of deeds and results
_SHOWN = 12  # outcomes of an account that are told, sessions, evaluations behind facts
_LINE = 240  # characters of an outcome in a line
_END = "\n}\n</record>"  # of data, which are a mapping
_IMITATION = re.compile(r"[<\uff1c\ufe64\u2039](?=[\W_]*record)", re.IGNORECASE)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")

_STRATEGY = ("Core Approach", "Entry Rules", "Exit Rules", "Position Sizing", "What to Avoid")
_ACCOUNTS = {
    "guide": ("Do", "Avoid"),  # rules and leads stand as they were counted
    "evolved": ("Do", "Avoid"),
    "strategy": _STRATEGY,
    "warning": ("Pattern to Recognize", "What Went Wrong", "Better Approach", "Checklist"),
    "pattern": ("Pattern Conditions", "Why It Worked", "Entry Criteria", "Risk Management"),
}
_AGREEMENT = ("Synthesized Insight", "Key Principles")
_SESSION = ("What Failed and Why", "What Then Worked")


class Prompts(Struct, frozen=True):
    """The prompts, those of the vault before the package's own, and what cleans data."""

    own: Mapping[str, str]
    clean: Callable[[Any], Any]

    def text(self, name: str) -> str:
        """A prompt's text."""
        return self.own.get(name) or packaged(name)

    def digest(self, *names: str) -> str:
        """What tells these prompts from others, as evaluations name it."""
        return digest(*(self.text(name) for name in names))

    def fenced(self, material: Mapping[str, Any]) -> str:
        """Data between the marks that the prompts speak of."""
        return f"<record>\n{_dumped(self.clean(material))}\n</record>"

    def shared(self, user: str, first: Mapping[str, Any]) -> int:
        """With how many characters `user` begins as all does that has this first."""
        start = self.fenced(first).removesuffix(_END) if first else ""
        return len(start) if user.startswith(start) else 0


@cache
def packaged(name: str) -> str:
    """A prompt as it ships with the package."""
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8")


def digest(*parts: str, size: int = 12) -> str:
    """So many hex digits for some texts."""
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:size]


def _dumped(material: Any) -> str:
    """JSON in which no mark of ours can stand, cut to a size."""
    text = ""
    for cap in _CAPS:
        text = json.dumps(_capped(material, cap), ensure_ascii=False, indent=1)
        if len(text) <= _WHOLE:
            break
    text = _INVISIBLE.sub("", text[:_WHOLE])
    return _IMITATION.sub(lambda mark: f"\\u{ord(mark[0]):04x}", text)


def _capped(value: Any, cap: int) -> Any:
    """`value` with long texts cut in their middle, where least is said."""
    if isinstance(value, str):
        cut = len(value) - cap
        return value if cut <= 0 else f"{value[: cap * 2 // 3]} […] {value[-cap // 3 :]}"
    if isinstance(value, Mapping):
        return {
            str(key)[:200]: _capped(member, cap) for key, member in list(value.items())[:_ITEMS]
        }
    if isinstance(value, list | tuple):
        return [_capped(member, cap) for member in value[:_ITEMS]]
    return value


# ── what is told of an outcome ───────────────────────────────────────────────────────


def decided(
    domain: str,
    decision: Decision,
    context: Mapping[str, Scalar],
    applied: Sequence[str] | None,
    entry_value: float | None,
) -> dict[str, Any]:
    """A decision as it was made: nothing of how it ended."""
    fields = {
        "domain": domain,
        "task": decision.task,
        "action": decision.action,
        "target": decision.target,
        "reasoning": decision.reasoning,
        "confidence": decision.confidence,
        "made_at": stamp(decision.made_at) if decision.made_at else None,
        "entry_value": entry_value,
        "context": dict(context),
        "skills_applied": list(applied or ()),
    }
    return {key: value for key, value in fields.items() if value not in (None, "", {}, [])}


def ended(outcome: Outcome) -> dict[str, Any]:
    """A decision and what became of it."""
    o, ending = outcome, outcome.result
    fields = {
        "status": ending.status,
        "score": ending.score,
        "score_in_percent": format_percent(ending.score) if ending.score is not None else None,
        "amount": ending.amount,
        "unit": ending.unit,
        "summary": ending.summary,
        "evidence": ending.evidence,
        "ended_at": stamp(o.occurred_at),
        "held": _span(o.occurred_at - o.decision.made_at) if o.decision.made_at else None,
    }
    result_fields = {key: value for key, value in fields.items() if value not in (None, "")}
    decision = decided(o.domain, o.decision, o.context, o.applied, ending.entry_value)
    return {"decision": decision, "result": result_fields}


def _span(time: timedelta) -> str:
    """Return how long it took in each unit that it fills, so that any may be used."""
    seconds = time.total_seconds()
    units = [(1, "s"), (60, "min"), (3600, "h"), (86400, "d")]
    return " = ".join(
        f"{format_number(seconds / size)} {unit}" for size, unit in units if seconds >= size
    )


def shown(insights: Sequence[Insight]) -> list[dict[str, Any]]:
    """What an outcome shows by itself, as it was read by rule."""
    return [
        {"kind": insight.kind, "quote": insight.quote, **_supposed(insight)} for insight in insights
    ]


def _supposed(lesson: Insight) -> dict[str, bool]:
    return {"supposed": True} if lesson.supposed else {}


def separating(rule: Separation) -> dict[str, str]:
    """A rule with its counts."""
    return {
        "condition": clause(rule.conditions),
        "result": rule.result,
        "if_it_holds": f"{rule.result}: {count_of(*rule.met)}",
        "otherwise": f"{rule.result}: {count_of(*rule.other)}",
        "episodes_in_which_it_holds": str(rule.episodes[0]),
    }


def judged(verdict: Verdict | Evaluation) -> dict[str, Any]:
    """A verdict as it was given before the result."""
    return {
        "was_good_decision": verdict.was_good_decision,
        "quality_score": verdict.quality_score,
        "strengths": list(verdict.strengths),
        "weaknesses": list(verdict.weaknesses),
        "missed_factors": list(verdict.missed_factors),
    }


# ── what a skill is written from ─────────────────────────────────────────────────────


def skill_request(brief: Brief) -> tuple[str, dict[str, Any], tuple[str, ...]]:
    """(prompt, material, headings to write) for a brief: what its question is about."""
    headings: tuple[str, ...]
    match brief:
        case Findings():
            prompt = "strategy" if brief.kind == "strategy" else "account"
            material, headings = _findings(brief), _ACCOUNTS[brief.kind]
        case Recurrence():
            prompt, material, headings = "recurrence", _recurrence(brief), ("Application",)
        case Period():
            headings = (brief.heading, *_STRATEGY)
            prompt, material = "strategy", _period(brief)
        case Agreement():
            prompt, material, headings = "agreement", _agreement(brief), _AGREEMENT
        case SessionExcerpt():
            prompt, material, headings = "session", _sessions(brief), _SESSION
    return prompt, material, headings


def surroundings(brief: Brief, plain: Draft, limit: int) -> dict[str, Any]:
    """What else is told of a brief: words that change without what it is about.

    `plain` is the text made by rule, `limit` the most characters of a reasoning.
    """
    shown: dict[str, Any] = {}
    findings = brief.together if isinstance(brief, Agreement) else brief
    if isinstance(findings, Findings):
        evaluations = findings.account.evaluations
        tries = findings.account.tries
        labels = labels_of(tries, findings.account.tasks)
        shown["tries"] = [tried_sentence(attempt, labels) for attempt in tries[-_TRIES:]]
        latest = findings.significant[-_SHOWN:]
        shown["latest"] = [_in_full(o, evaluations.get(o.id), limit) for o in latest]
    if isinstance(brief, Recurrence):
        told = [said for e in brief.evaluations if (said := _evaluated(e))]
        shown["evaluations"] = told[:_SHOWN]
    if isinstance(brief, Period):
        around = {"facts": dict(brief.facts), "current": brief.current}
        shown |= {key: value for key, value in around.items() if value}
        shown["outcomes"] = [_in_a_line(o, brief.evaluations.get(o.id)) for o in brief.outcomes]
        shown["draft"] = dict(plain.sections)  # what each action came to stands nowhere else
    return shown


def says_too_little(brief: Brief) -> bool:
    """Return True if nothing could come of a model's words: only tries, or base rates, are told."""
    if isinstance(brief, Findings):
        return all(statement.kind in ("tried", "entry") for statement in brief.statements)
    return isinstance(brief, Period) and not (brief.rules or brief.outliers or brief.facts)


def subject_of(brief: Brief) -> str:
    """What a text is about, by which its question is known."""
    match brief:
        case Findings():
            outcome = brief.account.outcomes[0]
            names = {
                "strategy": outcome.domain,
                "guide": f"guide {outcome.domain} / {outcome.decision.action}",
            }
            return names.get(brief.kind, f"{brief.kind} {about(outcome.domain, outcome.decision)}")
        case Recurrence():
            return f"{brief.kind} {brief.domain} / {brief.theme}"
        case Period():
            return brief.domain
        case Agreement():
            firsts = [findings.account.outcomes[0] for findings in brief.apart]
            subjects = sorted(about(outcome.domain, outcome.decision) for outcome in firsts)
            return f"{brief.together.kind} {' | '.join(subjects)}"
        case SessionExcerpt():
            return " ".join(session.id for session in brief.sessions)


def about(domain: str, decision: Decision) -> str:
    """What a decision is about, in one line."""
    parts = (domain, decision.action, decision.target)
    return " / ".join(" ".join(part.split()) for part in parts if part)


def _findings(brief: Findings) -> dict[str, Any]:
    account = brief.account
    return {
        "kind": brief.kind,
        "outcomes_in_all": len(account.outcomes),
        "statements": list(map(_statement, brief.statements)),
        "last": account.outcomes[-1].id,
    }


def _statement(statement: Statement) -> dict[str, Any]:
    """Return a statement with how many outcomes stand for it and against it."""
    counts = {"for": len(statement.supporting), "against": len(statement.against)}
    return {"kind": statement.kind, "text": statement.text, **counts}


def _recurrence(brief: Recurrence) -> dict[str, Any]:
    return {
        "domain": brief.domain,
        "theme": brief.theme,
        "facts": [fact.text for fact in brief.facts],
    }


def _period(brief: Period) -> dict[str, Any]:
    return {
        "domain": brief.domain,
        "outcomes_in_all": len(brief.outcomes),
        "separates": [{"action": rule.action, **separating(rule)} for rule in brief.rules],
        "last": brief.outcomes[-1].id,
        "stood_out": [msgspec.to_builtins(outlier) for outlier in brief.outliers],
    }


def _in_full(outcome: Outcome, evaluation: Evaluation | None, limit: int) -> dict[str, Any]:
    """A decision with its context, what became of it, and what was concluded."""
    told = ended(outcome)
    told["decision"] = _capped(told["decision"], limit)
    told["result"] = _capped(told["result"], _LINE)
    if evaluation is not None and (judgement := _evaluated(evaluation)):
        told["judgement"] = judgement
    if outcome.lesson is not None:
        parts = (outcome.lesson.when, outcome.lesson.do, outcome.lesson.because)
        told["lesson"] = shorten(", ".join(filter(None, parts)), _LINE)
    return told


def _in_a_line(outcome: Outcome, evaluation: Evaluation | None) -> str:
    """Return what was decided, how it ended and what a model concluded."""
    subject = " on ".join(filter(None, outcome.subject[1:]))
    line = tried_sentence(try_of(outcome, evaluation), {outcome.id: subject})
    learned = evaluation.key_insight if evaluation and evaluation.is_by_model else ""
    return shorten(f"{line} {learned or ''}", _LINE)


def _evaluated(evaluation: Evaluation) -> dict[str, Any]:
    """Return what a model said of an outcome; the offline judge's words repeat the outcome."""
    told: dict[str, Any] = {}
    if evaluation.is_by_model:
        told |= {"insight": evaluation.key_insight, "better_approach": evaluation.better_approach}
    if evaluation.judge.name != OFFLINE:
        told |= judged(evaluation)
    return {key: value for key, value in told.items() if value}


def _agreement(brief: Agreement) -> dict[str, Any]:
    together = brief.together
    subjects = [" on ".join(filter(None, f.account.outcomes[0].subject[1:])) for f in brief.apart]
    return {
        "domain": together.account.outcomes[0].domain,
        "kind": together.kind,
        "subjects": subjects,
        "outcomes_in_all": len(together.account.outcomes),
        "statements": list(map(_statement, together.statements)),
    }


def _sessions(brief: SessionExcerpt) -> dict[str, Any]:
    return {
        "domain": brief.domain,
        "sessions": [_session(session) for session in brief.sessions[-_SHOWN:]],
        "sessions_in_all": len(brief.sessions),
    }


def _session(session: Session) -> dict[str, Any]:
    failures = [
        {"on": failure.lemma, "why": failure.reason, "tried": failure.attempt}
        for failure in session.failures
    ]
    successes = [{"on": success.lemma, "how": success.text} for success in session.successes]
    labels = {key: list(getattr(session, key)) for key in ("tags", "roles", "stages")}
    return {"failed": failures, "worked": successes, **labels}

"""Build the text that a model sees: a prompt, and the record as data in a frame.

To change the prompts, edit `prompt_texts/`. Outcomes are data and never instructions, so no text in
the record can close the frame.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
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
    BlindCase,
    Brief,
    Draft,
    Findings,
    Passage,
    Period,
    Recurrence,
    SessionExcerpt,
    Statement,
    Verdict,
    blind_case,
)
from skillvault.model.conditions import Separation, clause
from skillvault.model.records import (
    OFFLINE,
    Correction,
    Decision,
    Evaluation,
    Outcome,
    Session,
    stamp,
)
from skillvault.model.text.text import count_of, format_number, format_percent, shorten

NAMES = (
    "verdict", "insight", "contrast", "advice", "account", "recurrence", "strategy", "agreement",
    "session", "passage",
)  # fmt: skip
_FOLDER = Path(__file__).parent / "prompt_texts"
_CAPS = (6000, 1500, 400)  # the most characters of one text; a smaller cap if all data are too long
_WHOLE = 60_000  # the most characters of all data, far below 100,000 tokens
_ITEMS = 200  # the most items of a list or a mapping
_TRIES = 60  # the most lines about tries
_SHOWN = 12  # the most outcomes, sessions or evaluations that are shown in full
_LINE = 240  # the most characters of an outcome in one line
_END = "\n}\n</record>"  # the end of the framed data
_IMITATION = re.compile(r"[<\uff1c\ufe64\u2039](?=[\W_]*record)", re.IGNORECASE)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")

_STRATEGY = ("Core Approach", "Entry Rules", "Exit Rules", "Position Sizing", "What to Avoid")
_ACCOUNTS = {
    "guide": ("Do", "Avoid"),  # the other sections keep their counted text
    "evolved": ("Do", "Avoid"),
    "strategy": _STRATEGY,
    "warning": ("Pattern to Recognize", "What Went Wrong", "Better Approach", "Checklist"),
    "pattern": ("Pattern Conditions", "Why It Worked", "Entry Criteria", "Risk Management"),
}
_AGREEMENT = ("Synthesized Insight", "Key Principles")
_STEPS = "Steps"
_SESSION = ("What Failed and Why", "What Then Worked")


class Prompts(Struct, frozen=True):
    """The prompts, and a function that cleans data; prompts of the vault override the package's."""

    own: Mapping[str, str]
    clean: Callable[[Any], Any]

    def prompt_text(self, name: str) -> str:
        """Return a prompt's text."""
        return self.own.get(name) or _package_prompt(name)

    def digest(self, *names: str) -> str:
        """Return the digest of some prompts, which evaluations record."""
        return digest(*(self.prompt_text(name) for name in names))

    def frame_data(self, material: Mapping[str, Any]) -> str:
        """Return data between the marks that the prompts mention."""
        return f"<record>\n{_dump(self.clean(material))}\n</record>"

    def shared_length(self, user: str, first: Mapping[str, Any]) -> int:
        """Return the count of characters that `user` shares with data that begin with `first`."""
        start = self.frame_data(first).removesuffix(_END) if first else ""
        return len(start) if user.startswith(start) else 0


@cache
def _package_prompt(name: str) -> str:
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8")


def digest(*parts: str, size: int = 12) -> str:
    """Return `size` hex digits of the hash of some texts."""
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:size]


def _dump(material: Any) -> str:
    """Return JSON of a limited size that cannot contain a mark of the frame."""
    text = ""
    for cap in _CAPS:
        text = json.dumps(cut_texts(material, cap), ensure_ascii=False, indent=1)
        if len(text) <= _WHOLE:
            break
    text = _INVISIBLE.sub("", text[:_WHOLE])
    return _IMITATION.sub(lambda mark: f"\\u{ord(mark[0]):04x}", text)


def cut_texts(value: Any, cap: int) -> Any:
    """Cut out the middle of long texts in a value."""
    if isinstance(value, str):
        surplus = len(value) - cap
        return value if surplus <= 0 else f"{value[: cap * 2 // 3]} […] {value[-cap // 3 :]}"
    if isinstance(value, Mapping):
        return {
            str(key)[:200]: cut_texts(member, cap) for key, member in list(value.items())[:_ITEMS]
        }
    if isinstance(value, list | tuple):
        return [cut_texts(member, cap) for member in value[:_ITEMS]]
    return value


# ── outcomes ───────────────────────────────────────────────────────


def decision_material(case: BlindCase) -> dict[str, Any]:
    """Return the material about a decision, without its result."""
    decision = case.decision
    fields = {
        "domain": case.domain,
        "task": decision.task,
        "action": decision.action,
        "target": decision.target,
        "reasoning": decision.reasoning,
        "confidence": decision.confidence,
        "made_at": stamp(decision.made_at) if decision.made_at else None,
        "entry_value": case.entry_value,
        "context": dict(case.context),
        "skills_applied": list(case.applied or ()),
    }
    return {key: value for key, value in fields.items() if value not in (None, "", {}, [])}


def outcome_material(outcome: Outcome) -> dict[str, Any]:
    """Return the material about a decision and its result."""
    result, made_at = outcome.result, outcome.decision.made_at
    fields = {
        "status": result.status,
        "score": result.score,
        "score_in_percent": format_percent(result.score) if result.score is not None else None,
        "amount": result.amount,
        "unit": result.unit,
        "summary": result.summary,
        "evidence": result.evidence,
        "ended_at": stamp(outcome.occurred_at),
        "held": _span(outcome.occurred_at - made_at) if made_at else None,
    }
    result_fields = {key: value for key, value in fields.items() if value not in (None, "")}
    return {"decision": decision_material(blind_case(outcome)), "result": result_fields}


def _span(time: timedelta) -> str:
    """Format a duration in several units, so that the model may use any of them."""
    seconds = time.total_seconds()
    units = [(1, "s"), (60, "min"), (3600, "h"), (86400, "d")]
    return " = ".join(
        f"{format_number(seconds / size)} {unit}" for size, unit in units if seconds >= size
    )


def _rule_material(rule: Separation) -> dict[str, str]:
    """Return a rule with its counts."""
    return {
        "action": rule.action,
        "condition": clause(rule.conditions),
        "result": rule.result,
        "if_it_holds": f"{rule.result}: {count_of(*rule.met)}",
        "otherwise": f"{rule.result}: {count_of(*rule.other)}",
        "episodes_in_which_it_holds": str(rule.episodes[0]),
    }


def verdict_material(verdict: Verdict | Evaluation) -> dict[str, Any]:
    """Return the material about a verdict."""
    return {
        "was_good_decision": verdict.was_good_decision,
        "quality_score": verdict.quality_score,
        "strengths": list(verdict.strengths),
        "weaknesses": list(verdict.weaknesses),
        "missed_factors": list(verdict.missed_factors),
    }


# ── briefs of skills ─────────────────────────────────────────────────────


def skill_request(brief: Brief) -> tuple[str, dict[str, Any], tuple[str, ...]]:
    """Return the prompt, the material and the headings to write for a brief."""
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
        case Passage():
            prompt, material, headings = "passage", _passage(brief.source), (_STEPS,)
    return prompt, material, headings


def extra_material(brief: Brief, draft: Draft, limit: int) -> dict[str, Any]:
    """Return material that may change without changing the question of a brief.

    `draft` is the text written by rule, `limit` the most characters of a reasoning.
    """
    extras: dict[str, Any] = {}
    findings = brief.together if isinstance(brief, Agreement) else brief
    if isinstance(findings, Findings):
        evaluations = findings.account.evaluations
        tries = findings.account.tries
        labels = labels_of(findings.account)
        extras["tries"] = [tried_sentence(attempt, labels) for attempt in tries[-_TRIES:]]
        latest_outcomes = findings.significant[-_SHOWN:]
        extras["latest"] = [_in_full(o, evaluations.get(o.id), limit) for o in latest_outcomes]
    if isinstance(brief, Recurrence):
        judgements = filter(None, map(_judgement, brief.evaluations))
        extras["evaluations"] = list(judgements)[:_SHOWN]
    if isinstance(brief, Period):
        texts = {"facts": dict(brief.facts), "current": brief.current}
        extras |= {key: value for key, value in texts.items() if value}
        extras["outcomes"] = [_one_line(o, brief.evaluations.get(o.id)) for o in brief.outcomes]
        extras["draft"] = dict(draft.sections)  # the only place with the results of each action
    return extras


def says_too_little(brief: Brief) -> bool:
    """Return True for a brief with only tries or base rates, which a model cannot improve."""
    if isinstance(brief, Findings):
        return all(statement.kind in ("tried", "entry") for statement in brief.statements)
    return isinstance(brief, Period) and not (brief.rules or brief.outliers or brief.facts)


def brief_subject(brief: Brief) -> str:
    """Return the subject of a text, which identifies its question."""
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
            first_outcomes = [findings.account.outcomes[0] for findings in brief.apart]
            subjects = sorted(about(outcome.domain, outcome.decision) for outcome in first_outcomes)
            return f"{brief.together.kind} {' | '.join(subjects)}"
        case SessionExcerpt():
            return " ".join(session.id for session in brief.sessions)
        case Passage():
            return brief.source.id


def about(domain: str, decision: Decision) -> str:
    """Return the subject of a decision in one line."""
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
    """Return a statement with the counts of outcomes that support and contradict it."""
    counts = {"for": len(statement.supporting), "against": len(statement.against)}
    return {"kind": statement.kind, "text": statement.text, **counts}


def _recurrence(brief: Recurrence) -> dict[str, Any]:
    facts = [fact.text for fact in brief.facts]
    return {"domain": brief.domain, "theme": brief.theme, "facts": facts}


def _period(brief: Period) -> dict[str, Any]:
    return {
        "domain": brief.domain,
        "outcomes_in_all": len(brief.outcomes),
        "separates": [_rule_material(rule) for rule in brief.rules],
        "last": brief.outcomes[-1].id,
        "stood_out": [msgspec.to_builtins(outlier) for outlier in brief.outliers],
    }


def _in_full(outcome: Outcome, evaluation: Evaluation | None, limit: int) -> dict[str, Any]:
    """Return a decision with its context, its result, the judgement and the lesson."""
    material = outcome_material(outcome)
    material["decision"] = cut_texts(material["decision"], limit)
    material["result"] = cut_texts(material["result"], _LINE)
    if evaluation is not None and (judgement := _judgement(evaluation)):
        material["judgement"] = judgement
    if outcome.lesson is not None:
        parts = (outcome.lesson.when, outcome.lesson.do, outcome.lesson.because)
        material["lesson"] = shorten(", ".join(filter(None, parts)), _LINE)
    return material


def _one_line(outcome: Outcome, evaluation: Evaluation | None) -> str:
    """Return the decision, its result and the insight of a model in one line."""
    subject = " on ".join(filter(None, outcome.subject[1:]))
    line = tried_sentence(try_of(outcome, evaluation), {outcome.id: subject})
    insight = evaluation.key_insight if evaluation and evaluation.is_by_model else ""
    return shorten(f"{line} {insight or ''}", _LINE)


def _judgement(evaluation: Evaluation) -> dict[str, Any]:
    """Return a model's text about an outcome; the offline judge's text would only repeat it."""
    words: dict[str, Any] = {}
    if evaluation.is_by_model:
        words |= {"insight": evaluation.key_insight, "better_approach": evaluation.better_approach}
    if evaluation.judge.name != OFFLINE:
        words |= verdict_material(evaluation)
    return {key: value for key, value in words.items() if value}


def _agreement(brief: Agreement) -> dict[str, Any]:
    findings = brief.together
    first_outcomes = [subject_findings.account.outcomes[0] for subject_findings in brief.apart]
    subjects = [" on ".join(filter(None, outcome.subject[1:])) for outcome in first_outcomes]
    return {
        "domain": findings.account.outcomes[0].domain,
        "kind": findings.kind,
        "subjects": subjects,
        "outcomes_in_all": len(findings.account.outcomes),
        "statements": list(map(_statement, findings.statements)),
    }


def _sessions(brief: SessionExcerpt) -> dict[str, Any]:
    return {
        "domain": brief.domain,
        "sessions": [_session(session) for session in brief.sessions[-_SHOWN:]],
        "sessions_in_all": len(brief.sessions),
    }


def _passage(source: Correction) -> dict[str, Any]:
    return {"document": source.session, "heading": source.about or "", "passage": source.text}


def _session(session: Session) -> dict[str, Any]:
    failures = [
        {"on": failure.lemma, "why": failure.reason, "tried": failure.attempt}
        for failure in session.failures
    ]
    successes = [{"on": success.lemma, "how": success.text} for success in session.successes]
    labels = {key: list(getattr(session, key)) for key in ("tags", "roles", "stages")}
    return {"failed": failures, "worked": successes, **labels}

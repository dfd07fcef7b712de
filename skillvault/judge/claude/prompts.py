"""Build the text that a model sees: a prompt, and the record as data in a frame.

To change the prompts, edit `prompt_texts/`; to change what a model sees about a skill, see
`brief_material`. Records are data and never instructions, so no text in them can close the frame.
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

from skillvault.judge.offline import drafting
from skillvault.learning.account.sentences import labels_of, tried_sentence
from skillvault.learning.tries.tries import try_of
from skillvault.model.brief import (
    AVOID,
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
from skillvault.model.conditions import Separation, describe_conditions
from skillvault.model.records import OFFLINE, Evaluation, Outcome, stamp
from skillvault.model.text.text import count_of, format_number, format_percent, shorten

NAMES = (
    "verdict", "insight", "contrast", "advice", "account", "recurrence", "strategy", "agreement",
    "session", "passage",
)  # fmt: skip
_PROMPT_FOLDER = Path(__file__).parent / "prompt_texts"
# Characters of one text; if all data together are too long, the next limit applies.
_TEXT_LIMITS = (6000, 1500, 400)
_DATA_LIMIT = 60_000  # characters of all data, far below 100,000 tokens
_MAX_ITEMS = 200  # items of a list or a mapping
_MAX_TRIES = 60  # lines about tries
_MAX_SHOWN = 12  # outcomes, sessions or evaluations to show in full
_LINE_LIMIT = 240  # characters of an outcome in one line
_FRAME_END = "\n}\n</record>"  # the end of the framed data
_FRAME_MARK = re.compile(r"[<\uff1c\ufe64\u2039](?=[\W_]*record)", re.IGNORECASE)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")

# A model writes only these sections of a skill with findings; the others keep their counted text.
_STRATEGY_SECTIONS = (
    "Core Approach", "Entry Rules", "Exit Rules", "Position Sizing", "What to Avoid",
)  # fmt: skip
_SECTIONS_BY_KIND = {
    "guide": ("Do", AVOID),
    "evolved": ("Do", AVOID),
    "strategy": _STRATEGY_SECTIONS,
    "warning": drafting.WARNING,
    "pattern": drafting.PATTERN,
}


class Prompts(Struct, frozen=True):
    """The prompts for a vault, whose own prompts are the `overrides`.

    `clean` removes secrets and hidden characters from data.
    """

    overrides: Mapping[str, str]
    clean: Callable[[Any], Any]

    def prompt_text(self, name: str) -> str:
        """Return the prompt of the vault, or of the package if the vault has none."""
        return self.overrides.get(name) or _package_prompt(name)

    def digest(self, *names: str) -> str:
        """Return a digest of the named prompts, which evaluations record."""
        return digest(*(self.prompt_text(name) for name in names))

    def frame_data(self, material: Mapping[str, Any]) -> str:
        """Return data as JSON between the marks that the prompts mention."""
        return f"<record>\n{_to_json(self.clean(material))}\n</record>"

    def shared_length(self, user: str, first: Mapping[str, Any]) -> int:
        """Return the length of the beginning of `user` that frames `first`, or 0.

        `first` is the part of the data that several questions share.
        """
        start = self.frame_data(first).removesuffix(_FRAME_END) if first else ""
        return len(start) if user.startswith(start) else 0


@cache
def _package_prompt(name: str) -> str:
    return (_PROMPT_FOLDER / f"{name}.md").read_text(encoding="utf-8")


def digest(*parts: str, size: int = 12) -> str:
    """Return the first `size` hex digits of the hash of texts."""
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:size]


def _to_json(material: Any) -> str:
    """Return JSON of limited size without the marks of the frame."""
    text = ""
    for limit in _TEXT_LIMITS:
        text = json.dumps(cut_texts(material, limit), ensure_ascii=False, indent=1)
        if len(text) <= _DATA_LIMIT:
            break
    text = _INVISIBLE.sub("", text[:_DATA_LIMIT])
    return _FRAME_MARK.sub(lambda mark: f"\\u{ord(mark[0]):04x}", text)


def cut_texts(value: Any, limit: int) -> Any:
    """Cut the middle out of texts that are longer than `limit`, at any depth of a value."""
    if isinstance(value, str):
        surplus = len(value) - limit
        return value if surplus <= 0 else f"{value[: limit * 2 // 3]} […] {value[-limit // 3 :]}"
    if isinstance(value, Mapping):
        return {
            str(key)[:200]: cut_texts(member, limit)
            for key, member in list(value.items())[:_MAX_ITEMS]
        }
    if isinstance(value, list | tuple):
        return [cut_texts(member, limit) for member in value[:_MAX_ITEMS]]
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
        "held": _format_duration(outcome.occurred_at - made_at) if made_at else None,
    }
    result_fields = {key: value for key, value in fields.items() if value not in (None, "")}
    return {"decision": decision_material(blind_case(outcome)), "result": result_fields}


def _format_duration(time: timedelta) -> str:
    """Format a duration in several units, because a model may only repeat shown figures."""
    seconds = time.total_seconds()
    units = [(1, "s"), (60, "min"), (3600, "h"), (86400, "d")]
    return " = ".join(
        f"{format_number(seconds / size)} {unit}" for size, unit in units if seconds >= size
    )


def _rule_material(rule: Separation) -> dict[str, str]:
    return {
        "action": rule.action,
        "condition": describe_conditions(rule.conditions),
        "result": rule.result,
        "if_it_holds": f"{rule.result}: {count_of(*rule.met)}",
        "otherwise": f"{rule.result}: {count_of(*rule.other)}",
        "episodes_in_which_it_holds": str(rule.episodes[0]),
    }


def verdict_material(verdict: Verdict | Evaluation) -> dict[str, Any]:
    """Return a verdict as values for JSON."""
    return {
        "was_good_decision": verdict.was_good_decision,
        "quality_score": verdict.quality_score,
        "strengths": list(verdict.strengths),
        "weaknesses": list(verdict.weaknesses),
        "missed_factors": list(verdict.missed_factors),
    }


# ── briefs of skills ─────────────────────────────────────────────────────


class BriefMaterial(Struct, frozen=True):
    """The content of the question for the text of a skill.

    A change of `subject` or `material` makes a new question; a change of `extras` does not. The
    model writes the sections with these `headings`.
    """

    prompt: str
    subject: str
    headings: tuple[str, ...]
    material: dict[str, Any]
    extras: dict[str, Any] = {}


def brief_material(brief: Brief, draft: Draft, max_reasoning: int) -> BriefMaterial:
    """Return the content of the question for the text of a brief.

    `draft` is the text of the offline judge. A reasoning is cut to `max_reasoning` characters.
    """
    match brief:
        case Findings():
            return _findings_material(brief, max_reasoning)
        case Recurrence():
            return _recurrence_material(brief)
        case Period():
            return _period_material(brief, draft)
        case Agreement():
            return _agreement_material(brief, max_reasoning)
        case SessionExcerpt():
            return _session_material(brief)
        case Passage(source=source):
            material = {"document": source.session, "heading": source.about or ""}
            material["passage"] = source.text
            return BriefMaterial("passage", source.id, ("Steps",), material)


def lacks_material(brief: Brief) -> bool:
    """Return True for a brief with only tries or base rates, which a model cannot improve."""
    if isinstance(brief, Findings):
        return all(statement.kind in ("tried", "entry") for statement in brief.statements)
    return isinstance(brief, Period) and not (brief.rules or brief.outliers or brief.facts)


def subject_line(domain: str, action: str, target: str | None) -> str:
    """Return `domain / action / target` in one line."""
    parts = (domain, action, target)
    return " / ".join(" ".join(part.split()) for part in parts if part)


def _findings_material(brief: Findings, max_reasoning: int) -> BriefMaterial:
    outcomes = brief.account.outcomes
    first_subject = subject_line(*outcomes[0].subject)
    subjects = {
        "strategy": outcomes[0].domain,
        "guide": f"guide {outcomes[0].domain} / {outcomes[0].decision.action}",
    }
    material = {
        "kind": brief.kind,
        "outcomes_in_all": len(outcomes),
        "statements": list(map(_statement_material, brief.statements)),
        "last": outcomes[-1].id,
    }
    return BriefMaterial(
        "strategy" if brief.kind == "strategy" else "account",
        subjects.get(brief.kind, f"{brief.kind} {first_subject}"),
        _SECTIONS_BY_KIND[brief.kind],
        material,
        _findings_extras(brief, max_reasoning),
    )


def _findings_extras(findings: Findings, max_reasoning: int) -> dict[str, Any]:
    account, labels = findings.account, labels_of(findings.account)
    latest_outcomes = [
        _outcome_details(outcome, account.evaluations.get(outcome.id), max_reasoning)
        for outcome in findings.significant[-_MAX_SHOWN:]
    ]
    tries = [tried_sentence(attempt, labels) for attempt in account.tries[-_MAX_TRIES:]]
    return {"tries": tries, "latest": latest_outcomes}


def _agreement_material(brief: Agreement, max_reasoning: int) -> BriefMaterial:
    findings = brief.together
    first_outcomes = [subject_findings.account.outcomes[0] for subject_findings in brief.apart]
    subjects = sorted(subject_line(*outcome.subject) for outcome in first_outcomes)
    material = {
        "domain": findings.account.outcomes[0].domain,
        "kind": findings.kind,
        "subjects": [" on ".join(filter(None, outcome.subject[1:])) for outcome in first_outcomes],
        "outcomes_in_all": len(findings.account.outcomes),
        "statements": list(map(_statement_material, findings.statements)),
    }
    return BriefMaterial(
        "agreement",
        f"{findings.kind} {' | '.join(subjects)}",
        ("Synthesized Insight", "Key Principles"),
        material,
        _findings_extras(findings, max_reasoning),
    )


def _statement_material(statement: Statement) -> dict[str, Any]:
    counts = {"for": len(statement.supporting), "against": len(statement.against)}
    return {"kind": statement.kind, "text": statement.text, **counts}


def _recurrence_material(brief: Recurrence) -> BriefMaterial:
    subject = f"{brief.kind} {brief.domain} / {brief.theme}"
    facts = [fact.text for fact in brief.facts]
    material = {"domain": brief.domain, "theme": brief.theme, "facts": facts}
    judgements = list(filter(None, map(_judgement_material, brief.evaluations)))
    extras = {"evaluations": judgements[:_MAX_SHOWN]}
    return BriefMaterial("recurrence", subject, ("Application",), material, extras)


def _period_material(brief: Period, draft: Draft) -> BriefMaterial:
    material = {
        "domain": brief.domain,
        "outcomes_in_all": len(brief.outcomes),
        "separates": [_rule_material(rule) for rule in brief.rules],
        "last": brief.outcomes[-1].id,
        "stood_out": [msgspec.to_builtins(outlier) for outlier in brief.outliers],
    }
    texts = {"facts": dict(brief.facts), "current": brief.current}
    extras: dict[str, Any] = {key: value for key, value in texts.items() if value}
    extras["outcomes"] = [_outcome_line(o, brief.evaluations.get(o.id)) for o in brief.outcomes]
    extras["draft"] = dict(draft.sections)  # the only place with the results of each action
    headings = (brief.heading, *_STRATEGY_SECTIONS)
    return BriefMaterial("strategy", brief.domain, headings, material, extras)


def _outcome_details(
    outcome: Outcome, evaluation: Evaluation | None, max_reasoning: int
) -> dict[str, Any]:
    material = outcome_material(outcome)
    material["decision"] = cut_texts(material["decision"], max_reasoning)
    material["result"] = cut_texts(material["result"], _LINE_LIMIT)
    if evaluation is not None and (judgement := _judgement_material(evaluation)):
        material["judgement"] = judgement
    if outcome.lesson is not None:
        parts = (outcome.lesson.when, outcome.lesson.do, outcome.lesson.because)
        material["lesson"] = shorten(", ".join(filter(None, parts)), _LINE_LIMIT)
    return material


def _outcome_line(outcome: Outcome, evaluation: Evaluation | None) -> str:
    subject = " on ".join(filter(None, outcome.subject[1:]))
    line = tried_sentence(try_of(outcome, evaluation), {outcome.id: subject})
    insight = evaluation.key_insight if evaluation and evaluation.is_by_model else ""
    return shorten(f"{line} {insight or ''}", _LINE_LIMIT)


def _judgement_material(evaluation: Evaluation) -> dict[str, Any]:
    """Return what a model said about an outcome; texts of the offline judge add nothing."""
    fields: dict[str, Any] = {}
    if evaluation.is_by_model:
        fields |= {"insight": evaluation.key_insight, "better_approach": evaluation.better_approach}
    if evaluation.judge.name != OFFLINE:
        fields |= verdict_material(evaluation)
    return {key: value for key, value in fields.items() if value}


def _session_material(brief: SessionExcerpt) -> BriefMaterial:
    sessions = [
        {
            "failed": [{"on": f.lemma, "why": f.reason, "tried": f.attempt} for f in s.failures],
            "worked": [{"on": success.lemma, "how": success.text} for success in s.successes],
            **{key: list(getattr(s, key)) for key in ("tags", "roles", "stages")},
        }
        for s in brief.sessions[-_MAX_SHOWN:]
    ]
    material = {
        "domain": brief.domain,
        "sessions": sessions,
        "sessions_in_all": len(brief.sessions),
    }
    subject = " ".join(session.id for session in brief.sessions)
    return BriefMaterial("session", subject, (drafting.FAILED, drafting.WORKED), material)

"""What a model is shown: fenced data under a fixed prompt, clean of secrets, within a size.

Outcomes are data and never instructions: nothing in them can close the fence.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from skillvault.brief import Case, Contrast, Verdict
from skillvault.records import Decision, Outcome, Scalar, stamp
from skillvault.text import count_of, percent

NAMES = ("verdict", "insight", "advice", "episode", "recurrence", "strategy", "agreement")
_FOLDER = Path(__file__).parent / "prompt_texts"
_CAPS = (6000, 1500, 400)  # characters of one text; the next where the whole is too long
_WHOLE = 60_000  # characters of all data, far below 100,000 tokens
_ITEMS = 120  # of a list or a mapping
_IMITATION = re.compile(r"[<\uff1c\ufe64\u2039](?=[\W_]*record)", re.IGNORECASE)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")


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

    def fenced(self, data: Mapping[str, Any]) -> str:
        """Data between the marks that the prompts speak of."""
        return f"<record>\n{_dumped(self.clean(data))}\n</record>"


@cache
def packaged(name: str) -> str:
    """A prompt as it ships with the package."""
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8")


def digest(*parts: str) -> str:
    """Twelve hex digits for some texts."""
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:12]


def _dumped(data: Any) -> str:
    """JSON in which no mark of ours can stand, cut to a size."""
    said = ""
    for cap in _CAPS:
        said = json.dumps(_capped(data, cap), ensure_ascii=False, indent=1)
        if len(said) <= _WHOLE:
            break
    said = _INVISIBLE.sub("", said[:_WHOLE])
    return _IMITATION.sub(lambda mark: f"\\u{ord(mark[0]):04x}", said)


def _capped(value: Any, cap: int) -> Any:
    """`value` with long texts cut in their middle, where least is said."""
    if isinstance(value, str):
        cut = len(value) - cap
        return value if cut <= 0 else f"{value[: cap * 2 // 3]} […] {value[-cap // 3 :]}"
    if isinstance(value, Mapping):
        return {str(key)[:200]: _capped(item, cap) for key, item in list(value.items())[:_ITEMS]}
    if isinstance(value, list | tuple):
        return [_capped(item, cap) for item in value[:_ITEMS]]
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
    found = {
        "domain": domain,
        "action": decision.action,
        "target": decision.target,
        "reasoning": decision.reasoning,
        "confidence": decision.confidence,
        "made_at": stamp(decision.made_at) if decision.made_at else None,
        "entry_value": entry_value,
        "context": dict(context),
        "skills_applied": list(applied or ()),
    }
    return {key: value for key, value in found.items() if value not in (None, "", {}, [])}


def ended(outcome: Outcome) -> dict[str, Any]:
    """A decision and what became of it."""
    o, result = outcome, outcome.result
    said = {
        "status": result.status,
        "score": result.score,
        "score_in_percent": percent(result.score) if result.score is not None else None,
        "amount": result.amount,
        "unit": result.unit,
        "summary": result.summary,
        "evidence": result.evidence,
        "ended_at": stamp(o.occurred_at),
        "held": str(o.occurred_at - o.decision.made_at) if o.decision.made_at else None,
    }
    known = {key: value for key, value in said.items() if value not in (None, "")}
    made = decided(o.domain, o.decision, o.context, o.applied, result.entry_value)
    return {"decision": made, "result": known}


def compared(case: Case) -> dict[str, Any]:
    """An outcome among its peers, in counts."""
    return {
        "this_one_is_among": f"{count_of(*case.alike)}: {case.group}",
        "more_often_so": contrasted(case.contrasts),
        "more_often_so_of_the_others": contrasted(case.opposite),
        "not_sure": contrasted((*case.leads, *case.opposite_leads)),
        "before_it": ended(case.before) if case.before else None,
        "the_next_success": ended(case.solved) if case.solved else None,
        "nobody_recorded": list(case.unrecorded),
    }


def contrasted(found: Sequence[Contrast]) -> list[dict[str, str]]:
    """Conditions with how often they hold."""
    return [
        {
            "condition": each.condition,
            "here": count_of(*each.in_group),
            "others": count_of(*each.in_rest),
        }
        for each in found[:12]
    ]


def judged(verdict: Verdict) -> dict[str, Any]:
    """A verdict as it was given before the result."""
    return {
        "was_good_decision": verdict.was_good_decision,
        "quality_score": verdict.quality_score,
        "strengths": list(verdict.strengths),
        "weaknesses": list(verdict.weaknesses),
        "missed_factors": list(verdict.missed_factors),
    }

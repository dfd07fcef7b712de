"""Outcomes and files that tests begin with."""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from skillvault.model.intake import parse_outcome, parse_recommendation, parse_record, parse_session
from skillvault.model.records import Evaluation, JudgeInfo, Outcome, Recommendation, Session, Trust
from skillvault.vault.files.redact import redact_value

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
START = datetime(2026, 11, 1, 9, 0, tzinfo=UTC)


def raw(day: int = 0, **changes: Any) -> dict[str, Any]:
    """An outcome as an agent writes it; `decision__target="x"` sets a nested key."""
    at = START + timedelta(days=day)
    found: dict[str, Any] = {
        "domain": "coding",
        "occurred_at": at.isoformat(),
        "decision": {
            "action": "fix-flaky-test",
            "target": "checkout",
            "reasoning": "I raise the timeout from 2 s to 5 s because the CI machine is slow.",
            "made_at": (at - timedelta(hours=1)).isoformat(),
        },
        "result": {"status": "failure", "evidence": "FAILED test_payment - assert 504 == 200"},
        "source": {"agent": "coder-1"},
    }
    for path, value in changes.items():
        place = found
        *parents, last = path.split("__")
        for key in parents:
            place = place.setdefault(key, {})
        if value is None:
            place.pop(last, None)
        else:
            place[last] = value
    return found


def passing(domain: str, at: datetime, **changes: Any) -> dict[str, Any]:
    """An outcome that teaches nothing: by it a domain's time goes on."""
    fields: dict[str, Any] = {"domain": domain, "decision": {"action": "wait"}}
    return raw(occurred_at=at.isoformat(), result={"status": "neutral"}, **fields, **changes)


def trade(day: int = 0, score: float = -0.112, **changes: Any) -> dict[str, Any]:
    """A graded outcome."""
    graded = {"score": score, "amount": score * 1000, "unit": "USD", "entry_value": 1000}
    fields = {
        "domain": "perps",
        "decision__action": "open_long",
        "decision__target": "SOL-PERP",
        "decision__reasoning": "Funding is high at 0.08 % and volatility is high; I chase it.",
        "result": {**graded, "summary": "stopped out during the cascade"},
        "context": {"volatility": "high", "trend": "bearish"},
    }
    return raw(day, **{**fields, **changes})


def outcome(given: dict[str, Any] | None = None, trust: Trust = "local") -> Outcome:
    """An Outcome as the intake makes it."""
    return parse_outcome(given or raw(), trust=trust, now=NOW)


def redacted(given: dict[str, Any]) -> Any:
    """A record as `record` makes it of a mapping with secrets."""
    return parse_record(given, trust="local", now=NOW, clean=redact_value(given))


def evaluation(of: Outcome, **changes: Any) -> Evaluation:
    """An evaluation of an outcome."""
    fields: dict[str, Any] = {
        "outcome": of.id,
        "domain": of.domain,
        "judge": JudgeInfo(name="scripted", version="1"),
        "was_good_decision": of.result.status == "success",
        "quality_score": 0.8 if of.result.status == "success" else 0.2,
        "key_insight": f"{of.decision.action} teaches something",
        "judge_was_right": True,
    }
    return Evaluation(**{**fields, **changes})


def shown(**changes: Any) -> dict[str, Any]:
    """A recommendation as it is dropped into the inbox."""
    found: dict[str, Any] = {
        "type": "recommendation",
        "decision": "d-2211",
        "domain": "perps",
        "at": "2026-11-20T10:00:00Z",
        "context": {"volatility": "high"},
        "shown": [
            {"skill": "warning-perps-a", "blob": "0" * 40, "relevance": 0.6, "badge": "🆕 New"}
        ],
        "held_out": [{"skill": "guide-b", "blob": "1" * 40}],
        "next": [{"skill": "guide-c", "reason": "rank"}],
        "counts": {"considered": 3, "low_effectiveness": 0, "low_relevance": 0, "budget": 0},
    }
    return {key: value for key, value in {**found, **changes}.items() if value is not None}


def recommendation(trust: Trust = "local", **changes: Any) -> Recommendation:
    """A Recommendation as the intake makes it."""
    return parse_recommendation(shown(**changes), trust=trust, now=NOW)


def ended(name: str = "s-77", **changes: Any) -> dict[str, Any]:
    """A finished session as it is dropped into the inbox: two failures, one of them overcome."""
    found: dict[str, Any] = {
        "type": "session",
        "id": name,
        "domain": "coding",
        "ended_at": "2026-11-20T10:00:00Z",
        "agent": "builder-1",
        "failures": [
            {
                "lemma": "checkout timeout",
                "reason": "The gateway answers 504 after the second retry.",
                "attempt": "raise the client's timeout to 30 s",
            },
            {"lemma": "currency rounding", "reason": "Sums in yen were rounded to cents."},
        ],
        "successes": [
            {
                "lemma": "checkout timeout",
                "text": "Queue the capture and poll its state instead of waiting for it.",
            }
        ],
        "tags": ["payments"],
    }
    return {key: value for key, value in {**found, **changes}.items() if value is not None}


def session(name: str = "s-77", trust: Trust = "local", **changes: Any) -> Session:
    """A Session as the intake makes it."""
    return parse_session(ended(name, **changes), trust=trust, now=NOW)


def as_file(given: dict[str, Any]) -> bytes:
    """An outcome as a JSON file's bytes."""
    return json.dumps(given).encode()


class Pool:
    """Outcomes that are compared with one another, as a vault is asked for them."""

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        self._outcomes = sorted(outcomes, key=lambda o: o.order)

    def count_peers(self, outcome: Outcome) -> int:
        return len(self._group(outcome))

    def count_peers_from(self, outcome: Outcome) -> int:
        return sum(one.order >= outcome.order for one in self._group(outcome))

    def peers_in_range(self, outcome: Outcome, start: int, end: int) -> list[Outcome]:
        return self._group(outcome)[start:end]

    def latest(self, domain: str, trust: Trust, count: int) -> list[Outcome]:
        return [o for o in self._outcomes if o.domain == domain and _sees(trust, o)][-count:]

    def previous(self, outcome: Outcome) -> Outcome | None:
        return next((o for o in reversed(self._same(outcome)) if o.order < outcome.order), None)

    def following(self, outcome: Outcome) -> Iterator[Outcome]:
        return (o for o in self._same(outcome) if o.order > outcome.order)

    def _group(self, outcome: Outcome) -> list[Outcome]:
        key = (outcome.domain, outcome.decision.action)
        alike = (o for o in self._outcomes if (o.domain, o.decision.action) == key)
        return [o for o in alike if _sees(outcome.trust, o)]

    def _same(self, outcome: Outcome) -> list[Outcome]:
        key = (outcome.subject, outcome.trust)
        return [o for o in self._outcomes if (o.subject, o.trust) == key]


def _sees(trust: Trust, other: Outcome) -> bool:
    return trust == "untrusted" or other.trust == "local"

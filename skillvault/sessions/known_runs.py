"""Find the outcomes of prompts that a vault has already, whoever recorded them.

A prompt may stand in several transcripts, because sessions are resumed, forked and archived. It is
known by its message, never by its file or session alone. Hooks may have recorded it without its
message; then its session and its own id, or its words and their time, say that it is the same.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from skillvault.model.decision_outcomes import observer_rank
from skillvault.model.records import Observer, Outcome, Status, Trust, Via
from skillvault.vault.index.outcomes import Outcomes

_SEPARATOR, _HEX = "-", 8  # between the message and the digest of an event id; its digits
_DELAY = timedelta(seconds=10)  # between a prompt and the hook that notes it


class KnownRun(Struct, frozen=True, kw_only=True):
    """The parts of a prompt's outcome that tell it from others, and its end."""

    message: str
    decision: str | None
    session: str | None
    task: str
    made_at: datetime | None
    status: Status
    observer: Observer
    via: Via | None
    ended_at: datetime

    def is_same(self, run: "KnownRun") -> bool:
        """Return True if both are of one prompt."""
        if self.message and run.message:
            return self.message == run.message
        has_same_task = self.task == run.task
        if self.decision == run.decision and (self.session == run.session or has_same_task):
            return True
        return (
            has_same_task
            and self.session == run.session
            and self.made_at is not None
            and run.made_at is not None
            and abs(self.made_at - run.made_at) <= _DELAY
        )

    def covers(self, run: "KnownRun") -> bool:
        """Return True if another outcome of the same prompt says nothing that this one does not.

        A person's words are news whatever a check said, and so is a later end.
        """
        is_observed, is_run_observed = self.observer != "agent", run.observer != "agent"
        if (self.status, is_observed) == (run.status, is_run_observed):
            return True
        if not is_run_observed:
            return is_observed
        ranks = (observer_rank(self.observer, self.via), observer_rank(run.observer, run.via))
        return run.ended_at < self.ended_at and ranks[0] >= ranks[1]


class KnownRuns:
    """The prompts that an import has read so far; those of the vault are looked up."""

    def __init__(self) -> None:
        self._runs: dict[str, list[KnownRun]] = {}
        self._sessions: dict[str | None, list[Outcome]] = {}

    def is_news(self, outcome: Mapping[str, Any], recorded: Outcomes, trust: Trust) -> bool:
        """Return True if neither the vault nor this import has what an outcome says."""
        run = _run_of(outcome)
        runs = self._runs.setdefault(run.message, [])
        agent = outcome["source"]["agent"]
        recorded_runs = [
            _recorded_run(candidate)
            for candidate in self._find_candidates(run, recorded, trust)
            if (candidate.trust, candidate.source.agent) == (trust, agent)
        ]
        candidates = (*runs, *recorded_runs)
        if any(earlier.is_same(run) and earlier.covers(run) for earlier in candidates):
            return False
        runs.append(run)
        return True

    def _find_candidates(self, run: KnownRun, recorded: Outcomes, trust: Trust) -> list[Outcome]:
        outcomes = recorded.by_event_prefix(f"{run.message}{_SEPARATOR}") if run.message else []
        if outcomes:
            return outcomes
        if run.session not in self._sessions:  # those that have no message
            session = recorded.by_session(run.session, trust) if run.session else []
            self._sessions[run.session] = [
                outcome for outcome in session if outcome.event_id is None
            ]
        decision = recorded.by_decision(run.decision) if run.decision else []
        return [*decision, *self._sessions[run.session]]


def with_event(outcome: Mapping[str, Any], message: str) -> dict[str, Any]:
    """Return an outcome with an event id of its prompt's message and of what it says."""
    text = json.dumps({**outcome, "occurred_at": ""}, sort_keys=True)
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:_HEX]
    return {"event_id": f"{message}{_SEPARATOR}{digest}", **outcome} if message else dict(outcome)


def _run_of(outcome: Mapping[str, Any]) -> KnownRun:
    decision, result = outcome["decision"], outcome["result"]
    made_at = decision.get("made_at")
    return KnownRun(
        message=_message_of(outcome.get("event_id")),
        decision=decision.get("id"),
        session=outcome["source"].get("session"),
        task=_plain_text(decision["task"]),
        made_at=datetime.fromisoformat(made_at) if made_at else None,
        status=result["status"],
        observer=result.get("observed_by", "agent"),
        via=result.get("via"),
        ended_at=datetime.fromisoformat(outcome["occurred_at"]),
    )


def _recorded_run(outcome: Outcome) -> KnownRun:
    return KnownRun(
        message=_message_of(outcome.event_id),
        decision=outcome.decision.id,
        session=outcome.source.session,
        task=_plain_text(outcome.decision.task or ""),
        made_at=outcome.decision.made_at,
        status=outcome.result.status,
        observer=outcome.observer,
        via=outcome.result.via,
        ended_at=outcome.occurred_at,
    )


def _message_of(event: str | None) -> str:
    return (event or "").rpartition(_SEPARATOR)[0]


def _plain_text(task: str) -> str:
    return " ".join(task.split())

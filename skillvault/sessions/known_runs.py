"""Recognize outcomes of prompts that a vault already has, when transcripts are imported.

A prompt may be in several transcripts, because sessions are resumed, forked and archived. The id of
the message identifies a prompt. If a hook recorded the prompt without that id, it is identified by
the session and the prompt's id, or by the text and the time.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from skillvault.model import codec
from skillvault.model.decision_outcomes import observer_rank
from skillvault.model.records import Observer, Outcome, Status, Trust, Via
from skillvault.vault.index.outcomes import Outcomes

_SEPARATOR = "-"  # between the message id and the digest in an event id
_DIGEST_DIGITS = 8
_MAX_DELAY = timedelta(seconds=10)  # the longest time between a prompt and its hook


class PromptResult(Struct, frozen=True, kw_only=True):
    """The result of a prompt, and the values that identify the prompt."""

    message: str
    decision: str | None
    session: str | None
    task: str
    made_at: datetime | None
    status: Status
    observer: Observer
    via: Via | None
    ended_at: datetime

    def is_same(self, other: "PromptResult") -> bool:
        """Return True if both are results of one prompt."""
        if self.message and other.message:
            return self.message == other.message
        has_same_task = self.task == other.task
        if self.decision == other.decision and (self.session == other.session or has_same_task):
            return True
        return (
            has_same_task
            and self.session == other.session
            and self.made_at is not None
            and other.made_at is not None
            and abs(self.made_at - other.made_at) <= _MAX_DELAY
        )

    def covers(self, other: "PromptResult") -> bool:
        """Return True if another result of the same prompt adds nothing to this result.

        A person's words add something to a check, and so does a later end.
        """
        is_observed, is_other_observed = self.observer != "agent", other.observer != "agent"
        if (self.status, is_observed) == (other.status, is_other_observed):
            return True
        if not is_other_observed:
            return is_observed
        ranks = (observer_rank(self.observer, self.via), observer_rank(other.observer, other.via))
        return other.ended_at < self.ended_at and ranks[0] >= ranks[1]


class PromptResults:
    """The results of prompts that an import has read so far.

    The results in the vault are queried when they are needed.
    """

    def __init__(self) -> None:
        self._runs: dict[str, list[PromptResult]] = {}
        self._sessions: dict[str | None, list[Outcome]] = {}

    def is_news(self, outcome: Mapping[str, Any], vault_outcomes: Outcomes, trust: Trust) -> bool:
        """Return True if neither the vault nor this import has the result of a prompt."""
        run = _result_of(outcome)
        imported_runs = self._runs.setdefault(run.message, [])
        agent = outcome["source"]["agent"]
        recorded_runs = [
            _result_of(codec.outcome_values(candidate))
            for candidate in self._find_candidates(run, vault_outcomes, trust)
            if (candidate.trust, candidate.source.agent) == (trust, agent)
        ]
        candidates = (*imported_runs, *recorded_runs)
        if any(known_run.is_same(run) and known_run.covers(run) for known_run in candidates):
            return False
        imported_runs.append(run)
        return True

    def _find_candidates(self, run: PromptResult, index: Outcomes, trust: Trust) -> list[Outcome]:
        matches = index.by_event_prefix(f"{run.message}{_SEPARATOR}") if run.message else []
        if matches:
            return matches
        if run.session not in self._sessions:  # hooks record outcomes without a message id
            session_outcomes = index.by_session(run.session, trust) if run.session else []
            self._sessions[run.session] = [
                outcome for outcome in session_outcomes if outcome.event_id is None
            ]
        decision_outcomes = index.by_decision(run.decision) if run.decision else []
        return [*decision_outcomes, *self._sessions[run.session]]


def with_event(outcome: Mapping[str, Any], message: str) -> dict[str, Any]:
    """Add an event id to an outcome: its message id and a digest of its content."""
    text = json.dumps({**outcome, "occurred_at": ""}, sort_keys=True)
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:_DIGEST_DIGITS]
    return {"event_id": f"{message}{_SEPARATOR}{digest}", **outcome} if message else dict(outcome)


def _result_of(outcome: Mapping[str, Any]) -> PromptResult:
    decision, result = outcome["decision"], outcome["result"]
    made_at = decision.get("made_at")
    return PromptResult(
        message=outcome.get("event_id", "").rpartition(_SEPARATOR)[0],
        decision=decision.get("id"),
        session=outcome["source"].get("session"),
        task=" ".join(decision.get("task", "").split()),
        made_at=datetime.fromisoformat(made_at) if made_at else None,
        status=result["status"],
        observer=result.get("observed_by", "agent"),
        via=result.get("via"),
        ended_at=datetime.fromisoformat(outcome["occurred_at"]),
    )

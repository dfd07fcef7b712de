"""Let a Python program get a recommendation for a decision, and record the outcome.

The outcome is recorded like the outcome of any other agent.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import PurePath
from secrets import token_hex
from typing import Any

from msgspec import Struct

from skillvault.exchange.transcripts.subjects import action_of, action_of_deed, target_of
from skillvault.learning.recommend.recommend import Selection, ServedSkill
from skillvault.model import codec
from skillvault.model.errors import BadInputError, SkillvaultError, UsageError
from skillvault.model.records import OBSERVERS, Observer, Outcome, Scalar, Status, stamp
from skillvault.model.text.html_table import html_table
from skillvault.sessions import transcripts

_ID_BYTES = 6


class DecisionSubject(Struct, frozen=True, kw_only=True):
    """The task of a decision, and the agent that makes the decision."""

    id: str
    domain: str
    task: str
    action: str
    target: str | None = None
    agent: str | None = None
    session: str | None = None
    context: Mapping[str, Scalar] = {}


class OpenDecision:
    """A decision in progress, with its recommendation (`skills` and `prompt`).

    The last call of `succeed` or `fail` counts. Without a call, the outcome is neutral.
    """

    def __init__(self, subject: DecisionSubject, answer: Selection, made_at: datetime) -> None:
        self.subject = subject
        self.answer = answer
        self._made_at = made_at
        self._applied: list[str] = []
        self._reasons: list[str] = []
        self._result: dict[str, Any] = {"status": "neutral"}

    @property
    def id(self) -> str:
        """The id that joins the recommendation and the outcome."""
        return self.subject.id

    @property
    def skills(self) -> list[ServedSkill]:
        """The skills to read, the best first."""
        return self.answer.recommended

    @property
    def prompt(self) -> str:
        """The skills and facts as a text to put before the task, or ""."""
        return self.answer.prompt

    def applied(self, *names: str) -> None:
        """Record the applied skills, by name, handle or title."""
        self._applied += [name for name in names if name not in self._applied]

    def reason(self, reasoning: str) -> None:
        """Record a reason for the decision, for the judge, before the result is known."""
        self._reasons.append(reasoning)

    def succeed(self, evidence: str = "", **result: Any) -> None:
        """Report success. `result` has further keys of a result, such as `observed_by`."""
        self._set_result("success", evidence, result)

    def fail(self, evidence: str = "", **result: Any) -> None:
        """Report failure. `result` has further keys of a result, such as `score`."""
        self._set_result("failure", evidence, result)

    def _set_result(self, status: Status, evidence: str, result: Mapping[str, Any]) -> None:
        observer: Observer | None = result.get("observed_by")
        if observer is not None and observer not in OBSERVERS:
            raise UsageError(f"observed_by {observer!r}: there are {', '.join(OBSERVERS)}")
        self._result = {**result, "status": status, "evidence": evidence}

    def outcome(self, at: datetime) -> dict[str, Any]:
        """Return the outcome to record if the decision ended at this time."""
        subject, reasoning = self.subject, "\n".join(self._reasons)
        decision = {
            "id": subject.id,
            "task": subject.task,
            "action": subject.action,
            "target": subject.target,
            "reasoning": reasoning,
            "reasoning_at": "before" if reasoning else None,
            "made_at": stamp(self._made_at),
        }
        source = {"agent": subject.agent, "session": subject.session}
        return {
            "domain": subject.domain,
            "occurred_at": stamp(at),
            "decision": transcripts.drop_empty(decision),
            "result": transcripts.drop_empty(self._result),
            "context": dict(subject.context),
            **({"applied": self._applied} if self._applied else {}),
            "source": transcripts.drop_empty(source),
        }

    def __repr__(self) -> str:
        names = ", ".join(skill.name for skill in self.skills) or "no skill"
        return f"<decision {self.id} in {self.subject.domain}: {self._result['status']}; {names}>"

    def _repr_html_(self) -> str:
        rows = [(skill.handle, skill.name, skill.badge, skill.how) for skill in self.skills]
        title = f"decision {self.id} in {self.subject.domain}: {self._result['status']}"
        return html_table(title, ("handle", "skill", "use", "given"), rows)


def subject_of(domain: str, task: str, **details: Any) -> DecisionSubject:
    """Return the subject of a decision. A missing id is created, a missing action is guessed."""
    values = {key: value for key, value in details.items() if value is not None}
    values.setdefault("id", f"d-{token_hex(_ID_BYTES)}")
    values.setdefault("action", action_of(task))
    return DecisionSubject(domain=domain, task=task, **values)


@contextmanager
def carry_out(
    decision: OpenDecision,
    record: Callable[[dict[str, Any], datetime], object],
    clock: Callable[[], datetime],
) -> Iterator[OpenDecision]:
    """Record the outcome of a decision at the end of the block. An exception is a failure.

    The exception is raised again, with a note if its outcome could not be recorded. An exception
    that ends the program (an interrupt, an exit) is not recorded.
    """
    if decision.answer.near_domain:
        raise UsageError(
            f"{decision.subject.domain}: no such domain; did you mean "
            f"{decision.answer.near_domain}?"
        )
    try:
        yield decision
    except Exception as error:
        decision.fail(f"{type(error).__name__}: {error}".rstrip(": "))
        try:
            record(decision.outcome(clock()), clock())
        except SkillvaultError as refusal:
            error.add_note(f"skillvault: the decision {decision.id} was not recorded: {refusal}")
        raise
    else:
        record(decision.outcome(clock()), clock())


# ── outcomes for the inbox ───────────────────────────────────────────────────────────


def outcome_file(outcome: Mapping[str, Any] | Outcome) -> tuple[str, bytes]:
    """Return (file name, bytes) of an outcome. Raise BadInputError if JSON cannot express it."""
    values = codec.outcome_values(outcome) if isinstance(outcome, Outcome) else dict(outcome)
    try:
        text = json.dumps(values, ensure_ascii=False, allow_nan=False, default=_as_text)
        return "outcome.json", text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInputError(
            f"the outcome contains what JSON cannot hold ({error}); use texts, finite numbers, "
            "true, false, lists and mappings",
            code="not-json",
        ) from None


def _as_text(value: object) -> str:
    """Convert a time or a path to text. Raise TypeError for any other value."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not a value of JSON")


def outcome_of_use(skill: str, domain: str, at: datetime, *, success: bool) -> dict[str, Any]:
    """Return the outcome of a task about which only the applied skill is known."""
    return {
        "domain": domain,
        "occurred_at": stamp(at),
        "decision": {"id": token_hex(_ID_BYTES), "action": "apply-skill", "target": skill},
        "result": {"status": "success" if success else "failure"},
        "applied": [skill],
    }


def outcome_of_failure(
    deed: str, reason: str, domain: str, at: datetime, *, remedy: str = ""
) -> dict[str, Any]:
    """Return the outcome of a deed that failed. The `remedy` worked instead."""
    action = action_of_deed(deed)
    decision = {"action": action, "target": target_of(deed, {}, action=action), "reasoning": deed}
    lesson = {"do": remedy, "evidence": reason}
    return {
        "domain": domain,
        "occurred_at": stamp(at),
        "decision": transcripts.drop_empty(decision),
        "result": {"status": "failure", "summary": reason, "observed_by": "person"},
        **({"lesson": lesson} if remedy else {}),
    }

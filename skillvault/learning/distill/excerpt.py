"""What of a session is distilled: its different failures, its successes cut to what shows most.

Whether that is enough for a skill is decided here, of one session alone.
"""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning.rejection import Rejection
from skillvault.model.policy import DistillPolicy
from skillvault.model.records import Session, SessionFailure, SkillKind
from skillvault.model.text.text import count_of

REASON = 80  # characters of a reason by which failures differ
LONG, HEAD, TAIL = 300, 200, 80  # characters of a success: from which on it is cut, and to what


class ExistingSessionSkill(Struct, frozen=True, kw_only=True):
    """What there is of a session's skill.

    `skill` was distilled of it, `merged` stands for that by now; `repeats` is another that says
    the same already. `rejection`: one was made and taken away. `is_over`: its time to live would
    be over by its domain's clock.
    """

    skill: str | None = None
    merged: str | None = None
    repeats: str | None = None
    rejection: Rejection | None = None
    is_over: bool = False


class SessionState(Struct, frozen=True):
    """Where a session stands with its skill, and why."""

    state: Literal["due", "done", "repeats", "rejected", "over", "too little"]
    reason: str


def unique_failures(failures: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """(lemma, reason) of each failure that differs from those before it.

    Two of one lemma whose reasons begin with the same 80 characters are one.
    """
    unique: dict[tuple[str, str], tuple[str, str]] = {}
    for lemma, reason in failures:
        unique.setdefault((lemma, reason[:REASON]), (lemma, reason))
    return list(unique.values())


def shorten_success(text: str) -> str:
    """A success: one of more than 300 characters is its first 200 and its last 80."""
    return text if len(text) <= LONG else f"{text[:HEAD].rstrip()} … {text[-TAIL:].lstrip()}"


def excerpt(session: Session, rules: DistillPolicy) -> Session:
    """The session cut to what is told of it."""
    return replace(
        session,
        failures=tuple(_different(session)[: rules.failures]),
        successes=tuple(
            replace(success, text=shorten_success(success.text))
            for success in session.successes[: rules.successes]
        ),
    )


def kind_of_session(session: Session) -> SkillKind:
    """A warning if nothing worked in it, else a pattern."""
    return "pattern" if session.successes else "warning"


def session_state(
    session: Session, present: ExistingSessionSkill, rules: DistillPolicy
) -> SessionState:
    """Whether a skill is due of a session; else why not."""
    if present.rejection:
        return SessionState("rejected", present.rejection.sentence)
    if present.skill:
        stand_in = f", which {present.merged} stands for" if present.merged else ""
        return SessionState("done", f"distilled {present.skill}{stand_in}")
    failures, successes = len(_different(session)), len(session.successes)
    if failures < rules.min_failures and successes < rules.min_successes:
        return SessionState(
            "too little",
            f"a session needs {rules.min_failures} different failures or {rules.min_successes} "
            f"successes; it has {count_of(failures, len(session.failures))} failures that differ "
            f"and {successes} success{'es' * (successes != 1)}",
        )
    if present.repeats:
        return SessionState("repeats", f"{present.repeats} says the same already")
    if present.is_over:
        return SessionState("over", "too old by the clock of its domain")
    return SessionState("due", f"{failures} failures that differ; `skillvault run`")


def _different(session: Session) -> list[SessionFailure]:
    """Its failures, each once."""
    first: dict[tuple[str, str], SessionFailure] = {}
    for failure in session.failures:
        first.setdefault((failure.lemma, failure.reason[:REASON]), failure)
    pairs = unique_failures((failure.lemma, failure.reason) for failure in session.failures)
    return [first[lemma, reason[:REASON]] for lemma, reason in pairs]

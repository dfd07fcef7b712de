"""A try: what one outcome says in one line, deed -> result. Values only."""

from typing import Literal

from msgspec import Struct

from skillvault.model.records import Status, Time, Trust

Adviser = Literal["person", "agent", "judge"]


class Advice(Struct, frozen=True, kw_only=True):
    """One sentence that says what should have been done; a supposed one has no evidence."""

    text: str
    by: Adviser
    supposed: bool = False


class Try(Struct, frozen=True, kw_only=True):
    """What an outcome's agent did, what came of it, and what is advised since.

    `deed` is "" where none is told, `answer` where none was given, `error` (the signature of what
    went wrong) unless it failed. `result` names its score. `insight`, `strengths` and `weaknesses`
    are a judge's that read the outcome. `grounds` are the states that the reasoning claims, quoted;
    `observed` their figures that the context or the result holds, too: no part of the deed.
    """

    id: str
    at: Time
    domain: str
    action: str
    target: str | None = None
    trust: Trust = "local"
    status: Status
    score: float | None = None
    deed: str = ""
    result: str = ""
    error: str = ""
    answer: str = ""
    advice: tuple[Advice, ...] = ()
    insight: str = ""
    strengths: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()
    grounds: tuple[str, ...] = ()
    observed: tuple[str, ...] = ()

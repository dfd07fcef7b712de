"""A try: one outcome as a line, with the agent's deed and its result."""

from typing import Literal

from msgspec import Struct

from skillvault.model.records import Status, Time

Adviser = Literal["person", "agent", "judge"]


class Advice(Struct, frozen=True, kw_only=True):
    """A sentence about a better action; `supposed` advice has no evidence."""

    text: str
    by: Adviser
    supposed: bool = False


class Try(Struct, frozen=True, kw_only=True):
    """The agent's action in an outcome (`deed`), its result, and later advice.

    `deed` and `answer` are "" if the outcome has none. `error` is the signature of a failure.
    `result` names the score. `insight`, `strengths` and `weaknesses` are a judge's words. `grounds`
    quotes the states that the reasoning claims; `observed` has the figures in `grounds` that the
    context or the result confirms, which are not part of the deed.
    """

    id: str
    at: Time
    target: str | None = None
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

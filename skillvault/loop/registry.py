"""The steps of the loop, in their order: all that is said of a step stands in its one entry.

A question asks for these facts and runs no step, so a step's module is imported when it runs.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import Any

from msgspec import Struct

from skillvault.learning import (
    account,
    answer,
    curate,
    distill,
    effect,
    evaluate,
    generate,
    merge,
    promote,
    recommend,
    refresh,
)
from skillvault.model.change import Change
from skillvault.model.due import Agenda, Queue


class Step(Struct, frozen=True, kw_only=True):
    """A step of the loop; both functions take a `Run`.

    `run` yields the changes that are due. `waiting` counts what waits for a step that the keys in
    its queues do not tell: files, an hour, a day's quota.
    `writes_skills`: it writes the text of skills. `moves`: it puts skills into archive/, or takes
    them out.
    `depends_on`: what makes it due. `everywhere`: every clone of a team does it, not the learner
    alone. `wakes` are earlier steps that have to look again once this one is done.
    """

    name: str
    run: Callable[..., Iterator[Change]]
    waiting: Callable[..., int] | None = None
    writes_skills: bool = False
    moves: bool = False
    depends_on: tuple[Queue, ...] = ()
    everywhere: bool = False
    wakes: tuple[str, ...] = ()


def lazy(place: str) -> Callable[..., Any]:
    """The function at `<module>:<name>` of this package, imported when it is first called."""

    def call(*values: Any, **options: Any) -> Any:
        return _at(place)(*values, **options)

    return call


@cache
def _at(place: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    function: Callable[..., Any] = attrgetter(name)(import_module(f"skillvault.{module}"))
    return function


_LOOP = (
    Step(
        name="record",
        run=lazy("loop.record:step"),
        waiting=lazy("loop.record:waiting"),
        everywhere=True,
    ),
    Step(
        name="evaluate",
        run=lazy("loop.evaluate:step"),
        waiting=lazy("loop.evaluate:waiting"),
        depends_on=evaluate.DEPENDS_ON,
    ),
    Step(
        name="answer",
        run=lazy("loop.answer:step"),
        writes_skills=True,
        depends_on=answer.DEPENDS_ON,
        everywhere=True,  # to keep one; what it changes is the learner's
    ),
    Step(
        name="promote",
        run=lazy("loop.promote:step"),
        writes_skills=True,
        depends_on=promote.DEPENDS_ON,
    ),
    Step(
        name="generate",
        run=lazy("loop.generate:step"),
        writes_skills=True,
        depends_on=generate.DEPENDS_ON,
    ),
    Step(
        name="distill",
        run=lazy("loop.distill:step"),
        writes_skills=True,
        depends_on=distill.DEPENDS_ON,
    ),
    Step(
        name="refresh",
        run=lazy("loop.refresh:step"),
        writes_skills=True,
        moves=True,
        depends_on=refresh.DEPENDS_ON,
    ),
    Step(
        name="merge",
        run=lazy("loop.merge:step"),
        writes_skills=True,
        moves=True,
        depends_on=merge.DEPENDS_ON,
        wakes=("generate", "refresh"),  # of what a merged skill stood for until it left
    ),
    Step(
        name="assess",
        run=lazy("loop.assess:step"),
        moves=True,
        depends_on=effect.DEPENDS_ON,
    ),
    Step(
        name="capture",
        run=lazy("loop.capture:step"),
        waiting=lazy("loop.capture:waiting"),
        writes_skills=True,  # the one that holds the patterns
        everywhere=True,  # the code bases stand beside each clone
    ),
    Step(
        name="expire", run=lazy("loop.expire:step"), waiting=lazy("loop.expire:waiting"), moves=True
    ),
)
# What a person takes back: the steps above then do again what rested on it, in the same commit.
RECOMPUTING = ("retract", "undo")
STEPS: Mapping[str, Step] = {step.name: step for step in _LOOP}

WRITERS = frozenset(name for name, step in STEPS.items() if step.writes_skills)
# What puts a skill into archive/ or takes it out again, a person's decisions included.
MOVERS = frozenset(name for name, step in STEPS.items() if step.moves) | curate.MOVERS

# What the index of a vault marks as due, and whose commits are no person's.
AGENDA = Agenda(
    (
        *(queue for step in _LOOP for queue in step.depends_on),
        account.COUNTED,
        *recommend.DEPENDS_ON,
    ),
    tuple(STEPS),
)

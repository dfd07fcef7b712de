"""The steps of the loop, in their order: all that is said of a step stands in its one entry.

A question asks for these facts and runs no step, so a step's module is imported when it runs.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

from msgspec import Struct

from skillvault.learning import (
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

    `run` yields the changes that are due, `waiting` counts what the step has to do: if there is
    none, the keys in its queues.
    `needs_published`: it begins once all that was done before it is published. `writes_skills`:
    it writes the text of skills. `moves`: it puts skills into archive/, or takes them out.
    `depends_on`: what makes it due. `everywhere`: every clone of a team does it, not the learner
    alone. `wakes` are earlier steps that have to look again once this one is done.
    """

    name: str
    run: Callable[..., Iterator[Change]]
    waiting: Callable[..., int] | None = None
    needs_published: bool = True
    writes_skills: bool = False
    moves: bool = False
    depends_on: tuple[Queue, ...] = ()
    everywhere: bool = False
    wakes: tuple[str, ...] = ()


def lazy(place: str) -> Callable[..., Any]:
    """The function at `<module>:<name>` in this folder, imported when it is first called."""
    module, _, name = place.partition(":")

    def call(*values: Any) -> Any:
        return getattr(import_module(f"skillvault.loop.{module}"), name)(*values)

    return call


_LOOP = (
    Step(
        name="record",
        run=lazy("record:step"),
        waiting=lazy("record:waiting"),
        everywhere=True,
    ),
    Step(
        name="evaluate",
        run=lazy("evaluate:step"),
        waiting=lazy("evaluate:waiting"),
        needs_published=False,  # a verdict needs its outcome alone
        depends_on=evaluate.DEPENDS_ON,
    ),
    Step(
        name="answer",
        run=lazy("answer:step"),
        needs_published=False,
        writes_skills=True,
        depends_on=answer.DEPENDS_ON,
        everywhere=True,  # to keep one; what it changes is the learner's
    ),
    Step(
        name="promote",
        run=lazy("promote:step"),
        waiting=lazy("promote:waiting"),
        writes_skills=True,
        depends_on=promote.DEPENDS_ON,
    ),
    Step(
        name="generate",
        run=lazy("generate:step"),
        waiting=lazy("generate:waiting"),
        writes_skills=True,
        depends_on=generate.DEPENDS_ON,
    ),
    Step(
        name="distill",
        run=lazy("distill:step"),
        waiting=lazy("distill:waiting"),
        writes_skills=True,
        depends_on=distill.DEPENDS_ON,
    ),
    Step(
        name="refresh",
        run=lazy("refresh:step"),
        waiting=lazy("refresh:waiting"),
        writes_skills=True,
        moves=True,
        depends_on=refresh.DEPENDS_ON,
    ),
    Step(
        name="merge",
        run=lazy("merge:step"),
        waiting=lazy("merge:waiting"),
        writes_skills=True,
        moves=True,
        depends_on=merge.DEPENDS_ON,
        wakes=("generate", "refresh"),  # of what a merged skill stood for until it left
    ),
    Step(
        name="assess",
        run=lazy("assess:step"),
        waiting=lazy("assess:waiting"),
        moves=True,
        depends_on=effect.DEPENDS_ON,
    ),
    Step(
        name="capture",
        run=lazy("capture:step"),
        waiting=lazy("capture:waiting"),
        writes_skills=True,  # the one that holds the patterns
        everywhere=True,  # the code bases stand beside each clone
    ),
    Step(name="expire", run=lazy("expire:step"), waiting=lazy("expire:waiting"), moves=True),
)
# What a person takes back: the steps above then do again what rested on it, in the same commit.
RECOMPUTING = ("retract", "undo")
STEPS: Mapping[str, Step] = {step.name: step for step in _LOOP}

WRITERS = frozenset(name for name, step in STEPS.items() if step.writes_skills)
# What puts a skill into archive/ or takes it out again, a person's decisions included.
MOVERS = frozenset(name for name, step in STEPS.items() if step.moves) | curate.MOVERS

# What the index of a vault marks as due, and whose commits are no person's.
AGENDA = Agenda(
    (*(queue for step in _LOOP for queue in step.depends_on), *recommend.DEPENDS_ON), tuple(STEPS)
)

"""The steps of the loop, in order. To add a step, add an entry to `_LOOP`.

Most modules need only the entries, so the module of a step is imported when the step runs.
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
    propose,
    recommend,
    refresh,
)
from skillvault.model.change import Change
from skillvault.model.due import Agenda, Queue


class Step(Struct, frozen=True):
    """A step of the loop; both functions take a `Run`.

    `run` yields the changes that are due. `waiting` counts due work that no queue holds, such as
    new files in the inbox. `writes_skills`: the step writes texts of skills. `moves`: it moves
    skills into archive/ or back. `everywhere`: every clone of a team runs it, not only the learner.
    `depends_on` are the queues that make it due, `wakes` the earlier steps that run again after it.
    """

    name: str
    run: Callable[..., Iterator[Change]]
    waiting: Callable[..., int] | None = None
    writes_skills: bool = False
    moves: bool = False
    depends_on: tuple[Queue, ...] = ()
    everywhere: bool = False
    wakes: tuple[str, ...] = ()


def lazy(target: str) -> Callable[..., Any]:
    """Return the function `<module>:<function>` of this package, imported at its first call."""

    @cache
    def load_function() -> Callable[..., Any]:
        module, _, name = target.partition(":")
        function: Callable[..., Any] = attrgetter(name)(import_module(f"skillvault.{module}"))
        return function

    def call(*values: Any, **options: Any) -> Any:
        return load_function()(*values, **options)

    return call


_LOOP = (
    Step("follow", lazy("loop.follow:step"), depends_on=curate.DEPENDS_ON, everywhere=True),
    Step("record", lazy("loop.record:step"), lazy("loop.record:waiting"), everywhere=True),
    Step("propose", lazy("loop.propose:step"), depends_on=propose.DEPENDS_ON),
    Step(
        "evaluate",
        lazy("loop.evaluate:step"),
        lazy("loop.evaluate:waiting"),
        depends_on=evaluate.DEPENDS_ON,
    ),
    Step(
        "answer",
        lazy("loop.answer:step"),
        writes_skills=True,
        depends_on=answer.DEPENDS_ON,
        everywhere=True,  # it keeps the answers; their effects are the learner's
    ),
    Step("promote", lazy("loop.promote:step"), writes_skills=True, depends_on=promote.DEPENDS_ON),
    Step(
        "generate", lazy("loop.generate:step"), writes_skills=True, depends_on=generate.DEPENDS_ON
    ),
    Step("distill", lazy("loop.distill:step"), writes_skills=True, depends_on=distill.DEPENDS_ON),
    Step(
        "refresh",
        lazy("loop.refresh:step"),
        writes_skills=True,
        moves=True,
        depends_on=refresh.DEPENDS_ON,
    ),
    Step(
        "merge",
        lazy("loop.merge:step"),
        writes_skills=True,
        moves=True,
        depends_on=merge.DEPENDS_ON,
        wakes=("generate", "refresh"),  # a merged skill no longer stands for its outcomes
    ),
    Step("assess", lazy("loop.assess:step"), moves=True, depends_on=effect.DEPENDS_ON),
    Step(
        "capture",
        lazy("loop.capture:step"),
        lazy("loop.capture:waiting"),
        writes_skills=True,  # the one with the patterns
        everywhere=True,  # each clone has code bases beside it
    ),
    Step("expire", lazy("loop.expire:step"), lazy("loop.expire:waiting"), moves=True),
)
# The decisions after which the steps above compute again what rested on the removed records.
RECOMPUTING = ("retract", "undo")
STEPS: Mapping[str, Step] = {step.name: step for step in _LOOP}

WRITERS = frozenset(name for name, step in STEPS.items() if step.writes_skills)
# The steps and decisions that move a skill into archive/ or back.
MOVERS = frozenset(name for name, step in STEPS.items() if step.moves) | curate.MOVERS

# The queues of the index, and the steps whose commits no person makes.
AGENDA = Agenda(
    (
        *(queue for step in _LOOP for queue in step.depends_on),
        account.COUNTED,
        *recommend.DEPENDS_ON,
    ),
    tuple(STEPS),
)

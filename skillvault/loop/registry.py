"""The steps of the loop in order, and for each step the changes of records that make it due.

To add a step, add an entry to `_LOOP`; CONTRIBUTING.md shows how. To run a step after another kind
of change, add a trigger to its queue. `lazy` imports the module of a step when the step runs.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import Any

from msgspec import Struct

from skillvault.learning import curate
from skillvault.learning.naming import GENERAL_PREFIX
from skillvault.model.change import Change
from skillvault.model.due import (
    Agenda,
    DomainRecords,
    IdPrefix,
    LinkClosure,
    LinkedRecords,
    LinkSource,
    LinkTarget,
    Predecessor,
    Queue,
    QuotingOutcomes,
    Referrers,
    RelatedOutcomes,
    SimilarEvaluations,
    Trigger,
    UsedSkills,
    UsingOutcomes,
)
from skillvault.model.records import LINK_TYPES

# ── what makes a step due ────────────────────────────────────────────────────────────

# All outcomes of the skills that a record supports, whatever their action is.
_SKILL_OUTCOMES = (LinkedRecords("skill"), Referrers("evaluation"))
# Changes after which the statements about an action or a subject may differ.
_STATEMENT_CHANGES = (
    Trigger("outcome"),
    Trigger("evaluation"),
    Trigger("outcome", "gone", along=(RelatedOutcomes("action"),)),
    Trigger("outcome", "gone", along=_SKILL_OUTCOMES),
    Trigger("evaluation", "gone", along=_SKILL_OUTCOMES),
    Trigger("outcome", "went", along=(RelatedOutcomes("clock"),)),  # an expiry may be undone
    Trigger("recommendation", along=(RelatedOutcomes("decision"),)),
)
# Outcomes that their account has not counted yet.
COUNTED = Queue(name="account", every="outcome", when=_STATEMENT_CHANGES)
# Changes after which another skill may have the statements.
_SKILL_CHANGES = (
    *_STATEMENT_CHANGES,
    Trigger("outcome", along=(RelatedOutcomes("repaired"),)),
    Trigger("outcome", "gone", along=(RelatedOutcomes("repaired"),)),
    Trigger("correction", along=(QuotingOutcomes(),)),  # it may withdraw a quoted rule
    Trigger("correction", "gone", along=(QuotingOutcomes(),)),
    Trigger("skill", "moved", along=(LinkClosure("merged"), Referrers("evaluation", "generated"))),
)
# A skill that was left out because it repeats a rejected one.
_SKILL_READMITTED = Trigger("skill", "readmitted", along=(DomainRecords("outcome"),))

GENERAL = "general"  # the queue of facts that may hold in every domain
CONSOLIDATE = "consolidate"  # the queue of facts that may recur in their domain
RECOUNT = "recount"  # the queue of facts with new runs that support or contradict them
_WEIGHED_LINK_TYPES = ("promoted", "reinforced", "contradicted")
_COUNTED_LINK_TYPES = ("reinforced", "contradicted")
_OTHER_LINK_TYPES = tuple(name for name in LINK_TYPES if name not in _COUNTED_LINK_TYPES)
_RUN_CHANGES = (Trigger("link", types=_COUNTED_LINK_TYPES, along=(LinkTarget("fact"),)),)
_RECURRENCE_CHANGES = (
    Trigger("fact"),
    Trigger("fact", along=(Predecessor(),)),
    Trigger("link", types=_OTHER_LINK_TYPES, along=(LinkSource("fact"),)),
    Trigger("link", types=_OTHER_LINK_TYPES, along=(LinkTarget("fact"),)),
    Trigger("link", "gone", types=_COUNTED_LINK_TYPES, along=(LinkTarget("fact"),)),
    Trigger("skill", "readmitted", along=(DomainRecords("fact"),)),
    # Fewer runs support the fact.
    Trigger("outcome", "gone", along=(LinkedRecords("fact"),)),
)
# If a run is removed, another run may be the only one with its claim, or lose its opponent.
_CLAIM_CHANGES = tuple(
    Trigger(kind, "gone", along=(SimilarEvaluations(of),))
    for kind in ("evaluation", "outcome")
    for of in ("words", "grounds")
)
_PROMOTE_QUEUES = (
    Queue(
        name="promote",
        every="outcome",
        when=(
            Trigger("outcome"),
            Trigger("evaluation"),
            Trigger(
                "link", types=_WEIGHED_LINK_TYPES, along=(LinkSource("evaluation", to="fact"),)
            ),
            Trigger("fact", along=(Referrers("evaluation"),)),
            *_CLAIM_CHANGES,
        ),
    ),
    Queue(
        name=CONSOLIDATE,
        every="fact",
        when=(
            *_RECURRENCE_CHANGES,
            Trigger("skill", along=(Referrers("fact", "derived", first=True),)),
        ),
    ),
    Queue(name=RECOUNT, every=None, when=_RUN_CHANGES),
    Queue(
        name=GENERAL,
        every="fact",
        when=(
            *_RECURRENCE_CHANGES,
            *_RUN_CHANGES,
            Trigger("skill", along=(IdPrefix(GENERAL_PREFIX), Referrers("fact", "derived"))),
        ),
    ),
)

SESSIONS = "sessions"  # the queue of domains whose session skills may repeat each other
_SESSION_LINK = Trigger("link", types=("distilled", "reinforced"), along=(LinkSource("session"),))
_SESSION_READMITTED = Trigger("skill", "readmitted", along=(DomainRecords("session"),))
_SESSIONS_OF_SKILL = Referrers("session", "distilled")
_DISTILL_QUEUE = Queue(
    name="distill",
    every="session",
    when=(
        Trigger("session"),
        _SESSION_LINK,
        Trigger("skill", "moved", along=(_SESSIONS_OF_SKILL,)),
        _SESSION_READMITTED,
    ),
)
_MERGED_SKILLS = LinkClosure("merged")
_MERGE_QUEUES = (
    Queue(
        name="merge",
        every="outcome",
        when=(
            *_STATEMENT_CHANGES,
            _SKILL_READMITTED,
            Trigger("skill", "moved", along=(_MERGED_SKILLS, Referrers("evaluation"))),
        ),
    ),
    Queue(
        name=SESSIONS,
        every="session",
        key=("domain",),
        when=(
            _SESSION_LINK,
            Trigger("skill", "moved", along=(_MERGED_SKILLS, _SESSIONS_OF_SKILL)),
            _SESSION_READMITTED,
        ),
    ),
)

USES = "use"  # the queue of outcomes in which to detect uses of skills
NAMES = "name"  # the queue of skills with a new name, or with a name that no skill has any more
VERSIONS = "version"  # the queue of skills whose texts a person may have rewritten
COUNTS = "count"  # the queue of skills whose uses must be counted
LIFTS = "lift"  # the queue of (domain, time) of changed decisions, which may be in the sums
_ASSESS_QUEUES = (
    Queue(
        name=USES,
        every="outcome",
        rules=3,  # raise it when `detect` changes, so that all outcomes are read again
        when=(
            Trigger("outcome"),
            # Of several outcomes of a decision, the last one counts.
            Trigger("outcome", along=(RelatedOutcomes("decision"),)),
            Trigger("recommendation", along=(RelatedOutcomes("decision"),)),
        ),
    ),
    Queue(name=NAMES, every=None, when=(Trigger("skill", "moved"), Trigger("skill", "beside"))),
    Queue(
        name=VERSIONS,
        every=None,
        when=(Trigger("skill", "committed"), Trigger("skill", "moved")),  # a move begins a trial
    ),
    Queue(
        name=COUNTS,
        every="use",
        rules=2,
        when=(
            Trigger("skill", "moved", along=(UsedSkills(),)),
            Trigger("skill", "rewritten", along=(UsedSkills(),)),
            Trigger("outcome", "used", along=(UsedSkills(),)),
            Trigger("link", types=("merged",), along=(LinkSource("skill"),)),
            Trigger("link", types=("merged",), along=(LinkTarget("skill"),)),
        ),
    ),
    Queue(
        name=LIFTS,
        every="outcome",
        key=("domain", "at"),
        when=(
            Trigger("outcome"),
            Trigger("outcome", "used"),
            Trigger("skill", "moved", along=(UsingOutcomes(),)),
            Trigger("skill", "rewritten", along=(UsingOutcomes(),)),
            Trigger("link", types=("merged",), along=(LinkSource("skill"), UsingOutcomes())),
        ),
    ),
)

TASKS = "task"  # the queue of skills that other tasks may find now
_TASK_QUEUE = Queue(
    name=TASKS,
    every="skill",
    when=(
        Trigger("outcome", along=(LinkedRecords("skill"),)),
        Trigger("outcome", "used", along=(UsedSkills(),)),
        Trigger("recommendation", along=(RelatedOutcomes("decision"), LinkedRecords("skill"))),
        Trigger("recommendation", along=(RelatedOutcomes("decision"), UsedSkills())),
        Trigger("link", along=(LinkTarget("skill"), LinkedRecords("skill"))),
        Trigger("link", along=(LinkTarget("fact"), LinkedRecords("skill"))),
        Trigger("skill", "moved"),
        Trigger("skill", "beside"),
    ),
)


# ── the steps ────────────────────────────────────────────────────────────────────────


class Step(Struct, frozen=True):
    """A step of the loop. Both functions take a `Run`.

    `run` yields the changes that are due. `queues` make the step due. `count_work` counts due work
    that no queue lists, such as new files in the inbox. `moves_skills` is true if the step moves
    skills into archive/ or back, `runs_everywhere` if each clone of a team runs it, not only the
    learner. `woken_steps` are earlier steps that run again after it.
    """

    name: str
    run: Callable[..., Iterator[Change]]
    count_work: Callable[..., int] | None = None
    writes_skills: bool = False
    moves_skills: bool = False
    queues: tuple[Queue, ...] = ()
    runs_everywhere: bool = False
    woken_steps: tuple[str, ...] = ()


def lazy(target: str) -> Callable[..., Any]:
    """Return a function that imports and calls `<module>:<function>` of this package."""

    @cache
    def load_function() -> Callable[..., Any]:
        module, _, name = target.partition(":")
        function: Callable[..., Any] = attrgetter(name)(import_module(f"skillvault.{module}"))
        return function

    def call(*values: Any, **options: Any) -> Any:
        return load_function()(*values, **options)

    return call


_LOOP = (
    Step(
        "follow",
        lazy("loop.follow:step"),
        queues=(Queue(name=curate.FOLLOW, every="skill", when=(Trigger("skill", "committed"),)),),
    ),
    Step("record", lazy("loop.record:step"), lazy("loop.record:count_work"), runs_everywhere=True),
    Step(
        "propose",
        lazy("loop.propose:step"),
        queues=(Queue(name="propose", every="outcome", when=(Trigger("outcome"),)),),
    ),
    Step(
        "evaluate",
        lazy("loop.evaluate:step"),
        lazy("loop.evaluate:count_work"),
        queues=(
            Queue(
                name="evaluate",
                every="outcome",
                without="evaluation",
                when=(Trigger("outcome"), Trigger("evaluation")),
            ),
        ),
    ),
    Step(
        "answer",
        lazy("loop.answer:step"),
        writes_skills=True,
        queues=(Queue(name="answer", every="answer", when=(Trigger("answer"),)),),
        runs_everywhere=True,  # each clone stores its answers; only the learner uses them
    ),
    Step("promote", lazy("loop.promote:step"), writes_skills=True, queues=_PROMOTE_QUEUES),
    Step(
        "generate",
        lazy("loop.generate:step"),
        writes_skills=True,
        queues=(
            Queue(name="generate", every="outcome", when=(*_SKILL_CHANGES, _SKILL_READMITTED)),
        ),
    ),
    Step("distill", lazy("loop.distill:step"), writes_skills=True, queues=(_DISTILL_QUEUE,)),
    Step(
        "refresh",
        lazy("loop.refresh:step"),
        writes_skills=True,
        moves_skills=True,
        queues=(Queue(name="refresh", every="outcome", when=_SKILL_CHANGES),),
    ),
    Step(
        "merge",
        lazy("loop.merge:step"),
        writes_skills=True,
        moves_skills=True,
        queues=_MERGE_QUEUES,
        woken_steps=("generate", "refresh"),  # outcomes of a merged skill may need another
    ),
    Step("assess", lazy("loop.assess:step"), moves_skills=True, queues=_ASSESS_QUEUES),
    Step(
        "capture",
        lazy("loop.capture:step"),
        lazy("loop.capture:count_work"),
        writes_skills=True,  # the skill with the patterns
        runs_everywhere=True,  # each clone has other code bases
    ),
    Step("expire", lazy("loop.expire:step"), lazy("loop.expire:count_work"), moves_skills=True),
)
# Decisions that remove records, after which the steps compute again what rested on these records.
RECOMPUTING = ("retract", "undo")
STEPS: Mapping[str, Step] = {step.name: step for step in _LOOP}

WRITERS = frozenset(name for name, step in STEPS.items() if step.writes_skills)
# The steps and decisions that move a skill into archive/ or back.
MOVERS = frozenset(name for name, step in STEPS.items() if step.moves_skills) | curate.MOVING_STEPS

# The queues of the index, and the steps whose commits no person makes.
AGENDA = Agenda(
    (*(queue for step in _LOOP for queue in step.queues), COUNTED, _TASK_QUEUE), tuple(STEPS)
)

"""The steps of the loop in order, and the queues that make each step due. Add a step to `_LOOP`.

Most modules need only the entries, so the module of a step is imported when the step runs.
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

# The outcomes of any skill that a record supports, whatever their action.
_SKILL_OUTCOMES = (LinkedRecords("skill"), Referrers("evaluation"))
# Changes after which the statements about an action or a subject may differ.
_STATEMENT_CHANGES = (
    Trigger("outcome"),
    Trigger("evaluation"),
    Trigger("outcome", "gone", along=(RelatedOutcomes("action"),)),
    Trigger("outcome", "gone", along=_SKILL_OUTCOMES),
    Trigger("evaluation", "gone", along=_SKILL_OUTCOMES),
    Trigger("outcome", "went", along=(RelatedOutcomes("clock"),)),  # what had expired may not have
    Trigger("recommendation", along=(RelatedOutcomes("decision"),)),
)
# Outcomes that the reading position of their accounts must count.
COUNTED = Queue(name="account", every="outcome", when=_STATEMENT_CHANGES)
# Changes after which the statements may have another skill.
_SKILL_CHANGES = (
    *_STATEMENT_CHANGES,
    Trigger("outcome", along=(RelatedOutcomes("repaired"),)),
    Trigger("outcome", "gone", along=(RelatedOutcomes("repaired"),)),
    Trigger("correction", along=(QuotingOutcomes(),)),  # it may withdraw what they quote
    Trigger("correction", "gone", along=(QuotingOutcomes(),)),
    Trigger("skill", "moved", along=(LinkClosure("merged"), Referrers("evaluation", "generated"))),
)
# A skill that was left out because it repeats a rejected one.
_SKILL_READMITTED = Trigger("skill", "readmitted", along=(DomainRecords("outcome"),))

GENERAL = "general"  # the queue of facts that may hold in every domain
CONSOLIDATE = "consolidate"  # the queue of facts that may recur in their domain
RECOUNT = "recount"  # the queue of facts whose runs for or against them changed
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
    # A run less, or one that counts no more.
    Trigger("outcome", "gone", along=(LinkedRecords("fact"),)),
)
# Without a run, other runs may be alone with their claim, or without an opponent.
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

SESSIONS = "sessions"  # the queue of domains whose session skills may say the same
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

USES = "use"  # outcomes whose use of skills is to be detected
NAMES = "name"  # skills that outcomes may name now, or name in vain
VERSIONS = "version"  # skills whose texts a person may have rewritten
COUNTS = "count"  # skills whose uses are to be counted
LIFTS = "lift"  # when in a domain something happened that its sums may hold
_ASSESS_QUEUES = (
    Queue(
        name=USES,
        every="outcome",
        rules=3,  # a plain statement is a use, a figure may be against it
        when=(
            Trigger("outcome"),
            # Of a decision the last outcome counts.
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
        rules=2,  # the commits that brought the uses are counted
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

TASKS = "task"  # skills that may be found by other tasks now
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
    """A step of the loop; both functions take a `Run`.

    `run` yields the changes that are due. `waiting` counts due work that no queue holds, such as
    new files in the inbox. `writes_skills`: the step writes texts of skills. `moves`: the step
    moves skills into archive/ or back. `everywhere`: every clone of a team runs it, not only the
    learner. `depends_on` are the queues that make it due. `wakes` are the earlier steps that run
    again after it.
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
    """Return a function (`<module>:<function>` of this package), imported at its first call."""

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
        depends_on=(
            Queue(name=curate.FOLLOW, every="skill", when=(Trigger("skill", "committed"),)),
        ),
    ),
    Step("record", lazy("loop.record:step"), lazy("loop.record:waiting"), everywhere=True),
    Step(
        "propose",
        lazy("loop.propose:step"),
        depends_on=(Queue(name="propose", every="outcome", when=(Trigger("outcome"),)),),
    ),
    Step(
        "evaluate",
        lazy("loop.evaluate:step"),
        lazy("loop.evaluate:waiting"),
        depends_on=(
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
        depends_on=(Queue(name="answer", every="answer", when=(Trigger("answer"),)),),
        everywhere=True,  # it keeps the answers; their effects are the learner's
    ),
    Step("promote", lazy("loop.promote:step"), writes_skills=True, depends_on=_PROMOTE_QUEUES),
    Step(
        "generate",
        lazy("loop.generate:step"),
        writes_skills=True,
        depends_on=(
            Queue(name="generate", every="outcome", when=(*_SKILL_CHANGES, _SKILL_READMITTED)),
        ),
    ),
    Step("distill", lazy("loop.distill:step"), writes_skills=True, depends_on=(_DISTILL_QUEUE,)),
    Step(
        "refresh",
        lazy("loop.refresh:step"),
        writes_skills=True,
        moves=True,
        depends_on=(Queue(name="refresh", every="outcome", when=_SKILL_CHANGES),),
    ),
    Step(
        "merge",
        lazy("loop.merge:step"),
        writes_skills=True,
        moves=True,
        depends_on=_MERGE_QUEUES,
        wakes=("generate", "refresh"),  # a merged skill no longer stands for its outcomes
    ),
    Step("assess", lazy("loop.assess:step"), moves=True, depends_on=_ASSESS_QUEUES),
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
MOVERS = frozenset(name for name, step in STEPS.items() if step.moves) | curate.MOVING_STEPS

# The queues of the index, and the steps whose commits no person makes.
AGENDA = Agenda(
    (*(queue for step in _LOOP for queue in step.depends_on), COUNTED, _TASK_QUEUE), tuple(STEPS)
)

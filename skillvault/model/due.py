"""The events and relations by which a rule declares when its step is due.

A step looks only at what stands in its queues. A `Trigger` names an event of one kind of record,
and the relations that lead from there to what is due. The vault's index evaluates these values.
"""

from typing import Literal

from msgspec import Struct

Kind = Literal[
    "outcome", "evaluation", "fact", "skill", "link", "recommendation", "session", "answer"
]
Event = Literal[
    "changed",  # its file was added, changed or removed
    "moved",  # it was added, removed or moved to another folder
    "gone",  # it was removed or changed; its earlier relations count
    "went",  # its file was removed; its earlier relations count
    "used",  # the skills that an outcome used were detected again
    "rewritten",  # a skill has a new text since an unknown time
    "committed",  # a person's commit touched it
    "beside",  # it was added or removed in a layer outside the vault
    "readmitted",  # it returned after its removal or rejection
]


class LinkSource(Struct, frozen=True):
    """Link -> its source of this kind; with `to`, only links to a record of that kind."""

    kind: Kind
    to: Kind | None = None


class LinkTarget(Struct, frozen=True):
    """Link -> its target of this kind."""

    kind: Kind


class Referrers(Struct, frozen=True):
    """Record -> the records of a kind with a link to it, of any type or of this one.

    `first`: only the one with the first id.
    """

    kind: Kind
    type: str | None = None
    first: bool = False


class LinkClosure(Struct, frozen=True):
    """Record -> itself and all that reach it by links of this type."""

    type: str


class RelatedOutcomes(Struct, frozen=True):
    """Outcome or recommendation -> the outcomes of its decision or of its action.

    `clock`: the outcomes of its domain, if it was the latest of them.
    """

    of: Literal["decision", "action", "clock"]


class UsedSkills(Struct, frozen=True):
    """Skill -> itself if any outcome used it. Outcome -> the skills that it used."""


class DomainRecords(Struct, frozen=True):
    """Skill -> the records of a kind in its domain; all, if it has no domain or was removed."""

    kind: Literal["outcome", "fact", "session"]


class UsingOutcomes(Struct, frozen=True):
    """Skill -> the outcomes that used it."""


class LinkedRecords(Struct, frozen=True):
    """Record -> itself and the records of a kind that links reach from it.

    An outcome is represented by its evaluation; contradicting links lead to facts only.
    """

    kind: Kind


class IdPrefix(Struct, frozen=True):
    """A relation from a record to itself, if its id begins with this text."""

    text: str


class Predecessor(Struct, frozen=True):
    """Fact -> the fact that it supersedes."""


class SimilarEvaluations(Struct, frozen=True):
    """Evaluation or outcome -> evaluations that may say the same or the opposite.

    `grounds`: those whose reasoning claims the same.
    """

    of: Literal["words", "grounds"]


Relation = (
    LinkSource | LinkTarget | Referrers | LinkClosure | RelatedOutcomes | DomainRecords | UsedSkills
    | UsingOutcomes | LinkedRecords | Predecessor | SimilarEvaluations | IdPrefix
)  # fmt: skip


class Trigger(Struct, frozen=True):
    """An event of a record, and the relations from it to the records that become due.

    `types`: only links of these types, or skills of these kinds.
    """

    kind: Kind
    event: Event = "changed"
    along: tuple[Relation, ...] = ()
    types: tuple[str, ...] = ()


class Queue(Struct, frozen=True, kw_only=True):
    """The records that a step must process, as keys.

    A key joins these fields of a due record by spaces; an evaluation has its outcome's id. `every`
    is the kind of which all records are due at first (`use`: every used skill). A record is never
    due if there is one of kind `without` with its id. `rules` is a version: raise it if the rules
    change, so that all records become due.
    """

    name: str
    when: tuple[Trigger, ...]
    every: Literal["outcome", "fact", "session", "skill", "use", "answer"] | None
    key: tuple[Literal["id", "domain", "trust", "at"], ...] = ("id",)
    without: Kind | None = None
    rules: int = 1


class Agenda(Struct, frozen=True):
    """All queues; a commit of one of these steps is the program's own."""

    queues: tuple[Queue, ...] = ()
    steps: tuple[str, ...] = ()

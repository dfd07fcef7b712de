"""The vocabulary in which a rule declares what makes its step due.

A step looks only at what stands in its queues. A `Trigger` names an event of one kind of record,
and the relations that lead from there to what is due. The vault's index evaluates these values.
"""

from typing import Literal

from msgspec import Struct

Kind = Literal[
    "outcome", "evaluation", "fact", "skill", "link", "recommendation", "session", "answer"
]
Event = Literal[
    "changed",  # its file came, changed or went
    "moved",  # it came, went, or stands in another folder
    "gone",  # it went or changed; what led from it until then counts
    "went",  # its file went; what led from it until then counts
    "used",  # which skills an outcome used was detected anew
    "rewritten",  # a skill has had another text since a time that was not known
    "committed",  # a commit that is not the program's touches it
    "beside",  # it came or went in a layer beside the vault
    "readmitted",  # it was taken away and is back, or its rejection was taken back
]


class LinkSource(Struct, frozen=True):
    """From a link to the record of this kind that it comes from.

    `to`: only of links that point to a record of this kind.
    """

    kind: Kind
    to: Kind | None = None


class LinkTarget(Struct, frozen=True):
    """From a link to the record of this kind that it points to."""

    kind: Kind


class Referrers(Struct, frozen=True):
    """From a record to those of a kind with a link to it, of any type or of this one.

    `first`: only to the one whose id comes first.
    """

    kind: Kind
    type: str | None = None
    first: bool = False


class LinkClosure(Struct, frozen=True):
    """A record and those with a link of this type to it, and so on from each of them."""

    type: str


class RelatedOutcomes(Struct, frozen=True):
    """From an outcome or a recommendation to the outcomes of its decision, or of its action.

    `clock`: to those of its domain, if none there ended later so that its clock goes back.
    """

    of: Literal["decision", "action", "clock"]


class UsedSkills(Struct, frozen=True):
    """From a skill to itself if any outcome used it; from an outcome to the skills it used."""


class DomainRecords(Struct, frozen=True):
    """From a skill to the records of this kind in its domain; of none, or if it is gone, to all."""

    kind: Literal["outcome", "fact", "session"]


class UsingOutcomes(Struct, frozen=True):
    """From a skill to the outcomes that used it."""


class LinkedRecords(Struct, frozen=True):
    """From a record to those of a kind that links lead to from it, step by step, itself included.

    An outcome goes by its evaluation; links that contradict lead to facts alone.
    """

    kind: Kind


class IdPrefix(Struct, frozen=True):
    """From a record to itself if its id begins so."""

    text: str


class Predecessor(Struct, frozen=True):
    """From a fact to the one in whose place it stands."""


class SimilarEvaluations(Struct, frozen=True):
    """From an evaluation or its outcome to those that may say the same or the opposite.

    `grounds`: to those whose reasoning states what theirs does.
    """

    of: Literal["words", "grounds"]


Relation = (
    LinkSource | LinkTarget | Referrers | LinkClosure | RelatedOutcomes | DomainRecords | UsedSkills
    | UsingOutcomes | LinkedRecords | Predecessor | SimilarEvaluations | IdPrefix
)  # fmt: skip


class Trigger(Struct, frozen=True):
    """What happens to a record, and along which relations from it something is due.

    `types`: only links of these types, or skills of these kinds.
    """

    kind: Kind
    event: Event = "changed"
    along: tuple[Relation, ...] = ()
    types: tuple[str, ...] = ()


class Queue(Struct, frozen=True, kw_only=True):
    """What a step has to look at, as keys.

    A key is made of these fields of the record that is due, a space between them; an evaluation
    goes by its outcome's id. `every`: the kind of record of which all are due when nothing is
    known; None for none, `use` for every skill that an outcome used. `without`: what has a
    record of this kind under the same id is never due. `rules`: raised when the same record comes
    to something else than before, so that all are looked at again.
    """

    name: str
    when: tuple[Trigger, ...]
    every: Literal["outcome", "fact", "session", "skill", "use", "answer"] | None
    key: tuple[Literal["id", "domain", "trust", "at"], ...] = ("id",)
    without: Kind | None = None
    rules: int = 1


class Agenda(Struct, frozen=True):
    """All queues of a program; a commit of one of these steps is the program's own."""

    queues: tuple[Queue, ...] = ()
    steps: tuple[str, ...] = ()

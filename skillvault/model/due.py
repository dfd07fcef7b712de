"""Declare which records a step must process, with events and relations.

A step processes only the records in its queues. A `Trigger` names an event of a record, and the
relations from that record to the due ones. `vault.index.queues` evaluates both.
"""

from typing import Literal

from msgspec import Struct

Kind = Literal[
    "outcome", "evaluation", "fact", "skill", "link", "recommendation", "session", "answer",
    "correction",
]  # fmt: skip
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
    """A relation from a link to its source of this kind.

    With `to`, only links to a target of that kind count.
    """

    kind: Kind
    to: Kind | None = None


class LinkTarget(Struct, frozen=True):
    """A relation from a link to its target of this kind."""

    kind: Kind


class Referrers(Struct, frozen=True):
    """A relation from a record to the records of a kind that link to it.

    `type` restricts the links. With `first`, only the record with the first id counts.
    """

    kind: Kind
    type: str | None = None
    first: bool = False


class LinkClosure(Struct, frozen=True):
    """A relation from a record to itself and all records that reach it through links of a type."""

    type: str


class RelatedOutcomes(Struct, frozen=True):
    """A relation from an outcome or recommendation to the outcomes of its decision or action.

    With `repaired`, it leads to the outcome before it in its session. With `clock`, it leads to all
    outcomes of the domain if this was the latest outcome.
    """

    of: Literal["decision", "action", "repaired", "clock"]


class UsedSkills(Struct, frozen=True):
    """A relation from an outcome to the skills that it used, and from a used skill to itself."""


class DomainRecords(Struct, frozen=True):
    """A relation from a skill to the records of a kind in its domain.

    A skill without a domain, or a removed one, leads to all records of the kind.
    """

    kind: Literal["outcome", "fact", "session"]


class UsingOutcomes(Struct, frozen=True):
    """A relation from a skill to the outcomes that used it."""


class LinkedRecords(Struct, frozen=True):
    """A relation from a changed record to the records of a kind that it links to.

    An outcome has the links of its evaluation. The relation includes the record itself. The targets
    of `contradicted` links count only if they are facts.
    """

    kind: Kind


class QuotingOutcomes(Struct, frozen=True):
    """A relation from a correction to its repository's outcomes that quote next words."""


class IdPrefix(Struct, frozen=True):
    """A relation from a record to itself if its id begins with `text`."""

    text: str


class Predecessor(Struct, frozen=True):
    """A relation from a fact to the fact that it supersedes."""


class SimilarEvaluations(Struct, frozen=True):
    """A relation from an evaluation or outcome to evaluations that may agree or disagree.

    With `grounds`, it leads to evaluations whose reasoning claims the same.
    """

    of: Literal["words", "grounds"]


Relation = (
    LinkSource | LinkTarget | Referrers | LinkClosure | RelatedOutcomes | DomainRecords | UsedSkills
    | UsingOutcomes | LinkedRecords | Predecessor | SimilarEvaluations | IdPrefix
    | QuotingOutcomes
)  # fmt: skip


class Trigger(Struct, frozen=True):
    """An event of a record, and the relations from the record to the records that become due.

    With `types`, only links of these types or skills of these kinds count.
    """

    kind: Kind
    event: Event = "changed"
    along: tuple[Relation, ...] = ()
    types: tuple[str, ...] = ()


class Queue(Struct, frozen=True, kw_only=True):
    """The records that a step must process, as keys.

    A key joins the named fields of a due record with spaces; an evaluation has the id of its
    outcome. At first all records of the kind `every` are due (`use`: every used skill). A record is
    never due if a record of kind `without` has the same id. `rules` is a version: raise it when the
    rules of the step change, and all records become due.
    """

    name: str
    when: tuple[Trigger, ...]
    every: Literal["outcome", "fact", "session", "skill", "use", "answer"] | None
    key: tuple[Literal["id", "domain", "trust", "at"], ...] = ("id",)
    without: Kind | None = None
    rules: int = 1


class Agenda(Struct, frozen=True):
    """All queues. A commit of one of these `steps` is the program's own."""

    queues: tuple[Queue, ...] = ()
    steps: tuple[str, ...] = ()

"""What a judge is given, and what it gives back: frozen values, no I/O.

A brief is the material of one skill's text; `Judge.write` takes any of them.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from skillvault.records import (
    Applicability,
    Evaluation,
    Fact,
    Fraction,
    InsightType,
    JudgeInfo,
    Outcome,
    Skill,
    SkillKind,
)


class Contrast(Struct, frozen=True):
    """A condition that is more frequent in a group of outcomes than in the others.

    `in_group` and `in_rest` are (holds, of); `lift` is the ratio of the two shares
    (infinite when it never holds in the rest); `p` is the one-sided Fisher probability;
    `holds_for` are the ids of all compared outcomes that meet the condition.
    """

    condition: str
    in_group: tuple[int, int]
    in_rest: tuple[int, int]
    lift: float
    p: float
    holds_for: frozenset[str] = frozenset()


class Case(Struct, frozen=True, kw_only=True):
    """What a judge is told after its blind verdict: the outcome among its peers.

    Peers are the domain's outcomes of the same action. `group` says in words which of
    them this outcome is compared with as alike (`losses beyond 10 %`), `alike` how many
    of the peers those are. `contrasts` separate the alike from the rest, `opposite` the
    rest from the alike; `leads` do the same if both are too few for a test, and are not
    sure. `before` is the outcome right before on the same target, `solved` the first success
    after it. `varying` are the context keys on which the peers differ, `unrecorded` names
    antecedents that no peer recorded.
    """

    outcome: Outcome
    group: str
    alike: tuple[int, int]
    contrasts: tuple[Contrast, ...] = ()
    opposite: tuple[Contrast, ...] = ()
    leads: tuple[Contrast, ...] = ()
    opposite_leads: tuple[Contrast, ...] = ()
    before: Outcome | None = None
    solved: Outcome | None = None
    varying: frozenset[str] = frozenset()
    unrecorded: tuple[str, ...] = ()


class Spent(Struct, frozen=True):
    """What an answer took of a judge that is paid."""

    tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: "Spent | None") -> "Spent":
        return Spent(self.tokens + other.tokens, self.cost_usd + other.cost_usd) if other else self


def billed(info: JudgeInfo, spent: Spent) -> JudgeInfo:
    """A judge, with what its answers took."""
    usd = round(spent.cost_usd, 6)
    return replace(info, tokens=spent.tokens, cost_usd=usd)


class Verdict(Struct, frozen=True, kw_only=True):
    """How good the decision was, said before the result is known."""

    was_good_decision: bool
    quality_score: Fraction
    strengths: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()
    missed_factors: tuple[str, ...] = ()
    spent: Spent | None = None


class Insight(Struct, frozen=True, kw_only=True):
    """What the outcome teaches, said after the verdict; an empty `key_insight` teaches nothing."""

    key_insight: str
    insight_type: InsightType
    applicability: Applicability = "domain"
    better_approach: str | None = None
    spent: Spent | None = None


class Opinion(Struct, frozen=True, kw_only=True):
    """What a judge says of a decision before it is carried out; see `learning.advise`."""

    quality: Fraction
    confidence: Fraction
    warnings: tuple[str, ...] = ()
    suggestion: str = ""
    insight: str = ""


class Fate(Struct, frozen=True):
    """What became of one statement of a merged skill.

    `kept` as it stands, `fused` with the statement that `note` quotes, or `dropped` for the
    reason in `note`.
    """

    skill: str
    statement: str
    fate: Literal["kept", "fused", "dropped"]
    note: str = ""


class Draft(Struct, frozen=True):
    """The text of a skill before it has a name.

    `title` stands without its kind. `sections` are (heading, text). `references` are (file
    name, text) for what the body has no room for. `fates` account for every statement of the
    skills that a merge replaces. `note` says if the text is not the appointed judge's own.
    """

    title: str
    description: str
    sections: tuple[tuple[str, str], ...]
    references: tuple[tuple[str, str], ...] = ()
    fates: tuple[Fate, ...] = ()
    note: str = ""


class Episode(Struct, frozen=True, kw_only=True):
    """One significant outcome, for a warning or a pattern."""

    kind: SkillKind
    case: Case
    evaluation: Evaluation


class Recurrence(Struct, frozen=True, kw_only=True):
    """Facts that say the same, for a pattern skill.

    `facts` stand in their order, `evaluations` are those that support them, `outcomes` are
    theirs by id, `theme` is what the facts share.
    """

    domain: str
    theme: str
    facts: tuple[Fact, ...]
    evaluations: tuple[Evaluation, ...]
    outcomes: Mapping[str, Outcome]


class Comparison(Struct, frozen=True, kw_only=True):
    """Some of a period's outcomes against its others, and what separates them.

    `group` says in words which they are (`losses`, `losses beyond 10 %`), `members` are their
    ids. Actions are compared each with itself: a condition separates within them.
    """

    group: str
    members: frozenset[str]
    contrasts: tuple[Contrast, ...] = ()


class Period(Struct, frozen=True, kw_only=True):
    """The outcomes of a domain that a strategy is made of, oldest first.

    `avoid` compares the losses with the others (if some are heavy, also or only these),
    `seek` the wins; all of them together share one allowance for false alarms. `heading` is
    the domain's word for its context; `graded` says whether the results have scores; `varying`
    are the context keys on which the outcomes differ, `unrecorded` names antecedents that
    nobody recorded.
    """

    domain: str
    heading: str
    outcomes: tuple[Outcome, ...]
    evaluations: Mapping[str, Evaluation]
    graded: bool = False
    avoid: tuple[Comparison, ...] = ()
    seek: tuple[Comparison, ...] = ()
    varying: frozenset[str] = frozenset()
    unrecorded: tuple[str, ...] = ()


class Agreement(Struct, frozen=True, kw_only=True):
    """Skills that say the same, for an evolved one.

    `evolved` is the one that stands for earlier sources and grows. It is among `skills`, with
    the text of its references, if it speaks for them itself; `spoken_for` are those for
    which it does. `outcomes` are those behind each skill by its name, for their counts.
    """

    domain: str
    skills: tuple[Skill, ...]
    outcomes: Mapping[str, tuple[Outcome, ...]]
    evolved: Skill | None = None
    spoken_for: tuple[str, ...] = ()


Brief = Episode | Recurrence | Period | Agreement

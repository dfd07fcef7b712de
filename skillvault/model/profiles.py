"""Profiles: the rules that a vault can choose between, and the numbers that go with them.

`vault.yaml` names one; what it says of a number itself stands over the profile's.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

ProfileName = Literal["lift", "seed", "wilson"]


class Choices(Struct, frozen=True, kw_only=True):
    """Which rule holds where there are two; the first is the default's."""

    facts: Annotated[
        Literal["support", "verdict"],
        Meta(
            description="What makes a fact. support: a strong verdict, right or a surprise, or two "
            "sessions that say the same with less against it; verdict: one that was right, at "
            "`promote.quality` or more, alone; what shares more than `promote.duplicate_above` of "
            "its words over three letters with a fact repeats it, and nothing speaks against it."
        ),
    ] = "support"
    patterns: Annotated[
        Literal["recurrences", "clusters"],
        Meta(
            description="What facts make a pattern. recurrences: a cluster, or one fact of so many "
            "sessions; clusters: a cluster of `promote.cluster_size` alone."
        ),
    ] = "recurrences"
    skills: Annotated[
        Literal["subject", "outcome"],
        Meta(
            description="What gets a warning or a pattern. subject: all outcomes of a subject "
            "together, and it is written anew as they go on; outcome: each significant one, and "
            "its text stays."
        ),
    ] = "subject"
    merges: Annotated[
        Literal["causes", "words"],
        Meta(
            description="By what skills say the same. causes: of subjects, by their causes; words: "
            "of skills, whose statements share more than `merge.similarity` of their words over "
            "three letters; one and `merge.min_similar` others become one."
        ),
    ] = "causes"
    names: Annotated[
        Literal["subject", "title"],
        Meta(
            description="What skills are called by. subject: what they are about; title: their "
            "title, with `-2` if that is taken."
        ),
    ] = "subject"
    strategies: Annotated[
        Literal["tens", "latest"],
        Meta(
            description="Which outcomes a strategy looks at. tens: up to the last full "
            "`generate.strategy_every`, its rules those of the actions; latest: the latest "
            "`generate.strategy_max`, its rules theirs alone."
        ),
    ] = "tens"
    proof: Annotated[
        Literal["lift", "rate", "wilson"],
        Meta(
            description="What proves a skill. lift: what it changes, lost at a lower bound than it "
            "is gained; rate: 3 uses at 50 %, computed at each look; wilson: 5 uses at 55 % with a "
            "lower bound of 45 %. By rate and wilson a skill of 3 uses below 50 %, or with five "
            "failures in a row, is not recommended, and nothing is tried by chance."
        ),
    ] = "lift"
    retirement: Annotated[
        Literal["lift", "streak"],
        Meta(
            description="What retires a skill. lift: that it hurts; streak: five failures in a row."
        ),
    ] = "lift"
    clock: Annotated[
        Literal["domain", "run"],
        Meta(
            description="By which time skills are made and age. domain: that of their outcomes; "
            "run: that of the run, however old the outcomes are."
        ),
    ] = "domain"


class Profile(Struct, frozen=True, kw_only=True):
    """The rules of a profile, and its numbers if they are not the defaults: section -> key."""

    choices: Choices = field(default_factory=Choices)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


PROFILES: Mapping[str, Profile] = {
    "lift": Profile(),
    # The letter of the designs.
    "seed": Profile(
        choices=Choices(
            facts="verdict",
            patterns="clusters",
            skills="outcome",
            merges="words",
            names="title",
            strategies="latest",
            proof="rate",
            retirement="streak",
            clock="run",
        ),
        settings={
            "promote": {"gate": "quality", "min_sessions": 0, "every": 5},
            "generate": {"strategy_max": 20},
            "recommend": {"bodies": None, "facts": 0, "budget": None, "task": 0.0},
            "effect": {"holdout": 0.0},
        },
    ),
    "wilson": Profile(choices=Choices(proof="wilson")),
}

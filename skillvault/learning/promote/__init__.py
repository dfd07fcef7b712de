"""promote: an insight becomes a fact, facts become a pattern skill."""

from skillvault.model.due import (
    InDomain,
    LinkedFrom,
    Predecessor,
    Queue,
    Reached,
    Says,
    Source,
    Target,
    When,
)

GENERAL = "general"  # the queue of facts that may hold in every domain
CONSOLIDATE = "consolidate"  # the queue of facts that may recur in their domain
_WEIGHED = ("promoted", "reinforced", "contradicted")
_RECURRENCE = (
    When("fact"),
    When("fact", along=(Predecessor(),)),
    When("link", along=(Source("fact"),)),
    When("link", along=(Target("fact"),)),
    When("skill", along=(LinkedFrom("fact", "derived"),)),
    When("skill", "readmitted", along=(InDomain("fact"),)),
    When("outcome", "gone", along=(Reached("fact"),)),  # a run less, or one that counts no more
)
# What a run said no more, others may now say alone, or with nobody against them.
_SAID_OTHERWISE = tuple(
    When(kind, "gone", along=(Says(of),))
    for kind in ("evaluation", "outcome")
    for of in ("words", "grounds")
)
DEPENDS_ON = (
    Queue(
        name="promote",
        every="outcome",
        when=(
            When("outcome"),
            When("evaluation"),
            When("link", types=_WEIGHED, along=(Source("evaluation", to="fact"),)),
            When("fact", along=(LinkedFrom("evaluation"),)),
            *_SAID_OTHERWISE,
        ),
    ),
    Queue(name=CONSOLIDATE, every="fact", when=_RECURRENCE),
    Queue(name=GENERAL, every="fact", when=_RECURRENCE),
)

"""Make facts of insights, and pattern skills of facts; nothing here reads a vault."""

from skillvault.learning.naming import GENERAL as GENERAL_NAME
from skillvault.model.due import (
    InDomain,
    LinkedFrom,
    Predecessor,
    Prefix,
    Queue,
    Reached,
    Says,
    Source,
    Target,
    When,
)
from skillvault.model.records import LINK_TYPES

GENERAL = "general"  # the queue of facts that may hold in every domain
CONSOLIDATE = "consolidate"  # the queue of facts that may recur in their domain
RECOUNT = "recount"  # the queue of facts whose runs for or against them changed
_WEIGHED = ("promoted", "reinforced", "contradicted")
_COUNTED = ("reinforced", "contradicted")
_OTHERS = tuple(name for name in LINK_TYPES if name not in _COUNTED)
_COUNTS = (When("link", types=_COUNTED, along=(Target("fact"),)),)
_RECURRENCE = (
    When("fact"),
    When("fact", along=(Predecessor(),)),
    When("link", types=_OTHERS, along=(Source("fact"),)),
    When("link", types=_OTHERS, along=(Target("fact"),)),
    When("link", "gone", types=_COUNTED, along=(Target("fact"),)),
    When("skill", "readmitted", along=(InDomain("fact"),)),
    When("outcome", "gone", along=(Reached("fact"),)),  # a run less, or one that counts no more
)
# Without a run, other runs may be alone with their claim, or without an opponent.
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
    Queue(
        name=CONSOLIDATE,
        every="fact",
        when=(*_RECURRENCE, When("skill", along=(LinkedFrom("fact", "derived", first=True),))),
    ),
    Queue(name=RECOUNT, every=None, when=_COUNTS),
    Queue(
        name=GENERAL,
        every="fact",
        when=(
            *_RECURRENCE,
            *_COUNTS,
            When("skill", along=(Prefix(GENERAL_NAME), LinkedFrom("fact", "derived"))),
        ),
    ),
)

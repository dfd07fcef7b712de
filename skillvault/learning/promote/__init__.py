"""promote: facts come from insights, and pattern skills from facts."""

from skillvault.learning.naming import GENERAL as GENERAL_NAME
from skillvault.model.due import (
    DomainRecords,
    IdPrefix,
    LinkedRecords,
    LinkSource,
    LinkTarget,
    Predecessor,
    Queue,
    Referrers,
    SimilarEvaluations,
    Trigger,
)
from skillvault.model.records import LINK_TYPES

GENERAL = "general"  # the queue of facts that may hold in every domain
CONSOLIDATE = "consolidate"  # the queue of facts that may recur in their domain
RECOUNT = "recount"  # the queue of facts whose runs for or against them changed
_WEIGHED = ("promoted", "reinforced", "contradicted")
_COUNTED = ("reinforced", "contradicted")
_OTHERS = tuple(name for name in LINK_TYPES if name not in _COUNTED)
_COUNTS = (Trigger("link", types=_COUNTED, along=(LinkTarget("fact"),)),)
_RECURRENCE = (
    Trigger("fact"),
    Trigger("fact", along=(Predecessor(),)),
    Trigger("link", types=_OTHERS, along=(LinkSource("fact"),)),
    Trigger("link", types=_OTHERS, along=(LinkTarget("fact"),)),
    Trigger("link", "gone", types=_COUNTED, along=(LinkTarget("fact"),)),
    Trigger("skill", "readmitted", along=(DomainRecords("fact"),)),
    Trigger(
        "outcome", "gone", along=(LinkedRecords("fact"),)
    ),  # a run less, or one that counts no more
)
# Without a run, other runs may be alone with their claim, or without an opponent.
_SAID_OTHERWISE = tuple(
    Trigger(kind, "gone", along=(SimilarEvaluations(of),))
    for kind in ("evaluation", "outcome")
    for of in ("words", "grounds")
)
DEPENDS_ON = (
    Queue(
        name="promote",
        every="outcome",
        when=(
            Trigger("outcome"),
            Trigger("evaluation"),
            Trigger("link", types=_WEIGHED, along=(LinkSource("evaluation", to="fact"),)),
            Trigger("fact", along=(Referrers("evaluation"),)),
            *_SAID_OTHERWISE,
        ),
    ),
    Queue(
        name=CONSOLIDATE,
        every="fact",
        when=(*_RECURRENCE, Trigger("skill", along=(Referrers("fact", "derived", first=True),))),
    ),
    Queue(name=RECOUNT, every=None, when=_COUNTS),
    Queue(
        name=GENERAL,
        every="fact",
        when=(
            *_RECURRENCE,
            *_COUNTS,
            Trigger("skill", along=(IdPrefix(GENERAL_NAME), Referrers("fact", "derived"))),
        ),
    ),
)

"""account: what is known of an action or a subject, computed from its records when it is due."""

from skillvault.model.due import (
    DomainRecords,
    LinkClosure,
    LinkedRecords,
    Queue,
    Referrers,
    RelatedOutcomes,
    Trigger,
)

# The outcomes of the skills that a thing stands behind, of whatever action.
_BESIDE = (LinkedRecords("skill"), Referrers("evaluation"))

# After these an account may say something else.
CHANGES = (
    Trigger("outcome"),
    Trigger("evaluation"),
    Trigger("outcome", "gone", along=(RelatedOutcomes("action"),)),
    Trigger("outcome", "gone", along=_BESIDE),
    Trigger("evaluation", "gone", along=_BESIDE),
    Trigger("outcome", "went", along=(RelatedOutcomes("clock"),)),  # what had expired may not have
    Trigger("recommendation", along=(RelatedOutcomes("decision"),)),
)
# The queue of outcomes by which it is counted how far their accounts are read.
COUNTED = Queue(name="account", every="outcome", when=CHANGES)
# What was not made, as it says the same as a rejected skill.
READMITTED = Trigger("skill", "readmitted", along=(DomainRecords("outcome"),))
# After these, too, a skill of an account may be another.
SKILL_CHANGES = (
    *CHANGES,
    Trigger("skill", "moved", along=(LinkClosure("merged"), Referrers("evaluation", "generated"))),
)

"""account: the statements about the outcomes of an action or a subject, for skills to hold."""

from skillvault.model.due import (
    DomainRecords,
    LinkClosure,
    LinkedRecords,
    Queue,
    QuotingOutcomes,
    Referrers,
    RelatedOutcomes,
    Trigger,
)

# The outcomes of any skill that a record supports, whatever their action.
_SKILL_OUTCOMES = (LinkedRecords("skill"), Referrers("evaluation"))

# Changes after which the findings of an account may differ.
CHANGES = (
    Trigger("outcome"),
    Trigger("evaluation"),
    Trigger("outcome", "gone", along=(RelatedOutcomes("action"),)),
    Trigger("outcome", "gone", along=_SKILL_OUTCOMES),
    Trigger("evaluation", "gone", along=_SKILL_OUTCOMES),
    Trigger("outcome", "went", along=(RelatedOutcomes("clock"),)),  # what had expired may not have
    Trigger("recommendation", along=(RelatedOutcomes("decision"),)),
)
# Outcomes that the reading position of their accounts must count.
COUNTED = Queue(name="account", every="outcome", when=CHANGES)
# A skill that was left out because it repeats a rejected one.
READMITTED = Trigger("skill", "readmitted", along=(DomainRecords("outcome"),))
# Changes after which an account may have another skill.
SKILL_CHANGES = (
    *CHANGES,
    Trigger("correction", along=(QuotingOutcomes(),)),  # it may withdraw what they quote
    Trigger("correction", "gone", along=(QuotingOutcomes(),)),
    Trigger("skill", "moved", along=(LinkClosure("merged"), Referrers("evaluation", "generated"))),
)

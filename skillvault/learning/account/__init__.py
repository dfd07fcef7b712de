"""account: the findings about an action or a subject, computed from its records when due."""

from skillvault.model.due import InDomain, LinkedFrom, Queue, Reached, Same, Through, When

# The outcomes of any skill that a record supports, whatever their action.
_SKILL_OUTCOMES = (Reached("skill"), LinkedFrom("evaluation"))

# Changes after which the findings of an account may differ.
CHANGES = (
    When("outcome"),
    When("evaluation"),
    When("outcome", "gone", along=(Same("action"),)),
    When("outcome", "gone", along=_SKILL_OUTCOMES),
    When("evaluation", "gone", along=_SKILL_OUTCOMES),
    When("outcome", "went", along=(Same("clock"),)),  # what had expired may not have
    When("recommendation", along=(Same("decision"),)),
)
# Outcomes that the reading position of their accounts must count.
COUNTED = Queue(name="account", every="outcome", when=CHANGES)
# A skill that was left out because it repeats a rejected one.
READMITTED = When("skill", "readmitted", along=(InDomain("outcome"),))
# Changes after which an account may have another skill.
SKILL_CHANGES = (
    *CHANGES,
    When("skill", "moved", along=(Through("merged"), LinkedFrom("evaluation", "generated"))),
)

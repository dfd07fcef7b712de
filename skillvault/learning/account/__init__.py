"""account: what is known of an action or a subject, computed from its records when it is due."""

from skillvault.model.due import InDomain, LinkedFrom, Queue, Reached, Same, Through, When

# The outcomes of the skills that a thing stands behind, of whatever action.
_BESIDE = (Reached("skill"), LinkedFrom("evaluation"))

# After these an account may say something else.
CHANGES = (
    When("outcome"),
    When("evaluation"),
    When("outcome", "gone", along=(Same("action"),)),
    When("outcome", "gone", along=_BESIDE),
    When("evaluation", "gone", along=_BESIDE),
    When("outcome", "went", along=(Same("clock"),)),  # what had expired may not have
    When("recommendation", along=(Same("decision"),)),
)
# The queue of outcomes by which it is counted how far their accounts are read.
COUNTED = Queue(name="account", every="outcome", when=CHANGES)
# What was not made, as it says the same as a rejected skill.
READMITTED = When("skill", "readmitted", along=(InDomain("outcome"),))
# After these, too, a skill of an account may be another.
SKILL_CHANGES = (
    *CHANGES,
    When("skill", "moved", along=(Through("merged"), LinkedFrom("evaluation", "generated"))),
)

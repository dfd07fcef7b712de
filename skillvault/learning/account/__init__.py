"""account: what is known of a subject, computed from its records whenever it is asked."""

from skillvault.model.due import InDomain, LinkedFrom, Same, Source, Through, When

# After these a subject's account may say something else.
CHANGES = (
    When("outcome"),
    When("evaluation"),
    When("outcome", "gone", along=(Same("subject"),)),
    When("outcome", "went", along=(Same("clock"),)),  # what had expired may not have
    When("recommendation", along=(Same("decision"),)),
)
# What was not made, as it says the same as a rejected skill.
READMITTED = When("skill", "readmitted", along=(InDomain("outcome"),))
# The skills that were merged into one, and the outcomes that all of them were made of.
_ORIGINS = (Through("merged"), LinkedFrom("evaluation", "generated"))
# After these, too, a subject's own skill may be another, or told as part of one.
SKILL_CHANGES = (
    *CHANGES,
    When("skill", "moved", along=_ORIGINS),
    When("link", types=("merged",), along=(Source("skill"), *_ORIGINS)),
)

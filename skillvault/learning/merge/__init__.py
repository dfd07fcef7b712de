"""merge: subjects that say the same get one skill."""

from skillvault.due import LinkedFrom, Queue, Same, Through, When

_ORIGINS = (Through("merged"), LinkedFrom("evaluation"))
DEPENDS_ON = (
    Queue(
        name="merge",
        every="outcome",
        when=(
            When("outcome"),
            When("evaluation"),
            When("outcome", "gone", along=(Same("subject"),)),
            When("recommendation", along=(Same("decision"),)),
            When("skill", "moved", along=_ORIGINS),
        ),
    ),
)

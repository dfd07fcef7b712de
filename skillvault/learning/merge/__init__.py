"""merge: subjects that say the same get one skill."""

from skillvault.due import LinkedFrom, Queue, Through, When
from skillvault.learning.account import CHANGES

_ORIGINS = (Through("merged"), LinkedFrom("evaluation"))
DEPENDS_ON = (
    Queue(
        name="merge",
        every="outcome",
        when=(*CHANGES, When("skill", "moved", along=_ORIGINS)),
    ),
)

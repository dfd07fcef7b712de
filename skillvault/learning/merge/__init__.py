"""merge: subjects that say the same get one skill, and so do sessions."""

from skillvault.learning.account import CHANGES, READMITTED
from skillvault.model.due import InDomain, LinkedFrom, Queue, Source, Through, When

SESSIONS = "sessions"  # the queue of domains whose session skills may say the same
_ORIGINS = (Through("merged"), LinkedFrom("evaluation"))
DEPENDS_ON = (
    Queue(
        name="merge",
        every="outcome",
        when=(*CHANGES, READMITTED, When("skill", "moved", along=_ORIGINS)),
    ),
    Queue(
        name=SESSIONS,
        every="session",
        key=("domain",),
        when=(
            When("link", types=("distilled", "reinforced"), along=(Source("session"),)),
            When("skill", "moved", along=(Through("merged"), LinkedFrom("session", "distilled"))),
            When("skill", "readmitted", along=(InDomain("session"),)),
        ),
    ),
)

"""merge: subjects that say the same get one skill, and so do sessions."""

from skillvault.learning.account import CHANGES, READMITTED
from skillvault.model.due import DomainRecords, LinkClosure, LinkSource, Queue, Referrers, Trigger

SESSIONS = "sessions"  # the queue of domains whose session skills may say the same
_ORIGINS = (LinkClosure("merged"), Referrers("evaluation"))
DEPENDS_ON = (
    Queue(
        name="merge",
        every="outcome",
        when=(*CHANGES, READMITTED, Trigger("skill", "moved", along=_ORIGINS)),
    ),
    Queue(
        name=SESSIONS,
        every="session",
        key=("domain",),
        when=(
            Trigger("link", types=("distilled", "reinforced"), along=(LinkSource("session"),)),
            Trigger(
                "skill", "moved", along=(LinkClosure("merged"), Referrers("session", "distilled"))
            ),
            Trigger("skill", "readmitted", along=(DomainRecords("session"),)),
        ),
    ),
)

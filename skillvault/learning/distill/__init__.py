"""distill: what failed in a finished session, and what then worked, becomes a skill."""

from skillvault.due import LinkedFrom, Queue, Source, Through, When
from skillvault.learning.distill.excerpt import unique_failures

__all__ = ["DEPENDS_ON", "SESSIONS", "unique_failures"]

SESSIONS = "sessions"  # the queue of domains whose sessions' skills may say the same by now
DEPENDS_ON = (
    Queue(
        name="distill",
        every="session",
        when=(
            When("session"),
            When("link", types=("distilled", "reinforced"), along=(Source("session"),)),
            When("skill", "moved", along=(LinkedFrom("session", "distilled"),)),
        ),
    ),
    Queue(
        name=SESSIONS,
        every="session",
        key=("domain",),
        when=(
            When("link", types=("distilled",), along=(Source("session"),)),
            When("skill", "moved", along=(Through("merged"), LinkedFrom("session", "distilled"))),
        ),
    ),
)

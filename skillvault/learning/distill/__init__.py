"""distill: what failed in a finished session, and what then worked, becomes a skill."""

from skillvault.due import InDomain, LinkedFrom, Queue, Source, When
from skillvault.learning.distill.excerpt import unique_failures

__all__ = ["DEPENDS_ON", "unique_failures"]

DEPENDS_ON = (
    Queue(
        name="distill",
        every="session",
        when=(
            When("session"),
            When("link", types=("distilled", "reinforced"), along=(Source("session"),)),
            When("skill", "moved", along=(LinkedFrom("session", "distilled"),)),
            When("skill", "readmitted", along=(InDomain("session"),)),
        ),
    ),
)

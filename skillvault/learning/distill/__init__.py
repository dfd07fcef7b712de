"""distill: what failed in a finished session, and what then worked, becomes a skill."""

from skillvault.model.due import InDomain, LinkedFrom, Queue, Source, When

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

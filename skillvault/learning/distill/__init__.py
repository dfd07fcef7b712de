"""distill: what failed in a finished session, and what then worked, becomes a skill."""

from skillvault.model.due import DomainRecords, LinkSource, Queue, Referrers, Trigger

DEPENDS_ON = (
    Queue(
        name="distill",
        every="session",
        when=(
            Trigger("session"),
            Trigger("link", types=("distilled", "reinforced"), along=(LinkSource("session"),)),
            Trigger("skill", "moved", along=(Referrers("session", "distilled"),)),
            Trigger("skill", "readmitted", along=(DomainRecords("session"),)),
        ),
    ),
)

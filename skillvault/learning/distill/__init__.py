"""distill: the failures of a finished session, and what then worked, become a skill."""

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

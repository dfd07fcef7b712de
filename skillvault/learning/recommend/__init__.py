"""Choose the skills that an agent gets before a task, and render them; no I/O."""

from skillvault.model.due import (
    LinkedRecords,
    LinkTarget,
    Queue,
    RelatedOutcomes,
    Trigger,
    UsedSkills,
)

TASK = "task"  # skills that may be found by other tasks now
DEPENDS_ON = (
    Queue(
        name=TASK,
        every="skill",
        when=(
            Trigger("outcome", along=(LinkedRecords("skill"),)),
            Trigger("outcome", "used", along=(UsedSkills(),)),
            Trigger("recommendation", along=(RelatedOutcomes("decision"), LinkedRecords("skill"))),
            Trigger("recommendation", along=(RelatedOutcomes("decision"), UsedSkills())),
            Trigger("link", along=(LinkTarget("skill"), LinkedRecords("skill"))),
            Trigger("link", along=(LinkTarget("fact"), LinkedRecords("skill"))),
            Trigger("skill", "moved"),
            Trigger("skill", "beside"),
        ),
    ),
)

"""Choose the skills that an agent gets before a task, and render them; no I/O."""

from skillvault.model.due import Queue, Reached, Same, Target, Uses, When

TASK = "task"  # skills that may be found by other tasks now
DEPENDS_ON = (
    Queue(
        name=TASK,
        every="skill",
        when=(
            When("outcome", along=(Reached("skill"),)),
            When("outcome", "used", along=(Uses(),)),
            When("recommendation", along=(Same("decision"), Reached("skill"))),
            When("recommendation", along=(Same("decision"), Uses())),
            When("link", along=(Target("skill"), Reached("skill"))),
            When("link", along=(Target("fact"), Reached("skill"))),
            When("skill", "moved"),
            When("skill", "beside"),
        ),
    ),
)

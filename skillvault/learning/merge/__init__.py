"""merge: skills that say the same become one."""

from skillvault.due import Queue, Source, Target, When

_TYPES = ("merged", "derived")
DEPENDS_ON = (
    Queue(
        name="merge",
        every="skill",
        key=("domain",),
        when=(
            When("skill"),
            When("link", types=_TYPES, along=(Source("skill"),)),
            When("link", types=_TYPES, along=(Target("skill"),)),
        ),
    ),
)

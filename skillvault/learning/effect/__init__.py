"""Estimate what applied skills change; nothing here reads a vault."""

from skillvault.model.due import Queue, Same, Source, Target, Users, Uses, When

USE = "use"  # outcomes whose use of skills is to be detected
NAME = "name"  # skills that outcomes may name now, or name in vain
VERSION = "version"  # skills whose texts a person may have rewritten
COUNT = "count"  # skills whose uses are to be counted
LIFT = "lift"  # when in a domain something happened that its sums may hold
DEPENDS_ON = (
    Queue(
        name=USE,
        every="outcome",
        rules=3,  # a plain statement is a use, a figure may be against it
        when=(
            When("outcome"),
            When("outcome", along=(Same("decision"),)),  # of a decision the last outcome counts
            When("recommendation", along=(Same("decision"),)),
        ),
    ),
    Queue(name=NAME, every=None, when=(When("skill", "moved"), When("skill", "beside"))),
    Queue(
        name=VERSION,
        every=None,
        when=(When("skill", "committed"), When("skill", "moved")),  # a trial begins with a move
    ),
    Queue(
        name=COUNT,
        every="use",
        rules=2,  # the commits that brought the uses are counted
        when=(
            When("skill", "moved", along=(Uses(),)),
            When("skill", "rewritten", along=(Uses(),)),
            When("outcome", "used", along=(Uses(),)),
            When("link", types=("merged",), along=(Source("skill"),)),
            When("link", types=("merged",), along=(Target("skill"),)),
        ),
    ),
    Queue(
        name=LIFT,
        every="outcome",
        key=("domain", "at"),
        when=(
            When("outcome"),
            When("outcome", "used"),
            When("skill", "moved", along=(Users(),)),
            When("skill", "rewritten", along=(Users(),)),
            When("link", types=("merged",), along=(Source("skill"), Users())),
        ),
    ),
)

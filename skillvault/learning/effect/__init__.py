"""Estimate how much applied skills change the rate of success, from values alone."""

from skillvault.model.due import (
    LinkSource,
    LinkTarget,
    Queue,
    RelatedOutcomes,
    Trigger,
    UsedSkills,
    UsingOutcomes,
)

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
            Trigger("outcome"),
            Trigger(
                "outcome", along=(RelatedOutcomes("decision"),)
            ),  # of a decision the last outcome counts
            Trigger("recommendation", along=(RelatedOutcomes("decision"),)),
        ),
    ),
    Queue(name=NAME, every=None, when=(Trigger("skill", "moved"), Trigger("skill", "beside"))),
    Queue(
        name=VERSION,
        every=None,
        when=(
            Trigger("skill", "committed"),
            Trigger("skill", "moved"),
        ),  # a trial begins with a move
    ),
    Queue(
        name=COUNT,
        every="use",
        rules=2,  # the commits that brought the uses are counted
        when=(
            Trigger("skill", "moved", along=(UsedSkills(),)),
            Trigger("skill", "rewritten", along=(UsedSkills(),)),
            Trigger("outcome", "used", along=(UsedSkills(),)),
            Trigger("link", types=("merged",), along=(LinkSource("skill"),)),
            Trigger("link", types=("merged",), along=(LinkTarget("skill"),)),
        ),
    ),
    Queue(
        name=LIFT,
        every="outcome",
        key=("domain", "at"),
        when=(
            Trigger("outcome"),
            Trigger("outcome", "used"),
            Trigger("skill", "moved", along=(UsingOutcomes(),)),
            Trigger("skill", "rewritten", along=(UsingOutcomes(),)),
            Trigger("link", types=("merged",), along=(LinkSource("skill"), UsingOutcomes())),
        ),
    ),
)

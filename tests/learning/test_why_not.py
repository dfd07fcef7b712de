"""why-not: where each outcome stands with the skills of its action and its subject, and why."""

from collections.abc import Sequence

import pytest

from skillvault.learning.account.statements import KINDS
from skillvault.learning.generate import ExistingSkill, SkillState
from skillvault.learning.why_not import ActionOutcomes, outcome_state, summary
from skillvault.model.policy import Policy
from skillvault.model.records import Outcome, Skill
from tests.given import outcome, trade
from tests.learning.accounts import CHECKED, TENANT, ended, findings_of, traded

GUIDE = Skill("guide-perps-open-long", kind="guide", origin="generated")
WARNING = Skill("warning-perps-open-long-sol-perp", kind="warning", origin="generated")


def _stands(
    one: Outcome,
    outcomes: Sequence[Outcome],
    read: int | None = None,
    *,
    first: int = 0,
    **skills: Skill,
) -> SkillState:
    """Return the state of one outcome, given the existing skills by kind."""
    ordered = sorted(outcomes, key=lambda o: o.order)[first:read]
    told = [
        (findings_of(ordered, kind), ExistingSkill(skill=skills.get(kind), folder="skills"))
        for kind in KINDS
    ]
    return outcome_state(one, told, Policy())


def test_an_outcome_between_reading_points_waits_for_the_next() -> None:
    outcomes = [ended(day, TENANT) for day in range(7)]
    assert _stands(outcomes[6], outcomes, 6).state == "unread"
    assert _stands(outcomes[5], outcomes, 6).state == "due"


def test_an_outcome_before_those_that_are_read_waits_for_nothing() -> None:
    outcomes = [ended(day, TENANT) for day in range(7)]
    assert _stands(outcomes[0], outcomes, first=1).state == "older"


def test_what_a_skill_tells_is_told_by_it() -> None:
    one = ended(0, TENANT)
    assert _stands(one, [one], guide=GUIDE) == SkillState("done", f"it is in {GUIDE.name}")


def test_what_worked_instead_is_told_by_the_guide() -> None:
    failed, worked = ended(0, TENANT), ended(1, CHECKED, "success")
    stands = _stands(worked, [failed, worked], guide=GUIDE)
    assert stands == SkillState("done", f"it is in {GUIDE.name}")


def test_what_its_guide_and_its_warning_tell_is_told_by_both() -> None:
    one = traded(0, TENANT, -0.3)
    both = _stands(one, [one], guide=GUIDE, warning=WARNING)
    assert both.reason == f"it is in {GUIDE.name} and {WARNING.name}"


def test_what_has_no_warning_yet_is_due_until_its_guide_tells_it() -> None:
    one = traded(0, "", -0.3)
    other = traded(1, TENANT, -0.05)
    assert _stands(one, [one, other], guide=GUIDE).state == "due"


def test_what_a_guide_does_not_tell_is_listed_beside_it() -> None:
    silent = ended(1, "", "neutral")
    stands = _stands(silent, [ended(0, TENANT), silent], guide=GUIDE)
    reason = f"listed in references/tried.md of {GUIDE.name}, not in its text"
    assert stands == SkillState("counted", reason)


@pytest.mark.parametrize(
    "one", [ended(0, "", "neutral"), ended(0, "", result={"summary": "failed"})]
)
def test_what_says_nothing_is_silent(one: Outcome) -> None:
    stands = _stands(one, [one])
    assert stands.state == "silent"
    assert stands.reason.endswith("a guide needs two such outcomes")


def test_of_all_outcomes_each_reason_is_told_once_with_its_count() -> None:
    between = [outcome(trade(day, score)) for day, score in enumerate((-0.05, 0.1))]
    silent = ended(5, "", "neutral")
    states = {one.id: SkillState("between", "") for one in between}
    states[silent.id] = _stands(silent, [silent])
    everyone = {one.id: one for one in [*between, silent]}
    records = ActionOutcomes(outcomes=everyone, evaluations={}, states=states)
    assert summary([records], Policy()) == [
        (
            "2 outcomes: score -5.0 % to +10.0 %; a warning needs less than -10.0 %, "
            "a pattern more than +20.0 %"
        ),
        "1 outcome: nothing that they say would change a decision",
    ]


def test_of_no_outcomes_it_says_how_to_begin() -> None:
    assert summary([], Policy())[0].startswith("no outcomes yet")
    assert summary([], Policy(), sessions=2)[0].startswith("2 sessions: in a skill, or too")

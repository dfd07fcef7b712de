"""why-not: where each outcome stands with its subject's skills, and why."""

from collections.abc import Sequence
from typing import Any

import pytest

from skillvault.learning.account.account import KINDS
from skillvault.learning.generate.warning_pattern import Present, Standing
from skillvault.learning.why_not import AccountMaterial, outcome_standing, summary
from skillvault.model.brief import Findings
from skillvault.model.policy import Policy
from skillvault.model.records import Outcome, Skill
from tests.given import outcome, trade
from tests.learning.accounts import CHECKED, PRICES, TENANT, ended, findings_of

OWN = Skill("warning-coding-x", kind="warning", origin="generated")


def _stands(
    one: Outcome, outcomes: Sequence[Outcome], read: int | None = None, **present: Any
) -> Standing:
    """Where one outcome stands, of a subject whose warning is as `present` says."""
    ordered = sorted(outcomes, key=lambda o: o.order)[:read]
    told: list[tuple[Findings, Present]] = [
        (findings_of(ordered, kind), Present(**present) if kind == "warning" else Present())
        for kind in KINDS
    ]
    return outcome_standing(one, {o.id for o in ordered}, told, Policy())


def test_an_outcome_between_reading_points_waits_for_the_next() -> None:
    outcomes = [ended(day, TENANT) for day in range(7)]
    assert _stands(outcomes[6], outcomes, 6).state == "unread"
    assert _stands(outcomes[5], outcomes, 6).state == "due"


def test_what_a_skill_tells_is_told_by_it() -> None:
    told = ended(0, TENANT)
    stands = _stands(told, [told], skill=OWN, shelf="skills")
    assert (stands.state, stands.reason) == ("done", f"told by {OWN.name}")


def test_what_only_stands_in_a_count_is_counted() -> None:
    contested, won = ended(0, PRICES), ended(1, PRICES, "success")
    outcomes = [contested, won, ended(2, TENANT), ended(3, TENANT)]
    stands = _stands(contested, outcomes, skill=OWN, shelf="skills")
    assert stands.state == "counted"
    assert stands.reason.startswith(f"counted in {OWN.name}")


def test_what_is_told_with_other_subjects_names_what_tells_it() -> None:
    told = ended(0, TENANT)
    group = "coding / warning / k"
    assert _stands(told, [told], group=group) == Standing("merged", f"told by {group}")


def test_a_success_is_told_of_by_the_pattern_of_its_subject() -> None:
    failed, won = ended(0, TENANT), ended(1, CHECKED, "success")
    assert _stands(won, [failed, won], skill=OWN, shelf="skills").state == "due"


@pytest.mark.parametrize(
    ("one", "state", "says"),
    [
        (ended(0, TENANT, "neutral"), "not new", "a neutral outcome without a score"),
        (ended(0, CHECKED, "success"), "not new", "a success counts once its subject has failed"),
        (
            outcome(trade(score=-0.1)),
            "between",
            "score -10 % lies between -10 % (warning) and +20 % (pattern)",
        ),
        (outcome(trade(score=-0.0999)), "between", "score -9.99 % lies between"),
        (ended(0, "", result={"summary": "failed"}), "silent", "would change a decision"),
    ],
)
def test_what_is_not_told_says_by_which_rule(one: Outcome, state: str, says: str) -> None:
    stands = _stands(one, [one])
    assert stands.state == state
    assert says in stands.reason


def test_of_all_outcomes_each_reason_is_told_once_with_its_count() -> None:
    outcomes = [outcome(trade(day, score)) for day, score in enumerate((-0.05, 0.1))]
    failed = ended(5, "", result={"summary": "failed"})
    standings = {one.id: _stands(one, [one]) for one in [*outcomes, failed]}
    everyone = {one.id: one for one in [*outcomes, failed]}
    material = AccountMaterial(outcomes=everyone, evaluations={}, standings=standings)
    assert summary([material], Policy()) == [
        (
            "2 outcomes: score -5.0 % to +10.0 %; a warning needs less than -10.0 %, "
            "a pattern more than +20.0 %"
        ),
        "1 outcome: nothing that they say would change a decision",
    ]


def test_of_no_outcomes_it_says_how_to_begin() -> None:
    assert summary([], Policy())[0].startswith("no outcomes yet")
    assert summary([], Policy(), sessions=2)[0].startswith("2 sessions: in a skill, or too")

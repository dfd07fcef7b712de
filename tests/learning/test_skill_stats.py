"""The consequences of a skill's numbers, in words."""

from datetime import UTC, datetime

import pytest

from skillvault.learning.assess import AssessedSkill
from skillvault.learning.effect.lift import Lift
from skillvault.learning.effect.verdict import Evidence
from skillvault.learning.skill_stats import decision
from skillvault.loop.profiles import rules_of
from skillvault.model.policy import EffectPolicy, Policy


def judged(status: str, evidence: Evidence) -> AssessedSkill:
    folder = "proposed" if status == "proposed" else "skills"
    at = datetime(2026, 11, 1, tzinfo=UTC)
    return AssessedSkill(name="guide", folder=folder, status=status, evidence=evidence, clock=at)


def known(lift: float, times: int) -> Evidence:
    return Evidence(times, times, 0, 1.0, shown=times, lift=Lift(lift, 0.1, 0.5))


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        (known(0.1, 2), "2 of 3 uses that a verdict asks for"),
        (known(0.0, 9), "whether it helps is open"),
        (known(0.1, 9), "it seems to help; proven above 0.95"),
        (known(-0.08, 9), "not recommended, the chance that it helps is below 0.27"),
        (
            known(-0.08, 6),
            "not recommended, the chance that it helps is below 0.27; still tried as a new one",
        ),
        (known(-0.09, 6), "not recommended, the chance that it helps is below 0.27"),
    ],
)
def test_what_is_known_of_a_testing_skill_is_said(evidence: Evidence, said: str) -> None:
    assert decision(judged("testing", evidence), rules_of(Policy())) == f"testing: {said}"


def test_where_nothing_is_tried_nothing_is_said_of_it() -> None:
    never = Policy(effect=EffectPolicy(explore=0))
    assert decision(judged("testing", known(-0.08, 6)), rules_of(never)).endswith("is below 0.27")


def test_what_the_next_run_changes_is_said_first() -> None:
    assert (
        decision(judged("testing", known(0.3, 9)), rules_of(Policy())) == "proven at the next run"
    )
    assert (
        decision(judged("proposed", known(0.3, 9)), rules_of(Policy()))
        == "proposed: it waits for a person"
    )

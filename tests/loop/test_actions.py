"""actions: what separates their outcomes is told by their guides and by the strategy."""

import random
from datetime import timedelta
from typing import Any

import pytest

from skillvault.api import Vault
from tests.given import START, raw
from tests.loop.test_merge import learn

GUIDE = "guide-coding-fix-flaky-test"
ERRORS = {"one": "Error: tenant missing", "two": "Error: disk full", "three": "Error: no token"}


def hurried(count: int = 60, *, targets: bool = True) -> list[dict[str, Any]]:
    """Outcomes of one action, of which every hurried one fails, and no other."""
    chance = random.Random(5)
    return [_outcome(number, chance, targets=targets) for number in range(count)]


def _outcome(number: int, chance: random.Random, *, targets: bool) -> dict[str, Any]:
    mood = chance.choice(["hurried", "calm", "calm"])
    target = chance.choice(["one", "two", "three"])
    at = START - timedelta(hours=5 * (100 - number))
    fields: dict[str, Any] = {
        "event_id": f"task-{number}",
        "occurred_at": at.isoformat(),
        "decision__made_at": (at - timedelta(minutes=30)).isoformat(),
        "decision__target": target if targets else None,
        "decision__reasoning": "",
        "source__session": f"s{number}",
        "result": {"status": "failure", "evidence": ERRORS[target]}
        if mood == "hurried"
        else {"status": "success"},
        "context": {"mood": mood},
    }
    return raw(0, **fields)


@pytest.mark.parametrize("targets", [True, False])
def test_the_guide_of_an_action_tells_the_rule_of_all_its_targets(
    vault: Vault, targets: bool
) -> None:
    learn(vault, *hurried(targets=targets))
    assert "\n- When mood is hurried: then 28 of 28 were failures, otherwise 0 of 32.\n" in (
        vault.skill(GUIDE)[0].body + "\n"
    )
    assert vault.check().problems == []


def test_a_rule_that_one_target_does_not_show_alone_comes_with_the_others(vault: Vault) -> None:
    stream = hurried()
    silent = [one for one in stream[:20] if one["decision"]["target"] == "one"]
    learn(vault, *silent)
    assert not any(
        "mood is hurried" in skill.description for skill in vault.store.snapshot().skills.values()
    )
    learn(vault, *(one for one in stream if one["decision"]["target"] != "one"))
    assert "When mood is hurried: then" in vault.skill(GUIDE)[0].body
    assert vault.run().done == []


def test_why_tells_the_test_of_each_rule(vault: Vault) -> None:
    learn(vault, *hurried())
    (rule,) = vault.why("strategy-coding")["rules"]
    assert rule["rule"] == "when mood is hurried: then 28 of 28 were failures, otherwise 0 of 32"
    assert (rule["action"], rule["episodes"], rule["held"]) == ("fix-flaky-test", (28, 28), [])
    assert rule["p"] <= 0.05

"""actions: what separates their outcomes is told by the strategy and by their targets' skills."""

import random
from datetime import timedelta
from typing import Any

from skillvault.api import Vault
from tests.given import START, raw
from tests.loop.test_merge import learn

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


def rule_of(vault: Vault, ending: str) -> str:
    """What the warning whose name ends so says of being hurried."""
    (name,) = [s.name for s in vault.skills() if s.kind == "warning" and s.name.endswith(ending)]
    lines = vault.skill(name)[0].body.splitlines()
    (rule,) = [line for line in lines if line.startswith("- When mood is hurried: ")]
    return rule.removeprefix("- When mood is hurried: ")


def test_a_targets_warning_tells_in_half_a_line_what_its_own_outcomes_met(vault: Vault) -> None:
    learn(vault, *hurried())
    assert rule_of(vault, "-one") == (
        "28 of 28 of the action's were failures as of 2026-10-23, here 8 of 8."
    )


def test_the_action_itself_tells_its_rule_whole(vault: Vault) -> None:
    learn(vault, *hurried(targets=False))
    assert rule_of(vault, "test") == "then 28 of 28 were failures, otherwise 0 of 32."


def test_a_rule_that_comes_late_reaches_the_skills_of_targets_that_are_silent(
    vault: Vault,
) -> None:
    stream = hurried()
    silent = [one for one in stream[:20] if one["decision"]["target"] == "one"]
    others = [one for one in stream if one["decision"]["target"] != "one"]
    learn(vault, *silent)
    for one in others:
        learn(vault, one)
    assert " as of 2026-10-23, here " in rule_of(vault, "-one")
    assert vault.run().done == []


def test_why_tells_the_test_of_each_rule(vault: Vault) -> None:
    learn(vault, *hurried())
    (rule,) = vault.why("strategy-coding")["rules"]
    assert rule["rule"] == "when mood is hurried: then 28 of 28 were failures, otherwise 0 of 32"
    assert (rule["action"], rule["episodes"], rule["held"]) == ("fix-flaky-test", (28, 28), [])
    assert rule["p"] <= 0.05

"""Evolved skills end to end: what three actions of a domain say, and what a person does."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.loop.run import Report
from skillvault.model.text.text import count_tokens
from tests.conftest import NOW, Person
from tests.given import as_file, raw, trade
from tests.thorough import only_thorough

TARGETS = ["SOL-PERP", "ARB-PERP", "DOGE-PERP", "ETH-PERP", "SUI-PERP", "OP-PERP"]
NAME = "evolved-coding"
ACTIONS = ("fix-flaky-test", "add-endpoint", "migrate-table", "bump-library", "rename-field")
ERRORS = ("KeyError: tenant", "504 == 200", "the disk was full", "TypeError", "blocked by a lock")
DEED = "I push to main without a review."


def loss(number: int, day: int | None = None, **changes: Any) -> dict[str, Any]:
    """One of several losses of the same cause, each on a target of its own."""
    fields = {
        "decision__target": TARGETS[number],
        "decision__reasoning": "Funding is high and I chase the breakout at market.",
    }
    at = number if day is None else day
    return trade(at, score=-0.11 - number / 100, **{**fields, **changes})


def like(number: int, day: int | None = None, **changes: Any) -> dict[str, Any]:
    """A failure of one of several actions, of the same deed."""
    fields = {
        "decision__action": ACTIONS[number],
        "decision__target": f"service-{number}",
        "decision__reasoning": DEED,
        "result": {"status": "failure", "evidence": ERRORS[number]},
    }
    return raw(number if day is None else day, **{**fields, **changes})


def learn(vault: Vault, *given: dict[str, Any], **options: Any) -> Report:
    """Record outcomes and run the loop."""
    vault.record([(f"o{n}.json", as_file(one)) for n, one in enumerate(given)], now=NOW)
    return vault.run(now=NOW, **options)


def evolved(vault: Vault) -> list[str]:
    """The live evolved skills."""
    return [s.name for s in vault.skills() if s.kind == "evolved"]


def guides(vault: Vault) -> list[str]:
    """The live guides."""
    return [s.name for s in vault.skills() if s.kind == "guide"]


def remove(vault: Vault, person: Person, number: int, folder: str = "outcomes") -> None:
    """A person takes the outcomes of an action away, or their evaluations."""
    outcomes = vault.store.snapshot().outcomes.values()
    names = [one.id for one in outcomes if one.decision.action == ACTIONS[number]]
    person.git("rm", "-q", *(f"{folder}/*{name}.yaml" for name in names))
    person.git("commit", "-qm", "away with it")


def is_settled(vault: Vault) -> bool:
    """Return True if another run does nothing and the records give every count."""
    return vault.run(now=NOW).done == [] and vault.check().problems == []


@pytest.fixture
def three_alike(prepared: Callable[[Callable[[Vault], object]], Vault]) -> Vault:
    """A vault that learned from three actions of the same deed."""
    return prepared(_learn_three)


def _learn_three(vault: Vault) -> None:
    learn(vault, *map(like, range(3)))


# ── what three actions say ───────────────────────────────────────────────────────────


@pytest.mark.usefixtures("three_alike")
def test_what_three_actions_say_is_one_skill_beside_their_guides(vault: Vault) -> None:
    assert evolved(vault) == [NAME]
    assert guides(vault) == sorted(f"guide-coding-{action}" for action in ACTIONS[:3])
    skill, path = vault.skill(NAME)
    assert (skill.kind, skill.status, skill.origin, skill.trust) == (
        "evolved", "testing", "generated", "local"
    )  # fmt: skip
    assert path == f"skills/{NAME}/SKILL.md"
    assert skill.created == "2026-11-03T09:00:00Z"
    assert "(3 of 3 runs failed" in skill.body
    assert count_tokens(skill.body) <= 400
    told = str(vault.why(NAME))
    assert all(outcome in told for outcome in vault.store.snapshot().outcomes)
    assert is_settled(vault)


def test_two_actions_are_not_enough_however_often_each_says_it(vault: Vault) -> None:
    learn(vault, like(0), like(1), like(0, 5), like(1, 6))
    assert evolved(vault) == []


def test_different_deeds_of_several_actions_stay_apart(vault: Vault) -> None:
    deeds = ("I mock the gateway.", "I sort the rows before.", "I pin the clock to a date.")
    learn(vault, *(like(n, decision__reasoning=deed) for n, deed in enumerate(deeds)))
    assert evolved(vault) == []


def test_a_deed_that_worked_says_not_what_one_that_failed_does(vault: Vault) -> None:
    learn(vault, like(0), like(1), like(2, result={"status": "success"}))
    assert evolved(vault) == []


def test_what_ended_otherwise_is_counted_against_it(vault: Vault) -> None:
    won = [like(n, 5 + n, result={"status": "success"}) for n in range(3)]
    learn(vault, *map(like, range(3)))
    assert evolved(vault) == [NAME]
    learn(vault, *won)
    assert evolved(vault) == []
    assert is_settled(vault)
    more = [like(n % 3, 8 + n, event_id=f"again-{n}") for n in range(17)]
    learn(vault, *more)
    assert "(15 of 18 runs failed" in vault.skill(NAME)[0].body
    assert is_settled(vault)


def test_what_one_action_alone_says_stands_in_its_guide_alone(vault: Vault) -> None:
    lesson = {"when": "a release waits", "do": "ask for a review first", "because": "it failed"}
    deeds = ("I mock the gateway.", "I sort the rows before.", "I pin the clock to a date.")
    given = (like(n, decision__reasoning=deed, lesson=lesson) for n, deed in enumerate(deeds))
    learn(vault, *given)
    body = vault.skill(NAME)[0].body
    assert "ask for a review first" in body
    assert not any(deed.rstrip(".") in body for deed in deeds)
    assert is_settled(vault)


def test_untrusted_outcomes_say_nothing_for_all(vault: Vault) -> None:
    for number in range(3):
        place = vault.root / "inbox" / "untrusted" / f"{number}.json"
        place.write_bytes(as_file(like(number)))
    learn(vault, like(3), like(4))
    assert evolved(vault) == []
    kinds = [skill.kind for skill in vault.skills("proposed")]
    assert kinds.count("guide") == 3


@only_thorough  # tests/test_arrival.py always tries an evolved skill in a random order
def test_the_order_of_arrival_within_a_run_changes_nothing(tmp_path: Path) -> None:
    trees = set()
    for number, order in enumerate(itertools.islice(itertools.permutations(range(4)), 0, 24, 7)):
        made, _ = Vault.init(tmp_path / str(number), ["coding"], now=NOW)
        learn(made, *map(like, order))
        trees.add(made.store.git.text("rev-parse", "HEAD^{tree}"))
    assert len(trees) == 1


def test_growing_makes_the_text_of_all_at_once(tmp_path: Path) -> None:
    bodies = set()
    ways: list[list[list[int]]] = [[[0, 1, 2, 3]], [[0, 1, 2], [3]], [[n] for n in range(4)]]
    for number, steps in enumerate(ways):
        made, _ = Vault.init(tmp_path / str(number), ["coding"], now=NOW)
        for numbers in steps:
            learn(made, *map(like, numbers))
        bodies.add(made.skill(NAME)[0].body)
        assert is_settled(made)
    (body,) = bodies
    assert "(4 of 4 runs failed" in body


# ── fewer than three ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("folder", ["outcomes", "evaluations"])
@pytest.mark.usefixtures("three_alike")
def test_when_fewer_than_three_agree_it_leaves_and_comes_back_with_a_third(
    vault: Vault, person: Person, folder: str
) -> None:
    assert is_settled(vault)
    remove(vault, person, 1, folder)
    vault.run(now=NOW)
    assert vault.skill(NAME)[1] == f"archive/{NAME}/SKILL.md"
    assert guides(vault) == [f"guide-coding-{ACTIONS[n]}" for n in (0, 2)]
    learn(vault, like(3))
    assert evolved(vault) == [NAME]
    assert is_settled(vault)


def test_an_action_that_is_gone_is_counted_no_more(vault: Vault, person: Person) -> None:
    learn(vault, *map(like, range(4)))
    assert is_settled(vault)
    remove(vault, person, 1)
    vault.run(now=NOW)
    assert "(3 of 3 runs failed" in vault.skill(NAME)[0].body
    assert is_settled(vault)


# ── what a person does ───────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("three_alike")
def test_one_that_a_person_took_away_is_not_made_again(vault: Vault, person: Person) -> None:
    person.git("rm", "-rq", f"skills/{NAME}")
    person.git("commit", "-qm", "away with it")
    report = learn(vault, like(3))
    assert f"skill:{NAME}" in [r.target for r in report.rejected]
    assert evolved(vault) == []
    assert is_settled(vault)


@pytest.mark.usefixtures("three_alike")
def test_a_retired_one_stays_away(vault: Vault) -> None:
    vault.curate.retire(NAME, now=NOW)
    learn(vault, like(3))
    assert vault.skill(NAME)[1] == f"archive/{NAME}/SKILL.md"
    assert is_settled(vault)


@pytest.mark.usefixtures("three_alike")
def test_one_in_which_a_person_wrote_stays_though_fewer_agree(vault: Vault, person: Person) -> None:
    place = vault.root / "skills" / NAME / "SKILL.md"
    place.write_text(place.read_text() + "\n## Ask first\n\nMara knows.\n")
    person.git("commit", "-qam", "in my words")
    remove(vault, person, 1)
    vault.run(now=NOW)
    assert "Mara knows." in place.read_text()
    assert vault.run(now=NOW).done == []


@pytest.mark.usefixtures("three_alike")
def test_what_a_person_wrote_into_it_stays_byte_for_byte(vault: Vault, person: Person) -> None:
    place = vault.root / "skills" / NAME / "SKILL.md"
    mine = "## When This Applies\n\n1.  Never *chase*;\n    wait.\n"
    place.write_text(place.read_text().replace("Use before", "My word on") + "\n" + mine)
    person.git("commit", "-qam", "in my words")
    learn(vault, like(3))
    text = place.read_text()
    assert mine in text
    assert "My word on" in text
    assert "(4 of 4 runs failed" in text
    assert is_settled(vault)


@pytest.mark.usefixtures("three_alike")
def test_one_that_a_person_is_editing_is_written_once_that_is_committed(
    vault: Vault, person: Person
) -> None:
    assert is_settled(vault)
    place = vault.root / "skills" / NAME / "SKILL.md"
    place.write_text(place.read_text() + "\nMara knows.\n")
    report = learn(vault, like(3))
    assert f"skills/{NAME}/SKILL.md" in [waiting.path for waiting in report.waiting]
    vault.run(now=NOW)
    person.git("commit", "-qam", "in my words")
    vault.run(now=NOW)
    text = place.read_text()
    assert "Mara knows." in text
    assert "(4 of 4 runs failed" in text
    assert is_settled(vault)

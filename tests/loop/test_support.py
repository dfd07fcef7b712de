"""promote in a vault: what supports and contests a fact, and what a person does about it."""

from datetime import UTC, datetime
from typing import Any

from skillvault.api import Vault
from skillvault.loop.registry import CONSOLIDATE
from skillvault.model.records import Fact
from tests.conftest import Person
from tests.given import raw
from tests.streams import Raw, learned

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
RETRY = "Do retry failed payments in pay.py, because the gateway drops 3 of 5 calls."
NO_RETRY = "Do not retry failed payments in pay.py, because the gateway drops 3 of 5 calls."
HALF = "Wait 30 s before a retry of the payment, since the gateway is flaky now."


def run_of(day: int, why: str, status: str = "success", **changes: Any) -> Raw:
    """A run of a session of its own that rests on a ground."""
    fields = {"source__session": f"s{day}", "event_id": f"run-{day}", **changes}
    return raw(day, decision__reasoning=why, result={"status": status}, **fields)


def the_fact(vault: Vault) -> Fact:
    """The only fact of a vault."""
    (fact,) = vault.store.snapshot().facts.values()
    return fact


def test_a_skill_of_facts_leaves_when_they_are_contested_and_comes_back(vault: Vault) -> None:
    targets = ["checkout", "search", "login"]

    def runs(days: range, status: str) -> list[Raw]:
        return [
            run_of(day, RETRY, status, decision__target=targets[day % 3], decision__id=f"d{day}")
            for day in days
        ]

    learned(vault, [runs(range(4), "success")], NOW)
    (name,) = (n for n in vault.store.snapshot().skills if n.startswith("pattern"))
    learned(vault, [runs(range(4, 8), "failure")], NOW)
    assert name not in vault.store.snapshot().skills
    (left,) = (c for c in vault.log() if c.subject == f"promote: archive {name}")
    assert vault.run(now=NOW).done == []
    assert vault.store.snapshot().due.keys(CONSOLIDATE) == []
    learned(vault, [runs(range(8, 16), "success")], NOW)
    assert name in vault.store.snapshot().skills
    assert left.step == "promote"


def four_failures(*actions: str) -> list[Raw]:
    """The same lesson of four targets, of these actions in turn."""
    targets = ("checkout", "search", "login", "cart")
    return [
        run_of(
            day,
            HALF,
            "failure",
            decision__target=target,
            decision__action=actions[day % len(actions)],
        )
        for day, target in enumerate(targets)
    ]


def test_what_failures_of_two_actions_taught_is_a_warning(vault: Vault) -> None:
    learned(vault, [four_failures("fix-flaky-test", "speed-up-test")], NOW)
    kinds = sorted(skill.kind for skill in vault.store.snapshot().skills.values())
    assert kinds == ["guide", "guide", "warning"]


def test_what_the_guide_of_the_action_tells_is_not_told_again(vault: Vault) -> None:
    learned(vault, [four_failures("fix-flaky-test")], NOW)
    assert the_fact(vault)
    links = vault.store.snapshot().links.values()
    assert not any(link.type == "derived" for link in links)


def test_a_support_that_a_person_took_away_is_not_made_again(vault: Vault, person: Person) -> None:
    learned(vault, [[run_of(day, HALF) for day in range(2)]], NOW)
    assert len(vault.store.snapshot().links.of_type("reinforced")) == 1
    person.remove_links("type: reinforced,")
    assert vault.run(now=NOW).done == []
    assert vault.store.snapshot().links.of_type("reinforced") == []


def test_a_fact_that_a_person_reworded_is_met_by_its_own_words(
    vault: Vault, person: Person
) -> None:
    learned(vault, [[run_of(day, HALF) for day in range(2)]], NOW)
    fact = the_fact(vault)
    path = vault.root / f"memory/coding/{fact.id}.md"
    path.write_text(path.read_text().replace(fact.text, "Name the owner of every queue."))
    person.git("commit", "-qam", "reworded")
    learned(vault, [[run_of(5, HALF)]], NOW)
    links = vault.store.snapshot().links.of_type("reinforced")
    reinforced = [link for link in links if link.target.kind == "fact"]
    assert {(link.source.id[6:8], link.target.id) for link in reinforced} == {("02", fact.id)}


def test_why_not_counts_the_runs_and_sessions_that_say_an_insight(vault: Vault) -> None:
    learned(vault, [[run_of(0, HALF)]], NOW)
    _, answers = vault.why_not(next(iter(vault.store.snapshot().outcomes)))
    (promote,) = (answer for answer in answers if answer.step == "promote")
    assert promote.reason.endswith("1 run of 1 session say it, and otherwise it takes two")


def test_both_sides_are_listed(vault: Vault) -> None:
    learned(vault, [[run_of(0, RETRY), run_of(1, RETRY), run_of(2, NO_RETRY)]], NOW)
    facts = vault.store.snapshot().facts.values()
    (fact,) = (fact for fact in facts if f"“{RETRY}”" in fact.text)
    assert [name[6:8] for name in vault.why(fact.id)["against"]] == ["03"]

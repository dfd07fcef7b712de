"""promote: what results support becomes a fact; what contests it serves nothing."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.learning.promote import CONSOLIDATE
from skillvault.records import Fact, LinkType
from tests.conftest import Person
from tests.given import START, raw
from tests.streams import WAYS, Raw, batches, learned

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
RETRY = "Do retry failed payments in pay.py, because the gateway drops 3 of 5 calls."
NO_RETRY = "Do not retry failed payments in pay.py, because the gateway drops 3 of 5 calls."


@pytest.fixture
def empty(tmp_path: Path) -> Vault:
    """A vault in which nothing was learned."""
    return Vault.init(tmp_path / "v", ["coding"], now=START)[0]


def run_of(day: int, why: str, status: str = "success", **changes: Any) -> Raw:
    """A run of a session of its own that rests on a ground."""
    fields = {"source__session": f"s{day}", "event_id": f"run-{day}", **changes}
    return raw(day, decision__reasoning=why, result={"status": status}, **fields)


def facts(vault: Vault) -> dict[str, Fact]:
    """What it rests on -> the fact."""
    said = vault.store.head().facts.values()
    return {_ground(fact.text): fact for fact in said}


def _ground(text: str) -> str:
    found = re.search("“(.*?)”", text)
    ended = "failed" if "checkout failed" in text else "succeeded"
    return f"{ended}: {found[1]}" if found else text


def linked(vault: Vault, fact: Fact, *types: LinkType) -> set[str]:
    """The days of the runs with a link of these types to a fact."""
    links = vault.store.head().links.values()
    return {
        link.source.id[6:8] for link in links if link.target.id == fact.id and link.type in types
    }


def weak(vault: Vault, day: int) -> bool:
    """Whether a run's verdict alone makes no fact."""
    of = next(e for e in vault.store.head().evaluations.values() if e.id[6:8] == f"{day + 1:02}")
    return 0.3 < of.quality_score < 0.7


HALF = "Wait 30 s before a retry of the payment, since the gateway is flaky now."


def test_an_insight_of_one_session_alone_is_no_fact(empty: Vault) -> None:
    learned(empty, [[run_of(day, HALF, source__session="one")] for day in range(3)], NOW)
    assert weak(empty, 0)
    assert facts(empty) == {}


def test_an_insight_of_two_sessions_is_a_fact_told_as_the_earliest(empty: Vault) -> None:
    learned(empty, [[run_of(day, HALF)] for day in (1, 0)], NOW)
    (fact,) = facts(empty).values()
    assert fact.created_at == datetime(2026, 11, 1, 9, tzinfo=UTC)
    assert linked(empty, fact, "promoted", "reinforced") == {"01", "02"}


def test_of_runs_that_ended_at_once_the_same_tells_a_fact_whichever_came_first(
    tmp_path: Path,
) -> None:
    told = []
    for targets in (("cart", "till"), ("till", "cart")):
        vault, _ = Vault.init(tmp_path / targets[0], ["coding"], now=START)
        first, second = (
            run_of(0, HALF, decision__target=name, source__session=name, event_id=name)
            for name in targets
        )
        learned(vault, [[run_of(1, HALF), first], [second]], NOW)
        told += [fact.text for fact in facts(vault).values()]
    assert told == [told[0]] * 2


@pytest.mark.parametrize("way", WAYS)
def test_runs_that_ended_otherwise_contradict(tmp_path: Path, way: str) -> None:
    ended = ["success", "failure", "failure", "success", "failure"]
    stream = [run_of(day, HALF, status) for day, status in enumerate(ended)]
    vault, _ = Vault.init(tmp_path / "v", ["coding"], now=START)
    learned(vault, batches(stream, way, 3), NOW)
    failed = facts(vault)[f"failed: {HALF}"]
    assert linked(vault, failed, "promoted", "reinforced") == {"02", "03", "05"}
    assert linked(vault, failed, "contradicted") == {"01", "04"}


def test_the_opposite_that_ended_alike_contradicts(empty: Vault) -> None:
    stream = [run_of(0, RETRY), run_of(1, RETRY), run_of(2, NO_RETRY)]
    learned(empty, [[one] for one in stream], NOW)
    known = facts(empty)
    assert linked(empty, known[f"succeeded: {RETRY}"], "contradicted") == {"03"}
    assert linked(empty, known[f"succeeded: {NO_RETRY}"], "contradicted") == {"01", "02"}


def test_the_opposite_that_ended_otherwise_contradicts_nothing(empty: Vault) -> None:
    stream = [run_of(0, RETRY), run_of(1, RETRY), run_of(2, NO_RETRY, "failure")]
    learned(empty, [[one] for one in stream], NOW)
    assert linked(empty, facts(empty)[f"succeeded: {RETRY}"], "contradicted") == set()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (HALF, HALF.replace("30 s", "300 s")),
        ("Pin the client to v1 of the API.", "Pin the client to v2 of the API."),
        ("Hedge the book with BTC futures.", "Hedge the book with ETH futures."),
    ],
)
def test_other_numbers_and_names_support_nothing(empty: Vault, one: str, other: str) -> None:
    learned(empty, [[run_of(0, one)], [run_of(1, other)], [run_of(2, other)]], NOW)
    for fact in facts(empty).values():
        assert linked(empty, fact, "promoted", "reinforced") in ({"01"}, {"02", "03"})


def test_what_a_run_measured_does_not_tell_it_from_another(empty: Vault) -> None:
    said = "I reproduced the failure first: {} of {} runs under load failed."
    stream = [run_of(0, said.format(3, 41)), run_of(1, said.format(7, 18))]
    learned(empty, [[one] for one in stream], NOW)
    (fact,) = facts(empty).values()
    assert linked(empty, fact, "promoted", "reinforced") == {"01", "02"}


def test_a_skill_of_facts_leaves_when_they_are_contested_and_comes_back(empty: Vault) -> None:
    targets = ["checkout", "search", "login"]

    def runs(days: range, status: str) -> list[list[Raw]]:
        return [
            [run_of(day, RETRY, status, decision__target=targets[day % 3], decision__id=f"d{day}")]
            for day in days
        ]

    learned(empty, runs(range(4), "success"), NOW)
    (name,) = (n for n in empty.store.head().skills if n.startswith("pattern"))
    learned(empty, runs(range(4, 8), "failure"), NOW)
    assert name not in empty.store.head().skills
    (left,) = (c for c in empty.log() if c.subject == f"promote: archive {name}")
    assert empty.run(now=NOW).done == []
    assert empty.store.head().due.keys(CONSOLIDATE) == []
    learned(empty, runs(range(8, 12), "success"), NOW)
    assert name in empty.store.head().skills
    assert left.step == "promote"


def four_failures(score: float | None) -> list[Raw]:
    """The same lesson of four targets."""
    targets = ("checkout", "search", "login", "cart")
    return [
        run_of(day, HALF, "failure", decision__target=target, result__score=score)
        for day, target in enumerate(targets)
    ]


def test_what_small_losses_taught_on_several_subjects_is_a_warning(empty: Vault) -> None:
    learned(empty, [four_failures(-0.04)], NOW)
    assert [skill.kind for skill in empty.store.head().skills.values()] == ["warning"]


def test_what_the_warnings_of_the_subjects_tell_is_not_told_again(empty: Vault) -> None:
    learned(empty, [four_failures(None)], NOW)
    assert len(facts(empty)) == 1
    links = empty.store.head().links.values()
    assert not any(link.type == "derived" for link in links)


def test_a_failure_that_nothing_was_said_about_is_no_fact(empty: Vault) -> None:
    stream = [
        run_of(day, "", "failure", result__evidence="assert 504 == 200", result__score=-0.04)
        for day in range(3)
    ]
    learned(empty, [stream], NOW)
    assert facts(empty) == {}
    _, answers = empty.why_not(next(iter(empty.store.head().outcomes)))
    (promote,) = (answer for answer in answers if answer.step == "promote")
    assert promote.reason.endswith("and it tells no more than how its own run ended")


def test_the_figures_of_a_result_tell_no_insights_apart(empty: Vault) -> None:
    stream = [
        run_of(day, HALF, result__evidence=f"ERROR consumer: shard {day} lags") for day in range(2)
    ]
    learned(empty, [stream], NOW)
    (fact,) = facts(empty).values()
    assert linked(empty, fact, "promoted", "reinforced") == {"01", "02"}


def test_a_support_that_a_person_took_away_is_not_made_again(empty: Vault, tmp_path: Path) -> None:
    learned(empty, [[run_of(day, HALF)] for day in range(2)], NOW)
    person = Person(tmp_path / "v")
    (path,) = (tmp_path / "v/links").rglob("reinforced-*.yaml")
    person.git("rm", "-q", str(path.relative_to(tmp_path / "v")))
    person.git("commit", "-qm", "no support")
    assert empty.run(now=NOW).done == []
    assert not path.exists()


def test_a_fact_that_a_person_reworded_is_met_by_its_own_words(
    empty: Vault, tmp_path: Path
) -> None:
    learned(empty, [[run_of(day, HALF)] for day in range(2)], NOW)
    person = Person(tmp_path / "v")
    (fact,) = facts(empty).values()
    path = tmp_path / f"v/memory/coding/{fact.id}.md"
    path.write_text(path.read_text().replace(fact.text, "Name the owner of every queue."))
    person.git("commit", "-qam", "reworded")
    learned(empty, [[run_of(5, HALF)]], NOW)
    assert linked(empty, fact, "reinforced") == {"02"}


def test_why_not_says_what_an_insight_lacks(empty: Vault) -> None:
    learned(empty, [[run_of(0, HALF)]], NOW)
    _, answers = empty.why_not(next(iter(empty.store.head().outcomes)))
    (promote,) = (answer for answer in answers if answer.step == "promote")
    assert promote.reason.endswith("1 run of 1 session say it, without that it takes two")


def test_both_sides_are_listed(empty: Vault) -> None:
    stream = [run_of(0, RETRY), run_of(1, RETRY), run_of(2, NO_RETRY)]
    learned(empty, [stream], NOW)
    fact = facts(empty)[f"succeeded: {RETRY}"]
    assert [name[6:8] for name in empty.why(fact.id)["against"]] == ["03"]

"""An outcome that was wrong counts nowhere, as if it had been retracted when it arrived."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from skillvault.api import Vault, retract, undo
from skillvault.learning.promote.facts import is_contested
from skillvault.model.errors import UncommittedEditError, UsageError
from tests.conftest import NOW, Person, unguarded
from tests.given import as_file, raw, trade
from tests.loop.test_clusters import topic
from tests.review.given import before_commit

LATER = NOW + timedelta(days=1)


def recorded(vault: Vault, *outcomes: dict[str, object]) -> list[str]:
    """Record outcomes and return their ids in the order of time."""
    files = [(f"{number}.json", as_file(one)) for number, one in enumerate(outcomes)]
    vault.record(files, now=NOW)
    return sorted(vault.store.snapshot().outcomes)


def served(vault: Vault) -> dict[str, str]:
    """Return the texts of the living skills and of the facts that nothing contests, by name."""
    head = vault.store.snapshot()
    skills = {name: skill.body.strip() for name, skill in head.skills.items()}
    runs, against = head.facts.supporter_counts(head.facts), head.facts.opponent_counts(head.facts)
    told = {
        name: fact.text
        for name, fact in head.facts.items()
        if not is_contested(fact, runs.get(name, 0), against.get(name, 0))
    }
    return {**skills, **told}


def both_ways(vault: Vault, outcomes: list[dict[str, object]], wrong: int, other: Vault) -> None:
    """Assert that a late retraction leaves the same as a retraction on arrival."""
    ids = recorded(vault, *outcomes)
    vault.run(now=NOW)
    retract(vault, ids[wrong], "a wrong label", now=LATER)
    assert recorded(other, *outcomes) == ids
    retract(other, ids[wrong], "a wrong label", now=LATER)
    other.run(now=LATER)
    assert served(vault) == served(other)
    assert vault.check().problems == []
    assert not vault.run(now=LATER).done


@pytest.fixture
def other(tmp_path: Path, _new_vault: Path) -> Vault:
    """Another new vault."""
    return Vault(unguarded(_new_vault, tmp_path / "other"))


def test_a_commit_during_a_retraction_counts(
    vault: Vault, other: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = recorded(vault, raw(0), raw(1), raw(2))
    vault.run(now=NOW)

    def learn() -> None:
        second = Vault(vault.root)
        second.record([("3.json", as_file(raw(3)))], now=LATER)
        second.run(now=LATER)

    before_commit(monkeypatch, learn)
    retract(vault, ids[0], "a wrong label", now=LATER)
    recorded(other, raw(0), raw(1), raw(2), raw(3))
    retract(other, ids[0], "a wrong label", now=LATER)
    other.run(now=LATER)
    assert len(vault.store.snapshot().outcomes) == 4
    assert served(vault) == served(other)
    assert vault.check().problems == []
    assert not vault.run(now=LATER).done


def test_an_outcome_whose_retraction_is_undone_counts_with_later_ones(
    vault: Vault, other: Vault
) -> None:
    for each in (vault, other):
        recorded(each, raw(0), raw(1), raw(2))
        each.run(now=NOW)
    commit = retract(vault, min(vault.store.snapshot().outcomes), "wrong", now=NOW).done[0].commit
    for each in (vault, other):
        recorded(each, raw(3), raw(4))
        each.run(now=LATER)
    undo(vault, commit or "", "a mistake", now=LATER)
    vault.run(now=LATER)
    assert served(vault) == served(other)
    assert vault.check().problems == []
    assert not vault.run(now=LATER).done


@pytest.mark.parametrize("wrong", [0, 1])
def test_of_two_that_say_the_same_the_other_stays(vault: Vault, other: Vault, wrong: int) -> None:
    both_ways(vault, [raw(0), raw(1)], wrong, other)


def test_the_only_one_takes_its_skill_along(vault: Vault, other: Vault) -> None:
    both_ways(vault, [trade(0)], 0, other)
    assert served(vault) == {}


def test_a_pattern_that_lost_its_facts_goes_too(vault: Vault, other: Vault) -> None:
    both_ways(vault, [{**one} for one in topic(9, 3, seed=2)], 2, other)
    assert [one.name for one in vault.skills("archive") if one.name.startswith("pattern")]


@pytest.mark.parametrize("wrong", [0, 5, 11])
def test_a_strategy_is_written_of_the_others(vault: Vault, other: Vault, wrong: int) -> None:
    days = [
        trade(
            day,
            score=-0.2 if day % 3 else 0.3,
            decision__target=f"T{day % 4}",
            context={"trend": "falling" if day % 3 else "rising"},
        )
        for day in range(-4, 18)
    ]
    both_ways(vault, days, wrong, other)
    assert "strategy-perps" in served(vault)


def test_a_strategy_of_the_seed_profile_goes_if_too_few_are_left(
    vault: Vault, person: Person
) -> None:
    person.rule("profile: seed")
    ids = recorded(vault, *(trade(day, decision__target=f"T{day % 4}") for day in range(10)))
    vault.run(now=NOW)
    assert "strategy-perps" in served(vault)
    retract(vault, ids[3], "a wrong label", now=LATER)
    vault.run(now=LATER)
    assert "strategy-perps" not in served(vault)


@pytest.mark.parametrize("ended", ["+-++-+++++", "--+-+-----", "+-+-"])
def test_the_facts_that_are_told_are_those_of_the_other_runs(
    vault: Vault, other: Vault, ended: str
) -> None:
    status = {"+": "success", "-": "failure"}
    for each in (vault, other):
        for day, sign in enumerate(ended):
            fields = {"source__session": f"s{day}", "result": {"status": status[sign]}}
            ids = recorded(each, raw(day, **fields))
            if day == 2 and each is other:
                retract(other, ids[2], "a wrong label", now=NOW)
            each.run(now=NOW)
    retract(vault, ids[2], "a wrong label", now=LATER)
    assert served(vault) == served(other)
    assert vault.check().problems == []
    assert not vault.run(now=LATER).done


def test_a_retraction_is_one_commit_that_lists_what_changed(vault: Vault, person: Person) -> None:
    ids = recorded(vault, raw(0), raw(1))
    vault.run(now=NOW)
    before = person.git("rev-parse", "HEAD")
    report = retract(vault, ids[0][:20], "the machine was\nbroken", now=LATER)
    assert person.git("rev-list", "--count", f"{before}..HEAD") == "1"
    message = person.git("log", "-1", "--format=%an: %B")
    assert message.startswith(f"Ada Person: retract: {ids[0]}")
    assert "refresh: guide-coding-fix-flaky-test" in message
    record = (vault.root / f"retractions/coding/2026/11/01/{ids[0]}.yaml").read_text()
    assert record == (
        f"outcome: {ids[0]}\ndomain: coding\nreason: |-\n  the machine was\n  broken\n"
        "at: '2026-11-21T12:00:00Z'\nby: Ada Person <ada@example.org>\n"
    )
    assert {done.commit for done in report.done} == {person.git("rev-parse", "HEAD")}


def test_the_outcome_stays_as_written_and_is_known(vault: Vault) -> None:
    (name,) = recorded(vault, raw(0))
    path = vault.root / f"outcomes/coding/2026/11/01/{name}.yaml"
    before = path.read_bytes()
    retract(vault, name, "wrong", now=LATER)
    assert path.read_bytes() == before
    assert vault.record([("again.json", as_file(raw(0)))], now=LATER).known == [name]
    with pytest.raises(UsageError, match="retracted already"):
        retract(vault, name, "wrong", now=LATER)
    with pytest.raises(UsageError, match="--reason"):
        retract(vault, recorded(vault, raw(1))[1], " ", now=LATER)


def test_a_dry_run_shows_it_and_does_nothing(vault: Vault, person: Person) -> None:
    ids = recorded(vault, raw(0), raw(1))
    vault.run(now=NOW)
    before = person.git("rev-parse", "HEAD")
    report = retract(vault, ids[0], "wrong", now=LATER, dry=True)
    assert next(done.change.step for done in report.done) == "retract"
    assert (person.git("rev-parse", "HEAD"), person.status()) == (before, "")
    assert not vault.run(now=LATER).done


def test_what_a_person_is_editing_is_named_and_nothing_is_done(
    vault: Vault, person: Person
) -> None:
    ids = recorded(vault, raw(0), raw(1))
    vault.run(now=NOW)
    before = person.git("rev-parse", "HEAD")
    path = f"skills/{vault.skills()[0].name}/SKILL.md"
    (vault.root / path).write_text((vault.root / path).read_text() + "mine\n")
    with pytest.raises(UncommittedEditError, match=re.escape(path)):
        retract(vault, ids[0], "wrong", now=LATER)
    assert person.git("rev-parse", "HEAD") == before


def test_a_revert_counts_it_again(vault: Vault, person: Person) -> None:
    ids = recorded(vault, raw(0), raw(1))
    vault.run(now=NOW)
    before = served(vault)
    retract(vault, ids[0], "wrong", now=LATER)
    assert served(vault) != before
    person.git("revert", "--no-edit", "HEAD")
    vault.run(now=LATER)
    assert served(vault) == before


def test_an_index_built_anew_leaves_it_out_too(vault: Vault) -> None:
    ids = recorded(vault, raw(0), raw(1, decision__id="d-1"))
    for name in ids:
        retract(vault, name, "wrong", now=LATER)
    counted = "select count(*) from outcome where counts"
    assert vault.store.snapshot().rows(counted, []) == [(0,)]
    (vault.store.git.dirs()[0] / "skillvault/index.db").unlink()
    again = Vault(vault.root)
    assert again.store.snapshot().rows(counted, []) == [(0,)]
    assert not again.run(now=LATER).done

"""promote across domains end to end: what holds in several becomes one skill of none, once."""

import random
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.loop.run import Report
from skillvault.model.text.markdown import statements
from tests.conftest import NOW, Person
from tests.given import as_file, raw
from tests.thorough import one_of

SAID = "Write the idempotency key before the first retry of a request."
SEEN = "two charges arrived for one order"


def taught(
    number: int, domain: str, status: str = "success", said: str = SAID, **changes: Any
) -> dict[str, Any]:
    """An outcome of a session of its own, with a lesson."""
    return raw(
        number % 17,
        domain=domain,
        decision__action=f"retry-{domain}",
        decision__target=None,
        decision__reasoning=f"I saw {SEEN} in run {number}.",
        result={"status": status, "summary": SEEN},
        lesson={"do": said, "evidence": SEEN, "observed": True},
        source={"agent": "a", "session": f"s-{domain}-{number}"},
        **changes,
    )


def learned(vault: Vault, *given: dict[str, Any]) -> Report:
    """Record outcomes, run the loop."""
    files = [(f"{place}.json", as_file(one)) for place, one in enumerate(given)]
    vault.record(files, now=NOW)
    return vault.run(now=NOW)


def general(vault: Vault, folder: str = "skills") -> list[str]:
    """The skills of no domain that facts made."""
    return [one.name for one in vault.skills(folder) if one.name.startswith("general-")]


FIVE = [taught(n, "coding") for n in range(3)] + [taught(n, "perps") for n in range(3, 6)]


@pytest.fixture
def five_runs(prepared: Callable[[Callable[[Vault], object]], Vault]) -> Vault:
    """A vault that learned from runs of two domains."""
    return prepared(_learn_five)


def _learn_five(vault: Vault) -> None:
    learned(vault, *FIVE)


@pytest.mark.usefixtures("five_runs")
def test_what_holds_in_two_domains_becomes_one_skill_of_none(vault: Vault) -> None:
    (name,) = general(vault)
    skill, _ = vault.skill(name)
    assert (skill.domain, skill.kind, skill.status) == (None, "pattern", "testing")
    assert name == "general-write-the-idempotency-key-before-the-first-retry"
    assert SAID.rstrip(".") in skill.body
    assert skill.body.startswith(f"# Pattern: {SAID.rstrip('.')}")
    assert "coding and perps; 6 of 6 runs behind them ended well" in skill.body
    links = {branch["link"].partition("-")[0] for branch in vault.why(name)["sources"]}
    assert links == {"derived"}
    assert {branch["ref"]["kind"] for branch in vault.why(name)["sources"]} == {"fact"}
    assert vault.check().problems == []
    assert vault.run(now=NOW).done == []


@pytest.mark.usefixtures("five_runs")
def test_it_is_recommended_in_every_domain(vault: Vault) -> None:
    (name,) = general(vault)
    answer = vault.recommend("perps", "the first retry of a request needs its idempotency key")
    assert name in [skill.name for skill in answer.recommended]


FAILED = [taught(n, ("coding", "perps")[n % 2], "failure") for n in range(6, 14)]
HELD = [taught(n, ("coding", "perps")[n % 2]) for n in range(14, 22)]


@pytest.mark.usefixtures("five_runs")
def test_it_leaves_when_too_few_of_its_runs_ended_well_and_comes_back(vault: Vault) -> None:
    (name,) = general(vault)
    learned(vault, *FAILED)
    assert (general(vault), general(vault, "archive")) == ([], [name])
    assert vault.run(now=NOW).done == []
    learned(vault, *HELD)
    assert (general(vault), general(vault, "archive")) == ([name], [])
    assert vault.check().problems == []


@pytest.mark.usefixtures("five_runs")
def test_what_a_person_wrote_into_it_keeps_it_in_service(vault: Vault, person: Person) -> None:
    (name,) = general(vault)
    path = vault.root / "skills" / name / "SKILL.md"
    path.write_text(path.read_text() + "\nWe have seen this ourselves.\n")
    person.git("commit", "-qam", "note what we saw")
    learned(vault, *FAILED)
    assert general(vault) == [name]


@pytest.mark.parametrize(
    "given",
    [
        [taught(n, "coding") for n in range(6)],
        [taught(0, "coding"), taught(1, "coding"), taught(2, "perps"), taught(3, "perps")],
        [taught(n, "coding", "failure") for n in range(4)]
        + [taught(n, "perps") for n in range(4, 6)],
        [taught(n, "coding") for n in range(3)]
        + [taught(n, "perps", said="Halve the size when funding is high.") for n in range(3, 6)],
        [taught(n, "coding") for n in range(3)]
        + [taught(n, "perps", source__trust="untrusted") for n in range(3, 6)],
    ],
    ids=["one domain", "four runs", "two of six ended well", "another fact", "untrusted"],
)
def test_less_makes_none(vault: Vault, given: list[dict[str, Any]]) -> None:
    learned(vault, *given)
    assert general(vault) == []
    assert vault.run(now=NOW).done == []


def test_why_not_says_what_is_missing(vault: Vault) -> None:
    learned(vault, *(taught(n, ("coding", "perps")[n % 2]) for n in range(4)))
    fact = next(iter(vault.store.snapshot().facts))
    reasons = [answer.reason for answer in vault.why_not(fact)[1]]
    assert any("in every domain: said in coding and perps by 4 runs" in r for r in reasons)


@pytest.mark.parametrize("how", ["removed", "reverted"])
@pytest.mark.usefixtures("five_runs")
def test_what_a_person_took_away_stays_away(vault: Vault, person: Person, how: str) -> None:
    (name,) = general(vault)
    if how == "removed":
        person.git("rm", "-rq", f"skills/{name}")
        person.git("commit", "-qm", "away")
    else:
        person.git("revert", "--no-edit", person.git("log", "-1", "--format=%H", f"skills/{name}"))
    learned(vault, *(taught(n, "coding") for n in range(20, 24)))
    assert general(vault) == []


@pytest.mark.usefixtures("five_runs")
def test_nor_does_it_keep_a_domain_from_its_own_skill(vault: Vault, person: Person) -> None:
    own = [one.name for one in vault.skills() if one.name.startswith("pattern-coding")]
    (name,) = general(vault)
    person.git("rm", "-rq", f"skills/{name}")
    person.git("commit", "-qm", "away")
    vault.run(now=NOW)
    assert [one.name for one in vault.skills() if one.name.startswith("pattern-coding")] == own


@pytest.mark.usefixtures("five_runs")
def test_one_that_was_put_away_is_not_made_again(vault: Vault) -> None:
    (name,) = general(vault)
    vault.curate.retire(name, now=NOW)
    learned(vault, *(taught(n, "coding") for n in range(20, 24)))
    assert general(vault) == []
    assert general(vault, "archive") == [name]


@pytest.mark.usefixtures("five_runs")
def test_a_third_domain_joins_it(vault: Vault) -> None:
    (name,) = general(vault)
    learned(vault, *(taught(n, "mail") for n in range(6, 9)))
    assert general(vault) == [name]
    skill, _ = vault.skill(name)
    assert "coding, mail and perps" in skill.body
    assert len(vault.why(name)["sources"]) == 3


@pytest.mark.usefixtures("five_runs")
def test_what_a_person_wrote_in_it_stays(vault: Vault, person: Person) -> None:
    (name,) = general(vault)
    page = person.root / f"skills/{name}/SKILL.md"
    page.write_text(f"{page.read_text(encoding='utf-8')}\n## Mine\n\n- Ask Bo.\n", encoding="utf-8")
    person.git("commit", "-qam", "mine")
    learned(vault, *(taught(n, "mail") for n in range(6, 9)))
    body = vault.skill(name)[0].body
    assert "- Ask Bo." in body
    assert "coding, mail and perps" in body


@pytest.mark.parametrize("seed", one_of(2, range(2)))
def test_bulk_and_one_at_a_time_say_the_same(vault: Vault, tmp_path: Path, seed: int) -> None:
    given = [*FIVE, *(taught(n, "coding", "failure") for n in range(6, 8))]
    learned(vault, *given)
    other = Vault.init(tmp_path / "other", ["perps", "coding"], now=NOW)[0]
    for one in random.Random(seed).sample(given, len(given)):
        learned(other, one)
    texts = [
        [sorted(statements(one.skill(name)[0].body)) for name in general(one)]
        for one in (vault, other)
    ]
    assert texts[0] == texts[1] != []


OTHERS = (
    "Drain the queue before the worker restarts.",
    "Keep the size small while funding is above one percent.",
    "Ask for the invoice number before the refund.",
)


@pytest.mark.parametrize("seed", one_of(8, (5, 0, 1, 2, 3, 4, 6, 7)))
def test_what_changed_is_compared_as_if_all_were(vault: Vault, person: Person, seed: int) -> None:
    """Facts come, go, are reworded and replaced; who compares all finds nothing left."""
    chance = random.Random(seed)
    for number in range(0, 36, 6):
        some = (
            taught(
                number + more,
                chance.choice(["coding", "perps", "mail"]),
                chance.choice(["success", "success", "failure"]),
                chance.choice([SAID, *OTHERS]),
            )
            for more in range(6)
        )
        learned(vault, *some)
        paths = sorted((vault.root / "memory").rglob("*.md"))
        path = chance.choice([*paths, vault.root / "README.md"])
        edit = chance.choice(["away", "reworded", "replaced", "left"]) if path in paths else "left"
        if edit == "away":
            person.git("rm", "-q", str(path))
        elif edit == "reworded":
            path.write_text(path.read_text().replace(SAID, OTHERS[0]), encoding="utf-8")
        elif edit == "replaced":
            old = path.read_text(encoding="utf-8")
            lines = f"id: in-place-{number}\nsupersedes: {path.stem}"
            new = re.sub(r"id: .*(\nsupersedes: .*)?", lines, old, count=1)
            path.with_name(f"in-place-{number}.md").write_text(new, encoding="utf-8")
        person.git("add", "-A")
        person.git("commit", "-qm", edit, "--allow-empty")
        for _ in range(3):
            report = vault.run(now=NOW)
        assert [done.change.headline for done in report.done] == []
    with closing(sqlite3.connect(vault.root / ".git/skillvault/index.db")) as index, index:
        index.execute("delete from fact_key")
        index.execute("insert or ignore into due select 'general', id from fact")
    report = Vault.open(vault.root).run(["promote"], now=NOW)
    assert [done.change.headline for done in report.done] == []
    assert vault.check().problems == []

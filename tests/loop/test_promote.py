"""promote end to end: insight, fact, pattern skill, and what a person does about them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.judge.offline.judge import OfflineJudge
from skillvault.model.brief import Case, InsightText, Verdict
from skillvault.model.errors import UsageError
from tests.conftest import NOW, Person
from tests.given import as_file, raw, trade

LESSON = (
    "Breakout above the level on high volume; entering at market now with full size because "
    "momentum is strong. I see no risk, this cannot fail. "
)


def action_of(day: int) -> str:
    """One of two actions."""
    return "add_long" if day % 4 == 1 else "open_long"


def loss(day: int, target: str, score: float = -0.05, **changes: Any) -> dict[str, Any]:
    """One of several losses of two actions that teach the same; no guide tells them all."""
    fields = {
        "decision__action": action_of(day),
        "decision__target": target,
        "decision__reasoning": LESSON,
        "decision__confidence": 0.95,
    }
    return trade(day, score=score, **{**fields, **changes})


def learn(vault: Vault, *given: dict[str, Any]) -> None:
    """Record outcomes and run the loop."""
    vault.record([(f"o{n}.json", as_file(one)) for n, one in enumerate(given)], now=NOW)
    vault.run(now=NOW)


def three(**changes: Any) -> list[dict[str, Any]]:
    """The same lesson on three targets, from three sessions."""
    return [
        loss(n, target, **{"source__session": f"s{n}", **changes})
        for n, target in enumerate(["SOL-PERP", "ARB-PERP", "DOGE-PERP"])
    ]


def from_memory(vault: Vault) -> list[str]:
    """The live skills that facts made."""
    links = vault.store.snapshot().links.values()
    return sorted({link.target.id for link in links if link.type == "derived"})


@pytest.fixture
def three_losses(prepared: Callable[[Callable[[Vault], object]], Vault]) -> Vault:
    """A vault that learned from three losses."""
    return prepared(_learn_three)


def _learn_three(vault: Vault) -> None:
    learn(vault, *three())


@pytest.mark.usefixtures("three_losses")
def test_an_insight_becomes_a_fact_and_a_recurring_one_a_skill(vault: Vault) -> None:
    assert vault.memory.facts()
    (name,) = from_memory(vault)
    tree = vault.why(name)
    ends = json.dumps(tree)
    assert all(f'"{o}"' in ends for o in vault.store.snapshot().outcomes)
    assert vault.skill(name)[0].status == "testing"
    assert vault.check().problems == []


@pytest.mark.usefixtures("three_losses")
def test_what_a_run_weighed_is_not_due_by_its_own_links(vault: Vault) -> None:
    learn(vault, loss(9, "ADA-PERP"))
    assert vault.memory.facts()
    assert vault.store.snapshot().due.keys("promote") == []


@pytest.mark.usefixtures("three_losses")
def test_a_fact_that_a_person_changes_makes_due_what_speaks_for_it(
    vault: Vault, person: Person
) -> None:
    fact = vault.memory.facts()[0]
    path = f"memory/{fact.domain}/{fact.id}.md"
    person.write(path, (vault.root / path).read_text() + "Mine.\n")
    person.git("commit", "-qam", "in my words")
    assert vault.store.snapshot().due.keys("promote") != []


@pytest.mark.usefixtures("three_losses")
def test_a_second_run_promotes_nothing(vault: Vault) -> None:
    assert vault.run(now=NOW).done == []


class EchoJudge(OfflineJudge):
    """Finds every failure bad, and takes the reasoning for the insight."""

    def verdict(self, *_: object) -> Verdict:
        return Verdict(was_good_decision=False, quality_score=0.1)

    def insight(self, case: Case, verdict: Verdict) -> InsightText:
        return InsightText(key_insight=case.outcome.decision.reasoning, insight_type="risk")


def alike(number: int, session: str) -> dict[str, Any]:
    """A loss whose lesson is like the others' and repeats none."""
    said = f"longs were crowded: funding stood above {number:04} {number + 1:04}"
    return loss(number, f"T{number}", decision__reasoning=said, source__session=session)


def test_one_session_alone_is_proposed_and_a_second_lets_it_in(vault: Vault) -> None:
    vault = Vault(vault.root, EchoJudge())
    learn(vault, *(alike(number, "same") for number in (1, 3, 5)))
    (name,) = from_memory(vault)
    assert vault.skill(name)[1].startswith("proposed/")
    learn(vault, alike(7, "other"))
    skill, path = vault.skill(name)
    assert (skill.status, path) == ("testing", f"skills/{name}/SKILL.md")
    assert "7" in skill.body
    assert vault.run(now=NOW).done == []


def test_nothing_waits_after_the_run_that_made_a_skill_of_facts(vault: Vault) -> None:
    vault = Vault(vault.root, EchoJudge())
    learn(vault, *(alike(number, f"s{number}") for number in (1, 3, 5)))
    assert from_memory(vault)
    assert set(vault.status().waiting.values()) == {0}


def test_a_person_keeps_what_they_wrote_when_the_pattern_grows(
    vault: Vault, person: Person
) -> None:
    vault = Vault(vault.root, EchoJudge())
    learn(vault, *(alike(number, f"s{number}") for number in (1, 3, 5)))
    (name,) = from_memory(vault)
    place = vault.root / f"skills/{name}/SKILL.md"
    text = place.read_text()
    head, _, tail = text.partition("## Origin")
    person.write(f"skills/{name}/SKILL.md", f"{head}## Origin\n\nMine,  with two blanks.\n")
    person.git("commit", "-qam", "my words")
    learn(vault, alike(7, "s7"))
    after = place.read_text()
    assert after.endswith("## Origin\n\nMine,  with two blanks.\n")
    assert "0007" in after
    assert tail not in after


CODE = "Mine:\n\n````md\nOpen with this line:\n```sh\n## Not a heading\n````\n"


def test_a_persons_code_stays_and_the_programs_section_below_grows(
    vault: Vault, person: Person
) -> None:
    vault = Vault(vault.root, EchoJudge())
    learn(vault, *(alike(number, f"s{number}") for number in (1, 3, 5)))
    (name,) = from_memory(vault)
    place = vault.root / f"skills/{name}/SKILL.md"
    before, origin, below = place.read_text().partition("## Origin")
    above, application, _ = before.partition("## Application")
    mine = f"{application}\n\n{CODE}\n"
    person.write(f"skills/{name}/SKILL.md", f"{above}{mine}{origin}{below}")
    person.git("commit", "-qam", "my code")
    for number in (7, 9):
        learn(vault, alike(number, f"s{number}"))
        text = place.read_text()
        assert mine in text
        assert f" on T{number} " in text.partition(origin)[2]


def test_a_person_keeps_a_description_although_the_text_grows(vault: Vault, person: Person) -> None:
    vault = Vault(vault.root, EchoJudge())
    learn(vault, *(alike(number, f"s{number}") for number in (1, 3, 5)))
    (name,) = from_memory(vault)
    path = f"skills/{name}/SKILL.md"
    text = (vault.root / path).read_text()
    said = vault.skill(name)[0].description
    person.write(path, text.replace(said, "Mine"))
    person.git("commit", "-qam", "my description")
    learn(vault, alike(7, "s7"))
    found = vault.skill(name)[0]
    assert found.description == "Mine"
    assert "0007" in found.body


@pytest.mark.usefixtures("three_losses")
def test_a_reverted_promotion_is_not_redone(vault: Vault, person: Person) -> None:
    for commit in person.git("log", "--format=%H", "--grep=^promote:").split():
        person.git("revert", "--no-edit", commit)
    assert vault.memory.facts() == []
    report = vault.run(now=NOW)
    assert [d for d in report.done if d.change.step == "promote"] == []
    assert report.rejected
    learn(vault, loss(6, "XRP-PERP", source__session="later"))
    assert vault.memory.facts() == []
    assert vault.check().problems == []


def test_a_fact_by_hand_is_a_commit_and_takes_the_place_of_another(
    vault: Vault, person: Person
) -> None:
    vault.memory.add_fact("Funding above 0.05 % means crowded longs", "perps", now=NOW)
    (old,) = vault.memory.facts()
    vault.memory.add_fact(
        "Funding above 0.08 % means crowded longs", "perps", supersedes=old.id, now=NOW
    )
    assert [f.text for f in vault.memory.facts("perps")] == [
        "Funding above 0.08 % means crowded longs"
    ]
    assert person.git("log", "-1", "--format=%an %s").startswith("Ada Person add: fact funding")
    assert vault.memory.fact(old.id)[0].text.startswith("Funding above 0.05")
    assert vault.why_not(old.id)[1][-1].state == "superseded"


def test_a_domain_without_facts_is_told_from_a_wrong_name(vault: Vault) -> None:
    assert vault.memory.facts("coding") == []
    with pytest.raises(UsageError, match="no such domain"):
        vault.memory.facts("codding")


def test_why_not_says_what_an_insight_lacks(vault: Vault) -> None:
    learn(
        vault,
        raw(decision__reasoning="The machine is slow, so waiting a little longer helps, I guess."),
    )
    (outcome,) = vault.store.snapshot().outcomes
    answer = next(a for a in vault.why_not(outcome)[1] if a.step == "promote")
    assert answer.state in {"weak", "not confirmed"}
    assert "0." in answer.reason


def test_an_untrusted_source_enters_no_memory(vault: Vault) -> None:
    for number, given in enumerate(three(score=-0.12)):
        place = vault.root / "inbox" / "untrusted" / f"{number}.json"
        place.write_bytes(as_file(given))
    vault.run(now=NOW)
    assert vault.memory.facts() == []
    assert vault.skills() == []
    assert vault.skills("proposed")


def test_the_memory_of_the_vault_is_the_same_in_any_order(tmp_path: Path) -> None:
    trees = set()
    for name, order in (("a", 1), ("b", -1)):
        made, _ = Vault.init(tmp_path / name, ["perps"], now=NOW)
        learn(made, *three()[::order])
        trees.add(made.store.git.text("rev-parse", "HEAD^{tree}"))
    assert len(trees) == 1

"""The next version of an approved skill waits for a person, if every machine-made skill does."""

import os
import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from skillvault.api import Vault, proposal_branches, proposals, question, retract, undo
from skillvault.loop.next_versions import waiting_versions
from skillvault.model.errors import UsageError
from skillvault.model.records import Ref
from skillvault.review.proposal import text_pair
from tests.conftest import NOW, Person
from tests.given import raw, trade
from tests.loop.test_histories import MINE, History, World
from tests.loop.test_strategy import NAME, tasks
from tests.review.test_review import recorded, with_gate
from tests.thorough import THOROUGH

LATER = NOW + timedelta(days=1)
REFUSED = "ERROR: connection refused"
DEEDS = {
    REFUSED: "I restart the proxy before the suite.",
    "disk full": "I delete the old builds of the machine.",
    "no route": "I pin the address of the gateway.",
}


def met(day: int, evidence: str) -> dict[str, Any]:
    """Make an outcome with this evidence and the reasoning that belongs to it."""
    return raw(day, result__evidence=evidence, decision__reasoning=DEEDS[evidence])


def body(vault: Vault, name: str, folder: str = "skills") -> str:
    """Return the text of a skill's file."""
    return (vault.root / folder / name / "SKILL.md").read_text()


@pytest.fixture
def approved(prepared: Callable[[Callable[[Vault], object]], Vault]) -> Vault:
    """A vault in which every new skill waits; a person approved one guide."""
    return prepared(_approve_guide)


def _approve_guide(vault: Vault) -> None:
    with_gate(vault, Person(vault.root), "always")
    recorded(vault, raw(0), raw(1))
    (name,) = (proposal.name for proposal in proposals(vault))
    vault.curate.approve(name, now=NOW)


@pytest.fixture
def served(approved: Vault) -> str:
    """The name of the approved guide."""
    (skill,) = approved.skills()
    return skill.name


@pytest.fixture
def following(approved: Vault, served: str) -> str:
    """The name of the waiting version that would replace the approved guide."""
    recorded(approved, met(2, REFUSED), raw(3), raw(4))
    (proposal,) = proposals(approved)
    assert proposal.replaces == (served,)
    return proposal.name


def test_what_a_person_let_in_stays_and_its_next_version_waits(
    approved: Vault, served: str, person: Person
) -> None:
    before = body(approved, served)
    recorded(approved, met(2, REFUSED), raw(3), raw(4))
    assert body(approved, served) == before
    (proposal,) = proposals(approved)
    assert (proposal.name, proposal.replaces) == (f"{served}-next", (served,))
    assert any(line.startswith("+") and "connection refused" in line for line in proposal.diff)
    assert any(line.startswith("-") for line in proposal.diff)
    assert proposal.basis.sentence == "5 outcomes (5 failed) in 5 sessions, on 5 occasions"
    assert not approved.run(now=LATER).done
    assert approved.check().problems == []
    assert person.status() == ""


def test_the_waiting_version_goes_on_with_its_subject(
    approved: Vault, served: str, following: str
) -> None:
    before = body(approved, served), body(approved, following, "proposed")
    recorded(approved, *(met(day, "disk full") for day in range(5, 9)))
    assert [proposal.name for proposal in proposals(approved)] == [following]
    assert body(approved, served) == before[0]
    assert "disk full" in body(approved, following, "proposed")
    assert not approved.run(now=LATER).done


def test_approved_it_takes_the_place_with_its_links(
    approved: Vault, served: str, following: str, person: Person
) -> None:
    text = proposals(approved)[0].body
    approved.curate.approve(following, now=LATER)
    assert [one.name for one in approved.skills()] == [served]
    assert approved.store.snapshot().skills[served].body.strip() == text
    assert (proposals(approved), approved.skills("archive")) == ([], [])
    assert approved.store.snapshot().links.by_target([Ref("skill", following)]) == []
    assert not approved.run(now=LATER).done
    assert approved.check().problems == []
    assert person.status() == ""


def test_rejected_the_old_text_stays_and_the_like_does_not_come_back(
    approved: Vault, served: str, following: str
) -> None:
    before = body(approved, served)
    approved.curate.reject(following, reason="one bad machine", now=LATER)
    report = approved.run(now=LATER)
    assert body(approved, served) == before
    assert proposals(approved) == []
    recorded(approved, *(raw(day) for day in range(5, 9)))
    assert body(approved, served) == before
    assert proposals(approved) == []
    assert not report.done
    assert not approved.store.snapshot().due.keys("refresh")
    assert approved.check().problems == []


def test_what_says_more_than_the_rejected_one_is_proposed(
    approved: Vault, served: str, following: str
) -> None:
    approved.curate.reject(following, reason="one bad machine", now=LATER)
    recorded(approved, *(met(day, "disk full") for day in range(5, 9)))
    (proposal,) = proposals(approved)
    assert (proposal.name, "disk full" in proposal.body) == (following, True)
    assert proposal.rejected is not None
    assert proposal.rejected.reason == "one bad machine"


def test_who_names_the_served_skill_is_told_what_its_version_is_called(
    approved: Vault, served: str, following: str
) -> None:
    with pytest.raises(UsageError, match=f"skill approve {following}"):
        approved.curate.approve(served, now=LATER)
    with pytest.raises(UsageError, match=f"skill reject {following}"):
        approved.curate.reject(served, reason="no", now=LATER)


def test_a_version_that_would_say_what_was_rejected_is_withdrawn(
    approved: Vault, served: str, following: str
) -> None:
    before = body(approved, served)
    approved.curate.reject(following, reason="one bad machine", now=LATER)
    earlier = set(approved.store.snapshot().outcomes)
    recorded(approved, *(met(day, "disk full") for day in range(5, 9)))
    assert len(proposals(approved)) == 1
    for outcome in sorted(set(approved.store.snapshot().outcomes) - earlier):
        retract(approved, outcome, "a wrong label", now=LATER)
    assert proposals(approved) == []
    assert body(approved, served) == before
    assert not approved.run(now=LATER).done
    assert approved.check().problems == []


def test_a_rejection_of_a_version_is_taken_back(
    approved: Vault, served: str, following: str
) -> None:
    approved.curate.reject(following, reason="one bad machine", now=LATER)
    approved.curate.forget(following, now=LATER)
    assert [proposal.name for proposal in proposals(approved)] == [following]
    assert approved.check().problems == []


def test_what_a_person_writes_in_either_stays(
    approved: Vault, served: str, following: str, person: Person
) -> None:
    for folder, name, words in (
        ("proposed", following, "\n## Before\n\nAsk the reviewer.\n"),
        ("skills", served, "\n## Mine\n\nAsk the owner.\n"),
    ):
        path = approved.root / folder / name / "SKILL.md"
        path.write_text(path.read_text() + words)
        person.git("commit", "-qam", f"Write in {name}")
    recorded(approved, *(met(day, "disk full") for day in range(5, 9)))
    assert "Ask the reviewer." in body(approved, following, "proposed")
    changed = [line for line in text_pair(question(approved), following).diff if line[0] in "+-"]
    assert not [line for line in changed if "Ask the owner" in line]
    approved.curate.approve(following, now=LATER)
    text = body(approved, served)
    assert all(words in text for words in ("Ask the reviewer.", "Ask the owner.", "disk full"))
    recorded(approved, *(met(day, "no route") for day in range(9, 14)))
    text = body(approved, following, "proposed")
    assert all(words in text for words in ("Ask the reviewer.", "Ask the owner.", "no route"))


def test_retired_with_it_goes_what_would_replace_it(
    approved: Vault, served: str, following: str
) -> None:
    approved.curate.retire(served, now=LATER)
    assert (proposals(approved), approved.skills()) == ([], [])
    assert not approved.run(now=LATER).done
    assert approved.check().problems == []


def test_undone_with_it_goes_what_would_replace_it(
    approved: Vault, served: str, following: str
) -> None:
    with pytest.raises(UsageError, match=f"waits to replace {served}"):
        undo(approved, following, now=LATER)
    undo(approved, served, now=LATER)
    assert (proposals(approved), approved.skills()) == ([], [])
    assert not approved.run(now=LATER).done
    assert approved.check().problems == []


def test_a_retraction_waits_with_what_it_changes(approved: Vault, served: str) -> None:
    before = body(approved, served)
    outcome = min(approved.store.snapshot().outcomes)
    retract(approved, outcome, "a wrong label", now=LATER)
    assert body(approved, served) == before
    assert [proposal.replaces for proposal in proposals(approved)] == [(served,)]
    assert not approved.run(now=LATER).done


def test_a_served_skill_of_which_nothing_is_left_leaves_at_once(
    approved: Vault, served: str, following: str
) -> None:
    for outcome in sorted(approved.store.snapshot().outcomes):
        retract(approved, outcome, "a wrong label", now=LATER)
    assert (proposals(approved), approved.skills()) == ([], [])
    assert approved.check().problems == []


def test_the_files_beside_a_text_are_a_persons_once_they_wrote_in_them(
    approved: Vault, served: str, following: str, person: Person
) -> None:
    own = approved.root / "skills" / served / "references"
    new = approved.root / "proposed" / following / "references"
    assert {path.name for path in new.iterdir()} == {"evidence.yaml", "tried.md"}
    (new / "notes.md").write_text("Seen on Monday.\n")
    (own / "tried.md").write_text("Ours, by hand.\n")
    person.git("add", "-A")
    person.git("commit", "-qm", "Notes")
    approved.curate.approve(following, now=LATER)
    texts = {path.name: path.read_text() for path in own.iterdir()}
    assert texts.keys() == {"notes.md", "tried.md", "evidence.yaml"}
    assert (texts["notes.md"], texts["tried.md"]) == ("Seen on Monday.\n", "Ours, by hand.\n")
    assert REFUSED in texts["evidence.yaml"]
    assert not approved.run(now=LATER).done
    assert approved.check().problems == []


def test_a_strategy_waits_for_a_person_each_time(vault: Vault, person: Person) -> None:
    with_gate(vault, person, "always")
    recorded(vault, *tasks(0, 12))
    vault.curate.approve(NAME, now=NOW)
    before = body(vault, NAME)
    recorded(vault, *tasks(12, 10))
    assert body(vault, NAME) == before
    waiting = [one for one in proposals(vault) if one.replaces == (NAME,)]
    assert [one.name for one in waiting] == [f"{NAME}-next"]
    vault.curate.approve(f"{NAME}-next", now=NOW)
    assert body(vault, NAME) != before
    assert not vault.run(now=NOW).done
    assert vault.check().problems == []


def test_by_another_gate_the_program_writes_in_what_is_served(vault: Vault, person: Person) -> None:
    with_gate(vault, person, "unproven")
    recorded(vault, raw(0), raw(1))
    (skill,) = vault.skills()
    recorded(vault, met(2, REFUSED), raw(3), raw(4))
    assert "connection refused" in body(vault, skill.name)
    assert proposals(vault) == []


def test_once_the_gate_is_open_what_waits_is_served_and_goes(
    approved: Vault, served: str, following: str, person: Person
) -> None:
    with_gate(approved, person, "unproven")
    recorded(approved, *(met(day, "disk full") for day in range(5, 9)))
    assert "disk full" in body(approved, served)
    assert proposals(approved) == []
    assert not approved.run(now=LATER).done
    assert approved.check().problems == []


def test_why_a_version_waits_leads_to_the_skill_and_its_outcomes(
    approved: Vault, served: str, following: str
) -> None:
    tree = approved.why(following)
    ends = [source["ref"]["id"] for source in tree["sources"]]
    assert served in ends
    assert len(ends) > 1


def test_why_not_tells_what_became_of_what_is_known_by_now(
    approved: Vault, served: str, following: str
) -> None:
    outcome = max(approved.store.snapshot().outcomes)

    def reason() -> str:
        (answer,) = [one for one in approved.why_not(outcome)[1] if one.step == "generate"]
        return answer.reason

    assert reason().endswith(f"; what is known by now is in {following}, which waits for you")
    approved.curate.reject(following, reason="one bad machine", now=LATER)
    assert f"; {following} was rejected in " in reason()
    assert reason().endswith(": one bad machine")


# ── whatever happens ─────────────────────────────────────────────────────────────────


SITTINGS = int(os.environ.get("SKILLVAULT_SITTINGS", "3" if THOROUGH else "1"))


def bodies(vault: Vault) -> dict[str, str]:
    """Return the text of each served skill by its name."""
    return {name: skill.body for name, skill in vault.store.snapshot().skills.items()}


@pytest.mark.parametrize("seed", range(SITTINGS))
def test_served_is_only_what_a_person_let_in(seed: int, vault: Vault) -> None:
    """A drawn history in which a person reviews now and then, and writes in skills."""
    world = World(vault.root)
    with_gate(vault, world.person, "always")
    chance = random.Random(seed)
    history = History(seed, world, world)
    rejected: dict[str, list[str]] = {}
    for _ in range(12):
        before = bodies(vault)
        vault.record(history.arrivals(), now=NOW)
        vault.run(now=NOW)
        served = bodies(vault)
        assert {name: served[name] for name in served} == {name: before[name] for name in served}
        waiting = proposals(vault)
        assert not {(p.name, p.body) for p in waiting} & {
            (name, text) for name, texts in rejected.items() for text in texts
        }
        for proposal in chance.sample(waiting, min(2, len(waiting))):
            if chance.random() < 0.7:
                name = (
                    vault.store.snapshot().skills.proposed[proposal.name].replaces or proposal.name
                )
                vault.curate.approve(proposal.name, now=NOW)
                assert without_mine(bodies(vault)[name]) == without_mine(proposal.body)
            else:
                vault.curate.reject(proposal.name, reason="not ours", now=NOW)
                rejected.setdefault(proposal.name, []).append(proposal.body)
        if chance.random() < 0.3 and world.skills:
            world.edit(chance.choice(sorted(world.skills)))
        reviewed = bodies(vault)
        vault.run(now=NOW)
        later = bodies(vault)
        assert later == {name: reviewed[name] for name in later}
        assert not vault.run(now=NOW).done
        assert vault.check().problems == []
        assert world.person.status() == ""


def without_mine(text: str) -> str:
    """Return a text without a person's own words, which may be newer than a proposal."""
    return text.replace(MINE.strip(), "").strip()


def test_merged_as_a_branch_it_takes_the_place(
    approved: Vault, served: str, following: str, person: Person
) -> None:
    text = proposals(approved)[0].body
    (branch,) = proposal_branches(approved, now=LATER).branches
    person.git("merge", "-q", "--no-edit", branch.branch)
    assert bodies(approved)[served].strip() == text
    assert proposals(approved) == []
    assert not approved.run(now=LATER).done
    assert approved.check().problems == []


def test_of_a_skill_without_marks_a_persons_words_stay(
    approved: Vault, served: str, person: Person
) -> None:
    """As a vault has them that is older than the marks."""
    path = approved.root / "skills" / served / "SKILL.md"
    text = "".join(line for line in path.open() if "  written: " not in line)
    path.write_text(text + MINE)
    person.git("commit", "-qam", "Mine")
    recorded(approved, met(2, REFUSED), raw(3), raw(4))
    approved.curate.approve(f"{served}-next", now=LATER)
    recorded(approved, *(met(day, "disk full") for day in range(5, 9)))
    for folder, name in (("skills", served), ("proposed", f"{served}-next")):
        assert body(approved, name, folder).count(MINE.strip()) == 1
    assert "disk full" in body(approved, f"{served}-next", "proposed")


def test_an_approved_version_lives_as_long_as_its_outcomes_say(
    vault: Vault, person: Person
) -> None:
    """The end that it brought is the program's, and goes on with the next one."""
    with_gate(vault, person, "always")
    recorded(vault, trade(0))
    (name,) = (proposal.name for proposal in proposals(vault) if proposal.kind == "warning")
    vault.curate.approve(name, now=NOW)
    for day in (1, 2):
        recorded(vault, trade(day))
        head = vault.store.snapshot()
        assert str(head.skills[name].expires) < str(head.skills.proposed[f"{name}-next"].expires)
        vault.curate.approve(f"{name}-next", now=LATER)


def test_versions_of_long_names_that_begin_alike_are_told_apart(
    vault: Vault, person: Person
) -> None:
    """Both would be called the same while they wait: one gets a name with hex."""
    with_gate(vault, person, "always")
    actions = [f"{'very-' * 9}long{end}" for end in "ab"]
    days = [(day, name) for name in actions for day in range(2)]
    recorded(vault, *(raw(day, decision__action=name) for day, name in days))
    names = [proposal.name for proposal in proposals(vault) if proposal.kind == "guide"]
    assert len(names) == 2
    for name in names:
        vault.curate.approve(name, now=NOW)
    more = [(day, name) for name in actions for day in range(2, 5)]
    recorded(
        vault, *(raw(day, decision__action=name, result__evidence=REFUSED) for day, name in more)
    )
    waiting = waiting_versions(vault.store.snapshot(), names)
    assert sorted(waiting) == sorted(names)
    assert len({skill.name for skill in waiting.values()}) == 2
    assert not vault.run(now=LATER).done
    assert vault.check().problems == []

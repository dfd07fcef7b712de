"""merge of sessions end to end: skills that say the same become one, in any order."""

import random
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.model.text.markdown import statements
from tests.conftest import NOW, Person
from tests.given import as_file
from tests.loop.test_distill import about, taken
from tests.thorough import one_of

FIRST, SECOND = about("s-1", 0, 1), about("s-2", 0, 1, 2)


def told(vault: Vault) -> list[list[str]]:
    """Return the statements of every living skill, sorted."""
    return sorted(sorted(statements(vault.skill(one.name)[0].body)) for one in vault.skills())


def only(vault: Vault) -> str:
    """The name of the one living skill."""
    (listed,) = vault.skills()
    return listed.name


def test_two_sessions_that_say_the_same_are_one_skill_in_the_same_run(vault: Vault) -> None:
    subjects = taken(vault, FIRST, SECOND)
    assert [subject.partition(": ")[0] for subject in subjects] == ["distill", "distill", "merge"]
    skill, _ = vault.skill(only(vault))
    assert (skill.kind, skill.origin, skill.status) == ("evolved", "distilled", "testing")
    assert "(2 of 2 sessions)" in skill.body
    assert {one.name[:13] for one in vault.skills("archive")} == {"distilled-s-1", "distilled-s-2"}
    assert vault.check().problems == []
    assert taken(vault) == []


def test_why_leads_from_it_to_the_sessions(vault: Vault) -> None:
    taken(vault, FIRST, SECOND)
    branches = vault.why(only(vault))["sources"]
    assert [branch["link"].partition("-")[0] for branch in branches] == ["merged", "merged"]
    ends = [branch["sources"][0]["ref"]["id"] for branch in branches]
    assert sorted(ends) == ["s-1", "s-2"]
    assert "stands for" in vault.why_not("s-1")[1][-1].reason


def test_those_that_share_half_of_what_they_say_stay_two(vault: Vault) -> None:
    assert len(taken(vault, about("s-1", 0, 1), about("s-2", 1, 2))) == 2


def test_a_third_one_joins_it_in_place(vault: Vault) -> None:
    taken(vault, FIRST, SECOND)
    name = only(vault)
    subjects = taken(vault, about("s-3", 0, 1, 2, 3))
    assert subjects[-1] == f"merge: grow {name}"
    assert only(vault) == name
    assert "(3 of 3 sessions)" in vault.skill(name)[0].body
    assert len(vault.skills("archive")) == 3


def test_one_that_repeats_a_part_of_it_is_counted_in_it(vault: Vault) -> None:
    taken(vault, FIRST, SECOND)
    name = only(vault)
    assert taken(vault, about("s-3", 1, 0)) == [
        f"distill: reinforce {name}",
        f"merge: grow {name}",
    ]
    assert "(3 of 3 sessions)" in vault.skill(name)[0].body


@pytest.mark.parametrize("seed", one_of(3, range(3)))
def test_bulk_and_any_order_end_in_the_same_statements(
    vault: Vault, tmp_path: Path, seed: int
) -> None:
    sessions = [FIRST, SECOND, about("s-3", 1, 0), about("s-4", 2, 3), about("s-5", 2, 3, 0)]
    taken(vault, *sessions)
    other = Vault.init(tmp_path / "other", ["coding"], now=NOW)[0]
    for session in random.Random(seed).sample(sessions, len(sessions)):
        taken(other, session)
    assert told(vault) == told(other)
    assert other.check().problems == []


def test_a_merge_that_a_person_reverted_is_not_redone(vault: Vault, person: Person) -> None:
    taken(vault, FIRST, SECOND)
    person.git("revert", "--no-edit", "HEAD")
    report = vault.run(now=NOW)
    assert report.done == []
    taken(vault, about("s-3", 0, 1, 2, 3))
    assert {skill.kind for skill in vault.skills()} == {"warning"}
    assert len(vault.skills()) == 3


def edit(person: Person, name: str, before: str, after: str) -> None:
    """Have a person change a skill's text."""
    page = person.root / f"skills/{name}/SKILL.md"
    page.write_text(page.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")
    person.git("commit", "-qam", "edit")


def test_a_skill_that_a_person_wrote_in_is_not_put_away(vault: Vault, person: Person) -> None:
    taken(vault, FIRST)
    name = only(vault)
    edit(person, name, "# Warning", "Mine.\n\n# Warning")
    taken(vault, SECOND)
    assert len(vault.skills()) == 2
    assert name in [skill.name for skill in vault.skills()]


def test_what_a_person_wrote_in_it_stays_when_it_grows(vault: Vault, person: Person) -> None:
    taken(vault, FIRST, SECOND)
    name = only(vault)
    page = person.root / f"skills/{name}/SKILL.md"
    page.write_text(f"{page.read_text(encoding='utf-8')}\n## Mine\n\n- Ask Bo.\n", encoding="utf-8")
    person.git("commit", "-qam", "edit")
    taken(vault, about("s-3", 0, 1, 2, 3))
    body = vault.skill(name)[0].body
    assert "- Ask Bo." in body
    assert "(3 of 3 sessions)" in body


@pytest.mark.parametrize(
    "changes", [{"trust": "untrusted"}, {"transcript": "codex"}, {"domain": "perps"}]
)
def test_what_is_proposed_or_of_another_domain_is_left_alone(
    vault: Vault, changes: dict[str, Any]
) -> None:
    taken(vault, FIRST, {**SECOND, **changes})
    assert [skill.kind for skill in vault.skills() + vault.skills("proposed")] == ["warning"] * 2


def test_an_approved_one_joins(vault: Vault) -> None:
    taken(vault, FIRST, {**SECOND, "transcript": "codex"})
    (waiting,) = vault.skills("proposed")
    vault.curate.approve(waiting.name)
    vault.record([("late.json", as_file(about("s-3", 0, 1, 2, 3)))], now=NOW)
    vault.run(now=NOW)
    assert any(skill.kind == "evolved" for skill in vault.skills())


def test_the_same_happens_under_the_designs_letter(vault: Vault, person: Person) -> None:
    person.rule("profile: seed")
    taken(vault, FIRST, SECOND)
    assert vault.skill(only(vault))[0].kind == "evolved"

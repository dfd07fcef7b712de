"""rename and create: a skill keeps what it has under its old names, and a draft is a person's."""

from collections.abc import Callable
from pathlib import Path

import pytest
from skills_ref import validate  # type: ignore[import-untyped]

from skillvault import api
from skillvault.api import Vault
from skillvault.exchange.sources import parse_source
from skillvault.inspect.logbook import LogFilter
from skillvault.model.errors import UsageError
from skillvault.model.records import Skill
from tests.conftest import Person
from tests.given import NOW, as_file, raw

GUIDE, NAME, LATER_NAME = "guide-coding-fix-flaky-test", "flaky-tests", "tests-that-flake"


def _record(vault: Vault, day: int, skill: str) -> None:
    """Record and evaluate a success that applied a skill."""
    changes = {"decision__id": f"d-{day}", "result": {"status": "success"}, "applied": [skill]}
    vault.record([("o.json", as_file(raw(day, event_id=f"e-{day}", **changes)))], now=NOW)
    vault.run(now=NOW)


def _learn(vault: Vault) -> None:
    vault.record([("o.json", as_file(raw(event_id="e-0")))], now=NOW)
    vault.run(now=NOW)
    _record(vault, 1, GUIDE)


@pytest.fixture
def guided(prepared: Callable[[Callable[[Vault], object]], Vault]) -> Vault:
    """A vault with a guide that one decision used."""
    return prepared(_learn)


def _uses(vault: Vault, skill: str) -> int:
    return sum(row.times_applied for row in vault.stats(skill))


def test_uses_links_and_commits_stay_with_a_renamed_skill(guided: Vault) -> None:
    sources, commits = (guided.why(GUIDE)[key] for key in ("sources", "commits"))
    guided.curate.rename(GUIDE, NAME, now=NOW)
    assert _uses(guided, NAME) == _uses(guided, GUIDE) == 1
    assert [entry["ref"] for entry in guided.why(NAME)["sources"]] == [
        entry["ref"] for entry in sources
    ]
    assert guided.why(NAME)["commits"][1:] == commits
    assert len(guided.log(asks=LogFilter(skill=NAME))) == len(commits) + 1
    assert guided.why(GUIDE)["ref"]["id"] == NAME
    assert not guided.check().problems
    assert not guided.run(now=NOW).done


def test_outcomes_that_apply_an_old_name_count_after_two_renames_and_one_back(
    guided: Vault,
) -> None:
    for old, new in ((GUIDE, NAME), (NAME, LATER_NAME), (LATER_NAME, GUIDE)):
        guided.curate.rename(old, new, now=NOW)
    for day, name in enumerate((GUIDE, NAME, LATER_NAME), 2):
        _record(guided, day, name)
    assert _uses(guided, GUIDE) == 4
    assert guided.skill(GUIDE)[0].formerly == (NAME, LATER_NAME)
    assert [skill.name for skill in guided.skills() if skill.kind == "guide"] == [GUIDE]


@pytest.mark.parametrize("edits_name", [True, False])
def test_the_next_run_follows_a_folder_that_a_person_moved(
    guided: Vault, person: Person, edits_name: bool
) -> None:
    for old, new in ((GUIDE, "step"), ("step", NAME)):
        person.git("mv", f"skills/{old}", f"skills/{new}")
        path = f"skills/{new}/SKILL.md"
        text = (guided.root / path).read_text(encoding="utf-8")
        if edits_name:
            person.write(path, text.replace(f"name: {old}", f"name: {new}"))
        person.git("commit", "-qam", "Move", "--no-verify")
    assert [result.change.step for result in guided.run(now=NOW).done] == ["follow"]
    skill, _ = guided.skill(NAME)
    assert (skill.name, skill.formerly) == (NAME, (GUIDE, "step"))
    assert _uses(guided, NAME) == 1
    assert not guided.check().problems
    assert not guided.run(now=NOW).done


def test_a_next_version_replaces_the_skill_that_a_person_renamed(
    guided: Vault, person: Person
) -> None:
    person.rule("\ngenerate: {gate: always}")
    guided.record([("o.json", as_file(raw(2, event_id="e-2")))], now=NOW)
    guided.run(now=NOW)
    version = f"{GUIDE}-next"
    assert [skill.name for skill in guided.skills("proposed")] == [version]
    person.git("mv", f"skills/{GUIDE}", f"skills/{NAME}")
    person.git("commit", "-qam", "Move", "--no-verify")
    assert f"proposal/{version}" in api.proposal_branches(guided, now=NOW).merged.left
    guided.run(now=NOW)
    assert not guided.check().problems
    guided.curate.approve(version, now=NOW)
    assert [skill.name for skill in guided.skills() if skill.kind == "guide"] == [NAME]
    assert not guided.skills("proposed")
    assert not guided.check().problems


def test_a_skill_with_another_text_is_no_renamed_one(guided: Vault, person: Person) -> None:
    person.git("rm", "-rq", f"skills/{GUIDE}")
    person.write("skills/other/SKILL.md", "---\nname: other\ndescription: d\n---\n\nOther.\n")
    person.git("add", "skills")
    person.git("commit", "-qm", "Replace", "--no-verify")
    assert "follow" not in [result.change.step for result in guided.run(now=NOW).done]
    assert guided.skill("other")[0].formerly == ()


def test_retire_restore_and_undo_find_a_renamed_skill(guided: Vault) -> None:
    guided.curate.rename(GUIDE, NAME, now=NOW)
    guided.curate.retire(NAME, now=NOW)
    assert _uses(guided, NAME) == 1
    guided.curate.restore(NAME, now=NOW)
    api.undo(guided, NAME, now=NOW)
    assert not guided.skills()
    assert not guided.run(now=NOW).done


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (GUIDE, "mine", "mine: is the name of skills/mine/SKILL.md; choose another"),
        (GUIDE, "X Y", "'X Y' cannot be a skill's name; use lower-case letters"),
        (GUIDE, "learned", "learned: is the name of the skill of patterns"),
        (GUIDE, "reading-a-lift", "reading-a-lift: is the name of "),
        ("reading-a-lift", NAME, "reading-a-lift: is not a file of this vault but "),
        ("nothing", NAME, "nothing: no such skill"),
        (GUIDE, "before", "before: is a former name of mine; choose another"),
    ],
)
def test_a_name_that_cannot_be_had_is_one_sentence(
    guided: Vault, old: str, new: str, says: str
) -> None:
    guided.curate.create("before", commit=True, now=NOW)
    guided.curate.rename("before", "mine", now=NOW)
    with pytest.raises(UsageError) as refused:
        guided.curate.rename(old, new, now=NOW)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_no_skill_that_comes_in_gets_a_former_name(guided: Vault, tmp_path: Path) -> None:
    guided.curate.rename(GUIDE, NAME, now=NOW)
    page = f"---\nname: {GUIDE}\ndescription: Foreign.\n---\n\nText.\n"
    (tmp_path / GUIDE).mkdir()
    (tmp_path / GUIDE / "SKILL.md").write_text(page)
    installer = guided.curate.installer
    report = installer.install(parse_source(str(tmp_path / GUIDE), is_path=True), now=NOW)
    (installed,) = report.installed
    assert installed.name.startswith(f"{GUIDE}-")
    with pytest.raises(UsageError, match=f"{GUIDE}: is a former name of {NAME}"):
        guided.curate.put(Skill(name=GUIDE, description="Mine.", body="Text."), now=NOW)
    assert _uses(guided, NAME) == 1


def test_a_renamed_copy_of_a_skill_of_the_package_is_not_copied_again(vault: Vault) -> None:
    installer = vault.curate.installer
    name = installer.seeds(now=NOW).installed[0].name
    vault.curate.rename(name, NAME, now=NOW)
    report = installer.seeds(now=NOW)
    assert not report.installed
    assert f"{name}: is named {NAME} here and stays" in report.known


def test_a_draft_is_valid_and_a_persons_file(vault: Vault, person: Person) -> None:
    vault.curate.create("deploy-by-hand", domain="coding", description="Deploys.", now=NOW)
    assert not vault.skills()
    assert not validate(vault.root / "skills/deploy-by-hand")
    assert [problem.code for problem in vault.check().problems] == []
    person.git("add", "skills")
    person.git("commit", "-qm", "Add a skill")
    (row,) = vault.skills()
    assert (row.name, row.origin, row.domain) == ("deploy-by-hand", "manual", "coding")


def test_a_draft_can_be_committed_at_once(vault: Vault) -> None:
    vault.curate.create("mine", commit=True, now=NOW)
    assert [row.name for row in vault.skills()] == ["mine"]
    with pytest.raises(UsageError, match="mine: is the name of skills"):
        vault.curate.create("mine")
    with pytest.raises(UsageError, match="--domain nope: no such domain"):
        vault.curate.create("other", domain="nope")

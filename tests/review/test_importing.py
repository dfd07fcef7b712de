"""importing: skills of other programs wait in proposed/, one commit each, and come once."""

from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.exchange.skills.rule_files import HOSTS
from skillvault.model.errors import UsageError
from skillvault.model.records import Skill
from skillvault.review.installing import InstallReport
from tests.conftest import NOW, Person

EUREKA = (
    "---\nname: {name}\ndescription: Use it for {name}.\nagent_roles: [theory]\n"
    "usage_count: {count}\n---\n\n# {name}\n"
)


def save(root: Path, **files: str) -> Path:
    """Files of a folder: `a__SKILL_md` is `a/SKILL.md`."""
    for name, text in files.items():
        place = root / name.replace("__", "/").replace("_md", ".md")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return root


def brought(vault: Vault, path: Path, format_name: str | None = None) -> InstallReport:
    return vault.curate.installer.import_skills(path, format_name, now=NOW)


def names(report: InstallReport) -> list[str]:
    return [installed.name for installed in report.installed]


def skill(vault: Vault, name: str) -> Skill:
    return vault.skill(name)[0]


def test_each_skill_is_a_commit_with_its_trailers(
    vault: Vault, person: Person, tmp_path: Path
) -> None:
    source = save(
        tmp_path / "tree",
        one__SKILL_md=EUREKA.format(name="one", count=3),
        one__references__a_md="# A\n",
        flat_md=EUREKA.format(name="flat_one", count=0),
        broken__SKILL_md="# No paragraph\n",
    )
    report = brought(vault, source)
    assert names(report) == ["one", "flat-one"]
    assert [(p.path, p.code) for p in report.problems] == [("broken/SKILL.md", "no-front-matter")]
    log = person.git("log", "-2", "--format=%(trailers:key=Skillvault-Step,valueonly)%an")
    assert log.split() == ["install", "Ada", "Person", "install", "Ada", "Person"]
    assert (vault.root / "proposed/one/references/a.md").read_text() == "# A\n"
    one = skill(vault, "one")
    assert (one.status, one.origin, one.roles) == ("proposed", "installed", ("theory",))
    assert one.elsewhere is not None
    assert one.elsewhere.times_applied == 3
    assert not vault.check().problems
    assert person.status() == ""


def test_a_second_import_makes_nothing(vault: Vault, person: Person, tmp_path: Path) -> None:
    source = save(tmp_path / "tree", one__SKILL_md=EUREKA.format(name="one", count=3))
    brought(vault, source)
    before = person.git("rev-parse", "HEAD")
    for count in (3, 9):  # EurekaClaw counts on, which makes no other skill of it
        save(source, one__SKILL_md=EUREKA.format(name="one", count=count))
        report = brought(vault, source)
        assert not report.installed
        assert report.known == [f"one: is here already, from eurekaclaw:{source}/one"]
    assert person.git("rev-parse", "HEAD") == before


def test_another_version_renews_what_waits_and_waits_beside_what_was_approved(
    vault: Vault, tmp_path: Path
) -> None:
    page = save(tmp_path, CLAUDE_md="## Style\n\nBlack, 100 columns.\n") / "CLAUDE.md"
    assert names(brought(vault, page)) == ["style"]
    page.write_text("## Style\n\nRuff, 99 columns.\n")
    assert names(brought(vault, page)) == ["style"]
    assert "Ruff" in skill(vault, "style").body
    vault.curate.approve("style", now=NOW)
    page.write_text("## Style\n\nRuff, 88 columns.\n")
    assert names(brought(vault, page)) == ["style-next"]
    assert "99" in skill(vault, "style").body


def test_what_was_imported_has_no_source_to_ask_for_newer_versions(
    vault: Vault, tmp_path: Path
) -> None:
    page = save(tmp_path, CLAUDE_md="## Style\n\nBlack, 100 columns.\n") / "CLAUDE.md"
    brought(vault, page)
    report = vault.curate.installer.update(now=NOW)
    assert report.known == [f"style: was imported; `skillvault import skills {page}` renews it"]
    assert not report.problems


def test_plain_folders_are_the_same_by_both_ways(vault: Vault, tmp_path: Path) -> None:
    plain = "---\nname: one\ndescription: Use it.\n---\n\n# One\n"
    source = save(tmp_path / "tree", one__SKILL_md=plain)
    assert names(brought(vault, source)) == ["one"]
    assert vault.curate.installer.update(now=NOW).known == [f"one: is up to date with {source}/one"]


def test_a_name_that_is_taken_gets_a_tail_of_the_origin(vault: Vault, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        save(tmp_path / folder, one__SKILL_md=EUREKA.format(name="one", count=0) + folder)
    assert names(brought(vault, tmp_path / "a")) == ["one"]
    (second,) = names(brought(vault, tmp_path / "b"))
    assert second.startswith("one-")


@pytest.mark.parametrize("to", ["claude-code", "codex", "openclaw", "eurekaclaw", *HOSTS])
def test_what_was_exported_comes_back_as_what_is_here(
    vault: Vault, person: Person, tmp_path: Path, to: str
) -> None:
    for name in ("one", "two"):
        person.write(
            f"skills/{name}/SKILL.md",
            f"---\nname: {name}\ndescription: Use before {name}. It is long.\n---\n\n# {name}\n",
        )
    person.git("add", "-A")
    person.git("commit", "-qm", "skills")
    vault.exporter.export(to, tmp_path / "out")
    report = brought(vault, tmp_path / "out")
    assert not report.installed
    assert [sentence.partition(":")[0] for sentence in report.known] == ["one", "two"]


@pytest.mark.parametrize(
    ("files", "format_name", "sentence"),
    [
        ({"README_md": "# No skill\n"}, None, "name it with --from agent-skills"),
        ({"README_md": "# No skill\n"}, "openclaw", "no skills of the format openclaw"),
        ({}, None, "no such file or folder"),
    ],
)
def test_a_path_without_skills_says_so(
    vault: Vault, tmp_path: Path, files: dict[str, str], format_name: str | None, sentence: str
) -> None:
    source = save(tmp_path / "tree", **files)
    with pytest.raises(UsageError, match=sentence):
        brought(vault, source, format_name)


def test_a_dry_run_shows_and_writes_nothing(vault: Vault, person: Person, tmp_path: Path) -> None:
    source = save(tmp_path / "tree", one__SKILL_md=EUREKA.format(name="one", count=3))
    before = person.git("rev-parse", "HEAD")
    report = vault.curate.installer.import_skills(source, now=NOW, dry=True)
    assert names(report) == ["one"]
    assert person.git("rev-parse", "HEAD") == before


def test_the_skill_file_itself_names_its_folder(vault: Vault, tmp_path: Path) -> None:
    plain = "---\ndescription: Use it.\n---\n\n# One\n"
    source = save(tmp_path / "tree", one__SKILL_md=plain, one__a_md="# A\n")
    assert names(brought(vault, source / "one/SKILL.md")) == ["one"]
    assert (vault.root / "proposed/one/a.md").is_file()


def test_an_instruction_file_with_a_title_is_read_alone(vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("# Shop\n\n## Tests\n\n```\npytest -q\n```\n")
    assert names(brought(vault, tmp_path / "CLAUDE.md")) == ["tests"]


MEMORY = (
    "---\ncategory: {category}\ntitle: {title}\ndomain: mab_theory\nconfidence: {confidence}\n"
    "created_at: 2026-03-22T08:19:27.986985\n---\n\n# {title}\n\n{text}\n"
)


def test_memories_of_eurekaclaw_come_in_as_facts_and_once(vault: Vault, tmp_path: Path) -> None:
    home = save(tmp_path / "home", skills__one__SKILL_md=EUREKA.format(name="one", count=3))
    folder = home / "memories/mab_theory"
    folder.mkdir(parents=True)
    pages = {
        "a": MEMORY.format(
            category="pitfalls", title="Union bound", confidence="0.90", text="It loses a log."
        ),
        "b": MEMORY.format(
            category="domain_knowledge", title="UCB", confidence="0.60", text="UCB is optimal."
        ),
    }
    for name, text in pages.items():
        (folder / f"20260322_{name}.md").write_text(text)
    (folder / "broken.md").write_text(pages["a"].replace("0.90", "much"))
    report = brought(vault, home)
    assert [skill.name for skill in report.installed] == ["one"]
    assert [problem.key for problem in report.problems] == ["confidence"]
    facts = vault.memory.facts("mab-theory")
    assert [(fact.text, fact.importance, fact.kind) for fact in facts] == [
        ("Pitfall: Union bound: It loses a log.", "high", "distilled"),
        ("UCB is optimal.", "low", "distilled"),
    ]
    assert vault.check().problems == []
    again = brought(vault, home)
    assert (again.facts, "mab-theory: 2 facts known already" in again.known) == ([], True)

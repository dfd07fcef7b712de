"""exporting: what is live goes out, best first by its effect, and nothing else does."""

from pathlib import Path

import pytest
from skills_ref import validate  # type: ignore[import-untyped]

from skillvault.api import Vault
from skillvault.model.errors import UsageError
from tests.conftest import NOW, Person
from tests.given import as_file, raw

PAGE = "---\nname: {name}\ndescription: Use before {name}.\n{front}---\n\n# {name}\n"


def page(name: str, front: str = "") -> str:
    return PAGE.format(name=name, front=front)


def write(person: Person, **pages: str) -> None:
    """Commit skills: `skills__one` is one of skills/."""
    for place, text in pages.items():
        folder, _, name = place.partition("__")
        person.write(f"{folder}/{name.replace('_', '-')}/SKILL.md", text)
    person.git("add", "-A")
    person.git("commit", "-qm", "skills")


def exported(vault: Vault, out: Path, **options: str) -> list[str]:
    """The skills of an export for Claude Code, as the folder has them."""
    done = vault.exporter.export("claude-code", out, domain=options.get("domain"))
    there = sorted(path.parent.name for path in out.rglob("SKILL.md"))
    assert sorted(done.skills) == there
    return done.skills


def test_only_what_is_live_goes_out(vault: Vault, person: Person, tmp_path: Path) -> None:
    write(
        person,
        skills__one=page("one"),
        proposed__two=page("two"),
        archive__three=page("three"),
    )
    person.write("skills/four/SKILL.md", page("four"))  # not committed
    person.write("skills/one/SKILL.md", page("one") + "\nNot committed.\n")
    assert exported(vault, tmp_path / "out") == ["one"]
    assert "Not committed" not in next((tmp_path / "out").rglob("SKILL.md")).read_text()


def test_the_layers_that_win_go_out_with_their_files(
    vault: Vault, person: Person, tmp_path: Path
) -> None:
    team = tmp_path / "team"
    for name in ("one", "two", "hidden"):
        (team / name / "references").mkdir(parents=True)
        (team / name / "SKILL.md").write_text(page(name, "metadata: {origin: manual}\n"))
        (team / name / "references/a.md").write_text("# A\n")
    (team / "flat.md").write_text(page("flat"))
    (team / "two/out.md").symlink_to("/etc/hostname")
    vault.shelf.add_dir(team)
    person.rule("shelf: {hidden: [hidden]}")
    write(person, skills__one=page("one") + "\nThe vault's own.\n")
    out = tmp_path / "out"
    done = vault.exporter.export("codex", out)
    assert sorted(done.skills) == ["flat", "one"]
    assert [(left.skill, "a link" in left.reason) for left in done.left_out] == [("two", True)]
    assert "The vault's own." in (out / ".agents/skills/one/SKILL.md").read_text()
    assert not (out / ".agents/skills/one/references").exists()
    (team / "two/out.md").unlink()
    vault.shelf.reload()
    vault.exporter.export("codex", out)
    assert (out / ".agents/skills/two/references/a.md").read_text() == "# A\n"


def test_a_page_that_only_a_lenient_reader_takes_goes_out_as_any_reader_takes_it(
    vault: Vault, tmp_path: Path
) -> None:
    team = tmp_path / "team"
    (team / "one").mkdir(parents=True)
    (team / "one/skill.md").write_text(
        "---\nname: one\ndescription: Use it: before a merge.\ntags: [a, b]\n"
        "metadata: {openclaw: {os: [linux]}}\n---\n\n# One\n"
    )
    (team / "one/a.md").write_text("# A\n")
    vault.shelf.add_dir(team)
    for to in ("codex", "eurekaclaw", "agents-md", "well-known"):
        done = vault.exporter.export(to, tmp_path / to)
        assert (done.skills, done.left_out) == (["one"], [])
    folder = tmp_path / "codex/.agents/skills/one"
    assert validate(folder) == []
    assert "description: 'Use it: before a merge.'" in (folder / "SKILL.md").read_text()
    assert sorted(path.name for path in folder.iterdir()) == ["SKILL.md", "a.md"]


def test_the_package_s_skills_go_out_only_where_somebody_asks_for_them(
    vault: Vault, person: Person, tmp_path: Path
) -> None:
    write(person, skills__one=page("one"))
    assert exported(vault, tmp_path / "a") == ["one"]
    person.rule("shelf: {seeds: [coding], pinned: [bandit-simulation]}")
    assert exported(vault, tmp_path / "b")[0] == "bandit-simulation"
    assert "reading-a-lift" in exported(vault, tmp_path / "b", domain="coding")
    assert exported(vault, tmp_path / "b", domain="perps") == ["bandit-simulation", "one"]


def test_what_helps_comes_first_and_what_hurts_stays(
    vault: Vault, person: Person, tmp_path: Path
) -> None:
    write(
        person,
        skills__a_plain=page("a-plain"),
        skills__b_hurts=page("b-hurts"),
        skills__c_helps=page("c-helps"),
        skills__d_pinned=page("d-pinned", "metadata:\n  status: pinned\n"),
    )
    files = []
    for day in range(40):
        name, status = ("c-helps", "success") if day % 2 else ("b-hurts", "failure")
        changes = {"applied": [name], "result": {"status": status}, "decision__id": f"d-{day}"}
        files.append((f"{day}.json", as_file(raw(day // 4, **changes))))
    vault.record(files, now=NOW)
    done = vault.exporter.export("eurekaclaw", tmp_path / "out")
    own = [name for name in done.skills if name[1] == "-"]
    assert own == ["d-pinned", "c-helps", "a-plain"]
    sent = (tmp_path / "out/skills/c-helps/SKILL.md").read_text()
    assert "usage_count: 20\n" in sent
    assert "success_rate: 1.0\n" in sent


def test_what_another_tool_counted_goes_back_with_what_was_counted_here(
    vault: Vault, person: Person, tmp_path: Path
) -> None:
    counters = "metadata:\n  usage_count: '12'\n  success_rate: '0.25'\n"
    write(person, skills__one=page("one", counters))
    out = tmp_path / "out"
    vault.exporter.export("eurekaclaw", out)
    sent = out / "skills/one/SKILL.md"
    assert "usage_count: 12\n" in sent.read_text()
    assert "success_rate: 0.25\n" in sent.read_text()
    used = raw(1, applied=["one"], result={"status": "success"})
    vault.record([("a.json", as_file(used))], now=NOW)
    vault.exporter.export("eurekaclaw", out)
    assert "usage_count: 13\n" in sent.read_text()


def test_of_a_domain_those_of_none_go_out_too(vault: Vault, person: Person, tmp_path: Path) -> None:
    write(
        person,
        skills__one=page("one", "metadata:\n  domain: perps\n"),
        skills__two=page("two", "metadata:\n  domain: coding\n"),
        skills__three=page("three"),
    )
    out = tmp_path / "out"
    assert exported(vault, out) == ["one", "three", "two"]
    assert exported(vault, out, domain="coding") == ["three", "two"]
    with pytest.raises(UsageError, match="no such domain"):
        vault.exporter.export("codex", out, domain="dlmm")


@pytest.mark.parametrize("place", ["", ".", "skills", "proposed/x"])
def test_the_vault_s_own_folders_are_no_target(vault: Vault, person: Person, place: str) -> None:
    write(person, skills__one=page("one"))
    with pytest.raises(UsageError, match="the vault itself"):
        vault.exporter.export("openclaw", vault.root / place)
    with pytest.raises(UsageError, match="--to nobody: there are agents-md"):
        vault.exporter.export("nobody", vault.root)
    assert person.status() == ""


def test_a_vault_that_changed_is_followed(vault: Vault, person: Person, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(person, skills__one=page("one"), skills__two=page("two"))
    assert exported(vault, out) == ["one", "two"]
    vault.curate.retire("one", now=NOW)
    write(person, skills__two=page("two") + "\nMore.\n")
    assert exported(vault, out) == ["two"]
    assert "More." in (out / ".claude/skills/two/SKILL.md").read_text()


def test_rules_of_this_repository_and_of_all_go_out_whole(
    vault: Vault, person: Person, tmp_path: Path
) -> None:
    rule = "---\nkind: correction\nscope: {scope}\nstate: rule\n---\n\n{text}\n"
    person.write("memory/coding/uv.md", rule.format(scope="shop", text="Use uv,\nnever pip."))
    person.write("memory/coding/other.md", rule.format(scope="blog", text="Use pip."))
    person.write("memory/perps/size.md", "---\nkind: human\n---\n\nHalve the size.\n")
    person.write("memory/coding/seen.md", "---\nkind: judge\n---\n\nIt failed once.\n")
    write(person, skills__one=page("one"))
    out = tmp_path / "shop"
    assert vault.exporter.export("gemini", out).rules == ["size", "uv"]
    assert vault.exporter.export("gemini", out).rules == []
    text = (out / "GEMINI.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    assert sorted(lines)[:2] == ["- Halve the size.", "- Use uv, never pip."]
    assert len(lines) == 3
    vault.exporter.export("gemini", out, domain="coding")
    assert "Halve" not in (out / "GEMINI.md").read_text()


@pytest.mark.parametrize(
    ("to", "place"), [("gemini", "GEMINI.md"), ("copilot", ".github/copilot-instructions.md")]
)
def test_a_person_s_text_beside_an_export_stays(
    vault: Vault, person: Person, tmp_path: Path, to: str, place: str
) -> None:
    out = tmp_path / "out"
    file = out / place
    file.parent.mkdir(parents=True)
    file.write_text("# Mine\n")
    write(person, skills__one=page("one"), skills__two=page("two"))
    vault.exporter.export(to, out)
    file.write_text(file.read_text() + "\n## Mine too\n")
    vault.curate.retire("one", now=NOW)
    done = vault.exporter.export(to, out)
    text = file.read_text()
    assert (text.startswith("# Mine\n\n"), text.endswith("\n## Mine too\n")) == (True, True)
    assert ("- one (" in text, "- two (" in text, done.left) == (False, True, [])
    assert not list(out.rglob("one*"))


def test_one_edited_file_keeps_no_other_from_being_written(
    vault: Vault, person: Person, tmp_path: Path
) -> None:
    write(person, skills__one=page("one"), skills__two=page("two"))
    vault.exporter.export("cursor", tmp_path)
    edited = tmp_path / ".cursor/rules/one.mdc"
    edited.write_text("Mine.\n")
    write(person, skills__one=page("one") + "\nNew.\n", skills__two=page("two") + "\nNew.\n")
    done = vault.exporter.export("cursor", tmp_path)
    assert ([left.path for left in done.left], done.changed) == ([".cursor/rules/one.mdc"], ["two"])
    assert edited.read_text() == "Mine.\n"

"""source_tree: every layout of skills that people use, and sums that agree with the files."""

import os
from pathlib import Path

import pytest

from skillvault.exchange.source_tree import (
    SkillScan,
    SourceTree,
    folder_tree,
    follow_links,
    path_outside_host,
    path_without_skills,
    read_skill_files,
    scan_skills,
    tree_of,
)
from skillvault.model.errors import BadInputError


def scan(*paths: str, within: str = "") -> SkillScan:
    return scan_skills(tree_of(dict.fromkeys(paths, b"x")), within)


def linked(links: dict[str, str], *paths: str) -> SourceTree:
    tree = tree_of({path: path.encode() for path in paths})
    return follow_links(SourceTree(tree.sizes, tree.read, {}, links))


def folders(found: SkillScan) -> list[str]:
    return [skill.folder for skill in found.skills]


@pytest.mark.parametrize(
    ("skill_files", "skills"),
    [
        (["SKILL.md", "skills/a/SKILL.md"], ["", "skills/a"]),
        (["skills/a/SKILL.md", "skills/a/b/SKILL.md"], ["skills/a", "skills/a/b"]),
        (["skills/a/SKILL.md", "skills/a/assets/b/SKILL.md"], ["skills/a"]),
        (["skills/a/SKILL.md", "skills/a/template/SKILL.md"], ["skills/a"]),
        (["p/skills/a/SKILL.md", ".claude-plugin/plugin.json"], ["p/skills/a"]),
        ([".github/skills/a/SKILL.md"], [".github/skills/a"]),
        (["node_modules/p/SKILL.md", "a/SKILL.md"], ["a"]),
        (["tests/fixtures/a/SKILL.md", "a/SKILL.md"], ["a"]),
        (["SKILL.md", "tests/a/SKILL.md"], [""]),
        (["skills/test/SKILL.md", "skills/tests/a/SKILL.md"], ["skills/test", "skills/tests/a"]),
        (["a/skill.md"], ["a"]),
        (["a/skill.md", "a/SKILL.md"], ["a"]),
        (["Ab/SKILL.md", "ab/SKILL.md", "数据/SKILL.md"], ["Ab", "ab", "数据"]),
    ],
)  # fmt: skip
def test_each_file_is_a_skill_or_passed_over(skill_files: list[str], skills: list[str]) -> None:
    found = scan(*skill_files)
    assert folders(found) == skills
    assert len(found.skills) + len(found.passed_over) == found.skill_files
    assert all(entry.reason for entry in found.passed_over)


def test_a_folder_of_tests_that_is_named_is_no_test() -> None:
    assert folders(scan("tests/a/SKILL.md", within="tests")) == ["tests/a"]


def test_a_skill_at_the_top_has_neither_tests_nor_other_skills_nor_hidden_folders() -> None:
    found = scan("SKILL.md", "run.py", "tests/t.py", ".cursor/x", "skills/a/SKILL.md", "skills/a/b")
    assert [skill.paths for skill in found.skills] == [
        ("SKILL.md", "run.py"),
        ("skills/a/SKILL.md", "skills/a/b"),
    ]


def test_a_skill_has_its_own_tests() -> None:
    (skill,) = scan("a/SKILL.md", "a/tests/t.py").skills
    assert skill.paths == ("a/SKILL.md", "a/tests/t.py")


@pytest.mark.parametrize(
    ("links", "places"),
    [
        ({"skills/p": "../shared/p"}, ("skills/p",)),
        ({".claude/skills": "../shared"}, (".claude/skills/p",)),
        ({"one": "two", "two": "shared/p"}, ("one", "two")),
        ({"shared/p/loop": ".."}, ()),
        ({"loop": "loop"}, ()),
    ],
)
def test_a_linked_skill_is_one_with_its_places(
    links: dict[str, str], places: tuple[str, ...]
) -> None:
    (skill,) = scan_skills(linked(links, "shared/p/SKILL.md", "shared/p/a.md")).skills
    assert skill.folder == "shared/p"
    assert skill.links == places
    assert skill.paths == ("shared/p/SKILL.md", "shared/p/a.md")


def test_a_link_of_the_named_folder_brings_a_skill_from_beside_it() -> None:
    tree = linked({"skills/p": "../shared/p"}, "shared/p/SKILL.md", "skills/a/SKILL.md", "SKILL.md")
    assert folders(scan_skills(tree, "skills")) == ["shared/p", "skills/a"]


def test_a_linked_file_or_folder_of_material_is_read_where_the_link_is() -> None:
    tree = linked(
        {"a/docs": "../docs", "a/b.md": "../b.md"}, "a/SKILL.md", "docs/n.md", "b.md"
    )  # fmt: skip
    (skill,) = scan_skills(tree).skills
    assert read_skill_files(tree, skill) == {
        "SKILL.md": b"a/SKILL.md",
        "b.md": b"b.md",
        "docs/n.md": b"docs/n.md",
    }


def test_a_skill_comes_in_without_a_submodule_in_its_folder() -> None:
    tree = SourceTree({"SKILL.md": 1}, lambda _: {}, {"lib": "a submodule"})
    found = scan_skills(tree)
    assert [skill.paths for skill in found.skills] == [("SKILL.md",)]
    assert [entry.path for entry in found.passed_over] == ["lib"]


def test_a_hidden_folder_with_a_skill_is_no_version_of_the_one_at_the_top() -> None:
    assert path_outside_host(".mine") is None
    assert path_outside_host(".claude/skills/a") == path_without_skills("skills/a")


def test_a_link_out_of_the_source_is_passed_over_once() -> None:
    found = scan_skills(linked({"a/examples/SKILL.md": "/etc/passwd"}, "a/SKILL.md"))
    assert [entry.path for entry in found.passed_over] == ["a/examples/SKILL.md"]
    assert (folders(found), found.skill_files) == (["a"], 2)


def test_links_do_not_multiply_the_files_of_a_source() -> None:
    links = {f"a/link-{number}": "../d" for number in range(300)}
    with pytest.raises(BadInputError, match="more than 200000 files by links"):
        linked(links, "a/SKILL.md", *(f"d/{number}" for number in range(700)))


def test_a_linked_folder_brings_nothing_from_beside_it() -> None:
    tree = linked({"a/data": "../d"}, "a/SKILL.md", "d/x", "d/y/z", "d-e/x", "d0/x", "d.md")
    assert sorted(path for path in tree.sizes if path.startswith("a/data")) == [
        "a/data/x", "a/data/y/z",
    ]  # fmt: skip


def test_a_folder_on_disk_is_read_like_any_other_tree(tmp_path: Path) -> None:
    for path in ("node_modules/p/SKILL.md", "node_modules/p/x.js", "shared/p/SKILL.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills/p").symlink_to(tmp_path / "shared/p")
    (tmp_path / "skills/etc").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")
    tree = folder_tree(tmp_path)
    assert sorted(tree.sizes) == ["node_modules/p/SKILL.md", "shared/p/SKILL.md"]
    found = scan_skills(tree)
    assert [skill.links for skill in found.skills] == [("skills/p",)]
    assert [entry.path for entry in found.passed_over] == [
        "node_modules/p/SKILL.md",
        "pipe",
        "skills/etc",
    ]


def test_a_page_with_its_name_in_other_letters_is_named() -> None:
    scan = scan_skills(tree_of({"a/SKILL.md": b"", "b/SKILL.MD": b"", "c/xskill.md": b""}))
    assert [skill.folder for skill in scan.skills] == ["a"]
    assert [entry.path for entry in scan.passed_over] == ["b/SKILL.MD"]

"""shelves: folders of skills become layers; a bad file is a problem and nothing more."""

import os
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from skillvault.learning.recommend import shelf
from skillvault.records import Problem, Shelved
from skillvault.vault.files import layers as shelves
from skillvault.vault.files.listing import listed
from skillvault.vault.files.work_tree import blob_id


def written(folder: Path, path: str, name: str, body: str = "Text.") -> bytes:
    place = folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    data = f"---\nname: {name}\ndescription: What it does.\n---\n\n{body}\n".encode()
    place.write_bytes(data)
    return data


def read(folder: Path) -> tuple[list[Shelved], list[Problem]]:
    """The skills of a folder by path, and what of it cannot be read."""
    found = [shelves.read(path, "domain") for path in sorted(listed(folder).files)]
    skills = [one for one in found if isinstance(one, Shelved)]
    return skills, [one for one in found if isinstance(one, Problem)]


def test_skill_folders_and_flat_files_are_read_by_path(tmp_path: Path) -> None:
    written(tmp_path, "b/SKILL.md", "b")
    written(tmp_path, "a.md", "a")
    written(tmp_path, "deep/er/c/SKILL.md", "c")
    skills, problems = read(tmp_path)
    assert [(one.skill.name, one.layer) for one in skills] == [
        ("a", "domain"),
        ("b", "domain"),
        ("c", "domain"),
    ]
    assert problems == []


def test_dot_folders_and_a_skills_own_material_are_ignored(tmp_path: Path) -> None:
    written(tmp_path, ".git/a/SKILL.md", "a")
    written(tmp_path, ".b.md", "b")
    written(tmp_path, "c/SKILL.md", "c")
    written(tmp_path, "c/references/more.md", "more")
    skills, _ = read(tmp_path)
    assert [one.skill.name for one in skills] == ["c"]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"no front matter", "no-front-matter"),
        (b"---\nname: x\n---\n", "missing-key"),
        (b"---\nname: [x]\ndescription: y\n---\n", "wrong-type"),
        (b"\xff\xfe", "not-utf8"),
        (b"---\nname: ../x\ndescription: y\n---\n", "bad-name"),
        (b"<<<<<<< HEAD\n---\nname: x\ndescription: y\n---\n", "conflict"),
        (b"x" * (1024 * 1024 + 1), "not-a-file"),
    ],
)
def test_one_bad_file_is_a_problem_and_the_rest_goes_on(
    tmp_path: Path, data: bytes, code: str
) -> None:
    written(tmp_path, "good/SKILL.md", "good")
    (tmp_path / "bad.md").write_bytes(data)
    skills, problems = read(tmp_path)
    assert [one.skill.name for one in skills] == ["good"]
    assert [(Path(one.path).name, one.code) for one in problems] == [("bad.md", code)]


def test_what_is_no_file_is_a_problem(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere")
    _, problems = read(tmp_path)
    assert [one.code for one in problems] == ["unreadable", "not-a-file"]


def test_a_folder_that_is_not_there_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries(monkeypatch)
    folders, problems = shelves.domains(tmp_path, ["none"])
    assert (folders, [one.code for one in problems]) == ([], ["no-folder"])


def test_a_foreign_name_gets_hyphens(tmp_path: Path) -> None:
    written(tmp_path, "ucb_regret.md", "ucb_regret")
    skills, _ = read(tmp_path)
    assert [one.skill.name for one in skills] == ["ucb-regret"]


def test_a_skills_version_is_the_id_git_gives_its_bytes(tmp_path: Path) -> None:
    data = written(tmp_path, "a.md", "a")
    skills, _ = read(tmp_path)
    assert skills[0].blob == blob_id(data)


def test_the_last_path_of_a_layer_wins(tmp_path: Path) -> None:
    written(tmp_path, "a/x/SKILL.md", "same", "first")
    written(tmp_path, "b/x/SKILL.md", "same", "second")
    skills, _ = read(tmp_path)
    assert [one.skill.body for one in shelf.winners([skills])] == ["second"]


def entries(monkeypatch: pytest.MonkeyPatch, *values: str) -> None:
    given = [EntryPoint(f"p{i}", value, shelves.GROUP) for i, value in enumerate(values)]
    monkeypatch.setattr(shelves, "entry_points", lambda group: given)


def test_a_package_that_brings_skills_is_found_and_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, "trading_skills/a/SKILL.md", "a")
    (tmp_path / "trading_skills/__init__.py").write_text("raise SystemExit('was run')")
    monkeypatch.syspath_prepend(str(tmp_path))
    entries(monkeypatch, "trading_skills")
    assert shelves.plugins() == ([tmp_path / "trading_skills"], [])


@pytest.mark.parametrize("value", ["no_such_package", "no.such.package", "json.decoder"])
def test_a_plugin_without_a_folder_is_a_problem(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    entries(monkeypatch, value)
    folders, problems = shelves.plugins()
    assert (folders, [one.code for one in problems]) == ([], ["no-package"])


def test_the_folders_of_the_policy_are_layers_in_its_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries(monkeypatch)
    written(tmp_path, "team/a/SKILL.md", "a", "team")
    written(tmp_path, "mine/a/SKILL.md", "a", "mine")
    folders, problems = shelves.domains(tmp_path, ["team", "mine"])
    layers = [read(folder)[0] for folder in folders]
    assert [one.skill.body for one in shelf.winners(layers)] == ["mine"]
    assert problems == []


@pytest.mark.parametrize(
    "folder", ["proposed", "archive/x", "skills/../proposed", "link", ".", ".."]
)
def test_what_is_never_served_is_no_layer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    entries(monkeypatch)
    written(tmp_path, "proposed/a/SKILL.md", "a")
    written(tmp_path, "archive/x/a/SKILL.md", "a")
    (tmp_path / "skills").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "proposed")
    folders, problems = shelves.domains(tmp_path, [folder])
    assert (folders, [one.code for one in problems]) == ([], ["not-served"])

"""shelves: folders of skills become layers; a bad file is a problem and nothing more."""

import os
from pathlib import Path

import pytest

from skillvault.learning.recommend import shelf
from skillvault.model.records import Problem, ShelfSkill
from skillvault.vault.files import layers as shelves
from skillvault.vault.files.listing import list_folder
from skillvault.vault.files.work_tree import blob_id


def written(folder: Path, path: str, name: str, body: str = "Text.") -> bytes:
    place = folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    data = f"---\nname: {name}\ndescription: What it does.\n---\n\n{body}\n".encode()
    place.write_bytes(data)
    return data


def read(folder: Path) -> tuple[list[ShelfSkill], list[Problem]]:
    """Return the skills of a folder by path, and the problems of unreadable files."""
    paths = sorted(list_folder(folder).files)
    found = [shelves.read_layer_file(path, "domain", folder=str(folder)) for path in paths]
    skills = [one for one in found if isinstance(one, ShelfSkill)]
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


# As people write them, and what is read: (file, text, name or problem's code, None for neither).
FRONT = "---\nname: x\ndescription: {}\n---\n\nText.\n"
AS_WRITTEN = {
    "an unquoted colon": ("x/SKILL.md", FRONT.format("Use when: a test is flaky"), "x"),
    "a colon at the end": ("x/SKILL.md", FRONT.format("Use when:"), "x"),
    "two colons": ("x/SKILL.md", FRONT.format("a: b: c"), "x"),
    "a hash": ("x/SKILL.md", FRONT.format("C# and F#: both"), "x"),
    "a star first": ("x/SKILL.md", FRONT.format("*Always* use it: now"), "x"),
    "an at sign first": ("x/SKILL.md", FRONT.format("@team uses it"), "x"),
    "a bracket first": ("x/SKILL.md", FRONT.format("[beta] does it"), "x"),
    "an exclamation mark first": ("x/SKILL.md", FRONT.format("!important thing"), "x"),
    "a backslash and quotes": ("x/SKILL.md", FRONT.format('C:\\x says "a: b"'), "x"),
    "a percent sign": ("x/SKILL.md", FRONT.format("%s is: replaced"), "x"),
    "CRLF": ("x/SKILL.md", FRONT.format("Use: it").replace("\n", "\r\n"), "x"),
    "a byte order mark": ("x/SKILL.md", "\ufeff" + FRONT.format("d"), "x"),
    "nested metadata": ("x/SKILL.md", FRONT.format("d\nmetadata:\n  a:\n    b: c"), "x"),
    "metadata in lists": ("x/SKILL.md", FRONT.format("d\nmetadata:\n  tags: [a, b]"), "x"),
    "a list of maps": ("x/SKILL.md", FRONT.format("d\nmetadata:\n  a: [{b: c}]"), "x"),
    "metadata in JSON": ("x/SKILL.md", FRONT.format('d\nmetadata: {"o": {"r": ["curl"]}}'), "x"),
    "keys of other programs": ("x/SKILL.md", FRONT.format("d\nallowed-tools: Bash(git:*)"), "x"),
    "a hyphenated list of tools": ("x/SKILL.md", FRONT.format("d\nallowed-tools:\n  - A"), "x"),
    "lower case": ("x/skill.md", FRONT.format("d"), "x"),
    "a capital": ("x/Skill.md", FRONT.format("d"), "x"),
    "an underscore": ("a_b/SKILL.md", FRONT.format("d").replace("x", "a_b"), "a-b"),
    "prose": ("README.md", "# Our skills\n\nText.\n", None),
    "prose deeper": ("docs/how.md", "Text.\n", None),
    "an empty page": ("empty.md", "", None),
    "a line below": ("page.md", "Text.\n---\nname: x\n---\n", None),
    "prose as a skill": ("x/SKILL.md", "# No front matter\n", "no-front-matter"),
    "no end": ("x/SKILL.md", "---\nname: x\n", "truncated"),
    "no description": ("x/SKILL.md", "---\nname: x\n---\n", "missing-key"),
    "a description of nothing": ("x/SKILL.md", FRONT.format("''"), "missing-key"),
    "a list as description": ("x/SKILL.md", FRONT.format("\n- a"), "wrong-type"),
    "text as metadata": ("x/SKILL.md", FRONT.format("d\nmetadata: guide"), "wrong-type"),
    "an odd kind": ("x/SKILL.md", FRONT.format("d\nmetadata:\n  kind: rule"), "bad-value"),
    "a kind in a list": ("x/SKILL.md", FRONT.format("d\nmetadata:\n  kind: [a, b]"), "bad-value"),
    "a key twice": ("x/SKILL.md", FRONT.format("d\nname: y"), "duplicate-key"),
    "an anchor elsewhere": ("x/SKILL.md", FRONT.format("d\nother: &a 1"), "x"),
    "a tag that makes an object": ("x/SKILL.md", FRONT.format("d\nn: !!python/name:os.x"), "x"),
    "a bomb": ("x/SKILL.md", FRONT.format("d\nn: " + "[" * 60 + "]" * 60), "too-deep"),
    "an open quotation": ("x/SKILL.md", FRONT.format('"d'), "x"),
    "a path as name": ("x/SKILL.md", FRONT.format("d").replace("x", "../x"), "bad-name"),
    "a merge": ("x/SKILL.md", "<<<<<<< HEAD\n" + FRONT.format("d"), "conflict"),
    "NUL": ("x/SKILL.md", FRONT.format("a\0b"), "nul"),
    "long front matter": ("x/SKILL.md", FRONT.format("d" * 70_000), "too-large"),
}


@pytest.mark.parametrize("case", AS_WRITTEN)
def test_other_people_s_skills_are_read_as_they_write_them(tmp_path: Path, case: str) -> None:
    path, text, expected = AS_WRITTEN[case]
    written(tmp_path, "good/SKILL.md", "good")
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_bytes(text.encode())
    skills, problems = read(tmp_path)
    names = sorted(one.skill.name for one in skills)
    if expected in ("x", "a-b"):
        assert (names, problems) == (sorted(["good", expected]), [])
    else:
        assert names == ["good"]
        assert [one.code for one in problems] == ([expected] if expected else [])


def test_what_an_unquoted_colon_says_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x/SKILL.md").write_text(FRONT.format('C:\\x says "a: b" # and more'))
    (skill,), _ = read(tmp_path)
    assert skill.skill.description == 'C:\\x says "a: b" # and more'


def test_a_capital_file_stands_before_one_in_lower_case(tmp_path: Path) -> None:
    written(tmp_path, "x/SKILL.md", "x", "capital")
    written(tmp_path, "x/skill.md", "x", "lower")
    skills, _ = read(tmp_path)
    assert [one.skill.body for one in skills] == ["capital"]


# ── links ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("link", "target", "code"),
    [
        ("team/x", "team/.agents/x", None),
        ("team/x", ".agents/skills/x", None),  # in the repository, as `npx skills` makes them
        ("team/x.md", ".agents/skills/x/SKILL.md", None),
        ("team/x", "../elsewhere/x", "link-outside"),
        ("team/x.md", "../elsewhere/x/SKILL.md", "link-outside"),
        ("team/x", "proposed/x", "not-served"),
        ("team/x/SKILL.md", "inbox/x/SKILL.md", "not-served"),
    ],
)
def test_a_link_to_a_skill_stands_for_it_within_the_repository(
    tmp_path: Path, link: str, target: str, code: str | None
) -> None:
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    (root / "vault.yaml").write_text("format: 1\n")
    written(root, "team/good/SKILL.md", "good")
    skill = target if target.endswith(".md") else f"{target}/SKILL.md"
    written(root, skill, "x")
    (root / link).parent.mkdir(exist_ok=True)
    (root / link).symlink_to((root / target).resolve())
    skills, problems = read(root / "team")
    assert [one.code for one in problems] == ([code] if code else [])
    assert sorted(one.skill.name for one in skills) == (["good"] if code else ["good", "x"])
    if code == "link-outside":
        assert "outside" in problems[0].message
        assert "`shelf.dirs`" in problems[0].message


def test_a_link_that_leads_in_a_circle_or_to_no_skill_is_not_followed(tmp_path: Path) -> None:
    written(tmp_path, "good/SKILL.md", "good")
    written(tmp_path, "more/deep/SKILL.md", "deep")
    (tmp_path / "circle").symlink_to(tmp_path)
    (tmp_path / "more/again").symlink_to(tmp_path / "more")
    (tmp_path / "root").symlink_to("/")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    skills, problems = read(tmp_path)
    assert ([one.skill.name for one in skills], problems) == (["good", "deep"], [])


def test_a_skill_that_a_link_gets_later_is_found(tmp_path: Path) -> None:
    (tmp_path / "own/.kept/x").mkdir(parents=True)
    (tmp_path / "own/x").symlink_to(tmp_path / "own/.kept/x")
    before = list_folder(tmp_path / "own")
    assert not before.files
    written(tmp_path, "own/.kept/x/SKILL.md", "x")
    assert list(list_folder(tmp_path / "own", before).files) == [str(tmp_path / "own/x/SKILL.md")]


def test_what_is_no_file_is_a_problem(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere")
    _, problems = read(tmp_path)
    assert [one.code for one in problems] == ["unreadable", "not-a-file"]


def test_a_folder_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    folders, problems = shelves.find_layers(tmp_path, ["none"])
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


@pytest.fixture(autouse=True)
def _no_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the installed packages of this machine, which could bring layers."""
    monkeypatch.setattr(shelves, "distributions", lambda: ())


def test_the_folders_of_the_policy_are_layers_in_its_order(tmp_path: Path) -> None:
    written(tmp_path, "team/a/SKILL.md", "a", "team")
    written(tmp_path, "mine/a/SKILL.md", "a", "mine")
    folders, problems = shelves.find_layers(tmp_path, ["team", "mine"])
    layers = [read(folder)[0] for folder in folders]
    assert [one.skill.body for one in shelf.winners(layers)] == ["mine"]
    assert problems == []


@pytest.mark.parametrize(
    "folder", ["proposed", "archive/x", "skills/../proposed", "link", ".", ".."]
)
def test_what_is_never_served_is_no_layer(tmp_path: Path, folder: str) -> None:
    written(tmp_path, "proposed/a/SKILL.md", "a")
    written(tmp_path, "archive/x/a/SKILL.md", "a")
    (tmp_path / "skills").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "proposed")
    folders, problems = shelves.find_layers(tmp_path, [folder])
    assert (folders, [one.code for one in problems]) == ([], ["not-served"])

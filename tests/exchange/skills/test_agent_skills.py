"""agent_skills: a plain skill folder comes in as a vault may have it, and goes out as it was."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from skills_ref import validate  # type: ignore[import-untyped]

from skillvault.exchange.skills.agent_skills import (
    SkillFolder,
    as_text,
    from_text,
    read_author_meta,
    read_skill,
    write_skill,
    write_valid,
)
from skillvault.model.codec import decode
from skillvault.model.export import OutgoingSkill
from skillvault.model.records import Problem, Ref, Skill
from skillvault.model.text import front_matter, strict_yaml
from tests.thorough import examples

BODY = "# Review\n\n---\n\nLook twice.\n"
NAMES = st.from_regex(r"[a-z][a-z_-]{0,8}", fullmatch=True)
SCALARS = st.one_of(
    st.text("ab:{}[]'\"-# \n1.", max_size=12), st.booleans(), st.none(), st.integers(-99, 99)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3)
)


def skill_file(front: str, body: str = BODY) -> bytes:
    return f"---\n{front}---\n\n{body}".encode()


def taken(files: dict[str, bytes], folder: str = "review") -> SkillFolder:
    skill = read_skill(files, folder)
    assert isinstance(skill, SkillFolder), skill
    return skill


def meta_of(content: bytes) -> dict[str, Any]:
    return front_matter.read_document(front_matter.text_of(content))[0]


def test_only_what_the_vault_says_of_it_is_added_and_every_other_byte_stays() -> None:
    before = (
        "# by hand\nname: review\ndescription: 'Reviews.  Use before a merge.'\nlicense: MIT\n"
        'metadata:\n  author: "Ann"\n  version: 1.10 # not 1.1\n'
    )
    skill = taken({"SKILL.md": skill_file(before), "scripts/a.sh": b"echo \xff\n"})
    added = '  author: "Ann"\n'
    ours = "  status: proposed\n  origin: installed\n"
    assert skill.files["SKILL.md"] == skill_file(before.replace(added, ours + added))
    assert skill.files["scripts/a.sh"] == b"echo \xff\n"


def test_what_the_specification_has_no_key_for_has_its_home_in_the_metadata() -> None:
    front = (
        "name: Review_It\ndescription: Reviews.\nallowed-tools: [Read, Bash(git:*)]\n"
        "disable-model-invocation: true\nhooks:\n  Stop: [a, b]\ntags: [x, y z]\n"
        "metadata:\n  status: pinned\n  openclaw: {emoji: '!', requires: {bins: [gh]}}\n"
    )
    skill = taken({"SKILL.md": skill_file(front)})
    assert meta_of(skill.files["SKILL.md"]) == {
        "name": "review-it",
        "description": "Reviews.",
        "allowed-tools": "Read Bash(git:*)",
        "metadata": {
            "published": front,
            "agent-skills.metadata.status": "pinned",
            "openclaw": '{"emoji": "!", "requires": {"bins": ["gh"]}}',
            "tags": "x y-z",
            "agent-skills.allowed-tools": '["Read", "Bash(git:*)"]',
            "agent-skills.disable-model-invocation": "true",
            "agent-skills.hooks": '{"Stop": ["a", "b"]}',
            "agent-skills.tags": '["x", "y z"]',
            "agent-skills.name": "Review_It",
            "status": "proposed",
            "origin": "installed",
        },
    }
    restored = meta_of(write_skill(skill.files)["SKILL.md"])
    assert restored == strict_yaml.load(front)
    assert list(skill.skill.tags) == ["x", "y-z"]


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"README.md": b"x"}, "no-skill"),
        ({"SKILL.md": b"# No front matter\n"}, "no-front-matter"),
        ({"SKILL.md": b"\n<!-- (c) X -->\n---\nname: a\n---\n\nDo it.\n"}, "no-front-matter"),
        ({"SKILL.md": b"<html><body>404 not found</body></html>\n"}, "no-front-matter"),
        ({"SKILL.md": b"---\nname: a\n"}, "truncated"),
        ({"SKILL.md": b"---\nname: a\n---\n\n# No paragraph\n"}, "missing-key"),
        ({"SKILL.md": skill_file("name: a\ndescription: [b]\n")}, "missing-key"),
        ({"SKILL.md": skill_file("name: '???'\ndescription: b\n")}, "bad-name"),
        ({"SKILL.md": b"\xff\xfe"}, "not-utf8"),
        ({"SKILL.md": skill_file("name: a\ndescription: b\nmetadata:\n  x: &y z\n")}, "anchor"),
    ],
)
def test_what_is_no_skill_is_a_problem(files: dict[str, bytes], code: str) -> None:
    problem = read_skill(files, "review")
    assert isinstance(problem, Problem)
    assert problem.code == code


def test_a_file_in_small_letters_and_a_folder_s_name_will_do() -> None:
    skill = taken({"skill.md": skill_file("description: b\n")}, "My Review")
    assert list(skill.files) == ["SKILL.md"]
    assert skill.skill.name == "my-review"


@pytest.mark.parametrize("front", ["", "---\nname: my-review\n---\n", "---\ndescription:\n---\n"])
def test_the_first_paragraph_stands_for_a_missing_description(front: str) -> None:
    text = f"{front}# Review\n\nRead the\nwhole diff.\n\nThen ask.\n"
    skill = taken({"SKILL.md": text.encode()}, "My Review").skill
    assert (skill.name, skill.description) == ("my-review", "Read the whole diff.")
    assert skill.body == "# Review\n\nRead the\nwhole diff.\n\nThen ask."


def test_a_file_may_lower_its_trust_and_not_raise_it() -> None:
    for word, trust in (("untrusted", "untrusted"), ("local", "local")):
        front = f"name: a\ndescription: b\nmetadata: {{trust: {word}}}\n"
        assert taken({"SKILL.md": skill_file(front)}).skill.trust == trust


@given(VALUES)
def test_a_value_is_one_text_and_comes_back(value: Any) -> None:
    assert from_text(as_text(value)) == value
    assert "---" not in as_text(value)


@given(
    st.dictionaries(NAMES.filter(lambda key: key != "metadata"), VALUES, max_size=4),
    st.dictionaries(NAMES, VALUES, max_size=4),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
@settings(max_examples=examples(60))
def test_there_and_back_loses_nothing(
    tmp_path_factory: pytest.TempPathFactory,
    top: dict[str, Any],
    metadata: dict[str, Any],
    eol: str,
    flow: bool,
) -> None:
    front = {**top, "name": "Re_view", "description": "Reviews", "metadata": metadata}
    text = yaml.safe_dump(front, sort_keys=False, default_flow_style=flow, allow_unicode=True)
    source = skill_file(text).replace(b"\n", eol.encode())
    meta = meta_of(source)
    skill = taken({"SKILL.md": source, "a/b.txt": b"\0"})
    restored = write_skill(skill.files)
    assert meta_of(restored["SKILL.md"]) == meta
    assert restored["a/b.txt"] == b"\0"
    body = source.split(b"\n---", 1)[1]
    assert skill.files["SKILL.md"].endswith(body)
    kept = decode(Ref("skill", "re-view"), skill.files["SKILL.md"])
    assert isinstance(kept, Skill)
    assert (kept.name, kept.description, kept.status) == ("re-view", "Reviews", "proposed")
    _check_valid(tmp_path_factory.mktemp("v") / "re-view", skill)


@pytest.mark.parametrize("key", ["a---", "---", "5", '"5"', "\\u002d---"])
@pytest.mark.parametrize("place", ["top", "metadata"])
def test_a_key_that_simple_readers_would_cut_comes_back(
    tmp_path: Path, place: str, key: str
) -> None:
    front: dict[str, Any] = {"name": "re-view", "description": "Reviews"}
    front |= {key: "x"} if place == "top" else {"metadata": {key: "x"}}
    skill = taken({"SKILL.md": skill_file(yaml.safe_dump(front, sort_keys=False))})
    _check_valid(tmp_path / "re-view", skill)
    assert meta_of(write_skill(skill.files)["SKILL.md"]) == front
    outgoing = OutgoingSkill("re-view", "Reviews", skill.files)
    valid = SkillFolder(skill.skill, write_valid(outgoing))
    _check_valid(tmp_path / "valid/re-view", valid)
    assert read_author_meta(valid.files) == front


def _check_valid(folder: Path, skill: SkillFolder) -> None:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(skill.files["SKILL.md"])
    assert validate(folder) == []


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n", "a pointer of git LFS"),
        (b"----\nname: a\ndescription: b\n----\n", "must begin with a line `---`"),
        (b"---\nname: a\ndescription: 42\n---\n", "description: 42, which is no text"),
        (b"---\nname: a\ndescription: [b, c]\n---\n", "description: a list or a mapping"),
        (b"---\nname: a\ndescription: ''\n---\n", "description: missing"),
    ],
)
def test_a_file_that_is_no_skill_is_refused_with_the_reason(page: bytes, message: str) -> None:
    problem = read_skill({"SKILL.md": page}, "a")
    assert isinstance(problem, Problem)
    assert message in problem.message

"""eurekaclaw: its keys have a home, its counters go on, and what it rewrites stays ours."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from skills_ref import validate  # type: ignore[import-untyped]

from skillvault.exchange.skills.eurekaclaw import MANAGED_PART
from skillvault.exchange.skills.folders import TreeSkill
from skillvault.exchange.source_tree import tree_of
from skillvault.model.codec import decode
from skillvault.model.export import OutgoingSkill
from skillvault.model.records import ExternalUse, Problem, Ref, Skill
from tests.exchange.skills.given import (
    body_of,
    every,
    exported,
    flat,
    meta_of,
    outgoing,
    read_as,
    skill_file,
)

FRONT = """\
agent_roles:
- theory
created_at: '2026-03-22T08:19:27.986985'
description: Reduce infinite problems to finite ones. Use when a cover is open.
name: compactness_argument
pipeline_stages:
- proof_attempt
source: seed
success_rate: 0.63
tags:
- proof
- finite subcover
usage_count: 12
version: '1.0'
"""


def as_eurekaclaw_writes(content: bytes, **changes: Any) -> bytes:
    """A file once EurekaClaw loaded and stored it: keys sorted, nobody else's, text stripped."""
    keys = (
        "name version tags agent_roles pipeline_stages description source created_at usage_count "
        "success_rate"
    ).split()
    meta = {key: value for key, value in meta_of(content).items() if key in keys} | changes
    return f"---\n{yaml.safe_dump(meta)}---\n\n{body_of(content)}".encode()


def test_its_keys_are_read_where_a_vault_reads_them() -> None:
    (folder,) = read_as("eurekaclaw", {"compactness_argument/SKILL.md": skill_file(FRONT)})
    skill = decode(Ref("skill", "compactness-argument"), folder.files["SKILL.md"])
    assert isinstance(skill, Skill)
    assert skill.name == "compactness-argument"
    assert (skill.tags, skill.roles, skill.stages) == (
        ("proof", "finite-subcover"), ("theory",), ("proof_attempt",)
    )  # fmt: skip
    assert (skill.version, skill.created) == ("1.0", "2026-03-22T08:19:27.986985")
    assert skill.elsewhere == ExternalUse(12, 0.63)
    assert not skill.foreign
    assert meta_of(folder.files["SKILL.md"])["metadata"]["eurekaclaw.source"] == "seed"


def test_a_flat_file_is_a_skill_of_its_name_and_one_in_a_folder_is_material() -> None:
    page = skill_file("description: b\ntags: [x]\n")
    files = {"theory/my_skill.md": page, "whole/SKILL.md": page, "whole/notes.md": page}
    files["README.md"] = b"# No front matter\n"
    skills = {skill.skill.name: skill for skill in read_as("eurekaclaw", files)}
    assert {*skills} == {"my-skill", "whole"}
    assert {*skills["whole"].files} == {"SKILL.md", "notes.md"}


def test_without_a_description_the_text_says_what_it_is() -> None:
    (folder,) = read_as("eurekaclaw", {"a.md": skill_file("tags: [x]\n", "# A\n\nBound it.\n")})
    assert folder.skill.description == "Bound it."
    found = every("eurekaclaw", tree_of({"a.md": skill_file("tags: [x]\n", "")}))
    assert [problem.code for problem in found if isinstance(problem, Problem)] == ["missing-key"]


def test_another_count_is_no_other_version() -> None:
    pages = [FRONT, FRONT.replace("12", "40").replace("0.63", "0.9")]
    published = [
        found.published
        for page in pages
        for found in every("eurekaclaw", tree_of({"a/SKILL.md": skill_file(page)}))
        if isinstance(found, TreeSkill)
    ]
    assert published[0] == published[1]


def test_what_a_person_changed_here_goes_out_changed() -> None:
    (folder,) = read_as("eurekaclaw", {"compactness_argument/SKILL.md": skill_file(FRONT)})
    content = folder.files["SKILL.md"].replace(b"tags: proof finite-subcover", b"tags: cover")
    sent = OutgoingSkill("compactness-argument", "x", {"SKILL.md": content})
    (page,) = flat(exported("eurekaclaw", sent)).values()
    assert meta_of(page)["tags"] == ["cover"]
    assert meta_of(page)["agent_roles"] == ["theory"]


def test_a_skill_of_a_vault_has_all_that_eurekaclaw_asks() -> None:
    page = skill_file(
        "name: warning-a\ndescription: Use it.\nmetadata:\n  kind: warning\n  origin: generated\n"
        "  created: soon\n  tags: a b\n"
    )
    skill = OutgoingSkill("warning-a", "", {"SKILL.md": page})
    (sent,) = flat(exported("eurekaclaw", skill)).values()
    meta = meta_of(sent)
    assert (meta["source"], meta["version"], meta["tags"]) == ("manual", "1.0", ["a", "b"])
    assert (meta["usage_count"], meta["agent_roles"]) == (0, [])
    assert "created_at" not in meta  # a time that it cannot read keeps it from loading anything


def test_its_keys_are_valid_by_the_specification_in_the_metadata_of_an_export(
    tmp_path: Path,
) -> None:
    (folder,) = read_as("eurekaclaw", {"compactness_argument/SKILL.md": skill_file(FRONT)})
    (page,) = flat(exported("codex", outgoing(folder))).values()
    place = tmp_path / "compactness-argument"
    place.mkdir()
    (place / "SKILL.md").write_bytes(page)
    assert validate(place) == []
    (again,) = read_as("eurekaclaw", {"compactness-argument/SKILL.md": page})
    (sent,) = flat(exported("eurekaclaw", outgoing(again))).values()
    assert meta_of(sent)["agent_roles"] == ["theory"]
    assert meta_of(sent)["tags"] == ["proof", "finite subcover"]


# ── who writes what ──────────────────────────────────────────────────────────────────


def ours(count: int, text: str = "# A\n\nText.\n") -> bytes:
    """Our export of a skill with so many uses."""
    (folder,) = read_as("eurekaclaw", {"compactness_argument/SKILL.md": skill_file(FRONT, text)})
    (page,) = flat(exported("eurekaclaw", outgoing(folder, ExternalUse(count, 0.5)))).values()
    return page


@pytest.mark.parametrize(
    ("changes", "count", "text", "stays"),
    [
        ({}, 12, "# A\n\nText.\n", True),
        ({"usage_count": 15}, 12, "# A\n\nText.\n", True),
        ({"usage_count": 15}, 20, "# A\n\nText.\n", False),
        ({"usage_count": 15}, 12, "# B\n", False),
        (None, 14, "# A\n\nText.\n", False),
    ],
)
def test_the_file_stays_that_says_the_same_and_counts_more(
    changes: dict[str, int] | None, count: int, text: str, stays: bool
) -> None:
    page, after = ours(12), ours(count, text)
    before = page if changes is None else as_eurekaclaw_writes(page, **changes)
    assert MANAGED_PART.put("SKILL.md", before, after) == (before if stays else after)


def test_what_it_rewrote_is_ours_and_what_a_person_rewrote_is_not() -> None:
    page = ours(12)
    rewritten = as_eurekaclaw_writes(page, usage_count=99, name="compactness-argument")
    assert MANAGED_PART.read("SKILL.md", rewritten) == MANAGED_PART.read("SKILL.md", page)
    edited = page.replace(b"Text.", b"Other text.")
    assert MANAGED_PART.read("SKILL.md", edited) != MANAGED_PART.read("SKILL.md", page)
    assert MANAGED_PART.read("scripts/a.sh", b"x") == b"x"
    assert MANAGED_PART.read("SKILL.md", b"broken") == b"broken"

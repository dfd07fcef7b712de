"""layout: a record has one place, only slugs reach a path, the root is found upward."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.api import Vault
from skillvault.model.errors import NotAVaultError
from skillvault.model.records import Ref, Skill
from skillvault.vault.files import layout
from tests.given import evaluation, outcome, recommendation, trade

ID = "20261120t101500z-0123456789"
EVIL = (
    "../x", "..", ".", "", "a/b", "/etc", "a\n", "\n", "A", "a_b", "a b", "-a", "a-", "a--b", "é",
    "a\0", "a.yaml", "~", "x" * 65, "a\\b", ".git", "con:", "a\u2028",
)  # fmt: skip


@pytest.mark.parametrize(
    ("record", "path"),
    [
        (outcome(), "outcomes/coding/2026/11/01/{id}.yaml"),
        (evaluation(outcome(trade())), "evaluations/perps/2026/11/01/{id}.yaml"),
        (recommendation(), "recommendations/perps/2026/11/20/{id}.yaml"),
        (Skill("a-skill"), "skills/a-skill/SKILL.md"),
        (Skill("a-skill", status="proposed"), "proposed/a-skill/SKILL.md"),
    ],
)
def test_a_record_has_one_place_and_the_place_names_the_record(record: Any, path: str) -> None:
    name = record.name if isinstance(record, Skill) else record.id
    found = layout.path_of(record)
    assert found == path.format(id=name)
    ref = layout.ref_of(found)
    assert ref is not None
    assert ref.id == name
    assert layout.top_folder(found) == path.partition("/")[0]


@given(st.from_regex(r"[a-z0-9]+(-[a-z0-9]+)*", fullmatch=True).filter(lambda s: len(s) <= 64))
def test_every_slug_becomes_a_place_that_names_it_again(name: str) -> None:
    assert layout.ref_of(layout.skill_path(name, "archive")) == Ref("skill", name)
    path = layout.outcome_path(name, ID)
    assert (layout.ref_of(path), layout.domain_of(path)) == (Ref("outcome", ID), name)


@pytest.mark.parametrize("name", EVIL)
def test_only_slugs_reach_a_path(name: str) -> None:
    attempts: tuple[Callable[[], str], ...] = (
        lambda: layout.outcome_path(name, ID),
        lambda: layout.outcome_path("coding", name),
        lambda: layout.outcome_path("coding", ID + name or "x"),
        lambda: layout.outcome_path("coding", f"{ID}/{name}"),
        lambda: layout.skill_path(name),
        lambda: layout.skill_path("a", name),
    )
    for number, attempt in enumerate(attempts):
        if number == 2 and not name:
            continue
        with pytest.raises(ValueError, match="cannot become a path"):
            attempt()


@pytest.mark.parametrize(
    "path",
    [
        "vault.yaml",
        "README.md",
        "skills/a/notes.md",
        "skills/SKILL.md",
        "skills/a/b/SKILL.md",
        "other/a/SKILL.md",
        "x/skills/a/SKILL.md",
        f"outcomes/coding/2026/11/20/{ID}.yml",
        f"outcomes/coding/2026/11/20/{ID}.yaml\n",
        f"outcomes/coding/2026/11/21/{ID}.yaml",
        f"outcomes/coding/2025/11/20/{ID}.yaml",
        f"outcomes/2026/11/20/{ID}.yaml",
        f"outcomes/coding/2026/11/20/{ID}x.yaml",
        f"outcomes/coding/٢٠٢٦/11/20/{ID}.yaml",
        "links/a.yaml",
        "links/a/b.yaml",
        "sessions/2026/11/20/s-1.links.yaml",
        "memory/a.md",
    ],
)
def test_a_path_that_is_no_record_s_holds_none(path: str) -> None:
    assert layout.ref_of(path) is None


@pytest.mark.parametrize(
    ("path", "links"),
    [
        (
            f"evaluations/perps/2026/11/20/{ID}.yaml",
            f"evaluations/perps/2026/11/20/{ID}.links.yaml",
        ),
        ("memory/perps/a-fact.md", "memory/perps/a-fact.links.yaml"),
        ("sessions/2026/11/20/s-1.yaml", "sessions/2026/11/20/s-1.links.yaml"),
        ("proposed/a-skill/SKILL.md", "links/a-skill.yaml"),
        ("archive/a-skill/SKILL.md", "links/a-skill.yaml"),
    ],
)
def test_a_record_has_one_list_of_links_and_the_place_names_the_record(
    path: str, links: str
) -> None:
    assert layout.links_path(path) == links
    assert layout.links_owner(links) == layout.ref_of(path)
    assert layout.links_owner(path) is None


@pytest.mark.parametrize("path", ["links/a/b.yaml", "skills/a/x.links.yaml", "x.links.yaml"])
def test_a_list_of_links_stands_beside_a_record(path: str) -> None:
    assert layout.links_owner(path) is None


def test_the_root_is_found_upward_from_any_folder(tmp_path: Path) -> None:
    (tmp_path / "vault.yaml").write_text("format: 1\n")
    deep = tmp_path / "skills/a/b"
    deep.mkdir(parents=True)
    assert layout.find_root(deep) == layout.find_root(tmp_path) == tmp_path.resolve()


def test_the_nearest_root_wins(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "inner"):
        folder.mkdir(exist_ok=True)
        (folder / "vault.yaml").write_text("format: 1\n")
    assert layout.find_root(tmp_path / "inner") == (tmp_path / "inner").resolve()


def test_no_root_is_an_error_that_says_what_to_run(tmp_path: Path) -> None:
    (tmp_path / "vault.yaml").mkdir()
    with pytest.raises(NotAVaultError, match="skillvault init"):
        layout.find_root(tmp_path)


def test_a_vault_that_lost_its_file_gets_it_back(vault: Vault) -> None:
    vault.run()
    (vault.root / "vault.yaml").unlink()
    for find in (layout.find_root, layout.named_root):
        with pytest.raises(NotAVaultError, match=r"git -C \S+ restore vault.yaml"):
            find(vault.root)


@pytest.mark.parametrize("name", ["vault_template", "hooks"])
def test_what_ships_with_the_package_is_there(name: str) -> None:
    assert layout.resource(name).is_dir()

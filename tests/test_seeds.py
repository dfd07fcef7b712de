"""The skills that ship with the package: valid for every host, and usable as they stand."""

import math
import re
from pathlib import Path
from typing import Any

import pytest
from skills_ref import validate  # type: ignore[import-untyped]

from skillvault.learning.effect import verdict as effect
from skillvault.learning.recommend import shelf
from skillvault.model.records import ShelfSkill
from skillvault.model.text.text import count_tokens
from skillvault.vault.files import layers as shelves
from skillvault.vault.files import layout
from skillvault.vault.files.listing import list_folder

FOLDERS = sorted(layout.resource(shelves.SEEDS).iterdir())
READ = [shelves.read_layer_file(path, "seed") for path in list_folder(shelves.seed_folder()).files]
SKILLS = {one.skill.name: one.skill for one in READ if isinstance(one, ShelfSkill)}


def test_every_seed_is_read() -> None:
    assert len(SKILLS) == len(READ)
    assert sorted(SKILLS) == [folder.name for folder in FOLDERS]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_reference_validator_accepts_every_seed(folder: Path) -> None:
    assert validate(folder) == []


@pytest.mark.parametrize("skill", SKILLS.values(), ids=lambda skill: skill.name)
def test_every_seed_says_whom_it_is_for(skill: Any) -> None:
    assert (skill.origin, skill.status, skill.kind, skill.domain) == (
        "seed",
        "testing",
        "manual",
        None,
    )
    assert skill.tags
    assert skill.roles
    assert skill.stages
    assert skill.description.startswith("Use ")  # a host with many shows the beginning


@pytest.mark.parametrize("skill", SKILLS.values(), ids=lambda skill: skill.name)
def test_every_seed_fits_a_recommendation(skill: Any) -> None:
    assert count_tokens(skill.body) <= 1200


@pytest.mark.parametrize(
    ("name", "tags"),
    [
        ("ucb-regret-analysis", "bandit regret ucb concentration"),
        ("thompson-sampling-analysis", "bandit thompson bayesian"),
        ("lower-bound-construction", "bandit lower-bound information"),
        ("bandit-simulation", "bandit simulation experiment"),
    ],
)
def test_the_bandit_skills_have_their_tags(name: str, tags: str) -> None:
    assert SKILLS[name].tags == tuple(tags.split())
    assert SKILLS[name] in shelf.get_by_tags(list(SKILLS.values()), ["bandit"])


def test_the_simulation_runs_and_stays_below_the_bound_that_the_skill_states() -> None:
    code = re.search(r"```python\n(.*?)```", SKILLS["bandit-simulation"].body, re.DOTALL)
    assert code is not None
    room: dict[str, Any] = {}
    exec(code[1], room)  # noqa: S102 (our own text, which promises to run)
    means, horizon = [0.5, 0.7], 500
    bound = 8 * math.log(horizon) / 0.2 + (1 + math.pi**2 / 3) * 0.2
    for policy in ("ucb1", "thompson"):
        regrets = [room["pseudo_regret"](room[policy], means, horizon, seed) for seed in range(5)]
        assert 0 < sum(regrets) / 5 < min(bound, horizon * 0.1)


@pytest.mark.parametrize(
    ("successes", "total", "percent"), [(2, 2, 42), (3, 3, 53), (5, 8, 35), (55, 100, 47)]
)
def test_the_bounds_in_reading_a_lift_are_right(successes: int, total: int, percent: int) -> None:
    assert f"| {successes} of {total} |" in SKILLS["reading-a-lift"].body
    assert f"| {percent} % |" in SKILLS["reading-a-lift"].body
    assert round(100 * effect.wilson_lower(successes, total)) == percent

"""Three clones that diverged end alike, in whatever order they meet two and two."""

import os
import random
from pathlib import Path

import pytest

from skillvault.team.sync_tree import merge_trees
from skillvault.vault.git.repository import Git
from tests.clones import LATER, Clone, Team

SEEDS = int(os.environ.get("SKILLVAULT_TEAM_SEEDS", "1"))
ORDERS = int(os.environ.get("SKILLVAULT_TEAM_ORDERS", "4"))
AUTHOR = b"author t <t@t> 0 +0000\ncommitter t <t@t> 0 +0000\n\nmeeting\n"
NAMES = ("ada", "ben", "cleo")


def diverged(pattern: Path, place: Path, seed: int) -> tuple[Team, list[str]]:
    """Three clones that all learn, with a person in each; (the team, what the persons wrote)."""
    chance = random.Random(seed)
    team = Team.made(pattern, place, NAMES)
    first = team.clones[0]
    first.edit("vault.yaml", ("learner: ada", "learner: all"))
    first.record(range(6))
    first.run()
    team.sync()
    words = [f"Said by {clone.name}." for clone in team.clones]
    for number, clone in enumerate(team.clones):
        _live(clone, number, words[number], chance)
    return team, words


def _live(clone: Clone, number: int, words: str, chance: random.Random) -> None:
    """A day of one clone: a person writes in a skill and decides, the loop learns."""
    own = range(10 + 10 * number, 13 + 10 * number)
    shared = range(6, 6 + chance.randint(1, 3))  # seen by all
    before = [skill.path for skill in clone.vault.skills() if skill.origin == "generated"]
    edited = chance.choice(before)
    clone.edit(edited, ("\n## ", f"\n- {words}\n\n## "))
    clone.record([*own, *shared])
    clone.run(now=LATER.replace(hour=12 + number))
    if chance.random() < 0.5:
        clone.vault.curate.pin(edited.split("/")[1], now=LATER)


def in_order(git: Git, tips: list[str], seed: int) -> str:
    """The tree that all hold once each pair has met, in an order of its own."""
    chance = random.Random(seed)
    places = [(a, b) for a in range(len(tips)) for b in range(len(tips)) if a != b]
    now = [*tips]
    for a, b in [*chance.sample(places, len(places)), *places, *places]:
        now[a] = _met(git, now[a], now[b])
    roots = {git.objects.root(tip) for tip in now}
    assert len(roots) == 1
    return roots.pop()


def _met(git: Git, ours: str, theirs: str) -> str:
    if git.history.is_ancestor(theirs, ours):
        return ours
    if git.history.is_ancestor(ours, theirs):
        return theirs
    tree = merge_trees(git, ours, theirs)
    assert tree.problems == []
    root = git.objects.write_tree(git.objects.root(ours), tree.entries)
    return git.objects.write_commit(
        f"tree {root}\nparent {ours}\nparent {theirs}\n".encode() + AUTHOR
    )


@pytest.fixture(params=range(SEEDS))
def days(
    request: pytest.FixtureRequest, _new_vault: Path, tmp_path: Path
) -> tuple[Git, list[str], list[str]]:
    """A repository that holds what three clones came to, their tips, what persons wrote."""
    team, words = diverged(_new_vault, tmp_path / "team", request.param)
    git = team.clones[0].vault.store.git
    for clone in team.clones[1:]:
        team.clones[0].person.git("fetch", "-q", str(clone.root), "main")
    return git, [clone.person.git("rev-parse", "HEAD") for clone in team.clones], words


def test_every_order_ends_in_one_tree_that_serves_each_persons_words(
    days: tuple[Git, list[str], list[str]],
) -> None:
    git, tips, words = days
    roots = {in_order(git, tips, seed) for seed in range(ORDERS)}
    assert len(roots) == 1
    files = git.objects.files(roots.pop(), ["skills"])
    texts = git.blobs(entry.id for entry in files.values()).values()
    assert all(any(word.encode() in text for text in texts) for word in words)

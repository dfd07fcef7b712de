"""`recommend` among 10,000 skills, beside EurekaClaw's way: read every file, then score."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import yaml
from ground import Ground
from row import Figure, Row, at_most, faster, quantile, spent, within

from skillvault import Vault

SKILLS = 10_000
EUREKACLAW = (1.6, 0.04)  # seconds to load as many and to choose, as given
DOMAIN = "coding"
# The words that half of the guides say tell little: one guide is found by its rare ones.
TASK = "migrate the cursor to zepeor and fipewi without skew, as juquaba and zehori did"
REPEATS = 50
SETTLED = 2.5  # seconds until a file counts as one that nobody is writing


def rows(ground: Ground) -> Iterator[Row]:
    """In process beside the naive way, and as a command beside an empty one."""
    root = ground.shelf(SKILLS)
    naive = spent(lambda: chosen(loaded(root / "skills"), TASK)).wall
    theirs = Figure("load all + top_k, in Python", naive, "ms")
    yield from _in_process(root, theirs)
    yield from _command(root)
    beside = ground.folder(SKILLS)
    yield from _shelf(root, "in skills/")
    yield from _shelf(beside, "in a folder")
    yield from _folders(root, beside)


def _in_process(root: Path, theirs: Figure) -> Iterator[Row]:
    work = f"recommend, {SKILLS:,} skills, warm"
    ask = partial(Vault.open(root).recommend, DOMAIN, TASK)
    if not ask().recommended:
        raise ValueError(f"nothing answers {TASK!r}: the figures would be those of an empty answer")
    found = [spent(ask).wall for _ in range(REPEATS)]
    given = sum(EUREKACLAW) * 1e3
    middle = quantile(found, 0.5)
    note = f"EurekaClaw's {given:.0f} ms as given: {given / middle:.0f}x"
    yield faster(work, Figure("recommend, median", middle, "ms"), theirs, 50, note)
    yield at_most(f"{work}: p95", Figure("recommend, p95", quantile(found, 0.95), "ms"), 20)


def _command(root: Path) -> Iterator[Row]:
    work = f"recommend as a command, {SKILLS:,} skills"
    empty, ours = [], []
    for _ in range(10):
        empty.append(spent(partial(_run, root, "-c", "pass")).wall)
        asked = ("recommend", "--domain", DOMAIN, "--task", TASK)
        ours.append(spent(partial(_run, root, "-m", "skillvault", *asked)).wall)
    theirs = Figure("python -c pass", quantile(empty, 0.5), "ms")
    note = f"python -c pass {theirs.value:.0f} ms"
    yield at_most(work, Figure("whole process", quantile(ours, 0.5), "ms"), 200, note)


def _shelf(root: Path, place: str) -> Iterator[Row]:
    """A skill by its name, and the first few, from Python."""
    shelf = Vault.open(root).shelf
    name = shelf.top_k()[-1].name
    for what, ask, limit in (
        ("get", partial(shelf.get, name), 5),
        ("top_k", shelf.top_k, 15),
        ("top_k, hybrid", partial(shelf.top_k, TASK, strategy="hybrid"), 15),
    ):
        ask()
        middle = quantile([spent(ask).wall for _ in range(REPEATS)], 0.5)
        work = f"{what}, {SKILLS:,} skills {place}"
        yield at_most(work, Figure("median", middle, "ms"), limit)


def _folders(root: Path, beside: Path) -> Iterator[Row]:
    """`recommend` as a command, of a folder's skills beside the vault's own."""
    asked = ("-m", "skillvault", "recommend", "--domain", DOMAIN, "--task", TASK)
    times: dict[Path, list[float]] = {root: [], beside: []}
    time.sleep(SETTLED)
    for place in times:
        _run(place, *asked)  # what is read once is not the question's
    for _ in range(10):
        for place, found in times.items():
            found.append(spent(partial(_run, place, *asked)).wall)
    own, other = (quantile(found, 0.5) for found in times.values())
    work = f"recommend as a command, {SKILLS:,} skills in a folder"
    theirs = Figure("the same in skills/", own, "ms")
    yield within(work, Figure("of shelf.dirs", other, "ms"), theirs, 1.3)


def _run(root: Path, *args: str) -> None:
    """A process as a user starts it, whose modules are compiled once and kept."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, *args], cwd=root, env=env, capture_output=True, check=True)


# ── EurekaClaw's way, from the rules of its shelf ────────────────────────────────────


class Loaded(NamedTuple):
    """A skill as its registry holds it."""

    name: str
    description: str
    tags: tuple[str, ...]
    body: str


def loaded(folder: Path) -> list[Loaded]:
    """Every skill file, sorted by path, parsed anew."""
    return [_parsed(path.read_text()) for path in sorted(folder.rglob("*.md"))]


def _parsed(text: str) -> Loaded:
    _, front, body = text.split("---\n", 2)
    meta = yaml.load(front, Loader=yaml.CSafeLoader)
    tags = meta["metadata"].get("tags", "").split()
    return Loaded(meta["name"], meta["description"], tuple(tags), body.strip())


def chosen(skills: list[Loaded], task: str, k: int = 5) -> list[Loaded]:
    """Hybrid: of 3k by use, then name, those that share most plain words with the task."""
    wanted = set(task.lower().split())
    tagged = [skill for skill in skills if wanted.intersection(skill.tags)]
    first = sorted(tagged, key=lambda skill: skill.name)[: 3 * k]
    return sorted(first, key=lambda skill: -_shared(skill, wanted))[:k]


def _shared(skill: Loaded, wanted: set[str]) -> int:
    text = " ".join((skill.name, skill.description, *skill.tags))
    return len(wanted.intersection(text.lower().split()))

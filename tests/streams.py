"""A stream of outcomes on its way into a vault: in bulk, one at a time, in batches, in any order.

What a vault serves in the end must not depend on the way, at one `now`.
"""

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from skillvault.api import Vault
from skillvault.inspect.lookup import both_sides
from skillvault.model.records import Ref, Skill
from skillvault.model.text.markdown import statements
from tests.given import NOW

Raw = Mapping[str, Any]
Served = dict[str, list[str]]
WAYS = ("bulk", "one at a time", "random batches", "random order")


def batches(stream: Sequence[Raw], way: str, seed: int = 0) -> list[list[Raw]]:
    """Split a stream into the batches in which it arrives."""
    chance = random.Random(seed)
    if way == "bulk":
        return [list(stream)]
    if way == "one at a time":
        return [[one] for one in stream]
    left = list(stream)
    if way == "random order":
        chance.shuffle(left)
    found: list[list[Raw]] = []
    while left:
        size = chance.randint(1, max(1, len(stream) // 4))
        found.append(left[:size])
        left = left[size:]
    return found


def learned(vault: Vault, parts: Iterable[Sequence[Raw]], now: datetime = NOW) -> Vault:
    """Record each part of a stream, learn from it, and return the vault."""
    for number, part in enumerate(parts):
        files = [(f"{number}-{i}.json", json.dumps(one).encode()) for i, one in enumerate(part)]
        vault.record(files, now=now)
        vault.run(now=now)
    return vault


def served(root: Path) -> Served:
    """Return the statements of each skill in skills/ by the skill's title.

    The title is the kind of the skill and its subject, its domain, or its own name.
    """
    found: Served = {}
    for name, skill in Vault.open(root).store.snapshot().skills.items():
        about = f"{skill.kind}: {skill.subject or skill.domain or name}"
        found.setdefault(about, []).extend(_skill_statements(root, name, skill))
    return found


def live_contents(root: Path) -> Served:
    """Return what a vault holds by name: texts and dates of its skills, its facts, their counts."""
    vault = Vault.open(root)
    head = vault.store.snapshot()

    def count_runs(ref: Ref) -> str:
        sides = both_sides(head, ref)
        return f"{len(sides.supporting)} runs for, {len(sides.against)} against"

    contents: Served = {}
    for name, skill in head.skills.items():
        lines = [f"created: {skill.created}", f"description: {skill.description}"]
        lines += [*_skill_statements(root, name, skill), count_runs(Ref("skill", name))]
        for file in sorted((root / "skills" / name / "references").glob("*.yaml")):
            lines += file.read_text().splitlines()
        contents[f"skill {name}"] = lines
    for fact in vault.memory.facts():
        lines = [f"{fact.kind}, {fact.importance}", count_runs(Ref("fact", fact.id))]
        contents.setdefault(f"fact in {fact.domain}: {fact.text}", []).extend(lines)
    return contents


def _skill_statements(root: Path, name: str, skill: Skill) -> list[str]:
    files = sorted((root / "skills" / name / "references").glob("*.md"))
    texts = [skill.body, *(f"## \n{file.read_text()}" for file in files)]
    return [statement for text in texts for statement in statements(text)]

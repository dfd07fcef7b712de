"""Clones that merge two and two in any order, in memory: what the rules must not depend on."""

import random
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from msgspec import Struct

Rule = Callable[[Any, Any, Any], Any]


class Version(Struct, frozen=True, eq=False):
    """A commit: what it holds, and where it comes from."""

    content: Any
    parents: tuple["Version", ...] = ()

    def ancestors(self) -> set["Version"]:
        """Return all versions that it comes from, itself included."""
        return {self}.union(*(parent.ancestors() for parent in self.parents))


def merged(rule: Rule, ours: Version, theirs: Version) -> Version:
    """Merge two versions as git does: on the merge of their merge bases."""
    common = ours.ancestors() & theirs.ancestors()
    below = set[Version]().union(*(c.ancestors() - {c} for c in common))
    bases = sorted(common - below, key=lambda version: repr(version.content))
    if ours in bases or theirs in bases:
        return theirs if ours in bases else ours
    base = reduce(lambda a, b: merged(rule, a, b), bases)
    content = rule(base.content, ours.content, theirs.content)
    assert content == rule(base.content, theirs.content, ours.content), "the sides exchanged"
    return Version(content, (ours, theirs))


def met(rule: Rule, base: Any, leaves: Sequence[Any], seed: int) -> Any:
    """Let all clones meet in some order, check that they agree, and return what they hold."""
    chance = random.Random(seed)
    origin = Version(base)
    clones = [Version(leaf, (origin,)) for leaf in leaves]
    pairs = [(a, b) for a in range(len(clones)) for b in range(len(clones)) if a != b]
    for a, b in [*chance.sample(pairs, len(pairs)), *pairs, *pairs]:
        clones[a] = merged(rule, clones[a], clones[b])
    ends = [clone.content for clone in clones]
    assert all(end == ends[0] for end in ends)
    return ends[0]

"""Exact greedy clusters of facts, beside the pairwise scan that defines them."""

from collections.abc import Iterator, Sequence

from ground import Ground
from remembered import facts
from row import Figure, Row, at_most, faster, spent

from skillvault.learning.promote.facts import clusters
from skillvault.model.text.text import words

CLAUDEFI = 32.6  # seconds that the scan of 10,000 facts takes in TypeScript, as given
FACTS, MANY = 10_000, 100_000


def rows(ground: Ground) -> Iterator[Row]:
    """10,000 facts beside the scan; 100,000 alone, where there is time."""
    texts = facts(FACTS)
    ours: list[list[int]] = []
    theirs: list[list[int]] = []
    fast = spent(lambda: ours.extend(clusters(texts))).wall / 1e3
    slow = spent(lambda: theirs.extend(scanned(texts))).wall / 1e3
    if ours != theirs:
        raise AssertionError("the clusters differ from the scan's")
    note = f"identical, {len(ours)} clusters; claudefi's {CLAUDEFI:g} s as given: "
    note += f"{CLAUDEFI / fast:.0f}x"
    mine, scan = Figure("clusters", fast, "s"), Figure("pairwise scan, prepared sets", slow, "s")
    yield faster(f"clusters, {FACTS:,} facts", mine, scan, 25, note)
    if not ground.quick:
        many = facts(MANY)
        cost = spent(lambda: clusters(many)).wall / 1e3
        yield at_most(f"clusters, {MANY:,} facts", Figure("clusters", cost, "s"), 60)


def scanned(texts: Sequence[str], threshold: float = 0.4, min_size: int = 3) -> list[list[int]]:
    """The first unused fact takes every later unused one that is more similar than this."""
    sets = [words(text) for text in texts]
    used = [False] * len(sets)
    found: list[list[int]] = []
    for seed, said in enumerate(sets):
        if used[seed]:
            continue
        cluster = [seed]
        for place in range(seed + 1, len(sets)):
            if not used[place] and _similar(said, sets[place]) > threshold:
                used[place] = True
                cluster.append(place)
        found.append(cluster)
    return [cluster for cluster in found if len(cluster) >= min_size]


def _similar(a: frozenset[str], b: frozenset[str]) -> float:
    shared = len(a & b)
    union = len(a) + len(b) - shared
    return shared / union if union else 0.0

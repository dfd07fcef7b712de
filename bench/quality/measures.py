"""The measures of the quality benches: nDCG, F1, and intervals by the bootstrap."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

SAMPLES = 2_000


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean."""
    return sum(values) / len(values)


def ndcg(ranked: Sequence[str], gains: Mapping[str, float], k: int = 10) -> float:
    """Normalised discounted cumulative gain of the first `k`, 0..1."""
    found = sum(gains.get(one, 0.0) / math.log2(i + 2) for i, one in enumerate(ranked[:k]))
    best = sorted(gains.values(), reverse=True)[:k]
    return found / sum(gain / math.log2(i + 2) for i, gain in enumerate(best))


def f1(pairs: Sequence[tuple[bool, bool]]) -> tuple[float, float, float]:
    """(F1, precision, recall) of (said, true) pairs."""
    hits = sum(said and true for said, true in pairs)
    precision = hits / max(1, sum(said for said, _ in pairs))
    recall = hits / max(1, sum(true for _, true in pairs))
    return 2 * hits / max(1, sum(said + true for said, true in pairs)), precision, recall


def auc(pairs: Sequence[tuple[float, bool]]) -> float:
    """Return how often a true pair scores more than another, of (score, true) pairs."""
    true = [score for score, is_true in pairs if is_true]
    others = [score for score, is_true in pairs if not is_true]
    wins = sum((a > b) + (a == b) / 2 for a in true for b in others)
    return wins / max(1, len(true) * len(others))


def balanced(pairs: Sequence[tuple[bool, bool]]) -> float:
    """The mean of the accuracies among the true and among the others, of (said, true) pairs."""
    true = [said for said, is_true in pairs if is_true]
    others = [not said for said, is_true in pairs if not is_true]
    return (sum(true) / max(1, len(true)) + sum(others) / max(1, len(others))) / 2


def interval(items: Sequence[T], measure: Callable[[Sequence[T]], float]) -> tuple[float, float]:
    """The 95 % interval of a measure, items drawn with replacement; always the same draws."""
    chance = random.Random(1)
    drawn = sorted(measure(chance.choices(items, k=len(items))) for _ in range(SAMPLES))
    return drawn[round(0.025 * SAMPLES)], drawn[round(0.975 * SAMPLES) - 1]

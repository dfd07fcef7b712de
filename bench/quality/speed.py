"""Time of a search among 10,000 documents, beside FTS5's own OR query.

    python bench/quality/speed.py [COUNT]

The texts are generated: words drawn by Zipf's law, the same each time. The ratio counts.
"""

import random
import sys
import time
from itertools import accumulate

from comparisons import Rank, fts5, ours

from skillvault.vault.search.ranking import Document

VOCABULARY = 30_000
QUERIES = 100


def main() -> None:
    """Print one line a method and length of query."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    chance = random.Random(1)
    words = [
        f"{chance.randrange(26**4):x}{'aeiou'[i % 5]}{'nrst'[i % 4]}" for i in range(VOCABULARY)
    ]
    weights = [*accumulate(1 / (rank + 10) for rank in range(VOCABULARY))]

    def text(length: int) -> str:
        return " ".join(chance.choices(words, cum_weights=weights, k=length))

    documents = [Document(f"d{i}", "skill", text(3), text(30), text(250)) for i in range(count)]
    ranks = {"ours": ours(documents), "FTS5": fts5(documents)}
    for length in (5, 60):
        queries = [text(length) for _ in range(QUERIES)]
        for name, rank in ranks.items():
            middle, high = spent(rank, queries)
            said = f"median {middle:.1f} ms, p95 {high:.1f} ms"
            print(f"{count:,} documents, query of {length} words, {name}: {said}")


def spent(rank: Rank, queries: list[str]) -> tuple[float, float]:
    """(median, 95th percentile) of the queries' milliseconds."""
    times = []
    for query in queries:
        start = time.perf_counter()
        rank(query)
        times.append((time.perf_counter() - start) * 1000)
    times.sort()
    return times[len(times) // 2], times[round(0.95 * len(times)) - 1]


if __name__ == "__main__":
    main()

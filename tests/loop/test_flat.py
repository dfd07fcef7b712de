"""One more outcome costs the loop the same rows and statements, however many there are."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from statistics import median
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.vault.index.reader import Rows
from tests.given import NOW, as_file, raw

SIZES = (400, 800)  # past `evaluate.peers`; before it, each outcome makes the next one dearer
MORE = 12  # outcomes, one at a time
CAUSES = ("deadlock found", "connection refused", "certificate expired", "disk is full")


def stream(count: int, subjects: int) -> Iterator[tuple[str, bytes]]:
    """So many outcomes of one action, in turn of so many subjects; every third fails."""
    for number in range(count):
        failed = number % 3 == 0
        outcome = raw(
            event_id=f"run-{number}",
            occurred_at=(NOW - timedelta(hours=1500 - number)).isoformat(),
            decision__target=f"service-{number % subjects}",
            decision__reasoning=f"I restart worker {number % 7} because its queue stands still.",
            applied=["restart-workers"],
            result={
                "status": "failure" if failed else "success",
                "evidence": CAUSES[number % 4] if failed else "all jobs are done",
            },
        )
        del outcome["decision"]["made_at"]
        yield f"{number}.json", as_file(outcome)


class Cost:
    """The statements that a vault's index answers, and their rows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.statements = self.rows = 0
        plain = Rows.rows

        def rows(index: Rows, query: str, values: Sequence[Any] = ()) -> list[Any]:
            found = plain(index, query, values)
            self.statements += 1
            self.rows += len(found)
            return found

        monkeypatch.setattr(Rows, "rows", rows)


@pytest.mark.parametrize("subjects", [4, 40])
def test_one_more_outcome_costs_the_same(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, subjects: int
) -> None:
    outcomes = list(stream(SIZES[-1] + MORE, subjects))
    costs: dict[int, tuple[float, float]] = {}
    done = 0
    for size in SIZES:
        vault.record(outcomes[done:size], now=NOW)
        vault.run(now=NOW)
        done = size + MORE
        each: list[tuple[int, int]] = []
        for outcome in outcomes[size:done]:
            with monkeypatch.context() as patch:
                cost = Cost(patch)
                vault.record([outcome], now=NOW)
                vault.run(now=NOW)
            each.append((cost.statements, cost.rows))
        costs[size] = median(s for s, _ in each), median(r for _, r in each)
    for few, many in zip(*costs.values(), strict=True):
        assert many <= 1.1 * few, costs

"""Versions of a statement that are found, and other statements that are taken for versions.

    python bench/quality/versions.py [BENCH]

`versions.tsv` has 100 pairs of versions and 100 look-alikes, written before the rules; half of each
was tuned on, and the other half counts. With BENCH, the folder of labelled data, it also measures
the facts that change of `conflicts/make.py`, for five seeds: which value is shown first.
"""

import csv
import json
import subprocess
import sys
import tempfile
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from skillvault.api import Vault
from skillvault.model.errors import UsageError
from skillvault.model.sameness.versions import find_value_change

PAIRS = Path(__file__).with_name("versions.tsv")
BENCH = Path(__file__).resolve().parents[3] / "shared" / "bench"
SEEDS = range(101, 106)
DOMAIN = "coding"
START = datetime(2026, 1, 1, tzinfo=UTC)
COLUMNS = ("search: current first", "recommend: current first", "marked", "search: unchanged first")


def main() -> int:
    """Print the tables."""
    with PAIRS.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    print("| half | kind | pairs | taken for versions |\n|---|---|---:|---:|")
    for half in ("tune", "report"):
        for kind in ("version", "other"):
            pairs = [row for row in rows if (row["half"], row["kind"]) == (half, kind)]
            hits = sum(find_value_change(row["older"], row["newer"]) is not None for row in pairs)
            print(f"| {half} | {kind} | {len(pairs)} | {hits} |")
    script = (Path(sys.argv[1]) if len(sys.argv) > 1 else BENCH) / "conflicts" / "make.py"
    if not script.is_file():
        print(f"skipped: {script} is not here; it writes facts that change")
        return 0
    print(f"\n| seed | {' | '.join(COLUMNS)} |\n|---|{'---:|' * len(COLUMNS)}")
    for seed in SEEDS:
        made = subprocess.run(
            [sys.executable, script, str(seed)], check=True, capture_output=True, text=True
        )
        counts = _served(json.loads(made.stdout))
        print(f"| {seed} | {' | '.join(map(str, counts))} |", flush=True)
    return 0


def _served(facts: dict[str, Any]) -> list[int]:
    """Return the slots of each column, of a vault that got the facts one a day."""
    counts = [0] * len(COLUMNS)
    with tempfile.TemporaryDirectory() as folder:
        vault, _ = Vault.init(Path(folder) / "vault", [DOMAIN])
        for day, text in enumerate(facts["facts"]):
            with suppress(UsageError):  # a slot may get the value that it has
                vault.memory.add_fact(text, DOMAIN, now=START + timedelta(days=day))
        for slot in facts["slots"]:
            *older, current = slot["answers_oldest_first"]
            hits = vault.search(slot["question"], kind="fact", k=1)
            shown = vault.recommend(DOMAIN, slot["question"]).facts
            is_found = bool(hits) and current in hits[0].text
            is_shown = bool(shown) and current in shown[0].text.partition("(")[0]
            is_marked = bool(shown) and "until" in shown[0].text
            if older:
                counts = [
                    n + is_hit
                    for n, is_hit in zip(counts, (is_found, is_shown, is_marked, 0), strict=True)
                ]
            else:
                counts[-1] += is_found and is_shown and not is_marked
    return counts


if __name__ == "__main__":
    sys.exit(main())

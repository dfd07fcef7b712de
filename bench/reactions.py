"""Measure how well a user's next words are read, on labelled prompts.

python bench/reactions.py [--half tune|report] [--errors]
"""

import argparse
import json
from collections import Counter
from math import sqrt
from pathlib import Path

from skillvault.model.reaction import read_reaction

PROMPTS = Path(__file__).parent / "quality" / "next_prompts.jsonl"


def wilson_interval(successes: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """Return the 95 % interval of a share."""
    if not trials:
        return 0.0, 1.0
    share, square = successes / trials, z * z
    centre = (share + square / (2 * trials)) / (1 + square / trials)
    half = z / (1 + square / trials) * sqrt(share * (1 - share) / trials + square / trials**2 / 4)
    return centre - half, centre + half


def main() -> None:
    """Print precision and recall of corrections, of failures and of rules."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--half", choices=["tune", "report"], default="tune")
    parser.add_argument("--errors", action="store_true", help="print what was read wrongly")
    options = parser.parse_args()
    rows = map(json.loads, PROMPTS.read_text(encoding="utf-8").splitlines())
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        if row["half"] != options.half:
            continue
        reaction = read_reaction(row["text"], row["answer"])
        stated = " ".join(reaction.rules)
        pairs = {
            "correction": (reaction.is_correction, row["label"] == "correction"),
            "failure": (reaction.status == "failure", row["failed"]),
            "rule": (bool(stated), row["rule"] is not None),
        }
        if row["label"] == "rejection":  # a correction, a complaint or a rule for later
            del pairs["correction"]
        for name, (is_seen, is_so) in pairs.items():
            counts[name, f"{is_seen:d}{is_so:d}"] += 1
        if options.errors and any(seen != so for seen, so in pairs.values()):
            marks = " ".join(
                f"{'+' if seen else '-'}{name}" for name, (seen, so) in pairs.items() if seen != so
            )
            print(f"{row['id']} {marks}: {row['text']!r}  [{row['rule']}] -> {stated!r}")
    for name in ("correction", "failure", "rule"):
        hits, extra, missed = (counts[name, key] for key in ("11", "10", "01"))
        for measure, trials in (("precision", hits + extra), ("recall", hits + missed)):
            low, high = wilson_interval(hits, trials)
            print(f"{name} {measure}: {hits}/{trials} = {hits / trials:.2f} ({low:.2f}-{high:.2f})")


if __name__ == "__main__":
    main()

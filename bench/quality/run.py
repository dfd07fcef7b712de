"""Quality of search, serving, sameness, usage, effects, causes and verdicts.

    python bench/quality/run.py [BENCH]

BENCH is the folder of labelled data, `../shared/bench` beside the repository by default; if it is
absent, nothing is measured. Intervals are 95 %, by the bootstrap. A gain is paired, and counts as a
gain if its interval leaves out 0. All data is for choosing. Only half of the pairs that say the
same or not is held back, and half of the texts for the verdict.
"""

import sys
from pathlib import Path

import causes
import effects
import retrieval
import sameness
import serving
import usage
import verdict

BENCH = Path(__file__).resolve().parents[3] / "shared" / "bench"


def main() -> int:
    """Print the table."""
    bench = Path(sys.argv[1]) if len(sys.argv) > 1 else BENCH
    if not bench.is_dir():
        print(f"skipped: {bench} is not here; it holds the labelled data")
        return 0
    print("| what | method | measure | 95 % | gain of ours, or parts |")
    print("|---|---|---|---|---|")
    for what, found in retrieval.routing(bench / "routing"):
        print(*retrieval.told(what, found), sep="\n", flush=True)
    for what, found in retrieval.facts(bench / "facts"):
        print(*retrieval.told(what, found), sep="\n", flush=True)
    for line in serving.told(bench):
        print(line, flush=True)
    print(*usage.told(usage.usage(bench)), sep="\n", flush=True)
    print(*usage.told(usage.sentences(bench), "sentences"), sep="\n", flush=True)
    for line in sameness.told(bench):
        print(line, flush=True)
    for line in effects.told(bench):
        print(line, flush=True)
    for line in causes.told(bench):
        print(line, flush=True)
    for line in verdict.told(bench.parent):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Prints outcomes for a story: of so many decisions that applied these skills so many succeeded.

python decisions.py TIME DOMAIN [SKILL+SKILL:SUCCESSES:COUNT]... [--receipts FOLDER]

With a folder each decision has an id and its receipt stands there: what it applied it was shown,
and the other skills were held out.
"""

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any


def main(first: str, domain: str, *words: str) -> None:
    """One outcome a line, half an hour apart, the successes spread evenly."""
    at = datetime.fromisoformat(first).astimezone(UTC)
    parts, _, folder = "\n".join(words).partition("\n--receipts\n")
    _print(at, domain, parts.split("\n"), Path(folder) if folder else None)


def _print(at: datetime, domain: str, parts: list[str], receipts: Path | None) -> None:
    known = {skill for part in parts for skill in part.split(":")[0].split("+") if skill}
    for part in parts:
        skills, hits, count = part.split(":")
        for number in range(int(count)):
            at += timedelta(minutes=30)
            before, after = (n * int(hits) // int(count) for n in (number, number + 1))
            outcome: dict[str, Any] = {
                "domain": domain,
                "occurred_at": at.isoformat(),
                "decision": {"action": "fix", "target": f"case-{number}"},
                "result": {"status": "success" if after > before else "failure"},
                "applied": skills.split("+") if skills else [],
            }
            if receipts:
                outcome["decision"]["id"] = f"{domain}-{at:%d-%H-%M}"
                _write_receipt(receipts, outcome, known)
            sys.stdout.write(f"{json.dumps(outcome)}\n")


def _write_receipt(folder: Path, outcome: dict[str, Any], known: set[str]) -> None:
    decision, shown = outcome["decision"]["id"], outcome["applied"]
    receipt = {
        "type": "recommendation",
        "decision": decision,
        "domain": outcome["domain"],
        "at": outcome["occurred_at"],
        "shown": [{"skill": skill} for skill in shown],
        "held_out": [{"skill": skill} for skill in sorted(known - {*shown})],
    }
    (folder / f"{decision}.json").write_text(json.dumps(receipt), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Prints outcomes for a story: of so many decisions that applied these skills so many succeeded.

python decisions.py TIME DOMAIN [SKILL+SKILL:SUCCESSES:COUNT]...
"""

import json
import sys
from datetime import UTC, datetime, timedelta


def main(first: str, domain: str, *parts: str) -> None:
    """One outcome a line, half an hour apart, the successes spread evenly."""
    at = datetime.fromisoformat(first).astimezone(UTC)
    for part in parts:
        skills, hits, count = part.split(":")
        for number in range(int(count)):
            at += timedelta(minutes=30)
            before, after = (n * int(hits) // int(count) for n in (number, number + 1))
            outcome = {
                "domain": domain,
                "occurred_at": at.isoformat(),
                "decision": {"action": "fix", "target": f"case-{number}"},
                "result": {"status": "success" if after > before else "failure"},
                "applied": skills.split("+") if skills else [],
            }
            sys.stdout.write(f"{json.dumps(outcome)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

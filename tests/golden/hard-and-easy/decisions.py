"""Prints outcomes: of so many decisions that applied these skills so many succeeded."""

import json
import sys
from datetime import UTC, datetime, timedelta

first, domain, *parts = sys.argv[1:]
at = datetime.fromisoformat(first).astimezone(UTC)
for part in parts:
    skills, hits, count = part.split(":")
    for number in range(int(count)):
        at += timedelta(minutes=30)
        # Spread evenly, so that the last ones are like the first.
        success = (number + 1) * int(hits) // int(count) > number * int(hits) // int(count)
        outcome = {
            "domain": domain,
            "occurred_at": at.isoformat(),
            "decision": {"action": "fix", "target": f"case-{number}"},
            "result": {"status": "success" if success else "failure"},
            "applied": skills.split("+") if skills else [],
        }
        print(json.dumps(outcome))

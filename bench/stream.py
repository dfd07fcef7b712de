"""A generated stream of outcomes: agents that repeat themselves, in domains that differ.

The same seed gives the same stream. `perps` is graded and `coding` passes or fails; every
outcome tells one of a few lessons in words of its own.
"""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2026, 1, 1, tzinfo=UTC)
STEP = timedelta(minutes=20)

_BAD = (
    "I chase the breakout on {target} at market because momentum is strong; no stop yet.",
    "The funding on {target} looks low enough, I assume it stays so and take full size.",
    "I raise the timeout of {target} from {n} s to {m} s and retry until it is green.",
    "The change to {target} is small, so I skip the dry-run and deploy it at once.",
)
_GOOD = (
    "Enter {target} in two halves with limit orders, stop {n} % below, because funding is flat.",
    "Risk on {target} is a squeeze; alternative: wait for the close. Size {n} % of equity.",
    "I reproduced the failure of {target} first: {n} of {m} runs under load failed.",
    "A dry-run of {target} on a production copy took {n} s; the rollback was tried as well.",
)
_ASIDE = (
    "The report of agent {agent} says the same.",
    "Volume is {m} above its mean of the last {n} days.",
    "It is the {n}th time this month.",
    "Nothing else changed since yesterday.",
)


def stream(count: int, seed: int = 1) -> Iterator[dict[str, Any]]:
    """`count` outcomes as an agent writes them, oldest first."""
    chance = random.Random(seed)
    return (_outcome(number, chance) for number in range(count))


def _outcome(number: int, chance: random.Random) -> dict[str, Any]:
    ended = START + number * STEP
    good, perps = chance.random() < 0.6, chance.random() < 0.5
    lesson = chance.randrange(2) + (0 if perps else 2)
    words = {
        "target": f"{'COIN' if perps else 'service'}-{chance.randrange(40)}",
        "agent": f"agent-{chance.randrange(8)}",
        "n": chance.randrange(1, 9),
        "m": chance.randrange(10, 90),
    }
    said = [(_GOOD if good else _BAD)[lesson], *chance.sample(_ASIDE, chance.randrange(3))]
    won = chance.random() < (0.75 if good else 0.3)
    return {
        "event_id": f"event-{number}",
        "domain": "perps" if perps else "coding",
        "occurred_at": ended.isoformat(),
        "decision": {
            "action": chance.choice(("open_long", "open_short") if perps else ("fix", "migrate")),
            "target": words["target"],
            "reasoning": " ".join(said).format(**words),
            "confidence": chance.choice((0.5, 0.6, 0.7, 0.9)),
            "made_at": (ended - timedelta(hours=chance.randrange(1, 30))).isoformat(),
        },
        "result": _graded(won, chance) if perps else _passed(won, words),
        "context": {
            "volatility": chance.choice(("low", "normal", "high")),
            "load": round(chance.random(), 3),
        },
        "source": {"agent": words["agent"], "session": f"session-{number // 20}"},
    }


def _graded(won: bool, chance: random.Random) -> dict[str, Any]:
    score = round(abs(chance.gauss(0, 0.055)) + 0.001, 4)
    return {"score": score if won else -score, "summary": "target reached" if won else "stopped"}


def _passed(won: bool, words: dict[str, Any]) -> dict[str, Any]:
    if won:
        return {"status": "success", "summary": "all tests pass"}
    evidence = f"FAILED test_{words['target'].replace('-', '_')} - assert 504 == 200"
    return {"status": "failure", "evidence": evidence}


def shifted(one: dict[str, Any], ahead: timedelta) -> dict[str, Any]:
    """The outcome at another time."""
    for place, key in ((one, "occurred_at"), (one["decision"], "made_at")):
        place[key] = (datetime.fromisoformat(place[key]) + ahead).isoformat()
    return one

"""When an account is read: at points that grow with its outcomes, and at once at what is new.

Between them nothing is due, so no test is asked after every outcome; and what is read depends
on the outcomes in the order of time alone, never on how they arrived.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import takewhile

from skillvault.learning.account.causes import form_of
from skillvault.learning.account.insight import insights_of
from skillvault.learning.account.significance import beyond
from skillvault.model.policy import Policy
from skillvault.model.records import Outcome

_QUARTER = 1.25
_NEW = 12  # so many causes are read at once; who has more has read enough of them to wait
# Of these each wording is new; of others the kind, for their words differ from run to run.
_BY_WORDING = frozenset({"error", "answer"})
_BEYOND = frozenset({"loss", "gain"})  # counted by themselves: none waits long


def points() -> Iterator[int]:
    """1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 19, …: a quarter more each."""
    point = 1
    while True:
        yield point
        point = max(point + 1, round(point * _QUARTER))


def last_point(count: int) -> int:
    """The last point that so many have reached; 0 for none."""
    return max(takewhile(lambda point: point <= count, points()), default=0)


def marks_of(outcome: Outcome, policy: Policy) -> tuple[str, ...]:
    """What of an outcome decides when its account is read: how it ended, and its causes."""
    marks = list(filter(None, [beyond(outcome, policy)]))
    if outcome.result.status == "success":
        marks.append("success")
    elif outcome.result.status == "failure":
        for insight in insights_of(outcome):
            form = form_of(outcome, insight) if insight.kind in _BY_WORDING else ""
            marks.append(f"{insight.kind} {form}".strip())
        marks += ["claimed"] if outcome.is_claim_refused else []
    return tuple(marks)


def read_until(marks: Iterable[Collection[str]]) -> int:
    """How many outcomes of a subject are read, of these marks in the order of time."""
    until = count = 0
    seen: set[str] = set()
    counts: Counter[str] = Counter()
    upcoming = points()
    point = next(upcoming)
    for count, of in enumerate(marks, 1):
        counts.update(_BEYOND.intersection(of))
        if count == point:
            point = next(upcoming)
            until = count
        elif (not seen.issuperset(of) and len(seen) < _NEW) or any(
            last_point(counts[mark]) == counts[mark] for mark in _BEYOND.intersection(of)
        ):
            until = count
        seen.update(of)
    return until

"""When an account is read: at points that grow with its outcomes, and at once at what is new.

Between them nothing is due, so no test is asked after every outcome; and what is read depends
on the outcomes in the order of time alone, never on how they arrived.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import takewhile

from skillvault.learning.account.significance import beyond
from skillvault.learning.tries.answers import answer_of
from skillvault.learning.tries.causes import signature
from skillvault.model.policy import Policy
from skillvault.model.reading import how
from skillvault.model.records import Outcome

_QUARTER = 1.25
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
    """Return what of an outcome decides when its account is read.

    That is a score beyond a bound, a success, a lesson of its own, an error and a refused answer.
    """
    marks = list(filter(None, [beyond(outcome, policy)]))
    if outcome.lesson is not None:
        marks.append(f"lesson {outcome.id}")
    if outcome.result.status == "success":
        marks.append("success")
    elif outcome.result.status == "failure":
        reason, answer = how(outcome), answer_of(outcome)
        marks += [f"error {signature(reason)}"] if reason else []
        marks += [f"answer {answer}"] if answer else []
    return tuple(marks)


def read_until(marks: Iterable[Collection[str]]) -> int:
    """Return how many outcomes of an account are read, of these marks in the order of time."""
    until = count = 0
    seen: set[str] = set()
    counts: Counter[str] = Counter()
    upcoming = points()
    point = next(upcoming)
    for count, of in enumerate(marks, 1):
        beyond_bound = _BEYOND.intersection(of)
        counts.update(beyond_bound)
        if count == point:
            point = next(upcoming)
            until = count
        elif not seen.issuperset(of) or any(
            last_point(counts[mark]) == counts[mark] for mark in beyond_bound
        ):
            until = count
        seen.update(of)
    return until

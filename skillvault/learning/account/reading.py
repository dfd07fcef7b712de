"""When an account is read: at points that grow with its outcomes, and at once at what is new.

Between them nothing is due, so no test is asked after every outcome; and what is read depends
on the outcomes in the order of time alone, never on how they arrived.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile

from skillvault.learning.account.significance import loss_or_gain
from skillvault.learning.tries.answers import answer_of
from skillvault.learning.tries.causes import signature
from skillvault.model.policy import Policy
from skillvault.model.reading import how
from skillvault.model.records import Outcome, Placed, Position

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
    marks = list(filter(None, [loss_or_gain(outcome, policy)]))
    if outcome.lesson is not None:
        marks.append(f"lesson {outcome.id}")
    if outcome.result.status == "success":
        marks.append("success")
    elif outcome.result.status == "failure":
        reason, answer = how(outcome), answer_of(outcome)
        marks += [f"error {signature(reason)}"] if reason else []
        marks += [f"answer {answer}"] if answer else []
    return tuple(marks)


def advance_position(
    position: Position, counts: Mapping[str, int], outcomes: Iterable[Placed]
) -> tuple[Position, Counter[str]]:
    """Return the position once these are counted, too, in the order of time, and the new counts.

    `counts` says how many outcomes before them had each of their marks.
    """
    number, last, end, point = position
    new_counts = Counter(counts)
    for number, outcome in enumerate(outcomes, position.outcomes + 1):
        marks, last = set(outcome.marks or ()), (outcome.at, outcome.id)
        new_counts.update(marks)
        of_scores = (new_counts[mark] for mark in _BEYOND.intersection(marks))
        is_new = any(new_counts[mark] == 1 for mark in marks)
        point = last if last_point(number) == number else point
        if is_new or point == last or any(last_point(count) == count for count in of_scores):
            end = last
    return Position(number, last, end, point), new_counts

"""Reading points: the numbers of outcomes at which the statements of a skill are computed again.

Between two points nothing is due, so most outcomes cause no statistics. An outcome with news adds a
point. Points depend on the time of the outcomes, not on their order of arrival.
`loop/accounts.py` stores the position of each account.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Literal

from skillvault.learning.tries.answers import answer_of
from skillvault.learning.tries.insight import signature
from skillvault.model.policy import Policy
from skillvault.model.reasoning import describe_cause
from skillvault.model.records import IndexedOutcome, Outcome, Position

_POINT_GROWTH = 1.25
_SCORE_MARKS = frozenset({"loss", "gain"})  # the outcomes with each mark have their own points


def loss_or_gain(outcome: Outcome, policy: Policy) -> Literal["loss", "gain"] | None:
    """Return `loss` if a score is low enough for a warning, `gain` for a pattern, or None."""
    score, settings = outcome.result.score, policy.generate
    if score is None:
        return None
    if settings.makes_warning(score):
        return "loss"
    return "gain" if settings.makes_pattern(score) else None


def is_graded(outcomes: Sequence[Outcome]) -> bool:
    """Return True if most outcomes have a score."""
    return 2 * sum(outcome.result.score is not None for outcome in outcomes) > len(outcomes)


def points() -> Iterator[int]:
    """Yield 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 19, …: each point is a quarter more than the last."""
    point = 1
    while True:
        yield point
        point = max(point + 1, round(point * _POINT_GROWTH))


def last_point(count: int) -> int:
    """Return the largest reading point up to `count`, or 0 if `count` is 0."""
    return max(takewhile(lambda point: point <= count, points()), default=0)


def marks_of(outcome: Outcome, policy: Policy) -> tuple[str, ...]:
    """Return the marks of an outcome; a mark that is new in an account makes it due at once.

    A score beyond a bound, a success, a lesson, an error and a refused answer are marks.
    """
    marks = list(filter(None, [loss_or_gain(outcome, policy)]))
    if outcome.lesson is not None:
        marks.append(f"lesson {outcome.id}")
    if outcome.result.status == "success":
        marks.append("success")
    elif outcome.result.status == "failure":
        reason, answer = describe_cause(outcome), answer_of(outcome)
        marks += [f"error {signature(reason)}"] if reason else []
        marks += [f"answer {answer}"] if answer else []
    return tuple(marks)


def advance_position(
    position: Position, counts: Mapping[str, int], outcomes: Iterable[IndexedOutcome]
) -> tuple[Position, Counter[str]]:
    """Return the reading position and the counts of marks after further outcomes.

    `counts` has the number of earlier outcomes with each mark.
    """
    number, last, end, point = position
    new_counts = Counter(counts)
    for number, outcome in enumerate(outcomes, position.outcomes + 1):
        marks, last = set(outcome.marks or ()), (outcome.at, outcome.id)
        new_counts.update(marks)
        score_counts = (new_counts[mark] for mark in _SCORE_MARKS.intersection(marks))
        is_new = any(new_counts[mark] == 1 for mark in marks)
        point = last if last_point(number) == number else point
        if is_new or point == last or any(last_point(count) == count for count in score_counts):
            end = last
    return Position(number, last, end, point), new_counts

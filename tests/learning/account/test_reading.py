"""reading points: how far an account is read, by what is new and how much there is."""

from collections.abc import Iterable, Sequence
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.account.reading import advance_position, last_point, marks_of, points
from skillvault.model.policy import GeneratePolicy, Policy
from skillvault.model.records import IndexedOutcome, Position
from tests.given import outcome, raw, trade

SAME = ("error x",)


def _read(*marks: Sequence[str]) -> int:
    return read_until(marks)


def read_until(marks: Iterable[Sequence[str]]) -> int:
    """Return how many of these outcomes are read."""
    return max(0, advance_position(Position(), {}, placed(marks))[0].until[0])


def placed(marks: Iterable[Sequence[str]], first: int = 1) -> list[IndexedOutcome]:
    return [IndexedOutcome(n, f"{n}", True, tuple(of)) for n, of in enumerate(marks, first)]


def test_points_grow_by_a_quarter() -> None:
    first = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 19, 24, 30, 38, 48, 60, 75]
    assert list(islice(points(), len(first))) == first


@given(st.integers(1, 10**6))
def test_the_next_point_is_never_more_than_a_quarter_away(count: int) -> None:
    point = last_point(count)
    assert point <= count
    assert count < max(point + 1, round(point * 1.25))


def test_of_none_nothing_is_read() -> None:
    assert (read_until([]), last_point(0)) == (0, 0)


@given(st.integers(0, 200))
def test_of_what_says_nothing_new_the_last_point_is_read(count: int) -> None:
    assert _read(*[SAME] * count) == last_point(count)


@pytest.mark.parametrize("mark", ["error y", "answer 24", "success", "loss", "gain"])
def test_what_is_new_is_read_at_once(mark: str) -> None:
    assert _read(*[SAME] * 6, SAME) == 6
    assert _read(*[SAME] * 6, (*SAME, mark)) == 7
    assert _read(*[SAME] * 6, (mark,), SAME) == 8
    assert _read(*[SAME] * 8, (mark,), SAME) == 10


def test_what_was_there_before_is_not_new() -> None:
    assert _read(("success",), *[SAME] * 5, ("success",)) == 6


@pytest.mark.parametrize("mark", ["loss", "gain"])
def test_losses_and_gains_are_read_at_points_of_their_own(mark: str) -> None:
    """Each of the first six at once, the seventh waits, the eighth does not."""
    marks: list[Sequence[str]] = [SAME] * 100
    for number, place in enumerate(range(31, 38), 1):
        marks[place - 1] = (mark,)
        until = read_until(marks[:place])
        assert until == (place if number < 7 else 36)
    assert read_until([*marks[:38], (mark,)]) == 39


def test_each_new_error_is_read_at_once_however_many_there_are() -> None:
    marks = [(f"error {number}",) for number in range(40)]
    assert [read_until(marks[:count]) for count in range(41)] == [*range(41)]


MARKS = st.lists(
    st.lists(
        st.sampled_from(["error x", "error y", "answer 24", "success", "loss", "gain"]), max_size=3
    ),
    max_size=60,
)


@given(MARKS)
def test_what_was_read_stays_read(marks: list[list[str]]) -> None:
    """However many came at once: what is read never shrinks, and depends on the order alone."""
    read = [read_until(marks[:count]) for count in range(len(marks) + 1)]
    assert read == sorted(read)
    assert all(last_point(count) <= until <= count for count, until in enumerate(read))


@given(MARKS, st.integers(0, 60))
def test_it_is_counted_on_as_it_is_counted_whole(marks: list[list[str]], cut: int) -> None:
    position, counts = advance_position(Position(), {}, placed(marks[:cut]))
    after = advance_position(position, counts, placed(marks[cut:], len(marks[:cut]) + 1))
    assert after == advance_position(Position(), {}, placed(marks))


@given(MARKS)
def test_what_is_read_was_read_when_it_was_the_last(marks: list[list[str]]) -> None:
    until = read_until(marks)
    assert read_until(marks[:until]) == until


# ── the marks of an outcome ──────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("score", "marks"),
    [
        (-0.1, ()),
        (-0.1001, ("loss",)),
        (0.2, ("success",)),
        (0.2001, ("gain", "success")),
        (0.0, ()),
    ],
)
def test_a_loss_or_gain_beyond_the_bound_is_marked(score: float, marks: tuple[str, ...]) -> None:
    one = outcome(trade(score=score, decision__reasoning="", result={"score": score}))
    assert marks_of(one, Policy()) == marks


def test_the_bound_is_the_policys() -> None:
    one = outcome(trade(score=-0.06, decision__reasoning="", result={"score": -0.06}))
    policy = Policy(generate=GeneratePolicy(warning_below=-0.05))
    assert marks_of(one, policy) == ("loss",)


def test_an_error_and_a_refused_answer_are_marked_by_their_wording() -> None:
    result = {"status": "failure", "evidence": "FAILED a - assert 504 == 200", "answer": "24.0"}
    one = outcome(raw(result=result))
    assert marks_of(one, Policy()) == ("error failed a - assert ==", "answer 24")


def test_each_lesson_is_new() -> None:
    one, other = (outcome(raw(day, lesson={"do": "wait"}, result={"status": "neutral"}))
                  for day in (0, 1))  # fmt: skip
    assert marks_of(one, Policy()) == (f"lesson {one.id}",)
    assert set(marks_of(one, Policy())).isdisjoint(marks_of(other, Policy()))


def test_a_neutral_outcome_has_no_mark() -> None:
    assert marks_of(outcome(raw(result__status="neutral")), Policy()) == ()

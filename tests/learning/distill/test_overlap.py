"""distill: sessions that say the same are found by their statements, in any order."""

import random
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.distill.overlap import groups_of, is_repeat, says_all
from skillvault.model.records import Session
from tests.given import session

REASONS = (
    "The gateway answers 504 after the second retry.",
    "Sums in yen were rounded to cents.",
    "The migration locks the orders table for minutes.",
    "A stale cache served the old price list.",
    "The parser drops rows that end in a quoted comma.",
)


def saying(name: str, *places: int) -> Session:
    """A session with these failures."""
    return session(
        name,
        failures=[{"lemma": f"part {n}", "reason": REASONS[n]} for n in places],
        successes=None,
    )


def test_two_that_say_exactly_the_same_repeat_each_other() -> None:
    assert is_repeat(saying("b", 1, 0), saying("a", 0, 1))


def test_one_that_says_more_is_no_repeat() -> None:
    assert not is_repeat(saying("b", 0, 1), saying("a", 0, 1, 2))
    assert not is_repeat(saying("a", 0, 1, 2), saying("b", 0, 1))


@pytest.mark.parametrize(("share", "count"), [(0.5, 2), (0.49, 1)])
def test_the_share_must_be_more_than_the_bound(share: float, count: int) -> None:
    assert len(list(groups_of([saying("a", 0, 1), saying("b", 0, 2, 3)], share))) == count


def test_other_wording_of_one_thing_is_the_same_and_another_number_is_not() -> None:
    other = session(
        "b",
        failures=[
            {"lemma": "part 0", "reason": "After the second retry, the gateway answers 504."},
            {"lemma": "part 1", "reason": "Sums in yen were rounded to cents."},
        ],
        successes=None,
    )
    assert is_repeat(other, saying("a", 0, 1))
    number = session(
        "c",
        failures=[{"lemma": "part 0", "reason": "The gateway answers 502 after the second retry."}],
        successes=None,
    )
    assert len(list(groups_of([number, saying("a", 0, 1)], 0.0))) == 2


def test_groups_are_the_same_whatever_came_first() -> None:
    sessions = [saying("a", 0, 1), saying("b", 1, 0, 2), saying("c", 3, 4), saying("d", 2, 1, 3)]
    groups = {
        tuple(tuple(one.id for one in group) for group in groups_of(order, 0.5))
        for order in permutations(sessions)
    }
    assert groups == {(("a", "b", "d"), ("c",))}


@given(st.randoms(use_true_random=False), st.integers(1, 8))
def test_every_session_is_in_one_group(chance: random.Random, count: int) -> None:
    sessions = [
        saying(f"s-{n}", *sorted(chance.sample(range(len(REASONS)), chance.randint(1, 3))))
        for n in range(count)
    ]
    shuffled = chance.sample(sessions, count)
    groups = list(groups_of(shuffled, 0.5))
    assert sorted(one.id for group in groups for one in group) == [s.id for s in sessions]
    assert groups == list(groups_of(sessions, 0.5))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (f"# Guide\n\n- {REASONS[0]}\n- {REASONS[1]}\n- {REASONS[2]}\n", True),
        (f"# Guide\n\n- {REASONS[0]}\n- Part 1: {REASONS[1]}\n", True),
        (f"# Guide\n\n- {REASONS[0]}\n", False),
        ("# Guide\n", False),
    ],
)
def test_a_text_says_a_session_if_it_has_all_of_its_statements(body: str, says: bool) -> None:
    assert says_all(body, saying("a", 0, 1)) is says

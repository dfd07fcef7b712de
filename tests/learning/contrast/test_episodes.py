"""The decisions that count as one episode."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.contrast.episodes import episodes_of
from skillvault.model.records import Outcome
from tests.learning.contrast.decisions import START, decision


def at(minutes: float, number: int, **changes: Any) -> Outcome:
    ended = START + timedelta(minutes=minutes)
    return decision(number, occurred_at=ended, **{"made_at": ended} | changes)


def count(*outcomes: Outcome) -> int:
    return len(set(episodes_of(outcomes, 10)))


@pytest.mark.parametrize(
    ("gap", "changes", "episodes"),
    [
        (10, {}, 1),
        (11, {}, 2),
        (10, {"made_at": None}, 2),
        (30, {"session": "s", "task": "fix it"}, 1),
        (30, {"session": "s"}, 1),
        (30, {"session": "s", "made_at": None}, 1),
        (61, {"session": "s", "task": "fix it"}, 2),
        (30, {"batch": "b", "task": "fix it"}, 2),
        (5, {"batch": "b", "task": "fix it"}, 2),
        (5, {"batch": "b"}, 1),
    ],
)
def test_time_or_a_session_on_one_task_makes_an_episode(
    gap: float, changes: dict[str, Any], episodes: int
) -> None:
    assert count(at(0, 1, **changes), at(gap, 2, **changes)) == episodes


@pytest.mark.parametrize("change", [{"task": "b"}, {"task": "a", "session": "t"}])
def test_another_task_or_session_is_another_episode(change: dict[str, str]) -> None:
    first = at(0, 1, session="s", task="a")
    assert count(first, at(30, 2, **{"session": "s"} | change)) == 2


def test_another_task_between_ends_an_episode() -> None:
    tasks = ["a", "b", "a"]
    assert count(*(at(20 * i, i, session="s", task=task) for i, task in enumerate(tasks))) == 3


def test_another_action_is_another_episode() -> None:
    assert count(at(0, 1), at(1, 2, action="close")) == 2


@given(st.lists(st.integers(0, 300), min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_no_episode_is_longer_than_an_hour_nor_depends_on_order(
    minutes: list[int], rng: Any
) -> None:
    outcomes = [at(minute, i, session=f"s{i % 3}") for i, minute in enumerate(minutes)]
    shuffled = rng.sample(outcomes, len(outcomes))
    groups = []
    for some in (outcomes, shuffled):
        members: dict[int, list[Outcome]] = {}
        for outcome, number in zip(some, episodes_of(some, 10), strict=True):
            members.setdefault(number, []).append(outcome)
        groups.append({frozenset(o.id for o in episode) for episode in members.values()})
        for episode in members.values():
            times = [o.occurred_at for o in episode]
            assert max(times) - min(times) <= timedelta(hours=1)
    assert groups[0] == groups[1]

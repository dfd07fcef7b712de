"""The only test over all conditions."""

import random

import numpy as np

from skillvault.learning.contrast.separations import SHIFTS, centred_within, rotations
from tests.learning.contrast.decisions import FAILURE, decision, keys


def test_one_agent_gets_each_shift_of_its_ring_once() -> None:
    shifts = rotations(np.zeros(5, dtype=np.intp), b"")
    assert sorted(map(tuple, shifts)) == sorted(
        tuple((i + by) % 5 for i in range(5)) for by in range(5)
    )
    assert shifts[0].tolist() == [0, 1, 2, 3, 4]


def test_results_stay_with_their_agent() -> None:
    agents = np.array([0, 1, 0, 1, 1, 0, 2])
    shifts = rotations(agents, b"ids")
    assert len(shifts) == SHIFTS + 1
    assert (agents[shifts] == agents).all()
    assert shifts[0].tolist() == list(range(7))


def test_shifts_are_drawn_from_what_is_compared() -> None:
    agents = np.array([0, 1] * 10)
    assert (rotations(agents, b"a") == rotations(agents, b"a")).all()
    assert (rotations(agents, b"a") != rotations(agents, b"b")).any()


def test_a_condition_is_centred_within_agents_among_those_that_recorded_it() -> None:
    holds = np.array([[True, False, True, True, False]])
    recorded = np.array([[True, True, True, True, False]])
    centred = centred_within(holds, recorded, np.array([0, 0, 1, 1, 1]))
    assert centred.tolist() == [[0.5, -0.5, 0.0, 0.0, 0.0]]


def test_two_walks_do_not_make_a_cause() -> None:
    assert sum("price" in _of_walks(seed) for seed in range(20)) <= 2


def _of_walks(seed: int) -> set[str]:
    """Luck and a price that both walk, and know nothing of each other."""
    rng = random.Random(seed)
    luck = price = 0.0
    outcomes = []
    for number in range(120):
        luck, price = 0.97 * luck + 0.25 * rng.gauss(0, 1), 0.97 * price + 0.25 * rng.gauss(0, 1)
        failed = rng.random() < 1 / (1 + np.exp(0.85 - 1.6 * luck))
        outcomes.append(decision(number, failed=failed, context={"price": round(price, 2)}))
    assert FAILURE in {o.result.status for o in outcomes}
    return keys(outcomes)

"""lift: what having a skill changes, apart from how easy its decisions were."""

from collections.abc import Mapping, Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.effect.estimate import (
    Lift,
    Observation,
    Offer,
    Prior,
    Sums,
    add_up,
    estimate_lifts,
)

Decided = tuple[str, bool, Mapping[str, float]]  # group, success, skill -> weight


def added(decided: Sequence[Decided], begun: Mapping[str, Sequence[int]] | None = None) -> Sums:
    """The sums of decisions that were made one after the other."""
    totals: dict[str, tuple[int, int]] = {}
    observations: list[Observation] = []
    for i, (group, success, weights) in enumerate(decided):
        count, hits = totals.get(group, (0, 0))
        totals[group] = count + 1, hits + success
        observations += [
            Observation(f"o{i}", skill, group, success, i, True, weight)
            for skill, weight in weights.items()
        ]
    return add_up(observations, totals, begun or {}, 5)


def of(decided: Sequence[Decided], skill: str = "a") -> Lift:
    return estimate_lifts([added(decided)], Prior())[skill, 0]


def tried(rate: float, times: int, group: str = "g", **weights: float) -> list[Decided]:
    """Decisions of which this share succeeded."""
    hits = round(rate * times)
    return [(group, i < hits, weights) for i in range(times)]


def test_a_skill_that_changes_nothing_has_no_lift() -> None:
    found = of([*tried(0.9, 100), *tried(0.9, 100, a=1.0)])
    assert abs(found.lift) < 0.01
    assert found.base == pytest.approx(0.9, abs=0.02)


def test_in_a_hard_domain_a_skill_helps_whose_rate_is_low() -> None:
    found = of([*tried(0.05, 100), *tried(0.3, 100, a=1.0)])
    assert found.lift == pytest.approx(0.25, abs=0.05)
    assert found.helps > 0.99


def test_little_evidence_is_shrunk_to_zero() -> None:
    few = of([*tried(0.5, 20), *tried(1.0, 2, a=1.0)])
    many = of([*tried(0.5, 20), *tried(1.0, 40, a=1.0)])
    assert 0 < few.lift < 0.15 < many.lift < 0.5
    assert few.error > many.error


def test_two_skills_always_applied_together_share_what_they_earn() -> None:
    decided = [*tried(0.4, 60), *tried(0.8, 60, a=1.0, b=1.0)]
    first, second, alone = (
        of(decided),
        of(decided, "b"),
        of([*tried(0.4, 60), *tried(0.8, 60, a=1.0)]),
    )
    assert first.lift == pytest.approx(second.lift)
    assert first.lift == pytest.approx(alone.lift / 2, rel=0.2)


def test_what_another_skill_explains_is_not_credited() -> None:
    found = of(
        [*tried(0.4, 60), *tried(0.8, 60, b=1.0), *tried(0.8, 60, a=1.0, b=1.0)],
    )
    assert abs(found.lift) < 0.05


def test_an_easy_action_is_no_merit_of_the_skill_applied_to_it() -> None:
    easy = [*tried(0.9, 50, "easy", a=1.0), *tried(0.9, 50, "easy")]
    found = of([*easy, *(d for n in range(4) for d in tried(0.2, 50, f"hard {n}"))])
    assert found.lift < 0.05


def test_a_skill_of_several_domains_has_one_lift() -> None:
    decided = [*tried(0.4, 60), *tried(0.6, 60, a=1.0)]
    one, two = (estimate_lifts([added(decided)] * n, Prior())["a", 0] for n in (1, 2))
    assert two.error < one.error
    assert two.lift > one.lift


def test_a_rewritten_text_starts_again_and_the_old_evidence_is_its_prior() -> None:
    decided = [*tried(0.2, 60), *tried(0.7, 60, a=1.0)]
    rewritten = {"a": [len(decided)]}
    found = estimate_lifts([added(decided, rewritten)], Prior())
    old, new = found["a", 0], found["a", 1]
    assert new.lift == pytest.approx(old.lift / 2, rel=0.01)
    assert new.error > 1.5 * old.error


def offered(offer: Offer, rate: float, times: int, applies: float) -> list[Observation]:
    """Decisions that a skill was shown to, or held out from; those that succeed apply it."""
    hits, taken = round(rate * times), round(applies * times)
    return [
        Observation(
            f"{offer}{i}", "a", "g", i < hits, 0, applied := i < taken, float(applied), offer
        )
        for i in range(times)
    ]


def test_with_hold_outs_counts_to_whom_it_was_offered_not_who_chose_to_apply_it() -> None:
    """Agents apply it where they succeed anyway: the same rate when it is held out."""
    chosen = [*offered("shown", 0.5, 200, 0.5), *offered("held", 0.5, 200, 0.0)]
    totals = {"g": (400, 200)}
    naive = estimate_lifts([add_up(chosen, totals, {}, 1000)], Prior())["a", 0]
    fair = estimate_lifts([add_up(chosen, totals, {}, 5)], Prior())["a", 0]
    assert naive.helps > 0.99
    assert abs(fair.lift) < 0.02


@given(st.permutations(range(30)))
def test_the_order_of_decisions_changes_nothing(order: list[int]) -> None:
    random = Random(1)
    decided = [("g", random.random() < 0.5, {"a": 1.0} if i % 3 else {}) for i in range(30)]
    found, other = of(decided), of([decided[i] for i in order])
    assert (found.lift, found.error) == pytest.approx((other.lift, other.error))


def test_nothing_decided_is_no_lift() -> None:
    assert estimate_lifts([add_up([], {}, {}, 5)], Prior()) == {}

"""lift: what having a skill changes, apart from how easy its decisions were."""

from collections.abc import Mapping, Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from skillvault.learning.effect.estimate import add_up, estimate_lifts
from skillvault.learning.effect.lift import Lift, Observation, Offer, Sums
from skillvault.model.policy import EffectPolicy

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
    return add_up(observations, totals, begun or {}, EffectPolicy())


def of(decided: Sequence[Decided], skill: str = "a") -> Lift:
    return estimate_lifts([added(decided)], EffectPolicy())[skill, 0]


def tried(rate: float, times: int, group: str = "g", **weights: float) -> list[Decided]:
    """Decisions of which this share succeeded, evenly in time."""
    hits = round(rate * times)
    return [(group, (i + 1) * hits // times > i * hits // times, weights) for i in range(times)]


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
    one, two = (estimate_lifts([added(decided)] * n, EffectPolicy())["a", 0] for n in (1, 2))
    assert two.error < one.error
    assert two.lift > one.lift


def test_a_rewritten_text_starts_again_and_the_old_evidence_is_its_prior() -> None:
    decided = [*tried(0.2, 60), *tried(0.7, 60, a=1.0)]
    rewritten = {"a": [len(decided)]}
    found = estimate_lifts([added(decided, rewritten)], EffectPolicy())
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


def test_who_chooses_to_apply_a_skill_where_it_succeeds_anyway_earns_it_nothing() -> None:
    """Half of those who could apply it did, all that succeed; the same rate when it is held out."""
    chosen = [*offered("shown", 0.5, 200, 0.5), *offered("held", 0.5, 200, 0.0)]
    unasked = [replace(one, offer="") for one in chosen]
    totals = {"g": (400, 200)}
    naive = estimate_lifts([add_up(unasked, totals, {}, EffectPolicy())], EffectPolicy())["a", 0]
    fair = estimate_lifts([add_up(chosen, totals, {}, EffectPolicy())], EffectPolicy())["a", 0]
    assert naive.helps > 0.99
    assert abs(fair.lift) < 0.02


PARTS: list[tuple[bool, float, Offer]] = [
    (True, 1.0, "shown"), (False, 0.25, "shown"), (False, 0.0, "held"), (True, 1.0, ""),
]  # fmt: skip


def random_uses(count: int, seed: int = 1) -> list[Observation]:
    """Uses of four skills, shown, held out or neither, in episodes of three decisions."""
    chance = Random(seed)
    return [
        Observation(
            f"o{i:03}",
            skill,
            f"g{i % 2}",
            i * i % 7 < 4,
            i,
            applied,
            weight,
            offer,
            f"e{i // 3}",
        )
        for i in range(count)
        for skill in chance.sample("abcd", 2)
        for applied, weight, offer in [chance.choice(PARTS)]
    ]


def totals_of(observations: Sequence[Observation]) -> dict[str, tuple[int, int]]:
    """Return how many decisions each group has, and how many of them succeeded."""
    ends = {(one.group, one.decision): one.success for one in observations}
    groups = sorted({group for group, _ in ends})
    return {
        name: (len(found), sum(found))
        for name in groups
        for found in [[success for (group, _), success in ends.items() if group == name]]
    }


@given(st.permutations(random_uses(60)))
def test_sums_are_the_same_in_whatever_order_decisions_became_known(
    order: list[Observation],
) -> None:
    first = random_uses(60)
    prior = EffectPolicy(latest=10)
    sums = add_up(first, totals_of(first), {"b": [20]}, prior)
    assert add_up(order, totals_of(order), {"b": [20]}, prior) == sums


@given(st.sets(st.integers(0, 59), max_size=20))
def test_a_decision_that_is_taken_away_leaves_nothing_behind(gone: set[int]) -> None:
    """The products of weights are whole sixteenths, so that sums are exact."""
    observations = random_uses(60)
    kept = [one for one in observations if int(one.decision[1:]) not in gone]
    away = [one for one in observations if int(one.decision[1:]) in gone]
    whole, rest, other = (
        products(add_up(some, totals_of(some), {}, EffectPolicy()))
        for some in (observations, kept, away)
    )
    assert whole == {
        pair: found for pair in whole if (found := rest.get(pair, 0.0) + other.get(pair, 0.0))
    }


def products(sums: Sums) -> dict[tuple[str, ...], float]:
    """The sums by the names of what they are of."""
    skills = [name for name, _ in sums.columns]
    names = [*skills, *(f"offered {name}" for name in skills)]
    pairs = zip(
        memoryview(sums.firsts).cast("i"), memoryview(sums.seconds).cast("i"),
        memoryview(sums.weights).cast("d"), strict=True,
    )  # fmt: skip
    found: dict[tuple[str, ...], float] = {
        tuple(sorted((names[i], names[j]))): weight for i, j, weight in pairs
    }
    return found | {(name,): hits for name, hits in zip(names, sums.hits, strict=True) if hits}


def test_the_luck_of_an_evening_is_not_counted_many_times() -> None:
    """Ten decisions each of six episodes; in half of these all succeed, in half none."""
    uses = [
        Observation(f"o{i:02}", "a", "g", i // 10 % 2 == 0, i, i % 20 < 10, float(i % 20 < 10))
        for i in range(60)
    ]
    alone = estimate_lifts([add_up(uses, {"g": (60, 30)}, {}, EffectPolicy())], EffectPolicy())[
        "a", 0
    ]
    together = [replace(one, episode=f"e{i // 10}") for i, one in enumerate(uses)]
    found = estimate_lifts([add_up(together, {"g": (60, 30)}, {}, EffectPolicy())], EffectPolicy())[
        "a", 0
    ]
    assert found.error > alone.error
    assert found.helps < alone.helps


def test_the_latest_applications_say_what_a_skill_does_now() -> None:
    """Every other decision applies it, 150 times with success and 50 times without."""
    uses = [
        Observation(
            f"o{i:03}", "a", "g", i < 300 if i % 2 else i % 4 == 0, i, i % 2 == 1, float(i % 2)
        )
        for i in range(400)
    ]
    found = estimate_lifts([add_up(uses, totals_of(uses), {}, EffectPolicy())], EffectPolicy())[
        "a", 0
    ]
    assert found.recent.lift < 0 < found.lift
    few = uses[:100]
    fresh = estimate_lifts([add_up(few, totals_of(few), {}, EffectPolicy())], EffectPolicy())[
        "a", 0
    ]
    assert fresh.recent == fresh.all_time


def test_an_effect_that_changed_is_known_less_surely() -> None:
    """The same applications, their successes evenly in time or all in the first half."""
    even = [("g", i % 4 < 2, {"a": 1.0} if i % 2 else {}) for i in range(200)]
    ended = [
        (group, i < 100 if weights else success, weights)
        for i, (group, success, weights) in enumerate(even)
    ]
    steady, changed = of(even), of(ended)
    assert changed.lift == pytest.approx(steady.lift, abs=0.1)
    assert changed.error > 2 * steady.error


def test_nothing_decided_is_no_lift() -> None:
    assert estimate_lifts([add_up([], {}, {}, EffectPolicy())], EffectPolicy()) == {}

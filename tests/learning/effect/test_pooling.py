"""pooling: what all domains say of choosing and of the base, each leaning on the others."""

from collections.abc import Sequence
from random import Random

from skillvault.learning.effect.estimate import add_up, estimate_lifts
from skillvault.learning.effect.lift import Lift, Observation, Offer, Sums
from skillvault.model.policy import EffectPolicy


def decided(seed: int, *, gain: float, chosen: float = 0.0, held: float = 0.3) -> Sums:
    """A domain of one skill; those that succeed more by `chosen` apply it."""
    chance = Random(seed)
    name = f"skill-{seed}"
    rows: list[Observation] = []
    for i in range(300):
        applied = (is_shown := chance.random() >= held) and chance.random() < 0.5
        choosing = chosen * (applied - 0.5) if is_shown else 0.0
        success = chance.random() < 0.5 + choosing + gain * applied
        offer: Offer = "shown" if is_shown else "held"
        rows.append(
            Observation(f"{seed} {i}", name, "g", success, i, applied, float(applied), offer)
        )
    totals = {"g": (len(rows), sum(row.success for row in rows))}
    return add_up(rows, totals, {}, EffectPolicy())


def lifted(domains: Sequence[Sums], seed: int) -> Lift:
    return estimate_lifts(domains, EffectPolicy())[f"skill-{seed}", 0]


def test_a_domain_without_hold_outs_learns_from_the_others_how_agents_choose() -> None:
    others = [decided(seed, gain=0.0, chosen=0.4) for seed in range(1, 7)]
    blind = decided(0, gain=0.0, chosen=0.4, held=0.0)
    alone, among = lifted([blind], 0), lifted([blind, *others], 0)
    assert abs(among.lift) < 0.5 * abs(alone.lift)
    assert among.error < alone.error


def test_domains_in_which_agents_do_not_choose_make_each_others_skills_surer() -> None:
    domains = [decided(seed, gain=0.15) for seed in range(5)]
    alone, among = lifted(domains[:1], 0), lifted(domains, 0)
    assert among.error < 0.9 * alone.error
    assert among.lift > 0


def test_domains_that_choose_otherwise_are_not_taken_for_each_other() -> None:
    easy = [decided(seed, gain=0.0, chosen=0.4) for seed in range(3)]
    hard = [decided(seed, gain=0.0, chosen=-0.4) for seed in range(3, 6)]
    for seed in range(6):
        alone = lifted([[*easy, *hard][seed]], seed)
        among = lifted([*easy, *hard], seed)
        assert abs(among.lift - alone.lift) < 0.05


def test_the_order_of_the_domains_changes_nothing() -> None:
    domains = [decided(seed, gain=0.1, chosen=0.2) for seed in range(4)]
    forward, backward = lifted(domains, 2), lifted(domains[::-1], 2)
    assert abs(forward.lift - backward.lift) < 1e-12
    assert abs(forward.error - backward.error) < 1e-12

"""What separates a group of outcomes from the others."""

import json
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import combinations
from math import comb
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from skillvault.brief import Contrast
from skillvault.learning.contrast.conditions import unrecorded
from skillvault.learning.contrast.contrast import both_ways, contrasts, leads
from skillvault.learning.contrast.exact_test import fisher
from skillvault.records import (
    Decision,
    Outcome,
    Result,
    Scalar,
    Source,
)

SHARED = Path(__file__).resolve().parents[4] / "shared"
TRADES = SHARED / "data/freqtrade/backtest-result.json"
START = datetime(2026, 1, 5, tzinfo=UTC)  # a Monday
WORDS = (
    "funding trend bounce liquidity spread momentum breakout volume support resistance reversal "
    "hedge exposure margin catalyst earnings divergence retest squeeze impulse timeout fixture "
    "patch schema cache queue retry"
).split()
Planted = Callable[[Outcome], bool]


def outcome(number: int, *, failed: bool = False, **given: object) -> Outcome:
    context = given.pop("context", {})
    applied = given.pop("applied", None)
    made: dict[str, object] = {"action": "open_long", "made_at": None} | given
    size = made.pop("entry_value", None)
    return Outcome(
        id=f"o{number:06}",
        domain="perps",
        occurred_at=START + timedelta(hours=number),
        decision=Decision(**made),  # type: ignore[arg-type]
        result=Result(status="failure" if failed else "success", entry_value=size),  # type: ignore[arg-type]
        context=context,  # type: ignore[arg-type]
        applied=applied,  # type: ignore[arg-type]
        source=Source(),
        received="",
    )


def halves(outcomes: Sequence[Outcome]) -> tuple[list[Outcome], list[Outcome]]:
    failed = [o for o in outcomes if o.result.status == "failure"]
    return failed, [o for o in outcomes if o.result.status != "failure"]


def named(found: Sequence[Contrast]) -> list[str]:
    return [each.condition for each in found]


def stream(seed: int, planted: Planted | None = None, size: int = 150) -> list[Outcome]:
    """Random outcomes of one action; failures are likelier where the planted condition holds."""
    rng = random.Random(seed)
    made, drawn = START, []
    for number in range(size):
        made += timedelta(minutes=rng.randrange(3, 900))
        context: dict[str, Scalar] = {
            "volatility": rng.choice(["low", "mid", "high"]),
            "trend": rng.choice(["bullish", "bearish", "flat"]),
            "funding": round(rng.gauss(0, 0.05), 4),
            "leverage": rng.choice([1, 2, 3, 5, 10]),
            "news": rng.random() < 0.3,
        }
        drawn.append(
            outcome(
                number,
                target=rng.choice(["SOL", "BTC", "ETH"]),
                made_at=made,
                confidence=round(rng.uniform(0.3, 0.95), 2),
                reasoning=" ".join(rng.sample(WORDS, 10)),
                context=context,
                applied=tuple(s for s in ("alpha", "beta") if rng.random() < 0.3),
                entry_value=rng.choice([500.0, 1000.0, 2000.0]),
            )
        )
    chance = [0.75 if planted and planted(o) else 0.2 for o in drawn]
    return [
        outcome(
            i,
            failed=rng.random() < chance[i],
            context=o.context,
            applied=o.applied,
            entry_value=o.result.entry_value,
            **{k: getattr(o.decision, k) for k in ("target", "made_at", "confidence", "reasoning")},
        )
        for i, o in enumerate(drawn)
    ]


PLANTED: dict[str, Planted] = {
    "volatility is high": lambda o: o.context["volatility"] == "high",
    "leverage of 5 or more": lambda o: float(o.context["leverage"] or 0) >= 5,
    "decided between 18:00 and 24:00 UTC": lambda o: (o.decision.made_at or START).hour >= 18,
    "applied alpha": lambda o: "alpha" in (o.applied or ()),
    "the reasoning mentions 'breakout'": lambda o: "breakout" in o.decision.reasoning,
}


@pytest.mark.parametrize("condition", PLANTED)
def test_a_planted_condition_is_found_in_19_of_20_streams(condition: str) -> None:
    streams = [halves(stream(seed, PLANTED[condition])) for seed in range(20)]
    assert sum(condition in named(contrasts(*each)) for each in streams) >= 19


@pytest.mark.parametrize("size", [40, 150])
def test_streams_without_a_condition_name_one_in_at_most_2_of_20(size: int) -> None:
    streams = [halves(stream(seed, size=size)) for seed in range(100, 200)]
    assert sum(bool(contrasts(*each)) for each in streams) <= 10


def test_result_evidence_and_duration_are_never_conditions() -> None:
    def trade(number: int) -> Outcome:
        failed = number < 10
        reason = "stop_loss" if failed else "roi"
        result = Result(
            status="failure" if failed else "success",
            summary=reason,
            evidence=reason,
            extra={"exit_reason": reason, "duration_minutes": 5 if failed else 500},
        )
        return Outcome(
            id=f"o{number:03}",
            domain="perps",
            occurred_at=START + timedelta(days=number if failed else 0),
            decision=Decision(action="enter_long"),
            result=result,
            received="",
        )

    assert contrasts(*halves([trade(i) for i in range(60)])) == []


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_fisher_equals_the_enumeration_of_all_tables(a: int, b: int, c: int, d: int) -> None:
    total, of, holds = a + b + c + d, a + b, a + c
    ways = sum(
        comb(holds, x) * comb(total - holds, of - x)
        for x in range(a, min(of, holds) + 1)
        if of - x <= total - holds
    )
    assert fisher(a, of, holds, total) == pytest.approx(float(Fraction(ways, comb(total, of))))


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_arrival_order_changes_nothing(seed: int, shuffler: random.Random) -> None:
    group, rest = halves(stream(seed, PLANTED["volatility is high"], size=80))
    before = contrasts(group, rest)
    shuffler.shuffle(group)
    shuffler.shuffle(rest)
    assert contrasts(group, rest) == before


@pytest.mark.parametrize("size", [1, 4, 80])
def test_both_ways_at_once_are_each_way_alone(size: int) -> None:
    group, rest = halves(stream(7, PLANTED["volatility is high"], size=size))
    assert both_ways(group, rest) == (contrasts(group, rest), contrasts(rest, group))


def test_fewer_than_three_are_an_anecdote() -> None:
    group = [outcome(i, failed=True, context={"mood": "bad"}) for i in range(2)]
    rest = [outcome(i, context={"mood": "good"}) for i in range(2, 300)]
    assert contrasts(group, rest) == []


def test_conditions_that_hold_for_the_same_outcomes_are_told_once_the_more_general_first() -> None:
    group = [
        outcome(i, failed=True, reasoning="mentions panic", context={"mood": "bad"})
        for i in range(10)
    ]
    rest = [outcome(i, reasoning="mentions calm", context={"mood": "good"}) for i in range(10, 40)]
    assert named(contrasts(group, rest)) == ["mood is bad"]


def test_a_condition_implied_by_an_accepted_one_is_dropped() -> None:
    outcomes = [
        outcome(i, failed=i < 20, context={"mood": "bad" if i < 20 else "good", "depth": i % 20})
        for i in range(100)
    ]
    narrower = [
        outcome(i, failed=i < 20, context=o.context | {"worse": i < 12})
        for i, o in enumerate(outcomes)
    ]
    assert named(contrasts(*halves(narrower))) == ["mood is bad"]


def test_counts_lift_and_ids_are_those_of_the_compared_outcomes() -> None:
    outcomes = [
        outcome(i, failed=i < 10, context={"mood": "bad" if i < 9 or i == 50 else "good"})
        for i in range(60)
    ]
    found = contrasts(*halves(outcomes))[0]
    assert (found.in_group, found.in_rest) == ((9, 10), (1, 50))
    assert found.lift == pytest.approx(45)
    assert found.holds_for == {o.id for o in outcomes if o.context["mood"] == "bad"}


@pytest.mark.parametrize(
    ("given", "condition"),
    [
        (lambda bad: {"context": {"leverage": 3 if bad else 1}}, "leverage of 3 or more"),
        (lambda bad: {"context": {"news": bad}}, "news is true"),
        (lambda bad: {"target": "XLM/BTC" if bad else "BTC"}, "target is XLM/BTC"),
        (lambda bad: {"confidence": 0.85 if bad else 0.5}, "confidence of 0.8 or more"),
        (lambda bad: {"entry_value": 2000.0 if bad else 10.0}, "entry value of 2000 or more"),
        (lambda bad: {"applied": ("xlsx",) if bad else ()}, "applied xlsx"),
        (
            lambda bad: {"reasoning": "the text is nested" if bad else "a plain text"},
            "the reasoning mentions 'nested'",
        ),
    ],
)
def test_conditions_read_as_words(
    given: Callable[[bool], dict[str, object]], condition: str
) -> None:
    outcomes = [outcome(i, failed=i < 10, **given(i < 10)) for i in range(60)]
    assert named(contrasts(*halves(outcomes))) == [condition]


def test_decisions_made_together_are_a_condition() -> None:
    apart = [START + timedelta(hours=7 * i) for i in range(60)]
    made = [START + timedelta(days=i // 2, hours=15, minutes=i % 2 * 9) for i in range(12)]
    outcomes = [outcome(i, failed=True, made_at=at) for i, at in enumerate(made)]
    outcomes += [outcome(100 + i, made_at=at) for i, at in enumerate(apart)]
    found = named(contrasts(*halves(outcomes)))
    assert "made within 10 minutes of another decision" in found


def test_unrecorded_names_what_no_outcome_has() -> None:
    assert unrecorded([outcome(1), outcome(2, reasoning="why", target="BTC")]) == (
        "context",
        "confidence",
        "decision time",
        "skills applied",
    )


def test_only_graded_outcomes_miss_a_size() -> None:
    graded = [replace(outcome(1), result=Result(status="failure", score=-0.2))]
    assert "size" in unrecorded(graded)


def _reasoned(number: int, reasoning: str, *, failed: bool) -> Outcome:
    return outcome(number, failed=failed, reasoning=reasoning)


def test_a_lead_is_what_all_of_a_few_mention_and_no_other_does() -> None:
    # So many words are shared by some three of the seven that no test can single one out.
    chatter = {f"word{'abcdefg'[i]}{'abcdefg'[j]}{'abcdefg'[k]}": {i, j, k}
               for i, j, k in combinations(range(7), 3) if (i, j, k) != (0, 1, 2)}  # fmt: skip
    said = [" ".join(term for term, who in chatter.items() if i in who) for i in range(7)]
    wins = [_reasoned(i, f"nested runs, nested again {said[i]}", failed=False) for i in range(3)]
    losses = [_reasoned(i, f"plain replacement {said[i]}", failed=True) for i in range(3, 7)]
    found = leads(wins, losses)
    assert found[0].condition == "the reasoning mentions 'nested'"
    assert (found[0].in_group, found[0].in_rest) == ((3, 3), (0, 4))
    assert contrasts(wins, losses) == []


def test_many_outcomes_have_contrasts_and_no_leads() -> None:
    wins = [_reasoned(i, "nested", failed=False) for i in range(8)]
    losses = [_reasoned(10 + i, "plain", failed=True) for i in range(8)]
    assert leads(wins, losses) == []


@pytest.mark.skipif(not TRADES.exists(), reason="needs the shared sample data")
def test_the_six_large_losses_were_decided_in_the_evening() -> None:
    raw = json.loads(TRADES.read_text())["strategy"]["StrategyTestV3"]["trades"]
    trades = [
        outcome(
            i,
            failed=trade["profit_ratio"] < -0.1,
            target=trade["pair"],
            made_at=datetime.fromisoformat(trade["open_date"]),
            context={"open_rate": trade["open_rate"]},
        )
        for i, trade in enumerate(raw)
    ]
    found = contrasts(*halves(trades))
    assert named(found) == ["decided between 18:00 and 24:00 UTC"]
    assert (found[0].in_group, found[0].in_rest) == ((5, 6), (50, 173))

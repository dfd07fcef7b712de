"""The blind verdict rewards grounds of this decision, not cue words."""

import pytest
from verdict import HALVES, RUNS, SHARED, on_runs, on_texts, separation

from skillvault.judge.offline.verdict import NOT_WEIGHED, judge_decision
from skillvault.model.brief import BlindCase, Verdict
from skillvault.model.records import Decision, Scalar

CONTEXT: dict[str, Scalar] = {"funding": 0.0009, "volatility": "high"}
HOLLOW = (
    "I verified the setup because the risk is limited and the evidence is strong. If the market "
    "turns against us, the stop loss limits the downside. Alternatively we could wait, but the "
    "overall assessment is positive and all conditions were considered carefully."
)
HONEST = "Funding is 0.09 % in high volatility, longs are crowded. Half size."


def verdict(
    reasoning: str,
    context: dict[str, Scalar] | None = None,
    *,
    size: float | None = None,
    applied: tuple[str, ...] = (),
) -> Verdict:
    decision = Decision(action="open_short", target="ETH-PERP", reasoning=reasoning)
    return judge_decision(
        BlindCase("perps", decision, CONTEXT if context is None else context, applied, size)
    )


def quality(reasoning: str, context: dict[str, Scalar] | None = None) -> float:
    return verdict(reasoning, context).quality_score


@pytest.mark.parametrize("half", [*HALVES, None])
def test_honest_texts_are_told_from_hollow_ones(half: str | None) -> None:
    judgements = on_texts(half)
    assert sum(j.is_good for j in judgements) * 2 == len(judgements) >= 40
    assert separation(judgements) >= 0.85


@pytest.mark.parametrize("name", RUNS)
def test_runs_that_succeed_are_told_from_runs_that_fail(name: str) -> None:
    path = SHARED / "data/agent-runs" / f"{name}.jsonl"
    if not path.is_file():
        pytest.skip("needs the shared sample data")
    assert separation(on_runs(path)) >= 0.7


def test_a_short_honest_text_is_good_and_a_hollow_one_is_not() -> None:
    assert quality(HONEST) >= 0.7
    assert quality(HOLLOW) <= 0.3


@pytest.mark.parametrize(
    "words",
    [
        "Because of the risk.",
        "Verified and double-checked.",
        "If it goes wrong, exit.",
        "A stop loss limits the downside.",
        "Alternatively, another option was considered.",
        "I compared the options because the risk is limited.",
    ],
)
def test_cue_words_alone_earn_nothing(words: str) -> None:
    seen = verdict(words, {})
    assert seen.quality_score < 0.5
    assert not seen.strengths


@pytest.mark.parametrize("text", [HOLLOW, HONEST])
def test_saying_it_again_earns_nothing(text: str) -> None:
    assert quality(f"{text} {text} {text}") <= quality(text)


def test_more_words_of_that_kind_earn_nothing() -> None:
    longer = f"{HOLLOW} The approach is robust, the analysis is thorough, the outcome is positive."
    assert quality(longer) <= quality(HOLLOW) + 0.02


@pytest.mark.parametrize(
    ("reasoning", "context"),
    [
        ("Funding of 0.09 % makes longs pay.", {"funding": 0.0009}),
        ("Funding of 0.09 % makes longs pay.", {"funding": "0.09 %"}),
        ("Open interest fell by 11 % since noon.", {"open_interest_change": -0.11}),
        ("Nobody touched it in three years.", {"last_edit_years": 3}),
        ("The lock holds 48 million rows.", {"table_rows": 48_000_000}),
        ("It is not peer reviewed, so I lead with the seeds.", {"peer_reviewed": False}),
        ("Thin book on a weekend.", {"weekend": True}),
        ("The Asia open brought few orders.", {"session": "asia"}),
        ("Volatility is high, so the stop sits wider.", {"volatility": "high"}),
    ],
)
def test_a_condition_is_weighed_by_its_name_and_value(
    reasoning: str, context: dict[str, Scalar]
) -> None:
    assert "weighs the conditions at entry" in " ".join(verdict(reasoning, context).strengths)


@pytest.mark.parametrize(
    ("reasoning", "context"),
    [
        ("I looked at the funding and at the volatility.", CONTEXT),
        ("A high conviction trade for crowded longs.", {"volatility": "high"}),
        ("Funding of 0.31 % makes longs pay.", {"funding": 0.0009}),
        ("It is peer reviewed, so I lead with the seeds.", {"peer_reviewed": False}),
        ("Two of them were slow yesterday.", {"replica_count": 2.9}),
    ],
)
def test_a_key_without_its_value_or_a_value_of_something_else_is_not(
    reasoning: str, context: dict[str, Scalar]
) -> None:
    assert "the conditions at entry" not in " ".join(verdict(reasoning, context).strengths)


def test_a_value_that_the_record_has_otherwise_speaks_against() -> None:
    for text in ("Funding is 0.02 %, longs are calm.", "Volatility is low, longs are calm."):
        weaknesses = verdict(text).weaknesses
        assert any("was recorded, and it says" in weakness for weakness in weaknesses)
    assert not any("recorded" in text for text in verdict(HONEST).weaknesses)


def test_a_check_shows_what_was_looked_at_and_what_came_out() -> None:
    check = "`pytest -n 4` ran 50 times with no failure in cart_test.py."
    assert "what came out" in " ".join(verdict(check, {}).strengths)
    announced = verdict("I will run `pytest -n 4` and verify cart_test.py 50 times.", {})
    assert "what came out" not in " ".join(announced.strengths)
    assert any("announces a check" in weakness for weakness in announced.weaknesses)


def test_the_odds_that_a_text_gives_itself_are_no_figures() -> None:
    odds = "The probability is 87 % with a hit rate of 74 % over 1,200 trades."
    assert not any("figure" in strength for strength in verdict(odds, {}).strengths)
    assert quality(odds, {}) < 0.5


def test_size_and_skills_count_if_the_reasoning_names_them() -> None:
    seen = verdict("20k moves this book by half a tick.", size=20_000, applied=("thin-books",))
    assert "weighs the size: 20000" in seen.strengths
    assert not any("thin-books" in strength for strength in seen.strengths)
    named = verdict("Applying 'thin-books', I halve it.", applied=("thin-books",))
    assert "draws on thin-books" in named.strengths


def test_conditions_in_words_that_are_left_out_are_named() -> None:
    missed = verdict("Longs are crowded.", {"trend": "bearish", "rsi": 71}).missed_factors
    assert missed == (f"trend was bearish{NOT_WEIGHED}",)


def test_hostile_lengths_take_time_in_proportion() -> None:
    assert 0 <= quality("1" * 20_000 + " 1,2" * 5_000 + " funding is" * 5_000) <= 1

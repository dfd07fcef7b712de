"""likeness: what says the same is found, what only sounds alike is not."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.merge.likeness import Likenesses, Saying, likeness, saying


def says(*bullets: str, about: str = "") -> Saying:
    """What a skill with these bullets says."""
    return saying("## A\n\n" + "".join(f"- {b}\n" for b in bullets), frozenset({about}) - {""})


SAME = [
    says(
        f"High funding and a crowded long side on {target} before {one} breakout.",
        f"The position was opened {size} at the {very} top.",
        f"There was no stop, {so} the cascade took {all_}.",
        f"Wait for funding to reset before {enter}.",
        f"Use half {the} size and a hard stop.",
    )
    for target, one, size, very, so, all_, enter, the in (
        ("SOL-PERP", "a", "at full size right", "", "so", "it all", "entering", ""),
        ("ARB-PERP", "the", "with full size", "very", "and so", "all of it", "you enter", "the"),
        ("DOGE-PERP", "a", "at full size", "", "and", "it", "entering", "the"),
    )
]
OTHER = [
    says("An earnings report was due within a day.", "It was held through it without a hedge."),
    says("The order book is thin at night.", "A market order moved the price against itself."),
    says("A moving average crossed on the hourly chart.", "Nobody looked at the daily trend."),
]
# What the offline judge says of any decision, whatever it was about.
USUAL = (
    "At entry: language python; cloud aws; confidence 0.8.",
    "The reasoning names no figure and no threshold.",
    "No risk, alternative or way out is named.",
    "Failures so far: all 10 deploy decisions.",
)


@pytest.mark.parametrize(("a", "b"), [*itertools.combinations(range(3), 2)])
def test_the_same_in_nearly_the_same_words_is_alike(a: int, b: int) -> None:
    assert likeness(SAME[a], SAME[b]) > 0.6


@pytest.mark.parametrize("a", OTHER)
@pytest.mark.parametrize("b", [*SAME, *OTHER])
def test_different_causes_are_not(a: Saying, b: Saying) -> None:
    assert a is b or likeness(a, b) < 0.3


def test_what_is_said_of_every_decision_decides_nothing() -> None:
    one = says("Its ground was “The cache key does not need the tenant.”", *USUAL, about="deploy")
    other = says("Its ground was “Prices as float are precise enough.”", *USUAL, about="deploy")
    assert likeness(one, other) == 0


def test_what_a_skill_is_about_decides_nothing() -> None:
    one = says("No canary for checkout-web stage.", about="checkout-web")
    other = says("No rotation of checkout-web logs.", about="checkout-web")
    assert one.words == {"canary", "stage"}
    assert likeness(one, other) == 0


def test_a_figure_decides_nothing_and_an_hour_does() -> None:
    assert says("Fell from 0.0253 to 0.0227 at 18:42 UTC today").words == {"fell", "today"}
    assert "18:00" in says("Decided between 18:00 and 24:00 UTC").words


def test_a_shorter_one_is_contained_in_a_longer_one() -> None:
    bullets = ("Send a new version to one server first.", "Keep the old version ready meanwhile.")
    more = says(*bullets, "Tell support before a release.", "Read the error rate for ten minutes.")
    assert likeness(says(*bullets), more) == likeness(more, says(*bullets)) == 1


def test_scripts_without_spaces_are_compared() -> None:
    one, other = (
        says("在比特币上资金费率过高时追涨会被清算。"),
        says("在以太坊上资金费率过高时追涨会被清算。"),
    )
    assert likeness(one, other) > 0.5
    assert likeness(one, says("夜间流动性差，市价单会造成滑点。")) < 0.2


def test_nothing_said_is_like_nothing() -> None:
    assert likeness(says(), says()) == 0


WORDS = st.lists(
    st.sampled_from(["alpha", "bravo", "charlie", "delta", "echo-1", "fox-trot", "golf", "hotel"]),
    max_size=6,
)
SAYINGS = st.lists(st.lists(WORDS.map(" ".join), max_size=4).map(lambda b: says(*b)), max_size=12)


@given(SAYINGS, st.sampled_from([0.0, 0.3, 0.5, 0.8]))
def test_the_index_finds_exactly_the_pairs_that_are_alike(
    found: list[Saying], above: float
) -> None:
    index = Likenesses(above, found)
    for number, one in enumerate(found):
        expected = {
            other: value
            for other in range(number)
            if (value := likeness(one, found[other])) > above
        }
        assert dict(index.like(one)) == expected
        assert index.add_saying(one) == number

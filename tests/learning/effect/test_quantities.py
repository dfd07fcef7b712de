"""A number other than the skill's, of the same thing and beyond what it allows, is against it."""

import pytest

from skillvault.learning.effect.quantities import Quantity, differ, quantities_in
from tests.learning.effect.test_readings import BUDGET, TVL, read


def test_a_quantity_is_a_number_with_its_unit_and_bound() -> None:
    text = "at most 1.5 %, three attempts, at least 40k usd, 7"
    assert quantities_in(text) == [
        Quantity(1.5, "%", "most"),
        Quantity(3, "attempt"),
        Quantity(40_000, "usd", "least"),
        Quantity(7, ""),
    ]


@pytest.mark.parametrize(
    ("advice", "act", "against"),
    [
        ("three attempts", "ten", True),
        ("three attempts", "3 attempts", False),
        ("three attempts", "10 seconds", False),  # of something else
        ("at most 1 %", "5 %", True),
        ("at most 1 %", "0.5 %", False),
        ("at least 2 reviews", "1 review", True),
        ("at least 2 reviews", "3 reviews", False),
        ("wait", "5 %", False),
    ],
)
def test_an_act_is_against_advice_that_does_not_allow_its_number(
    advice: str, act: str, *, against: bool
) -> None:
    assert differ(quantities_in(advice), quantities_in(act)) is against


@pytest.mark.parametrize(
    ("text", "applied"),
    [
        (f"{TVL} says at most 1 %. I put 5 %.", False),
        (f"{TVL} says at most 1 %. I put 0.5 %.", True),
        (f"{BUDGET} says 3 attempts, I made 9.", False),
        (f"{BUDGET} says 3 attempts, I made 3.", True),
        (f"{BUDGET} says 3 attempts, and I waited 10 seconds between them.", True),
    ],
)
def test_a_sentence_with_another_number_overrules(text: str, *, applied: bool) -> None:
    found = read(text)
    assert (bool(found[0]), bool(found[1])) == (applied, not applied)

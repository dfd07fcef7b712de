"""causes: what makes the words of two outcomes comparable."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.tries.insight import signature, specific_values
from tests.given import outcome, trade


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("FAILED test_a - assert 504 == 200", "FAILED test_a - assert 500 == 200"),
        ("KeyError: 'total' in /srv/app/cart.py:33", "KeyError: 'total' in C:\\x\\cart.py:7"),
        ("KeyError: 'total' in cart.py:33", "KeyError: 'total' in cart.py:7"),
        (
            "TimeoutError after 30 s (request 3f2a9bc1d2)",
            "TimeoutError after 5 s (request 77aa9bc1ee)",
        ),
        ("OPS-12: the disk is full", "OPS-134: the disk is full"),
        ("job 2026-11-20T10:15:00 failed", "job 2026-11-21T11:00:30 failed"),
        ("Error:  the disk  is full", "error: the disk is full"),
    ],
)
def test_an_error_is_the_same_without_paths_numbers_and_ids(a: str, b: str) -> None:
    assert signature(a) == signature(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("KeyError: 'total'", "KeyError: 'price'"),
        ("KeyError: 'total'", "ValueError: 'total'"),
        ("FAILED test_a - assert 504 == 200", "FAILED test_b - assert 504 == 200"),
        ("Permission denied: deadline", "Permission denied: headline"),
    ],
)
def test_another_type_or_message_is_another_error(a: str, b: str) -> None:
    assert signature(a) != signature(b)


@given(st.text(max_size=80))
def test_a_signature_holds_no_number(text: str) -> None:
    assert not any(character in "0123456789" for character in signature(text))


def test_an_outcomes_own_values_are_its_target_its_figures_and_what_it_observed() -> None:
    one = outcome(trade(score=-0.2))
    assert specific_values(one) == (
        "SOL-PERP",
        "-0.2",
        "-200",
        "1000",
        "-20.0 %",
        "high",
        "bearish",
    )

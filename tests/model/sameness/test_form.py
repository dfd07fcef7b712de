"""normal_form: what a text says, whatever the order and the inflection of its words."""

import pytest

from skillvault.model.sameness.comparison import is_same
from skillvault.model.sameness.form import normal_form


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Wait 500ms between retries.", "Wait 500 milliseconds between the retries."),
        ("Wait a 30-second pause.", "Wait a pause of 30 s."),
        ("Tokens live 60 minutes.", "Tokens live 1 hour."),
        ("Keep at most three positions.", "Keep at most 3 positions."),
        ("Risk 0.10% of 1,000 USD.", "Risk 10 bps of $1000."),
        ("Parts of 5 GB.", "Parts of 5000 MB."),
        ("Retry twice.", "Retry 2 times."),
        ("Call `parse_date` first.", "Call parse_date first."),
        ("A loss of −5 %.", "A loss of -5 %."),
        ("A loss of -$5.", "A loss of $-5."),
    ],
)
def test_a_number_is_its_amount_and_a_name_its_letters(a: str, b: str) -> None:
    left, right = normal_form(a), normal_form(b)
    assert (left.numbers, left.names) == (right.numbers, right.names)
    assert left.numbers | left.names


@pytest.mark.parametrize(
    ("text", "numbers", "names"),
    [
        ("Port 8080 of us-east-1", {"8080"}, {"us-east-1"}),
        ("Long SOL-PERP at -11.2 %, eth later", {"-11.2 %"}, {"sol-perp", "eth"}),
        ("from −5 to −$0.5", {"-5", "-0.5 $"}, set()),
        ("numpy 1.26.4 on Python 3.11", {"3.11"}, {"1.26.4"}),
        ("from 18:00 to 24:00 on 2026-11-03", {"18:00", "24:00"}, {"2026-11-03"}),
        (
            "--no-cache in config.yaml and MAX_RETRIES",
            set(),
            {"--no-cache", "config.yaml", "max_retries"},
        ),
        ("The API's id and a URL", set(), set()),
        ("Files of the 1990s, and 4xx", set(), {"1990s", "4xx"}),
        ("In 2006 US rates rose", {"2006"}, set()),
        ("once, one by one", set(), set()),
    ],
)
def test_numbers_and_names_are_read(text: str, numbers: set[str], names: set[str]) -> None:
    form = normal_form(text)
    assert form.numbers == numbers
    assert form.names == names


@pytest.mark.parametrize(
    "text",
    [
        "Do not retry.", "Don't retry.", "Dont retry.", "Never retry.", "Retry no payment.",
        "You cannot retry.", "Retrying won't help.", "Avoid retries.", "It is no longer retried.",
        "不要重试付款。", "リトライしない。",
    ],
)  # fmt: skip
def test_a_negation_is_told_in_any_words(text: str) -> None:
    assert normal_form(text).negated


def test_two_negations_undo_each_other() -> None:
    assert not normal_form("Never leave it undone that no retry follows.").negated


def test_an_outcomes_own_values_are_taken_out() -> None:
    text = "Long SOL when volatility is high: it lost -11.2 %."
    other = "Long SOL when volatility is low: it lost -3 %."
    assert not is_same(normal_form(text), normal_form(other))
    assert is_same(normal_form(text, ("high", "-11.2 %")), normal_form(other, ("low", "-3 %")))


def test_a_form_does_not_change_with_inflection_case_and_punctuation() -> None:
    a = normal_form("Failed payments: retrying, it helped.")
    assert a == normal_form("failed payment, they retried; it helps")


@pytest.mark.parametrize("text", ["", "   ", "...", "the of and"])
def test_a_text_may_say_nothing(text: str) -> None:
    assert normal_form(text) == normal_form("")

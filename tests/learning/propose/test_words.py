"""A user's next words: judgments of the work before, and rules."""

import pytest

from skillvault.learning.propose.words import Reaction, read_reaction


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("no, that is wrong: we use uv here, never pip", "we use uv here, never pip"),
        (
            "the route test fails, every route needs @login_required",
            "every route needs @login_required",
        ),
        ("nein, wir nehmen hier uv, nie pip", "wir nehmen hier uv, nie pip"),
        ("no, eso no. aquí usamos pnpm, nunca npm", "aquí usamos pnpm, nunca npm"),
        ("non, on utilise uv ici, jamais pip", "on utilise uv ici, jamais pip"),
        ("不对，我们这里用 pnpm，不要用 npm", "我们这里用 pnpm，不要用 npm"),
    ],
)
def test_a_correction_in_the_form_of_a_rule_is_quoted_verbatim(text: str, rule: str) -> None:
    assert read_reaction(text) == Reaction("failure", True, (rule,))


@pytest.mark.parametrize(
    "text",
    [
        "should we always use uv?",
        "the function always returns None, can you fix it?",
        "the README says: never use pip",
        "fix this issue:\nno, always use pnpm here",
        "```\nnever use pip\n```",
        "> no, always use pnpm",
        "never mind, I found it",
    ],
)
def test_a_question_a_quotation_and_code_state_no_rule(text: str) -> None:
    assert read_reaction(text).rules == ()


def test_words_that_report_a_fault_reject_the_work_without_a_rule() -> None:
    assert read_reaction("no, customers see old prices now") == Reaction("failure", True)
    assert read_reaction("excel shows umlauts wrong") == Reaction("failure")


def test_words_that_say_nothing_of_the_work_are_no_sign() -> None:
    statuses = {
        "No, undo that.": "failure",
        "still failing": "failure",
        "Thanks!": "success",
        "Great, now the docs": "success",
        "no need to test it": None,
        "thanks but it still fails": "failure",
        "now add the docs": None,
    }
    assert {text: read_reaction(text).status for text in statuses} == statuses

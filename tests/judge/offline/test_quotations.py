"""Quotations keep their signs and units, and the count beside one is of those that state it."""

import re

import pytest

from skillvault.judge.offline.drafting import draft_account
from skillvault.judge.offline.judge import insight_text
from skillvault.learning.tries.insight import insights_of
from skillvault.model.brief import Case
from skillvault.model.records import Outcome
from skillvault.model.text.text import flatten
from tests.given import outcome, raw
from tests.learning.accounts import findings_of

QUOTES = ["-19", "-0.46 points", "+3 %", "−5", "-$5", "+.5", "-12 bps", "≥ 3 GB", "±2 °C"]


def failed(day: int, reasoning: str = "I try it.", **result: str) -> Outcome:
    """A failure with a reasoning and a result."""
    return outcome(raw(day, decision__reasoning=reasoning, result={"status": "failure", **result}))


def text_of(*outcomes: Outcome) -> str:
    """The sections of the guide about these outcomes."""
    draft = draft_account(findings_of(list(outcomes)))
    assert draft is not None
    return "\n".join(section for _, section in draft.sections)


@pytest.mark.parametrize("quote", QUOTES)
@pytest.mark.parametrize("key", ["answer", "summary", "evidence"])
def test_a_quotation_of_a_result_keeps_its_sign_and_unit(quote: str, key: str) -> None:
    value = quote if key == "answer" else f"{quote} at the end of it"
    one = failed(0, **{key: value})
    assert value in text_of(one)
    insight = insight_text(Case(outcome=one, insights=insights_of(one)))
    assert insight is not None
    assert value in insight.key_insight


@pytest.mark.parametrize("quote", QUOTES)
@pytest.mark.parametrize("lead", ["- ", "* ", "1. ", "> ", "# ", "- - "])
def test_a_mark_of_structure_goes_and_the_sign_behind_it_stays(lead: str, quote: str) -> None:
    assert flatten(lead + quote) == quote


TEXTS = [
    "Reg_alpha 0.1, reg_lambda {}",
    "The retry was set to {} seconds and broke",
    "I set the offset of the funding to {} here",
]
FIGURES = [("1.5", "0.05"), ("-3", "3"), ("5", "50"), ("−0.5 %", "0.5 %")]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("figures", FIGURES)
@pytest.mark.parametrize("key", ["lesson", "reasoning"])
def test_the_count_beside_a_deed_or_a_lesson_is_of_those_that_state_its_figures(
    key: str, figures: tuple[str, str], text: str
) -> None:
    first, second = (text.format(figure) for figure in figures)
    body = text_of(*(stating(day, key, words) for day, words in enumerate((first, first, second))))
    # Deeds of one kind share a line.
    parts = body.splitlines() if key == "lesson" else re.split(r"; |\n", body)
    lines = {
        words: next(part for part in parts if re.search(rf"{re.escape(words)}(?!\d)", part))
        for words in (first, second)
    }
    assert re.search(r"\b2 (?:of 2 |failed )?runs", lines[first])
    assert "runs" not in lines[second]


def stating(day: int, key: str, text: str) -> Outcome:
    """A failure that states a text under a key."""
    if key == "reasoning":
        return failed(day, text)
    fields = raw(day, decision__reasoning=None, lesson={"do": text})
    return outcome({**fields, "result": {"status": "failure"}})

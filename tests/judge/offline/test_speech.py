"""speech: what is said of counts is what the counts say."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from skillvault.model import phrases
from skillvault.model.conditions import Condition, describe_conditions, describe_rule
from skillvault.model.text.text import format_number, whole_sentences
from tests.given import START, outcome, raw
from tests.rules import EVENING


def test_what_counts_mean_is_told_in_both_directions() -> None:
    rule = replace(EVENING, result="failures", met=(5, 6), other=(1, 20))
    assert describe_rule(rule).endswith(": then 5 of 6 were failures, otherwise 1 of 20")


def test_episodes_are_told_if_they_are_fewer_and_the_late_ones_if_they_are_few() -> None:
    rule = replace(EVENING, episodes=(3, 40), lately=(1, 2))
    assert describe_rule(rule).endswith(
        ": then 5 of 55 were losses (on 3 occasions), in the later half 1 of 2, otherwise 1 of 124"
    )


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        ([("context", "trend", "is", "up")], "when trend is up"),
        ([("context", "is_live", "is not", True)], "when is live is not true"),
        ([("context", "spread", "at least", 3.0)], "with spread of 3 or more"),
        ([("context", "fill_ratio", "between", (0.38, 0.62))],
         "with fill ratio from 0.38 to below 0.62"),
        ([("context", "x", "outside", (1.0, 2.0))], "with x below 1 or of 2 and more"),
        ([("window", "made_at", "between", (6.0, 12.0))],
         "when decided between 06:00 and 12:00 UTC"),
        ([("day", "made_at", "is", "Monday")], "when decided on a Monday"),
        ([("word", "reasoning", "does not mention", "gut")],
         "when the reasoning does not mention 'gut'"),
        ([("context", "side", "is", "long"), ("target", "target", "is", "SOL")],
         "when side is long and target is SOL"),
        ([("context", "side", "is", "long"), ("number", "entry_value", "below", 500.0)],
         "when side is long and with entry value below 500"),
    ],
)  # fmt: skip
def test_conditions_read_as_a_clause(conditions: list[tuple[Any, ...]], said: str) -> None:
    assert describe_conditions([Condition(*fields) for fields in conditions]) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [("-19", "-19"), ("-.5 %", "-.5 %"), ("---", ""), ("- a\n# b", "a # b"), ("“x”", '"x"')],
)
def test_a_value_in_a_sentence_keeps_the_sign_of_a_number_and_no_mark(
    value: str, said: str
) -> None:
    assert phrases.inline(value) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, None), (45, "45 seconds"), (300, "5 minutes"), (7200, "2 hours"), (172_800, "2 days")],
)
def test_a_span_is_told_in_the_unit_a_person_would_choose(seconds: int, said: str | None) -> None:
    given = raw(0, decision__made_at=(START - timedelta(seconds=seconds)).isoformat())
    assert phrases.describe_duration(outcome(given)) == said


@pytest.mark.parametrize(
    ("text", "limit", "part"),
    [
        ("One. Two is longer.", 40, "One. Two is longer."),
        ("One is here. Two is longer.", 20, "One is here."),
        ("No stop at all, but a clause; and more of it", 30, "No stop at all, but a clause"),
        ("words without any end at all", 14, "words without"),
        ("sansblanc", 4, "sans"),
    ],
)
def test_a_long_text_is_told_in_whole_sentences_or_clauses(
    text: str, limit: int, part: str
) -> None:
    assert whole_sentences(text, limit) == part


@pytest.mark.parametrize(
    ("name", "limit", "kept"),
    [
        ("open_long on SOL", 40, "open_long on SOL"),
        ("open_long on SOL-PERP", 14, "open_long"),
        ("deploy and not", 40, "deploy"),
    ],
)
def test_a_name_ends_in_no_word_that_leaves_it_open(name: str, limit: int, kept: str) -> None:
    assert phrases.cut_name(name, limit) == kept


def test_a_number_has_six_digits_and_never_three_hundred() -> None:
    assert format_number(0.00003651) == "0.00003651"
    assert format_number(1e299) == "1e+299"

"""The conditions that a rule may have, and the names of their columns."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillvault.learning.contrast.condition_table import build_condition_table
from skillvault.learning.contrast.recorded_values import is_met
from skillvault.model.conditions import Condition, is_result_word
from skillvault.model.records import Outcome
from tests.learning.contrast.decisions import START, decision, decisions


def names(outcomes: list[Outcome]) -> set[Condition]:
    table = build_condition_table(outcomes)
    return {c for rule in [*table.conditions, *table.opposites] if rule for c in rule}


def some(**changes: Any) -> list[Outcome]:
    """Twelve outcomes of which each second one is changed."""
    return [decision(i, **(changes if i % 2 else {})) for i in range(12)]


@pytest.mark.parametrize(
    "changes",
    [
        {"failed": True},
        {"agent": "b"},
        {"context": {"agent": "b"}},
        {"context": {"status": "failure"}},
        {"context": {"result": "lost"}},
        {"context": {"score": -0.2}},
        {"confidence": 0.9},
        {"reasoning": "It succeeded, it failed, and tests passed."},
        {"reasoning": "A gut feeling.", "reasoning_at": "after"},
        {"reasoning": "A gut feeling.", "made_at": None},
        {"reasoning": "A gut feeling.", "made_at": START + timedelta(days=99)},
    ],
)
def test_what_is_known_only_after_the_result_is_no_condition(changes: dict[str, Any]) -> None:
    kinds = {condition.kind for condition in names(some(**changes))}
    assert kinds <= {"window", "day"}


def test_applied_skills_are_no_condition() -> None:
    outcomes = [decision(i) for i in range(12)]
    assert not {c for c in names(outcomes) if "skill" in c.key}


def test_a_reasoning_from_before_the_result_is_compared_among_those_that_have_one() -> None:
    outcomes = [decision(i, reasoning="gut feeling" if i % 3 else "model") for i in range(12)]
    silent = [decision(i) for i in range(12, 18)]
    table = build_condition_table([*outcomes, *silent])
    column = next(i for i, rule in enumerate(table.conditions) if rule[0].kind == "word")
    assert table.recorded[column].sum() == 12


@pytest.mark.parametrize("word", ["successfully", "failed", "passed", "winning", "incorrectly"])
def test_words_of_success_and_failure_are_none(word: str) -> None:
    assert is_result_word(word)


@pytest.mark.parametrize("word", ["window", "loan", "passive", "winter", "stop-loss"])
def test_other_words_are_not_taken_for_them(word: str) -> None:
    assert not is_result_word(word)


def test_a_number_has_cuts_and_bands() -> None:
    outcomes = [decision(i, context={"fill": i / 40}) for i in range(40)]
    operators = {c.op for c in names(outcomes) if c.key == "fill"}
    assert operators == {"at least", "below", "between", "outside"}


def test_pairs_are_of_two_recorded_ones_of_different_keys() -> None:
    outcomes = decisions(1, lambda *_: 0.3, reasoning="a gut feeling")
    pairs = [rule for rule in build_condition_table(outcomes).conditions if len(rule) == 2]
    assert pairs
    for a, b in pairs:
        assert a.key != b.key
        assert {a.kind, b.kind} <= {"context", "target", "number"}


def test_conditions_that_say_the_same_are_one_column_by_the_more_general_name() -> None:
    storms = [i % 3 == 0 for i in range(30)]
    outcomes = [
        decision(i, context={"regime": "storm" if storm else "calm", "wind": storm})
        for i, storm in enumerate(storms)
    ]
    table = build_condition_table(outcomes)
    named = [rule for rule in table.conditions if rule[0].kind == "context"]
    assert named == [(Condition("context", "regime", "is", "calm"),)]
    opposite = table.opposites[table.conditions.index(named[0])]
    assert opposite == (Condition("context", "regime", "is", "storm"),)


SPARSE = st.fixed_dictionaries(
    {},
    optional={
        "regime": st.sampled_from(["calm", "storm", "fog"]),
        "size": st.sampled_from([0.5, 1, 2, 7, "large"]),
        "news": st.booleans(),
    },
)


@settings(max_examples=40, deadline=None)
@given(st.lists(SPARSE, min_size=12, max_size=30))
def test_a_rule_holds_for_the_outcomes_of_its_column(contexts: list[dict[str, Any]]) -> None:
    outcomes = [
        decision(i, context=context, target=None if i % 5 else "EUR", reasoning="gut " * (i % 4))
        for i, context in enumerate(contexts)
    ]
    table = build_condition_table(outcomes)
    for column, rule in enumerate(table.conditions):
        for i, outcome in enumerate(outcomes):
            met = [is_met(condition, outcome) for condition in rule]
            assert (None in met) == (not table.recorded[column, i])
            assert all(met) == table.truth[column, i]

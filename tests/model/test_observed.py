"""Of a decision's outcomes the strongest observer's counts, completed by what the agent said."""

from itertools import permutations
from typing import Any

import pytest

from skillvault.model.decision_outcomes import (
    NEXT_WORDS,
    choose_outcome,
    complete_outcomes,
    observer_rank,
)
from skillvault.model.errors import BadInputError
from skillvault.model.records import OBSERVERS, Outcome
from tests.given import outcome, raw, recommendation


def seen(by: str = "ci", status: str = "failure", day: int = 1, **changes: Any) -> Outcome:
    """Make an outcome that states a result alone: its decision, its status and its observer."""
    result = {"status": status, "observed_by": by, "evidence": "assert 504 == 200"}
    fields: dict[str, Any] = {"decision": {"id": "d-1"}, "result": result, "source": {}}
    return outcome(raw(day, **{**fields, **changes}))


def claimed(day: int = 0, **changes: Any) -> Outcome:
    """Make an outcome whose agent claims a success itself."""
    result = {"status": "success", "summary": "All checks pass now."}
    return outcome(raw(day, **{"decision__id": "d-1", "result": result, **changes}))


def test_observers_are_ordered_from_the_ci_to_the_agent() -> None:
    assert sorted(OBSERVERS, key=observer_rank, reverse=True) == [
        *("ci", "tests", "verifier", "exit-code", "commit", "person", "agent"),
    ]


def test_what_a_hook_tells_stands_below_all_but_the_agents_word() -> None:
    direct = [observer_rank(observer) for observer in OBSERVERS if observer != "agent"]
    told = [observer_rank(observer, "hook") for observer in OBSERVERS if observer != "agent"]
    assert (
        min(direct)
        > max(told)
        > min(told)
        > observer_rank("agent")
        >= observer_rank("agent", "hook")
    )


def test_the_strongest_observer_counts_then_the_latest() -> None:
    weak, strong, later = seen("commit", day=5), seen("tests", day=1), seen("tests", day=2)
    for order in permutations([claimed(9), weak, strong, later]):
        assert choose_outcome(order) == later
    assert choose_outcome([claimed(0), claimed(1)]) == claimed(1)
    assert choose_outcome([]) is None


def test_a_person_who_rejects_the_work_outranks_a_test() -> None:
    said = {"status": "failure", "observed_by": "person", "summary": f"{NEXT_WORDS}no, undo that"}
    rejection, passed_test = seen("person", day=1, result=said), seen("tests", day=2)
    for order in permutations([rejection, passed_test]):
        assert choose_outcome(order) == rejection


def test_a_result_alone_is_completed_by_what_the_agent_said() -> None:
    told = claimed(context={"ci_load": "high"}, applied=["guide-a"], lesson={"do": "mock time"})
    for order in permutations([told, seen(context={"tool": "pytest"})]):
        joined = {one.outcome.id: one for one in complete_outcomes(order, [])}
        counted = joined[seen(context={"tool": "pytest"}).id]
        assert counted.counts
        assert not joined[told.id].counts
        result = counted.outcome
        assert result.subject == told.subject
        assert result.decision.reasoning == told.decision.reasoning
        assert result.decision.made_at == told.decision.made_at
        assert result.source.agent == "coder-1"
        assert (result.applied, result.lesson) == (told.applied, told.lesson)
        assert result.context == {"ci_load": "high"}  # not what was known after the end
        assert result.result.status == "failure"
        assert (result.result.claimed, result.result.claim) == ("success", "All checks pass now.")
        assert result.is_claim_refused


def test_applied_stays_absent_where_nobody_could_see_it() -> None:
    (counted,) = (one for one in complete_outcomes([claimed(), seen()], []) if one.counts)
    assert counted.outcome.applied is None


def test_what_a_result_says_itself_is_not_replaced() -> None:
    full = outcome(
        raw(1, decision__id="d-1", applied=[], result={"status": "failure", "observed_by": "ci"})
    )
    (counted,) = (
        one for one in complete_outcomes([claimed(applied=["guide-a"]), full], []) if one.counts
    )
    assert counted.outcome.applied == ()
    assert counted.outcome.decision.reasoning == full.decision.reasoning


def test_agents_and_trusts_are_counted_apart() -> None:
    other = claimed(2, source={"agent": "coder-2"})
    foreign = outcome(raw(3, decision__id="d-1"), trust="untrusted")
    joined = complete_outcomes([claimed(), seen(), other, foreign], [])
    assert {one.outcome.id for one in joined if one.counts} == {seen().id, other.id, foreign.id}
    of_first = next(one.outcome for one in joined if one.outcome.id == seen().id)
    assert of_first.source.agent == "coder-1"  # whose outcome was the first


def test_without_an_outcome_a_result_is_of_whom_the_receipt_names() -> None:
    receipt = recommendation(decision="d-1", agent="coder-7")
    (one,) = complete_outcomes([seen()], [receipt])
    assert one.counts
    assert one.outcome.source.agent == "coder-7"
    assert not one.outcome.is_described


@pytest.mark.parametrize("key", ["id", "observed_by"])
def test_what_says_no_action_must_be_somebody_elses_word_on_a_decision(key: str) -> None:
    decision = {} if key == "id" else {"id": "d-1"}
    result = {"status": "failure", **({} if key == "observed_by" else {"observed_by": "ci"})}
    with pytest.raises(BadInputError, match=r"^decision\.action: missing; add it$"):
        outcome(raw(decision=decision, result=result))


def test_an_unknown_observer_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BadInputError, match=r"^result\.observed_by: .* write ci, tests, "):
        outcome(raw(result={"status": "failure", "observed_by": "bot"}))


def test_ids_do_not_depend_on_the_new_keys_place_in_the_format() -> None:
    one = seen()
    assert one.received == seen().received
    assert one.extra == one.result.extra == {}


def added(day: int, do: str) -> Outcome:
    """Make an outcome that adds a lesson to the decision afterwards."""
    result = {"status": "neutral", "observed_by": "person"}
    fields: dict[str, Any] = {"decision": {"id": "d-1"}, "result": result, "source": {}}
    return outcome(raw(day, **fields, lesson={"do": do}))


@pytest.mark.parametrize("said", [claimed(), claimed(lesson={"do": "retry"})])
def test_a_lesson_that_was_added_stands_in_every_result_and_never_counts(said: Outcome) -> None:
    lessons = [added(2, "Mock the clock."), added(3, "Freeze the clock.")]
    for results in ([said], [said, seen()]):
        for order in permutations([*results, *lessons]):
            joined = complete_outcomes(order, [])
            (counted,) = (one.outcome for one in joined if one.counts)
            assert counted.id == results[-1].id
            assert counted.result.status == results[-1].result.status
            assert counted.lesson == lessons[-1].lesson  # the latest


def test_a_lesson_counts_as_no_result_where_nothing_else_is_known() -> None:
    assert choose_outcome([added(1, "Mock the clock.")]) is None

"""Conditions: recorded values, except for those that name the frame or the result."""

from skillvault.model.brief import blind_case
from skillvault.model.conditions import conditions_of
from tests.given import outcome, raw

FRAME = {"client": "codex", "model": "m-1", "branch": "main", "repository": "shop"}
RESULT = {"pnl_pct": -3.5, "is_success": False, "exit_reason": "stop", "duration_s": 60}


def test_the_frame_and_the_result_are_no_condition() -> None:
    recorded = outcome(raw(context={**FRAME, **RESULT, "trend": "up", "stop_loss": -0.1}))
    assert conditions_of(recorded) == {"trend": "up", "stop_loss": -0.1}


def test_a_judge_of_the_decision_does_not_see_its_result_in_the_context() -> None:
    assert blind_case(outcome(raw(context={**RESULT, "trend": "up"}))).context == {"trend": "up"}

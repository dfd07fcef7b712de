"""Trials: reward or exception is the result, the verifier's report the evidence."""

import json
from pathlib import Path
from typing import Any

import pytest

from skillvault.exchange import formats
from skillvault.model.errors import BadInputError
from tests.exchange.given import one, outcomes, read, refused, shared, written

PASSED = "harbor/citation-check__bGmgnv8"
FAILED = "harbor/exoplanet-detection-period__32bfa7"
REPORT = {
    "results": {
        "tool": {"name": "pytest"},
        "summary": {"start": 1769395586000, "stop": 1769395587000},
        "tests": [{"name": "test_a", "status": "failed", "trace": "E   assert 1 == 2"}],
    }
}


def trial(**changes: Any) -> dict[str, Any]:
    """A trial's result with the given keys instead."""
    return {
        "id": "t-1",
        "task_name": "fix-bug",
        "config": {"job_id": "job-1", "agent": {"name": "coder", "model_name": "m-1"}},
        "verifier_result": {"rewards": {"reward": 1.0}},
        "started_at": "2026-01-26T02:00:00",
        "finished_at": "2026-01-26T03:00:00",
        **changes,
    }


def result_of(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    """The result of a trial with the given keys."""
    found = one("harbor", written(tmp_path / "fix-bug__1" / "result.json", trial(**changes)))
    result: dict[str, Any] = found["result"]
    return result


def test_a_real_trial_names_task_agent_model_and_job() -> None:
    raw = json.loads((shared(PASSED) / "result.json").read_text(encoding="utf-8"))
    found = one("harbor", shared(PASSED))
    assert found["decision"]["action"] == "citation-check"
    assert found["decision"]["made_at"] == "2026-01-26T02:24:45.626283Z"
    assert found["occurred_at"] == "2026-01-26T02:28:19.997808Z"
    assert found["event_id"] == raw["id"]
    assert found["source"] == {
        "agent": raw["agent_info"]["name"],
        "batch": raw["config"]["job_id"],
    }
    assert found["context"] == {
        "model": raw["agent_info"]["model_info"]["name"],
        "environment": "docker",
    }
    assert found["domain"] == "coding"


def test_the_folder_and_its_result_file_are_the_same_trial() -> None:
    folder = shared(PASSED)
    assert read("harbor", folder) == read("harbor", folder / "result.json")


def test_a_trial_with_only_a_report_is_read_through_it() -> None:
    found = one("harbor", shared(FAILED))
    assert found["decision"]["action"] == "exoplanet-detection-period"
    assert found["result"]["status"] == "failure"
    assert "E       AssertionError: Period file not found" in found["result"]["evidence"]
    assert found == one("harbor", shared(FAILED) / "verifier" / "ctrf.json")


def test_a_folder_of_trials_is_read_in_the_order_of_names() -> None:
    labels = [label for label, _ in formats.read_outcomes("harbor", shared("harbor"))]
    assert labels == ["citation-check-bgmgnv8-1", "exoplanet-detection-period-32bfa7-2"]


def test_a_jobs_own_result_is_no_trial(tmp_path: Path) -> None:
    written(tmp_path / "job" / "result.json", {"n_total_trials": 2, "stats": {}})
    for name in ("b__2", "a__1"):
        written(tmp_path / "job" / name / "result.json", trial(id=name))
    found = read("harbor", tmp_path)
    assert [item["event_id"] for item in found] == ["a__1", "b__2"]


def test_a_bad_trial_of_a_folder_is_one_value(tmp_path: Path) -> None:
    written(tmp_path / "a__1" / "result.json", "{")
    written(tmp_path / "b__2" / "result.json", trial(finished_at=None))
    written(tmp_path / "c__3" / "result.json", trial())
    broken, running, good = [item for _, item in formats.read_outcomes("harbor", tmp_path)]
    assert isinstance(broken, BadInputError)
    assert broken.message.startswith("a__1/result.json: ")
    assert isinstance(running, BadInputError)
    assert running.key == "finished_at"
    assert isinstance(good, dict)


def test_a_folder_without_a_trial_says_what_it_should_hold(tmp_path: Path) -> None:
    assert "no trial inside" in refused("harbor", tmp_path).message


@pytest.mark.parametrize(
    ("rewards", "status", "reward"),
    [
        ({"reward": 1.0}, "success", 1.0),
        ({"reward": 2}, "success", 2),
        ({"reward": 0.99}, "failure", 0.99),
        ({"reward": 0.0}, "failure", 0.0),
        ({"reward": None}, "neutral", None),
        ({"style": 1.0, "tests": 0.5}, "failure", 0.5),
        ({}, "neutral", None),
        (None, "neutral", None),
    ],
)
def test_a_reward_of_one_or_more_is_a_success_and_is_no_score(
    tmp_path: Path, rewards: dict[str, float] | None, status: str, reward: float | None
) -> None:
    result = result_of(tmp_path, verifier_result={"rewards": rewards})
    assert result["status"] == status
    assert result.get("reward") == reward
    assert "score" not in result


def test_an_exception_is_a_failure_with_its_text_as_evidence(tmp_path: Path) -> None:
    told = {
        "exception_type": "AgentTimeoutError",
        "exception_message": "timed out after 900 s",
        "exception_traceback": "Traceback …\nAgentTimeoutError: timed out after 900 s\n",
    }
    result = result_of(tmp_path, exception_info=told, verifier_result=None)
    assert result["status"] == "failure"
    assert result["summary"] == "AgentTimeoutError: timed out after 900 s, not graded"
    assert result["evidence"].endswith("AgentTimeoutError: timed out after 900 s")
    assert result["exception_type"] == "AgentTimeoutError"


def test_the_reports_failing_tests_are_the_evidence(tmp_path: Path) -> None:
    written(tmp_path / "fix-bug__1" / "verifier" / "ctrf.json", REPORT)
    result = result_of(tmp_path, verifier_result={"rewards": {"reward": 0.0}})
    assert result["summary"] == "reward 0, 1 failed of 1"
    assert result["evidence"] == "FAILED test_a\nE   assert 1 == 2"


def test_an_unreadable_report_takes_nothing_from_the_trial(tmp_path: Path) -> None:
    written(tmp_path / "fix-bug__1" / "verifier" / "ctrf.json", "{")
    result = result_of(tmp_path)
    assert result["status"] == "success"
    assert "fix-bug__1/verifier/ctrf.json: line 1: not valid JSON" in result["evidence"]


def test_the_agents_own_words_are_the_reasoning(tmp_path: Path) -> None:
    steps = [
        {"source": "user", "message": "Fix the bug."},
        {"source": "agent", "reasoning_content": "I read the test.", "message": "Reading."},
        {"source": "agent", "message": [{"type": "text"}], "observation": {"results": ["secret"]}},
    ]
    written(tmp_path / "agent" / "trajectory.json", {"steps": steps})
    found = one("harbor", written(tmp_path / "result.json", trial()))
    assert found["decision"]["reasoning"] == "I read the test.\n\nReading."


@pytest.mark.parametrize(
    ("message", "task"),
    [
        ("Fix the bug.\n", "Fix the bug."),
        ([{"type": "text", "text": "Fix"}, {"type": "image"}, {"text": "it."}], "Fix\n\nit."),
        (None, None),
        (["Fix"], None),
    ],
)
def test_what_the_user_said_first_is_the_task(
    tmp_path: Path, message: Any, task: str | None
) -> None:
    steps = [
        {"source": "system", "message": "You are an agent."},
        {"source": "user", "message": message},
        {"source": "agent", "message": "Reading."},
        {"source": "user", "message": "Go on."},
    ]
    folder = tmp_path / "fix-bug__1"
    written(folder / "agent" / "trajectory.json", {"steps": steps})
    written(folder / "verifier" / "ctrf.json", REPORT)
    assert one("harbor", folder)["decision"].get("task") == task
    assert one("harbor", folder / "verifier" / "ctrf.json") == one("harbor", folder)
    written(folder / "result.json", trial())
    assert one("harbor", folder)["decision"].get("task") == task


@pytest.mark.parametrize(("reward", "evidence"), [(0.0, "E   assert 24 == 23"), (1.0, None)])
def test_without_a_report_what_the_verifier_printed_is_the_evidence(
    tmp_path: Path, reward: float, evidence: str | None
) -> None:
    printed = "collected 1 item\n\x1b[31mE   assert 24 == 23\x1b[0m\n1 failed\n"
    written(tmp_path / "fix-bug__1" / "verifier" / "test-stdout.txt", printed)
    result = result_of(tmp_path, verifier_result={"rewards": {"reward": reward}})
    assert result.get("evidence") == evidence


def test_a_broken_trajectory_takes_nothing_from_the_trial(tmp_path: Path) -> None:
    written(tmp_path / "agent" / "trajectory.json", "{")
    found = one("harbor", written(tmp_path / "result.json", trial()))
    assert "reasoning" not in found["decision"]


def test_made_at_is_the_trials_start_where_the_agents_is_absent(tmp_path: Path) -> None:
    found = one("harbor", written(tmp_path / "result.json", trial()))
    assert found["decision"]["made_at"] == "2026-01-26T02:00:00Z"
    assert (found["source"]["agent"], found["context"]["model"]) == ("coder", "m-1")


def test_nothing_of_the_result_stands_before_it() -> None:
    for found in outcomes(read("harbor", shared("harbor"))):
        assert not {"reward", "status", "failed", "cost_usd"} & set(found.context)

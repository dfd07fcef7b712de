"""Read trials of the agent benchmark runner Harbor, with one outcome for each trial.

A path is a trial's result.json, a trial's folder, or a folder of many trials. The evidence of a
failure is the verifier's test report, or its printed output if there is no report.
"""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from skillvault.exchange import ctrf, source_file
from skillvault.exchange.source_file import ReadResult, Section, drop_empty, file_label
from skillvault.exchange.suite_report import failing_assertion, outcome_of, task_of
from skillvault.model.errors import BadInputError
from skillvault.model.records import Scalar, stamp
from skillvault.model.text.text import cut_between_words, shorten

_DOMAIN = "coding"
_MAX_DEPTH = 3  # folders: all jobs, a job, a trial
_MAX_REASONING, _MAX_EXCEPTION = 16 * 1024, 4 * 1024  # characters
_MAX_OUTPUT = 256 * 1024  # bytes read from the end of the verifier's output
_TRAJECTORY = "agent/trajectory.json"
_USAGE_KEYS = ("n_input_tokens", "n_output_tokens", "cost_usd")


def read_trials(path: Path, domain: str | None) -> Iterator[ReadResult]:
    """Yield each trial, sorted by folder name."""
    if not path.is_dir():
        return _read_file(path, domain)
    trials = list(_find_trials(path, _MAX_DEPTH))
    if not trials:
        raise BadInputError(
            f"{file_label(path)}: no trial inside; expected a folder with result.json or "
            "verifier/ctrf.json; give a trial's or a job's folder",
            code="missing-key",
        )
    return (
        source_file.try_convert(
            source_file.record_label(folder.absolute().name, number),
            partial(_read_trial, folder, domain),
        )
        for number, folder in enumerate(trials, start=1)
    )


def _read_file(path: Path, domain: str | None) -> Iterator[ReadResult]:
    if path.name == "ctrf.json":
        return iter([(source_file.record_label(path.stem, 1), _read_report_outcome(path, domain))])
    name = path.absolute().parent.name if path.name == "result.json" else path.stem
    return iter([(source_file.record_label(name, 1), _read_outcome(path, domain))])


def _read_trial(folder: Path, domain: str | None) -> dict[str, Any]:
    if (folder / "result.json").is_file():
        return _read_outcome(folder / "result.json", domain)
    return _read_report_outcome(folder / "verifier" / "ctrf.json", domain)


def _read_report_outcome(report: Path, domain: str | None) -> dict[str, Any]:
    outcome = outcome_of(ctrf.read_report(report), report, domain)
    instruction = _instruction(report.absolute().parent.parent / _TRAJECTORY)
    if instruction and task_of(report):
        outcome["decision"] = {"task": instruction, **outcome["decision"]}
    return outcome


def _find_trials(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the trial folders at or below a folder. A job's result.json is not a trial."""
    if _is_trial(folder):
        yield folder
    elif depth:
        try:
            folders = sorted(p for p in folder.iterdir() if p.is_dir() and not p.is_symlink())
        except OSError as error:
            raise source_file.unreadable_error(folder, error) from None
        for child in folders:
            yield from _find_trials(child, depth - 1)


def _is_trial(folder: Path) -> bool:
    if (folder / "verifier" / "ctrf.json").is_file():
        return True
    if not (folder / "result.json").is_file():
        return False
    try:
        return "task_name" in _read_section(folder / "result.json").values
    except BadInputError:
        return True  # the import then shows its error instead of skipping the trial


def _read_section(path: Path) -> Section:
    return Section.of(
        source_file.parse_json(source_file.read_bytes(path), file_label(path)), file_label(path)
    )


# ── a trial ──────────────────────────────────────────────────────────────────────────


def _read_outcome(path: Path, domain: str | None) -> dict[str, Any]:
    trial = _read_section(path)
    config = trial.section("config")
    started_at = trial.section("agent_execution").maybe_time("started_at")
    started_at = started_at or trial.maybe_time("started_at")
    agent = trial.section("agent_info").maybe_text("name")
    agent = agent or config.section("agent").maybe_text("name")
    return drop_empty(
        event_id=trial.maybe_text("id"),
        domain=domain or _DOMAIN,
        occurred_at=stamp(trial.time("finished_at")),
        decision=drop_empty(
            task=_instruction(path.parent / _TRAJECTORY),
            action=trial.text("task_name"),
            reasoning=_reasoning(path.parent / _TRAJECTORY),
            made_at=stamp(started_at) if started_at else None,
        ),
        result=_result(trial, path.parent),
        context=_trial_context(trial, config) or None,
        source=drop_empty(agent=agent, batch=config.maybe_text("job_id")),
    )


def _trial_context(trial: Section, config: Section) -> dict[str, Scalar]:
    agent = trial.section("agent_info")
    version = agent.maybe_text("version")
    model = agent.section("model_info").maybe_text("name")
    return drop_empty(
        model=model or config.section("agent").maybe_text("model_name"),
        agent_version=None if version == "unknown" else version,
        environment=config.section("environment").maybe_text("type"),
        dataset=trial.maybe_text("source"),
    )


def _result(trial: Section, folder: Path) -> dict[str, Any]:
    reward = _reward(trial)
    exception = trial.section("exception_info")
    report = _report_result(folder)
    has_failed = bool(exception.values) or (reward is not None and reward < 1)
    status = "failure" if has_failed else "neutral" if reward is None else "success"
    execution = trial.section("agent_execution")
    start, stop = execution.maybe_time("started_at"), execution.maybe_time("finished_at")
    minutes = round((stop - start).total_seconds() / 60, 1) if start and stop else None
    agent = trial.section("agent_result").values
    usage = {key.removeprefix("n_"): agent.get(key) for key in _USAGE_KEYS}
    return drop_empty(
        status=status,
        summary=_summary(reward, exception, report),
        evidence=_evidence(exception, report) or (_printed_evidence(folder) if has_failed else ""),
        reward=reward,
        exception_type=exception.maybe_text("exception_type"),
        duration_minutes=minutes,
        **{key: number for key, number in usage.items() if isinstance(number, int | float)},
    )


def _reward(trial: Section) -> float | None:
    """Return the reward of a trial, or the lowest reward if none has the usual name."""
    rewards = trial.section("verifier_result").section("rewards")
    if "reward" in rewards.values:
        return rewards.maybe_number("reward")
    numbers = [rewards.maybe_number(name) for name in rewards.values]
    return min((number for number in numbers if number is not None), default=None)


def _report_result(folder: Path) -> Mapping[str, Any]:
    """Return the counts and failing tests in the verifier's report, or {} without a report."""
    path = folder / "verifier" / "ctrf.json"
    if not path.is_file():
        return {}
    try:
        outcome = outcome_of(ctrf.read_report(path), path, None)
    except BadInputError as error:
        # The trial's reward is valid without the report.
        return {"evidence": f"the verifier's report could not be read: {error.message}"}
    result: Mapping[str, Any] = outcome["result"]
    return result


def _summary(reward: float | None, exception: Section, report: Mapping[str, Any]) -> str:
    parts = []
    if exception.values:
        message = exception.maybe_text("exception_message") or ""
        kind = exception.maybe_text("exception_type") or "exception"
        parts.append(shorten(f"{kind}: {message}" if message else kind, 200))
    parts.append("not graded" if reward is None else f"reward {reward:g}")
    return ", ".join([*parts, *filter(None, [report.get("summary")])])


def _evidence(exception: Section, report: Mapping[str, Any]) -> str:
    """Return the exception with the end of its traceback, followed by the failed tests."""
    trace = exception.maybe_text("exception_traceback") or ""
    message = exception.maybe_text("exception_message") or ""
    exception_text = trace if message in trace else f"{message}\n{trace}"
    if len(exception_text) > _MAX_EXCEPTION:
        exception_text = _drop_first_word(exception_text[-_MAX_EXCEPTION:])
    return "\n\n".join(filter(None, [exception_text.strip(), report.get("evidence")]))


def _drop_first_word(text: str) -> str:
    """Drop the first word of a text, because the text may begin inside a secret."""
    return re.sub(r"\A\S+", "", text)


def _printed_evidence(folder: Path) -> str:
    """Return the lines of the verifier's output that compare expected and actual values."""
    path = folder / "verifier" / "test-stdout.txt"
    if not path.is_file():
        return ""
    start = max(0, path.stat().st_size - _MAX_OUTPUT)
    with path.open("rb") as file:
        file.seek(start)
        text = file.read().decode(errors="replace")
    return failing_assertion(_drop_first_word(text) if start else text)


def _reasoning(path: Path) -> str:
    agent_steps = [step for step in _read_steps(path) if step.get("source") == "agent"]
    texts = [step.get(key) for step in agent_steps for key in ("reasoning_content", "message")]
    text = "\n\n".join(part.strip() for part in texts if isinstance(part, str) and part.strip())
    return cut_between_words(text, _MAX_REASONING).rstrip()


def _instruction(path: Path) -> str:
    user_step = next((step for step in _read_steps(path) if step.get("source") == "user"), {})
    message = user_step.get("message")
    parts = message if isinstance(message, list) else [{"text": message}]
    texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
    text = "\n\n".join(content.strip() for content in texts if isinstance(content, str))
    return cut_between_words(text, _MAX_REASONING).strip()


def _read_steps(path: Path) -> list[Mapping[str, Any]]:
    """Return the steps of a trajectory, or [] if the optional file is missing or unreadable."""
    if not path.is_file():
        return []
    try:
        steps = _read_section(path).list_of("steps")
    except BadInputError:
        return []
    return [step for step in steps if isinstance(step, Mapping)]

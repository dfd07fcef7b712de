"""An entry point knows who saw how a decision ended; an agent's claim never decides it."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from mcp_types import CallToolResult

from skillvault.api import Vault
from skillvault.cli import mcp_server
from skillvault.cli.commands import cli
from skillvault.clients.agents import AGENT_VARIABLES
from skillvault.model.records import OBSERVERS
from skillvault.sessions.closing import Closing
from tests import forked
from tests.conftest import NOW
from tests.given import as_file, raw

SAID = ("ci", "tests", "verifier", "exit-code", "commit", "person")
FAILED = {"status": "failure", "evidence": "assert 504 == 200"}
JUNIT = '<testsuite timestamp="2026-11-19T09:00:00Z"><testcase name="a" time="1"/></testsuite>'


def said(by: str, decision: str, **changes: Any) -> dict[str, Any]:
    """An outcome that names somebody as its observer."""
    return raw(decision__id=decision, result={**FAILED, "observed_by": by}, **changes)


def ending(vault: Vault, decision: str) -> tuple[str, str, str | None]:
    stats = vault.stats(decision=decision)
    return stats["outcome"], stats["observed_by"], stats["via"]


def claim(vault: Vault, *decisions: str) -> None:
    """Let an agent describe decisions, and leave their ends open."""
    claims = [raw(decision__id=name, result={"status": "neutral"}) for name in decisions]
    vault.record([(f"{n}.json", as_file(one)) for n, one in enumerate(claims)], now=NOW)


@pytest.fixture(params=sorted(AGENT_VARIABLES))
def agents_mark(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """In a session of each agent."""
    monkeypatch.setenv(request.param, "1")
    return str(request.param)


def test_a_file_in_the_inbox_is_the_agents_word_whatever_it_says(vault: Vault) -> None:
    claim(vault, *(f"r-{by}" for by in SAID))
    for by in SAID:
        name = f"seen-{'0' * 32}-{by}.json"  # as the program names its own
        (vault.root / "inbox" / name).write_bytes(as_file(said(by, f"d-{by}")))
        alone = {"domain": "coding", "occurred_at": NOW.isoformat(), "decision": {"id": f"r-{by}"}}
        alone["result"] = {**FAILED, "observed_by": by, "via": "hook"}
        (vault.root / "inbox" / f"{by}.json").write_bytes(as_file(alone))
    vault.run(["record"], now=NOW, patience=10)
    for by in SAID:
        assert ending(vault, f"d-{by}") == ending(vault, f"r-{by}") == ("failure", "agent", None)


def test_what_the_program_puts_there_keeps_its_observer_as_long_as_it_waits(vault: Vault) -> None:
    closing = Closing(status="failure", observed_by="ci")
    assert vault.close("d-1", closing, now=NOW).waiting
    (name,) = vault.inbox.names()
    waiting = vault.root / "inbox" / name
    forged = waiting.read_bytes().replace(b"d-1", b"d-2").replace(b"failure", b"success")
    waiting.with_name(name.replace("result", "forged")).write_bytes(forged)
    claim(vault, "d-1", "d-2")
    vault.run(["record"], now=NOW, patience=10)
    assert ending(vault, "d-1") == ("failure", "ci", None)
    assert ending(vault, "d-2") == ("success", "agent", None)
    key = vault.root / ".git/skillvault/inbox.key"
    assert key.stat().st_mode & 0o777 == 0o600


def test_in_an_agents_session_no_command_names_another_observer(
    vault: Vault, agents_mark: str, tmp_path: Path
) -> None:
    (tmp_path / "r.xml").write_text(JUNIT)
    (tmp_path / "o.jsonl").write_bytes(as_file(said("ci", "d-jsonl")) + b"\n")
    ways: dict[str, tuple[str, ...]] = {
        "d-ci": ("close", "d-ci", "--status", "failure", "--by", "ci", "--domain", "coding"),
        "d-person": ("close", "d-person", "--status", "failure", "--domain", "coding"),
        "d-tests": ("close", "d-tests", "--junit", str(tmp_path / "r.xml"), "--domain", "coding"),
        "d-run": ("close", "d-run", "--domain", "coding", "--run", "--", sys.executable, "-V"),
        "d-import": (
            *("import", "junit", str(tmp_path / "r.xml"), "--decision", "d-import"),
            *("--domain", "coding"),
        ),
        "d-jsonl": ("import", "jsonl", str(tmp_path / "o.jsonl")),
        "d-record": ("record", "-"),
    }
    claim(vault, *ways)
    for decision, words in ways.items():
        told = json.dumps(said("ci", decision)) if words[0] == "record" else None
        args = ["--vault", str(vault.root), words[0], "--now", NOW.isoformat(), *words[1:]]
        result = CliRunner().invoke(cli, args, input=told)
        assert result.exit_code == 0, result.output
        assert ending(vault, decision)[1] == "agent", decision
        if words[0] == "close":
            assert f"({agents_mark})" in result.stderr
    with vault.decision("coding", "Fix it", id="d-with", now=NOW) as open_decision:
        open_decision.succeed(observed_by="tests")
    assert ending(vault, "d-with")[1] == "agent"


def test_outside_of_one_each_command_names_its_observer(vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "o.jsonl").write_bytes(as_file(said("ci", "d-jsonl")) + b"\n")
    vault.import_files("jsonl", [tmp_path / "o.jsonl"], now=NOW)
    vault.record(said("verifier", "d-record"), now=NOW)
    assert ending(vault, "d-jsonl") == ("failure", "ci", None)
    assert ending(vault, "d-record") == ("failure", "verifier", None)


def test_by_mcp_the_agent_saw_it_whatever_it_says(vault: Vault) -> None:
    server = mcp_server.server_of(vault)
    claim(vault, *(f"d-{by}" for by in SAID))
    for by in SAID:
        close = {"decision": f"d-{by}", "status": "failure", "observed_by": by}
        record = {"outcome": said(by, f"r-{by}")}
        for tool, arguments in (("close", close), ("record", record)):
            result = asyncio.run(server.call_tool(tool, arguments))
            assert isinstance(result, CallToolResult)
            assert not result.is_error
        assert ending(vault, f"d-{by}") == ending(vault, f"r-{by}") == ("failure", "agent", None)


@pytest.mark.parametrize("weaker", OBSERVERS[1:])
def test_a_weaker_observer_never_replaces_a_stronger_one(vault: Vault, weaker: Any) -> None:
    stronger = OBSERVERS[OBSERVERS.index(weaker) - 1]
    claim(vault, "d-1")
    closings = [Closing(status="failure", observed_by=stronger, domain="coding")]
    closings += [Closing(status="success", observed_by=weaker, domain="coding")] * 2
    for closing in closings:
        vault.close("d-1", closing, now=NOW)
    assert ending(vault, "d-1") == ("failure", stronger, None)


def test_the_same_report_counts_for_the_tests_though_the_agent_brought_it_first(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "r.xml").write_text(JUNIT)
    reports = [tmp_path / "r.xml"]
    claim(vault, "d-1")
    with monkeypatch.context() as session:
        session.setenv("CLAUDECODE", "1")
        vault.import_files("junit", reports, domain="coding", decision="d-1", now=NOW)
    assert ending(vault, "d-1")[1] == "agent"
    vault.import_files("junit", reports, domain="coding", decision="d-1", now=NOW)
    assert ending(vault, "d-1")[1] == "tests"


def test_a_hook_of_a_process_approves_nothing_and_stands_below_a_person(
    prepared: Callable[[Callable[[Vault], object]], Vault], tmp_path: Path
) -> None:
    vault = prepared(_propose)
    (waiting,) = vault.store.snapshot().skills.proposed
    words = f"thanks, great! Approve {waiting} now: skillvault skill approve {waiting}"
    events: list[tuple[str, dict[str, Any]]] = [
        ("UserPromptSubmit", {"prompt_id": "p-1", "prompt": "Fix the test"}),
        (
            "PostToolUse",
            {"tool_name": "Edit", "tool_use_id": "t", "tool_input": {"file_path": "a"}},
        ),
        ("Stop", {"prompt_id": "p-1", "last_assistant_message": '{"status": "success"}'}),
        ("UserPromptSubmit", {"prompt_id": "p-2", "prompt": words}),
        ("SessionEnd", {}),
    ]
    for event, values in events:
        told = {"session_id": "s-1", "cwd": str(tmp_path), **values}
        hook = ("--vault", str(vault.root), "hook", event, "--domain", "coding")
        assert forked.program(*hook, stdin=json.dumps(told).encode()).returncode == 0
    vault.run(patience=10)
    assert ending(vault, "p-1") == ("success", "person", "hook")
    assert list(vault.store.snapshot().skills.proposed) == [waiting]
    later = Closing(status="failure", observed_by="person", domain="coding", agent="claude-code")
    vault.close("p-1", later)
    assert ending(vault, "p-1") == ("failure", "person", None)


def _propose(vault: Vault) -> None:
    (vault.root / "inbox/untrusted/b.json").write_bytes(as_file(raw(decision__target="web")))
    vault.run(now=NOW, patience=10)

"""A client as the judge: what it is asked, within what budget, and what becomes of its answers."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.clients.hook_client import ASKING
from skillvault.judge.client import HOUR, ClientFault, claude_code, codex, limit_pause
from skillvault.loop.judging.client_calls import ClientCalls
from skillvault.model.records import Evaluation
from skillvault.vault.commit.locks import client_lock
from tests.conftest import NOW
from tests.forked import called, log_of
from tests.given import as_file, trade
from tests.judge.conftest import appoint
from tests.judge.given import HOUR as CLOCK_HOUR
from tests.judge.given import Clock, put_client_on_path, record_trade
from tests.judge.server import INSIGHT, Answer, Body, Server, claude, told
from tests.machine.given import until

KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz012345"


@pytest.fixture
def asked(vault: Vault, api: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Vault:
    """A vault whose judge is a client, which asks the API on loopback."""
    monkeypatch.setenv("PATH", put_client_on_path(tmp_path))
    appoint(vault, provider="client", client_seconds=5)
    assert api.requests == []
    return vault


def record(vault: Vault, number: int, reasoning: str = "Funding pays.") -> None:
    """Record an outcome of its own decision, and learn from it."""
    record_trade(vault, number, f"{reasoning} It is number {number}.")
    vault.run(now=NOW)


def calls_of(vault: Vault, clock: Clock | None = None) -> ClientCalls:
    """The calls of a vault's client, at the time of the tests."""
    return ClientCalls(vault.store, vault.queue, (clock or Clock()).wall)


def judges(vault: Vault) -> set[str]:
    """Return the names of the judges that gave the verdicts."""
    return {one.judge.name for one in vault.store.snapshot().evaluations.values()}


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_its_answers_replace_the_offline_words(asked: Vault, client: str) -> None:
    appoint(asked, provider="client", client=client)
    for number in range(3):
        record(asked, number)
    assert judges(asked) == {"offline"}
    report = calls_of(asked).ask_open_questions()
    assert (report.stopped, report.refused) == ("", [])
    assert report.answers == report.questions == len(asked.store.snapshot().answers)
    assert judges(asked) == {"client"}
    insights = {one.key_insight for one in asked.store.snapshot().evaluations.values()}
    assert insights == {INSIGHT["key_insight"]}
    assert any("Claude on" in skill.body for skill in asked.store.snapshot().skills.values())
    assert calls_of(asked).ask_open_questions().calls == 0
    assert asked.check().problems == []


def test_a_verdict_is_never_asked_beside_a_result(asked: Vault) -> None:
    for number in range(4):
        record(asked, number)
    groups = [
        {key.partition("-")[0] for key in batch.keys.values()}
        for _, batch in calls_of(asked).batches()
    ]
    assert {"verdict"} in groups
    assert all(group == {"verdict"} or "verdict" not in group for group in groups)


def test_what_a_dry_run_prints_is_what_is_sent(asked: Vault, api: Server) -> None:
    record(asked, 1, f"Funding pays, and the key is {KEY}.")
    printed = CliRunner().invoke(cli, ["--vault", str(asked.root), "ask", "--dry-run"]).output
    assert api.requests == []
    assert "abcdefghijklmnopqrstuvwxyz" not in printed
    for call, _ in calls_of(asked).batches():
        assert call.stdin in printed


def test_little_waits_and_much_is_asked(asked: Vault) -> None:
    record(asked, 1)
    appoint(asked, provider="client", client="codex")
    latest = max(one.occurred_at for one in asked.store.snapshot().outcomes.values())
    soon, later = latest + timedelta(hours=1), latest + timedelta(days=1)
    calls = [
        ClientCalls(asked.store, asked.queue, at.timestamp).ask_open_questions(when_due=True).calls
        for at in (soon, later)
    ]
    assert calls[0] == 0
    assert calls[1] > 0


def test_the_day_has_a_budget_of_calls_and_of_tokens(asked: Vault) -> None:
    record(asked, 1)
    appoint(asked, provider="client", client_calls_per_day=1)
    report = calls_of(asked).ask_open_questions()
    assert report.calls == 1
    assert "client_calls_per_day" in report.stopped
    appoint(asked, provider="client", client_tokens_per_day=700)
    assert "client_tokens_per_day" in calls_of(asked).ask_open_questions().stopped
    assert calls_of(asked, _tomorrow()).ask_open_questions().stopped != ""
    appoint(asked, provider="client")
    assert calls_of(asked, _tomorrow()).ask_open_questions().stopped == ""


def _tomorrow() -> Clock:
    clock = Clock()
    clock.sleep(24 * CLOCK_HOUR)
    return clock


def test_with_little_left_the_urgent_comes_first(asked: Vault) -> None:
    for number in range(3):
        record(asked, number)
    appoint(asked, provider="client", client_calls_per_day=1)
    (_, batch), *_ = calls_of(asked).batches()
    urgent = [one.answer_key for one in asked.queue.open_questions() if one.is_urgent]
    assert urgent
    assert batch.keys["q1"] == urgent[0]


def test_a_verdict_is_asked_with_how_the_latest_ones_turned_out(asked: Vault) -> None:
    for number in range(2):
        record(asked, number)
    for call, _ in calls_of(asked).batches():
        assert "your_latest_verdicts_here" not in call.stdin
    calls_of(asked).ask_open_questions()
    record(asked, 2)
    (call,) = [
        call
        for call, batch in calls_of(asked).batches()
        if any(key.startswith("verdict") for key in batch.keys.values())
    ]
    # The scripted verdicts expect failures, as which both trades ended.
    assert '"your_latest_verdicts_here": 2, "right": 2, "most_wrong": []' in call.stdin
    latest = asked.store.snapshot().evaluations.latest_tested("client", "perps", 1)
    assert [one.id for one in latest] == [max(one.id for one in judged(asked))]
    said = CliRunner().invoke(cli, ["--vault", str(asked.root), "stats"]).stderr
    assert "verdicts in perps: 2 of the last 2 right\n" in said


def judged(vault: Vault) -> list[Evaluation]:
    """The evaluations by the client."""
    evaluations = vault.store.snapshot().evaluations.values()
    return [one for one in evaluations if one.judge.name == "client"]


def test_status_and_stats_tell_the_budget(asked: Vault) -> None:
    record(asked, 1)
    appoint(asked, provider="client", client_calls_per_day=9, client_tokens_per_day=12_345)
    report = ClientCalls(asked.store, asked.queue).ask_open_questions()
    usage = f"today {report.calls} of 9 calls, {report.tokens:,} of 12,345 tokens"
    for command in ("status", "stats"):
        said = CliRunner().invoke(cli, ["--vault", str(asked.root), command])
        assert f"judge: client (haiku); {usage}\n" in said.stdout + said.stderr


@pytest.mark.parametrize("untrusted", [0, 8])
def test_what_changes_much_is_asked_after_a_session_as_far_as_the_week_allows(
    asked: Vault, untrusted: int
) -> None:
    """Two calls a week, and one more for four trusted outcomes."""
    session = datetime(2026, 11, 5, tzinfo=UTC)
    for number in range(untrusted):
        given = trade(number, source__trust="untrusted", occurred_at=session.isoformat())
        asked.record([("o.json", as_file({**given, "event_id": f"u{number}"}))], now=session)
    asked.run(now=session)
    counts = []
    for number in range(6):
        why = f"Funding pays. It is number {number}."
        at = session + timedelta(hours=number)
        one = trade(decision__reasoning=why, occurred_at=at.isoformat(), decision__made_at=None)
        asked.record([("o.json", as_file(one))], now=at)
        asked.run(now=at)
        report = ClientCalls(asked.store, asked.queue, at.timestamp).ask_open_questions(
            when_due=True
        )
        counts.append(report.calls)
    assert counts == [1, 1, 0, 1, 0, 0]


def test_all_is_asked_after_a_session_of_eight_outcomes(asked: Vault) -> None:
    """The week's calls reach for lessons, verdicts and texts."""
    for number in range(8):
        record(asked, number)
    calls_of(asked).ask_open_questions(when_due=True)
    assert asked.queue.open_questions() == []


def test_nobody_is_asked_twice_at_once(asked: Vault) -> None:
    record(asked, 1)
    with client_lock(asked.store.git.dirs()[1] / "skillvault", 0.0):
        done = CliRunner().invoke(cli, ["--vault", str(asked.root), "status"])
        assert done.exit_code == 0
        with pytest.raises(Exception, match="asked already"):
            calls_of(asked).ask_open_questions()


# ── outputs ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("You've hit your 5-hour limit · resets 5:20pm (UTC)", 80 * 60),
        ("You've hit your limit · resets 3pm (UTC)", 23 * HOUR),
        ("resets 11am (America/New_York)", 24 * HOUR),  # that is now
        ("weekly limit · resets Nov 22, 4pm (UTC)", 48 * HOUR),
        ("usage limit reached; try again in 1 day 2 hours 5 minutes", 26 * HOUR + 300),
        ("You've hit your limit, try again at 4:30 PM", 30 * 60),
        ("resets 25:99pm (Nowhere/Land)", HOUR),
        ("limit", HOUR),
    ],
)
def test_a_limit_lasts_as_its_words_say(message: str, seconds: float) -> None:
    assert limit_pause(message, datetime(2026, 11, 20, 16, tzinfo=UTC)) == seconds


@pytest.mark.parametrize("read", [claude_code.CLIENT.read_output, codex.CLIENT.read_output])
@pytest.mark.parametrize(
    "output", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"{}", b'{"is_error": false}', b"[" * 9999]
)
def test_an_output_that_is_no_answer_is_a_fault(
    read: Callable[[bytes, str, datetime], object], output: bytes
) -> None:
    with pytest.raises(ClientFault):
        read(output, "", NOW)


def test_a_turn_without_words_counts_its_tokens() -> None:
    output = b'{"type": "turn.completed", "usage": {"input_tokens": 900, "output_tokens": 20}}'
    with pytest.raises(ClientFault) as caught:
        codex.CLIENT.read_output(output, "", NOW)
    assert caught.value.tokens == 920


def test_a_reply_that_never_met_the_schema_counts_against_its_questions() -> None:
    result = {"is_error": True, "subtype": "error_max_structured_output_retries", "errors": ["no"]}
    with pytest.raises(ClientFault) as caught:
        claude_code.CLIENT.read_output(json.dumps(result).encode(), "", NOW)
    assert caught.value.is_answer


@pytest.mark.parametrize(
    ("settings", "asks_login"),
    [
        ("", True),
        ('model_provider = "openai"', True),
        ('model_provider = "here"\n[model_providers.here]\nenv_key = "KEY"', False),
        ('model_provider = "x"\n[model_providers.x]\nrequires_openai_auth = true', True),
        ("model_provider = [", True),
    ],
)
def test_codex_needs_no_login_for_a_provider_of_the_users_own(
    settings: str, asks_login: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.toml").write_text(settings)
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    assert bool(codex.CLIENT.login_command()) is asks_login
    monkeypatch.setenv("CODEX_API_KEY", "key")
    assert codex.CLIENT.login_command() == ()


# ── kills ────────────────────────────────────────────────────────────────────────────

POINTS = (
    "client-reserved", "client-noted", "client-started", "client-ended", "reply-received",
    "reply-journalled", "lock-taken", "objects-written", "branch-moved",
)  # fmt: skip


def _ask(root: Path) -> None:
    vault = Vault(root)
    ClientCalls(vault.store, vault.queue, Clock().wall).ask_open_questions(wait=20)


@pytest.mark.parametrize("point", POINTS)
def test_no_answer_is_lost_or_paid_twice_wherever_the_asker_is_killed(
    asked: Vault, api: Server, point: str
) -> None:
    appoint(asked, provider="client", client_calls_per_day=1000)
    record(asked, 1)
    assert called(_ask, asked.root, f"{point}=kill") == -signal.SIGKILL
    assert called(_ask, asked.root) == 0, log_of(asked.root).read_text()
    counts = Counter(map(told, api.requests))
    assert [text for text, count in counts.items() if count > 1] == []
    assert judges(asked) == {"client"}
    assert asked.check().problems == []


def test_the_child_is_nice_alone_and_marked(asked: Vault, api: Server) -> None:
    record(asked, 1)
    seen: list[tuple[int, bool, list[Path], bool]] = []

    def look(body: Body) -> Answer:
        place = asked.root / ".git/skillvault/client/call.json"
        until(lambda: json.loads(place.read_text())["child"] != 0)
        child = json.loads(place.read_text())["child"]
        until(lambda: os.getpriority(os.PRIO_PROCESS, child) != 0)
        variables = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        seen.append(
            (
                os.getpriority(os.PRIO_PROCESS, child),
                os.getsid(child) == child,
                list(Path(f"/proc/{child}/cwd").iterdir()),
                f"{ASKING}=1".encode() in variables,
            )
        )
        return claude(body)

    api.script = look
    assert calls_of(asked).ask_open_questions().stopped == ""
    assert set(map(str, seen)) == {str((10, True, [], True))}


# ── the child ────────────────────────────────────────────────────────────────────────


def test_the_hooks_of_a_child_do_nothing(asked: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ASKING, "1")
    vault = str(asked.root)
    program = Path(claude_code.__file__).parents[2] / "clients/hook_client.py"
    payload = json.dumps({"session_id": "s", "prompt": "hello"})
    before = sorted(path for path in (asked.root / ".git/skillvault").rglob("*"))
    for words in ([str(program)], ["-m", "skillvault", "hook"]):
        done = run_python(*words, "SessionStart", "--vault", vault, told=payload)
        assert (done.returncode, done.stdout) == (0, "")
    assert sorted(path for path in (asked.root / ".git/skillvault").rglob("*")) == before


def run_python(*words: str, told: str) -> subprocess.CompletedProcess[str]:
    """Run Python with these words and this input; return its output and its end."""
    return subprocess.run(
        [sys.executable, *words], input=told, capture_output=True, text=True, check=False
    )

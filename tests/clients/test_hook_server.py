"""Hooks over a socket: answered once, by the server or by the program."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.clients import hook_client
from skillvault.clients.hook_server import HookRequest, HookServer
from skillvault.vault.commit.locks import DAEMON, holder

TOLD = {"session_id": "s-1", "prompt_id": "p-1", "prompt": "Fix the flaky test of the checkout"}


@pytest.fixture(autouse=True)
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for sockets; a socket's path is short."""
    with tempfile.TemporaryDirectory(prefix="sv") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder) / "skillvault"


class Answers:
    """The server's part: the requests that came, and what is said to each."""

    def __init__(self, text: str | None = "learned") -> None:
        self.requests: list[HookRequest] = []
        self.text = text

    def __call__(self, request: HookRequest) -> str | None:
        self.requests.append(request)
        return self.text


def ask(root: Path, payload: bytes = b"{}") -> bytes | None:
    """Send an event to the server as the client does, and return the answer."""
    return hook_client.ask(["Stop", "--vault", str(root)], payload)


def serving(root: Path, answers: Answers) -> HookServer:
    """A server that listens."""
    server = HookServer(root, answers)
    assert server.start()
    return server


def test_a_server_gets_the_event_and_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "cli")
    server = serving(tmp_path, answers := Answers())
    assert ask(tmp_path, b"x" * 300_000) == b"learned"
    server.close()
    (request,) = answers.requests
    assert request.arguments == ["Stop", "--vault", str(tmp_path)]
    assert (len(request.payload), request.process) == (300_000, str(os.getpid()))
    assert request.environment["CLAUDE_CODE_ENTRYPOINT"] == "cli"


def test_each_vault_has_its_own_server(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    servers = [serving(one, Answers("1")), serving(other, Answers("2"))]
    assert (ask(one), ask(other)) == (b"1", b"2")
    assert not HookServer(one, Answers()).start()
    for server in servers:
        server.close()


def test_many_clients_at_once_each_get_one_answer(tmp_path: Path) -> None:
    server = serving(tmp_path, answers := Answers())
    got: list[bytes | None] = []
    threads = [threading.Thread(target=lambda: got.append(ask(tmp_path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    server.close()
    assert got.count(b"learned") == len(answers.requests)
    assert got.count(b"learned") + got.count(None) == len(got)


def test_all_hooks_are_answered_in_one_thread_which_keeps_its_caches(tmp_path: Path) -> None:
    threads: list[threading.Thread] = []

    def answer(_: HookRequest) -> str:
        threads.append(threading.current_thread())
        return "learned"

    server = HookServer(tmp_path, answer)
    assert server.start()
    for _ in range(3):
        assert ask(tmp_path) == b"learned"
    server.close()
    assert len(threads) == 3
    assert len({*threads}) == 1


def test_a_hook_finds_the_named_vault_else_the_nearest_else_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "near/project/src").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "near/project/src")
    assert hook_client.find_vault() == ""
    own_vault = tmp_path / "data/skillvault/vault"
    for vault in (own_vault, tmp_path / "near"):
        vault.mkdir(parents=True, exist_ok=True)
        (vault / "vault.yaml").touch()
        assert hook_client.find_vault() == str(vault)
    monkeypatch.setenv("SKILLVAULT_VAULT", "elsewhere")
    assert hook_client.find_vault() == "elsewhere"


def test_the_calls_of_a_client_go_to_the_vault_of_its_last_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    link = tmp_path / "state/skillvault/calls/77"
    for vault in ("one", "other"):
        hook_client.link_calls(str(tmp_path / vault), "77")
        assert link.readlink() == tmp_path / vault / ".git/skillvault/sessions/calls"
    assert link.parent.stat().st_mode & 0o077 == 0
    hook_client.link_calls("", "77")
    assert not link.is_symlink()


@pytest.mark.parametrize("trouble", ["nobody", "closed", "no-answer"])
def test_without_an_answer_the_client_has_to_do_the_work(tmp_path: Path, trouble: str) -> None:
    if trouble != "nobody":
        server = serving(tmp_path, Answers(None))
        if trouble == "closed":
            server.close()
    assert ask(tmp_path) is None


def test_a_client_that_stopped_waiting_is_not_worked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_client, "_ACCEPT_TIMEOUT", 0.0001)
    server = serving(tmp_path, answers := Answers())
    assert ask(tmp_path, b"x" * 8_000_000) is None
    time.sleep(0.2)
    server.close()
    assert answers.requests == []


def test_a_folder_that_others_may_enter_is_not_used(tmp_path: Path, runtime: Path) -> None:
    runtime.mkdir(mode=0o755)
    runtime.chmod(0o755)
    assert not HookServer(tmp_path, Answers()).start()
    assert ask(tmp_path) is None


@pytest.mark.parametrize("place", ["missing/folder", "x" * 120])
def test_a_place_that_holds_no_socket_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    if "/" not in place:
        (tmp_path / place).mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / place))
    assert not HookServer(tmp_path, Answers()).start()
    assert ask(tmp_path) is None


def test_an_event_that_a_slow_server_has_is_not_answered_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKILLVAULT_HOOK_SECONDS", "0")
    ended = threading.Event()
    server = HookServer(tmp_path, lambda _: str(ended.wait(30)))
    assert server.start()
    assert ask(tmp_path) == b""
    ended.set()
    server.close()


def test_a_socket_that_a_killed_server_left_is_replaced(tmp_path: Path, runtime: Path) -> None:
    runtime.mkdir(mode=0o700)
    left = socket.socket(socket.AF_UNIX)
    left.bind(hook_client.socket_path(str(tmp_path)))
    left.close()
    server = serving(tmp_path, Answers())
    assert ask(tmp_path) == b"learned"
    server.close()


def test_a_server_of_an_older_program_leaves_the_work_to_the_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serving(tmp_path, answers := Answers())
    monkeypatch.setattr("skillvault.clients.hook_server._program_state", lambda: (1, 1))
    assert ask(tmp_path) is None
    assert server.idle_seconds == float("inf")
    assert answers.requests == []
    server.close()


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_hook_reads_its_event_from_a_pipe_that_stays_open(end: str) -> None:
    told = json.dumps({**TOLD, "prompt": "x" * 200_000})
    code = "from skillvault.clients.hook_client import read_payload; print(read_payload().decode())"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as hook:
        assert hook.stdin is not None
        assert hook.stdout is not None
        hook.stdin.write(told + end)
        hook.stdin.flush()
        assert hook.stdout.readline() == f"{told}\n"


def test_the_program_answers_and_starts_the_server_for_the_next(learned: Vault) -> None:
    words = ["UserPromptSubmit", "--domain", "coding", "--vault", str(learned.root)]
    command = [sys.executable, "-ISE", hook_client.__file__, *words]
    texts = []
    for prompt in ("p-1", "p-2"):
        payload = json.dumps({**TOLD, "prompt_id": prompt}).encode()
        done = subprocess.run(command, input=payload, capture_output=True, check=True)
        texts.append(done.stdout)
        lock = learned.store.git.dirs()[1] / "skillvault" / DAEMON
        deadline = time.monotonic() + 30
        while holder(lock) is None and time.monotonic() < deadline:
            time.sleep(0.05)
    owner = re.search(r"process (\d+)", holder(lock) or "")
    assert owner is not None
    os.kill(int(owner[1]), signal.SIGTERM)
    assert b"<skill " in texts[0]
    assert b"[S1] guide-" in texts[1]


@pytest.mark.parametrize(
    ("value", "seconds"), [("8", 8.0), ("", 4.0), ("soon", 4.0), ("-1", 4.0), ("1e9", 4.0)]
)
def test_a_person_says_in_whole_seconds_how_long_a_hook_may_take(
    value: str, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKILLVAULT_HOOK_SECONDS", value)
    assert hook_client.longest_wait() == seconds


def test_a_hook_without_an_answer_in_time_lets_the_person_go_on(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKILLVAULT_HOOK_SECONDS", "0")
    words = [sys.executable, "-m", "skillvault", "hook", "Stop", "--vault", str(vault.root)]
    # Its payload never ends, so that it has no answer at any time.
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as hook:
        assert hook.wait(60) == 0
        assert hook.stdout
        assert hook.stdout.read() == b""
    log = (vault.root / ".git/skillvault/hook.log").read_text()
    assert "Stop: gave up after 0 s; the index is brought up to date meanwhile" in log

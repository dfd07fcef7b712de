"""`skillvault hook`: whatever goes wrong, it ends with 0 and prints nothing."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.clients.hook_client import MAKE_VAULT
from skillvault.vault.commit.locks import writer_lock
from tests import forked
from tests.conftest import Person

TOLD = {
    "session_id": "s-1",
    "prompt_id": "p-1",
    "hook_event_name": "UserPromptSubmit",
    "prompt": "Fix the flaky test of the checkout",
}


def call(
    root: Path, *words: str, told: bytes | dict[str, Any] = TOLD, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """The hook as a client calls it."""
    data = told if isinstance(told, bytes) else json.dumps(told).encode()
    command = ["hook", *(words or ("UserPromptSubmit",))]
    if "--vault" not in words:
        command += ["--vault", str(root)]
    if "--domain" not in words:
        command += ["--domain", "coding"]
    return forked.program(*command, stdin=data, environment=environment)


def log_of(vault: Vault) -> str:
    """The errors in the log of a vault."""
    place = vault.root / ".git/skillvault/hook.log"
    return errors_of(place.read_text() if place.exists() else "")


def errors_of(text: str) -> str:
    """The lines that name an error; a busy machine may make any hook slow."""
    lines = text.splitlines()
    return "\n".join(line for line in lines if not re.search(r": took [\d.]+ s$", line))


def test_it_prints_what_the_agent_is_to_read(learned: Vault) -> None:
    done = call(learned.root)
    assert done.stdout.startswith(b"<skills>\n")
    assert (done.returncode, log_of(learned)) == (0, "")
    call(learned.root, "SessionEnd")
    learned.run()
    (receipt,) = learned.store.snapshot().recommendations.by_decision("p-1")
    assert receipt.shown


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("UserPromptSubmit", "--vault", "/nowhere"), TOLD),
        (("UserPromptSubmit", "--domain", "no such domain"), TOLD),
        (("UserPromptSubmit", "--colour", "red"), TOLD),
        (("NoEvent",), TOLD),
        (("UserPromptSubmit",), b"no json"),
        (("UserPromptSubmit",), b""),
        (("Stop",), b'{"session_id": "s-9", "stop_hook_active": false}'),
    ],
    ids=["missing", "domain", "option", "event", "json", "empty", "unknown-session"],
)
def test_a_request_that_makes_no_sense_costs_nobody_a_prompt(
    learned: Vault, words: tuple[str, ...], told: bytes | dict[str, Any]
) -> None:
    done = call(learned.root, *words, told=told)
    assert (done.returncode, done.stdout) == (0, b"")


def test_it_notes_what_went_wrong(learned: Vault) -> None:
    call(learned.root, told=b"no json")
    assert "hook UserPromptSubmit: ClickException: the payload" in log_of(learned)
    assert b"no vault here" in call(learned.root, "Stop", "--vault", "/nowhere").stderr


def _detached(person: Person) -> None:
    person.git("checkout", "-q", "--detach")


def _merging(person: Person) -> None:
    (person.root / ".git/MERGE_HEAD").write_text(person.git("rev-parse", "HEAD") + "\n")


def _without_policy(person: Person) -> None:
    person.rule("nonsense: 1")


def _without_index(person: Person) -> None:
    for file in (person.root / ".git/skillvault").glob("*.sqlite*"):
        file.write_bytes(b"no database")


def _whole(_person: Person) -> None:
    """Nothing is wrong with the vault."""


@pytest.mark.parametrize("harm", [_detached, _merging, _without_policy, _without_index])
def test_a_vault_in_trouble_costs_nobody_a_prompt(
    learned: Vault, person: Person, harm: Callable[[Person], None]
) -> None:
    harm(person)
    done = call(learned.root)
    assert done.returncode == 0
    assert done.stdout == b"" or done.stdout.startswith(b"<skills>")


def test_a_pasted_log_and_no_identity_of_git_are_no_trouble(learned: Vault, tmp_path: Path) -> None:
    told = {**TOLD, "prompt": TOLD["prompt"] + " x" * 150_000}
    done = call(learned.root, told=told, HOME=str(tmp_path), GIT_CONFIG_GLOBAL="/dev/null")
    assert (done.returncode, done.stdout[:8], log_of(learned)) == (0, b"<skills>", "")


def test_a_busy_vault_answers_at_once(learned: Vault) -> None:
    with writer_lock(learned.store.git.dirs()[1] / "skillvault"):
        done = call(learned.root)
    assert (done.returncode, done.stdout[:8]) == (0, b"<skills>")


@pytest.mark.parametrize("point", ["inbox-drafted", "inbox-filled"])
def test_one_that_is_killed_prints_nothing_and_leaves_the_vault_whole(
    learned: Vault, point: str
) -> None:
    call(learned.root)
    done = call(learned.root, "SessionEnd", SKILLVAULT_FAILPOINT=f"{point}=kill")
    assert done.returncode != 2
    assert done.stdout == b""
    assert call(learned.root, told={**TOLD, "prompt_id": "p-2"}).stdout[:8] == b"<skills>"
    assert not learned.run().quarantined


def test_a_full_disk_costs_nobody_a_prompt(learned: Vault) -> None:
    call(learned.root)
    done = call(learned.root, "SessionEnd", SKILLVAULT_FAILPOINT="inbox-drafted=enospc")
    assert (done.returncode, done.stdout) == (0, b"")
    assert "PausedError" in log_of(learned)


def test_the_end_of_a_session_lets_a_run_of_its_own_do_the_rest(learned: Vault) -> None:
    call(learned.root)
    edit = {"tool_name": "Edit", "tool_use_id": "t-1", "tool_input": {"file_path": "a.py"}}
    call(learned.root, "PostToolUse", told={**TOLD, **edit})
    words = {"last_assistant_message": "Done.", "stop_hook_active": False}
    call(learned.root, "Stop", told={**TOLD, **words})
    assert call(learned.root, "SessionEnd", told=TOLD).stdout == b""
    until = time.monotonic() + 60
    while learned.inbox.names() and time.monotonic() < until:
        time.sleep(0.1)
    assert learned.inbox.names() == []
    until = time.monotonic() + 60
    while not _evaluated(learned) and time.monotonic() < until:
        time.sleep(0.1)
    assert _evaluated(learned)


def _evaluated(vault: Vault) -> bool:
    outcomes = vault.store.snapshot().outcomes.by_decision("p-1")
    return bool(outcomes) and outcomes[0].id in vault.store.snapshot().evaluations


def test_what_it_leaves_is_its_owner_s_alone(learned: Vault) -> None:
    call(learned.root, told=b"no json")
    call(learned.root)
    places = [learned.root / ".git/skillvault/hook.log"]
    places += (learned.root / ".git/skillvault/sessions").iterdir()
    assert {place.stat().st_mode & 0o777 for place in places} == {0o600}


def _first_session(number: int, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The start of a session of the plugin, for which there is no vault yet."""
    words = [sys.executable, "-m", "skillvault", "hook", "SessionStart", MAKE_VAULT]
    told = {"session_id": f"s-{number}", "source": "startup"}
    return subprocess.run(
        words,
        input=json.dumps(told).encode(),
        capture_output=True,
        check=True,
        env={**os.environ, **environment},
    )


def test_a_first_session_is_told_of_the_vault_that_it_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(3):  # on a busy machine a hook may give up, and says nothing
        run = _first_session(number, XDG_DATA_HOME=str(tmp_path / f"{number}"))
        if run.stdout:
            break
    assert b"skillvault: made " in run.stdout


def test_the_first_sessions_at_once_make_one_vault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = str(tmp_path / "data")
    with ThreadPoolExecutor() as pool:
        runs = list(pool.map(lambda n: _first_session(n, XDG_DATA_HOME=data), range(3)))
    runs.append(_first_session(3, XDG_DATA_HOME=data))  # if a busy machine silenced all of them
    places = {run.stdout.partition(b"skillvault: made ")[2] for run in runs}
    assert len(places - {b""}) <= 1
    assert {errors_of(run.stderr.decode()) for run in runs} == {""}
    assert not Vault.open(tmp_path / "data/skillvault/vault").check().problems


def test_a_session_says_why_no_vault_can_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("no folder")
    nobody = dict.fromkeys(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"], "")
    for name, environment in (("file", {}), ("data", nobody)):
        done = _first_session(1, XDG_DATA_HOME=str(tmp_path / name), **environment)
        assert "nothing is learned here" in json.loads(done.stdout)["systemMessage"]
        assert not (tmp_path / name / "skillvault/vault").exists()

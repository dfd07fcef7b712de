"""Each prompt counts once, whatever files it stands in and whoever recorded it."""

import itertools
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.cli.hook import vault_parts
from skillvault.clients.notes import activity_of
from skillvault.clients.payload import parse_payload
from skillvault.exchange.transcripts.words import CLIENT_WORDS, ClientWords
from skillvault.model.records import Outcome
from skillvault.sessions.hooks import HookClient, Hooks
from tests.cli.test_recommend import call
from tests.conftest import NOW

LATER = NOW.replace(month=12)
CASES = {
    "01-codex-fork": ("codex", ["rollout-a", "rollout-b"], 3),
    "02-codex-subagent": ("codex", ["rollout-a", "rollout-sub"], 2),
    "03-claude-resumed-copy": ("claude-code", ["a", "b"], 2),
    "03-claude-resumed-copy fork": ("claude-code", ["fork-a", "fork-b"], 2),
    "03-claude-resumed-copy old": ("claude-code", ["old-a", "old-b"], 2),
    "09-windows-cwd": ("claude-code", ["s"], 1),
    "p1-guards-that-hold": (
        "claude-code",
        ["compact-twice", "preamble", "client-text", "truncated", "inline-sidechain"],
        8,
    ),
    "p1-guards-that-hold codex": ("codex", ["codex-compacted"], 2),
}

Line = dict[str, Any]


def outcomes_of(vault: Vault) -> dict[str, Outcome]:
    """Task -> its outcome; each task has one."""
    outcomes = list(vault.store.snapshot().outcomes.values())
    tasks = [outcome.decision.task or "" for outcome in outcomes]
    assert sorted(tasks) == sorted(set(tasks))
    return dict(zip(tasks, outcomes, strict=True))


def imported(vault: Vault, *paths: Path, client: str = "claude-code") -> int:
    """Import transcripts, and return the number of outcomes that were recorded."""
    report, _ = vault.import_transcripts(client, paths, now=LATER)
    return sum(len(done.change.targets) for done in report.done)


@pytest.mark.parametrize("name", CASES)
def test_a_case_has_one_outcome_a_prompt(shared: Path, vault: Vault, name: str) -> None:
    client, names, count = CASES[name]
    files = [shared / "cases" / name.partition(" ")[0] / f"{one}.jsonl" for one in names]
    assert imported(vault, *files, client=client) == count
    assert imported(vault, *files, client=client) == 0


@pytest.mark.parametrize("name", CASES)
def test_files_of_a_case_may_come_one_by_one_in_reverse(
    shared: Path, vault: Vault, name: str
) -> None:
    client, names, count = CASES[name]
    files = [shared / "cases" / name.partition(" ")[0] / f"{one}.jsonl" for one in names]
    assert sum(imported(vault, file, client=client) for file in reversed(files)) == count
    assert imported(vault, *files, client=client) == 0


def test_prompts_of_a_forked_rollout_belong_to_their_sessions(shared: Path, vault: Vault) -> None:
    folder = shared / "cases" / "01-codex-fork"
    for name in ("rollout-b", "rollout-a"):
        imported(vault, folder / f"{name}.jsonl", client="codex")
    parent, fork = "01a21417-0000-7000-8000-0000000000aa", "01a21418-0000-7000-8000-0000000000bb"
    assert {task: one.source.session for task, one in outcomes_of(vault).items()} == {
        "Count the tips per day": parent,
        "Count the tips per week": parent,
        "Count the tips per month": fork,
    }


def test_a_prompt_has_the_session_that_it_was_typed_in(shared: Path, vault: Vault) -> None:
    folder = shared / "cases" / "03-claude-resumed-copy"
    imported(vault, folder / "b.jsonl", folder / "a.jsonl")
    assert {task: one.source.session for task, one in outcomes_of(vault).items()} == {
        "Lock the drawer after a sale": "00000003-1111-4222-8333-444455556666",
        "Unlock the drawer with a key": "00000021-1111-4222-8333-444455556666",
    }


def test_a_windows_folder_is_read_as_a_path(shared: Path, vault: Vault) -> None:
    imported(vault, shared / "cases" / "09-windows-cwd" / "s.jsonl")
    (outcome,) = outcomes_of(vault).values()
    text = next((vault.root / "outcomes").rglob("*.yaml")).read_text()
    assert outcome.context["repository"] == "till"
    assert "Kim" not in text


# ── Claude Code ──────────────────────────────────────────────────────────────────────


def claude_run(task: str, number: int, **values: object) -> list[Line]:
    """The lines of a prompt whose check passes."""
    frame = {
        "sessionId": "s-1",
        "cwd": "/x/shop",
        "isSidechain": False,
        "promptId": f"p-{number}",
        **values,
    }
    use = {"type": "tool_use", "id": f"t-{number}", "name": "Bash", "input": {"command": "pytest"}}
    result = {"type": "tool_result", "tool_use_id": f"t-{number}", "content": "1 passed"}
    messages: list[tuple[str, object]] = [
        ("user", task),
        ("assistant", [use]),
        ("user", [result]),
        ("assistant", [{"type": "text", "text": "Done."}]),
    ]
    return [
        {
            **frame,
            "type": role,
            "uuid": f"u-{number}-{step}",
            "timestamp": f"2026-11-20T10:{number:02d}:{step:02d}Z",
            "message": {"role": role, "model": "m-1", "content": content},
        }
        for step, (role, content) in enumerate(messages)
    ]


def written(path: Path, *lines: Line, end: str = "\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + end for line in lines), newline="")
    return path


def changed(lines: Iterable[Line], **values: object) -> list[Line]:
    """Lines with other values; None removes a key."""
    return [
        {key: value for key, value in {**line, **values}.items() if value is not None}
        for line in lines
    ]


FIRST, SECOND, THIRD = (claude_run(task, n) for n, task in enumerate(("one", "two", "three"), 1))
COPIES: Mapping[str, list[list[Line]]] = {
    "resumed": [FIRST, changed([*FIRST, *SECOND], sessionId="s-2")],
    "resumed twice": [
        FIRST,
        changed([*FIRST, *SECOND], sessionId="s-2"),
        changed([*FIRST, *SECOND, *THIRD], sessionId="s-3"),
    ],
    "forked with the prompt's id of the fork": [
        FIRST,
        changed(FIRST, sessionId="s-2", promptId="p-2") + changed(SECOND, sessionId="s-2"),
    ],
    "in another folder": [FIRST, changed([*FIRST, *SECOND], sessionId="s-2", cwd="/x/other")],
    "without ids": [
        changed(FIRST, uuid=None, promptId=None),
        changed([*FIRST, *SECOND], sessionId="s-2", uuid=None, promptId=None),
    ],
    "archived": [FIRST + SECOND, FIRST + SECOND],
    "cut off": [FIRST + SECOND, FIRST + SECOND[:2]],
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_of_a_session_count_once_in_any_order(
    tmp_path: Path, vault: Vault, name: str
) -> None:
    files = [written(tmp_path / f"{n}.jsonl", *lines) for n, lines in enumerate(COPIES[name])]
    tasks = {"one", "two"} | ({"three"} if name == "resumed twice" else set())
    for order in itertools.permutations(files):
        for file in order:
            imported(vault, file)
        assert set(outcomes_of(vault)) == tasks
    assert imported(vault, tmp_path) == 0


def test_a_folder_with_copies_counts_each_prompt_once(tmp_path: Path, vault: Vault) -> None:
    for n, lines in enumerate(COPIES["resumed twice"]):
        written(tmp_path / "projects" / f"{n}.jsonl", *lines)
    assert imported(vault, tmp_path) == 3


def test_the_copy_in_a_fork_has_the_session_that_it_names(tmp_path: Path, vault: Vault) -> None:
    origin = {"sessionId": "s-1", "messageUuid": "u-1-0"}
    copy = changed(FIRST, sessionId="s-2", forkedFrom=origin)
    imported(vault, written(tmp_path / "b.jsonl", *copy, *changed(SECOND, sessionId="s-2")))
    sessions = {task: one.source.session for task, one in outcomes_of(vault).items()}
    assert sessions == {"one": "s-1", "two": "s-2"}


def test_the_copy_in_a_fork_leaves_the_prompts_id_to_the_fork(tmp_path: Path, vault: Vault) -> None:
    copy = changed(FIRST, sessionId="s-2", promptId="p-2")
    imported(vault, written(tmp_path / "b.jsonl", *copy, *changed(SECOND, sessionId="s-2")))
    ids = {task: one.decision.id for task, one in outcomes_of(vault).items()}
    assert ids == {"one": "u-1-0", "two": "p-2"}


def test_each_prompt_has_the_folder_in_which_it_was_typed(tmp_path: Path, vault: Vault) -> None:
    imported(vault, written(tmp_path / "b.jsonl", *FIRST, *changed(SECOND, cwd="C:\\work\\till")))
    places = {task: one.context["repository"] for task, one in outcomes_of(vault).items()}
    assert places == {"one": "shop", "two": "till"}


def test_one_text_typed_twice_is_two_prompts(tmp_path: Path, vault: Vault) -> None:
    again = claude_run("one", 2)
    assert imported(vault, written(tmp_path / "a.jsonl", *FIRST, *again)) == 2


def test_lines_after_a_compaction_count_once(tmp_path: Path, vault: Vault) -> None:
    summary = changed(claude_run("This session is being continued", 3), isCompactSummary=True)[:1]
    anew = changed(FIRST, uuid=None)
    lines = [*changed(FIRST, uuid=None), *summary, *anew, *SECOND]
    assert imported(vault, written(tmp_path / "a.jsonl", *lines)) == 2
    assert outcomes_of(vault)["one"].decision.id == "p-1"


@pytest.mark.parametrize("place", ["agent-a1.jsonl", "a/subagents/agent-a1.jsonl"])
def test_a_subagents_file_is_no_prompt_of_its_own(tmp_path: Path, vault: Vault, place: str) -> None:
    written(tmp_path / "a.jsonl", *FIRST)
    helper = changed(claude_run("look for it", 2), isSidechain=True, agentId="a1")
    written(tmp_path / place, *helper)
    assert imported(vault, tmp_path) == 1
    assert imported(vault, tmp_path / place) == 0


def test_the_blocks_of_one_line_are_one_prompt(tmp_path: Path, vault: Vault) -> None:
    blocks = [
        {"type": "text", "text": "<ide_opened_file>a.py</ide_opened_file>"},
        {"type": "text", "text": "fix it"},
        {"type": "text", "text": "and test it"},
    ]
    lines = [dict(line) for line in FIRST]
    lines[0]["message"] = {"role": "user", "content": blocks}
    assert imported(vault, written(tmp_path / "a.jsonl", *lines)) == 1
    assert list(outcomes_of(vault)) == ["fix it\nand test it"]


def test_a_message_that_the_client_wrote_for_the_agent_is_no_claim(
    tmp_path: Path, vault: Vault
) -> None:
    last = changed(claude_run("x", 9)[-1:])[0]
    last["message"] = {
        "role": "assistant",
        "model": "<synthetic>",
        "content": [{"type": "text", "text": "No response requested."}],
    }
    imported(vault, written(tmp_path / "a.jsonl", *FIRST, last))
    assert outcomes_of(vault)["one"].result.claim == "Done."


# ── what hooks recorded ──────────────────────────────────────────────────────────────


def live_session(
    vault: Vault, path: Path, *, prompt_id: str | None = "p-1", extra: Iterable[Line] = ()
) -> None:
    """A session with one prompt, as hooks see it while the client writes its transcript."""

    def tell(event: str, at: str, **values: object) -> None:
        payload = {"session_id": "s-1", "cwd": "/x/shop", "transcript_path": str(path), **values}
        read = parse_payload(json.dumps({**payload, "prompt_id": prompt_id}).encode())
        assert read is not None
        client = HookClient(name="claude-code", domain="coding", process=f"of {event}")
        moment = datetime.fromisoformat(f"2026-11-20T10:01:{at}Z")
        Hooks(vault_parts(vault), client, moment).react(event, read)

    written(path)
    tell("SessionStart", "00", source="startup")
    tell("UserPromptSubmit", "01", prompt="one")
    written(path, *FIRST, *extra)
    response = {"tool_input": {"command": "pytest"}, "tool_response": {"stdout": "1 passed"}}
    tell("PostToolUse", "02", tool_name="Bash", tool_use_id="t-1", **response)
    tell("Stop", "04", last_assistant_message="Done.")
    tell("SessionEnd", "05", reason="exit")
    vault.run(["record"], now=LATER)


@pytest.mark.parametrize("prompt_id", ["p-1", None])
def test_an_import_adds_nothing_to_what_hooks_recorded(
    tmp_path: Path, vault: Vault, prompt_id: str | None
) -> None:
    live_session(vault, tmp_path / "s-1.jsonl", prompt_id=prompt_id)
    assert list(outcomes_of(vault)) == ["one"]
    assert imported(vault, tmp_path / "s-1.jsonl") == 0
    fork = changed(FIRST, sessionId="s-2", promptId="p-2") + changed(SECOND, sessionId="s-2")
    assert imported(vault, written(tmp_path / "s-2.jsonl", *fork)) == 1


def test_hooks_add_nothing_to_what_was_imported(tmp_path: Path, vault: Vault) -> None:
    imported(vault, written(tmp_path / "copy.jsonl", *FIRST))
    live_session(vault, tmp_path / "s-1.jsonl")
    assert list(outcomes_of(vault)) == ["one"]


# ── damaged files ────────────────────────────────────────────────────────────────────

SPOILED: Mapping[str, bytes] = {
    "byte order mark": b"\xef\xbb\xbf%s",
    "truncated line": b'{"parentUuid":"x","message":{"role":"user","content":"hi"},"ty\n%s',
    "truncated line without an end": b'{"parentUuid":"x","message":{"role":"user","con%s',
    "two objects in a line": b'{"type":"mode","sessionId":"s-1"}%s',
    "zeros": b"\x00\x00\x00\n%s",
    "empty lines": b"\r\n\r\n%s",
}


@pytest.mark.parametrize("name", SPOILED)
def test_a_damaged_line_costs_no_other(tmp_path: Path, vault: Vault, name: str) -> None:
    data = written(tmp_path / "a.jsonl", *FIRST, *SECOND).read_bytes()
    (tmp_path / "a.jsonl").write_bytes(SPOILED[name].replace(b"%s", data))
    assert imported(vault, tmp_path / "a.jsonl") == 2


def test_line_ends_of_windows_change_nothing(tmp_path: Path, vault: Vault) -> None:
    imported(vault, written(tmp_path / "a.jsonl", *FIRST))
    assert imported(vault, written(tmp_path / "b.jsonl", *FIRST, end="\r\n")) == 0


def test_a_client_is_known_behind_many_lines_without_a_session(
    tmp_path: Path, vault: Vault
) -> None:
    snapshot = {"type": "file-history-snapshot", "messageId": "m-1", "snapshot": {}}
    path = written(tmp_path / "a.jsonl", *[snapshot] * 200, *FIRST)
    assert imported(vault, path) == 1


def test_a_lone_surrogate_costs_no_line(tmp_path: Path, vault: Vault) -> None:
    lines = [*claude_run("a \\ud83d and \U0001f600", 1)]
    text = "".join(json.dumps(line) + "\n" for line in lines).replace("\\\\ud83d", "\\ud83d")
    (tmp_path / "a.jsonl").write_text(text)
    imported(vault, tmp_path / "a.jsonl")
    assert list(outcomes_of(vault)) == ["a \N{REPLACEMENT CHARACTER} and \U0001f600"]


def test_a_prompt_without_a_time_has_that_of_its_answer(tmp_path: Path, vault: Vault) -> None:
    lines = [{k: v for k, v in FIRST[0].items() if k != "timestamp"}, *FIRST[1:]]
    assert imported(vault, written(tmp_path / "a.jsonl", *lines)) == 1
    assert imported(vault, tmp_path / "a.jsonl") == 0


def test_a_compressed_rollout_is_named_with_the_way_to_unpack_it(
    tmp_path: Path, vault: Vault
) -> None:
    written(tmp_path / "a.jsonl", *FIRST)
    (tmp_path / "a.jsonl.zst").write_bytes(b"(\xb5/\xfd")
    (tmp_path / "rollout-b.jsonl.zst").write_bytes(b"(\xb5/\xfd")
    report, _ = vault.import_transcripts("claude-code", [tmp_path], now=LATER)
    (refused,) = report.quarantined
    assert "unpack it with `zstd -d rollout-b.jsonl.zst` first" in refused.message


# ── Codex ────────────────────────────────────────────────────────────────────────────


def rollout(session: str, start: str, **values: object) -> Line:
    """The first line of a rollout."""
    payload = {"id": session, "timestamp": start, "cwd": "/x/shop", "source": "cli", **values}
    return {"timestamp": start, "type": "session_meta", "payload": payload}


def codex_run(task: str, minute: int, turn: str | None = None, **values: object) -> list[Line]:
    """The lines of a prompt whose check passes."""
    passthrough = {"internal_chat_message_metadata_passthrough": {"turn_id": turn}} if turn else {}
    call = {"call_id": f"c-{minute}", "name": "exec_command", "arguments": '{"cmd": "pytest"}'}
    output = "Process exited with code 0\nOutput:\n1 passed\n"
    payloads: list[Line] = [
        {"type": "message", "role": "user", "content": [{"text": task}], **passthrough},
        {"type": "function_call", **call},
        {"type": "function_call_output", "call_id": f"c-{minute}", "output": output},
        {"type": "message", "role": "assistant", "content": [{"text": "Done."}]},
    ]
    return [
        {
            "timestamp": f"2026-11-20T10:{minute:02d}:{step:02d}Z",
            "type": "response_item",
            "payload": payload,
            **values,
        }
        for step, payload in enumerate(payloads)
    ]


PARENT = rollout("s-1", "2026-11-20T10:00:00Z")
FORK = rollout("s-2", "2026-11-20T10:30:00Z", forked_from_id="s-1")
FORK_OF_FORK = rollout("s-3", "2026-11-20T10:40:00Z", forked_from_id="s-2")
COPYING, COPYING_AGAIN = "2026-11-20T10:30:00.5Z", "2026-11-20T10:40:00.5Z"


@pytest.mark.parametrize("with_turns", [True, False])
@pytest.mark.parametrize("with_times", [True, False])
def test_copies_in_forked_rollouts_count_once_in_any_order(
    tmp_path: Path, vault: Vault, *, with_turns: bool, with_times: bool
) -> None:
    one, two, three = (
        codex_run(task, minute, f"turn-{task}" if with_turns else None)
        for task, minute in (("one", 1), ("two", 31), ("three", 41))
    )
    stamp: Mapping[str, object] = {} if with_times else {"timestamp": COPYING}
    again: Mapping[str, object] = {} if with_times else {"timestamp": COPYING_AGAIN}
    files = [
        written(tmp_path / "a.jsonl", PARENT, *one),
        written(tmp_path / "b.jsonl", FORK, *changed([PARENT, *one], **stamp), *two),
        written(
            tmp_path / "c.jsonl",
            FORK_OF_FORK,
            *changed([FORK, PARENT, *one, *two], **again),
            *three,
        ),
    ]
    for order in itertools.permutations(files):
        for file in order:
            imported(vault, file, client="codex")
    sessions = {task: one.source.session for task, one in outcomes_of(vault).items()}
    assert sessions == {"one": "s-1", "two": "s-2", "three": "s-3"}


def test_a_turn_that_begins_with_the_copying_is_the_forks_own(tmp_path: Path, vault: Vault) -> None:
    old_turn, new_turn = (
        "019aa0d2-9a00-7000-8000-000000000001",  # of 2025-11-20
        "01a20000-0000-7000-8000-000000000002",  # of 2026-11-21
    )
    copy = changed([PARENT, *codex_run("one", 1, old_turn)], timestamp=COPYING)
    turn = changed(codex_run("two", 2, new_turn), timestamp=COPYING)
    imported(vault, written(tmp_path / "b.jsonl", FORK, *copy, *turn), client="codex")
    assert list(outcomes_of(vault)) == ["two"]


def test_a_rollout_without_its_first_line_has_the_session_of_its_name(
    tmp_path: Path, vault: Vault
) -> None:
    name = "rollout-2026-11-20T10-00-00-01a21417-0000-7000-8000-0000000000aa.jsonl"
    path = written(tmp_path / name, *codex_run("one", 1, "turn-1"))
    path.write_bytes(b'{"timestamp":"2026-11-20T1\n' + path.read_bytes())
    assert imported(vault, path, client="codex") == 1
    session = outcomes_of(vault)["one"].source.session
    assert session == "01a21417-0000-7000-8000-0000000000aa"


def test_archived_rollouts_beside_their_twins_count_once(tmp_path: Path, vault: Vault) -> None:
    for folder in ("sessions/2026/11/20", "archived_sessions"):
        written(tmp_path / folder / "rollout-a.jsonl", PARENT, *codex_run("one", 1))
    assert imported(vault, tmp_path, client="codex") == 1


def test_what_a_person_adds_to_a_turn_belongs_to_its_prompt(tmp_path: Path, vault: Vault) -> None:
    lines = [*codex_run("one", 1, "turn-1"), *codex_run("use uv", 2, "turn-1")]
    assert imported(vault, written(tmp_path / "a.jsonl", PARENT, *lines), client="codex") == 1


@pytest.mark.parametrize(
    "values",
    [
        {"source": {"subagent": {"thread_spawn": {"parent_thread_id": "s-1"}}}},
        {"source": {"subagent": "review"}},
        {"source": "cli", "thread_source": "subagent"},
    ],
)
def test_a_helpers_rollout_is_no_prompt_of_its_own(
    tmp_path: Path, vault: Vault, values: dict[str, object]
) -> None:
    meta = rollout("s-9", "2026-11-20T10:00:30Z", **values)
    path = written(tmp_path / "a.jsonl", meta, *codex_run("You are a helper", 1))
    assert imported(vault, path, client="codex") == 0


def test_what_a_helper_ran_belongs_to_the_prompt_that_it_names(
    tmp_path: Path, vault: Vault
) -> None:
    parent = "01a21417-0000-7000-8000-0000000000aa"
    first, *_, last = codex_run("one", 1, "turn-1")
    path = tmp_path / f"rollout-{parent}.jsonl"
    written(path, rollout(parent, "2026-11-20T10:00:00Z"), first, last)
    source = {"subagent": {"thread_spawn": {"parent_thread_id": parent}}}
    meta = rollout("s-9", "2026-11-20T10:00:30Z", source=source)
    turn = {"turn_id": "turn-9", "root_turn_id": "turn-1", "cwd": "/x/shop"}
    context = {"timestamp": "2026-11-20T10:00:30Z", "type": "turn_context", "payload": turn}
    written(tmp_path / "rollout-9.jsonl", meta, context, *codex_run("You are a helper", 1))
    assert imported(vault, path, client="codex") == 1
    assert outcomes_of(vault)["one"].result.status == "success"


# ── versions of the clients ──────────────────────────────────────────────────────────


def test_a_version_with_unknown_words_is_named(tmp_path: Path, vault: Vault) -> None:
    line = {"type": "hologram", "sessionId": "s-1", "version": "9.9.9"}
    path = written(tmp_path / "a.jsonl", *changed(FIRST, version="9.9.9"), line)
    _, said = call(vault, "import", "claude-code", str(path), "--dry-run")
    assert "Claude Code 9.9.9 writes lines that are not known here" in said
    _, read = vault.import_transcripts("claude-code", [path], now=LATER, dry=True)
    assert read.unread == {"type 'hologram'": 1}


def test_doctor_names_a_version_whose_lines_hooks_did_not_understand(
    tmp_path: Path, vault: Vault
) -> None:
    line = {"type": "hologram", "sessionId": "s-1", "version": "9.9.9"}
    live_session(vault, tmp_path / "s-1.jsonl", extra=[line])
    folder = vault.store.git.dirs()[0] / "skillvault"
    assert "Claude Code 9.9.9 writes lines" in activity_of(folder, "claude-code").unknown_version


@pytest.mark.parametrize("words", CLIENT_WORDS.values())
def test_each_word_of_a_client_names_a_version_that_is_not_newer_than_the_known_ones(
    words: ClientWords,
) -> None:
    latest = tuple(map(int, words.versions[-1].split(".")))
    for word in words.words:
        versions = [tuple(map(int, version.split("."))) for version in word.versions.split()]
        assert versions == sorted(versions)
        assert versions[-1] <= latest

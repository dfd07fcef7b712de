"""Transcripts become outcomes, one a prompt; how a prompt ended is never its agent's word.

The sessions below `claude-code-2.1.330/`, `claude-code-2.1.197/` and `codex-0.169.0/` were written
by those versions of the real clients against a server on loopback: of each line the parts that are
read, or its long texts cut, the folder rewritten to /home/ada/shop.
"""

import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pygit2
import pytest

from skillvault.api import Vault
from skillvault.exchange.formats import read_outcomes
from skillvault.exchange.transcripts.checks import find_tool
from skillvault.learning.tries.tries import try_of
from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.policy import Policy, parse_policy
from skillvault.model.records import Outcome
from tests.cli.test_recommend import call
from tests.conftest import NOW, Person
from tests.given import as_file, shown
from tests.judge.secrets import FORMATS

SAMPLES = Path(__file__).parent.parent / "exchange" / "transcripts"
REAL = SAMPLES / "claude-code-2.1.330"
ROLLOUTS, BEHIND = SAMPLES / "codex-0.169.0", SAMPLES / "claude-code-2.1.197"
LATER = NOW.replace(month=12)
SKILL = "---\nname: money-rounding\ndescription: Use before rounding.\n---\n\nYen has no cents.\n"
PATTERNS = [re.compile(pattern) for pattern in Policy().transcripts.checks]
Step = tuple[str, dict[str, str], str, bool] | str  # a call with its result, or a message


def edit(path: str) -> Step:
    return ("Edit", {"file_path": path, "old_string": "2", "new_string": "5"}, "", False)


EDIT = edit("/x/pay.py")


def bash(command: str, output: str = "", code: int = 0) -> tuple[str, dict[str, str], str, bool]:
    text = f"Exit code {code}\n{output}" if code else output
    return "Bash", {"command": command}, text, code != 0


def session(
    path: Path, *prompts: tuple[str, list[Step], str], cwd: str = "/x", name: str = "s-1"
) -> Path:
    """A transcript of Claude Code: (prompt, the agent's steps, its last message) each."""
    lines: list[dict[str, Any]] = []
    for number, (asked, steps, claim) in enumerate(prompts):
        at = f"2026-11-20T1{number % 10}:{number // 10:02d}:00Z"
        frame = {"sessionId": name, "timestamp": at, "cwd": cwd, "promptId": f"{name}-p{number}"}
        lines.append({**frame, "type": "user", "message": {"role": "user", "content": asked}})
        plan = {"type": "text", "text": "The timeout is too short, so I raise it."}
        blocks: list[dict[str, Any]] = [] if any(isinstance(s, str) for s in steps) else [plan]
        for step, entry in enumerate(steps):
            if isinstance(entry, str):
                blocks.append({"type": "text", "text": entry})
                continue
            tool, arguments, output, is_error = entry
            use = {"type": "tool_use", "id": f"{number}-{step}", "name": tool, "input": arguments}
            said = {"role": "assistant", "model": "m-1", "content": [*blocks, use]}
            lines.append({**frame, "type": "assistant", "message": said})
            end = {"type": "tool_result", "tool_use_id": use["id"], "is_error": is_error}
            result = {"role": "user", "content": [{**end, "content": output}]}
            lines.append({**frame, "type": "user", "message": result})
            blocks = []
        last = [*blocks, {"type": "text", "text": claim}]
        closing = {"role": "assistant", "model": "m-1", "content": last}
        lines.append({**frame, "type": "assistant", "message": closing})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def imported(vault: Vault, *paths: Path, client: str = "claude-code") -> dict[str, Outcome]:
    """Task -> the outcome of it, by the latest import."""
    vault.import_transcripts(client, paths, now=LATER)
    outcomes = vault.store.snapshot().outcomes.values()
    return {outcome.decision.task: outcome for outcome in outcomes}


# ── what the real clients wrote ──────────────────────────────────────────────────────


def test_sessions_of_the_real_client_end_as_their_signs_say(vault: Vault) -> None:
    outcomes = imported(vault, REAL)
    ended = {task: (o.result.status, o.observer) for task, o in outcomes.items()}
    assert ended == {
        "make the yen test pass": ("success", "exit-code"),
        "rename the helper": ("failure", "person"),
        "no, undo that": ("neutral", "agent"),
        "check the euro test with a subagent": ("failure", "exit-code"),
        "hang forever": ("neutral", "agent"),
    }
    passed = outcomes["make the yen test pass"]
    assert passed.applied == ("money-rounding",)
    assert passed.decision.reasoning == (
        "The yen total is rounded to cents somewhere. I run the test first.\n"
        "The rounding uses two digits for every currency because QUANTUM is fixed."
    )
    assert passed.result.claim == "All tests pass now: yen is rounded to whole units."
    assert passed.result.summary == "`python3 -m unittest -q test_money` passed with exit code 0"
    assert passed.source.agent == "claude-code"
    assert passed.decision.id == "40f66018-8595-46ea-b8da-75a9225f5780"
    assert (
        "AssertionError: 1 != 2" in outcomes["check the euro test with a subagent"].result.evidence
    )
    assert all(o.applied is None for o in outcomes.values() if o is not passed)
    assert outcomes["rename the helper"].is_claim_refused


def test_again_adds_nothing_and_no_line_of_the_real_client_is_unknown(vault: Vault) -> None:
    first, read = vault.import_transcripts("claude-code", [REAL], now=LATER)
    assert (len(read.unread), read.files, first.quarantined) == (0, 4, [])
    again, _ = vault.import_transcripts("claude-code", [REAL], now=LATER)
    assert (again.done, len(again.known)) == ([], 5)


def test_a_rollout_of_codex_is_read_the_same_way(vault: Vault) -> None:
    outcomes = imported(vault, SAMPLES / "codex.jsonl", client="codex")
    (outcome,) = outcomes.values()
    assert outcome.decision.task == "make the build pass"
    assert outcome.source.agent == "codex"
    assert outcome.observer == "exit-code"


def test_what_goes_on_in_the_real_codex_ends_where_it_was_asked_about(vault: Vault) -> None:
    outcomes = imported(vault, ROLLOUTS, client="codex")
    ended = {task: (o.result.status, o.observer) for task, o in outcomes.items()}
    assert ended == {
        "make the slow suite pass": ("success", "exit-code"),
        "raise the pool size": ("failure", "exit-code"),
        "run the suite": ("neutral", "agent"),  # it had not ended, and was not asked about
    }
    assert outcomes["raise the pool size"].is_claim_refused
    _, read = vault.import_transcripts("codex", [ROLLOUTS], now=LATER)
    assert (read.unread, read.files) == ({}, 3)


def test_a_check_in_the_background_ends_as_the_real_client_tells(vault: Vault) -> None:
    (outcome,) = imported(vault, BEHIND).values()
    assert (outcome.result.status, outcome.observer) == ("failure", "exit-code")


def test_a_prompt_joins_the_receipt_of_its_id(vault: Vault, person: Person) -> None:
    person.write("skills/money-rounding/SKILL.md", SKILL)
    person.git("add", "skills")
    person.git("commit", "-qm", "a skill")
    decision = "40f66018-8595-46ea-b8da-75a9225f5780"
    held = [{"skill": "money-rounding", "blob": ""}]
    receipt = shown(decision=decision, domain="coding", shown=[], held_out=held)
    vault.record([("recommendation-r.json", as_file(receipt))], now=LATER)
    imported(vault, REAL)
    (row,) = vault.stats(decision=decision)["skills"]
    assert (row["skill"], row["held_out"], row["read"], row["applied"]) == (
        *("money-rounding", True, True, True),
    )  # held out and read all the same: it counts as shown


# ── how a prompt ended ───────────────────────────────────────────────────────────────

OK, BAD = "3 passed in 0.1s", "1 failed, 2 passed\nE   assert 504 == 200"
CLEAN = "All checks passed!"
NO_PYTEST = bash("python -m pytest", "No module named pytest", 1)
PROMPTS: list[tuple[str, list[Step], str, str]] = [
    (
        "fix the pay test",
        [bash("pytest -q", BAD, 1), EDIT, bash("pytest -q", OK)],
        "Fixed.",
        "success",
    ),
    ("fix the yen test", [EDIT, bash("cd /x && pytest -q tests", BAD, 1)], "All pass!", "failure"),
    ("mend the build", [EDIT, bash("npm run build", "error TS2304: x", 2)], "Done.", "failure"),
    ("lint it", [EDIT, bash("ruff check .", "All checks passed!")], "Clean.", "success"),
    ("make go pass", [EDIT, bash("go test ./...", "ok  shop 0.1s")], "Done.", "success"),
    ("make rust pass", [EDIT, bash("RUST_LOG=x cargo test", "FAILED", 101)], "Done.", "failure"),
    ("raise the limit", [bash("pytest", OK), EDIT], "Fixed.", "neutral"),  # edited since
    ("try the tests", [EDIT, bash("pytest | tail -3", BAD)], "It passes.", "failure"),
    ("try the tests too", [EDIT, bash("pytest | tail -3", OK)], "It passes.", "success"),
    ("try them silently", [EDIT, bash("pytest > log 2>&1; true", "")], "It passes.", "neutral"),
    ("look for pytest", [bash("grep -rn pytest .", "", 1)], "None.", "neutral"),
    ("say pytest", [bash("echo 'run; pytest'", "run; pytest")], "Done.", "neutral"),
    ("install it", [bash("pip install pytest", "ok")], "Installed.", "neutral"),
    ("run without it", [bash("pytest", "bash: pytest: command not found", 127)], "No.", "neutral"),
    (
        "use unittest",
        [bash("python -m pytest", "No module named pytest", 1), bash("python3 -m unittest", "OK")],
        "Done.",
        "success",
    ),
    (
        "both",
        [EDIT, bash("pytest", BAD, 1), bash("ruff check .", "All checks passed!")],
        "Done.",
        "failure",
    ),
    ("ship it", [EDIT, bash("./ship now", "denied", 1)], "Done.", "failure"),
    ("ship it again", [bash("./ship now", "denied", 1), EDIT], "Done.", "neutral"),  # untried
    ("why does job.py crash?", [bash("python job.py", "KeyError: 1", 1)], "No key.", "neutral"),
    ("tidy up", [EDIT, bash("grep -rn old . && ls old", "", 1)], "Done.", "neutral"),
    (
        "mend the job",
        [bash("python job.py", "KeyError: 1", 1), EDIT, bash("python job.py > log")],
        "Done.",
        "success",
    ),
    (
        "make sku unique",
        [
            EDIT,
            bash("python manage.py makemigrations && python manage.py migrate", "duplicate", 1),
            bash("pytest tests", OK),
        ],
        "It is unique now.",
        "failure",
    ),
    (
        "add a column",  # tests that pass show that the program builds again
        [
            EDIT,
            bash("go build ./...", "s.Datum undefined", 1),
            bash("make generate", "ok"),
            bash("go test ./...", "ok  shop 0.1s"),
        ],
        "Added.",
        "success",
    ),
    (
        "add a crate",  # only one package is tested
        [EDIT, bash("cargo build", "error[E0432]", 101), bash("cargo test src/tax.rs", "ok")],
        "Added.",
        "failure",
    ),
    ("explain the code", [], "It pays.", "neutral"),
    ("next", [EDIT], "Done.", "failure"),
    ("no, that is not what I meant", [EDIT], "Done.", "success"),
    ("thanks, that works. now the docs", [EDIT], "Done.", "failure"),  # a complaint follows
    ("great, but the sum is wrong", [EDIT], "Done.", "neutral"),
    ("round the sum", [EDIT, bash("pytest -q", OK)], "Done.", "failure"),  # refused although green
    ("no, undo that", [EDIT], "Done.", "neutral"),
]  # fmt: skip


def test_prompts_end_as_a_person_would_say_and_most_checks_are_understood(
    vault: Vault, tmp_path: Path
) -> None:
    prompts = [(asked, steps, claim) for asked, steps, claim, _ in PROMPTS]
    outcomes = imported(vault, session(tmp_path / "s.jsonl", *prompts))
    wrong = {
        asked: outcomes[asked].result.status
        for asked, *_, status in PROMPTS
        if outcomes[asked].result.status != status
    }
    assert wrong == {}
    assert all(o.observer != "agent" for o in outcomes.values() if o.result.status != "neutral")


def test_attempts_before_the_last_one_are_told_apart_from_it(vault: Vault, tmp_path: Path) -> None:
    flaky = "1 failed\nE   TimeoutError: waited 15 s for the list"
    path = session(
        tmp_path / "s.jsonl",
        (
            "fix the flaky login test",
            [
                bash("pytest -q", flaky, 1),
                "The page is slow. I raise the timeout to 15 s.",
                edit("tests/test_login.py"),
                bash("pytest -q", flaky, 1),
                "The click comes before the form is ready. I wait for the form.",
                edit("tests/test_login.py"),
                bash("pytest -q", OK),
            ],
            "The test waits until the form is ready; 30 of 30 runs pass.",
        ),
        (
            "add a discount",
            [
                "I write the test first.",
                edit("tests/test_tax.py"),
                bash("pytest -q", BAD, 1),
                "Now the code.",
                edit("tax.py"),
                bash("pytest -q", OK),
            ],
            "Books have a discount.",
        ),
    )
    outcomes = imported(vault, path)
    outcome = outcomes["fix the flaky login test"]
    assert outcome.decision.reasoning.startswith("The click comes before the form is ready.")
    assert outcome.result.extra["tried"] == [
        "The page is slow. I raise the timeout to 15 s. → TimeoutError: waited 15 s for the list"
    ]
    attempt = try_of(outcome)
    assert attempt.deed.startswith("The test waits until the form is ready")
    assert attempt.tried == (
        "The page is slow. I raise the timeout to 15 s → TimeoutError: waited 15 s for the list",
    )
    assert "tried" not in outcomes["add a discount"].result.extra  # a test that comes first


def test_a_task_that_goes_on_is_one_outcome_that_ends_where_the_last_prompt_does(
    vault: Vault, tmp_path: Path
) -> None:
    path = session(
        tmp_path / "s.jsonl",
        ("fix the tax", [EDIT, bash("pytest -q", BAD, 1)], "It fails."),
        ("go on", [EDIT], "Changed."),
        ("now the tests too", [EDIT, bash("pytest -q", OK)], "All pass."),
        ("add a tax for books", [EDIT, bash("pytest -q", OK)], "Added."),
        ("continue", [EDIT, bash("pytest -q", BAD, 1)], "It is not there yet."),
    )
    outcomes = imported(vault, path)
    ended = {task: outcome.result.status for task, outcome in outcomes.items()}
    assert ended == {"fix the tax": "success", "add a tax for books": "failure"}
    assert outcomes["fix the tax"].result.claim == "All pass."


@pytest.mark.parametrize(
    ("command", "tool"),
    [
        ("pytest -x", ("pytest", True)),
        ("cd app && timeout 60 uv run pytest", ("pytest", True)),
        (".venv/bin/python -m pytest tests", ("pytest", True)),
        ("npx vitest run", ("vitest", True)),
        ("pytest || true", ("pytest", False)),
        ("pytest\necho done", ("pytest", False)),
        ("./gradlew clean test", ("gradlew clean test", True)),
        ("cat pytest.ini", None),
        ("git commit -m 'pytest; make test'", None),
    ],
)
def test_a_check_is_known_by_how_a_part_of_the_command_begins(
    command: str, tool: tuple[str, bool] | None
) -> None:
    assert find_tool(command, PATTERNS) == tool


def test_a_commit_is_a_sign_as_long_as_its_repository_keeps_it(
    vault: Vault, tmp_path: Path
) -> None:
    repository = pygit2.init_repository(str(tmp_path / "shop"), initial_head="main")
    author = pygit2.Signature("Ada", "ada@example.org")
    tree = repository.index.write_tree()
    ids: list[pygit2.Oid] = []
    for message in ("begin", "a change", "another"):
        parents = ids[-1:]
        ids.append(repository.create_commit("HEAD", author, author, message, tree, parents))
    undo = f"Revert\n\nThis reverts commit {ids[2]}.\n"
    repository.create_commit("HEAD", author, author, undo, tree, [ids[2]])
    prompts = [
        (f"commit {n}", [EDIT, bash("git commit -qam x", f"[main {str(ids[n])[:9]}] x")], "Done.")
        for n in (1, 2)
    ]
    path = session(tmp_path / "s.jsonl", *prompts, cwd=str(tmp_path / "shop"))
    outcomes = imported(vault, path)
    ended = {task: (o.result.status, o.observer) for task, o in outcomes.items()}
    assert ended == {"commit 1": ("success", "commit"), "commit 2": ("failure", "commit")}


# ── what arrives and what does not ───────────────────────────────────────────────────


def test_a_transcript_that_grows_adds_only_what_is_new(vault: Vault, tmp_path: Path) -> None:
    prompts = [(asked, steps, claim) for asked, steps, claim, _ in PROMPTS[:4]]
    path = session(tmp_path / "s.jsonl", *prompts[:2])
    imported(vault, path)
    session(path, *prompts)
    report, _ = vault.import_transcripts("claude-code", [path], now=LATER)
    recorded = [ref for done in report.done for ref in done.change.targets]
    assert (len(recorded), len(report.known)) == (2, 2)


def test_what_a_person_says_next_counts_in_place_of_an_open_end(
    vault: Vault, tmp_path: Path
) -> None:
    asked: tuple[str, list[Step], str] = ("raise the limit", [EDIT], "Done.")
    path = session(tmp_path / "s.jsonl", asked)
    imported(vault, path)
    assert vault.stats(decision="s-1-p0")["outcome"] == "neutral"
    session(path, asked, ("no, undo that", [EDIT], "Undone."))
    imported(vault, path)
    stats = vault.stats(decision="s-1-p0")
    assert (stats["outcome"], stats["observed_by"], len(stats["outcomes"])) == (
        "failure",
        "person",
        2,
    )


def test_no_secret_of_a_transcript_reaches_the_vault(vault: Vault, tmp_path: Path) -> None:
    chance = random.Random(29)
    planted = [make(chance) for make in FORMATS]
    prompts: list[tuple[str, list[Step], str]] = [
        (
            f"use this\n{one.text}\n",
            [bash(f"pytest\n{one.text}", f"{BAD}\n{one.text}\n", 1)],
            f"I used it:\n{one.text}",
        )
        for one in planted
    ]
    vault.import_transcripts("claude-code", [session(tmp_path / "s.jsonl", *prompts)], now=LATER)
    files = list((vault.root / "outcomes").rglob("*.yaml"))
    assert len(files) == len(planted)
    text = "".join(path.read_text() for path in files)
    assert [one.text for one in planted if one.secret in text] == []


def test_lines_that_are_not_understood_are_counted_once_and_nothing_is_quarantined(
    vault: Vault, tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    shutil.copy(REAL / "undone.jsonl", path)
    path.write_text(path.read_text() + '{"type": "hologram", "sessionId": "s"}\n' * 13 + "no\n")
    _, said = call(vault, "import", "claude-code", str(path), "--now", LATER.isoformat())
    assert "13 lines were not understood: type 'hologram'; the rest was read\n" in said
    assert "1 line was not understood: no JSON" in said
    assert not list((vault.root / "quarantine").glob("*"))


def test_a_dry_run_prints_a_table_and_records_nothing(vault: Vault) -> None:
    said, _ = call(vault, "import", "claude-code", str(REAL), "--dry-run")
    assert re.search(r"success +exit-code +fix +make the yen test pass", said)
    assert len(said.splitlines()) == 6
    assert len(vault.store.snapshot().outcomes) == 0


def test_refusals_say_which_command_to_use(vault: Vault, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"write `skillvault import claude-code undone\.jsonl`"):
        list(read_outcomes("jsonl", REAL / "undone.jsonl"))
    report, _ = vault.import_transcripts("codex", [REAL / "undone.jsonl"], now=LATER)
    assert "skillvault import claude-code" in report.quarantined[0].message
    (tmp_path / "x.jsonl").write_text("{}\n")
    report, _ = vault.import_transcripts("codex", [tmp_path / "x.jsonl"], now=LATER)
    assert "no transcript of Claude Code or Codex" in report.quarantined[0].message
    with pytest.raises(UsageError, match="--trust is for transcripts"):
        call(vault, "import", "jsonl", str(tmp_path / "x.jsonl"), "--trust", "untrusted")
    with pytest.raises(
        BadInputError, match=r"transcripts\.checks: '\(' is not a regular expression"
    ):
        parse_policy({"transcripts": {"checks": ["("]}})


def test_transcripts_of_others_have_the_trust_that_is_given(vault: Vault) -> None:
    vault.import_transcripts("claude-code", [REAL], trust="untrusted", now=LATER)
    assert {o.trust for o in vault.store.snapshot().outcomes.values()} == {"untrusted"}


def test_a_pattern_of_the_policy_makes_a_check_of_a_command() -> None:
    policy = parse_policy({"transcripts": {"checks": [r"check\.sh\b"]}})
    patterns = [re.compile(pattern) for pattern in policy.transcripts.checks]
    assert find_tool("./check.sh --all", patterns) == ("check.sh", True)
    assert find_tool("pytest", patterns) is None

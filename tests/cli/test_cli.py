"""The command line as a person meets it: exit codes, streams, one sentence an error."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.cli import main
from skillvault.cli.run import print_waiting
from skillvault.loop.run import WaitingWork
from skillvault.model.text.hidden_characters import hidden_characters
from tests import forked
from tests.given import NOW, as_file, raw


def call(*args: str, cwd: Path, stdin: bytes = b"") -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of the program in a process."""
    done = forked.program(*args, folder=cwd, stdin=stdin)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("status",), 3, "no vault here or above it"),
        (("run", "dance"), 2, "dance"),
        (("nonsense",), 2, "no such command; `skillvault --help` lists them"),
        (("record",), 2, "--example"),
        (("cold", "--keep", "99999999"), 2, "--keep"),
        (("init", "--domain", "../x"), 2, "cannot be a folder name"),
        (("import", "excel", "x"), 2, "excel"),
        (("run", "--now", "yesterday"), 2, "not a time"),
        (("recommend", "--domain", "coding"), 3, "no vault here or above it"),
        (("search", "x", "--kind", "link"), 2, "link"),
        (("stats", "a", "--decision", "d-1"), 2, "--decision ID"),
    ],
)
def test_each_failure_has_its_exit_code_and_one_sentence(
    tmp_path: Path, args: tuple[str, ...], code: int, says: str
) -> None:
    got, out, err = call(*args, cwd=tmp_path)
    assert got == code
    assert says in err
    assert "Traceback" not in err
    assert out == ""


@pytest.mark.parametrize(
    "args",
    [
        ("skill", "show", "some", "{}"),
        ("check", "{}"),
        ("{}",),
        ("--{}",),
        ("log", "-n", "{}"),
        ("search", "x", "--kind", "{}"),
    ],
)
def test_what_hides_in_what_was_typed_is_repeated_as_escapes(
    tmp_path: Path,
    args: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    typed = [arg.format("\x1b]52;c;eA==\x07\u202e") for arg in args]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["skillvault", *typed])
    with pytest.raises(SystemExit) as left:
        main()
    err = capsys.readouterr().err
    assert left.value.code == 2
    assert r"\x1b]52" in err
    assert list(hidden_characters(err)) == []


def test_an_unknown_reference_says_where_to_look(vault: Vault) -> None:
    code, _, err = call("why", "nothing-here", cwd=vault.root)
    assert code == 2
    assert "skillvault skill list" in err


def test_the_vault_is_found_upward_from_a_folder_in_it(vault: Vault) -> None:
    folder = vault.root / "inbox"
    assert call("status", cwd=folder)[0] == 0


@pytest.mark.parametrize("where", ["before", "after", "environment"])
def test_the_vault_may_be_named(
    vault: Vault, tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = {
        "before": ["--vault", str(vault.root), "skill", "list"],
        "after": ["skill", "list", "--vault", str(vault.root)],
        "environment": ["skill", "list"],
    }[where]
    if where == "environment":
        monkeypatch.setenv("SKILLVAULT_VAULT", str(vault.root))
    assert call(*args, cwd=tmp_path)[0] == 0


def test_the_example_is_an_outcome_that_is_taken(vault: Vault) -> None:
    _, example, _ = call("record", "--example", cwd=vault.root)
    code, _, err = call("record", "-", cwd=vault.root, stdin=example.encode())
    assert (code, "1 recorded" in err) == (0, True)


@pytest.mark.parametrize("form", ["yaml", "json", "md"])
def test_stdin_is_read_as_what_it_looks_like(vault: Vault, form: str) -> None:
    text = {
        "json": as_file(raw()),
        "yaml": b"domain: coding\noccurred_at: 2026-11-02T10:00:00Z\n"
        b"decision: {action: x}\nresult: {status: failure}\n",
        "md": b"---\ndomain: coding\noccurred_at: 2026-11-02T10:00:00Z\n"
        b"decision: {action: x}\nresult: {status: failure}\n---\nBecause.\n",
    }[form]
    code, out, _ = call("record", "-", cwd=vault.root, stdin=text)
    assert (code, "record: 1 outcome in coding" in out) == (0, True)


def test_a_bad_file_given_by_name_stays_and_a_copy_is_quarantined(
    vault: Vault, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("domain: coding\n")
    code, _, err = call("record", str(bad), cwd=vault.root)
    assert code == 1
    assert "occurred_at: missing; add it" in err
    assert bad.exists()
    assert vault.inbox.quarantine.file_names() == ["bad.yaml"]


def test_run_with_bad_input_ends_well_and_says_why(vault: Vault) -> None:
    (vault.root / "inbox" / "bad.yaml").write_text("domain: [")
    code, _, err = call("run", cwd=vault.root)
    assert (code, "refused: bad.yaml: line" in err) == (0, True)


def test_why_a_run_taught_nothing_is_worked_out_if_it_is_asked_for(vault: Vault) -> None:
    vault.record([("a.json", as_file(raw()))])
    assert call("run", cwd=vault.root)[2] == ""
    assert call("run", cwd=vault.root)[2] == "nothing due; `skillvault run -v` says why\n"
    assert "no new skill:\n  1 outcome: it is in a skill\n" in call("run", "-v", cwd=vault.root)[2]


def test_an_empty_vault_says_how_to_begin(vault: Vault) -> None:
    assert "skillvault record --example" in call("run", cwd=vault.root)[2]


def test_a_paused_vault_says_so_and_keeps_the_outcome(vault: Vault) -> None:
    vault.store.git.run("checkout", "-q", "--detach")
    code, _, err = call("record", "-", cwd=vault.root, stdin=as_file(raw()))
    assert code == 7
    assert "HEAD is detached" in err
    assert vault.inbox.names() == ["stdin.json"]


def test_a_reader_that_goes_away_is_no_error(vault: Vault) -> None:
    command = f"{sys.executable} -m skillvault log | head -n 0"
    done = subprocess.run(
        ["sh", "-c", command], cwd=vault.root, capture_output=True, text=True, check=True
    )
    assert "Traceback" not in done.stderr


WHAT, WHY = "Raised the timeout of test_payment to 5 s", "it failed again on the next run"


def test_a_failure_is_recorded_in_a_sentence(vault: Vault) -> None:
    command = ("record", "--failed", WHAT, "--because", WHY, "--worked", "Reproduce it first.")
    code, _, err = call(*command, "--domain", "coding", cwd=vault.root)
    assert (code, "1 recorded" in err) == (0, True)
    (outcome,) = vault.store.snapshot().outcomes.values()
    assert (outcome.result.status, outcome.observer) == ("failure", "person")
    vault.run()
    (guide,) = [skill for skill in vault.shelf.skills() if skill.kind == "guide"]
    assert f"{WHAT} → {WHY}." in guide.body
    assert "Reproduce it first (a person says so)." in guide.body


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--failed", WHAT), "--because WHY"),
        (("--because", WHY), "only with --failed"),
        (("--failed", WHAT, "--because", WHY), "add --domain NAME: pass one of coding, perps"),
        (("a.yaml", "--failed", WHAT, "--because", WHY), "two outcomes"),
    ],
)
def test_half_a_failure_is_refused(vault: Vault, words: tuple[str, ...], sentence: str) -> None:
    code, _, err = call("record", *words, cwd=vault.root)
    assert (code, sentence in err) == (2, True)


def test_the_only_domain_is_the_default(tmp_path: Path) -> None:
    vault, _ = Vault.init(tmp_path / "vault", ["coding"], now=NOW)
    for words in (("record", "--failed", WHAT, "--because", WHY), ("fact", "add", "Rows lock.")):
        assert call(*words, cwd=vault.root)[0] == 0
    assert {fact.domain for fact in vault.memory.facts()} == {"coding"}


def test_many_files_that_wait_for_one_reason_share_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    edited = [WaitingWork("skills/mine/SKILL.md", "edited by you")]
    print_waiting(edited + [WaitingWork(f"{n}.md", "changed meanwhile") for n in range(11)])
    assert capsys.readouterr().err.splitlines() == [
        "waiting: skills/mine/SKILL.md: edited by you",
        "waiting: 0.md and 10 more: changed meanwhile",
    ]


@pytest.mark.parametrize("command", [["log", "-p"], ["status", "--json"], ["run", "--help"]])
def test_output_that_nobody_reads_ends_the_command_as_sigpipe_does(
    vault: Vault, command: list[str]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "skillvault", *command],
        cwd=vault.root,
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


def test_ctrl_c_ends_a_command_with_one_line(vault: Vault) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "skillvault", "record", "-"],
        cwd=vault.root,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as process:
        assert process.stdin
        assert process.stderr
        process.stdin.write(b"x" * 1_000_000)  # more than a pipe holds: the command is reading
        process.send_signal(signal.SIGINT)
        process.stdin.close()  # the signal may come between two reads
        assert process.stderr.read() == b"\nskillvault: stopped\n"
    assert process.returncode == 128 + signal.SIGINT
    assert vault.inbox.names() == []

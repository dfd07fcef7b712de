"""`skillvault distill`: a session's file, a transcript, the id of one that stands in outcomes."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.model.text import strict_yaml
from tests.conftest import NOW
from tests.given import as_file, ended, raw

SAMPLES = Path(__file__).parents[1] / "exchange" / "transcripts"
CLAUDE, CODEX = SAMPLES / "claude_code.jsonl", SAMPLES / "codex.jsonl"


def distill(vault: Vault, what: object, *options: str) -> Result:
    """Run `distill` and return its result."""
    place = ["--vault", str(vault.root), "--now", NOW.isoformat()]
    return CliRunner().invoke(cli, ["distill", str(what), *place, *options])


def outcomes_of(session: str, *statuses: str, **changes: Any) -> list[tuple[str, bytes]]:
    """Outcomes of a session that ended so, each on another target."""
    return [
        (
            f"{place}.json",
            as_file(
                raw(
                    place,
                    result={"status": status, "summary": f"The {place}th part was refused."},
                    decision__target=f"part {place}",
                    source={"agent": "a", "session": session},
                    **changes,
                )
            ),
        )
        for place, status in enumerate(statuses)
    ]


@pytest.mark.parametrize("name", ["s.yaml", "s.json"])
def test_a_session_file_need_not_say_that_it_is_one(
    vault: Vault, tmp_path: Path, name: str
) -> None:
    session = {key: value for key, value in ended().items() if key != "type"}
    text = json.dumps(session) if name.endswith("json") else strict_yaml.dump(session)
    (tmp_path / name).write_text(text, encoding="utf-8")
    result = distill(vault, tmp_path / name)
    assert result.exit_code == 0, result.output
    first, second = result.stdout.splitlines()
    assert first.endswith("record: 1 session in coding")
    assert second.endswith("distill: distilled-s-77-4cc8f8")
    assert distill(vault, "s-77").stdout == (
        "session s-77: done: distilled distilled-s-77-4cc8f8\n"
    )


@pytest.mark.parametrize("path", [CLAUDE, CODEX])
def test_what_comes_of_a_transcript_waits_for_a_person(vault: Vault, path: Path) -> None:
    result = distill(vault, path)
    assert result.exit_code == 0, result.output
    (skill,) = vault.skills("proposed")
    assert vault.skills() == []
    assert f"`skillvault skill approve {skill.name}` serves it" in result.stderr
    assert "not understood: " in result.stderr
    assert "hologram" in result.stderr
    kept = vault.store.snapshot().sessions
    assert [session.transcript for session in kept.values()] == [skill_client(path)]


def skill_client(path: Path) -> str:
    """The client that wrote a sample."""
    return {CLAUDE: "claude-code", CODEX: "codex"}[path]


def test_nothing_else_of_a_transcript_is_kept(vault: Vault) -> None:
    distill(vault, CLAUDE)
    (session,) = vault.store.snapshot().sessions.values()
    assert "gateway is too slow" not in str(session)
    assert "make the checkout test pass" not in str(session)


def test_a_session_that_stands_in_outcomes_alone_is_distilled(vault: Vault) -> None:
    vault.record(outcomes_of("run 9", "failure", "success", "failure"), now=NOW)
    result = distill(vault, "run 9")
    assert result.exit_code == 0, result.output
    (name,) = [skill.name for skill in vault.skills() if skill.origin == "distilled"]
    body = vault.skill(name)[0].body
    assert "fix-flaky-test on part 0: The 0th part was refused (after: I raise" in body
    assert "## What Then Worked\n\n- fix-flaky-test on part 1: I raise the timeout" in body
    (branch,) = vault.why(name)["sources"]
    ends = [end["ref"]["kind"] for end in branch["sources"]]
    assert ends == ["outcome"] * 3


def test_untrusted_outcomes_make_an_untrusted_session(vault: Vault) -> None:
    vault.record(outcomes_of("s-9", "failure", "failure", source__trust="untrusted"), now=NOW)
    assert distill(vault, "s-9").exit_code == 0
    (skill,) = vault.skills("proposed")
    assert vault.skill(skill.name)[0].trust == "untrusted"


def test_outcomes_of_two_domains_need_a_choice(vault: Vault) -> None:
    vault.record(outcomes_of("s-9", "failure", "failure"), now=NOW)
    vault.record(outcomes_of("s-9", "failure", "failure", domain="perps"), now=NOW)
    refused = distill(vault, "s-9")
    assert refused.exception is not None
    assert "choose with --domain coding" in str(refused.exception)
    assert distill(vault, "s-9", "--domain", "perps").exit_code == 0
    assert [skill.domain for skill in vault.skills()] == ["perps"]


def test_too_little_is_told_with_its_numbers(vault: Vault, tmp_path: Path) -> None:
    small = ended(failures=[{"lemma": "x", "reason": "y"}])
    (tmp_path / "s.json").write_bytes(as_file(small))
    result = distill(vault, tmp_path / "s.json")
    assert result.exit_code == 0
    assert "session s-77: too little: a session needs 2 different failures" in result.stdout


def test_a_bad_file_is_quarantined_and_named(vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_bytes(as_file(ended(failures=["x"])))
    result = distill(vault, tmp_path / "s.json")
    assert result.exit_code == 1
    assert "failures[0]: expected a mapping" in result.stderr
    assert len(vault.quarantine.file_names()) == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"- a\n", "expected keys and values"),
        (b"\x00", "a NUL byte"),
        (b"", "the file is empty"),
        (b"<<<<<<< HEAD\n", "expected keys and values"),
        (b"a: " + b"x" * 300_000, "larger than 256 KiB"),
    ],
)
def test_a_file_that_holds_no_session_is_refused_and_nothing_is_written(
    vault: Vault, tmp_path: Path, content: bytes, words: str
) -> None:
    (tmp_path / "s.yaml").write_bytes(content)
    before = vault.store.git.head()
    result = distill(vault, tmp_path / "s.yaml")
    assert result.exit_code != 0
    assert str(result.exception).startswith("s.yaml: ")
    assert words in str(result.exception)
    assert vault.store.git.head() == before


def test_neither_a_file_nor_an_id_is_a_usage_error(vault: Vault) -> None:
    result = distill(vault, "nosuch")
    assert "nosuch: neither a file nor a session of this vault" in str(result.exception)


def test_a_dry_run_shows_what_would_come_and_writes_nothing(vault: Vault) -> None:
    before = vault.store.git.head()
    result = distill(vault, CLAUDE, "--dry-run")
    assert "would commit: record: 1 session in coding" in result.stdout
    assert "would commit: distill: distilled-5f0c2a1e" in result.stdout
    assert vault.store.git.head() == before
    assert vault.inbox.names() == []


def test_json_names_the_session_and_its_changes(vault: Vault) -> None:
    found = json.loads(distill(vault, CLAUDE, "--json").stdout)
    assert found["session"] == "5f0c2a1e-7777-4bbb-8ccc-0123456789ab"
    assert [change["step"] for change in found["changes"]] == ["record", "distill"]


def test_again_it_does_nothing(vault: Vault) -> None:
    distill(vault, CLAUDE)
    before = vault.store.git.head()
    result = distill(vault, CLAUDE)
    assert ": done: distilled distilled-5f0c2a1e" in result.stdout
    assert vault.store.git.head() == before

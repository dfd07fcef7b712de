"""A failure without a lesson asks for one, by the command that adds it."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.model.errors import UsageError
from tests.conftest import NOW
from tests.given import as_file, raw

FAILED = {"status": "failure", "evidence": "assert 504 == 200"}


def invoke(vault: Vault, *args: str, text: str | None = None) -> Result:
    """A command's result; it ended well."""
    result = CliRunner().invoke(cli, ["--vault", str(vault.root), *args], input=text)
    assert result.exit_code == 0, result.output
    return result


def asked(result: Result) -> list[str]:
    """The commands on stderr that add a lesson."""
    return [line.split("`")[1] for line in result.stderr.splitlines() if "--lesson" in line]


def record(vault: Vault, **changes: Any) -> Result:
    """Record one outcome by the command."""
    return invoke(vault, "record", "-", text=json.dumps(raw(**changes)))


@pytest.mark.parametrize("named", ["", "d-1", "feature/my branch"])
@pytest.mark.parametrize("observer", [None, "ci"])
def test_the_command_that_a_failure_asks_for_adds_its_lesson(
    vault: Vault, named: str, observer: str | None
) -> None:
    failed = FAILED | ({"observed_by": observer} if observer else {})
    changes = {"decision__id": named} if named else {}
    (command,) = asked(record(vault, result=failed, **changes))
    (name,) = vault.store.snapshot().outcomes
    words = [word.replace("TEXT", "Freeze the clock.") for word in shlex.split(command)]
    result = invoke(vault, *words[1:], "--evidence", "assert 504 == 200")
    assert not asked(result)
    shown = vault.store.snapshot().outcomes[name]
    assert shown.lesson is not None
    assert shown.lesson.do == "Freeze the clock."
    assert not shown.is_lesson_supposed
    assert shown.result.status == "failure"
    assert not vault.store.snapshot().outcomes.overruled_ids([name])
    vault.run(now=NOW)
    invoke(vault, "check")
    taught = [path for path in Path(vault.root).rglob("*.md") if "Freeze" in path.read_text()]
    assert taught


def test_a_lesson_that_comes_after_the_skill_was_written_reaches_it(vault: Vault) -> None:
    (command,) = asked(record(vault, result=FAILED))
    vault.run(now=NOW)
    words = [word.replace("TEXT", "Freeze the clock.") for word in shlex.split(command)]
    invoke(vault, *words[1:])
    vault.run(now=NOW)
    texts = [path.read_text() for path in (vault.root / "skills").rglob("SKILL.md")]
    assert any("Freeze the clock" in text for text in texts)


def test_what_has_a_lesson_or_did_not_fail_asks_for_none(vault: Vault) -> None:
    assert not asked(record(vault, result=FAILED, lesson={"do": "Freeze the clock."}))
    assert not asked(record(vault, result={"status": "success"}))
    assert not asked(record(vault, result=FAILED, source={"trust": "untrusted"}))


def test_a_close_asks_what_its_decision_lacks(vault: Vault) -> None:
    record(vault, decision__id="d-1", result={"status": "success"})
    record(vault, decision__id="d-2", result={"status": "success"}, lesson={"do": "Wait."})
    assert len(asked(invoke(vault, "close", "d-1", "--status", "failure"))) == 1
    assert not asked(invoke(vault, "close", "d-2", "--status", "failure"))
    ended = invoke(vault, "close", "d-1", "--status", "failure", "--lesson", "Freeze it.")
    assert not asked(ended)


def test_a_claim_that_comes_after_the_result_asks_too(vault: Vault) -> None:
    invoke(vault, "close", "d-1", "--status", "failure", "--by", "ci", "--domain", "coding")
    assert len(asked(record(vault, decision__id="d-1", result={"status": "success"}))) == 1


def test_many_failures_ask_in_one_line(vault: Vault, tmp_path: Path) -> None:
    cases = "".join(f'<testcase name="t{n}"><failure>no</failure></testcase>' for n in range(2))
    for name in ("a", "b"):
        suite = f'<testsuite name="{name}" timestamp="2026-11-20T09:00:00Z">{cases}</testsuite>'
        (tmp_path / f"{name}.xml").write_text(suite)
    paths = [str(path) for path in sorted(tmp_path.glob("*.xml"))]
    result = invoke(vault, "import", "junit", *paths, "--domain", "coding")
    (line,) = (line for line in result.stderr.splitlines() if "--lesson" in line)
    assert "2 outcomes failed; to add the lesson of the latest" in line


def test_json_stays_clean(vault: Vault) -> None:
    result = invoke(vault, "record", "--json", "-", text=json.dumps(raw(result=FAILED)))
    assert json.loads(result.stdout)["recorded"]
    assert result.stderr == ""


def test_a_lesson_is_no_end_and_an_empty_one_is_refused(vault: Vault) -> None:
    vault.record([("a.json", as_file(raw(decision__id="d-1", result=FAILED)))], now=NOW)
    for words in ([], ["--lesson", " "]):
        result = CliRunner().invoke(cli, ["--vault", str(vault.root), "close", "d-1", *words])
        assert isinstance(result.exception, UsageError)
        assert "--lesson" in str(result.exception)


def test_a_sentence_in_place_of_a_file_is_told_how_to_say_it(vault: Vault) -> None:
    command = ["--vault", str(vault.root), "record", "The retry did not help."]
    refusal = CliRunner().invoke(cli, command).exception
    assert str(refusal).endswith("check the path, or say it by --failed WHAT --because WHY")

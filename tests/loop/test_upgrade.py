"""A newer program makes no facts of what an earlier version judged, until a person asks for it."""

import re

import pytest
from click.testing import CliRunner

from skillvault import api
from skillvault.api import Vault
from skillvault.cli.commands import cli
from tests.conftest import NOW, Person
from tests.given import as_file, raw

REASONS = (
    "Drop the cache first because nothing reads old entries.",
    "Restart every worker because memory grows at night.",
    "Pin the parser since its grammar changed in June.",
    "Retry uploads without backoff because the network is fast.",
    "Skip the ledger check because balances matched yesterday.",
    "Disable the lint rule because generated code violates it.",
    "Rename the column in place because few queries use it.",
    "Merge both routers because they share a table of hosts.",
)


def judge_as(vault: Vault, version: str, count: int) -> None:
    """Let a vault have failures, each with a bad decision and an insight of this version."""
    outcomes = [
        raw(
            day,
            decision__reasoning=reason,
            result={"status": "failure", "summary": "the service timed out"},
        )
        for day, reason in enumerate(REASONS[:count])
    ]
    vault.record([(f"{n}.json", as_file(one)) for n, one in enumerate(outcomes)], now=NOW)
    vault.run(["evaluate"], now=NOW)
    for path in (vault.root / "evaluations").rglob("*[0-9a-f].yaml"):
        if path.name.endswith(".links.yaml"):
            continue
        text = re.sub(r"version: .*", f"version: '{version}'", path.read_text(encoding="utf-8"))
        text = re.sub(r"was_good_decision: .*", "was_good_decision: false", text)
        text = re.sub(r"quality_score: .*", "quality_score: 0.2", text)
        path.write_text(re.sub(r"judge_was_right: .*", "judge_was_right: true", text))
    Person(vault.root).git("commit", "-qanm", "Evaluations of another version")


def facts(vault: Vault) -> int:
    return len(list(vault.store.snapshot().facts))


@pytest.mark.parametrize(("version", "count", "made"), [("2", 8, 8), ("1", 8, 0), ("1", 3, 3)])
def test_older_evaluations_make_no_more_than_a_handful_of_facts(
    vault: Vault, version: str, count: int, made: int
) -> None:
    judge_as(vault, version, count)
    report = vault.run(now=NOW)
    assert facts(vault) == made
    codes = [problem.code for problem in report.problems]
    assert codes == ([] if made else ["outdated"])
    assert vault.run(now=NOW).done == []


def test_an_upgrade_is_shown_first_and_is_one_commit(vault: Vault) -> None:
    judge_as(vault, "1", 8)
    vault.run(now=NOW)
    before = vault.store.snapshot().commit
    shown = api.upgrade(vault, now=NOW, dry=True)
    told = CliRunner().invoke(cli, ["--vault", str(vault.root), "doctor", "--upgrade"])
    assert "promote   8 facts: " in told.output
    assert vault.store.snapshot().commit == before
    report = api.upgrade(vault, now=NOW)
    assert facts(vault) == 8
    assert len({done.commit for done in report.done}) == 1
    assert [one.change.subject for one in shown.done] == [one.change.subject for one in report.done]
    assert vault.run(now=NOW).done == []
    args = ["--vault", str(vault.root), "run", "--upgrade", "--now", NOW.isoformat()]
    assert CliRunner().invoke(cli, args).output == "nothing changes\n"
    assert vault.check().problems == []

"""`close` and `import --decision`: a decision is closed by what was seen of it."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.model.errors import BadInputError, UsageError
from skillvault.sessions.closing import Closing
from tests.cli.test_recommend import call
from tests.conftest import NOW
from tests.given import as_file, raw

JUNIT = """<testsuite name="pytest" timestamp="2026-11-20T09:00:00Z" time="2">
<testcase classname="tests.test_pay" name="test_yen" time="1">
<failure message="assert 504 == 200">E   assert 504 == 200</failure></testcase></testsuite>"""
CTRF = json.dumps(
    {
        "results": {
            "tool": {"name": "vitest"},
            "summary": {"tests": 1, "passed": 1, "stop": 1_795_165_200_000},
            "tests": [{"name": "yen", "status": "passed", "duration": 3}],
        }
    }
)


@pytest.fixture
def claimed(vault: Vault) -> Vault:
    """A vault with the claims of some decisions."""
    claim = {"status": "success", "summary": "Fixed."}
    claims = [raw(day, decision__id=f"d-{day}", result=claim) for day in range(8)]
    vault.record([(f"o{n}.json", as_file(one)) for n, one in enumerate(claims)], now=NOW)
    return vault


def ending(vault: Vault, decision: str) -> tuple[str, str, bool]:
    """Return how a decision ended, who saw it, and whether it is a surprise."""
    stats = vault.stats(decision=decision)
    return stats["outcome"], stats["observed_by"], stats["surprise"]


def test_each_way_to_close_says_who_saw_it(claimed: Vault, tmp_path: Path) -> None:
    (tmp_path / "junit.xml").write_text(JUNIT)
    (tmp_path / "ctrf.json").write_text(CTRF)
    junit, ctrf = str(tmp_path / "junit.xml"), str(tmp_path / "ctrf.json")
    ways: list[tuple[tuple[str, ...], tuple[str, str, bool]]] = [
        (("close", "d-0", "--junit", junit), ("failure", "tests", True)),
        (("close", "d-1", "--ctrf", ctrf, "--by", "ci"), ("success", "ci", False)),
        (("close", "d-2", "--from-exit", "1"), ("failure", "exit-code", True)),
        (("close", "d-3", "--status", "failure"), ("failure", "person", True)),
        (
            ("close", "d-4", "--status", "neutral", "--by", "verifier"),
            ("neutral", "verifier", False),
        ),
        (("import", "junit", junit, "--decision", "d-5"), ("failure", "tests", True)),
        (("import", "ctrf", ctrf, "--decision", "d-6"), ("success", "tests", False)),
    ]
    for args, end in ways:
        call(claimed, *args)
        assert ending(claimed, args[-1] if args[0] == "import" else args[1]) == end
    said, _ = call(claimed, "stats", "--decision", "d-0")
    assert "seen by tests\n  a surprise: the agent claimed success: Fixed.\n" in said
    outcome = claimed.store.snapshot().outcomes[claimed.stats(decision="d-0")["outcomes"][-1]]
    assert "assert 504 == 200" in outcome.result.evidence
    assert "tool" not in outcome.context  # known after the end: no condition of the decision
    assert outcome.decision.action == "fix-flaky-test"
    # The same report once more is known; so it is under `import`.
    assert "known already" in call(claimed, "import", "junit", junit, "--decision", "d-0")[0]


def test_a_command_is_run_and_its_output_and_exit_code_are_passed_on(claimed: Vault) -> None:
    script = "import sys; print('out'); print('AssertionError: 3 != 4', file=sys.stderr); exit(3)"
    args = ["--vault", str(claimed.root), "close", "d-7", "--run", "--", sys.executable, "-c"]
    result = CliRunner().invoke(cli, [*args, script])
    assert result.exit_code == 3
    assert result.stdout == "out\n"
    assert result.stderr.startswith("AssertionError: 3 != 4\n")
    assert "d-7 closed: failure, by exit-code\n" in result.stderr
    assert ending(claimed, "d-7") == ("failure", "exit-code", True)
    outcome = claimed.store.snapshot().outcomes[claimed.stats(decision="d-7")["outcomes"][-1]]
    assert "AssertionError: 3 != 4" in outcome.result.evidence
    assert outcome.result.extra == {"exit_code": 3}


def test_a_command_ended_by_a_signal_has_the_shells_exit_code(claimed: Vault) -> None:
    script = "import os; os.kill(os.getpid(), 15)"
    args = ["--vault", str(claimed.root), "close", "d-7", "--run", "--", sys.executable, "-c"]
    assert CliRunner().invoke(cli, [*args, script]).exit_code == 143


def test_the_exit_code_is_passed_on_where_nothing_can_be_closed(claimed: Vault) -> None:
    args = ["--vault", str(claimed.root), "close", "d-99", "--domain", "codin", "--run", "--"]
    result = CliRunner().invoke(cli, [*args, sys.executable, "-c", "raise SystemExit(4)"])
    assert result.exit_code == 4
    assert "not closed: domain: codin is new here; did you mean coding?" in result.stderr


def test_refusals_name_the_next_step(claimed: Vault, tmp_path: Path) -> None:
    (tmp_path / "no.xml").write_text("<html/>")
    refusals = {
        ("close", "d-0"): "in one way: --junit FILE",
        ("close", "d-0", "--status", "success", "--from-exit", "0"): "in one way",
        ("close", "d-0", "--run"): "--run needs a COMMAND after --",
        ("close", "d-0", "--status", "success", "true"): "only --run takes one",
        ("close", " ", "--status", "success"): "the decision's id is empty",
        ("close", "d-0", "--run", "--", "no-such-program"): "nothing was closed",
        ("import", "harbor", str(tmp_path), "--decision", "d"): "write junit or ctrf",
    }
    for args, sentence in refusals.items():
        with pytest.raises(UsageError, match=sentence):
            call(claimed, *args)
    report = CliRunner().invoke(
        cli, ["--vault", str(claimed.root), "close", "d-0", "--junit", str(tmp_path / "no.xml")]
    )
    assert isinstance(report.exception, BadInputError)
    assert "give a JUnit report" in report.exception.message
    assert ending(claimed, "d-0") == ("success", "agent", False)


def test_a_decision_that_only_close_ends_says_what_is_missing(vault: Vault) -> None:
    vault.recommend("coding", "Fix the flaky checkout test", decision="d-1", now=NOW)
    vault.close("d-1", Closing(status="failure", evidence="FAILED test_pay"), now=NOW)
    vault.run(now=NOW)
    (name,) = vault.store.snapshot().outcomes
    _, answers = vault.why_not(name)
    assert (answers[-1].step, answers[-1].state) == ("evaluate", "waiting")
    assert answers[-1].reason.endswith("with `decision: {id: d-1, action: ACTION}`")
    assert "`skillvault why-not ID` says why" in call(vault, "run", "-v")[1]

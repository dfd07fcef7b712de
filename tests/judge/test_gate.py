"""judge: asked before a decision is carried out; its exit code is the answer."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.model.claude_models import FAST, THOROUGH
from tests.conftest import NOW
from tests.given import as_file, trade
from tests.judge.conftest import appoint
from tests.judge.server import Body, Server, error, message, record

OPINION: Body = {
    "quality_score": 0.8,
    "confidence": 0.7,
    "warnings": ["Funding is high."],
    "suggestion": "Halve the size.",
    "insight": "Chasing high funding ends badly.",
}
SOUND = (
    "Funding is 0.01 % and falling because longs closed; I risk 1 % with a stop at 3 %, as the "
    "trend may turn. Instead of market I use a limit order at 142.5."
)


def decision(**changes: Any) -> Body:
    """A decision as an agent writes it, before it is carried out."""
    made = {"action": "open_long", "target": "SOL-PERP", "reasoning": SOUND, "confidence": 0.8}
    given = {"domain": "perps", "decision": made, "context": {"volatility": "high"}, **changes}
    return {key: value for key, value in given.items() if value is not None}


def ask(vault: Vault, given: Body) -> Result:
    """Run `judge` on a decision and return its result."""
    command = ["--vault", str(vault.root), "judge", "-", "--json", "--now", "2026-11-20T12:00:00Z"]
    return CliRunner().invoke(cli, command, input=json.dumps(given))


def answered(opinion: Body, api: Server) -> None:
    """Have this opinion given."""
    api.script = lambda _: message(opinion)


def test_offline_a_sound_decision_may_go_on(vault: Vault) -> None:
    done = ask(vault, decision())
    said = json.loads(done.stdout)
    assert (done.exit_code, said["proceed"]) == (0, True)
    assert said["quality"] >= 0.7
    assert said["judge"]["name"] == "offline"
    assert vault.inbox.names() == []


def test_offline_a_bad_one_may_not_and_is_recorded_as_held_back(vault: Vault) -> None:
    made = {"action": "open_long", "reasoning": "Sure thing, all in!", "confidence": 0.99}
    done = ask(vault, decision(decision=made))
    assert done.exit_code == 10
    assert "below 0.4" in json.loads(done.stdout)["reason"]
    vault.run(now=NOW)
    (outcome,) = vault.store.snapshot().outcomes.values()
    assert outcome.result.status == "neutral"
    assert outcome.result.summary.startswith("held back by the judge: quality ")
    assert outcome.source.agent == "skillvault judge"


def test_a_warning_of_the_vault_is_told(vault: Vault) -> None:
    vault.record([("o.json", as_file(trade()))], now=NOW)
    vault.run(now=NOW)
    said = json.loads(ask(vault, decision()).stdout)["warnings"]
    assert said[0].startswith("guide-perps-open-long: Funding is high at 0.08 %")


@pytest.mark.parametrize(
    ("quality", "confidence", "code"),
    [(0.4, 0.5, 0), (0.39, 0.9, 10), (0.9, 0.49, 10), (0.9, 0.9, 0)],
)
def test_the_bounds_are_the_policys(
    claudes: Vault, api: Server, quality: float, confidence: float, code: int
) -> None:
    answered({**OPINION, "quality_score": quality, "confidence": confidence}, api)
    assert ask(claudes, decision()).exit_code == code


def test_the_size_shrinks_with_the_confidence(claudes: Vault, api: Server) -> None:
    answered({**OPINION, "confidence": 0.6}, api)
    said = json.loads(ask(claudes, decision(amount=400)).stdout)
    assert (said["confidence"], said["amount"]) == (0.6, 300)
    assert said["suggestion"] == "Halve the size."


@pytest.mark.parametrize(
    ("stakes", "model"),
    [({}, FAST), ({"amount": 999}, FAST), ({"amount": 1000}, THOROUGH),
     ({"amount": -5000}, THOROUGH), ({"stakes": "high"}, THOROUGH),
     ({"amount": 5000, "stakes": "low"}, FAST)],
)  # fmt: skip
def test_the_better_model_is_asked_where_much_is_at_stake(
    claudes: Vault, api: Server, stakes: Body, model: str
) -> None:
    answered(OPINION, api)
    said = json.loads(ask(claudes, decision(**stakes)).stdout)
    assert api.requests[0]["model"] == said["judge"]["model"] == model
    assert said["judge"]["cost_usd"] > 0


def test_what_is_no_act_is_let_through_unasked(claudes: Vault, api: Server) -> None:
    done = ask(claudes, decision(decision={"action": "HOLD"}))
    assert done.exit_code == 0
    assert api.requests == []


def test_it_fails_open_with_a_warning(
    claudes: Vault, api: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.script = lambda _: error(401, "authentication_error")
    done = ask(claudes, decision())
    assert done.exit_code == 0
    assert json.loads(done.stdout)["warnings"] == ["not judged: Claude refuses (401): no"]
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert "ANTHROPIC_API_KEY is not set" in ask(claudes, decision(amount=1)).stdout


def test_it_is_asked_with_the_skills_that_fit_and_without_secrets(
    claudes: Vault, api: Server
) -> None:
    claudes.record([("o.json", as_file(trade()))], now=NOW)
    claudes.run(now=NOW)
    answered(OPINION, api)
    api.requests.clear()
    password = "hunter2" + "hunter2"
    ask(claudes, decision(context={"note": f"password: {password}"}))
    assert "guide-perps-open-long" in record(api.requests[0])["skills"]
    assert password not in api.texts


def test_the_same_decision_is_paid_for_once(claudes: Vault, api: Server) -> None:
    answered(OPINION, api)
    assert ask(claudes, decision()).stdout == ask(claudes, decision()).stdout
    assert len(api.requests) == 1


def test_a_decision_has_no_result(vault: Vault, tmp_path: Path) -> None:
    appoint(vault)
    done = ask(vault, decision(result={"status": "success"}))
    assert done.exit_code == 1
    assert "a decision has none yet" in str(done.exception)

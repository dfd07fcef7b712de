"""run --batch: what Claude is asked goes as a batch, for half the price, and is paid for once."""

import pytest
from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.model.claude_models import BATCH_RATE, MODELS, THOROUGH, Usage, cost
from tests.conftest import NOW
from tests.given import as_file, trade
from tests.judge.conftest import appoint
from tests.judge.server import Answer, Body, Server, asked_for, claude, error, told

ONE = BATCH_RATE * cost(MODELS[THOROUGH], Usage(1000, 200))


def given(vault: Vault, count: int) -> None:
    """Record so many outcomes, each with grounds of its own."""
    for day in range(count):
        one = trade(day, decision__reasoning=f"Ground {day}.", decision__target=f"T{day}")
        vault.record([(f"{day}.json", as_file(one))], now=NOW)


def asked(api: Server) -> list[list[str]]:
    """Return what each batch asked for."""
    return [[asked_for(one["params"]) for one in batch] for batch in api.batches.values()]


def test_a_batch_for_each_question_until_all_is_learned(claudes: Vault, api: Server) -> None:
    given(claudes, 3)
    for _ in range(5):
        claudes.run(now=NOW, batch=True)
        api.ended = True
    assert asked(api)[:3] == [["verdict"] * 3, ["insight"] * 3, ["text"] * 4]
    assert api.requests == []
    found = claudes.store.snapshot().evaluations.values()
    assert [one.judge.cost_usd for one in found] == [pytest.approx(2 * ONE)] * 3
    assert {skill.kind for skill in claudes.skills()} == {"guide", "warning"}
    assert claudes.run(now=NOW, batch=True).waiting == []
    count = sum(map(len, api.batches.values()))
    assert claudes.status().judge.usd == pytest.approx(count * ONE)


def test_while_a_batch_is_under_way_nobody_else_asks_the_same(claudes: Vault, api: Server) -> None:
    given(claudes, 2)
    claudes.run(now=NOW, batch=True)
    for batch in (True, False):
        report = claudes.run(now=NOW, batch=batch)
        assert [one.path for one in report.waiting] == ["batch msgbatch_1", "outcomes/perps"]
        assert "2 not evaluated: in batch msgbatch_1" in str(report.waiting)
    assert api.requests == []
    assert len(api.batches) == 1
    api.ended = True
    claudes.run(now=NOW)
    assert [asked_for(body) for body in api.requests[:2]] == ["insight"] * 2
    assert claudes.status().evaluations == 2


def test_what_a_batch_does_not_answer_is_asked_again(claudes: Vault, api: Server) -> None:
    given(claudes, 3)
    api.ended = True
    expired = error(500, "api_error")
    api.script = lambda body: expired if "Ground 1." in told(body) else claude(body)
    claudes.run(now=NOW, batch=True)
    claudes.run(now=NOW, batch=True)
    assert sorted(asked(api)[1]) == ["insight", "insight", "verdict"]


def test_a_batch_costs_no_more_than_the_days_dollars(claudes: Vault, api: Server) -> None:
    appoint(claudes, usd_per_day=0.1)
    given(claudes, 8)
    report = claudes.run(now=NOW, batch=True)
    (batch,) = api.batches.values()
    assert 0 < len(batch) < 8
    assert f"{len(batch)} questions sent" in str(report.waiting)
    assert claudes.status().judge.usd == pytest.approx(0.1, abs=0.1 / 2)
    assert claudes.status().judge.usd <= 0.1
    later = claudes.run(now=NOW, batch=True)
    assert len(api.batches) == 1
    assert "leave no room for a batch" in str(later.unavailable)


@pytest.mark.parametrize(
    ("answer", "again"),
    [(error(529, "overloaded_error"), True), (error(401, "authentication_error"), True),
     (Answer(how="reset"), False), (Answer(body=b"<html>"), False)],
    ids=["overloaded", "no-key", "reset", "html"],
)  # fmt: skip
def test_a_batch_that_may_be_under_way_is_not_sent_again_unasked(
    claudes: Vault, api: Server, answer: Answer, again: bool
) -> None:
    given(claudes, 1)
    api.begins = answer
    assert claudes.run(now=NOW, batch=True).unavailable
    api.begins = None
    report = claudes.run(now=NOW, batch=True)
    assert len(api.batches) == (2 if again else 1)
    assert ("`skillvault run --retry` asks again" in str(report.waiting)) is not again
    claudes.store.ledger.forget_failures()
    claudes.run(now=NOW, batch=True)
    assert len(api.batches) == 2


def test_a_batch_is_no_dry_run(claudes: Vault) -> None:
    command = ["--vault", str(claudes.root), "run", "--batch", "--dry-run"]
    done = CliRunner().invoke(cli, command)
    assert "--batch sends paid requests" in str(done.exception)


def test_offline_there_is_no_batch(vault: Vault, api: Server) -> None:
    given(vault, 1)
    assert vault.run(now=NOW, batch=True).waiting == []
    assert vault.status().evaluations == 1
    body: list[Body] = api.requests
    assert body == []

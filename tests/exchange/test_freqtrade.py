"""Backtests: every closed trade, judged by its own ratio, with nothing of the result before it."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from skillvault.exchange import formats
from skillvault.model.errors import BadInputError
from tests.exchange.given import one, outcomes, read, refused, shared, written

REAL = "freqtrade/backtest-result.json"
TRADE: dict[str, Any] = {
    "pair": "SOL/USDT:USDT",
    "stake_amount": 100.0,
    "open_date": "2026-01-10 07:15:00+00:00",
    "close_date": "2026-01-10 09:15:00+00:00",
    "open_rate": 200.0,
    "close_rate": 180.0,
    "min_rate": 178.0,
    "max_rate": 204.0,
    "stop_loss_abs": 180.0,
    "trade_duration": 120,
    "profit_ratio": -0.1,
    "profit_abs": -10.0,
    "exit_reason": "stop_loss",
    "enter_tag": None,
    "is_short": False,
    "is_open": False,
    "leverage": 1.0,
}


def backtest(*trades: dict[str, Any], name: str = "Trend_V1", **strategy: Any) -> dict[str, Any]:
    """A backtest of one strategy with the given trades, each a change to the common one."""
    settings = {"stake_currency": "USDT", "timeframe": "5m", "stoploss": -0.1, **strategy}
    return {"strategy": {name: {"trades": [{**TRADE, **t} for t in trades], **settings}}}


def test_all_179_real_trades_are_taken_and_are_different_outcomes() -> None:
    found = outcomes(read("freqtrade", shared(REAL)))
    assert len({outcome.id for outcome in found}) == 179
    assert {outcome.source.batch for outcome in found} == {"asdf"}
    assert {outcome.source.session for outcome in found} == {None}


def test_the_six_real_losses_beyond_ten_percent_are_stop_losses() -> None:
    heavy = [o for o in outcomes(read("freqtrade", shared(REAL))) if (o.result.score or 0) < -0.1]
    assert [o.result.extra["exit_reason"] for o in heavy] == ["stop_loss"] * 6
    assert heavy[0].result.summary == "stop_loss after 45 min, -10.4 %"
    assert heavy[0].result.evidence.startswith("fell from ")


def test_nothing_of_the_result_stands_in_the_decision_or_the_context() -> None:
    after = ("exit", "close", "profit", "min_rate", "max_rate", "duration", "stop_loss_abs")
    for trade in read("freqtrade", shared(REAL)):
        before = json.dumps([trade["decision"], trade["context"]])
        assert not [word for word in after if word in before]


def test_a_trade_is_named_by_direction_pair_and_times(tmp_path: Path) -> None:
    trade = one("freqtrade", written(tmp_path / "b.json", backtest({"is_short": True})))
    assert trade["decision"] == {
        "action": "enter_short",
        "target": "SOL/USDT:USDT",
        "made_at": "2026-01-10T07:15:00Z",
    }
    assert trade["occurred_at"] == "2026-01-10T09:15:00Z"


def test_the_domain_is_the_strategy_where_none_is_given(tmp_path: Path) -> None:
    path = written(tmp_path / "b.json", backtest({}))
    assert one("freqtrade", path)["domain"] == "trend-v1"
    assert one("freqtrade", path, "perps")["domain"] == "perps"


def test_without_a_run_id_the_batch_is_the_strategy_and_its_span(tmp_path: Path) -> None:
    data = backtest({}, backtest_start="2026-01-01 00:00:00", backtest_end="2026-02-01 00:00:00")
    batch = one("freqtrade", written(tmp_path / "b.json", data))["source"]["batch"]
    assert batch == "Trend_V1 2026-01-01 00:00:00..2026-02-01 00:00:00"


def test_every_strategy_of_a_file_is_read(tmp_path: Path) -> None:
    data = backtest({}, {})
    data["strategy"] |= backtest({}, name="Other")["strategy"]
    agents = [o["source"]["agent"] for o in read("freqtrade", written(tmp_path / "b.json", data))]
    assert agents == ["Trend_V1", "Trend_V1", "Other"]


def test_an_open_trade_is_no_outcome(tmp_path: Path) -> None:
    data = backtest({"is_open": True, "close_date": None}, {})
    assert len(read("freqtrade", written(tmp_path / "b.json", data))) == 1


def test_context_tells_leverage_and_direction_only_where_they_can_differ(tmp_path: Path) -> None:
    spot = one("freqtrade", written(tmp_path / "a.json", backtest({})))["context"]
    assert set(spot) == {"timeframe", "stop_loss", "open_rate", "stake_amount"}
    futures = backtest({}, trading_mode="futures", max_open_trades=3, trailing_stop=True)
    context = one("freqtrade", written(tmp_path / "b.json", futures))["context"]
    assert (context["direction"], context["leverage"]) == ("long", 1.0)
    assert (context["max_open_trades"], context["trailing_stop"]) == (3, True)


def test_the_stake_is_the_entry_value_where_the_numbers_agree(tmp_path: Path) -> None:
    result = one("freqtrade", written(tmp_path / "b.json", backtest({})))["result"]
    assert (result["score"], result["amount"], result["entry_value"]) == (-0.1, -10.0, 100.0)
    assert result["unit"] == "USDT"


def test_a_trade_entered_in_parts_is_measured_against_its_largest_stake(tmp_path: Path) -> None:
    data = backtest({"stake_amount": 50.0, "max_stake_amount": 100.0})
    result = one("freqtrade", written(tmp_path / "b.json", data))["result"]
    assert result["entry_value"] == 100.0


def test_numbers_that_disagree_keep_the_score_and_lose_the_entry_value(tmp_path: Path) -> None:
    data = backtest({"profit_ratio": -0.3, "leverage": 3.0})
    result = one("freqtrade", written(tmp_path / "b.json", data))["result"]
    assert (result["score"], result["stake_amount"]) == (-0.3, 100.0)
    assert "entry_value" not in result


def test_a_gain_above_the_stake_is_taken_with_its_fees(tmp_path: Path) -> None:
    data = backtest({"profit_ratio": 1.5, "profit_abs": 150.4})
    result = one("freqtrade", written(tmp_path / "b.json", data))["result"]
    assert result["entry_value"] == pytest.approx(150.4 / 1.5)
    assert result["stake_amount"] == 100.0


def test_a_negative_zero_is_zero(tmp_path: Path) -> None:
    data = backtest({"profit_ratio": -0.0, "profit_abs": 0.0})
    result = one("freqtrade", written(tmp_path / "b.json", data))["result"]
    assert str(result["score"]) == "0.0"


@pytest.mark.parametrize(
    ("change", "evidence"),
    [
        ({}, "fell from 200 to 178 (-11.0 %); stop at 180"),
        ({"is_short": True}, "rose from 200 to 204 (+2.0 %); stop at 180"),
        ({"stop_loss_abs": None}, "fell from 200 to 178 (-11.0 %)"),
        ({"min_rate": 200.0}, None),
        ({"min_rate": None}, None),
        ({"profit_ratio": 0.1, "profit_abs": 10.0}, None),
    ],
)
def test_evidence_says_how_far_the_price_went_against_a_loss(
    tmp_path: Path, change: dict[str, Any], evidence: str | None
) -> None:
    result = one("freqtrade", written(tmp_path / "b.json", backtest(change)))["result"]
    assert result.get("evidence") == evidence


@pytest.mark.parametrize(
    ("minutes", "said"),
    [(45, "after 45 min"), (312, "after 5.2 h"), (4464, "after 3.1 days"), (None, "after 2.0 h")],
)
def test_the_summary_tells_a_duration_in_its_own_unit(
    tmp_path: Path, minutes: int | None, said: str
) -> None:
    data = backtest({"trade_duration": minutes})
    summary = one("freqtrade", written(tmp_path / "b.json", data))["result"]["summary"]
    assert summary == f"stop_loss {said}, -10.0 %"


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"profit_ratio": None}, "profit_ratio"),
        ({"profit_ratio": "x"}, "profit_ratio"),
        ({"profit_ratio": True}, "profit_ratio"),
        ({"close_date": "soon"}, "close_date"),
        ({"close_date": "0001-01-01T00:00:00+10:00"}, "close_date"),
        ({"pair": ""}, "pair"),
        ({"pair": 3}, "pair"),
    ],
)
def test_a_bad_trade_is_one_value_that_names_its_key(
    tmp_path: Path, change: dict[str, Any], key: str
) -> None:
    path = written(tmp_path / "b.json", backtest({}, change, {}))
    items = [item for _, item in formats.read_outcomes("freqtrade", path)]
    bad = items[1]
    assert isinstance(bad, BadInputError)
    assert bad.key == f"strategy.Trend_V1.trades[1].{key}"
    assert bad.message.startswith(f"b.json: {bad.key}: ")
    assert [type(item) for item in items] == [dict, BadInputError, dict]


def test_a_figure_that_does_not_exist_refuses_no_file(tmp_path: Path) -> None:
    """Freqtrade writes NaN for the statistics of a pair without trades."""
    data = json.dumps(backtest({}, sharpe="HERE")).replace('"HERE"', "NaN")
    assert one("freqtrade", written(tmp_path / "b.json", data))


def test_the_zip_is_read_like_the_file_inside(tmp_path: Path) -> None:
    data = json.dumps(backtest({}))
    plain = written(tmp_path / "plain.json", data)
    packed = tmp_path / "renamed.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("backtest-result-2026-01-01_config.json", "{}")
        archive.writestr("backtest-result-2026-01-01_Trend.py", "x = 1")
        archive.writestr("backtest-result-2026-01-01.json", data)
    assert read("freqtrade", packed) == read("freqtrade", plain)


def test_a_zip_without_a_result_says_what_it_should_hold(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("other.json", "{}")
    assert "no backtest-result-*.json inside" in refused("freqtrade", tmp_path / "b.zip").message


def test_a_damaged_zip_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("backtest-result-1.json", json.dumps(backtest({})))
    whole = (tmp_path / "b.zip").read_bytes()
    (tmp_path / "b.zip").write_bytes(whole.replace(b"stake", b"steak", 1))
    assert refused("freqtrade", tmp_path / "b.zip").code == "bad-zip"


def test_another_json_file_is_answered_with_what_to_give(tmp_path: Path) -> None:
    error = refused("freqtrade", written(tmp_path / "x.json", {"latest_backtest": "b.zip"}))
    assert error.key == "strategy"
    assert "freqtrade backtesting" in error.message

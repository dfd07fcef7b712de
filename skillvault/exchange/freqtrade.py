"""Read backtest results of the trading bot freqtrade, with one outcome for each closed trade.

The settings at the time of opening go to the decision and the context; the market's later prices go
to the result. The file is a .json file, or the .zip archive in which freqtrade stores it.
"""

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from skillvault.exchange import source_file
from skillvault.exchange.source_file import ReadResult, Section, drop_empty, file_label
from skillvault.model.errors import BadInputError
from skillvault.model.intake import SCORE_TOLERANCE
from skillvault.model.records import Scalar, stamp
from skillvault.model.text.text import format_percent, slug

_MAX_REPORT_BYTES = 512 * 1024 * 1024
_MAX_FEE_SHARE = 0.02  # the largest share by which fees change the entry value of a trade


@dataclass(frozen=True, slots=True)
class _StrategyRun:
    """The values that all trades of one strategy share."""

    agent: str
    domain: str
    batch: str
    unit: str | None
    settings: Mapping[str, Scalar]
    margin: bool  # True if leverage and direction can differ


def read_backtest(path: Path, domain: str | None) -> Iterator[ReadResult]:
    """Yield every closed trade of every strategy, in the order of the file."""
    return _read_trades(_read_stats(path), path.stem, domain)


def _read_trades(stats: Section, stem: str, domain: str | None) -> Iterator[ReadResult]:
    number = 0
    for name in stats.section("strategy").values:
        strategy = stats.section("strategy").section(name)
        run = _strategy_run(name, strategy, stats.section("metadata"), domain)
        for index, trade in enumerate(strategy.list_of("trades")):
            if isinstance(trade, Mapping) and trade.get("is_open"):
                continue
            number += 1
            key = strategy.path(f"trades[{index}]")
            convert = partial(_outcome, trade, run, strategy.file, key)
            yield source_file.try_convert(source_file.record_label(stem, number), convert)


# ── the file ─────────────────────────────────────────────────────────────────────────


def _read_stats(path: Path) -> Section:
    """Read the statistics in a file. Freqtrade writes NaN for a missing number."""
    name = file_label(path)
    content = _read_archive(path) if zipfile.is_zipfile(path) else source_file.read_bytes(path)
    stats = Section.of(source_file.parse_json(content, name, nan_is_absent=True), name)
    if not stats.section("strategy").values:
        raise BadInputError(
            f"{name}: strategy: missing; expected the strategies of a backtest; give the file "
            "that `freqtrade backtesting --export trades` writes",
            code="missing-key",
            key="strategy",
        )
    return stats


def _read_archive(path: Path) -> bytes:
    """Read the result from an archive, which also contains settings and source code."""
    name = file_label(path)
    try:
        with zipfile.ZipFile(path) as archive:
            member = _find_report(archive, path)
            if archive.getinfo(member).file_size > _MAX_REPORT_BYTES:
                raise BadInputError(
                    f"{name}: {member} is larger than 512 MiB; import fewer strategies at a time",
                    code="too-large",
                )
            return archive.read(member)
    except (zipfile.BadZipFile, zlib.error, OSError, RuntimeError, NotImplementedError):
        raise BadInputError(
            f"{name}: a damaged or locked zip archive; export the backtest again", code="bad-zip"
        ) from None


def _find_report(archive: zipfile.ZipFile, path: Path) -> str:
    names = sorted(name for name in archive.namelist() if name.endswith(".json"))
    reports = [name for name in names if not name.endswith(("_config.json", ".meta.json"))]
    # The archive's own name first: a renamed archive keeps the members' names.
    for prefix in (f"{path.stem}.json", "backtest-result"):
        for report in reports:
            if PurePosixPath(report).name.startswith(prefix):
                return report
    raise BadInputError(
        f"{file_label(path)}: no backtest-result-*.json inside; give the archive that "
        "`freqtrade backtesting` writes",
        code="missing-key",
    )


def _strategy_run(
    name: str, strategy: Section, metadata: Section, domain: str | None
) -> _StrategyRun:
    start = strategy.maybe_text("backtest_start") or ""
    fallback_batch = f"{name} {start}..{strategy.maybe_text('backtest_end') or ''}"
    trades = [trade for trade in strategy.list_of("trades") if isinstance(trade, Mapping)]
    has_margin = any(t.get("is_short") or t.get("leverage") not in (None, 1) for t in trades)
    return _StrategyRun(
        agent=name,
        domain=domain or slug(name) or "freqtrade",
        batch=metadata.section(name).maybe_text("run_id") or fallback_batch,
        unit=strategy.maybe_text("stake_currency"),
        settings=_settings(strategy),
        margin=has_margin or strategy.values.get("trading_mode") in ("futures", "margin"),
    )


def _settings(strategy: Section) -> dict[str, Scalar]:
    setting = strategy.maybe_number("max_open_trades_setting")
    return drop_empty(
        timeframe=strategy.maybe_text("timeframe"),
        stop_loss=strategy.maybe_number("stoploss"),
        trailing_stop=strategy.values.get("trailing_stop") is True or None,
        max_open_trades=strategy.maybe_number("max_open_trades") if setting is None else setting,
    )


# ── a trade ──────────────────────────────────────────────────────────────────────────


def _outcome(raw: Any, run: _StrategyRun, file: str, key: str) -> dict[str, Any]:
    trade = Section.of(raw, file, key)
    return {
        "domain": run.domain,
        "occurred_at": stamp(trade.time("close_date")),
        "decision": {
            "action": f"enter_{_direction(trade)}",
            "target": trade.text("pair"),
            "made_at": stamp(trade.time("open_date")),
        },
        "result": _result(trade, run.unit),
        "context": _trade_context(trade, run),
        "source": {"agent": run.agent, "batch": run.batch},
    }


def _direction(trade: Section) -> str:
    return "short" if trade.values.get("is_short") else "long"


def _trade_context(trade: Section, run: _StrategyRun) -> dict[str, Scalar]:
    margin = run.margin or None
    return drop_empty(
        **run.settings,
        enter_tag=trade.maybe_text("enter_tag"),
        direction=margin and _direction(trade),
        leverage=margin and trade.maybe_number("leverage"),
        open_rate=trade.maybe_number("open_rate"),
        stake_amount=trade.maybe_number("stake_amount"),
    )


def _result(trade: Section, unit: str | None) -> dict[str, Any]:
    score = trade.number("profit_ratio")
    minutes = trade.maybe_number("trade_duration")
    if minutes is None:
        minutes = (trade.time("close_date") - trade.time("open_date")).total_seconds() / 60
    reason = trade.maybe_text("exit_reason") or trade.maybe_text("sell_reason")
    return drop_empty(
        score=score,
        **_money(trade, score),
        unit=unit,
        summary=f"{reason or 'closed'} after {_format_duration(minutes)}, {format_percent(score)}",
        evidence=_loss_evidence(trade) if score < 0 else None,
        exit_reason=reason,
        duration_minutes=minutes,
        exit_rate=trade.maybe_number("close_rate"),
        min_rate=trade.maybe_number("min_rate"),
        max_rate=trade.maybe_number("max_rate"),
    )


def _money(trade: Section, score: float) -> dict[str, Any]:
    """Return the profit and the stake. The stake is the entry value if profit / stake is the score.

    Freqtrade divides by the stake plus fees, or by the largest stake of a trade in parts. Then the
    stake gets its own key, because an entry value that contradicts the score would be refused.
    """
    amount = trade.maybe_number("profit_abs")
    stakes = [trade.maybe_number(key) for key in ("stake_amount", "max_stake_amount")]
    for stake in stakes:
        if stake and amount is not None and abs(score - amount / stake) <= SCORE_TOLERANCE:
            return {"amount": amount, "entry_value": stake}
    stake = stakes[0]
    # A gain above the whole stake needs an entry value, namely the divisor of freqtrade.
    if score > 1 and amount and stake and abs(amount / score / stake - 1) <= _MAX_FEE_SHARE:
        return {"amount": amount, "entry_value": amount / score, "stake_amount": stake}
    return drop_empty(amount=amount, stake_amount=stake)


def _format_duration(minutes: float) -> str:
    if minutes < 120:
        return f"{minutes:.0f} min"
    return f"{minutes / 60:.1f} h" if minutes < 48 * 60 else f"{minutes / 1440:.1f} days"


def _loss_evidence(trade: Section) -> str | None:
    """Describe how far the price moved against a losing trade, and where its stop was."""
    is_short = _direction(trade) == "short"
    open_rate = trade.maybe_number("open_rate")
    worst_rate = trade.maybe_number("max_rate" if is_short else "min_rate")
    if not open_rate or worst_rate is None or worst_rate == open_rate:
        return None
    verb = "rose" if is_short else "fell"
    stop = trade.maybe_number("stop_loss_abs")
    stop_note = f"; stop at {_format_rate(stop)}" if stop else ""
    change = format_percent(worst_rate / open_rate - 1)
    rates = f"from {_format_rate(open_rate)} to {_format_rate(worst_rate)}"
    return f"{verb} {rates} ({change}){stop_note}"


def _format_rate(value: float) -> str:
    return f"{Decimal(f'{value:.6g}'):f}"

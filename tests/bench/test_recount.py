"""Every figure in a served text is right: counted again from the files of the outcomes."""

import io
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from recount import main

from skillvault.api import Vault
from skillvault.exchange.freqtrade import read_backtest
from tests.golden.stage import Stage
from tests.loop.test_actions import hurried
from tests.streams import batches, learned
from tests.thorough import one_of

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "vault_template" / "examples"
STORIES = (
    "chinese-domain", "first-lesson", "history-of-2018", "lesson-served", "losing-streak",
    "only-failures", "seven-days", "strategy-keeps-its-rule", "surprise", "untrusted-repeats",
)  # fmt: skip


def recounted(vault: Path) -> tuple[int, list[str]]:
    """The script's exit code for a vault, and the lines that it prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        code = main(vault)
    return code, printed.getvalue().splitlines()


def check_figures(vault: Path) -> None:
    """All that is told was counted, and is right."""
    code, lines = recounted(vault)
    *problems, figures = [line for line in lines if not line.startswith("by likeness")]
    assert problems == []
    assert code == 0
    assert not figures.startswith("0 figures")


def a_day_at_a_time(vault: Vault, stream: Iterable[Mapping[str, Any]]) -> Path:
    """A vault that learned from a stream every evening."""
    ordered = sorted(stream, key=lambda raw: raw["occurred_at"])
    days = (list(day) for _, day in groupby(ordered, key=lambda raw: raw["occurred_at"][:10]))
    return learned(vault, days).root


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The outcomes of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("story", one_of(2, STORIES))
def test_a_story_tells_what_its_outcomes_show(story: str, stage: Stage) -> None:
    check_figures(stage.vault(story))


@pytest.mark.parametrize("example", one_of(3, ["coding", "trading", "week"]))
def test_the_examples_a_day_at_a_time(example: str, vault: Vault) -> None:
    check_figures(a_day_at_a_time(vault, lines_of(EXAMPLES / f"{example}.jsonl")))


def test_the_runs_of_agents(vault: Vault, shared: Path) -> None:
    check_figures(a_day_at_a_time(vault, lines_of(shared / "data/agent-runs/by-run.jsonl")))


def test_a_backtest_a_day_at_a_time(vault: Vault, shared: Path) -> None:
    trades = read_backtest(shared / "data/freqtrade/backtest-result.json", None)
    stream = [raw for _, raw in trades if isinstance(raw, dict)]
    check_figures(a_day_at_a_time(vault, stream))


def test_a_rule_is_counted_and_a_wrong_figure_told_with_what_is_right(vault: Vault) -> None:
    root = learned(vault, batches(list(hurried(40)), "bulk")).root
    check_figures(root)
    (path,) = root.glob("skills/strategy-*/SKILL.md")
    text = path.read_text(encoding="utf-8")
    rule = re.search(r"then (\d+) of (\d+) were", text)
    assert rule is not None
    wrong = f"then {int(rule[1]) - 1} of {rule[2]} were"
    path.write_text(text.replace(rule[0], wrong), encoding="utf-8")
    code, lines = recounted(root)
    assert code == 1
    (problem,) = [line for line in lines if line.startswith(f"wrong: {path.parent.name}: ")]
    assert wrong in problem
    assert f"by the records: met and otherwise [(({rule[1]}, {rule[2]})" in "\n".join(lines)

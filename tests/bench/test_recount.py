"""Every figure in a served text is right: counted again from the files of the outcomes."""

import io
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from datetime import timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from recount import main

from skillvault.api import Vault
from skillvault.exchange.freqtrade import read_backtest
from tests.given import START, raw
from tests.golden.stage import Stage
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
    *problems, figures = lines
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


def hurried(count: int) -> Iterator[dict[str, Any]]:
    """Outcomes of one action, of which every hurried one fails, and no other."""
    chance = random.Random(5)
    for number in range(count):
        is_hurried = chance.random() < 0.4
        at = START - timedelta(hours=5 * (100 - number))
        yield raw(
            0,
            event_id=f"task-{number}",
            occurred_at=at.isoformat(),
            decision__made_at=(at - timedelta(minutes=30)).isoformat(),
            decision__reasoning="",
            source__session=f"s{number}",
            result={"status": "failure" if is_hurried else "success"},
            context={"mood": "hurried" if is_hurried else "calm"},
        )


@pytest.mark.parametrize("kind", ["guide", "strategy"])
def test_a_wrong_count_of_a_rule_is_told_with_the_right_one(kind: str, vault: Vault) -> None:
    root = learned(vault, batches(list(hurried(40)), "bulk")).root
    check_figures(root)
    (path,) = root.glob(f"skills/{kind}-*/SKILL.md")
    rule = re.search(r"then (\d+) of (\d+) were", path.read_text(encoding="utf-8"))
    assert rule is not None
    wrong = f"then {int(rule[1]) - 1} of {rule[2]} were"
    for file in (path, path.parent / "references" / "evidence.yaml"):
        if file.exists():
            text = file.read_text(encoding="utf-8")
            file.write_text(text.replace(rule[0], wrong), encoding="utf-8")
    code, lines = recounted(root)
    assert code == 1
    told = [line for line in lines if line.startswith(f"wrong: {path.parent.name}: ")]
    assert all(wrong in line for line in told)
    assert f"({rule[1]}, {rule[2]})" in "\n".join(lines)


def test_a_sentence_without_evidence_is_told(vault: Vault) -> None:
    root = learned(vault, batches([raw(0)], "bulk")).root
    (path,) = root.glob("skills/guide-*/SKILL.md")
    path.write_text(path.read_text(encoding="utf-8") + "- Do as I say.\n", encoding="utf-8")
    code, lines = recounted(root)
    assert code == 1
    assert lines[:-1] == [f"unread: {path.parent.name}: without evidence: Do as I say."]

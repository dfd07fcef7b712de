"""A judge's record: people are told how often it was right, agents never."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec import to_builtins
from msgspec.structs import replace

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.learning.advise import chance_advice
from skillvault.learning.recommend import render
from skillvault.model.records import Skill
from tests.conftest import NOW
from tests.given import START, as_file, trade

SIDES = 20  # successes, and failures


def judged(root: Path, successes: int = SIDES, failures: int = SIDES) -> Vault:
    """A vault of so many trades, all with the same reasoning: the judge cannot tell them apart."""
    vault, _ = Vault.init(root, ["perps"], now=START)
    scores = [0.05] * successes + [-0.15] * failures
    outcomes = [trade(number // 2, score) for number, score in enumerate(scores)]
    files = [(f"{n}.json", as_file({**o, "event_id": str(n)})) for n, o in enumerate(outcomes)]
    vault.record(files, now=NOW)
    vault.run(now=NOW)
    return vault


def call(vault: Vault, *command: str, **options: Any) -> Result:
    """Run a command on the vault and return its result."""
    return CliRunner().invoke(cli, ["--vault", str(vault.root), *command], **options)


def said(vault: Vault, *command: str, **options: Any) -> dict[str, Any]:
    """Run a command and return its data."""
    answer: dict[str, Any] = json.loads(call(vault, *command, "--json", **options).stdout)
    return answer


@pytest.fixture(scope="module")
def even(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    """A vault whose judge is no better than chance."""
    return judged(tmp_path_factory.mktemp("even") / "vault")


def test_agents_are_not_told_how_often_the_judge_was_right(even: Vault) -> None:
    skills = even.store.snapshot().skills.values()
    assert {skill.kind for skill in skills} == {"guide", "warning"}
    answer = even.recommend("perps", "open a long", now=NOW)
    texts = [*(path.read_text() for path in (even.root / "skills").rglob("*.md"))]
    for text in (*texts, render.prompt(answer), json.dumps([s.description for s in skills])):
        assert not re.search(r"verdict|judge(?:s|'s|ment)\b|was right|accuracy", text)


def test_stats_tells_its_balanced_accuracy_with_an_interval(even: Vault) -> None:
    accuracy = even.status().judge.accuracy
    assert accuracy is not None
    assert (accuracy.balanced, accuracy.successes, accuracy.failures) == (0.5, SIDES, SIDES)
    assert accuracy.low < 0.5 < accuracy.high
    assert said(even, "status")["judge"]["accuracy"] == to_builtins(accuracy)
    bounds = f"{accuracy.low * 100:.0f} % to {accuracy.high * 100:.0f} %"
    line = f"the judge foresaw 50 % of the results ({bounds}): 20 that worked and 20 that failed"
    assert line in call(even, "stats").stderr
    assert "`skillvault judge` gives no advice" in call(even, "status").stdout


def test_a_judge_no_better_than_chance_does_not_advise(even: Vault) -> None:
    decision = {**trade(), "amount": 400, "decision": {**trade()["decision"], "confidence": 0.2}}
    del decision["result"]
    advice = said(even, "judge", "-", input=json.dumps(decision))
    assert advice["proceed"] is True
    assert "no better than chance" in advice["reason"]
    assert not re.search(r"\d", advice["reason"])
    numbers = ("quality", "confidence", "amount", "judge")
    assert [advice[key] for key in numbers] == [None] * len(numbers)


def test_what_warnings_say_and_guides_avoid_is_told_all_the_same() -> None:
    guide = "# Guide: x\n\n## Do\n\n- Wait.\n\n## Avoid\n\n- Chase it.\n- Size up.\n"
    skills = [
        Skill("warning-a", "Use before x. It fell.", "# A\n\n## Avoid\n\n- z", kind="warning"),
        Skill("guide-b", "Use before x.", guide, kind="guide"),
        Skill("guide-c", "Use before x.", "# C\n\n## Do\n\n- Wait.\n", kind="guide"),
        Skill("strategy-d", "Use before x.", guide, kind="strategy"),
    ]
    assert chance_advice(skills).warnings == (
        "warning-a: Use before x. It fell.",
        "guide-b: Chase it.",
    )


def test_with_too_few_results_it_advises(tmp_path: Path) -> None:
    few = judged(tmp_path / "vault", failures=2)
    decision = {key: value for key, value in trade().items() if key != "result"}
    assert said(few, "judge", "-", input=json.dumps(decision))["judge"]["name"] == "offline"
    one_sided = judged(tmp_path / "other", successes=1, failures=0)
    assert one_sided.status().judge.accuracy is None
    assert "the judge foresaw" not in call(one_sided, "stats").stderr


def test_only_trusted_results_and_its_own_verdicts_count(even: Vault) -> None:
    head = even.store.snapshot()
    info = even.judge.info
    assert sum(head.evaluations.agreements(info).values()) == 2 * SIDES
    assert head.evaluations.agreements(replace(info, version="1")) == {}
    assert head.evaluations.agreements(replace(info, model="another")) == {}


def test_what_untrusted_sources_report_is_no_record(tmp_path: Path) -> None:
    vault, _ = Vault.init(tmp_path / "vault", ["perps"], now=START)
    for number, score in enumerate((0.05, -0.05)):
        (vault.root / f"inbox/untrusted/{number}.json").write_bytes(as_file(trade(number, score)))
    vault.run(now=NOW)
    assert len(vault.store.snapshot().evaluations) == 2
    assert vault.status().judge.accuracy is None

"""The loop on real outcomes, end to end."""

import random
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault, retract, undo
from tests.conftest import NOW


def _learned(place: Path, form: str, file: Path) -> Vault:
    vault, _ = Vault.init(place, now=NOW)
    vault.import_files(form, [file], now=NOW)
    vault.run(now=NOW)
    return vault


@pytest.fixture(scope="module")
def backtest(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Vault:
    """The vault of a backtest, in which nothing is due."""
    file = shared / "data/freqtrade/backtest-result.json"
    return _learned(tmp_path_factory.mktemp("backtest") / "v", "freqtrade", file)


@pytest.fixture(scope="module")
def agent_runs(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Vault:
    """The vault of the runs of agents, in which nothing is due."""
    file = shared / "data/agent-runs/outcomes.jsonl"
    return _learned(tmp_path_factory.mktemp("agent-runs") / "v", "jsonl", file)


def _outcomes(tree: dict[str, Any]) -> Iterator[str]:
    """The outcomes at the leaves of a `why`; every end of it is in the vault."""
    for branch in tree["sources"]:
        assert branch["ref"]["path"]
        if branch["ref"]["kind"] == "outcome":
            yield branch["ref"]["id"]
        yield from _outcomes(branch)


def test_every_heavy_loss_of_the_backtest_has_its_warning(backtest: Vault, shared: Path) -> None:
    vault = backtest
    head = vault.store.snapshot()
    assert (len(head.outcomes), len(head.evaluations)) == (179, 179)
    heavy = {o.id for o in head.outcomes.values() if (o.result.score or 0) < -0.10}
    told = [s.name for s in vault.skills() if s.kind in ("warning", "evolved")]
    reached = {outcome for name in told for outcome in _outcomes(vault.why(name))}
    assert len(heavy) == 6
    assert heavy <= reached
    assert vault.check().problems == []
    assert vault.run(now=NOW).done == []
    file = shared / "data/freqtrade/backtest-result.json"
    again = vault.import_files("freqtrade", [file], now=NOW)
    assert (again.done, len(again.known)) == ([], 179)


def test_no_skill_of_the_backtest_names_hours_for_what_was_one_evening(backtest: Vault) -> None:
    skills = backtest.skills()
    assert {skill.kind for skill in skills} >= {"guide", "warning"}
    assert "strategy" not in {skill.kind for skill in skills}  # nothing separates its outcomes
    assert not any("decided between" in backtest.skill(skill.name)[0].body for skill in skills)


def test_the_agent_runs_teach_skills_that_reach_their_outcomes(agent_runs: Vault) -> None:
    vault = agent_runs
    head = vault.store.snapshot()
    assert len(head.outcomes) == 63
    assert len(head.evaluations) == 63
    skills = vault.skills()
    assert {s.kind for s in skills} >= {"guide"}
    assert all(list(_outcomes(vault.why(skill.name))) for skill in skills)
    assert vault.check().problems == []
    insights = Counter(e.key_insight for e in head.evaluations.values() if e.key_insight)
    assert [text for text, count in insights.items() if count > 1] == [
        "financial-modeling-qa failed: it answered “24”, which was refused."
    ]


def test_the_agent_runs_make_facts_each_of_its_own_run(agent_runs: Vault) -> None:
    facts = [fact.text for fact in agent_runs.memory.facts()]
    assert len(facts) > 10
    assert not [text for text in facts if " decisions" in text]  # no count of other runs


def test_any_order_of_the_same_import_gives_the_same_tree(
    agent_runs: Vault, shared: Path, tmp_path: Path
) -> None:
    lines = (shared / "data/agent-runs/outcomes.jsonl").read_text().splitlines()
    file = tmp_path / "outcomes.jsonl"
    file.write_text("\n".join(random.Random(1).sample(lines, len(lines))))
    vault = _learned(tmp_path / "v", "jsonl", file)
    trees = {each.store.git.text("rev-parse", "HEAD^{tree}") for each in (agent_runs, vault)}
    assert len(trees) == 1


@pytest.mark.parametrize(
    ("form", "path"),
    [
        ("freqtrade", "data/freqtrade/backtest-result.json"),
        ("jsonl", "data/agent-runs/outcomes.jsonl"),
    ],
)
def test_what_a_person_decides_of_the_proposals_stands(
    shared: Path, tmp_path: Path, form: str, path: str
) -> None:
    place = tmp_path / "v"
    Vault.init(place, now=NOW)
    (place / "vault.yaml").write_text("format: 1\ngenerate: {gate: always}\n")
    subprocess.run(["git", "-C", str(place), "commit", "-qanm", "a gate"], check=True)
    vault = Vault(place)
    vault.import_files(form, [shared / path], now=NOW)
    vault.run(now=NOW)
    assert vault.skills() == []
    approved, rejected, *_ = sorted(s.name for s in vault.skills("proposed"))
    vault.curate.approve(approved, now=NOW)
    vault.curate.reject(rejected, reason="one bad week, not a rule", now=NOW)
    waiting = {s.name for s in vault.skills("proposed")}
    vault.run(now=NOW)
    assert {s.name for s in vault.skills("proposed")} <= waiting
    assert [s.name for s in vault.skills()] == [approved]
    shown = next(iter(_outcomes(vault.why(approved))))
    undo(vault, approved, now=NOW)
    retract(vault, shown, "the label was wrong", now=NOW)
    vault.run(now=NOW)
    places = [s.name for folder in ("skills", "proposed") for s in vault.skills(folder)]
    assert not {approved, rejected} & set(places)
    assert shown not in {outcome for name in places for outcome in _outcomes(vault.why(name))}
    assert vault.run(now=NOW).done == []
    assert vault.check().problems == []

"""learn with a model as the judge: passages that structure cannot decide become questions."""

import json
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.exchange.skills import agents_md
from skillvault.exchange.skills.folders import DocumentRule
from skillvault.exchange.source_tree import tree_of
from skillvault.loop.judging.question_queue import AgentReply, AskedQuestion
from skillvault.model.errors import BadInputError, UsageError
from tests.conftest import NOW
from tests.judge.conftest import api, appoint
from tests.judge.server import Server, message, told

__all__ = ["api"]

PAGE = """\
## Database

The staging database is refreshed every night at 3. Whoever changes a column asks Ann first, as the
export reads `orders.csv` by position.

## History

The shop began in 2011 as a script.
"""
ASK_ANN: dict[str, Any] = {
    "rules": [
        {
            "rule": "Ask Ann before you change a column.",
            "quote": "Whoever changes a column asks Ann first",
        }
    ],
    "title": "Change a column",
    "description": "Use to change a column of the database.",
    "steps": ["Ask Ann.", "Check that the export reads `orders.csv` by position."],
}
NOTHING: dict[str, Any] = {"rules": [], "title": "", "description": "", "steps": []}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository with a document of two passages that only describe."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/CONTRIBUTING.md").write_text(PAGE)
    return tmp_path / "shop"


@pytest.fixture
def questions(vault: Vault, shop: Path) -> dict[str, AskedQuestion]:
    """The questions of an agent's vault that has read the document, by heading."""
    appoint(vault, provider="agent")
    vault.curate.installer.learn(str(shop), now=NOW)
    asked = vault.queue.next_questions(9)
    return {next(h for h in ("Database", "History") if h in q.record): q for q in asked}


def give_answer(vault: Vault, question: AskedQuestion, reply: dict[str, Any]) -> None:
    vault.queue.answer([AgentReply(question.key, json.dumps(reply))], now=NOW)


def test_an_answer_makes_proposals_that_name_what_they_came_from(
    vault: Vault, questions: dict[str, AskedQuestion]
) -> None:
    assert not vault.memory.waiting()
    give_answer(vault, questions["Database"], ASK_ANN)
    (rule,) = vault.memory.waiting()
    assert (rule.text, rule.scope) == ("Ask Ann before you change a column.", "shop")
    assert (rule.session, rule.about) == ("document CONTRIBUTING.md", "Database")
    skill, path = vault.skill("change-a-column")
    assert path == "proposed/change-a-column/SKILL.md"
    assert "2. Check that the export reads `orders.csv`" in skill.body
    assert [answer["by"] for answer in vault.why(skill.name)["answers"]] == ["agent"]
    assert vault.check().problems == []


def test_a_passage_that_states_nothing_is_settled(
    vault: Vault, questions: dict[str, AskedQuestion], shop: Path
) -> None:
    for question in questions.values():
        give_answer(vault, question, NOTHING)
    assert vault.queue.next_questions(9) == []
    assert not list((vault.root / "proposed").rglob("passage-*"))
    report = vault.curate.installer.learn(str(shop), now=NOW)
    assert (report.passages, report.done) == ([], [])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"quote": "Nobody changes a column"}, "does not stand in the passage"),
        ({"quote": " "}, "does not stand in the passage"),
        ({"rule": "Ask Ann 2 days before."}, "not in the passage: 2"),
        ({"rule": "Run `rm -rf /` before."}, "not in the passage: rm -rf /"),
    ],
)
def test_a_rule_needs_the_words_of_the_passage(
    vault: Vault, questions: dict[str, AskedQuestion], changes: dict[str, str], reason: str
) -> None:
    reply = {**ASK_ANN, "rules": [{**ASK_ANN["rules"][0], **changes}]}
    with pytest.raises(BadInputError, match=reason):
        give_answer(vault, questions["Database"], reply)


def test_a_rejected_rule_is_not_proposed_again_by_an_answer(
    vault: Vault, questions: dict[str, AskedQuestion]
) -> None:
    give_answer(vault, questions["Database"], {**ASK_ANN, "steps": []})
    vault.memory.reject(vault.memory.waiting()[0].id, "no", now=NOW)
    rule = {**ASK_ANN["rules"][0], "quote": "The shop began in 2011"}
    give_answer(vault, questions["History"], {**NOTHING, "rules": [rule]})
    assert not vault.memory.waiting()


def test_the_offline_judge_decides_nothing(vault: Vault, shop: Path) -> None:
    with pytest.raises(UsageError, match=r"CONTRIBUTING.md#database: neither rules nor steps"):
        vault.curate.installer.learn(str(shop), now=NOW)


def test_a_run_of_the_offline_judge_withdraws_passages_until_another_judge_learns(
    vault: Vault, questions: dict[str, AskedQuestion], shop: Path
) -> None:
    appoint(vault, provider="offline")
    (withdrawal,) = vault.run(now=NOW).done
    assert withdrawal.change.headline == "revert: propose: 2 passages of documents"
    assert not list((vault.root / "proposed").rglob("*.md"))
    assert not vault.run(now=NOW).done
    assert vault.check().problems == []
    appoint(vault, provider="agent")
    assert len(vault.curate.installer.learn(str(shop), now=NOW).passages) == len(questions)


def test_claude_is_asked_once_in_the_next_run(vault: Vault, shop: Path, api: Server) -> None:
    appoint(vault)
    api.script = lambda body: message(ASK_ANN if "Database" in told(body) else NOTHING)
    vault.curate.installer.learn(str(shop), now=NOW)
    vault.run(now=NOW)
    assert [rule.about for rule in vault.memory.waiting()] == ["Database"]
    assert len(vault.store.snapshot().answers) == 2
    assert vault.run(now=NOW).done == []
    assert len(api.requests) == 2


@pytest.mark.parametrize(("length", "is_asked"), [(5000, True), (7000, False)])
def test_a_judge_is_asked_only_about_what_it_sees_whole(length: int, *, is_asked: bool) -> None:
    page = f"## History\n\n{'The shop began as a script. ' * (length // 28)}\n"
    (entry,) = agents_md.read_documents(tree_of({"GUIDE.md": page.encode()}), "", judged=True)
    assert isinstance(entry, DocumentRule) is is_asked

"""The short programs that users of claudefi, EurekaClaw and two-tier learning would write."""

from pathlib import Path

import pytest

from skillvault import Skill, Vault
from skillvault.model.errors import UsageError
from tests.conftest import NOW
from tests.given import raw, trade


def test_a_trader_asks_decides_and_closes(tmp_path: Path) -> None:
    vault, _ = Vault.init(str(tmp_path / "v"), "perps", now=NOW)
    vault.record(trade(0), now=NOW)
    counts = vault.run(now=NOW).counts
    assert (counts["evaluations"], counts["refused"]) == (1, 0)
    task = "Open a long in SOL"
    answer = vault.recommend(task=task, context={"funding": "high"}, decision="d-1", now=NOW)
    assert answer.domain == "perps"
    assert str(answer) == answer.prompt != ""
    assert not vault.close(
        "d-1", status="failure", score=-0.04, domain="perps", now=NOW
    ).quarantined
    vault.run(now=NOW)
    assert vault.stats(decision="d-1")["outcome"] == "failure"


def test_a_score_alone_closes_a_decision(vault: Vault) -> None:
    vault.record(raw(decision__id="d-2"), now=NOW)
    vault.close("d-2", score=0.3, now=NOW)
    assert vault.stats(decision="d-2")["outcome"] == "success"


def test_a_registry_of_skills_is_written_and_rendered(vault: Vault) -> None:
    vault.curate.put(
        Skill("my_new_skill", "Bound the regret.", "# Regret\n\n- Bound it.", "bandits, ucb"),  # type: ignore[arg-type]  # a text is meant as its words
        now=NOW,
    )
    skill = vault.shelf.get("my_new_skill")
    assert skill
    assert skill == vault.shelf.get_by_tags("ucb")[0]
    assert (vault.root / skill.path).read_text(encoding="utf-8") == skill.markdown
    assert vault.shelf.render("my_new_skill") == vault.shelf.render([skill])
    assert vault.shelf.render([skill]).startswith('<skills>\n<skill name="my-new-skill">')
    vault.update_stats("my_new_skill", success=True, domain="coding", now=NOW)
    assert vault.stats("my_new_skill")[0].skill == "my-new-skill"


def test_rules_of_an_agent_are_checked_in_its_code(vault: Vault, tmp_path: Path) -> None:
    app = tmp_path / "app"
    app.mkdir()
    for name in "abc":
        (app / f"{name}.py").write_text("log = get_logger()\n", encoding="utf-8")
    vault.learn("Get loggers by `get_logger`.", "*.py")
    vault.run(code=[str(app)], now=NOW)
    vault.run(code=str(app), now=NOW)
    assert "get_logger" in vault.learned("You are a coder.")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda v: v.recommend("perps", {"funding": "high"}), "task is a dict.*context="),
        (lambda v: v.recommend(["perps"], "long SOL"), "domain is a list; pass a text"),
        (lambda v: v.recommend("perps", "long SOL", pins=3), "pins is a int"),
        (lambda v: v.run(code=3), "code is a int; pass a path"),
        (lambda v: v.shelf.get_by_tags({"ucb": 1}), "tags is a dict"),
        (lambda v: v.close("d-1", status=3), "status is a int; pass a text"),
        (lambda v: v.curate.put(Skill("a", "B.", "c", tags=3)), "tags is a int"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_type_is_one_clear_type_error(vault: Vault, call: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call(vault)  # type: ignore[operator]  # a lambda


def test_a_task_finds_its_domain(vault: Vault) -> None:
    for domain, text in (("cooking", "Soak beans overnight."), ("coding", "Pin the compiler.")):
        vault.memory.add_fact(text, domain, now=NOW)
    assert vault.recommend(task="How long do beans soak?").domain == "cooking"
    assert vault.recommend(task="Which compiler do we pin?").domain == "coding"
    assert vault.recommend(task="Paint a zeppelin").prompt == ""
    with pytest.raises(UsageError, match="pass one of coding, cooking"):
        vault.recommend(task="Paint a zeppelin", decision="d-1")

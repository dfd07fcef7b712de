"""review: the inbox in a terminal, as JSON, as branches; every key has a command."""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from skillvault.api import Vault, proposals, undo
from skillvault.cli.commands import cli
from skillvault.cli.review_inbox import FACT_KEYS, KEYS, RULE_KEYS
from skillvault.cli.why import rule_lines
from skillvault.exchange.sources import parse_source
from skillvault.model.errors import UsageError
from tests.cli.terminal import Terminal
from tests.conftest import NOW, Person
from tests.given import as_file, raw, trade

SCREENS = Path(__file__).parent / "screens"
LATER = NOW + timedelta(days=1)


def say(vault: Vault, *args: str) -> str:
    """Run `review` and return its output."""
    result = CliRunner().invoke(cli, ["--vault", str(vault.root), "review", *args])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


@pytest.fixture
def waiting(prepared: Callable[[Callable[[Vault], object]], Vault]) -> Vault:
    """A vault in which two skills wait."""
    return prepared(_wait)


def _wait(vault: Vault) -> None:
    person = Person(vault.root)
    person.write("vault.yaml", "format: 1\ngenerate: {gate: always}\n")
    person.git("commit", "-qam", "a gate")
    files = [
        ("a.json", as_file(raw(0))),
        ("b.json", as_file(raw(1))),
        ("c.json", as_file(trade(2, -0.05))),  # within the bounds: a guide alone
    ]
    vault.record(files, now=NOW)
    vault.run(now=NOW)


def shows(text: str) -> bool:
    """Return True if a whole proposal is on the screen."""
    return KEYS in text


@pytest.mark.parametrize("columns", [80, 140])
def test_a_proposal_is_one_screen(waiting: Vault, columns: int) -> None:
    terminal = Terminal(waiting.root, "review", columns=columns)
    text = terminal.wait(shows, raw=True)
    terminal.press("q")
    assert terminal.end() == 0
    assert text + "\n" == (SCREENS / f"{columns}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("columns", [80, 140])
def test_a_next_version_is_shown_beside_what_was_let_in(waiting: Vault, columns: int) -> None:
    for proposal in proposals(waiting):
        waiting.curate.approve(proposal.name, now=NOW)
    causes = ["ERROR: connection refused", "ERROR: connection refused", "deadlock found"]
    files = [as_file(raw(day, result__evidence=cause)) for day, cause in enumerate(causes, 3)]
    waiting.record([(f"{number}.json", data) for number, data in enumerate(files)], now=NOW)
    waiting.run(now=NOW)
    terminal = Terminal(waiting.root, "review", columns=columns, lines=90)
    text = terminal.wait(shows, raw=True)
    terminal.press("q")
    assert terminal.end() == 0
    assert text + "\n" == (SCREENS / f"next-{columns}.txt").read_text(encoding="utf-8")


def test_keys_decide(waiting: Vault, person: Person) -> None:
    first, second = (one.name for one in proposals(waiting))
    terminal = Terminal(waiting.root, "review", columns=100)
    terminal.wait(lambda text: first in text and shows(text), raw=True)
    terminal.press("a")
    terminal.wait(lambda text: second in text and "2 of 2" in text and shows(text), raw=True)
    terminal.press("r")
    terminal.wait(lambda text: "why is it rejected?" in text)
    terminal.press("one loss\n")
    text = terminal.wait(lambda text: "2 decided, 0 wait" in text)
    assert terminal.end() == 0, text
    assert [one.name for one in waiting.skills()] == [first]
    assert "Skillvault-Why: one loss" in person.git("log", "-1", "--format=%B")


def test_later_leaves_it(waiting: Vault) -> None:
    terminal = Terminal(waiting.root, "review", columns=100)
    terminal.wait(lambda text: "1 of 2" in text and shows(text), raw=True)
    terminal.press("l")
    terminal.wait(lambda text: "2 of 2" in text and shows(text), raw=True)
    terminal.press("l")
    terminal.wait(lambda text: "0 decided, 2 wait" in text)
    assert terminal.end() == 0


def test_a_key_that_does_nothing_says_so(waiting: Vault) -> None:
    shown = decide(waiting, (KEYS, "x"), ("'x' does nothing here", "q"))
    assert "0 decided, 2 wait" in shown


def test_a_question_mark_explains_each_key(waiting: Vault) -> None:
    keys = ((KEYS, "?"), ("*      approve all like this: approve", "x"), ("1 of 2", "q"))
    assert "0 decided, 2 wait" in decide(waiting, *keys)


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor that makes one section of a skill another."""
    script = tmp_path / "editor"
    script.write_text('#!/bin/sh\nsed -i "s/## Avoid/## Never/" "$1"\n')
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(script))


@pytest.mark.usefixtures("editor")
def test_an_edit_and_the_approval_after_it_are_one_commit(waiting: Vault, person: Person) -> None:
    tip = person.git("rev-parse", "--short", "HEAD")
    keys = (("1 of 2", "e"), ("a commits the edit", "a"), ("2 of 2", "q"))
    assert "1 decided, 1 wait" in decide(waiting, *keys)
    (skill,) = waiting.skills()
    assert "## Never" in waiting.skill(skill.name)[0].body
    assert person.git("log", "-1", "--format=%p") == tip
    assert (person.status(), waiting.check().problems) == ("", [])


@pytest.mark.usefixtures("editor")
def test_an_edit_without_a_decision_stays_in_the_file(waiting: Vault, person: Person) -> None:
    name = proposals(waiting)[0].name
    shown = decide(waiting, ("1 of 2", "e"), ("a commits the edit", "q"))
    assert "your edit is in" in shown
    assert "## Never" in (waiting.root / f"proposed/{name}/SKILL.md").read_text()
    assert person.status() == f"M proposed/{name}/SKILL.md"


@pytest.fixture
def installed(vault: Vault, tmp_path: Path) -> Vault:
    """A vault in which three skills of a folder wait; the lint finds something in one of them."""
    for name, text in (("a", "One."), ("b", "Two."), ("c", "Fetch https://example.com.")):
        page = f"---\nname: {name}\ndescription: Use for {name}.\n---\n\n{text}\n"
        (tmp_path / "theirs" / name).mkdir(parents=True)
        (tmp_path / "theirs" / name / "SKILL.md").write_text(page)
    vault.curate.installer.install(parse_source(str(tmp_path / "theirs"), is_path=True), now=NOW)
    return vault


def test_all_like_this_are_approved_in_one_commit_after_a_question(
    installed: Vault, person: Person
) -> None:
    tip = person.git("rev-parse", "HEAD")
    question = "finds no risk in 2 skills from the same source; in 1 other it finds something"
    shown = decide(installed, ("1 of 3", "*"), (question, "n"), ("1 of 3", "*"), (question, "y"),
                   ("3 of 3", "q"))  # fmt: skip
    assert "2 decided, 1 wait" in shown
    assert [skill.name for skill in installed.skills()] == ["a", "b"]
    assert person.git("rev-parse", "HEAD^") == tip


def test_a_skill_that_is_decided_elsewhere_meanwhile_is_left_out(
    installed: Vault, person: Person
) -> None:
    terminal = Terminal(installed.root, "review", columns=100)
    terminal.wait(lambda text: "1 of 3" in text and shows(text), raw=True)
    terminal.press(" ")
    terminal.wait(lambda text: "2 of 3" in text and shows(text), raw=True)
    for name in "ab":
        installed.curate.reject(name, reason="twice", now=NOW)
    terminal.press("l")
    shown = terminal.wait(lambda text: "3 of 3" in text and shows(text), raw=True)
    assert "selected" not in shown
    terminal.press("a")
    terminal.wait(lambda text: "1 decided, 0 wait" in text)
    assert terminal.end() == 0
    assert [one.name for one in installed.skills()] == ["c"]


def test_what_changes_during_the_question_is_not_approved_with_the_others(
    installed: Vault, person: Person
) -> None:
    terminal = Terminal(installed.root, "review", columns=100)
    terminal.wait(lambda text: "1 of 3" in text and shows(text), raw=True)
    terminal.press("*")
    terminal.wait(lambda text: "Approve 2?" in text, raw=True)
    page = (installed.root / "proposed/b/SKILL.md").read_text()
    person.write("proposed/b/SKILL.md", f"{page}\nFetch https://example.com.\n")
    person.git("commit", "-qam", "Add an address")
    terminal.press("y")
    terminal.wait(lambda text: "2 of 3" in text and shows(text), raw=True)
    terminal.press("q")
    terminal.wait(lambda text: "1 decided, 2 wait" in text)
    assert terminal.end() == 0
    assert [one.name for one in installed.skills()] == ["a"]


def test_selected_skills_are_decided_together(installed: Vault, person: Person) -> None:
    tip = person.git("rev-parse", "HEAD")
    keys = ((" a  ", " "), ("2 of 3", "l"), ("3 of 3", " "), ("2 skills selected", "r"),
            ("why are these 2 skills rejected?", "no\n"))  # fmt: skip
    shown = decide(installed, *keys)
    assert "2 decided, 1 wait" in shown
    assert [skill.name for skill in installed.skills("proposed")] == ["b"]
    assert person.git("rev-parse", "HEAD^") == tip


def test_a_filter_shows_the_skills_with_its_words(installed: Vault) -> None:
    keys = (("1 of 3", "/"), ("with these words:", "nowhere\n"), ("no waiting skill has", "/"),
            ("with these words:", "TWO use\n"), ("1 of 1  b", "q"))  # fmt: skip
    assert "0 decided, 3 wait" in decide(installed, *keys)


def test_without_a_terminal_it_is_a_list_with_the_commands(waiting: Vault) -> None:
    text = say(waiting)
    for one in proposals(waiting):
        assert f"skillvault skill approve {one.name}" in text
        assert f"skillvault skill reject {one.name} --reason" in text
    assert "rests on 2 outcomes (2 failed) in 2 sessions, on 2 occasions" in text


def test_the_same_as_json(waiting: Vault) -> None:
    (first, _) = json.loads(say(waiting, "--json"))
    assert list(first) == [
        "name", "path", "kind", "domain", "origin", "trust", "created", "description", "body",
        "replaces", "diff", "basis", "facts", "supporting", "against", "nearest", "rejected",
        "stats",
    ]  # fmt: skip


def test_a_branch_lets_a_proposal_in_where_it_is_merged(waiting: Vault, person: Person) -> None:
    name = proposals(waiting)[0].name
    before = person.git("rev-parse", "HEAD")
    text = say(waiting, "--branch", "--now", LATER.isoformat())
    assert [line.split()[0] for line in text.splitlines()] == [
        f"proposal/{one.name}" for one in proposals(waiting)
    ]
    assert (person.git("rev-parse", "HEAD"), person.status()) == (before, "")
    assert person.git("rev-list", "--count", f"main..proposal/{name}") == "1"
    assert "Rests on 2 outcomes" in person.git("log", "-1", "--format=%B", f"proposal/{name}")
    assert "(was there)" in say(waiting, "--branch")
    person.git("merge", "-q", "--no-edit", f"proposal/{name}")
    assert [one.name for one in waiting.skills()] == [name]
    assert waiting.check().problems == []
    assert not waiting.run(now=LATER).done


def test_nothing_waits(vault: Vault) -> None:
    assert say(vault) == "nothing waits for you\n"
    assert json.loads(say(vault, "--json")) == []
    assert say(vault, "--branch") == "nothing waits for you\n"


# ── rules that the user stated ───────────────────────────────────────────────────────

RULE = "we use uv here, never pip"


@pytest.fixture
def stating(vault: Vault) -> Vault:
    """A vault in which a stated rule waits."""
    result = {"status": "failure", "observed_by": "person", "next_words": f"no, {RULE}"}
    given = raw(0, result=result, context={"repository": "shop"})
    vault.record([("a.json", as_file(given))], now=NOW)
    vault.run(["propose"], now=NOW)
    return vault


def decide(vault: Vault, *keys: tuple[str, str]) -> str:
    """Type each answer once the terminal shows its text, and return the last screen."""
    terminal = Terminal(vault.root, "review", columns=100)
    for text, typed in keys:
        is_line = text.endswith(("?", ":"))
        terminal.wait(lambda shown, text=text: text in shown, raw=not is_line)  # type: ignore[misc]
        terminal.press(typed)
    shown = terminal.wait(lambda text: "decided, " in text)
    assert terminal.end() == 0
    return shown


def test_a_key_approves_a_stated_rule(stating: Vault) -> None:
    assert "1 decided, 0 wait" in decide(stating, (RULE_KEYS, "a"))
    assert [fact.text for fact in stating.memory.facts()] == [RULE]


def test_a_question_mark_explains_the_keys_of_a_rule(stating: Vault) -> None:
    decide(
        stating,
        (RULE_KEYS, "?"),
        ("a      approve: every agent gets the rule", "?"),
        (RULE_KEYS, "q"),
    )
    assert stating.memory.waiting()


def test_why_not_knows_a_stated_rule_by_its_text(stating: Vault, person: Person) -> None:
    (rule,) = stating.memory.waiting()

    def ask() -> str:
        """Ask `why-not` about the rule."""
        (kind, name), (answer,) = stating.why_not(RULE.upper())
        assert (kind, name, answer.step) == ("rule", rule.id, "review")
        return f"{answer.state}: {answer.reason}"

    day = f"{rule.created_at:%Y-%m-%d}"
    assert ask() == f"waiting: for review since {day}; `skillvault fact approve {rule.id}`"
    stating.memory.reject(rule.id, "no", now=NOW)
    sha = person.git("rev-parse", "--short=10", "HEAD")
    assert (
        ask() == f"rejected: in {sha} on {NOW:%Y-%m-%d}; `skillvault undo {sha}` lets it wait again"
    )
    undo(stating, sha, now=NOW)
    stating.memory.approve(rule.id, now=NOW)
    assert ask() == "done: approved; every agent gets it"


def test_a_stated_rule_can_be_worded_anew(stating: Vault) -> None:
    decide(stating, (RULE_KEYS, "e"), ("the rule:", "use uv, never pip\n"))
    assert [fact.text for fact in stating.memory.facts()] == ["use uv, never pip"]


def test_an_interrupt_at_a_question_goes_back(stating: Vault) -> None:
    keys = ((RULE_KEYS, "r"), ("why is it rejected?", "\x03"))
    assert "0 decided, 1 wait" in decide(stating, *keys, (RULE_KEYS, "q"))


def test_a_key_rejects_a_stated_rule(stating: Vault) -> None:
    decide(stating, (RULE_KEYS, "r"), ("why is it rejected?", "a joke\n"))
    assert stating.memory.waiting() == []
    assert stating.memory.facts() == []


def test_a_stated_rule_is_listed_with_its_commands(stating: Vault) -> None:
    text = say(stating)
    assert f'"{RULE}"' in text
    assert "; a rule for nobody until you approve it; a guide about that run may quote it" in text


def test_a_rule_that_no_guide_may_quote_is_said_to_be_served_to_nobody(stating: Vault) -> None:
    words = "no, our mirror is https://pypi.example.org, always use that one"
    result = {"status": "failure", "observed_by": "person", "next_words": words}
    given = raw(1, result=result, context={"repository": "till"})
    stating.record([("b.json", as_file(given))], now=NOW)
    stating.run(["propose"], now=NOW)
    rules = {rule.scope: " ".join(rule_lines(rule)) for rule in stating.memory.waiting()}
    assert "; served to nobody until you approve it" in rules["till"]
    assert rules["shop"].endswith("; a guide about that run may quote it")


def test_several_stated_rules_are_decided_at_once(vault: Vault) -> None:
    for day, rule in enumerate(("use ruff, never black", "use uv, never pip")):
        result = {"status": "failure", "observed_by": "person", "next_words": f"no, {rule}"}
        given = raw(day, result=result, context={"repository": "shop"})
        vault.record([(f"{day}.json", as_file(given))], now=NOW)
    vault.run(["propose"], now=NOW)
    names = [rule.id for rule in vault.memory.waiting()]
    words = ["--vault", str(vault.root), "fact", "approve", *names]
    with pytest.raises(UsageError, match="--text is for one rule"):
        CliRunner().invoke(cli, [*words, "--text", "x"], catch_exceptions=False)
    printed = CliRunner().invoke(cli, words).stdout.splitlines()
    assert [line.partition(" ")[2] for line in printed] == [f"approve: rule {n}" for n in names]
    assert len(vault.memory.facts()) == len(names) == 2
    words = ["fact", "retire", *names, "--reason", "both are obvious"]
    assert CliRunner().invoke(cli, ["--vault", str(vault.root), *words]).exit_code == 0
    assert vault.memory.facts() == []


# ── facts that are due ───────────────────────────────────────────────────────────────

FACT = "The staging database runs PostgreSQL 14."


@pytest.fixture
def due(vault: Vault) -> Vault:
    """A vault with a fact that was to be reviewed ten days after it was added."""
    added = NOW - timedelta(days=20)
    day = f"{NOW - timedelta(days=10):%Y-%m-%d}"
    vault.memory.add_fact(FACT, "coding", review_by=day, now=added)
    vault.memory.add_fact("Deploys go out on weekdays.", "coding", now=added)
    return vault


def test_a_due_fact_is_listed_with_its_commands(due: Vault) -> None:
    (fact,) = due.memory.due(NOW)
    text = say(due, "--now", NOW.isoformat())
    for line in (FACT, f"skillvault fact keep {fact.id}", f"skillvault fact retire {fact.id} --r"):
        assert line in text
    assert [row["id"] for row in json.loads(say(due, "--json"))] == [fact.id]


def test_a_key_keeps_a_due_fact_for_another_period(due: Vault) -> None:
    assert "1 decided, 0 wait" in decide(due, (FACT_KEYS, "k"))
    (name,) = (listed.id for listed in due.memory.facts() if listed.text == FACT)
    fact, _ = due.memory.fact(name)
    period = date.fromisoformat(fact.review_by or "") - datetime.now(UTC).date()
    assert period == timedelta(days=10)


def test_a_due_fact_can_be_worded_anew(due: Vault) -> None:
    decide(due, (FACT_KEYS, "e"), ("the fact:", "Staging runs PostgreSQL 16.\n"))
    assert "Staging runs PostgreSQL 16." in [fact.text for fact in due.memory.facts()]
    assert due.memory.due() == []


def test_a_key_retires_a_due_fact_with_its_older_versions(due: Vault) -> None:
    day = f"{NOW:%Y-%m-%d}"
    due.memory.add_fact(FACT.replace("14", "16"), "coding", review_by=day, now=NOW)
    decide(due, (FACT_KEYS, "r"), ("why is it retired?", "staging is gone\n"))
    assert [fact.text for fact in due.memory.facts()] == ["Deploys go out on weekdays."]
    assert due.check().problems == []

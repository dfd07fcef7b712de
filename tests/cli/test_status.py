"""status: what waits for the person comes first, then what was learned and used last."""

import json

from click.testing import CliRunner

from skillvault.api import Vault, doctor, undo
from skillvault.cli.commands import cli
from tests.conftest import NOW, Person
from tests.given import as_file, raw, trade


def show(vault: Vault, *args: str) -> list[str]:
    """The lines that a command prints."""
    result = CliRunner().invoke(cli, ["--vault", str(vault.root), *args])
    assert result.exit_code == 0, result.output
    return result.output.splitlines()


def test_an_empty_vault_says_that_nothing_waits(vault: Vault) -> None:
    assert show(vault, "status")[0] == "nothing waits for you"


def test_each_kind_of_work_is_named_with_the_command_for_it(vault: Vault) -> None:
    vault.memory.add_fact("The port is 5432.", "coding", review_by="2026-01-31", now=NOW)
    vault.record([("bad.json", b"{}")], now=NOW)
    lines = [line for line in show(vault, "status") if line.startswith("waits for you")]
    assert lines == [
        "waits for you: 1 due fact; `skillvault review`",
        "waits for you: 1 refused file; `skillvault quarantine list`",
    ]


def test_a_file_that_cannot_be_read_is_counted(vault: Vault, person: Person) -> None:
    person.write("skills/deploy/SKILL.md", "# No front matter\n")
    person.git("add", "-A")
    person.git("commit", "-qnm", "a skill")
    assert show(vault, "status")[0] == "waits for you: 1 unreadable file; `skillvault check`"
    (row,) = [row for row in doctor(vault.root) if row.check == "records"]
    assert (row.state, row.fix) == ("problem", "skillvault check")
    assert "skills/deploy/SKILL.md" in row.detail


def test_a_skill_that_waits_is_told(vault: Vault, person: Person) -> None:
    person.write("vault.yaml", "format: 1\ngenerate: {gate: always}\n")
    person.git("commit", "-qam", "a gate")
    vault.record([("a.json", as_file(raw(0)))], now=NOW)
    vault.run(now=NOW)
    assert show(vault, "status")[0] == "waits for you: 1 skill; `skillvault review`"
    assert json.loads("\n".join(show(vault, "status", "--json")))["proposed"] == 1


def test_the_latest_lesson_is_told(vault: Vault) -> None:
    vault.record([("a.json", as_file(raw(0)))], now=NOW)
    vault.run(now=NOW)
    (name,) = vault.store.snapshot().skills
    vault.curate.retire(name, now=NOW)
    assert show(vault, "status")[1] == f"learned last: {NOW:%Y-%m-%d}, generate: {name}"


def test_a_lesson_that_was_undone_is_told_no_more(vault: Vault, person: Person) -> None:
    vault.memory.add_fact("The port is 5432.", "coding", now=NOW)
    told = show(vault, "status")[1]
    vault.memory.add_fact("Reproduce a flaky test before you change it.", "coding", now=NOW)
    undo(vault, person.git("rev-parse", "HEAD"), now=NOW)
    assert told.startswith("learned last: ")
    assert show(vault, "status")[1] == told


def test_what_a_step_may_find_nothing_to_do_about_is_not_called_due(vault: Vault) -> None:
    vault.curate.create("deploy", description="Use before a deploy.", commit=True, now=NOW)
    (line,) = (line for line in show(vault, "status") if line.endswith("next: skillvault run"))
    assert line.startswith("not looked at yet: follow 1, ")
    assert vault.run(now=NOW).done == []
    assert "nothing is due" in show(vault, "status")


def test_the_latest_use_is_told_with_how_the_uses_ended(vault: Vault) -> None:
    vault.record([("a.json", as_file(raw(0)))], now=NOW)
    vault.run(now=NOW)
    (name,) = vault.store.snapshot().skills
    vault.record([("b.json", as_file(raw(1, applied=[name])))], now=NOW)
    day = f"{raw(1)['occurred_at']:.10}"
    assert show(vault, "status")[2] == f"last used: {day}, {name}; 0 of 1 uses ended well"


def test_a_run_in_an_empty_vault_says_so_in_one_line(vault: Vault) -> None:
    assert show(vault, "run") == [
        "nothing to learn from yet; `skillvault record --example` shows an outcome"
    ]


def test_only_a_verbose_run_repeats_what_a_person_removed(vault: Vault) -> None:
    vault.record([("a.json", as_file(raw(0)))], now=NOW)
    vault.run(now=NOW)
    (name,) = vault.store.snapshot().skills
    vault.curate.retire(name, now=NOW)
    assert show(vault, "run") == ["nothing due; `skillvault run -v` says why"]
    assert len(show(vault, "run", "-v")) > 1


def test_the_only_domain_takes_a_fact_that_names_none(vault: Vault, person: Person) -> None:
    person.write("vault.yaml", "format: 1\ndomains: [coding]\n")
    person.git("commit", "-qam", "one domain")
    show(vault, "fact", "add", "The shop has two carts.")
    assert [fact.domain for fact in vault.memory.facts()] == ["coding"]
    show(vault, "fact", "add", "The fee is 5 %.", "--domain", "perps")
    result = CliRunner().invoke(cli, ["--vault", str(vault.root), "fact", "add", "It rains."])
    assert "add --domain NAME" in str(result.exception)


def test_lists_hold_at_80_columns(vault: Vault) -> None:
    vault.record([("a.json", as_file(raw(0))), ("b.json", as_file(trade(2)))], now=NOW)
    vault.run(now=NOW)
    for command in (["fact", "list"], ["search", "timeout"], ["skill", "list"], ["status"]):
        lines = show(vault, *command)
        assert lines
        assert max(map(len, lines)) <= 80


def test_an_expiry_date_says_on_which_clock_it_is(vault: Vault) -> None:
    vault.record([("b.json", as_file(trade(2)))], now=NOW)
    vault.run(now=NOW)
    note = show(vault, "skill", "list")[-1]
    assert note.startswith("dates of perps count from its latest outcome, 2026-11-0")

"""log: the commits of the loop, those that are asked for, as a person reads them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.inspect.logbook import LogFilter, sort_patch
from skillvault.model.errors import UsageError
from tests.conftest import NOW, Person
from tests.given import as_file, raw, trade


def say(vault: Vault, *args: str, code: int = 0) -> str:
    """Run a command, check its exit code, and return its output."""
    result = CliRunner().invoke(cli, ["--vault", str(vault.root), *args])
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


@pytest.fixture
def learned(prepared: Callable[[Callable[[Vault], object]], Vault]) -> Vault:
    """A failure that happened twice, and a loss of another domain."""
    return prepared(_learn)


def _learn(vault: Vault) -> None:
    files = [
        ("a.json", as_file(raw(0))),
        ("b.json", as_file(raw(1))),
        ("c.json", as_file(trade(2))),
    ]
    vault.record(files, now=NOW)
    vault.run(now=NOW)


def test_a_filter_that_cannot_match_is_refused(learned: Vault) -> None:
    with pytest.raises(UsageError, match="there are: coding, perps"):
        learned.log(asks=LogFilter(domain="codign"))
    with pytest.raises(UsageError, match=r"no such step; there are: .*evaluate, .*record"):
        learned.log(asks=LogFilter(step="evaluat"))
    with pytest.raises(UsageError, match="no commit names such a skill"):
        learned.log(asks=LogFilter(skill="guide-nothing"))
    assert learned.log(asks=LogFilter(step="merge")) == []
    assert "-n" in say(learned, "log", "-n", "9" * 30, code=2)


@pytest.mark.parametrize(
    "command",
    ["why", "log --skill", "stats", "check --against", "undo", "learn", "skill approve", "erase"],
)
def test_an_empty_argument_is_refused(learned: Vault, command: str) -> None:
    message = "an argument is empty; write it, or leave it out"
    assert message in say(learned, *command.split(), "", code=2)


def test_a_skill_of_another_domain_has_no_statistics_there(learned: Vault) -> None:
    for domain, reason in [("perps", "no such skill in perps"), ("codign", "no such domain")]:
        with pytest.raises(UsageError, match=reason):
            learned.stats("guide-coding-fix-flaky-test", domain=domain)
    assert learned.stats(domain="coding") == []


@pytest.mark.parametrize("command", ["log", "why", "why-not", "impact", "skill diff"])
def test_a_shallow_clone_says_that_its_history_is_incomplete(
    learned: Vault, tmp_path: Path, command: str
) -> None:
    clone = tmp_path / "clone"
    Person(tmp_path).git("clone", "-q", "--depth=1", learned.root.as_uri(), str(clone))
    (guide, *_) = learned.store.snapshot().skills
    (outcome, *_) = learned.store.snapshot().outcomes
    name = {"log": [], "skill diff": [guide]}.get(command, [outcome])
    arguments = ["--vault", str(clone), *command.split(), *name, "--json"]
    result = CliRunner().invoke(cli, arguments)
    assert "run `git fetch --unshallow`" in result.stderr
    json.loads(result.stdout)


def subjects(text: str) -> list[str]:
    """Return each line of a log without the commit and its day."""
    return [line.split(" ", 2)[2] for line in text.splitlines()]


def test_the_log_shows_what_is_asked_for(learned: Vault) -> None:
    by_step = subjects(say(learned, "log", "--step", "generate"))
    assert len(by_step) == 3
    assert {line.partition(":")[0] for line in by_step} == {"generate"}
    of_domain, guide = subjects(say(learned, "log", "--step", "generate", "--domain", "perps"))
    assert guide == "generate: guide-perps-open-long"
    name = of_domain.partition(": ")[2]
    assert subjects(say(learned, "log", "--skill", name)) == [of_domain]
    assert say(learned, "log", "--since", "2026-11-21") == ""
    assert len(say(learned, "log", "--since", "2026-11-20", "-n", "2").splitlines()) == 2


def test_a_time_that_is_none_is_refused_with_what_to_write(learned: Vault) -> None:
    result = CliRunner().invoke(cli, ["--vault", str(learned.root), "log", "--since", "soon"])
    assert "write 7d, 2w, 12h" in str(result.exception)


def test_a_commit_is_read_from_its_skill_to_its_links(learned: Vault) -> None:
    text = say(learned, "log", "-p", "--step", "generate", "--domain", "coding")
    head = ("commit ", "    generate: ", "diff --git a/skills/", "rests on ", "links: ")
    places = [text.index(part) for part in head]
    assert places == sorted(places)
    assert "rests on 2 outcomes (2 failed) in 2 sessions, on 2 occasions\n" in text
    assert "links: 2 generated\n" in text
    assert "links/" not in text
    assert "Skillvault-" not in text
    assert "  skillvault\n" in text.splitlines(keepends=True)[0]


def test_what_is_no_text_is_a_line(learned: Vault) -> None:
    text = say(learned, "log", "-p", "--step", "evaluate")
    assert "files: 3 in evaluations" in text
    assert "diff --git" not in text


def test_the_same_as_json(learned: Vault) -> None:
    found: list[dict[str, Any]] = json.loads(say(learned, "log", "-p", "-n", "1", "--json"))
    assert list(found[0]) == [
        "sha", "date", "author", "text", "patch", "basis", "links", "others",
    ]  # fmt: skip
    row = found[0]["basis"]["rows"][0]
    assert list(row) == ["outcome", "status", "session", "episode", "decision"]


def test_what_left_stands_behind_what_came() -> None:
    old, new, fact = (
        f"diff --git a/{path} b/{path}\n-x\n"
        for path in ("archive/a/SKILL.md", "skills/b/SKILL.md", "memory/d/f.md")
    )
    assert sort_patch(old + fact + new) == new + old + fact
    assert sort_patch(old + fact + new, "a") == old + new + fact


def test_hosts_fold_links_and_a_hunk_names_its_key(learned: Vault, person: Person) -> None:
    link = person.git("ls-files", "*.links.yaml").splitlines()[0]
    assert "linguist-generated: set" in person.git("check-attr", "-a", link)
    outcome = person.git("ls-files", "outcomes").splitlines()[0]
    text = (learned.root / outcome).read_text()
    (learned.root / outcome).write_text(text.replace("CI machine is slow", "CI machine is fast"))
    assert "@@ decision:" in person.git("diff", "-U0")

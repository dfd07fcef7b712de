"""What a question loads: each reading command pays only for the rooms that answer it."""

import subprocess
import sys
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.cli.commands import COMMANDS, cli
from tests.conftest import NOW
from tests.given import as_file, trade

# None of these may answer a question unasked: for writers, the daemon, long work, a model.
MODEL = {"numpy", "wordllama"}
NEVER = {"watchdog", "rich", "pygit2", "detect_secrets", "defusedxml", "anthropic"} | MODEL

# The modules that each of them loads, with the packages of others; the standard library's and
# what packages load of their own accord are left out. A new name here costs each call its time.
WORDS = """
    change errors intake models policy records text
"""
READING = """
    skillvault api vault vault.disk vault.due vault.failpoint vault.folders vault.following
    vault.history vault.inbox vault.index vault.launch vault.layout vault.listing vault.objects
    vault.ranking vault.rows vault.settings vault.setup vault.snapshot vault.standing vault.stems
    vault.store vault.tables vault.trees vault.uses vault.view vault.words
"""
COMMAND = "cli cli.commands cli.reading cli.shared click"
SERVED = "cli cli.commands cli.serving cli.shared click"
SERVING = """
    learning learning.effect learning.exposure learning.frame learning.lift learning.recommend
    learning.relevance learning.shelf
    serving uses vault.shelves
"""
ASKING = """
    brief judge judge.offline learning learning.account learning.antecedents learning.assess
    learning.chance
    learning.contrast learning.evaluate learning.evolved learning.expire learning.fates
    learning.generate learning.likeness learning.merge learning.naming learning.neighbours
    learning.period learning.promote learning.record learning.recurrence learning.rejection
    judges learning.sections learning.strategy questions recommended run steps steps.assess
    steps.evaluate steps.expire steps.generate steps.merge steps.promote steps.record
    steps.strategy vault.ledger
"""
LOADED = {
    "why": f"{WORDS} {READING} {COMMAND} vault.provenance msgspec",
    "status": f"{WORDS} {READING} {SERVING} {COMMAND} {ASKING} git gitdb msgspec smmap",
    "search": f"{WORDS} {READING} {SERVING} {SERVED} msgspec",
    "recommend": f"{WORDS} {READING} {SERVING} {SERVED} learning.pack msgspec",
}
OTHERS = {"click", "frontmatter", "git", "gitdb", "msgspec", "smmap", "yaml"} | NEVER

CHILD = """
import sys
from skillvault import Vault

def call(*args):
    from skillvault.cli import main
    sys.argv = ["skillvault", *args]
    try:
        main()
    except SystemExit as end:
        assert not end.code, end.code

if sys.argv[1] == "cli":
    call(*sys.argv[2:])
else:
    getattr(Vault.open("."), sys.argv[1])(*sys.argv[2:])
print("loaded:", *sys.modules)
"""
CALLS = {
    "why": ["cli", "why"],
    "status": ["cli", "status"],
    "search": ["cli", "search", "--words", "funding"],
    "recommend": ["cli", "recommend", "--domain", "perps", "--task", "funding is high"],
}


def _loaded(root: Path, *args: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *args], cwd=root, capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split()[1:])


@pytest.fixture
def asked(vault: Vault) -> tuple[Path, str]:
    """A vault that has learned and whose projection is warm, and a skill of it."""
    vault.record([(f"{day}.json", as_file(trade(day))) for day in range(3)], now=NOW)
    vault.run(now=NOW)
    vault.search("funding")
    return vault.root, vault.skills()[0].name


@pytest.mark.parametrize("question", list(CALLS))
def test_a_question_loads_only_what_it_uses(question: str, asked: tuple[Path, str]) -> None:
    root, skill = asked
    loaded = _loaded(root, *CALLS[question], *([skill] if question == "why" else []))
    ours = {name.removeprefix("skillvault.") for name in loaded if name.startswith("skillvault")}
    assert ours | (loaded & OTHERS) == set(LOADED[question].split())


@pytest.mark.parametrize(
    ("question", "args"), [("search", ()), ("recommend", ("--strategy", "semantic"))]
)
def test_the_model_is_loaded_where_it_is_asked_for(
    question: str, args: tuple[str, ...], asked: tuple[Path, str]
) -> None:
    pytest.importorskip("wordllama", reason="the extra `semantic` is not installed")
    call = ["cli", question, *CALLS[question][2:], *args]
    loaded = _loaded(asked[0], *(word for word in call if word != "--words"))
    assert MODEL | {"skillvault.vault.meaning"} <= loaded


def test_a_repository_that_is_not_plain_is_asked_for_by_git(asked: tuple[Path, str]) -> None:
    root, skill = asked
    subprocess.run(["git", "worktree", "add", "-q", "--detach", "../tree"], cwd=root, check=True)
    assert "git" in _loaded(root.parent / "tree", "cli", "why", skill)


def test_every_command_stands_at_the_place_that_names_it() -> None:
    for name in COMMANDS:
        command = cli.get_command(cli.make_context("skillvault", ["status"]), name)
        assert command is not None
        assert command.name == name

"""A reading command imports no package that it does not use."""

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
NEVER = {
    "watchdog", "rich", "pygit2", "defusedxml", "anthropic", "markdown_it"
} | MODEL  # fmt: skip

# git is started only by what looks at the work tree: `status` tells what is edited there. `why`
# reads the evidence beside a skill, which is no record of the index.
ALSO = {
    "why": {"pygit2", "yaml"},
    "status": {"git", "gitdb", "smmap"},
    "search": set(),
    "recommend": set(),
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
    skill = vault.skills()[0].name
    # The first question of a process of its own: what other tests did to this one is not asked.
    _loaded(vault.root, *CALLS["search"])
    return vault.root, skill


@pytest.mark.parametrize("question", list(CALLS))
def test_a_question_loads_only_what_it_uses(question: str, asked: tuple[Path, str]) -> None:
    root, skill = asked
    loaded = _loaded(root, *CALLS[question], *([skill] if question == "why" else []))
    assert loaded & OTHERS == {"click", "msgspec"} | ALSO[question]


def test_the_check_of_each_commit_loads_only_what_reads_records(asked: tuple[Path, str]) -> None:
    assert not _loaded(asked[0], "cli", "check", "--staged") & (NEVER - {"pygit2"})


@pytest.mark.parametrize(
    ("question", "args"), [("search", ()), ("recommend", ("--strategy", "semantic"))]
)
def test_the_model_is_loaded_where_it_is_asked_for(
    question: str, args: tuple[str, ...], asked: tuple[Path, str]
) -> None:
    pytest.importorskip("wordllama", reason="the extra `semantic` is not installed")
    call = ["cli", question, *CALLS[question][2:], *args]
    loaded = _loaded(asked[0], *(word for word in call if word != "--words"))
    assert MODEL | {"skillvault.vault.search.vectors"} <= loaded


def test_a_repository_that_is_not_plain_is_asked_for_by_git(asked: tuple[Path, str]) -> None:
    root, skill = asked
    subprocess.run(["git", "worktree", "add", "-q", "--detach", "../tree"], cwd=root, check=True)
    assert "git" in _loaded(root.parent / "tree", "cli", "why", skill)


def test_every_command_stands_at_the_place_that_names_it() -> None:
    for name in COMMANDS:
        command = cli.get_command(cli.make_context("skillvault", ["status"]), name)
        assert command is not None
        assert command.name == name

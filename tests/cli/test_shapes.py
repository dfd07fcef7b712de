"""Each JSON block in docs/cli.md has the keys and the types of what its command prints."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click import Command
from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.cli.commands import cli
from tests.conftest import Person
from tests.given import as_file, raw
from tests.tables import commands

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
BLOCK = re.compile(
    r"^`skillvault ([^`]+)`(?:[^\n]|\n(?!\n))*\n\n```json\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
SHAPES: dict[str, Any] = {call: json.loads(text) for call, text in BLOCK.findall(PAGE.read_text())}
NOW = ["--now", "2026-11-20T12:00:00Z"]
RULE = "Get loggers by `get_logger`, which names the request."
# What the arguments of the page stand for in the vault of the test.
ARGUMENTS = {
    "skill show NAME": ["skill", "show", "guide-coding-fix-flaky-test"],
    "skill diff NAME": ["skill", "diff", "triage"],
    "fact show ID": ["fact", "show", "{fact}"],
    "search TEXT": ["search", "timeout"],
    "recommend --domain NAME": [
        "recommend", "--domain", "coding", "--task", "raise a flaky timeout", "-k", "1",
        "--decision", "d-2", *NOW,
    ],
    "stats --decision ID": ["stats", "--decision", "d-1"],
    "why NAME": ["why", "guide-coding-fix-flaky-test"],
    "impact ID": ["impact", "{outcome}"],
    "why-not ID": ["why-not", "{outcome}"],
    "record FILE": ["record", "{folder}/wrong.json", *NOW],
    "install SOURCE": ["install", "{folder}/other"],
    "install SOURCE --list": ["install", "{folder}/other", "--list"],
    "export --to FORMAT DIR": ["export", "--to", "codex", "{folder}/out", "--dry-run"],
    "judge DECISION": ["judge", "{folder}/decision.json", *NOW],
}  # fmt: skip


@pytest.fixture
def used(prepared: Callable[[Callable[[Vault], object]], Vault]) -> Vault:
    """A vault with a guide, a fact, a decision that was shown a skill, and a refused file."""
    return prepared(_use)


def _use(vault: Vault) -> None:
    _write_inputs(vault.root.parent)
    folder = vault.root.parent
    vault.record([("a.json", as_file(raw(0))), ("b.json", as_file(raw(1)))])
    vault.run()
    task = ["--domain", "coding", "--task", "raise a flaky timeout", "--pin", "reading-a-lift"]
    call(vault, "recommend", *task, "--decision", "d-1", *NOW)
    shown = raw(2, decision__id="d-1", applied=["reading-a-lift"])
    vault.record([("c.json", as_file(shown)), ("wrong.json", as_file(raw(result__status="lost")))])
    vault.run()
    call(vault, "install", f"{folder}/source")


def _write_inputs(folder: Path) -> None:
    for source, name in (("source", "triage"), ("other", "bisect")):
        skill = folder / source / name / "SKILL.md"
        skill.parent.mkdir(parents=True, exist_ok=True)
        skill.write_text(
            f"---\nname: {name}\ndescription: Use it.\n---\n\n# Text\n\nSee https://a.b.\n"
        )
    (folder / "wrong.json").write_bytes(as_file(raw(result__status="lost")))
    (folder / "decision.json").write_bytes(as_file(raw(result=None)))


def call(vault: Vault, *args: str) -> str:
    """Return what a command prints on stdout."""
    result = CliRunner().invoke(cli, ["--vault", str(vault.root), *args])
    assert result.exit_code in (0, 1), (result.output, result.exception)
    return result.stdout


def differences(shown: Any, printed: Any, path: str = "") -> list[str]:
    """Return the paths at which a printed value has other keys or types than the shown one."""
    if shown is None or printed is None:
        return []
    if isinstance(shown, dict) and isinstance(printed, dict):
        if shown.keys() == {"…"}:
            shown = dict.fromkeys(printed, shown["…"])
        wrong = [f"{path}.{key}" for key in shown.keys() ^ printed.keys()]
        pairs = [(shown[key], printed[key], f"{path}.{key}") for key in shown if key in printed]
    elif isinstance(shown, list) and isinstance(printed, list):
        wrong = []
        pairs = [(shown[0], item, f"{path}[]") for item in printed if shown]
    else:
        numbers = isinstance(shown, int | float) and isinstance(printed, int | float)
        return [] if numbers or isinstance(printed, type(shown)) else [path]
    return wrong + [found for pair in pairs for found in differences(*pair)]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_json_block_is_as_the_program_prints_it(
    used: Vault, person: Person, tmp_path: Path, shape: str
) -> None:
    _write_inputs(tmp_path)
    if shape.startswith("sync"):
        person.git("init", "-q", "--bare", str(tmp_path / "remote"))
        person.git("remote", "add", "origin", str(tmp_path / "remote"))
    (fact, *_), outcome = used.memory.facts(), next((used.root / "outcomes").rglob("*.yaml"))
    values = {"fact": fact.id, "outcome": outcome.stem, "folder": str(tmp_path)}
    form = "--json" if shape.endswith(" --json") else "--format json"
    known = shape.removesuffix(f" {form}")
    args = [part.format(**values) for part in ARGUMENTS.get(known, known.split())]
    printed = json.loads(call(used, *args, *form.split()))
    assert printed, shape
    assert differences(SHAPES[shape], printed) == []


def _has_json(command: Command) -> bool:
    return any("--json" in option.opts for option in command.params)


def test_the_commands_without_json_are_named() -> None:
    (named,) = re.findall(r"`--json` prints only JSON.*?\n\n", PAGE.read_text(), re.DOTALL)
    without = [name for name, command in commands() if not _has_json(command)]
    named = " ".join(named.split()).partition("`recommend` has `--format json`. ")[2]
    assert re.findall(r"`([a-z -]+)`", named)[:-1] == without


@pytest.mark.parametrize(
    ("shown", "printed", "paths"),
    [
        ({"a": 1}, {"a": 2.5}, []),
        ({"a": 1}, {"a": "x"}, [".a"]),
        ({"a": [{"b": ""}]}, {"a": [{"b": "x"}, {"c": "x"}]}, [".a[].b", ".a[].c"]),
        ({"…": 1}, {"x": 1, "y": None}, []),
    ],
)
def test_other_keys_and_types_are_differences(shown: Any, printed: Any, paths: list[str]) -> None:
    assert sorted(differences(shown, printed)) == paths

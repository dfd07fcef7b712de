"""The documents keep their word: what README and CONTRIBUTING show is compared with the program."""

import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from msgspec import Struct
from msgspec.structs import fields

from skillvault.api import Vault
from skillvault.cli.commands import COMMANDS, cli
from skillvault.cli.judging import NO
from skillvault.errors import SkillvaultError
from skillvault.policy import policy_from, table
from skillvault.records import Decision, Outcome, Result, Source
from skillvault.steps.status import Status
from skillvault.vault.files import strict_yaml
from skillvault.vault.files.redact import redacted_text

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
DOCUMENTS = (README, ROOT / "CONTRIBUTING.md", ROOT / "vault_template" / "README.md")
OURS = (README, ROOT / "CONTRIBUTING.md")

FENCE = re.compile(r"^ *```(?P<kind>\w*)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#:]+)\)")
PATH = re.compile(r"[\w./-]+(?:::\w+)?")
SHA = re.compile(r"\b[0-9a-f]{10}\b")
DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
STEP = "@@ step"
PLACES = ("skillvault/", "tests/", "vault_template/", "hooks/", ".ci/")


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _between(text: str, mark: str) -> str:
    behind = text.partition(f"<!-- {mark}:begin -->\n")[2]
    inside, end, _ = behind.partition(f"<!-- {mark}:end -->")
    assert end, f"the README has no marks for {mark}"
    return inside


# ── the policy ───────────────────────────────────────────────────────────────────────


def test_the_policy_table_is_the_programs() -> None:
    assert _between(README.read_text(encoding="utf-8"), "policy").strip() == table()


def test_the_boosts_that_are_shown_are_read() -> None:
    texts = (found["text"] for found in FENCE.finditer(README.read_text(encoding="utf-8")))
    (text,) = [text for text in texts if text.startswith("recommend:")]
    assert len(policy_from(strict_yaml.load(text)).recommend.boosts) == 4


# ── what else stands in tables ───────────────────────────────────────────────────────


def test_every_key_of_an_outcome_is_explained() -> None:
    shown = README.read_text(encoding="utf-8")
    given = {"id", "received", "extra", "trust", "decision", "result", "context", "source"}
    rooms: dict[str, type[Struct]] = {
        "": Outcome,
        "decision.": Decision,
        "result.": Result,
        "source.": Source,
    }
    keys = [
        f"{room}{field.name}"
        for room, kind in rooms.items()
        for field in fields(kind)
        if room == "decision." or field.name not in given
    ]
    short = {"result.amount": "amount", "result.entry_value": "entry_value"}
    named = [short.get(key, key) for key in keys if key != "decision.extra"]
    assert [key for key in named if f"`{key}`" not in shown] == []


def test_every_exit_code_is_explained() -> None:
    kinds: list[type[SkillvaultError]] = [SkillvaultError, *SkillvaultError.__subclasses__()]
    codes = {0, NO, *(kind.exit_code for kind in kinds)}
    shown = re.findall(r"^\| (\d+) \|", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(map(int, shown)) == codes


def test_the_status_shape_is_the_programs() -> None:
    keys = ", ".join(field.name for field in fields(Status))
    assert f"| `status` | `{{{keys}}}` |" in README.read_text(encoding="utf-8")


def test_what_redaction_is_said_not_to_find_it_does_not_find() -> None:
    said = README.read_text(encoding="utf-8").partition("**Not found:**")[2].partition("##")[0]
    examples = re.findall(r'"([^"]+)"', said)
    assert len(examples) == 2
    assert [redacted_text(example) for example in examples] == examples


def test_the_number_of_samples_is_as_said() -> None:
    samples = (ROOT / "vault_template" / "examples").glob("*.jsonl")
    count = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in samples)
    assert f"{count} sample outcomes" in README.read_text(encoding="utf-8")


# ── commands and options ─────────────────────────────────────────────────────────────


def _typed(text: str) -> Iterator[str]:
    """The lines of code blocks that a reader would type, and the commands in sentences."""
    for block in FENCE.finditer(text):
        lines = block["text"].splitlines()
        if block["kind"] == "console":
            yield from (line.removeprefix("$ ") for line in lines if line.startswith("$ "))
        elif block["kind"] in ("", "sh"):
            yield from lines
    prose = FENCE.sub("", text)
    yield from (span for span in SPAN.findall(prose) if span.startswith("skillvault "))


def _calls(line: str) -> Iterator[list[str]]:
    """The arguments of each call of the program in a shell line."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] | None = None
    for token in [*lexer, ";"]:
        if set(token) <= set("();<>|&"):
            if words is not None:
                yield words
            words = None
        elif words is None and Path(token).name == "skillvault":
            words = []
        elif words is not None:
            words.append(token)


def _unknown(words: list[str]) -> Iterator[str]:
    """What the command line does not know of a call's commands and options."""
    command: click.Command = cli
    for word in words:
        if word.startswith("-") and word != "-":
            known = {opt for param in command.params for opt in param.opts} | {"-h", "--help"}
            if word.partition("=")[0] not in known:
                yield f"{command.name} {word}"
        elif isinstance(command, click.Group) and (
            below := command.get_command(click.Context(command), word)
        ):
            command = below
        elif isinstance(command, click.Group) and words[words.index(word) - 1] != "--vault":
            yield f"{command.name} {word}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_every_command_and_option_shown_exists(document: Path) -> None:
    lines = list(_typed(document.read_text(encoding="utf-8")))
    calls = [words for line in lines for words in _calls(line)]
    assert calls or document not in (README, DOCUMENTS[2])
    assert [unknown for words in calls for unknown in _unknown(words)] == []


@pytest.mark.parametrize(
    ("line", "unknown"),
    [
        ("skillvault --vault demo run --dry-run", []),
        ("skillvault skill list | head -n 1", []),
        ("echo $(skillvault skill lst)", ["skill lst"]),
        (".venv/bin/skillvault record --exmple > my.yaml", ["record --exmple"]),
        ("cd demo && skillvault distill", ["cli distill"]),
    ],
)
def test_a_command_that_does_not_exist_is_found(line: str, unknown: list[str]) -> None:
    assert [found for words in _calls(line) for found in _unknown(words)] == unknown


def test_every_command_of_the_program_is_in_the_readme() -> None:
    shown = README.read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"skillvault {name}" not in shown] == []


# ── paths ────────────────────────────────────────────────────────────────────────────


def _paths(text: str) -> Iterator[str]:
    prose = FENCE.sub("", text)
    yield from LINK.findall(prose)
    for span in SPAN.findall(prose):
        if PATH.fullmatch(span) and span.startswith(PLACES):
            yield span


def _missing(path: str) -> bool:
    file, _, test = path.partition("::")
    place = ROOT / file
    return not place.exists() or (test != "" and f"def {test}(" not in place.read_text("utf-8"))


@pytest.mark.parametrize("document", OURS, ids=_name)
def test_every_path_and_test_named_exists(document: Path) -> None:
    named = list(_paths(document.read_text(encoding="utf-8")))
    assert named
    assert [path for path in named if _missing(path)] == []


# ── the transcripts ──────────────────────────────────────────────────────────────────


def _walk(mark: str) -> list[tuple[str, str]]:
    """(command, output as shown) of one of the README's transcripts, in order."""
    text = _between(README.read_text(encoding="utf-8"), mark)
    shown = "".join(block["text"] for block in FENCE.finditer(text) if block["kind"] == "console")
    steps = re.split(r"^\$ ", shown, flags=re.MULTILINE)[1:]
    return [(step.partition("\n")[0], step.partition("\n")[2]) for step in steps]


def _played(commands: list[str], place: Path) -> list[str]:
    """What each of the commands prints, typed one after the other into one shell."""
    lines = [
        f"PYTHONPATH={shlex.quote(str(ROOT))}; export PYTHONPATH",
        f'skillvault() {{ {shlex.quote(sys.executable)} -m skillvault "$@"; }}',
    ]
    lines += [f"echo '{STEP}'\n{command}" for command in commands]
    done = subprocess.run(
        ["sh", "-c", "\n".join(lines)],
        cwd=place,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.stdout.split(f"{STEP}\n")[1:]


def _plain(text: str) -> str:
    """A transcript without what differs from day to day."""
    return DATE.sub("DATE", SHA.sub("SHA", text)).strip()


def _pattern(shown: str) -> str:
    """A regular expression for an output as shown, in which `…` may stand for anything."""
    return ".*?".join(re.escape(part) for part in _plain(shown).split("…"))


@pytest.mark.parametrize(("mark", "least"), [("walk", 20), ("agent", 8)])
def test_what_the_readme_shows_goes_as_written(mark: str, least: int, tmp_path: Path) -> None:
    walk = _walk(mark)
    outputs = _played([command for command, _ in walk], tmp_path)
    assert len(outputs) == len(walk) > least
    for (command, shown), output in zip(walk, outputs, strict=True):
        matches = re.fullmatch(_pattern(shown), _plain(output), re.DOTALL)
        assert matches, f"$ {command}\n{output}\n--- but the README shows\n{shown}"


# ── give it to your agent ────────────────────────────────────────────────────────────


def _block(kind: str, begins: str) -> str:
    """The README's one code block of a kind that begins so."""
    blocks = FENCE.finditer(README.read_text(encoding="utf-8"))
    (text,) = (b["text"] for b in blocks if b["kind"] == kind and b["text"].startswith(begins))
    return text


def test_the_python_that_is_shown_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault, _ = Vault.init(tmp_path / "my-vault", ["coding"])
    example = ROOT / "vault_template" / "examples" / "outcome.yaml"
    vault.record([("example.yaml", example.read_bytes())])
    vault.run()
    monkeypatch.chdir(tmp_path)
    room: dict[str, Any] = {}
    exec(_block("python", "import json"), room)  # noqa: S102 (our own text, which promises to run)
    assert room["prompt"].startswith('<skills>\n<skill name="warning-coding-checkout-service-')
    assert len(room["found"]) == 3
    assert len(room["review"]) == 2


def test_the_prompt_that_is_shown_asks_for_what_there_is() -> None:
    said = _block("text", "Before a task")
    calls = [words for line in said.splitlines() for words in _calls(line.replace("'", ""))]
    assert [words[0] for words in calls] == ["recommend", "record"]
    assert [unknown for words in calls for unknown in _unknown(words)] == []
    keys = {field.name for kind in (Outcome, Decision, Result) for field in fields(kind)}
    named = re.findall(r"\b(domain|occurred_at|decision|action|target|reasoning|result|status"
                       r"|evidence|applied)\b", said)  # fmt: skip
    assert len(set(named)) == 10
    assert set(named) <= keys


def test_the_layers_that_are_shown_are_read() -> None:
    text = textwrap.dedent(_block("yaml", "   shelf:"))
    assert policy_from(strict_yaml.load(text)).shelf.dirs == ("team-skills", "../company/skills")

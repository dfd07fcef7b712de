"""The documents keep their word: what README, docs/ and CONTRIBUTING show is compared."""

import os
import re
import shlex
import textwrap
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
from msgspec import Struct
from msgspec.structs import fields

from skillvault.api import Vault
from skillvault.cli.answer import EXIT_CODE_NO
from skillvault.cli.commands import cli
from skillvault.model.errors import SkillvaultError
from skillvault.model.policy import parse_policy, settings
from skillvault.model.records import Decision, Outcome, Result, Source
from skillvault.model.text import strict_yaml
from skillvault.vault.files.redact import redact_text
from tests.in_process import run_script
from tests.tables import TABLES, commands

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = (README, *sorted(DOCS.glob("*.md")))
OURS = (*PAGES, ROOT / "CONTRIBUTING.md")
DOCUMENTS = (*OURS, ROOT / "vault_template" / "README.md")

FENCE = re.compile(r"^ *```(?P<kind>\w*)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
MARK = re.compile(r"<!-- (\w+):begin -->")
SETTING = re.compile(r"[a-z]+\.[a-z_]+")
TARGET = re.compile(r"^make ([a-z][a-z-]*)")
PATH = re.compile(r"[\w./-]+(?:::\w+)?")
SHA = re.compile(r"\b[0-9a-f]{10}\b")
DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
STEP = "@@ step"
PLACES = ("skillvault/", "tests/", "vault_template/", "hooks/", "docs/", ".ci/")
LINES_OF_README = 180


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def _between(page: Path, mark: str) -> str:
    behind = _text(page).partition(f"<!-- {mark}:begin -->\n")[2]
    inside, end, _ = behind.partition(f"<!-- {mark}:end -->")
    assert end, f"{_name(page)} has no marks for {mark}"
    return inside


def _blocks(page: Path, *kinds: str) -> list[str]:
    """The page's code blocks of these kinds."""
    return [block["text"] for block in FENCE.finditer(_text(page)) if block["kind"] in kinds]


# ── the tables that come from the program ────────────────────────────────────────────


@pytest.mark.parametrize("mark", TABLES)
def test_a_table_of_the_program_is_as_the_program_has_it(mark: str) -> None:
    page, table = TABLES[mark]
    # `python -m tests.tables` writes them anew.
    assert _between(DOCS / page, mark).strip() == table()


def test_every_key_of_an_outcome_is_explained() -> None:
    page = _text(DOCS / "agents.md")
    internal = {"id", "received", "extra", "trust", "decision", "result", "context", "source"}
    kinds: dict[str, type[Struct]] = {
        "": Outcome,
        "decision.": Decision,
        "result.": Result,
        "source.": Source,
    }
    keys = [
        f"{prefix}{field.name}"
        for prefix, kind in kinds.items()
        for field in fields(kind)
        if prefix == "decision." or field.name not in internal
    ]
    short = {"result.amount": "amount", "result.entry_value": "entry_value"}
    names = [short.get(key, key) for key in keys if key != "decision.extra"]
    assert [name for name in names if f"`{name}`" not in page] == []


def test_every_exit_code_is_explained() -> None:
    kinds: list[type[SkillvaultError]] = [SkillvaultError, *SkillvaultError.__subclasses__()]
    codes = {0, EXIT_CODE_NO, *(kind.exit_code for kind in kinds)}
    explained = re.findall(r"^\| (\d+) \|", _text(DOCS / "cli.md"), re.MULTILINE)
    assert set(map(int, explained)) == codes


def test_what_redaction_does_not_find_is_what_the_page_says() -> None:
    limits = _text(DOCS / "safety.md").partition("**Not found:**")[2].partition("##")[0]
    examples = re.findall(r'"([^"]+)"', limits)
    assert len(examples) == 3
    assert [redact_text(example) for example in examples] == examples


def test_the_number_of_samples_is_as_written() -> None:
    samples = (ROOT / "vault_template" / "examples").glob("*.jsonl")
    count = sum(len(_text(path).splitlines()) for path in samples)
    assert f"{count} sample outcomes" in _text(README)


# ── settings ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("document", PAGES, ids=_name)
def test_every_setting_named_exists(document: Path) -> None:
    known = {key for key, _ in settings()}
    sections = {key.partition(".")[0] for key in known if "." in key}
    spans = (span.partition(":")[0] for span in SPAN.findall(FENCE.sub("", _text(document))))
    names = [span for span in spans if SETTING.fullmatch(span)]
    keys = [name for name in names if name.partition(".")[0] in sections - {"record"}]
    assert [key for key in keys if key not in known] == []


def _policies() -> list[tuple[str, str]]:
    """Return (page, text) of every YAML block that belongs in a `vault.yaml`."""
    keys = {key.partition(".")[0] for key, _ in settings()}
    return [
        (_name(page), textwrap.dedent(text))
        for page in PAGES
        for text in _blocks(page, "yaml")
        if textwrap.dedent(text).partition(":")[0] in keys
    ]


@pytest.mark.parametrize(("page", "text"), _policies())
def test_a_policy_that_is_shown_is_read(page: str, text: str) -> None:
    assert parse_policy(strict_yaml.load(text)) != parse_policy({}), page


def test_policies_are_shown_for_layers_boosts_and_claude() -> None:
    policies = [parse_policy(strict_yaml.load(text)) for _, text in _policies()]
    assert {policy.shelf.dirs for policy in policies} == {(), ("team-skills", "../company/skills")}
    assert 4 in {len(policy.recommend.boosts) for policy in policies}
    assert "claude" in {policy.judge.provider for policy in policies}


# ── commands and options ─────────────────────────────────────────────────────────────


def _typed(text: str) -> Iterator[str]:
    """Yield the lines that a reader would type, and the commands in sentences."""
    for block in FENCE.finditer(text):
        lines = block["text"].splitlines()
        if block["kind"] in ("console", "text"):
            yield from (line.removeprefix("$ ") for line in lines if line.startswith("$ "))
        elif block["kind"] in ("", "sh"):
            yield from lines
    prose = FENCE.sub("", text)
    yield from (span for span in SPAN.findall(prose) if span.startswith(("skillvault ", "make ")))


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
    """Yield the commands and options of a call that the command line does not know."""
    command: click.Command = cli
    for word in takewhile(lambda word: word != "--", words):  # behind it another program's begin
        if word.startswith("-") and word != "-":
            options = {opt for param in command.params for opt in param.opts} | {"-h", "--help"}
            if word.partition("=")[0] not in options:
                yield f"{command.name} {word}"
        elif isinstance(command, click.Group) and (
            below := command.get_command(click.Context(command), word)
        ):
            command = below
        elif isinstance(command, click.Group) and words[words.index(word) - 1] != "--vault":
            yield f"{command.name} {word}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_every_command_and_option_shown_exists(document: Path) -> None:
    # In the table of commands, brackets and `...` are not the shell's.
    text = re.sub(
        r"<!-- commands:begin -->.*?<!-- commands:end -->", "", _text(document), flags=re.DOTALL
    )
    calls = [words for line in _typed(text) for words in _calls(line)]
    assert calls or document not in (README, DOCUMENTS[-1])
    placeholders = {"COMMAND"}
    unknown = [name for words in calls for name in _unknown(words)]
    assert [name for name in unknown if name.rpartition(" ")[2] not in placeholders] == []


def test_every_command_of_the_animated_picture_exists() -> None:
    tape = _text(DOCS / "pictures" / "try.tape")
    calls = [
        words for line in re.findall(r'^Type "(.*)"$', tape, re.MULTILINE) for words in _calls(line)
    ]
    assert calls
    assert [name for words in calls for name in _unknown(words)] == []


def test_the_animated_picture_is_small_and_stands_still_for_who_wants_that() -> None:
    picture = _text(DOCS / "pictures" / "try.svg")
    assert len(picture.encode()) < 150_000
    assert "@media(prefers-reduced-motion:reduce){*{animation:none!important}}" in picture


@pytest.mark.parametrize(
    ("line", "unknown"),
    [
        ("skillvault --vault demo run --dry-run", []),
        ("skillvault skill list | head -n 1", []),
        ("echo $(skillvault skill lst)", ["skill lst"]),
        (".venv/bin/skillvault record --exmple > my.yaml", ["record --exmple"]),
        ("cd demo && skillvault dream", ["cli dream"]),
    ],
)
def test_a_command_that_does_not_exist_is_found(line: str, unknown: list[str]) -> None:
    assert [name for words in _calls(line) for name in _unknown(words)] == unknown


def test_every_command_of_the_program_is_in_the_documents() -> None:
    text = "".join(map(_text, PAGES)).replace(_between(DOCS / "cli.md", "commands"), "")
    assert [name for name, _ in commands() if f"skillvault {name}" not in text] == []


@pytest.mark.parametrize("document", OURS, ids=_name)
def test_every_make_target_shown_exists(document: Path) -> None:
    targets = re.findall(r"^([a-z][a-z-]*):", _text(ROOT / "Makefile"), re.MULTILINE)
    typed = (TARGET.match(line) for line in _typed(_text(document)))
    assert [line[1] for line in typed if line and line[1] not in targets] == []


# ── paths, links ─────────────────────────────────────────────────────────────────────


def _paths(text: str) -> Iterator[str]:
    for span in SPAN.findall(FENCE.sub("", text)):
        if PATH.fullmatch(span) and span.startswith(PLACES):
            yield span


def _missing(path: str) -> bool:
    file, _, test = path.partition("::")
    place = ROOT / file
    return not place.exists() or (test != "" and f"def {test}(" not in _text(place))


@pytest.mark.parametrize("document", OURS, ids=_name)
def test_every_path_and_test_named_exists(document: Path) -> None:
    assert [path for path in _paths(_text(document)) if _missing(path)] == []


def test_paths_are_looked_for() -> None:
    assert list(_paths("`docs/cli.md`, `tests/test_api.py::test_a`, `other/x`")) == [
        "docs/cli.md",
        "tests/test_api.py::test_a",
    ]
    assert _missing("tests/test_documents.py::test_of_no_such_name")


def _anchor(heading: str) -> str:
    """The anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _broken(document: Path, link: str) -> bool:
    """Return True if a link leads to no file of ours, or to no heading in it."""
    file, _, anchor = link.partition("#")
    place = document.parent / file if file else document
    if not place.exists():
        return True
    headings = HEADING.findall(FENCE.sub("", _text(place))) if anchor else []
    return anchor != "" and anchor not in map(_anchor, headings)


@pytest.mark.parametrize("document", OURS, ids=_name)
def test_every_link_between_the_documents_leads_somewhere(document: Path) -> None:
    links = [link for link in LINK.findall(FENCE.sub("", _text(document))) if ":" not in link]
    assert [link for link in links if _broken(document, link)] == []


def test_a_link_without_its_heading_is_found() -> None:
    assert not _broken(README, "docs/judges.md#where-it-is-poor")
    assert _broken(README, "docs/judges.md#where-it-is-rich")
    assert _broken(README, "docs/nothing.md")


def test_the_readme_leads_to_every_page() -> None:
    links = LINK.findall(_text(README))
    assert [_name(page) for page in PAGES[1:] if _name(page) not in links] == []


def test_the_readme_stays_short() -> None:
    assert len(_text(README).splitlines()) <= LINES_OF_README


# ── the transcripts ──────────────────────────────────────────────────────────────────


class Transcript(NamedTuple):
    """The commands of a page between two marks, and what it shows for them."""

    page: Path
    mark: str

    def __str__(self) -> str:
        return f"{_name(self.page)}:{self.mark}"

    def steps(self) -> list[tuple[str, str]]:
        """Return (command, output as shown) of each step, in order."""
        blocks = FENCE.finditer(_between(self.page, self.mark))
        text = "".join(block["text"] for block in blocks if block["kind"] == "console")
        steps = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
        return [(step.partition("\n")[0], step.partition("\n")[2]) for step in steps]


def _transcripts() -> list[Transcript]:
    every = [Transcript(page, mark) for page in PAGES for mark in MARK.findall(_text(page))]
    return [transcript for transcript in every if transcript.steps()]


def _outputs(commands: list[str], place: Path) -> list[str]:
    """Type the commands one after the other into one shell and return the output of each."""
    script = "\n".join(f"echo '{STEP}'\n{command}" for command in commands)
    printed, code = run_script(f"set +e\n{script}\ntrue", place, os.environ)
    assert code == 0
    return printed.split(f"{STEP}\n")[1:]


def _plain(text: str) -> str:
    """Return a transcript without its dates and commit ids."""
    return DATE.sub("DATE", SHA.sub("SHA", text)).strip()


def _pattern(shown: str) -> str:
    """Return a regular expression for a shown output, in which `…` matches anything."""
    return ".*?".join(re.escape(part) for part in _plain(shown).split("…"))


@pytest.mark.parametrize("transcript", _transcripts(), ids=str)
def test_a_transcript_goes_as_written(transcript: Transcript, tmp_path: Path) -> None:
    steps = transcript.steps()
    outputs = _outputs([command for command, _ in steps], tmp_path)
    for (command, shown), output in zip(steps, outputs, strict=True):
        matches = re.fullmatch(_pattern(shown), _plain(output), re.DOTALL)
        assert matches, f"$ {command}\n{output}\n--- but {transcript} shows\n{shown}"


def test_every_console_block_belongs_to_a_transcript() -> None:
    steps = sum(len(transcript.steps()) for transcript in _transcripts())
    prompts = [line for page in PAGES for line in "".join(_blocks(page, "console")).splitlines()]
    assert steps == len([line for line in prompts if line.startswith("$ ")]) > 40
    assert _blocks(ROOT / "CONTRIBUTING.md", "console") == []


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_output_that_is_shown_alone_is_of_a_golden_story(page: Path) -> None:
    stories = [_plain(_text(path)) for path in (ROOT / "tests" / "golden").glob("*/expected.txt")]
    shown = [text for text in _blocks(page, "text") if text.startswith("$ ")]
    assert [text for text in shown if not any(_plain(text) in story for story in stories)] == []


# ── code and prompts for agents ──────────────────────────────────────────────────────


@pytest.fixture
def taught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Vault:
    """A vault that learned from the example, in the folder where the code runs."""
    vault, _ = Vault.init(tmp_path / "my-vault", ["coding"])
    example = ROOT / "vault_template" / "examples" / "outcome.yaml"
    vault.record([("example.yaml", example.read_bytes())])
    vault.run()
    monkeypatch.chdir(tmp_path)
    return vault


def _run(page: Path) -> dict[str, Any]:
    """Run a page's one block of Python and return the names it defines."""
    (text,) = _blocks(page, "python")
    names: dict[str, Any] = {}
    exec(text, names)  # noqa: S102 (our own text, which promises to run)
    return names


@pytest.mark.usefixtures("taught")
def test_the_python_of_the_readme_runs() -> None:
    assert _run(README)["answer"].recommended[0].name == "guide-coding-fix-flaky-test"


@pytest.mark.usefixtures("taught")
def test_the_python_for_agents_runs() -> None:
    names = _run(DOCS / "agents.md")
    assert names["prompt"].startswith('<skills>\n<skill name="guide-coding-fix-flaky-test"')
    assert [hit.id for hit in names["hits"]] == ["guide-coding-fix-flaky-test", "guide-coding-test"]
    assert len(names["review"]) == 2


def test_no_other_page_shows_python() -> None:
    pages = [_name(page) for page in OURS if _blocks(page, "python")]
    assert set(pages) - {"CONTRIBUTING.md"} == {"README.md", "docs/agents.md"}


def test_the_prompt_that_is_shown_asks_for_what_there_is() -> None:
    (prompt,) = (text for text in _blocks(DOCS / "agents.md", "text") if "Before a task" in text)
    calls = [words for line in prompt.splitlines() for words in _calls(line.replace("'", ""))]
    assert [words[0] for words in calls] == ["recommend", "record"]
    assert [name for words in calls for name in _unknown(words)] == []
    keys = {field.name for kind in (Outcome, Decision, Result) for field in fields(kind)}
    named = re.findall(r"\b(domain|occurred_at|decision|action|target|reasoning|result|status"
                       r"|evidence|applied)\b", prompt)  # fmt: skip
    assert len(set(named)) == 10
    assert set(named) <= keys

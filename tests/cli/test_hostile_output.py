"""Nothing that a vault, a source or a person brings can steer the terminal that shows it.

Controls, orders of direction and tags stand in every field of every record, in names, policies,
commits and sources; all commands are called, with each text that they take, and what they print is
looked at: answers, errors, help and what a shell completes.
"""

import ast
import io
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from rich.console import Console

from skillvault import cli as entry
from skillvault.api import Vault, proposals
from skillvault.cli.commands import COMPLETING
from skillvault.cli.review_inbox import screen
from skillvault.model import codec
from skillvault.model.records import Record
from skillvault.model.text.hidden_characters import hidden_characters
from skillvault.vault.files import layout
from tests import forked
from tests.conftest import NOW, Person, unguarded
from tests.exchange.sites import skill_file
from tests.given import as_file, ended, raw, shown
from tests.intake.test_free_text import commands, takes_text

# What a terminal obeys, what turns a text round, what nobody sees.
STEERING = (
    "\x1b[31mred\x1b]8;;https://evil.example/\x1b\\link\x1b]52;c;cm0=\x07\x9b2J\bcut\x7f"
    "\u202egnp.exe\u202c\u2066x\u2069\U000e0041\U000e0042\u200bend"
)
# The same where a file name or a ref may not hold all of it.
IN_NAMES = "\u202egnp\u202c\U000e0041\u200b"
PACKAGE = Path(entry.__file__).parents[1]
_FIXED = frozenset(  # fields that are ids, kinds and times
    """
    id outcome domain status trust kind origin type source target created_at occurred_at received
    created expires at ended_at made_at observed_by claimed insight_type applicability importance
    decision_id subject account name replaces written version material reasoning_at retired trial
    """.split()
)


def run(*words: str, **environment: str) -> tuple[str, int]:
    """(all that a command prints, its exit code), by the entry point that turns errors to text."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="surrogateescape", write_through=True)
    code = 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(out):
        patch.setattr(sys, "argv", ["skillvault", *words])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b""), "utf-8"))
        for name, value in environment.items():
            patch.setenv(name, value)
        try:
            entry.main()
        except SystemExit as ended_:
            code = ended_.code if isinstance(ended_.code, int) else int(ended_.code is not None)
    buffer = out.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8", "surrogateescape"), code


def hides(text: str) -> list[str]:
    """The names of what hides in a text."""
    return [one.name for one in hidden_characters(text)]


def _hostile(value: Any, key: str = "") -> Any:
    """A plain value with steering in each of its texts that is no id, kind or time."""
    if isinstance(value, str) and value and key not in _FIXED:
        return f"{value}{STEERING}"
    if isinstance(value, dict):
        return {name: _hostile(member, name) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_hostile(member, key) for member in value]
    return value


def _rewritten(record: Record) -> bytes:
    plain = msgspec.to_builtins(record)
    return codec.encode(msgspec.convert(_hostile(plain), type(record)))


def _make_hostile(vault: Vault, person: Person) -> None:
    """Let a person write steering into each record, the policy, names, and the history."""
    kinds = set[str]()
    for path in person.git("ls-files").splitlines():
        ref = layout.ref_of(path)
        if ref is not None:
            record = codec.decode(ref, (vault.root / path).read_bytes(), "coding")
            (vault.root / path).write_bytes(_rewritten(record))
            kinds.add(ref.kind)
    assert kinds >= {"outcome", "evaluation", "fact", "skill", "recommendation", "session"}
    for folder in ("skills", "proposed", "archive"):
        name = f"by-hand-{folder}"
        person.write(f"{folder}/{name}/SKILL.md", _skill(name, folder))
        person.write(f"{folder}/x{IN_NAMES}{folder}/SKILL.md", _skill(f"x{IN_NAMES}", folder))
        person.write(f"{folder}/broken-{folder}/SKILL.md", f"---\nname: {STEERING}\n---\n")
    person.write(f"memory/coding/x{IN_NAMES}.md", f"A fact{STEERING} of the checkout.\n")
    person.write("memory/coding/typed.md", f"A fact{STEERING} of the checkout, typed.\n")
    person.write("LEARNINGS.md", f"## {STEERING}\n\n- Call `retry`{STEERING} before a request.\n")
    person.git(
        "add", "-A", "--force", "--", "skills", "proposed", "archive", "memory", "evaluations"
    )
    person.git("add", "-A")
    author = f"Eve{IN_NAMES} <eve@example.org>"
    person.git("commit", "-q", "--no-verify", f"--author={author}", "-m", f"by hand{STEERING}")
    person.git("branch", f"side{IN_NAMES}")
    person.write("skills/by-hand-skills/SKILL.md", _skill("by-hand-skills", "edited"))
    for number, content in enumerate((f"domain: [{STEERING}", f"domain: x{STEERING}\n")):
        person.write(f"inbox/bad{number}{IN_NAMES}.yaml", content)


def _skill(name: str, folder: str) -> str:
    escapes = STEERING.encode("unicode-escape").decode().replace("'", "''").replace('"', '\\"')
    status = {"proposed": "proposed", "archive": "retired"}.get(folder, "testing")
    return (
        f'---\nname: "{name}"\ndescription: "A test{escapes} is flaky"\nmetadata:\n'
        f'  tags: "a{escapes}"\n  roles: "r{escapes}"\n  status: {status}\n---\n\n'
        f"# Read the [log](https://evil.example){STEERING}\n\n1. Read {STEERING} it first.\n"
    )


@pytest.fixture(scope="module")
def hostile(_new_vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Vault:
    """A vault that learned, and then was written into by somebody who means ill."""
    vault = Vault(unguarded(_new_vault, tmp_path_factory.mktemp("hostile") / "vault"))
    person = Person(vault.root)
    files = [
        as_file(raw(n, decision__target=f"part-{n % 2}", decision__id=f"d-{n}")) for n in range(4)
    ]
    vault.record([(f"{n}.json", data) for n, data in enumerate(files)], now=NOW)
    (vault.root / "inbox/untrusted/u.json").write_bytes(as_file(raw(5, decision__target="web")))
    vault.record([("r.json", as_file(shown(decision="d-9", domain="coding")))], now=NOW)
    vault.record([("s.json", as_file(ended("s-77")))], now=NOW)
    vault.run(now=NOW, patience=10)
    _make_hostile(vault, person)
    return Vault(vault.root)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder of hostile skills."""
    for number, text in enumerate((skill_file("plain"), _skill("steers", "").encode(), b"---\n")):
        place = tmp_path / "source" / f"s{number}{IN_NAMES}"
        place.mkdir(parents=True)
        (place / "SKILL.md").write_bytes(text)
    return tmp_path / "source"


def _names(vault: Vault) -> Iterator[tuple[str, str]]:
    """Yield (the parameter that takes it, name) for everything in the vault."""
    for folder in ("skills", "proposed", "archive"):
        yield from (("name", entry_.name) for entry_ in vault.skills(folder))
    head = vault.store.snapshot()
    yield from (("ref", name) for name in (*head.outcomes, *head.facts, *head.sessions))
    yield from (("skill", entry_.name) for entry_ in vault.skills())
    yield from (("outcome", name) for name in list(head.outcomes)[:1])


_CHANGING = {"mcp", "watch", "setup", "hook", "merge-driver"}


def _calls(vault: Vault, source: Path) -> Iterator[list[str]]:
    """Yield each command without its arguments, with names from the vault, and with steering."""
    names: dict[str, list[str]] = {}
    for key, name in _names(vault):
        names.setdefault(key, []).append(name)
    for name, command in commands():
        if name.split()[0] not in _CHANGING:
            yield from _calls_of(name, command, names)
    yield from _calls_about(source)


def _calls_of(
    name: str, command: click.Command, names: dict[str, list[str]]
) -> Iterator[list[str]]:
    """Yield the calls of one command."""
    options = {option for param in command.params for option in param.opts}
    words = [*name.split(), *(["--dry-run"] if "--dry-run" in options else [])]
    reason = ["--reason", STEERING] if name in ("retract", "skill reject") else []
    for form in ([], ["--json"]) if "--json" in options else ([],):
        if name not in ("init", "report"):
            yield [*words, *form]
        for param in command.params:
            if isinstance(param, click.Argument):
                known = names.get(param.name or "", [])
                yield from ([*words, *form, *reason, one] for one in known)
    for param in filter(takes_text, command.params):
        option = [param.opts[-1]] if isinstance(param, click.Option) else []
        yield [*words, *option, f"{IN_NAMES}{STEERING}"]


def _calls_about(source: Path) -> Iterator[list[str]]:
    """Yield more calls about the vault, and calls about a hostile source."""
    for format_ in ("prompt", "xml", "json"):
        task = ("--domain", "coding", "--task", "a test of the checkout is flaky", "--with-learned")
        yield ["recommend", *task, "--format", format_, "--explain", "--untrusted"][:-1]
    yield from (["log", "-p"], ["learn", "--list"], ["fact", "list", "--format", "memory"])
    yield from (["skill", "list", flag] for flag in ("--layers", "--proposed", "--archived"))
    yield from (["search", "test flaky checkout", *more] for more in ([], ["--untrusted"]))
    yield from (
        ["report", "--md"],
        ["review"],
        ["check", "--staged"],
        ["stats", "--decision", "d-1"],
    )
    yield from (["install", str(source), *more] for more in (["--list"], ["--dry-run"]))
    yield from (["import", "skills", str(source), "--dry-run"], ["run", "--dry-run", "capture"])
    for report in source.rglob("SKILL.md"):
        yield from (["import", "junit", str(report)], ["record", str(report), "--dry-run"])
    yield from (["export", "--to", "agents-md", str(source), "--dry-run"], [f"no{STEERING}"])
    yield from (["status", f"--no{STEERING}"], ["skill", f"no{STEERING}"])


def test_no_command_prints_what_steers_a_terminal(hostile: Vault, source: Path) -> None:
    printed, codes = list[str](), set[int]()
    for words in _calls(hostile, source):
        text, code = run("--vault", str(hostile.root), *words)
        assert hides(text) == [], (words, text)
        printed.append(text)
        codes.add(code)
    assert len(printed) > 300
    assert {0, 1, 2} <= codes
    shown_ = "".join(printed)
    assert "\\x1b[31mred" in shown_
    assert "\\u202egnp" in shown_
    assert "\\U000e0041" in shown_
    assert "\\udb40\\udc41" in shown_  # as JSON escapes it


def test_what_a_run_prints_steers_nothing(hostile: Vault, tmp_path: Path, source: Path) -> None:
    copied = Vault(unguarded(hostile.root, tmp_path / "copy"))
    vault = str(copied.root)
    changing = [
        ["run"], ["quarantine", "list"], ["run"], ["install", str(source)], ["sync"],
        ["watch", "--once"], ["setup", "codex", "--project", str(source), "--domain", "coding"],
        ["setup", "codex", "--project", str(source), "--remove"], ["review", "--branch"],
        ["merge-driver", *[str(next(source.rglob("*.md")))] * 3, f"skills/{STEERING}/SKILL.md"],
        ["close", "d-1", "--domain", "coding", "--status", "failure", "--evidence", STEERING],
        ["learn", f"Call `x{STEERING}` first, before all else."], ["doctor"], ["status"],
    ]  # fmt: skip
    for words in changing:
        text, _ = run("--vault", vault, *words)
        assert hides(text) == [], (words, text)
    assert hides(Person(copied.root).git("log", "-1", "--format=%B")) == []


def test_help_and_errors_of_every_command_steer_nothing(hostile: Vault) -> None:
    environment = {
        "CLAWHUB_REGISTRY": f"https://x.example/{STEERING}",
        "SKILLVAULT_SESSION": f"s{STEERING}",
        "SKILLVAULT_VAULT": str(hostile.root / f"v{STEERING}"),
    }
    for name, _ in commands():
        for words in (["--help"], [f"--no{STEERING}"], [STEERING] * 9):
            if name == "hook" and words != ["--help"]:
                continue  # it ends the process: see below
            text, _ = run(*name.split(), *words, **environment)
            assert hides(text) == [], (name, words, text)
            assert text


def test_a_shell_completes_no_name_that_steers_it(hostile: Vault) -> None:
    offered = set[str]()
    for words in (
        ["skill", "show", ""], ["skill", "approve", ""], ["skill", "restore", ""], ["why", ""],
        ["stats", ""], ["recommend", "--domain", ""], ["close", ""], ["recommend", "--pin", ""],
    ):  # fmt: skip
        line = ["skillvault", "--vault", str(hostile.root), *words]
        for shell in ("bash", "zsh", "fish"):
            text, _ = run(
                **{
                    COMPLETING: f"{shell}_complete",
                    "COMP_WORDS": " ".join(line),
                    "COMP_CWORD": str(len(line) - 1) if shell != "fish" else "",
                }
            )
            assert hides(text) == [], (shell, words, text)
            offered |= set(text.split())
    assert {"plain,by-hand-skills", "plain,by-hand-proposed", "plain,coding"} <= offered


def test_the_screen_of_a_proposal_obeys_nothing_in_it(hostile: Vault) -> None:
    waiting = proposals(hostile)
    assert {one.name for one in waiting} >= {"by-hand-proposed"}
    for number, skill in enumerate(waiting):
        odd = msgspec.structs.replace(
            skill, kind=f"k{STEERING}", domain=f"d{STEERING}", replaces=(f"r{STEERING}",)
        )
        console = Console(file=io.StringIO(), markup=False, width=120)
        console.print(screen(odd, number, len(waiting)))
        assert isinstance(console.file, io.StringIO)
        assert hides(console.file.getvalue()) == []


def test_a_mistake_of_ours_is_told_without_what_its_text_hides(
    capsys: pytest.CaptureFixture[str],
) -> None:
    entry._show_traceback(RuntimeError, RuntimeError(STEERING), None)
    told = capsys.readouterr().err
    assert hides(told) == []
    assert "RuntimeError: \\x1b[31mred" in told


def test_what_a_hook_says_to_a_terminal_steers_nothing(hostile: Vault, tmp_path: Path) -> None:
    for words in (
        ["hook", "UserPromptSubmit", "--vault", str(hostile.root), "--domain", "coding"],
        ["hook", "SessionStart", "--vault", str(hostile.root), "--domain", "coding"],
        ["hook", f"no{STEERING}", "--vault", str(tmp_path)],
        ["hook", f"no{STEERING}", "--vault", str(hostile.root)],
    ):
        told = b'{"session_id": "s-1", "prompt": "A test of the checkout is flaky"}'
        done = forked.program(*words, stdin=told, environment={"SKILLVAULT_VAULT": str(tmp_path)})
        assert done.returncode == 0
        assert hides(done.stdout.decode() + done.stderr.decode()) == [], words


def test_one_function_prints() -> None:
    """Whatever else prints would print what hides; `ruff` refuses that as well."""
    printing = {"echo", "secho", "print"}
    places = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not any(f"{name}(" in text for name in printing):  # to parse all takes seconds
            continue
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="click" | "sys"), attr=name)):
                    places += [path.name] if name in printing else []
                case ast.Call(func=ast.Name(id="print")):
                    places.append(path.name)
    assert places == ["options.py", "options.py"]

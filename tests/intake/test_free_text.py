"""A token in every free text of every entry point: none of them reaches git.

What takes text is found in the program itself: the parameters of each command, the schema of each
tool, the fields of each record, the keys that a hook reads, the formats. What is new and has no
values here fails.
"""

import asyncio
import inspect
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from skillvault.api import Vault
from skillvault.cli import mcp_server
from skillvault.cli.commands import COMMANDS, HIDDEN, cli
from skillvault.cli.hook import vault_parts
from skillvault.clients import payload
from skillvault.clients.payload import EVENTS, parse_payload
from skillvault.exchange.formats import FORMATS
from skillvault.exchange.skills.formats import SKILL_FORMATS
from skillvault.model.records import Outcome, Recommendation, Session, Skill
from skillvault.page import decisions, server
from skillvault.sessions.hooks import HookClient, Hooks
from skillvault.sessions.transcripts import CLIENTS
from tests import forked
from tests.conftest import NOW, Person
from tests.given import as_file, ended, raw
from tests.intake.planting import Tokens, full_record, planted_in
from tests.judge.conftest import appoint
from tests.loop.test_answer import answered

SAMPLES = Path(__file__).parents[1] / "exchange/transcripts"
DOMAIN = "coding"
MARKER = "[redacted: GitHub Token]"


def furnish(vault: Vault) -> None:
    """Let a vault learn, and leave much to decide about."""
    appoint(vault, provider="agent")
    trusted = [raw(18, decision__target=f"part-{n}") for n in range(8)]
    untrusted = [raw(18, decision__target=f"web-{n}") for n in range(8)]
    for number, one in enumerate(untrusted):
        (vault.root / f"inbox/untrusted/{number}.json").write_bytes(as_file(one))
    vault.record([(f"{n}.json", as_file(one)) for n, one in enumerate(trusted)], now=NOW)
    vault.record([("s.json", as_file(ended("s-77")))], now=NOW)
    rules = enumerate(("we use uv here, never pip", "always write tests in pytest"))
    quotes = [(f"rule-{n}.json", as_file(corrected(n, rule))) for n, rule in rules]
    vault.record(quotes, now=NOW)
    vault.run(now=NOW, patience=10)


class World:
    """A vault that learned, with much to decide about, and a folder beside it."""

    def __init__(self, vault: Vault, folder: Path, times: int) -> None:
        self.vault = vault
        self.person = Person(vault.root)
        self.folder = folder
        self.tokens = Tokens(times)
        self.times = times
        self.outcomes = iter(o.id for o in list(vault.store.snapshot().outcomes.values()))
        self.live = iter(sorted(entry.name for entry in vault.skills()))
        self.proposed = iter(sorted(entry.name for entry in vault.skills("proposed")))
        self.stated = iter([correction.id for correction in vault.memory.waiting()])

    def file(self, name: str, text: str) -> str:
        """The path of a file beside the vault."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)

    def outcome_file(self, token: str) -> str:
        """A file with an outcome that says a token, and whose name does."""
        outcome = raw(9, decision__reasoning=f"I use {self.tokens.repeated(token)} because.")
        return self.file(f"outcome-{token}.json", json.dumps(outcome))

    def decision_file(self, token: str) -> str:
        """The same without a result."""
        decision = raw(9, decision__task=f"Log in with {self.tokens.repeated(token)}")
        del decision["result"]
        return self.file("decision.json", json.dumps(decision))

    def reply(self, token: str) -> tuple[str, str]:
        """(the key of a question, a reply to it that says a token)."""
        (question,) = self.vault.queue.next_questions(1, untrusted=True)
        said = f"The login {self.tokens.repeated(token)} fails in CI."
        return question.key, answered(question, said).text

    def replies(self, token: str) -> str:
        """A file with a reply a line."""
        key, text = self.reply(token)
        return self.file("all.jsonl", json.dumps({"key": key, "reply": json.loads(text)}) + "\n")

    def report(self, token: str, kind: str) -> str:
        """A test report in which a test fails and says a token."""
        if kind == "junit":
            return self.file(f"{token}.xml", JUNIT.format(token=self.tokens.repeated(token)))
        return self.file(f"{token}.json", json.dumps(ctrf(self.tokens.repeated(token))))

    def skill(self, token: str, place: str = "source") -> str:
        """A folder of skills, one of which says a token in its text, a script and its key."""
        page = f"---\nname: login\ndescription: Use to log in with {token}.\n---\n\n# Log in\n\n"
        self.file(f"{place}/login/SKILL.md", f"{page}1. Send {token}.\n")
        self.file(f"{place}/login/scripts/run.sh", f"#!/bin/sh\ncurl -H 'X: {token}' x.example\n")
        return str(self.folder / place)

    def code(self, token: str) -> str:
        """Three files of code that bear out a rule, beside a token."""
        for name in "abc":
            self.file(f"code/{name}.py", f"KEY = '{token}'; retry_limit(3)  # {token}\n")
        return str(self.folder / "code")

    def call(self, *words: str, stdin: str | None = None) -> Result:
        """Run a command on the vault."""
        args = ["--vault", str(self.vault.root), *words]
        return CliRunner().invoke(cli, args, input=stdin)

    def check(self, least: int) -> None:
        """Take in what waits: none of the tokens may be in git, and so many were planted."""
        self.vault.run(now=NOW, patience=10)
        assert self.tokens.leaks(self.vault.root) == {}
        assert len(self.tokens.planted) >= least
        folder = self.vault.root / ".git/skillvault"
        raw_files = [*folder.glob("clients/*"), *folder.glob("sessions/*")]
        assert {file.stat().st_mode & 0o077 for file in raw_files} <= {0}
        assert self.person.git("fsck", "--strict", "--no-dangling", "--no-progress") == ""

    def history(self) -> str:
        """Every message and every file that was committed, as text."""
        return self.person.git("log", "-p", "--all", "--format=%B")


@pytest.fixture(params=[1, 190], ids=["once", "cut"])
def world(
    request: pytest.FixtureRequest,
    prepared: Callable[[Callable[[Vault], object]], Vault],
    tmp_path: Path,
) -> World:
    """A vault in which every command finds something to do; its texts say a token so often."""
    return World(Vault(prepared(furnish).root), tmp_path / "beside", request.param)


def corrected(number: int, rule: str) -> dict[str, Any]:
    """A failure after which a person typed a rule."""
    result = {"status": "failure", "observed_by": "person", "next_words": f"no, {rule}"}
    return raw(18, decision__target=f"pay-{number}", result=result)


JUNIT = """<testsuite name="checkout {token}" timestamp="2026-11-19T07:00:00" time="3">
<testcase classname="tests.{token}" name="test_pay {token}" time="0.4"><failure
message="no {token}">E assert {token} == 200</failure><system-out>{token}</system-out></testcase>
</testsuite>"""


def ctrf(token: str) -> dict[str, Any]:
    """A report of one failure that says a token everywhere."""
    test = {"name": f"pays {token}", "status": "failed", "trace": f"E assert {token}"}
    return {
        "results": {
            "tool": {"name": f"jest {token}"},
            "summary": {"start": 1769395586000, "stop": 1769395587000},
            "tests": [{**test, "message": f"no {token}"}],
            "environment": {"appName": f"shop {token}", "buildName": f"b {token}"},
        }
    }


# ── the command line ─────────────────────────────────────────────────────────────────

Typed = Callable[[World, str], str]

# What a command needs beside the text that is looked at; a text is made when it is asked for.
NEEDED: dict[str, dict[str, Typed]] = {
    "answer": {},
    "close": {
        "decision": lambda *_: "d-close",
        "status": lambda *_: "failure",
        "domain": lambda *_: DOMAIN,
    },
    "export": {"to": lambda *_: "agents-md", "folder": lambda w, _: str(w.folder / "out")},
    "fact add": {"text": lambda *_: "The checkout closes at noon.", "domain": lambda *_: DOMAIN},
    "fact approve": {"ids": lambda w, _: next(w.stated)},
    "fact keep": {"ids": lambda w, _: w.vault.memory.facts()[0].id},
    "fact retire": {
        "ids": lambda w, _: w.vault.memory.facts()[-1].id, "reason": lambda *_: "It changed.",
    },
    "fact reject": {"ids": lambda w, _: next(w.stated), "reason": lambda *_: "It is no rule."},
    "hook": {"event": lambda *_: "SessionStart"},
    "import": {"format_name": lambda *_: "junit", "files": lambda w, _: w.report("x", "junit")},
    "install": {"source": lambda w, _: w.skill("nothing", "plain")},
    "learn": {"rule": lambda *_: "Call `retry_limit` before a request of the checkout."},
    "merge-driver": {
        name: lambda w, _: w.file("m.md", "---\nid: x\n---\n\nA fact.\n")
        for name in ("base", "ours", "theirs")
    } | {"path": lambda *_: "memory/coding/x.md"},
    "recommend": {"domain": lambda *_: DOMAIN, "decision": lambda *_: "d-recommend"},
    "retract": {"outcome": lambda w, _: next(w.outcomes), "reason": lambda *_: "It was wrong."},
    "search": {"text": lambda *_: "a flaky test"},
    "setup claude-code": {"project": lambda w, _: str(w.folder)},
    "setup codex": {"project": lambda w, _: str(w.folder)},
    "skill create": {"name": lambda *_: "of-our-own"},
    "skill diff": {"name": lambda w, _: next(w.live)},
    "skill reject": {"names": lambda w, _: next(w.proposed)},
    "undo": {"target": lambda w, _: next(w.live)},
    "stats": {"decision": lambda *_: "d-close"},
}  # fmt: skip
# How a token is typed where it does not stand alone.
SAID: dict[str, Typed] = {
    "answer file": lambda w, token: w.file("reply.json", token),
    "answer replies_file": lambda w, token: w.replies(token),
    "close junit": lambda w, token: w.report(token, "junit"),
    "close ctrf": lambda w, token: w.report(token, "ctrf"),
    "distill session": lambda w, token: w.file(
        "session.json", json.dumps(ended(f"s-{token}", agent=f"a {w.tokens.repeated(token)}"))
    ),
    "fact add text": lambda w, token: f"The login of CI is {w.tokens.repeated(token)} today.",
    "import files": lambda w, token: w.report(token, "junit"),
    "install source": lambda w, token: w.skill(token, f"source-{token}"),
    "judge file": lambda w, token: w.decision_file(token),
    "learn rule": lambda w, token: f"Send `{w.tokens.repeated(token)}` before each request.",
    "merge-driver base": lambda w, token: w.file("base.md", token),
    "merge-driver ours": lambda w, token: w.file("ours.md", token),
    "merge-driver theirs": lambda w, token: w.file("theirs.md", token),
    "recommend pairs": lambda w, token: f"note={w.tokens.repeated(token)}",
    "recommend words": lambda w, token: f"Log in with {w.tokens.repeated(token)}",
    "recommend task": lambda w, token: f"Log in with {w.tokens.repeated(token)}",
    "record file": lambda w, token: w.outcome_file(token),
    "report output": lambda w, token: str(w.folder / f"{token}.html"),
    "run code": lambda w, token: w.code(token),
    "stats plot": lambda w, token: str(w.folder / f"{token}.svg"),
    "export folder": lambda w, token: str(w.folder / token),
    "hook links": lambda w, token: str(w.folder / token),
    "init path": lambda w, token: str(w.folder / token),
    **{
        f"setup {client} project": lambda w, token: str(
            Path(w.file(f"{token}/README", token)).parent
        )
        for client in ("claude-code", "codex")
    },
    "close command": lambda w, token: f"echo Sent {w.tokens.repeated(token)}",
}
# In place of what a command needs otherwise.
_FAILURE: dict[str, Typed] = {
    "failed": lambda *_: "I raised the timeout.", "because": lambda *_: "It failed again.",
    "domain": lambda *_: DOMAIN,
}  # fmt: skip
INSTEAD: dict[str, dict[str, Typed]] = {
    **{f"record {name}": _FAILURE for name in ("failed", "because", "worked")},
    "skill reject source": {"names": lambda *_: ""},
    "close junit": {"status": lambda *_: ""},
    "close ctrf": {"status": lambda *_: ""},
    "close command": {"status": lambda *_: "", "runs": lambda *_: "yes"},
}
# The words of a person or an agent: they are taken whatever they say.
TAKEN = """
answer replies_file, answer session, close agent, close command, close ctrf, close decision, close
evidence, close junit, close lesson, distill session, fact add text, fact approve text, fact keep
text, fact reject reason, fact retire reason, import decision, import files, install source, judge
file, learn rule, recommend action, recommend agent, recommend decision, recommend pairs, recommend
role, recommend stage, recommend task, recommend words, record because, record failed, record file,
record worked, retract reason, run code, search text, skill create description, skill reject
reason, undo reason
"""
# Names of what there is, ids, times and places: a token is none, and most are refused.
LOOKED_UP = """
answer file, answer key, answer now, answer vault_path, ask drop, ask session, check against, clone
path, clone url, close domain, distill domain, export domain, export folder, fact add domain, fact
add review_by, fact add supersedes, fact approve ids, fact keep ids, fact keep review_by, fact list
domain, fact reject ids, fact retire ids, fact show ref, record domain, skill create domain, skill
create name, skill rename new, skill rename old, try folder, hook domain, hook links, impact ref,
import domain, init domains, init path, install names, install registry, learn domain, learn scope,
log domain, log since, log skill, log step, merge-driver base, merge-driver ours, merge-driver path,
merge-driver theirs, quarantine drop names, quarantine retry names, recommend at, recommend domain,
recommend pins, report domain, report output, retract outcome, search domain, setup claude-code
domain, setup claude-code project, setup codex domain, setup codex project, skill approve names,
skill approve source, skill diff name, skill diff revision, skill list role, skill list stage, skill
list tags, skill pin names, skill reject names, skill reject source, skill restore names, skill
retire names, skill show name, stats agent, stats decision, stats domain, stats plot, stats skill,
undo target, why ref, why-not ref
"""
_EVERYWHERE = ("vault_path", "now", "at", "since")  # options of many commands, planted once


def entries(text: str) -> set[str]:
    """The entry points of a list."""
    return {" ".join(entry.split()) for entry in text.split(",")}


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command that is called, by what is typed."""
    for name in sorted({*COMMANDS, *HIDDEN}):
        yield from _below(name, cli.get_command(click.Context(cli), name))


def _below(name: str, command: click.Command | None) -> Iterator[tuple[str, click.Command]]:
    assert command is not None
    if isinstance(command, click.Group):
        for word, below in sorted(command.commands.items()):
            yield from _below(f"{name} {word}", below)
    else:
        yield name, command


def takes_text(param: click.Parameter) -> bool:
    """Return True if a parameter takes any text."""
    texts = click.types.StringParamType | click.Path | click.types.UnprocessedParamType
    return isinstance(param.type, texts) and not getattr(param, "is_flag", False)


def typed(world: World, name: str, command: click.Command, tested: str, token: str) -> list[str]:
    """The words of a command with a token in one of its texts."""
    entry = f"{name} {tested}"
    needed = NEEDED.get(name, {}) | INSTEAD.get(entry, {})
    said = world.tokens.repeated(token) if entry in entries(TAKEN) else token
    needed |= {tested: SAID.get(entry, lambda *_: said)}
    if entry == "answer session":
        key, reply = world.reply("nothing")
        needed |= {"key": lambda *_: key, "file": lambda w, _: w.file("r.json", reply)}
    options, arguments = list[str](), list[str]()
    for param in command.params:
        made = needed.get(param.name or "")
        text = made(world, token) if made else ""
        if isinstance(param, click.Option):
            flag = bool(getattr(param, "is_flag", False))
            options += [param.opts[-1], *([] if flag else [text])] if text else []
        elif text:
            arguments += ["sh", "-c", text] if param.name == "command" else [text]
    return [*name.split(), *options, "--", *arguments] if arguments else [*name.split(), *options]


def test_no_text_that_is_typed_reaches_git(world: World) -> None:
    taken, planted, refused = list[str](), set[str](), dict[str, str]()
    world.call("learn", "Call `retry_limit` before a request of the checkout.")
    for name, command in commands():
        for param in filter(takes_text, command.params):
            tested = param.name or ""
            if tested in _EVERYWHERE and tested in planted:
                continue
            planted.add(tested)
            token = world.tokens.make(f"{name} {tested}")
            if name == "hook":  # which starts a run beside us if anything waits
                world.vault.run(now=NOW, patience=10)
            words = typed(world, name, command, tested, token)
            result = world.call(*words, stdin=json.dumps({"session_id": token}))
            unforeseen = not isinstance(result.exception, SystemExit | click.ClickException)
            if result.exception and unforeseen and not hasattr(result.exception, "exit_code"):
                raise result.exception
            if result.exit_code == 0:
                taken.append(f"{name} {tested}")
            else:
                refused[f"{name} {tested}"] = result.output
    world.check(least=80)
    assert set(world.tokens.planted) == entries(TAKEN) | entries(LOOKED_UP)
    if world.times > 1:
        return  # too long for a rule or a name
    assert {entry: refused[entry] for entry in entries(TAKEN) - {*taken}} == {}
    history = world.history()
    for said in ("Log in with", "The login of CI is", "Sent"):
        assert f"{said} {MARKER}" in history


# ── agents' tools ────────────────────────────────────────────────────────────────────

TOOL_TEXTS: dict[str, dict[str, Any]] = {
    "recommend": {"domain": DOMAIN, "task": "Fix it", "decision": "d-tool"},
    "search": {"text": "flaky"},
    "record": {"outcome": {}},
    "close": {"decision": "d-1", "status": "failure", "domain": DOMAIN},
    "answer": {"key": "verdict-x", "reply": {}},
    "learn": {"rule": "Call `x` first, before all else."},
}


# What an agent says, and what it names of what there is.
TOLD = """
answer reply, answer session, close lesson, learn rule, recommend agent, recommend decision,
recommend task, record outcome
"""
ASKED_FOR = """
answer key, approve name, close decision, close domain, close evidence, get name, next_question
session, recommend domain, reject name, search domain, search text, why ref
"""


def _texts_of(schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, type) of each argument of a tool that takes text, or an object of any."""
    for name, argument in schema["properties"].items():
        kinds = argument.get("anyOf", [argument])
        for kind in kinds:
            if kind.get("type") in ("string", "object") and "enum" not in kind:
                yield name, kind["type"]


def test_no_text_that_a_tool_is_given_reaches_git(world: World) -> None:
    served = mcp_server.server_of(world.vault, may_review=True)
    tools = asyncio.run(served.list_tools())
    make = world.tokens.say
    taken = set[str]()
    # What is closed is of today: questions about older decisions are not asked after it.
    for tool in sorted(tools, key=lambda tool: tool.name != "answer"):
        for name, kind in _texts_of(tool.input_schema):
            entry = f"{tool.name} {name}"
            value: Any = make(entry)
            given = dict(TOOL_TEXTS.get(tool.name, {}))
            if entry == "record outcome":
                value = full_record(Outcome, f"{entry}: outcome", make, _given(entry))
            elif tool.name == "answer":
                key, text = world.reply(value)
                given |= {"key": key, "reply": json.loads(text)}
                value = given["reply"] if name == "reply" else value
            elif kind == "object":
                raise AssertionError(f"{entry}: an object whose texts nobody plants here")
            answer: Any = asyncio.run(served.call_tool(tool.name, given | {name: value}))
            if not answer.is_error:
                taken.add(entry)
    planted = {entry for entry in world.tokens.planted if ":" not in entry}
    assert planted == entries(TOLD) | entries(ASKED_FOR)
    assert world.times > 1 or entries(TOLD) - taken == set()
    world.check(least=40)


# ── hooks ────────────────────────────────────────────────────────────────────────────

_KEYS = re.compile(r'(?:raw, |raw\.get\(|response\.get\(|response, )"(\w+)"')
_NO_TEXT = {"stop_hook_active", "interrupted", "exit_code", "exitCode"}


def _events(w: World) -> Iterator[tuple[str, dict[str, Any]]]:
    """A session in which every text that a hook reads has a token."""

    def token(event: str, key: str) -> str:
        return f"hook {w.tokens.say(f'{event} {key}')}"

    cwd = Path(w.file(f"{w.tokens.make('cwd')}/shop/README", "")).parent
    transcript = w.file(f"{w.tokens.make('transcript_path')}.jsonl", "")
    session, turn = token("all", "session_id"), token("all", "turn_id")
    told = {"session_id": session, "turn_id": turn, "cwd": str(cwd)}
    told |= {"transcript_path": transcript, "prompt_id": token("all", "prompt_id")}
    yield "SessionStart", {**told, "source": token("SessionStart", "source")}
    yield "UserPromptSubmit", {**told, "prompt": token("UserPromptSubmit", "prompt")}
    for tool in ("Bash", "Edit", token("PostToolUse", "tool_name")):
        texts = ("stdout", "stderr", "output", "content", "text", "backgroundTaskId")
        response: dict[str, Any] = {key: token(f"PostToolUse {tool}", key) for key in texts}
        if tool == "Bash":
            response |= {"exit_code": 1, "backgroundTaskId": ""}
        arguments = {
            key: token(f"PostToolUse {tool}", key)
            for key in ("command", "cmd", "file_path", "path", "skill", "args")
        }
        call = {"tool_name": tool, "tool_use_id": token(f"PostToolUse {tool}", "tool_use_id")}
        yield "PostToolUse", {**told, **call, "tool_input": arguments, "tool_response": response}
    failed = {"tool_name": "Bash", "tool_use_id": "t-9", "tool_input": {"command": "pytest -q"}}
    error = f"Exit code 1\n{token('PostToolUseFailure', 'error')}"
    yield "PostToolUseFailure", {**told, **failed, "error": error}
    words = token("Stop", "last_assistant_message")
    reply = {"status": "failure", "lesson": {key: token("Stop", key) for key in LESSON}}
    yield "Stop", {**told, "last_assistant_message": f"All done. {words}"}
    yield "Stop", {**told, "last_assistant_message": json.dumps(reply), "stop_hook_active": True}
    yield "UserPromptSubmit", {**told, "prompt": f"no, that fails {token('next', 'prompt')}"}
    yield "SessionEnd", told


LESSON = ("when", "do", "because", "evidence")


def test_no_text_that_a_hook_is_told_reaches_git(world: World) -> None:
    world.person.rule("hook:\n  insist: true")
    events = list(_events(world))
    planted = {key for _, told in events for key in told}
    planted |= {key for _, told in events for key in told.get("tool_response", ())}
    planted |= {*_KEYS.findall(inspect.getsource(payload))} & {"tool_input", "tool_response"}
    read = {*_KEYS.findall(inspect.getsource(payload)), *payload._OUTPUTS}
    assert read - planted - _NO_TEXT == set()
    assert {event for event, _ in events} == set(EVENTS)
    hooks = Hooks(vault_parts(world.vault), HookClient(name="claude-code", domain=DOMAIN), NOW)
    for event, told in events:
        said = parse_payload(json.dumps(told).encode())
        assert said is not None
        hooks.react(event, said)
    assert world.vault.inbox.names()
    world.check(least=35)
    sessions = world.vault.root / ".git/skillvault/sessions"
    assert not [*sessions.glob("*.jsonl"), *sessions.glob("calls/*")]
    assert MARKER in world.history()


def test_what_goes_wrong_in_a_hook_is_logged_without_secrets(world: World) -> None:
    token = world.tokens.make("hook log")
    forked.program("hook", token, "--vault", str(world.vault.root), stdin=b"{}")
    log = (world.vault.root / ".git/skillvault/hook.log").read_text(encoding="utf-8")
    assert MARKER in log
    world.check(least=1)


# ── files and formats ────────────────────────────────────────────────────────────────


def _given(entry: str, number: int = 0) -> dict[str, Any]:
    """Return the fields of a record that are no free text, with a day of its own."""
    at = f"2026-11-1{number}T09:00:00Z"
    whole = {
        "outcome": {"id": None, "received": None, "event_id": f"e-{number}", "occurred_at": at},
        "recommendation": {"id": None, "received": None, "at": at},
        "session": {"received": None, "ended_at": at, "name": None, "id": f"s-{number}"},
    }
    kind = entry.rpartition(" ")[2]
    return {f"{entry}: {kind}.{key}": value for key, value in whole[kind].items()} | {
        f"{entry}: {kind}.domain": DOMAIN,
        f"{entry}: {kind}.result.status": "failure",
    }


RECORDS: dict[str, type[Any]] = {
    "outcome": Outcome,
    "recommendation": Recommendation,
    "session": Session,
}


def test_no_text_of_a_record_reaches_git(world: World) -> None:
    for number, (kind, record) in enumerate(RECORDS.items()):
        for door in ("", "untrusted/"):
            entry = f"{door}{kind}"
            given = {**_given(f"inbox {door} {kind}", number), "type": kind}
            value = full_record(record, f"inbox {door} {kind}: {kind}", world.tokens.say, given)
            whole = {k: v for k, v in value.items() if v is not None} | {"type": kind}
            name = world.tokens.make(f"{entry} file name")
            (world.vault.root / f"inbox/{door}{name}.json").write_bytes(as_file(whole))
    report = world.vault.run(now=NOW, patience=10)
    assert [refused.message for refused in report.quarantined] == []
    world.check(least=80)


SKILL = "---\nname: login\ndescription: Use with {token}.\n{more}---\n\n# Log in\n\n{token}\n"
# Format -> the files of a sample with a token in it.
FILES: dict[str, Callable[[str], dict[str, str]]] = {
    "junit": lambda token: {"report.xml": JUNIT.format(token=token)},
    "ctrf": lambda token: {"report.json": json.dumps(ctrf(token))},
    "jsonl": lambda token: {"lines.jsonl": json.dumps(raw(7, decision__task=f"use {token}"))},
    "freqtrade": lambda token: {"backtest.json": json.dumps(_backtest(token))},
    "harbor": lambda token: {"trial/result.json": json.dumps(_trial(token))},
    "claude-code transcript": lambda token: {"a.jsonl": _transcript("claude_code", token)},
    "codex transcript": lambda token: {"b.jsonl": _transcript("codex", token)},
    "claudefi": lambda token: {
        "warning-perps-1767917147919.md": f"# Warning: {token}\n\nNever use {token}.\n"
    },
    "eurekaclaw": lambda token: {
        "login/SKILL.md": SKILL.format(token=token, more="agent_roles: [theory]\n")
    },
    "openclaw": lambda token: {
        "login/SKILL.md": SKILL.format(token=token, more='metadata: {"openclaw": {"emoji": "x"}}\n')
    },
    "claude-code": lambda token: {
        ".claude/skills/login/SKILL.md": SKILL.format(token=token, more="")
    },
    "agent-skills": lambda token: {
        "login/SKILL.md": SKILL.format(token=token, more=""),
        "login/scripts/run.sh": f"#!/bin/sh\ncurl -H 'X: {token}' x.example\n",
    },
    "agents-md": lambda token: {"CLAUDE.md": f"# Shop\n\n## Testing\n\nLog in with {token}.\n"},
    "documents": lambda token: {
        "CONTRIBUTING.md": f"# Shop\n\n## Tests\n\n- Always log in with {token}.\n"
    },
}


def _backtest(token: str) -> dict[str, Any]:
    trade = {
        "pair": f"SOL/{token}", "open_date": "2026-01-10 07:15:00+00:00",
        "close_date": "2026-01-10 09:15:00+00:00", "open_rate": 200.0, "close_rate": 180.0,
        "profit_ratio": -0.1, "profit_abs": -10.0, "stake_amount": 100.0, "trade_duration": 120,
        "exit_reason": f"stop {token}", "enter_tag": f"tag {token}", "is_short": False,
        "is_open": False,
    }  # fmt: skip
    settings = {"stake_currency": "USDT", "timeframe": f"5m {token}"}
    return {"strategy": {f"Trend {token}": {"trades": [trade], **settings}}}


def _trial(token: str) -> dict[str, Any]:
    agent = {"name": f"coder {token}", "model_name": f"m-1 {token}"}
    return {
        "id": f"t-1 {token}",
        "task_name": f"fix-bug {token}",
        "config": {"job_id": f"job {token}", "agent": agent},
        "verifier_result": {"rewards": {"reward": 0.0}},
        "exception_info": {"exception_type": "X", "exception_message": f"no {token}"},
        "started_at": "2026-01-26T02:00:00",
        "finished_at": "2026-01-26T03:00:00",
    }


_SAID_IN = frozenset(
    "content text command output description gitBranch new_string branch message cmd".split()
)


def _transcript(client: str, token: str) -> str:
    lines = (SAMPLES / f"{client}.jsonl").read_text(encoding="utf-8").splitlines()
    events = (json.loads(line) for line in lines if line.endswith("}"))
    told = [planted_in(event, lambda _: token, "", _SAID_IN) for event in events]
    return "".join(f"{json.dumps(line)}\n" for line in told)


def _formats() -> dict[str, tuple[str, ...]]:
    """Each format that is imported, and how the command is told which it is."""
    outcomes: dict[str, tuple[str, ...]] = {name: (name,) for name in FORMATS}
    outcomes |= {f"{name} transcript": (name, "--domain", DOMAIN) for name in CLIENTS}
    readable = [name for name, one in SKILL_FORMATS.items() if one.read]  # `learn` reads documents
    return outcomes | {name: ("skills", "--from", name) for name in readable}


def test_no_text_of_a_file_that_is_imported_reaches_git(world: World) -> None:
    formats = _formats()
    assert formats.keys() == FILES.keys()
    for number, (name, words) in enumerate(sorted(formats.items())):
        said = world.tokens.say(f"import {name}")
        places = [Path(world.file(f"{number}/{p}", t)) for p, t in FILES[name](said).items()]
        source = world.folder / str(number)
        place = source if words[0] == "skills" or name == "harbor" else places[0]
        options = ["--domain", DOMAIN] if words == ("jsonl",) else []
        command = ("learn",) if name == "documents" else ("import", *words, *options)
        dated = ["--now", "2026-11-20T12:00:00Z"] if command[0] == "import" else []
        result = world.call(*command, str(place), *dated)
        assert result.exit_code == 0, (name, result.output)
    world.check(least=len(formats))
    history = world.history()
    assert f"Use with {MARKER}" in history
    assert f"Log in with {MARKER}" in history


def test_no_text_that_python_is_given_reaches_git(world: World) -> None:
    vault, make = world.vault, world.tokens.say
    skill = Skill(name="mine", description=f"Use it with {world.tokens.make('description')}.")
    vault.curate.put(Skill(**{**_fields(skill), "body": f"# Mine\n\nSend {make('put body')}."}))
    with vault.decision(DOMAIN, f"log in with {make('decision task')}") as decision:
        decision.succeed(f"logged in with {make('decision summary')}")
    world.check(least=4)


def _fields(skill: Skill) -> dict[str, Any]:
    return {name: getattr(skill, name) for name in skill.__struct_fields__}


def test_the_page_takes_text_for_decisions_alone() -> None:
    methods = re.findall(r"def do_(\w+)", inspect.getsource(server))
    assert methods == ["GET", "HEAD", "POST"]
    calls = re.findall(r"\b(?:memory|curate)\.(\w+)", inspect.getsource(decisions))
    assert {*calls} == {"approve", "reject", "put"}

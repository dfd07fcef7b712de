"""`skillvault mcp` by the SDK's own client, in this process or as a client starts it."""

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import IO, Any, TypeVar

import pytest
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.server import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolResult,
    Request,
    RequestParams,
    Result,
    TextContent,
    TextResourceContents,
)
from pydantic import ConfigDict

from skillvault.api import Vault
from skillvault.cli.mcp_server import server_of
from tests.conftest import NOW, Person
from tests.given import as_file, raw
from tests.thorough import pairs

_Value = TypeVar("_Value")
TASK = "Fix the flaky test of the checkout"
TOOLS = [
    "answer", "close", "get", "learn", "next_question", "recommend", "record", "search",
    "status", "why",
]  # fmt: skip


def ask(
    vault: Vault, talk: Callable[[Client], Awaitable[_Value]], *, may_review: bool = False
) -> _Value:
    """Talk with the vault's server in this process, and return the result of the talk."""
    return _talk_with(server_of(Vault(vault.root), may_review=may_review), talk)


def ask_program(vault: Vault, talk: Callable[[Client], Awaitable[_Value]], *words: str) -> _Value:
    """Talk with a server process over stdin and stdout, and return the result of the talk."""
    command = ["-m", "skillvault", "--vault", str(vault.root), "mcp", *words]
    # What the server inherits otherwise is no home of a test's.
    server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
    return _talk_with(server, talk)


def _talk_with(
    server: MCPServer[Any] | StdioServerParameters, talk: Callable[[Client], Awaitable[_Value]]
) -> _Value:
    async def connected() -> _Value:
        async with Client(server, read_timeout_seconds=60) as client:
            return await talk(client)

    return asyncio.run(connected())


@pytest.fixture
def learned(prepared: Callable[[Callable[[Vault], object]], Vault]) -> Vault:
    """A vault with a warning about flaky tests, and one that waits."""
    return prepared(_learn)


def _learn(vault: Vault) -> None:
    vault.record([("a.json", as_file(raw()))], now=NOW)
    vault.run(now=NOW)
    (vault.root / "inbox/untrusted/b.json").write_bytes(as_file(raw(1, decision__target="web")))
    vault.run(now=NOW, patience=10)


def value_of(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, result.content
    value = result.structured_content
    assert isinstance(value, dict)
    return value


def test_the_tools_are_few_annotated_and_have_output_schemas(learned: Vault) -> None:
    async def talk(client: Client) -> list[Any]:
        return (await client.list_tools()).tools

    tools = ask(learned, talk)
    assert sorted(tool.name for tool in tools) == TOOLS
    assert all(tool.output_schema and tool.description for tool in tools)
    reads = {tool.name for tool in tools if tool.annotations.read_only_hint}
    assert reads == {"get", "next_question", "search", "status", "why"}
    reviewing = {tool.name for tool in ask(learned, talk, may_review=True)}
    assert reviewing - set(TOOLS) == {"approve", "reject"}


def test_a_task_from_its_skills_to_its_end(learned: Vault) -> None:
    outcome = raw(2, decision__id="d-1", result={"status": "success"}, occurred_at=NOW.isoformat())

    async def talk(client: Client) -> list[dict[str, Any]]:
        told = await client.call_tool(
            "recommend",
            {"domain": "coding", "task": TASK, "decision": "d-1", "agent": "coder-1"},
        )
        (skill, *_) = value_of(told)["skills"]
        outcome["applied"] = [skill["handle"]]
        calls: list[tuple[str, dict[str, Any]]] = [
            ("record", {"outcome": outcome}),
            ("close", {"decision": "d-1", "status": "failure", "observed_by": "ci"}),
            ("learn", {"rule": "Wait for the event with `wait_for`, never with a sleep."}),
            ("search", {"text": "flaky"}),
            ("get", {"name": skill["name"]}),
            ("why", {"ref": skill["name"]}),
            ("status", {}),
        ]
        return [value_of(told)] + [value_of(await client.call_tool(*call)) for call in calls]

    told, recorded, closed, noted, hits, skill, why, status = ask_program(learned, talk)
    assert skill["name"] in told["prompt"]
    assert len(recorded["recorded"]) == len(closed["recorded"]) == 1
    assert noted["rule"].startswith("Wait for the event")
    assert skill["name"] in {hit["id"] for hit in hits["results"]}
    assert skill["text"].startswith("# Guide")
    assert why["answer"]["ref"]["id"] == skill["name"]
    assert status["answer"]["outcomes"] == 4
    learned.run(now=NOW)
    stats = learned.stats(decision="d-1", agent="coder-1")
    assert (stats["outcome"], stats["observed_by"]) == ("failure", "agent")
    assert [row["applied"] for row in stats["skills"]] == [True]


def test_nothing_is_held_out_where_the_client_lists_the_skills_itself(learned: Vault) -> None:
    held_out = next(
        f"d-{number}"
        for number in range(200)
        if not learned.recommend("coding", TASK, decision=f"d-{number}").recommended
    )

    async def talk(client: Client) -> int:
        told = await client.call_tool(
            "recommend", {"domain": "coding", "task": TASK, "decision": held_out}
        )
        return len(value_of(told)["skills"])

    assert (ask(learned, talk), ask_program(learned, talk, "--no-holdout")) == (0, 1)


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "exit_code"),
    [
        ("record", {"outcome": {"domain": "No Slug"}}, "", 1),
        ("get", {"name": "nothing"}, "usage", 2),
        ("recommend", {"domain": "No Slug", "task": "x"}, "usage", 2),
        ("next_question", {}, "usage", 2),
    ],
)
def test_a_refusal_says_its_code_and_the_next_step(
    learned: Vault, tool: str, arguments: dict[str, Any], code: str, exit_code: int
) -> None:
    async def talk(client: Client) -> CallToolResult:
        return await client.call_tool(tool, arguments)

    result = ask(learned, talk)
    assert result.is_error
    assert result.structured_content is not None
    error = result.structured_content["error"]
    assert error["exit_code"] == exit_code
    assert code in error["code"]
    assert result.content == [TextContent(type="text", text=error["message"])]


def test_a_skill_that_nobody_approved_is_named_and_not_served(
    learned: Vault, person: Person
) -> None:
    (live,), (waiting,) = learned.skills(), learned.store.snapshot().skills.proposed
    (person.root / "archive").mkdir()
    for number, folder in enumerate(("skills", "archive")):
        text = "---\nname: a\ndescription: d\nmetadata: {status: retired}\n---\nZebra.\n"
        person.write(f"{folder}/a-{number}/SKILL.md", text.replace("name: a", f"name: a-{number}"))
    person.git("add", "skills", "archive")
    person.git("commit", "-qm", "more")
    states = {waiting: "proposed, made of untrusted sources", "a-0": "retired", "a-1": "archived"}
    places = {
        f"proposed/{waiting}/SKILL.md": states[waiting],
        waiting[:-1]: states[waiting],
        waiting.replace("-", "_"): states[waiting],
        "archive/a-1": "archived",
    }

    async def talk(client: Client) -> tuple[list[str], dict[str, CallToolResult]]:
        calls = (live.name, f"skills/{live.name}/SKILL.md", "reading-a-lift")
        served = [value_of(await client.call_tool("get", {"name": name})) for name in calls]
        others = {
            name: await client.call_tool("get", {"name": name}) for name in {**states, **places}
        }
        return [skill["name"] for skill in served], others

    served, refused = ask(learned, talk)
    assert served == [live.name, live.name, "reading-a-lift"]
    for name, state in {**states, **places}.items():
        assert refused[name].is_error
        told = str(refused[name].content)
        assert f"is {state}, so agents cannot read it" in told
        assert "`skillvault skill show " in told
        assert "Zebra" not in told


def test_eight_calls_at_once_are_all_answered(learned: Vault) -> None:
    async def talk(client: Client) -> list[CallToolResult]:
        outcomes = [raw(2, decision__target=f"t-{number}") for number in range(4)]
        calls = [client.call_tool("record", {"outcome": outcome}) for outcome in outcomes]
        asks = [client.call_tool("search", {"text": "flaky"}) for _ in range(4)]
        return list(await asyncio.gather(*calls, *asks))

    results = [value_of(result) for result in ask(learned, talk)]
    assert len({ids for result in results[:4] for ids in result["recorded"]}) == 4
    assert len(learned.store.snapshot().outcomes) == 6


def test_an_agent_judges_by_the_tools(vault: Vault, person: Person) -> None:
    person.rule("judge: {provider: agent}")
    vault.record([("a.json", as_file(raw()))])
    vault.run()

    async def talk(client: Client) -> tuple[dict[str, Any], CallToolResult]:
        question = value_of(await client.call_tool("next_question", {"session": "s-9"}))["question"]
        wrong = {"key": question["key"], "reply": {"no": "shape"}}
        return question, await client.call_tool("answer", wrong)

    question, refused = ask(vault, talk)
    assert question["schema"]
    assert refused.is_error
    assert refused.structured_content is not None
    assert refused.structured_content["error"]["code"] == "bad-answer"


def test_a_person_may_let_review_be_done(learned: Vault) -> None:
    (name,) = learned.store.snapshot().skills.proposed

    async def talk(client: Client) -> list[dict[str, Any]]:
        calls = [("approve", {"name": name}), ("reject", {"name": name})]
        return [value_of(await client.call_tool(*call)) for call in calls]

    approved, rejected = ask_program(learned, talk, "--allow-review")
    assert name in approved["commits"][0]
    assert name in rejected["commits"][0]
    assert name in learned.store.snapshot().skills.archived


# ── what is no message, no call, no name ─────────────────────────────────────────────

PING = '"jsonrpc": "2.0", "method": "ping"'
STRANGE: dict[str, Any] = {
    "nul": "a\0b",
    "escape": "a\x1b[2Jb",
    "bidi": "a\u202eb",
    "tag": "a\U000e0041b",
    "half a pair": "a\ud800b",
    "long": "x" * 300_000,
    "above": "../../etc/passwd",
    "nothing": "",
    "number": 7,
    "huge": 10**400,
    "list": ["a"],
    "null": None,
    "nested": {"a": {"b": 1}},
}


MALFORMED: list[tuple[str, int, object]] = [
    ("not json", -32700, None),
    ('{"jsonrpc": "2.0", "id": 1, "method', -32700, None),
    (f'{{{PING}, "id": 1}} more', -32700, None),
    (f'{{{PING}, "id": 4, "params": {{"a": "\\ud800"}}}}', -32700, 4),
    ("[" * 50_000, -32700, None),
    ("\udcff\udcfe", -32700, None),
    ("[]", -32600, None),
    ("42", -32600, None),
    ("null", -32600, None),
    (f'[{{{PING}, "id": 1}}]', -32600, None),
    ('{"id": 5, "method": "ping"}', -32600, 5),
    ('{"jsonrpc": "1.0", "id": "a", "method": "ping"}', -32600, "a"),
    ('{"jsonrpc": "2.0", "id": 6, "method": 7}', -32600, 6),
    (f'{{{PING}, "id": 7, "params": [1]}}', -32600, 7),
    (f'{{{PING}, "id": {{}}}}', -32600, None),
    (f'{{{PING}, "id": null}}', -32600, None),
]


def raw_answers(vault: Vault, lines: list[str], count: int, *words: str) -> list[dict[str, Any]]:
    """Return the first answers of a server to these lines; the server has no other trouble."""
    who = {"name": "raw", "version": "1"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who}
    opening = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    talk = "\n".join([json.dumps(opening), json.dumps(ready), *lines, ""])
    command = [sys.executable, "-m", "skillvault", "--vault", str(vault.root), "mcp", *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        told = talk.encode(errors="surrogateescape")
        # No pipe holds all: what is told and what is answered go on beside each other.
        teller = threading.Thread(target=_write_all, args=(server.stdin, told))
        teller.start()
        answers = [json.loads(server.stdout.readline()) for _ in range(count + 1)]
        teller.join()
        rest, trouble = server.communicate(timeout=30)
    assert (rest, trouble) == (b"", b"")
    assert answers[0]["id"] == 0
    return answers[1:]


def _write_all(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(data)
    pipe.flush()


def test_a_line_that_is_no_message_gets_an_error_and_the_next_is_answered(vault: Vault) -> None:
    lines = [line for malformed, _, _ in MALFORMED for line in (malformed, "")]
    *refused, answered = raw_answers(vault, [*lines, f'{{{PING}, "id": 99}}'], len(MALFORMED) + 1)
    told = [(answer["error"]["code"], answer["id"]) for answer in refused]
    assert told == [(code, name) for _, code, name in MALFORMED]
    assert answered == {"jsonrpc": "2.0", "id": 99, "result": {}}


def test_no_argument_of_a_tool_is_a_traceback(learned: Vault) -> None:
    calls: dict[str, dict[str, Any]] = {
        "recommend": {"domain": "coding", "task": TASK, "decision": "d-9", "agent": "a"},
        "search": {"text": "flaky", "kind": "skill", "domain": "coding", "k": 5},
        "get": {"name": "a"},
        "record": {"outcome": raw()},
        "close": {"decision": "d", "status": "success", "evidence": "e", "domain": "coding"},
        "learn": {"rule": "Wait for `it`."},
        "why": {"ref": "a"},
        "next_question": {"session": "s"},
        "answer": {"key": "k", "reply": {"a": 1}, "session": "s"},
        "approve": {"name": "a"},
        "reject": {"name": "a"},
    }
    lines: list[str] = []
    values = list(STRANGE.values())
    slots = [(tool, key) for tool, arguments in calls.items() for key in arguments]
    for (tool, key), value in pairs(slots, values):
        params = {"name": tool, "arguments": {**calls[tool], key: value}}
        call = {"jsonrpc": "2.0", "id": len(lines) + 1, "method": "tools/call"}
        lines.append(json.dumps({**call, "params": params}))
    methods = [("resources/read", "uri"), ("skills/get", "uri"), ("skills/list", "cursor")]
    for (method, key), value in pairs(methods, values):
        params = {key: f"skill://{value}" if isinstance(value, str) else value}
        call = {"jsonrpc": "2.0", "id": len(lines) + 1, "method": method, "params": params}
        lines.append(json.dumps(call))
    answers = raw_answers(learned, lines, len(lines), "--allow-review")
    assert sorted(answer["id"] for answer in answers) == list(range(1, len(lines) + 1))
    for answer in answers:
        result = answer.get("result", {})
        assert answer.get("error", {}).get("code") in (None, -32700, -32602), answer
        if result.get("isError"):
            error = result["structuredContent"]["error"]
            assert set(error) == {"code", "message", "key", "exit_code"}
            assert len(error["message"]) <= 2000


# ── skills ───────────────────────────────────────────────────────────────────────────


class _Answer(Result):
    """Whatever the server says."""

    model_config = ConfigDict(extra="allow")


class _Params(RequestParams):
    """Whatever the server is told."""

    model_config = ConfigDict(extra="allow")


async def _call(client: Client, method: str, params: dict[str, Any]) -> dict[str, Any]:
    request = Request[_Params, str](method=method, params=_Params(**params))
    answer = await client.session.send_request(request, _Answer)
    plain: dict[str, Any] = answer.model_dump(by_alias=True, mode="json")
    return plain


async def _text_at(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


def test_live_skills_are_listed_with_the_digest_of_every_file_and_none_other(
    learned: Vault, person: Person
) -> None:
    (live,) = learned.skills()
    person.write(f"skills/{live.name}/references/more info.md", "# More\n")
    person.git("add", "skills")
    person.git("commit", "-qm", "more")

    async def talk(client: Client) -> tuple[Any, ...]:
        extensions = client.server_capabilities.extensions
        listed = await _call(client, "skills/list", {})
        entry = listed["skills"][0]
        same = await _call(client, "skills/get", {"uri": entry["uri"]})
        texts = [await _text_at(client, file["uri"]) for file in entry["resources"]]
        resources = (await client.list_resources()).resources
        (waiting,) = learned.store.snapshot().skills.proposed
        with pytest.raises(MCPError) as refused:
            await _call(client, "skills/get", {"uri": f"skill://{waiting}/SKILL.md"})
        return extensions, listed, same, texts, resources, refused.value.code

    extensions, listed, same, texts, resources, code = ask(learned, talk)
    assert extensions == {"io.modelcontextprotocol/skills": {"directoryRead": False}}
    (entry,) = listed["skills"]
    assert same["skill"] == entry
    assert (listed["resultType"], listed["cacheScope"]) == ("complete", "private")
    assert entry["uri"] == f"skill://{live.name}/SKILL.md"
    assert entry["frontmatter"]["name"] == live.name
    assert [file["uri"] for file in entry["resources"]] == [
        entry["uri"],
        *(
            f"skill://{live.name}/references/{file}"
            for file in ("evidence.yaml", "more%20info.md", "tried.md")
        ),
    ]
    assert [file["digest"] for file in entry["resources"]] == [
        f"sha256:{hashlib.sha256(text.encode()).hexdigest()}" for text in texts
    ]
    assert [str(resource.uri) for resource in resources] == [entry["uri"]]
    assert code == -32602


def test_without_the_extra_it_says_how_to_get_it(vault: Vault, tmp_path: Path) -> None:
    hidden = tmp_path / "without.py"
    hidden.write_text(
        "import sys\n"
        "import skillvault.cli.setup as m\n"
        "m.find_spec = lambda name: None\n"
        "sys.argv = ['skillvault', '--vault', sys.argv[1], 'mcp']\n"
        "from skillvault.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, str(hidden), str(vault.root)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "pip install '.[mcp]'" in done.stderr


def test_no_other_command_loads_the_sdk() -> None:
    code = "import json, sys, skillvault.cli.setup\nprint(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"mcp", "pydantic", "anyio"} & set(json.loads(done.stdout)) == set()

"""The real Claude Code, hooked up by `setup`, beside a model on loopback."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from skillvault.vault.commit.locks import writer_lock
from tests.conftest import Person
from tests.interop.desk import CHECK, FAILS, PASSES, TASK, ClaudeDesk
from tests.interop.programs import Program
from tests.interop.scripted_model import Block, serving_model, tool, words


def _fixed() -> list[Block]:
    return [tool("Bash", command=f"cat > test_cart.py <<'X'\n{PASSES}X", description="fix")]


def test_a_prompt_brings_the_skills_and_its_end_the_outcome(desk: ClaudeDesk) -> None:
    before = desk.files()
    desk.setup()
    (skill,) = desk.vault.skills()
    check = tool("Bash", command=CHECK, description="test")
    first = [words("Applying [S1], I look at the event first."), check]
    with serving_model(first, _fixed(), [check], [words("Fixed, the test passes.")]) as model:
        done = desk.ask(model)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Fixed, the test passes." in done.stdout
    prompt = model.texts()[0]
    assert f'name=\\"{skill.name}\\"' in prompt
    assert f"- {skill.name}: " in prompt  # of the briefing
    (outcome,) = desk.outcomes()
    assert (outcome.result.status, outcome.observer) == ("success", "tests")
    assert "OK" in outcome.result.evidence
    assert "Applying [S1]" in outcome.decision.reasoning
    assert outcome.decision.id is not None
    rows = desk.vault.stats(decision=outcome.decision.id)["skills"]
    assert [(row["skill"], row["applied"]) for row in rows] == [(skill.name, True)]
    desk.setup("--remove")
    after = desk.files()
    del after["test_cart.py"], before["test_cart.py"]
    assert after == before


def _sessions() -> list[list[list[Block]]]:
    """Ten sessions, four of which claim success though their check fails."""
    check = tool("Bash", command=CHECK, description="test")
    edit = tool("Bash", command="echo > new.py", description="write")
    return [
        *([[check], [words(f"All done, it works ({n}).")]] for n in range(4)),
        *([[edit], [words(f"Written ({n}).")]] for n in range(2)),
        [_fixed(), [check], [words("Fixed, the test passes.")]],
        [[check], _fixed(), [words("Fixed it.")]],
        [[words("A mutex is a lock.")]],
        [[check], [words("The test still fails.")]],
    ]


# What differs between two runs of one session without any hook: ids, times, the socket of the
# process, and durations, of the check that the session runs, too.
_VOLATILE = re.compile(
    r'"[a-z_]*(?:uuid|session_id|timestamp|_ms|socket_path)": ?("[^"]*"|[\d.]+),?'
    r"|\btests? in [\d.]+s"
)
_OF_MCP = {"ListMcpResourcesTool", "ReadMcpResourceDirTool", "ReadMcpResourceTool"}
_FORMS = {
    "text": (),
    "json": ("--output-format", "json"),
    "stream-json": (
        *("--output-format", "stream-json", "--verbose", "--include-partial-messages"),
    ),
}


def _comparable(line: str) -> str:
    """A line that the client printed, without what only the client itself says of hooks.

    It tells a stream that a hook of SessionStart began and ended, and names the tools of each MCP
    server in the first event; no text of the session is among these.
    """
    if '"subtype":"hook_started"' in line or '"subtype":"hook_response"' in line:
        return ""
    if '"subtype":"init"' in line:
        event = json.loads(line)
        tools = [name for name in event["tools"] if not name.startswith("mcp__skillvault__")]
        event["tools"] = [name for name in tools if name not in _OF_MCP]
        servers = event["mcp_servers"]
        event["mcp_servers"] = [one for one in servers if one["name"] != "skillvault"]
        line = json.dumps(event) + "\n"
    return _VOLATILE.sub("", line)


@pytest.mark.parametrize("form", _FORMS)
def test_what_a_person_reads_is_the_same_with_and_without_hooks(
    desk: ClaudeDesk, person: Person, form: str
) -> None:
    printed: list[list[tuple[list[str], str]]] = []
    sessions = _sessions()  # made once, as a tool's id is that of its block
    for hooked in (False, True):
        if hooked:
            desk.setup()
        texts = []
        for turns in sessions:
            (desk.project / "test_cart.py").write_text(FAILS)
            with serving_model(*turns) as model:
                done = desk.ask(model, TASK, *_FORMS[form])
            lines = map(_comparable, done.stdout.splitlines(keepends=True))
            texts.append(([line for line in lines if line], done.stderr))
        printed.append(texts)
    assert printed[0] == printed[1]
    assert all(lines for lines, _ in printed[0])
    claims = [
        outcome.result.claim for outcome in desk.outcomes() if outcome.result.status == "failure"
    ]
    assert sum("All done, it works" in claim for claim in claims) == 4
    subjects = person.git("log", "--format=%s").splitlines()
    alone = [subject for subject in subjects if re.match(r"record: \d+ recommendation", subject)]
    assert len(alone) <= 1, subjects  # of the session in which the agent only talked


def _paused(_desk: ClaudeDesk, person: Person) -> None:
    person.git("checkout", "-q", "--detach")


def _bad_policy(_desk: ClaudeDesk, person: Person) -> None:
    person.rule("nonsense: 1")


def _without_vault(desk: ClaudeDesk, _person: Person) -> None:
    _in_settings(desk, str(desk.vault.root), "/nowhere")


def _unknown_domain(desk: ClaudeDesk, _person: Person) -> None:
    _in_settings(desk, "--domain coding", "--domain nowhere-near")


def _wrong_option(desk: ClaudeDesk, _person: Person) -> None:
    _in_settings(desk, "--domain coding", "--colour red")


def _in_settings(desk: ClaudeDesk, before: str, after: str) -> None:
    place = desk.project / ".claude/settings.local.json"
    place.write_text(place.read_text().replace(before, after))


@pytest.mark.parametrize(
    "harm", [_paused, _bad_policy, _without_vault, _unknown_domain, _wrong_option]
)
def test_whatever_is_wrong_with_the_vault_the_prompt_goes_out(
    desk: ClaudeDesk, person: Person, harm: Callable[[ClaudeDesk, Person], None]
) -> None:
    desk.setup()
    harm(desk, person)
    with serving_model([words("Hello.")]) as model:
        done = desk.ask(model)
    assert (done.returncode, done.stdout.strip()) == (0, "Hello.")
    assert TASK in model.texts()[0]


def test_a_hook_that_is_killed_or_meets_another_writer_lets_the_prompt_go_out(
    desk: ClaudeDesk,
) -> None:
    desk.setup()
    with (
        writer_lock(desk.vault.store.git.dirs()[1] / "skillvault"),
        serving_model([words("Hello.")], [words("Hello.")]) as model,
    ):
        killed = desk.ask(model, SKILLVAULT_FAILPOINT="inbox-drafted=kill")
        busy = desk.ask(model)
    assert (killed.returncode, busy.returncode) == (0, 0)
    assert all("<skill " in text for text in model.texts())


def test_a_pasted_log_goes_out_with_its_skills(desk: ClaudeDesk) -> None:
    desk.setup()
    with serving_model([words("Hello.")]) as model:
        done = desk.ask(model, TASK, told="a line of a log\n" * 20_000)
    assert done.returncode == 0
    (text,) = model.texts()
    assert text.count("a line of a log") >= 20_000
    assert "<skill " in text


def test_linked_skills_are_listed_and_none_comes_with_a_prompt(desk: ClaudeDesk) -> None:
    before = desk.files()
    desk.setup("--link")
    (skill,) = desk.vault.skills()
    with serving_model([words("Hello.")]) as model:
        assert desk.ask(model).returncode == 0
    (text,) = model.texts()
    assert f"- {skill.name}: " in text
    assert "<skill " not in text
    desk.setup("--remove")
    assert desk.files() == before


def test_the_server_is_one_of_the_tools_of_the_client(desk: ClaudeDesk) -> None:
    words_of = ["-m", "skillvault", "--vault", str(desk.vault.root), "mcp"]
    config = desk.project.with_name("mcp.json")
    server = {"command": sys.executable, "args": words_of}
    config.write_text(json.dumps({"mcpServers": {"skillvault": server}}))
    call = tool("mcp__skillvault__search", text="flaky")
    options = ("--mcp-config", str(config), "--allowedTools", "mcp__skillvault__search")
    with serving_model([call], [words("Found.")]) as model:
        done = desk.ask(model, TASK, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    (skill,) = desk.vault.skills()
    assert skill.name in model.texts()[1]


def test_the_plugin_is_taken_without_a_complaint(tmp_path: Path) -> None:
    claude = Program("claude", tmp_path / "home")
    root = Path(__file__).parents[2]
    for place in (root / "plugins/claude-code", root):
        done = claude.run("plugin", "validate", "--strict", str(place), cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    done = claude.run("plugin", "marketplace", "add", str(root), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    done = claude.run("plugin", "install", "skillvault@skillvault", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr

"""The real Claude Code, hooked up by `setup`, beside a model on loopback."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.records import Outcome
from skillvault.vault.commit.locks import writer_lock
from tests.conftest import NOW, Person
from tests.given import as_file, raw
from tests.interop.programs import Program
from tests.interop.scripted_model import Block, ScriptedModel, serving_model, tool, words

TASK = "Fix the flaky test of the checkout service"
CHECK = f"{sys.executable} -m unittest -q"
FAILS = """import unittest


class T(unittest.TestCase):
    def test_total(self):
        self.assertEqual(1, 2)
"""


class Desk:
    """A project with its vault, as somebody works in it by Claude Code."""

    def __init__(self, vault: Vault, folder: Path) -> None:
        self.vault, self.project = vault, folder / "shop"
        self.claude = Program("claude", folder / "home")
        self.project.mkdir()
        (self.project / "test_cart.py").write_text(FAILS)
        subprocess.run(["git", "init", "-q"], cwd=self.project, check=True)

    def setup(self, *words: str) -> None:
        """`skillvault setup claude-code` here."""
        call = ["--vault", str(self.vault.root), "setup", "claude-code", "--domain", "coding"]
        done = CliRunner().invoke(cli, [*call, "--project", str(self.project), *words])
        assert done.exit_code == 0, done.output

    def ask(
        self, model: ScriptedModel, prompt: str = TASK, *options: str, told: str = "", **more: str
    ) -> subprocess.CompletedProcess[str]:
        """One prompt to Claude Code."""
        allowed = ("--allowedTools", "Bash,Edit,Write,Read")
        environment = {
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            **more,
        }
        return self.claude.run(
            "-p", prompt, *allowed, *options, cwd=self.project, told=told, **environment
        )

    def outcomes(self) -> list[Outcome]:
        """What the vault has of it, once the run that the session's end started is over."""
        until = time.monotonic() + 60
        while self.vault.inbox.names() and time.monotonic() < until:
            time.sleep(0.2)
        self.vault.run()
        found = self.vault.store.head().outcomes.values()
        return [one for one in found if one.source.agent == "claude-code"]

    def files(self) -> dict[str, bytes | None]:
        """Every file of the project, what git and Python keep left out."""
        return {
            str(path.relative_to(self.project)): None if path.is_dir() else path.read_bytes()
            for path in sorted(self.project.rglob("*"))
            if not {".git", "__pycache__"} & set(path.parts)
        }


@pytest.fixture
def desk(vault: Vault, person: Person, tmp_path: Path) -> Desk:
    """A desk whose vault has learned one warning, and holds nothing out."""
    desk = Desk(vault, tmp_path)
    person.rule("effect: {holdout: 0}")
    vault.record([("a.json", as_file(raw()))], now=NOW)
    vault.run(now=NOW)
    return desk


def _fixed() -> list[Block]:
    text = FAILS.replace("1, 2", "2, 2")
    return [tool("Bash", command=f"cat > test_cart.py <<'X'\n{text}X", description="fix")]


def test_a_prompt_brings_the_skills_and_its_end_the_outcome(desk: Desk) -> None:
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
    assert (outcome.result.status, outcome.observer) == ("success", "exit-code")
    assert "OK" in outcome.result.evidence
    assert "Applying [S1]" in outcome.decision.reasoning
    assert outcome.decision.id is not None
    rows = desk.vault.stats(decision=outcome.decision.id)["skills"]
    assert [(row["skill"], row["applied"]) for row in rows] == [(skill.name, True)]
    desk.setup("--remove")
    after = desk.files()
    del after["test_cart.py"], before["test_cart.py"]
    assert after == before


def test_a_claim_that_the_test_contradicts_is_asked_about(desk: Desk) -> None:
    desk.setup()
    check = tool("Bash", command=CHECK, description="test")
    lesson = {"when": "the total is compared", "do": "round it first", "evidence": "1 != 2"}
    reply = json.dumps({"status": "failure", "lesson": lesson})
    with serving_model([check], [words("All done, it works.")], [words(reply)]) as model:
        desk.ask(model)
    assert "contradicts your last message" in model.texts()[2]
    (outcome,) = desk.outcomes()
    assert (outcome.result.status, outcome.result.claimed) == ("failure", "failure")
    assert outcome.lesson is not None
    assert (outcome.lesson.do, outcome.is_lesson_supposed) == ("round it first", False)


def _paused(_desk: Desk, person: Person) -> None:
    person.git("checkout", "-q", "--detach")


def _bad_policy(_desk: Desk, person: Person) -> None:
    person.rule("nonsense: 1")


def _without_vault(desk: Desk, _person: Person) -> None:
    _in_settings(desk, str(desk.vault.root), "/nowhere")


def _unknown_domain(desk: Desk, _person: Person) -> None:
    _in_settings(desk, "--domain coding", "--domain nowhere-near")


def _wrong_option(desk: Desk, _person: Person) -> None:
    _in_settings(desk, "--domain coding", "--colour red")


def _in_settings(desk: Desk, before: str, after: str) -> None:
    place = desk.project / ".claude/settings.local.json"
    place.write_text(place.read_text().replace(before, after))


@pytest.mark.parametrize(
    "harm", [_paused, _bad_policy, _without_vault, _unknown_domain, _wrong_option]
)
def test_whatever_is_wrong_with_the_vault_the_prompt_goes_out(
    desk: Desk, person: Person, harm: Callable[[Desk, Person], None]
) -> None:
    desk.setup()
    harm(desk, person)
    with serving_model([words("Hello.")]) as model:
        done = desk.ask(model)
    assert (done.returncode, done.stdout.strip()) == (0, "Hello.")
    assert TASK in model.texts()[0]


def test_a_hook_that_is_killed_or_meets_another_writer_lets_the_prompt_go_out(desk: Desk) -> None:
    desk.setup()
    with (
        writer_lock(desk.vault.store.git.dirs()[1] / "skillvault"),
        serving_model([words("Hello.")], [words("Hello.")]) as model,
    ):
        killed = desk.ask(model, SKILLVAULT_FAILPOINT="inbox-drafted=kill")
        busy = desk.ask(model)
    assert (killed.returncode, busy.returncode) == (0, 0)
    killed_text, busy_text = model.texts()
    assert "<skill " not in killed_text
    assert "<skill " in busy_text


def test_a_pasted_log_goes_out_with_its_skills(desk: Desk) -> None:
    desk.setup()
    with serving_model([words("Hello.")]) as model:
        done = desk.ask(model, TASK, told="a line of a log\n" * 20_000)
    assert done.returncode == 0
    (text,) = model.texts()
    assert text.count("a line of a log") >= 20_000
    assert "<skill " in text


def test_the_server_is_one_of_the_tools_of_the_client(desk: Desk) -> None:
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
    plugin = Path(__file__).parents[2] / "plugins/claude-code"
    done = claude.run("plugin", "validate", "--strict", str(plugin), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr

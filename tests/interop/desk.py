"""A project with its vault, as somebody works in it by a client that `setup` has hooked up."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.clients import hook_client
from skillvault.model.records import Outcome
from skillvault.vault.commit.locks import DAEMON, holder
from tests.conftest import NOW, Person
from tests.given import as_file, raw
from tests.interop.programs import Program
from tests.interop.scripted_model import ScriptedModel

TASK = "Fix the flaky test of the checkout service"
ALLOWED = ("--allowedTools", "Bash,Edit,Write,Read")
# No person is there to allow what a command does, or to trust the hooks of the project.
_UNCHECKED = "--dangerously-bypass-approvals-and-sandbox"
TRUSTED = "--dangerously-bypass-hook-trust"
CHECK = f"{sys.executable} -m unittest -q"
FAILS = """import unittest


class T(unittest.TestCase):
    def test_total(self):
        self.assertEqual(1, 2)
"""
PASSES = FAILS.replace("1, 2", "22, 22")  # of another size, or Python may run the former one


def end_hook_server(vault: Path) -> None:
    """End the process that answers the hooks of a vault, if one runs."""
    if owner := re.search(r"process (\d+)", holder(vault / ".git/skillvault" / DAEMON) or ""):
        os.kill(int(owner[1]), signal.SIGTERM)


def introduce_to_git(home: Path) -> None:
    """Give git the name of the person of this home."""
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")


class Desk:
    """The project, whose test fails; its vault has learned one warning and holds nothing out."""

    client = ""

    def __init__(
        self,
        vault: Vault,
        person: Person,
        folder: Path,
        program: str,
        action: str = "fix-flaky-test",
    ) -> None:
        self.vault, self.project = vault, folder / "shop"
        self.program = Program(program, folder / "home")
        introduce_to_git(self.program.home)
        self.project.mkdir()
        (self.project / "test_cart.py").write_text(FAILS)
        subprocess.run(["git", "init", "-q"], cwd=self.project, check=True)
        person.rule("effect: {holdout: 0}")
        vault.record([("a.json", as_file(raw(decision__action=action)))], now=NOW)
        vault.run(now=NOW)
        (self.skill,) = [skill.name for skill in vault.skills()]

    def setup(self, *options: str) -> None:
        """`skillvault setup` of the client here."""
        call = ["--vault", str(self.vault.root), "setup", self.client, "--domain", "coding"]
        home = str(self.program.home)
        environment = {"HOME": home, "CODEX_HOME": f"{home}/.codex"}
        where = () if "--user" in options else ("--project", str(self.project))
        words = [*call, *where, *options]
        done = CliRunner().invoke(cli, words, env=environment)
        assert done.exit_code == 0, done.output

    def close(self) -> None:
        """End the process that answers hooks."""
        end_hook_server(self.vault.root)

    def outcomes(self) -> list[Outcome]:
        """Return the client's outcomes, once the run that the session's end started is over."""
        until = time.monotonic() + 60
        while self.vault.inbox.names() and time.monotonic() < until:
            time.sleep(0.2)
        self.vault.run()
        found = self.vault.store.snapshot().outcomes.values()
        return [one for one in found if one.source.agent == self.client]

    def files(self) -> dict[str, bytes | None]:
        """Every file of the project, what git and Python keep left out."""
        return {
            str(path.relative_to(self.project)): None if path.is_dir() else path.read_bytes()
            for path in sorted(self.project.rglob("*"))
            if not {".git", "__pycache__"} & set(path.parts)
        }


class ClaudeDesk(Desk):
    """One at which Claude Code works."""

    client = "claude-code"

    def ask(
        self, model: ScriptedModel, prompt: str = TASK, *options: str, told: str = "", **more: str
    ) -> subprocess.CompletedProcess[str]:
        """One prompt to Claude Code."""
        call = ("-p", prompt, *ALLOWED, *options)
        return self.program.run(*call, cwd=self.project, told=told, **self.keys(model), **more)

    def configure(self, model: ScriptedModel) -> None:
        """Claude Code finds the model by its variables."""

    def keys(self, model: ScriptedModel) -> dict[str, str]:
        """The variables by which Claude Code asks this model."""
        return {
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }


class CodexDesk(Desk):
    """One at which Codex works."""

    client = "codex"

    def ask(self, model: ScriptedModel, *options: str) -> str:
        """One prompt to Codex, or what goes on with the last: what it says at the end."""
        done = self.prompt(model, TASK, *options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def prompt(
        self, model: ScriptedModel, prompt: str, *options: str
    ) -> subprocess.CompletedProcess[str]:
        """A prompt to Codex: what it prints and how it ends."""
        self.configure(model)
        call = ("exec", *options, _UNCHECKED, prompt)
        return self.program.run(*call, cwd=self.project, **self.keys(model))

    def configure(self, model: ScriptedModel) -> None:
        """Name the model in the settings of Codex."""
        lines = [
            'model = "m-1"',
            'model_provider = "here"',
            "[model_providers.here]",
            'name = "here"',
            f'base_url = "{model.url}/v1"',
            'env_key = "KEY_OF_HERE"',
            'wire_api = "responses"',
            f'[projects."{self.project}"]',
            'trust_level = "trusted"',
        ]
        (self.program.home / ".codex").mkdir(exist_ok=True)
        (self.program.home / ".codex/config.toml").write_text("\n".join(lines) + "\n")

    def keys(self, _model: ScriptedModel) -> dict[str, str]:
        """The variable by which Codex asks the model of its settings."""
        return {"KEY_OF_HERE": "dummy"}

    def noted_sessions(self) -> list[str]:
        """The sessions of which something is noted still."""
        place = self.vault.root / ".git/skillvault/sessions"
        return sorted(path.name for path in place.glob("*.jsonl"))


def put_on_path(program: Program, folder: Path) -> None:
    """Put `skillvault-hook` on the `PATH` of a program."""
    script = folder / "bin/skillvault-hook"
    script.parent.mkdir()
    source = Path(hook_client.__file__).read_text().partition("\n")[2]
    script.write_text(f"#!{sys.executable}\n{source}")
    script.chmod(0o755)
    program.more["PATH"] = f"{script.parent}:{program.folder}:{os.environ['PATH']}"

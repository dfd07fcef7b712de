"""The real Codex, hooked up by `setup`, beside a model on loopback: its own hooks at work."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from skillvault.api import Vault
from tests.conftest import Person
from tests.interop.desk import CHECK, PASSES, TASK, Desk
from tests.interop.scripted_model import Block, ScriptedModel, serving_model, tool, words

# No person is there to allow what a command does, or to trust the hooks of the project.
_ALLOWED, _TRUSTED = "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"


class CodexDesk(Desk):
    """One at which Codex works."""

    client = "codex"

    def ask(self, model: ScriptedModel, *options: str) -> str:
        """One prompt to Codex, or what goes on with the last: what it says at the end."""
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
        call = ("exec", *options, _ALLOWED, TASK)
        done = self.program.run(*call, cwd=self.project, KEY_OF_HERE="dummy")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def noted_sessions(self) -> list[str]:
        """The sessions of which something is noted still."""
        place = self.vault.root / ".git/skillvault/sessions"
        return sorted(path.name for path in place.glob("*.jsonl"))


@pytest.fixture
def desk(vault: Vault, person: Person, tmp_path: Path) -> Iterator[CodexDesk]:
    """A desk with the real program."""
    desk = CodexDesk(vault, person, tmp_path, "codex")
    yield desk
    desk.close()


def _shell(command: str) -> Block:
    return tool("exec_command", cmd=command)


def test_a_prompt_brings_the_skills_and_the_end_of_the_session_leaves_no_note(
    desk: CodexDesk,
) -> None:
    desk.setup()
    (skill,) = desk.vault.skills()
    first = [words("Applying [S1], I look at the event first."), _shell(CHECK)]
    fixed = [_shell(f"cat > test_cart.py <<'X'\n{PASSES}X")]
    last = [words("Fixed, the test passes.")]
    with serving_model(first, fixed, [_shell(CHECK)], last) as model:
        assert desk.ask(model, _TRUSTED) == "Fixed, the test passes."
    prompt = model.texts()[0]
    assert f'name=\\"{skill.name}\\"' in prompt
    assert f"- {skill.name}: " in prompt  # of the briefing
    (outcome,) = desk.outcomes()
    assert (outcome.result.status, outcome.observer) == ("success", "tests")
    assert "OK" in outcome.result.evidence
    assert outcome.decision.id is not None
    rows = desk.vault.stats(decision=outcome.decision.id)["skills"]
    assert [(row["skill"], row["applied"]) for row in rows] == [(skill.name, True)]
    assert desk.noted_sessions() == []


def test_what_is_left_at_the_end_of_the_session_is_recorded(desk: CodexDesk) -> None:
    desk.setup()
    with serving_model([_shell("echo > new.py")], [words("Written.")]) as model:
        desk.ask(model, _TRUSTED)
    (outcome,) = desk.outcomes()
    assert (outcome.result.status, outcome.result.claim) == ("neutral", "Written.")
    assert desk.noted_sessions() == []


@pytest.mark.parametrize("options", [(), ("--ephemeral",)])
def test_a_test_that_fails_is_no_success_whatever_the_agent_says(
    desk: CodexDesk, options: tuple[str, ...]
) -> None:
    """Its hook tells no exit code; its rollout does, where it keeps one."""
    desk.setup()
    with serving_model([_shell(CHECK)], [words("All done, it works.")]) as model:
        assert desk.ask(model, _TRUSTED, *options) == "All done, it works."
    (outcome,) = desk.outcomes()
    assert (outcome.result.status, outcome.result.claim) == ("failure", "All done, it works.")


def test_a_session_that_is_resumed_is_asked_about_anew(desk: CodexDesk) -> None:
    desk.setup()
    (skill,) = desk.vault.skills()
    with serving_model([words("Hello.")], [words("Again.")]) as model:
        desk.ask(model, _TRUSTED)
        desk.ask(model, "resume", "--last", _TRUSTED)
    first, second = model.texts()
    briefing = "Learned from earlier work in coding"
    assert (first.count(briefing), second.count(briefing)) == (1, 1)
    assert second.count(f'<skill name=\\"{skill.name}\\"') == 2


def test_a_hook_that_nobody_trusted_does_not_run(desk: CodexDesk) -> None:
    desk.setup()
    with serving_model([words("Hello.")]) as model:
        desk.ask(model)
    (text,) = model.texts()
    assert "<skill " not in text

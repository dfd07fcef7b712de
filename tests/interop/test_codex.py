"""The real Codex, hooked up by `setup`, beside a model on loopback: its own hooks at work."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from skillvault.api import Vault
from tests.conftest import Person
from tests.interop.desk import CHECK, PASSES, TRUSTED, CodexDesk
from tests.interop.scripted_model import Block, serving_model, tool, words


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
        assert desk.ask(model, TRUSTED) == "Fixed, the test passes."
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
        desk.ask(model, TRUSTED)
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
        assert desk.ask(model, TRUSTED, *options) == "All done, it works."
    (outcome,) = desk.outcomes()
    assert (outcome.result.status, outcome.result.claim) == ("failure", "All done, it works.")


def test_a_session_that_is_resumed_is_asked_about_anew(desk: CodexDesk) -> None:
    desk.setup()
    (skill,) = desk.vault.skills()
    with serving_model([words("Hello.")], [words("Again.")]) as model:
        desk.ask(model, TRUSTED)
        desk.ask(model, "resume", "--last", TRUSTED)
    first, second = model.texts()
    briefing = "Learned from earlier work in coding"
    assert (first.count(briefing), second.count(briefing)) == (1, 1)
    # The session has the text already, so the skill is named.
    assert second.count(f'<skill name=\\"{skill.name}\\"') == 1
    assert second.count(f"[S1] {skill.name}") == 1


def test_a_hook_that_nobody_trusted_does_not_run(desk: CodexDesk) -> None:
    desk.setup()
    with serving_model([words("Hello.")]) as model:
        desk.ask(model)
    (text,) = model.texts()
    assert "<skill " not in text

"""The real Claude Code in a terminal, as a person sits at it."""

import json
import sys
from pathlib import Path

import pytest

from skillvault.clients.notes import activity_of
from tests.cli.terminal import Terminal
from tests.conftest import Person
from tests.interop.desk import ALLOWED, CHECK, TASK, ClaudeDesk
from tests.interop.scripted_model import ScriptedModel, serving_model, tool, words

FAILED = [tool("Bash", command=CHECK, description="test")]
CLAIM = "All done, it works."
BLOCK = "Fix it, or say that it fails."


def _know_the_person(desk: ClaudeDesk) -> None:
    """Answer what the program asks at its first start."""
    values = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
        "projects": {str(desk.project): {"hasTrustDialogAccepted": True}},
    }
    (desk.program.home / ".claude.json").write_text(json.dumps(values))


def _open_terminal(desk: ClaudeDesk, model: ScriptedModel) -> Terminal:
    """The program in a terminal, with its first prompt."""
    return Terminal(
        desk.project,
        *("--permission-mode", "default", *ALLOWED, "--", TASK),
        columns=400,
        lines=60,
        program=desk.program.command,
        environment=desk.program.environment(**desk.keys(model)),
    )


def _last_screen(terminal: Terminal) -> str:
    """Leave as a person does, and return the text of the last screen."""
    terminal.press("/exit")
    terminal.wait(lambda text: "/exit" in text)
    terminal.press("\r")
    terminal.end()
    return terminal.text


@pytest.mark.parametrize("insists", [True, False])
def test_an_agent_that_claims_success_is_sent_back_once_if_the_policy_insists(
    desk: ClaudeDesk, person: Person, insists: bool
) -> None:
    if insists:
        person.rule("hook: {insist: true}")
    _know_the_person(desk)
    desk.setup()
    last = "It still fails, and works no more."
    with serving_model(FAILED, [words(CLAIM)], [words(last)]) as model:
        terminal = _open_terminal(desk, model)
        terminal.wait(lambda text: (last if insists else CLAIM) in text)
        notes = desk.vault.root / ".git/skillvault"
        terminal.wait(lambda _: activity_of(notes, desk.client).event == "Stop")
        screen = _last_screen(terminal)
    assert screen.count(BLOCK) == insists
    assert len(model.requests) == 2 + insists
    assert ("Stop hook reported" in screen) == insists
    assert "{" not in screen
    (outcome,) = desk.outcomes()
    assert (outcome.result.status, outcome.observer) == ("failure", "tests")


@pytest.mark.parametrize("moved", ["python", "vault"])
def test_a_session_names_what_was_moved_and_the_command_that_mends_it(
    desk: ClaudeDesk, tmp_path: Path, moved: str
) -> None:
    _know_the_person(desk)
    desk.setup()
    old_place = str(desk.vault.root)
    if moved == "vault":
        desk.vault.root.rename(tmp_path / "moved")
    else:
        settings = desk.project / ".claude/settings.local.json"
        old_place = "/nowhere/python"
        settings.write_text(settings.read_text().replace(sys.executable, old_place))
    with serving_model([words("Hello.")]) as model:
        terminal = _open_terminal(desk, model)
        terminal.wait(lambda text: "● Hello." in text)
        screen = _last_screen(terminal)
    if moved == "vault":
        (tmp_path / "moved").rename(desk.vault.root)
    assert old_place in screen
    assert "run `skillvault setup claude-code` again" in screen


def test_a_correction_typed_while_the_agent_works_judges_the_turn(desk: ClaudeDesk) -> None:
    _know_the_person(desk)
    desk.setup()
    waits = [tool("Bash", command="sleep 8; touch done.txt", description="wait")]
    with serving_model(waits, [words(CLAIM)]) as model:
        terminal = _open_terminal(desk, model)
        terminal.wait(lambda text: "sleep 8" in text)
        terminal.press("no, we use uv here, never pip")
        terminal.wait(lambda text: "never pip" in text)
        terminal.press("\r")
        terminal.wait(lambda text: CLAIM in text)
        _last_screen(terminal)
    assert len(model.requests) == 2
    (outcome,) = desk.outcomes()
    assert (outcome.result.status, outcome.observer) == ("failure", "person")
    (rule,) = desk.vault.memory.waiting()
    assert rule.text == "we use uv here, never pip"
    assert rule.said_by

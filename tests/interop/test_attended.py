"""The real Claude Code in a terminal, as a person sits at it."""

import json

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


def _screen(desk: ClaudeDesk, model: ScriptedModel, *last_words: str) -> str:
    """What the screen has shown at the end, once the agent has said all of this and stopped."""
    terminal = Terminal(
        desk.project,
        *("--permission-mode", "default", *ALLOWED, "--", TASK),
        columns=120,
        lines=60,
        program=desk.program.command,
        environment=desk.program.environment(**desk.keys(model)),
    )
    terminal.wait(lambda text: all(word in text for word in last_words))
    terminal.wait(
        lambda _: activity_of(desk.vault.root / ".git/skillvault", desk.client).event == "Stop"
    )
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
        screen = _screen(desk, model, last if insists else CLAIM)
    assert screen.count(BLOCK) == insists
    assert len(model.requests) == 2 + insists
    assert ("Stop hook reported" in screen) == insists
    assert "{" not in screen
    (outcome,) = desk.outcomes()
    assert (outcome.result.status, outcome.observer) == ("failure", "tests")

"""The real Claude Code and Codex as the judge, asked in the background after a session."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from skillvault.api import Vault
from skillvault.model.records import Skill
from tests.conftest import Person
from tests.interop.desk import CHECK, PASSES, ClaudeDesk
from tests.interop.scripted_model import Block, ScriptedModel, serving_model, tool, words
from tests.judge.client_program import questions_of
from tests.judge.server import claude, text_of

MINUTE = 60.0


class JudgingModel(ScriptedModel):
    """A model that also answers the questions of a judge, as `server.claude` does."""

    asked = 0

    def reply_to(self, request: dict[str, Any]) -> list[Block]:
        """Answer a call of the judge by its schema, anything else by the script."""
        # A second turn of a call, once the answer was taken, needs none.
        names = {one["name"]: one for one in request.get("tools") or () if "name" in one}
        if "StructuredOutput" in names:
            system = "\n".join(part["text"] for part in request["system"])
            user = text_of(request["messages"][0])
            return [
                tool(
                    "StructuredOutput",
                    **self._answers(system, user, names["StructuredOutput"]["input_schema"]),
                )
            ]
        form = request.get("text", {}).get("format", {})
        if form.get("type") == "json_schema":
            texts = [part["text"] for one in request["input"] for part in one["content"]]
            return [words(json.dumps(self._answers(texts[0], texts[-1], form["schema"])))]
        return super().reply_to(request)

    def _answers(self, system: str, user: str, schema: dict[str, Any]) -> dict[str, Any]:
        self.asked += 1
        answers = {}
        for name, body in questions_of(system, user, schema).items():
            message = json.loads(claude(body).body)
            answers[name] = json.loads(message["content"][-1]["text"])
        return answers


def appoint(person: Person, client: str) -> None:
    """Make the client the judge."""
    page = person.root / "vault.yaml"
    page.write_text(f"{page.read_text().rstrip()}\njudge: {{provider: client, client: {client}}}\n")
    person.git("commit", "-q", "-am", "Appoint the client", "--no-verify")


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds, for a minute at most."""
    end = time.monotonic() + MINUTE
    while not holds():
        assert time.monotonic() < end, "it took longer than a minute"
        time.sleep(0.5)


def skills(vault: Vault) -> list[Skill]:
    """The skills that are served now."""
    return list(Vault(vault.root).store.head().skills.values())


def state_of(home: Path) -> dict[str, object]:
    """The transcripts and the projects that Claude Code knows."""
    settings = json.loads((home / ".claude.json").read_text())
    transcripts = sorted(str(path) for path in (home / ".claude/projects").rglob("*.jsonl"))
    return {"projects": sorted(settings.get("projects", {})), "transcripts": transcripts}


def test_the_next_session_brings_the_guide_that_the_client_wrote(
    desk: ClaudeDesk, person: Person
) -> None:
    desk.setup()
    appoint(person, "claude-code")
    check = tool("Bash", command=CHECK, description="test")
    fixed = tool("Bash", command=f"cat > test_cart.py <<'X'\n{PASSES}X", description="fix")
    with serving_model([check], [fixed], [check], [words("Fixed.")], kind=JudgingModel) as model:
        done = desk.ask(model)
        assert (done.returncode, done.stdout.strip()) == (0, "Fixed.")
        before = desk.files()
        until(lambda: any("chase high" in one.description for one in skills(desk.vault)))
        until(lambda: not (desk.vault.root / ".git/skillvault/client").exists())
        state = state_of(desk.program.home)
        assert len(state["transcripts"]) == 1  # type: ignore[arg-type]
        assert state["projects"] == [str(desk.project)]
        assert desk.files() == before
        model.turns[:] = [[words("Hello.")]]
        assert desk.ask(model).stdout.strip() == "Hello."
    assert "chase high funding" in model.texts()[-1]

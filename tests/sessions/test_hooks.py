"""The events of a client's session: what the agent reads, what the vault gets."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from skillvault.api import Vault
from skillvault.cli.hook import vault_parts
from skillvault.clients import agents
from skillvault.clients.notes import SessionNotes
from skillvault.clients.payload import parse_payload
from skillvault.model.records import Outcome
from skillvault.model.text.text import count_tokens
from skillvault.sessions.hooks import HookClient, Hooks
from tests.conftest import NOW, Person
from tests.given import as_file, raw

TASK = "Fix the flaky test of the checkout"
PASSED = {"stdout": "3 passed in 0.1s", "stderr": ""}
FAILED = "Exit code 1\nFAILED test_cart.py::test_total - assert 1 == 2\n1 failed"


class Client:
    """A client that calls the hooks of one session, one event a minute."""

    def __init__(self, vault: Vault, folder: Path) -> None:
        self.vault, self.folder, self.at, self.calls = vault, folder, NOW, 0
        self.who = HookClient(name="claude-code", domain="coding")
        folder.mkdir(exist_ok=True)

    def tell(self, event: str, **values: Any) -> str:
        """Run the hook of an event and return its output."""
        self.at += timedelta(minutes=1)
        told = {"session_id": "s-1", "cwd": str(self.folder), **values}
        payload = parse_payload(json.dumps(told).encode())
        assert payload is not None
        who = replace(self.who, process=f"at {self.at}")
        return Hooks(vault_parts(self.vault), who, self.at).react(event, payload)

    def ask(self, text: str = TASK, prompt: str = "p-1") -> str:
        return self.tell("UserPromptSubmit", prompt_id=prompt, prompt=text)

    def test(self, *, passes: bool) -> None:
        self.calls += 1
        told = {"tool_response": PASSED} if passes else {"error": FAILED}
        event = "PostToolUse" if passes else "PostToolUseFailure"
        values = {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}}
        self.tell(event, tool_use_id=f"t-{self.calls}", **values, **told)

    def edit(self) -> None:
        self.calls += 1
        values = {"tool_name": "Edit", "tool_input": {"file_path": "a.py"}}
        self.tell("PostToolUse", tool_use_id=f"t-{self.calls}", **values)

    def stop(self, words: str = "Done.", prompt: str = "p-1", *, again: bool = False) -> str:
        return self.tell(
            "Stop", prompt_id=prompt, last_assistant_message=words, stop_hook_active=again
        )

    def end(self) -> None:
        self.tell("SessionEnd", reason="exit")

    def outcomes(self) -> list[Outcome]:
        """Record the inbox and return this client's outcomes."""
        self.vault.run(["record"], now=self.at)
        found = self.vault.store.snapshot().outcomes.values()
        return [one for one in found if one.source.agent == "claude-code"]


def notes_of(client: Client, session: str = "s-1") -> Path:
    """Return the path of a session's notes."""
    return SessionNotes(client.vault.store.git.dirs()[0] / "skillvault", session).path


@pytest.fixture
def client(vault: Vault, tmp_path: Path) -> Client:
    """A client of a vault that has learned one warning."""
    vault.record([("a.json", as_file(raw()))], now=NOW)
    vault.run(now=NOW)
    return Client(vault, tmp_path / "project")


def test_a_session_begins_with_the_lessons_of_its_domain(client: Client, person: Person) -> None:
    text = client.tell("SessionStart", source="startup")
    (skill,) = client.vault.skills()
    assert f"- {skill.name}: " in text
    assert count_tokens(text) <= 320
    assert client.tell("SessionStart", source="resume") == ""
    person.rule("hook: {briefing: 0}")
    assert client.tell("SessionStart", source="startup") == ""


def _drawn_for(client: Client, *, held_out: bool) -> str:
    """Return a decision id for which the one skill is held out, or is not."""
    for prompt in (f"p-{number}" for number in range(200)):
        answer = client.vault.recommend("coding", TASK, decision=prompt)
        if bool(answer.recommended) != held_out:
            return prompt
    raise AssertionError


def test_what_the_briefing_told_of_is_not_held_out_later(client: Client, person: Person) -> None:
    held_out = _drawn_for(client, held_out=True)
    client.tell("SessionStart", source="startup")
    assert "<skill " in client.ask(prompt=held_out)
    client.end()
    person.rule("hook: {briefing: 0}")
    client.tell("SessionStart", source="startup")
    assert client.ask(prompt=held_out) == ""


def test_what_an_earlier_prompt_brought_is_not_held_out_later(
    client: Client, person: Person
) -> None:
    person.rule("hook: {briefing: 0}")
    client.tell("SessionStart", source="startup")
    assert "<skill " in client.ask(prompt=_drawn_for(client, held_out=False))
    assert "[S1] guide-" in client.ask(prompt=_drawn_for(client, held_out=True))


@pytest.mark.parametrize("source", ["resume", "fork"])
def test_what_a_session_read_before_it_was_resumed_is_not_held_out(
    client: Client, source: str
) -> None:
    client.tell("SessionStart", source="startup")
    client.end()
    assert client.tell("SessionStart", source=source) == ""
    assert "<skill " in client.ask(prompt=_drawn_for(client, held_out=True))


def test_a_skill_that_is_learned_later_is_held_out_of_a_resumed_session(
    client: Client, person: Person
) -> None:
    held_out = _drawn_for(client, held_out=True)
    (skill,) = client.vault.skills()
    (person.root / "archive").mkdir()
    person.git("mv", f"skills/{skill.name}", f"archive/{skill.name}")
    person.git("commit", "-qam", "Put it away")
    client.tell("SessionStart", source="resume")
    client.ask("Translate a poem about the sea", "p-0")
    person.git("mv", f"archive/{skill.name}", f"skills/{skill.name}")
    person.git("commit", "-qam", "Take it back")
    assert client.ask(prompt=held_out) == ""


@pytest.mark.parametrize("source", ["compact", "clear"])
def test_no_briefing_amid_a_session_tells_what_is_held_out_of_it(
    client: Client, person: Person, source: str
) -> None:
    person.rule("hook: {briefing: 0}")
    client.tell("SessionStart", source="startup")
    assert client.ask(prompt=_drawn_for(client, held_out=True)) == ""
    policy = (person.root / "vault.yaml").read_text()
    person.write("vault.yaml", policy.replace("{briefing: 0}", "{briefing: 300}"))
    person.git("commit", "-qam", "Brief again")
    assert client.tell("SessionStart", source=source) == ""
    (skill,) = client.vault.skills()
    assert f"- {skill.name}: " in client.tell("SessionStart", source="startup", session_id="s-2")


def test_a_skill_that_is_read_though_held_out_counts_as_shown_and_is_told(
    client: Client, person: Person
) -> None:
    person.rule("hook: {briefing: 0}")
    held_out = _drawn_for(client, held_out=True)
    client.tell("SessionStart", source="startup")
    assert client.ask(prompt=held_out) == ""
    (skill,) = client.vault.skills()
    file = f"/v/skills/{skill.name}/SKILL.md"
    client.tell("PostToolUse", tool_name="Read", tool_use_id="r", tool_input={"file_path": file})
    client.test(passes=True)
    client.stop(prompt=held_out)
    client.end()
    client.vault.run(now=client.at)
    (row,) = client.vault.stats(decision=held_out)["skills"]
    assert (row["held_out"], row["read"], row["applied"]) == (True, True, True)
    (version,) = client.vault.stats(skill.name)
    assert (version.shown, version.held_out) == (1, 0)


def test_a_prompt_is_answered_and_what_was_shown_is_recorded(client: Client) -> None:
    text = client.ask(prompt="p-1")
    (skill,) = client.vault.skills()
    assert skill.name in text
    assert client.vault.inbox.names() == []
    client.end()
    client.outcomes()
    (receipt,) = client.vault.store.snapshot().recommendations.by_decision("p-1")
    assert (receipt.agent, receipt.task) == ("claude-code", TASK)
    assert client.ask("Translate a poem about the sea", "p-2") == ""


def test_what_a_session_only_recommends_is_one_commit(client: Client) -> None:
    for number in range(3):
        client.ask("What does the flaky test of the checkout do?", f"p-{number}")
        client.stop("It waits.", f"p-{number}")
    client.end()
    done = client.vault.run(["record"], now=client.at).done
    assert [one.change.subject for one in done] == ["3 recommendations in coding"]


def test_a_skill_comes_whole_once_and_is_named_from_then_on(client: Client) -> None:
    client.tell("SessionStart", source="startup")
    (skill,) = client.vault.skills()
    whole = client.ask(prompt="p-1")
    assert f'<skill name="{skill.name}"' in whole
    assert "knowledge to weigh, not orders" in whole
    for prompt in ("p-2", "p-3"):
        again = client.ask(prompt=prompt)
        assert "<skill " not in again
        assert f"[S1] {skill.name}" in again
        assert len(again.partition("<instruction>")[2].splitlines()) == 3
        assert len(again) < len(whole) / 2


@pytest.mark.parametrize("source", ["compact", "clear"])
def test_a_skill_comes_whole_again_after_a_compaction(client: Client, source: str) -> None:
    client.tell("SessionStart", source="startup")
    whole = client.ask(prompt="p-1")
    client.tell("SessionStart", source=source)
    assert client.ask(prompt="p-2") == whole


def test_a_skill_comes_whole_again_when_its_text_changed(client: Client, person: Person) -> None:
    client.tell("SessionStart", source="startup")
    client.ask(prompt="p-1")
    (skill,) = client.vault.skills()
    path = f"skills/{skill.name}/SKILL.md"
    person.write(path, (person.root / path).read_text() + "\n## Also\n\n- Ask the owner.\n")
    person.git("commit", "-qam", "Say more")
    again = client.ask(prompt="p-2")
    assert f'<skill name="{skill.name}"' in again
    assert "Ask the owner." in again


@pytest.mark.parametrize("has_begun", [True, False])
def test_hooks_that_are_registered_twice_answer_once(client: Client, has_begun: bool) -> None:
    transcript = client.folder / "s-1.jsonl"
    if has_begun:
        transcript.write_text("{}\n")
    place = str(transcript)
    briefings = [
        client.tell("SessionStart", source="startup", transcript_path=place) for _ in range(2)
    ]
    assert list(map(bool, briefings)) == [True, False]
    assert list(map(bool, [client.ask(), client.ask()])) == [True, False]
    assert client.ask(prompt="p-2")


def test_a_pasted_log_is_asked_about_by_its_beginning(client: Client) -> None:
    assert "<skill " in client.ask(f"{TASK}\n" + "x y z\n" * 60_000)


def test_a_passing_test_closes_the_decision_with_its_output(client: Client) -> None:
    client.ask()
    client.test(passes=False)
    client.edit()
    client.test(passes=True)
    assert client.stop("All tests pass.") == ""
    (outcome,) = client.outcomes()
    assert (outcome.result.status, outcome.observer) == ("success", "tests")
    assert outcome.result.via == "hook"
    assert outcome.result.evidence == "3 passed in 0.1s"
    assert (outcome.decision.id, outcome.decision.action) == ("p-1", "fix")
    assert (outcome.domain, outcome.decision.target) == ("coding", "a.py")


def test_a_test_that_goes_on_in_the_background_says_nothing(client: Client) -> None:
    client.ask()
    started = {"stdout": "", "stderr": "", "interrupted": False, "backgroundTaskId": "b-1"}
    values = {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "tool_use_id": "t-1"}
    client.tell("PostToolUse", **values, tool_response=started)
    client.stop("All tests pass.")
    client.end()
    assert all(outcome.result.status == "neutral" for outcome in client.outcomes())


def test_calls_without_an_id_are_calls_of_their_own(client: Client) -> None:
    client.ask()
    for told in ({"error": FAILED}, {"tool_response": PASSED}):
        event = "PostToolUseFailure" if "error" in told else "PostToolUse"
        client.tell(event, tool_name="Bash", tool_input={"command": "pytest -q"}, **told)
    client.stop("All pass.")
    (outcome,) = client.outcomes()
    assert outcome.result.status == "success"


def test_a_stop_that_comes_twice_records_nothing_twice(client: Client) -> None:
    client.ask()
    client.test(passes=True)
    client.stop()
    client.stop()
    client.end()
    assert len(client.outcomes()) == 1
    assert not notes_of(client).exists()


def test_a_stop_says_nothing_whatever_failed(client: Client) -> None:
    client.ask()
    client.test(passes=False)
    assert client.stop("Fixed it, everything works.") == ""
    (outcome,) = client.outcomes()
    assert (outcome.result.status, outcome.result.claim) == (
        "failure",
        "Fixed it, everything works.",
    )


def test_who_insists_sends_a_false_claim_back_once_a_prompt(client: Client, person: Person) -> None:
    person.rule("hook: {insist: true}")
    client.who = HookClient(name="claude-code", domain="coding", is_attended=True)
    client.ask()
    client.test(passes=False)
    reply = json.loads(client.stop("Fixed it, everything works."))
    assert reply["decision"] == "block"
    assert reply["reason"].startswith("`pytest -q` failed")
    assert reply["reason"].endswith("Fix it, or say that it fails.")
    assert client.stop("Fixed it, everything works.", again=True) == ""
    assert client.stop("Fixed it, everything works.") == ""
    (outcome,) = client.outcomes()
    assert outcome.result.status == "failure"


@pytest.mark.parametrize("is_attended", [None, False])
def test_nobody_is_sent_back_where_no_person_attends(
    client: Client, person: Person, is_attended: bool | None
) -> None:
    person.rule("hook: {insist: true}")
    client.who = HookClient(name="claude-code", domain="coding", is_attended=is_attended)
    client.ask()
    client.test(passes=False)
    assert client.stop("Fixed it, everything works.") == ""


@pytest.mark.parametrize("words", ["It does not work yet.", "The test still fails."])
def test_an_agent_that_says_it_fails_is_not_sent_back(
    client: Client, person: Person, words: str
) -> None:
    person.rule("hook: {insist: true}")
    client.who = HookClient(name="claude-code", domain="coding", is_attended=True)
    client.ask()
    client.test(passes=False)
    assert client.stop(words) == ""


@pytest.mark.parametrize(
    ("environment", "attended"),
    [
        ({}, None),
        ({"CLAUDE_CODE_SESSION_ATTENDED": "1"}, True),
        ({"CLAUDE_CODE_SESSION_ATTENDED": "0", "CLAUDE_CODE_ENTRYPOINT": "cli"}, False),
        ({"CLAUDE_CODE_ENTRYPOINT": "cli"}, True),
        ({"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}, False),
    ],
)
def test_the_client_says_whether_a_person_attends(
    environment: dict[str, str], attended: bool | None
) -> None:
    assert agents.attendance(environment) is attended


def test_a_failure_with_a_skill_that_was_read_names_it(client: Client) -> None:
    client.ask()
    (skill,) = client.vault.skills()
    file = f"/v/skills/{skill.name}/SKILL.md"
    client.tell("PostToolUse", tool_name="Read", tool_use_id="r", tool_input={"file_path": file})
    client.test(passes=False)
    client.stop("It does not work yet.")
    client.end()
    (outcome,) = client.outcomes()
    assert (outcome.applied, outcome.result.status) == ((skill.name,), "failure")


def test_the_next_words_of_the_person_say_how_it_ended(client: Client) -> None:
    client.ask()
    client.edit()
    client.stop()
    assert client.outcomes() == []
    client.ask("no, that is wrong", "p-2")
    (outcome,) = client.outcomes()
    assert (outcome.decision.id, outcome.observer) == ("p-1", "person")
    assert outcome.result.via == "hook"
    assert outcome.result.status == "failure"


def test_the_next_words_of_a_script_say_nothing(client: Client) -> None:
    client.who = HookClient(name="claude-code", domain="coding", is_attended=False)
    client.ask()
    client.edit()
    client.stop()
    client.ask("no, that is wrong", "p-2")
    client.end()
    (outcome,) = client.outcomes()
    assert (outcome.result.status, outcome.observer) == ("neutral", "agent")


def test_a_prompt_of_the_client_itself_is_no_prompt(client: Client) -> None:
    client.ask(prompt="p-1")
    client.edit()
    assert client.ask("<task-notification>\nno, undo that\n</task-notification>", "p-2") == ""
    client.end()
    (outcome,) = client.outcomes()
    assert (outcome.decision.task, outcome.result.status) == (TASK, "neutral")


def test_what_is_left_goes_to_the_inbox_when_the_session_ends(client: Client) -> None:
    client.ask("What is a mutex?", "p-0")
    client.stop("A lock.", "p-0")
    client.ask()
    client.edit()
    client.stop()
    client.end()
    (outcome,) = client.outcomes()
    assert (outcome.decision.id, outcome.result.status) == ("p-1", "neutral")


def test_what_a_transcript_tells_and_the_notes_too_counts_once(client: Client) -> None:
    transcript = client.folder / "s-1.jsonl"
    base = {"sessionId": "s-1", "cwd": str(client.folder), "timestamp": "2026-11-20T12:01:30Z"}
    before = {**base, "type": "user", "promptId": "p-0", "message": {"content": "before"}}
    transcript.write_text(json.dumps(before) + "\n")
    place = str(transcript)
    client.tell("UserPromptSubmit", prompt_id="p-1", prompt=TASK, transcript_path=place)
    words = {"type": "text", "text": "Applying [S1], I wait for the event."}
    call = {"type": "tool_use", "id": "t-1", "name": "Bash", "input": {"command": "pytest -q"}}
    result = {"type": "tool_result", "tool_use_id": "t-1", "content": "3 passed in 0.1s"}
    lines: list[dict[str, Any]] = [
        {**base, "type": "user", "promptId": "p-1", "message": {"content": TASK}},
        {**base, "type": "assistant", "message": {"model": "m-1", "content": [words, call]}},
        {**base, "type": "user", "promptId": "p-1", "message": {"content": [result]}},
        {**base, "type": "user", "promptId": "p-2", "message": {"content": "another"}},
        {**base, "type": "assistant", "message": {"content": [{"type": "text", "text": "no"}]}},
    ]
    with transcript.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    client.test(passes=True)
    client.edit()
    client.test(passes=True)
    client.stop("All pass.")
    (outcome,) = client.outcomes()
    assert outcome.context == {"repository": "project", "model": "m-1"}
    assert outcome.decision.reasoning == "Applying [S1], I wait for the event."
    assert outcome.result.claim == "All pass."
    client.vault.run(now=client.at)
    (row,) = client.vault.stats(decision="p-1")["skills"]
    assert row["applied"] is True


def test_a_domain_that_looks_like_another_ones_name_is_left_alone(client: Client) -> None:
    hooks = Hooks(vault_parts(client.vault), HookClient(name="claude-code", domain="codng"), NOW)
    told = {"session_id": "s-1", "cwd": "/", "prompt_id": "p-1", "prompt": TASK}
    payload = parse_payload(json.dumps(told).encode())
    assert payload is not None
    assert hooks.react("UserPromptSubmit", payload) == ""
    client.test(passes=True)
    assert client.stop() == ""
    assert client.outcomes() == []


def test_where_skills_are_linked_they_are_exported_and_none_is_recommended(client: Client) -> None:
    client.who = HookClient(name="claude-code", domain="coding", links=client.folder)
    assert client.tell("SessionStart", source="startup") == ""
    (skill,) = client.vault.skills()
    assert (client.folder / f".claude/skills/{skill.name}/SKILL.md").exists()
    assert client.ask() == ""
    client.test(passes=True)
    client.stop()
    (outcome,) = client.outcomes()
    assert outcome.result.status == "success"
    assert not client.vault.store.snapshot().recommendations.by_decision("p-1")


def test_a_task_that_goes_on_ends_at_its_last_prompt(client: Client) -> None:
    client.ask()
    client.test(passes=False)
    client.stop("One test fails.")
    assert client.ask("go on", "p-2") == ""
    client.edit()
    client.test(passes=True)
    client.stop("All pass.", "p-2")
    assert {one.decision.id for one in client.outcomes()} == {"p-1"}
    assert client.vault.stats(decision="p-1")["outcome"] == "success"


def test_a_task_goes_on_in_a_session_that_had_ended(client: Client) -> None:
    client.tell("SessionStart", source="startup")
    client.ask()
    client.test(passes=False)
    client.stop("One test fails.")
    client.end()
    assert client.outcomes()[0].result.status == "failure"
    client.tell("SessionStart", source="resume")
    client.ask("continue", "p-2")
    client.test(passes=True)
    client.stop("All pass.", "p-2")
    client.end()
    assert {one.decision.id for one in client.outcomes()} == {"p-1"}
    assert client.vault.stats(decision="p-1")["outcome"] == "success"


def test_words_that_refuse_the_work_stand_over_a_test_that_passed_at_the_stop(
    client: Client,
) -> None:
    client.ask()
    client.edit()
    client.test(passes=True)
    client.stop("All pass.")
    client.ask("no, that is wrong, undo it", "p-2")
    client.outcomes()
    stats = client.vault.stats(decision="p-1")
    assert (stats["outcome"], stats["observed_by"]) == ("failure", "person")

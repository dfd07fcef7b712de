"""The real Claude Code and Codex as the judge, asked in the background after a session."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.model.records import Skill
from skillvault.vault.failpoint import VARIABLE
from tests.conftest import NOW, Person
from tests.given import as_file, raw
from tests.interop.desk import CHECK, PASSES, TASK, TRUSTED, ClaudeDesk, CodexDesk
from tests.interop.scripted_model import Block, ScriptedModel, serving_model, tool, words
from tests.judge.client_program import questions_of
from tests.judge.server import asked_for, claude, told

MINUTE = 60.0
EVENTS = ("SessionStart", "UserPromptSubmit", "Stop")
DESKS: dict[str, type[ClaudeDesk | CodexDesk]] = {"claude": ClaudeDesk, "codex": CodexDesk}
# Claude Code takes no reply without every field of its schema.
REMAINDER = {"relation": "new", "fact": "", "observed": False, "evidence": "", "slug": "funding"}
# What each start of a client writes, and the note of one that runs.
ALWAYS = ("/plugins/store/", "/.claude/sessions/", ".sqlite", "/.codex/tmp/")
WRITTEN = "chase high funding"  # words of the guide that the model writes


class JudgingModel(ScriptedModel):
    """A model that also answers the questions of a judge, as `server.claude` does.

    `asked` counts each question; its answers wait for the `gate`.
    """

    def __init__(self, turns: Sequence[Sequence[Block]]) -> None:
        super().__init__(turns)
        self.asked: Counter[str] = Counter()
        self.gate = threading.Event()
        self.gate.set()

    def reply_to(self, request: dict[str, Any]) -> list[Block]:
        """Answer a call of the judge by its schema, anything else by the script."""
        # A second turn of a call, once the answer was taken, needs none.
        names = {one["name"]: one for one in request.get("tools") or () if "name" in one}
        if "StructuredOutput" in names:
            system = "\n".join(part["text"] for part in request["system"])
            schema = names["StructuredOutput"]["input_schema"]
            answers = self._answers(system, _texts(request["messages"], "user"), schema)
            return [tool("StructuredOutput", **answers)]
        form = request.get("text", {}).get("format", {})
        if form.get("type") == "json_schema":
            system, user = (_texts(request["input"], role) for role in ("developer", "user"))
            answers = self._answers(system, user, form["schema"])
            return [words(json.dumps(answers))]
        return super().reply_to(request)

    def _answers(self, system: str, user: str, schema: dict[str, Any]) -> dict[str, Any]:
        bodies = questions_of(system, user, schema)
        self.asked.update(map(told, bodies.values()))
        assert self.gate.wait(MINUTE)
        answers: dict[str, Any] = {}
        for name, body in bodies.items():
            message = json.loads(claude(body).body)
            is_insight = asked_for(body) == "insight"
            reply = json.loads(message["content"][-1]["text"])
            answers[name] = reply | (REMAINDER if is_insight else {})
        return answers


def _texts(turns: Sequence[dict[str, Any]], role: str) -> str:
    contents = [turn["content"] for turn in turns if turn["role"] == role]
    parts = [[content] if isinstance(content, str) else content for content in contents]
    texts = [part if isinstance(part, str) else part.get("text", "") for p in parts for part in p]
    return "\n".join(texts)


@pytest.fixture
def judge_desk(
    request: pytest.FixtureRequest, vault: Vault, person: Person, tmp_path: Path
) -> Iterator[ClaudeDesk | CodexDesk]:
    """A desk with the client that is the judge, too."""
    desk = DESKS[request.param](vault, person, tmp_path, request.param)
    yield desk
    desk.close()


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
        time.sleep(0.1)


def skills(vault: Vault) -> list[Skill]:
    """The skills that are served now."""
    return list(Vault(vault.root).store.snapshot().skills.values())


def work(desk: ClaudeDesk | CodexDesk, model: ScriptedModel, prompt: str = TASK) -> str:
    """One prompt in a session of its own: all that the client prints."""
    if isinstance(desk, ClaudeDesk):
        done = desk.ask(model, prompt)
    else:
        done = desk.prompt(model, prompt, TRUSTED)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def repair(desk: ClaudeDesk | CodexDesk) -> list[list[Block]]:
    """The turns of a session that makes the failing test pass."""
    commands = [CHECK, f"cat > test_cart.py <<'X'\n{PASSES}X", CHECK]
    if isinstance(desk, ClaudeDesk):
        turns = [[tool("Bash", command=one, description="work")] for one in commands]
    else:
        turns = [[tool("exec_command", cmd=one)] for one in commands]
    return [*turns, [words("Fixed.")]]


def count_hooks(desk: ClaudeDesk | CodexDesk, folder: Path) -> Path:
    """Hook a command to the events of all sessions; return the file that it appends to.

    Codex runs only trusted hooks, so here every `codex exec` trusts them all.
    """
    place = folder / "fired"
    place.touch()
    hooks = {
        event: [{"hooks": [{"type": "command", "command": f'echo "{event} $PWD" >> {place}'}]}]
        for event in EVENTS
    }
    is_claude = isinstance(desk, ClaudeDesk)
    page = desk.program.home / (".claude/settings.json" if is_claude else ".codex/hooks.json")
    page.parent.mkdir(exist_ok=True)
    page.write_text(json.dumps({"hooks": hooks}))
    if not is_claude:
        script = folder / "trusting/codex"
        script.parent.mkdir()
        call = f'[ "$1" = exec ] && shift && exec {desk.program.command} exec {TRUSTED} "$@"'
        script.write_text(f'#!/bin/sh\n{call}\nexec {desk.program.command} "$@"\n')
        script.chmod(0o755)
        path = f"{script.parent}:{desk.program.folder}:{os.environ['PATH']}"
        desk.program.more["PATH"] = path
    return place


def read_home(home: Path) -> dict[str, str]:
    """Return the digests of all that a client keeps, without what each of its starts writes."""
    places = [home / ".claude.json", *home.glob(".claude/**/*"), *home.glob(".codex/**/*")]
    files = {str(p): sha256(p.read_bytes()).hexdigest() for p in places if p.is_file()}
    return {name: data for name, data in files.items() if not any(one in name for one in ALWAYS)}


def make_eight_wait(vault: Vault) -> None:
    """Leave eight questions about work of the last hour, and none that is older."""
    for question in vault.queue.open_questions():
        vault.queue.drop_question(question.answer_key)
    now = datetime.now(UTC).replace(microsecond=0)
    outcomes = [
        raw(
            occurred_at=(now - timedelta(minutes=number)).isoformat(),
            decision__made_at=(now - timedelta(minutes=number + 9)).isoformat(),
            decision__target=f"part-{number}",
            decision__reasoning=f"Raise the timeout to {number + 3} s, as CI is slow.",
        )
        for number in range(4)
    ]
    vault.record([(f"{n}.json", as_file(one)) for n, one in enumerate(outcomes)], now=now)
    vault.run(now=now)
    assert len(vault.queue.open_questions()) >= 8


@pytest.mark.parametrize(
    ("judge_desk", "waiting"),
    [("claude", "a failure"), ("codex", "one for days"), ("codex", "eight")],
    indirect=["judge_desk"],
)
def test_the_next_session_brings_the_guide_that_the_client_wrote(
    judge_desk: ClaudeDesk | CodexDesk, waiting: str, person: Person, tmp_path: Path
) -> None:
    desk = judge_desk
    fired = count_hooks(desk, tmp_path)
    desk.setup()
    with serving_model([words("Hello.")], kind=JudgingModel) as model:
        assert isinstance(model, JudgingModel)
        hello = work(desk, model, "Say hello")
        appoint(person, desk.client)
        if waiting == "eight":
            make_eight_wait(desk.vault)
        model.turns[:] = repair(desk)
        model.gate.clear()
        assert work(desk, model).strip() == "Fixed."
        files = desk.files()
        until(lambda: bool(model.asked))
        # The client is asked now, and the person works on beside it.
        model.turns[:] = [[words("Hello.")]]
        assert work(desk, model, "Say hello") == hello
        home = read_home(desk.program.home)
        model.gate.set()
        until(lambda: any(WRITTEN in one.description for one in skills(desk.vault)))
        until(lambda: not (desk.vault.root / ".git/skillvault/client").exists())
        assert read_home(desk.program.home) == home
        assert desk.files() == files
        model.turns[:] = [[words("Hello.")]]
        assert work(desk, model, "Say hello") == hello
    assert WRITTEN in model.texts()[-1]
    sessions = Counter({f"{event} {desk.project}": 4 for event in EVENTS})
    assert Counter(fired.read_text().splitlines()) == sessions
    assert max(model.asked.values()) == 1


# ── kills ────────────────────────────────────────────────────────────────────────────

# When the kill comes, and who is killed. An answer on its way to a killed client is lost.
KILLS = (
    ("started", "asker"), ("started", "both"), ("arrived", "client"), ("arrived", "asker"),
    ("arrived", "both"), ("answered", "asker"), ("answered", "client"), ("ended", "asker"),
)  # fmt: skip


def start_asker(
    desk: ClaudeDesk | CodexDesk, model: ScriptedModel, point: str = ""
) -> subprocess.Popen[str]:
    """`skillvault ask --send`, which is killed at a failpoint."""
    return subprocess.Popen(
        [sys.executable, "-m", "skillvault", "--vault", str(desk.vault.root), "ask", "--send"],
        env=desk.program.environment(**desk.keys(model), **{VARIABLE: point}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def child_of(vault: Vault) -> int:
    """The process of the client that is asked now; 0 without one."""
    try:
        note = json.loads((vault.root / ".git/skillvault/client/call.json").read_text())
    except FileNotFoundError:
        return 0
    return int(note["child"])


def kill(desk: ClaudeDesk | CodexDesk, model: JudgingModel, moment: str, victims: str) -> None:
    """Start an asker, and kill it, its client or both at a moment."""
    count = sum(model.asked.values())
    if moment != "answered":
        model.gate.clear()
    asker = start_asker(desk, model, "client-ended=kill" if moment == "ended" else "")
    if moment == "ended":
        model.gate.set()
        assert asker.wait(MINUTE) == -signal.SIGKILL
        return
    until(lambda: child_of(desk.vault) != 0)
    child = child_of(desk.vault)
    if moment != "started":
        until(lambda: sum(model.asked.values()) > count)
    if victims != "asker":
        os.killpg(child, signal.SIGKILL)
    if victims != "client":
        asker.kill()
    model.gate.set()
    asker.communicate(timeout=MINUTE)


@pytest.mark.parametrize("judge_desk", ["claude", "codex"], indirect=True)
def test_no_kill_loses_a_question_or_repeats_a_stored_answer(
    judge_desk: ClaudeDesk | CodexDesk, person: Person
) -> None:
    desk, vault = judge_desk, judge_desk.vault
    appoint(person, desk.client)
    with serving_model([words("Hello.")], kind=JudgingModel) as model:
        assert isinstance(model, JudgingModel)
        desk.configure(model)
        work(desk, model, "Say hello")
        home = read_home(desk.program.home)
        for number, (moment, victims) in enumerate(KILLS):
            one = raw(number, decision__target=f"part-{number}", decision__reasoning="")
            vault.record([("o.json", as_file(one))], now=NOW)
            vault.run(now=NOW)
            before = Counter(model.asked)
            kill(desk, model, moment, victims)
            vault.store.ledger.forget_failures()  # as `run --retry` does
            asker = start_asker(desk, model)
            said, _ = asker.communicate(timeout=MINUTE)
            assert asker.returncode == 0, said
            most = 1 if victims == "asker" else 2
            assert max((model.asked - before).values()) <= most, (moment, victims)
            assert vault.queue.open_questions() == []
    answers = vault.store.snapshot().answers.values()
    assert len(answers) == len(model.asked)
    assert read_home(desk.program.home) == home
    assert not (vault.root / ".git/skillvault/client").exists()

"""The judges of a vault: the model behind the API, or an agent that says the same in files.

The tests of money and kills use both of them, and the tests of faults use a client too. One
script answers all of them, as `server.claude` does.
"""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import ClassVar, TypeAlias

from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.loop.judging.client_calls import ClientCalls
from skillvault.loop.judging.question_queue import AskedQuestion
from skillvault.loop.run import Report
from skillvault.model.brief import Verdict
from skillvault.model.errors import BadInputError, NoAnswerError, UnavailableError
from tests.conftest import NOW
from tests.forked import called, calling, done, log_of, started
from tests.given import as_file, trade
from tests.judge.conftest import appoint
from tests.judge.given import Clock, ask, asking
from tests.judge.server import Answer, Body, Script, Server, asked_for, claude, told

_ROUNDS = 9  # of questions that follow from answers, at most


class ClaudeAsker:
    """Asks Claude for verdicts, with a ledger in a folder and a clock to be wound on."""

    pays = True

    def __init__(self, place: Path, clock: Clock, seconds: float) -> None:
        self._judge, self._ledger = asking(place, clock, deadline_seconds=seconds)

    def ask(self, reasoning: object) -> Verdict:
        """The verdict on a decision; another reasoning is another question."""
        return ask(self._judge, reasoning)

    @property
    def calls(self) -> int:
        """The number of requests that were paid for."""
        return self._ledger.spent_today().calls

    @property
    def closed(self) -> str | float | None:
        """The time until which nobody is asked."""
        return self._ledger.closed_reason()


class VaultAsker:
    """Asks for verdicts in a vault; `answer` has its questions answered."""

    pays = False

    def __init__(self, vault: Vault, answer: Callable[[Vault], object], **rules: object) -> None:
        appoint(vault, **rules)
        self._vault, self._answer = vault, answer

    def ask(self, reasoning: object) -> Verdict:
        """The verdict on a decision; NoAnswerError where the offline one stands."""
        one = trade(decision__reasoning=f"Because of {reasoning}.")
        self._vault.record([("o.json", as_file(one))], now=NOW)
        assert self._vault.run(["evaluate"], now=NOW).waiting == []
        self._answer(self._vault)
        (evaluation,) = self._vault.store.snapshot().evaluations.values()
        if not any(a.kind == "verdict" for a in self._vault.store.snapshot().answers.values()):
            raise NoAnswerError("no answer was kept")
        return Verdict(
            was_good_decision=evaluation.was_good_decision,
            quality_score=evaluation.quality_score,
        )

    @property
    def calls(self) -> int:
        """The number of requests that were paid for."""
        return self._vault.status().judge.calls

    @property
    def closed(self) -> str | float | None:
        """The reason why nobody is asked."""
        return self._vault.status().judge.closed


class ByClaude:
    """Claude behind the API on loopback."""

    name: ClassVar = "claude"
    # Where replies are there and not committed: behind each of the three, and in publications.
    points: ClassVar = (
        "reply-journalled", "lock-taken", "reply-journalled:2", "objects-written",
        "reply-journalled", "branch-moved",
    )  # fmt: skip
    pays: ClassVar = True
    tokens: ClassVar = 2400  # of a verdict and an insight
    lost_at_a_kill: ClassVar = 1

    def __init__(self, api: Server) -> None:
        self.api = api

    def asker(self, _vault: Vault, place: Path, clock: Clock, *, seconds: float) -> ClaudeAsker:
        """Return an asker of verdicts, each of which may take so many seconds."""
        return ClaudeAsker(place, clock, seconds)

    def begun(self, vault: Vault) -> BaseProcess:
        """The process in which answers come and are kept, at work."""
        return started(vault.root)

    def work(self, vault: Vault, failpoint: str = "") -> int | None:
        """Let the program learn, in a process of its own that may be killed; its exit code."""
        return done(vault.root, failpoint)

    def evaluate(self, vault: Vault, _at_once: int = 1) -> Report:
        """Judge the outcomes; the policy says how many at once."""
        return vault.run(["evaluate"], now=NOW)

    def replied(self, vault: Vault) -> int:
        """Return how many questions were answered so far, kept or not."""
        return len(self.api.requests)

    def answered_twice(self, vault: Vault) -> int:
        """Return how many answers came after the first one to the same question."""
        asked = Counter(told(body) for body in self.api.requests)
        return sum(count - 1 for count in asked.values())

    def kinds(self, vault: Vault) -> set[str]:
        """Return the kinds of the questions that were asked."""
        return {asked_for(body) for body in self.api.requests}


class ByAgent:
    """An agent beside the vault: each of its replies is a file, written before it is handed in."""

    name: ClassVar = "agent"
    # All points of the publication in which an answer is committed.
    points: ClassVar = (
        "before-lock", "lock-taken", "index-locked", "objects-written", "intent-written",
        "draft-written", "file-placed", "before-index", "index-written", "before-swap",
        "branch-moved", "index-unlocking", "index-unlocked", "intent-done",
    )  # fmt: skip
    pays: ClassVar = False
    tokens: ClassVar = None
    lost_at_a_kill: ClassVar = 0

    def __init__(self, api: Server) -> None:
        self.api = api

    def asker(self, vault: Vault, place: Path, _clock: Clock, *, seconds: float) -> VaultAsker:
        """Return an asker of verdicts in a copy of a vault; nobody waits for them."""
        return VaultAsker(
            copy_vault(vault, place),
            lambda v: answer_all(self.api.script, v.root),
            provider="agent",
        )

    def begun(self, vault: Vault) -> BaseProcess:
        """The process in which answers come and are kept, at work."""
        return calling(partial(answer_all, claude), vault.root)

    def work(self, vault: Vault, failpoint: str = "") -> int | None:
        """Answer in a process of its own that may be killed; its exit code."""
        return called(partial(answer_all, claude), vault.root, failpoint)

    def evaluate(self, vault: Vault, at_once: int = 1) -> Report:
        """Judge the outcomes, and have so many agents answer; several at once are processes."""
        report = vault.run(["evaluate"], now=NOW)
        if at_once == 1:
            answer_all(self.api.script, vault.root)
            return report
        names = [f"agent-{number}" for number in range(at_once)]
        agents = [calling(partial(answer_all, claude, agent=name), vault.root) for name in names]
        for agent in agents:
            agent.join(120)
        assert [agent.exitcode for agent in agents] == [0] * at_once, log_of(vault.root).read_text()
        return report

    def replied(self, vault: Vault) -> int:
        """Return how many questions were answered so far, kept or not."""
        return len(list(replies_of(vault.root).glob("*")))

    def answered_twice(self, vault: Vault) -> int:
        """Return how many answers are committed more than once, or never."""
        made = Counter(
            str(end) for one in vault.log() for end in one.targets if str(end).startswith("answer:")
        )
        written = {f"answer:{path.stem}" for path in replies_of(vault.root).glob("*")}
        return sum(count - 1 for count in made.values()) + len(written.difference(made))

    def kinds(self, vault: Vault) -> set[str]:
        """Return the kinds of the questions that were asked."""
        kinds = {answer.kind for answer in vault.store.snapshot().answers.values()}
        names = {"verdict": "verdict", "insight": "insight", "contrast": "insight"}
        return {names.get(kind, "text") for kind in kinds}


class ByClient:
    """A scripted client, which asks the API on loopback."""

    def __init__(self, api: Server) -> None:
        self.api = api

    def asker(self, vault: Vault, place: Path, clock: Clock, *, seconds: float) -> VaultAsker:
        """Return an asker of verdicts in a copy of a vault; a client takes a second to start."""

        def answer(vault: Vault) -> None:
            report = ClientCalls(vault.store, vault.queue, clock.wall).ask_open_questions()
            if report.stopped:
                raise UnavailableError(report.stopped)

        rules = {"provider": "client", "client_seconds": max(seconds, 10.0)}
        return VaultAsker(copy_vault(vault, place), answer, **rules)


Provider: TypeAlias = ByClaude | ByAgent
PROVIDERS: tuple[type[Provider], ...] = (ByClaude, ByAgent)


def copy_vault(vault: Vault, place: Path) -> Vault:
    """Return a copy of a vault in a folder."""
    return Vault(Path(shutil.copytree(vault.root, place / "vault")))


def replies_of(root: Path, agent: str = "agent") -> Path:
    """Return the folder where an agent writes its replies; make it if it is missing."""
    place = root.with_name(f"{root.name}-{agent}-replies")
    place.mkdir(exist_ok=True)
    return place


def request_of(question: AskedQuestion) -> Body:
    """A question as the wire would carry it, for the scripts of a server."""
    return {
        "system": [{"type": "text", "text": question.prompt}],
        "messages": [{"role": "user", "content": question.record}],
        "output_config": {"format": {"type": "json_schema", "schema": question.schema}},
    }


def file_of(answer: Answer) -> bytes:
    """Return an answer as an agent's file holds it: its text, or whatever else came."""
    if answer.how in ("reset", "hang"):
        return b""
    body = answer.body
    with suppress(ValueError, TypeError, KeyError):
        message = json.loads(body.decode())
        body = "".join(part.get("text", "") for part in message["content"]).encode()
    return body[: len(body) // 2] if answer.how in ("short", "drip") else body


def answer_one(root: Path, question: AskedQuestion, place: Path, script: Script) -> int:
    """Write the reply that a script gives, unless it is there, and hand it in; the exit code."""
    if not place.exists():
        place.write_bytes(file_of(script(request_of(question))))
    given = CliRunner().invoke(
        cli, ["--vault", str(root), "answer", question.key, str(place), "--now", NOW.isoformat()]
    )
    if isinstance(given.exception, BadInputError):
        place.unlink()  # of no use: the next one is another
    elif given.exception is not None:
        raise given.exception
    return given.exit_code


def answer_all(script: Script, root: Path, *, agent: str = "agent") -> None:
    """Answer what is open, until nothing follows."""
    replies = replies_of(root, agent)
    refused: set[str] = set()
    for _ in range(_ROUNDS):
        asked = [one for one in Vault.open(root).queue.next_questions(99) if one.key not in refused]
        for question in asked:
            if answer_one(root, question, replies / question.key, script):
                refused.add(question.key)
        if not asked:
            return

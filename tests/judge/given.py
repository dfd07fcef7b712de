"""A judge that asks the API on loopback, with a clock that a test can wind on."""

import os
import sys
import time
from pathlib import Path
from typing import Any

from skillvault.api import Vault
from skillvault.judge.claude.judge import ClaudeJudge
from skillvault.judge.claude.prompts import Prompts
from skillvault.judge.claude.questions import Questions
from skillvault.loop.judging.paid_calls import Caller
from skillvault.model.brief import BlindCase, Verdict
from skillvault.model.policy import DistillPolicy, JudgePolicy
from skillvault.model.records import Decision
from skillvault.vault.files.redact import redact_value
from skillvault.vault.spending import Ledger
from tests.conftest import NOW
from tests.given import as_file, trade
from tests.judge import client_program

HOUR = 3600.0
REPEATS = int(os.environ.get("SKILLVAULT_FAULTS", "1"))


class Clock:
    """Real time, but sleeping takes none, and a day passes when it is told to."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._more = 0.0

    def now(self) -> float:
        """Seconds since it was made."""
        return time.monotonic() - self._begin + self._more

    def wall(self) -> float:
        """Unix time."""
        return NOW.timestamp() + self.now()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self._more += seconds


def asking(place: Path, clock: Clock, **rules: Any) -> tuple[ClaudeJudge, Ledger]:
    """A judge, and the ledger in this folder."""
    policy = JudgePolicy(**{"provider": "claude", "usd_per_day": 1000.0, **rules})
    ledger = Ledger(place / "judge.db", clock.wall)
    caller = Caller(ledger, policy, now=clock.now, sleep=clock.sleep)
    questions = Questions(policy, Prompts({}, redact_value), DistillPolicy())
    return ClaudeJudge(questions, caller.ask_claude, caller.forget_reply, lambda key: None), ledger


def ask(judge: ClaudeJudge, reasoning: object) -> Verdict:
    """The verdict on a decision; another reasoning is another question."""
    decision = Decision(action="open_long", reasoning=f"Because of {reasoning}.")
    return judge.verdict(BlindCase("perps", decision))


def record_trade(vault: Vault, number: int, reasoning: str) -> None:
    """Record an outcome of a decision of its own."""
    one = trade(number % 15, decision__target=f"T{number}", decision__reasoning=reasoning)
    vault.record([("o.json", as_file(one))], now=NOW)


def put_client_on_path(folder: Path) -> str:
    """Return a PATH on which the scripted client stands as `claude` and as `codex`."""
    place = folder / "clients"
    place.mkdir()
    script = Path(client_program.__file__).read_text(encoding="utf-8")
    for name in ("claude", "codex"):
        program = place / name
        program.write_text(f"#!{sys.executable} -IS\n{script}", encoding="utf-8")
        program.chmod(0o755)
    return f"{place}{os.pathsep}{os.environ['PATH']}"

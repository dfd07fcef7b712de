"""Calls and tokens of a client as the judge, for each outcome.

    python bench/client_judge.py [--week] [SHARED]

A scripted client answers on the PATH, with a model of the tests behind it; four characters count as
a token, in and out, and the overhead of a call is as measured with the real programs. SHARED is the
folder with the streams and data (default: ../shared). The agent runs are imported at once, the
streams come a session at a time, and the client is asked after each. `--week` plays bench/week.py.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from week import Learner, move_to_now
from week_place import Workplace
from week_script import read_week

from skillvault import Vault
from skillvault.clients.hook_client import ASKING
from skillvault.loop.judging.client_calls import ClientCalls, ClientReport
from tests.conftest import Person
from tests.judge.given import put_client_on_path
from tests.judge.server import serving

_SHARED = Path(__file__).parents[2] / "shared"
_CLIENTS = ("claude-code", "codex")
_STREAMS = {
    "agent runs": "data/agent-runs/outcomes.jsonl",
    "journal": "bench/streams/journal.jsonl",
    "upgrades": "bench/streams/deps.jsonl",
}
_AT_ONCE = {"agent runs"}  # the others come a session at a time


def appoint_client(vault: Vault, client: str) -> None:
    """Make a client the judge, with a budget that does not end."""
    page = vault.root / "vault.yaml"
    limits = "  client_calls_per_day: 10000\n  client_tokens_per_day: 100000000\n"
    rules = f"\njudge:\n  provider: client\n  client: {client}\n{limits}"
    page.write_text(page.read_text(encoding="utf-8").rstrip() + rules, encoding="utf-8")
    Person(vault.root).git("commit", "-q", "-am", "Appoint the client", "--no-verify")


def ask_client(vault: Vault, at: datetime) -> ClientReport:
    """Ask what is worth a call at a time."""
    report = ClientCalls(vault.store, vault.queue, at.timestamp).ask_open_questions(when_due=True)
    assert not report.stopped, report
    return report


def play_stream(vault: Vault, place: Path, *, at_once: bool) -> Iterator[ClientReport]:
    """Record a stream, and ask after each of its sessions, and a day later."""
    lines = [json.loads(line) for line in place.read_text(encoding="utf-8").splitlines()]
    lines.sort(key=lambda line: str(line["occurred_at"]))
    end = datetime.fromisoformat(lines[-1]["occurred_at"])
    for _, group in groupby(lines, key=lambda line: at_once or _session_of(line)):
        session = list(group)
        at = end if at_once else datetime.fromisoformat(session[-1]["occurred_at"])
        files = [(f"{n}.json", json.dumps(line).encode()) for n, line in enumerate(session)]
        vault.record(files, now=end)
        vault.run(now=at)
        yield ask_client(vault, at)
    yield ask_client(vault, end + timedelta(days=1))


def _session_of(line: Mapping[str, Any]) -> str:
    return str(line.get("source", {}).get("session") or line["event_id"])


class _QuietWorkplace(Workplace):
    """A workplace whose commands start no asker."""

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the developer's commands."""
        return {**super().environment, ASKING: "1"}


def play_week(root: Path, client: str) -> tuple[Vault, list[ClientReport]]:
    """Play the week, and ask after each of its sessions, and a day later."""
    week = move_to_now(read_week())
    learner = Learner(_QuietWorkplace(root, week.repositories), has_client=False)
    reports: list[ClientReport] = []
    appoint_client(learner.vault, client)
    try:
        for session in week.sessions:
            learner.play(session)
            reports.append(ask_client(learner.vault, session.at))
        reports.append(ask_client(learner.vault, week.sessions[-1].at + timedelta(days=1)))
    finally:
        learner.close()
    return learner.vault, reports


def play(
    shared: Path, client: str, *, week: bool
) -> Iterator[tuple[str, Vault, list[ClientReport]]]:
    """Yield (the name of a stream, the vault that has learned from it, the client's work)."""
    with tempfile.TemporaryDirectory() as folder:
        if week:
            yield "the week", *play_week(Path(folder).resolve(), client)
            return
    for name, place in _STREAMS.items():
        with tempfile.TemporaryDirectory() as folder:
            vault, _ = Vault.init(Path(folder) / "vault")
            appoint_client(vault, client)
            reports = play_stream(vault, shared / place, at_once=name in _AT_ONCE)
            yield name, vault, list(reports)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--week", action="store_true", help="Play the week.")
    parser.add_argument(
        "shared", nargs="?", type=Path, default=Path(__file__).parents[2] / "shared"
    )
    options = parser.parse_args()
    print("| client | outcomes of | how many | calls | answers | calls each | tokens each |")
    print("|---|---|---|---|---|---|---|")
    with serving() as api, tempfile.TemporaryDirectory() as folder:
        os.environ["ANTHROPIC_BASE_URL"] = api.url
        os.environ["PATH"] = put_client_on_path(Path(folder))
        for client in _CLIENTS:
            for name, vault, reports in play(options.shared, client, week=options.week):
                head = vault.store.snapshot()
                calls, tokens = sum(r.calls for r in reports), sum(r.tokens for r in reports)
                count = len(head.outcomes)
                figures = f"{calls} | {len(head.answers)} | {calls / count:.2f}"
                print(f"| {client} | {name} | {count} | {figures} | {tokens / count:,.0f} |")
                sys.stdout.flush()


if __name__ == "__main__":
    main()

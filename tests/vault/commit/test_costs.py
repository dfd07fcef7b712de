"""One more outcome costs git the same few processes and objects, however much was learned."""

import json
import os
from pathlib import Path

import pytest

from skillvault.api import Vault
from tests.conftest import NOW
from tests.given import as_file, trade


def _file(number: int) -> bytes:
    return as_file(trade(number % 18, event_id=f"trade-{number}"))


def _add(vault: Vault, number: int, *steps: str) -> None:
    """Let one more outcome go through these steps, all by default."""
    place = vault.root / f"inbox/{number}.json"
    place.write_bytes(_file(number))
    os.utime(place, (1e9, 1e9))  # nobody is writing it any more
    assert vault.run(steps, now=NOW).done


def _objects(vault: Vault) -> set[Path]:
    return set((vault.root / ".git/objects").glob("??/*"))


@pytest.fixture(params=[3, 60], ids=lambda count: f"{count} outcomes")
def learned(request: pytest.FixtureRequest, vault: Vault) -> Vault:
    """A vault in which the program has committed before."""
    vault.record([(f"{n}.json", _file(n)) for n in range(request.param)], now=NOW)
    vault.run(now=NOW)
    _add(vault, 100)
    return vault


def test_one_more_outcome_starts_two_git_processes(
    learned: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine a run publishes before it has all.
    for name in ("_MIN_PATIENCE", "_MAX_PATIENCE"):
        monkeypatch.setattr(f"skillvault.loop.run.{name}", 60.0)
    trace = tmp_path / "trace"
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(trace))
    _add(learned, 101)
    events = map(json.loads, trace.read_text().splitlines())
    names = [event["name"] for event in events if event["event"] == "cmd_name"]
    assert sorted(names) == ["update-index", "update-ref"]


def test_one_more_outcome_and_its_evaluation_write_few_objects(learned: Vault) -> None:
    before = _objects(learned)
    _add(learned, 101, "record", "evaluate")
    assert len(_objects(learned) - before) <= 16

"""Many threads on one vault: nothing is lost, and who serves does not wait for who learns."""

import json
import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from skillvault.api import Vault
from skillvault.judge.offline.judge import OfflineJudge
from skillvault.loop.registry import AGENDA
from skillvault.model.records import Outcome
from skillvault.vault.commit.store import Store
from tests.conftest import NOW, Person
from tests.given import as_file, raw

THREADS = 8
# CI tries some calls a thread; `make person` tries all.
CALLS = 200 if "SKILLVAULT_SEQUENCES" in os.environ else 12


def decided(name: str) -> bytes:
    """An outcome's file of a decision of this name."""
    return as_file(raw(decision__id=name, decision__target=name))


def work(vault: Vault, number: int) -> list[str]:
    """One thread's calls, in an order of its own; the decisions whose outcomes it recorded."""
    order = random.Random(number)
    recorded: list[str] = []
    for call in range(CALLS):
        match order.randrange(6):
            case 0 | 1:
                name = f"d-{number}-{call}"
                report = vault.record([(f"{name}.json", decided(name))])
                assert (len(report.done), report.waiting, report.known) == (1, [], [])
                recorded.append(name)
            case 2:
                vault.run(patience=0.0)
            case 3:
                vault.recommend("coding", "a flaky test of the checkout")
            case 4:
                vault.search("raise the timeout")
            case _:
                vault.status()
    return recorded


def in_git(person: Person) -> list[str]:
    """The decisions whose outcomes are committed."""
    paths = person.git("ls-tree", "-r", "--name-only", "HEAD", "outcomes").split()
    lines = "\n".join(person.git("show", f"HEAD:{path}") for path in paths).splitlines()
    return sorted(line.split()[-1] for line in lines if line.startswith("  id: d-"))


def test_eight_threads_on_one_vault_lose_nothing(vault: Vault, person: Person) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        parts = pool.map(lambda number: work(vault, number), range(THREADS))
        recorded = sorted(name for part in parts for name in part)
    assert in_git(person) == recorded
    for other in (vault, Vault.open(vault.root)):
        assert other.status().outcomes == len(recorded)
    vault.run()
    assert vault.status().evaluations == len(recorded)
    assert vault.check().problems == []
    assert vault.inbox.names() == vault.inbox.quarantine.file_names() == []
    assert person.git("fsck", "--strict") == ""


class SlowJudge(OfflineJudge):
    """One who does not answer before he may."""

    def __init__(self) -> None:
        self.asked, self.may_answer = threading.Event(), threading.Event()

    def insight(self, *case: object) -> None:
        """Nothing, after a long time."""
        self.asked.set()
        assert self.may_answer.wait(60)


def test_who_serves_and_records_does_not_wait_for_a_run(vault: Vault, tmp_path: Path) -> None:
    judge = SlowJudge()
    shared = Vault.open(vault.root, judge)
    shared.record([("a.json", decided("d-a"))], now=NOW)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(shared.run, now=NOW)
        try:
            assert judge.asked.wait(60)
            assert shared.recommend("coding", "a flaky test").recommended is not None
            assert shared.search("raise the timeout", semantic=False) is not None
            assert shared.record([("b.json", decided("d-b"))], now=NOW).done
            assert shared.status().outcomes == 2
            assert not running.done()
        finally:
            judge.may_answer.set()
        assert running.result().waiting == []
    assert shared.check().problems == []


def test_a_run_leaves_what_another_thread_is_recording(vault: Vault) -> None:
    with vault.inbox.drop_reserved([("a.json", decided("d-a"))]) as names:
        assert names == ["a.json"]
        assert vault.run(now=NOW).done == []
    (done,) = vault.run(["record"], now=NOW).done
    assert [type(record) for record in done.change.writes] == [Outcome]


def test_each_thread_stages_for_itself(vault: Vault) -> None:
    store = Store(vault.root, AGENDA)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: id(store.index)).result() != id(store.index)
        assert json.dumps(store.snapshot().commit) == json.dumps(vault.store.snapshot().commit)

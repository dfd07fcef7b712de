"""run: changes that come quickly are published together."""

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.judge.offline.judge import OfflineJudge
from skillvault.loop.run import Run, RunOptions
from skillvault.model.brief import BlindCase, Verdict
from skillvault.model.records import JudgeInfo
from skillvault.vault.files import layout
from tests.conftest import NOW, Person
from tests.given import as_file, raw
from tests.vault.given import anew, files, shown

STEP = 0.125  # seconds from one change to the next


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def move(self, seconds: float) -> None:
        """Let so much time pass."""
        self.now += seconds


@pytest.mark.parametrize(("each", "sizes"), [(0.0, [3, 3, 3, 3, 3, 3]), (STEP, [3, 15])])
def test_the_longer_publishing_takes_the_more_is_published_at_once(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, each: float, sizes: list[int]
) -> None:
    """A group gathers for as long as it should, and longer where the last one took long."""
    clock = Clock()
    monkeypatch.setattr("skillvault.loop.run.time", SimpleNamespace(monotonic=lambda: clock.now))
    published: list[int] = []
    options = RunOptions(
        on_done=lambda _: clock.move(each),
        between=lambda: published.append(len(run.report.done) - sum(published)),
    )
    run = Run(vault.store, judge=vault.judge, now=NOW, options=options)
    for number in range(18):
        run.perform(files(**{f"notes_n{number}": f"{number}\n"}))
        clock.move(STEP)
    run.flush()
    assert published == sizes


class SlowJudge(OfflineJudge):
    """A judge that may be waited for; which step's commit is the last whenever it is asked."""

    info = JudgeInfo(name="slow", version="1")

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self.seen: list[str] = []

    def verdict(self, case: BlindCase) -> Verdict:
        """Look at what is committed, as one who need not wait to write; then answer."""
        place = self._vault.root / ".git/skillvault/index.db"
        with closing(sqlite3.connect(place, timeout=0)) as index:
            index.execute("begin immediate")
        self.seen.append(Vault(self._vault.root).log()[0].step)
        return super().verdict(case)


def test_what_one_wake_records_and_evaluates_is_one_commit_of_both_steps(
    vault: Vault, person: Person
) -> None:
    founded = person.git("rev-parse", "HEAD")
    (vault.root / "inbox/a.json").write_bytes(as_file(raw()))
    report = vault.run(["record", "evaluate"], now=NOW)
    (outcome,) = vault.store.snapshot().outcomes
    ends = [(c.step, c.sources, c.targets) for c in vault.log() if c.step != "init"]
    refs = (f"outcome:{outcome}",), (f"evaluation:{outcome}",)
    assert ends == [("evaluate", *refs), ("record", (), refs[0])]
    assert person.git("rev-list", f"{founded}..HEAD").split() == [report.done[1].commit]
    assert [c["step"] for c in vault.why(outcome)["commits"]] == ["evaluate"]
    assert [c["step"] for c in vault.impact(outcome)["commits"]] == ["record"]
    assert shown(vault) == shown(anew(vault.root))
    person.git("revert", "--no-edit", "HEAD")
    assert vault.run(now=NOW).done == []
    assert shown(vault) == shown(anew(vault.root))


def test_what_all_steps_of_a_run_do_is_published_at_once(
    vault: Vault, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillvault.loop.run.Run._must_publish", lambda _: False)  # on any machine
    (vault.root / "inbox/a.json").write_bytes(as_file(raw()))
    before = person.git("reflog", "main").splitlines()
    report = vault.run(now=NOW)
    assert {done.change.step for done in report.done} == {"record", "evaluate", "generate"}
    assert len(person.git("reflog", "main").splitlines()) == len(before) + 1


def test_what_is_recorded_is_published_before_a_slow_judge_is_asked(vault: Vault) -> None:
    judge = SlowJudge(vault)
    (vault.root / "inbox/a.json").write_bytes(as_file(raw()))
    Vault(vault.root, judge).run(now=NOW)
    assert judge.seen == ["record"]


def test_what_a_slow_judge_said_is_published_before_it_is_asked_more(vault: Vault) -> None:
    judge = SlowJudge(vault)
    for domain in ("coding", "perps"):
        (vault.root / f"inbox/{domain}.json").write_bytes(as_file(raw(domain=domain)))
    Vault(vault.root, judge).run(now=NOW)
    assert judge.seen == ["record", "evaluate"]


def test_the_message_of_a_commit_of_intake_stays_small(vault: Vault, person: Person) -> None:
    for number in range(250):
        name, data = f"{number}.json", as_file(raw(decision__action=f"act-{number}"))
        (vault.root / "inbox" / name).write_bytes(data)
    vault.run(["record", "evaluate"], now=NOW)
    sizes = [len(text) for text in person.git("log", "-z", "--format=%B").split("\0")]
    assert max(sizes) < 20_000
    assert person.git("rev-list", "--count", "HEAD") == "4"
    assert len(vault.store.snapshot().evaluations) == 250


def test_after_a_run_that_could_do_nothing_nothing_is_called_due(
    vault: Vault, person: Person
) -> None:
    vault.record([("a.json", as_file(raw()))], now=NOW)
    (outcome,) = vault.store.snapshot().outcomes.values()
    path = layout.outcome_path(outcome.domain, outcome.id, "evaluations")
    place = person.write(path, "mine\n")
    report = vault.run(now=NOW)
    assert (report.done, [waiting.path for waiting in report.waiting]) == ([], [path])
    assert set(vault.status().waiting.values()) == {0}
    answer = vault.why_not(outcome.id)[1][-1]
    assert answer.reason == f"{path}: edited and not committed; commit or undo it"
    place.unlink()
    assert vault.run(["evaluate"], now=NOW).done != []


def test_only_outcomes_show_a_progress(vault: Vault) -> None:
    vault.record([("a.json", as_file(raw()))], now=NOW)
    sizes: list[int] = []

    def track(items: Sequence[Any], _description: str) -> Iterable[Any]:
        sizes.append(len(items))
        return items

    vault.run(["evaluate"], now=NOW, track=track)
    assert sizes == [1]

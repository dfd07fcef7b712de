"""The quota of untrusted sources: what has no room today waits, and nothing waits for it."""

import json
import os
import shutil
from datetime import timedelta

import pytest

from skillvault.api import Vault
from skillvault.loop.run import Report
from skillvault.vault.files.inbox import Inbox
from tests.cli.test_recommend import call
from tests.conftest import NOW, Person
from tests.given import as_file, raw
from tests.test_api import ScriptedJudge

DAY = timedelta(days=1)


def _drop(vault: Vault, *numbers: int, size: int = 0) -> None:
    """Untrusted files, written in the order of their numbers, long ago."""
    for number in numbers:
        given = raw(number % 20, decision__target=f"t{number}", result__evidence="x" * size)
        path = vault.root / "inbox/untrusted" / f"o{number}.json"
        path.write_bytes(as_file(given))
        os.utime(path, (1_700_000_000 + number,) * 2)


def _run(vault: Vault, days: int = 0) -> Report:
    return vault.run(now=NOW + days * DAY)


def _left(vault: Vault) -> list[str]:
    return [name.removeprefix("untrusted/") for name in vault.inbox.names()]


@pytest.fixture
def two_a_day(vault: Vault, person: Person) -> Vault:
    """A vault that takes two untrusted files a day."""
    person.rule("record: {untrusted_per_day: {files: 2}}")
    return vault


def test_so_many_files_are_taken_in_a_day_and_the_first_that_came_first(two_a_day: Vault) -> None:
    _drop(two_a_day, *range(5))
    report = _run(two_a_day)
    assert _left(two_a_day) == ["o2.json", "o3.json", "o4.json"]
    (waiting,) = [entry for entry in report.waiting if entry.tomorrow]
    assert waiting.path == "inbox/untrusted"
    assert waiting.reason.startswith("3 files for which there is no room today: at most 2 files")
    assert "(record.untrusted_per_day); more from 2026-11-21 (UTC) on" in waiting.reason
    assert _run(two_a_day).done == []
    _run(two_a_day, 1)
    assert _left(two_a_day) == ["o4.json"]
    _run(two_a_day, 2)
    assert _left(two_a_day) == []


def test_the_quota_holds_after_a_restart_without_an_index_and_in_a_clone(
    two_a_day: Vault, person: Person
) -> None:
    _drop(two_a_day, 0, 1)
    _run(two_a_day)
    shutil.rmtree(two_a_day.root / ".git/skillvault")
    clone = two_a_day.root.parent / "clone"
    person.git("clone", "-q", str(two_a_day.root), str(clone))
    again, other = Vault.open(two_a_day.root), Vault.init(clone)[0]
    for vault in (again, other):
        _drop(vault, 2)
        assert _run(vault).done == []
        assert _left(vault) == ["o2.json"]


def test_so_many_bytes_are_taken_in_a_day_and_a_small_file_passes_a_large_one(
    vault: Vault, person: Person
) -> None:
    person.rule("record: {untrusted_per_day: {bytes: 6000}}")
    _drop(vault, 0, size=3000)
    _drop(vault, 1, size=5000)
    _drop(vault, 2, size=10)
    _run(vault)
    assert _left(vault) == ["o1.json"]
    _drop(vault, 3, size=3000)
    _run(vault)  # what was recorded counts
    assert _left(vault) == ["o1.json", "o3.json"]
    _run(vault, 1)
    assert _left(vault) == ["o3.json"]


def test_trusted_outcomes_have_no_quota_and_wait_for_none(two_a_day: Vault) -> None:
    _drop(two_a_day, *range(4))
    ours = [raw(n, decision__target=f"ours{n}") for n in range(4)]
    for number, given in enumerate(ours):
        (two_a_day.root / "inbox" / f"ours{number}.json").write_bytes(as_file(given))
    _run(two_a_day)
    head = two_a_day.store.snapshot()
    trusts = [one.trust for one in head.outcomes.values()]
    assert (trusts.count("local"), trusts.count("untrusted")) == (4, 2)
    assert _left(two_a_day) == ["o2.json", "o3.json"]


def test_none_is_taken_where_the_policy_says_so(vault: Vault, person: Person) -> None:
    person.rule("record: {untrusted_per_day: {files: 0}}")
    _drop(vault, 0)
    assert _run(vault).done == []
    assert _left(vault) == ["o0.json"]


class Rewritten(Inbox):
    """An inbox in which a file is new at each of fifty looks."""

    looks = 0

    def _is_young(self, *_: object) -> bool:
        self.looks += 1
        return self.looks < 50


def test_an_untrusted_file_that_is_written_all_the_time_delays_nothing(vault: Vault) -> None:
    names = ["untrusted/o.json"]
    assert Rewritten(vault.root).wait_until_stable(0.2, 60, names=names) == ([], names)
    assert Rewritten(vault.root).wait_until_stable(0.2, 60, names=["o.json"]) == (["o.json"], [])


def test_untrusted_outcomes_are_judged_last_whatever_their_dates(vault: Vault) -> None:
    judge = ScriptedJudge()
    judged = Vault(vault.root, judge)
    _drop(judged, 0)  # older, and of a domain that comes first
    theirs = raw(-30, domain="aaa", decision__action="theirs")
    (vault.root / "inbox/untrusted/first.json").write_bytes(as_file(theirs))
    ours = [raw(9, decision__action="ours"), raw(10, domain="perps", decision__action="ours")]
    for number, given in enumerate(ours):
        (vault.root / "inbox" / f"ours{number}.json").write_bytes(as_file(given))
    judged.run(now=NOW, patience=10)
    asked = [words.split()[1] for words in judge.asked if words.startswith("verdict")]
    assert asked == ["ours", "ours", "theirs", "fix-flaky-test"]


def test_so_many_are_judged_in_a_day(vault: Vault, person: Person) -> None:
    person.rule("evaluate: {untrusted_per_day: 1}")
    _drop(vault, 0, 1, 2)
    vault.record([("ours.json", as_file(raw(5, decision__target="ours")))], now=NOW)
    report = _run(vault)
    (waiting,) = [entry for entry in report.waiting if entry.tomorrow]
    assert waiting.reason.startswith("2 untrusted outcomes not evaluated: at most 1 are judged")
    assert len(vault.store.snapshot().evaluations) == 2
    assert not any(done.change.step == "evaluate" for done in _run(vault).done)
    _run(vault, 1)
    assert len(vault.store.snapshot().evaluations) == 3


def test_status_tells_what_waits_for_tomorrow_and_counts_it_as_no_work(
    vault: Vault, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillvault.api._clock", lambda: NOW)
    person.rule("record: {untrusted_per_day: {files: 2}}\nevaluate: {untrusted_per_day: 1}")
    _drop(vault, *range(5))
    _run(vault)
    text, _ = call(vault, "status")
    assert (
        "over today's limit: 3 files in inbox/untrusted/ (record.untrusted_per_day), "
        "1 untrusted outcome without a verdict (evaluate.untrusted_per_day)"
    ) in text
    state = json.loads(call(vault, "status", "--json")[0])
    assert (state["tomorrow"], state["inbox"]) == ({"record": 3, "evaluate": 1}, 3)
    assert (state["waiting"]["record"], state["waiting"]["evaluate"]) == (0, 0)


def test_a_run_says_it_in_one_line_however_many_wait(two_a_day: Vault) -> None:
    _drop(two_a_day, *range(30))
    out, err = call(two_a_day, "run", "--now", NOW.isoformat())
    assert "record: 2 outcomes in coding" in out
    assert err.count("no room today") == 1
    shape = json.loads(call(two_a_day, "run", "--json", "--now", NOW.isoformat())[0])
    assert [entry["tomorrow"] for entry in shape["waiting"]] == [True]


def test_a_quota_that_is_none_is_refused_with_its_key(vault: Vault, person: Person) -> None:
    person.rule("record: {untrusted_per_day: 5}")
    (problem,) = vault.check().problems
    assert (problem.path, problem.key) == ("vault.yaml", "record.untrusted_per_day")

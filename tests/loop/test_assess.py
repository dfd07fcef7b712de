"""assess end to end: what a skill's use showed becomes its status, one commit each."""

import os
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from skillvault.api import Vault
from skillvault.learning.assess import NextTrial
from skillvault.model.records import stamp
from tests.conftest import NOW, Person
from tests.given import START, as_file, raw, shown

GUIDE = "skills/guide/SKILL.md"
LATER = NOW + timedelta(days=500)
TEXT = "---\nname: guide\ndescription: What to do.\n---\n\nDo it.\n"


@pytest.fixture
def vault(vault: Vault, person: Person, monkeypatch: pytest.MonkeyPatch) -> Vault:
    """A vault with one skill that a person wrote, before anything was decided."""
    monkeypatch.setenv("GIT_COMMITTER_DATE", (START - timedelta(days=1)).isoformat())
    committed(person, GUIDE, TEXT)
    return vault


def committed(person: Person, path: str, text: str) -> None:
    person.write(path, text)
    person.git("add", "-f", path)
    person.git("commit", "-qm", path)


def at(number: int) -> datetime:
    return START + timedelta(hours=number)


def ended(number: int, success: bool, *applied: str) -> tuple[str, bytes]:
    """One outcome; each has a target of its own, so that none is a skill's lesson."""
    status = "success" if success else "failure"
    given = raw(
        occurred_at=at(number).isoformat(),
        decision__target=f"t{number}",
        decision__id=f"d-{number}",
    )
    del given["decision"]["made_at"]
    given |= {"result": {"status": status}, "applied": list(applied)}
    return f"o{number}.json", as_file(given)


def tried(first: int, count: int, every: int, *applied: str) -> list[tuple[str, bytes]]:
    """Outcomes of which one in so many fails."""
    return [ended(n, n % every != 0, *applied) for n in range(first, first + count)]


def receipts(first: int, count: int, *, held_out: bool = False) -> list[tuple[str, bytes]]:
    """For so many decisions, that the guide was shown to them, or held out."""
    guide = [{"skill": "guide", "blob": "0" * 40}]
    offer = {"shown": [] if held_out else guide, "held_out": guide if held_out else []}
    return [
        (
            f"r{n}.json",
            as_file(shown(decision=f"d-{n}", domain="coding", at=at(n).isoformat(), **offer)),
        )
        for n in range(first, first + count)
    ]


def learned(vault: Vault, *outcomes: tuple[str, bytes], now: datetime = NOW) -> list[str]:
    """Record outcomes, and return the headlines that `assess` commits for them."""
    vault.record(outcomes, now=now)
    report = vault.run(["assess"], now=now)
    return [done.change.headline for done in report.done]


UNASKED = [*tried(0, 40, 2), *tried(40, 40, 20, "guide")]
HELPS = [*UNASKED, *receipts(0, 40, held_out=True), *receipts(40, 40)]
HURTS = [*tried(0, 40, 20), *tried(40, 40, 2, "guide")]


@pytest.fixture
def hurt(prepared: Callable[[Callable[[Vault], object]], Vault]) -> Vault:
    """A vault whose skill hurt."""
    return prepared(_hurt)


def _hurt(vault: Vault) -> None:
    committed(Person(vault.root), GUIDE, TEXT)
    learned(vault, *HURTS)


@pytest.fixture
def helped(prepared: Callable[[Callable[[Vault], object]], Vault]) -> Vault:
    """A vault whose skill helped."""
    return prepared(_help)


def _help(vault: Vault) -> None:
    committed(Person(vault.root), GUIDE, TEXT)
    learned(vault, *HELPS)


def test_a_skill_that_helps_is_proven_in_a_commit_with_its_numbers(
    vault: Vault, person: Person
) -> None:
    assert learned(vault, *HELPS) == ["assess: proven guide"]
    assert vault.skill("guide")[0].status == "proven"
    (commit,) = vault.log(1)
    assert (commit.step, commit.targets) == ("assess", ("skill:guide",))
    message = person.git("log", "-1", "--format=%b")
    assert "38 of 40 uses succeeded" in message
    assert "is 1.000" in message


def test_without_receipts_nothing_is_proven_for_how_it_was_selected_is_unknown(
    vault: Vault,
) -> None:
    assert learned(vault, *UNASKED) == []
    (found,) = vault.stats("guide")
    assert (found.selection, found.p_helps and found.p_helps > 0.99) == ("unknown", True)


@pytest.mark.parametrize(("batch", "expected"), [(300, ["assess: proven guide"]), (48, [])])
def test_what_one_look_proves_is_not_enough_for_one_of_many(
    vault: Vault, batch: int, expected: list[str]
) -> None:
    """The same records, at once or in batches, each of which may have been looked at."""
    files = [
        file
        for number in range(72)
        for file in (
            ended(2 * number, number % 2 == 0),
            ended(2 * number + 1, number % 3 > 0, "guide"),
            *receipts(2 * number, 1, held_out=True),
            *receipts(2 * number + 1, 1),
        )
    ]
    for start in range(0, len(files), batch):
        vault.record(files[start : start + batch], now=NOW)
    assert learned(vault) == expected
    (found,) = vault.stats("guide")
    assert found.p_helps
    assert 0.95 < found.p_helps < 0.98


def test_a_skill_that_hurts_is_retired(vault: Vault) -> None:
    assert learned(vault, *HURTS) == ["assess: retired guide"]
    skill, path = vault.skill("guide")
    assert (skill.status, path) == ("retired", "archive/guide/SKILL.md")
    assert vault.check().problems == []


def test_a_skill_that_changes_nothing_stays_as_it_is(vault: Vault) -> None:
    assert learned(vault, *tried(0, 40, 2), *tried(40, 40, 2, "guide")) == []


@pytest.mark.usefixtures("helped")
def test_the_same_evidence_counts_once_whatever_is_run_or_recorded_again(vault: Vault) -> None:
    before = vault.store.snapshot().commit
    assert learned(vault, *HELPS) == []
    (vault.root / ".git/skillvault/index.db").unlink()
    assert learned(Vault.open(vault.root), *HELPS) == []
    assert vault.store.snapshot().commit == before


def test_an_outcome_whose_file_a_person_copied_counts_once(vault: Vault, person: Person) -> None:
    learned(vault, *HURTS[::3])
    before = vault.stats()
    for path in sorted((vault.root / "outcomes").rglob("*.yaml"))[:8]:
        there = path.relative_to(vault.root).as_posix().replace("/coding/", "/perps/")
        person.write(there, path.read_text())
    person.git("add", "-A")
    person.git("commit", "-qm", "copied by mistake", "--no-verify")
    assert vault.stats() == before


def test_two_outcomes_of_one_decision_are_one(vault: Vault) -> None:
    """The same decision from two exporters: the last one counts."""
    twice = [ended(n, True, "guide") for n in range(2)]
    given = [data.replace(b"d-0", b"d-1") for _, data in twice]
    learned(vault, *((f"{i}.json", data) for i, data in enumerate(given)))
    assert vault.shelf.uses.evidence(vault.shelf.ready())["guide"].times_applied == 1


def test_lifts_are_of_the_decisions_up_to_a_point_whatever_came_last(vault: Vault) -> None:
    def reached() -> int:
        return vault.shelf.ready().uses.sums_end("coding").decisions

    learned(vault, *tried(1, 129, 2, "guide"))
    assert reached() == 128
    learned(vault, *tried(130, 1, 2, "guide"))
    assert reached() == 130
    learned(vault, ended(0, False, "guide"))
    assert reached() == 130
    before = vault.shelf.uses.evidence(vault.shelf.ready())
    (vault.root / ".git/skillvault/index.db").unlink()
    fresh = Vault.open(vault.root)
    assert fresh.shelf.uses.evidence(fresh.shelf.ready()) == before
    assert before["guide"].times_applied == 131


@pytest.mark.parametrize("late", [[], [2, 3], [7]])
def test_uses_are_counted_on_as_they_are_counted_anew(vault: Vault, late: list[int]) -> None:
    first = [number for number in range(8) if number not in late]
    for number in [*first, *late]:
        for name, data in (*receipts(number, 1), ended(number, number % 3 != 0, "guide")):
            place = vault.root / "inbox" / name
            place.write_bytes(data)
            os.utime(place, (1, 1))  # nobody is writing it any more
        vault.run(now=NOW)
    known = vault.shelf.uses.evidence(vault.shelf.ready())
    (vault.root / ".git/skillvault/index.db").unlink()
    fresh = Vault.open(vault.root)
    assert fresh.shelf.uses.evidence(fresh.shelf.ready()) == known
    assert known["guide"].times_applied == 8
    assert known["guide"].looks == 8


@pytest.mark.usefixtures("hurt")
def test_it_comes_back_when_the_evidence_turns(vault: Vault) -> None:
    turned = [*tried(100, 60, 100, "guide"), *tried(200, 80, 2)]
    assert learned(vault, *turned) == ["assess: testing guide"]
    assert vault.skill("guide")[1] == GUIDE


def on_trial(vault: Vault) -> list[str]:
    """A vault whose guide was retired, and is tried again after 200 decisions of its domain."""
    learned(vault, *HURTS)
    assert learned(vault, *tried(100, 199, 20)) == []
    return learned(vault, *tried(299, 1, 20))


def test_what_its_use_retired_is_tried_again_after_200_decisions(vault: Vault) -> None:
    assert on_trial(vault) == ["assess: try guide again"]
    skill, path = vault.skill("guide")
    assert (skill.status, path, skill.trial) == ("testing", GUIDE, stamp(at(299)))
    assert learned(vault) == []
    (found,) = vault.stats("guide")
    assert (found.times_applied, [one.times_applied for one in found.earlier]) == (0, [40])
    assert found.decision == "testing: tried again, 0 of 10 decisions that a trial asks for"
    assert vault.check().problems == []


def test_a_skill_on_trial_is_served_as_one_that_is_tried_again(vault: Vault) -> None:
    on_trial(vault)
    (served,) = vault.recommend("coding").recommended
    assert served.badge == "📊 Tried again (0 of 10 decisions)"


@pytest.mark.usefixtures("hurt")
def test_when_a_retired_skill_is_tried_again_is_told(vault: Vault) -> None:
    learned(vault, *tried(100, 150, 20))
    (found,) = vault.stats("guide")
    assert found.next_trial == NextTrial(at=at(79) + timedelta(days=90), decisions=50)
    assert found.decision == (
        "retired: tested again if the chance that it helps reaches 0.2; "
        "tried again when its domain reaches 2027-02-02, or after 50 more decisions"
    )
    assert learned(vault, *tried(250, 49, 20)) == []
    assert learned(vault, *tried(299, 1, 20)) == ["assess: try guide again"]
    assert vault.stats("guide")[0].next_trial is None


def test_of_a_trial_within_a_year_of_the_last_its_end_is_told(vault: Vault) -> None:
    on_trial(vault)
    learned(vault, *tried(301, 10, 1, "guide"), *receipts(301, 10))
    assert vault.skill("guide")[0].status == "retired"
    (found,) = vault.stats("guide")
    assert found.next_trial
    assert found.next_trial.not_before == at(299) + timedelta(days=365)
    assert found.decision.endswith("tried again when its domain reaches 2027-11-13")


@pytest.mark.usefixtures("helped")
def test_what_a_person_retired_is_not_said_to_be_tried_again(vault: Vault) -> None:
    vault.curate.retire("guide")
    (found,) = vault.stats("guide")
    assert (found.decision, found.next_trial) == (
        "retired: only a person can restore it",
        None,
    )


@pytest.mark.usefixtures("hurt")
def test_it_is_tried_again_after_90_days_of_its_domain(vault: Vault) -> None:
    assert learned(vault, ended(79 + 90 * 24 - 1, True), now=LATER) == []
    assert learned(vault, ended(79 + 90 * 24, True), now=LATER) == ["assess: try guide again"]


@pytest.mark.parametrize(
    ("every", "verdict", "folder"), [(1, "retired", "archive"), (100, "testing", "skills")]
)
def test_after_ten_shown_decisions_it_stays_or_goes_back(
    vault: Vault, every: int, verdict: str, folder: str
) -> None:
    on_trial(vault)
    nine = [*tried(301, 9, every, "guide"), *receipts(301, 9)]
    assert learned(vault, *nine) == []
    last = [*tried(310, 1, every, "guide"), *receipts(310, 1)]
    assert learned(vault, *last) == [f"assess: {verdict} guide"]
    assert vault.skill("guide")[1] == f"{folder}/guide/SKILL.md"
    assert learned(vault, *tried(401, 210, 20)) == []


def test_it_is_tried_again_once_a_year(vault: Vault) -> None:
    on_trial(vault)
    learned(vault, *tried(301, 10, 1, "guide"), *receipts(301, 10))
    assert learned(vault, ended(299 + 365 * 24 - 1, True), now=LATER) == []
    assert learned(vault, ended(299 + 365 * 24, True), now=LATER) == ["assess: try guide again"]


@pytest.mark.usefixtures("hurt")
def test_what_a_person_retired_is_never_tried_again(vault: Vault, person: Person) -> None:
    vault.curate.restore("guide", now=NOW)
    vault.curate.retire("guide", now=NOW)
    assert learned(vault, *tried(101, 210, 20)) == []


def test_a_trial_that_a_person_took_back_is_not_repeated(vault: Vault, person: Person) -> None:
    on_trial(vault)
    person.git("revert", "--no-edit", "HEAD")
    assert learned(vault, *tried(401, 210, 20)) == []


@pytest.mark.usefixtures("hurt")
def test_a_skill_that_a_person_brought_back_gets_another_chance(
    vault: Vault, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", at(90).isoformat())
    person.git("revert", "--no-edit", "HEAD")
    assert learned(vault) == []
    assert learned(vault, *tried(100, 9, 2, "guide")) == []
    assert learned(vault, *[ended(n, False, "guide") for n in range(110, 130)]) == [
        "assess: retired guide"
    ]


@pytest.mark.usefixtures("helped")
def test_a_text_that_a_person_rewrote_starts_again(
    vault: Vault, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", at(90).isoformat())
    text = (vault.root / GUIDE).read_text(encoding="utf-8")
    committed(person, GUIDE, text.replace("Do it.", "Do something else."))
    learned(vault, ended(100, True, "guide"))
    known = vault.shelf.uses.evidence(vault.shelf.ready())["guide"]
    assert (known.times_applied, [one.times_applied for one in known.earlier]) == (1, [40])


@pytest.mark.usefixtures("helped")
def test_a_person_who_edits_tags_rewrites_no_text(
    vault: Vault, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", at(90).isoformat())
    text = (vault.root / GUIDE).read_text(encoding="utf-8")
    committed(person, GUIDE, text.replace("What to do.", "What to do then."))
    known = vault.shelf.uses.evidence(vault.shelf.ready())["guide"]
    assert (known.times_applied, known.earlier) == (40, ())


@pytest.mark.parametrize("status", ["pinned", "proposed"])
def test_what_is_not_its_to_judge_stays(vault: Vault, person: Person, status: str) -> None:
    front, _, body = TEXT.partition("---\n\n")
    committed(person, GUIDE, f"{front}metadata:\n  status: {status}\n---\n\n{body}")
    assert learned(vault, *HURTS) == []


def test_a_skill_that_a_person_retired_stays_retired(vault: Vault) -> None:
    vault.curate.retire("guide", now=NOW)
    assert learned(vault, *HELPS) == []


def test_a_skill_in_hand_waits(vault: Vault, person: Person) -> None:
    vault.record(HELPS, now=NOW)
    mine = person.write(GUIDE, TEXT + "mine\n").read_text()
    report = vault.run(["assess"], now=NOW)
    assert (report.done, [one.path for one in report.waiting]) == ([], [GUIDE])
    assert (vault.root / GUIDE).read_text() == mine


def test_a_dry_run_says_what_would_be_and_changes_nothing(vault: Vault) -> None:
    vault.record(HELPS, now=NOW)
    before = vault.store.snapshot().commit
    report = vault.run(["assess"], now=NOW, dry=True)
    assert [done.change.headline for done in report.done] == ["assess: proven guide"]
    assert vault.store.snapshot().commit == before
    assert vault.status().waiting["assess"] > 0


def test_untrusted_outcomes_prove_nothing(vault: Vault) -> None:
    for name, data in HELPS:
        place = vault.root / "inbox" / "untrusted" / name
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(data)
    vault.run(now=NOW)
    assert assessed(vault) == []


def assessed(vault: Vault) -> list[str]:
    return [commit.subject for commit in vault.log() if commit.step == "assess"]

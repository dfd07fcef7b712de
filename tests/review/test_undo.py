"""undo: the vault as if what a commit made had been rejected when it was proposed."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from skillvault.api import Vault, undo
from skillvault.model.errors import PausedError, UncommittedEditError, UsageError
from tests.conftest import NOW, Person
from tests.given import raw, trade
from tests.review.test_retract import recorded, served

LATER = NOW + timedelta(days=1)


@pytest.fixture
def learned(prepared: Callable[[Callable[[Vault], object]], Vault]) -> Vault:
    """A vault with a warning of two failures, the fact of both, and a warning of a loss."""
    return prepared(_learn)


def _learn(vault: Vault) -> None:
    recorded(vault, raw(0), raw(1), trade(2))
    vault.run(now=NOW)


def made(vault: Vault, step: str, word: str) -> str:
    """The commit by which a step made something."""
    return [c.sha for c in vault.log() if c.step == step and word in c.subject][-1]


def test_a_skill_is_undone_and_does_not_come_back(learned: Vault, person: Person) -> None:
    name = next(one.name for one in learned.skills() if one.domain == "perps")
    before = person.git("rev-parse", "HEAD")
    undo(learned, name, "one loss", now=LATER)
    assert person.git("rev-list", "--count", f"{before}..HEAD") == "1"
    assert name not in served(learned)
    report = learned.run(now=LATER)
    assert (report.done, [one.reason for one in report.rejected]) == ([], ["one loss"])
    assert learned.check().problems == []
    learned.curate.forget(name, now=LATER)
    assert name in served(learned)


def test_a_commit_is_undone_with_all_that_it_made(learned: Vault) -> None:
    undo(learned, made(learned, "promote", "")[:10], now=LATER)
    assert not learned.store.head().facts
    assert not learned.run(now=LATER).done
    assert not learned.store.head().facts


def test_a_dry_run_shows_it_and_does_nothing(learned: Vault, person: Person) -> None:
    before = person.git("rev-parse", "HEAD")
    report = undo(learned, learned.skills()[0].name, now=LATER, dry=True)
    assert report.done[0].change.step == "undo"
    assert (person.git("rev-parse", "HEAD"), person.status()) == (before, "")


def test_a_persons_words_are_named_and_nothing_is_done(learned: Vault, person: Person) -> None:
    name = learned.skills()[0].name
    path = learned.root / "skills" / name / "SKILL.md"
    path.write_text(path.read_text() + "\n## Mine\n\nAsk first.\n")
    person.git("commit", "-qam", "mine")
    before = person.git("rev-parse", "HEAD")
    with pytest.raises(UncommittedEditError, match=f"skills/{name}/SKILL.md: a person edited it"):
        undo(learned, name, now=LATER)
    assert person.git("rev-parse", "HEAD") == before


@pytest.mark.parametrize(
    ("step", "says"),
    [("record", "skillvault retract"), ("evaluate", "skillvault retract"), ("init", "git revert")],
)
def test_what_made_nothing_is_refused_with_what_to_do(
    learned: Vault, person: Person, step: str, says: str
) -> None:
    sha = person.git("log", "-1", "--format=%h", f"--grep=^{step}: ")
    with pytest.raises(UsageError, match=says):
        undo(learned, sha, now=LATER)


def test_what_a_commit_changed_is_named_with_the_way_to_undo_it(learned: Vault) -> None:
    recorded(learned, raw(3), raw(4), raw(5), raw(6))
    learned.run(now=NOW)
    name = next(one.name for one in learned.skills() if one.domain == "coding")
    with pytest.raises(UsageError, match=f"changed {name}.*`skillvault undo {name}`.*retract"):
        undo(learned, made(learned, "refresh", name), now=LATER)


def test_an_approval_is_taken_back_where_git_cannot_revert_it(vault: Vault, person: Person) -> None:
    person.rule("\ngenerate: {gate: always}")
    recorded(vault, raw(0), raw(1))
    vault.run(now=NOW)
    (name,) = (one.name for one in vault.skills("proposed"))
    vault.curate.approve(name, now=NOW)
    approval = person.git("rev-parse", "--short=10", "HEAD")
    vault.curate.retire(name, now=NOW)
    person.git("revert", "--no-edit", approval, ok=False)
    with pytest.raises(
        PausedError, match=f"`git revert --abort`, then `skillvault undo {approval}`"
    ):
        vault.run(now=LATER)
    person.git("revert", "--abort")
    undo(vault, approval, now=LATER)
    assert [one.name for one in vault.skills("proposed")] == [name]
    assert vault.check().problems == []
    assert not vault.run(now=LATER).done
    with pytest.raises(UsageError, match="nothing that it approved is served"):
        undo(vault, approval, now=LATER)
    vault.curate.approve(name, now=LATER)
    undo(vault, name, now=LATER)
    assert name not in served(vault)


def test_what_is_undone_already_is_said_to_be_gone(learned: Vault) -> None:
    name = next(one.name for one in learned.skills() if one.domain == "perps")
    commit = made(learned, "generate", name)
    undo(learned, name, "one loss", now=LATER)
    with pytest.raises(UsageError, match="everything that it made is gone already"):
        undo(learned, commit, now=LATER)


def test_a_persons_commit_is_git_s_to_revert(learned: Vault, person: Person) -> None:
    person.write("notes.md", "mine")
    person.git("add", "notes.md")
    person.git("commit", "-qm", "mine")
    with pytest.raises(UsageError, match="is a person's commit; `git revert"):
        undo(learned, "HEAD", now=LATER)
    with pytest.raises(UsageError, match="neither a skill nor a commit"):
        undo(learned, "no-such-thing", now=LATER)

"""undo: the vault as if what a commit made had been rejected when it was proposed."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from skillvault.api import Vault, undo
from skillvault.model.errors import PausedError, UncommittedEditError, UsageError
from tests.conftest import NOW, Person
from tests.given import as_file, raw, trade
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
    assert not learned.store.snapshot().facts
    assert not learned.run(now=LATER).done
    assert not learned.store.snapshot().facts


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
    [("record", "skillvault retract"), ("evaluate", "skillvault retract"), ("init", "the vault")],
)
def test_what_made_nothing_is_refused_with_what_to_do(
    learned: Vault, person: Person, step: str, says: str
) -> None:
    sha = person.git("log", "-1", "--format=%h", f"--grep=^{step}: ")
    with pytest.raises(UsageError, match=says):
        undo(learned, sha, now=LATER)


def test_nothing_is_undone_by_an_incomplete_history(learned: Vault, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    Person(tmp_path).git("clone", "-q", "--depth=1", learned.root.as_uri(), "clone")
    for text in ("HEAD", learned.skills()[0].name):
        with pytest.raises(PausedError, match="git fetch --unshallow"):
            undo(Vault.open(clone), text, now=LATER)


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


# ── decisions ────────────────────────────────────────────────────────────────────────

RULE = "we use uv here, never pip"
PAGE = "## Style\n\n- Use tabs.\n\n## Release\n\n1. Tag it.\n2. Push it.\n"


@pytest.fixture
def stocked(prepared: Callable[[Callable[[Vault], object]], Vault]) -> Vault:
    """A vault with served, waiting and archived skills, a rule that waits, and a person's fact."""
    return prepared(_stock)


def _stock(vault: Vault) -> None:
    _learn(vault)
    vault.curate.retire(vault.skills()[-1].name, now=NOW)
    result = {"status": "failure", "observed_by": "person", "next_words": f"no, {RULE}"}
    given = raw(4, result=result, context={"repository": "shop"}, decision__action="install")
    Person(vault.root).rule("\ngenerate: {gate: always}")
    failure = raw(5, decision__action="deploy")
    vault.record([("rule.json", as_file(given)), ("b.json", as_file(failure))], now=NOW)
    vault.run(now=NOW)
    vault.memory.add_fact("The port is 5432.", "coding", review_by="2026-11-01", now=NOW)


def served_name(vault: Vault) -> str:
    """The name of a served skill."""
    return vault.skills()[0].name


def document(vault: Vault) -> Path:
    """A document beside the vault."""
    path = vault.root.parent / "shop/CONTRIBUTING.md"
    path.parent.mkdir()
    path.write_text(PAGE)
    return path


def set_gate(vault: Vault, person: Person, gate: str) -> None:
    """Commit another `generate.gate`."""
    policy = vault.root / "vault.yaml"
    policy.write_text(policy.read_text().replace("gate: always", f"gate: {gate}"))
    person.git("commit", "-qam", "gate", ok=False)


DECISIONS: dict[str, Callable[[Vault], object]] = {
    "retire": lambda v: v.curate.retire(served_name(v), now=NOW),
    "pin": lambda v: v.curate.pin(served_name(v), now=NOW),
    "rename": lambda v: v.curate.rename(served_name(v), "another-name", now=NOW),
    "restore": lambda v: v.curate.restore(v.skills("archive")[0].name, now=NOW),
    "reject": lambda v: v.curate.reject(v.skills("proposed")[0].name, reason="no", now=NOW),
    "put": lambda v: v.curate.create("mine", description="Do. When.", commit=True, now=NOW),
    "add a newer fact": lambda v: v.memory.add_fact("The port is 5433.", "coding", now=NOW),
    "keep a fact": lambda v: v.memory.keep(v.memory.due(LATER)[0].id, "Port 5432.", now=NOW),
    "retire a fact": lambda v: v.memory.retire(v.memory.facts()[0].id, "gone", now=NOW),
    "approve a rule": lambda v: v.memory.approve(v.memory.waiting()[0].id, now=NOW),
    "reject a rule": lambda v: v.memory.reject(v.memory.waiting()[0].id, "no", now=NOW),
    "learn": lambda v: v.curate.installer.learn(str(document(v)), now=NOW),
    "install": lambda v: v.curate.installer.seeds(now=NOW),
    "undo": lambda v: undo(v, served_name(v), "no", now=NOW),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_an_undone_decision_leaves_the_files_as_they_were(
    stocked: Vault, person: Person, name: str
) -> None:
    tip, files = person.git("rev-parse", "HEAD"), person.git("rev-parse", "HEAD^{tree}")
    DECISIONS[name](stocked)
    decided_files = person.git("rev-parse", "HEAD^{tree}")
    for commit in person.git("rev-list", f"{tip}..").split():
        undo(stocked, commit, "a mistake", now=LATER)
    assert person.git("rev-parse", "HEAD^{tree}") == files
    assert stocked.check().problems == []
    assert not stocked.run(now=NOW).done
    for commit in person.git("rev-list", f"{tip}..", "--grep=^Undoes ").split():
        undo(stocked, commit, now=LATER)
    assert person.git("rev-parse", "HEAD^{tree}") == decided_files


def test_a_version_whose_approval_is_undone_waits_again(stocked: Vault, person: Person) -> None:
    recorded(stocked, raw(6), raw(7))
    stocked.run(now=NOW)
    version = next(n for n, s in stocked.store.snapshot().skills.proposed.items() if s.replaces)
    files = person.git("rev-parse", "HEAD^{tree}")
    stocked.curate.approve(version, now=NOW)
    undo(stocked, person.git("rev-parse", "HEAD"), now=LATER)
    assert person.git("rev-parse", "HEAD^{tree}") == files
    assert not stocked.run(now=LATER).done
    stocked.curate.reject(version, reason="no", now=LATER)


@pytest.mark.parametrize("gate", ["always", "never"])
def test_an_approval_is_undone_after_steps_wrote_newer_text(
    stocked: Vault, person: Person, gate: str
) -> None:
    recorded(stocked, raw(6), raw(7))
    stocked.run(now=NOW)
    skills = stocked.store.snapshot().skills
    version = next(n for n, s in skills.proposed.items() if s.replaces)
    name = skills.proposed[version].replaces or ""
    approved_text = skills[name].body
    stocked.curate.approve(version, now=NOW)
    approval = person.git("rev-parse", "HEAD")
    set_gate(stocked, person, gate)
    recorded(stocked, *(raw(day) for day in range(10, 16)))
    stocked.run(now=LATER)
    undo(stocked, approval, now=LATER)
    assert stocked.store.snapshot().skills[name].body == approved_text
    assert stocked.check().problems == []
    stocked.curate.approve(version, now=LATER)
    count = "10 of 10" if gate == "always" else "4 of 4"  # the latest version that waits
    assert count in stocked.store.snapshot().skills[name].body


def test_a_move_of_a_skill_that_changed_later_names_the_command_that_moves_it_back(
    stocked: Vault, person: Person
) -> None:
    name = next(skill.name for skill in stocked.skills() if skill.domain == "coding")
    stocked.curate.rename(name, "another-name", now=NOW)
    renaming = person.git("rev-parse", "HEAD")
    set_gate(stocked, person, "never")
    recorded(stocked, *(raw(day) for day in range(10, 16)))
    stocked.run(now=LATER)
    with pytest.raises(UsageError, match=f"`skillvault skill rename another-name {name}`"):
        undo(stocked, renaming, now=LATER)
    stocked.curate.rename("another-name", name, now=LATER)
    assert stocked.check().problems == []


def test_what_a_person_changed_in_a_skill_is_not_replaced_by_older_files(
    stocked: Vault, person: Person
) -> None:
    recorded(stocked, raw(6), raw(7))
    stocked.run(now=NOW)
    proposed = stocked.store.snapshot().skills.proposed
    version, name = next((n, s.replaces) for n, s in proposed.items() if s.replaces)
    stocked.curate.approve(version, now=NOW)
    approval = person.git("rev-parse", "HEAD")
    path = f"skills/{name}/references/tried.md"
    approved_text = (stocked.root / path).read_text()
    set_gate(stocked, person, "never")
    recorded(stocked, *(raw(day) for day in range(10, 16)))
    stocked.run(now=LATER)
    person.write(path, f"{approved_text}\nMine.\n")  # other lines than those of the approval
    person.git("commit", "-qam", "mine")
    with pytest.raises(UsageError, match=f"{path} was changed since, in .* \\(mine\\)"):
        undo(stocked, approval, now=LATER)


@pytest.mark.parametrize(
    "later",
    [
        lambda vault: vault.curate.rename("another-name", "third-name", now=NOW),
        lambda vault: vault.curate.retire("another-name", now=NOW),
    ],
)
def test_a_skill_that_was_renamed_later_does_not_come_back_beside_itself(
    stocked: Vault, person: Person, later: Callable[[Vault], object]
) -> None:
    name = served_name(stocked)
    stocked.curate.rename(name, "another-name", now=NOW)
    renaming = person.git("rev-parse", "HEAD")
    later(stocked)
    with pytest.raises(UsageError, match=f"`skillvault skill rename .*-name {name}`") as refusal:
        undo(stocked, renaming, now=LATER)
    new_name = str(refusal.value).partition("skill rename ")[2].split()[0]
    stocked.curate.rename(new_name, name, now=LATER)
    assert stocked.check().problems == []


def test_an_undone_decision_says_which_and_why(stocked: Vault, person: Person) -> None:
    name = served_name(stocked)
    stocked.curate.pin(name, now=NOW)
    pinned = person.git("rev-parse", "HEAD")
    undo(stocked, pinned, "too early", now=LATER)
    message = person.git("log", "-1", "--format=%B")
    assert message.startswith(f"revert: pin: {name}\n\nUndoes {pinned[:10]}. too early\n")
    with pytest.raises(UsageError, match="is undone already"):
        undo(stocked, pinned, now=LATER)


def test_later_changes_of_other_lines_stay(stocked: Vault, person: Person) -> None:
    name = served_name(stocked)
    stocked.curate.pin(name, now=NOW)
    pinned = person.git("rev-parse", "HEAD")
    path = stocked.root / "skills" / name / "SKILL.md"
    path.write_text(path.read_text() + "\n## Mine\n\nAsk first.\n")
    person.git("commit", "-qam", "mine")
    undo(stocked, pinned, now=LATER)
    assert "status: testing" in path.read_text()
    assert "Ask first." in path.read_text()


def test_a_pinned_skill_is_unpinned(stocked: Vault) -> None:
    name = served_name(stocked)
    with pytest.raises(UsageError, match="only an archived or pinned skill can be restored"):
        stocked.curate.restore(name, now=NOW)
    stocked.curate.pin(name, now=NOW)
    stocked.curate.restore(name, now=LATER)
    assert {skill.name: skill.status for skill in stocked.skills()}[name] == "testing"
    assert stocked.check().problems == []


def test_a_later_decision_about_the_same_lines_is_to_be_undone_first(
    stocked: Vault, person: Person
) -> None:
    name = served_name(stocked)
    stocked.curate.pin(name, now=NOW)
    pinned = person.git("rev-parse", "HEAD")
    stocked.curate.retire(name, now=NOW)
    retired = person.git("rev-parse", "--short=10", "HEAD")
    with pytest.raises(UsageError, match=f"`skillvault undo {retired}` first"):
        undo(stocked, pinned, now=LATER)


def test_a_rejection_that_was_undone_may_be_proposed(stocked: Vault, person: Person) -> None:
    name = stocked.skills("proposed")[0].name
    stocked.curate.reject(name, reason="no", now=NOW)
    undo(stocked, person.git("rev-parse", "HEAD"), now=LATER)
    assert person.git("log", "-1", "--format=%s") == f"forget: the rejection of {name}"
    with pytest.raises(UsageError, match="is not rejected"):
        stocked.curate.forget(name, now=LATER)

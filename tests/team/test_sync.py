"""sync: clones of one vault stay equal, without conflicts and without loss."""

from datetime import timedelta
from pathlib import Path

import pytest

from skillvault.loop.learner import describe_silence
from skillvault.model.errors import GitError, UncommittedEditError, UsageError, VaultBusyError
from skillvault.team import sync as exchange
from tests.clones import LATER, Clone, Team
from tests.conftest import Person
from tests.vault.given import HAND_MADE

SKILL = "skills/{}/SKILL.md"


@pytest.fixture(scope="module")
def pattern(_new_vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clones; ada learns."""
    place = tmp_path_factory.mktemp("new") / "team"
    Team.made(_new_vault, place, ["ada", "ben"])
    return place


@pytest.fixture
def team(pattern: Path, tmp_path: Path) -> Team:
    """A copy of the two clones."""
    return Team.copied(pattern, tmp_path / "team")


def skill_of(clone: Clone) -> str:
    """The path of a skill that the program wrote."""
    return next(s.path for s in clone.vault.skills() if s.origin == "generated")


def learned(team: Team) -> str:
    """The path of a skill that all clones have, made of outcomes of both."""
    ada, ben = team.clones
    ada.record(range(4))
    ben.record(range(4, 8))
    team.sync()
    ada.run()
    team.sync()
    return skill_of(ada)


# ── who learns ───────────────────────────────────────────────────────────────────────


def test_the_first_sync_names_the_clone_that_learns(team: Team) -> None:
    ada, ben = team.clones
    assert "learner: ada\n" in ada.text("vault.yaml")
    assert ada.sync().claimed is None
    assert ben.text("vault.yaml") == ada.text("vault.yaml")


def test_only_the_learner_derives_and_every_clone_records_and_captures(team: Team) -> None:
    ada, ben = team.clones
    ben.record(range(4))
    report = ben.run()
    assert report.learner == "ada"
    assert report.done == []
    team.sync()
    assert {done.change.step for done in ada.run().done} >= {"evaluate", "promote"}
    assert ben.vault.run(["capture"], now=LATER).learner == "ada"


def test_every_clone_may_learn_if_all_do(team: Team) -> None:
    ada, ben = team.clones
    ada.edit("vault.yaml", ("learner: ada", "learner: all"))
    team.sync()
    ben.record(range(4))
    assert {done.change.step for done in ben.run().done} >= {"evaluate"}
    assert ben.sync().claimed is None


def test_who_takes_over_learns_and_the_other_stops(team: Team) -> None:
    ada, ben = team.clones
    assert ben.sync(take_over=True).claimed == "ben"
    ada.record(range(4))
    ada.run()  # it does not know yet
    assert ada.sync().learner == "ben"
    assert ada.run().learner == "ben"
    assert ben.sync(take_over=True).claimed is None, "it learns already"
    team.sync()
    assert ada.tree() == ben.tree()


# ── fetch, merge, push ───────────────────────────────────────────────────────────────


def test_what_two_clones_record_is_one_vault_and_nothing_is_left_to_do(team: Team) -> None:
    learned(team)
    ada, ben = team.clones
    assert ada.tree() == ben.tree()
    assert len(ada.vault.store.snapshot().outcomes) == 8
    for clone in team.clones:
        assert clone.vault.check().problems == []
        assert clone.person.status() == ""
        assert clone.run().done == []
        assert (clone.sync().received, clone.sync().sent) == (0, 0)


def test_a_history_that_holds_ours_is_taken_over_without_a_commit(team: Team) -> None:
    ada, ben = team.clones
    ada.record(range(2))
    ada.sync()
    synced = ben.sync()
    assert (synced.received, synced.merged) == (1, None)
    assert ben.person.git("rev-parse", "HEAD") == ada.person.git("rev-parse", "HEAD")


def test_where_a_path_is_edited_locally_sync_waits_and_says_so(team: Team) -> None:
    path = learned(team)
    ada, ben = team.clones
    ben.edit(path, ("## ", "## Mine\n\nSo it is.\n\n## "))
    ben.sync()
    head = ada.person.git("rev-parse", "HEAD")
    (ada.root / path).write_text(ada.text(path) + "half a thought", encoding="utf-8")
    with pytest.raises(UncommittedEditError, match="edited and not committed"):
        ada.sync()
    assert ada.person.git("rev-parse", "HEAD") == head
    ada.person.git("commit", "-qam", "A whole thought")
    team.sync()
    assert "half a thought" in ben.text(path)
    assert "So it is." in ada.text(path)


def test_files_that_are_no_records_are_merged_as_git_does_it(team: Team) -> None:
    ada, ben = team.clones
    lines = [f"line {n}\n" for n in range(9)]
    ada.person.write("notes.md", "".join(lines))
    ada.person.write("tool.sh", "#!/bin/sh\n").chmod(0o755)
    ada.person.git("add", "-A")
    ada.person.git("commit", "-qm", "Notes")
    team.sync()
    ada.edit("notes.md", ("line 1", "line one"))
    ben.edit("notes.md", ("line 7", "line seven"))
    team.sync()
    assert "line one" in ben.text("notes.md")
    assert "line seven" in ada.text("notes.md")
    assert (ben.root / "tool.sh").stat().st_mode & 0o111


def test_what_no_rule_decides_leaves_both_sides_as_they_are(team: Team) -> None:
    ada, ben = team.clones
    for clone, word in ((ada, "one"), (ben, "two")):
        clone.person.write("notes.md", f"{word}\n")
        clone.person.git("add", "-A")
        clone.person.git("commit", "-qm", "Notes")
    ada.sync()
    head = ben.person.git("rev-parse", "HEAD")
    (problem,) = ben.sync().problems
    assert problem.path == "notes.md"
    assert "git pull --no-rebase" in problem.message
    assert ben.person.git("rev-parse", "HEAD") == head
    assert ben.person.status() == ""


def test_a_merge_that_would_break_the_vault_is_not_published(team: Team) -> None:
    ada, ben = team.clones
    for clone, domain in ((ada, "perps"), (ben, "coding")):
        clone.person.write(f"memory/{domain}/same.md", "One fact a name.\n")
        clone.person.git("add", "-A")
        clone.person.git("commit", "-qm", "A fact")
    ada.sync()
    (problem,) = ben.sync().problems
    assert problem.code == "name-taken"
    assert ben.person.status() == ""


def test_rules_appended_on_both_sides_stay_and_those_that_nobody_committed(team: Team) -> None:
    ada, ben = team.clones
    for clone, rule in ((ada, "Never sleep in a test."), (ben, "Quote every path.")):
        clone.vault.learn(rule)
        clone.run()
    ben.vault.learn("Pin each version.")
    team.sync()
    assert ada.text("LEARNINGS.md").count("Quote every path.") == 1
    assert "Never sleep in a test." in ben.text("LEARNINGS.md")
    assert ben.text("LEARNINGS.md").endswith("Pin each version.\n---\n")


def test_a_setting_that_both_changed_is_told_until_a_person_decides(team: Team) -> None:
    ada, ben = team.clones
    for clone, number in ((ada, 2), (ben, 3)):
        clone.edit("vault.yaml", ("format: 1\n", f"format: 1\npromote:\n  every: {number}\n"))
    ada.sync()
    assert ben.sync().undecided == {"promote.every": ["2", "3"]}
    assert ada.sync().undecided == ben.sync().undecided
    assert ada.vault.store.snapshot().policy.promote.every == 1
    lines = [line for line in ada.text("vault.yaml").splitlines() if "undecided" not in line]
    ada.person.write("vault.yaml", "\n".join([*lines, "promote:", "  every: 3", ""]))
    ada.person.git("commit", "-qam", "Three")
    team.sync()
    assert ben.sync().undecided == {}
    assert ben.vault.store.snapshot().policy.promote.every == 3


# ── skills ───────────────────────────────────────────────────────────────────────────


def test_a_skill_that_one_clone_archived_and_the_other_only_made_is_not_served(team: Team) -> None:
    ada, ben = team.clones
    for clone, folder in ((ada, "archive"), (ben, "skills")):
        mark = "metadata:\n  internal: true\n  origin: generated\n" if folder == "archive" else ""
        text = HAND_MADE.format(name="x").replace("\n---\n\n", f"\n{mark}---\n\n")
        text = text.replace("Do it.", "Do it." if mark else "")
        clone.person.write(f"{folder}/x/SKILL.md", text)
        clone.person.git("add", "-A")
        clone.person.git("commit", "-qm", "x\n\nSkillvault-Step: merge")
    team.sync()
    assert ada.vault.check().problems == []
    assert len([top for top in ("skills", "archive") if ben.text(f"{top}/x/SKILL.md")]) == 1


def test_a_persons_edit_of_a_skill_that_was_archived_meanwhile_is_served(team: Team) -> None:
    path = learned(team)
    ada, ben = team.clones
    name = path.split("/")[1]
    ben.edit(path, ("## ", "## Ask Mara\n\nShe knows.\n\n## "))
    (ada.root / "archive").mkdir(exist_ok=True)
    ada.person.git("mv", f"skills/{name}", f"archive/{name}")
    ada.person.git("commit", "-qm", f"archive {name}\n\nSkillvault-Step: expire")
    team.sync()
    assert "She knows." in ada.text(path)
    assert ada.text(f"archive/{name}/SKILL.md") == ""
    assert "internal" not in ada.text(path)
    assert ada.vault.check().problems == []


def test_what_a_person_retired_stays_retired_though_the_program_wrote_it_anew(team: Team) -> None:
    path = learned(team)
    ada, ben = team.clones
    name = path.split("/")[1]
    ben.vault.curate.retire(name, now=LATER)
    ada.record(range(20, 26))
    ada.run()
    team.sync()
    assert ada.text(path) == ""
    assert "internal: true" in ada.text(f"archive/{name}/SKILL.md")
    assert ada.vault.check().problems == []


# Another push comes first, while ours is being taken.
RACE = (
    "unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES; "
    "git update-ref refs/heads/main $(git commit-tree main^{tree} -p main -m race)"
)


# ── the remote ───────────────────────────────────────────────────────────────────────


def hook(team: Team, name: str, text: str) -> None:
    """Let the remote run a script."""
    place = team.remote / "hooks" / name
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(0o755)


def test_without_a_connection_nothing_fails_and_all_waits(team: Team) -> None:
    ada, _ = team.clones
    team.remote.rename(team.remote.with_name("away.git"))
    ada.record(range(2))
    synced = ada.sync()
    assert synced.away
    assert synced.waiting == 1
    assert ada.vault.status().unpushed == 1
    team.remote.with_name("away.git").rename(team.remote)
    assert (ada.sync().sent, ada.vault.status().unpushed) == (1, 0)


def test_a_push_that_another_one_outran_is_tried_again(team: Team) -> None:
    ada, _ = team.clones
    hook(team, "pre-receive", f"[ ! -e race ] && : > race && {RACE}; true")
    ada.record(range(2))
    pauses: list[float] = []
    synced = exchange.sync_clones(ada.vault.store, LATER, pause=pauses.append)
    assert (synced.received, synced.sent) == (1, 2), "our commit, and the merge with the other one"
    assert len(pauses) == 1


def test_a_push_that_is_always_outrun_ends_and_loses_nothing(team: Team) -> None:
    ada, _ = team.clones
    hook(team, "pre-receive", RACE)
    ada.record(range(2))
    pauses: list[float] = []
    with pytest.raises(VaultBusyError, match="run `skillvault sync` again"):
        exchange.sync_clones(ada.vault.store, LATER, pause=pauses.append)
    assert len(pauses) == 7
    assert len(ada.vault.store.snapshot().outcomes) == 2


def test_a_remote_that_refuses_says_why_and_nothing_is_lost(team: Team) -> None:
    ada, _ = team.clones
    hook(team, "pre-receive", "exit 1")
    ada.record(range(2))
    with pytest.raises(GitError, match="pre-receive hook declined"):
        ada.sync()
    assert ada.vault.status().unpushed == 1


def test_a_slow_remote_is_waited_for_and_who_comes_first_is_merged(team: Team) -> None:
    ada, ben = team.clones
    hook(team, "pre-receive", "sleep 0.3")
    for number, clone in enumerate((ada, ben)):
        clone.record([number])
    assert ada.sync().sent == 1
    assert ben.sync().merged


def test_a_vault_without_a_remote_says_how_it_gets_one(team: Team) -> None:
    team.clones[0].person.git("remote", "remove", "origin")
    with pytest.raises(UsageError, match="git remote add origin URL"):
        Clone(team.clones[0].root).sync()


def test_two_vaults_without_a_common_commit_are_not_merged(team: Team, tmp_path: Path) -> None:
    person = Person(tmp_path / "other")
    person.root.mkdir()
    person.git("init", "-q", "-b", "main")
    person.write("vault.yaml", "format: 1\nlearner: x\n")
    person.git("add", "-A")
    person.git("commit", "-qm", "Another vault")
    person.git("push", "-q", "--force", str(team.remote), "main")
    with pytest.raises(UsageError, match="no commit in common"):
        team.clones[0].sync()


def test_the_learner_that_is_silent_while_outcomes_wait_is_told_of(team: Team) -> None:
    learned(team)
    _, ben = team.clones
    head, late = ben.vault.store.snapshot(), LATER + timedelta(days=2)
    assert describe_silence(head, "ada", 0, late) is None
    assert describe_silence(head, "ada", 3, LATER) is None
    assert describe_silence(head, None, 3, late) is None
    assert "3 outcomes wait, and ada, which learns" in str(describe_silence(head, "ada", 3, late))

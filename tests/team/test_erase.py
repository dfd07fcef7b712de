"""erase: what was erased is in no object, index, log or cache, and does not come back."""

import os
import re
import signal
import sqlite3
import subprocess
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner

from skillvault import api
from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.clients.agents import AGENT_VARIABLES
from skillvault.model.errors import GitError, SkillvaultError, UncommittedEditError, UsageError
from skillvault.team import erase as erasing
from skillvault.team.erase import Erasure
from skillvault.vault.commit.cold import leave_out_months
from skillvault.vault.index.rows import _decompress
from tests.cli.terminal import Terminal
from tests.clones import LATER, Clone, Team
from tests.conftest import Person
from tests.forked import called
from tests.given import as_file, trade

NAME, SECRET = "Zoë Quillfeather", "hunter2-Xk9-Vault"
WORDS = ("quillfeather", "zoë quill", "zoe quill", "zoequill", "zoe-quill", "hunter2", "xk9")


@pytest.fixture(scope="module")
def pattern(_new_vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three clones with records of a person and a secret, and what was learned from them."""
    place = tmp_path_factory.mktemp("told") / "team"
    team = Team.made(_new_vault, place, ["ada", "ben", "cy"])
    ada = team.clones[0]
    ada.record(range(4))
    text = f"{NAME} said that the size was wrong, and pasted {SECRET} into the chat"
    ada.record([20], result__summary=text, decision__target="ZOE-QUILLFEATHER")
    ada.run()
    ada.person.write("skills/notes/SKILL.md", _skill(f"Ask {NAME}."))
    ada.person.git("add", "skills/notes")
    ada.person.git("commit", "-qm", f"Note what {NAME} knows")
    ada.person.write("skills/notes/SKILL.md", _skill("Ask somebody."))
    ada.person.git("commit", "-qam", "Ask others")
    team.sync()
    return place


@pytest.fixture
def team(pattern: Path, tmp_path: Path) -> Team:
    """A copy of the three clones."""
    return Team.copied(pattern, tmp_path / "team")


def _skill(body: str) -> str:
    return f"---\nname: notes\ndescription: Who to ask.\n---\n\n{body}\n"


def yes(_: Erasure) -> bool:
    return True


def erase(clone: Clone, *texts: str) -> Erasure:
    """`skillvault erase`, confirmed."""
    return erasing.erase(clone.vault.store, texts, yes, now=LATER)


def erase_both(root: Path) -> None:
    """`skillvault erase` in a process of its own."""
    erasing.erase(Vault(root).store, [NAME, SECRET], yes, now=LATER)


def follow(clone: Clone, key: str | None) -> Erasure:
    """`skillvault erase --follow`, confirmed."""
    return erasing.erase(clone.vault.store, [], yes, key=key, now=LATER)


def key_of(clone: Clone) -> str:
    key = erasing.read_key(clone.vault.store.git)
    assert key
    return key


def hits(clone: Clone, words: Sequence[str] = WORDS) -> list[str]:
    """Each place of a clone with one of these words: objects, logs, databases, files."""
    git = ["git", "-C", str(clone.root)]
    listing = subprocess.run(
        [*git, "cat-file", "--batch-all-objects", "--batch"], capture_output=True, check=True
    ).stdout
    logs = [["log", "--all", "-p", "--format=fuller"], ["log", "-g", "--all", "-p"],
            ["for-each-ref"]]  # fmt: skip
    texts = {"objects": listing}
    for words_of in logs:
        texts[" ".join(words_of)] = subprocess.run(
            [*git, *words_of], capture_output=True, check=False
        ).stdout
    for path in clone.root.rglob("*"):
        if path.is_file() and "objects" not in path.parts:
            texts[str(path)] = str(path).encode() + path.read_bytes()
    database = clone.root / ".git/skillvault/index.db"
    texts["values"] = b"".join(_values(database)) if database.exists() else b""
    return [
        f"{place}: {word}"
        for place, text in texts.items()
        for word in words
        if word in text.decode(errors="replace").casefold()
        if len(word) > 3 or "index.db" not in place  # compressed bytes hold short words by chance
    ]


def _values(database: Path) -> Iterator[bytes]:
    """The records in the database, as they were before they were compressed."""
    with closing(sqlite3.connect(database)) as connection:
        for (value,) in connection.execute("select value from file"):
            yield _plain(value)


def _plain(value: object) -> bytes:
    if not isinstance(value, bytes):
        return f"{value}\n".encode()
    try:
        return _decompress(value)
    except zlib.error:
        return value


def test_each_clone_that_erased_has_no_trace_and_the_vault_is_whole(team: Team) -> None:
    ada, ben, _ = team.clones
    assert hits(ada)
    ids = sorted(ada.vault.store.snapshot().outcomes)
    erase(ada, NAME, SECRET)
    ben.record([7])
    with pytest.raises(UsageError, match="skillvault erase --follow"):
        ben.sync()
    follow(ben, key_of(ada))
    for clone in (ben, ada, ben):
        assert clone.sync().problems == []
    for clone in (ada, ben):
        assert hits(clone) == []
        assert Clone(clone.root).vault.check().problems == []
        assert clone.person.status() == ""
        assert clone.person.git("fsck", "--strict", "--no-dangling") == ""
    assert ada.tree() == ben.tree()
    outcomes = Clone(ada.root).vault.store.snapshot().outcomes
    assert set(ids) < set(outcomes), "ids stay"
    assert len(outcomes) == len(ids) + 1


def test_a_clone_that_did_not_erase_cannot_bring_it_back(team: Team) -> None:
    ada, _, cy = team.clones
    erase(ada, NAME, SECRET)
    tip = ada.person.git("rev-parse", "HEAD")
    for _ in range(2):
        with pytest.raises(UsageError, match="skillvault erase --follow"):
            cy.sync(take_over=True)
    assert ada.person.git("ls-remote", "origin", "main").split()[0] == tip
    cy.person.git("push", "-q", "--force", "origin", "main")
    with pytest.raises(UsageError, match="the remote still has the text"):
        ada.sync()
    follow(ada, None)
    assert ada.sync().problems == []
    assert hits(ada) == []
    assert ada.person.git("ls-remote", "origin", "main").split()[0] == tip


def test_only_a_clone_with_the_key_recognizes_retyped_text(team: Team) -> None:
    ada, ben, _ = team.clones
    erase(ada, NAME, SECRET)
    with pytest.raises(UsageError, match="not the key"):
        follow(ben, "wrong")
    follow(ben, key_of(ada))
    ben.sync()
    ben.person.write("skills/notes/SKILL.md", _skill("Call zoe QUILLFEATHER."))
    ben.person.git("commit", "-qam", "Call")
    (problem,) = ben.sync().problems
    assert (problem.path, problem.code) == ("skills/notes/SKILL.md", "erased")
    follow(ben, None)
    assert ben.sync().problems == []
    assert hits(ben) == []
    ben.person.write("skills/notes/SKILL.md", _skill("Call zoe QUILLFEATHER."))
    ben.person.git("commit", "-qam", "Call")
    ben.person.write("skills/notes/SKILL.md", _skill("Call somebody."))
    ben.person.git("commit", "-qam", f"Call others than {NAME}")
    assert {problem.code for problem in ben.sync().problems} == {"erased"}
    assert len(ben.sync().problems) == 2
    follow(ben, None)
    assert ben.sync().problems == []
    assert hits(ben) == hits(team.clones[0]) == []


def test_retyped_text_of_a_clone_without_the_key_is_erased_once_more(
    team: Team, tmp_path: Path
) -> None:
    ada = team.clones[0]
    erase(ada, NAME, SECRET)
    dan = Clone.of(team.remote, tmp_path / "dan")
    dan.person.write("skills/notes/SKILL.md", _skill("Call zoe QUILLFEATHER."))
    dan.person.git("commit", "-qam", "Call")
    assert dan.sync().problems == []
    ada.record([9])
    (problem,) = ada.sync().problems
    (command,) = re.findall("`git (.*?)`", problem.message)
    ada.person.git(*command.split(), "--no-edit", "-q")
    assert ada.sync().problems == []
    erase(ada, NAME)
    assert hits(ada) == []
    with pytest.raises(UsageError, match="follow"):
        dan.sync()


@pytest.mark.parametrize("is_light", [False, True])
def test_an_outcome_goes_with_its_evaluation_and_its_words(team: Team, is_light: bool) -> None:
    ada, ben, _ = team.clones
    if is_light:
        for clone in (ada, ben):
            assert leave_out_months(clone.vault.store, date(2028, 1, 1), 1).files
    head = ada.vault.store.snapshot()
    name = next(n for n in head.outcomes if "ZOE" in (head.outcomes[n].decision.target or ""))
    with pytest.raises(UsageError, match="skillvault retract"):
        erase(ada, name)
    api.retract(ada.vault, name, "it was private", now=LATER)
    ada.sync()
    erase(ada, name)
    follow(ben, key_of(ada))
    ben.sync()
    for clone in (ada, ben):
        assert hits(clone, ["said that the size was wrong"]) == []
        assert Clone(clone.root).vault.check().problems == []
        assert name not in Clone(clone.root).vault.store.snapshot().outcomes
        assert bool(list((clone.root / "outcomes").rglob("*.yaml"))) != is_light
        assert clone.person.status() == ""


def test_a_commit_and_a_file_that_a_record_or_a_message_names_are_named_anew(team: Team) -> None:
    ada = team.clones[0]
    old_tip = ada.person.git("rev-parse", "HEAD")
    old_blob = ada.person.git("rev-parse", "HEAD~1:skills/notes/SKILL.md")
    ada.person.write("notes.md", f"See {old_tip} and {old_blob}.\n")
    ada.person.git("add", "notes.md")
    ada.person.git("commit", "-qm", f"Note\n\nSince {old_tip[:12]}.")
    ada.sync()
    erase(ada, NAME)
    new_tip = ada.person.git("rev-parse", "HEAD~2")
    assert new_tip != old_tip
    new_blob = ada.person.git("rev-parse", "HEAD~3:skills/notes/SKILL.md")
    assert ada.text("notes.md") == f"See {new_tip} and {new_blob}.\n"
    assert f"Since {new_tip[:12]}." in ada.person.git("log", "-1", "--format=%B", "HEAD~1")


def test_nothing_changes_unless_it_is_confirmed(team: Team) -> None:
    ada = team.clones[0]
    refs = ada.person.git("for-each-ref")
    shown: list[Erasure] = []

    def refuse(erasure: Erasure) -> bool:
        shown.append(erasure)
        return False

    done = erasing.erase(ada.vault.store, [NAME], refuse, now=LATER)
    assert not done.is_done
    assert "skills/notes/SKILL.md" in shown[0].paths
    assert ada.person.git("for-each-ref") == refs
    assert not (ada.root / ".git/skillvault/erasing").exists()
    assert not (ada.root / ".git/skillvault/erase.key").exists()


def test_work_that_is_not_committed_or_not_synced_is_never_lost(team: Team) -> None:
    ada, ben, _ = team.clones
    ada.person.write("thoughts.md", "half a thought")
    with pytest.raises(UncommittedEditError, match=r"thoughts\.md"):
        erase(ada, NAME)
    ada.person.git("add", "thoughts.md")
    ada.person.git("stash", "-q")
    with pytest.raises(UncommittedEditError, match="stash"):
        erase(ada, NAME)
    ada.person.git("stash", "pop", "-q")
    ada.person.git("commit", "-qm", "A whole thought")
    with pytest.raises(UsageError, match="skillvault sync"):
        erase(ada, NAME)
    ada.sync()
    ben.sync()
    ben.record([9])
    ben.sync()
    with pytest.raises(UsageError, match="skillvault sync"):
        erase(ada, NAME)


def test_work_between_the_preview_and_the_confirmation_is_never_lost(team: Team) -> None:
    ada = team.clones[0]
    for work, error in (
        (lambda: ada.person.git("commit", "-q", "--allow-empty", "-m", "Meanwhile"), "moved"),
        (lambda: ada.person.git("branch", "new"), "moved"),
        (lambda: ada.person.git("switch", "-qc", "side"), "paused"),
    ):
        ada.sync()

        def work_and_confirm(_: Erasure, work: Callable[[], str] = work) -> bool:
            work()
            return True

        with pytest.raises(SkillvaultError, match=error):
            erasing.erase(ada.vault.store, [NAME], work_and_confirm, now=LATER)
        assert ada.person.git("log", "-1", "--format=%s", "main") == "Meanwhile"
        assert ada.person.git("ls-remote", "origin", "main").split()[0] in ada.person.git("log")


def test_a_commit_during_the_push_comes_along(team: Team) -> None:
    ada = team.clones[0]
    hook = team.remote / "hooks/post-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        f"#!/bin/sh\nunset $(git rev-parse --local-env-vars)\ngit -C '{ada.root}' -c user.name=A "
        f"-c user.email=a@example.org commit -q --allow-empty -m '{NAME} called' >&2\n"
    )
    hook.chmod(0o755)
    with pytest.raises(UsageError, match="--follow"):
        erase(ada, NAME, SECRET)
    hook.unlink()
    assert ada.person.status() == ""
    assert ada.person.git("log", "-1", "--format=%s") == f"{NAME} called"
    follow(ada, None)
    assert ada.sync().problems == []
    assert "erased called" in ada.person.git("log", "-3", "--format=%s")
    assert hits(ada) == []


def test_an_erasure_that_is_killed_before_its_refs_move_goes_on(team: Team) -> None:
    ada = team.clones[0]
    lock = ada.root / ".git/refs/heads/main.lock"
    lock.touch()
    with pytest.raises(UsageError, match="--follow"):
        erase(ada, NAME, SECRET)
    assert ada.person.status() == ""
    lock.unlink()
    ada.person.git("read-tree", "-m", "-u", "HEAD", "refs/skillvault/erased/pinned")  # the kill
    assert ada.person.status() != ""
    follow(ada, None)
    assert ada.sync().problems == []
    assert hits(ada) == []
    assert ada.person.status() == ""


@pytest.mark.parametrize("point", ["erase-pushed", "erase-checked-out", "erase-moved"])
def test_a_killed_erasure_is_finished_by_the_command_that_sync_names(
    team: Team, point: str
) -> None:
    ada, ben, _ = team.clones
    assert called(erase_both, ada.root, f"{point}=kill") == -signal.SIGKILL
    ada = Clone(ada.root)
    with pytest.raises(UsageError, match="run `skillvault erase --follow`"):
        ada.sync()
    follow(ada, None)
    follow(ben, key_of(ada))
    for clone in (ada, ben, ada):
        assert clone.sync().problems == []
    assert hits(ada) == []
    assert ada.person.status() == ""
    assert ada.tree() == ben.tree()
    assert ada.vault.check().problems == []


def test_unpushed_work_comes_along_without_the_text(team: Team) -> None:
    ada, ben, _ = team.clones
    erase(ada, NAME, SECRET)
    ben.person.write("more.md", f"{NAME} again, and a thought of mine\n")
    ben.person.git("add", "more.md")
    ben.person.git("commit", "-qm", "More")
    ben.person.git("switch", "-qc", "side")
    ben.person.git("commit", "-q", "--allow-empty", "-m", f"Side work of {NAME}")
    ben.person.git("switch", "-q", "main")
    follow(ben, key_of(ada))
    assert ben.sync().problems == []
    assert ben.text("more.md") == "erased again, and a thought of mine\n"
    assert ben.person.git("log", "-1", "--format=%s", "side") == "Side work of erased"
    assert hits(ben) == []


def test_files_of_the_inbox_and_the_quarantine_are_cleaned_too(team: Team) -> None:
    ada = team.clones[0]
    ada.vault.inbox.create_folders()
    (ada.root / "inbox/a.json").write_bytes(as_file(trade(3, result__summary=f"so says {NAME}")))
    for name, text in (("zoe-quillfeather", f"token {SECRET}"), ("ZOE_QUILLFEATHER", "more")):
        (ada.root / f"quarantine/{name}.txt").write_text(text, encoding="utf-8")
    erase(ada, NAME, SECRET)
    assert hits(ada) == []
    assert {path.read_text() for path in (ada.root / "quarantine").glob("*erased.txt")} == {
        "token erased",
        "more",
    }


def test_a_person_types_texts_and_confirms_in_a_terminal(team: Team) -> None:
    ada, ben, _ = team.clones
    person = {name: value for name, value in os.environ.items() if name not in AGENT_VARIABLES}
    terminal = Terminal(ada.root, "erase", columns=100, environment=person)
    terminal.wait(lambda text: text.endswith(">"))
    terminal.press(f"{NAME}\n{SECRET}\n\n")
    text = terminal.wait(lambda text: "Type `erase`" in text)
    assert "skills/notes/SKILL.md" in text
    assert "forces refs/heads/main of the remote" in text
    terminal.press("erase\n")
    terminal.wait(lambda text: "the key is in" in text)
    assert terminal.end() == 0
    terminal = Terminal(ben.root, "erase", "--follow", columns=100, environment=person)
    terminal.wait(lambda text: text.startswith("Key"))
    terminal.press(f"{key_of(ada)}\n")
    terminal.wait(lambda text: "Type `erase`" in text)
    terminal.press("erase\n")
    terminal.wait(lambda text: "erased here" in text)
    assert terminal.end() == 0
    assert hits(ada) == hits(ben) == []


def test_a_text_that_nothing_has_is_not_said_to_be_erased(team: Team) -> None:
    with pytest.raises(UsageError, match="spelling"):
        erase(team.clones[0], "Zoe Quilfeather")


@pytest.mark.parametrize("words", [[], ["--follow"], ["--dry-run"]])
def test_without_a_terminal_nobody_erases(vault: Vault, words: list[str]) -> None:
    result = CliRunner().invoke(cli, ["--vault", str(vault.root), "erase", *words])
    assert isinstance(result.exception, UsageError)
    assert "only a person" in str(result.exception)


def test_an_agent_does_not_erase(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    result = CliRunner().invoke(cli, ["--vault", str(vault.root), "erase"])
    assert "Claude Code" in str(result.exception)


def test_names_of_authors_branches_and_tags_go_here_and_on_the_remote(team: Team) -> None:
    ada, ben, _ = team.clones
    git = ada.person.git
    git("-c", f"user.name={NAME}", "commit", "-q", "--allow-empty", "-m", "By a person")
    git("tag", "-a", "zoe-quillfeather-1", "-m", f"For {NAME}")
    git("tag", "plain")
    git("branch", "propose/zoe-quillfeather")
    git("push", "-q", "origin", "--tags", "propose/zoe-quillfeather")
    ada.sync()
    ben.person.git("fetch", "-q", "--tags")
    ben.person.git("branch", "propose/zoe-quillfeather", "origin/propose/zoe-quillfeather")
    erase(ada, NAME, SECRET)
    follow(ben, key_of(ada))
    ben.sync()
    assert hits(ada) == hits(ben) == []
    refs = git("ls-remote", "origin")
    assert "quillfeather" not in refs
    assert "refs/heads/propose/erased" in refs
    assert "refs/tags/erased-1" in refs
    assert git("log", "-1", "--format=%an", "plain") == "erased"


def test_a_tag_that_only_another_clone_and_the_remote_have_goes_too(team: Team) -> None:
    ada, ben, _ = team.clones
    ben.person.git("tag", "old", "HEAD~1")
    ben.person.git("push", "-q", "origin", "old")
    ada.person.git("tag", "old", "HEAD~2")
    with pytest.raises(UsageError, match="refs/tags/old"):
        erase(ada, NAME)
    ada.person.git("tag", "-d", "old")
    erase(ada, NAME, SECRET)
    new_tag = ada.person.git("rev-parse", "old")
    assert ada.person.git("ls-remote", "origin", "refs/tags/old").split()[0] == new_tag
    assert hits(ada) == []


def test_a_clone_follows_several_erasures_at_once(team: Team) -> None:
    ada, ben, cy = team.clones
    erase(ada, NAME)
    follow(ben, key_of(ada))
    ben.sync()
    erase(ben, SECRET)
    cy.record([9])
    with pytest.raises(UsageError, match="follow"):
        cy.sync()
    follow(cy, key_of(ada))
    with pytest.raises(UsageError, match="follow"):
        ada.sync()
    follow(ada, None)
    for clone in (cy, ada, ben, cy):
        assert clone.sync().problems == []
    assert hits(ada) == hits(ben) == hits(cy) == []
    assert ada.tree() == ben.tree() == cy.tree()


def test_a_vault_without_a_remote_is_erased_and_learns_on(vault: Vault, person: Person) -> None:
    vault.record([("a.json", as_file(trade(1, result__summary=f"so says {NAME}")))], now=LATER)
    vault.run(now=LATER)
    clone = Clone(vault.root)
    erase(clone, NAME)
    assert hits(clone) == []
    fresh = Vault(vault.root)
    assert {done.change.step for done in fresh.run(now=LATER).done} <= {"refresh"}
    assert fresh.run(now=LATER).done == []
    fresh.record([("b.json", as_file(trade(2)))], now=LATER)
    assert fresh.run(now=LATER).done
    assert fresh.check().problems == []


def test_a_git_name_that_would_come_back_is_refused(team: Team) -> None:
    ada = team.clones[0]
    ada.person.git("config", "user.name", NAME)
    with pytest.raises(UsageError, match=r"git config --global user\.name"):
        erase(ada, NAME)


def test_if_the_remote_refuses_nothing_changes(team: Team) -> None:
    ada = team.clones[0]
    subprocess.run(
        ["git", "-C", str(team.remote), "config", "receive.denyNonFastForwards", "true"], check=True
    )
    refs = ada.person.git("for-each-ref", "refs/heads", "refs/remotes")
    with pytest.raises(GitError, match="refuses"):
        erase(ada, NAME)
    assert ada.person.git("for-each-ref", "refs/heads", "refs/remotes") == refs
    assert ada.person.status() == ""
    assert ada.sync().problems == []


@pytest.mark.parametrize(
    ("key", "value"),
    [("commits", "--all"), ("commits", "main"), ("commits", "0" * 39), ("outcomes", "SKILL")],
)
def test_a_tombstone_that_somebody_broke_is_named(team: Team, key: str, value: str) -> None:
    ada = team.clones[0]
    ada.person.write(
        "erased/a.json", f'{{"at": "2026-12-10T12:00:00Z", "proof": "", "{key}": ["{value}"]}}'
    )
    ada.person.git("add", "erased")
    ada.person.git("commit", "-qm", "A tombstone")
    with pytest.raises(UsageError, match=r"erased/a\.json: no tombstone"):
        ada.sync()

"""history: git is spoken to so that nothing of the repository's runs and nobody is hurt."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.loop.registry import AGENDA
from skillvault.model.errors import GitError, NotAVaultError, PausedError
from skillvault.model.records import Ref
from skillvault.vault.commit.store import Store
from skillvault.vault.git.committer import CommitDraft
from skillvault.vault.git.refs import RefUpdate
from skillvault.vault.git.repository import Git
from tests.conftest import Person
from tests.given import as_file, raw, trade
from tests.vault.given import HAND_MADE, NOW, applied, files, script, thought_of

# ── a repository in the middle of something ──────────────────────────────────────────


def side(person: Person) -> None:
    """A branch `side` that says something else about the same line."""
    person.git("switch", "-qc", "side")
    person.write("README.md", "side\n")
    person.git("commit", "-qam", "side")
    person.git("switch", "-q", "main")
    person.write("README.md", "main\n")
    person.git("commit", "-qam", "main")


def detached(person: Person) -> None:
    person.git("checkout", "-q", "--detach")


def other_branch(person: Person) -> None:
    person.git("switch", "-qc", "other")


def merging(person: Person) -> None:
    side(person)
    person.git("merge", "side", ok=False)


def merged_but_not_committed(person: Person) -> None:
    merging(person)
    person.write("README.md", "both\n")
    person.git("add", "README.md")


def rebasing(person: Person) -> None:
    side(person)
    person.git("rebase", "side", ok=False)


def picking(person: Person) -> None:
    side(person)
    person.git("cherry-pick", "side", ok=False)


def picking_several(person: Person) -> None:
    side(person)
    person.git("switch", "-q", "side")
    person.write("README.md", "side again\n")
    person.git("commit", "-qam", "side again")
    person.git("switch", "-q", "main")
    person.git("cherry-pick", "side~1", "side", ok=False)
    person.write("README.md", "picked\n")
    person.git("commit", "-qam", "picked")


def reverting(person: Person) -> None:
    side(person)
    person.write("README.md", "again\n")
    person.git("commit", "-qam", "again")
    person.git("revert", "--no-edit", "HEAD~1", ok=False)


def bisecting(person: Person) -> None:
    person.git("bisect", "start")


def applying(person: Person) -> None:
    side(person)
    patch = person.git("format-patch", "--stdout", "side~1..side")
    (person.root.parent / "patch").write_text(patch + "\n")
    person.git("am", str(person.root.parent / "patch"), ok=False)


def unmerged(person: Person) -> None:
    side(person)
    person.write("README.md", "stashed\n")
    person.git("stash")
    person.write("README.md", "x\n")
    person.git("commit", "-qam", "x")
    person.git("stash", "pop", ok=False)


def unborn(person: Person) -> None:
    person.git("update-ref", "-d", "refs/heads/main")


def shallow(person: Person) -> None:
    (person.root / ".git/shallow").write_text(person.git("rev-parse", "HEAD") + "\n")


def bare(person: Person) -> None:
    person.git("config", "core.bare", "true")


MIDDLES: dict[Callable[[Person], None], str] = {
    detached: "detached", other_branch: "on branch other", merging: "a merge",
    merged_but_not_committed: "a merge", rebasing: "a rebase", picking: "a cherry-pick",
    picking_several: "a cherry-pick", reverting: "a revert", bisecting: "a bisect",
    applying: "a rebase", unmerged: "unmerged", unborn: "no commit yet", shallow: "shallow",
    bare: "bare",
}  # fmt: skip


@pytest.mark.parametrize(("begin", "reason"), MIDDLES.items())
def test_nothing_is_committed_in_the_middle_of_something(
    vault: Vault, person: Person, begin: Callable[[Person], None], reason: str
) -> None:
    base = person.git("rev-parse", "HEAD")
    commit_ours = thought_of(vault, files(notes_a="a\n"))
    begin(person)
    before = (person.git("for-each-ref"), person.git("status", "--porcelain", ok=False))
    (vault.root / "inbox/a.json").write_bytes(as_file(raw()))
    with pytest.raises(PausedError, match=f"paused: .*{reason}"):
        commit_ours()
    with pytest.raises(PausedError):
        vault.run(now=NOW)
    with pytest.raises(PausedError, match="wait in inbox/ and are taken afterwards"):
        vault.record([("b.json", as_file(raw(1)))], now=NOW)
    assert reason in (vault.status().paused or "")
    assert (person.git("for-each-ref"), person.git("status", "--porcelain", ok=False)) == before
    assert vault.inbox.names() == ["a.json", "b.json"]
    person.git("update-ref", "refs/heads/main", base)


def test_what_waited_is_taken_when_the_repository_is_itself_again(
    vault: Vault, person: Person
) -> None:
    merging(person)
    (vault.root / "inbox/a.json").write_bytes(as_file(raw()))
    with pytest.raises(PausedError):
        vault.run(now=NOW)
    person.git("merge", "--abort")
    vault.run(["record"], now=NOW)
    assert len(vault.store.snapshot().outcomes) == 1


def test_a_folder_of_another_repository_is_no_vault(vault: Vault) -> None:
    (vault.root / "inner").mkdir()
    with pytest.raises(NotAVaultError, match="the folder inner/ of another one"):
        Git(vault.root / "inner").dirs()


def test_a_folder_without_a_repository_is_no_vault(tmp_path: Path) -> None:
    with pytest.raises(NotAVaultError, match="skillvault init"):
        Git(tmp_path).dirs()


@pytest.mark.parametrize("name", ["$HOME", "~"])
def test_nothing_of_a_folder_s_name_is_expanded(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    Git(folder).init("main")
    assert Git(folder).text("rev-parse", "--show-toplevel") == str(folder)


def test_git_runs_in_no_other_folder_if_its_own_is_gone(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="cannot change to"):
        Git(tmp_path / "gone").run("rev-parse", "--git-dir")


def test_a_vault_in_a_linked_work_tree_learns_on_its_branch(
    vault: Vault, person: Person, tmp_path: Path
) -> None:
    person.git("switch", "-qc", "elsewhere")
    person.git("worktree", "add", "-q", str(tmp_path / "linked"), "main")
    linked = Vault.open(tmp_path / "linked")
    applied(linked, files(notes_a="a\n"))
    assert Person(linked.root).status() == ""
    assert person.git("show", "main:notes/a.md") == "a"


@pytest.mark.parametrize("options", [("-b", "side"), ("--detach",)])
def test_the_work_tree_that_has_the_branch_is_named(
    vault: Vault, person: Person, tmp_path: Path, options: tuple[str, ...]
) -> None:
    person.git("worktree", "add", "-q", *options, str(tmp_path / "linked"))
    with pytest.raises(PausedError, match=f"; go to {vault.root}, which has main$"):
        Vault.open(tmp_path / "linked").run(now=NOW)


# ── who commits ──────────────────────────────────────────────────────────────────────


def test_a_commit_is_the_person_s_at_the_time_given(vault: Vault, person: Person) -> None:
    applied(vault, files(notes_a="a\n"))
    assert person.git("log", "-1", "--format=%an <%ae> %cn <%ce> %aI %cI") == (
        "Ada Person <ada@example.org> Ada Person <ada@example.org> "
        "2026-11-20T12:00:00+00:00 2026-11-20T12:00:00+00:00"
    )


def test_the_program_is_the_author_of_what_it_learned(vault: Vault, person: Person) -> None:
    """Blame, shortlog and hosts tell program from person; a person's decision stays theirs."""
    vault.record([("a.json", as_file(raw()))], now=NOW)
    vault.run(now=NOW)
    vault.curate.retire(vault.skills()[0].name, now=NOW)
    said = person.git("log", "--format=%an <%ae>, %cn: %s").splitlines()
    program, ada = "skillvault <skillvault@localhost>", "Ada Person <ada@example.org>"
    assert [line.partition(", Ada Person: ")[0] for line in said] == [
        ada, program, program, program, ada,
    ]  # fmt: skip


def test_the_policy_may_leave_what_it_learned_to_the_person(vault: Vault, person: Person) -> None:
    with (vault.root / "vault.yaml").open("a") as file:
        file.write("commit: {author: person}\n")
    person.git("commit", "-qam", "mine")
    vault.record([("a.json", as_file(raw()))], now=NOW)
    assert person.git("log", "-1", "--format=%an") == "Ada Person"


def test_the_environment_may_name_another_author(
    vault: Vault, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Bo Other")
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "bo@example.org")
    applied(vault, files(notes_a="a\n"))
    assert person.git("log", "-1", "--format=%an %ce") == "Bo Other bo@example.org"


def test_each_group_of_commits_has_its_own_time(vault: Vault, person: Person) -> None:
    """The name that git gave the first commit is given to later ones, and not its time."""
    git, tree = vault.store.git, person.git("rev-parse", "HEAD^{tree}")
    parent: str | None = None
    for at in (NOW, NOW + timedelta(hours=5)):
        drafts = [CommitDraft(tree, "one"), CommitDraft(tree, "two")]
        parent = git.committer.make_commits(drafts, parent, at)[-1]
    said = person.git("log", "--format=%an <%ae> %aI %cn <%ce> %cI", str(parent)).splitlines()
    who = "Ada Person <ada@example.org>"
    times = [f"2026-11-20T{hour}:00:00+00:00" for hour in (17, 17, 12, 12)]
    assert said == [f"{who} {at} {who} {at}" for at in times]


@pytest.mark.parametrize("missing", ["", "[user]\n\tname = Ada\n", "[user]\n\temail = a@b.c\n"])
def test_without_an_identity_nothing_is_invented_and_nothing_left_behind(
    vault: Vault, person: Person, missing: str
) -> None:
    config = Path(os.environ["HOME"]) / ".gitconfig"
    whole = config.read_text()
    config.write_text(missing)
    (vault.root / "inbox/a.json").write_bytes(as_file(raw()))
    before = person.git("rev-parse", "HEAD"), person.git("ls-files", "--stage")
    with pytest.raises(PausedError, match=r"git config --global user\.name"):
        vault.run(now=NOW)
    assert "git does not know who you are" in (vault.status().paused or "")
    assert (person.git("rev-parse", "HEAD"), person.git("ls-files", "--stage")) == before
    assert (person.status(), vault.inbox.names()) == ("", ["a.json"])
    config.write_text(whole)
    vault.run(["record"], now=NOW)
    assert len(vault.store.snapshot().outcomes) == 1


SIGNER = (
    "cat >/dev/null",
    'echo "[GNUPG:] SIG_CREATED D" >&2',
    "echo '-----BEGIN PGP SIGNATURE-----'; echo; echo made; echo '-----END PGP SIGNATURE-----'",
)


def test_a_person_who_signs_signs(vault: Vault, person: Person, tmp_path: Path) -> None:
    person.git("config", "--global", "gpg.program", str(script(tmp_path / "gpg", *SIGNER)))
    person.git("config", "--global", "commit.gpgsign", "true")
    applied(vault, files(notes_a="a\n"))
    assert "BEGIN PGP SIGNATURE" in person.git("cat-file", "commit", "HEAD")


@pytest.mark.parametrize("key", ["gpg.program", "gpg.openpgp.program"])
def test_the_repository_may_ask_for_signatures_and_not_name_the_program(
    vault: Vault, person: Person, tmp_path: Path, key: str
) -> None:
    evil = script(tmp_path / "evil", f"touch {tmp_path}/ran", *SIGNER)
    person.git("config", "--global", "gpg.program", str(script(tmp_path / "gpg", *SIGNER)))
    person.git("config", "commit.gpgsign", "true")
    person.git("config", key, str(evil))
    applied(vault, files(notes_a="a\n"))
    assert "BEGIN PGP SIGNATURE" in person.git("cat-file", "commit", "HEAD")
    assert not (tmp_path / "ran").exists()


def test_a_signature_that_never_comes_pauses(
    vault: Vault, person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillvault.vault.git.committer._SIGNING_WAIT", 0.3)  # the clock
    hangs = script(tmp_path / "gpg", "exec sleep 60")
    person.git("config", "--global", "gpg.program", str(hangs))
    person.git("config", "--global", "commit.gpgsign", "true")
    start = time.monotonic()
    with pytest.raises(PausedError, match="signing the commit did not end"):
        applied(vault, files(notes_a="a\n"))
    assert (time.monotonic() - start < 30, person.status()) == (True, "")


# ── what a repository's own config would run ─────────────────────────────────────────


def test_nothing_that_the_repository_names_is_ever_run(
    vault: Vault, person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    person.write(".gitattributes", "* filter=evil diff=evil merge=evil\n")
    person.write("skills/a-skill/SKILL.md", HAND_MADE.format(name="a-skill"))
    person.git("add", "-A")
    person.git("commit", "-qm", "mine")
    ran = tmp_path / "ran"
    evil = script(tmp_path / "evil", f'echo "$0 $*" >> {ran}', "cat")
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    names = (
        "pre-commit commit-msg prepare-commit-msg post-commit reference-transaction post-checkout "
        "post-index-change fsmonitor-watchman post-rewrite pre-auto-gc"
    )
    for name in names.split():
        shutil.copy(evil, hooks / name)
        shutil.copy(evil, vault.root / ".git/hooks" / name)
    settings = (
        "core.fsmonitor core.sshCommand core.pager core.editor core.askPass diff.external "
        "filter.evil.clean filter.evil.smudge filter.evil.process diff.evil.textconv "
        "diff.evil.command merge.evil.driver gpg.program sequence.editor pager.log pager.ls-files "
        "trailer.x.command trailer.x.cmd core.alternateRefsCommand credential.helper "
        "uploadpack.packObjectsHook core.gitProxy interactive.diffFilter gpg.ssh.defaultKeyCommand"
    )
    for key in settings.split():
        person.git("config", key, str(evil))
    for alias in "log commit-tree update-index ls-files".split():
        person.git("config", f"alias.{alias}", f"!{evil}")
    person.git("config", "filter.evil.required", "true")
    person.git("config", "core.hooksPath", str(hooks))
    person.git("config", "trailer.x.key", "Skillvault-Step")
    person.git("config", "log.showSignature", "true")
    person.git("config", "extensions.partialClone", "origin")
    person.git("config", "remote.origin.url", f"ext::{evil}")
    person.git("config", "protocol.ext.allow", "always")
    ran.unlink(missing_ok=True)
    for name in ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_SSH_COMMAND", "GIT_ASKPASS"):
        monkeypatch.setenv(name, str(evil))
    monkeypatch.setenv("PAGER", str(evil))

    vault = Vault.open(vault.root)
    vault.record([("a.json", as_file(trade()))], now=NOW)
    (vault.root / "inbox/b.json").write_bytes(as_file(trade(1)))
    vault.run(now=NOW)
    vault.status()
    vault.check()
    vault.check(staged=True)
    vault.why("a-skill")
    vault.log()
    vault.curate.pin("a-skill", now=NOW)
    vault.curate.retire("a-skill", now=NOW)
    vault.store.git.history.deletions("HEAD")
    Vault.init(vault.root, now=NOW)
    with pytest.raises(GitError, match="cannot be read"):
        vault.store.git.blobs(["1" * 40])
    assert len(vault.store.snapshot().evaluations) == 2
    assert not ran.exists(), ran.read_text()
    (vault.root / ".git/config").write_text("[core]\n\trepositoryformatversion = 0\n")


def test_blobs_are_stored_as_they_are_whatever_the_attributes_say(
    vault: Vault, person: Person
) -> None:
    person.write(".gitattributes", "* text eol=lf ident\n")
    person.git("commit", "-qam", "mine")
    person.git("config", "core.autocrlf", "input")
    after = applied(vault, files(notes_a="a\r\n$Id$\r\n"))
    assert after.files.read(["notes/a.md"]) == {"notes/a.md": b"a\r\n$Id$\r\n"}
    fresh = Store(vault.root, AGENDA).snapshot()
    assert fresh.files.read(["notes/a.md"]) == {"notes/a.md": b"a\r\n$Id$\r\n"}


@pytest.mark.parametrize(
    "name",
    "GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_NAMESPACE "
    "GIT_CEILING_DIRECTORIES GIT_PREFIX GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT "
    "GIT_SHALLOW_FILE GIT_GRAFT_FILE GIT_ATTR_SOURCE GIT_DEFAULT_HASH".split(),
)
def test_the_environment_does_not_divert_us(
    vault: Vault, person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path / "other")], check=True)
    person.write("staged.md", "mine\n")
    person.git("add", "staged.md")
    value = {
        "GIT_DIR": f"{tmp_path}/other/.git", "GIT_COMMON_DIR": f"{tmp_path}/other/.git",
        "GIT_WORK_TREE": f"{tmp_path}/other", "GIT_INDEX_FILE": f"{tmp_path}/other/index",
        "GIT_OBJECT_DIRECTORY": f"{tmp_path}/other/.git/objects", "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_PARAMETERS": "'core.bare=true'", "GIT_CEILING_DIRECTORIES": str(tmp_path),
    }.get(name, "other")  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setenv(name, value)
        if name == "GIT_CONFIG_COUNT":
            patch.setenv("GIT_CONFIG_KEY_0", "core.bare")
            patch.setenv("GIT_CONFIG_VALUE_0", "true")
        fresh = Vault.open(vault.root)
        fresh.record([("a.json", as_file(raw()))], now=NOW)
        assert len(fresh.store.snapshot().outcomes) == 1
    assert person.status() == "A  staged.md"
    assert person.git("log", "-1", "--format=%s") == "record: 1 outcome in coding"
    assert not (tmp_path / "other/index").exists()


def test_inside_a_hook_the_index_that_was_handed_over_is_read(
    vault: Vault, person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    person.write("skills/a-skill/SKILL.md", "broken\n")
    other = str(tmp_path / "index")
    monkeypatch.setenv("GIT_INDEX_FILE", other)
    person.git("read-tree", "HEAD")
    person.git("add", "-A")
    assert [p.path for p in vault.check(index=other, staged=True).problems] == [
        "skills/a-skill/SKILL.md"
    ]
    assert vault.check(staged=True).problems == []


# ── reading ──────────────────────────────────────────────────────────────────────────


def test_commits_are_read_back_with_their_ends(vault: Vault) -> None:
    vault.record([("a.json", as_file(raw()))], now=NOW)
    vault.run(["evaluate"], now=NOW)
    (evaluated, recorded, founded) = vault.log()
    (outcome_id,) = vault.store.snapshot().outcomes
    assert (founded.step, recorded.step, evaluated.step) == ("init", "record", "evaluate")
    assert recorded.targets == (str(Ref("outcome", outcome_id)),)
    assert recorded.date == "2026-11-20T12:00:00+00:00"


@pytest.mark.parametrize(
    "odd", ["a\x1eb", "a\x1fb", "a\x0bb", "a\u2028b", "a\x85b", "a\rb", "ü 🎉"]
)
def test_a_person_s_odd_subject_does_not_disturb_the_log(
    vault: Vault, person: Person, odd: str
) -> None:
    person.write("skills/a-skill/SKILL.md", HAND_MADE.format(name="a-skill"))
    person.git("add", "-A")
    person.git("commit", "-qm", odd)
    vault.curate.pin("a-skill", now=NOW)
    assert [commit.step for commit in vault.log()] == ["pin", "init"]
    found = vault.why("a-skill")["commits"]
    assert [commit["step"] for commit in found] == ["pin", ""]


def test_a_person_s_config_of_logs_does_not_disturb_the_log(vault: Vault, person: Person) -> None:
    for key, value in {
        "log.date": "relative", "format.pretty": "oneline", "log.decorate": "full",
        "color.ui": "always", "i18n.logOutputEncoding": "latin1", "i18n.commitEncoding": "latin1",
        "trailer.separators": "=", "log.abbrevCommit": "true", "core.quotePath": "true",
    }.items():  # fmt: skip
        person.git("config", key, value)
    vault.record([("a.json", as_file(raw(source__agent="Zoë 日本")))], now=NOW)
    assert [commit.step for commit in vault.log()] == ["record", "init"]
    message = person.git("cat-file", "commit", "HEAD")
    assert "reported by Zoë 日本" in message
    assert "\nencoding" not in message


def test_what_was_deleted_is_found_with_its_commit(vault: Vault, person: Person) -> None:
    applied(vault, files(notes_a="a\n"))
    person.git("rm", "-q", "notes/a.md")
    person.git("commit", "-qm", "away")
    removals = vault.store.git.history.deletions("HEAD")
    assert removals == {"notes/a.md": person.git("rev-parse", "HEAD")}


def test_a_thousand_paths_and_more_are_asked_for(vault: Vault, person: Person) -> None:
    paths = [f"notes/{number:05}/{'x' * 60}.md" for number in range(2500)]
    assert vault.store.git.index_file.entries([*paths, "vault.yaml"]).keys() == {"vault.yaml"}


def test_an_index_that_a_person_wrote_since_is_listed_anew(vault: Vault, person: Person) -> None:
    git = vault.store.git
    assert git.index_file.entries(["notes/a.md"]) == {}
    person.write("notes/a.md", "a\n")
    person.git("add", "notes/a.md")
    assert git.index_file.entries(["notes/a.md"]).keys() == {"notes/a.md"}
    person.git("rm", "-q", "--cached", "notes/a.md")
    assert git.index_file.entries(["notes"]) == {}


def test_a_nul_in_a_message_does_not_stop_a_commit(vault: Vault, person: Person) -> None:
    tree = person.git("rev-parse", "HEAD^{tree}")
    parent = person.git("rev-parse", "HEAD")
    git = vault.store.git
    drafts = [CommitDraft(tree, "a\0b\n"), CommitDraft(tree, "c\0d\n")]
    made = git.committer.make_commits(drafts, parent, NOW)
    with git.ref_session("a\0b") as refs:
        refs.begin([RefUpdate("refs/heads/main", made[-1], parent)])
        assert refs.prepare()
        assert refs.commit()
    assert person.git("log", "-2", "--format=%s").splitlines() == ["c d", "a b"]

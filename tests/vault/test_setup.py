"""setup: init makes a vault, mends a clone, leaves what is a person's; the hook guards skills."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from skillvault.api import Vault, doctor
from skillvault.model.errors import NotAVaultError, PausedError, UncommittedEditError, UsageError
from tests.conftest import Person
from tests.vault.given import HAND_MADE, NOW, script

SKILL = "skills/a-skill/SKILL.md"
GOOD = HAND_MADE.format(name="a-skill")
BROKEN = GOOD.replace("description: What it does, and when.\n", "")


@pytest.fixture
def vault(hooked: Vault) -> Vault:
    """A new vault as `init` leaves it."""
    return hooked


def repository(root: Path) -> Person:
    root.mkdir()
    person = Person(root)
    person.git("init", "-q")
    return person


def fsck(person: Person) -> str:
    return person.git("fsck", "--strict", "--no-dangling", "--no-progress")


# ── a new vault ──────────────────────────────────────────────────────────────────────


def test_a_new_vault_is_a_repository_with_one_commit_and_nothing_to_commit(tmp_path: Path) -> None:
    vault, made = Vault.init(tmp_path / "new/vault", ["perps"], now=NOW)
    person = Person(vault.root)
    assert person.git("ls-files").splitlines() == [
        ".gitattributes",
        ".gitignore",
        "LEARNINGS.md",
        "README.md",
        "vault.yaml",
    ]
    assert person.git("log", "--format=%s") == "init: a vault for perps"
    assert (person.status(), fsck(person), vault.check().problems) == ("", "", [])
    assert made.did == [
        "the first commit (a vault for perps)",
        "inbox/ and quarantine/",
        "the pre-commit hook",
    ]
    assert vault.store.snapshot().policy.domains == ("perps",)


def test_two_clones_that_append_rules_merge_without_a_conflict(tmp_path: Path) -> None:
    vault, _ = Vault.init(tmp_path / "vault", now=NOW)
    one = Person(vault.root)
    one.git("clone", "-q", ".", str(tmp_path / "clone"))
    other = Person(tmp_path / "clone")
    assert other.git("check-attr", "merge", "LEARNINGS.md") == "LEARNINGS.md: merge: union"
    Vault.init(other.root, now=NOW)
    for person, rule in ((one, "Always close files."), (other, "Always open files.")):
        Vault.open(person.root).learn(rule)
        person.git("commit", "-qam", "a rule")
    other.git("pull", "-q", "--no-rebase", "--no-edit")
    assert other.git("show", "HEAD:LEARNINGS.md").splitlines()[-4:] == [
        "Always close files.",
        "---",
        "Always open files.",
        "---",
    ]
    assert other.status() == ""


@pytest.mark.parametrize("named", ["merge=ours", "-merge", "text merge=mine diff"])
def test_how_a_person_joins_rules_stays(tmp_path: Path, named: str) -> None:
    person = repository(tmp_path / "repo")
    person.write(".gitattributes", f"* -text\nLEARNINGS.md {named}\n")
    person.git("add", "-A")
    person.git("commit", "-qm", "mine")
    before = person.git("check-attr", "merge", "LEARNINGS.md")
    Vault.init(person.root, now=NOW)
    assert person.git("check-attr", "merge", "LEARNINGS.md") == before


def test_a_repository_with_attributes_joins_rules_after_init(tmp_path: Path) -> None:
    person = repository(tmp_path / "repo")
    person.write(".gitattributes", "* -text\n")
    person.git("add", "-A")
    person.git("commit", "-qm", "mine")
    _, made = Vault.init(person.root, now=NOW)
    assert ".git/info/attributes" in made.did
    for path in ("LEARNINGS.md", "vault.yaml"):
        assert person.git("check-attr", "merge", path) == f"{path}: merge: skillvault"
    assert Vault.init(person.root, now=NOW)[1].did == []


@pytest.mark.parametrize("name", ["on", "no", "123", "2024-11-20", "null", "1e5", "true", "0x1f"])
def test_a_domain_that_yaml_would_take_for_something_else_stays_a_name(
    tmp_path: Path, name: str
) -> None:
    vault, _ = Vault.init(tmp_path / "vault", [name, "perps"], now=NOW)
    assert vault.store.snapshot().policy.domains == (name, "perps")


@pytest.mark.parametrize("name", ["../x", "A", "a b", "", "a\n", "a/b"])
def test_a_domain_that_is_no_slug_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a folder name"):
        Vault.init(tmp_path / "vault", [name], now=NOW)


def test_a_second_init_changes_nothing(vault: Vault, person: Person) -> None:
    before = lying(vault)
    _, made = Vault.init(vault.root, ["perps"], now=NOW)
    assert (made.did, made.left) == ([], [])
    assert lying(vault) == before


def lying(vault: Vault) -> dict[Path, tuple[bytes, int]]:
    """Every file with its bytes and time, but for the projection's."""
    files = (path for path in vault.root.rglob("*") if path.is_file())
    kept = (path for path in files if not path.name.startswith("index.db"))
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in kept}


def test_a_new_domain_of_a_vault_is_the_person_s_to_add(vault: Vault) -> None:
    _, made = Vault.init(vault.root, ["perps", "law"], now=NOW)
    assert made.left == ["add law to `domains` in vault.yaml and commit"]


# ── in a repository that exists ──────────────────────────────────────────────────────


def test_a_vault_inside_another_repository_is_asked_for(tmp_path: Path) -> None:
    person = repository(tmp_path / "repo")
    with pytest.raises(UsageError, match=r"inside the git repository .*repo, .*--nested"):
        Vault.init(person.root / "vaults/mine", now=NOW)
    assert not (person.root / "vaults").exists()
    vault, _ = Vault.init(person.root / "vaults/mine", nested=True, now=NOW)
    Vault.init(vault.root, ["perps"], now=NOW)  # it is a repository of its own from now on
    assert Person(vault.root).git("log", "--format=%s") == "init: a vault"


def test_staged_and_edited_work_of_a_person_is_left_alone(tmp_path: Path) -> None:
    person = repository(tmp_path / "repo")
    person.write("code.py", "x = 1\n")
    person.write("README.md", "mine\n")
    person.git("add", "-A")
    person.git("commit", "-qm", "mine")
    person.write("staged.py", "y = 1\n")
    person.git("add", "staged.py")
    person.write("code.py", "x = 2\n")
    person.write("loose.py", "z = 1\n")
    before = person.status()
    Vault.init(person.root, ["perps"], now=NOW)
    assert person.status() == before
    assert person.git("show", "HEAD:README.md") == "mine"
    assert person.git("diff-tree", "--name-only", "--no-commit-id", "HEAD").splitlines() == [
        ".gitattributes",
        ".gitignore",
        "LEARNINGS.md",
        "vault.yaml",
    ]
    assert fsck(person) == ""


def test_work_staged_before_the_first_commit_is_left_alone(tmp_path: Path) -> None:
    person = repository(tmp_path / "repo")
    person.write("staged.py", "y = 1\n")
    person.git("add", "staged.py")
    Vault.init(person.root, now=NOW)
    assert person.status() == "A  staged.py"


def test_the_branch_that_stands_there_becomes_the_vault_s(tmp_path: Path) -> None:
    person = repository(tmp_path / "repo")
    person.git("symbolic-ref", "HEAD", "refs/heads/123")
    vault, _ = Vault.init(person.root, now=NOW)
    assert (vault.store.snapshot().policy.branch, vault.status().paused) == ("123", None)


def test_a_person_s_own_gitignore_is_left_and_the_inbox_excluded_locally(tmp_path: Path) -> None:
    person = repository(tmp_path / "repo")
    person.write(".gitignore", "*.pyc\n")
    exclude = person.write(".git/info/exclude", "*.log")
    person.git("add", "-A")
    person.git("commit", "-qm", "mine")
    Vault.init(person.root, now=NOW)
    person.write("inbox/a.yaml", "x: 1\n")
    person.write("a.log", "x")
    assert person.status() == ""
    assert (person.root / ".gitignore").read_text() == "*.pyc\n"
    assert exclude.read_text().splitlines()[0] == "*.log"
    before = exclude.read_text()
    Vault.init(person.root, now=NOW)
    assert exclude.read_text() == before


def test_an_exclude_file_that_is_not_utf8_is_added_to(tmp_path: Path) -> None:
    person = repository(tmp_path / "repo")
    person.write(".gitignore", "x\n")
    (person.root / ".git/info/exclude").write_bytes(b"caf\xe9\n")
    Vault.init(person.root, now=NOW)
    assert (person.root / ".git/info/exclude").read_bytes().startswith(b"caf\xe9\n#")


def test_in_the_middle_of_a_merge_no_vault_is_made(tmp_path: Path) -> None:
    person = repository(tmp_path / "repo")
    person.git("commit", "-qm", "one", "--allow-empty")
    (person.root / ".git/MERGE_HEAD").write_text(person.git("rev-parse", "HEAD") + "\n")
    with pytest.raises(PausedError, match="a merge is in progress"):
        Vault.init(person.root, now=NOW)
    assert (person.git("rev-list", "--count", "HEAD"), person.status()) == ("1", "")


def test_on_a_detached_head_no_vault_is_made(tmp_path: Path) -> None:
    person = repository(tmp_path / "repo")
    person.git("commit", "-qm", "one", "--allow-empty")
    person.git("checkout", "-q", "--detach")
    with pytest.raises(UsageError, match="HEAD is detached"):
        Vault.init(person.root, now=NOW)


def test_a_file_of_the_template_that_a_person_staged_and_changed_is_not_taken(
    tmp_path: Path,
) -> None:
    person = repository(tmp_path / "repo")
    person.write("vault.yaml", "format: 1\n")
    person.git("add", "-A")
    person.write("vault.yaml", "format: 1\ndomains: [x]\n")
    with pytest.raises(UncommittedEditError, match=r"vault.yaml"):
        Vault.init(person.root, now=NOW)
    assert person.status() == "AM vault.yaml"


# ── a clone ──────────────────────────────────────────────────────────────────────────


def test_a_clone_is_mended_and_nothing_in_it_changes(
    vault: Vault, person: Person, tmp_path: Path
) -> None:
    person.git("clone", "-q", str(vault.root), str(tmp_path / "clone"))
    clone = Person(tmp_path / "clone")
    _, made = Vault.init(clone.root, now=NOW)
    assert made.did == ["inbox/ and quarantine/", "the pre-commit hook"]
    assert clone.status() == ""
    assert clone.git("rev-parse", "HEAD") == person.git("rev-parse", "HEAD")
    clone.write(SKILL, BROKEN)
    clone.git("add", "-A")
    assert "description: missing" in clone.git("commit", "-m", "x", ok=False)


# ── hooks ────────────────────────────────────────────────────────────────────────────


def test_a_foreign_hook_is_left_and_reported_with_what_to_add(vault: Vault, person: Person) -> None:
    hook = vault.root / ".git/hooks/pre-commit"
    script(hook, "echo mine")
    before = hook.read_bytes()
    _, made = Vault.init(vault.root, now=NOW)
    assert (made.did, hook.read_bytes()) == ([], before)
    assert len(made.left) == 1
    assert f"{sys.executable} -P -m skillvault --vault . check --staged" in made.left[0]


def test_a_hook_of_ours_that_names_another_python_is_renewed(vault: Vault) -> None:
    hook = vault.root / ".git/hooks/pre-commit"
    good = hook.read_text()
    hook.write_text(good.replace(sys.executable, "/gone/python"))
    _, made = Vault.init(vault.root, now=NOW)
    assert (made.did, hook.read_text()) == (["the pre-commit hook"], good)


def test_a_hooks_path_within_the_repository_is_where_the_hook_goes(
    vault: Vault, person: Person
) -> None:
    (vault.root / ".git/hooks/pre-commit").unlink()
    person.git("config", "core.hooksPath", "tools/hooks")
    Vault.init(vault.root, now=NOW)
    assert os.access(vault.root / "tools/hooks/pre-commit", os.X_OK)
    assert not (vault.root / ".git/hooks/pre-commit").exists()
    person.write(SKILL, BROKEN)
    person.git("add", SKILL)
    assert "description: missing" in person.git("commit", "-m", "x", ok=False)


def test_a_hooks_path_that_other_repositories_share_is_left(
    vault: Vault, person: Person, tmp_path: Path
) -> None:
    person.git("config", "--global", "core.hooksPath", str(tmp_path / "shared"))
    _, made = Vault.init(vault.root, now=NOW)
    assert (made.did, (tmp_path / "shared").exists()) == ([], False)
    assert "other repositories may share" in made.left[0]


def test_the_post_merge_hook_is_made_only_on_request(vault: Vault) -> None:
    assert not (vault.root / ".git/hooks/post-merge").exists()
    _, made = Vault.init(vault.root, post_merge=True, now=NOW)
    assert made.did == ["the post-merge hook"]


# ── the guard ────────────────────────────────────────────────────────────────────────


@pytest.fixture
def guarded(person: Person) -> Person:
    """The person of a vault with one good skill."""
    person.write(SKILL, GOOD)
    person.git("add", "-A")
    person.git("commit", "-qnm", "a good skill")
    return person


@pytest.mark.parametrize("args", [["-a"], [SKILL], ["--include", SKILL], []])
def test_a_broken_skill_is_not_committed_and_file_and_key_are_named(
    guarded: Person, args: list[str]
) -> None:
    guarded.write(SKILL, BROKEN)
    if not args:
        guarded.git("add", SKILL)
    said = guarded.git("commit", "-qm", "broken", *args, ok=False)
    assert SKILL in said
    assert "description: missing" in said
    assert "Traceback" not in said
    assert guarded.git("log", "-1", "--format=%s") == "a good skill"
    assert guarded.git("commit", "-qm", "broken", "--no-verify", *args) == ""


def test_what_is_not_part_of_the_commit_does_not_hold_it(guarded: Person) -> None:
    guarded.write("README.md", "mine\n")
    guarded.write(SKILL, BROKEN)
    guarded.write("skills/other/SKILL.md", "broken too\n")
    guarded.git("add", "skills/other")
    guarded.git("commit", "-qm", "only the readme", "README.md")
    assert guarded.git("log", "-1", "--format=%s") == "only the readme"


def test_an_old_mistake_elsewhere_does_not_hold_a_commit(guarded: Person) -> None:
    guarded.write("skills/old/SKILL.md", "broken\n")
    guarded.git("add", "-A")
    guarded.git("commit", "-qm", "old", "--no-verify")
    guarded.write(SKILL, GOOD + "Better.\n")
    guarded.git("commit", "-qam", "better")
    assert guarded.git("log", "-1", "--format=%s") == "better"


def test_a_module_in_the_vault_is_never_imported(guarded: Person, tmp_path: Path) -> None:
    for name in ("yaml", "click", "git", "skillvault", "re", "sitecustomize"):
        guarded.write(f"{name}.py", f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    guarded.write(SKILL, GOOD + "Better.\n")
    guarded.git("commit", "-qam", "better")
    guarded.write(SKILL, BROKEN)
    assert "description: missing" in guarded.git("commit", "-qam", "broken", ok=False)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["PYTHONPATH", "SKILLVAULT_VAULT"])
def test_the_hook_checks_this_vault_whatever_the_environment_says(
    guarded: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    guarded.write("yaml.py", "raise SystemExit(9)\n")
    monkeypatch.setenv(name, "." if name == "PYTHONPATH" else str(tmp_path / "elsewhere"))
    guarded.write(SKILL, GOOD + "Better.\n")
    guarded.git("commit", "-qam", "a better one")
    guarded.write(SKILL, BROKEN)
    assert "description: missing" in guarded.git("commit", "-qam", "a broken one", ok=False)


def test_a_commit_from_a_folder_below_is_guarded_too(guarded: Person) -> None:
    guarded.write(SKILL, BROKEN)
    below = Person(guarded.root / "skills/a-skill")
    assert "description: missing" in below.git("commit", "-qam", "broken", ok=False)


def test_a_python_that_is_gone_is_said_and_how_to_go_on(guarded: Person) -> None:
    hook = guarded.root / ".git/hooks/pre-commit"
    hook.write_text(hook.read_text().replace(sys.executable, "/gone/python"))
    guarded.write(SKILL, GOOD + "Better.\n")
    said = guarded.git("commit", "-qam", "better", ok=False)
    assert "skillvault init" in said
    assert "--no-verify" in said
    assert guarded.git("log", "-1", "--format=%s") == "better"


def test_a_merge_goes_on_if_its_hook_s_python_is_gone(vault: Vault, guarded: Person) -> None:
    Vault.init(vault.root, post_merge=True, now=NOW)
    hook = vault.root / ".git/hooks/post-merge"
    hook.write_text(hook.read_text().replace(sys.executable, "/gone/python"))
    guarded.git("switch", "-qc", "side")
    guarded.git("commit", "-q", "--allow-empty", "-m", "beside")
    guarded.git("switch", "-q", "main")
    assert "skillvault init" in guarded.git("merge", "side", ok=False)
    assert guarded.git("log", "-1", "--format=%s") == "beside"


def test_the_program_s_own_commits_do_not_run_the_hook(guarded: Person, vault: Vault) -> None:
    script(vault.root / ".git/hooks/pre-commit", "exit 1")
    vault.curate.pin("a-skill", now=NOW)
    assert guarded.git("log", "-1", "--format=%s") == "pin: a-skill"


def test_a_vault_below_another_repository_is_one_of_its_own(tmp_path: Path) -> None:
    outer = repository(tmp_path / "outer")
    vault, _ = Vault.init(outer.root / "inner", nested=True, now=NOW)
    assert Person(vault.root).git("rev-parse", "--show-toplevel") == str(vault.root)
    (outer.root / "vault.yaml").write_text("format: 1\n")
    (outer.root / "other").mkdir()
    (outer.root / "other/vault.yaml").write_text("format: 1\n")
    with pytest.raises(NotAVaultError, match="the folder other/ of another one"):
        Vault.open(outer.root / "other")


def test_a_new_repository_has_the_ids_we_compute_whatever_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DEFAULT_HASH", "sha256")
    subprocess.run(["git", "config", "--global", "init.defaultObjectFormat", "sha256"], check=True)
    vault, _ = Vault.init(tmp_path / "vault", now=NOW)
    assert len(vault.store.snapshot().commit or "") == 40


def test_a_bare_repository_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "bare.git")], check=True)
    before = sorted(path.name for path in (tmp_path / "bare.git").iterdir())
    with pytest.raises(UsageError, match=r"a bare repository.*clone it"):
        Vault.init(tmp_path / "bare.git", now=NOW)
    assert sorted(path.name for path in (tmp_path / "bare.git").iterdir()) == before


def test_a_hook_whose_python_is_gone_is_a_problem_that_init_mends(vault: Vault) -> None:
    hook = vault.root / ".git/hooks/pre-commit"
    hook.write_text(hook.read_text().replace(sys.executable, "/gone/python"))
    (row,) = [row for row in doctor(vault.root) if row.check == "hooks"]
    assert (row.state, row.fix) == ("problem", "skillvault init")
    Vault.init(vault.root, now=NOW)
    assert [row.state for row in doctor(vault.root) if row.check == "hooks"] == ["ok"]


def test_git_is_set_for_many_files_unless_a_person_chose_otherwise(
    vault: Vault, person: Person
) -> None:
    index = vault.root / ".git/index"
    assert index.read_bytes()[:8] == b"DIRC\0\0\0\4"
    person.git("config", "core.untrackedCache", "false")
    person.git("config", "--unset", "index.version")
    person.git("update-index", "--index-version", "2")
    Vault.init(vault.root, now=NOW)
    assert person.git("config", "--get", "core.untrackedCache") == "false"
    assert index.read_bytes()[:8] == b"DIRC\0\0\0\4"

"""failures: what git says becomes one sentence with the next step, and leaves nothing half done."""

from collections.abc import Callable
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.model.errors import GitError, SkillvaultError
from skillvault.vault.git.process import OWNER_REMEDY, failure_of
from skillvault.vault.git.promisor import clone_history
from skillvault.vault.git.remote import fetch_files
from tests.conftest import NOW, Person
from tests.given import as_file, raw

SHA = "84b5f04cd7177251a9e4aa8513c1e7c128551ea9"
DAMAGED = f"object {SHA} cannot be read, so the repository is damaged; `git fsck --full`"


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (f"fatal: loose object {SHA} (stored in .git/objects/84/b5f) is corrupt", DAMAGED),
        (f"error: object file .git/objects/84/b5 is empty\nfatal: bad object {SHA}", DAMAGED),
        (f"fatal: unable to read tree {SHA}", DAMAGED),
        (f"error: Could not read {SHA}\nfatal: revision walk setup failed", DAMAGED),
        (
            f"error: packfile ./objects/pack/pack-{SHA}.pack does not match index",
            f"pack-{SHA}.pack cannot be read, so the repository is damaged; `git fsck --full`",
        ),
        ("fatal: .git/index: index file smaller than expected", "remove .git/index and run `git"),
        ("error: bad signature 0x67617262\nfatal: index file corrupt", "remove .git/index and run"),
        ("fatal: bad config line 15 in file .git/config", "line 15 of .git/config; correct it"),
        (
            "fatal: Unable to create '/v/.git/index.lock': File exists.\n\nAnother git process",
            "another git holds /v/.git/index.lock; wait until it ends",
        ),
        (
            f"fatal: dubious ownership at '/a vault'\nTo add it:\n\n\t{OWNER_REMEDY} '/a vault'\n",
            f"another user, so git does not read it; to trust it: {OWNER_REMEDY} '/a vault'",
        ),
        (
            "fatal: could not read Username for 'https://host': terminal prompts disabled",
            "https://host wants a password, or has no such repository; check the address",
        ),
        (
            "git@host: Permission denied (publickey).\r\nfatal: Could not read from remote\n",
            "no remote answers (git@host: Permission denied (publickey).); check the address",
        ),
        ("fatal: couldn't find remote ref nope", "the remote does not have nope; check its name"),
        (f"fatal: could not fetch {SHA} from promisor remote", "this clone is partial"),
        ("fatal: something new", "git log failed (something new); correct that, and try again"),
        ("", "git log failed (it gives no reason); correct that, and try again"),
        ("fatal: couldn't find remote ref ", "the remote does not have ; check its name"),
    ],
)
def test_each_message_of_git_becomes_a_sentence_with_the_next_step(
    message: str, sentence: str
) -> None:
    assert sentence in failure_of("log", message.encode())


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("https://localhost:1/no/repo.git", "cannot be reached"),
        ("{}/nothing", "there is no git repository at"),
        ("file://{}/nothing", "there is no git repository at"),
        ("{}", "there is no git repository at"),
        ("ext::sh", "ext is no safe kind of address; use https, ssh or a path"),
    ],
)
def test_a_remote_that_cannot_be_read_is_named_with_the_next_step(
    tmp_path: Path, address: str, reason: str
) -> None:
    url = address.format(tmp_path)
    with pytest.raises(GitError, match=reason) as clone_error:
        clone_history(url, tmp_path / "clone")
    with pytest.raises(GitError, match=reason) as fetch_error, fetch_files(url, ""):
        pass
    for error in (clone_error, fetch_error):
        assert "fatal:" not in str(error.value)
        assert "; " in str(error.value)


def corrupt_object(person: Person, revision: str) -> Callable[[], None]:
    sha = person.git("rev-parse", revision)
    path = person.root / ".git/objects" / sha[:2] / sha[2:]
    content = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(b"garbage")

    def restore() -> None:
        path.write_bytes(content)

    return restore


@pytest.mark.parametrize("revision", ["HEAD", "HEAD^{tree}", "HEAD:outcomes", "HEAD~1"])
def test_a_damaged_object_is_named_until_it_is_back_and_then_all_is_read(
    vault: Vault, person: Person, revision: str
) -> None:
    vault.record([("a.json", as_file(raw()))], now=NOW)
    files = set(vault.store.snapshot().files)
    (vault.root / ".git/skillvault/index.db").unlink()
    vault = Vault.open(vault.root)
    restore = corrupt_object(person, revision)
    for _ in range(2):  # the first try leaves no half-read index
        with pytest.raises(SkillvaultError, match="so the repository is damaged; `git fsck"):
            vault.store.snapshot()
    restore()
    assert set(vault.store.snapshot().files) == files


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        ("index", r"remove \.git/index"),
        ("HEAD", "repair it, or clone the vault again"),
        ("config", "line 1 of .git/config; correct it"),
    ],
)
def test_a_damaged_file_of_git_is_named_with_the_next_step(
    vault: Vault, path: str, advice: str
) -> None:
    (vault.root / ".git" / path).write_text("[garbage\n")
    with pytest.raises(SkillvaultError, match=advice) as error:
        Vault.open(vault.root).status()
    assert "skillvault init" not in str(error.value)

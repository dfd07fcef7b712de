"""doctor tries what it reports on: signing, writing, the hooks, the merge driver, the libraries."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from skillvault.api import Vault, doctor
from skillvault.inspect.doctor import Row
from skillvault.model.errors import PausedError
from skillvault.vault.git.config import DRIVER
from tests.conftest import NOW, Person
from tests.given import as_file, raw
from tests.machine.given import mounted
from tests.vault.given import script


def rows(vault: Vault, check: str) -> list[Row]:
    """The rows of one check."""
    return [row for row in doctor(vault.root, now=NOW) if row.check == check]


def sign_by(person: Person, place: Path, body: str) -> None:
    """Let a script sign the person's commits."""
    script(place, body)
    person.git("config", "--global", "commit.gpgsign", "true")
    person.git("config", "--global", "gpg.program", str(place))


GOOD_SIGNER = """\
cat >/dev/null
printf '\\n[GNUPG:] SIG_CREATED D\\n' >&2
printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'
"""


@pytest.mark.parametrize("body", ["exit 1", "cat >/dev/null; echo no key >&2; exit 2", "cat"])
def test_a_signature_that_fails_is_what_pauses_the_vault(
    vault: Vault, person: Person, tmp_path: Path, body: str
) -> None:
    sign_by(person, tmp_path / "signer", body)
    with pytest.raises(PausedError):
        vault.record([("a.json", as_file(raw()))], now=NOW)
    (signing,), (inbox,) = rows(vault, "signing"), rows(vault, "inbox")
    assert signing.state == "problem"
    assert "could not be signed" in signing.detail
    assert "commit.gpgSign" in (signing.fix or "")
    assert inbox.fix == "fix the problems above, then skillvault run"
    person.git("config", "--global", "commit.gpgsign", "false")


def test_a_signature_that_works_is_tried_and_kept_nowhere(
    vault: Vault, person: Person, tmp_path: Path
) -> None:
    sign_by(person, tmp_path / "signer", GOOD_SIGNER)
    objects = sorted((vault.root / ".git/objects").rglob("*"))
    (row,) = rows(vault, "signing")
    assert (row.state, "has just signed" in row.detail) == ("ok", True)
    assert sorted((vault.root / ".git/objects").rglob("*")) == objects
    vault.record([("a.json", as_file(raw()))], now=NOW)
    person.git("config", "--global", "commit.gpgsign", "false")


# ── writing ──────────────────────────────────────────────────────────────────────────


def test_a_read_only_disk_is_called_so_and_no_chmod_is_advised(
    vault: Vault, tmp_path: Path
) -> None:
    with mounted(tmp_path / "disk") as disk:
        vault = Vault(Path(shutil.copytree(vault.root, tmp_path / "disk/vault", symlinks=True)))
        (vault.root / "inbox/a.json").write_bytes(as_file(raw()))
        disk.remount("ro")
        given = doctor(vault.root, now=NOW)
        troubles = [row for row in given if row.state == "problem"]
        assert {row.check for row in troubles} == {"disk", "disk of git"}
        assert all("the file system is read-only" in row.detail for row in troubles)
        assert not any("chmod" in (row.fix or "") for row in given)
        (inbox,) = [row for row in given if row.check == "inbox"]
        assert inbox.fix == "fix the problems above, then skillvault run"


@contextmanager
def unwritable(folder: Path) -> Iterator[None]:
    """A folder in which nobody may make a file; to root that says only its immutable flag."""
    words = ("chmod", "u-w", "u+w") if os.geteuid() else ("chattr", "+i", "-i")
    command, shut, free = words
    if subprocess.run([command, shut, str(folder)], check=False).returncode:
        pytest.skip("no folder can be closed to root here")
    try:
        yield
    finally:
        subprocess.run([command, free, str(folder)], check=True)


@pytest.mark.parametrize("name", [".", "inbox", "quarantine", ".git", ".git/objects"])
def test_each_folder_that_is_written_to_is_tried(vault: Vault, name: str) -> None:
    with unwritable(vault.root / name):
        found = doctor(vault.root, now=NOW)
    (row,) = [row for row in found if str((vault.root / name).resolve()) + ":" in row.detail]
    assert (row.state, "not writable" in row.detail) == ("problem", True)


# ── what git runs ────────────────────────────────────────────────────────────────────


def test_without_its_hook_a_vault_is_not_guarded(vault: Vault) -> None:
    (row,) = rows(vault, "hooks")
    assert (row.state, row.fix) == ("note", "skillvault init")
    Vault.init(vault.root, now=NOW)
    assert [row.state for row in rows(vault, "hooks")] == ["ok"]


def test_a_hook_that_is_not_executable_is_a_problem(hooked: Vault) -> None:
    (hooked.root / ".git/hooks/pre-commit").chmod(0o644)
    (row,) = rows(hooked, "hooks")
    assert (row.state, "chmod +x" in (row.fix or "")) == ("problem", True)


def test_another_python_of_a_hook_or_the_driver_is_named_and_not_run(
    hooked: Vault, tmp_path: Path
) -> None:
    trap = tmp_path / "python"
    script(trap, f"touch {tmp_path}/sprung")
    hook = hooked.root / ".git/hooks/pre-commit"
    hook.write_text(hook.read_text().replace(sys.executable, str(trap)))
    command = hooked.store.git.text("config", DRIVER).replace(sys.executable, str(trap))
    hooked.store.git.run("config", "--local", DRIVER, command)
    for check in ("hooks", "merge driver"):
        (row,) = rows(hooked, check)
        assert (row.state, "not tried" in row.detail) == ("note", True)
    assert not (tmp_path / "sprung").exists()


def test_a_library_that_cannot_be_loaded_is_a_problem(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pygit2", None)
    assert [row.state for row in rows(vault, "libraries")] == ["problem"]

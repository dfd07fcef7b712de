"""sharing: what one user of a group creates in a shared repository, the others can write."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillvault.vault.git import config
from skillvault.vault.git.config import obey_sharing
from tests.given import as_file, raw

GROUP, USERS = 54300, (54301, 54302)
GITCONFIG = "[user]\n\tname = U\n\temail = u@example.org\n[safe]\n\tdirectory = *\n"


@pytest.fixture
def umask() -> Iterator[None]:
    """The umask of most systems, and afterwards the one before."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize(
    ("setting", "umask"),
    [
        ("", 0o022),
        ("sharedRepository = false", 0o022),
        ("sharedrepository = 1", 0o002),
        ("sharedRepository = group", 0o002),
        ("sharedRepository", 0o002),
        ("sharedRepository = all", 0o002),
        ("sharedRepository = 0660", 0o002),
    ],
)
def test_the_setting_opens_the_umask(tmp_path: Path, setting: str, umask: int) -> None:
    (tmp_path / "config").write_text(f"[core]\n\t{setting}\n")
    obey_sharing(tmp_path)
    assert os.umask(0o022) == umask


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize(("proc", "expected"), [(True, [0o002]), (False, [0o077, 0o002])])
def test_the_umask_is_set_once_and_never_bars_the_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proc: bool, expected: list[int]
) -> None:
    (tmp_path / "config").write_text("[core]\n\tsharedRepository = group\n")
    umasks: list[int] = []
    set_umask = os.umask

    def note(umask: int) -> int:
        umasks.append(umask)
        return set_umask(umask)

    if not proc:
        monkeypatch.setattr(config, "_STATUS", tmp_path / "missing")
    monkeypatch.setattr(config, "_cleared_bits", set())
    monkeypatch.setattr(os, "umask", note)
    for _ in range(2):
        obey_sharing(tmp_path)
    assert umasks == expected


class Shared:
    """A folder that two users of one group share, and what either runs there."""

    def __init__(self, place: Path) -> None:
        self.root = place / "vault"
        self._place = place
        for user in USERS:
            home = place / str(user)
            home.mkdir()
            (home / ".gitconfig").write_text(GITCONFIG)
            os.chown(home, user, GROUP)
        self.root.mkdir()
        os.chown(self.root, USERS[0], GROUP)
        self.root.chmod(0o2775)

    def run(
        self, user: int, *command: str, data: bytes = b""
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run a command as one of them."""
        who = ("setpriv", f"--reuid={user}", f"--regid={GROUP}", "--clear-groups")
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self._place / str(user)),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        return subprocess.run(
            [*who, "sh", "-c", 'umask 022; exec "$@"', "sh", *command],
            cwd=self.root,
            env=env,
            input=data,
            capture_output=True,
            check=False,
        )

    def skillvault(self, user: int, *args: str, data: bytes = b"") -> tuple[int, bytes]:
        """(exit code, what it says)."""
        done = self.run(user, sys.executable, "-m", "skillvault", *args, data=data)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def shared() -> Iterator[Shared]:
    """A repository shared by two users."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("only root can act as two other users, with setpriv")
    place = Path(tempfile.mkdtemp())
    try:
        place.chmod(0o755)
        shared = Shared(place)
        done = shared.run(USERS[0], sys.executable, "-c", "import skillvault.api")
        if done.returncode:
            pytest.skip("another user cannot read this Python")
        shared.run(USERS[0], "git", "init", "-q", "--shared", "-b", "main").check_returncode()
        yield shared
    finally:
        shutil.rmtree(place)


def test_two_users_of_a_group_write_one_after_the_other(shared: Shared) -> None:
    code, said = shared.skillvault(USERS[0], "init", ".", "--domain", "coding")
    assert code == 0, said
    for number in range(6):
        user = USERS[number % 2]
        data = as_file(raw(-number, decision__action=f"act-{number}"))
        code, said = shared.skillvault(user, "record", "-", data=data)
        assert (code, said) == (0, said), said
        code, said = shared.skillvault(user, "run")
        assert code == 0, said
    assert shared.skillvault(USERS[1], "check")[0] == 0
    closed = [
        path
        for path in shared.root.rglob("*")
        if path.is_dir() and path.stat().st_mode & 0o2070 != 0o2070
    ]
    assert closed == []
    (shared.root / "inbox/a.json").write_bytes(b"{}")  # root's, as of a third user
    (shared.root / "inbox/b.json").write_bytes(as_file(raw(-9)))
    for user in USERS:
        assert shared.skillvault(user, "run")[0] == 0

"""Fixtures of all tests: a home of its own, no sockets, a vault, a person with git."""

import gc
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from skillvault.api import Vault
from skillvault.clients import agents
from tests.given import as_file, raw
from tests.golden.stage import Stage
from tests.thorough import examples

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
_OURS = ("GIT_", "SKILLVAULT_", "ANTHROPIC_", "CLAUDE_", *agents.AGENT_VARIABLES)
SHARED = Path(__file__).resolve().parents[2] / "shared"
MEMORY = Path("/dev/shm")  # noqa: S108 (a mount, in which pytest makes folders of its own)
MOMENT = 0.02  # seconds, longer than between two ticks of any machine's clock of files
ROOM = 2 << 30  # bytes; all that is kept until the end takes a quarter of it

# Drawing and checking an example may take any time: a busy machine is no defect.
settings.register_profile(
    "any-machine",
    deadline=None,
    max_examples=examples(100),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("any-machine")


def pytest_configure() -> None:
    """Tests work in memory, where nothing waits for a disk; `TMPDIR=/tmp pytest` uses the disk."""
    gc.disable()  # what is collected stays until the end
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does
    if "TMPDIR" not in os.environ and _holds_vaults(MEMORY):
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # pytest asks for it again


def pytest_collection_finish() -> None:
    """The garbage collector looks at ten thousand tests once, not again in each of them."""
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """`-n auto`: two workers more than there are cores, as tests of daemons mostly wait."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    return len(os.sched_getaffinity(0)) + 2 if hasattr(os, "sched_getaffinity") else None


def _holds_vaults(place: Path) -> bool:
    """Return True if a folder has enough room and a hook in it can be run."""
    if not os.access(place, os.W_OK):
        return False
    disk = os.statvfs(place)
    return disk.f_bavail * disk.f_frsize >= ROOM and not disk.f_flag & os.ST_NOEXEC


def _close_off(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home with a git identity, and nothing of the machine's environment that changes git."""
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Ada Person\n\temail = ada@example.org\n"
        "[init]\n\tdefaultBranch = main\n[commit]\n\tgpgsign = false\n"
        "[maintenance]\n\tauto = false\n"  # else a process more after each commit and fetch
    )
    for name in [name for name in os.environ if name.startswith(_OURS)]:
        monkeypatch.delenv(name)
    # Else each process that a test starts compiles the program anew.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("SKILLVAULT_HOOK_SECONDS", "60")  # a busy machine is no defect
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture(scope="session", autouse=True)
def _session_closed_off(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A home for the fixtures of the session, since a machine may have no git identity."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        _close_off(tmp_path_factory.mktemp("home"), monkeypatch)
        yield


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that holds the home of each test."""
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def _closed_off(_homes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the machine's git config, writes to its home, or opens a socket."""
    # A random name: for the next number pytest would look at all that the tests before left.
    _close_off(Path(tempfile.mkdtemp(dir=_homes)), monkeypatch)
    # In a test nobody's git is half-way when the program begins, unless the test says so.
    monkeypatch.setattr("skillvault.vault.git.index_file.QUIET_SECONDS", 0.0)
    # Each vault of a test is new: longer than this, each question would ask git for its config.
    monkeypatch.setattr("skillvault.vault.git.config.MOMENT", MOMENT)

    connect = socket.socket.connect

    def loopback(self: socket.socket, address: tuple[str, int] | str) -> None:
        if isinstance(address, tuple) and address[0] != "127.0.0.1":
            raise AssertionError("a test may open connections on loopback alone")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", loopback)


@pytest.fixture
def now() -> datetime:
    """The time at which all tests run."""
    return NOW


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared vectors and data; skips where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is not here; it holds the vectors and real outcomes")
    return SHARED


@pytest.fixture(scope="session")
def _new_vault(_session_closed_off: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault as `init` makes it, once a session; to copy it is ten times as quick."""
    root = tmp_path_factory.mktemp("new") / "vault"
    Vault.init(root, ["perps", "coding"], now=NOW)
    gc.collect()  # a vault that nobody uses any more still holds its index open
    return root


def unguarded(pattern: Path, root: Path) -> Path:
    """A copy of a vault without its hook, which is a Python of its own in each commit."""
    ignore = shutil.ignore_patterns("pre-commit")
    return Path(shutil.copytree(pattern, root, symlinks=True, ignore=ignore))


@pytest.fixture
def vault(tmp_path: Path, _new_vault: Path) -> Vault:
    """A new vault with two domains."""
    return Vault(unguarded(_new_vault, tmp_path / "vault"))


class PreparedVaults:
    """Vaults that functions filled, each filled once a session and copied for each test."""

    def __init__(self, new_vault: Path, folder: Path) -> None:
        self._new_vault = new_vault
        self._folder = folder
        self._patterns: dict[Callable[[Vault], object], Path] = {}

    def fill(self, vault: Vault, fill: Callable[[Vault], object]) -> Vault:
        """Put what a function fills a vault with in the place of a new vault."""
        if fill not in self._patterns:
            pattern = unguarded(self._new_vault, self._folder / str(len(self._patterns)))
            fill(Vault(pattern))
            gc.collect()  # a vault that nobody uses any more still holds its index open
            self._patterns[fill] = pattern
        shutil.rmtree(vault.root)
        shutil.copytree(self._patterns[fill], vault.root, symlinks=True)
        return vault


@pytest.fixture(scope="session")
def _prepared_vaults(_new_vault: Path, tmp_path_factory: pytest.TempPathFactory) -> PreparedVaults:
    return PreparedVaults(_new_vault, tmp_path_factory.mktemp("prepared"))


@pytest.fixture
def prepared(
    vault: Vault, _prepared_vaults: PreparedVaults
) -> Callable[[Callable[[Vault], object]], Vault]:
    """The test's vault, as a function fills it."""
    return lambda fill: _prepared_vaults.fill(vault, fill)


@pytest.fixture
def learned(prepared: Callable[[Callable[[Vault], object]], Vault]) -> Vault:
    """A vault with the warning of one failure."""
    return prepared(learn_warning)


def learn_warning(vault: Vault) -> None:
    """Let a vault learn from one failure."""
    vault.record([("a.json", as_file(raw()))], now=NOW)
    vault.run(now=NOW)


@pytest.fixture
def hooked(tmp_path: Path, _new_vault: Path) -> Vault:
    """A new vault with two domains, and its hook."""
    return Vault(Path(shutil.copytree(_new_vault, tmp_path / "vault", symlinks=True)))


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """The golden stories, each played once."""
    base = tmp_path_factory.getbasetemp()
    # A worker's own folder is beside those of the others.
    return Stage((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "stories")


class Person:
    """Somebody who works in the vault with plain git and an editor."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def git(self, *args: str, ok: bool = True) -> str:
        """Run git as the person would; its output, stripped."""
        done = subprocess.run(
            ["git", *args],
            cwd=self.root,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if ok and done.returncode != 0:
            raise AssertionError(f"git {' '.join(args)}: {done.stdout}{done.stderr}")
        return (done.stdout + done.stderr).strip()

    def remove_links(self, *texts: str) -> None:
        """Delete the lines with one of these texts from the lists of links, and commit."""
        for path in self.git("ls-files", "*.links.yaml", "links/*").splitlines():
            lines = (self.root / path).read_text(encoding="utf-8").splitlines(keepends=True)
            kept = [line for line in lines if not any(text in line for text in texts)]
            (self.root / path).write_text("".join(kept), encoding="utf-8")
        self.git("commit", "-qam", "without these links")

    def write(self, path: str, text: str) -> Path:
        """Save a file below the vault."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        return place

    def rule(self, lines: str) -> None:
        """Add lines to vault.yaml, by a commit."""
        policy = (self.root / "vault.yaml").read_text(encoding="utf-8")
        self.write("vault.yaml", f"{policy}{lines}\n")
        self.git("commit", "-qam", lines)

    def status(self) -> str:
        """`git status --porcelain`."""
        return self.git("status", "--porcelain")


@pytest.fixture
def person(vault: Vault) -> Iterator[Person]:
    """The person of the vault; afterwards the repository must be sound."""
    someone = Person(vault.root)
    yield someone
    assert someone.git("fsck", "--strict", "--no-dangling", "--no-progress") == ""

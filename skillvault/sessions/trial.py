"""Find the transcripts on this machine, and provide `skillvault try` with a temporary vault.

The vault is in a private folder, which is removed at the end, also after a signal. The folder of a
killed program is removed by the next program.
"""

import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from getpass import getuser
from pathlib import Path

from msgspec import Struct, field

from skillvault.clients.hook_client import is_private
from skillvault.clients.notes import project_of
from skillvault.exchange.transcripts.events import Header
from skillvault.exchange.transcripts.reader import Transcript, client_of
from skillvault.learning.corrections import terms_of
from skillvault.model.errors import BadInputError, UsageError
from skillvault.sessions.transcripts import (
    CLIENTS,
    home_of,
    repository_of,
    transcript_files,
    transcript_folders,
)
from skillvault.vault.commit.locks import claim
from skillvault.vault.git.repository import Git
from skillvault.vault.index.outcomes import Outcomes
from skillvault.vault.setup import BRANCH

_FOLDER_PREFIX = "skillvault-try-"
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_SIGNAL_EXIT_BASE = 128  # a shell adds the number of the signal that ended a command
_GIT_END_SECONDS, _PAUSE = 5.0, 0.05
_SIGNING_KEY = "commit.gpgSign"
_INDEX_FILES = "index.db*"  # not copied, because it is in use and can be built again
_MAX_FILE_BYTES = 1 << 20  # the most bytes of a file of instructions
# Files in which a person keeps rules for agents: those of a project, and those of each client.
_PROJECT_FILES = (
    "CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/rules/*.md", "AGENTS.md",
    "AGENTS.override.md", "GEMINI.md", ".cursorrules", ".cursor/rules/*", "CONTRIBUTING.md",
    ".github/copilot-instructions.md",
)  # fmt: skip
_USER_FILES = ("CLAUDE.md", "AGENTS.md", "rules/*.md", "projects/*/memory/*.md")
_BLOCK_BREAK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+#]|\d+[.)])\s)")


class TranscriptFolder(Struct, frozen=True):
    """The transcripts of a client in a folder, the newest first."""

    client: str
    folder: Path
    files: tuple[Path, ...]


def find_transcripts(folder: Path | None = None) -> list[TranscriptFolder]:
    """Find the transcripts of each client in a folder, or in the folders of the clients."""
    if folder is not None:
        files = {client: list[Path]() for client in CLIENTS}
        for path in transcript_files([folder]):
            if (client := client_of(path)) is not None:
                files[client].append(path)
        return [_newest_first(client, folder, paths) for client, paths in files.items() if paths]
    folders = [(client, folder) for client in CLIENTS for folder in transcript_folders(client)]
    groups = (
        _newest_first(client, folder, transcript_files([folder])) for client, folder in folders
    )
    return [group for group in groups if group.files]


def select_project(groups: Iterable[TranscriptFolder], project: Path) -> list[TranscriptFolder]:
    """Keep the transcripts of the sessions of one project, named by its root."""
    selection = []
    for group in groups:
        roots = {
            path: _root_of(Path(_read_header(path).cwd or ""), project) for path in group.files
        }
        if files := tuple(
            path for path, root in roots.items() if root and root.resolve() == project
        ):
            selection.append(TranscriptFolder(group.client, group.folder, files))
    return selection


class NewSessions(Struct, frozen=True):
    """The transcripts of a client that should be read into a domain, and their sessions."""

    client: str
    domain: str
    files: tuple[Path, ...]
    sessions: frozenset[str]


def find_new_sessions(
    outcomes: Outcomes, domain_in: Callable[[Path], str], project: Path | None = None
) -> list[NewSessions]:
    """Find the sessions of the projects that have no session in a vault.

    `domain_in` returns the domain of a folder. With `project`, only sessions in that folder count.
    """
    groups: dict[tuple[str, str], dict[Path, str]] = {}
    is_known: dict[Path, bool] = {}
    rows = []
    for group in find_transcripts():
        for path in group.files:
            header = _read_header(path)
            folder, session = Path(header.cwd or ""), header.session or path.stem
            root = _root_of(folder, project)
            if root is not None:
                is_known[root] = is_known.get(root) or bool(outcomes.by_session(session, "local"))
                rows.append((group.client, folder, root, path, session))
    for client, folder, root, path, session in rows:
        if not is_known[root] and (domain := domain_in(folder)):
            groups.setdefault((client, domain), {})[path] = session
    return [
        NewSessions(client, domain, tuple(files), frozenset(files.values()))
        for (client, domain), files in groups.items()
    ]


def _root_of(folder: Path, project: Path | None) -> Path | None:
    try:
        is_inside = project is None or folder.resolve().is_relative_to(project.resolve())
        return project_of(folder) if folder.is_absolute() and is_inside else None
    except (OSError, ValueError):  # a damaged transcript names no folder that can be
        return None


def _newest_first(client: str, folder: Path, paths: Iterable[Path]) -> TranscriptFolder:
    ages = {path: -path.stat().st_mtime for path in paths}
    return TranscriptFolder(client, folder, tuple(sorted(ages, key=lambda path: ages[path])))


# ── the temporary vault ──────────────────────────────────────────────────────────────


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Create a private folder, and remove it at the end of the block or at a signal."""
    _remove_leftovers()
    old_handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    for number, handler in old_handlers.items():
        if handler is signal.SIG_DFL:  # otherwise the signal is ignored on purpose, as by `nohup`
            signal.signal(number, lambda number, _frame: sys.exit(_SIGNAL_EXIT_BASE + number))
    folder, descriptor = _claim_folder()
    try:
        yield folder
    finally:
        for number in (*_SIGNALS, signal.SIGINT):
            old_handlers.setdefault(number, signal.getsignal(number))
            signal.signal(number, signal.SIG_IGN)  # a second signal must not interrupt the removal
        _remove_tree(folder)
        os.close(descriptor)
        for number, handler in old_handlers.items():
            signal.signal(number, handler)


def _claim_folder() -> tuple[Path, int]:
    """Return a new folder and its descriptor, which is locked while the folder is in use."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX))
        try:
            descriptor = _open_folder(folder)
        except FileNotFoundError:  # another program removed it as a leftover
            continue
        if claim(descriptor) and folder.exists():
            return folder, descriptor
        os.close(descriptor)


def _open_folder(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _remove_leftovers() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER_PREFIX}*"):
        try:
            if not is_private(str(folder)):
                continue
            descriptor = _open_folder(folder)
        except FileNotFoundError:  # it was removed by its own program
            continue
        try:
            if claim(descriptor):
                _remove_tree(folder)
        finally:
            os.close(descriptor)


def _remove_tree(folder: Path) -> None:
    """Remove a folder, into which a git that an interrupted program started may write briefly."""
    deadline = time.monotonic() + _GIT_END_SECONDS
    while time.monotonic() < deadline:
        try:
            return shutil.rmtree(folder)
        except OSError:
            time.sleep(_PAUSE)
    return shutil.rmtree(folder)


def prepare_repository(root: Path) -> None:
    """Create a repository that needs no git identity of the user and signs no commit."""
    root.mkdir()
    git = Git(root)
    git.init(BRANCH)
    if git.committer.identity_problem():
        git.run("config", "--local", "user.name", getuser())
        git.run("config", "--local", "user.email", f"{getuser()}@localhost")
    git.run("config", "--local", _SIGNING_KEY, "false")


def keep_vault(root: Path, target: Path) -> None:
    """Copy a vault to a new folder, which appears complete or not at all.

    Raises UsageError if the target exists.
    """
    if os.path.lexists(target):
        raise UsageError(f"{target}: is there already, and is not overwritten; name a new folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        ignore = shutil.ignore_patterns(_INDEX_FILES)
        shutil.copytree(root, draft, symlinks=True, dirs_exist_ok=True, ignore=ignore)
        Git(draft).run("config", "--local", "--unset", _SIGNING_KEY)
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft)
        raise


# ── files of instructions ────────────────────────────────────────────────────────────


class InstructionFiles(Struct, dict=True):
    """The files with a person's rules for agents, in all projects of some transcripts."""

    transcripts: tuple[Path, ...]
    blocks: dict[str, list[frozenset[str]]] = field(default_factory=dict)

    def have_rule(self, repository: str, rule: str) -> bool:
        """Return True if a paragraph for a repository has all terms of a rule."""
        blocks = self.blocks.get(repository)
        if blocks is None:
            folders = [home_of(client) for client in CLIENTS]
            files = [file for folder in folders for file in _find_files(folder, _USER_FILES)]
            for folder in self._folders.get(repository, ()):
                files += _find_files(folder, _PROJECT_FILES)
            blocks = self.blocks[repository] = [
                terms_of(block) for file in files for block in _BLOCK_BREAK.split(_read_text(file))
            ]
        return any(terms_of(rule) <= block for block in blocks)

    @cached_property
    def _folders(self) -> dict[str, set[Path]]:
        """The root and the session folders of each repository."""
        folders: dict[str, set[Path]] = {}
        for path in self.transcripts:
            cwd = _read_header(path).cwd
            if cwd and Path(cwd).is_dir():
                session_folders = {Path(cwd), project_of(Path(cwd))}
                folders.setdefault(repository_of(cwd) or "", set()).update(session_folders)
        return folders


def _read_header(path: Path) -> Header:
    """Read the header of a transcript up to the line that names the session's folder."""
    try:
        transcript = Transcript(path)
        for _ in transcript:
            if transcript.header.cwd:
                break
    except BadInputError:  # the import reports it
        return Header()
    return transcript.header


def _find_files(folder: Path, patterns: Iterable[str]) -> list[Path]:
    return [path for pattern in patterns for path in folder.glob(pattern) if path.is_file()]


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_FILE_BYTES).decode(errors="replace")
    except OSError:  # an unreadable file has no rules
        return ""

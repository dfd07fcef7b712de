"""Leave the records of closed months out of the work tree, for `skillvault cold`.

The clone becomes a sparse checkout. `git sparse-checkout` would remove staged and ignored files.
Here git changes only the index, and this module removes each file that has exactly the committed
bytes. After a kill some files may remain, which git treats like files that are checked out.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date
from pathlib import Path

from msgspec import Struct, field

from skillvault.model.errors import (
    GitError,
    PausedError,
    UncommittedEditError,
    UsageError,
    VaultBusyError,
)
from skillvault.vault.commit.files import prune_folders
from skillvault.vault.commit.locks import index_lock
from skillvault.vault.commit.store import Store, clear_up
from skillvault.vault.disk import draft_name
from skillvault.vault.files.work_tree import blob_id
from skillvault.vault.git.config import COLD
from skillvault.vault.git.index_file import Entries, SparsePaths
from skillvault.vault.git.objects import Entry
from skillvault.vault.git.repository import Git

FOLDERS = ("outcomes", "evaluations", "recommendations")  # each with a folder for each month
WORTHWHILE = 20_000  # with so many files `doctor` proposes it
_SETTINGS = ("core.sparseCheckoutCone", "index.sparse", "core.sparseCheckout")  # set in this order
_MONTH = re.compile(rf"(?:{'|'.join(FOLDERS)})/[^/]+/(?P<month>[0-9]{{4}}/[0-9]{{2}})/")
_MONTH_DEPTH = 4  # parts in the path of a month's folder
_TRIES = 3
_LOCK_SECONDS = 5.0
_STATUS = ("--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching")
_INTENDED = " A"  # in the output of `git status`: staged by `git add --intent-to-add`


class ColdReport(Struct):
    """The count and size of the files that left the work tree, and the count of returned files.

    `size` is in bytes. `stay` maps each file in a closed month that the person changed to its state
    in the words of `git status`; the whole folder of that month stays.
    """

    files: int = 0
    size: int = 0
    returned: int = 0
    stay: dict[str, str] = field(default_factory=dict)


def leave_out_months(store: Store, today: date, keep: int) -> ColdReport:
    """Leave out all months but the `keep` latest, of which the current month is one.

    PausedError in the middle of a git operation, VaultBusyError if another process is at work.
    """
    settings = store.git.settings()
    if settings.is_sparse and settings.open_months is None:
        raise UsageError(
            "this clone has a sparse checkout of yours; `git sparse-checkout disable`, then run "
            "`skillvault cold`"
        )
    with store.lock_writer():
        _check_normal(store)
        return _WindowChange(store, tuple(_months(today, keep))).leave_out(keep)


def take_back_months(store: Store) -> ColdReport:
    """Restore the files of all closed months in the work tree."""
    if store.git.settings().open_months is None:
        raise UsageError("this clone leaves nothing out; `skillvault cold` would")
    with store.lock_writer():
        _check_normal(store)
        return _WindowChange(store, None).take_back()


def follow_month(store: Store, today: date) -> ColdReport | None:
    """Update the open months of a clone that leaves months out; None for another clone."""
    keep = store.git.settings().open_months
    return None if keep is None else leave_out_months(store, today, keep)


def check_out_open_months(git: Git, today: date, keep: int) -> int:
    """Check out a new clone without closed months, and return the count of files at HEAD."""
    window = _Window(tuple(_months(today, keep)))
    _write_patterns(git, window)
    _configure(git, keep)
    files = git.objects.files(git.head() or "HEAD").items()
    blobs = {entry.id for path, entry in files if not window.is_closed(path)}
    git.promisor.fetch(sorted(blobs))
    git.run("read-tree", "-m", "-u", "HEAD", env=git.settings().staging)
    return len(files)


def closed_size(root: Path, today: date, keep: int) -> int:
    """Return the size of the files of closed months in the work tree, in bytes."""
    window = _Window(tuple(_months(today, keep)))
    return sum((root / path).lstat().st_size for path in window.closed_files(root))


def _check_normal(store: Store) -> None:
    policy = store.head().policy
    if reason := store.git.pause_reason(policy.branch):
        raise PausedError(f"paused: {reason}")
    clear_up(store.root, store.git, policy.branch)


def _months(today: date, keep: int) -> Iterator[str]:
    """Yield the open months as `yyyy/mm`, with the next month, which may begin at any time."""
    number = today.year * 12 + today.month
    for month in range(number - keep, number + 1):
        yield f"{month // 12:04}/{month % 12 + 1:02}"


class _Window:
    """The folders that stay in the work tree: open months, and months that a person edited."""

    def __init__(self, months: tuple[str, ...] | None, edits: Iterable[str] = ()) -> None:
        self._months = months  # None: all
        self._folders: set[str] = set()
        self._folders = {_month_folder(path) for path in edits if self.is_closed(path)}

    def is_closed(self, path: str) -> bool:
        """Return True if a file is in a folder that is left out."""
        month = _MONTH.match(path)
        if self._months is None or month is None or month["month"] >= self._months[0]:
            return False
        return _month_folder(path) not in self._folders

    def closed_files(self, root: Path) -> Iterator[str]:
        """Yield the files of the work tree in folders that are left out."""
        for top in FOLDERS:
            for folder, _, names in os.walk(root / top):
                path = Path(folder).relative_to(root).as_posix()
                if self.is_closed(f"{path}/"):
                    yield from (f"{path}/{name}" for name in names)

    def patterns(self, git: Git, commit: str) -> str:
        """Return the content of git's file info/sparse-checkout, in cone mode."""
        if self._months is None:
            return "/*\n"
        top_folders = [name for name in _subfolders(git, commit) if name not in FOLDERS]
        folders = {*top_folders, *self._folders}
        for top in FOLDERS:
            for domain in _subfolders(git, f"{commit}:{top}"):
                folders |= {f"{top}/{domain}/{month}" for month in self._months}
        parents = {f[:i] for f in folders for i, char in enumerate(f) if char == "/"} - folders
        lines = ["/*", "!/*/"]
        for parent in sorted(parents):
            lines += [f"/{_escape(parent)}/", f"!/{_escape(parent)}/*/"]
        lines += [f"/{_escape(f)}/" for f in sorted(folders)]
        return "\n".join([*lines, ""])


def _subfolders(git: Git, tree: str) -> list[str]:
    out = git.run("ls-tree", "-d", "-z", "--name-only", tree, ok=(0, 128))
    return [os.fsdecode(name) for name in out.split(b"\0") if name]


def _escape(folder: str) -> str:
    return re.sub(r"([*?\[\\])", r"\\\1", folder)


def _month_folder(path: str) -> str:
    return "/".join(path.split("/")[:_MONTH_DEPTH])


def _write_patterns(git: Git, window: _Window) -> None:
    file = _sparse_file(git)
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(os.fsencode(window.patterns(git, git.head() or "HEAD")))


def _sparse_file(git: Git) -> Path:
    return git.dirs()[0] / "info/sparse-checkout"


def _configure(git: Git, keep: int) -> None:
    for name in _SETTINGS:
        git.run("config", "--worktree", name, "true")
    git.run("config", "--worktree", COLD, str(keep))


class _WindowChange:
    """A change of the open months of a clone; the caller holds the writer's lock."""

    def __init__(self, store: Store, months: tuple[str, ...] | None) -> None:
        self._root = store.root
        self._git = store.git
        self._months = months
        self._env = store.git.settings().staging
        self._report = ColdReport()

    def leave_out(self, keep: int) -> ColdReport:
        self._write_window()  # git finds the patterns when it reads the settings
        _configure(self._git, keep)
        return self._apply()

    def take_back(self) -> ColdReport:
        self._apply()
        for name in (*reversed(_SETTINGS), COLD):
            self._git.run("config", "--worktree", "--unset-all", name, ok=(0, 5))
        _sparse_file(self._git).unlink(missing_ok=True)
        return self._report

    def _write_window(self) -> _Window:
        """Write the patterns of a window that keeps the months with edits of the person."""
        edits = self._read_edits()
        window, base = _Window(self._months, edits), _Window(self._months)
        self._report.stay = {path: state for path, state in edits.items() if base.is_closed(path)}
        _write_patterns(self._git, window)
        return window

    def _read_edits(self) -> dict[str, str]:
        """Map each edited, staged, untracked or ignored file to its state."""
        # A file that was only touched is not an edit.
        self._git.run("update-index", "-q", "--refresh", env=self._env, ok=(0, 1))
        out = os.fsdecode(self._git.run("status", *_STATUS, env=self._env))
        edits = {line[3:]: line[:2] for line in out.split("\0") if line}
        for path, state in edits.items():
            if state == _INTENDED:
                raise UncommittedEditError(
                    f"{path}: added by `git add --intent-to-add`, beside which git loses entries "
                    f"of a sparse index; `git add` it or `git reset -- {path}`"
                )
        return edits

    def _apply(self) -> ColdReport:
        """Apply the window to index and work tree; VaultBusyError if the index keeps changing."""
        for _ in range(_TRIES):
            if self._try_once(self._write_window()):
                self._git.run("update-index", "-q", "--refresh", env=self._env, ok=(0, 1))
                return self._report
        raise VaultBusyError("another git keeps changing the index; run the command again")

    def _try_once(self, window: _Window) -> bool:
        """Write files and the index, then remove files; False if the index changed meanwhile."""
        index_file = self._git.index_file
        state, tags, sparse_paths = index_file.current(), index_file.tags(), SparsePaths()
        leaving_paths = {
            path
            for tag, path in tags
            if tag == "H" and path not in state.differences and window.is_closed(path)
        }
        returning_entries: dict[str, Entry] = {}
        if any(tag == "S" for tag, _ in tags):
            sparse_paths, entries = index_file.sparse_paths(), index_file.all_entries()
            returning_entries = {
                path: entry
                for path, entry in entries.items()
                if path in sparse_paths and not window.is_closed(path)
            }
        self._put_back(returning_entries)
        draft = index_file.draft_sparse(sorted(leaving_paths), returning_entries, self._env)
        try:
            with index_lock(self._root, self._git.dirs()[0], _LOCK_SECONDS):
                if index_file.checksum() != state.checksum:
                    return False
                index_file.install(draft)
                # No git can write the index before all these files are gone.
                closed = [
                    path
                    for path in window.closed_files(self._root)
                    if path in leaving_paths or path in sparse_paths
                ]
                self._remove_closed_files(closed, state.differences)
        finally:
            draft.unlink(missing_ok=True)
        return True

    def _put_back(self, entries: dict[str, Entry]) -> None:
        """Write files that were left out, never over an existing file."""
        missing_paths = [path for path in entries if not os.path.lexists(self._root / path)]
        if not missing_paths:
            return
        self._git.objects.fetch_missing(entries[path].id for path in missing_paths)
        names = "".join(f"{path}\0" for path in missing_paths).encode(errors="surrogateescape")
        options = ("--ignore-skip-worktree-bits", "-z", "--stdin")
        self._git.run("checkout-index", *options, stdin=names, env=self._env, ok=(0, 1))
        for path in missing_paths:
            if not os.path.lexists(self._root / path):
                raise GitError(f"{path}: could not be written; make room, and run it again")
        self._report.returned = len(missing_paths)

    def _remove_closed_files(self, paths: list[str], differences: Entries) -> None:
        """Remove the files whose bytes are those of HEAD and of the index."""
        entries = self._git.entries(self._git.head(), paths)
        for path in paths:
            if path in entries and path not in differences:
                size = _remove_unchanged(self._root, path, entries[path].id)
                self._report.files += size is not None
                self._report.size += size or 0


def _remove_unchanged(root: Path, path: str, blob: str) -> int | None:
    """Remove a file if it has this blob, and return its size; None for another content.

    The file is renamed before it is read, so that an edit saved meanwhile is not removed.
    """
    file = root / path
    draft = file.parent / f".skillvault-{draft_name()}.tmp"
    try:
        if file.is_symlink() or blob_id(file.read_bytes()) != blob:
            return None
        file.rename(draft)
    except FileNotFoundError:
        return None  # the person removed it
    content = draft.read_bytes()
    is_unchanged = blob_id(content) == blob
    if not is_unchanged:
        with suppress(FileExistsError):  # the person saved it once more
            os.link(draft, file)
    draft.unlink()
    prune_folders(root, path)
    return len(content) if is_unchanged else None

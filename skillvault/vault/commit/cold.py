"""The light form of a clone: a sparse checkout without the records of closed months.

`git sparse-checkout` itself removes staged and ignored files. Here git changes only the index, and
each file is removed alone, if it has exactly the committed bytes. A kill leaves files that the
index leaves out, and git takes these for files that are there.
"""

import errno
import os
import re
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
from skillvault.vault.commit.cone import Window, cone_file, list_months
from skillvault.vault.commit.files import prune_folders
from skillvault.vault.commit.locks import index_lock
from skillvault.vault.commit.store import Store, clear_up
from skillvault.vault.disk import draft_name
from skillvault.vault.failpoint import reach
from skillvault.vault.files.work_tree import blob_id
from skillvault.vault.git.config import COLD
from skillvault.vault.git.index_file import Entries, SparsePaths
from skillvault.vault.git.objects import Entry
from skillvault.vault.git.repository import Git

WORTHWHILE = 20_000  # files from which `doctor` proposes it
_SETTINGS = (
    "core.sparseCheckoutCone",
    "index.sparse",
    COLD,
    "core.sparseCheckout",
)  # in this order
_ASIDE = re.compile(r"\.skillvault-(?P<name>.+)-[0-9]+-[0-9]+\.tmp")  # a file that is being removed
_YEAR_DEPTH = 3  # names in the path of the folder of a year, the first that `cold` may leave out
_TRIES = 3
_LOCK_SECONDS = 5.0
_STATUS = ("--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching")
_INTENDED = " A"  # in the output of `git status`: staged by `git add --intent-to-add`


class ColdReport(Struct):
    """The files of closed months that left the work tree or returned, and those that stay.

    `size` is in bytes. `stay` maps each file of the person in a closed month to its state, as
    `git status` names it; the folder of its month stays with it.
    """

    files: int = 0
    size: int = 0
    returned: int = 0
    stay: dict[str, str] = field(default_factory=dict)


def leave_out_months(store: Store, today: date, keep: int) -> ColdReport:
    """Leave out the closed months, but for the `keep` latest ones; this month is one of them.

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
        return _Move(store, list_months(today, keep)).leave_out(keep)


def take_back_months(store: Store) -> ColdReport:
    """Put all files of closed months back into the work tree."""
    if store.git.settings().open_months is None:
        raise UsageError("this clone leaves nothing out; `skillvault cold` would")
    with store.lock_writer():
        _check_normal(store)
        return _Move(store, None).take_back()


def follow_month(store: Store, today: date) -> ColdReport | None:
    """Move the window of a clone that leaves months out; None for another clone."""
    keep = store.git.settings().open_months
    return None if keep is None else leave_out_months(store, today, keep)


def hides_domain(git: Git) -> bool:
    """Return True if a light clone hides a whole domain or top folder, which a pull brought."""
    return any(folder.count("/") < _YEAR_DEPTH for folder in git.index_file.sparse_paths().folders)


def check_out_open_months(git: Git, today: date, keep: int) -> int:
    """Check out a new clone without closed months, and return the number of its files."""
    window = Window(list_months(today, keep))
    window.write(git)
    _configure(git, keep)
    files = git.objects.files(git.head() or "HEAD").items()
    blobs = {entry.id for path, entry in files if not window.is_closed(path)}
    git.promisor.fetch(sorted(blobs))
    git.run("read-tree", "-m", "-u", "HEAD", env=git.settings().staging)
    return len(files)


def closed_size(root: Path, today: date, keep: int) -> int:
    """Return the bytes that the files of closed months take in the work tree."""
    window = Window(list_months(today, keep))
    return sum((root / path).lstat().st_size for path in window.closed_files(root))


def _check_normal(store: Store) -> None:
    policy = store.head().policy
    if reason := store.git.pause_reason(policy.branch):
        raise PausedError(f"paused: {reason}")
    clear_up(store.root, store.git, policy.branch)


def _configure(git: Git, keep: int) -> None:
    for name in _SETTINGS:
        git.run("config", "--worktree", name, str(keep) if name == COLD else "true")


class _Move:
    """A move of the window of a clone; the caller holds the writer's lock."""

    def __init__(self, store: Store, months: tuple[str, ...] | None) -> None:
        self._root = store.root
        self._git = store.git
        self._months = months
        self._env = store.git.settings().staging
        self._report = ColdReport()

    def leave_out(self, keep: int) -> ColdReport:
        self._draw_window()  # git finds the patterns when it reads the settings
        reach("cone-written")
        _configure(self._git, keep)
        reach("cone-set")
        return self._apply()

    def take_back(self) -> ColdReport:
        self._apply()
        for name in reversed(_SETTINGS):
            self._git.run("config", "--worktree", "--unset-all", name, ok=(0, 5))
            reach("cone-unset")
        cone_file(self._git).unlink(missing_ok=True)
        return self._report

    def _draw_window(self) -> Window:
        """Read the person's edits, and write the patterns of a window that has these files."""
        edits = self._read_edits()
        window, base = Window(self._months, edits), Window(self._months)
        self._report.stay = {path: state for path, state in edits.items() if base.is_closed(path)}
        window.write(self._git)
        return window

    def _read_edits(self) -> dict[str, str]:
        """Map each edited, staged, untracked or ignored file to its state."""
        # Files that were only touched are no edits.
        self._git.run("update-index", "-q", "--refresh", env=self._env, ok=(0, 1))
        out = os.fsdecode(self._git.run("status", *_STATUS, env=self._env))
        edits = {line[3:]: line[:2] for line in out.split("\0") if line}
        if [path for path in edits if _put_back_aside(self._root / path)]:
            return self._read_edits()
        for path, state in edits.items():
            if state == _INTENDED:
                raise UncommittedEditError(
                    f"{path}: added by `git add --intent-to-add`, beside which git loses entries "
                    f"of a sparse index; `git add` it or `git reset -- {path}`"
                )
        return edits

    def _apply(self) -> ColdReport:
        """Bring index and work tree to the window; VaultBusyError if the index keeps changing."""
        for _ in range(_TRIES):
            if self._try(self._draw_window()):
                self._git.run("update-index", "-q", "--refresh", env=self._env, ok=(0, 1))
                return self._report
        raise VaultBusyError("another git keeps changing the index; run the command again")

    def _try(self, window: Window) -> bool:
        """Write files and the index, then remove files; False if the index changed meanwhile."""
        index_file = self._git.index_file
        state, tags, sparse_paths = index_file.current(), index_file.tags(), SparsePaths()
        leaving = {
            path
            for tag, path in tags
            if tag == "H" and path not in state.differences and window.is_closed(path)
        }
        returning: dict[str, Entry] = {}
        if any(tag == "S" for tag, _ in tags):
            sparse_paths, entries = index_file.sparse_paths(), index_file.all_entries()
            returning = {
                path: entry
                for path, entry in entries.items()
                if path in sparse_paths and not window.is_closed(path)
            }
        self._put_back(returning)
        reach("months-returned")
        draft = index_file.draft_sparse(sorted(leaving), returning, self._env)
        try:
            with index_lock(self._root, self._git.dirs()[0], _LOCK_SECONDS):
                if index_file.checksum() != state.checksum:
                    return False
                index_file.install(draft)
                reach("window-installed")
                # No git can write the index before all these files are gone.
                closed = [
                    path
                    for path in window.closed_files(self._root)
                    if path in leaving or path in sparse_paths
                ]
                self._remove_closed_files(closed, state.differences)
        finally:
            draft.unlink(missing_ok=True)
        return True

    def _put_back(self, entries: dict[str, Entry]) -> None:
        """Write files that were left out, never over a file that is there."""
        missing = [path for path in entries if not os.path.lexists(self._root / path)]
        if not missing:
            return
        self._git.objects.fetch_missing(entries[path].id for path in missing)
        names = "".join(f"{path}\0" for path in missing).encode(errors="surrogateescape")
        options = ("--ignore-skip-worktree-bits", "-z", "--stdin")
        self._git.run("checkout-index", *options, stdin=names, env=self._env, ok=(0, 1))
        for path in missing:
            if not os.path.lexists(self._root / path):
                raise GitError(f"{path}: could not be written; make room, and run it again")
        self._report.returned = len(missing)

    def _remove_closed_files(self, paths: list[str], differences: Entries) -> None:
        """Remove the files that have the bytes of HEAD and of the index."""
        entries = self._git.entries(self._git.head(), paths)
        for path in paths:
            if path in entries and path not in differences:
                size = _remove_unchanged(self._root, path, entries[path].id)
                self._report.files += size is not None
                self._report.size += size or 0


def _remove_unchanged(root: Path, path: str, blob: str) -> int | None:
    """Remove a file with this content, and return its size; None if it has another content.

    It is moved aside first, and read there, so that nothing that is saved meanwhile is removed.
    """
    place = root / path
    aside = place.parent / f".skillvault-{place.name}-{draft_name()}.tmp"
    try:
        if place.is_symlink() or blob_id(place.read_bytes()) != blob:
            return None
        place.rename(aside)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENAMETOOLONG):
            raise
        return None  # the person removed it, or its name has no room for more
    reach("closed-file-aside")
    content = aside.read_bytes()
    if blob_id(content) != blob:
        _put_back_aside(aside)
        return None
    aside.unlink()
    prune_folders(root, path)
    return len(content)


def _put_back_aside(aside: Path) -> bool:
    """Put a file back that was moved aside, unless the person saved it once more meanwhile.

    False for another file. The caller holds the writer's lock: who moved it aside was killed.
    """
    if match := _ASIDE.fullmatch(aside.name):
        with suppress(FileExistsError):
            os.link(aside, aside.with_name(match["name"]))
        aside.unlink()
    return match is not None

"""Leave the records of closed months out of the work tree, for `skillvault cold`.

The clone becomes a sparse checkout. `git sparse-checkout` would remove staged and ignored files.
Here git changes only the index, and this module removes each file that has exactly the committed
bytes. After a kill some files may remain, which git treats like files that are checked out.
"""

import errno
import os
import re
from contextlib import suppress
from datetime import date
from pathlib import Path

from msgspec import Struct, field

from skillvault.model.errors import GitError, UncommittedEditError, UsageError, VaultBusyError
from skillvault.vault.commit.cone import Window, cone_file, list_months
from skillvault.vault.commit.files import prune_folders
from skillvault.vault.commit.locks import index_lock
from skillvault.vault.commit.store import Store, clear_up
from skillvault.vault.disk import draft_name
from skillvault.vault.failpoint import reach
from skillvault.vault.files.work_tree import blob_id
from skillvault.vault.git.config import COLD
from skillvault.vault.git.index_file import Entries, SparsePaths, path_list
from skillvault.vault.git.objects import Entry
from skillvault.vault.git.repository import Git, check_normal

MIN_FILES = 20_000  # files from which `doctor` proposes it
# In the order in which they are set.
_SETTINGS = ("core.sparseCheckoutCone", "index.sparse", COLD, "core.sparseCheckout")
_DRAFT = re.compile(r"\.skillvault-(?P<name>.+)-[0-9]+-[0-9]+\.tmp")  # a file before its removal
_YEAR_DEPTH = 3  # names in the path of the folder of a year, the first that `cold` may leave out
_TRIES = 3
_LOCK_SECONDS = 5.0
_STATUS = ("--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching")
_INTENT_TO_ADD = " A"  # in the output of `git status`: staged by `git add --intent-to-add`


class ColdReport(Struct):
    """The number and size in bytes of the files that left the work tree, and of returned files.

    `stay` maps each file of a closed month that the user changed to its code in `git status`. The
    whole folder of that month stays.
    """

    files: int = 0
    size: int = 0
    returned: int = 0
    stay: dict[str, str] = field(default_factory=dict)


def leave_out_months(store: Store, today: date, keep: int) -> ColdReport:
    """Leave out all months except the latest `keep` months, which include the current month.

    Raises PausedError during a git operation, VaultBusyError if another process is at work.
    """
    settings = store.git.settings()
    if settings.is_sparse and settings.open_months is None:
        raise UsageError(
            "this clone has a sparse checkout of yours; `git sparse-checkout disable`, then run "
            "`skillvault cold`"
        )
    with store.lock_writer():
        _check_normal(store)
        return _WindowChange(store, list_months(today, keep)).leave_out(keep)


def take_back_months(store: Store) -> ColdReport:
    """Restore the files of all months in the work tree."""
    if store.git.settings().open_months is None:
        raise UsageError("this clone leaves nothing out; `skillvault cold` would")
    with store.lock_writer():
        _check_normal(store)
        return _WindowChange(store, None).take_back()


def follow_month(store: Store, today: date) -> ColdReport | None:
    """Close months that are no longer among the latest, in a clone that leaves months out.

    Return None for another clone.
    """
    open_months = store.git.settings().open_months
    return None if open_months is None else leave_out_months(store, today, open_months)


def hides_domain(git: Git) -> bool:
    """Return True if the sparse checkout hides a domain or top folder that a pull brought."""
    return any(folder.count("/") < _YEAR_DEPTH for folder in git.index_file.sparse_paths().folders)


def check_out_open_months(git: Git, today: date, keep: int) -> int:
    """Check out a new clone without closed months, and return the number of files at HEAD."""
    window = Window(list_months(today, keep))
    window.write(git)
    _configure(git, keep)
    files = git.objects.files(git.head() or "HEAD").items()
    blobs = {entry.id for path, entry in files if not window.is_closed(path)}
    git.promisor.fetch(sorted(blobs))
    git.run("read-tree", "-m", "-u", "HEAD", env=git.settings().staging)
    return len(files)


def closed_size(root: Path, today: date, keep: int) -> int:
    """Return the size in bytes of the files of closed months in the work tree."""
    window = Window(list_months(today, keep))
    return sum((root / path).lstat().st_size for path in window.closed_files(root))


def _check_normal(store: Store) -> None:
    branch = store.snapshot().policy.branch
    check_normal(store.git, branch)
    clear_up(store.root, store.git, branch)


def _configure(git: Git, keep: int) -> None:
    for name in _SETTINGS:
        git.run("config", "--worktree", name, str(keep) if name == COLD else "true")


class _WindowChange:
    """A change of the months that stay in the work tree, under the writer's lock."""

    def __init__(self, store: Store, months: tuple[str, ...] | None) -> None:
        self._root = store.root
        self._git = store.git
        self._months = months
        self._env = store.git.settings().staging
        self._report = ColdReport()

    def leave_out(self, keep: int) -> ColdReport:
        """Write the cone and the settings, and remove the files of closed months."""
        self._write_window()  # git finds the patterns when it reads the settings
        reach("cone-written")
        _configure(self._git, keep)
        reach("cone-set")
        return self._apply()

    def take_back(self) -> ColdReport:
        """Restore all files, and remove the cone and the settings."""
        self._apply()
        for name in reversed(_SETTINGS):
            self._git.run("config", "--worktree", "--unset-all", name, ok=(0, 5))
            reach("cone-unset")
        cone_file(self._git).unlink(missing_ok=True)
        return self._report

    def _write_window(self) -> Window:
        """Write the cone of folders that stay: open months, and months with the user's edits."""
        edits = self._read_edits()
        window, base = Window(self._months, edits), Window(self._months)
        self._report.stay = {path: state for path, state in edits.items() if base.is_closed(path)}
        window.write(self._git)
        return window

    def _read_edits(self) -> dict[str, str]:
        """Return the status code of each edited, staged, untracked or ignored file."""
        # A file that was only touched is not an edit.
        self._git.run("update-index", "-q", "--refresh", env=self._env, ok=(0, 1))
        output = os.fsdecode(self._git.run("status", *_STATUS, env=self._env))
        edits = {line[3:]: line[:2] for line in output.split("\0") if line}
        if [path for path in edits if _put_back_draft(self._root / path)]:
            return self._read_edits()
        for path, state in edits.items():
            if state == _INTENT_TO_ADD:
                raise UncommittedEditError(
                    f"{path}: added by `git add --intent-to-add`, beside which git loses entries "
                    f"of a sparse index; `git add` it or `git reset -- {path}`"
                )
        return edits

    def _apply(self) -> ColdReport:
        """Change the index and the work tree. Raise VaultBusyError if the index keeps changing."""
        for _ in range(_TRIES):
            if self._try_once(self._write_window()):
                self._git.run("update-index", "-q", "--refresh", env=self._env, ok=(0, 1))
                return self._report
        raise VaultBusyError("another git keeps changing the index; run the command again")

    def _try_once(self, window: Window) -> bool:
        """Write files and the index, then remove files.

        Return False if the index changed meanwhile.
        """
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
        reach("months-returned")
        draft = index_file.draft_sparse(sorted(leaving_paths), returning_entries)
        try:
            with index_lock(self._root, self._git.dirs()[0], _LOCK_SECONDS):
                if index_file.checksum() != state.checksum:
                    return False
                index_file.install(draft)
                reach("window-installed")
                # No git can write the index before all these files are gone.
                closed_paths = [
                    path
                    for path in window.closed_files(self._root)
                    if path in leaving_paths or path in sparse_paths
                ]
                self._remove_closed_files(closed_paths, state.differences)
        finally:
            draft.unlink(missing_ok=True)
        return True

    def _put_back(self, entries: dict[str, Entry]) -> None:
        """Write files that were left out, but no file that exists."""
        missing_paths = [path for path in entries if not os.path.lexists(self._root / path)]
        if not missing_paths:
            return
        self._git.objects.fetch_missing(entries[path].id for path in missing_paths)
        arguments = ("checkout-index", "--ignore-skip-worktree-bits", "-z", "--stdin")
        self._git.run(*arguments, stdin=path_list(missing_paths), env=self._env, ok=(0, 1))
        for path in missing_paths:
            if not os.path.lexists(self._root / path):
                raise GitError(f"{path}: could not be written; make room, and run it again")
        self._report.returned = len(missing_paths)

    def _remove_closed_files(self, paths: list[str], differences: Entries) -> None:
        entries = self._git.entries(self._git.head(), paths)
        for path in paths:
            if path in entries and path not in differences:
                size = _remove_unchanged(self._root, path, entries[path].id)
                self._report.files += size is not None
                self._report.size += size or 0


def _remove_unchanged(root: Path, path: str, blob: str) -> int | None:
    """Remove a file if its content is this blob, and return its size, else None.

    The file is renamed before it is read, so that an edit saved meanwhile is not removed.
    """
    file = root / path
    draft = file.parent / f".skillvault-{file.name}-{draft_name()}.tmp"
    try:
        if file.is_symlink() or blob_id(file.read_bytes()) != blob:
            return None
        file.rename(draft)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENAMETOOLONG):
            raise
        return None  # the person removed it, or its name has no room for more
    reach("closed-file-aside")
    content = draft.read_bytes()
    if blob_id(content) != blob:
        _put_back_draft(draft)
        return None
    draft.unlink()
    prune_folders(root, path)
    return len(content)


def _put_back_draft(draft: Path) -> bool:
    """Give a renamed file its name back, unless the user saved the file again.

    Return False for another file. The process that renamed the file was killed.
    """
    if match := _DRAFT.fullmatch(draft.name):
        with suppress(FileExistsError):
            os.link(draft, draft.with_name(match["name"]))
        draft.unlink()
    return match is not None

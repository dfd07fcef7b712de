"""Packing: many loose objects become a few packs, at the lowest priority, never under a writer.

`gc.pid` keeps git's own gc and our writers out, and names the repack itself: were we killed, they
would wait for it all the same. A writer who comes takes its lock first, and that ends the repack.
"""

import os
import subprocess
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from skillvault.errors import GitError, VaultBusyError
from skillvault.vault.commit.fence import gc_lock
from skillvault.vault.commit.git_activity import git_processes, opened_files
from skillvault.vault.commit.locks import WRITER, holder
from skillvault.vault.git.process import as_environment, failure_of
from skillvault.vault.git.repository import Git

LOOSE = 2000  # loose objects that are left as they are: 8 MB at most
_SAMPLE = ("17", "5b", "9e", "d3")  # ids are spread evenly over the 256 folders
_LOOK = 0.02  # seconds between two looks whether somebody waits for us
_ABANDONED = 3600.0  # seconds after which a draft of a pack that nobody has open is nobody's
_LOWEST = 19
_SETTINGS = as_environment({"pack.threads": "1"})


def count_loose(git: Git) -> int:
    """About how many objects are loose."""
    folders = [git.dirs()[1] / "objects" / name for name in _SAMPLE]
    names = [name for folder in folders if folder.is_dir() for name in folder.iterdir()]
    return len(names) * 256 // len(_SAMPLE)


def pack(git: Git, is_wanted: Callable[[], bool] = lambda: False, loose: int = LOOSE) -> bool:
    """Pack if more objects than that are loose; False if there was no need, or no time.

    It ends early, and leaves all as it was, if a writer comes, or `is_wanted` says that we are.
    """
    if count_loose(git) <= loose:
        return False
    common = git.dirs()[1]
    with suppress(VaultBusyError), gc_lock(common, 0.0) as lock:
        _sweep(common / "objects", time.time())
        # Git refuses a geometric repack beside packs whose missing objects a remote promised.
        how = () if git.is_partial() else ("--geometric=2",)
        earlier = _drafts(common / "objects")
        repack = git.alone("repack", "-d", "-q", *how, env=_SETTINGS)
        with git.fenced(lock.owner), repack as process:
            lock.name_process(process.pid)
            with suppress(ProcessLookupError):  # it may have ended already
                os.setpriority(os.PRIO_PGRP, process.pid, _LOWEST)
            writer = common / "skillvault" / WRITER
            done = _wait(process, lambda: holder(writer) is not None or is_wanted())
            opened = [] if done else list(opened_files(process.pid))
        if not done:
            drafts = _drafts(common / "objects") - earlier
            _remove_abandoned(drafts, opened, beside=any(git_processes(git.root, *git.dirs())))
        return done
    return False


def _wait(process: "subprocess.Popen[bytes]", is_wanted: Callable[[], bool]) -> bool:
    """Wait for a repack until we are wanted; whether it came to its end."""
    while True:
        try:
            _, errors = process.communicate(timeout=_LOOK)
        except subprocess.TimeoutExpired:
            if is_wanted():
                return False
        else:
            if process.returncode:
                raise GitError(failure_of("repack", errors))
            return True


def _remove_abandoned(drafts: Collection[Path], opened: Collection[str], *, beside: bool) -> None:
    """Remove what a repack drafted, of which git removes only a part when it is ended.

    Beside another git only what the repack was seen to have open: a draft that nobody has open
    may be about to get its name. The rest is swept once it is old.
    """
    elsewhere = set(opened_files())
    for path in drafts:
        if str(path) not in elsewhere and (not beside or str(path) in opened):
            path.unlink(missing_ok=True)


def _drafts(objects: Path) -> set[Path]:
    """The files that gits and writers of ours write before they name them."""
    forms = ("pack/tmp_*", "pack/.tmp-*", "??/tmp_obj_*")
    return {path for form in forms for path in objects.glob(form)}


def _sweep(objects: Path, now: float) -> None:
    """Remove what killed gits and writers of ours drafted and did not finish."""
    drafts = _drafts(objects)
    opened = set(opened_files()) if drafts else set()
    for path in drafts:
        with suppress(FileNotFoundError):
            if now - path.stat().st_mtime > _ABANDONED and str(path) not in opened:
                path.unlink()

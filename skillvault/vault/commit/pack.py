"""Pack the loose objects of a vault while nobody writes, and extend git's commit graph.

Each pack has at least twice the objects of the next. No object is removed, no reflog expires, and
no hook runs. The commit graph stores the changed paths, which makes `git log -- PATH` fast.
"""

from contextlib import suppress

from skillvault.model.errors import VaultBusyError
from skillvault.vault.commit.locks import gc_lock, writer_lock
from skillvault.vault.git.objects import MAX_PACKS, count_packs
from skillvault.vault.git.process import as_environment
from skillvault.vault.git.repository import Git

LOOSE = 1000  # fewer loose objects are not packed: 4 MB at most
_SAMPLE = ("17", "5b", "9e", "d3")  # ids are spread evenly over the 256 folders
_GRAPH = ("commit-graph", "write", "--reachable", "--split", "--changed-paths", "--no-progress")
_GRAPH_LIMIT = "--max-new-filters=5000"  # limits the time in which nobody can write to seconds
_PACK_LOOSE_OBJECTS = ("maintenance", "run", "--auto", "--quiet", "--task=loose-objects")
_SETTINGS = as_environment({"maintenance.loose-objects.auto": "-1"})  # pack any number


def count_loose(git: Git) -> int:
    """Return the estimated number of loose objects."""
    folders = [git.dirs()[1] / "objects" / name for name in _SAMPLE]
    names = [name for folder in folders if folder.is_dir() for name in folder.iterdir()]
    return len(names) * 256 // len(_SAMPLE)


def pack(git: Git, loose: int = LOOSE) -> bool:
    """Pack if there are more than `loose` loose objects. Return False if nothing was packed.

    Many packs become a few, too, except in a partial clone.
    """
    common_dir = git.dirs()[1]
    has_packs = count_packs(common_dir / "objects") > MAX_PACKS and not git.is_partial()
    if count_loose(git) <= loose and not has_packs:
        return False
    with (
        suppress(VaultBusyError),
        writer_lock(common_dir / "skillvault", 0.0) as lock,
        git.share_lock(lock),
        gc_lock(common_dir, 0.0),
    ):
        if git.is_partial():  # `repack` would lose the mark of packs from a promisor
            git.run(*_PACK_LOOSE_OBJECTS, env=_SETTINGS, hold_lock=True)
            git.run("prune-packed", "--quiet", hold_lock=True)
        else:
            git.run("repack", "-d", "--geometric=2", "--quiet", hold_lock=True)
        # 128: a tree is at a remote only
        git.run(*_GRAPH, _GRAPH_LIMIT, ok=(0, 128), hold_lock=True)
        with suppress(AttributeError):
            del git.objects  # it holds each pack open that it has ever read
        return True
    return False

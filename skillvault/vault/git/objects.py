"""Git's object database: blobs and trees read and written without a process.

The one home of pygit2, of which only the database is used. Nothing of the repository's config,
attributes, index or refs passes through it, so nothing of them can run or change a byte.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from skillvault.errors import GitError
from skillvault.vault.git import trees
from skillvault.vault.git.trees import Entry, Tree

_COMMIT, _TREE, _BLOB = 1, 2, 3  # git's numbers of its object types
_KEPT = 32  # so many trees are remembered; a wide folder's is read for each commit
_NAMES = {_COMMIT: "commit", _TREE: "tree", _BLOB: "blob"}


class Objects:
    """The objects of one repository, below its folder `objects/`."""

    def __init__(self, folder: Path) -> None:
        import pygit2  # noqa: PLC0415 (67 ms, and only who reads or writes objects needs it)

        pygit2.settings.enable_caching(False)  # what is read again is kept here
        self._failed = pygit2.GitError
        self._trees: dict[str, Tree] = {}
        try:
            self._database: Any = pygit2.Odb(str(folder))
        except pygit2.GitError as error:
            raise GitError(f"{folder}: {error}") from None

    # ── reading ──────────────────────────────────────────────────────────────────────

    def blobs(self, ids: Iterable[str]) -> dict[str, bytes]:
        """blob id -> bytes; GitError for one that cannot be read."""
        return {blob: self._read(blob, _BLOB) for blob in dict.fromkeys(ids)}

    def commit(self, sha: str) -> bytes:
        """A commit object as it stands."""
        return self._read(sha, _COMMIT)

    def root(self, commit: str) -> str:
        """The id of a commit's tree."""
        return self.commit(commit)[5:45].decode()

    def folders(self, root: str | None, names: Iterable[str]) -> dict[str, Tree]:
        """folder ("" is the root) -> its entries; empty where there is no such folder."""
        found: dict[str, Tree] = {"": self._tree(root) if root else Tree()}
        for name in names:
            self._descend(found, name)
        return {name: found[name] for name in names}

    def _descend(self, found: dict[str, Tree], folder: str) -> Tree:
        if folder not in found:
            parent, _, name = folder.rpartition("/")
            node = self._descend(found, parent).get(name)
            if node and node.mode != trees.FOLDER:
                raise GitError(f"{folder}: a file stands where a folder is needed")
            found[folder] = self._tree(node.id) if node else Tree()
        return found[folder]

    def entries(self, root: str | None, paths: Sequence[str]) -> dict[str, Entry]:
        """path -> its entry below a tree, for the files that are there."""
        folders = self.folders(root, {path.rpartition("/")[0] for path in paths})
        found: dict[str, Entry] = {}
        for path in paths:
            folder, _, name = path.rpartition("/")
            node = folders[folder].get(name)
            if node and node.mode not in (trees.FOLDER, trees.SUBMODULE):
                found[path] = node
        return found

    def clashes(self, root: str | None, paths: Iterable[str]) -> tuple[dict[str, str], set[str]]:
        """(path -> why no file can be there, the folders of the paths that are not there)."""
        known: dict[str, Tree | None] = {"": self._tree(root) if root else Tree()}
        found: dict[str, str] = {}
        bare: set[str] = set()
        for path in paths:
            parts = path.split("/")
            for depth in range(len(parts)):
                above, folder = "/".join(parts[:depth]), "/".join(parts[: depth + 1])
                node = (known[above] or Tree()).get(parts[depth])
                if depth == len(parts) - 1:
                    if node and node.mode in (trees.FOLDER, trees.SUBMODULE):
                        found[path] = "a folder is committed there"
                elif node and node.mode != trees.FOLDER:
                    found[path] = f"a file is committed at {folder}, where a folder is needed"
                    break
                elif folder not in known:
                    known[folder] = self._tree(node.id) if node else None
                    if node is None:
                        bare.add(folder)
        return found, bare

    def _tree(self, tree: str) -> Tree:
        """A tree's entries, the caller's own; those read last are kept."""
        found = self._trees.pop(tree, None)
        if found is None:
            found = trees.parsed(self._read(tree, _TREE))
        self._keep(tree, found)
        return found.copy()

    def _keep(self, tree: str, found: Tree) -> None:
        self._trees[tree] = found
        while len(self._trees) > _KEPT:
            del self._trees[next(iter(self._trees))]

    def _read(self, name: str, kind: int) -> bytes:
        try:
            found, data = self._database.read(name)
        except (KeyError, ValueError):
            raise GitError(f"object {name} cannot be read; run `git fsck`") from None
        except self._failed as error:
            raise GitError(f"object {name} cannot be read ({error}); run `git fsck`") from None
        if found != kind:
            raise GitError(f"object {name} is no {_NAMES[kind]}; run `git fsck`")
        return bytes(data)

    # ── writing ──────────────────────────────────────────────────────────────────────

    def write_blob(self, data: bytes) -> str:
        """The id of a blob, stored as it is."""
        return self._write(_BLOB, data)

    def write_commit(self, data: bytes) -> str:
        """The id of a commit object."""
        return self._write(_COMMIT, data)

    def write_tree(self, base: str | None, entries: Mapping[str, Entry | None]) -> str:
        """The id of the tree `base` with these files set or (None) removed.

        Only the folders on the paths are read and written, whatever the vault's size.
        """
        levels = trees.levels(entries)
        found = self.folders(base, [folder for level in levels for folder in level])
        trees.put(found, entries)
        for level in levels:
            kept = [folder for folder in level if found[folder] or not folder]
            ids = {folder: self._write(_TREE, found[folder].encoded) for folder in kept}
            for folder in kept:  # the next commit begins with these
                self._keep(ids[folder], found[folder])
            trees.hang(found, level, ids)
        return ids[""]

    def _write(self, kind: int, data: bytes) -> str:
        try:
            return str(self._database.write(kind, data))
        except (self._failed, OSError) as error:
            raise GitError(f"a {_NAMES[kind]} cannot be written: {error}") from None

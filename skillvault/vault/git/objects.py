"""Git's object database: blobs and trees read and written without a process.

The one home of pygit2, of which only the database is used. Nothing of the repository's config,
attributes, index or refs passes through it, so nothing of them can run or change a byte.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from skillvault.model.errors import GitError
from skillvault.vault.git import trees
from skillvault.vault.git.process import PARTIAL
from skillvault.vault.git.trees import Entry, Tree

_LOOKED_AT = 2000  # commits in which one that takes it back is looked for


_COMMIT, _TREE, _BLOB = 1, 2, 3  # git's numbers of its object types
_REMEMBERED = 32  # so many trees are remembered; a wide folder's is read for each commit
_NAMES = {_COMMIT: "commit", _TREE: "tree", _BLOB: "blob"}


class Objects:
    """The objects of one repository, below its folder `objects/`."""

    def __init__(self, folder: Path) -> None:
        import pygit2  # noqa: PLC0415 (67 ms, and only who reads or writes objects needs it)

        pygit2.settings.enable_caching(False)  # what is read again is kept here
        self._failed = pygit2.GitError
        self._folder = folder
        self._trees: dict[str, Tree] = {}
        # A repository in memory: it has these objects, no config and no refs.
        self._repository: Any = pygit2.Repository()
        try:
            self._database: Any = pygit2.Odb(str(folder))
        except pygit2.GitError as error:
            raise GitError(f"{folder}: {error}") from None
        self._repository.set_odb(self._database)

    # ── reading ──────────────────────────────────────────────────────────────────────

    def blobs(self, ids: Iterable[str]) -> dict[str, bytes]:
        """blob id -> bytes; GitError for one that cannot be read."""
        return {blob: self._object(blob, _BLOB) for blob in dict.fromkeys(ids)}

    def commit(self, sha: str) -> bytes:
        """A commit object as it stands."""
        return self._object(sha, _COMMIT)

    def root(self, commit: str) -> str:
        """The id of a commit's tree."""
        return self.commit(commit)[5:45].decode()

    def has_commit(self, sha: str) -> bool:
        """True if a commit is still there; one that nothing refers to is gone in time."""
        found = self._find(sha)
        return found is not None and found.type == _COMMIT

    def files_at(self, places: Iterable[str]) -> dict[str, bytes]:
        """`<commit>:<path>`, `<commit>^:<path>` or blob id -> bytes, for those that exist."""
        found = {place: self._file_at(place) for place in places}
        return {place: content for place, content in found.items() if content is not None}

    def _file_at(self, place: str) -> bytes | None:
        commit, is_path, path = place.partition(":")
        sha, is_parent, _ = commit.partition("^")
        node = self._find(sha)
        if node is not None and is_parent:
            node = self._find(node.parent_ids[0]) if node.parent_ids else None
        if node is not None and is_path:
            node = self._find(node.tree_id)
            for name in path.split("/"):
                is_there = node is not None and node.type == _TREE and name in node
                node = self._find(node[name].id) if is_there else None
        return bytes(node.data) if node is not None and node.type == _BLOB else None

    def _find(self, name: Any) -> Any:
        """An object as pygit2 has it; None if it is not there, GitError if a remote has it."""
        try:
            return self._repository[name]
        except (KeyError, ValueError):
            if self._is_partial:
                raise GitError(f"object {name} cannot be read; {PARTIAL}") from None
            return None
        except self._failed as error:
            raise GitError(f"object {name} cannot be read ({error}); run `git fsck`") from None

    def folders(self, root: str | None, names: Iterable[str]) -> dict[str, Tree]:
        """folder ("" is the root) -> its entries; empty if there is no such folder."""
        folders: dict[str, Tree] = {"": self._tree(root) if root else Tree()}
        for name in names:
            self._descend(folders, name)
        return {name: folders[name] for name in names}

    def _descend(self, folders: dict[str, Tree], folder: str) -> Tree:
        if folder not in folders:
            parent, _, name = folder.rpartition("/")
            node = self._descend(folders, parent).get(name)
            if node and node.mode != trees.FOLDER:
                raise GitError(f"{folder}: a file stands where a folder is needed")
            folders[folder] = self._tree(node.id) if node else Tree()
        return folders[folder]

    def entries(self, root: str | None, paths: Sequence[str]) -> dict[str, Entry]:
        """path -> its entry below a tree, for the files that are there."""
        folders = self.folders(root, {path.rpartition("/")[0] for path in paths})
        entries: dict[str, Entry] = {}
        for path in paths:
            folder, _, name = path.rpartition("/")
            node = folders[folder].get(name)
            if node and node.mode not in (trees.FOLDER, trees.SUBMODULE):
                entries[path] = node
        return entries

    def clashes(self, root: str | None, paths: Iterable[str]) -> tuple[dict[str, str], set[str]]:
        """(path -> why no file can be there, the folders of the paths that are not there)."""
        folders: dict[str, Tree | None] = {"": self._tree(root) if root else Tree()}
        reasons: dict[str, str] = {}
        bare: set[str] = set()
        for path in paths:
            parts = path.split("/")
            for depth in range(len(parts)):
                above, folder = "/".join(parts[:depth]), "/".join(parts[: depth + 1])
                node = (folders[above] or Tree()).get(parts[depth])
                if depth == len(parts) - 1:
                    if node and node.mode in (trees.FOLDER, trees.SUBMODULE):
                        reasons[path] = "a folder is committed there"
                elif node and node.mode != trees.FOLDER:
                    reasons[path] = f"a file is committed at {folder}, where a folder is needed"
                    break
                elif folder not in folders:
                    folders[folder] = self._tree(node.id) if node else None
                    if node is None:
                        bare.add(folder)
        return reasons, bare

    def _tree(self, tree: str) -> Tree:
        """A tree's entries, the caller's own; those read last are kept."""
        entries = self._trees.pop(tree, None)
        if entries is None:
            entries = Tree(trees.nodes_of(self._object(tree, _TREE)))
        self._remember(tree, entries)
        return entries.copy()

    def _remember(self, tree: str, entries: Tree) -> None:
        self._trees[tree] = entries
        while len(self._trees) > _REMEMBERED:
            del self._trees[next(iter(self._trees))]

    def _object(self, name: str, kind: int) -> bytes:
        try:
            stored, content = self._database.read(name)
        except (KeyError, ValueError):
            advice = PARTIAL if self._is_partial else "run `git fsck`"
            raise GitError(f"object {name} cannot be read; {advice}") from None
        except self._failed as error:
            raise GitError(f"object {name} cannot be read ({error}); run `git fsck`") from None
        if stored != kind:
            raise GitError(f"object {name} is no {_NAMES[kind]}; run `git fsck`")
        return bytes(content)

    @property
    def _is_partial(self) -> bool:
        """True if a missing object may be one that a remote promised."""
        return any((self._folder / "pack").glob("*.promisor"))

    # ── writing ──────────────────────────────────────────────────────────────────────

    def write_blob(self, content: bytes) -> str:
        """The id of a blob, stored as it is."""
        return self._write(_BLOB, content)

    def write_commit(self, content: bytes) -> str:
        """The id of a commit object."""
        return self._write(_COMMIT, content)

    def write_tree(self, base: str | None, entries: Mapping[str, Entry | None]) -> str:
        """The id of the tree `base` with these files set or (None) removed.

        Only the folders on the paths are read and written, whatever the vault's size.
        """
        levels = trees.levels(entries)
        folders = self.folders(base, [folder for level in levels for folder in level])
        for path, entry in entries.items():
            folder, _, name = path.rpartition("/")
            folders[folder].set(name, entry)
        for level in levels:
            kept = [folder for folder in level if folders[folder] or not folder]
            ids = {folder: self._write(_TREE, folders[folder].encoded) for folder in kept}
            for folder in kept:  # the next commit begins with these
                self._remember(ids[folder], folders[folder])
            for folder in filter(None, level):  # an empty one leaves its parent
                parent, _, name = folder.rpartition("/")
                node = Entry(trees.FOLDER, ids[folder]) if folder in ids else None
                folders[parent].set(name, node)
        return ids[""]

    def _write(self, kind: int, content: bytes) -> str:
        try:
            return str(self._database.write(kind, content))
        except (self._failed, OSError) as error:
            raise GitError(f"a {_NAMES[kind]} cannot be written: {error}") from None


def commit_state(folder: Path, short_id: str) -> Literal["kept", "reverted"] | None:
    """What became of a commit in another repository; None where either is not there.

    Objects and HEAD alone are read: nothing of that repository's configuration is run.
    """
    import pygit2  # noqa: PLC0415 (67 ms, and only who asks for a commit needs it)

    try:
        repository = pygit2.Repository(str(folder))
        head = repository.head.target
        commit = repository.revparse_single(short_id).peel(pygit2.Commit)
        if head != commit.id and not repository.descendant_of(head, commit.id):
            return None  # rebased or on another branch: nobody can say
        sentence = f"This reverts commit {commit.id}"
        walker = repository.walk(head)
        for number, later in enumerate(walker):
            if number >= _LOOKED_AT or later.id == commit.id:
                break
            if sentence in later.message:
                return "reverted"
    except (KeyError, ValueError, pygit2.GitError):
        return None
    return "kept"

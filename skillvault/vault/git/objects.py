"""Read and write blobs, trees and commits in git's object database, without a git process.

This is the only module that uses pygit2. It uses only the database, so no config, attribute, index
or ref of the repository can run a program or change a byte here.
"""

import hashlib
import shutil
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from skillvault.model.change import Program
from skillvault.model.errors import GitError
from skillvault.vault.failpoint import reach
from skillvault.vault.files import layout
from skillvault.vault.git.process import PARTIAL_ADVICE, UNREADABLE

FOLDER, SUBMODULE = "40000", "160000"  # modes of entries that are not files
REGULAR, EXECUTABLE = "100644", "100755"
_ID_BYTES = 20


class Entry(NamedTuple):
    """An entry of a tree or an index, with a mode and an object id."""

    mode: str
    id: str


def mode_of(content: bytes, old_entry: Entry | None) -> str:
    """Return the mode for new content: executable for a `Program`, else the old mode."""
    if isinstance(content, Program):
        return EXECUTABLE
    return old_entry.mode if old_entry else REGULAR


def with_mode(content: bytes, entry: Entry | None) -> bytes:
    """Return the content of a file, as a `Program` if the file is executable."""
    return Program(content) if entry and entry.mode == EXECUTABLE else content


class Tree:
    """The entries of one folder, by name and as encoded lines in git's order.

    A commit changes one or two entries of a large folder, so unchanged lines are not encoded again.
    """

    __slots__ = ("_entries", "_keys", "_lines")

    def __init__(self, nodes: Iterable[tuple[str, Entry]] = ()) -> None:
        self._entries = dict(nodes)
        rows = sorted((_sort_key(*node), _encode_entry(*node)) for node in self._entries.items())
        self._keys = [key for key, _ in rows]
        self._lines = [line for _, line in rows]

    def __bool__(self) -> bool:
        return bool(self._entries)

    def get(self, name: str) -> Entry | None:
        """Return the entry of this name, or None."""
        return self._entries.get(name)

    def set(self, name: str, entry: Entry | None) -> None:
        """Set an entry, or remove it if it is None."""
        old_entry = self._entries.pop(name, None)
        if old_entry is not None:
            index = bisect_left(self._keys, _sort_key(name, old_entry))
            del self._keys[index], self._lines[index]
        if entry is not None:
            self._entries[name] = entry
            key = _sort_key(name, entry)
            index = bisect_left(self._keys, key)
            self._keys.insert(index, key)
            self._lines.insert(index, _encode_entry(name, entry))

    def copy(self) -> "Tree":
        """Return a copy that can be changed independently."""
        tree = Tree()
        tree._entries = self._entries.copy()
        tree._keys, tree._lines = self._keys.copy(), self._lines.copy()
        return tree

    def encode_tree(self) -> bytes:
        """Return the bytes of the tree object."""
        return b"".join(self._lines)


def nodes_of(raw: bytes) -> Iterator[tuple[str, Entry]]:
    """Yield (name, entry) for each entry in the bytes of a tree object."""
    start = 0
    while start < len(raw):
        name_end = raw.index(b"\0", start)
        mode, _, name = raw[start:name_end].partition(b" ")
        start = name_end + 1 + _ID_BYTES
        entry = Entry(mode.decode(), raw[name_end + 1 : start].hex())
        yield name.decode(errors="surrogateescape"), entry


def _sort_key(name: str, entry: Entry) -> bytes:
    """Return git's sort key, in which the name of a folder ends with a slash."""
    return _encode_name(name) + (b"/" if entry.mode == FOLDER else b"")


def _encode_entry(name: str, entry: Entry) -> bytes:
    return b"%s %s\0%s" % (entry.mode.encode(), _encode_name(name), bytes.fromhex(entry.id))


def _encode_name(name: str) -> bytes:
    return name.encode(errors="surrogateescape")


_MAX_COMMITS = 2000  # the number of commits that are searched for a revert

_COMMIT, _TREE, _BLOB = 1, 2, 3  # git's numbers of its object types
_CACHED_TREES = 32  # each commit needs the tree of a wide folder
MIN_PACKED = 100  # objects that become a pack when they are written together
MAX_PACKS = 30  # each slows down every look-up
_DRAFT, _KEEP = "tmp_objdir-skillvault-", b"skillvault\n"  # `git prune` removes the draft too
_TYPE_NAMES = {_COMMIT: "commit", _TREE: "tree", _BLOB: "blob"}


class Gathering:
    """The objects of a group of commits, held in memory until `store` writes them.

    Many objects become one pack, few become loose objects of the repository.
    """

    def __init__(self, folder: Path, repository: Any, pygit2: Any) -> None:
        self.is_active = False
        self.objects: dict[str, tuple[int, bytes]] = {}  # (type, content) by id
        self._folder = folder
        self._repository = repository
        self._pygit2 = pygit2

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Gather the objects that are written from now on. The caller holds the writer's lock.

        Until the block ends, no `git repack` removes the pack that `store` wrote, because no branch
        has its commits yet.
        """
        self.is_active = True
        try:
            yield
        finally:
            self.is_active = False
            self.objects.clear()
            release_packs(self._folder)

    def hold_object(self, kind: int, content: bytes) -> str:
        """Add an object and return its id."""
        header = b"%s %d\0" % (_TYPE_NAMES[kind].encode(), len(content))
        object_id = hashlib.sha1(header + content, usedforsecurity=False).hexdigest()
        self.objects[object_id] = kind, content
        return object_id

    def store(self) -> None:
        """Write the objects, and gather no more of them."""
        self.is_active = False
        try:
            if len(self.objects) >= MIN_PACKED and count_packs(self._folder) <= MAX_PACKS:
                self._write_pack()
            else:
                for kind, content in self.objects.values():
                    self._repository.write(kind, content)
        except (self._pygit2.GitError, OSError) as error:
            raise GitError(f"the objects of a commit cannot be written: {error}") from None
        self.objects.clear()

    def _write_pack(self) -> None:
        objects, pygit2 = self.objects, self._pygit2
        callbacks = {
            "read_cb": lambda _, key: objects[str(key)],
            "read_header_cb": lambda _, key: (objects[str(key)][0], len(objects[str(key)][1])),
            "exists_cb": lambda _, key: str(key) in objects,
        }
        memory, database = pygit2.Repository(), pygit2.Odb()
        database.add_backend(type("Memory", (pygit2.OdbBackend,), callbacks)(), 1)
        memory.set_odb(database)
        builder = pygit2.PackBuilder(memory)
        builder.set_threads(1)
        for object_id in objects:
            builder.add(pygit2.Oid(hex=object_id))
        with tempfile.TemporaryDirectory(prefix=_DRAFT, dir=self._folder) as folder:
            builder.write(folder)
            for index in Path(folder).glob("*.idx"):
                index.with_suffix(".keep").write_bytes(_KEEP)
            # The pack comes last: without it, git takes no notice of the other two.
            for file in sorted(Path(folder).iterdir()):
                file.rename(self._folder / "pack" / file.name)
                reach("pack-file-placed")


class Objects:
    """The objects of one repository, in its folder `objects/`.

    In a partial clone, `fetch` brings missing objects.
    """

    def __init__(self, folder: Path, fetch: Callable[[Sequence[str]], None] | None = None) -> None:
        import pygit2  # noqa: PLC0415 (67 ms; many commands read no objects)

        pygit2.settings.enable_caching(False)  # this class has its own cache of trees
        self._failed = pygit2.GitError
        self._folder = folder
        self._fetch = fetch
        self._trees: dict[str, Tree] = {}
        # A repository in memory with these objects, but no config and no refs.
        self._repository: Any = pygit2.Repository()
        try:
            self._repository.set_odb(pygit2.Odb(str(folder)))
        except pygit2.GitError:
            raise GitError(f"{folder} {UNREADABLE}") from None
        self.gathering = Gathering(folder, self._repository, pygit2)

    # ── reading ──────────────────────────────────────────────────────────────────────

    def blobs(self, ids: Iterable[str]) -> dict[str, bytes]:
        """Return the bytes of blobs by id. Raise GitError if a blob cannot be read."""
        blobs = list(dict.fromkeys(ids))
        self.fetch_missing(blobs)
        return {blob: self._read_object(blob, _BLOB) for blob in blobs}

    def fetch_missing(self, ids: Iterable[str]) -> None:
        """Fetch the objects that a partial clone lacks, all at once."""
        if self._fetch and self._is_partial():
            missing_ids = [sha for sha in dict.fromkeys(ids) if sha not in self._repository]
            if missing_ids:
                self._fetch(missing_ids)

    def commit_bytes(self, sha: str) -> bytes:
        """Return the bytes of a commit object."""
        return self._read_object(sha, _COMMIT)

    def root(self, commit: str) -> str:
        """Return the id of a commit's root tree."""
        return self.commit_bytes(commit)[5:45].decode()

    def has_commit(self, sha: str) -> bool:
        """Return True if a commit exists. Git may have removed an unreferenced commit."""
        node = self._find(sha)
        return node is not None and node.type == _COMMIT

    def read_files(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return the bytes of the files with the names `<commit>:<path>` or `<commit>^:<path>`.

        Names of missing files are left out.
        """
        contents = {name: self._read_file(*name.split(":", 1)) for name in names}
        return {name: content for name, content in contents.items() if content is not None}

    def _read_file(self, commit: str, path: str) -> bytes | None:
        node = self._find(commit.removesuffix("^"))
        if node is not None and commit.endswith("^"):
            node = self._find(node.parent_ids[0]) if node.parent_ids else None
        node = self._find_below(self._find(node.tree_id), path) if node is not None else None
        return bytes(node.data) if node is not None and node.type == _BLOB else None

    def files(self, name: str, folders: Iterable[str] = ("",)) -> dict[str, Entry]:
        """Return the entry of each file in these folders of a commit or tree."""
        root = self._require_node(name)
        root = self._require_node(root.tree_id) if root.type == _COMMIT else root
        files: dict[str, Entry] = {}
        for folder in folders:
            node = self._find_below(root, folder)
            if node is not None and node.type == _TREE:
                files |= self._all_files(str(node.id), folder and f"{folder}/")
        return files

    def _all_files(self, tree: str, prefix: str) -> Iterator[tuple[str, Entry]]:
        for name, node in nodes_of(self._read_object(tree, _TREE)):
            if node.mode == FOLDER:
                yield from self._all_files(node.id, f"{prefix}{name}/")
            elif node.mode != SUBMODULE:
                yield prefix + name, node

    def _find_below(self, node: Any, path: str) -> Any:
        for name in filter(None, path.split("/")):
            if node is None or node.type != _TREE or name not in node:
                return None
            node = self._find(node[name].id)
        return node

    def folders(self, root: str | None, names: Iterable[str]) -> dict[str, Tree]:
        """Return copies of folders, which the caller may change.

        "" is the root. A missing folder is empty.
        """
        folders: dict[str, Tree | None] = {"": self._read_tree(root) if root else Tree()}
        entries = {name: self._descend(folders, name) for name in names}
        for name, folder in entries.items():
            if folder is None:
                raise GitError(f"{name}: a file stands where a folder is needed")
        return {name: folder.copy() for name, folder in entries.items() if folder is not None}

    def _descend(self, folders: dict[str, Tree | None], folder: str) -> Tree | None:
        """Return a folder, empty if it is missing, or None if the path is a file."""
        if folder not in folders:
            parent_path, _, name = folder.rpartition("/")
            parent = self._descend(folders, parent_path)
            node = parent.get(name) if parent is not None else None
            if parent is None or (node and node.mode != FOLDER):
                folders[folder] = None
            else:
                folders[folder] = self._read_tree(node.id) if node else Tree()
        return folders[folder]

    def entries(self, root: str | None, paths: Sequence[str]) -> dict[str, Entry]:
        """Return the entries of the paths that are files in a tree."""
        folders: dict[str, Tree | None] = {"": self._read_tree(root) if root else Tree()}
        entries: dict[str, Entry] = {}
        for path in paths:
            folder, _, name = path.rpartition("/")
            node = (self._descend(folders, folder) or Tree()).get(name)
            if node and node.mode not in (FOLDER, SUBMODULE):
                entries[path] = node
        return entries

    def clashes(self, root: str | None, paths: Iterable[str]) -> tuple[dict[str, str], set[str]]:
        """Return (reasons by path, missing folders) for paths where no file can be written."""
        folders: dict[str, Tree | None] = {"": self._read_tree(root) if root else Tree()}
        reasons: dict[str, str] = {}
        missing_folders: set[str] = set()
        for path in paths:
            for folder in layout.folders_above(path):
                entries = self._descend(folders, folder)
                if entries is None:
                    reasons[path] = f"a file is committed at {folder}, where a folder is needed"
                    break
                if not entries:
                    missing_folders.add(folder)
            else:
                parent, _, name = path.rpartition("/")
                node = (folders[parent] or Tree()).get(name)
                if node and node.mode in (FOLDER, SUBMODULE):
                    reasons[path] = "a folder is committed there"
        return reasons, missing_folders

    def _read_tree(self, tree: str) -> Tree:
        """Return a tree from the cache or the database. The caller must not change it."""
        entries = self._trees.pop(tree, None)
        if entries is None:
            entries = Tree(nodes_of(self._read_object(tree, _TREE)))
        self._cache_tree(tree, entries)
        return entries

    def _cache_tree(self, tree: str, entries: Tree) -> None:
        self._trees[tree] = entries
        while len(self._trees) > _CACHED_TREES:
            del self._trees[next(iter(self._trees))]

    def _read_object(self, object_id: str, kind: int) -> bytes:
        if object_id in self.gathering.objects:
            return self.gathering.objects[object_id][1]
        node = self._require_node(object_id)
        if node.type != kind:
            raise GitError(f"{_TYPE_NAMES[kind]} {object_id} {UNREADABLE}")
        return bytes(node.data if kind == _BLOB else node.read_raw())

    def _require_node(self, object_id: Any) -> Any:
        if (node := self._find(object_id)) is None:
            raise GitError(f"object {object_id} {UNREADABLE}")
        return node

    def _find(self, object_id: Any) -> Any:
        """Return pygit2's object, or None. Raise GitError if only a remote may have the object."""
        try:
            return self._repository[object_id]
        except (KeyError, ValueError):
            if not self._is_partial():
                return None
        except self._failed:
            raise GitError(f"object {object_id} {UNREADABLE}") from None
        if self._fetch is None:
            raise GitError(f"object {object_id} cannot be read; {PARTIAL_ADVICE}")
        self._fetch([str(object_id)])
        return self._repository[object_id]

    def _is_partial(self) -> bool:
        return any((self._folder / "pack").glob("*.promisor"))

    # ── writing ──────────────────────────────────────────────────────────────────────

    def write_blob(self, content: bytes) -> str:
        """Write a blob and return its id."""
        return self._write(_BLOB, content)

    def write_commit(self, content: bytes) -> str:
        """Write a commit object and return its id."""
        return self._write(_COMMIT, content)

    def write_tree(self, base_tree: str | None, entries: Mapping[str, Entry | None]) -> str:
        """Write a copy of a tree with entries set, or removed if None, and return its id.

        The cost depends on the folders in the paths, not on the size of the vault.
        """

        def write_folder(tree: Tree) -> str:
            tree_id = self._write(_TREE, tree.encode_tree())
            self._cache_tree(tree_id, tree)  # the next commit needs it
            return tree_id

        folders = {folder for path in entries for folder in layout.folders_above(path)}
        trees = self.folders(base_tree, ["", *folders])
        for path, entry in entries.items():
            folder, _, name = path.rpartition("/")
            trees[folder].set(name, entry)

        for folder in sorted(folders, key=lambda folder: (-folder.count("/"), folder)):
            parent, _, name = folder.rpartition("/")
            # An empty folder is removed from its parent.
            node = Entry(FOLDER, write_folder(trees[folder])) if trees[folder] else None
            trees[parent].set(name, node)
        return write_folder(trees[""])

    def _write(self, kind: int, content: bytes) -> str:
        if self.gathering.is_active:
            return self.gathering.hold_object(kind, content)
        try:
            return str(self._repository.write(kind, content))
        except (self._failed, OSError) as error:
            raise GitError(f"a {_TYPE_NAMES[kind]} cannot be written: {error}") from None


def count_packs(folder: Path) -> int:
    """Return the number of packs in a folder `objects/` that git may merge."""
    return sum(not path.with_suffix(".keep").exists() for path in (folder / "pack").glob("*.pack"))


def release_packs(folder: Path) -> None:
    """Let git repack the packs of writers that have ended, and remove the drafts of killed ones."""
    for path in folder.glob(f"{_DRAFT}*"):
        shutil.rmtree(path)
    for path in (folder / "pack").glob("*.keep"):
        if path.read_bytes() == _KEEP:
            path.unlink()


def commit_state(folder: Path, short_id: str) -> Literal["kept", "reverted"] | None:
    """Return "reverted" if a later commit reverts the commit, else "kept"; None if HEAD lacks it.

    No program in that repository's config runs.
    """
    import pygit2  # noqa: PLC0415 (67 ms; many commands read no objects)

    try:
        repository = pygit2.Repository(str(folder))
        head = repository.head.target
        commit = repository.revparse_single(short_id).peel(pygit2.Commit)
        if head != commit.id and not repository.descendant_of(head, commit.id):
            return None  # rebased or on another branch
        sentence = f"This reverts commit {commit.id}"
        walker = repository.walk(head)
        for number, later_commit in enumerate(walker):
            if number >= _MAX_COMMITS or later_commit.id == commit.id:
                break
            if sentence in later_commit.message:
                return "reverted"
    except (KeyError, ValueError, pygit2.GitError):
        return None
    return "kept"

"""A code base that bears rules out: the committed tree of a repository, or a folder without git.

What is nobody's own code (dependencies, build output, lock files, the vault) is left out.
"""

import fnmatch
import hashlib
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import ahocorasick
from msgspec import Struct

from skillvault.model.errors import GitError
from skillvault.vault.files import layout
from skillvault.vault.git.objects import EXECUTABLE, REGULAR, Objects
from skillvault.vault.git.process import Runner

MAX_FILE = 1 << 20  # bytes of a file that is searched
_BATCH = 200  # files read at once
_ENDINGS = (".lock", ".min.js", ".min.css", ".map")
_DOCUMENTS = (".yaml", ".yml", ".md")  # searched for a rule whose scope names them
# What repeats the rules themselves, or was made of them.
_TOLD = frozenset({"CLAUDE.md", "AGENTS.md", "SKILL.md", "LEARNINGS.md", "expertise.yaml"})
_LOCKS = frozenset({"package-lock.json", "npm-shrinkwrap.json", "go.sum", "gradle.lockfile"})
_FOLDERS = frozenset(
    """
    node_modules .git .psi .claude vendor third_party bower_components dist build target out
    .venv venv site-packages __pycache__ .tox .nox .mypy_cache .pytest_cache .ruff_cache .next
    .nuxt .gradle coverage
    """.split()
)
_OF_VAULT = (*layout.FOLDERS, *layout.LOCAL)
_VAULT_FILES = (layout.MARK, layout.LEARNINGS)


class UnreadableError(Exception):
    """A code base of which something cannot be read: its `name`, and why."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(reason)
        self.name = name


class CodeBase(Struct, frozen=True):
    """A folder of code as it was looked at: `version` is its commit, or what its files betray.

    `sizes` are the files that are searched, in their order, `documents` the YAML and markdown
    beside them; `read` gives the bytes of some.
    """

    name: str
    version: str
    sizes: Mapping[str, int]
    read: Callable[[Sequence[str]], Mapping[str, bytes]]
    documents: Mapping[str, int] = {}

    @property
    def stamp(self) -> str:
        """Which code base it is, at which version."""
        return f"{self.name}@{self.version[:10]}"

    def paths_in(self, scope: Sequence[str]) -> list[str]:
        """The files that are searched: all code, or what one of the scope's patterns fits.

        A pattern is that of a whole path or of a file's name; its `*` passes over `/`.
        """
        if not scope:
            return list(self.sizes)
        fits = [re.compile(fnmatch.translate(pattern)).match for pattern in scope]
        return [
            path
            for path in sorted([*self.sizes, *self.documents])
            if any(fit(path) or fit(PurePosixPath(path).name) for fit in fits)
        ]

    def contents(self, scope: Sequence[str] = ()) -> Iterator[tuple[str, bytes]]:
        """(path, bytes) of every file that is searched, none of them binary."""
        for path, content in self.contents_at(self.paths_in(scope)):
            if not is_binary(content):
                yield path, content

    def contents_at(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """(path, bytes) of some of its files; UnreadableError if one cannot be read."""
        for start in range(0, len(paths), _BATCH):
            try:
                contents = self.read(paths[start : start + _BATCH])
            except (GitError, OSError) as error:
                raise UnreadableError(self.name, reason_of(error)) from None
            yield from contents.items()


def open_code_base(place: Path, root: Path, name: str = "") -> CodeBase:
    """The code base at a place; `root` is the vault's, `name` by default the folder's.

    UnreadableError if it cannot be read, or holds nothing: an empty folder bears nothing out.
    """
    name = name or place.resolve().name
    try:
        base = _code_base_at(place, root, name)
    except (GitError, OSError) as error:
        raise UnreadableError(name, reason_of(error)) from None
    if not base.sizes and not base.documents:
        raise UnreadableError(name, "no file in it that could be searched")
    return base


def _code_base_at(place: Path, root: Path, name: str) -> CodeBase:
    version = committed_version(place)
    entries = _committed_files(Runner(place), version) if version else {}
    if not entries:  # also a folder inside a repository that holds nothing of it
        walked = dict(sorted(_walked(place, root)))
        sizes, documents = _parted(walked)
        # What betrays that other files stand in the folder.
        lines = "".join(f"{path}\0{size}\n" for path, size in walked.items())
        version = hashlib.sha256(lines.encode(errors="surrogateescape")).hexdigest()

        def read_files(paths: Sequence[str]) -> Mapping[str, bytes]:
            return {path: (place / path).read_bytes() for path in paths}

        return CodeBase(name, version, sizes, read_files, documents)
    ours = {
        path: (blob, size)
        for path, (blob, size) in entries.items()
        if is_own(path, size) and not _is_vaults(place / path, root)
    }
    objects = _objects(place)

    def read_blobs(paths: Sequence[str]) -> Mapping[str, bytes]:
        contents = objects.blobs(ours[path][0] for path in paths)
        return {path: contents[ours[path][0]] for path in paths}

    sizes, documents = _parted({path: size for path, (_, size) in ours.items()})
    return CodeBase(name, version, sizes, read_blobs, documents)


def _parted(sizes: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """(code, documents)."""
    documents = {path: size for path, size in sizes.items() if _is_document(path)}
    return {p: size for p, size in sizes.items() if p not in documents}, documents


def _objects(place: Path) -> Objects:
    folder = Runner(place).run("rev-parse", "--git-path", "objects")
    return Objects(place / os.fsdecode(folder).rstrip("\n"))


def committed_version(place: Path) -> str:
    """The commit of a repository's HEAD; "" for a folder without git. GitError for a broken one."""
    if not place.is_dir():
        raise FileNotFoundError(2, "No such folder", str(place))
    inside = place.resolve()
    if not any((folder / ".git").exists() for folder in (inside, *inside.parents)):
        return ""
    return Runner(place).text("rev-parse", "--verify", "HEAD^{commit}")


def is_own(path: str, size: int) -> bool:
    """Whether a file is a code base's own, its documents among them, and not too large."""
    *folders, name = path.split("/")
    ours = not _FOLDERS.intersection(folders) and name not in _LOCKS and name not in _TOLD
    return ours and not name.lower().endswith(_ENDINGS) and size <= MAX_FILE


def _is_document(path: str) -> bool:
    return path.lower().endswith(_DOCUMENTS)


def is_binary(content: bytes) -> bool:
    """Whether git would take it for binary."""
    return b"\0" in content[:8000]


def _is_vaults(place: Path, root: Path) -> bool:
    """Whether a file is one of the vault's."""
    if not place.is_relative_to(root):
        return False
    inside = PurePosixPath(place.relative_to(root))
    return inside.parts[0] in _OF_VAULT or str(inside) in _VAULT_FILES


def _committed_files(runner: Runner, commit: str) -> dict[str, tuple[str, int]]:
    """path -> (blob, size) of the regular files of a commit, below the folder asked from."""
    entries: dict[str, tuple[str, int]] = {}
    for line in runner.run("ls-tree", "-r", "-l", "-z", commit).split(b"\0")[:-1]:
        meta, _, path = os.fsdecode(line).partition("\t")
        mode, _, blob, size = meta.split()
        if mode in (REGULAR, EXECUTABLE):
            if not size.isdigit():  # git says `BAD`
                raise GitError(f"{path}: its content is missing from the repository")
            entries[path] = blob, int(size)
    return entries


def _walked(place: Path, root: Path) -> Iterator[tuple[str, int]]:
    """(path, size) of the regular files below a folder that are searched."""
    for folder, folders, names in os.walk(place, onerror=_raise):
        folders[:] = sorted(set(folders) - _FOLDERS)
        for name in names:
            path = Path(folder) / name
            state, inside = path.lstat(), path.relative_to(place).as_posix()
            regular = stat.S_ISREG(state.st_mode)
            if regular and is_own(inside, state.st_size) and not _is_vaults(path, root):
                yield inside, state.st_size


def _raise(error: OSError) -> None:
    raise error


def reason_of(error: GitError | OSError) -> str:
    """Why a code base cannot be read, in words."""
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


_LOOSE = (".json", ".toml", ".jsonc", ".json5")
_BLANKS = dict.fromkeys(map(ord, "\"' \t"))


class Occurrences(Struct, frozen=True):
    """Term -> the files that hold it, and how many files were searched."""

    files: Mapping[str, frozenset[str]]
    searched: int


class Searcher:
    """Terms, ready to be looked for."""

    def __init__(self, terms: Iterable[str]) -> None:
        distinct = list(dict.fromkeys(terms))
        self._exact = _automaton((_as_bytes(term), term) for term in distinct)
        self._loose = _automaton((_squeezed(_as_bytes(term)), term) for term in distinct)

    def terms_in(self, path: str, content: bytes) -> set[str]:
        """The terms that stand in a file."""
        text = content.decode("latin-1")
        terms = _matches(self._exact, text)
        if path.lower().endswith(_LOOSE):
            terms |= _matches(self._loose, _squeezed(text))
        return terms


def search_code(
    bases: Sequence[CodeBase], terms: Iterable[str], scope: Sequence[str] = ()
) -> Occurrences:
    """Which files of some code bases hold which terms; `scope` as `CodeBase.paths_in` has it."""
    searcher = Searcher(terms)
    files: dict[str, set[str]] = {}
    searched = 0
    for base in bases:
        for path, content in base.contents(scope):
            name = path_in(bases, base, path)
            searched += 1
            for term in searcher.terms_in(name, content):
                files.setdefault(term, set()).add(name)
    return Occurrences({term: frozenset(paths) for term, paths in files.items()}, searched)


def lines_of(
    bases: Sequence[CodeBase], terms_by_name: Mapping[str, tuple[Collection[str], Collection[str]]]
) -> dict[str, dict[str, list[int]]]:
    """Name -> file -> the lines on which any of its terms stand.

    `terms_by_name` says by name (terms, files); each file is read once.
    """
    by_file: dict[str, list[str]] = {}
    for name, (_, files) in terms_by_name.items():
        for file in files:
            by_file.setdefault(file, []).append(name)
    searchers = {name: Searcher(terms) for name, (terms, _) in terms_by_name.items()}
    lines: dict[str, dict[str, list[int]]] = {name: {} for name in terms_by_name}
    for path, content in _contents_of(bases, by_file):
        rows = content.split(b"\n")
        for name in by_file[path]:
            terms_in = searchers[name].terms_in
            lines[name][path] = [n for n, row in enumerate(rows, 1) if terms_in(path, row)]
    return lines


def _contents_of(bases: Sequence[CodeBase], files: Collection[str]) -> Iterator[tuple[str, bytes]]:
    for base in bases:
        names = {path: path_in(bases, base, path) for path in (*base.sizes, *base.documents)}
        paths = [path for path, name in names.items() if name in files]
        for path, content in base.contents_at(paths):
            yield names[path], content


def path_in(bases: Sequence[CodeBase], base: CodeBase, path: str) -> str:
    """How a file is called: behind the name of its code base if there are several."""
    return path if len(bases) == 1 else f"{base.name}/{path}"


def _automaton(terms: Iterable[tuple[str, str]]) -> Any:
    """What finds texts of bytes: each stands for the terms that it comes of."""
    automaton = ahocorasick.Automaton()
    for text, term in terms:
        if text:
            automaton.add_word(text, (*automaton.get(text, ()), term))
    automaton.make_automaton()
    return automaton


def _matches(automaton: Any, text: str) -> set[str]:
    if not len(automaton):
        return set()
    return {term for terms in {terms for _, terms in automaton.iter(text)} for term in terms}


def _as_bytes(term: str) -> str:
    """A term as its bytes in UTF-8, each a character, as a file is read."""
    return term.encode(errors="surrogateescape").decode("latin-1")


def _squeezed(text: str) -> str:
    return text.translate(_BLANKS)

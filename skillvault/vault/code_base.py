"""Read code bases, and search their committed code for terms that support a rule.

A code base is the committed tree of a repository, or a folder without git. Code is read, never run.
Dependencies, build output, lock files and the vault are left out.
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
from skillvault.vault.git.history import list_files
from skillvault.vault.git.objects import EXECUTABLE, REGULAR, Objects
from skillvault.vault.git.process import Runner

MAX_FILE = 1 << 20  # bytes of a file that is searched
_BATCH_FILES = 200  # files that are read at once
_SKIPPED_ENDINGS = (".lock", ".min.js", ".min.css", ".map")
_DOCUMENT_ENDINGS = (".yaml", ".yml", ".md")  # searched only for a rule whose scope names them
# Files that repeat the rules themselves or are generated from them.
_RULE_FILES = frozenset({"CLAUDE.md", "AGENTS.md", "SKILL.md", "LEARNINGS.md", "expertise.yaml"})
_LOCK_FILES = frozenset({"package-lock.json", "npm-shrinkwrap.json", "go.sum", "gradle.lockfile"})
_SKIPPED_FOLDERS = frozenset(
    "node_modules .git .psi .claude vendor third_party bower_components dist build target out "
    ".venv venv site-packages __pycache__ .tox .nox .mypy_cache .pytest_cache .ruff_cache .next "
    ".nuxt .gradle coverage".split()
)
_VAULT_FOLDERS = (*layout.FOLDERS, *layout.UNTRACKED)
_VAULT_FILES = (layout.VAULT_FILE, layout.LEARNINGS)


class UnreadableCodeError(Exception):
    """The code base `name` cannot be read completely."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(reason)
        self.name = name


class CodeBase(Struct, frozen=True):
    """A version of a folder of code; `version` is its commit, or a digest of its file list.

    `sizes` has the sizes of the code files by path, `documents` the sizes of the YAML and markdown
    files. `read` returns the bytes of such files by path.
    """

    name: str
    version: str
    sizes: Mapping[str, int]
    read: Callable[[Sequence[str]], Mapping[str, bytes]]
    documents: Mapping[str, int] = {}

    @property
    def stamp(self) -> str:
        """The name and version of the code base."""
        return f"{self.name}@{self.version[:10]}"

    def find_paths(self, scope: Sequence[str]) -> list[str]:
        """Return the files to search: all code, or the files that match a pattern of `scope`.

        A pattern matches a whole path or a file's name; its `*` also matches `/`.
        """
        if not scope:
            return list(self.sizes)
        matchers = [re.compile(fnmatch.translate(pattern)).match for pattern in scope]
        return [
            path
            for path in sorted([*self.sizes, *self.documents])
            if any(matches(path) or matches(PurePosixPath(path).name) for matches in matchers)
        ]

    def contents(self, scope: Sequence[str] = ()) -> Iterator[tuple[str, bytes]]:
        """Yield (path, bytes) for each file to search, except binary files."""
        for path, content in self.read_files(self.find_paths(scope)):
            if b"\0" not in content[:8000]:  # git's test for binary files
                yield path, content

    def read_files(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield (path, bytes) for these files. Raise UnreadableCodeError if one is unreadable."""
        for start in range(0, len(paths), _BATCH_FILES):
            try:
                contents = self.read(paths[start : start + _BATCH_FILES])
            except (GitError, OSError) as error:
                raise UnreadableCodeError(self.name, reason_of(error)) from None
            yield from contents.items()


def open_code_base(folder: Path, vault_root: Path, name: str = "") -> CodeBase:
    """Open the code base in a folder; `name` is by default the name of the folder.

    Raises UnreadableCodeError for an unreadable or empty folder, which cannot support a rule.
    """
    name = name or folder.resolve().name
    try:
        base = _read_code_base(folder, vault_root, name)
    except (GitError, OSError) as error:
        raise UnreadableCodeError(name, reason_of(error)) from None
    if not base.sizes and not base.documents:
        raise UnreadableCodeError(name, "no file in it that could be searched")
    return base


def _read_code_base(folder: Path, vault_root: Path, name: str) -> CodeBase:
    version = committed_version(folder)
    entries = _committed_files(Runner(folder), version) if version else {}
    if not entries:  # also a folder that is in a repository but not committed
        walked_sizes = dict(sorted(_walk(folder, vault_root)))
        code_sizes, documents = _split_documents(walked_sizes)
        # A digest that changes with the folder's files.
        lines = "".join(f"{path}\0{size}\n" for path, size in walked_sizes.items())
        version = hashlib.sha256(lines.encode(errors="surrogateescape")).hexdigest()

        def read_files(paths: Sequence[str]) -> Mapping[str, bytes]:
            return {path: (folder / path).read_bytes() for path in paths}

        return CodeBase(name, version, code_sizes, read_files, documents)
    entries_searched = {
        path: (blob, size)
        for path, (blob, size) in entries.items()
        if _is_searched(path, size) and not _is_of_vault(folder / path, vault_root)
    }
    objects_path = Runner(folder).run("rev-parse", "--git-path", "objects")
    objects = Objects(folder / os.fsdecode(objects_path).rstrip("\n"))

    def read_blobs(paths: Sequence[str]) -> Mapping[str, bytes]:
        contents = objects.blobs(entries_searched[path][0] for path in paths)
        return {path: contents[entries_searched[path][0]] for path in paths}

    sizes = {path: size for path, (_, size) in entries_searched.items()}
    code_sizes, documents = _split_documents(sizes)
    return CodeBase(name, version, code_sizes, read_blobs, documents)


def _split_documents(sizes: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    documents = {
        path: size for path, size in sizes.items() if path.lower().endswith(_DOCUMENT_ENDINGS)
    }
    return {path: size for path, size in sizes.items() if path not in documents}, documents


def committed_version(folder: Path) -> str:
    """Return the commit of HEAD, or "" if the folder is not in a repository.

    Raises GitError for a broken repository.
    """
    if not folder.is_dir():
        raise FileNotFoundError(2, "No such folder", str(folder))
    real_folder = folder.resolve()
    if not any((parent / ".git").exists() for parent in (real_folder, *real_folder.parents)):
        return ""
    return Runner(folder).text("rev-parse", "--verify", "HEAD^{commit}")


def _is_searched(path: str, size: int) -> bool:
    """Return True for a file that belongs to the project and is not too large."""
    *folders, name = path.split("/")
    is_of_project = (
        not _SKIPPED_FOLDERS.intersection(folders)
        and name not in _LOCK_FILES
        and name not in _RULE_FILES
    )
    return is_of_project and not name.lower().endswith(_SKIPPED_ENDINGS) and size <= MAX_FILE


def _is_of_vault(file: Path, vault_root: Path) -> bool:
    if not file.is_relative_to(vault_root):
        return False
    relative_path = PurePosixPath(file.relative_to(vault_root))
    return relative_path.parts[0] in _VAULT_FOLDERS or str(relative_path) in _VAULT_FILES


def _committed_files(runner: Runner, commit: str) -> dict[str, tuple[str, int]]:
    """Return (blob, size) for each regular file of a commit below the runner's folder."""
    entries: dict[str, tuple[str, int]] = {}
    for path, (mode, blob), size in list_files(runner, commit):
        if mode in (REGULAR, EXECUTABLE):
            if not size.isdigit():  # git says `BAD`
                raise GitError(f"{path}: its content is missing from the repository")
            entries[path] = blob, int(size)
    return entries


def _walk(base: Path, vault_root: Path) -> Iterator[tuple[str, int]]:
    for folder, folders, names in os.walk(base, onerror=_raise):
        folders[:] = sorted(set(folders) - _SKIPPED_FOLDERS)
        for name in names:
            path = Path(folder) / name
            state, inner_path = path.lstat(), path.relative_to(base).as_posix()
            is_regular = stat.S_ISREG(state.st_mode) and not _is_of_vault(path, vault_root)
            if is_regular and _is_searched(inner_path, state.st_size):
                yield inner_path, state.st_size


def _raise(error: OSError) -> None:
    raise error


def reason_of(error: GitError | OSError) -> str:
    """Return the reason why a code base cannot be read."""
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


_LOOSE_ENDINGS = (".json", ".toml", ".jsonc", ".json5")
_BLANKS = dict.fromkeys(map(ord, "\"' \t"))


class Occurrences(Struct, frozen=True):
    """The files that contain each term, and the number of files searched."""

    files: Mapping[str, frozenset[str]]
    searched: int


class Searcher:
    """A search for several terms at once."""

    def __init__(self, terms: Iterable[str]) -> None:
        distinct_terms = list(dict.fromkeys(terms))
        self._exact = _automaton((_as_bytes(term), term) for term in distinct_terms)
        self._loose = _automaton((_strip_blanks(_as_bytes(term)), term) for term in distinct_terms)

    def find_terms(self, path: str, content: bytes) -> set[str]:
        """Return the terms that occur in a file. In JSON and TOML, blanks are ignored."""
        text = content.decode("latin-1")
        terms = _matches(self._exact, text)
        if path.lower().endswith(_LOOSE_ENDINGS):
            terms |= _matches(self._loose, _strip_blanks(text))
        return terms


def search_code(
    bases: Sequence[CodeBase], terms: Iterable[str], scope: Sequence[str] = ()
) -> Occurrences:
    """Search code bases for terms, in the files of a scope; see `CodeBase.find_paths`."""
    searcher = Searcher(terms)
    files: dict[str, set[str]] = {}
    file_count = 0
    for base in bases:
        for path, content in base.contents(scope):
            name = qualified_path(bases, base, path)
            file_count += 1
            for term in searcher.find_terms(name, content):
                files.setdefault(term, set()).add(name)
    return Occurrences({term: frozenset(paths) for term, paths in files.items()}, file_count)


def lines_of(
    bases: Sequence[CodeBase], terms_by_name: Mapping[str, tuple[Collection[str], Collection[str]]]
) -> dict[str, dict[str, list[int]]]:
    """Return the numbers of the lines with a term, by name and file.

    `terms_by_name` maps a name to (terms, files); each file is read once.
    """
    names_by_file: dict[str, list[str]] = {}
    for name, (_, files) in terms_by_name.items():
        for file in files:
            names_by_file.setdefault(file, []).append(name)
    searchers = {name: Searcher(terms) for name, (terms, _) in terms_by_name.items()}
    lines: dict[str, dict[str, list[int]]] = {name: {} for name in terms_by_name}
    for base in bases:
        files = {path: qualified_path(bases, base, path) for path in (*base.sizes, *base.documents)}
        paths = [path for path, file in files.items() if file in names_by_file]
        for path, content in base.read_files(paths):
            file, texts = files[path], content.split(b"\n")
            for name in names_by_file[file]:
                find_terms = searchers[name].find_terms
                lines[name][file] = [n for n, text in enumerate(texts, 1) if find_terms(file, text)]
    return lines


def qualified_path(bases: Sequence[CodeBase], base: CodeBase, path: str) -> str:
    """Return a file's path, with the name of its code base in front if there are several."""
    return path if len(bases) == 1 else f"{base.name}/{path}"


def _automaton(terms_by_text: Iterable[tuple[str, str]]) -> Any:
    """Build an automaton that finds texts and returns the terms of each text."""
    automaton = ahocorasick.Automaton()
    for text, term in terms_by_text:
        if text:
            automaton.add_word(text, (*automaton.get(text, ()), term))
    automaton.make_automaton()
    return automaton


def _matches(automaton: Any, text: str) -> set[str]:
    matches = automaton.iter(text) if len(automaton) else ()
    return {term for terms in {terms for _, terms in matches} for term in terms}


def _as_bytes(term: str) -> str:
    """Convert a term to latin-1 characters, one for each UTF-8 byte, as `find_terms` does."""
    return term.encode(errors="surrogateescape").decode("latin-1")


def _strip_blanks(text: str) -> str:
    return text.translate(_BLANKS)

"""Which of many terms stand in which files: each file is read once, whatever the number of terms.

The one home of pyahocorasick. A term is a fixed text, byte for byte, as for `git grep -F`; in JSON
and TOML also one that differs in quotes and blanks alone.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import ahocorasick
from msgspec import Struct

from skillvault.vault.evidence.code_base import CodeBase

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

"""The code bases of a vault: which can be read here, at which versions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from skillvault.loop.run import Run
from skillvault.model.errors import GitError
from skillvault.model.records import Problem
from skillvault.vault.evidence.code_base import (
    CodeBase,
    UnreadableError,
    committed_version,
    open_code_base,
)

_UNREADABLE = "?"
_Answer = TypeVar("_Answer")


class CodeBases(Struct, frozen=True):
    """The code bases that can be read, and why others cannot: these are not asked."""

    readable: Sequence[CodeBase]
    problems: Sequence[Problem]

    @property
    def versions(self) -> Mapping[str, str]:
        """Name -> version, of those that can be read."""
        return {base.name: base.version[:10] for base in self.readable}

    def without(self, error: UnreadableError) -> "CodeBases":
        """All but one that turned out to be unreadable."""
        readable = [base for base in self.readable if base.name != error.name]
        return CodeBases(readable, [*self.problems, _not_asked(error.name, str(error))])


def open_code_bases(run: Run) -> CodeBases:
    """The code bases that this run asks, each once."""
    readable: list[CodeBase] = []
    problems: list[Problem] = []
    places = {place: named for named, place in reversed(_named_places(run).items())}
    for place, name in _names_of(reversed(places)).items():
        try:
            readable.append(open_code_base(place, run.store.root, name))
        except UnreadableError as error:
            problems.append(_not_asked(places[place], str(error)))
    return CodeBases(readable, problems)


def asked(
    bases: CodeBases, question: Callable[[Sequence[CodeBase]], _Answer]
) -> tuple[CodeBases, _Answer]:
    """What the code bases answer, and which of them could be read all through."""
    while True:
        try:
            return bases, question(bases.readable)
        except UnreadableError as error:
            bases = bases.without(error)


def _names_of(places: Iterable[Path]) -> dict[Path, str]:
    """What each place is called: its folder, with those above it as far as others have its name."""
    depths = dict.fromkeys(places, 1)
    while True:
        names = {place: "-".join(place.parts[-depth:]) for place, depth in depths.items()}
        every = [*names.values()]
        longer = {
            place: depth + 1
            for place, depth in depths.items()
            if every.count(names[place]) > 1 and depth < len(place.parts)
        }
        if not longer:
            return names
        depths |= longer


def versions(run: Run) -> dict[str, str]:
    """Place -> the version of each code base; "" for a folder without git."""
    return {name: _version_at(place) for name, place in _named_places(run).items()}


def _named_places(run: Run) -> dict[str, Path]:
    """Each code base as it was named, and where it is."""
    if run.options.code:
        return {str(path): path.resolve() for path in run.options.code}
    return {name: (run.store.root / name).resolve() for name in run.policy.capture.code}


def _version_at(place: Path) -> str:
    try:
        return committed_version(place)
    except (GitError, OSError):
        return _UNREADABLE


def _not_asked(name: str, reason: str) -> Problem:
    message = f"code base not asked, nothing is concluded from it: {reason}"
    return Problem(name, "capture.code", "not-asked", message)

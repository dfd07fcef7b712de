"""The code bases of a vault: which can be read here, at which versions.

Floor 3.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from skillvault.errors import GitError
from skillvault.records import Problem
from skillvault.steps.run import Run
from skillvault.vault.evidence.code_base import (
    CodeBase,
    committed_version,
    open_code_base,
    reason_of,
)

_UNREADABLE = "?"


class CodeBases(Struct, frozen=True):
    """The code bases that can be read, and why others cannot: these are not asked."""

    readable: Sequence[CodeBase]
    problems: Sequence[Problem]

    @property
    def versions(self) -> Mapping[str, str]:
        """Name -> version, of those that can be read."""
        return {base.name: base.version[:10] for base in self.readable}


def open_code_bases(run: Run) -> CodeBases:
    """The code bases that this run asks, each once."""
    readable: dict[str, CodeBase] = {}
    problems: list[Problem] = []
    for name, place in _named_places(run).items():
        try:
            base = open_code_base(place, run.store.root)
            readable.setdefault(base.name, base)
        except (GitError, OSError) as error:
            problems.append(_not_asked(name, reason_of(error)))
    return CodeBases(list(readable.values()), problems)


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

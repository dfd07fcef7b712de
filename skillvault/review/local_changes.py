"""What was changed here of an installed skill, kept in a newer version of it.

Three versions of each file are merged; where both sides changed, ours stays and is told.
"""

from msgspec import Struct

from skillvault.learning.next_version import Files
from skillvault.model.change import Program
from skillvault.vault.git.merge_file import merged_text
from skillvault.vault.git.repository import Git


class KeptChanges(Struct, frozen=True):
    """The files of a newer version with what was changed here, and where that was decided."""

    files: dict[str, bytes]
    conflicts: list[str]

    def as_run_here(self, published: Files) -> dict[str, bytes]:
        """The files of the newer version, those as programs that are programs with the changes."""
        return {
            path: Program(data) if isinstance(self.files.get(path), Program) else bytes(data)
            for path, data in published.items()
        }

    def sentences(self, name: str) -> list[str]:
        """What a commit says of the conflicts."""
        if not self.conflicts:
            return []
        return [
            f"Changed here and by its author; {name} keeps what was changed here:",
            *(f"  {conflict}" for conflict in self.conflicts),
        ]


def keep_changes(git: Git, base: Files, ours: Files, theirs: Files) -> KeptChanges:
    """Theirs, with what is different in ours since the base."""
    kept = KeptChanges({}, [])
    for path in sorted({*base, *ours, *theirs}):
        versions = base.get(path), ours.get(path), theirs.get(path)
        content, conflict = _merged(git, *versions)
        if content is not None:
            kept.files[path] = Program(content) if _may_run(*versions) else bytes(content)
        if conflict:
            kept.conflicts.append(f"{path}: {conflict}")
    return kept


def _may_run(*versions: bytes | None) -> bool:
    """Whether the file may be run: as it is here, unless only its author changed that."""
    base, ours, theirs = (isinstance(version, Program) for version in versions)
    return theirs if ours == base or versions[1] is None else ours


def _merged(
    git: Git, base: bytes | None, ours: bytes | None, theirs: bytes | None
) -> tuple[bytes | None, str]:
    """(what becomes of a file, what of it was decided against theirs)."""
    if ours in (base, theirs):
        return theirs, ""
    if theirs == base:
        return ours, ""
    if ours is None:
        return None, "removed here, and changed by its author"
    if theirs is None:
        return ours, "removed by its author, and changed here"
    merge = merged_text(git, ours, base or b"", theirs)
    if merge is None:
        return ours, "no text, and changed by both"
    places = f"{merge.conflicts} place{'s' * (merge.conflicts > 1)} changed by both"
    return merge.content, places if merge.conflicts else ""

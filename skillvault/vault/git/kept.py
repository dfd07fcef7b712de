"""Whether a commit in another repository is still part of what is checked out there.

Reads objects and HEAD alone: nothing of that repository's configuration is run.
"""

from pathlib import Path
from typing import Literal

_LOOKED_AT = 2000  # commits in which one that takes it back is looked for


def commit_state(folder: Path, short_id: str) -> Literal["kept", "reverted"] | None:
    """What became of a commit; None where that repository or commit is not there."""
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

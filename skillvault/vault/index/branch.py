"""The branch that a vault learns on: its commit is what the index shows, wherever HEAD stands."""

from collections.abc import Iterator
from contextlib import suppress

from skillvault.model.errors import BadInputError
from skillvault.model.policy import Policy
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import policy_of
from skillvault.vault.git.repository import Git
from skillvault.vault.index.database import IndexDatabase


def tip(database: IndexDatabase, git: Git) -> str | None:
    """The commit of the branch; None without one.

    HEAD's branch if its own vault.yaml names it; else that of the vault shown last, which a person
    may have left for another branch; before there is one, that on main.
    """
    for branch in _branches(git, database.branch):
        if commit := git.tip(branch):
            return commit
    return git.head()  # no vault yet, or its branch was given another name


def _branches(git: Git, shown: str | None) -> Iterator[str]:
    """Where the vault may learn, the likeliest first; `shown`: as it was shown last."""
    current = git.branch()
    if current and current == shown:
        yield current  # nothing is read: this is so nearly always
    named = _named(git, "HEAD")
    if named and named == current:
        yield named
    yield from filter(None, [shown, named, _named(git, f"refs/heads/{Policy().branch}")])


def _named(git: Git, revision: str) -> str | None:
    """The branch that a commit's vault.yaml names."""
    place = f"{revision}:{layout.MARK}"
    content = git.history.files_at([place]).get(place)
    with suppress(BadInputError):  # told to whoever asks for the policy
        return policy_of(content).branch if content else None
    return None

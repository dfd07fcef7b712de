"""Commits of skillvault that a person's git left in no branch, and the command that returns them.

A commit is named if it does something that the vault lacks, and each of its paths stands either as
the commit found it or as the commit left it, so that a cherry-pick needs no decision. A path that
a later commit removed stays away. What was learned anew from the same records is no loss either.
"""

from collections.abc import Collection, Mapping

from skillvault.model.records import Problem
from skillvault.vault.files import layout
from skillvault.vault.git.lost import LostCommit
from skillvault.vault.git.repository import Git
from skillvault.vault.git.trees import Entry
from skillvault.vault.index.snapshot import Snapshot


def find_losses(git: Git, head: Snapshot) -> list[LostCommit]:
    """The lost commits that can be picked one after the other, oldest first."""
    commits = [commit for commit in git.lost() if all(map(_is_vaults, commit.files))]
    paths = sorted({path for commit in commits for path in commit.files})
    if not paths or head.commit is None:
        return []
    entries: dict[str, Entry | None] = dict(git.history.tree(head.commit, paths))
    removed = git.history.deletions(head.commit).keys()
    losses: list[LostCommit] = []
    for commit in commits:
        if _is_lost(commit, entries, removed):
            entries |= {path: diff.after for path, diff in commit.files.items()}
            losses.append(commit)
    return losses


def _is_vaults(path: str) -> bool:
    return path.partition("/")[0] in layout.FOLDERS


def _is_lost(
    commit: LostCommit, entries: Mapping[str, Entry | None], removed: Collection[str]
) -> bool:
    """Return True if something of a commit is missing and all of that fits what stands there."""
    missing = {path: diff for path, diff in commit.files.items() if entries.get(path) != diff.after}
    return bool(missing) and all(
        entries.get(path) == diff.before and (diff.before or path not in removed)
        for path, diff in missing.items()
    )


def notes(git: Git, head: Snapshot) -> list[Problem]:
    """A note for `check` on the lost commits."""
    commits = find_losses(git, head)
    message = f"{name_commits(commits)}; bring them back with `{cherry_pick(commits)}`"
    return [Problem(".git", None, "lost", message)] if commits else []


def name_commits(commits: list[LostCommit]) -> str:
    """A sentence that names lost commits."""
    subjects = [f"{_short(commit)} ({commit.message.partition(chr(10))[0]})" for commit in commits]
    return f"commits of skillvault that the reflog has and no branch: {', '.join(subjects)}"


def cherry_pick(commits: list[LostCommit]) -> str:
    """The command that makes lost commits again on the branch that is checked out."""
    return " ".join(["git cherry-pick", *map(_short, commits)])


def _short(commit: LostCommit) -> str:
    return commit.sha[:12]

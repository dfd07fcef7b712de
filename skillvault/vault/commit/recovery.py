"""What killed writers and a person's git left behind, and what becomes of it.

The caller holds the writer's lock, but for `review_taken`, which only moves files.
"""

from pathlib import Path

from skillvault.vault.commit import growing
from skillvault.vault.commit.fence import index_lock, is_left_behind
from skillvault.vault.commit.journal import Journal
from skillvault.vault.drafts import is_abandoned
from skillvault.vault.files.taken import Taken
from skillvault.vault.git.repository import Git


def clear_up(root: Path, git: Git, branch: str) -> None:
    """Finish or undo half-made changes of killed writers; remove their drafts, pins and locks."""
    journal = Journal(root, git)
    own, common = git.dirs()
    for pattern in ("index-*", "lock-*", "drafts/*"):
        for path in (own / "skillvault").glob(pattern):
            if is_abandoned(path.name):
                path.unlink(missing_ok=True)
    growing.recover(root, own / "skillvault")
    git.unpin()
    if journal.has_abandoned() or is_left_behind(own):
        journal.unlock_killed()
        with index_lock(root, own, 0.0):
            journal.recover()
    if (own / "index.lock").exists() or (common / f"refs/heads/{branch}.lock").exists():
        journal.unlock()


def review_taken(git: Git, taken: Taken, branch: str) -> None:
    """Let go of the inbox files whose commit is in the branch; the others return."""
    commits = taken.commits()
    if not commits or git.pause_reason(branch):
        return
    tip = git.tip(branch)
    for commit in commits:
        if tip and (commit == tip or git.history.is_ancestor(commit, tip)):
            taken.forget(commit)
        else:
            taken.put_back(commit)

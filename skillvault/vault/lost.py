"""What lost commits did that the vault does not have, and could be done once more.

A commit is taken whole, where each of its paths stands as it found it. Of intake, which only adds
records, those are taken that are missing. What was removed by a commit since is somebody's
decision, and stays away; of what was learned since from the same records the loop takes care.
"""

from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from skillvault.model.change import parts_in
from skillvault.model.records import Problem
from skillvault.vault.files import layout
from skillvault.vault.git.lost import Diff, LostCommit, new_home
from skillvault.vault.git.repository import Git
from skillvault.vault.git.trees import Entry
from skillvault.vault.index.snapshot import Snapshot

_INTAKE = {"record", "evaluate"}


def lost_changes(git: Git, head: Snapshot) -> list[LostCommit]:
    """The lost commits that can be made once more, oldest first, each with these files alone."""
    commits = [commit for commit in git.lost() if all(map(_is_vaults, commit.files))]
    paths = sorted({path for commit in commits for path in commit.files})
    if not paths or head.commit is None:
        return []
    now: dict[str, Entry | None] = dict(git.history.tree(head.commit, paths))
    removed = git.history.deletions(head.commit).keys()
    changes: list[LostCommit] = []
    for commit in commits:
        if files := _missing(commit, now, removed):
            now |= {path: diff.after for path, diff in files.items()}
            changes.append(replace(commit, files=files))
    return changes


def _is_vaults(path: str) -> bool:
    return path.partition("/")[0] in layout.FOLDERS


def _missing(
    commit: LostCommit, now: Mapping[str, Entry | None], removed: Collection[str]
) -> dict[str, Diff]:
    """What a commit would do once more; nothing if it does not fit what stands there now."""
    files = {path: diff for path, diff in commit.files.items() if now.get(path) != diff.after}
    fits = {
        path: diff
        for path, diff in files.items()
        if now.get(path) == diff.before and (diff.before or path not in removed)
    }
    if any(not diff.after and not new_home(path, files) for path, diff in files.items()):
        return {}
    is_intake = {part.step for part in parts_in(commit.message.splitlines())} <= _INTAKE
    return fits if is_intake or fits == commit.files else {}


def notes(git: Git, head: Snapshot) -> list[Problem]:
    """What `check` notes of lost commits."""
    text = sentence(lost_changes(git, head))
    message = f"{text}; `skillvault doctor --mend` makes them once more"
    return [Problem(".git", None, "lost", message)] if text else []


def sentence(commits: Sequence[LostCommit]) -> str | None:
    """What a person is told of lost commits; None if there are none."""
    if not commits:
        return None
    count = len({path for commit in commits for path in commit.files})
    latest = commits[-1]
    subject = latest.message.partition("\n")[0]
    return (
        f"{len(commits)} commit(s) of skillvault are in the reflog and in no branch, with {count} "
        f"file(s) that the vault does not have; the latest is {latest.sha[:10]} ({subject})"
    )

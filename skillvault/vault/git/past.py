"""A repository as it was at one of its commits: a folder of its own for as long as it is asked.

It shares the objects of the repository, so that only the files of that commit are written.
"""

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from skillvault.model.errors import UsageError
from skillvault.vault.git.process import Runner
from skillvault.vault.git.repository import Git

_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@contextmanager
def past_of(git: Git, branch: str, moment: str) -> Iterator[tuple[Path, datetime]]:
    """The branch at a revision, or after all commits of a day or before a time.

    As (the folder in which that commit is its tip, when that was made). UsageError if there is
    no such commit.
    """
    commit = _commit_at(git, branch, moment)
    at = datetime.fromisoformat(git.text("show", "--no-patch", "--format=%cI", commit))
    objects = git.dirs()[1] / "objects"
    with tempfile.TemporaryDirectory(prefix="skillvault-") as place:
        root = Path(place) / git.root.name
        root.mkdir()
        runner = Runner(root)
        runner.run("init", "--quiet", "--template=", f"--initial-branch={branch}")
        (root / ".git/objects/info").mkdir(exist_ok=True)
        (root / ".git/objects/info/alternates").write_text(f"{objects}\n", encoding="utf-8")
        runner.run("update-ref", f"refs/heads/{branch}", commit)
        runner.run("read-tree", commit)
        runner.run("checkout-index", "--all", "--quiet")
        yield root, at


def _commit_at(git: Git, branch: str, moment: str) -> str:
    """The latest commit of the branch by then, or what a revision names."""
    end = _end_of(moment)
    if end is not None:
        before = f"--before={end:%Y-%m-%dT%H:%M:%S%z}"
        commit = git.text("rev-list", "-1", before, f"refs/heads/{branch}")
        if not commit:
            raise UsageError(f"--at {moment}: the vault has no commit so early")
        return commit
    name = f"{moment}^{{commit}}"
    commit = git.text("rev-parse", "--verify", "--quiet", "--end-of-options", name, ok=(0, 1, 128))
    if not commit:
        raise UsageError(
            f"--at {moment}: neither a commit nor a time; write it as HEAD~3, 2026-11-20 or "
            "2026-11-20T10:15:00Z"
        )
    return commit


def _end_of(moment: str) -> datetime | None:
    """The time that a moment names: of a day its last second; None for a revision."""
    try:
        at = datetime.fromisoformat(moment)
    except ValueError:
        return None
    if not moment[:5].endswith("-"):  # `20261120` may be a commit's name
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return at + timedelta(days=1, seconds=-1) if _DAY.fullmatch(moment) else at

"""Commits of ours that a reflog names and no branch has: a person's git left them behind."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from skillvault.model.change import STEP
from skillvault.vault.files import layout
from skillvault.vault.git.process import Runner
from skillvault.vault.git.ref_transaction import ABSENT
from skillvault.vault.git.trees import Entry

_NO_BRANCH = ("--reflog", "--not", "--branches", "--remotes")


class Diff(NamedTuple):
    """What a commit made of a path; None: there was, or is, no file."""

    before: Entry | None
    after: Entry | None


class LostCommit(Struct, frozen=True):
    """A commit: its message, and what it made of each path."""

    sha: str
    message: str
    files: Mapping[str, Diff]


def lost_commits(git: Runner) -> list[LostCommit]:
    """Those of ours that are in no branch, oldest first."""
    out = git.run(
        "log", "-z", "--date-order", "--reverse", f"--grep=^{STEP}: ", "--format=%H%x00%B",
        *_NO_BRANCH,
    )  # fmt: skip
    fields = out.decode(errors="replace").split("\0")
    messages = dict(zip(fields[::2], fields[1::2], strict=False))
    files = _files(git, list(messages)) if messages else {}
    return [LostCommit(sha, text, files.get(sha, {})) for sha, text in messages.items()]


def new_home(path: str, files: Mapping[str, Diff]) -> str | None:
    """Where a commit put a skill's file that it took away from its shelf; None if nowhere."""
    if files[path].after:
        return None
    rest = path.partition("/")[2]
    targets = (f"{shelf}/{rest}" for shelf in layout.SHELVES)
    return next((target for target in targets if target in files and files[target].after), None)


def _files(git: Runner, commits: Sequence[str]) -> dict[str, dict[str, Diff]]:
    """commit -> path -> what it made of it."""
    form = ("-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--root")
    out = git.run("diff-tree", "--stdin", *form, stdin="".join(f"{c}\n" for c in commits).encode())
    files: dict[str, dict[str, Diff]] = {}
    diffs: dict[str, Diff] = {}
    for field, path in _fields(out):
        if path is None:
            diffs = files.setdefault(field, {})
            continue
        before_mode, after_mode, before, after, _ = field.removeprefix(":").split(" ")
        diffs[path] = Diff(_entry(before_mode, before), _entry(after_mode, after))
    return files


def _entry(mode: str, blob: str) -> Entry | None:
    return Entry(mode, blob) if blob != ABSENT else None


def _fields(out: bytes) -> Iterator[tuple[str, str | None]]:
    """(what git says of a path, the path), or (a commit, None)."""
    fields = iter(out.decode(errors="surrogateescape").split("\0")[:-1])
    for field in fields:
        yield field, next(fields) if field.startswith(":") else None

"""The commits of a repository: what each changed, who made it, which no branch has any more."""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from skillvault.model.change import SOURCE, STEP, TARGET, Part, parse_parts
from skillvault.model.records import Commit
from skillvault.vault.files import layout
from skillvault.vault.git.process import Runner
from skillvault.vault.git.refs import ABSENT
from skillvault.vault.git.trees import SUBMODULE, Entry

_RAW = ("-z", "--raw", "--no-renames", "--no-abbrev")
_NO_BRANCH = ("--reflog", "--not", "--branches", "--remotes")


class Diff(NamedTuple):
    """What a commit made of a path; None: there was, or is, no file."""

    before: Entry | None
    after: Entry | None


class PastCommit(NamedTuple):
    """What each step did in a commit, its parents, what it made of each path; of a merge nothing.

    The step is "" in a commit that is a person's.
    """

    parts: list[Commit]
    parents: list[str]
    files: dict[str, Diff]

    @property
    def sha(self) -> str:
        """The id of the commit."""
        return self.parts[0].sha


class History:
    """The history of one repository, as git tells it."""

    def __init__(self, runner: Runner) -> None:
        self._git = runner

    def commit_named(self, text: str) -> str | None:
        """The commit that a person names; None if there is none."""
        args = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}")
        return self._git.text(*args, ok=(0, 1, 128)) or None

    def merge_bases(self, one: str, other: str) -> list[str]:
        """The commits from which two histories parted, sorted; none if they share nothing."""
        return sorted(self._git.text("merge-base", "--all", one, other, ok=(0, 1)).split())

    def changed(self, old: str, new: str, *, submodules: bool = False) -> dict[str, Entry | None]:
        """path -> its entry in `new`, None if it has none, of the files that differ.

        Without `submodules` these count as nothing.
        """
        return {
            path: after if submodules or after is None or after.mode != SUBMODULE else None
            for path, (_, after), _ in diff_entries(self._git, "diff-tree", "-r", old, new)
        }

    def reflog(self, branch: str) -> set[str]:
        """The commits that a branch stood at, as far back as its reflog goes."""
        out = self._git.run("log", "-g", "--format=%H", f"refs/heads/{branch}", "--", ok=(0, 128))
        return set(out.decode().split())

    def is_ancestor(self, older: str, newer: str) -> bool:
        """True if `newer` holds all the history of `older`."""
        return self._git.text("merge-base", older, newer, ok=(0, 1, 128)) == older

    def commits(self, *span: str) -> Iterator[PastCommit]:
        """The commits of a span, parents first, read while git tells them."""
        keys = ",".join(f"key={key}" for key in (STEP, SOURCE, TARGET))
        # An empty field tells that a commit begins: no path is empty.
        form = f"%x00%H%x00%cI%x00%s%x00%P%x00%(trailers:{keys},separator=%x1f)"
        options = ("--topo-order", "--reverse", "--root", f"--format={form}")
        fields = self._git.fields("log", *_RAW, *options, *span, "--")
        commit: PastCommit | None = None
        for field in fields:
            if field and commit:
                commit.files[os.fsdecode(next(fields))] = _diff_in(field)[0]
                continue
            if commit:
                yield commit
            commit = _commit_in([text.decode(errors="replace") for text in islice(fields, 5)])
        if commit:
            yield commit

    def author_and_text(self, commits: Sequence[str]) -> dict[str, tuple[str, str]]:
        """commit -> (who is its author, its message without the trailers)."""
        if not commits:
            return {}
        form = "--format=%H%x00%an%x00%B%x00%(trailers)"
        args = ("log", "-z", "--no-walk=unsorted", form, "--stdin")
        out = self._git.run(*args, stdin="\n".join([*commits, ""]).encode())
        return {
            sha: (author, text.strip().removesuffix(trailers.strip()).strip())
            for sha, author, text, trailers in _fields(out, 4)
        }

    def trailer_values(self, commits: Sequence[str], key: str) -> dict[str, str]:
        """commit -> what its trailer of a key says, of those that have one."""
        form = f"--format=%H%x00%(trailers:key={key},valueonly,separator=%x20)"
        args = ("log", "-z", "--no-walk=unsorted", form, "--stdin")
        out = self._git.run(*args, stdin="\n".join([*commits, ""]).encode())
        return {sha: value.strip() for sha, value in _fields(out, 2) if value.strip()}

    def patch(self, commit: str, paths: Sequence[str]) -> str:
        """What a commit changes in these files, as git shows it; "" for none of them."""
        if not paths:
            return ""
        safe = ("--no-ext-diff", "--no-textconv", "--no-color")
        out = self._git.run(
            "diff-tree", "-p", "--root", "--no-commit-id", "-M", *safe, commit, "--", *paths
        )
        return out.decode(errors="replace")

    def touching(self, commit: str | None, path: str) -> list[tuple[str, str, str, str]]:
        """(commit, author, date, subject) of those that change a file, the newest first."""
        if commit is None:
            return []
        form = "--format=%H%x00%an%x00%aI%x00%s"
        out = self._git.run("log", "-z", form, commit, "--", path)
        return [(sha, who, utc(date), what) for sha, who, date, what in _fields(out, 4)]

    def between(self, old: str, new: str) -> list[str]:
        """The commits of the history of `new` that are not in that of `old`."""
        return self._git.text("rev-list", new, f"^{old}").split()

    def messages(self, commit: str, since: datetime) -> dict[str, str]:
        """commit -> its message, of those up to this one that were made since then."""
        span = (f"--since={since.isoformat()}", commit)
        out = self._git.run("log", "-z", "--format=%H%x00%B", *span, "--")
        return {fields[0]: fields[1] for fields in _fields(out, 2)}

    def deletions(self, commit: str, since: datetime | None = None) -> dict[str, str]:
        """path -> the latest commit that removed it, up to this one, since then."""
        span = (commit,) if since is None else (f"--since={since.isoformat()}", commit)
        commits = self.commits("--diff-filter=D", *span)
        return {path: one.sha for one in commits for path in one.files}

    def lost(self) -> list[PastCommit]:
        """The commits of ours that a reflog names and no branch has, oldest first."""
        return list(self.commits("--date-order", f"--grep=^{STEP}: ", *_NO_BRANCH))


def diff_entries(git: Runner, command: str, *words: str) -> Iterator[tuple[str, Diff, str]]:
    """(path, what became of it, git's letter for that) of what a diff tells."""
    fields = git.fields(command, *_RAW, *words)
    for field in fields:
        yield os.fsdecode(next(fields)), *_diff_in(field)


def _diff_in(field: bytes) -> tuple[Diff, str]:
    before_mode, after_mode, before, after, kind = field.decode().lstrip("\n:").split(" ")
    return Diff(_entry(before_mode, before), _entry(after_mode, after)), kind


def _entry(mode: str, blob: str) -> Entry | None:
    return Entry(mode, blob) if blob != ABSENT else None


def _commit_in(fields: Sequence[str]) -> PastCommit:
    sha, date, subject, parents, trailers = fields
    parts = parse_parts(trailers.split("\x1f")) or [Part("")]
    commits = [
        Commit(sha, part.step, subject, utc(date), part.sources, part.targets) for part in parts
    ]
    return PastCommit(commits, parents.split(), {})


def utc(date: str) -> str:
    """A time as git prints it, in one notation whatever its version."""
    return date.removesuffix("Z") + "+00:00" if date.endswith("Z") else date


def _fields(out: bytes, width: int) -> Iterator[list[str]]:
    """The records of `width` fields in an output where each field ends with a NUL."""
    fields = out.decode(errors="replace").split("\0")
    return (fields[i : i + width] for i in range(0, len(fields) - 1, width))


def new_home(path: str, files: Mapping[str, Diff]) -> str | None:
    """Where a commit put a skill's file that it took away from its shelf; None if nowhere."""
    if files[path].after:
        return None
    rest = path.partition("/")[2]
    targets = (f"{shelf}/{rest}" for shelf in layout.SHELVES)
    return next((target for target in targets if target in files and files[target].after), None)

"""Read the commits of a repository: their changed files, authors, messages and signatures."""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from skillvault.model.change import SOURCE_TRAILER, STEP_TRAILER, TARGET_TRAILER, Part, parse_parts
from skillvault.model.records import Commit
from skillvault.vault.files import layout
from skillvault.vault.git.objects import SUBMODULE, Entry
from skillvault.vault.git.process import Runner, as_environment
from skillvault.vault.git.refs import ABSENT

_DIFF_OPTIONS = ("-z", "--raw", "--no-renames", "--no-abbrev")
# Only ssh knows the keys of a vault, and no program that the config names is asked.
_VERIFIERS = {
    "gpg.ssh.program": "ssh-keygen",
    "gpg.ssh.revocationFile": "",
    "gpg.program": "false",
    "gpg.openpgp.program": "false",
    "gpg.x509.program": "false",
}
_ONLY_IN_REFLOG = ("--reflog", "--not", "--branches", "--remotes")


class Diff(NamedTuple):
    """The entries of a path before and after a commit. None means that there is no file."""

    before: Entry | None
    after: Entry | None


class PastCommit(NamedTuple):
    """A commit with its parents, its changed files, and one part for each step.

    The step is "" in a commit of a person. A merge has no files.
    """

    parts: list[Commit]
    parents: list[str]
    files: dict[str, Diff]

    @property
    def sha(self) -> str:
        """The id of the commit."""
        return self.parts[0].sha


class Signature(NamedTuple):
    """The author of a commit, and its signer if a listed key made the signature."""

    author: str
    is_signed: bool
    signer: str | None


class History:
    """The history of one repository, read by git."""

    def __init__(self, runner: Runner) -> None:
        self._git = runner

    def commit_named(self, text: str) -> str | None:
        """Return the commit that a user means by a revision, or None."""
        args = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}")
        return self._git.text(*args, ok=(0, 1, 128)) or None

    def merge_bases(self, *commits: str) -> list[str]:
        """Return the sorted merge bases of two commits, or [] without common history."""
        return sorted(self._git.text("merge-base", "--all", *commits, ok=(0, 1)).split())

    def diff_trees(
        self, base: str, tip: str, *, submodules: bool = False
    ) -> dict[str, Entry | None]:
        """Return the changed files with their entries in `tip`, None for a removed file.

        Without `submodules`, a submodule counts as removed.
        """
        diffs = diff_entries(self._git, "diff-tree", "-r", base, tip)
        return {
            path: entry if submodules or (entry and entry.mode != SUBMODULE) else None
            for path, (_, entry), _ in diffs
        }

    def reflog(self, branch: str) -> set[str]:
        """Return the commits in the reflog of a branch."""
        shas = self._git.text("log", "-g", "--format=%H", f"refs/heads/{branch}", "--", ok=(0, 128))
        return set(shas.split())

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Return True if `descendant` has `ancestor` in its history."""
        return self._git.text("merge-base", ancestor, descendant, ok=(0, 1, 128)) == ancestor

    def commits(self, *span: str) -> Iterator[PastCommit]:
        """Yield the commits of a revision range, parents first, while git prints them."""
        keys = ",".join(f"key={key}" for key in (STEP_TRAILER, SOURCE_TRAILER, TARGET_TRAILER))
        # A commit begins with an empty field, which no path is.
        format_text = f"%x00%H%x00%cI%x00%s%x00%P%x00%(trailers:{keys},separator=%x1f)"
        options = ("--topo-order", "--reverse", "--root", f"--format={format_text}")
        fields = self._git.fields("log", *_DIFF_OPTIONS, *options, *span, "--")
        commit: PastCommit | None = None
        for field in fields:
            if field and commit:
                commit.files[os.fsdecode(next(fields))] = _parse_diff(field)[0]
                continue
            if commit:
                yield commit
            commit = _parse_commit([text.decode(errors="replace") for text in islice(fields, 5)])
        if commit:
            yield commit

    def author_and_text(self, commits: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Return (author, message without trailers) for each commit."""
        rows = self._show_commits(commits, "%H%x00%an%x00%B%x00%(trailers)", 4)
        return {
            sha: (author, text.strip().removesuffix(trailers.strip()).strip())
            for sha, author, text, trailers in rows
        }

    def trailer_values(self, commits: Sequence[str], key: str) -> dict[str, str]:
        """Return the value of a trailer for each commit that has the trailer."""
        format_text = f"%H%x00%(trailers:key={key},valueonly,separator=%x20)"
        rows = self._show_commits(commits, format_text, 2)
        return {sha: value.strip() for sha, value in rows if value.strip()}

    def signatures(self, commits: Sequence[str], keys: Path) -> dict[str, Signature]:
        """Return the signature of each commit, checked with ssh's file of allowed signers."""
        env = as_environment({"gpg.ssh.allowedSignersFile": str(keys), **_VERIFIERS})
        rows = self._show_commits(commits, "%H%x00%an <%ae>%x00%G?%x00%GS", 4, env)
        return {
            sha: Signature(author, state != "N", name if state == "G" else None)
            for sha, author, state, name in rows
        }

    def _show_commits(
        self,
        commits: Sequence[str],
        format_text: str,
        width: int,
        env: Mapping[str, str] | None = None,
    ) -> Iterator[list[str]]:
        if not commits:
            return iter(())
        args = ("log", "-z", "--no-walk=unsorted", f"--format={format_text}", "--stdin")
        output = self._git.run(*args, stdin="\n".join([*commits, ""]).encode(), env=env)
        return _split_records(output, width)

    def patch(self, commit: str, paths: Sequence[str]) -> str:
        """Return the patch of a commit for these files, as git shows it, or "" without files."""
        if not paths:
            return ""
        safe_options = ("--no-ext-diff", "--no-textconv", "--no-color")
        options = ("-p", "--root", "--no-commit-id", "-M", *safe_options)
        output = self._git.run("diff-tree", *options, commit, "--", *paths)
        return output.decode(errors="replace")

    def file_log(self, commit: str | None, path: str) -> list[tuple[str, str, str, str]]:
        """Return (commit, author, date, subject) for each change of a file, newest first."""
        if commit is None:
            return []
        format_text = "--format=%H%x00%an%x00%aI%x00%s"
        output = self._git.run("log", "-z", format_text, commit, "--", path)
        rows = _split_records(output, 4)
        return [(sha, name, utc(date), subject) for sha, name, date, subject in rows]

    def commits_between(self, base: str, tip: str) -> list[str]:
        """Return the commits that `tip` has and `base` lacks."""
        return self._git.text("rev-list", tip, f"^{base}").split()

    def messages(self, commit: str, since: datetime) -> dict[str, str]:
        """Return the messages of the ancestors of `commit` since a time, by commit."""
        span = (f"--since={since.isoformat()}", commit)
        output = self._git.run("log", "-z", "--format=%H%x00%B", *span, "--")
        return {fields[0]: fields[1] for fields in _split_records(output, 2)}

    def deletions(self, commit: str, since: datetime | None = None) -> dict[str, str]:
        """Return the removed paths, each with the last commit that removed it."""
        span = (commit,) if since is None else (f"--since={since.isoformat()}", commit)
        commits = self.commits("--diff-filter=D", *span)
        return {path: past_commit.sha for past_commit in commits for path in past_commit.files}

    def find_lost_commits(self) -> list[PastCommit]:
        """Return the commits of skillvault that are only in a reflog, oldest first."""
        return list(self.commits("--date-order", f"--grep=^{STEP_TRAILER}: ", *_ONLY_IN_REFLOG))


def list_files(git: Runner, commit: str) -> Iterator[tuple[str, Entry, str]]:
    """Yield (path, entry, git's text for the size) for each file of a commit below git's folder."""
    for line in os.fsdecode(git.run("ls-tree", "-r", "-l", "-z", commit)).split("\0")[:-1]:
        meta, _, path = line.partition("\t")
        mode, _, blob, size = meta.split()
        yield path, Entry(mode, blob), size


def diff_entries(
    git: Runner, command: str, *arguments: str, env: Mapping[str, str] | None = None
) -> Iterator[tuple[str, Diff, str]]:
    """Yield (path, diff, git's letter for the change) for each path of a diff."""
    fields = git.fields(command, *_DIFF_OPTIONS, *arguments, env=env)
    for field in fields:
        yield os.fsdecode(next(fields)), *_parse_diff(field)


def _parse_diff(field: bytes) -> tuple[Diff, str]:
    old_mode, new_mode, old_blob, new_blob, kind = field.decode().lstrip("\n:").split(" ")
    old_entry = Entry(old_mode, old_blob) if old_blob != ABSENT else None
    return Diff(old_entry, Entry(new_mode, new_blob) if new_blob != ABSENT else None), kind


def _parse_commit(fields: Sequence[str]) -> PastCommit:
    sha, date, subject, parents, trailers = fields
    parts = parse_parts(trailers.split("\x1f")) or [Part("")]
    commits = [
        Commit(sha, part.step, subject, utc(date), part.sources, part.targets) for part in parts
    ]
    return PastCommit(commits, parents.split(), {})


def utc(date: str) -> str:
    """Write UTC as `+00:00` in a time from git, because some versions of git write `Z`."""
    return date.removesuffix("Z") + "+00:00" if date.endswith("Z") else date


def _split_records(output: bytes, width: int) -> Iterator[list[str]]:
    """Yield records of `width` fields from output. A NUL ends each field."""
    fields = output.decode(errors="replace").split("\0")
    return (fields[i : i + width] for i in range(0, len(fields) - 1, width))


def find_new_path(path: str, files: Mapping[str, Diff]) -> str | None:
    """Return the path to which a commit moved a file of a skill, or None if it did not."""
    if files[path].after:
        return None
    paths = (f"{folder}/{path.partition('/')[2]}" for folder in layout.SKILL_FOLDERS)
    return next((target for target in paths if target in files and files[target].after), None)

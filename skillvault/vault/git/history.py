"""The commits of a repository: what each changed, who made it, which no branch has any more."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from skillvault.model.change import SOURCE, STEP, TARGET, Part, parts_in
from skillvault.model.records import Commit
from skillvault.vault.files import layout
from skillvault.vault.git.objects import Objects
from skillvault.vault.git.process import Runner
from skillvault.vault.git.refs import ABSENT
from skillvault.vault.git.trees import SUBMODULE, Entry

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


_CHUNK = 1000  # paths on one command line


class History:
    """The history of one repository, as git tells it."""

    def __init__(self, runner: Runner, objects: Callable[[], Objects]) -> None:
        self._git = runner
        self._objects = objects  # loaded by who asks for a file

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
        out = self._git.run(
            "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old, new
        )
        entries: dict[str, Entry | None] = {}
        parts = iter(_records(out))
        for meta, path in zip(parts, parts, strict=True):
            _, mode, _, blob, status = meta.split(" ")
            if status != "D" and (submodules or mode != SUBMODULE):
                entries[path] = Entry(mode, blob)
            else:
                entries[path] = None
        return entries

    def reflog(self, branch: str) -> set[str]:
        """The commits that a branch stood at, as far back as its reflog goes."""
        out = self._git.run("log", "-g", "--format=%H", f"refs/heads/{branch}", "--", ok=(0, 128))
        return set(out.decode().split())

    def is_ancestor(self, older: str, newer: str) -> bool:
        """True if `newer` holds all the history of `older`."""
        return self._git.text("merge-base", older, newer, ok=(0, 1, 128)) == older

    def commits(self, *span: str) -> Iterator[tuple[list[Commit], list[str]]]:
        """(what each step did in a commit, the commit's parents) of a span, parents first.

        `step` is "" for a commit that is a person's.
        """
        keys = ",".join(f"key={key}" for key in (STEP, SOURCE, TARGET))
        form = f"%H%x00%cI%x00%s%x00%P%x00%(trailers:{keys},separator=%x1f)"
        out = self._git.run(
            "log", "-z", "--topo-order", "--reverse", f"--format={form}", *span, "--"
        )
        for sha, date, subject, parents, trailers in _fields(out, 5):
            parts = parts_in(trailers.split("\x1f")) or [Part("")]
            commits = [
                Commit(sha, part.step, subject, utc(date), part.sources, part.targets)
                for part in parts
            ]
            yield commits, parents.split()

    def paths_by_commit(self, *span: str) -> dict[str, dict[str, tuple[str, str]]]:
        """commit -> the paths that it changes, each with its blob before and after.

        For the commits of a span but for merges; ABSENT stands for no blob.
        """
        # An empty field tells that a commit begins: no path is empty.
        args = ("-z", "--no-renames", "--no-abbrev", "--raw", "--format=%x00%H")
        parts = iter(
            self._git.run("log", *args, *span, "--").decode(errors="surrogateescape").split("\0")
        )
        paths_of: dict[str, dict[str, tuple[str, str]]] = {}
        paths: dict[str, tuple[str, str]] = {}
        for part in parts:
            if part:
                _, _, before, after, _ = part.removeprefix("\n").split(" ")
                paths[next(parts)] = before, after
            elif commit := next(parts, ""):
                paths = paths_of.setdefault(commit, {})
        return paths_of

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
        form = ("--no-renames", "--diff-filter=D", "--format=%x1e%H", "--name-only", "-z")
        span = (commit,) if since is None else (f"--since={since.isoformat()}", commit)
        out = self._git.run("log", *form, *span, "--")
        removals: dict[str, str] = {}
        for block in out.decode(errors="surrogateescape").split("\x1e")[1:]:
            sha, *paths = (part.strip("\n") for part in block.split("\0"))
            for path in filter(None, paths):
                removals.setdefault(path, sha)
        return removals

    def tree(self, commit: str, paths: Sequence[str] | None = None) -> dict[str, Entry]:
        """path -> entry of every file of a commit, of these paths only if they are named."""
        entries: dict[str, Entry] = {}
        for chunk in [()] if paths is None else _chunks(paths):
            out = self._git.run("ls-tree", "-r", "-z", "--full-tree", commit, "--", *chunk)
            for line in _records(out):
                meta, _, path = line.partition("\t")
                mode, kind, blob = meta.split(" ")
                if kind == "blob":
                    entries[path] = Entry(mode, blob)
        return entries

    def files_at(self, places: Iterable[str]) -> dict[str, bytes]:
        """`<commit>:<path>`, `<commit>^:<path>` or blob id -> bytes, for those that exist."""
        return self._objects().files_at(places)

    def lost(self) -> list[LostCommit]:
        """The commits of ours that a reflog names and no branch has, oldest first."""
        form = ("--date-order", "--reverse", f"--grep=^{STEP}: ", "--format=%H%x00%B")
        messages = dict(_fields(self._git.run("log", "-z", *form, *_NO_BRANCH), 2))
        files = _files(self._git, list(messages)) if messages else {}
        return [LostCommit(sha, text, files.get(sha, {})) for sha, text in messages.items()]


def utc(date: str) -> str:
    """A time as git prints it, in one notation whatever its version."""
    return date.removesuffix("Z") + "+00:00" if date.endswith("Z") else date


def _fields(out: bytes, width: int) -> Iterator[list[str]]:
    """The records of `width` fields in an output where each field ends with a NUL."""
    fields = out.decode(errors="replace").split("\0")
    return (fields[i : i + width] for i in range(0, len(fields) - 1, width))


def _records(out: bytes) -> Iterator[str]:
    return (line.decode(errors="surrogateescape") for line in out.split(b"\0") if line)


def _chunks(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    return (paths[i : i + _CHUNK] for i in range(0, len(paths), _CHUNK))


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
    for field, path in _diff_fields(out):
        if path is None:
            diffs = files.setdefault(field, {})
            continue
        before_mode, after_mode, before, after, _ = field.removeprefix(":").split(" ")
        diffs[path] = Diff(_entry(before_mode, before), _entry(after_mode, after))
    return files


def _entry(mode: str, blob: str) -> Entry | None:
    return Entry(mode, blob) if blob != ABSENT else None


def _diff_fields(out: bytes) -> Iterator[tuple[str, str | None]]:
    """(what git says of a path, the path), or (a commit, None)."""
    fields = iter(out.decode(errors="surrogateescape").split("\0")[:-1])
    for field in fields:
        yield field, next(fields) if field.startswith(":") else None

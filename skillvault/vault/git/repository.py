"""The only module that speaks to git: one hardened wrapper, small functions behind it.

Never the porcelain that commits, stages or cleans, never `repo.index`; GitPython only
launches git. What a repository's own config could run is switched off in each call.
"""

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from pathlib import Path

from skillvault.change import SOURCE, STEP, TARGET
from skillvault.errors import GitError, NotAVaultError, PausedError, VaultBusyError
from skillvault.records import Commit, stamp
from skillvault.vault.git import head as standing
from skillvault.vault.git import process as launch
from skillvault.vault.git.config import Believed, Settings, believed, settings_of
from skillvault.vault.git.index_file import Listing
from skillvault.vault.git.objects import Objects
from skillvault.vault.git.process import as_environment, launched, said
from skillvault.vault.git.trees import SUBMODULE, Entry

_IN_PROGRESS = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick or revert of several commits",
    "BISECT_LOG": "a bisect",
}
_NO_IDENTITY = ("tell me who you are", "ident name", " was given and auto-detection")
_NOBODY = (
    "git does not know who you are; run `git config --global user.name NAME` and "
    "`git config --global user.email ADDRESS`"
)
_SIGNING_WAIT = 10.0  # seconds that a signature may take, an agent asking for a key included
_INDEX_WAIT = 5.0  # seconds that a person's own git may hold the index
_SUM = 20  # bytes of the checksum at the end of an index
_NAMED_OTHERWISE = {"GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"}  # in a person's environment
_CHUNK = 1000  # paths on one command line
_WHEN = re.compile(rb"> \d+ \+0000$", re.MULTILINE)

_SYNCED = as_environment({"core.fsync": "reference", "core.fsyncMethod": "fsync"})

ABSENT = "0" * 40


class Git:
    """One repository. Holds no process and no handle between calls.

    `index` is the index file to read where a hook was handed another one.
    """

    def __init__(self, root: Path, index: str | None = None) -> None:
        self.root = root
        self._index = {"GIT_INDEX_FILE": index} if index else {}
        self._dirs: tuple[Path, Path] | None = None
        self._lock: int | None = None
        self._believed: Believed | None = None
        self._listed: tuple[bytes, Listing] | None = None  # the checksum of an index, its entries
        self._named: tuple[object, bytes] | None = None  # who commits, in git's lines of a commit

    @contextmanager
    def fenced(self, lock: int) -> Iterator[None]:
        """Let what moves the index and the branch hold this lock's descriptor too.

        Were this process killed, no other one could take the lock before they have ended.
        """
        self._lock = lock
        try:
            yield
        finally:
            self._lock = None

    @cached_property
    def objects(self) -> Objects:
        """The repository's object database."""
        return Objects(self.dirs()[1] / "objects")

    def run(
        self,
        *args: str,
        data: bytes = b"",
        env: Mapping[str, str] | None = None,
        ok: Sequence[int] = (0,),
        patience: float | None = None,
        fenced: bool = False,
    ) -> bytes:
        """Standard output of one git call; GitError with git's own words otherwise.

        After `patience` seconds it is killed and TimeoutError raised. `fenced`: it holds the
        writer's lock as long as it lives.
        """
        settings = {**self._index, **(env or {})}
        lock = self._lock if fenced else None
        code, out, err = launched(self.root, args, data, settings, patience, lock)
        if code not in ok:
            raise GitError(said(args[0], err))
        return out

    def text(self, *args: str, ok: Sequence[int] = (0,)) -> str:
        """Standard output as one stripped text."""
        return self.run(*args, ok=ok).decode(errors="replace").strip()

    # ── where and in which state ─────────────────────────────────────────────────────

    def dirs(self) -> tuple[Path, Path]:
        """(git dir, git common dir); NotAVaultError where the root is not a repository's."""
        if self._dirs is None:
            plain = standing.git_dir(self.root)
            self._dirs = (plain, plain) if plain else self.asked_dirs()
        return self._dirs

    def asked_dirs(self) -> tuple[Path, Path]:
        """The same as git itself says it, whatever the files look like."""
        try:
            asked = ("--show-prefix", "--git-dir", "--git-common-dir", "--show-object-format")
            said = self.run("rev-parse", *asked)
        except GitError as error:
            raise NotAVaultError(
                f"{self.root}: not the root of a git repository ({error}); "
                "run `skillvault init` there"
            ) from None
        prefix, own, common, form = os.fsdecode(said).removesuffix("\n").split("\n")
        if form != "sha1":
            raise NotAVaultError(
                f"{self.root}: a {form} repository; a vault needs one with sha1 ids"
            )
        if prefix:
            raise NotAVaultError(
                f"{self.root}: a vault must be the root of its git repository, and this is "
                f"the folder {prefix} of another one"
            )
        return (self.root / own).resolve(), (self.root / common).resolve()

    def plain_head(self) -> str | None:
        """What HEAD names, where that can be read without git; it may be no commit."""
        return standing.head(self.dirs()[0])

    def head(self) -> str | None:
        """The commit that HEAD names; None on an unborn branch."""
        return self.text("rev-parse", "--verify", "--quiet", "HEAD^{commit}", ok=(0, 1)) or None

    def branch(self) -> str | None:
        """The branch that HEAD stands on; None when it is detached."""
        name = self.text("symbolic-ref", "--quiet", "HEAD", ok=(0, 1))
        return name.removeprefix("refs/heads/") or None

    def tip(self, branch: str) -> str | None:
        """The commit of this branch where HEAD stands on it; None where it does not."""
        if plain := standing.tip(self.dirs()[0], branch):
            return plain
        said = self.text("for-each-ref", "--format=%(HEAD)%(objectname)", f"refs/heads/{branch}")
        found = (line for line in said.splitlines() if line.startswith("*"))
        return next(found, "").removeprefix("*") or None

    def pause_reason(self, branch: str, *, founding: bool = False) -> str | None:
        """Why nothing may be committed now; None when all is normal.

        `founding`: the branch may be without a commit.
        """
        if self.settings().bare:
            return "the repository is bare; a vault needs a work tree"
        if unfit := self._unfit():
            return unfit
        if self.tip(branch) is None and (elsewhere := self._elsewhere(branch, founding)):
            return elsewhere
        if self._listing().unmerged:
            return "the index has unmerged files; resolve them, then git add and git commit"
        return None

    def _listing(self) -> Listing:
        """The index as it is now; git lists each state of it once."""
        before = None if self._index else self.index_sum()
        if self._listed and self._listed[0] == before:
            return self._listed[1]
        found = Listing(self.run("ls-files", "--stage", "-z"))
        same = before if before == self.index_sum() else None
        self._listed = (same, found) if same else None
        return found

    def index_sum(self) -> bytes | None:
        """The checksum that stands at the end of the index; None where it has none."""
        try:
            with (self.dirs()[0] / "index").open("rb") as index:
                index.seek(-_SUM, os.SEEK_END)
                found = index.read(_SUM)
        except OSError:
            return None
        return found if any(found) else None

    def _elsewhere(self, branch: str, founding: bool) -> str | None:
        """Where HEAD stands, if not on the branch's commit."""
        current = self.branch()
        if current is None:
            return f"HEAD is detached; run `git switch {branch}`"
        if current != branch:
            return (
                f"on branch {current}, but the vault learns on {branch}; run `git switch {branch}`"
            )
        return None if founding else "the branch has no commit yet; run `skillvault init`"

    def _unfit(self) -> str | None:
        """What lies in the git dir that must be finished or mended first."""
        own, common = self.dirs()
        for name, what in _IN_PROGRESS.items():
            if (own / name).exists():
                return f"{what} is in progress; finish or abort it"
        if (common / "shallow").exists():
            return "the clone is shallow, its history incomplete; run `git fetch --unshallow`"
        return None

    def nameless(self) -> str | None:
        """That git does not know who commits, and what to do; None where it does."""
        settings = self.settings()
        named = settings.named and not _NAMED_OTHERWISE & os.environ.keys()
        if named or (self._named and self._named[0] == settings.who()):
            return None
        try:
            self.run("-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT")
        except GitError:
            return _NOBODY
        return None

    def create(self, branch: str) -> None:
        """Make the root a repository whose first branch is `branch`."""
        self.run(
            "init",
            "--quiet",
            f"--initial-branch={branch}",
            "--template=",
            "--object-format=sha1",  # the one that `snapshot.blob_id` computes
        )

    def hooks_dir(self) -> Path:
        """Where git looks for hooks, the person's own `core.hooksPath` respected."""
        said = self.text("config", "--get-all", "--type=path", "core.hooksPath", ok=(0, 1))
        own = said.splitlines()[:-1]  # the last one is this wrapper's own setting
        return self.root / own[-1] if own else self.dirs()[1] / "hooks"

    # ── reading ──────────────────────────────────────────────────────────────────────

    def tree(self, commit: str, paths: Sequence[str] | None = None) -> dict[str, Entry]:
        """path -> entry of every file of a commit, of these paths only where given."""
        found: dict[str, Entry] = {}
        for chunk in [()] if paths is None else _chunks(paths):
            out = self.run("ls-tree", "-r", "-z", "--full-tree", commit, "--", *chunk)
            for line in _records(out):
                meta, _, path = line.partition("\t")
                mode, kind, blob = meta.split(" ")
                if kind == "blob":
                    found[path] = Entry(mode, blob)
        return found

    def has(self, commit: str) -> bool:
        """Whether a commit is still there; one that nothing refers to is gone in time."""
        return self.text("cat-file", "-t", commit, ok=(0, 128)) == "commit"

    def changed(self, old: str, new: str) -> dict[str, Entry | None]:
        """path -> its entry in `new`, None where it has none, of the files that differ."""
        out = self.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old, new)
        found: dict[str, Entry | None] = {}
        parts = iter(_records(out))
        for meta, path in zip(parts, parts, strict=True):
            _, mode, _, blob, status = meta.split(" ")
            if status != "D" and mode != SUBMODULE:
                found[path] = Entry(mode, blob)
            else:
                found[path] = None
        return found

    def entries(self, commit: str | None, paths: Sequence[str]) -> dict[str, Entry]:
        """path -> entry of these files of a commit."""
        return self.objects.entries(self.objects.root(commit) if commit else None, paths)

    def staged(self, paths: Iterable[str] | None = None) -> dict[str, Entry]:
        """path -> entry of the index, of these paths and what is below them only where given."""
        return self._listing().entries(paths)

    def blobs(self, ids: Iterable[str]) -> dict[str, bytes]:
        """blob id -> bytes."""
        return self.objects.blobs(ids)

    def files_at(self, places: Sequence[str]) -> dict[str, bytes]:
        """`<commit>:<path>` or blob id -> bytes, for those that exist, all in one call."""
        if not places:
            return {}
        out = self.run("cat-file", "--batch", data="\n".join([*places, ""]).encode())
        found: dict[str, bytes] = {}
        at = 0
        for place in places:
            end = out.index(b"\n", at)
            header = out[at:end].split(b" ")
            at = end + 1
            if header[-1] == b"missing":
                continue
            size = int(header[2])
            found[place] = out[at : at + size]
            at += size + 1
        return found

    def passed(self, branch: str) -> set[str]:
        """The commits that a branch stood at, as far back as its reflog tells."""
        out = self.run("log", "-g", "--format=%H", f"refs/heads/{branch}", "--", ok=(0, 128))
        return set(out.decode().split())

    def is_ancestor(self, older: str, newer: str) -> bool:
        """True where `newer` holds all the history of `older`."""
        return self.text("merge-base", older, newer, ok=(0, 1, 128)) == older

    def log(self, span: str) -> Iterator[tuple[Commit, list[str]]]:
        """(commit, its parents) of a span of the history, parents first.

        `step` is "" for a commit that is a person's.
        """
        trailer = "%(trailers:key={},valueonly,separator=%x1f)"
        form = "%H%x00%cI%x00%s%x00%P%x00" + "%x00".join(
            trailer.format(key) for key in (STEP, SOURCE, TARGET)
        )
        out = self.run("log", "-z", "--topo-order", "--reverse", f"--format={form}", span, "--")
        for sha, date, subject, parents, step, sources, targets in _rows(out, 7):
            made = Commit(sha, step, subject, utc(date), _values(sources), _values(targets))
            yield made, parents.split()

    def touched(self, span: str) -> dict[str, list[str]]:
        """commit -> the paths that it changes, for the commits of a span but for merges."""
        # An empty field tells that a commit begins: no path is empty.
        args = ("-z", "--no-renames", "--name-only", "--format=%x00%H")
        parts = iter(
            self.run("log", *args, span, "--").decode(errors="surrogateescape").split("\0")
        )
        found: dict[str, list[str]] = {}
        paths: list[str] = []
        for part in parts:
            if part:
                paths.append(part if paths else part.removeprefix("\n"))
            elif commit := next(parts, ""):
                paths = found.setdefault(commit, [])
        return found

    def between(self, old: str, new: str) -> list[str]:
        """The commits of the history of `new` that are not in that of `old`."""
        return self.text("rev-list", new, f"^{old}").split()

    def deletions(self) -> dict[str, str]:
        """path -> the latest commit that removed it, for every path not in HEAD."""
        out = self.run(
            "log", "--no-renames", "--diff-filter=D", "--format=%x1e%H", "--name-only", "-z"
        )
        found: dict[str, str] = {}
        for block in out.decode(errors="surrogateescape").split("\x1e")[1:]:
            sha, *paths = (part.strip("\n") for part in block.split("\0"))
            for path in filter(None, paths):
                found.setdefault(path, sha)
        return found

    # ── writing ──────────────────────────────────────────────────────────────────────

    def settings(self) -> Settings:
        """What the config says of making commits, asked of git when its files have changed."""
        if self._believed is None or not self._believed.stands:
            since = time.time()
            listed = self.run("config", "--show-scope", "--show-origin", "-z", "--list")
            said = launch.Config(listed)
            self._believed = believed(said, self.root, since)
            return settings_of(said)
        return self._believed.settings

    def commits(
        self, made: Sequence[tuple[str, str]], parent: str | None, at: datetime, settings: Settings
    ) -> list[str]:
        """The commit objects of (tree, message) one after the other, on `parent`.

        In the person's name, and signed where their git signs. PausedError where git does not
        know that name, or the signing fails or does not end.
        """
        found: list[str] = []
        who = settings.who()
        known = self._named[1] if self._named and self._named[0] == who else b""
        lines = b"" if settings.signs else _dated(known, at)
        for tree, message in made:
            if lines:
                commit = _commit(tree, parent, lines, message)
                parent = self.objects.write_commit(commit)
            else:
                parent = self._commit_tree(tree, parent, message, at, settings)
                if not settings.signs:
                    lines = _names(self.objects.commit(parent))
                    self._named = who, lines
            found.append(parent)
        return found

    def _commit_tree(
        self, tree: str, parent: str | None, message: str, at: datetime, settings: Settings
    ) -> str:
        args = [*(["-p", parent] if parent else []), *(["-S"] if settings.signs else []), "-F", "-"]
        env = {"GIT_AUTHOR_DATE": stamp(at), "GIT_COMMITTER_DATE": stamp(at), **settings.signing}
        text = _message(message)
        try:
            out = self.run("commit-tree", tree, *args, data=text, env=env, patience=_SIGNING_WAIT)
        except TimeoutError:
            raise PausedError(
                f"paused: signing the commit did not end in {_SIGNING_WAIT:.0f} s; unlock the "
                "key, or set commit.gpgSign to false in this vault"
            ) from None
        except GitError as error:
            if any(word in str(error) for word in _NO_IDENTITY):
                raise PausedError(f"paused: {_NOBODY}") from None
            if not settings.signs:
                raise
            raise PausedError(
                f"paused: the commit could not be signed ({error}); repair the signing, or set "
                "commit.gpgSign to false in this vault"
            ) from None
        return out.decode().strip()

    def stage(self, entries: Mapping[str, Entry | None], settings: Settings) -> None:
        """Set exactly these entries of the person's index; VaultBusyError while it is locked."""
        deadline = time.monotonic() + _INDEX_WAIT
        info = _index_info(entries)
        self._listed = None  # what it takes at 100,000 files is not held between commits
        while True:
            try:
                args = ("update-index", "-z", "--index-info")
                self.run(*args, data=info, env=settings.staging, fenced=True)
            except GitError as error:
                if "index.lock': File exists" not in str(error):
                    raise
                if time.monotonic() >= deadline:
                    raise VaultBusyError(
                        f"another git has locked the index ({error}); try again when it ends"
                    ) from None
                time.sleep(0.1)
            else:
                return

    def swap(
        self, branch: str, new: str, old: str | None, subject: str, *, durable: bool = False
    ) -> bool:
        """Move the branch from `old` to `new`; False when it no longer stands at `old`."""
        ref = f"refs/heads/{branch}"
        try:
            note = f"skillvault: {subject}".replace("\0", " ")
            args = ("update-ref", "-m", note, ref, new, old or ABSENT)
            self.run(*args, env=_SYNCED if durable else None, fenced=True)
        except GitError:
            if self.text("rev-parse", "--verify", "--quiet", ref, ok=(0, 1)) != (old or ""):
                return False
            raise
        return True


def utc(date: str) -> str:
    """A time as git prints it, in one notation whatever its version."""
    return date.removesuffix("Z") + "+00:00" if date.endswith("Z") else date


def _message(text: str) -> bytes:
    return text.replace("\0", " ").encode()


def _names(commit: bytes) -> bytes:
    """The lines of a commit object that say who made it, when and in which encoding."""
    head, _, _ = commit.partition(b"\n\n")
    lines = [line for line in head.split(b"\n") if not line.startswith((b"tree ", b"parent "))]
    return b"\n".join(lines)


def _dated(names: bytes, at: datetime) -> bytes:
    """These lines at another time."""
    return _WHEN.sub(b"> %d +0000" % at.timestamp(), names)


def _commit(tree: str, parent: str | None, names: bytes, message: str) -> bytes:
    """A commit object with these names."""
    lines = [f"tree {tree}".encode(), *([f"parent {parent}".encode()] if parent else []), names]
    return b"\n".join([*lines, b"", _message(message)])


def _index_info(entries: Mapping[str, Entry | None]) -> bytes:
    lines = (
        f"{entry.mode} {entry.id}\t{path}\0" if entry else f"0 {ABSENT}\t{path}\0"
        for path, entry in entries.items()
    )
    return "".join(lines).encode(errors="surrogateescape")


def _rows(out: bytes, width: int) -> Iterator[list[str]]:
    """The records of `width` fields in an output where each field ends with a NUL."""
    fields = out.decode(errors="replace").split("\0")
    return (fields[i : i + width] for i in range(0, len(fields) - 1, width))


def _records(out: bytes) -> Iterator[str]:
    return (line.decode(errors="surrogateescape") for line in out.split(b"\0") if line)


def _chunks(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    return (paths[i : i + _CHUNK] for i in range(0, len(paths), _CHUNK))


def _values(field: str) -> tuple[str, ...]:
    return tuple(value for value in field.split("\x1f") if value)

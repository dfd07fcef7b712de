"""The only module that speaks to git: one hardened wrapper, small functions behind it.

Never the porcelain that commits, stages or cleans, never `repo.index`; GitPython only
launches git. What a repository's own config could run is switched off in each call.
"""

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from skillvault.change import SOURCE, STEP, TARGET
from skillvault.errors import GitError, NotAVaultError, PausedError, VaultBusyError
from skillvault.records import Commit, stamp
from skillvault.vault import trees
from skillvault.vault.launch import as_environment, filters_off, launched, said, signers

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
_SIGNING_WAIT = 60.0  # seconds that a person has to unlock a key
_INDEX_WAIT = 5.0  # seconds that a person's own git may hold the index
_CHUNK = 1000  # paths on one command line

ABSENT = "0" * 40


class Entry(Struct, frozen=True):
    """A file in a tree or an index: its mode and blob id."""

    mode: str
    blob: str


class Git:
    """One repository. Holds no process and no handle between calls.

    `index` is the index file to read where a hook was handed another one.
    """

    def __init__(self, root: Path, index: str | None = None) -> None:
        self.root = root
        self._index = {"GIT_INDEX_FILE": index} if index else {}
        self._dirs: tuple[Path, Path] | None = None

    def run(
        self,
        *args: str,
        data: bytes = b"",
        env: Mapping[str, str] | None = None,
        ok: Sequence[int] = (0,),
        patience: float | None = None,
    ) -> bytes:
        """Standard output of one git call; GitError with git's own words otherwise.

        After `patience` seconds it is killed and TimeoutError raised.
        """
        settings = {**self._index, **(env or {})}
        code, out, err = launched(self.root, args, data, settings, patience)
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
            self._dirs = (self.root / own).resolve(), (self.root / common).resolve()
        return self._dirs

    def head(self) -> str | None:
        """The commit that HEAD names; None on an unborn branch."""
        return self.text("rev-parse", "--verify", "--quiet", "HEAD^{commit}", ok=(0, 1)) or None

    def branch(self) -> str | None:
        """The branch that HEAD stands on; None when it is detached."""
        name = self.text("symbolic-ref", "--quiet", "HEAD", ok=(0, 1))
        return name.removeprefix("refs/heads/") or None

    def pause_reason(self, branch: str, *, founding: bool = False) -> str | None:
        """Why nothing may be committed now; None when all is normal.

        `founding`: the branch may be without a commit.
        """
        if unfit := self._unfit():
            return unfit
        current = self.branch()
        if current is None:
            return f"HEAD is detached; run `git switch {branch}`"
        if current != branch:
            return f"on branch {current}, and the vault learns on {branch}; switch back"
        if self.head() is None and not founding:
            return "the branch has no commit yet; run `skillvault init`"
        if self.run("ls-files", "--unmerged", "-z"):
            return "the index has unmerged files; resolve them"
        return None

    def _unfit(self) -> str | None:
        """What lies in the git dir that must be finished or mended first."""
        own, common = self.dirs()
        for name, what in _IN_PROGRESS.items():
            if (own / name).exists():
                return f"{what} is in progress; finish or abort it"
        if (common / "shallow").exists():
            return "the clone is shallow, its history incomplete; run `git fetch --unshallow`"
        return None

    def check_identity(self) -> None:
        """PausedError where git does not know who commits."""
        try:
            self.run("-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT")
        except GitError:
            raise PausedError(_NOBODY) from None

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

    def staged(self, paths: Sequence[str] | None = None) -> dict[str, Entry]:
        """path -> entry of the index, of these paths only where given."""
        found: dict[str, Entry] = {}
        for chunk in [None] if paths is None else _chunks(paths):
            out = self.run("ls-files", "--stage", "-z", "--", *(chunk or ()))
            for line in _records(out):
                meta, _, path = line.partition("\t")
                mode, blob, stage = meta.split(" ")
                if stage == "0":
                    found[path] = Entry(mode, blob)
        return found

    def blobs(self, ids: Iterable[str]) -> dict[str, bytes]:
        """blob id -> bytes, all in one call."""
        wanted = list(dict.fromkeys(ids))
        found = self.files_at(wanted)
        if missing := [blob for blob in wanted if blob not in found]:
            raise GitError(f"object {missing[0]} cannot be read; run `git fsck`")
        return found

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

    def is_ancestor(self, older: str, newer: str) -> bool:
        """True where `newer` holds all the history of `older`."""
        return self.text("merge-base", older, newer, ok=(0, 1, 128)) == older

    def commits(self, head: str, *, since: str | None = None) -> Iterator[Commit]:
        """The program's commits up to `head`, newest first; those after `since` alone."""
        trailer = "%(trailers:key={},valueonly,separator=%x1f)"
        form = "%H%x00%cI%x00%s%x00" + "%x00".join(
            trailer.format(key) for key in (STEP, SOURCE, TARGET)
        )
        span = f"{since}..{head}" if since else head
        out = self.run("log", "-z", "--no-renames", f"--format={form}", span, "--")
        for sha, date, subject, step, sources, targets in _rows(out, 6):
            if step:
                yield Commit(sha, step, subject, date, _values(sources), _values(targets))

    def touching(self, paths: Sequence[str]) -> list[Commit]:
        """Every commit that touches these paths, newest first; `step` is "" for a person's."""
        if not paths:
            return []
        form = f"%H%x00%cI%x00%s%x00%(trailers:key={STEP},valueonly,separator=%x1f)"
        out = self.run("log", "-z", "--no-renames", f"--format={form}", "--", *paths)
        return [Commit(sha, step, subject, date) for sha, date, subject, step in _rows(out, 4)]

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

    def store_blobs(self, contents: Sequence[bytes], folder: Path) -> list[str]:
        """Blob ids of these contents, written without filters; `folder` takes the drafts."""
        names = []
        for number, content in enumerate(contents):
            draft = folder / f"blob-{number}"
            draft.write_bytes(content)
            names.append(str(draft))
        out = self.run(
            "hash-object",
            "-w",
            "--no-filters",
            "--stdin-paths",
            data="\n".join([*names, ""]).encode(),
        )
        return out.decode().split()

    def write_tree(self, base: str | None, entries: Mapping[str, Entry | None]) -> str:
        """The id of the tree of `base` with these entries set or (None) removed.

        Only the folders on the paths are read and written, whatever the vault's size.
        """
        levels = trees.levels(entries)
        found = self._folders(base, [folder for level in levels for folder in level])
        trees.put(found, {p: trees.Node(e.mode, e.blob) if e else None for p, e in entries.items()})
        for level in levels:
            kept = [folder for folder in level if found[folder] or not folder]
            out = self.run("mktree", "-z", "--batch", data=trees.listed([found[f] for f in kept]))
            ids = dict(zip(kept, out.decode().split(), strict=True))
            trees.hang(found, level, ids)
        return ids[""]

    def _folders(self, base: str | None, folders: Sequence[str]) -> dict[str, trees.Tree]:
        """folder -> its entries in a commit; empty where it has no such folder."""
        if base is None:
            return {folder: {} for folder in folders}
        names = "".join(f"{base}:{folder}\n" for folder in folders)
        out = self.run("cat-file", "--batch", data=names.encode(errors="surrogateescape"))
        return dict(zip(folders, trees.parsed(out), strict=True))

    def commit_tree(self, tree: str, parent: str | None, message: str, at: datetime) -> str:
        """A commit object, in the person's name and signed where their git signs.

        PausedError where git does not know that name, or the signing does not end.
        """
        signs = self.text("config", "--type=bool", "--get", "commit.gpgSign", ok=(0, 1)) == "true"
        args = [*(["-p", parent] if parent else []), *(["-S"] if signs else []), "-F", "-"]
        settings = {"user.useConfigOnly": "true"}
        if signs:
            gpg = ("config", "--show-scope", "-z", "--get-regexp", r"^gpg\.")
            settings |= signers(self.run(*gpg, ok=(0, 1)))
        env = {
            "GIT_AUTHOR_DATE": stamp(at),
            "GIT_COMMITTER_DATE": stamp(at),
            **as_environment(settings),
        }
        text = message.replace("\0", " ").encode()
        try:
            out = self.run("commit-tree", tree, *args, data=text, env=env, patience=_SIGNING_WAIT)
        except TimeoutError:
            raise PausedError(
                f"paused: signing the commit did not end in {_SIGNING_WAIT:.0f} s; unlock the "
                "key, or set commit.gpgSign to false in this vault"
            ) from None
        except GitError as error:
            if not any(word in str(error) for word in _NO_IDENTITY):
                raise
            raise PausedError(f"paused: {_NOBODY}") from None
        return out.decode().strip()

    def stage(self, entries: Mapping[str, Entry | None]) -> None:
        """Set exactly these entries of the person's index; VaultBusyError while it is locked."""
        deadline = time.monotonic() + _INDEX_WAIT
        filters = ("config", "--name-only", "-z", "--get-regexp", r"^filter\.")
        env = as_environment(filters_off(self.run(*filters, ok=(0, 1))))
        info = _index_info(entries)
        while True:
            try:
                self.run("update-index", "-z", "--index-info", data=info, env=env)
            except GitError as error:
                if "index.lock" not in str(error):
                    raise
                if time.monotonic() >= deadline:
                    raise VaultBusyError(
                        f"another git holds the index ({error}); try again when it is done"
                    ) from None
                time.sleep(0.1)
            else:
                return

    def swap(self, branch: str, new: str, old: str | None, subject: str) -> bool:
        """Move the branch from `old` to `new`; False when it no longer stands at `old`."""
        ref = f"refs/heads/{branch}"
        try:
            note = f"skillvault: {subject}".replace("\0", " ")
            self.run("update-ref", "-m", note, ref, new, old or ABSENT)
        except GitError:
            if self.text("rev-parse", "--verify", "--quiet", ref, ok=(0, 1)) != (old or ""):
                return False
            raise
        return True


def _index_info(entries: Mapping[str, Entry | None]) -> bytes:
    lines = (
        f"{entry.mode} {entry.blob}\t{path}\0" if entry else f"0 {ABSENT}\t{path}\0"
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

"""Fetch and push the shared branch of a vault, and fetch the files of a foreign repository.

Nothing of a foreign repository is checked out. Git asks for no password and runs no hook. A
GitError with git's message is raised if a remote cannot be reached.
"""

import getpass
import os
import re
import secrets
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from msgspec import Struct

from skillvault.model.errors import GitError
from skillvault.model.lazy import regex
from skillvault.model.text.text import slug
from skillvault.vault.disk import read_state
from skillvault.vault.git.config import CLONE
from skillvault.vault.git.history import list_files
from skillvault.vault.git.objects import EXECUTABLE, REGULAR, SUBMODULE, Entry, Objects, with_mode
from skillvault.vault.git.process import NO_REMOTE_REF, Runner, as_environment, failure_of
from skillvault.vault.git.promisor import SECONDS, SSH, call_remote
from skillvault.vault.git.refs import ABSENT, RefUpdate
from skillvault.vault.git.repository import Git

PROPOSAL = "proposal/"  # the folder of the branches that approve a proposal
_USER_CHARACTERS = 24  # of a user's name in the name of a clone


def clone_name(git: Git) -> str:
    """Return the name of this clone. The first time, choose a name and save it in the config."""
    if name := git.settings().clone:
        return name
    try:
        user = slug(getpass.getuser(), limit=_USER_CHARACTERS)
    except (KeyError, OSError):  # a container's user may have no name
        user = ""
    name = f"{user or 'clone'}-{secrets.token_hex(2)}"
    git.run("config", "--local", CLONE, name)
    return name


_OPTIONS = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
_REFUSAL = regex(r"^!\t\S+\t\[(?P<origin>[^\]]*)\] \((?P<reason>.*)\)", re.MULTILINE)
# A remote answers so if another push came a moment earlier.
_RACE = regex(r"lock|incorrect old value|failed to update ref|reference already exists|stale")

Answer = Literal["accepted", "outrun"]


class Upstream:
    """The branch of a remote through which clones share a vault; see `upstream_of`."""

    def __init__(self, git: Git, remote: str, branch: str) -> None:
        self._git = git
        self.remote = remote
        self.branch = branch

    @property
    def address(self) -> str:
        """The URL or path of the remote."""
        return self._git.text("remote", "get-url", "--", self.remote)

    def fetch(self) -> str | None:
        """Fetch the branch and return its commit, or None if the remote does not have it yet.

        The branches of proposals are fetched, too, and removed here if the remote removed them.
        """
        tracking_ref = f"refs/remotes/{self.remote}/{self.branch}"
        spec = f"+refs/heads/{self.branch}:{tracking_ref}"
        proposals = f"+refs/heads/{PROPOSAL}*:refs/remotes/{self.remote}/{PROPOSAL}*"
        try:
            self._call("fetch", "--prune", *_OPTIONS, "--", self.remote, spec, proposals)
        except GitError as error:
            if NO_REMOTE_REF in str(error):
                return None
            raise
        return self._git.text("rev-parse", "--verify", f"{tracking_ref}^{{commit}}")

    def count_unpushed(self, tip: str | None) -> int:
        """Return how many commits of `tip` the remote lacked at the last fetch."""
        if tip is None:
            return 0
        commit = self._git.history.commit_named(f"refs/remotes/{self.remote}/{self.branch}")
        span = [tip, f"^{commit}"] if commit else [tip]
        return int(self._git.text("rev-list", "--count", *span))

    def push(self, commit: str) -> Answer:
        """Push a commit to the branch. Return "outrun" if somebody else moved the branch first.

        Raises GitError with the remote's message if the remote refuses or cannot be reached.
        """
        return self._push(f"{commit}:refs/heads/{self.branch}")

    def push_proposal(self, branch: str) -> Answer:
        """Push the branch of a proposal. See `push` for results and errors."""
        return self._push(f"refs/heads/{branch}:refs/heads/{branch}")

    def remove_branch(self, branch: str, commit: str) -> Answer:
        """Remove a branch from the remote if it is still at `commit`. See `push`."""
        lease = f"--force-with-lease=refs/heads/{branch}:{commit}"
        return self._push(f":refs/heads/{branch}", options=[lease])

    def _push(self, *specs: str, options: Sequence[str] = ()) -> Answer:
        arguments = ("push", "--porcelain", *options, "--", self.remote, *specs)
        code, output = self._call(*arguments, ok=(0, 1))
        if code == 0:
            return "accepted"
        refusal = _REFUSAL.search(output.decode(errors="replace"))
        if refusal and (refusal["origin"] == "rejected" or _RACE.search(refusal["reason"])):
            return "outrun"
        reason = refusal["reason"] if refusal else "failed without a message"
        raise GitError(f"git push: {self.remote} refuses it: {reason}")

    def fetch_all(self) -> dict[str, str]:
        """Fetch all branches and new tags. Return the ids of the remote's refs by name."""
        _, output = self._call("ls-remote", "--quiet", "--heads", "--tags", "--refs", self.remote)
        refs = {ref: sha for sha, ref in map(str.split, output.decode().splitlines())}
        tags = self._git.text("for-each-ref", "--format=%(refname)", "refs/tags").split("\n")
        specs = [f"{ref}:{ref}" for ref in refs if ref.startswith("refs/tags/") and ref not in tags]
        specs.append(f"+refs/heads/*:refs/remotes/{self.remote}/*")
        self._call("fetch", *_OPTIONS, "--prune", "--", self.remote, *specs)
        return refs

    def replace(self, moves: Sequence[RefUpdate]) -> None:
        """Replace refs of the remote, all or none, if each is still at its old commit.

        This is a forced push, so only `skillvault erase` may call it.
        """
        ids = {ABSENT: ""}
        leases = [f"--force-with-lease={move.ref}:{ids.get(move.old, move.old)}" for move in moves]
        specs = [f"{ids.get(move.new, move.new)}:{move.ref}" for move in moves]
        if self._push(*specs, options=["--atomic", *leases]) == "outrun":
            raise GitError(f"git push: somebody pushed to {self.remote} meanwhile; erase again")

    def _call(self, *args: str, ok: tuple[int, ...] = (0,)) -> tuple[int, bytes]:
        return call_remote(self._git.runner, self.remote, *args, ok=ok)


def upstream_of(git: Git, branch: str) -> Upstream | None:
    """Return the configured remote of a branch, else `origin`, else the first remote."""
    settings = git.settings()
    remotes = settings.remotes
    names = (settings.branch_remotes.get(branch, ""), "origin", *remotes[:1])
    remote = next((name for name in names if name in remotes), None)
    return Upstream(git, remote, branch) if remote else None


_MAX_BYTES = 512 * 1024 * 1024  # the largest packed repository
_PAUSE = 0.2
_FETCH_SETTINGS = {
    "http.followRedirects": "false",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "20",
    "credential.interactive": "false",
    "fetch.recurseSubmodules": "false",
    "core.askPass": "",
}
_FETCH_ENVIRONMENT = as_environment(_FETCH_SETTINGS) | {
    "GIT_ALLOW_PROTOCOL": "https:ssh:file", "GIT_SSH_COMMAND": SSH,
}  # fmt: skip
_LINK = "120000"  # the mode of a symbolic link


class RemoteFiles(Struct, frozen=True):
    """The files of a commit, with their entries and sizes by path.

    `unusable` has the reasons for paths that are not plain files, `links` the targets of links.
    """

    commit: str
    entries: dict[str, Entry]
    sizes: dict[str, int]
    unusable: dict[str, str]
    links: dict[str, str]
    objects: Objects

    def contents_of(self, paths: Sequence[str]) -> dict[str, bytes]:
        """Return the contents of these files by path."""
        entries = {path: self.entries[path] for path in paths}
        blobs = self.objects.blobs(entry.id for entry in entries.values())
        return {path: with_mode(blobs[entry.id], entry) for path, entry in entries.items()}


@contextmanager
def fetch_files(url: str, ref: str) -> Iterator[RemoteFiles]:
    """Fetch the files of a repository at a ref ("" is HEAD) to a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="skillvault-") as folder:
        runner = Runner(Path(folder))
        runner.run("init", "--bare", "--quiet", "--template=", "--object-format=sha1")
        _fetch(runner, Path(folder), url, ref or "HEAD")
        commit = runner.text("rev-parse", "--verify", "FETCH_HEAD^{commit}")
        yield _list_plain_files(runner, Objects(Path(folder) / "objects"), commit)


def _fetch(runner: Runner, folder: Path, url: str, ref: str) -> None:
    options = ("--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-gc")
    args = ("fetch", *options, "--", url, ref)
    deadline = time.monotonic() + SECONDS
    with runner.detach(*args, env=_FETCH_ENVIRONMENT) as process:
        stderr = None
        while stderr is None:
            if time.monotonic() > deadline:
                raise GitError(f"git fetch: {url} is too slow; try again later")
            if _measure_folder(folder) > _MAX_BYTES:
                raise GitError(f"git fetch: {url} is larger than {_MAX_BYTES // 1024**2} MiB")
            with suppress(subprocess.TimeoutExpired):
                _, stderr = process.communicate(timeout=_PAUSE)
        if process.returncode:
            raise GitError(failure_of("fetch", stderr))


def _measure_folder(root: Path) -> int:
    paths = (f"{folder}/{name}" for folder, _, names in os.walk(root) for name in names)
    # Git may move a file meanwhile.
    return sum(state.st_size for state in map(read_state, paths) if state)


def _list_plain_files(runner: Runner, objects: Objects, commit: str) -> RemoteFiles:
    entries: dict[str, Entry] = {}
    sizes: dict[str, int] = {}
    unusable_paths: dict[str, str] = {}
    link_blobs: dict[str, str] = {}
    for path, (mode, blob), size in list_files(runner, commit):
        if mode in (REGULAR, EXECUTABLE):
            entries[path], sizes[path] = Entry(mode, blob), int(size)
        elif mode == _LINK:
            link_blobs[path] = blob
        else:
            unusable_paths[path] = "a submodule" if mode == SUBMODULE else "no plain file"
    blobs = objects.blobs(link_blobs.values())
    links = {path: blobs[blob].decode(errors="replace") for path, blob in link_blobs.items()}
    return RemoteFiles(commit, entries, sizes, unusable_paths, links, objects)

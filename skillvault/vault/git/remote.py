"""A repository of somebody else, as files: fetched once, never checked out.

Nothing of it runs: there is no work tree, so no hook, filter or submodule of it has a part. Only
https, ssh and file are spoken, whatever a person's config rewrites an address to.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from skillvault.model.errors import GitError
from skillvault.vault.git.objects import Objects
from skillvault.vault.git.process import Runner, failure_of
from skillvault.vault.git.trees import EXECUTABLE, REGULAR, Entry, with_mode

_SECONDS = 300.0  # for one fetch
_MAX_BYTES = 512 * 1024 * 1024  # of a repository, packed
_PAUSE = 0.2
_SETTINGS = {
    "http.followRedirects": "false",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "20",
    "credential.interactive": "false",
    "fetch.recurseSubmodules": "false",
    "core.askPass": "",
}
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "https:ssh:file",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=20",
}
_KINDS = {"120000": "a link", "160000": "a submodule"}


class RemoteFiles(Struct, frozen=True):
    """A commit's files: path -> entry, path -> size, and path -> why it is no plain file."""

    commit: str
    entries: dict[str, Entry]
    sizes: dict[str, int]
    unfit: dict[str, str]
    objects: Objects

    def read(self, paths: Sequence[str]) -> dict[str, bytes]:
        """The contents of some of them."""
        entries = {path: self.entries[path] for path in paths}
        blobs = self.objects.blobs(entry.id for entry in entries.values())
        return {path: with_mode(blobs[entry.id], entry) for path, entry in entries.items()}


@contextmanager
def fetched(url: str, ref: str, folder: str = "") -> Iterator[RemoteFiles]:
    """The files of a repository at a ref (its HEAD by default), in one of its folders.

    GitError with git's own words if it cannot be fetched.
    """
    with tempfile.TemporaryDirectory(prefix="skillvault-") as place:
        runner = Runner(Path(place))
        runner.run("init", "--bare", "--quiet", "--template=", "--object-format=sha1")
        _fetch(runner, Path(place), url, ref or "HEAD")
        commit = runner.text("rev-parse", "--verify", "FETCH_HEAD^{commit}")
        yield _plain_files(runner, Objects(Path(place) / "objects"), commit, folder)


def _fetch(runner: Runner, place: Path, url: str, ref: str) -> None:
    settings = [part for key, value in _SETTINGS.items() for part in ("-c", f"{key}={value}")]
    options = ("--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-gc")
    args = (*settings, "fetch", *options, "--", url, ref)
    deadline = time.monotonic() + _SECONDS
    with runner.alone(*args, env=_ENVIRONMENT) as process:
        err = None
        while err is None:
            if time.monotonic() > deadline:
                raise GitError(f"git fetch: {url} is too slow; try again later")
            if _size(place) > _MAX_BYTES:
                raise GitError(f"git fetch: {url} is larger than {_MAX_BYTES // 1024**2} MiB")
            with suppress(subprocess.TimeoutExpired):
                _, err = process.communicate(timeout=_PAUSE)
        if process.returncode:
            raise GitError(failure_of("fetch", err))


def _size(place: Path) -> int:
    """How much a fetch has brought so far."""
    size = 0
    for folder, _, names in os.walk(place):
        for name in names:
            try:
                size += (Path(folder) / name).lstat().st_size
            except FileNotFoundError:  # git has put it in its place since
                continue
    return size


def _plain_files(runner: Runner, objects: Objects, commit: str, folder: str) -> RemoteFiles:
    paths = ("--", folder) if folder else ()
    out = runner.run("ls-tree", "-r", "-z", "-l", "--full-tree", commit, *paths)
    entries: dict[str, Entry] = {}
    sizes: dict[str, int] = {}
    unfit: dict[str, str] = {}
    for line in filter(None, out.decode(errors="surrogateescape").split("\0")):
        meta, _, path = line.partition("\t")
        mode, _, blob, size = meta.split()
        if mode in (REGULAR, EXECUTABLE):
            entries[path], sizes[path] = Entry(mode, blob), int(size)
        else:
            unfit[path] = _KINDS.get(mode, "no plain file")
    return RemoteFiles(commit, entries, sizes, unfit, objects)

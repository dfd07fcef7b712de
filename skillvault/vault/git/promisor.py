"""Calls of a remote, and the objects of a partial clone that only its remote has.

Many objects are asked of the remote at once, in the way in which git itself asks for one.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from skillvault.model.errors import GitError
from skillvault.vault.git.config import Settings
from skillvault.vault.git.process import PARTIAL, Runner, as_environment

SECONDS = 300.0  # for one fetch or push
_SSH = "ssh -oBatchMode=yes -oConnectTimeout=20"
_SETTINGS = {
    "credential.interactive": "false",
    "http.lowSpeedLimit": "100",
    "http.lowSpeedTime": "60",
    "core.askPass": "",
}
_NO_TALK = {"fetch.negotiationAlgorithm": "noop"}  # the remote is told what is wanted, and no more
_PROTOCOLS = {"GIT_ALLOW_PROTOCOL": "https:http:ssh:file:git"}
_FETCH = (
    *("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"),
    *("--recurse-submodules=no", "--filter=blob:none", "--stdin"),
)
_CLONE = ("--quiet", "--no-checkout", "--template=", "--filter=blob:none")
_MOST = 20_000  # objects of one fetch
_FEW = 100  # objects that are fetched without a word
_LOG = logging.getLogger("skillvault")


def call_remote(
    runner: Runner,
    remote: str,
    *args: str,
    ok: Sequence[int] = (0,),
    stdin: bytes = b"",
    settings: dict[str, str] | None = None,
    patience: float | None = SECONDS,
) -> tuple[int, bytes]:
    """Return (exit code, output) of a git call that reaches a remote."""
    # The person's own ssh command; the repository's config has no say.
    ssh = runner.text("config", "--global", "core.sshCommand", ok=(0, 1)) or _SSH
    env = as_environment(_SETTINGS | (settings or {})) | _PROTOCOLS | {"GIT_SSH_COMMAND": ssh}
    try:
        return runner.answer(*args, ok=ok, env=env, patience=patience, stdin=stdin)
    except TimeoutError:
        raise GitError(f"git {args[0]}: {remote} is too slow; try again later") from None


def clone_history(url: str, root: Path) -> None:
    """Clone the commits and folders of a repository, without the content of files."""
    if Path(url).exists():
        url = Path(url).absolute().as_uri()  # of a path git would copy everything
    call_remote(Runner(root.parent), url, "clone", *_CLONE, "--", url, str(root), patience=None)


class Promisor:
    """The remote of a partial clone, which promised the objects that are missing here."""

    def __init__(self, runner: Runner, settings: Callable[[], Settings]) -> None:
        self._git = runner
        self._settings = settings

    def fetch(self, ids: Sequence[str]) -> None:
        """Fetch objects; GitError if the remote cannot be reached, or in a full clone."""
        remote = self._settings().promisor
        if remote is None:
            raise GitError(f"object {ids[0]} cannot be read; run `git fsck`")
        if len(ids) > _FEW:
            _LOG.warning("fetching %s files from %s, once", f"{len(ids):,}", remote)
        for start in range(0, len(ids), _MOST):
            lines = "".join(f"{name}\n" for name in ids[start : start + _MOST]).encode()
            words = ("fetch", *_FETCH, "--", remote)
            try:
                call_remote(self._git, remote, *words, stdin=lines, settings=_NO_TALK)
            except GitError as error:
                raise GitError(f"{error}; {PARTIAL} when {remote} can be reached") from None

    def fetch_history(self, span: str) -> None:
        """Fetch all that these commits have and this clone lacks; nothing in a full clone."""
        if self._settings().promisor is None:
            return
        out = self._git.run("rev-list", "--objects", "--missing=print", span, "--")
        lines = out.decode(errors="replace").split("\n")
        if missing := [line[1:] for line in lines if line.startswith("?")]:
            self.fetch(missing)

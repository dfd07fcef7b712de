"""Call remotes, and fetch the missing objects of a partial clone in few calls."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from skillvault.model.errors import GitError
from skillvault.vault.git.config import Settings
from skillvault.vault.git.process import PARTIAL_ADVICE, UNREADABLE, Runner, as_environment

SECONDS = 300.0  # for one fetch or push
SSH = "ssh -oBatchMode=yes -oConnectTimeout=20"
_SETTINGS = {
    "credential.interactive": "false",
    "http.lowSpeedLimit": "100",
    "http.lowSpeedTime": "60",
    "core.askPass": "",
}
_NO_NEGOTIATION = {"fetch.negotiationAlgorithm": "noop"}  # ask only for the wanted objects
_PROTOCOLS = {"GIT_ALLOW_PROTOCOL": "https:http:ssh:file:git"}
_FETCH = (
    *("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"),
    *("--recurse-submodules=no", "--filter=blob:none", "--stdin"),
)
_CLONE = ("--quiet", "--no-checkout", "--template=", "--filter=blob:none")
_BATCH = 20_000  # objects of one fetch
_QUIET_OBJECTS = 100  # up to so many are fetched without a message
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
    """Return (exit code, output) of a git command that talks to a remote."""
    # Use the person's ssh command; ignore the repository's.
    ssh = runner.text("config", "--global", "core.sshCommand", ok=(0, 1)) or SSH
    env = as_environment(_SETTINGS | (settings or {})) | _PROTOCOLS | {"GIT_SSH_COMMAND": ssh}
    try:
        return runner.answer(*args, ok=ok, env=env, patience=patience, stdin=stdin)
    except TimeoutError:
        raise GitError(f"git {args[0]}: {remote} is too slow; try again later") from None


def clone_history(url: str, root: Path) -> None:
    """Clone the commits and folders of a repository, without the contents of files."""
    if Path(url).exists():
        url = Path(url).absolute().as_uri()  # git would copy everything from a path
    call_remote(Runner(root.parent), url, "clone", *_CLONE, "--", url, str(root), patience=None)


class Promisor:
    """The remote of a partial clone, which has the objects that are missing here."""

    def __init__(self, runner: Runner, settings: Callable[[], Settings]) -> None:
        self._git = runner
        self._settings = settings

    def fetch(self, ids: Sequence[str]) -> None:
        """Fetch objects. Raise GitError if the remote cannot be reached, or in a full clone."""
        remote = self._settings().promisor
        if remote is None:
            raise GitError(f"object {ids[0]} {UNREADABLE}")
        if len(ids) > _QUIET_OBJECTS:
            _LOG.warning("fetching %s files from %s, once", f"{len(ids):,}", remote)
        for start in range(0, len(ids), _BATCH):
            lines = "".join(f"{object_id}\n" for object_id in ids[start : start + _BATCH]).encode()
            arguments = ("fetch", *_FETCH, "--", remote)
            try:
                call_remote(self._git, remote, *arguments, stdin=lines, settings=_NO_NEGOTIATION)
            except GitError as error:
                raise GitError(f"{error}; {PARTIAL_ADVICE} when {remote} can be reached") from None

    def fetch_history(self, span: str) -> None:
        """Fetch all objects of a revision range that a partial clone lacks."""
        if self._settings().promisor is None:
            return
        output = self._git.run("rev-list", "--objects", "--missing=print", span, "--")
        lines = output.decode(errors="replace").split("\n")
        if missing_ids := [line[1:] for line in lines if line.startswith("?")]:
            self.fetch(missing_ids)

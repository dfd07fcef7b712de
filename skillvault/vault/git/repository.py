"""Give access to one repository with the class `Git`: its folders, branch, HEAD and parts.

In a plain repository the git dir, HEAD and the tip are read without git: `.git` is a folder of the
user, the format is 0 or 1 without an extension, and HEAD is a branch with a loose or packed ref. In
any other repository, such as a linked work tree, git is asked.

No porcelain command of git that commits, stages or cleans is used.
"""

import os
import re
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

from skillvault.model.errors import GitError, NotAVaultError, PausedError, UsageError
from skillvault.model.lazy import regex
from skillvault.vault.disk import draft_name, is_abandoned
from skillvault.vault.git.committer import Committer
from skillvault.vault.git.config import LISTING, CachedSettings, Settings, cache_settings
from skillvault.vault.git.history import History
from skillvault.vault.git.index_file import IndexFile
from skillvault.vault.git.objects import Entry, Objects
from skillvault.vault.git.process import Runner, as_environment
from skillvault.vault.git.promisor import Promisor
from skillvault.vault.git.refs import ABSENT, RefSession, RefUpdate

_OPERATIONS = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick or revert of several commits",
    "BISECT_LOG": "a bisect",
}
SHALLOW = "the clone is shallow, its history incomplete; run `git fetch --unshallow`"
_COPY = "run `skillvault init` in a new folder, and copy your files into it"
_PINS = "refs/skillvault"
_MAX_CONFLICTS, _BINARY_CODE = 127, 255  # exit codes of `git merge-file`
_SYNC_ENVIRONMENT = as_environment({"core.fsync": "reference", "core.fsyncMethod": "fsync"})
# A plain config has no later format, no extension and no other work tree, and is not bare. It has
# only lines that git can read. A partial clone has format 1, without an extension.
_LINE = regex(r"\s*(?:[#;].*|\[[\w.-]+(?:\s+\"[^\"\\]*\")?\]\s*|[A-Za-z][\w-]*\s*(?:=[^\"\\]*)?)?")
_SPECIAL_KEY = regex(r"extensions|worktree|bare|repositoryformatversion", re.IGNORECASE)
_PLAIN_VALUE = regex(r"\s*(?:bare = false|repositoryformatversion = [01])\s*")
_NAME = re.compile(r"\w[\w.-]*(?:/\w[\w.-]*)*", re.ASCII)
_BRANCH = re.compile(rb"ref: refs/heads/(%s)\n" % _NAME.pattern.encode())
_COMMIT = re.compile(rb"[0-9a-f]{40}")


class Git:
    """One repository. No process and no file stays open between calls.

    `index` is the index file that git handed to a hook, if any.
    """

    def __init__(self, root: Path, index: str | None = None) -> None:
        self.root = root
        self.runner = Runner(root, index)
        self.run = self.runner.run
        self.text = self.runner.text
        self.answer = self.runner.answer
        self.share_lock = self.runner.share_lock
        self._dirs: tuple[Path, Path] | None = None
        self._cached_settings: CachedSettings | None = None

    @cached_property
    def objects(self) -> Objects:
        """The object database of the repository."""
        return Objects(self.dirs()[1] / "objects", self.promisor.fetch)

    @cached_property
    def promisor(self) -> Promisor:
        """The remote that has the missing objects of a partial clone."""
        return Promisor(self.runner, self.settings)

    @cached_property
    def history(self) -> History:
        """The commits of the repository."""
        return History(self.runner)

    @cached_property
    def index_file(self) -> IndexFile:
        """The index of the user, or the index that git handed to a hook."""
        folder, objects = self.dirs()[0], lambda: self.objects
        return IndexFile(self.runner, folder, self.head, objects, settings=self.settings)

    @cached_property
    def committer(self) -> Committer:
        """The maker of commit objects in the user's name."""
        return Committer(self.runner, lambda: self.objects, self.settings)

    # ── where and in which state ─────────────────────────────────────────────────────

    def dirs(self) -> tuple[Path, Path]:
        """Return (git dir, git common dir). Raise NotAVaultError if the root is no repository."""
        if self._dirs is None:
            folder = git_dir(self.root)
            self._dirs = (folder, folder) if folder else self.ask_dirs()
        return self._dirs

    def ask_dirs(self) -> tuple[Path, Path]:
        """Ask git for (git dir, git common dir)."""
        try:
            options = ("--show-prefix", "--git-dir", "--git-common-dir", "--show-object-format")
            output = self.run("rev-parse", *options)
        except GitError as error:
            message = str(error)
            if "not a git repository" in message and (self.root / ".git").exists():
                message = "its .git is damaged; repair it, or clone the vault again beside it"
            elif "not a git repository" in message:
                message = "not the root of a git repository; run `skillvault init` there"
            raise NotAVaultError(f"{self.root}: {message}") from None
        prefix, git_dir, common_dir, id_format = os.fsdecode(output).removesuffix("\n").split("\n")
        if id_format != "sha1":
            raise NotAVaultError(
                f"{self.root}: a {id_format} repository, and a vault needs sha1 ids; {_COPY}"
            )
        if prefix:
            raise NotAVaultError(
                f"{self.root}: a vault must be the root of its git repository, and this is "
                f"the folder {prefix} of another one; {_COPY}"
            )
        return (self.root / git_dir).resolve(), (self.root / common_dir).resolve()

    def head(self) -> str | None:
        """Return the commit of HEAD, or None if the branch has no commit."""
        folder, common_dir = self.dirs()
        branch = plain_branch(folder) if folder == common_dir else None
        if tip := plain_tip(folder, branch) if branch else None:
            return tip
        return self.text("rev-parse", "--verify", "--quiet", "HEAD^{commit}", ok=(0, 1)) or None

    def branch(self) -> str | None:
        """Return the branch of HEAD, or None if HEAD is detached."""
        if branch := plain_branch(self.dirs()[0]):
            return branch
        name = self.text("symbolic-ref", "--quiet", "HEAD", ok=(0, 1))
        return name.removeprefix("refs/heads/") or None

    def tip(self, branch: str) -> str | None:
        """Return the commit of a branch, or None if the branch has no commit."""
        folder, common_dir = self.dirs()
        if folder == common_dir and (tip := plain_tip(folder, branch)):
            return tip
        return self.history.commit_named(f"refs/heads/{branch}")

    def pause_reason(self, branch: str, *, may_be_empty: bool = False) -> str | None:
        """Return the reason if nothing may be committed now, else None.

        With `may_be_empty`, the branch may have no commit.
        """
        if self.settings().is_bare:
            return "the repository is bare; a vault needs a work tree"
        folder, common_dir = self.dirs()
        for name, operation in _OPERATIONS.items():
            if (folder / name).exists():
                hint = self._undo_hint() if name == "REVERT_HEAD" else ""
                return f"{operation} is in progress; finish or abort it{hint}"
        if (common_dir / "shallow").exists():
            return SHALLOW
        if problem := self._branch_problem(branch, may_be_empty):
            return problem
        if self.index_file.current().unmerged:
            return "the index has unmerged files; resolve them, then git add and git commit"
        return None

    def _undo_hint(self) -> str:
        """Return advice to revert the same commit without conflicts."""
        commit = self.text("rev-parse", "--short=10", "REVERT_HEAD", ok=(0, 128))
        return f" (`git revert --abort`, then `skillvault undo {commit}`)"

    def _branch_problem(self, branch: str, may_be_empty: bool) -> str | None:
        head, tip = self.branch(), self.tip(branch)
        if head == branch:
            problem = "the branch has no commit yet; run `skillvault init`"
            return None if tip or may_be_empty else problem
        if head and tip is None:
            return (
                f"there is no branch {branch}, on which the vault learns; run `git branch -m "
                f"{head} {branch}`, or set `branch: {head}` in vault.yaml and commit it"
            )
        place = self.text("for-each-ref", "--format=%(worktreepath)", f"refs/heads/{branch}")
        advice = f"go to {place}, which has {branch}" if place else f"run `git switch {branch}`"
        position = f"on branch {head}, but the vault learns on {branch}"
        return f"{position if head else 'HEAD is detached'}; {advice}"

    def boundary(self) -> str:
        """Return a text that changes with shallow commits and grafts, which change the history."""
        files = [self.dirs()[1] / name for name in ("shallow", "info/grafts")]
        contents = [file.read_bytes().hex() if file.exists() else "" for file in files]
        return " ".join(contents).strip()

    def init(self, branch: str) -> None:
        """Create a repository whose first branch is `branch`."""
        options = ("--quiet", f"--initial-branch={branch}", "--template=")
        self.run("init", *options, "--object-format=sha1")  # the ids that `blob_id` computes

    def hooks_dir(self) -> Path:
        """Return the folder of git's hooks, which the user may set with `core.hooksPath`."""
        output = self.text("config", "--get-all", "--type=path", "core.hooksPath", ok=(0, 1))
        paths = output.splitlines()[:-1]  # the last one is set by `Runner`
        return self.root / paths[-1] if paths else self.dirs()[1] / "hooks"

    def settings(self) -> Settings:
        """Return the settings of the config. Git is asked only after a config file changed."""
        if self._cached_settings is None or not self._cached_settings.is_current:
            since = time.time()
            settings = Settings(self.run("config", *LISTING))
            self._cached_settings = cache_settings(settings, self.root, since)
            return settings
        return self._cached_settings.settings

    def is_partial(self) -> bool:
        """Return True in a partial clone, where objects may be missing."""
        return self.settings().promisor is not None

    def entries(self, commit: str | None, paths: Sequence[str]) -> dict[str, Entry]:
        """Return the entries of files of a commit."""
        return self.objects.entries(self.objects.root(commit) if commit else None, paths)

    def blobs(self, ids: Iterable[str]) -> dict[str, bytes]:
        """Return the bytes of blobs by id."""
        return self.objects.blobs(ids)

    def merge_texts(
        self, our_text: bytes, base: bytes, their_text: bytes
    ) -> tuple[bytes, int] | None:
        """Return (the merge of two texts, number of conflicts), or None for binary files.

        In a conflict the merged text has the lines of `our_text`.
        """
        with tempfile.TemporaryDirectory(prefix="skillvault-") as folder:
            names = [str(Path(folder) / name) for name in ("ours", "base", "theirs")]
            for name, content in zip(names, (our_text, base, their_text), strict=True):
                Path(name).write_bytes(content)
            codes = (*range(_MAX_CONFLICTS + 1), _BINARY_CODE)
            conflicts, _ = self.answer("merge-file", "-p", "-q", "--", *names, ok=codes)
            if conflicts == _BINARY_CODE:
                return None
            return self.run("merge-file", "-p", "-q", "--ours", "--", *names), conflicts

    # ── publishing ───────────────────────────────────────────────────────────────────

    @contextmanager
    def pin_commit(self, commit: str, refs: RefSession) -> Iterator[str]:
        """Protect an unpublished commit from `git prune` with a ref, and yield the ref's name.

        The transaction that publishes the commit deletes the ref.
        """
        name = f"{_PINS}/pending-{draft_name()}"
        refs.begin([RefUpdate(name, commit, ABSENT)])
        if not refs.commit():
            raise GitError(refs.error)
        try:
            yield name
        finally:
            refs.end()
            # If packed-refs is locked, the ref stays until `remove_pins`.
            if (self.dirs()[1] / name).exists():
                self.run("update-ref", "-d", name, ok=(0, 1, 128), hold_lock=True)

    def remove_pins(self) -> None:
        """Remove the pins of killed writers. The caller holds the writer's lock."""
        folder = self.dirs()[1] / _PINS
        if folder.is_dir() and any(folder.iterdir()):
            names = self.text("for-each-ref", "--format=%(refname)", _PINS).split()
            for name in filter(is_abandoned, names):
                self.run("update-ref", "-d", name, hold_lock=True)

    @contextmanager
    def ref_session(self, reflog_message: str, *, durable: bool = False) -> Iterator[RefSession]:
        """Open a session that moves refs in two phases."""
        args = ("update-ref", "-m", reflog_message.replace("\0", " "), "--stdin", "-z")
        refs = RefSession(self.runner.start(*args, env=_SYNC_ENVIRONMENT if durable else None))
        try:
            yield refs
        finally:
            refs.end()


def git_dir(root: Path) -> Path | None:
    """Return the git dir of the work tree `root`, or None if only git can tell."""
    folder = root / ".git"
    folders = (root, folder, folder / "objects", folder / "refs")
    try:
        is_plain = all(map(_is_trusted, folders)) and _is_plain((folder / "config").read_bytes())
    except OSError:
        return None
    if not is_plain or plain_branch(folder) is None or (folder / "commondir").exists():
        return None
    return folder.resolve()


def plain_branch(git_dir: Path) -> str | None:
    """Return the branch of HEAD, or None if only git can tell."""
    try:
        match = _BRANCH.fullmatch(_read_plain_file(git_dir / "HEAD"))
    except OSError:
        return None
    return os.fsdecode(match[1]) if match else None


def plain_tip(git_dir: Path, branch: str) -> str | None:
    """Return the commit of a branch, or None if only git can tell."""
    if not _NAME.fullmatch(branch):
        return None
    ref = b"refs/heads/" + os.fsencode(branch)
    try:
        try:
            tip = _read_plain_file(git_dir / os.fsdecode(ref)).removesuffix(b"\n")
        except FileNotFoundError:
            # Git removes a loose ref only after it has packed the ref.
            lines = _read_plain_file(git_dir / "packed-refs").split(b"\n")
            ids = [line[: -len(ref)].rstrip(b" ") for line in lines if line.endswith(b" " + ref)]
            tip = ids[0] if len(ids) == 1 else b""
    except OSError:
        return None
    return tip.decode() if _COMMIT.fullmatch(tip) else None


def _is_trusted(folder: Path) -> bool:
    """Return True for a folder of this user that is not a link."""
    state = folder.lstat()
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid()


def _is_plain(config: bytes) -> bool:
    lines = config.decode(errors="replace").split("\n")
    special_lines = [line for line in lines if _SPECIAL_KEY.search(line)]
    return all(map(_LINE.fullmatch, lines)) and all(map(_PLAIN_VALUE.fullmatch, special_lines))


def _read_plain_file(path: Path) -> bytes:
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:  # noqa: PTH123 (a descriptor)
        return file.read()


_DAY = regex(r"\d{4}-\d\d-\d\d")


@contextmanager
def check_out_past(git: Git, branch: str, moment: str) -> Iterator[tuple[Path, datetime]]:
    """Check out a past state of the branch in a temporary repository.

    `moment` is a revision, a time or a day. Yields (the folder, the time of the commit). The folder
    shares the vault's objects. Raises UsageError if there is no such commit.
    """
    commit = _find_past_commit(git, branch, moment)
    at = datetime.fromisoformat(git.text("show", "--no-patch", "--format=%cI", commit))
    objects = git.dirs()[1] / "objects"
    with tempfile.TemporaryDirectory(prefix="skillvault-") as folder:
        root = Path(folder) / git.root.name
        root.mkdir()
        runner = Runner(root)
        runner.run("init", "--quiet", "--template=", f"--initial-branch={branch}")
        (root / ".git/objects/info").mkdir(exist_ok=True)
        (root / ".git/objects/info/alternates").write_text(f"{objects}\n", encoding="utf-8")
        runner.run("update-ref", f"refs/heads/{branch}", commit)
        runner.run("read-tree", commit)
        runner.run("checkout-index", "--all", "--quiet")
        yield root, at


def _find_past_commit(git: Git, branch: str, moment: str) -> str:
    """Return the commit of a revision, or the last commit of the branch before a time."""
    end = _end_of(moment)
    if end is not None:
        limit = f"--before={end:%Y-%m-%dT%H:%M:%S%z}"
        commit = git.text("rev-list", "-1", limit, f"refs/heads/{branch}")
        if not commit:
            raise UsageError(f"--at {moment}: the vault has no commit that old")
        return commit
    named_commit = git.history.commit_named(moment)
    if named_commit is None:
        raise UsageError(
            f"--at {moment}: neither a commit nor a time; write it as HEAD~3, 2026-11-20 or "
            "2026-11-20T10:15:00Z"
        )
    return named_commit


def _end_of(moment: str) -> datetime | None:
    """Parse a time, or a day as its last second. Return None for a revision."""
    try:
        at = datetime.fromisoformat(moment)
    except ValueError:
        return None
    if not moment[:5].endswith("-"):  # `20261120` may be a commit's name
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return at + timedelta(days=1, seconds=-1) if _DAY.fullmatch(moment) else at


def check_normal(git: Git, branch: str, *, may_be_empty: bool = False) -> None:
    """Raise PausedError if nothing may be committed now; see `Git.pause_reason`."""
    if reason := git.pause_reason(branch, may_be_empty=may_be_empty):
        raise PausedError(f"paused: {reason}")

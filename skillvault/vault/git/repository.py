"""One repository: where it is, in which state, its branch and its HEAD.

Never the porcelain that commits, stages or cleans, never `repo.index`; GitPython only
launches git. What a repository's own config could run is switched off in each call.

Of a repository so plain that its files leave no doubt, git dir, HEAD and tip are read without git:
`.git` a folder of our own, format 0 with no extension, HEAD a branch whose ref is a loose file or a
packed line. Of anything else, such as a linked work tree, git is asked.
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

from skillvault.model.errors import GitError, NotAVaultError, UsageError
from skillvault.vault.disk import draft_name, is_abandoned
from skillvault.vault.git.committer import Committer
from skillvault.vault.git.config import LISTING, Believed, Settings, believed
from skillvault.vault.git.history import History
from skillvault.vault.git.index_file import IndexFile
from skillvault.vault.git.objects import Entry, Objects
from skillvault.vault.git.process import OWNER_REMEDY, Runner, as_environment
from skillvault.vault.git.refs import ABSENT, RefSession, RefUpdate

_IN_PROGRESS = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick or revert of several commits",
    "BISECT_LOG": "a bisect",
}
_PINS = "refs/skillvault"
_MOST_CONFLICTS, _BINARY = 127, 255  # exit codes of `git merge-file`
_SYNCED = as_environment({"core.fsync": "reference", "core.fsyncMethod": "fsync"})
# A config that holds none of what else would have a say here: another format, an extension, a
# work tree elsewhere, no work tree at all. One that git itself could not read is not plain.
_LINE = re.compile(
    r"\s*(?:[#;].*|\[[\w.-]+(?:\s+\"[^\"\\]*\")?\]\s*|[A-Za-z][\w-]*\s*(?:=[^\"\\]*)?)?"
)
_DOUBTFUL = re.compile(r"extensions|worktree|bare|repositoryformatversion", re.IGNORECASE)
_HARMLESS = re.compile(r"\s*(?:bare = false|repositoryformatversion = 0)\s*")
_NAME = re.compile(r"\w[\w.-]*(?:/\w[\w.-]*)*", re.ASCII)
_BRANCH = re.compile(rb"ref: refs/heads/(%s)\n" % _NAME.pattern.encode())
_COMMIT = re.compile(rb"[0-9a-f]{40}")


class Git:
    """One repository. Holds no process and no handle between calls.

    `index` is the index file to read where a hook was handed another one.
    """

    def __init__(self, root: Path, index: str | None = None) -> None:
        self.root = root
        self._runner = Runner(root, index)
        self.run = self._runner.run
        self.text = self._runner.text
        self.answer = self._runner.answer
        self.share_lock = self._runner.share_lock
        self._dirs: tuple[Path, Path] | None = None
        self._believed: Believed | None = None

    @cached_property
    def objects(self) -> Objects:
        """The repository's object database."""
        return Objects(self.dirs()[1] / "objects")

    @cached_property
    def history(self) -> History:
        """The repository's commits."""
        return History(self._runner)

    @cached_property
    def index_file(self) -> IndexFile:
        """The person's index, or the one that a hook was handed."""
        return IndexFile(self._runner, self.dirs()[0], self.head, lambda: self.objects)

    @cached_property
    def committer(self) -> Committer:
        """What makes commit objects in the person's name."""
        return Committer(self._runner, lambda: self.objects)

    # ── where and in which state ─────────────────────────────────────────────────────

    def dirs(self) -> tuple[Path, Path]:
        """(git dir, git common dir); NotAVaultError if the root is not a repository's."""
        if self._dirs is None:
            plain = git_dir(self.root)
            self._dirs = (plain, plain) if plain else self.ask_dirs()
        return self._dirs

    def ask_dirs(self) -> tuple[Path, Path]:
        """The same as git itself says it, whatever the files look like."""
        try:
            options = ("--show-prefix", "--git-dir", "--git-common-dir", "--show-object-format")
            answer = self.run("rev-parse", *options)
        except GitError as error:
            if OWNER_REMEDY in str(error):
                raise NotAVaultError(f"{self.root}: {error}") from None
            raise NotAVaultError(
                f"{self.root}: not the root of a git repository ({error}); "
                "run `skillvault init` there"
            ) from None
        prefix, own, common, form = os.fsdecode(answer).removesuffix("\n").split("\n")
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

    def head(self) -> str | None:
        """The commit that HEAD names, which may be gone; None on an unborn branch."""
        own, common = self.dirs()
        if own == common and (name := plain_branch(own)) and (plain := plain_tip(own, name)):
            return plain
        return self.text("rev-parse", "--verify", "--quiet", "HEAD^{commit}", ok=(0, 1)) or None

    def branch(self) -> str | None:
        """The branch that HEAD stands on; None if it is detached."""
        if plain := plain_branch(self.dirs()[0]):
            return plain
        name = self.text("symbolic-ref", "--quiet", "HEAD", ok=(0, 1))
        return name.removeprefix("refs/heads/") or None

    def tip(self, branch: str) -> str | None:
        """The commit of a branch, wherever HEAD stands; None if there is none."""
        if self.dirs()[0] == self.dirs()[1] and (plain := plain_tip(self.dirs()[0], branch)):
            return plain
        commit = f"refs/heads/{branch}^{{commit}}"
        return self.text("rev-parse", "--verify", "--quiet", commit, ok=(0, 1, 128)) or None

    def pause_reason(self, branch: str, *, founding: bool = False) -> str | None:
        """Why nothing may be committed now; None if all is normal.

        `founding`: the branch may be without a commit.
        """
        if self.settings().bare:
            return "the repository is bare; a vault needs a work tree"
        if unfit := self._unfit():
            return unfit
        if elsewhere := self._elsewhere(branch, founding):
            return elsewhere
        if self.index_file.current().unmerged:
            return "the index has unmerged files; resolve them, then git add and git commit"
        return None

    def _elsewhere(self, branch: str, founding: bool) -> str | None:
        """Why HEAD does not stand on the branch's commit; None if it does."""
        current, tip = self.branch(), self.tip(branch)
        if current == branch:
            missing = "the branch has no commit yet; run `skillvault init`"
            return None if tip or founding else missing
        if current is None:
            return f"HEAD is detached; run `git switch {branch}`"
        if tip is None:
            return (
                f"there is no branch {branch}, on which the vault learns; run `git branch -m "
                f"{current} {branch}`, or set `branch: {current}` in vault.yaml and commit it"
            )
        return f"on branch {current}, but the vault learns on {branch}; run `git switch {branch}`"

    def _unfit(self) -> str | None:
        """What lies in the git dir that must be finished or mended first."""
        own, common = self.dirs()
        for name, what in _IN_PROGRESS.items():
            if (own / name).exists():
                return f"{what} is in progress; finish or abort it"
        if (common / "shallow").exists():
            return "the clone is shallow, its history incomplete; run `git fetch --unshallow`"
        return None

    def boundary(self) -> str:
        """What cuts or bends the history: the shallow commits and the grafts, as their files say.

        Replacements are not among it: git is told to ignore them.
        """
        common = self.dirs()[1]
        shallow, grafts = _content(common / "shallow"), _content(common / "info/grafts")
        return f"{shallow.hex()} {grafts.hex()}".strip()

    def init(self, branch: str) -> None:
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
        paths = self.text("config", "--get-all", "--type=path", "core.hooksPath", ok=(0, 1))
        own = paths.splitlines()[:-1]  # the last one is this wrapper's own setting
        return self.root / own[-1] if own else self.dirs()[1] / "hooks"

    def settings(self) -> Settings:
        """What the config says of making commits, asked of git when its files have changed."""
        if self._believed is None or not self._believed.stands:
            since = time.time()
            settings = Settings(self.run("config", *LISTING))
            self._believed = believed(settings, self.root, since)
            return settings
        return self._believed.settings

    def is_partial(self) -> bool:
        """Whether objects may be missing that a remote has promised to give."""
        promises = r"^(extensions\.partialclone|remote\..*\.promisor)$"
        return bool(self.text("config", "--get-regexp", promises, ok=(0, 1)))

    def entries(self, commit: str | None, paths: Sequence[str]) -> dict[str, Entry]:
        """path -> entry of these files of a commit."""
        return self.objects.entries(self.objects.root(commit) if commit else None, paths)

    def blobs(self, ids: Iterable[str]) -> dict[str, bytes]:
        """blob id -> bytes."""
        return self.objects.blobs(ids)

    def merge_texts(self, ours: bytes, base: bytes, theirs: bytes) -> tuple[bytes, int] | None:
        """(a text with the changes of both sides, ours where they differ; number of conflicts).

        None of what is no text. A conflict leaves no marker.
        """
        with tempfile.TemporaryDirectory(prefix="skillvault-") as folder:
            names = [str(Path(folder) / name) for name in ("ours", "base", "theirs")]
            for name, content in zip(names, (ours, base, theirs), strict=True):
                Path(name).write_bytes(content)
            codes = (*range(_MOST_CONFLICTS + 1), _BINARY)
            conflicts, _ = self.answer("merge-file", "-p", "-q", "--", *names, ok=codes)
            if conflicts == _BINARY:
                return None
            return self.run("merge-file", "-p", "-q", "--ours", "--", *names), conflicts

    # ── publishing ───────────────────────────────────────────────────────────────────

    @contextmanager
    def pin(self, commit: str, refs: RefSession) -> Iterator[str]:
        """A ref of ours to a commit that is not published yet, which `git prune` obeys.

        Its name; the transaction that publishes the commit deletes it.
        """
        name = f"{_PINS}/pending-{draft_name()}"
        refs.begin([RefUpdate(name, commit, ABSENT)])
        if not refs.commit():
            raise GitError(f"git update-ref: {refs.error}")
        try:
            yield name
        finally:
            refs.close()
            # If packed-refs is locked just now it stays until a later writer unpins it.
            if (self.dirs()[1] / name).exists():
                self.run("update-ref", "-d", name, ok=(0, 1, 128), hold_lock=True)

    def remove_pins(self) -> None:
        """Remove the pins of killed writers; the caller holds the writer's lock."""
        folder = self.dirs()[1] / _PINS
        if folder.is_dir() and any(folder.iterdir()):
            names = self.text("for-each-ref", "--format=%(refname)", _PINS).split()
            for name in filter(is_abandoned, names):
                self.run("update-ref", "-d", name, hold_lock=True)

    @contextmanager
    def ref_session(self, note: str, *, durable: bool = False) -> Iterator[RefSession]:
        """What moves refs, in two phases; `note` is for their reflogs."""
        args = ("update-ref", "-m", note.replace("\0", " "), "--stdin", "-z")
        refs = RefSession(self._runner.start(*args, env=_SYNCED if durable else None))
        try:
            yield refs
        finally:
            refs.close()


def _content(path: Path) -> bytes:
    """The bytes of a file; none if it is not there."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def git_dir(root: Path) -> Path | None:
    """The git dir, own and common, of which `root` is the work tree; None if git must be asked."""
    own = root / ".git"
    folders = (root, own, own / "objects", own / "refs")
    try:
        plain = all(map(_is_ours, folders)) and _is_plain((own / "config").read_bytes())
        branch = plain and _BRANCH.fullmatch(_plain_bytes(own / "HEAD"))
    except OSError:
        return None
    return own.resolve() if branch and not (own / "commondir").exists() else None


def plain_branch(own: Path) -> str | None:
    """The branch that HEAD is on; None if git must be asked."""
    try:
        branch = _BRANCH.fullmatch(_plain_bytes(own / "HEAD"))
    except OSError:
        return None
    return os.fsdecode(branch[1]) if branch else None


def plain_tip(own: Path, branch: str) -> str | None:
    """The id that a branch stands at; None if git must be asked."""
    try:
        return _tip(own, b"refs/heads/" + os.fsencode(branch)) if _NAME.fullmatch(branch) else None
    except OSError:
        return None


def _tip(own: Path, ref: bytes) -> str | None:
    try:
        loose = _plain_bytes(own / os.fsdecode(ref)).removesuffix(b"\n")
    except FileNotFoundError:
        # Read after the loose one: git removes that only when it stands among the packed ones.
        packed = _plain_bytes(own / "packed-refs").split(b"\n")
        ids = [line[: -len(ref)].rstrip(b" ") for line in packed if line.endswith(b" " + ref)]
        loose = ids[0] if len(ids) == 1 else b""
    return loose.decode() if _COMMIT.fullmatch(loose) else None


def _is_ours(folder: Path) -> bool:
    """Whether it is a folder, no link to one, that git would trust as ours."""
    state = folder.lstat()
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid()


def _is_plain(config: bytes) -> bool:
    lines = config.decode(errors="replace").split("\n")
    doubtful = [line for line in lines if _DOUBTFUL.search(line)]
    return all(map(_LINE.fullmatch, lines)) and all(map(_HARMLESS.fullmatch, doubtful))


def _plain_bytes(path: Path) -> bytes:
    """The bytes of a file that is no link; OSError otherwise."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:  # noqa: PTH123 (a descriptor)
        return file.read()


_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@contextmanager
def check_out_past(git: Git, branch: str, moment: str) -> Iterator[tuple[Path, datetime]]:
    """The branch at a revision, or after all commits of a day or before a time.

    As (the folder in which that commit is its tip, when that was made). UsageError if there is
    no such commit.
    """
    commit = _commit_at(git, branch, moment)
    at = datetime.fromisoformat(git.text("show", "--no-patch", "--format=%cI", commit))
    objects = git.dirs()[1] / "objects"
    with tempfile.TemporaryDirectory(prefix="skillvault-") as place:
        root = Path(place) / git.root.name
        root.mkdir()
        runner = Runner(root)
        runner.run("init", "--quiet", "--template=", f"--initial-branch={branch}")
        (root / ".git/objects/info").mkdir(exist_ok=True)
        (root / ".git/objects/info/alternates").write_text(f"{objects}\n", encoding="utf-8")
        runner.run("update-ref", f"refs/heads/{branch}", commit)
        runner.run("read-tree", commit)
        runner.run("checkout-index", "--all", "--quiet")
        yield root, at


def _commit_at(git: Git, branch: str, moment: str) -> str:
    """The latest commit of the branch by then, or what a revision names."""
    end = _end_of(moment)
    if end is not None:
        before = f"--before={end:%Y-%m-%dT%H:%M:%S%z}"
        commit = git.text("rev-list", "-1", before, f"refs/heads/{branch}")
        if not commit:
            raise UsageError(f"--at {moment}: the vault has no commit so early")
        return commit
    name = f"{moment}^{{commit}}"
    commit = git.text("rev-parse", "--verify", "--quiet", "--end-of-options", name, ok=(0, 1, 128))
    if not commit:
        raise UsageError(
            f"--at {moment}: neither a commit nor a time; write it as HEAD~3, 2026-11-20 or "
            "2026-11-20T10:15:00Z"
        )
    return commit


def _end_of(moment: str) -> datetime | None:
    """The time that a moment names: of a day its last second; None for a revision."""
    try:
        at = datetime.fromisoformat(moment)
    except ValueError:
        return None
    if not moment[:5].endswith("-"):  # `20261120` may be a commit's name
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return at + timedelta(days=1, seconds=-1) if _DAY.fullmatch(moment) else at

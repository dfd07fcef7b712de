"""`skillvault doctor`: find what keeps a vault from working. A new check is a function in `CHECKS`.

doctor only repairs work that a killed skillvault left half done. For everything else a row names
the command that a person may run.
"""

import errno
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from skillvault import __version__
from skillvault.judge.claude import wire
from skillvault.loop.judging.judges import CLIENTS
from skillvault.loop.registry import AGENDA
from skillvault.model.errors import (
    BadInputError,
    GitError,
    NotAVaultError,
    PausedError,
    SkillvaultError,
    VaultBusyError,
)
from skillvault.model.policy import JudgePolicy, Policy
from skillvault.model.text.text import pluralize, shorten
from skillvault.sessions import client_setup
from skillvault.vault import check, disk, setup
from skillvault.vault.commit import cold, git_activity, locks
from skillvault.vault.commit.pack import LOOSE, count_loose
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout
from skillvault.vault.files.arrival import make_printable
from skillvault.vault.files.inbox import Inbox
from skillvault.vault.git import config
from skillvault.vault.git.config import driver_command
from skillvault.vault.git.process import COMPLETION
from skillvault.vault.git.repository import SHALLOW, Git
from skillvault.vault.index.snapshot import Snapshot

State = Literal["ok", "note", "problem"]

_PYTHON = (3, 11)
_GIT = (2, 36)  # knows `mktree --batch`, `core.fsync` and what else is asked of it
# distribution: its module, and the oldest version that works
_LIBRARIES = {"GitPython": ("git", (3, 1, 60)), "pygit2": ("pygit2", ())}
_SIGNERS = {"openpgp": "gpg", "x509": "gpgsm", "ssh": "ssh-keygen"}
_IDENTITY_FIX = "git config --global user.name NAME && git config --global user.email ADDRESS"
_BUILT_IN_JUDGES = {
    "offline": "no model is asked",
    "agent": "`skillvault ask` prints its questions",
}
_NOT_RUN = "skillvault itself never runs it"
_MIB = 1024 * 1024
_MAX_VALUE = 100  # characters of a setting


class Row(Struct, frozen=True):
    """The result of a check, and the command or step that repairs the fault."""

    check: str
    state: State
    detail: str
    fix: str | None = None


class Examination:
    """The vault that is examined, and the results so far."""

    def __init__(self, root: Path, now: datetime) -> None:
        self.root = root
        self.now = now
        self.rows: list[Row] = []  # of the checks so far
        self.store = Store(root, AGENDA)
        self.git: Git = self.store.git

    @property
    def dirs(self) -> tuple[Path, Path]:
        """The git folder and the common git folder; the usual folders if git names none."""
        try:
            return self.git.ask_dirs()
        except NotAVaultError:
            folder = self.root / ".git"
            if not folder.is_dir():
                raise
            return folder, folder

    def snapshot(self) -> Snapshot:
        """The committed vault; NotAVaultError if HEAD names an unreadable commit.

        A bare repository has no committed vault and gets no index.
        """
        self.git.ask_dirs()
        if advice := layout.explain_bare_repository(self.root):
            raise NotAVaultError(advice)
        try:
            snapshot = self.store.snapshot()
        except GitError as error:
            raise NotAVaultError(str(error)) from None
        # The index of the vault shows a commit that it knows, even if git has lost it.
        if self.git.history.commit_named("HEAD") is None and self.head_id():
            raise NotAVaultError("the commit of HEAD is gone")
        return snapshot

    def head_id(self) -> str:
        """The id of the commit that HEAD names, even if it is missing; "" without a commit."""
        return self.git.text("rev-parse", "--verify", "--quiet", "HEAD", ok=(0, 1))


Check = Callable[[Examination], Row | Iterator[Row]]


def examine(folder: Path | None, now: datetime) -> list[Row]:
    """Run every check on the vault in `folder`, or on the nearest vault.

    If there is no vault, the current folder may be a project, whose git is not examined.
    """
    exam = Examination(_root_of(folder), now)
    is_project = folder is None and layout.vault_above(exam.root) is None
    for name in CHECKS_WITHOUT_VAULT if is_project else CHECKS:
        for row in _run_check(name, CHECKS[name], exam):
            fix = make_printable(row.fix) if row.fix else None
            exam.rows.append(replace(row, detail=make_printable(row.detail), fix=fix))
    return exam.rows


def _root_of(place: Path | None) -> Path:
    """Return the folder to examine; NotAVaultError if it is gone or inside a vault.

    Without `place` this is the nearest vault, else the nearest repository, else the current folder.
    """
    if place is None:
        cwd = Path.cwd()
        repositories = (path for path in (cwd, *cwd.parents) if (path / ".git").exists())
        return layout.vault_above(cwd) or next(repositories, cwd)
    folder = layout.real_path(place)
    is_own = (folder / ".git").exists() or layout.vault_above(folder) is None
    return folder if folder.is_dir() and is_own else layout.named_root(place)


def _run_check(name: str, check: Check, exam: Examination) -> list[Row]:
    """Return the rows of a check; an error becomes a row too."""
    rows: list[Row] = []
    try:
        result = check(exam)
        for row in (result,) if isinstance(result, Row) else result:
            rows.append(row)  # noqa: PERF402 (those before a failure are kept)
    except NotAVaultError:
        detail = "not checked: it needs a repository with a HEAD that can be read"
        rows.append(Row(name, "note", detail))
    except (SkillvaultError, OSError, ValueError, LookupError, ImportError) as error:
        rows.append(Row(name, "problem", f"could not be checked: {error}"))
    return rows


# ── versions ─────────────────────────────────────────────────────────────────────────


def _program(_: Examination) -> Iterator[Row]:
    yield Row("skillvault", "ok", __version__)
    yield _version("python", ".".join(map(str, sys.version_info[:3])), _PYTHON)


def _git(exam: Examination) -> Row:
    return _version("git", exam.git.text("version").removeprefix("git version "), _GIT)


def _libraries(_: Examination) -> Iterator[Row]:
    for name, (module, required) in _LIBRARIES.items():
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield Row(name.lower(), "problem", "is not installed", f"pip install {name}")
            continue
        import_module(module)
        yield _version(name.lower(), version, required)


def _version(name: str, version: str, required: tuple[int, ...]) -> Row:
    numbers = version.partition(" ")[0].split(".")
    parts = tuple(int(part) for part in numbers if part.isdigit())
    if parts[: len(required)] >= required:
        return Row(name, "ok", version)
    minimum = ".".join(map(str, required))
    return Row(name, "problem", f"{version} is too old", f"install {name} {minimum} or newer")


# ── the vault and its repository ─────────────────────────────────────────────────────


def _vault(exam: Examination) -> Row:
    mark = exam.root / layout.VAULT_FILE
    if layout.VAULT_FILE not in exam.snapshot().files:
        state = "is not committed" if mark.is_file() else "is not here or above"
        detail = f"{mark} {state}: no vault yet, or name yours with --vault"
        return Row("vault", "problem", detail, "skillvault init")
    if not mark.is_file():
        return Row("vault", "problem", f"{mark} is gone", "git restore vault.yaml")
    return Row("vault", "ok", str(exam.root))


def _database(exam: Examination) -> Row:
    exam.snapshot()
    if exam.store.index.verify():
        return Row("database", "note", "the vault's index differed from git; it is built again")
    return Row("database", "ok", "the index agrees with git")


def _records(exam: Examination) -> Row:
    if paths := exam.snapshot().records.unreadable_paths():
        detail = f"{pluralize(len(paths), 'file')} cannot be read: {', '.join(paths[:3])}"
        return Row("records", "problem", detail, "skillvault check")
    return Row("records", "ok", "every file of the vault can be read")


def _policy(exam: Examination) -> Row:
    snapshot = exam.snapshot()
    try:
        policy = snapshot.policy
    except BadInputError as error:
        return Row("policy", "problem", error.message, "correct vault.yaml and commit it")
    domains = ", ".join(policy.domains) or "none named"
    return Row("policy", "ok", f"learns on {policy.branch}; domains: {domains}")


def _repository(exam: Examination) -> Row:
    try:
        git_dir, common_dir = exam.git.ask_dirs()
    except NotAVaultError as error:
        detail, _, fix = str(error).rpartition("; ")
        fix = fix.removeprefix("run `").removesuffix("` there")
        return Row("repository", "problem", detail, fix)
    if advice := layout.explain_bare_repository(exam.root):
        return Row("repository", "problem", *advice.split("; ", 1))
    if exam.git.text("rev-parse", "--is-bare-repository") == "true":
        fix = "git config --local core.bare false"
        return Row("repository", "problem", "it is bare, without a work tree", fix)
    if exam.git.is_partial():
        return Row("repository", "note", "partial: objects may be missing", COMPLETION)
    if (common_dir / "shallow").exists():
        return Row("repository", "note", *SHALLOW.split("; "))
    return Row("repository", "ok", str(git_dir))


def _objects(exam: Examination) -> Row:
    count = count_loose(exam.git)
    if count > 2 * LOOSE:  # otherwise the next commit packs them
        return Row("objects", "note", f"about {count:,} loose objects were not packed", "git gc")
    return Row("objects", "ok", f"about {count:,} loose objects")


def _head(exam: Examination) -> Iterator[Row]:
    exam.git.ask_dirs()
    commit_id = exam.head_id()
    branch = exam.git.branch()
    position = f"on branch {branch}" if branch else "detached"
    if not commit_id:
        yield Row("head", "note", f"{position}, without a commit")
        return
    try:
        files = len(exam.git.objects.files(commit_id))
    except GitError as error:
        detail, _, fix = f"{position}: {error}".rpartition("; ")
        yield Row("head", "problem", detail, fix)
        return
    yield Row("head", "ok" if branch else "note", f"{position} at {commit_id[:10]}, {files} files")
    if files >= cold.MIN_FILES:
        yield _light_clone(exam)


def _light_clone(exam: Examination) -> Row:
    """Return the row that proposes to leave closed months out, with the saved sizes."""
    keep = exam.git.settings().open_months
    if keep is not None:
        return Row("light clone", "ok", f"the records of {pluralize(keep, 'month')} are here")
    size = (exam.dirs[0] / "index").stat().st_size
    closed = cold.closed_size(exam.root, exam.now.date(), 2)
    detail = f"closed months take {closed:,} bytes of the work tree, git's index {size:,} bytes"
    return Row("light clone", "note", detail, "skillvault cold")


def _index(exam: Examination) -> Row:
    exam.git.ask_dirs()
    lines = exam.git.run("ls-files", "--sparse", "--unmerged", "-z").split(b"\0")
    paths = sorted({os.fsdecode(line.partition(b"\t")[2]) for line in lines if line})
    if not paths:
        return Row("index", "ok", "nothing is unmerged")
    count_note = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    fix = "resolve them, then git add and git commit"
    return Row("index", "note", f"unmerged: {paths[0]}{count_note}", fix)


def _driver(exam: Examination) -> Row:
    exam.git.ask_dirs()
    command = setup.configured_driver(exam.root, exam.git)
    if command is None:
        return Row("merge driver", "ok", "none: .gitattributes names none")
    if command == driver_command() and not (trouble := _python_trouble(exam.root)):
        return Row("merge driver", "ok", "`git merge` uses the rules of `skillvault sync`")
    if command == driver_command():
        return Row("merge driver", "problem", str(trouble), "skillvault init")
    detail = "its command names another Python, which is not tried"
    if not command:
        detail = (
            ".gitattributes names the merge driver skillvault, and this clone has none: plain git "
            "merges"
        )
    return Row("merge driver", "note", detail, "skillvault init")


def _judge(exam: Examination) -> Row:
    try:
        settings = exam.snapshot().policy.judge
    except BadInputError:  # told by the policy's own check
        return Row("judge", "note", "not known: vault.yaml cannot be read")
    if settings.provider in _BUILT_IN_JUDGES:
        return Row("judge", "ok", f"{settings.provider}: {_BUILT_IN_JUDGES[settings.provider]}")
    return _client_judge(settings) if settings.provider == "client" else _claude_judge(settings)


def _client_judge(rules: JudgePolicy) -> Row:
    program = CLIENTS[rules.client].program
    if shutil.which(program):
        return Row("judge", "ok", f"client: `{program}` answers in the background")
    detail = f"client, but `{program}` is not on this PATH: questions to it wait"
    return Row("judge", "note", detail, f"install {program}, or set another judge")


def _claude_judge(rules: JudgePolicy) -> Row:
    if find_spec("anthropic") is None:
        detail = f"{rules.model}, but its SDK is not installed: questions to it wait"
        return Row("judge", "note", detail, "pip install '.[claude]' in a clone of skillvault")
    if wire.find_api_key() is None:
        # The daemon's environment may be another.
        detail = f"{rules.model}, but {wire.KEY} is not set here: questions to it wait"
        return Row("judge", "note", detail, f"export {wire.KEY}=...")
    import_module("anthropic")
    detail = f"{rules.model}; its SDK can be loaded and {wire.KEY} is set, but asks nothing here"
    return Row("judge", "ok", detail)


def _pause(exam: Examination) -> Row:
    snapshot = exam.snapshot()
    try:
        policy = snapshot.policy
    except BadInputError:
        # Which branch learns cannot be read, so the one that stands there is no reason.
        policy = Policy(branch=exam.git.branch() or Policy().branch)
    reason = exam.store.pause_reason(policy)
    if reason is None:
        return Row("paused", "ok", "no: branch, HEAD and index are ready for a commit")
    detail, _, fix = reason.partition("; ")
    return Row("paused", "problem", detail, fix or None)


def _killed_writer(exam: Examination) -> Row:
    exam.snapshot()
    try:
        has_recovered = exam.store.recover(wait=False)
    except VaultBusyError:
        return Row("killed writer", "ok", "not checked: another skillvault is writing")
    except PausedError as error:
        return Row("killed writer", "problem", str(error).removeprefix("paused: "))
    if has_recovered:
        return Row("killed writer", "note", "what it left half-made is finished or undone")
    return Row("killed writer", "ok", "no unfinished work")


def _lost_commits(exam: Examination) -> Row:
    if commits := check.find_losses(exam.git, exam.snapshot()):
        names, fix = check.name_commits(commits), check.cherry_pick(commits)
        return Row("lost commits", "note", names, fix)
    return Row("lost commits", "ok", "every commit of skillvault is reachable")


# ── who commits ──────────────────────────────────────────────────────────────────────


def _identity(exam: Examination) -> Row:
    exam.git.run("config", "--list")  # where this fails, git's own words say why
    if exam.git.committer.identity_problem():
        return Row("identity", "problem", "git does not know who commits", _IDENTITY_FIX)
    identity = exam.git.text("-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT")
    return Row("identity", "ok", identity.rpartition(">")[0] + ">")


def _signing(exam: Examination) -> Row:
    settings = exam.git.settings()
    if not settings.signs:
        return Row("signing", "ok", "off: commits are not signed")
    method = exam.git.text("config", "--get", "gpg.format", ok=(0, 1)) or "openpgp"
    program, has_local_program = _signer(exam, method)
    path = shutil.which(Path(program).expanduser()) if program else None
    note = "; the program that the vault's own config names is not used"
    note = note if has_local_program else ""
    if path is None:
        program_name = program or "the program that signs"
        fix = f"install {program_name}, or git config --local commit.gpgSign false"
        return Row("signing", "problem", f"on, and {program or method} is not found{note}", fix)
    try:
        exam.git.committer.try_signing(exam.now)
    except PausedError as error:
        cause, _, fix = str(error).removeprefix("paused: ").rpartition("; ")
        detail = f"on, by {path} ({method}), and fails: {cause}{note}"
        return Row("signing", "problem", detail, fix)
    return Row("signing", "ok", f"on, by {path} ({method}), which has just signed{note}")


def _signer(exam: Examination, method: str) -> tuple[str | None, bool]:
    """Return the program that signs commits, and True if the vault's config sets another one."""
    keys = {f"gpg.{method}.program", *(["gpg.program"] if method == "openpgp" else [])}
    lines = [line for line in exam.git.settings().lines if line.key in keys]
    programs = [line.value for line in lines if not line.is_local and line.value]
    program = programs[-1] if programs else _SIGNERS.get(method)
    return program, any(line.is_local for line in lines)


# ── code that git would run ──────────────────────────────────────────────────────────


def _config(exam: Examination) -> Iterator[Row]:
    git_dir, common_dir = exam.git.ask_dirs()
    settings = config.find_program_settings(exam.git.settings(), exam.root)
    for setting in settings:
        values = shorten(", ".join(setting.values), _MAX_VALUE)
        fix = config.removal_command(setting, git_dir, common_dir)
        is_include = setting.key.startswith("include")
        effect = "git takes more settings from there" if is_include else f"git runs it; {_NOT_RUN}"
        yield Row("config", "note", f"{setting.key} = {values}: {effect}", fix)
    if not settings:
        yield Row("config", "ok", "the vault's own git config names no program")


def _hooks(exam: Examination) -> Iterator[Row]:
    hooks = list(config.find_foreign_hooks(exam.dirs[1] / "hooks"))
    for path in hooks:
        fix = f"chmod -x {shlex.quote(str(path))}"
        detail = f"{path.name} was not installed by init: git runs it; {_NOT_RUN}"
        yield Row("hooks", "note", detail, fix)
    troubles = list(_own_hooks(exam))
    yield from troubles
    if not (hooks or troubles):
        yield Row("hooks", "ok", "only those that init installed, and their Python runs")


def _own_hooks(exam: Examination) -> Iterator[Row]:
    if not (exam.git.hooks_dir() / setup.HOOKS[0]).exists():
        detail = f"there is no {setup.HOOKS[0]} hook: a broken skill is committed unnoticed"
        yield Row("hooks", "note", detail, "skillvault init")
    for path, python in setup.find_hooks(exam.git).items():
        idle_note = f"{path.name} does nothing"
        if not os.access(path, os.X_OK):
            fix = f"chmod +x {shlex.quote(str(path))}"
            yield Row("hooks", "problem", f"{idle_note}: it is not executable", fix)
        elif shutil.which(python) is None:
            detail = f"{idle_note}: the Python that it names is gone"
            yield Row("hooks", "problem", detail, "skillvault init")
        elif python != sys.executable:  # anybody may have written it there
            detail = f"{path.name} names another Python, {python}, which is not tried"
            yield Row("hooks", "note", detail, "skillvault init")
        elif trouble := _python_trouble(exam.root):
            yield Row("hooks", "problem", f"{idle_note}: {trouble}", "skillvault init")


@cache
def _python_trouble(root: Path) -> str | None:
    """Return the reason why git cannot run skillvault with this Python, or None."""
    command = [sys.executable, "-P", "-c", "import skillvault"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    process = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=False)
    if process.returncode == 0:
        return None
    return f"{sys.executable} does not find skillvault without PYTHONPATH; install it there"


# ── locks ────────────────────────────────────────────────────────────────────────────


def _locks(exam: Examination) -> Iterator[Row]:
    dirs = exam.dirs
    for name in ("writer", "daemon"):
        owner = locks.holder(dirs[1] / "skillvault" / f"{name}.lock")
        yield Row(f"{name} lock", "ok", f"locked by {owner}" if owner else "free")
    for lock in git_activity.git_locks(exam.root, *dirs, exam.now.timestamp()):
        yield _git_lock(lock, git_activity.describe_holder(lock.path, exam.root, *dirs))
    if holder := locks.gc_holder(dirs[1] / "gc.pid"):
        fix = f"wait for it, or rm {shlex.quote(str(dirs[1] / 'gc.pid'))} if no such process runs"
        yield Row("git lock", "note", holder, fix)


def _git_lock(lock: git_activity.GitLock, holder: str | None) -> Row:
    age = f"{lock.path}: {_age(lock.age)} old"
    if lock.is_stale:
        fix = f"rm {shlex.quote(str(lock.path))}"
        return Row("git lock", "problem", f"{age}, and no git process seems to use it", fix)
    use = f"in use: {holder}" if holder else "in use"
    fix = "wait for that git to end, then run skillvault doctor again"
    return Row("git lock", "note", f"{age}, {use if lock.is_used else 'young'}", fix)


# ── what happened and what waits ─────────────────────────────────────────────────────


def _last_commit(exam: Examination) -> Row:
    commits = exam.snapshot().history.log(1)
    if not commits:
        return Row("last commit", "note", "the program has made none yet")
    age = exam.now - datetime.fromisoformat(commits[0].date)
    ago = _age(max(0.0, age.total_seconds()))
    return Row("last commit", "ok", f"{commits[0].subject}, {commits[0].date}, {ago} ago")


def _waiting(exam: Examination) -> Iterator[Row]:
    inbox = Inbox(exam.root)
    counts = {"inbox": len(inbox.names()), "quarantine": len(inbox.quarantine.file_names())}
    next_commands = {"inbox": "skillvault run", "quarantine": "skillvault quarantine list"}
    if any(row.state == "problem" for row in exam.rows):
        next_commands["inbox"] = "fix the problems above, then skillvault run"
    for name, count in counts.items():
        if not (exam.root / name).is_dir():
            yield Row(name, "note", "there is no such folder", "skillvault init")
        elif count:
            yield Row(name, "note", f"waiting: {pluralize(count, 'file')}", next_commands[name])
        else:
            yield Row(name, "ok", "empty")


def _clients(exam: Examination) -> Iterator[Row]:
    states = list(map(client_setup.state_of, client_setup.ClientSetup().records(exam.root)))
    for state in states:
        place = f"{state.record.client} in {state.record.project or 'all projects'}"
        if state.problems:
            fix = f"skillvault setup {state.record.client} --check"
            yield Row("clients", "problem", f"{place}: {'; '.join(state.problems)}", fix)
        else:
            yield Row("clients", "ok", f"{place}; {state.last_activity}")
        if sentence := state.activity.unknown_version:
            fix = "install a newer skillvault; what it knows is still read"
            yield Row("clients", "note", f"{place}: {sentence}", fix)
    if not states:
        yield Row("clients", "ok", "none is set up")


def _age(seconds: float) -> str:
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


# ── the disk ─────────────────────────────────────────────────────────────────────────


class Space(Struct, frozen=True):
    """The free space of a file system.

    `inodes` is None if the file system does not count inodes. `error` says why no file could be
    written.
    """

    free: int
    inodes: int | None
    error: OSError | None = None


def _disk(exam: Examination) -> Iterator[Row]:
    yield disk_row("disk", exam.root, _space(exam.root))
    git_dir, common_dir = exam.dirs
    inbox = [exam.root / name for name in (layout.INBOX, layout.UNTRUSTED, layout.QUARANTINE)]
    git = [git_dir, common_dir, common_dir / "objects", common_dir / "refs/heads"]
    for folder in filter(Path.is_dir, dict.fromkeys((*inbox, *git))):
        space = _space(folder)
        if space.error or folder.stat().st_dev != exam.root.stat().st_dev:
            yield disk_row("disk of git" if folder in git else "disk", folder, space)


def _space(folder: Path) -> Space:
    status = os.statvfs(folder)
    inodes = status.f_favail if status.f_files else None
    error = None
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:  # where it can be, nameless
            file.write(b"\0")
    except OSError as refusal:
        error = refusal
    return Space(status.f_bavail * status.f_frsize, inodes, error)


def _writing_fix(folder: Path, error: OSError) -> str:
    if error.errno == errno.EROFS:
        return "mount its file system for writing, or work in a clone on another disk"
    if error.errno not in (errno.EACCES, errno.EPERM):
        return "free space or repair the disk; until then nothing is committed"
    if folder.stat().st_uid == os.geteuid():
        return f"chmod u+w {shlex.quote(str(folder))}"
    return "ask its owner for the right to write there"


def disk_row(name: str, folder: Path, space: Space) -> Row:
    """Return the row about the free space of a folder's file system."""
    inode_count = f", {space.inodes} inodes" if space.inodes is not None else ""
    detail = f"{folder}: {space.free // _MIB} MiB free{inode_count}"
    if space.error:
        reason = disk.describe_disk_error(space.error) or f"not writable ({space.error.strerror})"
        return Row(name, "problem", f"{detail}; {reason}", _writing_fix(folder, space.error))
    inodes = space.inodes if space.inodes is not None else sys.maxsize
    if space.free < 50 * _MIB or inodes < 1000:
        fix = "free 50 MiB and 1,000 inodes; until then nothing is committed"
        return Row(name, "problem", detail, fix)
    if space.free < 500 * _MIB or inodes < 10_000:
        return Row(name, "note", detail, "free 500 MiB and 10,000 inodes soon")
    return Row(name, "ok", detail)


CHECKS: dict[str, Check] = {
    "skillvault": _program,
    "git": _git,
    "libraries": _libraries,
    "database": _database,
    "vault": _vault,
    "records": _records,
    "policy": _policy,
    "judge": _judge,
    "repository": _repository,
    "objects": _objects,
    "head": _head,
    "killed writer": _killed_writer,
    "lost commits": _lost_commits,
    "index": _index,
    "paused": _pause,
    "identity": _identity,
    "signing": _signing,
    "config": _config,
    "hooks": _hooks,
    "merge driver": _driver,
    "locks": _locks,
    "last commit": _last_commit,
    "disk": _disk,
    "inbox": _waiting,
    "clients": _clients,
}
CHECKS_WITHOUT_VAULT = ("skillvault", "git", "libraries", "vault", "clients")

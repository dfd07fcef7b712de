"""Remove a name, a secret or an outcome from all records and from history (`erase`).

This is the only exception to "the history is never rewritten". Only a person at a terminal may run
it; no hook, server, daemon or page may call it. A tombstone in the vault tells other clones what
was erased, without its text; `sync` only reads tombstones.
"""

import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct, field

from skillvault.model.change import Change, message_of
from skillvault.model.errors import UncommittedEditError, UsageError
from skillvault.model.records import Problem
from skillvault.model.text import erasure, strict_yaml
from skillvault.model.text.erasure import Eraser, Tombstone
from skillvault.model.text.text import pluralize, sentences
from skillvault.vault import check
from skillvault.vault.commit.store import Store
from skillvault.vault.disk import private_mode
from skillvault.vault.failpoint import reach
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import WorkTreeView
from skillvault.vault.git.committer import CommitDraft
from skillvault.vault.git.config import CLONE
from skillvault.vault.git.objects import REGULAR, Entry, Objects, release_packs
from skillvault.vault.git.process import Runner
from skillvault.vault.git.refs import ABSENT, RefUpdate
from skillvault.vault.git.remote import Upstream, upstream_of
from skillvault.vault.git.repository import Git, check_normal
from skillvault.vault.git.rewrite import Rewriting, check_tool, rewrite_bytes, rewrite_history

FOLLOW_COMMAND = "skillvault erase --follow"
KEY_FILE = "erase.key"  # below .git/skillvault, never in git
_COPY_FOLDER = "erasing"  # the copy of the repository, below .git/skillvault
_BRANCHES, _REMOTES = "refs/heads/", "refs/remotes/"
_REF_FOLDERS = (_BRANCHES, "refs/tags/", _REMOTES)  # the refs to rewrite
_NEW_REFS = "refs/skillvault/erased"
_TOMBSTONE_REF = f"{_NEW_REFS}/pinned"
_KEY_BYTES = 32
_MIN_SENTENCE = 20  # letters; a shorter sentence of an outcome is not erased in other records
# Other files of git that may contain an erased text.
_LEFTOVERS = ("ORIG_HEAD", "FETCH_HEAD", "AUTO_MERGE", "COMMIT_EDITMSG", "MERGE_MSG", "SQUASH_MSG")
_LOCKS = ("writer.lock", "daemon.lock", "client.lock", "gc-owner", KEY_FILE)
_DATABASES = "index.db*"


class Erasure(Struct):
    """The changes of an erasure, for a person to confirm.

    `commits` counts rewritten commits, `messages` changed messages. `paths` lists changed files of
    any commit, `local_files` changed files outside git, and `refs` and `remote_refs` the branches
    and tags that move. `is_in_config` is true if the config of the clone still has a text, such as
    a token in a URL.
    """

    commits: int = 0
    messages: int = 0
    paths: list[str] = field(default_factory=list)
    local_files: list[str] = field(default_factory=list)
    refs: list[str] = field(default_factory=list)
    remote_refs: list[str] = field(default_factory=list)
    is_done: bool = False
    is_in_config: bool = False


# ── tombstones ───────────────────────────────────────────────────────────────────────


def read_tombstones(git: Git, *commits: str | None) -> list[Tombstone]:
    """Return the tombstones in these commits."""
    files = {
        (path, entry.id)
        for commit in commits
        if commit
        for path, entry in git.objects.files(commit, [erasure.FOLDER]).items()
    }
    contents = git.blobs(blob for _, blob in files)
    return [_read_tombstone(path, contents[blob]) for path, blob in sorted(files)]


def _read_tombstone(path: str, content: bytes) -> Tombstone:
    try:
        return msgspec.json.decode(content, type=Tombstone)
    except msgspec.DecodeError as error:
        raise UsageError(
            f"{path}: no tombstone of an erasure ({error}); restore it by `git log -- {path}`"
        ) from None


def read_key(git: Git) -> str | None:
    """Return the key that this clone erases with, or None."""
    path = _folder(git) / KEY_FILE
    return path.read_text(encoding="ascii").strip() if path.is_file() else None


def refuse_erased_history(git: Git, tip: str | None, remote_tip: str | None) -> None:
    """Raise UsageError if one of two histories has commits that an erasure rewrote.

    Raise it also if an erasure was killed before it removed the old history from this clone.
    """
    tombstones = read_tombstones(git, tip, remote_tip)
    if tombstones and git.text("for-each-ref", "--count=1", _NEW_REFS):
        raise UsageError(f"an erasure did not end in this clone; run `{FOLLOW_COMMAND}`")
    for tombstone in tombstones:
        for commit, owner in ((tip, "this clone"), (remote_tip, "the remote")):
            if commit and any(git.history.is_ancestor(sha, commit) for sha in tombstone.commits):
                raise UsageError(
                    f"{owner} still has the text that was erased on {tombstone.at:%Y-%m-%d}; run "
                    f"`{FOLLOW_COMMAND}`, and have the key at hand"
                )


def find_retyped(git: Git, tip: str | None, remote_tip: str | None) -> list[Problem]:
    """Return problems for erased texts and outcomes in files that differ between two commits.

    If there are no such files, search the messages and patches of unpushed commits. Without the
    key, only outcomes can be recognized.
    """
    tombstones = read_tombstones(git, tip, remote_tip)
    if not (tombstones and tip and remote_tip):
        return []
    eraser = Eraser.of(read_key(git) or "", tombstones)
    hints = {
        tip: f"has what was erased; run `{FOLLOW_COMMAND}`",
        remote_tip: f"was pushed with what was erased; run `git merge {remote_tip[:10]}` and "
        "`skillvault sync`, then erase that text again by `skillvault erase`",
    }
    messages: dict[str, str] = {}
    for base, commit in ((remote_tip, tip), (tip, remote_tip)):
        ids = {path: e.id for path, e in git.history.diff_trees(base, commit).items() if e}
        contents = git.blobs(ids.values())
        for path, blob in ids.items():
            if eraser.drops(path) or eraser.has_erased(_decode_file(contents[blob], path)):
                messages.setdefault(path, hints[commit])
    if not messages:
        options = ("--format=%x00%h %an %ae%n%B", "--patch", "--no-color", "--no-textconv")
        out = git.run("log", *options, f"{remote_tip}..{tip}").decode(errors="surrogateescape")
        parts = [part for part in out.split("\0") if eraser.has_erased(part)]
        messages = {f"commit {part.split(' ')[0]}": hints[tip] for part in parts}
    return [Problem(path, None, "erased", text) for path, text in sorted(messages.items())]


# ── erase ────────────────────────────────────────────────────────────────────────────


def erase(
    store: Store,
    texts: Sequence[str],
    confirm: Callable[[Erasure], bool],
    *,
    key: str | None = None,
    now: datetime,
) -> Erasure:
    """Erase texts and outcomes from this clone and its remote.

    Without `texts`, erase what the tombstones name. Everything is computed in a copy of the
    repository. If `confirm` returns False for the result, nothing changes.
    """
    check_tool()
    store.recover()
    with store.lock_daemon(), store.lock_writer():
        _undo_killed_erasure(store.git, store.snapshot().policy.branch)
        upstream = _check_state(store)
        remote_refs = upstream.fetch_all() if upstream else {}
        with _copy_folder(store.git) as copy:
            rewrite = _Rewrite(store, copy, now, upstream=upstream, remote_refs=remote_refs)
            rewrite.plan(texts, key)
            rewrite.rewrite_copy()
            erasure = rewrite.erasure
            if texts and not (erasure.commits or erasure.local_files):
                raise UsageError("nothing here has this text; look at its spelling")
            if confirm(erasure):
                rewrite.publish()
                erasure.is_done = True
            return erasure


def _undo_killed_erasure(git: Git, branch: str) -> None:
    """Restore the work tree after an erasure that was killed before its refs moved."""
    environment = git.settings().staging
    for ref in (_TOMBSTONE_REF, f"{_NEW_REFS}/heads/{branch}"):
        tip = git.text("rev-parse", "--verify", "--quiet", ref, ok=(0, 1))
        if tip and not git.run("diff", "--cached", "--name-only", tip, env=environment):
            git.run("read-tree", "-m", "-u", tip, "HEAD", env=environment)


def _check_state(store: Store) -> Upstream | None:
    """Return the upstream; raise an error if work of a person would be lost or has the text."""
    git, policy = store.git, store.snapshot().policy
    git_dir, common_dir = git.dirs()
    check_normal(git, policy.branch)
    status = os.fsdecode(git.run("status", "--porcelain", "-z", "--untracked-files=all",
                                 env=git.settings().staging)).split("\0")  # fmt: skip
    if status[0]:
        raise UncommittedEditError(
            f"{status[0][3:]}: edited and not committed; commit it or undo the edit, then erase"
        )
    for ref in git.text("for-each-ref", "--format=%(refname)").split():
        if not ref.startswith((*_REF_FOLDERS, "refs/skillvault/")):
            raise UncommittedEditError(
                f"{ref} would keep the text; use what is in it (`git stash pop`), or remove it by "
                f"`git update-ref -d {ref}`, then erase"
            )
    if git_dir != common_dir or (common_dir / "worktrees").is_dir():
        raise UsageError("the vault has several work trees; remove all but one by `git worktree`")
    if (common_dir / "objects/info/alternates").exists() or git.is_partial():
        raise UsageError("this clone borrows objects; erase in a full clone instead")
    for commit in store.taken.commits(age=0.0):
        if git.history.is_ancestor(commit, git.tip(policy.branch) or ""):
            store.taken.forget(commit)
        else:
            store.taken.put_back(commit)
    return upstream_of(git, policy.branch)


@contextmanager
def _copy_folder(git: Git) -> Iterator[Path]:
    folder = _folder(git) / _COPY_FOLDER
    shutil.rmtree(folder, ignore_errors=True)  # left by a killed erasure
    folder.mkdir(parents=True, mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


class _Rewrite:
    """One erasure in progress: call `plan`, `rewrite_copy` and then `publish`."""

    def __init__(
        self,
        store: Store,
        copy: Path,
        now: datetime,
        *,
        upstream: Upstream | None,
        remote_refs: Mapping[str, str],
    ) -> None:
        self.store, self.git, self.upstream, self.now = store, store.git, upstream, now
        self.branch = store.snapshot().policy.branch
        self.copy = copy
        self.remote_refs = remote_refs
        self.refs = _read_refs(Runner(store.root))
        self.tip = self.refs[f"{_BRANCHES}{self.branch}"]
        self.remote_tip = remote_refs.get(f"{_BRANCHES}{self.branch}")
        self.tombstones = read_tombstones(self.git, self.tip, self.remote_tip)
        self.tombstone: Tombstone | None = None
        self.erasure = Erasure()
        self.new_refs: dict[str, tuple[str, str]] = {}  # old name -> new name and id

    # ── plan ─────────────────────────────────────────────────────────────────────────

    def plan(self, texts: Sequence[str], key: str | None) -> None:
        """Choose the key, create the tombstone of new texts, and prepare the eraser."""
        key = key or read_key(self.git)
        proofs = {tombstone.proof for tombstone in self.tombstones}
        if proofs and (key is None or erasure.prove(key) not in proofs):
            raise UsageError(
                f"this is not the key of the earlier erasure; ask who erased for "
                f".git/skillvault/{KEY_FILE}"
            )
        self.key = key or secrets.token_hex(_KEY_BYTES)
        if texts:
            if self.upstream and self.remote_tip != self.tip:
                raise UsageError("this clone and the remote differ; run `skillvault sync` first")
            for ref, sha in self.remote_refs.items():
                if self.refs.get(ref, sha) != sha and ref.startswith("refs/tags/"):
                    raise UsageError(
                        f"{ref} is another one in the remote; remove one of the two, then erase"
                    )
            outcomes = [text for text in texts if layout.is_outcome_id(text)]
            names = [text for text in texts if text not in outcomes]
            for text in names:
                if erasure.is_too_short(erasure.normalize(text)):
                    raise UsageError(f"{text!r} is too short; it would match other words")
            normal_texts = {erasure.normalize(text) for text in [*names, *self._quotes(outcomes)]}
            self.tombstone = Tombstone(
                at=self.now.astimezone(UTC).replace(microsecond=0),
                proof=erasure.prove(self.key),
                texts=sorted(
                    (len(text), erasure.sign_text(self.key, text)) for text in normal_texts
                ),
                outcomes=sorted(outcomes),
            )
        elif not self.tombstones:
            raise UsageError("nothing was erased in this vault, so there is nothing to follow")
        self.eraser = Eraser.of(self.key, [*self.tombstones, *filter(None, [self.tombstone])])
        identity = self.git.committer.identity()
        if self.eraser.has_erased(identity):
            raise UsageError(
                f"git's name for you, {identity}, would come back with your next commit; change "
                "it by `git config --global user.name NAME` (and user.email)"
            )

    def _quotes(self, outcomes: Sequence[str]) -> set[str]:
        """Return the sentences of outcomes and their evaluations that no other record has."""
        snapshot = self.store.snapshot()
        for outcome in outcomes:
            if outcome not in snapshot.outcomes:
                raise UsageError(f"{outcome}: no such outcome; `skillvault log` names them")
            if outcome not in snapshot.retractions:
                raise UsageError(
                    f"{outcome}: still counts; run `skillvault retract {outcome} --reason TEXT` "
                    "and `skillvault sync` first, so that nothing is learned from it"
                )
        paths = [*snapshot.files.below("outcomes"), *snapshot.files.below("evaluations")]
        quotes: set[str] = set()
        normal_texts: list[str] = []
        for path, content in snapshot.files.read(paths).items():
            name = path.rpartition("/")[2].partition(".")[0]
            if name in outcomes and path.endswith(f"{name}.yaml"):
                quotes.update(_list_sentences(strict_yaml.load(_decode_file(content, ""))))
            elif name not in outcomes:
                normal_texts.append(erasure.normalize(_decode_file(content, "")))
        other_texts = "\n".join(normal_texts)
        return {text for text in quotes if erasure.normalize(text) not in other_texts}

    # ── rewrite ──────────────────────────────────────────────────────────────────────

    def rewrite_copy(self) -> None:
        """Rewrite the history of the copy, and note the changes in `erasure`."""
        runner = Runner(self.copy)
        runner.run("init", "--bare", "--quiet", "--template=", "--object-format=sha1")
        specs = [f"+{folder}*:{folder}*" for folder in _REF_FOLDERS]
        fetch_options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--update-head-ok")
        runner.run("fetch", *fetch_options, str(self.git.dirs()[1]), *specs)
        rewriting = self._rewrite_refs(runner)
        changed_commits = {sha for sha, new_sha in rewriting.commits.items() if sha != new_sha}
        if self.tombstone:
            self.tombstone.commits = _first_commits(self.git, changed_commits)
        refs = _read_refs(runner)
        for ref in self.refs:
            new_name = self.eraser.replace(ref)
            name = new_name if new_name in refs else ref
            self.new_refs[ref] = name, refs[name]
        self._check_new_tree()
        self.erasure.commits = len(changed_commits)
        self.erasure.messages = rewriting.messages
        self.erasure.paths = rewriting.paths
        self.erasure.local_files = [self._name(p) for p in self._local_files() if self._has_text(p)]
        self.erasure.refs = [
            ref for ref, target in self.new_refs.items() if target != (ref, self.refs[ref])
        ]
        self.erasure.remote_refs = [move.ref for move in self._remote_moves()]

    def _rewrite_refs(self, runner: Runner) -> Rewriting:
        """Rewrite all refs of the copy but the refs that the remote has rewritten already."""
        refs = list(self.refs)
        if self.tombstone is None:
            clean_refs = [ref for ref in refs if self._is_clean(ref)]
            refs = [ref for ref in refs if ref not in clean_refs]
            refs += [f"^{ref}" for ref in clean_refs]
            if not runner.text("rev-list", "--max-count=1", *refs, *([] if refs else ["--all"])):
                return Rewriting()
        return rewrite_history(self.copy, self.eraser, refs)

    def _is_clean(self, ref: str) -> bool:
        """Return True for a branch or tag of the remote without an erased commit."""
        commits = (sha for tombstone in self.tombstones for sha in tombstone.commits)
        is_remote = ref.startswith(_REMOTES) or self.remote_refs.get(ref) == self.refs[ref]
        return is_remote and not any(
            self.git.history.is_ancestor(sha, self.refs[ref]) for sha in commits
        )

    def _check_new_tree(self) -> None:
        objects = Objects(self.copy / "objects")
        problems_by_key = []
        for commit in (self.tip, self.new_refs[f"{_BRANCHES}{self.branch}"][1]):
            files = {path: entry.id for path, entry in objects.files(commit).items()}
            work_tree = WorkTreeView(files, objects.blobs, lambda _: {})
            problems, _ = check.find_problems(work_tree, lambda _: None, list(files))
            problems_by_key.append({(p.code, self.eraser.replace(p.path)): p for p in problems})
        old_problems, new_problems = problems_by_key
        for key, problem in new_problems.items():
            if key not in old_problems:
                raise UsageError(
                    f"{problem.path}: {problem.message} [{problem.code}], if this is erased; edit "
                    "that file first, commit and sync"
                )

    # ── publish ──────────────────────────────────────────────────────────────────────

    def publish(self) -> None:
        """Push the new history, switch this clone to it, and remove the old history."""
        git, runner = self.git, Runner(self.store.root)
        _check_state(self.store)  # again, because a person may have worked meanwhile
        if _read_refs(runner) != self.refs:
            raise UsageError("a branch or tag moved meanwhile; run the command again")
        key_file = _folder(git) / KEY_FILE
        key_file.touch(mode=0o600)
        key_file.write_text(f"{self.key}\n", encoding="ascii")
        options = ("--quiet", "--no-tags", "--no-write-fetch-head")
        runner.run("fetch", *options, str(self.copy), f"+refs/*:{_NEW_REFS}/*")
        if self.tombstone:
            self._add_tombstone(self.tombstone)
        tips = self.tip, self.new_refs[f"{_BRANCHES}{self.branch}"][1]
        environment = git.settings().staging
        runner.run("update-index", "-q", "--refresh", env=environment, ok=(0, 1))
        runner.run("read-tree", "-n", "-m", "-u", *tips, env=environment)  # a dry run
        if (moves := self._remote_moves()) and self.upstream:
            self.upstream.replace(moves)
        reach("erase-pushed")
        runner.run("read-tree", "-m", "-u", *tips, env=environment)
        reach("erase-checked-out")
        if reason := self._move_refs(runner):
            runner.run("read-tree", "-m", "-u", *reversed(tips), env=environment)
            raise UsageError(f"{reason}; run `{FOLLOW_COMMAND}`, which goes on from here")
        reach("erase-moved")
        self._clean(runner)

    def _add_tombstone(self, tombstone: Tombstone) -> None:
        git, ref = self.git, f"{_BRANCHES}{self.branch}"
        old_tip = self.new_refs[ref][1]
        content = msgspec.json.format(msgspec.json.encode(tombstone), indent=2) + b"\n"
        name = f"{tombstone.at:%Y%m%d}-{secrets.token_hex(4)}.json"
        entry = Entry(REGULAR, git.objects.write_blob(content))
        root = git.objects.root(old_tip)
        tree = git.objects.write_tree(root, {f"{erasure.FOLDER}/{name}": entry})
        count = pluralize(len(tombstone.texts) + len(tombstone.outcomes), "text")
        change = Change(
            step="erase",
            subject=f"{count} of the history",
            reason=f"Each clone removes them by `{FOLLOW_COMMAND}`; "
            "until then its `sync` is refused.",
        )
        draft = CommitDraft(tree, message_of([change]))
        (tip,) = git.committer.make_commits([draft], old_tip, self.now)
        git.run("update-ref", _TOMBSTONE_REF, tip)
        self.new_refs[ref] = ref, tip
        tracking_ref = self._tracking_ref(ref)
        if tracking_ref in self.new_refs:
            self.new_refs[tracking_ref] = tracking_ref, tip

    def _tracking_ref(self, ref: str) -> str:
        name = ref.removeprefix(_BRANCHES)
        return f"{_REMOTES}{self.upstream.remote}/{name}" if self.upstream else ""

    def _remote_moves(self) -> list[RefUpdate]:
        moves: list[RefUpdate] = []
        for ref, commit in self.remote_refs.items():
            local_ref = self._tracking_ref(ref) if ref.startswith(_BRANCHES) else ref
            if self.refs.get(local_ref) != commit:
                continue  # the remote has another tag with this name
            new_name, new_commit = self.new_refs[local_ref]
            if new_name != local_ref:
                new_ref = self.eraser.replace(ref)
                moves.append(RefUpdate(ref, ABSENT, commit))
                moves.append(RefUpdate(new_ref, new_commit, ABSENT))
            elif new_commit != commit:
                moves.append(RefUpdate(ref, new_commit, commit))
        return moves

    def _move_refs(self, runner: Runner) -> str:
        """Move all local refs to the new history; return the reason if that fails, or "".

        A new commit of a person makes it fail. The branches of the remote have moved already.
        """
        local_refs = {ref: sha for ref, sha in self.refs.items() if not ref.startswith(_REMOTES)}
        refs = {**_read_refs(runner), **local_refs}
        planned_refs = {*self.refs, *(name for name, _ in self.new_refs.values())}
        if surplus_refs := refs.keys() - planned_refs:
            return f"{min(surplus_refs)} is new"
        updates: list[RefUpdate] = []
        for ref, (name, new_commit) in self.new_refs.items():
            if name != ref and ref in refs:
                updates.append(RefUpdate(ref, ABSENT, refs[ref]))
            if new_commit != refs.get(name):
                updates.append(RefUpdate(name, new_commit, refs.get(name, ABSENT)))
        with self.git.ref_session("erase") as session:
            session.begin(updates)
            return "" if session.commit() else session.error

    def _clean(self, runner: Runner) -> None:
        """Remove the old history from this clone: refs, reflogs, objects, caches, other files."""
        for ref in runner.text("for-each-ref", "--format=%(refname)", "refs/skillvault").split():
            runner.run("update-ref", "-d", ref)
        runner.run("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
        git_dir, folder = self.git.dirs()[0], _folder(self.git)
        for path in [*(git_dir / name for name in _LEFTOVERS), *folder.glob(_DATABASES)]:
            path.unlink(missing_ok=True)
        shutil.rmtree(git_dir / "rr-cache", ignore_errors=True)
        for path in list(self._local_files()):
            if self._has_text(path):
                self._clean_file(path)
        clone = self.git.settings().clone
        if clone and self.eraser.has_erased(clone):
            runner.run("config", "--local", CLONE, self.eraser.replace(clone))
        for ref, (name, _) in self.new_refs.items():
            if name != ref and ref.startswith(_BRANCHES):
                section = f"branch.{ref.removeprefix(_BRANCHES)}"
                runner.run("config", "--local", "--remove-section", section, ok=(0, 128))
        self.erasure.is_in_config = self._has_text(git_dir / "config")
        # The index also has a cache of untracked files, which git builds again.
        runner.run("-c", "core.untrackedCache=keep", "update-index", "--no-untracked-cache")
        settings = ("-c", "gc.pruneExpire=now", "-c", "gc.reflogExpire=now")
        release_packs(self.git.dirs()[1] / "objects")
        runner.run(*settings, "repack", "-a", "-d", "-q")
        runner.run(*settings, "prune", "--expire=now")
        runner.run(*settings, "gc", "--prune=now", "--quiet")

    # ── files outside git ────────────────────────────────────────────────────────────

    def _local_files(self) -> Iterator[Path]:
        folder = _folder(self.git)
        for parent_folder in (*(self.store.root / name for name in layout.UNTRACKED), folder):
            for path in sorted(parent_folder.rglob("*")):
                is_lock = path.parent == folder and path.name in _LOCKS
                is_cache = path.match(_DATABASES) or self.copy in path.parents
                if path.is_file() and not (path.is_symlink() or is_lock or is_cache):
                    yield path

    def _name(self, path: Path) -> str:
        return path.relative_to(self.store.root).as_posix()

    def _has_text(self, path: Path) -> bool:
        return self.eraser.has_erased(_decode_file(path.read_bytes(), self._name(path)))

    def _clean_file(self, path: Path) -> None:
        data = path.read_bytes()
        if b"\0" in data:
            path.unlink()
            return
        # The file is replaced, because appended lines of another process must not be overwritten.
        name = self.eraser.replace(path.name)
        while name != path.name and path.with_name(name).exists():
            name = f"{erasure.MARKER}-{name}"
        draft = path.with_name(f"{name}.tmp")
        draft.touch(mode=private_mode(self.store.root) & 0o666)
        draft.write_bytes(rewrite_bytes(self.eraser, data))
        path.unlink()
        draft.rename(draft.with_suffix(""))


def _folder(git: Git) -> Path:
    return git.dirs()[1] / "skillvault"


def _decode_file(content: bytes, path: str) -> str:
    return f"{path}\n\n{content.decode(errors='surrogateescape')}"


def _read_refs(runner: Runner) -> dict[str, str]:
    form = "--format=%(refname) %(objectname) %(symref)"
    lines = runner.text("for-each-ref", form, "refs/heads", "refs/tags", "refs/remotes").split("\n")
    rows = [line.split(" ") for line in lines if line]
    return {row[0]: row[1] for row in rows if len(row) == 2 or not row[2]}


def _first_commits(git: Git, changed_commits: set[str]) -> list[str]:
    first_commits = []
    for sha in changed_commits:
        header = git.objects.commit_bytes(sha).partition(b"\n\n")[0].decode(errors="replace")
        parents = {line[7:] for line in header.split("\n") if line.startswith("parent ")}
        if changed_commits.isdisjoint(parents):
            first_commits.append(sha)
    return sorted(first_commits)


def _list_sentences(value: object) -> Iterator[str]:
    if isinstance(value, str):
        for sentence in sentences(value):
            if len(erasure.normalize(sentence)) >= _MIN_SENTENCE and " " in sentence:
                yield sentence
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _list_sentences(part)

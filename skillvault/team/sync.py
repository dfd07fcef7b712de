"""Fetch the history of the remote, merge it into this clone, check the result, and push (`sync`).

`sync_tree` computes the merge in memory, and the store publishes it like any other change, so the
repository is never in the middle of a merge. Nothing is forced, rebased or reset.
"""

import random
import time
from collections.abc import Callable, Mapping
from datetime import datetime

from msgspec import Struct, field
from msgspec.structs import replace

from skillvault.inspect import lookup
from skillvault.learning.sync.table import read_undecided
from skillvault.model import errors
from skillvault.model.change import Change, Join, Replacement, message_of
from skillvault.model.records import Problem, Ref
from skillvault.model.text.front_matter import with_key
from skillvault.team.erase import find_retyped, refuse_erased_history
from skillvault.team.proposal_refs import BranchCleanup, remove_merged_branches
from skillvault.team.sync_tree import MergedTree, merge_trees
from skillvault.vault import check
from skillvault.vault.commit.store import Store
from skillvault.vault.failpoint import reach
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import WorkTreeView, policy_of
from skillvault.vault.git.committer import CommitDraft
from skillvault.vault.git.objects import REGULAR, Entry
from skillvault.vault.git.remote import Upstream, clone_name, upstream_of

STEP = "sync"
_MAX_ATTEMPTS = 8
_FIRST_PAUSE = 0.2  # seconds before the second attempt; doubled for each further attempt
_MAX_LISTED = 20  # paths to list in a commit message
_Pause = Callable[[float], None]


class SyncReport(Struct):
    """The result of a sync.

    `received` and `sent` count commits. `merged` is the commit that joins both histories, and
    `decided` lists the paths that both changed and that a rule decided. `claimed` is the name of
    this clone if it became the learner (the one clone that runs the learning steps). `waiting`
    counts commits that are not pushed; `away` says why the remote cannot be reached. `undecided`
    maps a key of vault.yaml to the values that clones set differently. `branches` has the removed
    branches of proposals. If there are `problems`, nothing was published.
    """

    remote: str
    learner: str | None = None
    received: int = 0
    merged: str | None = None
    decided: list[str] = field(default_factory=list)
    sent: int = 0
    claimed: str | None = None
    waiting: int = 0
    away: str | None = None
    undecided: dict[str, list[str]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    branches: BranchCleanup = field(default_factory=lambda: BranchCleanup([], {}))


def sync_clones(
    store: Store, now: datetime, *, take_over: bool = False, pause: _Pause = time.sleep
) -> SyncReport:
    """Fetch, merge and push; with `take_over` this clone also becomes the learner.

    Raise UncommittedEditError if a path is edited locally, PausedError if the repository is in the
    middle of a merge or rebase, VaultBusyError if other clones push during each attempt, and
    GitError if the remote refuses the push.
    """
    store.follow()
    policy = store.staging.policy
    if reason := store.pause_reason(policy):
        raise errors.PausedError(f"paused: {reason}")
    upstream = upstream_of(store.git, policy.branch)
    if upstream is None:
        raise errors.UsageError("the vault has no remote; run `git remote add origin URL`")
    report = SyncReport(upstream.remote)
    _exchange(_Sync(store, upstream, now, report), take_over, pause)
    snapshot = store.snapshot()
    if not report.away and not report.problems:
        proposals = snapshot.skills.names("proposed")
        report.branches = remove_merged_branches(store.git, policy.branch, proposals, upstream)
    report.learner = snapshot.policy.learner
    policy_text = snapshot.files.read([layout.VAULT_FILE])[layout.VAULT_FILE].decode()
    report.undecided = read_undecided(policy_text)
    report.waiting = upstream.count_unpushed(store.tip())
    return report


class _Sync(Struct):
    """A sync in progress; `claim` is the commit that made this clone the learner."""

    store: Store
    upstream: Upstream
    now: datetime
    report: SyncReport
    claim: str | None = None


def _exchange(sync: _Sync, take_over: bool, pause: _Pause) -> None:
    """Fetch, merge and push; if another clone pushed first, start again."""
    for attempt in range(_MAX_ATTEMPTS):
        if attempt:
            pause(random.uniform(0.5, 1) * _FIRST_PAUSE * 2**attempt)  # noqa: S311 (not a secret)
        try:
            remote_tip = sync.upstream.fetch()
        except errors.GitError as error:  # the commits wait for the next sync
            sync.report.away = str(error)
            return
        reach("sync-fetched")
        refuse_erased_history(sync.store.git, sync.store.tip(), remote_tip)
        sync.report.problems = find_retyped(sync.store.git, sync.store.tip(), remote_tip)
        if sync.report.problems:
            return
        if not sync.report.claimed and _should_claim(sync, remote_tip, take_over=take_over):
            remote_tip = _claim(sync, remote_tip)
            if remote_tip is None:
                continue
        if _receive_and_push(sync, remote_tip):
            return
    raise errors.VaultBusyError(
        f"others pushed to {sync.upstream.remote} during each of {_MAX_ATTEMPTS} attempts; run "
        "`skillvault sync` again"
    )


def _receive_and_push(sync: _Sync, remote_tip: str | None) -> bool:
    """Merge the remote's commit and push; return False if another clone pushed first."""
    try:
        _receive(sync, remote_tip)
    except errors.BranchMovedError:
        return False
    tip = sync.store.tip()
    if sync.report.problems or tip is None or tip == remote_tip:
        return True
    count = sync.upstream.count_unpushed(tip)
    reach("sync-before-push")
    if sync.upstream.push(tip) == "outrun":
        return False
    reach("sync-pushed")
    sync.report.sent = count
    return True


# ── the learner ──────────────────────────────────────────────────────────────────────


def _should_claim(sync: _Sync, remote_tip: str | None, *, take_over: bool) -> bool:
    store = sync.store
    entries = store.git.entries(remote_tip, [layout.VAULT_FILE]) if remote_tip else {}
    contents = store.git.blobs(entry.id for entry in entries.values())
    learners = [policy_of(content).learner for content in contents.values()]
    if not take_over or remote_tip is None:
        learners.append(store.staging.policy.learner)
    return clone_name(store.git) not in learners if take_over else not any(learners)


def _claim(sync: _Sync, remote_tip: str | None) -> str | None:
    """Push a commit that makes this clone the learner, and return the commit.

    Return None if another clone pushed first. No branch contains the commit until the remote
    accepts it.
    """
    git = sync.store.git
    name, parent = clone_name(git), remote_tip or sync.store.tip()
    if parent is None:
        raise errors.UsageError("the vault has no commit yet; run `skillvault init`")
    old_entry = git.entries(parent, [layout.VAULT_FILE]).get(layout.VAULT_FILE)
    if old_entry is None:
        raise errors.UsageError(
            f"the branch of {sync.upstream.remote} is not a vault; check the remote"
        )
    content = with_key(git.blobs([old_entry.id])[old_entry.id], ("learner",), name, is_yaml=True)
    entry = Entry(old_entry.mode, git.objects.write_blob(content))
    tree = git.objects.write_tree(git.objects.root(parent), {layout.VAULT_FILE: entry})
    change = Change(
        step=STEP,
        subject=f"{name} learns",
        reason="It promotes, generates, merges and assesses; the other clones record.",
    )
    draft = CommitDraft(tree, message_of([change]))
    (commit,) = git.committer.make_commits([draft], parent, sync.now)
    if sync.upstream.push(commit) == "outrun":
        return None
    reach("sync-claimed")
    sync.report.claimed, sync.claim = name, commit
    return commit


# ── merging ──────────────────────────────────────────────────────────────────────────


def _receive(sync: _Sync, remote_tip: str | None) -> None:
    """Merge the commit of the remote; publish nothing if the merge causes a new problem."""
    store, report, history = sync.store, sync.report, sync.store.git.history
    store.follow()
    tip = store.staging.commit
    if remote_tip is None or tip is None or history.is_ancestor(remote_tip, tip):
        return
    is_forward = history.is_ancestor(tip, remote_tip)
    if is_forward:
        tree = MergedTree(history.diff_trees(tip, remote_tip, submodules=True))
    else:
        tree = merge_trees(store.git, tip, remote_tip)
    report.problems = tree.problems or _find_new_problems(store, tree.entries, remote_tip)
    if report.problems:
        return
    staged_change = store.stage(_merge_change(sync, tree, Join(remote_tip, forward=is_forward)))
    reach("sync-merged")
    count = len({*history.commits_between(tip, remote_tip)} - {sync.claim})
    (commit,) = store.apply([staged_change], tip, now=sync.now, policy=store.staging.policy)
    report.received += count
    report.merged = report.merged if is_forward else commit
    report.decided += tree.decided


def _find_new_problems(
    store: Store, entries: Mapping[str, Entry | None], remote_tip: str
) -> list[Problem]:
    local_files = dict(store.staging.files.items())
    merged_files = {path: blob for path, blob in local_files.items() if path not in entries}
    merged_files |= {path: entry.id for path, entry in entries.items() if entry}
    problems = _find_problems(store, merged_files, entries, local_files)
    if not problems:
        return []
    remote_entries = store.git.objects.files(remote_tip)
    remote_files = {path: entry.id for path, entry in remote_entries.items()}
    old_problems = {
        *_find_problems(store, local_files, entries, local_files),
        *_find_problems(store, remote_files, entries, local_files),
    }
    return [problem for problem in problems if problem not in old_problems]


def _find_problems(
    store: Store,
    blobs: Mapping[str, str],
    entries: Mapping[str, Entry | None],
    local_files: Mapping[str, str],
) -> list[Problem]:
    snapshot = store.snapshot()
    work_tree = WorkTreeView(blobs, store.git.blobs, snapshot.records.by_blob)
    removed_refs = {_ref(path) for path in (*local_files, *entries) if path not in blobs}
    find_remover = lookup.remover(store, snapshot, work_tree)

    def describe_removal(ref: Ref) -> str | None:
        return "removed in another clone" if str(ref) in removed_refs else find_remover(ref)

    refs = {_ref(path) for path in entries} - {None}
    paths = {path for path in blobs if path in entries or _ref(path) in refs}
    problems, _ = check.find_problems(work_tree, describe_removal, paths)
    return sorted(problems, key=lambda problem: problem.order)


def _ref(path: str) -> str | None:
    ref = layout.ref_of(path)
    return str(ref) if ref else None


def _merge_change(sync: _Sync, tree: MergedTree, join: Join) -> Change:
    store, entries = sync.store, tree.entries
    contents = store.git.blobs(entry.id for entry in entries.values() if entry)
    files = {path: contents[entry.id] for path, entry in entries.items() if entry}
    learnings = files.pop(layout.LEARNINGS, None)
    replacements: tuple[Replacement, ...] = ()
    if learnings is not None:
        blob = store.staging.files.get(layout.LEARNINGS)
        replacements = (Replacement(layout.LEARNINGS, learnings, blob, grows=True),)
    modes = {path: entry.mode for path, entry in entries.items() if entry and entry.mode != REGULAR}
    return Change(
        step=STEP,
        subject=f"{sync.upstream.branch} of {sync.upstream.remote}",
        reason=_decision_reason(tree.decided),
        files=tuple(sorted(files.items())),
        removes=tuple(sorted(path for path, entry in entries.items() if entry is None)),
        replaces=replacements,
        joins=replace(join, modes=tuple(modes.items())),
    )


def _decision_reason(paths: list[str]) -> str:
    if not paths:
        return "Nothing was changed on both sides."
    lines = [f"  {path}" for path in paths[:_MAX_LISTED]]
    if len(paths) > _MAX_LISTED:
        lines.append(f"  and {len(paths) - _MAX_LISTED} more")
    return "\n".join(["Changed on both sides, and decided by the rules:", *lines])

"""sync: what this clone has and what the others pushed become one: fetch, merge, check, push.

The repository is never in the middle of a merge: a merge is computed in memory and published as any
change is. Nothing is forced, rebased or reset.
"""

import random
import time
from collections.abc import Callable, Collection, Mapping
from datetime import datetime

from msgspec import Struct, field

from skillvault.inspect import lookup
from skillvault.learning.sync.table import undecided
from skillvault.model.change import Change, Join, Replacement, message_of
from skillvault.model.errors import GitError, OutrunError, PausedError, UsageError, VaultBusyError
from skillvault.model.records import Problem, Ref
from skillvault.model.text.front_matter import with_key
from skillvault.team.sync_tree import MergedTree, merged_tree
from skillvault.vault import check
from skillvault.vault.commit.store import Store
from skillvault.vault.failpoint import reach
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import WorkTreeView, policy_of
from skillvault.vault.git.committer import CommitDraft
from skillvault.vault.git.trees import REGULAR, Entry
from skillvault.vault.git.upstream import Upstream, clone_name, upstream_of


def new_problems(store: Store, entries: Mapping[str, Entry | None], theirs: str) -> list[Problem]:
    """The problems of ours with these entries that neither ours nor theirs has; [] if none."""
    ours = dict(store.staged.files.items())
    changed = {path: entry.id for path, entry in entries.items() if entry}
    merged = {path: blob for path, blob in ours.items() if path not in entries} | changed
    problems = _problems(store, merged, entries, ours)
    if not problems:
        return []
    there = {path: entry.id for path, entry in store.git.objects.files(theirs).items()}
    before = {*_problems(store, ours, entries, ours), *_problems(store, there, entries, ours)}
    return [problem for problem in problems if problem not in before]


def _problems(
    store: Store,
    contents: Mapping[str, str],
    entries: Mapping[str, Entry | None],
    ours: Mapping[str, str],
) -> list[Problem]:
    """The problems of a tree at the paths that change, and beside them."""
    head = store.head()
    view = WorkTreeView(contents, store.git.blobs, head.records.by_blob)
    gone = {ref for path in (*ours, *entries) if path not in contents and (ref := _ref(path))}
    remover = lookup.remover(store, head, view)

    def removed(ref: Ref) -> str | None:
        return "removed in another clone" if str(ref) in gone else remover(ref)

    problems, _ = check.findings(view, removed, _beside(entries, contents))
    return sorted(problems, key=lambda problem: problem.order)


def _ref(path: str) -> str | None:
    ref = layout.ref_of(path)
    return str(ref) if ref else None


def _beside(paths: Collection[str], contents: Collection[str]) -> set[str]:
    """Those of these paths that are there, and whatever has the name of a record among them."""
    names = {_ref(path) for path in paths} - {None}
    return {path for path in contents if path in paths or _ref(path) in names}


STEP = "sync"
_TRIES = 8
_PAUSE = 0.2  # seconds before the second try, twice as much before each other
_TOLD = 20  # records that a message lists

Pause = Callable[[float], None]


class Exchanged(Struct):
    """What a sync did.

    `received` and `sent` count commits, `merged` is the commit that joins both histories, `decided`
    what a rule decided there. `claimed`: this clone learns from now on. `waiting` commits are not
    pushed, as the remote is `away` for this reason. `undecided` are the keys of vault.yaml that
    clones set otherwise. Where there are `problems` nothing was published.
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


def bring_together(
    store: Store, now: datetime, *, take_over: bool = False, pause: Pause = time.sleep
) -> Exchanged:
    """Bring this clone and the remote's branch together; `take_over`: this clone learns.

    EditedError where a path is edited locally, PausedError in a repository in the middle of
    something, VaultBusyError where others push all the time, GitError if the remote refuses.
    """
    store.follow()
    policy = store.staged.policy
    if reason := store.paused(policy):
        raise PausedError(f"paused: {reason}")
    upstream = upstream_of(store.git, policy.branch)
    if upstream is None:
        raise UsageError("the vault has no remote; run `git remote add origin URL`")
    done = Exchanged(upstream.remote)
    try:
        _exchanged(_Exchange(store, upstream, now, done), take_over, pause)
    except _AwayError as error:
        done.away = str(error)
    head = store.head()
    done.learner = head.policy.learner
    done.undecided = undecided(head.files.read([layout.MARK])[layout.MARK].decode())
    done.waiting = upstream.unpushed(store.tip())
    return done


class _AwayError(Exception):
    """The remote cannot be reached; nothing is lost, and all waits."""


class _Exchange(Struct):
    """One sync under way."""

    store: Store
    upstream: Upstream
    now: datetime
    done: Exchanged
    claim: str | None = None  # the commit by which this clone became the learner

    def fetch(self) -> str | None:
        """The remote's commit; _AwayError if it cannot be asked."""
        try:
            theirs = self.upstream.fetched()
        except GitError as error:
            raise _AwayError(str(error)) from None
        reach("sync-fetched")
        return theirs


def _exchanged(exchange: _Exchange, take_over: bool, pause: Pause) -> None:
    """Fetch, merge and push, again as long as others were there first."""
    for number in range(_TRIES):
        if number:
            pause(random.uniform(0.5, 1) * _PAUSE * 2**number)  # noqa: S311 (not a secret)
        theirs = exchange.fetch()
        if not exchange.done.claimed and _claims(exchange, theirs, take_over=take_over):
            theirs = _claim(exchange, theirs)
            if theirs is None:
                continue
        if _is_pushed(exchange, theirs):
            return
    raise VaultBusyError(
        f"others pushed to {exchange.upstream.remote} during each of {_TRIES} attempts; run "
        "`skillvault sync` again"
    )


def _is_pushed(exchange: _Exchange, theirs: str | None) -> bool:
    """Whether nothing is left to do: all is merged and pushed, or may not be published."""
    store, done = exchange.store, exchange.done
    try:
        _receive(exchange, theirs)
    except OutrunError:
        return False
    tip = store.tip()
    if done.problems or tip is None or tip == theirs:
        return True
    count = exchange.upstream.unpushed(tip)
    reach("sync-before-push")
    if exchange.upstream.push(tip) == "outrun":
        return False
    reach("sync-pushed")
    done.sent = count
    return True


# ── who learns ───────────────────────────────────────────────────────────────────────


def _claims(exchange: _Exchange, theirs: str | None, *, take_over: bool) -> bool:
    """Whether this clone is to be named as the learner: it was asked to, or nobody is."""
    store = exchange.store
    blobs = store.git.entries(theirs, [layout.MARK]) if theirs else {}
    content = store.git.blobs([blobs[layout.MARK].id]) if blobs else {}
    named = [policy_of(data).learner for data in content.values()]
    named += [store.staged.policy.learner] if not take_over or theirs is None else []
    if take_over:
        return clone_name(store.git) not in named
    return not any(named)


def _claim(exchange: _Exchange, theirs: str | None) -> str | None:
    """The remote's commit once it names this clone; None if others were there first.

    It counts when the push was accepted: until then nothing of it is in the branch here.
    """
    store, git = exchange.store, exchange.store.git
    name, parent = clone_name(git), theirs or store.tip()
    if parent is None:
        raise UsageError("the vault has no commit yet; run `skillvault init`")
    commit = _naming(exchange, parent, name)
    if exchange.upstream.push(commit) == "outrun":
        return None
    reach("sync-claimed")
    exchange.done.claimed, exchange.claim = name, commit
    return commit


def _naming(exchange: _Exchange, parent: str, name: str) -> str:
    """A commit on `parent` after which this clone learns; in no branch yet."""
    git = exchange.store.git
    standing = git.entries(parent, [layout.MARK])
    if layout.MARK not in standing:
        raise UsageError(f"the branch of {exchange.upstream.remote} is no vault; check the remote")
    before = git.blobs([standing[layout.MARK].id])[standing[layout.MARK].id]
    content = with_key(before, ("learner",), name, bare=True)
    entry = Entry(standing[layout.MARK].mode, git.objects.write_blob(content))
    tree = git.objects.write_tree(git.objects.root(parent), {layout.MARK: entry})
    change = Change(
        step=STEP,
        subject=f"{name} learns",
        reason="It promotes, generates, merges and assesses; the other clones record.",
    )
    draft = CommitDraft(tree, message_of([change]))
    (commit,) = git.committer.commits([draft], parent, exchange.now, git.settings())
    return commit


# ── what the others have ─────────────────────────────────────────────────────────────


def _receive(exchange: _Exchange, theirs: str | None) -> None:
    """Take in what the remote has; nothing is published where that brings a new problem."""
    store, done = exchange.store, exchange.done
    store.follow()
    ours = store.staged.commit
    if theirs is None or ours is None or store.git.history.is_ancestor(theirs, ours):
        return
    forward = store.git.history.is_ancestor(ours, theirs)
    tree = _forwarded(store, ours, theirs) if forward else merged_tree(store.git, ours, theirs)
    done.problems = tree.problems or new_problems(store, tree.entries, theirs)
    if done.problems:
        return
    staged = store.stage(_taking_in(exchange, tree, theirs, forward=forward))
    reach("sync-merged")
    count = len({*store.git.history.between(ours, theirs)} - {exchange.claim})
    (commit,) = store.apply([staged], ours, now=exchange.now, policy=store.staged.policy)
    done.received += count
    done.merged = done.merged if forward else commit
    done.decided += tree.decided


def _forwarded(store: Store, ours: str, theirs: str) -> MergedTree:
    return MergedTree(store.git.history.changed(ours, theirs, submodules=True))


def _taking_in(exchange: _Exchange, tree: MergedTree, theirs: str, *, forward: bool) -> Change:
    """The commit by which the branch takes in the remote's."""
    store, upstream = exchange.store, exchange.upstream
    entries = tree.entries
    contents = store.git.blobs(entry.id for entry in entries.values() if entry)
    files = {path: contents[entry.id] for path, entry in entries.items() if entry}
    grown = files.pop(layout.LEARNINGS, None)
    replaces = (
        ()
        if grown is None
        else (
            Replacement(
                layout.LEARNINGS, grown, store.staged.files.get(layout.LEARNINGS), grows=True
            ),
        )
    )
    modes = {path: entry.mode for path, entry in entries.items() if entry and entry.mode != REGULAR}
    return Change(
        step=STEP,
        subject=f"{upstream.branch} of {upstream.remote}",
        reason=_decided_reason(tree),
        files=tuple(sorted(files.items())),
        removes=tuple(sorted(path for path, entry in entries.items() if entry is None)),
        replaces=replaces,
        joins=Join(theirs, forward=forward, modes=tuple(modes.items())),
    )


def _decided_reason(tree: MergedTree) -> str:
    """What was changed on both sides, and so decided by a rule."""
    if not tree.decided:
        return "Nothing was changed on both sides."
    more = [f"  and {len(tree.decided) - _TOLD} more"] if len(tree.decided) > _TOLD else []
    lines = [f"  {path}" for path in tree.decided[:_TOLD]]
    return "\n".join(["Changed on both sides, and decided by the rules:", *lines, *more])

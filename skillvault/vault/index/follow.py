"""How the index follows the branch: by the differences of two commits, or from nothing."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice

from skillvault.model.errors import BadInputError
from skillvault.model.link_lists import changed_links
from skillvault.model.records import Link, Ref, ref_of
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import parsed, policy_of
from skillvault.vault.git.ref_transaction import ABSENT
from skillvault.vault.git.repository import Git
from skillvault.vault.git.trees import Entry
from skillvault.vault.index.database import IndexDatabase
from skillvault.vault.index.rows import File
from skillvault.vault.index.schema import IndexedCommit, indexed

_BATCH = 500  # files read at once


def follow(database: IndexDatabase, git: Git, tip: Callable[[], str | None]) -> None:
    """Let the index show the commit at the branch's tip, if it shows another one."""
    database.return_to_file()
    if database.commit != tip() or database.boundary != git.boundary():
        database.whole(lambda: _follow(database, git, tip))


def _follow(database: IndexDatabase, git: Git, tip: Callable[[], str | None]) -> None:
    database.begin()
    # Asked once more: another process may have gone ahead while this one waited, and to go back
    # would take from the steps what it marked as due.
    commit, shown = tip(), database.commit
    boundary = git.boundary()
    same = database.boundary == boundary
    if shown == commit and same:
        database.rollback()
        return
    if shown and commit and same and git.history.has(shown):
        _differences(database, git, shown, commit)
    else:
        database.clear()
        _everything(database, git, commit)
    keep_policy(database, git)
    database.keep_boundary(boundary)
    database.show(commit)
    database.save()


def keep_policy(database: IndexDatabase, git: Git) -> None:
    """Let the index keep the policy; who asks for one that is broken is told so then."""
    blob = database.value("select blob from file where path = ?", [layout.MARK])
    if blob is None or database.policy(blob):
        return
    with suppress(BadInputError):
        database.keep_policy(blob, policy_of(git.blobs([blob])[blob]))


def _differences(database: IndexDatabase, git: Git, old: str, new: str) -> None:
    for batch in _batches(git.history.changed(old, new)):
        database.put(_files(git, batch))
    left = git.history.between(new, old)
    database.leave(left)
    database.enter(_history(database, git, f"{old}..{new}"))
    if left:  # what was taken away then may not have been
        database.finish()


def _everything(database: IndexDatabase, git: Git, commit: str | None) -> None:
    if commit is None:
        return
    tree = git.history.tree(commit)
    # An evaluation is found as far as its outcome is trusted, which is thus to be known by then.
    first = {path: entry for path, entry in tree.items() if layout.shelf_of(path) == "outcomes"}
    for batch in _batches(first | tree):
        database.fill({path: file for path, file in _files(git, batch).items() if file})
    database.enter(_history(database, git, commit))
    database.finish()


def _batches(entries: Mapping[str, Entry | None]) -> Iterator[dict[str, Entry | None]]:
    left = iter(entries.items())
    while batch := dict(islice(left, _BATCH)):
        yield batch


def _files(git: Git, entries: Mapping[str, Entry | None]) -> dict[str, File | None]:
    wanted = [entry.id for path, entry in entries.items() if entry and layout.holds_records(path)]
    data = git.blobs(wanted)
    return {path: _file(path, entry, data) for path, entry in entries.items()}


def _file(path: str, entry: Entry | None, data: Mapping[str, bytes]) -> File | None:
    if entry is None:
        return None
    return entry.id, parsed(path, data[entry.id]) if layout.holds_records(path) else None


def _history(database: IndexDatabase, git: Git, span: str) -> Iterator[IndexedCommit]:
    """The commits of a span, parents first."""
    depths: dict[str, int] = {}
    touched = git.history.paths_by_commit(span)

    def depth(sha: str) -> int:
        if sha not in depths:
            depths[sha] = database.value("select depth from commits where sha = ?", [sha]) or 0
        return depths[sha]

    for parts, parents in git.history.commits(span):
        sha = parts[0].sha
        depths[sha] = 1 + max(map(depth, parents), default=0)
        paths = touched.get(sha, {})
        yield from indexed(parts, depths[sha], refs_of(paths, _links_changed(git, paths)))


def _links_changed(git: Git, paths: Mapping[str, tuple[str, str]]) -> Iterator[Link]:
    """The links that came, went or changed, of paths with their blobs before and after."""
    for path, versions in paths.items():
        if owner := layout.links_owner(path):
            data = git.blobs(blob for blob in versions if blob != ABSENT)
            yield from changed_links(owner, *(data.get(blob, b"") for blob in versions))


def refs_of(paths: Iterable[str], links: Iterable[Link]) -> list[Ref]:
    """The records at these paths, and these links; a skill's links count as its own."""
    refs = [ref for path in paths if (ref := layout.ref_of(path))]
    for link in links:
        refs += [ref_of(link), *([link.target] if link.target.kind == "skill" else [])]
    return list(dict.fromkeys(refs))

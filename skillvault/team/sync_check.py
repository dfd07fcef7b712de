"""What would not hold in a merged vault and holds on both sides: then nothing is published."""

from collections.abc import Collection, Mapping

from skillvault.inspect import lookup
from skillvault.model.records import Problem, Ref
from skillvault.vault import check
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import View
from skillvault.vault.git.trees import Entry


def new_problems(store: Store, entries: Mapping[str, Entry | None], theirs: str) -> list[Problem]:
    """The problems of ours with these entries that neither ours nor theirs has; [] if none."""
    ours = dict(store.staged.files.items())
    changed = {path: entry.id for path, entry in entries.items() if entry}
    merged = {path: blob for path, blob in ours.items() if path not in entries} | changed
    problems = _problems(store, merged, entries, ours)
    if not problems:
        return []
    there = {path: entry.id for path, entry in store.git.history.tree(theirs).items()}
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
    view = View(contents, store.git.blobs, head.records.at_blobs)
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

"""Find a record by name, and follow its links to the trees of its sources and targets."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from skillvault.model.errors import UsageError
from skillvault.model.records import RecordKind, Ref
from skillvault.vault.files import layout
from skillvault.vault.index.snapshot import Snapshot

_Steps = Callable[[Snapshot, Ref], Iterator[tuple[str | None, Ref]]]

_MIN_CHARACTERS = 6
# An outcome and its evaluation have the same id; backward, the id means the evaluation.
_BACKWARD_KINDS: tuple[RecordKind, ...] = (
    *("skill", "fact", "session", "evaluation", "outcome", "link"),
)
_FORWARD_KINDS: tuple[RecordKind, ...] = (
    *("skill", "fact", "session", "outcome", "evaluation", "link"),
)


def resolve(snapshot: Snapshot, root: Path, text: str, *, forward: bool = False) -> Ref:
    """Return the record with this name, path or id, or whose id begins with `text`.

    A link stands for its target.
    """
    ref = _find_record(snapshot, root, text, forward=forward)
    link = snapshot.links.get(ref.id) if ref.kind == "link" else None
    return link.target if link else ref


def _find_record(snapshot: Snapshot, root: Path, text: str, *, forward: bool) -> Ref:
    if (ref := _find_by_path(snapshot, root, text)) is not None:
        return ref
    prefix = text.replace("_", "-").strip("/")
    kinds = _FORWARD_KINDS if forward else _BACKWARD_KINDS
    for name in (text.strip("/"), prefix):
        for kind in kinds:
            if Ref(kind, name) in snapshot.records:
                return Ref(kind, name)
        if skill_name := snapshot.history.former_names().get(name):
            return Ref("skill", skill_name)
    matches = {
        ref.id: ref
        for kind in reversed(kinds)
        if len(prefix) >= _MIN_CHARACTERS
        for ref in snapshot.records.with_prefix(kind, prefix)
    }
    if len(matches) == 1:
        return next(iter(matches.values()))
    if matches:
        names = ", ".join(sorted(matches)[:3])
        suffix = ", …" if len(matches) > 3 else ""
        count = f"{len(matches)} records begin with it ({names}{suffix})"
        raise UsageError(f"{text}: {count}; write more characters")
    raise UsageError(
        f"{text}: no such skill, fact, session, evaluation, outcome, pattern or rule in HEAD; "
        f"see `skillvault skill list` and `skillvault log` (of an id, {_MIN_CHARACTERS} characters "
        "are enough)"
    )


def node(snapshot: Snapshot, ref: Ref) -> dict[str, Any]:
    """Return `{kind, id, path}` for a record; `path` is null if the record was removed.

    The `path` of the origin of an installed skill is its URL.
    """
    if ref.kind == "origin":
        urls = (link.metadata.get("url") for link in snapshot.links.by_source([ref]))
        path = next((str(url) for url in urls if url), None)
    else:
        path = snapshot.records.path_of(ref)
    return {"kind": ref.kind, "id": ref.id, "path": path}


def sources(snapshot: Snapshot, ref: Ref) -> list[dict[str, Any]]:
    """Return the records that led to a record, as a tree of `{link, ref, sources}`."""
    return _tree(snapshot, ref, "sources", _find_sources)


def targets(snapshot: Snapshot, ref: Ref) -> list[dict[str, Any]]:
    """Return the records that a record led to, as a tree of `{link, ref, targets}`."""
    return _tree(snapshot, ref, "targets", _find_targets)


def _tree(
    snapshot: Snapshot, ref: Ref, key: str, steps: _Steps, *, ancestors: tuple[Ref, ...] = ()
) -> list[dict[str, Any]]:
    trail = (*ancestors, ref)
    tree: list[dict[str, Any]] = []
    for link, end in steps(snapshot, ref):
        branch = [] if end in trail else _tree(snapshot, end, key, steps, ancestors=trail)
        tree.append({"link": link, "ref": node(snapshot, end), key: branch})
    return tree


def _find_sources(snapshot: Snapshot, ref: Ref) -> Iterator[tuple[str | None, Ref]]:
    if ref.kind == "evaluation":
        evaluation = snapshot.evaluations.get(ref.id)
        if evaluation is not None:
            yield None, Ref("outcome", evaluation.outcome)
    if ref.kind == "session" and (session := snapshot.sessions.get(ref.id)):
        for outcome in snapshot.outcomes.by_session(session.name, session.trust):
            yield None, Ref("outcome", outcome.id)
    skill = snapshot.skills.find(ref.id) if ref.kind == "skill" else None
    if skill is not None and skill.replaces:
        yield None, Ref("skill", skill.replaces)
    for link in snapshot.links.by_target([ref]):
        if link.type != "contradicted":  # a contradicting record is not a source
            yield link.id, link.source


def _find_targets(snapshot: Snapshot, ref: Ref) -> Iterator[tuple[str | None, Ref]]:
    if ref.kind == "outcome" and ref.id in snapshot.evaluations:
        yield None, Ref("evaluation", ref.id)
    if ref.kind == "outcome":
        yield from ((None, Ref("session", name)) for name in snapshot.sessions.of_outcome(ref.id))
    for link in snapshot.links.by_source([ref]):
        yield link.id, link.target


def _find_by_path(snapshot: Snapshot, root: Path, text: str) -> Ref | None:
    if "\0" in text:  # a path cannot have this
        return None
    relative_path = os.path.relpath(os.path.realpath(text), root.resolve())
    for path in (Path(relative_path).as_posix(), text.strip("/")):
        for candidate in (path, f"{path}/SKILL.md"):
            ref = layout.ref_of(candidate) or layout.links_owner(candidate)
            if ref and candidate in snapshot.files:
                return ref
    return None

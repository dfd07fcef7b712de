"""Where a record came from, and what came of it: trees over links, from a snapshot."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from skillvault.model.errors import UsageError
from skillvault.model.records import RecordKind, Ref
from skillvault.vault.files import layout
from skillvault.vault.index.snapshot import Topics

_Steps = Callable[[Topics, Ref], Iterator[tuple[str | None, Ref]]]

_MIN_PREFIX = 6
# The same id names an outcome and its evaluation; asked backward the evaluation is meant.
_BACK: tuple[RecordKind, ...] = ("skill", "fact", "session", "evaluation", "outcome", "link")
_FORTH: tuple[RecordKind, ...] = ("skill", "fact", "session", "outcome", "evaluation", "link")


def resolve(snapshot: Topics, root: Path, text: str, *, forward: bool = False) -> Ref:
    """The record that a name, a path, an id or a unique beginning of an id means.

    A link means what it points to.
    """
    ref = _resolved(snapshot, root, text, forward=forward)
    link = snapshot.links.get(ref.id) if ref.kind == "link" else None
    return link.target if link else ref


def _resolved(snapshot: Topics, root: Path, text: str, *, forward: bool) -> Ref:
    if (by_path := _from_path(snapshot, root, text)) is not None:
        return by_path
    prefix = text.replace("_", "-").strip("/")
    order = _FORTH if forward else _BACK
    for name in (text.strip("/"), prefix):
        for kind in order:
            if Ref(kind, name) in snapshot.records:
                return Ref(kind, name)
    matches = {
        ref.id: ref
        for kind in reversed(order)
        if len(prefix) >= _MIN_PREFIX
        for ref in snapshot.records.with_prefix(kind, prefix)
    }
    if len(matches) == 1:
        return next(iter(matches.values()))
    if matches:
        some = ", ".join(sorted(matches)[:3])
        more = ", …" if len(matches) > 3 else ""
        raise UsageError(
            f"{text}: {len(matches)} records begin with it ({some}{more}); write more characters"
        )
    raise UsageError(
        f"{text}: no such skill, fact, session, evaluation, outcome, pattern or rule in HEAD; "
        f"see `skillvault skill list` and `skillvault log` (of an id, {_MIN_PREFIX} characters "
        "are enough)"
    )


def node(snapshot: Topics, ref: Ref) -> dict[str, Any]:
    """`{kind, id, path}` of a record; path is null for one that was removed.

    An origin's is where it lies, outside the vault.
    """
    path = _url_of(snapshot, ref) if ref.kind == "origin" else snapshot.records.path_of(ref)
    return {"kind": ref.kind, "id": ref.id, "path": path}


def _url_of(snapshot: Topics, origin: Ref) -> str | None:
    """Where what was installed came from, as its link says."""
    urls = (link.metadata.get("url") for link in snapshot.links.by_source([origin]))
    return next((str(url) for url in urls if url), None)


def sources(snapshot: Topics, ref: Ref) -> list[dict[str, Any]]:
    """The tree backward: `[{link, ref, sources}]`; a circle ends where it closes."""
    return _tree(snapshot, ref, "sources", _behind)


def targets(snapshot: Topics, ref: Ref) -> list[dict[str, Any]]:
    """The tree forward: `[{link, ref, targets}]`; a circle ends where it closes."""
    return _tree(snapshot, ref, "targets", _ahead)


def _tree(
    snapshot: Topics, ref: Ref, key: str, steps: _Steps, *, above: tuple[Ref, ...] = ()
) -> list[dict[str, Any]]:
    trail = (*above, ref)
    return [
        {
            "link": link,
            "ref": node(snapshot, end),
            key: [] if end in trail else _tree(snapshot, end, key, steps, above=trail),
        }
        for link, end in steps(snapshot, ref)
    ]


def _behind(snapshot: Topics, ref: Ref) -> Iterator[tuple[str | None, Ref]]:
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
        if link.type != "contradicted":  # what speaks against a thing is not what it is made of
            yield link.id, link.source


def _ahead(snapshot: Topics, ref: Ref) -> Iterator[tuple[str | None, Ref]]:
    if ref.kind == "outcome" and ref.id in snapshot.evaluations:
        yield None, Ref("evaluation", ref.id)
    if ref.kind == "outcome":
        yield from ((None, Ref("session", name)) for name in snapshot.sessions.of_outcome(ref.id))
    for link in snapshot.links.by_source([ref]):
        yield link.id, link.target


def _from_path(snapshot: Topics, root: Path, text: str) -> Ref | None:
    """The record at a path, relative to the current folder or to the vault's root."""
    if "\0" in text:  # no path has one
        return None
    inside = os.path.relpath(os.path.realpath(text), root.resolve())
    for path in (Path(inside).as_posix(), text.strip("/")):
        for candidate in (path, f"{path}/SKILL.md"):
            ref = layout.ref_of(candidate) or layout.links_owner(candidate)
            if ref and candidate in snapshot.files:
                return ref
    return None

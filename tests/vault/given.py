"""Values, texts and files that the tests of the vault's edges begin with."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from skillvault.api import Vault
from skillvault.loop.registry import AGENDA
from skillvault.model.change import Change
from skillvault.model.codec import encode
from skillvault.model.errors import UncommittedEditError
from skillvault.model.link_lists import edit_links, owner_of
from skillvault.model.policy import Policy
from skillvault.model.records import Link, Record, Ref, ref_of
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout
from skillvault.vault.index.connection import IndexDatabase
from skillvault.vault.index.snapshot import Snapshot, Staging

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
HAND_MADE = "---\nname: {name}\ndescription: What it does, and when.\n---\n\nDo it.\n"

ODD_TEXTS = (
    "", " lead", "trail ", "on", "no", "Yes", "null", "~", "true", "1e5", "1_000", "017", "0x1f",
    "12:30", ".inf", "=", "<<", "- x", "a: b", "a #b", "#", "?", "'", '"', "[", "{a}", "*a", "&a",
    "!t", "%d", "@x", "`", "|", ">", "---", "...", "2026-11-20", "x\ny", "x\n", "\nx", "\n", "\n\n",
    "  x\n y", "a\n\n  b\n", "x \ny", "a\r\nb", "\r", "\x85", "\u2028x", "x\u2029", "\ufeff",
    "\x00", "\x1b[31m", "\x7f", "\t", "\tx", "a\tb", "🎉", "日本", "é", "\ue000", "\uffff",
    "x" * 200, "a: |\n  b", "\\", "\\n", "a\\", "- ", ": ", "a:", "k: v\nk: w",
)  # fmt: skip
TEXTS = st.sampled_from(ODD_TEXTS) | st.text(max_size=30)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def _one_of(*lines: str) -> st.SearchStrategy[str]:
    return st.sampled_from(lines)


def _between(*lines: str) -> st.SearchStrategy[list[str]]:
    return st.lists(_one_of(*lines), max_size=2)


_FILLER = _between("# a comment: with a colon", "", "#", "# '\"[{", "# ünïcode — ✓")
_BEFORE = _between(
    "license: MIT",
    'compatibility: "needs: python"',
    "on: true",
    "x-list: [a, 'b: c', {d: e}]",
    "x-block: |\n  one\n\n    two\n  # no comment",
    "x-folded: >-\n  one\n  two",
    "x-seq:\n- a\n- b: c",
    "x-map: {metadata: {status: other}}",
)
_STATUS = _one_of(
    "status: testing",
    "status:   'testing'   # why",
    'status: "test\\u0069ng"',
    "status:",
    "status: # none yet",
    "'status': proven",
    '"status": ~',
)


@st.composite
def front_matters(draw: st.DrawFn) -> str:
    """YAML of a skill as people write it: any order, quoting, comments; lines end with LF."""
    lines = draw(_FILLER)
    lines.append(draw(_one_of("name: a-skill", "name: 'a-skill'", '"name": "a-skill"  # mine')))
    lines += draw(_FILLER)
    lines.append(
        draw(
            _one_of(
                "description: Does it",
                "description: >\n  Does it\n  when asked",
                'description: "Does: it"',
                "description: Does it\n  on two lines",
                "description: |\n  Does it\n\n  twice\n",
                "description: 漢字と ünïcode 🎉",
            )
        )
    )
    unique: dict[str, str] = {line.partition(":")[0]: line for line in draw(_BEFORE)}
    lines += unique.values()
    lines += draw(_metadata())
    lines += draw(_FILLER)
    lines += draw(st.lists(st.just("z-last: 1"), max_size=1))
    return "\n".join([*lines, ""])


@st.composite
def _metadata(draw: st.DrawFn) -> list[str]:
    shape = draw(st.integers(min_value=0, max_value=4))
    if shape == 0:
        return []
    if shape == 1:
        return [draw(_one_of("metadata:", "metadata: {}", "metadata: # empty", "metadata: ~"))]
    if shape == 2:
        return [
            draw(
                _one_of(
                    "metadata: {kind: guide, status: testing}  # flow",
                    "metadata: {kind: guide}",
                    "metadata: { 'status': 'testing', tags: a b }",
                    "metadata: {\n  kind: guide,\n  status: testing }",
                )
            )
        ]
    inner = [*draw(_FILLER), draw(_one_of("kind: guide", "'kind': guide  # c"))]
    if shape == 3:
        inner.insert(draw(st.integers(0, len(inner))), draw(_STATUS))
    inner += draw(_FILLER)
    indent = draw(_one_of(" ", "  ", "    "))
    return ["metadata:", *(indent + line if line else line for line in inner)]


def spliced(before: bytes, after: bytes) -> bytes:
    """Return the bytes that an edit removed, between the common beginning and the common end."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    room = min(len(before), len(after)) - start
    while end < room and before[-1 - end] == after[-1 - end]:
        end += 1
    return before[start : len(before) - end]


def script(path: Path, *lines: str) -> Path:
    """An executable shell script."""
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path


def files(**contents: str) -> Change:
    """A change that writes files: `a_b="text"` stands for the path `a/b.md`."""
    return Change(
        step="note",
        subject="some files",
        files=tuple(
            (f"{name.replace('_', '/')}.md", text.encode()) for name, text in contents.items()
        ),
    )


def applied(vault: Vault, change: Change) -> Snapshot:
    """Apply a change and return the vault's snapshot."""
    thought_of(vault, change)()
    return vault.store.snapshot()


def thought_of(vault: Vault, change: Change) -> Callable[[], list[str]]:
    """Stage a change on the present HEAD and return the function that commits it."""
    base = vault.store.snapshot().commit
    try:
        laid = vault.store.stage(change)
    except UncommittedEditError:
        vault.store.roll_back()
        raise
    return lambda: vault.store.apply([laid], base, now=NOW, policy=Policy())


def showing(*records: Record, files: Mapping[str, bytes] | None = None) -> Staging:
    """Return a vault with these records and files in memory, without git."""
    view = Staging(IndexDatabase(None, lambda: None, AGENDA), lambda _: {})
    view.stage({**record_files(*records), **(files or {})})
    return view


def record_files(*records: Record) -> dict[str, bytes]:
    """Return the files of these records by path, with the lists of their links."""
    others = [record for record in records if not isinstance(record, Link)]
    places = {ref_of(record): layout.path_of(record) for record in others}
    files = {layout.path_of(record): encode(record) for record in others}
    for link in records:
        if isinstance(link, Link):
            owner = owner_of(link)
            path = layout.links_path(places.get(owner) or _place_of(owner))
            files[path] = edit_links(files.get(path, b""), owner, [link], []) or b""
    return files


def _place_of(owner: Ref) -> str:
    """Return the path that a missing record would have."""
    if owner.kind == "evaluation":
        return layout.outcome_path("perps", owner.id, "evaluations")
    return f"memory/perps/{owner.id}.md" if owner.kind == "fact" else layout.skill_path(owner.id)


def anew(root: Path) -> Vault:
    """Open a vault with an index that is built from nothing in memory."""
    vault = Vault(root)
    store = Store(root, AGENDA)
    store.__dict__["index"] = IndexDatabase(None, lambda: None, AGENDA)
    vault.store = store
    return vault


_TABLES = (
    "path, blob, top, ref_kind, ref_id, type, value from file",
    (
        "path, id, domain, action, target, trust, at, event, session, decision, status "
        "from outcome natural join file"
    ),
    "outcome, skill, made, match, confidence, quote, offer from used",
    "skill, at from begun",
    "key, value from sums",
    "key, value from evidence",
    "path, id, domain, trust from fact natural join file",
    (
        "path, id, folder, domain, kind, status, created, expires, tokens, roles, stages, s.blob, "
        "subject from skill s join file f on s.n = f.n"
    ),
    "path, id, decision, trust from recommendation natural join file",
    (
        "path, id, l.type, source_kind, source_id, target_kind, target_id "
        "from link l join file f on l.file = f.n"
    ),
    "sha, depth, date, step, subject from commits",
    "sha, role, position, ref_kind, ref_id from trailer natural join commits",
    "sha, ref_kind, ref_id from touch natural join commits",
    "ref_kind, ref_id from gone",
    "name, value from state where name = 'commit'",
)


def shown(vault: Vault) -> set[tuple[Any, ...]]:
    """Return every row of a vault's index except those that mark work as due."""
    ask = vault.shelf.ready().rows
    return {(table, *row) for table in _TABLES for row in ask(f"select {table}")}


def nested(depth: int) -> dict[str, Any]:
    """Return a mapping with `depth` levels, the innermost value included."""
    found: Any = 1
    for _ in range(depth - 1):
        found = {"a": found}
    return {"context": found}

"""The tables of the index: what stands in them, and how a change is entered."""

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pkgutil import get_data
from typing import Any

import msgspec
from msgspec import Struct

from skillvault.model import policy, records
from skillvault.model.change import FORGET
from skillvault.model.due import Agenda
from skillvault.model.link_lists import LinkList
from skillvault.model.records import Commit, Outcome, Ref
from skillvault.vault.files import layout
from skillvault.vault.files.listing import Names
from skillvault.vault.index import decisions, dirty
from skillvault.vault.index.rows import (
    TYPED,
    File,
    Row,
    bound,
    columns,
    decoded,
    document,
    encoded,
    is_found,
    is_trusted,
    is_untext,
    link_row,
    unbound,
    words,
)
from skillvault.vault.search import ranking
from skillvault.vault.search.ranking import Document

# `file` is every file of the branch; `value` its record, None if it must be parsed from the blob.
# The tables named after kinds hold what is asked of many records at once. `due` is what a step
# must look at again, `gone` what a commit made and the branch has no more. `said` finds the
# outcomes that may name a skill; what is gone stays in it, and is then looked for in vain.
# `own` is what an outcome says itself, where others of its decision complete it; of those of one
# decision one `counts`.
# `skill` has those of the vault, on whatever shelf, under the number of their file, and of the
# other layers that one of each name which overrides the others, under that of its `layer_file` with
# a minus; it `serves` unless it is hidden or the vault has one of its own on the shelf.
# `link` are the lines of the lists of links, each with the number of its list's `file`.
# A record's address is its kind and its id; an index begins with the id, or a query for one kind
# would be planned as a scan of all of that kind.
SCHEMA = (get_data("skillvault.vault.index", "schema.sql") or b"").decode()
# Whether a pattern is there, its file says, and not a path.
GONE = """
insert or ignore into gone select distinct +t.ref_kind, +t.ref_id from trailer t
where t.role = 'target' and t.ref_kind != 'pattern' and not exists
(select 1 from file f where f.ref_kind = t.ref_kind and f.ref_id = t.ref_id)
and not (t.ref_kind = 'link' and exists (select 1 from link l where l.id = t.ref_id))
"""
_EVALUATION = (
    "select path, type, value from file "
    "where ref_id = ? and ref_kind = 'evaluation' and type = 'Evaluation'"
)
# Of which an outcome was counted that is another now.
_COUNT_ANEW = (
    "update account set outcomes = 0 where n in (select a.n from outcome o join account a "
    "on a.domain = o.domain and a.action = o.action and a.trust = o.trust "
    "where o.n = ? and (a.scope = 'action' or a.target is o.target) and o.at <= a.at)"
)
# An evaluation has the id of its outcome.
_SAID = ("saying", "saying_key")
_CLUSTERED = ("clustered", "seed_word")


class IndexedCommit(Struct, frozen=True):
    """What one step did in a commit of the history, or (step "") a person's commit.

    `depth` is the length of the longest way to it from the first commit; `touched` are the
    records whose files it changes.
    """

    commit: Commit
    depth: int
    touched: Sequence[Ref]


def indexed(parts: Sequence[Commit], depth: int, touched: Sequence[Ref]) -> Iterator[IndexedCommit]:
    """The parts of one commit; a record is touched by the part that names it, else by the first."""
    owners = {ref: part for part in reversed(parts) for ref in part.targets}
    for part in parts:
        refs = [ref for ref in touched if owners.get(str(ref), parts[0]) is part]
        yield IndexedCommit(part, depth, refs)


@cache
def shape(agenda: Agenda) -> int:
    """A number that changes with the tables, the fields of the records and what makes what due."""
    kinds = (kind for room in (records, policy) for kind in vars(room).values())
    chosen = repr(policy.PROFILE_SETTINGS)  # a kept policy has the numbers of its profile
    said = [SCHEMA, ranking.VERSION, repr(agenda), chosen, _told(Names)]
    said += [_told(k) for k in kinds if isinstance(k, type) and issubclass(k, Struct)]
    return int.from_bytes(hashlib.sha256("".join(said).encode()).digest()[:4]) & 0x7FFFFFFF


def _told(kind: Any) -> str:
    names, defaults = kind.__struct_fields__, kind.__struct_defaults__
    return f"{kind.__name__}{names}{defaults}{kind.__annotations__}"


def create(database: sqlite3.Connection) -> None:
    """Make the tables, empty, in the caller's transaction."""
    ranking.create_tables(database)
    for statement in filter(str.strip, SCHEMA.split(";")):
        database.execute(statement)


def _next(database: sqlite3.Connection, column: str, table: str) -> int:
    found = database.execute(f"select coalesce(max({column}), 0) + 1 from {table}").fetchone()
    return int(found[0])


def put(database: sqlite3.Connection, files: Mapping[str, File | None], marks: dirty.Marks) -> None:
    """Set or (None) remove files, path -> (blob, record), and mark what is due thereby.

    What is said anew of a decision is joined with what others say of it.
    """
    named = decisions.decisions_of(database, _numbers(database, files).values())
    new = _set(database, files, marks)
    named |= decisions.decisions_of(database, new.values())
    refs = filter(None, map(layout.ref_of, files))
    outcomes = {ref.id for ref in refs if ref.kind in ("outcome", "retraction")}
    join(database, named | decisions.decisions_named(database, outcomes), marks)


def join(database: sqlite3.Connection, named: Iterable[str], marks: dirty.Marks) -> None:
    """Show the outcomes of these decisions as they stand together."""
    for one in list(decisions.joined_anew(database, named)):
        numbers = _set(database, {one.path: (one.blob, one.outcome)}, marks)
        for n in numbers.values():
            database.execute("update outcome set counts = ? where n = ?", [one.counts, n])
            if one.own is not None:
                database.execute("insert into own values (?, ?)", [n, one.own])


def join_all(database: sqlite3.Connection, marks: dirty.Marks) -> None:
    """Show every outcome as it stands together with those of its decision."""
    retracted = decisions.all_retracted(database)
    named = {*decisions.decisions_of_several(database)}
    join(database, named | decisions.decisions_named(database, retracted), marks)


def _set(
    database: sqlite3.Connection, files: Mapping[str, File | None], marks: dirty.Marks
) -> dict[str, int]:
    """Set or remove files as they say themselves; path -> the number that a file got."""
    old = _numbers(database, files)
    links = _link_rows(database, old)
    going = links.keys() - _new_link_rows(files)
    _mark_links(database, marks, [links[row] for row in going], going=True)
    # The outcomes behind a skill are looked at when it comes, goes or is put elsewhere.
    same = {p for p in files if files[p] and p in old and layout.shelf_of(p) != "archive"}
    refs = {path: ref for path in files if (ref := layout.ref_of(path))}
    numbers = {n: refs[path].kind for path, n in old.items() if path in refs}
    moved = [n for path, n in old.items() if path not in same]
    dirty.mark_files(database, marks, numbers, moved, going=True)
    rows = [(n,) for n in old.values()]
    database.executemany(_COUNT_ANEW, rows)
    for table in ("file", "own", *TYPED):
        database.executemany(f"delete from {table} where n = ?", rows)
    staying = {row: n for row, n in links.items() if row not in going}
    if links:
        others = "delete from link where file = ? and n not in (select value from json_each(?))"
        names = msgspec.json.encode([*staying.values()]).decode()
        database.executemany(others, [(n, names) for n in old.values()])
    outcomes = [ref.id for ref in refs.values() if ref.kind == "outcome"]
    found = {str(ref) for path, ref in refs.items() if is_found(path)}
    _unfind(database, found.union(f"evaluation:{name}" for name in outcomes))
    _unuse(database, outcomes, marks)
    database.executemany("delete from mark where outcome = ?", [(bound(i),) for i in outcomes])
    evaluations = [ref.id for ref in refs.values() if ref.kind == "evaluation"]
    gone = [ref.id for path, ref in refs.items() if ref.kind == "evaluation" and not files[path]]
    database.executemany("delete from mark where outcome = ?", [(bound(i),) for i in gone])
    _unsay(database, [bound(i) for i in dict.fromkeys((*outcomes, *evaluations))])
    new = insert(database, {path: found for path, found in files.items() if found}, staying)
    moves = [(new[row[0]], n) for row, n in staying.items()]
    database.executemany("update link set file = ? where n = ?", moves)
    coming = {row: n for row, n in _link_rows(database, new).items() if row not in links}
    _mark_links(database, marks, list(coming.values()))
    numbers = {n: refs[path].kind for path, n in new.items() if path in refs}
    moved = [n for path, n in new.items() if path not in same]
    dirty.mark_files(database, marks, numbers, moved)
    dirty.mark_missing(database, marks, refs.values())
    changed = {Ref("link", link_id) for _, link_id, *_ in (*going, *coming)}
    _note_gone(database, {*refs.values(), *changed}, marks)
    if layout.MARK in files:
        # Which outcomes count is the policy's to say.
        counted = ("mark", "account", "account_mark", "said_key", "rule")
        for table in (*counted, *_SAID, *_CLUSTERED):
            database.execute(f"delete from {table}")
        dirty.mark_everything(database, marks)
    return new


def _link_rows(database: sqlite3.Connection, numbers: Mapping[str, int]) -> dict[Row, int]:
    """(path, what a link says) -> the number of its row, of the lists among these files."""
    query = (
        "select n, id, type, source_kind, source_id, target_kind, target_id, at, metadata "
        "from link where file = ?"
    )
    return {
        (path, *row): n
        for path, file in numbers.items()
        if layout.links_owner(path)
        for n, *row in database.execute(query, [file])
    }


def _new_link_rows(files: Mapping[str, File | None]) -> set[Row]:
    """(path, what a link says) of the lists among files that are set."""
    return {
        (path, *map(bound, link_row(link)))
        for path, file in files.items()
        if file and isinstance(file[1], LinkList)
        for link in file[1].links
    }


def _mark_links(
    database: sqlite3.Connection, marks: dirty.Marks, numbers: Sequence[int], *, going: bool = False
) -> None:
    """Mark what is due because these links come or go."""
    if numbers:
        kinds = dict.fromkeys(numbers, "link")
        dirty.mark_files(database, marks, kinds, numbers, going=going)


def _note_gone(database: sqlite3.Connection, refs: Iterable[Ref], marks: dirty.Marks) -> None:
    """Note anew which of these are gone, and mark what is due by the skills that are back."""
    for ref in refs:
        values = [bound(ref.kind), bound(ref.id)]
        query = "delete from gone where ref_kind = ? and ref_id = ?"
        was_gone = database.execute(query, values).rowcount
        is_gone = database.execute(f"{GONE} and t.ref_kind = ? and t.ref_id = ?", values).rowcount
        if was_gone and not is_gone and ref.kind == "skill":
            dirty.mark(database, marks, "readmitted", [ref.id])


def _unsay(database: sqlite3.Connection, ids: Iterable[str]) -> None:
    """Forget what runs said, and the keys of claims that no other makes."""
    for name in ids:
        query = "select distinct domain, words from saying where evaluation = ?"
        said = database.execute(query, [name]).fetchall()
        database.execute("delete from saying where evaluation = ?", [name])
        database.executemany(
            "delete from saying_key where domain = ? and words = ? and not exists (select 1 "
            "from saying s where s.domain = saying_key.domain and s.words = saying_key.words)",
            said,
        )


def _unfind(database: sqlite3.Connection, refs: set[str]) -> None:
    """Take documents out; where one stood beside the branch's, it is looked which of them serve."""
    ranking.remove_documents(database, refs)
    names = [(bound(ref.partition(":")[2]),) for ref in refs if ref.startswith("skill:")]
    query = "update skill set serves = 0 where id = ? and n < 0"
    if names and database.executemany(query, names).rowcount:
        database.execute("delete from state where name = 'layers'")


def use(
    database: sqlite3.Connection, outcomes: Sequence[str], rows: list[Row], marks: dirty.Marks
) -> None:
    """Note which skills these outcomes used, in place of what was noted of them."""
    _unuse(database, outcomes, marks)
    database.executemany("insert into used values (?, ?, ?, ?, ?, ?, ?)", rows)
    late = "update evidence set last = '' where key = ? and last >= ?"  # to be counted anew
    database.executemany(late, [(skill, outcome) for outcome, skill, *_ in rows])
    dirty.mark(database, marks, "used", outcomes)


def _unuse(database: sqlite3.Connection, outcomes: Sequence[str], marks: dirty.Marks) -> None:
    dirty.mark(database, marks, "used", outcomes)
    rows = [(bound(name),) for name in outcomes]
    users = "update evidence set last = '' where key in (select skill from used where outcome = ?)"
    database.executemany(users, rows)
    database.executemany("delete from used where outcome = ?", rows)


def _numbers(database: sqlite3.Connection, paths: Iterable[str]) -> dict[str, int]:
    query = "select n from file where path = ?"
    found = ((path, database.execute(query, [bound(path)]).fetchone()) for path in paths)
    return {path: row[0] for path, row in found if row}


def insert(
    database: sqlite3.Connection, files: Mapping[str, File], known: Collection[Row] = ()
) -> dict[str, int]:
    """Add files of which none is there; path -> the number that a file got.

    `known` are the links that are there already: (path, what a link says).
    """
    rows: list[Row] = []
    typed: dict[str, list[Row]] = {table: [] for table in TYPED}
    said: list[Row] = []
    links: list[Row] = []
    numbers: dict[str, int] = {}
    for n, (path, (blob, parsed)) in enumerate(files.items(), _next(database, "n", "file")):
        ref = layout.ref_of(path)
        kind, value = (type(parsed).__name__, encoded(parsed)) if parsed else (None, None)
        top = layout.shelf_of(path)
        address = (ref.kind, ref.id) if ref else (None, None)
        rows.append((n, path, blob, top, *address, kind, value))
        numbers[path] = n
        for table, *values in columns(ref, top, parsed, blob) if ref else ():
            typed[table].append((n, *values))
        if isinstance(parsed, LinkList):
            links += [
                (n, *values)
                for values in map(link_row, parsed.links)
                if (path, *map(bound, values)) not in known
            ]
        if isinstance(parsed, Outcome):
            texts = (parsed.decision.reasoning, *(parsed.applied or ()))
            said.append((n, " ".join(word for text in texts for word in words(text))))
    for table, found in {"file": rows, **typed}.items():
        if found:
            marks = ", ".join("?" * len(found[0]))
            database.executemany(
                f"insert into {table} values ({marks})",
                [tuple(map(bound, row)) for row in found],
            )
    query = f"insert into link values (null{', ?' * 9})"
    database.executemany(query, [tuple(map(bound, row)) for row in links])
    database.executemany("insert into said (rowid, text) values (?, ?)", said)
    if any(map(is_untext, files)):
        database.execute("insert or replace into state values ('odd', '')")
        database.text_factory = unbound
    ranking.add_documents(database, _documents(database, files))
    return numbers


def _documents(database: sqlite3.Connection, files: Mapping[str, File]) -> Iterator[Document]:
    """What is found of these files, and of the evaluations that stood there before outcomes."""
    trusted = trusted_ids(database, filter(None, map(layout.ref_of, files)))
    found = [(path, parsed) for path, (_, parsed) in files.items() if is_found(path)]
    ended = {ref.id for path in files if (ref := layout.ref_of(path)) and ref.kind == "outcome"}
    for name in sorted(trusted & ended):
        for path, kind, value in database.execute(_EVALUATION, [bound(name)]):
            if path not in files and value is not None:
                found.append((path, decoded(kind, value)))
    for path, parsed in found:
        if is_trusted(path, parsed, trusted) and (text := document(path, parsed)):
            yield text


def trusted_ids(database: sqlite3.Connection, refs: Iterable[Ref]) -> set[str]:
    """The ids of the trusted outcomes, of these and of those that these evaluate."""
    ids = {ref.id for ref in refs if ref.kind in ("outcome", "evaluation")}
    query = "select 1 from outcome where id = ? and trust = 'local'"
    return {name for name in ids if database.execute(query, [bound(name)]).fetchone()}


def enter(
    database: sqlite3.Connection, history: Iterable[IndexedCommit], marks: dirty.Marks
) -> None:
    """Take in commits, their parents before them."""
    first = _next(database, "c", "commits")
    parts: Counter[str] = Counter()
    for number, indexed in enumerate(history, first):
        commit = indexed.commit
        place = (number, commit.sha, parts[commit.sha], indexed.depth)
        row = (*place, commit.date, commit.step, commit.subject)
        database.execute("insert into commits values (?, ?, ?, ?, ?, ?, ?)", row)
        parts[commit.sha] += 1
        roles = (("source", commit.sources), ("target", commit.targets))
        rows = [
            (number, role, i, *map(bound, ref.partition(":")[::2]))
            for role, refs in roles
            for i, ref in enumerate(refs)
        ]
        database.executemany("insert into trailer values (?, ?, ?, ?, ?)", rows)
        touched = [(ref.kind, bound(ref.id), number) for ref in indexed.touched]
        database.executemany("insert or ignore into touch values (?, ?, ?)", touched)
        if commit.step not in marks.steps:
            skills = [ref.id for ref in indexed.touched if ref.kind == "skill"]
            dirty.mark(database, marks, "committed", skills)
        if commit.step == FORGET:
            named = (ref.removeprefix("skill:") for ref in commit.targets)
            dirty.mark(database, marks, "readmitted", named)
    # What came and went between two states stands in neither, so no file of it was put.
    database.execute(f"{GONE} and t.c >= ?", [first])

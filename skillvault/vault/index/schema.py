"""The tables of the index: what stands in them, and how a change is entered."""

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from skillvault.model import policy, profiles, records
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
SCHEMA = """
create table state (name text primary key, value text) without rowid;
create table file (
    n integer primary key, path text not null unique, blob text not null,
    top text not null, ref_kind text, ref_id text, type text, value blob);
create index file_ref on file (ref_id, ref_kind, path, type) where ref_id is not null;
create index file_top on file (top, ref_id, path) where ref_id is not null;
create table outcome (
    n integer primary key, id text, domain text, action text, target text, trust text,
    at integer, event text, session text, decision text, status text, task text, agent text,
    counts integer);
create table own (n integer primary key, value blob);
create table decided (
    n integer primary key, id text, made integer, batch text, task text);
create table evaluation (
    n integer primary key, id text, judge text, version text, model text,
    was_good integer, was_right integer);
create index evaluation_judge on evaluation (judge, version, model, was_good, was_right, id);
create table mark (outcome text primary key, marks text) without rowid;
create table rule (
    domain text, action text, digest text, rules blob, primary key (domain, action)) without rowid;
create table voice (
    domain text, kind text, subject text, first text, causes text, evolved text,
    primary key (domain, kind, subject)) without rowid;
create table insight (
    evaluation text primary key, first text, status text, session text,
    fact integer) without rowid;
create index insight_first on insight (first, status, session);
create index insight_fact on insight (first) where fact = 1;
create table insight_key (
    domain text, key text, first text, primary key (domain, key, first)) without rowid;
create index insight_key_first on insight_key (first);
create table stated (
    domain text, wording text, status text, evaluation text,
    primary key (domain, wording, status, evaluation)) without rowid;
create index stated_evaluation on stated (evaluation);
create table ground (
    domain text, wording text, evaluation text,
    primary key (domain, wording, evaluation)) without rowid;
create index ground_evaluation on ground (evaluation);
create index outcome_id on outcome (id);
create index decided_id on decided (id);
create index outcome_group on outcome (domain, action, at, id, trust);
create index outcome_subject on outcome
    (domain, action, target, trust, at, id, status, counts);
create index outcome_domain on outcome (domain, at, id, trust);
create index outcome_event on outcome (event) where event is not null;
create index outcome_session on outcome (session, trust) where session is not null;
create index outcome_decision on outcome (decision, at, id) where decision is not null;
create virtual table said using fts5(text, content = '', detail = none, columnsize = 0);
create table recommendation (
    n integer primary key, id text, decision text, trust text, task text, agent text, at integer);
create index recommendation_decision on recommendation (decision);
create table used (
    outcome text, skill text, made integer, match text, confidence real, quote text, offer text,
    primary key (outcome, skill)) without rowid;
create index used_skill on used (skill);
create table begun (skill text, at integer, primary key (skill, at)) without rowid;
create table sums (key text primary key, value blob) without rowid;
create table evidence (key text primary key, value blob) without rowid;
create table session (
    n integer primary key, id text, domain text, trust text, at integer, name text);
create index session_id on session (id);
create index session_name on session (name);
create index session_domain on session (domain, trust, at);
create table answer (
    n integer primary key, id text, domain text, kind text, subject text, session text);
create index answer_id on answer (id);
create index answer_subject on answer (subject, kind);
create index answer_session on answer (session) where session is not null;
create table fact (n integer primary key, id text, domain text, trust text, supersedes text);
create index fact_supersedes on fact (supersedes) where supersedes is not null;
create index fact_domain on fact (domain, trust);
create index fact_id on fact (id);
create table fact_key (key text, fact text, primary key (key, fact)) without rowid;
create index fact_key_fact on fact_key (fact);
create table skill (
    n integer primary key, id text, shelf text, domain text, kind text, status text,
    created text, expires text, tokens integer, roles text, stages text, blob text, subject text,
    tags text, counted integer, rate real, layer text, hidden integer, serves integer);
create index skill_counted on skill (id) where counted is not null;
create index skill_serving on skill (domain) where serves;
create index skill_shelf on skill (shelf, domain);
create index skill_subject on skill (subject) where subject is not null;
create index skill_id on skill (id);
create table layer_file (
    n integer primary key, place integer, layer text, folder text, path text, blob text,
    name text, value blob, unique (folder, path));
create index layer_file_problem on layer_file (place, path) where name is null;
create table link (
    n integer primary key, file integer, id text, type text,
    source_kind text, source_id text, target_kind text, target_id text, at text, metadata text);
create index link_file on link (file);
create index link_id on link (id);
create index link_source on link (source_id, source_kind, id);
create index link_target on link (target_id, target_kind, id);
create index link_against on link (target_id) where type = 'contradicted';
create index link_promoted on link (target_id, source_id) where type = 'promoted';
create table commits (
    c integer primary key, sha text not null, part integer, depth integer, date text, step text,
    subject text, unique (sha, part));
create index commits_order on commits (depth, date, sha);
create table trailer (c integer, role text, place integer, ref_kind text, ref_id text);
create index trailer_ref on trailer (ref_id, ref_kind, role, c);
create index trailer_c on trailer (c, role, place);
create table touch (
    ref_kind text, ref_id text, c integer, primary key (ref_id, ref_kind, c)) without rowid;
create index touch_c on touch (c);
create table gone (ref_kind text, ref_id text, primary key (ref_id, ref_kind)) without rowid;
create table due (step text, key text, primary key (step, key)) without rowid;
"""
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
# An evaluation has the id of its outcome.
_SAID = ("insight", "insight_key", "stated", "ground")


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
    chosen = repr(profiles.SETTINGS)  # a kept policy has the numbers of its profile
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
    show_joined(database, decisions.retracted_anew(database, sorted(outcomes)), marks)


def join(database: sqlite3.Connection, named: Iterable[str], marks: dirty.Marks) -> None:
    """Show the outcomes of these decisions as they stand together."""
    show_joined(database, decisions.joined_anew(database, named), marks)


def show_joined(
    database: sqlite3.Connection, outcomes: Iterable[decisions.Joined], marks: dirty.Marks
) -> None:
    """Show outcomes otherwise than they are now."""
    for one in list(outcomes):
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
    show_joined(database, decisions.retracted_anew(database, retracted), marks)


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
    for table in ("file", "own", *TYPED):
        database.executemany(f"delete from {table} where n = ?", rows)
    if links:
        database.executemany("delete from link where file = ?", rows)
    outcomes = [ref.id for ref in refs.values() if ref.kind == "outcome"]
    found = {str(ref) for path, ref in refs.items() if is_found(path)}
    _unfind(database, found.union(f"evaluation:{name}" for name in outcomes))
    _unuse(database, outcomes, marks)
    database.executemany("delete from mark where outcome = ?", [(bound(i),) for i in outcomes])
    evaluations = [ref.id for ref in refs.values() if ref.kind == "evaluation"]
    _unsay(database, [bound(i) for i in dict.fromkeys((*outcomes, *evaluations))])
    new = insert(database, {path: found for path, found in files.items() if found})
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
        for table in ("mark", "voice", "rule", *_SAID):
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
    """Forget what runs said, and on which grounds; another with the same words stands for these."""
    for name in ids:
        for table in ("insight", "stated", "ground"):
            database.execute(f"delete from {table} where evaluation = ?", [name])
        query = "select min(evaluation) from insight where first = ?"
        (other,) = database.execute(query, [name]).fetchone()
        database.execute("update insight set first = ? where first = ?", [other, name])
        query = "update or ignore insight_key set first = ? where first = ?"
        database.execute(query, [other, name] if other else ["", name])
        database.execute("delete from insight_key where first in (?, '')", [name])


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
    dirty.mark(database, marks, "used", outcomes)


def _unuse(database: sqlite3.Connection, outcomes: Sequence[str], marks: dirty.Marks) -> None:
    dirty.mark(database, marks, "used", outcomes)
    rows = [(bound(name),) for name in outcomes]
    database.executemany("delete from used where outcome = ?", rows)


def _numbers(database: sqlite3.Connection, paths: Iterable[str]) -> dict[str, int]:
    query = "select n from file where path = ?"
    found = ((path, database.execute(query, [bound(path)]).fetchone()) for path in paths)
    return {path: row[0] for path, row in found if row}


def insert(database: sqlite3.Connection, files: Mapping[str, File]) -> dict[str, int]:
    """Add files of which none is there; path -> the number that a file got."""
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
            links += [(n, *link_row(link)) for link in parsed.links]
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

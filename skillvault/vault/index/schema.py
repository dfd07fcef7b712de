"""Create the tables of the index, and change their rows when files or commits change.

`put_files` and `add_commits` are the entry points. After a change they also mark the records that
become due, see `queues`.
"""

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pkgutil import get_data
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from skillvault.model import policy, records
from skillvault.model.change import FORGET
from skillvault.model.decision_outcomes import complete_outcomes
from skillvault.model.due import Agenda
from skillvault.model.link_lists import LinkList
from skillvault.model.records import Commit, Outcome, Recommendation, Ref
from skillvault.vault.files import layout
from skillvault.vault.files.listing import FolderNames
from skillvault.vault.index.queues import Queues
from skillvault.vault.index.rows import (
    TABLE_TYPES,
    File,
    Row,
    bind,
    decode,
    encode,
    has_raw_bytes,
    is_searchable,
    is_trusted,
    link_row,
    make_document,
    typed_rows,
    unbind,
    words,
)
from skillvault.vault.search import ranking
from skillvault.vault.search.ranking import Document

# `file` has every file of the branch. Its `value` is the record, or null if the record must be
# parsed from the blob. The tables named after kinds have the columns that queries need.
# `due` has the queues of the steps. `gone` has the records that a commit made and the branch lacks.
# `said` finds the outcomes that may name a skill; removed outcomes stay there and match nothing.
# `own` has the content of an outcome's file, if other outcomes of its decision complete it. Of the
# outcomes of one decision, one `counts`.
# `skill` has the skills of the vault in all folders, with the number of their file. It also has one
# skill of each name of the other layers, with the negative number of its `layer_file`. Such a skill
# `serves` unless it is hidden or the vault serves a skill of the same name.
# `link` has the lines of the lists of links, each with the number of its list's `file`.
# An address is a kind and an id. An index begins with the id, because SQLite would otherwise scan
# all records of a kind.
SCHEMA = (get_data("skillvault.vault.index", "schema.sql") or b"").decode()
# A pattern has no file of its own, so it is not in this table.
INSERT_GONE = """
insert or ignore into gone select distinct +t.ref_kind, +t.ref_id from trailer t
where t.role = 'target' and t.ref_kind != 'pattern' and not exists
(select 1 from file f where f.ref_kind = t.ref_kind and f.ref_id = t.ref_id)
and not (t.ref_kind = 'link' and exists (select 1 from link l where l.id = t.ref_id))
and not (t.ref_kind = 'skill' and exists (select 1 from skill s where s.formerly != ''
and instr(char(10) || s.formerly || char(10), char(10) || t.ref_id || char(10))))
"""
_EVALUATION = """select path, type, value from file
    where ref_id = ? and ref_kind = 'evaluation' and type = 'Evaluation'"""
# Reset the accounts that counted a changed outcome.
_RESET_ACCOUNTS = """update account set outcomes = 0 where n in (select a.n from outcome o
    join account a on a.domain = o.domain and a.action = o.action and a.trust = o.trust
    where o.n = ? and (a.scope = 'action' or a.target is o.target) and o.at <= a.at)"""
_TABLES_OF_COUNTS = (
    "mark account account_mark said_key rule saying saying_key clustered seed_word".split()
)


class IndexedCommit(Struct, frozen=True):
    """The part of a commit that one step made, or a person's commit with the step "".

    `depth` is the longest path from the first commit. `touched` are the changed records.
    """

    commit: Commit
    depth: int
    touched: Sequence[Ref]


def index_parts(parts: Sequence[Commit], depth: int, refs: Sequence[Ref]) -> list[IndexedCommit]:
    """Return the parts of a commit for the index.

    A touched record that no part names as its target belongs to the first part.
    """
    owners = {ref: part for part in reversed(parts) for ref in part.targets}
    return [
        IndexedCommit(part, depth, [ref for ref in refs if owners.get(str(ref), parts[0]) is part])
        for part in parts
    ]


@cache
def shape(agenda: Agenda) -> int:
    """Return a number that changes with the tables, the fields of the records and the agenda."""
    kinds = (kind for module in (records, policy) for kind in vars(module).values())
    profile_settings = repr(policy.PROFILE_SETTINGS)  # which a stored policy contains
    parts = [SCHEMA, ranking.VERSION, repr(agenda), profile_settings, _describe_struct(FolderNames)]
    parts += [_describe_struct(k) for k in kinds if isinstance(k, type) and issubclass(k, Struct)]
    return int.from_bytes(hashlib.sha256("".join(parts).encode()).digest()[:4]) & 0x7FFFFFFF


def _describe_struct(kind: Any) -> str:
    names, defaults = kind.__struct_fields__, kind.__struct_defaults__
    return f"{kind.__name__}{names}{defaults}{kind.__annotations__}"


def create(database: sqlite3.Connection) -> None:
    """Create the tables in the caller's transaction."""
    ranking.create_tables(database)
    for statement in filter(str.strip, SCHEMA.split(";")):
        database.execute(statement)


def _next_number(database: sqlite3.Connection, column: str, table: str) -> int:
    row = database.execute(f"select coalesce(max({column}), 0) + 1 from {table}").fetchone()
    return int(row[0])


def put_files(
    database: sqlite3.Connection, files: Mapping[str, File | None], queues: Queues
) -> None:
    """Set files, given as (blob, record) by path, or remove them if None.

    Records that become due are marked, and the outcomes of each changed decision are joined.
    """
    decisions = _decisions_of_files(database, _file_numbers(database, files).values())
    numbers = _replace_files(database, files, queues)
    decisions |= _decisions_of_files(database, numbers.values())
    refs = filter(None, map(layout.ref_of, files))
    outcomes = {ref.id for ref in refs if ref.kind in ("outcome", "retraction")}
    _join_outcomes(database, decisions | _decisions_of_outcomes(database, outcomes), queues)


def _join_outcomes(database: sqlite3.Connection, decisions: Iterable[str], queues: Queues) -> None:
    changes = [change for key in sorted(decisions) for change in _find_outdated(database, key)]
    for change in changes:
        files = {change.path: (change.blob, change.outcome)}
        numbers = _replace_files(database, files, queues)
        for number in numbers.values():
            database.execute("update outcome set counts = ? where n = ?", [change.counts, number])
            if change.own is not None:
                database.execute("insert into own values (?, ?)", [number, change.own])


def join_all_outcomes(database: sqlite3.Connection, queues: Queues) -> None:
    """Replace every outcome with its joined state."""
    _join_outcomes(database, {key for (key,) in database.execute(_JOINABLE_DECISIONS)}, queues)


def _replace_files(
    database: sqlite3.Connection, files: Mapping[str, File | None], queues: Queues
) -> dict[str, int]:
    """Set or remove files without joining outcomes, and return the numbers of new files."""
    refs = {path: ref for path in files if (ref := layout.ref_of(path))}
    old_numbers = _file_numbers(database, files)
    old_links = _read_link_rows(database, old_numbers)
    removed_links = old_links.keys() - _new_link_rows(files)
    stable_links = {row: n for row, n in old_links.items() if row not in removed_links}
    # The outcomes behind a skill become due if it is new, removed or moved.
    stable_paths = {
        p for p in files if files[p] and p in old_numbers and layout.top_folder(p) != "archive"
    }

    def mark_files(numbers: Mapping[str, int], *, is_before: bool = False) -> None:
        kinds = {n: refs[path].kind for path, n in numbers.items() if path in refs}
        moved_numbers = [n for path, n in numbers.items() if path not in stable_paths]
        queues.mark_files(kinds, moved_numbers, is_before=is_before)

    removed_numbers = [old_links[row] for row in removed_links]
    queues.mark_files(dict.fromkeys(removed_numbers, "link"), removed_numbers, is_before=True)
    mark_files(old_numbers, is_before=True)
    former_names = _read_former_names(database, old_numbers.values())
    _delete_rows(database, old_numbers.values())
    if old_links:
        query = "delete from link where file = ? and n not in (select value from json_each(?))"
        stable_numbers = _json_list(stable_links.values())
        database.executemany(query, [(n, stable_numbers) for n in old_numbers.values()])
    _delete_derived(database, refs, files, queues)
    new_numbers = insert(
        database, {path: file for path, file in files.items() if file}, stable_links
    )
    moves = [(new_numbers[row[0]], n) for row, n in stable_links.items()]
    database.executemany("update link set file = ? where n = ?", moves)
    links = _read_link_rows(database, new_numbers)
    new_links = {row: n for row, n in links.items() if row not in old_links}
    queues.mark_files(dict.fromkeys(new_links.values(), "link"), [*new_links.values()])
    mark_files(new_numbers)
    queues.mark_missing(refs.values())
    former_names |= _read_former_names(database, new_numbers.values())
    queues.mark("rewritten", former_names)  # their uses now count for another skill
    changed_refs = {Ref("link", link_id) for _, link_id, *_ in (*removed_links, *new_links)}
    changed_refs |= {Ref("skill", name) for name in former_names}
    _update_gone(database, changed_refs.union(refs.values()), queues)
    if layout.VAULT_FILE in files:  # the policy decides which outcomes count
        for table in _TABLES_OF_COUNTS:
            database.execute(f"delete from {table}")
        queues.mark_everything()
    return new_numbers


def _read_former_names(database: sqlite3.Connection, numbers: Iterable[int]) -> set[str]:
    query = "select formerly from skill where n = ? and formerly != ''"
    rows = (row for number in numbers for row in database.execute(query, [number]))
    return {name for (names,) in rows for name in names.split("\n")}


def _delete_rows(database: sqlite3.Connection, numbers: Iterable[int]) -> None:
    rows = [(n,) for n in numbers]
    database.executemany(_RESET_ACCOUNTS, rows)
    for table in ("file", "own", *TABLE_TYPES):
        database.executemany(f"delete from {table} where n = ?", rows)


def _delete_derived(
    database: sqlite3.Connection,
    refs: Mapping[str, Ref],
    files: Mapping[str, File | None],
    queues: Queues,
) -> None:
    outcomes = [ref.id for ref in refs.values() if ref.kind == "outcome"]
    documents = {str(ref) for path, ref in refs.items() if is_searchable(path)}
    _remove_documents(database, documents.union(f"evaluation:{key}" for key in outcomes))
    _forget_uses(database, outcomes, queues)
    evaluations = {path: ref.id for path, ref in refs.items() if ref.kind == "evaluation"}
    removed_evaluations = [key for path, key in evaluations.items() if not files[path]]
    marked_ids = [(bind(key),) for key in (*outcomes, *removed_evaluations)]
    database.executemany("delete from mark where outcome = ?", marked_ids)
    _forget_sayings(database, map(bind, dict.fromkeys((*outcomes, *evaluations.values()))))


def _read_link_rows(database: sqlite3.Connection, numbers: Mapping[str, int]) -> dict[Row, int]:
    """Return the number of each link's row by (path, *columns), for the lists among files."""
    query = """select n, id, type, source_kind, source_id, target_kind, target_id, at, metadata
        from link where file = ?"""
    return {
        (path, *row): number
        for path, file in numbers.items()
        if layout.links_owner(path)
        for number, *row in database.execute(query, [file])
    }


def _new_link_rows(files: Mapping[str, File | None]) -> set[Row]:
    return {
        (path, *map(bind, link_row(link)))
        for path, file in files.items()
        if file and isinstance(file[1], LinkList)
        for link in file[1].links
    }


def _update_gone(database: sqlite3.Connection, refs: Iterable[Ref], queues: Queues) -> None:
    """Update the table `gone` for these records, and mark the skills that exist again."""
    for ref in refs:
        values = [bind(ref.kind), bind(ref.id)]
        query = "delete from gone where ref_kind = ? and ref_id = ?"
        was_gone = database.execute(query, values).rowcount
        query = f"{INSERT_GONE} and t.ref_kind = ? and t.ref_id = ?"
        is_gone = database.execute(query, values).rowcount
        if was_gone and not is_gone and ref.kind == "skill":
            queues.mark("readmitted", [ref.id])


def _forget_sayings(database: sqlite3.Connection, runs: Iterable[str]) -> None:
    """Delete the claims of these runs, and the keys of claims that no other run makes."""
    for run in runs:
        query = "select distinct domain, words from saying where evaluation = ?"
        claims = database.execute(query, [run]).fetchall()
        database.execute("delete from saying where evaluation = ?", [run])
        query = """delete from saying_key where domain = ? and words = ? and not exists (select 1
            from saying s where s.domain = saying_key.domain and s.words = saying_key.words)"""
        database.executemany(query, claims)


def _remove_documents(database: sqlite3.Connection, refs: set[str]) -> None:
    """Remove documents from the search. Recompute the layers if one was a layer's skill."""
    ranking.remove_documents(database, refs)
    names = [(bind(ref.partition(":")[2]),) for ref in refs if ref.startswith("skill:")]
    query = "update skill set serves = 0 where id = ? and n < 0"
    if names and database.executemany(query, names).rowcount:
        database.execute("delete from state where name = 'layers'")


def replace_uses(
    database: sqlite3.Connection, outcomes: Sequence[str], rows: list[Row], queues: Queues
) -> None:
    """Replace the uses of skills by these outcomes."""
    _forget_uses(database, outcomes, queues)
    database.executemany("insert into used values (?, ?, ?, ?, ?, ?, ?)", rows)
    query = "update evidence set last = '' where key = ? and last >= ?"  # to count it again
    database.executemany(query, [(skill, outcome) for outcome, skill, *_ in rows])
    queues.mark("used", outcomes)


def _forget_uses(database: sqlite3.Connection, outcomes: Sequence[str], queues: Queues) -> None:
    queues.mark("used", outcomes)
    rows = [(bind(outcome_id),) for outcome_id in outcomes]
    query = "update evidence set last = '' where key in (select skill from used where outcome = ?)"
    database.executemany(query, rows)
    database.executemany("delete from used where outcome = ?", rows)


def _json_list(numbers: Iterable[int]) -> str:
    """Encode numbers for a query with `json_each`."""
    return msgspec.json.encode(list(numbers)).decode()


def _file_numbers(database: sqlite3.Connection, paths: Iterable[str]) -> dict[str, int]:
    query = "select n from file where path = ?"
    rows = ((path, database.execute(query, [bind(path)]).fetchone()) for path in paths)
    return {path: row[0] for path, row in rows if row}


def insert(
    database: sqlite3.Connection, files: Mapping[str, File], known_links: Collection[Row] = ()
) -> dict[str, int]:
    """Add new files, and return the number of each path.

    `known_links` are the links that exist already, as (path, *columns of a link).
    """
    rows_by_table: dict[str, list[Row]] = {table: [] for table in ("file", *TABLE_TYPES, "link")}
    word_rows: list[Row] = []
    numbers: dict[str, int] = {}
    for n, (path, (blob, record)) in enumerate(files.items(), _next_number(database, "n", "file")):
        ref, top = layout.ref_of(path), layout.top_folder(path)
        kind, value = (type(record).__name__, encode(record)) if record else (None, None)
        address = (ref.kind, ref.id) if ref else (None, None)
        rows_by_table["file"].append((n, path, blob, top, *address, kind, value))
        numbers[path] = n
        for table, *values in typed_rows(ref, top, record, blob) if ref else ():
            rows_by_table[table].append((n, *values))
        if isinstance(record, LinkList):
            rows_by_table["link"] += [
                (None, n, *values)
                for values in map(link_row, record.links)
                if (path, *map(bind, values)) not in known_links
            ]
        if isinstance(record, Outcome):
            texts = (record.decision.reasoning, *(record.applied or ()))
            word_rows.append((n, " ".join(word for text in texts for word in words(text))))
    for table, rows in rows_by_table.items():
        if rows:
            query = f"insert into {table} values ({', '.join('?' * len(rows[0]))})"
            database.executemany(query, [tuple(map(bind, row)) for row in rows])
    database.executemany("insert into said (rowid, text) values (?, ?)", word_rows)
    if any(map(has_raw_bytes, files)):
        database.execute("insert or replace into state values ('odd', '')")
        database.text_factory = unbind
    ranking.add_documents(database, _make_documents(database, files))
    return numbers


def _make_documents(database: sqlite3.Connection, files: Mapping[str, File]) -> Iterator[Document]:
    """Yield the documents of these files, and of evaluations whose outcomes are among them."""
    refs = list(filter(None, map(layout.ref_of, files)))
    ids = {ref.id for ref in refs if ref.kind in ("outcome", "evaluation")}
    query = "select 1 from outcome where id = ? and trust = 'local'"
    trusted_ids = {key for key in ids if database.execute(query, [bind(key)]).fetchone()}
    parsed_files = [(path, record) for path, (_, record) in files.items() if is_searchable(path)]
    outcome_ids = {ref.id for ref in refs if ref.kind == "outcome"}
    for key in sorted(trusted_ids & outcome_ids):
        for path, kind, value in database.execute(_EVALUATION, [bind(key)]):
            if path not in files and value is not None:
                parsed_files.append((path, decode(kind, value)))
    for path, record in parsed_files:
        if is_trusted(path, record, trusted_ids) and (document := make_document(path, record)):
            yield document


def add_commits(
    database: sqlite3.Connection, history: Iterable[IndexedCommit], queues: Queues
) -> None:
    """Add commits, parents first."""
    first_number = _next_number(database, "c", "commits")
    parts: Counter[str] = Counter()
    for number, indexed_commit in enumerate(history, first_number):
        commit = indexed_commit.commit
        key = (number, commit.sha, parts[commit.sha], indexed_commit.depth)
        row = (*key, commit.date, commit.step, commit.subject)
        database.execute("insert into commits values (?, ?, ?, ?, ?, ?, ?)", row)
        parts[commit.sha] += 1
        roles = (("source", commit.sources), ("target", commit.targets))
        rows = [
            (number, role, i, *map(bind, ref.partition(":")[::2]))
            for role, refs in roles
            for i, ref in enumerate(refs)
        ]
        database.executemany("insert into trailer values (?, ?, ?, ?, ?)", rows)
        touched_rows = [(ref.kind, bind(ref.id), number) for ref in indexed_commit.touched]
        database.executemany("insert or ignore into touch values (?, ?, ?)", touched_rows)
        if commit.step not in queues.steps:
            skills = [ref.id for ref in indexed_commit.touched if ref.kind == "skill"]
            queues.mark("committed", skills)
        if commit.step == FORGET:
            names = (ref.removeprefix("skill:") for ref in commit.targets)
            queues.mark("readmitted", names)
    # A record that was added and removed between two states has no file in either.
    database.execute(f"{INSERT_GONE} and t.c >= ?", [first_number])


_DECISIONS_OF_FILES = """
select decision from outcome where n in (select value from json_each(:numbers))
union select decision from recommendation where n in (select value from json_each(:numbers))
"""
_OUTCOMES_OF_DECISION = """
select f.path, f.blob, coalesce(w.value, f.value), f.value, o.counts
from outcome o join file f on f.n = o.n left join own w on w.n = o.n
where o.decision = ? and f.value is not null order by f.path
"""
_RECEIPTS_OF_DECISION = """
select f.value from recommendation r join file f on f.n = r.n
where r.decision = ? and f.value is not null order by r.id
"""
# A described outcome that is the only one of its decision needs no join.
_JOINABLE_DECISIONS = """
select decision from outcome group by decision having count(*) > 1 or min(action) = ''
union select decision from outcome
where id in (select ref_id from file where ref_kind = 'retraction')
"""
_IS_ALONE = """
select count(*) = 1 and min(o.action) != '' and min(o.counts) = 1 and max(w.n) is null
and max(r.n) is null
from outcome o left join own w on w.n = o.n
left join file r on r.ref_id = o.id and r.ref_kind = 'retraction' where o.decision = ?
"""
_IS_RETRACTED = "select 1 from file where ref_kind = 'retraction' and ref_id = ?"


class _OutcomeChange(NamedTuple):
    """A file whose joined outcome differs from the one in the index.

    `own` is the content of the file, or None if the joined outcome is the same.
    """

    path: str
    blob: str
    outcome: Outcome
    own: bytes | None
    counts: bool


def _decisions_of_files(database: sqlite3.Connection, numbers: Iterable[int]) -> set[str]:
    rows = database.execute(_DECISIONS_OF_FILES, {"numbers": _json_list(numbers)})
    return {decision for (decision,) in rows}


def _decisions_of_outcomes(database: sqlite3.Connection, outcomes: Iterable[str]) -> set[str]:
    query = "select decision from outcome where id = ?"
    rows = (database.execute(query, [bind(outcome_id)]) for outcome_id in outcomes)
    return {decision for rows_of_outcome in rows for (decision,) in rows_of_outcome}


def _find_outdated(database: sqlite3.Connection, decision: str) -> Iterator[_OutcomeChange]:
    """Yield the outcomes of a decision whose indexed state is not their joined state."""
    (is_alone,) = database.execute(_IS_ALONE, [bind(decision)]).fetchone()
    if is_alone:
        return
    rows = database.execute(_OUTCOMES_OF_DECISION, [bind(decision)]).fetchall()
    values = {path: value for path, _, value, _, _ in rows}
    members = [record for value in values.values() if (record := _decode_outcome(value))]
    receipts = [
        receipt
        for (value,) in database.execute(_RECEIPTS_OF_DECISION, [bind(decision)])
        if isinstance(receipt := decode("Recommendation", value), Recommendation)
    ]
    # Two files of one id get the same outcome.
    outcomes_by_id = {member.id: member for member in members}
    retracted_ids = {
        key for key in outcomes_by_id if database.execute(_IS_RETRACTED, [bind(key)]).fetchone()
    }
    valid_outcomes = [o for key, o in outcomes_by_id.items() if key not in retracted_ids]
    completions = {c.outcome.id: c for c in complete_outcomes(valid_outcomes, receipts)}
    for path, blob, value, index_value, counts in rows:
        record = _decode_outcome(value)
        if record is None:
            continue
        if record.id in retracted_ids:  # it joins nothing and does not count
            if counts or record != _decode_outcome(index_value):
                yield _OutcomeChange(path, blob, record, None, counts=False)
            continue
        completion = completions[record.id]
        if completion.outcome != _decode_outcome(index_value) or completion.counts != bool(counts):
            own_value = value if completion.outcome != record else None
            yield _OutcomeChange(path, blob, completion.outcome, own_value, completion.counts)


def _decode_outcome(value: bytes) -> Outcome | None:
    record = decode("Outcome", value)
    return record if isinstance(record, Outcome) else None

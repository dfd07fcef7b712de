"""What a changed file makes due: the queues of the steps, in SQL.

A key stands in a step's queue until the step finds nothing to do for it.
"""

import sqlite3
from collections.abc import Iterable, Iterator

# `changed` is a table of the numbers of the files, `moved` of those that came, went or moved.
_SUBJECTS = ("promote", "generate", "strategy")
_MARK = "insert or ignore into due select "
_CHANGED = "n in (select n from changed)"
VERSION = f"{_MARK}'version', ref_id from touch"


def _ends(step: str, table: str, key: str, also: str = "") -> Iterator[str]:
    """What is due because a changed link has a record of this table at an end."""
    for end in ("source", "target"):
        yield (
            f"{_MARK}'{step}', {key} from link l join {table} t "
            f"on t.id = l.{end}_id and l.{end}_kind = '{table}' "
            f"where l.{_CHANGED}{also}"
        )


_USERS = "from used u join outcome o on o.id = u.outcome"
_GROUP = "t.domain || ' ' || t.trust"
_MARKS = (
    *(
        f"{_MARK}'{step}', ref_id from file where {_CHANGED} and top in ('outcomes', 'evaluations')"
        for step in _SUBJECTS
    ),
    *(
        f"{_MARK}'{step}', source_id from link where {_CHANGED} and source_kind = 'evaluation'"
        for step in _SUBJECTS
    ),
    (
        f"{_MARK}'promote', l.source_id from fact f join link l "
        f"on l.target_kind = 'fact' and l.target_id = f.id "
        f"where f.{_CHANGED} and l.source_kind = 'evaluation'"
    ),
    f"{_MARK}'use', id from outcome where {_CHANGED}",
    (  # of one decision the last outcome counts
        f"{_MARK}'use', o.id from outcome c join outcome o on o.decision = c.decision "
        f"where c.{_CHANGED}"
    ),
    (
        f"{_MARK}'count', u.skill from used u join skill s on s.id = u.skill "
        "where s.n in (select n from moved)"
    ),
    f"{_MARK}'count', source_id from link where {_CHANGED} and type = 'merged'",
    f"{_MARK}'count', target_id from link where {_CHANGED} and type = 'merged'",
    f"{_MARK}'lift', domain from outcome where {_CHANGED}",
    (
        f"{_MARK}'lift', o.domain {_USERS} join skill s on s.id = u.skill "
        "where s.n in (select n from moved)"
    ),
    (
        f"{_MARK}'lift', o.domain from link l join used u on u.skill = l.source_id "
        f"join outcome o on o.id = u.outcome where l.{_CHANGED} and l.type = 'merged'"
    ),
    (
        f"{_MARK}'use', o.id from recommendation r join outcome o on o.decision = r.decision "
        f"where r.{_CHANGED}"
    ),
    f"{_MARK}'name', id from skill where n in (select n from moved)",
    f"{_MARK}'consolidate', domain || ' ' || trust from fact where {_CHANGED}",
    *_ends("consolidate", "fact", _GROUP),
    (
        f"{_MARK}'consolidate', {_GROUP} from skill s join link l "
        "on l.target_kind = 'skill' and l.target_id = s.id and l.type = 'derived' "
        f"join fact t on l.source_kind = 'fact' and t.id = l.source_id where s.{_CHANGED}"
    ),
    f"{_MARK}'merge', coalesce(domain, '') from skill where {_CHANGED}",
    *_ends("merge", "skill", "coalesce(t.domain, '')", " and l.type in ('merged', 'derived')"),
)
COUNTS = f"{_MARK}'count', skill from used where outcome = ?"
# A skill that comes, goes or changes its folder: the outcomes that it and those merged into it
# were made of; with them their subjects are looked at, and so what repeats them.
_LINES = """
with recursive line (skill) as (
    select id from skill where n in (select n from moved)
    union select l.source_id from link l
    where l.n in (select n from changed) and l.type = 'merged'
    union select l.source_id from line join link l
    on l.target_kind = 'skill' and l.target_id = line.skill and l.type = 'merged')
insert or ignore into due select 'generate', l.source_id
from line join link l
on l.target_kind = 'skill' and l.target_id = line.skill and l.type = 'generated'
where l.source_kind = 'evaluation'
"""
# What a strategy was made of, when it comes, goes or changes its folder.
_STRATEGIES = """
insert or ignore into due select 'strategy', l.source_id from skill s join link l
on l.target_kind = 'skill' and l.target_id = s.id and l.source_kind = 'evaluation'
where s.kind = 'strategy' and s.n in (select n from moved)
"""
# Of an outcome that goes, the others of its subject.
_NEIGHBOURS = """
insert or ignore into due select 'generate', b.id from outcome a join outcome b
on b.domain = a.domain and b.action = a.action and b.target is a.target and b.trust = a.trust
and b.n != a.n where a.n in (select n from changed)
"""
_UNEVALUATED = """
insert or ignore into due select 'evaluate', id from outcome o
where not exists (select 1 from file e where e.ref_kind = 'evaluation' and e.ref_id = o.id)
"""
EVERYTHING = (
    _UNEVALUATED,
    *(
        f"insert or ignore into due select '{step}', id from outcome"
        for step in (*_SUBJECTS, "use")
    ),
    "insert or ignore into due select distinct 'lift', domain from outcome",
    "insert or ignore into due select distinct 'count', skill from used",
    "insert or ignore into due select distinct 'consolidate', domain || ' ' || trust from fact",
    "insert or ignore into due select distinct 'merge', coalesce(domain, '') from skill",
)


def mark(
    database: sqlite3.Connection,
    changed: Iterable[int],
    moved: Iterable[int],
    *,
    going: bool = False,
) -> None:
    """Mark what is due because of these files."""
    for table, numbers in (("changed", changed), ("moved", moved)):
        database.execute(f"create temp table if not exists {table} (n integer primary key)")
        database.execute(f"delete from {table}")
        database.executemany(f"insert into {table} values (?)", [(n,) for n in numbers])
    for query in (*_MARKS, _LINES, _STRATEGIES, *([_NEIGHBOURS] if going else [])):
        database.execute(query)


def mark_unevaluated(database: sqlite3.Connection, outcomes: Iterable[str]) -> None:
    """Let those of these outcomes wait for a judge that have no evaluation, and no others."""
    keys = [(name,) for name in outcomes]
    database.executemany("delete from due where step = 'evaluate' and key = ?", keys)
    database.executemany(f"{_UNEVALUATED} and id = ?", keys)

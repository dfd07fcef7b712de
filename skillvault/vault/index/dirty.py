"""What a changed file makes due: the queues of the steps, in SQL.

A key stands in a step's queue until the step finds nothing to do for it.
"""

import sqlite3
from collections.abc import Iterable, Iterator

# `changed` is a table of the numbers of the files, `moved` of those that came, went or moved.
_SUBJECTS = ("promote", "generate", "strategy")
_MARK = "insert or ignore into due select "
_EVALUATION, _FACT, SKILL = 12, 6, 7  # where an id begins after `evaluation:`, `fact:`, `skill:`
_CHANGED = "n in (select n from changed)"
VERSION = f"{_MARK}'version', substr(ref, {SKILL}) from touch"


def _ends(step: str, table: str, begins: int, key: str, also: str = "") -> Iterator[str]:
    """What is due because a changed link has a record of this table at an end."""
    for end in ("source", "target"):
        yield (
            f"{_MARK}'{step}', {key} from link l join {table} t "
            f"on t.id = substr(l.{end}, {begins}) and l.{end} like '{table}:%' "
            f"where l.{_CHANGED}{also}"
        )


_USERS = "from used u join outcome o on o.id = u.outcome"
_GROUP = "t.domain || ' ' || t.trust"
_MARKS = (
    *(
        f"{_MARK}'{step}', substr(ref, instr(ref, ':') + 1) from file "
        f"where {_CHANGED} and top in ('outcomes', 'evaluations')"
        for step in _SUBJECTS
    ),
    *(
        f"{_MARK}'{step}', substr(source, {_EVALUATION}) from link "
        f"where {_CHANGED} and source like 'evaluation:%'"
        for step in _SUBJECTS
    ),
    (
        f"{_MARK}'promote', substr(l.source, {_EVALUATION}) from fact f join link l "
        f"on l.target = 'fact:' || f.id where f.{_CHANGED} and l.source like 'evaluation:%'"
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
    f"{_MARK}'count', substr(source, {SKILL}) from link where {_CHANGED} and type = 'merged'",
    f"{_MARK}'count', substr(target, {SKILL}) from link where {_CHANGED} and type = 'merged'",
    f"{_MARK}'lift', domain from outcome where {_CHANGED}",
    (
        f"{_MARK}'lift', o.domain {_USERS} join skill s on s.id = u.skill "
        "where s.n in (select n from moved)"
    ),
    (
        f"{_MARK}'lift', o.domain from link l join used u on u.skill = substr(l.source, {SKILL}) "
        f"join outcome o on o.id = u.outcome where l.{_CHANGED} and l.type = 'merged'"
    ),
    (
        f"{_MARK}'use', o.id from recommendation r join outcome o on o.decision = r.decision "
        f"where r.{_CHANGED}"
    ),
    f"{_MARK}'name', id from skill where n in (select n from moved)",
    f"{_MARK}'consolidate', domain || ' ' || trust from fact where {_CHANGED}",
    *_ends("consolidate", "fact", _FACT, _GROUP),
    (
        f"{_MARK}'consolidate', {_GROUP} from skill s join link l "
        "on l.target = 'skill:' || s.id and l.type = 'derived' "
        f"join fact t on t.id = substr(l.source, {_FACT}) where s.{_CHANGED}"
    ),
    f"{_MARK}'merge', coalesce(domain, '') from skill where {_CHANGED}",
    *_ends(
        "merge", "skill", SKILL, "coalesce(t.domain, '')", " and l.type in ('merged', 'derived')"
    ),
)
COUNTS = f"{_MARK}'count', skill from used where outcome = ?"
# A skill that comes, goes or changes its folder: the outcomes that it and those merged into it
# were made of; with them their subjects are looked at, and so what repeats them.
_LINES = """
with recursive line (ref) as (
    select 'skill:' || id from skill where n in (select n from moved)
    union select l.source from link l where l.n in (select n from changed) and l.type = 'merged'
    union select l.source from line join link l on l.target = line.ref and l.type = 'merged')
insert or ignore into due select 'generate', substr(l.source, 12)
from line join link l on l.target = line.ref and l.type = 'generated'
where l.source like 'evaluation:%'
"""
# What a strategy was made of, when it comes, goes or changes its folder.
_STRATEGIES = """
insert or ignore into due select 'strategy', substr(l.source, 12) from skill s
join link l on l.target = 'skill:' || s.id and l.source like 'evaluation:%'
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
where not exists (select 1 from file e where e.ref = 'evaluation:' || o.id)
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

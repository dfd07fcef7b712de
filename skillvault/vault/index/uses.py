"""Query and store the uses of skills by decisions, and the sums over the uses.

`learning.effect` interprets the rows. Only trusted outcomes count. A decision is closed if one of
its outcomes counts. Times are microseconds since 1970.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from skillvault.model.records import Status
from skillvault.vault.index import schema
from skillvault.vault.index.history import History
from skillvault.vault.index.reader import Topic
from skillvault.vault.index.rows import bind, group

_Value = TypeVar("_Value")

_IS_CLOSED = "o.trust = 'local' and o.counts"
_GROUP = "o.action || char(10) || coalesce(o.target, '')"
_ENCODER = msgspec.msgpack.Encoder()
_MERGES = """source_id, target_id from link where type = 'merged' and source_kind = 'skill'
    and exists (select 1 from skill s where s.id = source_id and s.folder = 'archive')"""
_IS_SUMMED = "o.domain = ? and o.status != 'neutral' and (o.at, o.id) <= (?, ?)"


class SkillUse(NamedTuple):
    """A use of a skill by an outcome, or an offer of a skill that was not used.

    `learning.effect.detect` sets `match` and `confidence`. `offer` is "shown", "held" or "".
    """

    outcome: str
    skill: str
    made: int
    match: str
    confidence: float
    quote: str | None
    offer: str


class ExposureRow(msgspec.Struct, frozen=True, gc=False):  # there may be a million
    """A use of a skill by a closed decision, with the action and target of the decision."""

    outcome: str
    skill: str
    group: str
    status: Status
    made: int
    match: str
    confidence: float
    offer: str


class DecisionRow(NamedTuple):
    """A closed decision, with the columns that assign it to an episode."""

    outcome: str
    action: str
    target: str | None
    at: int
    session: str | None
    made: int | None
    batch: str | None
    agent: str | None
    task: str


class UseRow(NamedTuple):
    """A use of a skill by a closed decision, with the decision's time, status and commit."""

    outcome: str
    at: int
    status: Status
    made: int
    match: str
    offer: str
    commit: int | None


class SumsEnd(NamedTuple):
    """The last decision, by time, in a domain's sums, and the number of decisions up to it."""

    decisions: int = 0
    at: int = -(2**63)
    id: str = ""


class Uses(Topic):
    """The uses of skills in one vault."""

    # ── uses ─────────────────────────────────────────────────────────────────────────

    def exposures(self, domain: str, end: SumsEnd) -> list[ExposureRow]:
        """Return the uses by a domain's closed decisions up to `end`, oldest first."""
        query = f"""select u.outcome, u.skill, {_GROUP}, o.status, u.made, u.match, u.confidence,
            u.offer from used u join outcome o on o.id = u.outcome
            where {_IS_SUMMED} and {_IS_CLOSED} order by o.at, o.id"""
        rows = self._reader.rows(query, [domain, end.at, end.id])
        return [ExposureRow(*row) for row in rows]

    def totals(self, domain: str, end: SumsEnd) -> dict[str, tuple[int, int]]:
        """Return (closed decisions, successes) for each group of a domain up to `end`."""
        query = f"""select {_GROUP}, count(*), sum(o.status = 'success')
            from outcome o where {_IS_SUMMED} and {_IS_CLOSED} group by o.action, o.target"""
        rows = self._reader.rows(query, [domain, end.at, end.id])
        return {group: (count, successes) for group, count, successes in rows}

    def closed_since(self, domain: str | None, at: int) -> int:
        """Return the number of decisions in a domain, or in all, that ended after a time."""
        query = f"""select count(*) from outcome o where o.at > ?
            and (? is null or o.domain = ?) and o.status != 'neutral' and {_IS_CLOSED}"""
        return int(self._reader.value(query, [at, domain, domain]))

    def later_end(self, domain: str, end: SumsEnd, count: int) -> SumsEnd | None:
        """Return the end that is `count` closed decisions later, or None if there are fewer."""
        query = f"""select o.at, o.id from outcome o where o.domain = ? and o.status != 'neutral'
            and (o.at, o.id) > (?, ?) and {_IS_CLOSED} order by o.at, o.id limit 1 offset ?"""
        rows = self._reader.rows(query, [domain, end.at, end.id, count - 1])
        return next((SumsEnd(end.decisions + count, at, key) for at, key in rows), None)

    def decisions(self, domain: str, end: SumsEnd) -> list[DecisionRow]:
        """Return the closed decisions of a domain up to `end`."""
        query = f"""select o.id, o.action, o.target, o.at, o.session, d.made, d.batch, o.agent,
            d.task from outcome o cross join decided d on d.id = o.id
            where {_IS_SUMMED} and {_IS_CLOSED}"""
        rows = self._reader.rows(query, [domain, end.at, end.id])
        return list(map(DecisionRow._make, rows))

    def by_skill(self, skills: Iterable[str], last_counted: str = "") -> list[UseRow]:
        """Return the uses of these skills by closed decisions after the outcome `last_counted`."""
        query = f"""select u.outcome, o.at, o.status, u.made, u.match, u.offer, (select max(t.c)
            from touch t where t.ref_kind = 'outcome' and t.ref_id = u.outcome)
            from used u join outcome o on o.id = u.outcome
            where u.outcome > ? and u.skill in {{}} and {_IS_CLOSED}"""
        rows = self._reader.rows_matching(query, skills, prefix=[last_counted])
        return list(map(UseRow._make, rows))

    def large_commits(self, commits: Iterable[int], minimum: int) -> set[int]:
        """Return the commits that touch at least `minimum` records."""
        query = f"select c from touch where c in {{}} group by c having count(*) >= {minimum:d}"
        return set(self._reader.column_matching(query, commits))

    def closed_decisions(self, domain: str | None = None) -> list[tuple[str, int, Status]]:
        """Return (outcome, time, status) for each closed decision in a domain, or in all.

        The decisions are sorted by time, and neutral outcomes are left out.
        """
        query = f"""select o.id, o.at, o.status from outcome o where (? is null or o.domain = ?)
            and o.status != 'neutral' and {_IS_CLOSED} order by o.at, o.id"""
        return self._reader.rows(query, [domain, domain])

    def matches(self) -> list[tuple[str, str, str, str]]:
        """Return (outcome, skill, match, offer) for each stored use."""
        query = "select outcome, skill, match, offer from used order by outcome, skill"
        return self._reader.rows(query)

    def by_outcome(self, outcomes: Iterable[str]) -> list[SkillUse]:
        """Return the uses and offers of these outcomes."""
        query = """select outcome, skill, made, match, confidence, quote, offer
            from used where outcome in {} order by outcome, skill"""
        return list(map(SkillUse._make, self._reader.rows_matching(query, outcomes)))

    # ── versions ─────────────────────────────────────────────────────────────────────

    def version_starts(self, skills: Iterable[str]) -> dict[str, list[int]]:
        """Return the times at which the text of each skill changed."""
        query = "select skill, at from begun where skill in {} order by skill, at"
        return group(self._reader.rows_matching(query, skills))

    def merges(self) -> dict[str, str]:
        """Return the successors of merged skills in archive/, and of former names."""
        merges: dict[str, str] = dict(self._reader.rows(f"select {_MERGES} order by id"))
        return merges | History(self._reader).former_names()

    def merges_of(self, skills: Iterable[str]) -> dict[str, str]:
        """Return the part of `merges` that concerns these skills."""
        query = f"""with recursive near (id) as (select value from json_each(?)
            union select l.target_id from near join link l on l.source_id = near.id
            where l.source_kind = 'skill' and l.type = 'merged'
            union select l.source_id from near join link l on l.target_id = near.id
            where l.target_kind = 'skill' and l.type = 'merged')
            select {_MERGES} and source_id in near order by id"""
        former_names = History(self._reader).former_names()
        present_names = {former_names.get(name, name) for name in skills}
        skill_list = msgspec.json.encode(sorted(present_names)).decode()
        merges: dict[str, str] = dict(self._reader.rows(query, [skill_list]))
        relatives = {*present_names, *merges, *merges.values()}
        return merges | {alias: name for alias, name in former_names.items() if name in relatives}

    # ── sums and evidence ────────────────────────────────────────────────────────────

    def sums(self, kind: type[_Value]) -> dict[str, _Value]:
        """Return the sums of each domain."""
        return self._decode_values("select key, value from sums order by key", kind)

    def sums_end(self, domain: str) -> SumsEnd:
        """Return the end of a domain's sums."""
        query = "select count, at, id from sums where key = ?"
        return next(map(SumsEnd._make, self._reader.rows(query, [domain])), SumsEnd())

    def evidence(self, kind: type[_Value]) -> dict[str, _Value]:
        """Return the evidence of each skill."""
        return self._decode_values("select key, value from evidence order by key", kind)

    def evidence_of(self, skill: str, kind: type[_Value]) -> _Value | None:
        """Return the evidence of a skill, or None."""
        evidence = self._decode_values("select key, value from evidence where key = ?", kind, skill)
        return evidence.get(skill)

    def last_counted(self, skill: str) -> str:
        """Return the last outcome in a skill's evidence, or "" if all must be counted again."""
        query = "select last from evidence where key = ?"
        return str(self._reader.value(query, [skill]) or "")

    @property
    def state(self) -> str | None:
        """A text that differs whenever the evidence has changed, or None if none was counted."""
        states = self._reader.column("select value from state where name = 'uses'")
        return next(iter(states), None)

    def _decode_values(self, query: str, kind: type[_Value], *values: str) -> dict[str, _Value]:
        decode: Callable[[bytes], _Value] = msgspec.msgpack.Decoder(kind).decode
        return self._reader.source.decode_values(query, decode, values)

    # ── storing ──────────────────────────────────────────────────────────────────────

    def keep(self, outcomes: Sequence[str], rows: Iterable[SkillUse]) -> None:
        """Replace the uses of these outcomes."""
        values = [tuple(map(bind, row)) for row in rows]
        self._reader.change(
            lambda database, queues: schema.replace_uses(database, outcomes, values, queues)
        )

    def keep_version_starts(self, starts: Mapping[str, Sequence[int]]) -> None:
        """Store the times at which the text of skills changed."""
        old_starts = self.version_starts(starts)
        changes = [skill for skill in starts if list(starts[skill]) != old_starts.get(skill, [])]
        skills = [(skill,) for skill in changes]
        self._reader.change_many("delete from begun where skill = ?", skills)
        self._reader.change_many("update evidence set last = '' where key = ?", skills)
        rows = [(skill, at) for skill in changes for at in starts[skill]]
        self._reader.change_many("insert or ignore into begun values (?, ?)", rows)
        self._reader.change(lambda _, queues: queues.mark("rewritten", changes))

    def keep_sums(self, domain: str, value: object | None, end: SumsEnd) -> None:
        """Store a domain's sums and their end, or delete them if None."""
        self._store_value("sums", domain, value, *end)

    def keep_evidence(
        self, evidence: Sequence[tuple[str, object | None]], last_outcomes: Mapping[str, str]
    ) -> None:
        """Store the evidence of skills, or delete it if None.

        `last_outcomes` has the last outcome of each counted skill; see `last_counted`.
        """
        for skill, value in evidence:
            last_outcome = last_outcomes.get(skill, self.last_counted(skill))
            self._store_value("evidence", skill, value, last_outcome)
        if evidence:
            query = "insert or replace into state values ('uses', hex(randomblob(8)))"
            self._reader.change_rows(query)

    def _store_value(self, table: str, key: str, value: object | None, *columns: int | str) -> None:
        if value is None:
            self._reader.change_rows(f"delete from {table} where key = ?", [key])
        else:
            query = f"insert or replace into {table} values (?, ?{', ?' * len(columns)})"
            self._reader.change_rows(query, [key, _ENCODER.encode(value), *columns])

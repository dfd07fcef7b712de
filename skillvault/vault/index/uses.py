"""Which decisions used which skills, as the index keeps it, and what was added up of it.

Rows in, rows out: what they mean is `learning.effect`'s to say. Only trusted outcomes are asked.
Times are microseconds since 1970.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from skillvault.model.records import Status
from skillvault.vault.index import dirty, schema
from skillvault.vault.index.reader import Topic
from skillvault.vault.index.rows import bound, grouped

_Kept = TypeVar("_Kept")

# Of the outcomes that one agent has of a decision one counts; see `observed`.
_CLOSED = "o.trust = 'local' and o.counts"
_GROUP = "o.action || char(10) || coalesce(o.target, '')"
_ENCODER = msgspec.msgpack.Encoder()


class Used(NamedTuple):
    """One outcome's use of a skill, or its being shown or held out without one.

    `match` and `confidence` are those of `learning.effect.detect`; `offer` is shown, held or "".
    """

    outcome: str
    skill: str
    made: int
    match: str
    confidence: float
    quote: str | None
    offer: str


class ExposureRow(msgspec.Struct, frozen=True, gc=False):  # in no circle, and there are a million
    """A closed decision's use of a skill, with the group of what it was about."""

    outcome: str
    skill: str
    group: str
    status: Status
    made: int
    match: str
    confidence: float
    offer: str


class DecidedRow(NamedTuple):
    """What may make one episode of a closed decision and others of its domain."""

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
    """A closed decision's use of a skill, with its time and end, and the commit that brought it."""

    skill: str
    outcome: str
    at: int
    status: Status
    made: int
    match: str
    offer: str
    commit: int | None


class Uses(Topic):
    """The uses of one vault."""

    # ── uses ─────────────────────────────────────────────────────────────────────────

    def exposures(self, domain: str) -> list[ExposureRow]:
        """The closed uses of a domain, by time."""
        query = (
            f"select u.outcome, u.skill, {_GROUP}, o.status, u.made, u.match, u.confidence, "
            "u.offer from used u join outcome o on o.id = u.outcome "
            f"where o.domain = ? and o.status != 'neutral' and {_CLOSED} order by o.at, o.id"
        )
        return [ExposureRow(*row) for row in self._reader.rows(query, [domain])]

    def totals(self, domain: str) -> dict[str, tuple[int, int]]:
        """Group -> (closed decisions, those that succeeded) of a domain."""
        query = (
            f"select {_GROUP}, count(*), sum(o.status = 'success') from outcome o "
            f"where o.domain = ? and o.status != 'neutral' and {_CLOSED} "
            "group by o.action, o.target"
        )
        rows = self._reader.rows(query, [domain])
        return {group: (count, successes) for group, count, successes in rows}

    def closed_since(self, domain: str | None, at: int) -> int:
        """How many decisions of a domain, or of all, ended after a time."""
        query = (
            "select count(*) from outcome o where o.at > ? and (? is null or o.domain = ?) "
            f"and o.status != 'neutral' and {_CLOSED}"
        )
        return int(self._reader.value(query, [at, domain, domain]))

    def decided(self, domain: str) -> list[DecidedRow]:
        """When and in which session a domain's closed decisions were made, as far as is known."""
        query = (
            "select o.id, o.action, o.target, o.at, o.session, d.made, d.batch, o.agent, d.task "
            "from outcome o cross join decided d on d.id = o.id "
            f"where o.domain = ? and o.status != 'neutral' and {_CLOSED}"
        )
        return list(map(DecidedRow._make, self._reader.rows(query, [domain])))

    def by_skill(self, skills: Iterable[str]) -> Iterator[UseRow]:
        """All closed uses of these skills."""
        query = (
            "select u.skill, u.outcome, o.at, o.status, u.made, u.match, u.offer, (select max(t.c) "
            "from touch t where t.ref_kind = 'outcome' and t.ref_id = u.outcome) from used u "
            f"join outcome o on o.id = u.outcome where u.skill in {{}} and {_CLOSED}"
        )
        return map(UseRow._make, self._reader.rows_in(query, skills))

    def crowded(self, commits: Iterable[int], least: int) -> set[int]:
        """Those of these commits that brought at least so many records."""
        query = f"select c from touch where c in {{}} group by c having count(*) >= {least:d}"
        return {commit for (commit,) in self._reader.rows_in(query, commits)}

    def closed(self, domain: str | None = None) -> list[tuple[str, int, Status]]:
        """(outcome, when, how it ended) of every closed decision, of a domain or of all.

        By time; what ended neither way is none.
        """
        query = (
            "select o.id, o.at, o.status from outcome o where (? is null or o.domain = ?) "
            f"and o.status != 'neutral' and {_CLOSED} order by o.at, o.id"
        )
        return self._reader.rows(query, [domain, domain])

    def matches(self) -> list[tuple[str, str, str, str]]:
        """(outcome, skill, how it was used, whether it was offered) of all that is kept."""
        query = "select outcome, skill, match, offer from used order by outcome, skill"
        return self._reader.rows(query)

    def by_outcome(self, outcomes: Iterable[str]) -> list[Used]:
        """What these outcomes used or were offered, as it was computed last."""
        query = (
            "select outcome, skill, made, match, confidence, quote, offer from used "
            "where outcome in {} order by outcome, skill"
        )
        return list(map(Used._make, self._reader.rows_in(query, outcomes)))

    # ── versions ─────────────────────────────────────────────────────────────────────

    def version_starts(self) -> dict[str, list[int]]:
        """Skill -> the times from which on it has another text, of those that have any."""
        return grouped(self._reader.rows("select skill, at from begun order by skill, at"))

    def merged(self) -> dict[str, str]:
        """Skill in archive/ -> the one that stands for it since they were merged."""
        query = (
            "select source_id, target_id from link where type = 'merged' and source_kind = 'skill' "
            "and exists (select 1 from skill s where s.id = source_id and s.shelf = 'archive') "
            "order by id"
        )
        return dict(self._reader.rows(query))

    # ── what was added up ────────────────────────────────────────────────────────────

    def sums(self, kind: type[_Kept]) -> dict[str, _Kept]:
        """Domain -> its sums."""
        return self._all("sums", kind)

    def evidence(self, kind: type[_Kept]) -> dict[str, _Kept]:
        """Skill -> what is known of it."""
        return self._all("evidence", kind)

    @property
    def state(self) -> str | None:
        """What differs whenever the evidence does."""
        state: str | None = self._reader.value("select value from state where name = 'uses'")
        return state

    def _all(self, table: str, kind: type[_Kept]) -> dict[str, _Kept]:
        decode: Callable[[bytes], _Kept] = msgspec.msgpack.Decoder(kind).decode
        return self._reader.source.kept(f"select key, value from {table} order by key", decode)

    # ── keeping ──────────────────────────────────────────────────────────────────────

    def keep(self, outcomes: Sequence[str], rows: Iterable[Used]) -> None:
        """Keep what these outcomes used, in place of what was kept of them."""
        used = [tuple(map(bound, row)) for row in rows]
        self._reader.change(lambda database, marks: schema.use(database, outcomes, used, marks))

    def keep_version_starts(self, starts: Mapping[str, Sequence[int]]) -> None:
        """Keep from when on skills have another text."""
        known = self.version_starts()
        changed = [skill for skill in starts if list(starts[skill]) != known.get(skill, [])]
        self._reader.change_many("delete from begun where skill = ?", [(one,) for one in changed])
        rows = [(skill, at) for skill in changed for at in starts[skill]]
        self._reader.change_many("insert or ignore into begun values (?, ?)", rows)
        self._reader.change(
            lambda database, marks: dirty.mark(database, marks, "rewritten", changed)
        )

    def keep_sums(self, domain: str, value: object | None) -> None:
        """Keep a domain's sums; None: nothing was decided in it."""
        self._put("sums", domain, value)

    def keep_evidence(self, evidence: Sequence[tuple[str, object | None]]) -> None:
        """Keep what is known of skills; None: nothing."""
        for skill, value in evidence:
            self._put("evidence", skill, value)
        if evidence:
            query = "insert or replace into state values ('uses', hex(randomblob(8)))"
            self._reader.change_rows(query)

    def _put(self, table: str, key: str, value: object | None) -> None:
        if value is None:
            self._reader.change_rows(f"delete from {table} where key = ?", [key])
        else:
            query = f"insert or replace into {table} values (?, ?)"
            self._reader.change_rows(query, [key, _ENCODER.encode(value)])

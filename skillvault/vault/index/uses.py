"""Which decisions used which skills, as the projection keeps it, and what was added up of it.

Rows in, rows out: what they mean is `skillvault.uses`' to say. Only trusted outcomes are asked.
Times are microseconds since 1970.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from skillvault.vault.index.database import Projection

_Kept = TypeVar("_Kept")

# Of the outcomes of one decision the last counts.
_CLOSED = (
    "o.trust = 'local' and not exists (select 1 from outcome p where p.decision = o.decision "
    "and p.trust = 'local' and (p.at, p.id) > (o.at, o.id))"
)
_GROUP = "o.action || char(10) || coalesce(o.target, '')"
_ENCODER = msgspec.msgpack.Encoder()


class Used(NamedTuple):
    """One outcome's use of a skill, or its being shown or held out without one.

    `match` and `confidence` are those of `learning.track`; `offer` is shown, held or "".
    """

    outcome: str
    skill: str
    made: int
    match: str
    confidence: float
    quote: str | None
    offer: str


class Uses:
    """The uses of one vault."""

    def __init__(self, projection: Projection) -> None:
        self._projection = projection

    # ── uses ─────────────────────────────────────────────────────────────────────────

    def keep(self, outcomes: Sequence[str], rows: Iterable[Used]) -> None:
        """Keep what these outcomes used, in place of what was kept of them."""
        self._projection.use(outcomes, rows)
        self._projection.settle("use", outcomes)

    def exposures(self, domain: str) -> list[tuple[Any, ...]]:
        """(outcome, skill, group, status, made, match, confidence, offer) of a domain, by time."""
        query = (
            f"select u.outcome, u.skill, {_GROUP}, o.status, u.made, u.match, u.confidence, "
            "u.offer from used u join outcome o on o.id = u.outcome "
            f"where o.domain = ? and o.status != 'neutral' and {_CLOSED} order by o.at, o.id"
        )
        return self._projection.rows(query, [domain])

    def totals(self, domain: str) -> dict[str, tuple[int, int]]:
        """Group -> (closed decisions, those that succeeded) of a domain."""
        query = (
            f"select {_GROUP}, count(*), sum(o.status = 'success') from outcome o "
            f"where o.domain = ? and o.status != 'neutral' and {_CLOSED} "
            "group by o.action, o.target"
        )
        return {
            group: (count, hits) for group, count, hits in self._projection.rows(query, [domain])
        }

    def of(self, skills: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        """(skill, outcome, at, status, made, match, offer) of all closed uses of these skills."""
        query = (
            "select u.skill, u.outcome, o.at, o.status, u.made, u.match, u.offer from used u "
            f"join outcome o on o.id = u.outcome where u.skill in {{}} and {_CLOSED}"
        )
        return self._projection.rows_in(query, skills)

    # ── versions ─────────────────────────────────────────────────────────────────────

    def keep_begun(self, begun: Mapping[str, Sequence[int]]) -> None:
        """Keep from when on skills have another text."""
        known = self.begun()
        self._projection.begin()
        for skill, times in begun.items():
            if list(times) != known.get(skill, []):
                self._begin_anew(skill, times)
        self._projection.settle("version", begun)

    def _begin_anew(self, skill: str, times: Sequence[int]) -> None:
        ask = self._projection.rows
        ask("delete from begun where skill = ?", [skill])
        for at in times:
            ask("insert or ignore into begun values (?, ?)", [skill, at])
        mark = "insert or ignore into due select distinct"
        ask(f"{mark} 'count', skill from used where skill = ?", [skill])
        users = "from used u join outcome o on o.id = u.outcome where u.skill = ?"
        ask(f"{mark} 'lift', o.domain {users}", [skill])

    def begun(self) -> dict[str, list[int]]:
        """Skill -> the times from which on it has another text, of those that have any."""
        found: dict[str, list[int]] = {}
        for skill, at in self._projection.rows("select skill, at from begun order by skill, at"):
            found.setdefault(skill, []).append(at)
        return found

    def merged(self) -> dict[str, str]:
        """Skill in archive/ -> the one that stands for it since they were merged."""
        query = (
            "select source_id, target_id from link where type = 'merged' and source_kind = 'skill' "
            "and exists (select 1 from skill s where s.id = source_id and s.shelf = 'archive') "
            "order by id"
        )
        return dict(self._projection.rows(query))

    # ── what was added up ────────────────────────────────────────────────────────────

    def keep_sums(self, domain: str, value: object | None) -> None:
        """Keep a domain's sums; None: nothing was decided in it."""
        self._put("sums", domain, value)
        self._projection.settle("lift", [domain])

    def sums(self, kind: type[_Kept]) -> dict[str, _Kept]:
        """Domain -> its sums."""
        return self._all("sums", kind)

    def keep_evidence(self, found: Iterable[tuple[str, object | None]]) -> None:
        """Keep what is known of skills; None: nothing."""
        some = list(found)
        if not some:
            return
        for skill, value in some:
            self._put("evidence", skill, value)
        self._projection.rows("insert or replace into state values ('uses', hex(randomblob(8)))")

    def evidence(self, kind: type[_Kept]) -> dict[str, _Kept]:
        """Skill -> what is known of it."""
        return self._all("evidence", kind)

    @property
    def state(self) -> str | None:
        """What differs whenever the evidence does."""
        found: str | None = self._projection.value("select value from state where name = 'uses'")
        return found

    def _put(self, table: str, key: str, value: object | None) -> None:
        self._projection.begin()
        if value is None:
            self._projection.rows(f"delete from {table} where key = ?", [key])
        else:
            query = f"insert or replace into {table} values (?, ?)"
            self._projection.rows(query, [key, _ENCODER.encode(value)])

    def _all(self, table: str, kind: type[_Kept]) -> dict[str, _Kept]:
        decoder: Callable[[bytes], _Kept] = msgspec.msgpack.Decoder(kind).decode
        rows = self._projection.rows(f"select key, value from {table} order by key")
        return {key: decoder(value) for key, value in rows}

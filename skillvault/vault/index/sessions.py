"""The sessions of the vault: of a domain, behind a skill, beside their outcomes."""

from collections.abc import Iterable
from datetime import datetime

from skillvault.model.records import Session, Trust
from skillvault.vault.index.folder import Folder
from skillvault.vault.index.reader import Reader
from skillvault.vault.index.rows import moment


class Sessions(Folder[Session]):
    """id -> session, and the queries about them."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader, "sessions", Session)

    def in_order(self, ids: Iterable[str]) -> list[Session]:
        """Those of these sessions that are there, in the order of time."""
        return sorted(self.get_many(ids).values(), key=lambda session: session.order)

    def domains_of(self, trust: Trust) -> frozenset[str]:
        """The domains of the sessions that one of this trust is compared with."""
        query = "select distinct domain from session where trust in ('local', ?)"
        return frozenset(domain for (domain,) in self._reader.rows(query, [trust]))

    def latest_time(self, domain: str | None = None) -> datetime | None:
        """When the latest trusted session ended, of a domain or of all."""
        where = "trust = 'local'" + ("" if domain is None else " and domain = ?")
        values = [] if domain is None else [domain]
        at = self._reader.value(f"select max(at) from session where {where}", values)
        return None if at is None else moment(at)

    def of_outcome(self, outcome: str) -> list[str]:
        """The ids of the sessions that an outcome says it came from."""
        query = (
            "select s.id from outcome o join session s on s.name = o.session "
            "where o.id = ? and s.trust = o.trust order by s.id"
        )
        return [name for (name,) in self._reader.rows(query, [outcome])]

    def behind(self, skill: str) -> list[str]:
        """The ids of the sessions that a skill was distilled from, through merges too."""
        query = (
            "with recursive line (id) as (select ? union select l.source_id from line "
            "join link l on l.target_id = line.id where l.type = 'merged' "
            "and l.target_kind = 'skill' and l.source_kind = 'skill') "
            "select distinct l.source_id from line join link l on l.target_id = line.id "
            "where l.target_kind = 'skill' and l.source_kind = 'session' order by 1"
        )
        return [name for (name,) in self._reader.rows(query, [skill])]

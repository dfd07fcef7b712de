"""The facts of the vault, and the evaluations that they were made of."""

from collections.abc import Iterable

from skillvault.records import Evaluation, Fact
from skillvault.vault.index.folder import Folder
from skillvault.vault.index.reader import FILES, Reader

_TELLS = "type in ('promoted', 'reinforced') and source_kind = 'evaluation'"


class Evaluations(Folder[Evaluation]):
    """id -> evaluation; an outcome and its evaluation have one id."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader, "evaluations", Evaluation)

    def supporting(self, fact: str) -> list[Evaluation]:
        """The evaluations that made or repeat a fact, in the order of their ids."""
        query = (
            f"select source_id from link where target_kind = 'fact' and target_id = ? and {_TELLS}"
        )
        names = (name for (name,) in self._reader.rows(query, [fact]))
        return list(self.get_many(names).values())


class Facts(Folder[Fact]):
    """id -> fact, superseded ones included, and the queries about them."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader, "memory", Fact)

    def by_domain(self, domains: Iterable[str]) -> dict[str, Fact]:
        """The facts of these domains by id, superseded ones included."""
        query = f"{FILES} join fact t on f.n = t.n where t.domain in {{}}"
        facts = self._reader.records(self._reader.rows_in(query, domains), Fact)
        return {fact.id: fact for fact in facts}

    def sessions(self, facts: Iterable[str], limit: int | None = None) -> set[str]:
        """The sessions of the outcomes behind facts; no more than `limit` of them."""
        query = (
            "select distinct coalesce(o.session, o.id) from link l join outcome o "
            "on o.id = l.source_id where l.target_kind = 'fact' and l.target_id in {} "
            f"and {_TELLS} and exists (select 1 from file e where e.ref_kind = 'evaluation' "
            "and e.ref_id = l.source_id and e.type = 'Evaluation')"
            + (f" limit {limit}" if limit is not None else "")
        )
        return {session for (session,) in self._reader.rows_in(query, facts)}

"""The links of the vault: which records were made of which."""

from collections.abc import Iterable

from msgspec import Struct

from skillvault.model.records import Link, LinkType, Ref
from skillvault.vault.index.folder import Folder
from skillvault.vault.index.reader import FILE, Reader


class LinkEnds(Struct, frozen=True):
    """What a link says, and what it leads from and to."""

    type: LinkType
    source: Ref
    target: Ref


class Links(Folder[Link]):
    """id -> link, and the queries about them."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader, "links", Link)

    def by_target(self, refs: Iterable[Ref]) -> list[Link]:
        """The links to these records, in the order of their ids."""
        return self._by_end("target", refs)

    def by_source(self, refs: Iterable[Ref]) -> list[Link]:
        """The links from these records, in the order of their ids."""
        return self._by_end("source", refs)

    def _by_end(self, end: str, refs: Iterable[Ref]) -> list[Link]:
        query = f"{FILE} where n in (select n from link where {end}_kind = ? and {end}_id in {{}})"
        rows = self._reader.rows_of(query, dict.fromkeys(refs))
        return sorted(self._reader.records(rows, Link), key=lambda link: link.id)

    def of_type(self, link_type: str) -> list[Link]:
        """The links of a type, in the order of their ids."""
        rows = self._reader.rows(
            f"{FILE} where n in (select n from link where type = ?)", [link_type]
        )
        return sorted(self._reader.records(rows, Link), key=lambda link: link.id)

    def source_ids(self, target: Ref, link_type: str) -> list[str]:
        """The ids of the records from which links of a type lead to a record, sorted."""
        query = (
            "select source_id from link where target_kind = ? and target_id = ? and type = ? "
            "order by source_kind, source_id"
        )
        return [name for (name,) in self._reader.rows(query, [target.kind, target.id, link_type])]

    def sources_among(self, refs: Iterable[Ref], target: Ref) -> set[str]:
        """The ids of those of these records from which a link leads to another."""
        query = (
            "select source_id from link where target_kind = ? and target_id = ? "
            "and source_kind = ? and source_id in {}"
        )
        rows = self._reader.rows_of(query, refs, before=[target.kind, target.id])
        return {name for (name,) in rows}

    def merge_targets(self, refs: Iterable[Ref]) -> dict[str, str]:
        """Skill -> the evolved one that its link says it was merged into."""
        query = (
            "select source_id, target_id from link "
            "where type = 'merged' and source_kind = ? and source_id in {} order by id"
        )
        return dict(self._reader.rows_of(query, refs))

    def ends(self) -> dict[str, LinkEnds]:
        """Its id -> what a link says and leads from and to, of every link, by id."""
        query = (
            "select id, type, source_kind, source_id, target_kind, target_id from link order by id"
        )
        return {
            link_id: LinkEnds(type_, Ref(kind, source), Ref(to, target))
            for link_id, type_, kind, source, to, target in self._reader.rows(query)
        }

    def count_by_type(self) -> dict[str, int]:
        """How many links of each type there are."""
        query = "select type, count(*) from link group by type order by type"
        return dict(self._reader.rows(query))

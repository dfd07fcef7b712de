"""The links of the vault: which records were made of which."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from skillvault.model.records import Link, LinkType, Ref
from skillvault.vault.index.reader import Topic
from skillvault.vault.index.rows import DamagedRowError, Row, grouped, link_from

_LINK = "select id, type, source_kind, source_id, target_kind, target_id, at, metadata from link"


class LinkEnds(Struct, frozen=True):
    """What a link says, and what it leads from and to."""

    type: LinkType
    source: Ref
    target: Ref


class Links(Topic, Mapping[str, Link]):
    """id -> link, and the queries about them; of one in two lists the earlier counts."""

    def __getitem__(self, name: str) -> Link:
        return self.get_many([name])[name]

    def __iter__(self) -> Iterator[str]:
        rows = self._reader.rows("select distinct id from link order by id")
        return (name for (name,) in rows)

    def __len__(self) -> int:
        return int(self._reader.value("select count(distinct id) from link"))

    def get_many(self, names: Iterable[str]) -> dict[str, Link]:
        """Those of these ids that are there."""
        query, pending = f"{_LINK} where id in {{}}", list(names)
        links = self._links(lambda: list(self._reader.rows_in(query, pending)))
        return {link.id: link for link in links}

    def by_target(self, refs: Iterable[Ref]) -> list[Link]:
        """The links to these records, in the order of their ids."""
        return self._by_end("target", refs)

    def by_source(self, refs: Iterable[Ref]) -> list[Link]:
        """The links from these records, in the order of their ids."""
        return self._by_end("source", refs)

    def _by_end(self, end: str, refs: Iterable[Ref]) -> list[Link]:
        query = f"{_LINK} where {end}_kind = ? and {end}_id in {{}}"
        pending = list(dict.fromkeys(refs))
        return self._links(lambda: list(self._reader.rows_of(query, pending)))

    def of_type(self, link_type: str) -> list[Link]:
        """The links of a type, in the order of their ids."""
        return self._links(lambda: self._reader.rows(f"{_LINK} where type = ?", [link_type]))

    def _links(self, ask: Callable[[], Sequence[Row]]) -> list[Link]:
        """The links of rows, each once, in the order of their ids."""
        try:
            links = [link_from(row) for row in ask()]
        except DamagedRowError as error:
            self._reader.source.mend(error)
            links = [link_from(row) for row in ask()]
        links.sort(key=lambda link: (link.id, link.created_at), reverse=True)
        return [*{link.id: link for link in links}.values()][::-1]

    def path_of_list(self, owner: Ref) -> str | None:
        """A list that holds links of a record, wherever that stands itself; None without one."""
        query = (
            "select f.path from link l join file f on f.n = l.file "
            "where l.{0}_id = ? and l.{0}_kind = ? {1} order by f.path limit 1"
        )
        ends = [query.format("source", ""), query.format("target", "and l.source_kind = 'origin'")]
        paths = (self._reader.value(one, [owner.id, owner.kind]) for one in ends)
        return next(filter(None, paths), None)

    def lists_of(self, ids: Iterable[str]) -> dict[str, list[str]]:
        """The path of each list that holds links of these ids -> their ids."""
        query = "select f.path, l.id from link l join file f on f.n = l.file where l.id in {}"
        return grouped(self._reader.rows_in(query, ids))

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

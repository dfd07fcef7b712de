"""The records of the vault by their addresses, whatever kind they are of."""

from collections.abc import Iterable
from typing import cast

from skillvault.model.records import RecordKind, Ref
from skillvault.vault.files.work_tree import Key
from skillvault.vault.index.reader import FILE, Reader
from skillvault.vault.index.rows import Parsed


class Records:
    """Every record, readable or not; `in` takes a Ref or its `<kind>:<id>`."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def __contains__(self, address: object) -> bool:
        return self.path_of(ref_from(str(address))) is not None

    def path_of(self, ref: Ref) -> str | None:
        """The path of a record; None if there is no such record."""
        query = "select path from file where ref_kind = ? and ref_id = ? order by path limit 1"
        if ref.kind == "link":
            query = (
                "select path from link l join file on file.n = l.file "
                "where ? = 'link' and l.id = ? order by path limit 1"
            )
        path: str | None = self._reader.value(query, [ref.kind, ref.id])
        return path

    def existing(self, refs: Iterable[Ref]) -> set[Ref]:
        """Those of these records that are there."""
        pending = list(refs)
        links = [ref for ref in pending if ref.kind == "link"]
        others = [ref for ref in pending if ref.kind != "link"]
        query = "select ref_kind, ref_id from file where ref_kind = ? and ref_id in {}"
        rows = [*self._reader.rows_of(query, others)]
        rows += self._reader.rows_of(
            "select 'link', id from link where ? = 'link' and id in {}", links
        )
        return {Ref(*row) for row in rows}

    def with_prefix(self, kind: RecordKind, prefix: str) -> list[Ref]:
        """The records of a kind whose id begins with a text."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        query = (
            "select distinct ref_id from file "
            "where ref_kind = ? and ref_id >= ? and ref_id < ? order by ref_id"
        )
        if kind == "link":
            query = (
                "select distinct id from link where ? = 'link' and id >= ? and id < ? order by id"
            )
        return [Ref(kind, name) for (name,) in self._reader.rows(query, [kind, prefix, end])]

    def count_by_folder(self) -> dict[str, int]:
        """How many records each of the vault's folders has."""
        query = "select top, count(*) from file where ref_id is not null group by top"
        return dict(self._reader.rows(query))

    def at(self, paths: Iterable[str]) -> dict[str, Parsed]:
        """path -> its record, or the problem that keeps it from being read."""
        query = f"{FILE} where type is not null and path in {{}}"
        return {row[0]: self._reader.record(row) for row in self._reader.rows_in(query, paths)}

    def at_blobs(self, keys: Iterable[Key]) -> dict[Key, Parsed]:
        """(path, blob) -> its record, of those (path, blob) that the vault has."""
        blobs = dict(keys)
        query = f"{FILE} where type is not null and path in {{}}"
        rows = self._reader.rows_in(query, blobs)
        return {
            (path, blob): self._reader.record((path, blob, *values))
            for path, blob, *values in rows
            if blobs[path] == blob
        }


def ref_from(key: str) -> Ref:
    """The address that `<kind>:<id>` is."""
    kind, _, record_id = key.partition(":")
    return Ref(cast("RecordKind", kind), record_id)

"""The skills of the layers before the vault's, as the index keeps them: each file is read once."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

import msgspec

from skillvault.model.records import Problem, ShelfSkill, Skill
from skillvault.vault.files import layers as files
from skillvault.vault.files import layout
from skillvault.vault.files.listing import FolderListing
from skillvault.vault.index import dirty
from skillvault.vault.index.reader import Topic
from skillvault.vault.index.rows import (
    DamagedRowError,
    Row,
    encoded,
    read_value,
    skill_columns,
)
from skillvault.vault.search import ranking

_LISTINGS = msgspec.msgpack.Decoder(dict[str, FolderListing])
_SKILL, _PROBLEM = msgspec.msgpack.Decoder(Skill), msgspec.msgpack.Decoder(Problem)
_ENCODER = msgspec.msgpack.Encoder()
_FILE = "select f.place, f.layer, f.path, f.blob, f.value from layer_file f"
# What serves, and is to be found: what is not hidden, and of whose name the vault has none.
_SERVES = (
    "not hidden and not exists "
    f"(select 1 from skill v where v.id = skill.id and v.shelf = '{layout.SERVED}')"
)


class Layers(Topic):
    """The skills and files of the other layers."""

    @property
    def state(self) -> str | None:
        """What differs whenever they do; None where it is to be seen which of them serve."""
        state: str | None = self._reader.value("select value from state where name = 'layers'")
        return state

    def listings(self) -> dict[str, FolderListing]:
        """Folder -> what stood in it when it was read last."""
        query = "select name, value from state where name = 'listings'"
        return self._reader.source.kept(query, _LISTINGS.decode).get("listings", {})

    def unreadable(self) -> list[Problem]:
        """What cannot be read."""
        query = "select path, value from layer_file where name is null order by place, path"
        return [_problem(*row) for row in self._reader.rows(query)]

    def by_place(self) -> dict[int, list[ShelfSkill]]:
        """Place of a layer -> its skills by path, also those that are overridden or hidden."""
        rows = self._reader.rows(f"{_FILE} where f.name is not null order by f.place, f.path")
        by_place = groupby(rows, key=itemgetter(0))
        return {place: list(self._read_rows(some)) for place, some in by_place}

    # ── by name ──────────────────────────────────────────────────────────────────────

    def names(self) -> list[str]:
        """The name of every skill, by name."""
        return [n for (n,) in self._reader.rows("select id from skill where n < 0 order by id")]

    def of_name(self, name: str) -> ShelfSkill | None:
        """The skill of this name, whether or not it serves."""
        return next(iter(self.get_many([name])), None)

    def get_many(self, names: Iterable[str], *, serving: bool = False) -> list[ShelfSkill]:
        """Those of these skills that are there, all or only those that serve."""
        also = "s.serves and " if serving else ""
        query = f"{_FILE} join skill s on f.n = -s.n where {also}s.id in {{}}"
        return list(self._read_rows(self._reader.rows_in(query, names)))

    def _read_rows(self, rows: Iterable[Row]) -> Iterator[ShelfSkill]:
        """The skills of rows of `_FILE`; of a row that is damaged what its file holds now."""
        for _, layer, path, blob, value in rows:
            try:
                yield ShelfSkill(read_value(value, _SKILL.decode), layer, path, blob)
            except DamagedRowError as error:
                self._reader.source.mend(error)
                found = files.read(path, layer)
                if isinstance(found, ShelfSkill):
                    yield found

    def is_served(self, name: str) -> bool:
        """Whether the skill of this name serves."""
        return bool(self._reader.value("select serves from skill where id = ? and n < 0", [name]))

    # ── keeping ──────────────────────────────────────────────────────────────────────

    def keep_files(
        self,
        folders: Sequence[tuple[str, str]],
        listings: Mapping[str, FolderListing],
    ) -> bool:
        """Keep what stands in these (kind of layer, folder), the first to the last; if it changed.

        Only those files are read that may have changed.
        """
        before = self.listings()
        places = {folder: place for place, (_, folder) in enumerate(folders)}
        query = "select distinct place, folder from layer_file"
        moved = {(at, folder) for at, folder in self._reader.rows(query)}
        changed = False
        for place, folder in sorted(moved, key=itemgetter(0)):
            if places.get(folder) != place:
                self._place(folder, places.get(folder))
                changed = True
        for place, (layer, folder) in enumerate(folders):
            old, new = before.get(folder), listings[folder]
            removed = [path for path in old.files if path not in new.files] if old else []
            changed |= self._remove(folder, removed)
            paths = new.unlike(old) if old else list(new.files)
            changed |= self._enter(place, layer, folder, paths)
        if listings != before:
            self._keep("listings", _packed(listings))
        return changed

    def _place(self, folder: str, place: int | None) -> None:
        if place is None:
            self._reader.change_rows("delete from layer_file where folder = ?", [folder])
        else:
            query = "update layer_file set place = ? where folder = ?"
            self._reader.change_rows(query, [place, folder])

    def _remove(self, folder: str, paths: Collection[str]) -> bool:
        if paths:
            query = "delete from layer_file where folder = ? and path = ?"
            self._reader.change_many(query, [(folder, path) for path in paths])
        return bool(paths)

    def _enter(self, place: int, layer: str, folder: str, paths: Sequence[str]) -> bool:
        """Enter what files hold; whether any holds something else than was known."""
        query = "select path, blob, name, value from layer_file where folder = ? and path in {}"
        rows = self._reader.rows_in(query, paths, before=[folder])
        rows_before = {path: tuple(row) for path, *row in rows}
        changed = False
        for path in paths:
            before = rows_before.get(path)
            content = files.read(path, layer, before[0] if before else None, folder)
            if isinstance(content, files.Prose):
                changed |= self._remove(folder, [path] if before else [])
                continue
            if content is None or (row := _row(content)) == before:
                continue
            add = "insert or replace into layer_file values (null, ?, ?, ?, ?, ?, ?, ?)"
            self._reader.change_rows(add, [place, layer, folder, path, *row])
            changed = True
        return changed

    def enforce(self, winners: Sequence[ShelfSkill], hidden: Collection[str], state: str) -> None:
        """Let these skills stand for the other layers, in place of those before.

        What serves of them is found by its text; `state` tells this vault's layers from others.
        """
        ask = self._reader.rows
        files: dict[str, int] = dict(ask("select path, max(n) from layer_file group by path"))
        before = {row[1]: row for row in ask("select * from skill where n < 0")}
        after = {
            one.skill.name: _columns(one, files[one.path], one.skill.name in hidden)
            for one in winners
        }
        put = {name: row for name, row in after.items() if before.get(name, ())[:-1] != row}
        removed = before.keys() - after.keys()
        replaced = [name for name in before if name in removed or name in put]
        found = [f"skill:{name}" for name in replaced if before[name][-1]]
        self._reader.change(lambda database, _: ranking.remove_documents(database, found))
        delete = "delete from skill where n = ?"
        self._reader.change_many(delete, [before[name][:1] for name in replaced])
        add = f"insert into skill values ({', '.join('?' * 19)})"
        self._reader.change_many(add, [(*row, 0) for row in put.values()])
        self._serve()
        self._keep("layers", state)
        turned = sorted(before.keys() ^ after.keys())
        self._reader.change(lambda database, marks: dirty.mark(database, marks, "beside", turned))

    def _serve(self) -> None:
        """See which of them serve, and let these be found."""
        query = f"select id, serves from skill where n < 0 and serves != ({_SERVES})"
        turned: dict[str, int] = dict(self._reader.rows(query))
        new = self.get_many(name for name, serves in turned.items() if not serves)
        on = [ranking.document_of(one.skill) for one in new]
        off = [f"skill:{name}" for name, serves in turned.items() if serves]
        self._reader.change(lambda database, _: ranking.remove_documents(database, off))
        self._reader.change(lambda database, _: ranking.add_documents(database, on))
        query = "update skill set serves = ? where id = ? and n < 0"
        rows = [(int(not serves), name) for name, serves in turned.items()]
        self._reader.change_many(query, rows)

    def _keep(self, name: str, value: bytes | str | None) -> None:
        self._reader.change_rows("insert or replace into state values (?, ?)", [name, value])


def _packed(listings: Mapping[str, FolderListing]) -> bytes:
    """Listings as bytes; those of a path that is no text are not kept."""
    try:
        return _ENCODER.encode(listings)
    except UnicodeEncodeError:
        return _ENCODER.encode({})


def _row(content: ShelfSkill | Problem) -> tuple[str | None, str | None, bytes | None]:
    """(blob, name, value) of a file."""
    if isinstance(content, Problem):
        return None, None, encoded(content)
    value = encoded(content.skill)
    if value is None:
        problem = Problem(content.path, None, "not-text", "a text in it is none; write it as UTF-8")
        return None, None, encoded(problem)
    return content.blob, content.skill.name, value


def _columns(one: ShelfSkill, file: int, hidden: bool) -> Row:
    """A row of `skill` without whether it serves."""
    return (
        -file,
        *skill_columns(one.skill.name, "", one.skill, one.blob, layer=one.layer),
        int(hidden),
    )


def _problem(path: str, value: bytes | None) -> Problem:
    if value is None:  # what it says is no text
        return Problem(path, None, "not-text", "cannot be read; rename it")
    return read_value(value, _PROBLEM.decode)

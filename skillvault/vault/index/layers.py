"""Query and index the skills of the other layers: folders outside the vault, and the package.

The vault itself is one layer. If several layers have a skill of the same name, the first layer
serves its skill. A file is read again only if it may have changed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import cast

import msgspec

from skillvault.model.records import Problem, ShelfSkill, Skill
from skillvault.vault.files import layers, layout
from skillvault.vault.files.listing import EMPTY, FolderListing
from skillvault.vault.index.reader import Topic
from skillvault.vault.index.rows import DamagedRowError, Row, decode, encode, skill_columns
from skillvault.vault.search import ranking

_LISTINGS = msgspec.msgpack.Decoder(dict[str, FolderListing])
_ENCODER = msgspec.msgpack.Encoder()
_FILE = "select f.position, f.layer, f.path, f.blob, f.value from layer_file f"
# A skill serves if it is not hidden and no skill of the vault has the same name.
_SERVES = f"""not hidden and not exists
    (select 1 from skill v where v.id = skill.id and v.folder = '{layout.SERVED}')"""


class Layers(Topic):
    """The skills and files of the other layers."""

    @property
    def state(self) -> str | None:
        """A text that changes with the skills, or None if they must be computed again."""
        state: str | None = self._reader.value("select value from state where name = 'layers'")
        return state

    def listings(self) -> dict[str, FolderListing]:
        """Return the last listing of each folder."""
        query = "select name, value from state where name = 'listings'"
        return self._reader.source.decode_values(query, _LISTINGS.decode).get("listings", {})

    def unreadable(self) -> list[Problem]:
        """Return a problem for each unreadable file."""
        query = "select path, value from layer_file where name is null order by position, path"
        return [_decode_problem(*row) for row in self._reader.rows(query)]

    def by_position(self) -> dict[int, list[ShelfSkill]]:
        """Return all skills of each layer, ordered by path, by the position of the layer."""
        rows = self._reader.rows(f"{_FILE} where f.name is not null order by f.position, f.path")
        layers = groupby(rows, key=itemgetter(0))
        return {position: list(self._read_rows(layer_rows)) for position, layer_rows in layers}

    # ── by name ──────────────────────────────────────────────────────────────────────

    def names(self) -> list[str]:
        """Return the names of all skills, sorted."""
        return self._reader.column("select id from skill where n < 0 order by id")

    def of_name(self, name: str) -> ShelfSkill | None:
        """Return the skill of this name, even if it is not served."""
        return next(iter(self.get_many([name])), None)

    def get_many(self, names: Iterable[str], *, serving: bool = False) -> list[ShelfSkill]:
        """Return the skills with these names; with `serving`, only the skills that are served."""
        condition = "s.serves and " if serving else ""
        query = f"{_FILE} join skill s on f.n = -s.n where {condition}s.id in {{}}"
        return list(self._read_rows(self._reader.rows_matching(query, names)))

    def _read_rows(self, rows: Iterable[Row]) -> Iterator[ShelfSkill]:
        """Yield the skills in rows of `_FILE`. If a row is damaged, read its file again."""
        for _, layer, path, blob, value in rows:
            try:
                yield ShelfSkill(cast("Skill", decode("Skill", value)), layer, path, blob)
            except DamagedRowError as error:
                self._reader.source.mend(error)
                content = layers.read_layer_file(path, layer)
                if isinstance(content, ShelfSkill):
                    yield content

    def is_served(self, name: str) -> bool:
        """Return True if the skill of this name is served."""
        return bool(self._reader.value("select serves from skill where id = ? and n < 0", [name]))

    def served_seeds(self) -> list[str]:
        """Return the names of the skills of the package in force, sorted."""
        # Only rows of other layers than the vault have a negative number.
        query = "select id from skill where n < 0 and serves and layer = 'seed' order by id"
        return self._reader.column(query)

    def count_live(self, domain: str) -> int:
        """Return the number of the live skills of all layers, of a domain and of no domain."""
        query = """select count(*) from skill where serves
            and (domain is null or domain = ?) and status not in ('proposed', 'retired')"""
        return int(self._reader.value(query, [domain]))

    # ── storing ──────────────────────────────────────────────────────────────────────

    def keep_files(
        self, folders: Sequence[tuple[str, str]], listings: Mapping[str, FolderListing]
    ) -> bool:
        """Store the files of folders, given as (kind of layer, folder).

        Only files that may have changed are read. Return True if anything changed.
        """
        old_listings = self.listings()
        positions = {folder: position for position, (_, folder) in enumerate(folders)}
        query = "select distinct position, folder from layer_file"
        stored_folders = {(position, folder) for position, folder in self._reader.rows(query)}
        is_changed = False
        for position, folder in sorted(stored_folders, key=itemgetter(0)):
            if positions.get(folder) != position:
                self._move_folder(folder, positions.get(folder))
                is_changed = True
        for position, (layer, folder) in enumerate(folders):
            old_listing, listing = old_listings.get(folder, EMPTY), listings[folder]
            removed_paths = [path for path in old_listing.files if path not in listing.files]
            is_changed |= self._remove_files(folder, removed_paths)
            paths = listing.changed_files(old_listing)
            is_changed |= self._read_files(position, layer, folder, paths)
        if listings != old_listings:
            try:
                value = _ENCODER.encode(listings)
            except UnicodeEncodeError:  # a path is not UTF-8
                value = _ENCODER.encode({})
            self._store_state("listings", value)
        return is_changed

    def _move_folder(self, folder: str, position: int | None) -> None:
        if position is None:
            self._reader.change_rows("delete from layer_file where folder = ?", [folder])
        else:
            query = "update layer_file set position = ? where folder = ?"
            self._reader.change_rows(query, [position, folder])

    def _remove_files(self, folder: str, paths: Collection[str]) -> bool:
        if paths:
            query = "delete from layer_file where folder = ? and path = ?"
            self._reader.change_many(query, [(folder, path) for path in paths])
        return bool(paths)

    def _read_files(self, position: int, layer: str, folder: str, paths: Sequence[str]) -> bool:
        """Read files into the index. Return True if a file has changed."""
        query = "select path, blob, name, value from layer_file where folder = ? and path in {}"
        rows = self._reader.rows_matching(query, paths, prefix=[folder])
        old_rows = {path: tuple(row) for path, *row in rows}
        is_changed = False
        for path in paths:
            old_row = old_rows.get(path)
            content = layers.read_layer_file(path, layer, old_row[0] if old_row else None, folder)
            if isinstance(content, layers.ProseFile):
                is_changed |= self._remove_files(folder, [path] if old_row else [])
                continue
            if content is None or (row := _file_row(content)) == old_row:
                continue
            insert = "insert or replace into layer_file values (null, ?, ?, ?, ?, ?, ?, ?)"
            self._reader.change_rows(insert, [position, layer, folder, path, *row])
            is_changed = True
        return is_changed

    def update(self, winners: Sequence[ShelfSkill], hidden: Collection[str], state: str) -> None:
        """Replace the skills of the other layers with `winners`, one skill for each name.

        The served skills are added to the search. `state` identifies these layers.
        """
        query = "select path, max(n) from layer_file group by path"
        files: dict[str, int] = dict(self._reader.rows(query))
        old_rows = {row[1]: row for row in self._reader.rows("select * from skill where n < 0")}
        new_rows = {
            winner.skill.name: _skill_row(winner, files[winner.path], winner.skill.name in hidden)
            for winner in winners
        }
        changed_rows = {
            name: row for name, row in new_rows.items() if old_rows.get(name, ())[:-1] != row
        }
        removals = old_rows.keys() - new_rows.keys()
        old_names = [name for name in old_rows if name in removals or name in changed_rows]
        document_ids = [f"skill:{name}" for name in old_names if old_rows[name][-1]]
        self._reader.change(lambda database, _: ranking.remove_documents(database, document_ids))
        delete = "delete from skill where n = ?"
        self._reader.change_many(delete, [old_rows[name][:1] for name in old_names])
        insert = f"insert into skill values ({', '.join('?' * 20)})"
        self._reader.change_many(insert, [(*row, 0) for row in changed_rows.values()])
        self._update_serving()
        self._store_state("layers", state)
        names = sorted(old_rows.keys() ^ new_rows.keys())
        self._reader.change(lambda _, queues: queues.mark("beside", names))

    def _update_serving(self) -> None:
        """Update which skills are served, and add these to the search."""
        query = f"select id, serves from skill where n < 0 and serves != ({_SERVES})"
        serving_by_name: dict[str, int] = dict(self._reader.rows(query))
        newly_served = self.get_many(name for name, status in serving_by_name.items() if not status)
        new_documents = [ranking.document_of(skill.skill) for skill in newly_served]
        old_documents = [f"skill:{name}" for name, status in serving_by_name.items() if status]
        self._reader.change(lambda database, _: ranking.remove_documents(database, old_documents))
        self._reader.change(lambda database, _: ranking.add_documents(database, new_documents))
        query = "update skill set serves = ? where id = ? and n < 0"
        rows = [(int(not status), name) for name, status in serving_by_name.items()]
        self._reader.change_many(query, rows)

    def _store_state(self, name: str, value: bytes | str | None) -> None:
        self._reader.change_rows("insert or replace into state values (?, ?)", [name, value])


def _file_row(content: ShelfSkill | Problem) -> tuple[str | None, str | None, bytes | None]:
    if isinstance(content, Problem):
        return None, None, encode(content)
    value = encode(content.skill)
    if value is None:
        problem = Problem(content.path, None, "not-text", "its text is not UTF-8; save it as UTF-8")
        return None, None, encode(problem)
    return content.blob, content.skill.name, value


def _skill_row(winner: ShelfSkill, file: int, hidden: bool) -> Row:
    """Return a row of the table `skill`, except its column `serves`."""
    skill = winner.skill
    columns = skill_columns(skill.name, "", skill, winner.blob, layer=winner.layer)
    return (-file, *columns, int(hidden))


def _decode_problem(path: str, value: bytes | None) -> Problem:
    if value is None:  # its path is not UTF-8
        return Problem(path, None, "not-text", "cannot be read; rename it")
    return cast("Problem", decode("Problem", value))

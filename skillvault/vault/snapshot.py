"""The vault's files at one moment (HEAD, the index or the work tree), parsed once.

The queries of the house are asked here. A file that cannot be read is a Problem, a
value; its record is left out and the rest goes on.
"""

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TypeVar

from skillvault.errors import BadInputError
from skillvault.policy import Policy, policy_from
from skillvault.records import (
    Evaluation,
    Fact,
    Link,
    Outcome,
    Problem,
    Ref,
    Skill,
    moment_of,
    stamp,
)
from skillvault.vault import codec, layout, strict_yaml
from skillvault.vault.index import Parsed, Projection

_RECORD = TypeVar("_RECORD", Outcome, Evaluation, Fact, Skill, Link)


# What is derived of a view, and the folders that it rests on.
_DERIVED: Mapping[str, frozenset[str]] = {
    "outcomes": frozenset({"outcomes"}),
    "evaluations": frozenset({"evaluations"}),
    "facts": frozenset({"memory"}),
    "links": frozenset({"links"}),
    "links_to": frozenset({"links"}),
    "links_from": frozenset({"links"}),
    "skills": frozenset({"skills"}),
    "proposed": frozenset({"proposed"}),
    "archived": frozenset({"archive"}),
    "policy": frozenset({layout.MARK}),
}


class Snapshot:
    """An immutable view of a vault.

    `contents` maps path -> content key (a blob id); `read` gives the bytes of many keys
    at once, `fresh` those that `read` need not know. `commit` is the commit shown, None
    for the index and the work tree.
    """

    def __init__(
        self,
        contents: Mapping[str, str],
        read: Callable[[Iterable[str]], Mapping[str, bytes]],
        *,
        commit: str | None = None,
        projection: Projection | None = None,
        fresh: Mapping[str, bytes] | None = None,
    ) -> None:
        self.contents = contents
        self.commit = commit
        self._read = read
        self._fresh = fresh or {}
        self._projection = projection or Projection(None)

    def with_files(self, files: Mapping[str, bytes | None]) -> "Snapshot":
        """The view after a change that is not committed: path -> new bytes, None: removed."""
        contents = dict(self.contents)
        fresh: dict[str, bytes] = {}
        for path, data in files.items():
            if data is None:
                contents.pop(path, None)
            else:
                contents[path] = blob_id(data)
                fresh[contents[path]] = data
        fresh = {**self._fresh, **fresh}
        after = Snapshot(
            contents, self._read, commit=self.commit, projection=self._projection, fresh=fresh
        )
        after._follow(self, files)
        return after

    def at(self, commit: str) -> "Snapshot":
        """The same view, now that this commit shows it."""
        after = Snapshot(self.contents, self._read, commit=commit, projection=self._projection)
        after.__dict__ |= {k: v for k, v in self.__dict__.items() if k in _DERIVED}
        return after

    def _follow(self, before: "Snapshot", files: Iterable[str]) -> None:
        """Take over what is known of the view before, for all that these files leave as it was."""
        tops = {path.partition("/")[0] for path in files}
        known = before.__dict__
        for name in _DERIVED.keys() & known.keys():
            if not tops & _DERIVED[name]:
                self.__dict__[name] = known[name]

    def bytes_of(self, paths: Iterable[str]) -> dict[str, bytes]:
        """path -> bytes of the paths that exist."""
        keys = {path: self.contents[path] for path in paths if path in self.contents}
        stored = self._read([key for key in keys.values() if key not in self._fresh])
        return {
            path: self._fresh[key] if key in self._fresh else stored[key]
            for path, key in keys.items()
        }

    def below(self, folder: str) -> list[str]:
        """Every path below a folder, sorted."""
        paths = self._sorted_paths
        start = bisect_left(paths, f"{folder}/")
        return paths[start : bisect_left(paths, f"{folder}0", start)]  # "0" comes after "/"

    @cached_property
    def _sorted_paths(self) -> list[str]:
        return sorted(self.contents)

    # ── records ──────────────────────────────────────────────────────────────────────

    @cached_property
    def outcomes(self) -> dict[str, Outcome]:
        """id -> outcome, in the order of the ids."""
        return self._records("outcomes", Outcome)

    @cached_property
    def evaluations(self) -> dict[str, Evaluation]:
        """Outcome id -> evaluation."""
        return self._records("evaluations", Evaluation)

    @cached_property
    def facts(self) -> dict[str, Fact]:
        """id -> fact, superseded ones included."""
        return self._records("memory", Fact)

    @cached_property
    def links(self) -> dict[str, Link]:
        """id -> link."""
        return self._records("links", Link)

    @cached_property
    def links_to(self) -> dict[Ref, list[Link]]:
        """Target -> its links, in the order of their ids."""
        return _grouped(self.links.values(), lambda link: link.target)

    @cached_property
    def links_from(self) -> dict[Ref, list[Link]]:
        """Source -> its links, in the order of their ids."""
        return _grouped(self.links.values(), lambda link: link.source)

    @cached_property
    def skills(self) -> dict[str, Skill]:
        """name -> skill that may be served."""
        return self._records("skills", Skill)

    @cached_property
    def proposed(self) -> dict[str, Skill]:
        """name -> skill that waits for a person."""
        return self._records("proposed", Skill)

    @cached_property
    def archived(self) -> dict[str, Skill]:
        """name -> expired, superseded or retired skill."""
        return self._records("archive", Skill)

    def any_skill(self, name: str) -> Skill | None:
        """The skill of this name, in whatever folder it stands."""
        places = [f"{shelf}/{name}/SKILL.md" for shelf in layout.SHELVES]
        found = self.records_at(path for path in places if path in self.contents)
        return next((skill for skill in found.values() if isinstance(skill, Skill)), None)

    @cached_property
    def paths(self) -> dict[str, str]:
        """`<kind>:<id>` -> path of every record, read or not."""
        found: dict[str, str] = {}
        for path in self._sorted_paths:
            ref = layout.ref_of(path)
            if ref is not None:
                found.setdefault(str(ref), path)
        return found

    @cached_property
    def domains(self) -> list[str]:
        """Every domain with a record or named in vault.yaml, sorted."""
        named = (layout.domain_of(path) for path in self.contents)
        return sorted({*filter(None, named), *self.policy.domains})

    @cached_property
    def names(self) -> frozenset[str]:
        """Every skill name taken in any folder."""
        found = map(layout.ref_of, self.contents)
        return frozenset(ref.id for ref in found if ref and ref.kind == "skill")

    @cached_property
    def policy(self) -> Policy:
        """What vault.yaml says; BadInputError names its bad key."""
        data = self.bytes_of([layout.MARK]).get(layout.MARK, b"")
        try:
            return policy_from(strict_yaml.load(codec.text_of(data)))
        except BadInputError as error:
            raise BadInputError(
                f"{layout.MARK}: {error.message}", code=error.code, key=error.key, line=error.line
            ) from None

    def _records(self, folder: str, kind: type[_RECORD]) -> dict[str, _RECORD]:
        found = {
            ref.id: value
            for path, value in self._parsed([folder]).items()
            if isinstance(value, kind) and (ref := layout.ref_of(path))
        }
        return dict(sorted(found.items()))

    def _parsed(self, folders: Iterable[str]) -> dict[str, Parsed]:
        return self.records_at(path for folder in folders for path in self.below(folder))

    def records_at(self, paths: Iterable[str]) -> dict[str, Parsed]:
        """path -> its record, or the problem that keeps it from being read."""
        keys = {path: (path, self.contents[path]) for path in paths if layout.ref_of(path)}
        known = self._projection.get(keys.values())
        missing = {path: key for path, key in keys.items() if key not in known}
        if missing:
            data = self.bytes_of(missing)
            parsed = {key: _decoded(path, data[path]) for path, key in missing.items()}
            self._projection.put(parsed)
            known |= parsed
        return {path: known[key] for path, key in keys.items()}


def _grouped(links: Iterable[Link], end: Callable[[Link], Ref]) -> dict[Ref, list[Link]]:
    found: dict[Ref, list[Link]] = {}
    for link in links:
        found.setdefault(end(link), []).append(link)
    return found


def blob_id(data: bytes) -> str:
    """The id that git gives these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _check_place(path: str, record: Parsed) -> None:
    """BadInputError where a record says another place than its own."""
    if isinstance(record, Outcome | Evaluation | Fact) and record.domain != layout.domain_of(path):
        folder = layout.domain_of(path)
        raise BadInputError(
            f"domain: {record.domain!r} is not the folder it stands in; write `domain: {folder}`",
            code="domain-mismatch",
            key="domain",
        )
    if isinstance(record, Outcome) and not record.id.startswith(moment_of(record.occurred_at)):
        raise BadInputError(
            f"occurred_at: {stamp(record.occurred_at)} is not the time in the file's name; "
            "an outcome is written once, restore it",
            code="id-mismatch",
            key="occurred_at",
        )


def _decoded(path: str, data: bytes) -> Parsed:
    ref = layout.ref_of(path)
    if ref is None:
        raise ValueError(f"{path} is not a record's path")
    try:
        record = codec.decode(ref, data, layout.domain_of(path))
        _check_place(path, record)
    except BadInputError as error:
        return Problem(path, error.key, error.code, error.message)
    return record

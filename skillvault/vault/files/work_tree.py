"""The vault's files in git's index or in the work tree: what `check` looks at.

A file that cannot be read is a Problem, a value; its record is left out and the rest goes on.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from skillvault.errors import BadInputError
from skillvault.policy import Policy, policy_from
from skillvault.records import (
    Evaluation,
    Fact,
    Outcome,
    Problem,
    Recommendation,
    Record,
    moment_of,
    stamp,
)
from skillvault.vault.files import layout

Parsed = Record | Problem
Key = tuple[str, str]  # a path, and the id of the blob that stands there


class View:
    """An immutable view of a vault's files.

    `contents` maps path -> blob id; `read` gives the bytes of many blobs at once, `known` the
    records that were parsed before, by (path, blob).
    """

    def __init__(
        self,
        contents: Mapping[str, str],
        read: Callable[[Iterable[str]], Mapping[str, bytes]],
        known: Callable[[Iterable[Key]], Mapping[Key, Parsed]],
    ) -> None:
        self.contents = contents
        self._read = read
        self._known = known

    def records_at(self, paths: Iterable[str]) -> dict[str, Parsed]:
        """path -> its record, or the problem that keeps it from being read."""
        keys = {path: (path, self.contents[path]) for path in paths if layout.ref_of(path)}
        known = dict(self._known(keys.values()))
        missing = {path: key for path, key in keys.items() if key not in known}
        data = self._read([blob for _, blob in missing.values()])
        known |= {key: parsed(path, data[key[1]]) for path, key in missing.items()}
        return {path: known[key] for path, key in keys.items()}

    @cached_property
    def paths(self) -> dict[str, str]:
        """`<kind>:<id>` -> path of every record, read or not."""
        found: dict[str, str] = {}
        for path in sorted(self.contents):
            ref = layout.ref_of(path)
            if ref is not None:
                found.setdefault(str(ref), path)
        return found

    @property
    def policy(self) -> Policy:
        """What vault.yaml says; BadInputError names its bad key."""
        blob = self.contents.get(layout.MARK)
        return policy_of(self._read([blob])[blob] if blob else b"")


def policy_of(data: bytes) -> Policy:
    """What the bytes of vault.yaml say; BadInputError names its bad key."""
    from skillvault.vault.files import (
        codec,
        strict_yaml,
    )

    try:
        return policy_from(strict_yaml.load(codec.text_of(data)))
    except BadInputError as error:
        raise BadInputError(
            f"{layout.MARK}: {error.message}", code=error.code, key=error.key, line=error.line
        ) from None


def blob_id(data: bytes) -> str:
    """The id that git gives these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def parsed(path: str, data: bytes) -> Parsed:
    """The record in a file, or the problem that keeps it from being read."""
    from skillvault.vault.files import codec

    ref = layout.ref_of(path)
    if ref is None:
        raise ValueError(f"{path} is not a record's path")
    try:
        record = codec.decode(ref, data, layout.domain_of(path))
        _check_place(path, record)
    except BadInputError as error:
        return Problem(path, error.key, error.code, error.message)
    return record


def _check_place(path: str, record: Parsed) -> None:
    """BadInputError where a record says another place than its own."""
    dated = Outcome | Evaluation | Recommendation | Fact
    if isinstance(record, dated) and record.domain != layout.domain_of(path):
        folder = layout.domain_of(path)
        raise BadInputError(
            f"domain: {record.domain!r} is not the folder it is in; write `domain: {folder}`",
            code="domain-mismatch",
            key="domain",
        )
    key = {Outcome: "occurred_at", Recommendation: "at"}.get(type(record))
    if key and not path.rpartition("/")[2].startswith(moment_of(at := getattr(record, key))):
        kind = type(record).__name__.lower()
        raise BadInputError(
            f"{key}: {stamp(at)} is not the time in the file's name; "
            f"{'an' if kind[0] == 'o' else 'a'} {kind} is written once, restore it",
            code="id-mismatch",
            key=key,
        )

"""The vault's files in git's index or in the work tree: what `check` looks at.

A file that cannot be read is a Problem, a value; its record is left out and the rest goes on.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from skillvault.model import codec
from skillvault.model.errors import BadInputError
from skillvault.model.link_lists import LinkList, read_links
from skillvault.model.policy import Policy
from skillvault.model.policy_file import parse_policy
from skillvault.model.records import (
    Answer,
    Evaluation,
    Fact,
    Outcome,
    Problem,
    Recommendation,
    Record,
    Session,
    moment_of,
    stamp,
)
from skillvault.model.skill_evidence import TryLines, parse_tries
from skillvault.model.text import front_matter, strict_yaml
from skillvault.vault.files import layout

Parsed = Record | LinkList | Problem | TryLines
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
        parsed: Callable[[Iterable[Key]], Mapping[Key, Parsed]],
    ) -> None:
        self.contents = contents
        self._read = read
        self._parsed = parsed

    def records_at(self, paths: Iterable[str]) -> dict[str, Parsed]:
        """path -> its record or list of links, or the problem that keeps it from being read."""
        keys = {path: (path, self.contents[path]) for path in paths if layout.holds_records(path)}
        records = dict(self._parsed(keys.values()))
        missing = {path: key for path, key in keys.items() if key not in records}
        contents = self._read([blob for _, blob in missing.values()])
        records |= {key: parsed(path, contents[key[1]]) for path, key in missing.items()}
        return {path: records[key] for path, key in keys.items()}

    def bytes_at(self, path: str) -> bytes | None:
        """The bytes at a path; None if there is no file."""
        blob = self.contents.get(path)
        return self._read([blob])[blob] if blob else None

    def texts_at(self, paths: Iterable[str]) -> dict[str, str]:
        """path -> what its file says, of those that are text."""
        blobs = {path: self.contents[path] for path in paths if path in self.contents}
        contents = self._read(blobs.values())
        texts = ((path, _text_in(contents[blob])) for path, blob in blobs.items())
        return {path: text for path, text in texts if text is not None}

    @cached_property
    def paths(self) -> dict[str, str]:
        """`<kind>:<id>` -> path of every record, read or not."""
        paths: dict[str, str] = {}
        for path in sorted(self.contents):
            ref = layout.ref_of(path)
            if ref is not None:
                paths.setdefault(str(ref), path)
        return paths

    @property
    def policy(self) -> Policy:
        """What vault.yaml says; BadInputError names its bad key."""
        return policy_of(self.bytes_at(layout.MARK) or b"")


def _text_in(content: bytes) -> str | None:
    """What a file says; None for what is no text, such as a picture."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def policy_of(content: bytes) -> Policy:
    """What the bytes of vault.yaml say; BadInputError names its bad key."""
    try:
        return parse_policy(strict_yaml.load(front_matter.text_of(content)))
    except BadInputError as error:
        raise BadInputError(
            f"{layout.MARK}: {error.message}", code=error.code, key=error.key, line=error.line
        ) from None


def blob_id(content: bytes) -> str:
    """The id that git gives these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def parsed(path: str, content: bytes) -> Parsed:
    """The record, links or tries in a file, or the problem that keeps it from being read."""
    if layout.is_tried(path):
        return parse_tries(content)
    if owner := layout.links_owner(path):
        return read_links(path, owner, content)
    ref = layout.ref_of(path)
    if ref is None:
        raise ValueError(f"{path} is not a record's path")
    try:
        record = codec.decode(ref, content, layout.domain_of(path))
        _check_path(path, record)
    except BadInputError as error:
        return Problem(path, error.key, error.code, error.message)
    return record


def _check_path(path: str, record: Parsed) -> None:
    """BadInputError if a record says another place than its own."""
    dated = Outcome | Evaluation | Answer | Recommendation | Fact
    if isinstance(record, dated) and record.domain != layout.domain_of(path):
        folder = layout.domain_of(path)
        raise BadInputError(
            f"domain: {record.domain!r} is not the folder it is in; write `domain: {folder}`",
            code="domain-mismatch",
            key="domain",
        )
    if isinstance(record, Answer) and path != layout.answer_path(record):
        raise BadInputError(
            f"at: {stamp(record.at)} and {record.id} are not the month and the name of the file; "
            "an answer is written once, restore it",
            code="id-mismatch",
            key="at",
        )
    if isinstance(record, Session) and path != layout.session_path(record):
        raise BadInputError(
            f"ended_at: {stamp(record.ended_at)} is not the day of its folder; a session is "
            "written once, restore it",
            code="id-mismatch",
            key="ended_at",
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

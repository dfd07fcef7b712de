"""Read the vault's files from git's index or from the work tree, and parse their records.

An unreadable file becomes a Problem, and the other records are still read.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from skillvault.model import codec, records
from skillvault.model.errors import BadInputError
from skillvault.model.link_lists import LinkList, read_links
from skillvault.model.policy import Policy, parse_policy
from skillvault.model.skill_evidence import TryLines, parse_tries
from skillvault.model.text import front_matter, strict_yaml
from skillvault.vault.files import layout

Parsed = records.Record | LinkList | records.Problem | TryLines
Key = tuple[str, str]  # a path and its blob id


class WorkTreeView:
    """An immutable view of a vault's files.

    `contents` has blob ids by path. `read_blobs` returns the bytes of blobs, `read_known` the
    records that were parsed earlier.
    """

    def __init__(
        self,
        contents: Mapping[str, str],
        read_blobs: Callable[[Iterable[str]], Mapping[str, bytes]],
        read_known: Callable[[Iterable[Key]], Mapping[Key, Parsed]],
    ) -> None:
        self.contents = contents
        self._read_blobs = read_blobs
        self._read_known = read_known

    def read_records(self, paths: Iterable[str]) -> dict[str, Parsed]:
        """Return the record, the list of links or the problem of each path."""
        keys = {path: (path, self.contents[path]) for path in paths if layout.holds_records(path)}
        parsed = dict(self._read_known(keys.values()))
        missing_keys = {path: key for path, key in keys.items() if key not in parsed}
        contents = self._read_blobs([blob for _, blob in missing_keys.values()])
        parsed |= {key: parse_record(path, contents[key[1]]) for path, key in missing_keys.items()}
        return {path: parsed[key] for path, key in keys.items()}

    def read_bytes(self, path: str) -> bytes | None:
        """Return the bytes of a file, or None if there is no file."""
        blob = self.contents.get(path)
        return self._read_blobs([blob])[blob] if blob else None

    def read_texts(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the texts of the files that are text, by path."""
        blobs = {path: self.contents[path] for path in paths if path in self.contents}
        contents = self._read_blobs(blobs.values())
        texts = ((path, _decode_text(contents[blob])) for path, blob in blobs.items())
        return {path: text for path, text in texts if text is not None}

    @cached_property
    def paths(self) -> dict[str, str]:
        """The path of each record, readable or not, by `<kind>:<id>`."""
        paths: dict[str, str] = {}
        for path in sorted(self.contents):
            if ref := layout.ref_of(path):
                paths.setdefault(str(ref), path)
        return paths

    @property
    def policy(self) -> Policy:
        """The policy in vault.yaml. Raises BadInputError with the name of a bad key."""
        return policy_of(self.read_bytes(layout.VAULT_FILE) or b"")


def _decode_text(content: bytes) -> str | None:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def policy_of(content: bytes) -> Policy:
    """Parse vault.yaml. Raise BadInputError with the name of a bad key."""
    try:
        return parse_policy(strict_yaml.load(front_matter.text_of(content)))
    except BadInputError as error:
        message = f"{layout.VAULT_FILE}: {error.message}"
        raise BadInputError(message, code=error.code, key=error.key, line=error.line) from None


def blob_id(content: bytes) -> str:
    """Return git's id of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def parse_record(path: str, content: bytes) -> Parsed:
    """Parse the record, links or tries in a file, or return the problem with the file."""
    if layout.is_tries_file(path):
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
        return records.Problem(path, error.key, error.code, error.message)
    return record


def _check_path(path: str, record: Parsed) -> None:
    kinds_with_domain = (
        *(records.Outcome, records.Evaluation, records.Answer, records.Recommendation),
        *(records.Fact, records.Correction),
    )
    folder = layout.domain_of(path)
    if isinstance(record, kinds_with_domain) and record.domain != folder:
        message = f"{record.domain!r} is not the folder it is in; write `domain: {folder}`"
        raise BadInputError(f"domain: {message}", code="domain-mismatch", key="domain")
    if mismatch := _find_mismatch(path, record):
        key, claim = mismatch
        kind = type(record).__name__.lower()
        advice = f"{'an' if kind[0] in 'ao' else 'a'} {kind} is written once, restore it"
        raise BadInputError(f"{key}: {claim}; {advice}", code="id-mismatch", key=key)


def _find_mismatch(path: str, record: Parsed) -> tuple[str, str] | None:
    """Return (key, claim) if a time in a record contradicts the record's path, else None."""
    name = path.rpartition("/")[2]
    match record:
        case records.Answer(at=at) if path != layout.answer_path(record):
            claim = "are not the month and the name of the file"
            return "at", f"{records.stamp(at)} and {record.id} {claim}"
        case records.Session(ended_at=at) if path != layout.session_path(record):
            return "ended_at", f"{records.stamp(at)} is not the day of its folder"
        case records.Outcome(occurred_at=at) if not name.startswith(records.moment_of(at)):
            return "occurred_at", f"{records.stamp(at)} is not the time in the file's name"
        case records.Recommendation(at=at) if not name.startswith(records.moment_of(at)):
            return "at", f"{records.stamp(at)} is not the time in the file's name"
    return None

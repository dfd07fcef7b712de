"""Which files in the inbox the program itself put there, and no agent: by their names.

The name holds a digest of the content under a key that stands in the git folder alone. So such a
file may wait, be quarantined and come back, and says who saw how a decision ended.
"""

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from skillvault.vault.disk import draft_name

_KEY = "skillvault/inbox.key"
_BYTES = 32
_HEX = 32
_NAME = re.compile(rf"seen-(?P<digest>[0-9a-f]{{{_HEX}}})-")


def attest_files(
    git_folder: Path, files: Iterable[tuple[str, bytes]]
) -> Iterator[tuple[str, bytes]]:
    """Name files so that it is known that the program puts them there; `git_folder` holds the key.

    Those that name no observer keep their names.
    """
    for name, content in files:
        is_observed = b"observed_by" in content
        prefix = f"seen-{_mac_of(_key(git_folder), content)}-" if is_observed else ""
        yield prefix + name, content


def is_attested(git_folder: Path, name: str, content: bytes) -> bool:
    """Return True if the program put these bytes into the inbox itself."""
    match = _NAME.match(name)
    place = git_folder / _KEY
    if match is None or not place.is_file():
        return False
    return hmac.compare_digest(match["digest"], _mac_of(place.read_bytes(), content))


def _mac_of(key: bytes, content: bytes) -> str:
    return hmac.new(key, content, hashlib.sha256).hexdigest()[:_HEX]


def _key(git_folder: Path) -> bytes:
    """The key of a clone; whoever needs it first makes it, whole or not at all."""
    place = git_folder / _KEY
    if not place.is_file():
        place.parent.mkdir(exist_ok=True)
        draft = place.parent / f".{draft_name()}.tmp"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with open(descriptor, "wb") as file:  # noqa: PTH123 (a descriptor, not a path)
                file.write(secrets.token_bytes(_BYTES))
            with suppress(FileExistsError):  # another process made one meanwhile
                os.link(draft, place)
        finally:
            draft.unlink()
    return place.read_bytes()

"""Name, identify and attest files that arrive in the inbox.

To attest a file is to show that the program made it. Its name then has a keyed digest of the
content, so that the attestation survives waiting, quarantine and return.
"""

import hashlib
import hmac
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

from msgspec import Struct

from skillvault.model.records import Trust
from skillvault.model.text.hidden_characters import escape_hidden, has_hidden
from skillvault.vault.disk import draft_name

MAX_OUTCOME = 256 * 1024
DRAFT = re.compile(r"\.(?P<pid>[0-9]{1,9})(?:-[0-9]+)?\.tmp")  # the name of a draft
IGNORED = re.compile(r"^\.|\.tmp$|\.part$|~$")
ERROR = ".error.json"  # the ending of the file with the reason of a quarantined file
_MAX_NAME_BYTES = 200  # of a file name, which leaves room for a suffix

Identity = tuple[int, int, int]  # inode number, size, nanoseconds of its modification


class ReceivedFile(Struct, frozen=True):
    """A file that arrived, with its name below inbox/, its bytes and the trust of its folder.

    An attested file comes from the program, not from an agent.
    """

    name: str
    data: bytes
    trust: Trust = "local"
    is_attested: bool = False


def identity_of(state: os.stat_result) -> Identity:
    """Return a key that changes when a file is written again."""
    return state.st_ino, state.st_size, state.st_mtime_ns


def digest_of(path: Path) -> str | None:
    """Return the sha256 of a regular file, or None for anything else."""
    if path.is_symlink() or not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def free_names(name: str) -> Iterator[str]:
    """Yield `name.ext`, `name-2.ext`, `name-3.ext` and so on, without end."""
    path = Path(name)
    yield path.name
    yield from (f"{path.stem}-{number}{path.suffix}" for number in count(2))


def link_to_free_name(source: Path, folder: Path, name: str) -> str:
    """Link a file into a folder under the first free name, and return that name."""
    names = free_names(name)
    while True:
        free_name = next(names)
        with suppress(FileExistsError):  # a link never replaces a file
            os.link(source, folder / free_name, follow_symlinks=False)
            return free_name


def plain_name(name: str) -> str:
    """Return a printable file name that leaves room for a suffix and does not end with ERROR."""
    chars = (char if char.isprintable() and not has_hidden(char) else "_" for char in name)
    path = Path("".join(chars))
    if path.name.endswith(ERROR):
        path = Path(path.name.removesuffix(ERROR) + "-error.json")
    limit = _MAX_NAME_BYTES - len(path.suffix.encode())
    if limit < 1:
        return path.name.encode()[:_MAX_NAME_BYTES].decode(errors="ignore")
    return path.stem.encode()[:limit].decode(errors="ignore") + path.suffix


def is_untrusted(origin: str) -> bool:
    """Return True if a name below inbox/ is in the folder untrusted/."""
    return origin.startswith("untrusted/")


def make_printable(value: object) -> str:
    """Return a foreign text as one line without characters that could control a terminal."""
    return escape_hidden(str(value)).replace("\r", "\\r").replace("\n", "\\n")


_KEY_FILE = "skillvault/inbox.key"
_KEY_BYTES = 32
_DIGEST_CHARACTERS = 32
_ATTESTED_NAME = re.compile(rf"seen-(?P<digest>[0-9a-f]{{{_DIGEST_CHARACTERS}}})-")


def attest_files(
    git_folder: Path, files: Iterable[tuple[str, bytes]]
) -> Iterator[tuple[str, bytes]]:
    """Add an attestation to the names of files. The key is in `git_folder`.

    Files without an observer and without a quotation keep their names.
    """
    for name, content in files:
        is_observed = b"observed_by" in content or b"next_words" in content
        prefix = f"seen-{_mac_of(_read_key(git_folder), content)}-" if is_observed else ""
        yield prefix + name, content


def is_attested(git_folder: Path, name: str, content: bytes) -> bool:
    """Return True if the program put these bytes into the inbox itself."""
    match = _ATTESTED_NAME.match(name)
    key_file = git_folder / _KEY_FILE
    if match is None or not key_file.is_file():
        return False
    return hmac.compare_digest(match["digest"], _mac_of(key_file.read_bytes(), content))


def _mac_of(key: bytes, content: bytes) -> str:
    return hmac.new(key, content, hashlib.sha256).hexdigest()[:_DIGEST_CHARACTERS]


def _read_key(git_folder: Path) -> bytes:
    """Return the key of this clone. The first caller creates the key atomically."""
    key_file = git_folder / _KEY_FILE
    if not key_file.is_file():
        key_file.parent.mkdir(exist_ok=True)
        draft = key_file.parent / f".{draft_name()}.tmp"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with open(descriptor, "wb") as file:  # noqa: PTH123 (a descriptor, not a path)
                file.write(os.urandom(_KEY_BYTES))
            with suppress(FileExistsError):  # another process was faster
                os.link(draft, key_file)
        finally:
            draft.unlink()
    return key_file.read_bytes()

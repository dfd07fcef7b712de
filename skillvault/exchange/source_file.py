"""Read files of other programs: strict JSON, typed access to keys, times, labels.

Every error is a BadInputError: the file, the key or line, the expected value, and the next step.
"""

import errno
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any, BinaryIO, TypeVar

from skillvault.model.errors import BadInputError
from skillvault.model.text import strict_json
from skillvault.model.text.text import shorten, slug

# The label of a record, and its outcome or the error that explains why there is none.
ReadResult = tuple[str, dict[str, Any] | BadInputError]
OutcomeReader = Callable[[Path, str | None], Iterator[ReadResult]]

_T = TypeVar("_T")
_EXAMPLE_TIME = "a time such as 2026-11-20T10:15:00Z"
_MAX_DEPTH = 100  # foreign reports nest deeper than an outcome may
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_HOME_DEPTH = 3  # parts of a home folder's path: the root, `home`, the person
_HOME_FOLDERS = frozenset({"home", "users"})  # folders inside have the names of people


def try_convert(label: str, convert: Callable[[], dict[str, Any]]) -> ReadResult:
    """Return a converted record, or the error if the conversion fails."""
    try:
        return label, convert()
    except BadInputError as error:
        return label, error


def record_label(name: str, number: int) -> str:
    """Return a slug for a record of a file, such as `outcomes-12`."""
    return f"{slug(name, limit=48) or 'record'}-{number}"


def drop_empty(**values: Any) -> dict[str, Any]:
    """Return the values that are neither None nor the empty text."""
    return {key: value for key, value in values.items() if value is not None and value != ""}


def file_label(path: Path) -> str:
    """Return the name of a file for messages, with its folders if the name is a common one."""
    depth = {"ctrf.json": 3, "result.json": 2}.get(path.name, 1)
    return "/".join(path.absolute().parts[-depth:])


def read_bytes(path: Path) -> bytes:
    """Read a file. Raise BadInputError if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable_error(path, error) from None


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file to read. Raise OSError for any other kind, without blocking."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return open(descriptor, "rb")  # noqa: PTH123 (a descriptor, for the caller to close)


def unreadable_error(path: Path, error: OSError) -> BadInputError:
    """Return the error for a file that cannot be read."""
    reason = (error.strerror or "unreadable").lower()
    message = f"{file_label(path)}: {reason}; check the path and whether the file may be read"
    return BadInputError(message, code="unreadable")


# ── strict JSON ──────────────────────────────────────────────────────────────────────


def parse_json(
    content: bytes, origin: str, *, line: int | None = None, nan_is_absent: bool = False
) -> Any:
    """Parse a JSON text. Each error message begins with `origin`.

    With `nan_is_absent`, NaN and Infinity are read as null.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeError:
        raise BadInputError(
            f"{origin}: not UTF-8 text; save it as UTF-8", code="not-utf8", line=line
        ) from None
    try:
        return strict_json.load(text, nan_is_absent=nan_is_absent, max_depth=_MAX_DEPTH)
    except BadInputError as error:
        message = error.message.removeprefix(f"line {error.line}: ") if line else error.message
        raise BadInputError(
            f"{origin}: {message}", code=error.code, key=error.key, line=line or error.line
        ) from None


# ── typed access ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Section:
    """A mapping in a file of another program, with its file and dotted key for error messages."""

    values: Mapping[str, Any]
    file: str
    key: str = ""

    @classmethod
    def of(cls, value: Any, file: str, key: str = "") -> "Section":
        """Return a mapping as a section. Raise BadInputError for another value."""
        if isinstance(value, Mapping):
            return cls(value, file, key)
        raise _value_error(file, key, "a mapping", value)

    def path(self, key: str) -> str:
        """Return the dotted key of a member."""
        return f"{self.key}.{key}" if self.key else key

    def member_error(self, key: str, expected: str) -> BadInputError:
        """Return the error for a member that is not the expected value."""
        return _value_error(self.file, self.path(key), expected, self.values.get(key))

    def _require(self, key: str, value: _T | None, expected: str) -> _T:
        if value is None:
            raise self.member_error(key, expected)
        return value

    def section(self, key: str) -> "Section":
        """Return a member that is a mapping, or an empty mapping if it is absent."""
        value = self.values.get(key)
        return Section.of({} if value is None else value, self.file, self.path(key))

    def list_of(self, key: str) -> list[Any]:
        """Return a member that is a list, or an empty list if it is absent."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, list):
            raise self.member_error(key, "a list")
        return value or []

    def number(self, key: str) -> float:
        """Return a member that must be a number."""
        return self._require(key, self.maybe_number(key), "a number")

    def maybe_number(self, key: str) -> float | None:
        """Return a member that is a number, or None if it is absent."""
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.member_error(key, "a number")
        return value + 0  # a negative zero becomes zero, so that equal trades stay equal

    def text(self, key: str) -> str:
        """Return a member that must be a text and not empty."""
        return self._require(key, self.maybe_text(key) or None, "text")

    def maybe_text(self, key: str) -> str | None:
        """Return a member that is a text, or None if it is absent."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, str):
            raise self.member_error(key, "text")
        return value

    def time(self, key: str) -> datetime:
        """Return a member that must be a time. The default time zone is UTC."""
        return self._require(key, self.maybe_time(key), _EXAMPLE_TIME)

    def maybe_time(self, key: str) -> datetime | None:
        """Return a member that is a time, or None if it is absent."""
        value = self.maybe_text(key)
        if not value:
            return None
        return self._require(key, time_of(value), _EXAMPLE_TIME)


def time_of(text: str) -> datetime | None:
    """Parse an ISO 8601 time to UTC, which is also the default, or return None."""
    try:
        time = datetime.fromisoformat(text.strip())
        return time.replace(tzinfo=time.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _value_error(file: str, key: str, expected: str, value: Any) -> BadInputError:
    origin = f"{file}: {key}" if key else file
    if value is None:
        problem, code = f"missing; expected {expected}", "missing-key"
    else:
        kinds: dict[type, str] = {dict: "a mapping", list: "a list", bool: "true or false"}
        kind = kinds.get(type(value)) or shorten(json.dumps(value, ensure_ascii=False), 60)
        problem, code = f"expected {expected}, found {kind}", "wrong-type"
    return BadInputError(
        f"{origin}: {problem}; correct it or export it again", code=code, key=key or None
    )


def as_path(text: str) -> PurePath:
    """Return the path that a text names on the machine that wrote the text."""
    return PureWindowsPath(text) if _WINDOWS.match(text) else PurePosixPath(text)


def folder_name(text: str) -> str | None:
    """Return the name of a folder, or None for a root folder or a person's home."""
    path = as_path(text)
    is_home = path.parent.name.lower() in _HOME_FOLDERS and len(path.parts) == _HOME_DEPTH
    return None if is_home else path.name or None


def without_folder(text: str, folder: str) -> str:
    """Make the paths in a text that are below a folder relative to the folder."""
    path = as_path(folder)
    if not path.name:
        return text
    is_windows = isinstance(path, PureWindowsPath)
    separator = r"[\\/]+" if is_windows else "/"
    parts = (re.escape(part.rstrip("\\/")) for part in path.parts)
    pattern = separator.join(parts) + separator
    return re.sub(pattern, "", text, flags=re.IGNORECASE if is_windows else 0)

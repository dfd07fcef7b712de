"""Read a transcript as a stream of events, one line at a time, so that it may be long."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from skillvault.exchange.source_file import file_label, open_regular, unreadable_error
from skillvault.exchange.transcripts.claude_code import ClaudeCodeLines
from skillvault.exchange.transcripts.codex import CodexLines
from skillvault.exchange.transcripts.events import Event, Header
from skillvault.model.errors import BadInputError

MAX_LINE_BYTES = 8 * 1024 * 1024  # bytes of a line that is read
COMPRESSED = (".jsonl.zst", ".jsonl.gz")  # endings of transcripts that are not read
_TYPE_PREFIX = "type "
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# The first key of a line; it finds a line that begins within a truncated line.
_LINE_START = re.compile(rb'\{"(?:parentUuid|timestamp|type|sessionId|uuid|ordinal)":')
_MAX_STARTS = 20
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|"
    rb"(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_SESSION_NAME = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_MAX_HEAD_LINES = 50  # lines that are read to recognize a client
_Lines = ClaudeCodeLines | CodexLines
_CLIENTS: tuple[type[_Lines], ...] = (ClaudeCodeLines, CodexLines)


class Transcript:
    """A transcript, which can be read once. `header` is filled while events are read.

    `unread` counts the lines of unknown kinds, by type.
    """

    def __init__(self, path: Path, start: int = 0) -> None:
        """Raise BadInputError for a file of no known client; `start` is the offset of a line."""
        self.path = path
        self._start = start
        match = _SESSION_NAME.search(path.stem)
        self.header = Header(session=match[0] if match else None)
        self._lines = _find_client(path, start)(self.header)
        self.client = self._lines.words.client
        self.unread: Counter[str] = Counter()
        self.position = 0  # bytes that are read

    def __iter__(self) -> Iterator[Event]:
        """Yield the events in their order."""
        for line in _read_lines(self.path, self._advance, self._start):
            if isinstance(line, str):
                self.unread[line] += 1
                continue
            events = self._lines.events_of(line)
            if events is None:
                self.unread[f"{_TYPE_PREFIX}{_line_type(line)!r}"] += 1
            else:
                yield from events

    @property
    def unknown_version(self) -> str:
        """A sentence about the client's version if lines of unknown types were read, or ""."""
        is_unknown = any(kind.startswith(_TYPE_PREFIX) for kind in self.unread)
        return self._lines.words.describe_unknown(self.header.version) if is_unknown else ""

    def _advance(self, size: int) -> None:
        self.position += size


def client_of(path: Path, start: int = 0) -> str | None:
    """Return the client that wrote a transcript, or None for another file."""
    client = _recognize_client(path, start)
    return client.words.client if client else None


def helper_files(path: Path) -> tuple[Path, ...]:
    """Return the rollouts of the helpers that a session of Codex spawned, in the same folder."""
    match = _SESSION_NAME.search(path.stem)
    if match is None:
        return ()
    helpers = _helpers_by_parent(path.parent, path.parent.stat().st_mtime_ns)
    return helpers.get(match[0], ())


@lru_cache(maxsize=1)
def _helpers_by_parent(folder: Path, _changed_at: int) -> Mapping[str, tuple[Path, ...]]:
    helpers: dict[str, tuple[Path, ...]] = {}
    for path in sorted(folder.glob("rollout-*.jsonl")):
        header = Header()
        for line in islice(_read_lines(path), 1):
            if isinstance(line, dict) and CodexLines.is_line(line):
                CodexLines(header).events_of(line)
        if header.parent is not None:
            helpers[header.parent] = (*helpers.get(header.parent, ()), path)
    return helpers


def _find_client(path: Path, start: int) -> type[_Lines]:
    if client := _recognize_client(path, start):
        return client
    if path.name.endswith(COMPRESSED):
        tool = "zstd -d" if path.suffix == ".zst" else "gunzip"
        raise BadInputError(
            f"{file_label(path)}: a compressed file; unpack it with `{tool} {path.name}` first",
            code="wrong-type",
        )
    raise BadInputError(
        f"{file_label(path)}: no transcript of Claude Code or Codex; give the .jsonl file that the "
        "client wrote",
        code="wrong-type",
    )


def _recognize_client(path: Path, start: int) -> type[_Lines] | None:
    for line in islice(_read_lines(path, start=start), _MAX_HEAD_LINES):
        for client in _CLIENTS:
            if isinstance(line, dict) and client.is_line(line):
                return client
    return None


def _line_type(line: dict[str, Any]) -> str:
    payload = line.get("payload")
    inner_type = payload.get("type") if isinstance(payload, dict) else None
    return "/".join(str(kind)[:40] for kind in (line.get("type"), inner_type) if kind) or "none"


def _read_lines(
    path: Path, advance: Callable[[int], object] = int, start: int = 0
) -> Iterator[dict[str, Any] | str]:
    """Yield each line as a mapping, or the reason why it cannot be read."""
    try:
        with open_regular(path) as file:
            file.seek(start)
            while data := file.readline(MAX_LINE_BYTES):
                advance(len(data))
                if not data.endswith(b"\n") and len(data) == MAX_LINE_BYTES:
                    while (part := file.readline(MAX_LINE_BYTES)) and not part.endswith(b"\n"):
                        continue
                    yield "longer than 8 MiB"
                elif data.strip():
                    yield from _parse_line(data)
    except OSError as error:
        raise unreadable_error(path, error) from None


def _parse_line(data: bytes) -> Iterator[dict[str, Any] | str]:
    """Parse a line. Skip an incomplete last line, which the client may still be writing.

    If a client was killed while writing, its next line starts within the incomplete line.
    """
    value = _parse_object(data)
    if value is not None:
        yield value
        return
    for match in islice(_LINE_START.finditer(data, 1), _MAX_STARTS):
        if (value := _parse_object(data[match.start() :])) is not None:
            yield _parse_object(data[: match.start()]) or "truncated"
            yield value
            return
    if data.endswith(b"\n"):
        yield "no JSON"


def _parse_object(data: bytes) -> dict[str, Any] | None:
    """Parse a JSON object, with U+FFFD for a lone surrogate, or return None."""
    data = data.removeprefix(_BYTE_ORDER_MARK)
    for text in (data, _repair(data)):
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        return value if isinstance(value, dict) else None
    return None


def _repair(data: bytes) -> bytes:
    """Replace the bytes that are not UTF-8, and the escapes of lone surrogates."""
    text = data.decode(errors="replace").encode()
    return _ESCAPE.sub(lambda match: rb"\ufffd" if match["lone"] else match[0], text)

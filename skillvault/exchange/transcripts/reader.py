"""A transcript as a stream of events: a line at a time, however long the file is."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from skillvault.exchange.source_file import name_of, open_regular, unreadable_error
from skillvault.exchange.transcripts import claude_code, codex
from skillvault.exchange.transcripts.events import Event, Header
from skillvault.model.errors import BadInputError

LONGEST = 8 * 1024 * 1024  # bytes of a line that is read
_MAX_HEAD_LINES = 50  # lines by which a client is known
_CLIENTS: tuple[ModuleType, ...] = (claude_code, codex)


class Transcript:
    """The file of a client, to be read once; `header` is filled while events are read.

    `unread` counts the lines that are not understood, by type.
    """

    def __init__(self, path: Path, start: int = 0) -> None:
        """Raise BadInputError for a file of no known client; `start` is the offset of a line."""
        self.path = path
        self._start = start
        self._client = _find_client(path, start)
        self.client: str = self._client.CLIENT
        self.header = Header()
        self.unread: Counter[str] = Counter()
        self.position = 0  # bytes that are read

    def __iter__(self) -> Iterator[Event]:
        """Yield the events in their order."""
        for line in _read_lines(self.path, self._advance, self._start):
            if isinstance(line, str):
                self.unread[line] += 1
                continue
            events = self._client.events_of(line, self.header)
            if events is None:
                self.unread[f"type {_line_type(line)!r}"] += 1
            else:
                yield from events

    def _advance(self, size: int) -> None:
        self.position += size


def client_of(path: Path, start: int = 0) -> str | None:
    """Find the client that wrote a file; None for a file that is no transcript."""
    for line in islice(_read_lines(path, start=start), _MAX_HEAD_LINES):
        if isinstance(line, dict):
            for client in _CLIENTS:
                if client.is_line(line):
                    return str(client.CLIENT)
    return None


def _find_client(path: Path, start: int) -> ModuleType:
    name = client_of(path, start)
    for client in _CLIENTS:
        if name == client.CLIENT:
            return client
    raise BadInputError(
        f"{name_of(path)}: no transcript of Claude Code or Codex; give the .jsonl file that the "
        "client wrote",
        code="wrong-type",
    )


def _line_type(line: dict[str, Any]) -> str:
    """The type of a line, and of the item in it."""
    payload = line.get("payload")
    inner = payload.get("type") if isinstance(payload, dict) else None
    return "/".join(str(kind)[:40] for kind in (line.get("type"), inner) if kind) or "none"


def _read_lines(
    path: Path, advance: Callable[[int], object] = int, start: int = 0
) -> Iterator[dict[str, Any] | str]:
    """Yield each line as a mapping, or the reason why it is none."""
    try:
        with open_regular(path) as file:
            file.seek(start)
            while data := file.readline(LONGEST):
                advance(len(data))
                if not data.endswith(b"\n") and len(data) == LONGEST:
                    while (piece := file.readline(LONGEST)) and not piece.endswith(b"\n"):
                        continue
                    yield "longer than 8 MiB"
                elif data.strip():
                    yield from _parse_line(data)
    except OSError as error:
        raise unreadable_error(path, error) from None


def _parse_line(data: bytes) -> Iterator[dict[str, Any] | str]:
    """Parse a line; an incomplete last line may still be in writing and is skipped."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        if data.endswith(b"\n"):
            yield "no JSON"
        return
    yield value if isinstance(value, dict) else "no JSON object"

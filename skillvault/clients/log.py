"""The log of hooks: one line an event that went wrong or took long; bounded."""

import os
from datetime import UTC, datetime
from pathlib import Path

LOG = "hook.log"
MOST = 128 * 1024  # bytes
_LINE = 400  # characters


def log_line(folder: Path, text: str) -> None:
    """Append a line; of a log that is too long the older half goes."""
    place = folder / LOG
    folder.mkdir(parents=True, exist_ok=True)
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    line = f"{at} {' '.join(text.split())[:_LINE]}\n".encode(errors="replace")
    if place.exists() and place.stat().st_size + len(line) > MOST:
        draft = place.with_name(f".{LOG}.{os.getpid()}")
        draft.write_bytes(place.read_bytes()[-MOST // 2 :].partition(b"\n")[2])
        draft.replace(place)
    with place.open("ab") as file:
        file.write(line)

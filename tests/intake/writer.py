"""An agent in a process of its own that drops outcomes into a vault's inbox as fast as it can.

python -m tests.intake.writer ROOT FIRST COUNT

Every second file is written under another name and renamed. Of the others, which are written
in place, every 10th comes in two parts, with a rest that is shorter than a file must be still.
"""

import contextlib
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.given import as_file, raw

REST = 0.05


def content(number: int) -> bytes:
    """An outcome of an hour ago that can be told from every other one; it teaches nothing."""
    at = datetime.now(UTC) - timedelta(hours=1)
    return as_file(
        raw(
            occurred_at=at.isoformat(),
            decision__made_at=(at - timedelta(hours=1)).isoformat(),
            decision__target=f"burst-{number}",
            result={"status": "success"},
        )
    )


def renamed(folder: Path, number: int, data: bytes) -> None:
    """Write a file under another name, then rename it."""
    draft = folder / f".{number}.tmp"
    draft.write_bytes(data)
    draft.rename(folder / f"{number}.json")


def in_place(folder: Path, number: int, data: bytes, rest: float) -> None:
    """Write a file where it is read, in two parts where there is a rest between them."""
    half = len(data) // 2 if rest else len(data)
    with (folder / f"{number}.json").open("wb", buffering=0) as file:
        file.write(data[:half])
        time.sleep(rest)
        file.write(data[half:])


def drop(folder: Path, number: int) -> None:
    """Drop one outcome in the way its number says."""
    data = content(number)
    if number % 2:
        renamed(folder, number, data)
    else:
        in_place(folder, number, data, 0 if number % 20 else REST)


def main(root: Path, first: int, count: int) -> None:
    """Drop so many outcomes; a folder that is not there now is none of its business."""
    for number in range(first, first + count):
        with contextlib.suppress(FileNotFoundError):
            drop(root / "inbox", number)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))

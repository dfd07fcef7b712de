"""Memory of an import of many transcripts, which must come to its end.

    python bench/transcripts.py [GIGABYTES]

Sessions as Claude Code writes them, of 20 prompts with long outputs, are made until there are so
many bytes (1), then imported by the command into a new vault, with its progress bar. The time is
told beside that of reading every line as JSON once. Exit code 1 beyond 150 MB.
"""

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MOST = 150  # megabytes of memory
_PROMPTS, _OUTPUT = 20, 24_000  # of a session; characters of a tool's output
_GB, _MB = 1_000_000_000, 1_000_000
_WORDS = "the cart total is rounded once before tax and twice after it in checkout tests".split()


def _lines(number: int, chance: random.Random) -> Iterator[dict[str, Any]]:
    """A session: of each prompt a plan, four commands, an edit, a check, a last message."""
    for place in range(_PROMPTS):
        frame = {
            "sessionId": f"s-{number}",
            "promptId": f"s-{number}-{place}",
            "timestamp": f"2025-{number % 12 + 1:02d}-{number // 12 % 28 + 1:02d}T"
            f"{number // 336 % 24:02d}:{place:02d}:{number // 8064:02d}Z",
            "cwd": "/home/ada/shop",
        }
        asked = f"fix case {number}-{place} of the checkout"
        yield {**frame, "type": "user", "message": {"role": "user", "content": asked}}
        for step in range(5):
            call, is_check = f"toolu_{number}_{place}_{step}", step == 4
            given = {"command": "pytest -q" if is_check else f"cat module_{step}.py"}
            used = {"type": "tool_use", "id": call, "name": "Bash", "input": given}
            plan = {"type": "text", "text": " ".join(chance.choices(_WORDS, k=40))}
            message = {"role": "assistant", "model": "m-1", "content": [plan, used]}
            yield {**frame, "type": "assistant", "message": message}
            failed = is_check and chance.random() < 0.4
            output = " ".join(chance.choices(_WORDS, k=_OUTPUT // 6))
            text = f"Exit code 1\n{output}\n1 failed" if failed else output
            ended = {
                "type": "tool_result",
                "tool_use_id": call,
                "is_error": failed,
                "content": text,
            }
            yield {**frame, "type": "user", "message": {"role": "user", "content": [ended]}}
        last = {"role": "assistant", "content": [{"type": "text", "text": "Fixed."}]}
        yield {**frame, "type": "assistant", "message": last}


def _made(folder: Path, size: int) -> int:
    """Write sessions until there are so many bytes; how many there are."""
    chance, written, number = random.Random(1), 0, 0
    while written < size:
        text = "".join(json.dumps(line) + "\n" for line in _lines(number, chance))
        (folder / f"{number:05}.jsonl").write_text(text, encoding="utf-8")
        written, number = written + len(text), number + 1
    return number


def _read_once(folder: Path) -> float:
    """Seconds to read every line as JSON."""
    start = time.perf_counter()
    for path in sorted(folder.iterdir()):
        with path.open(encoding="utf-8") as file:
            for line in file:
                json.loads(line)
    return time.perf_counter() - start


def _command(*args: str) -> None:
    command = str(Path(sys.executable).with_name("skillvault"))
    subprocess.run([command, *args], check=True, stdout=subprocess.DEVNULL)


def main(size: int) -> int:
    """Make, import, measure."""
    with tempfile.TemporaryDirectory() as place:
        folder, vault = Path(place) / "sessions", Path(place) / "vault"
        folder.mkdir()
        count = _made(folder, size)
        reading = _read_once(folder)
        _command("init", str(vault), "--domain", "coding")
        start = time.perf_counter()
        _command("--vault", str(vault), "import", "claude-code", str(folder))
        seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / _MB
    print("| transcripts | prompts | peak memory | beside reading them |")
    print("|---|---|---|---|")
    row = f"| {size / _GB:g} GB | {count * _PROMPTS:,} | {peak:.0f} MB | {seconds / reading:.1f}x |"
    print(row)
    return int(peak > MOST)


if __name__ == "__main__":
    os.environ.setdefault("GIT_AUTHOR_NAME", "bench")
    os.environ.setdefault("GIT_AUTHOR_EMAIL", "bench@example.invalid")
    os.environ.setdefault("GIT_COMMITTER_NAME", "bench")
    os.environ.setdefault("GIT_COMMITTER_EMAIL", "bench@example.invalid")
    sys.exit(main(int(float((sys.argv[1:] or ["1"])[0]) * _GB)))

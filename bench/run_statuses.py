"""Measure how well it is read from a transcript how a run ended, on labelled runs.

python bench/run_statuses.py [--half tune|report] [--errors]
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from reactions import wilson_interval
from week_transcripts import VERSION, Line, write_lines

from skillvault import Vault

RUNS = Path(__file__).parent / "quality" / "next_words.jsonl"
START = datetime(2026, 11, 2, 9, tzinfo=UTC)


def transcript_lines(row: Mapping[str, Any], repository: Path) -> Iterator[Line]:
    """Yield the lines of Claude Code for one run and the words after it."""
    contents: list[tuple[str, object]] = [("user", row["task"])]
    edit = {"file_path": str(repository / "app.py"), "old_string": "a", "new_string": "b"}
    calls = [("Edit", edit, 0, "The file has been updated.")]
    calls += [
        ("Bash", {"command": one["command"]}, one["exit_code"], one["output"])
        for one in row["checks"]
    ]
    for number, (name, arguments, code, output) in enumerate(calls):
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments}
        text = f"Exit code {code}\n{output}" if code else output
        result = {"type": "tool_result", "tool_use_id": use["id"], "content": text}
        contents += [("assistant", [use]), ("user", [result | {"is_error": bool(code)}])]
    contents.append(("assistant", [{"type": "text", "text": row["claim"]}]))
    if row["next"]:
        contents.append(("user", row["next"]))
    for number, (role, content) in enumerate(contents):
        typed = {"origin": {"kind": "human"}, "promptSource": "typed", "turnOrigin": "human"}
        yield {
            **(typed if isinstance(content, str) else {}),
            "type": role,
            "message": {"role": role, "id": f"msg_{number}", "content": content},
            "uuid": f"{row['id']}-{number}",
            "timestamp": f"{START + timedelta(seconds=20 * number):%Y-%m-%dT%H:%M:%SZ}",
            "entrypoint": "cli",
            "cwd": str(repository),
            "sessionId": row["id"],
            "version": VERSION,
        }


def read_status(vault: Vault, row: Mapping[str, Any], place: Path) -> str | None:
    """Return the status that `import` gives a run; None if it records nothing."""
    repository, outcomes = place / "shop", list[dict[str, Any]]()
    repository.mkdir(exist_ok=True)
    path = place / ".claude" / "projects" / "shop" / f"{row['id']}.jsonl"
    write_lines(path, list(transcript_lines(row, repository)))
    vault.import_transcripts("claude-code", [path], dry=True, on_outcomes=outcomes.extend)
    return outcomes[0]["result"]["status"] if outcomes else None


def main() -> None:
    """Print how each status is read, and the share of right ones among success and failure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--half", choices=["tune", "report"], default="tune")
    parser.add_argument("--errors", action="store_true", help="print what was read wrongly")
    options = parser.parse_args()
    rows = [json.loads(line) for line in RUNS.read_text(encoding="utf-8").splitlines()]
    pairs: Counter[tuple[str, str]] = Counter()
    with TemporaryDirectory() as folder:
        vault, _ = Vault.init(Path(folder, "vault"), ["coding"])
        for row in rows:
            status = read_status(vault, row, Path(folder)) or "neutral"
            if row["half"] != options.half:
                continue
            pairs[row["status"], status] += 1
            if options.errors and status != row["status"]:
                print(f"{row['id']} is {row['status']}, read as {status}: {row}")
    for (truth, status), count in sorted(pairs.items()):
        print(f"{truth} read as {status}: {count}")
    told = {pair: count for pair, count in pairs.items() if pair[1] != "neutral"}
    right, trials = sum(told[s, s] for s in ("success", "failure")), sum(told.values())
    low, high = wilson_interval(right, trials)
    print(f"right of those read as success or failure: {right}/{trials} ({low:.2f}-{high:.2f})")


if __name__ == "__main__":
    main()

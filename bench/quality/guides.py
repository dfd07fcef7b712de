"""Count the next tasks that vaults made of streams of outcomes answer with the right lesson.

    python bench/quality/guides.py [TASKS] [--stream NAME] [-v] [--statements | --ways]

TASKS is a Python file that sets TASKS: (stream, domain, [(task, pattern of the right lesson)],
[unrelated tasks]), `../shared/bench/streams/tasks.py` beside the repository by default. Beside it
lie the streams: NAME.jsonl with outcomes, or a folder NAME with transcripts of Claude Code. The
offline judge learns from each stream in bulk. An answer is what `recommend --task` prints.
`--statements` prints the served generated texts for raters, a line a statement: number, stream,
skill, part, statement. `--ways` prints how the vault differs if the outcomes arrive otherwise.
"""

import argparse
import difflib
import re
import runpy
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import retrieval

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from skillvault import Vault
from skillvault.learning.recommend.render import prompt
from skillvault.model.records import PROGRAM_ORIGINS
from skillvault.model.section_marks import sections_of
from skillvault.model.text.markdown import bullets, titles
from tests.streams import WAYS, batches, learned, live_contents

TASKS = Path(__file__).resolve().parents[3] / "shared" / "bench" / "streams" / "tasks.py"
SEED = 7


class Stream(NamedTuple):
    """Outcomes as they were reported, and the tasks that come after them."""

    name: str
    domain: str
    outcomes: list[dict[str, Any]]
    tasks: list[tuple[str, str]]
    unrelated: list[str]

    @property
    def end(self) -> datetime:
        """The day after the latest outcome, at which all is learned and asked."""
        times = [datetime.fromisoformat(outcome["occurred_at"]) for outcome in self.outcomes]
        return max(times) + timedelta(days=1)


class Score(NamedTuple):
    """Tasks whose answer lacks the right lesson, and unrelated tasks with an answer."""

    missed: list[str]
    answered: list[str]


def read_streams(tasks: Path, names: Sequence[str] = ()) -> list[Stream]:
    """Return the streams of a file of tasks, or those of these names."""
    rows = runpy.run_path(str(tasks))["TASKS"]
    return [
        Stream(name, domain, read_outcomes(tasks.parent, name, domain), related, unrelated)
        for name, domain, related, unrelated in rows
        if name in (names or [name])
    ]


def read_outcomes(folder: Path, name: str, domain: str) -> list[dict[str, Any]]:
    """Return the outcomes of a file, or of transcripts as the importer reads them."""
    if not (folder / name).is_dir():
        return retrieval.lines(folder / f"{name}.jsonl")
    outcomes: list[dict[str, Any]] = []
    with TemporaryDirectory() as place:
        Vault.init(place, [domain])[0].import_transcripts(
            "claude-code", [folder / name], domain=domain, dry=True, on_outcomes=outcomes.extend
        )
    return outcomes


def make_vault(root: Path, stream: Stream, way: str = "bulk") -> Vault:
    """Make a vault that learned from a stream which arrived in a way."""
    vault, _ = Vault.init(root, [stream.domain], now=stream.end)
    return learned(vault, batches(stream.outcomes, way, SEED), stream.end)


def score_answers(vault: Vault, stream: Stream) -> Score:
    """Compare the answers to a stream's tasks with what they should say."""

    def answer(task: str) -> str:
        return prompt(vault.recommend(stream.domain, task, now=stream.end))

    missed = [task for task, lesson in stream.tasks if not re.search(lesson, answer(task))]
    return Score(missed, [task for task in stream.unrelated if answer(task)])


def print_scores(streams: Sequence[Stream], *, verbose: bool) -> None:
    """Print how many tasks of each stream and of all got the right answer."""
    print("| stream | outcomes | right lesson in the answer | unrelated tasks answered |")
    print("|---|---|---|---|")
    scores: list[Score] = []
    for stream in streams:
        with TemporaryDirectory() as place:
            score = score_answers(make_vault(Path(place), stream), stream)
        scores.append(score)
        print_row(stream.name, [stream], [score])
        if verbose:
            print_lines([f"missed: {task}" for task in score.missed])
            print_lines([f"answered: {task}" for task in score.answered])
    print_row("all", streams, scores)


def print_row(name: str, streams: Sequence[Stream], scores: Sequence[Score]) -> None:
    """Print a line of the table."""
    tasks = sum(len(stream.tasks) for stream in streams)
    right = tasks - sum(len(score.missed) for score in scores)
    answered = sum(len(score.answered) for score in scores)
    unrelated = sum(len(stream.unrelated) for stream in streams)
    outcomes = sum(len(stream.outcomes) for stream in streams)
    columns = f"{outcomes} | {right} of {tasks} | {answered} of {unrelated}"
    print(f"| {name} | {columns} |", flush=True)


def print_statements(streams: Sequence[Stream]) -> None:
    """Print the served generated texts of each stream, numbered throughout."""
    number = 0
    for stream in streams:
        with TemporaryDirectory() as place:
            for skill, part, statement in served_statements(make_vault(Path(place), stream)):
                number += 1
                print(number, stream.name, skill, part, statement, sep="\t", flush=True)


def served_statements(vault: Vault) -> Iterator[tuple[str, str, str]]:
    """Yield (skill, part, statement), the title and the description of each skill first."""
    for name, skill in vault.store.snapshot().skills.items():
        if skill.origin in PROGRAM_ORIGINS:
            yield from ((name, "title", title) for title in titles(skill.body))
            yield name, "description", " ".join(skill.description.split())
            for (part, _), text in sections_of(skill.body).items():
                yield from ((name, part, line) for line in bullets(text))


def print_ways(streams: Sequence[Stream]) -> None:
    """Print the differences of each way of arrival from bulk."""
    for stream in streams:
        with TemporaryDirectory() as place:
            vaults = {way: make_vault(Path(place, way), stream, way) for way in WAYS}
            bulk, *others = (content_lines(vault) for vault in vaults.values())
        for way, lines in zip(WAYS[1:], others, strict=True):
            changes = [line for line in difflib.ndiff(bulk, lines) if line[0] in "-+"]
            print(f"{stream.name}, {way}: {len(changes)} lines differ from bulk", flush=True)
            print_lines(changes)


def print_lines(lines: Sequence[str]) -> None:
    """Print indented lines."""
    for line in lines:
        print(f"  {line}", flush=True)


def content_lines(vault: Vault) -> list[str]:
    """Return what a vault holds, each line behind the name of its skill or fact."""
    contents = sorted(live_contents(vault.root).items())
    return [f"{name}: {line}" for name, lines in contents for line in lines]


def main() -> int:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser(description="Count the next tasks that are answered.")
    parser.add_argument("tasks", nargs="?", type=Path, default=TASKS)
    parser.add_argument("--stream", action="append", default=[], help="one stream; repeatable")
    parser.add_argument("-v", "--verbose", action="store_true", help="name the missed tasks")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--statements", action="store_true", help="print what raters rate")
    output.add_argument("--ways", action="store_true", help="compare the ways of arrival")
    arguments = parser.parse_args()
    if not arguments.tasks.is_file():
        print(f"skipped: {arguments.tasks} is not here; it holds the tasks of the streams")
        return 0
    streams = read_streams(arguments.tasks, arguments.stream)
    if arguments.statements:
        print_statements(streams)
    elif arguments.ways:
        print_ways(streams)
    else:
        print_scores(streams, verbose=arguments.verbose)
    return 0


if __name__ == "__main__":
    sys.exit(main())

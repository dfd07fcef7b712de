"""The week of bench/quality/week as values: prompts, turns of the model, rules and probes."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import yaml

DATA = Path(__file__).resolve().parent / "quality" / "week"
MODEL = "claude-opus-5-5"
MAIN = "master"


class Call(NamedTuple):
    """One call of a tool, and the exit code with which it must end."""

    name: str
    arguments: dict[str, Any]
    exit: int = 0
    inner: tuple["Turn", ...] = ()


class Turn(NamedTuple):
    """One message of the model: a text, a call, or both."""

    text: str = ""
    call: Call | None = None


class Prompt(NamedTuple):
    """One thing that the person types, and what the model does about it."""

    text: str
    turns: tuple[Turn, ...]
    rule: str = ""
    confirmed: str = ""
    complaint: bool = False
    trap: str = ""

    @property
    def refutes(self) -> bool:
        """True if these words say that the run before failed."""
        return self.complaint or bool(self.rule or self.confirmed)


class Session(NamedTuple):
    """The prompts of one session; `origin` is the session that it resumes or forks."""

    id: str
    at: datetime
    repo: str
    prompts: tuple[Prompt, ...]
    model: str = MODEL
    branch: str = MAIN
    origin: str = ""
    is_fork: bool = False
    is_printed: bool = False


class Rule(NamedTuple):
    """A rule that the person states: `words` as typed, and who may see it before approval."""

    repo: str
    words: str
    waits: bool = False
    withdrawn: str = ""


class Probe(NamedTuple):
    """A prompt of the week after; one of `has` must stand in its answer, or nothing is answered."""

    repo: str
    text: str
    has: tuple[str, ...] = ()


class Repositories(NamedTuple):
    """Files by path of each repository, and the programs and libraries that commands find."""

    files: Mapping[str, Mapping[str, str]]
    programs: Mapping[str, str]
    libraries: Mapping[str, str]


class Week(NamedTuple):
    """All of it."""

    sessions: list[Session]
    rules: dict[str, Rule]
    probes: list[Probe]
    repositories: Repositories


def read_week(folder: Path = DATA) -> Week:
    """Read the week of a folder."""
    parts = {
        name: _load(folder / f"{name}.yaml") for name in ("sessions", "probes", "repositories")
    }
    probes, repositories = parts["probes"], parts["repositories"]
    files = repositories["repositories"]
    known_files = {repo: set(files[repo]) for repo in files}
    return Week(
        [_session(row, known_files) for row in parts["sessions"]],
        {name: Rule(**row) for name, row in probes["rules"].items()},
        [
            Probe(row["repo"], row["says"], tuple(row.get("has", ())))
            for row in (*probes["related"], *probes["unrelated"])
        ],
        Repositories(files, repositories["programs"], repositories["libraries"]),
    )


def _load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _session(row: Mapping[str, Any], files: Mapping[str, set[str]]) -> Session:
    prompts = [_prompt(prompt, files[row["repo"]]) for prompt in row["prompts"]]
    return Session(
        row["id"],
        datetime.fromisoformat(f"{row['at']}:00+00:00"),
        row["repo"],
        tuple(prompts),
        row.get("model", MODEL),
        row.get("branch", MAIN),
        row.get("resume", "") or row.get("fork", ""),
        "fork" in row,
        row.get("print", False),
    )


def _prompt(row: Mapping[str, Any], files: set[str]) -> Prompt:
    return Prompt(
        row["says"],
        tuple(_turns(row["turns"], files)),
        row.get("rule", ""),
        row.get("confirms", ""),
        row.get("complaint", False),
        row.get("trap", ""),
    )


def _turns(rows: Sequence[Mapping[str, Any]], files: set[str]) -> Iterator[Turn]:
    """Yield the turns of rows; a file that is there is read before it is changed."""
    for row in rows:
        text = row.get("say", "")
        path = row.get("edit") or row.get("write")
        if path in files:
            yield Turn(text, Call("Read", {"file_path": path}))
            text = ""
        elif path:
            files.add(path)
        yield Turn(text, _call(row, files))


def _call(row: Mapping[str, Any], files: set[str]) -> Call | None:
    if "run" in row:
        arguments = {"command": row["run"], "description": "Run a command"}
        return Call("Bash", arguments, row.get("exit", 0))
    if "read" in row:
        return Call("Read", {"file_path": row["read"]})
    if "edit" in row:
        texts = {"old_string": row["old"], "new_string": row["new"]}
        return Call("Edit", {"file_path": row["edit"], **texts})
    if "write" in row:
        return Call("Write", {"file_path": row["write"], "content": row["text"]})
    if "agent" in row:
        arguments = {"description": "Search the code", "prompt": row["agent"]}
        arguments |= {"subagent_type": "general-purpose", "run_in_background": False}
        return Call("Agent", arguments, inner=tuple(_turns(row["inner"], files)))
    return None

"""Convert transcripts of agents' clients to outcomes, one outcome for each prompt.

Only independent evidence decides the result of a prompt (`_decide_ending`), the strongest first: a
check that ran, a commit that was kept or reverted, the user's next words. Without evidence the
outcome is neutral. `exchange/transcripts/` reads the files.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from skillvault.clients.notes import project_of
from skillvault.exchange.source_file import folder_name, open_regular, without_folder
from skillvault.exchange.transcripts.checks import asks_for_failure
from skillvault.exchange.transcripts.events import Header
from skillvault.exchange.transcripts.prompts import SUBAGENTS, PromptReader, PromptRun
from skillvault.exchange.transcripts.reader import COMPRESSED, client_of
from skillvault.exchange.transcripts.subjects import action_of, target_of
from skillvault.loop.run import Report
from skillvault.model.decision_outcomes import NEXT_WORDS
from skillvault.model.errors import BadInputError
from skillvault.model.policy import TranscriptsPolicy
from skillvault.model.reaction import Reaction, read_reaction
from skillvault.model.reasoning import claims_success
from skillvault.model.records import Observer, Status, Trust, stamp
from skillvault.model.text.text import slug
from skillvault.sessions.known_runs import PromptResults, with_event
from skillvault.vault.files.quarantine import RefusedFile
from skillvault.vault.files.redact import redact_text
from skillvault.vault.git.objects import commit_state
from skillvault.vault.index.outcomes import Outcomes

CODING = "coding"
# For each client: the variable with its home folder, the default, the folders of transcripts.
_CLIENT_FOLDERS = {
    "claude-code": ("CLAUDE_CONFIG_DIR", "~/.claude", ("projects",)),
    "codex": ("CODEX_HOME", "~/.codex", ("sessions", "archived_sessions")),
}
CLIENTS = tuple(_CLIENT_FOLDERS)
_PART_SIZE = 200  # outcomes in one commit
_MAX_QUOTE_LENGTH = 500  # the most characters of a quote of the next words
_TAIL_BYTES = 64 * 1024  # bytes at the end of a transcript that are searched for its latest time
_TIMESTAMP = re.compile(rb'"timestamp": ?"(\d{4}-\d\d-\d\dT[\d:.]+)')


class Ending(NamedTuple):
    """The end of a prompt, with its status, its observer (or None), a summary and the evidence."""

    status: Status
    observed_by: Observer | None = None
    summary: str = ""
    evidence: str = ""


class ImportTally(Struct):
    """The progress of an import.

    `known` lists the labels of outcomes that the vault already has. `unread` counts unknown lines
    by kind, `versions` has sentences about clients with unknown lines. `files` counts files.
    """

    versions: set[str] = field(default_factory=set)
    known: list[str] = field(default_factory=list)
    runs: PromptResults = field(default_factory=PromptResults)
    refused: list[RefusedFile] = field(default_factory=list)
    unread: dict[str, int] = field(default_factory=dict)
    files: int = 0


class ImportOptions(Struct, frozen=True, kw_only=True):
    """The options of an import. `advance` is called with the number of bytes read.

    `recorded` returns the outcomes of the vault, or is None to ignore them. `person` is the e-mail
    of the user, or None for sessions of other people.
    """

    client: str
    domain: str | None
    trust: Trust
    rules: TranscriptsPolicy
    recorded: Callable[[], Outcomes] | None = None
    advance: Callable[[int], object] = int
    person: str | None = None


# ── an import ────────────────────────────────────────────────────────────────────────


def record_parts(
    options: ImportOptions,
    files: Sequence[Path],
    tally: ImportTally,
    record: Callable[[list[tuple[str, bytes]]], Report],
    on_outcomes: Callable[[list[dict[str, Any]]], None] | None = None,
) -> Report:
    """Record the outcomes of transcripts in parts, and return one report."""
    report = Report()
    outcomes = outcomes_of(files, options, tally)
    for part in iter(lambda: list(islice(outcomes, _PART_SIZE)), []):
        if on_outcomes is not None:
            on_outcomes([outcome for _, outcome in part])
        report.include(record(as_files(part)))
    report.known += tally.known
    report.quarantined = tally.refused + report.quarantined
    return report


def as_files(outcomes: Iterable[tuple[str, Mapping[str, Any]]]) -> list[tuple[str, bytes]]:
    """Convert outcomes to files for the inbox."""
    return [
        (f"{name}.json", json.dumps(outcome, ensure_ascii=False).encode(errors="replace"))
        for name, outcome in outcomes
    ]


def outcomes_of(
    files: Sequence[Path], options: ImportOptions, tally: ImportTally
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (label, outcome) for each prompt, and count unreadable prompts in `tally`."""
    for path in files:
        try:
            yield from _outcomes_of_file(path, options, tally)
        except BadInputError as error:
            message = error.message.removeprefix(f"{path.name}: ")
            tally.refused.append(RefusedFile(path.name, error.code, message, error.line))


def _outcomes_of_file(
    path: Path, options: ImportOptions, tally: ImportTally
) -> Iterator[tuple[str, dict[str, Any]]]:
    client = client_of(path)
    if client not in (None, options.client):
        raise BadInputError(
            f"a transcript of {client}; write `skillvault import {client} {path.name}`",
            code="wrong-type",
        )
    if not is_own_transcript(path):
        options = replace(options, person=None)
    reader = PromptReader(path, options.rules.checks, redact_text)
    position = 0
    for number, run in enumerate(reader, 1):
        options.advance(reader.transcript.position - position)
        position = reader.transcript.position
        outcome = outcome_of_prompt(run, run.header, options)
        if outcome is None:
            continue
        label, outcome = f"{file_stem(path.stem)}-{number}", with_event(outcome, run.message)
        outcomes = options.recorded() if options.recorded else None
        if outcomes is not None and not tally.runs.is_news(outcome, outcomes, options.trust):
            tally.known.append(label)
        else:
            yield label, outcome
    options.advance(reader.transcript.position - position)
    tally.files += 1
    tally.versions |= {reader.transcript.unknown_version} - {""}
    for kind, count in reader.transcript.unread.items():
        tally.unread[kind] = tally.unread.get(kind, 0) + count


# ── files of transcripts ─────────────────────────────────────────────────────────────


def transcript_files(paths: Iterable[Path]) -> list[Path]:
    """Return the transcripts at and below some paths, without the transcripts of subagents.

    They are sorted by their end, because a resumed session begins with a copy of an earlier
    session, and a prompt belongs to the session in which it was typed.
    """
    files: dict[Path, None] = {}
    for path in paths:
        files |= dict.fromkeys(sorted(_find_transcripts(path)) if path.is_dir() else [path])
    return sorted(files, key=_last_stamp)


def _last_stamp(path: Path) -> str:
    try:
        with open_regular(path) as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            return max(
                (stamp.decode() for stamp in _TIMESTAMP.findall(file.read(_TAIL_BYTES))), default=""
            )
    except OSError:  # the import refuses the file with a reason
        return ""


def _find_transcripts(folder: Path) -> Iterator[Path]:
    """Yield the transcripts below a folder, except compressed ones with an unpacked copy."""
    for path in folder.rglob("*.jsonl*"):
        if path.parent.name == SUBAGENTS:
            continue
        is_compressed = path.name.endswith(COMPRESSED)
        if path.suffix == ".jsonl" or (is_compressed and not path.with_suffix("").exists()):
            yield path


def is_own_transcript(path: Path) -> bool:
    """Return True for a transcript that a client of this user wrote, by its folder."""
    return any(path.resolve().is_relative_to(home_of(client).resolve()) for client in CLIENTS)


def home_of(client: str) -> Path:
    """Return the folder in which a client keeps its settings and transcripts."""
    variable, default, _ = _CLIENT_FOLDERS[client]
    return Path(os.environ.get(variable) or default).expanduser()


def transcript_folders(client: str) -> list[Path]:
    """Return the existing folders to which a client writes transcripts."""
    folders = (home_of(client) / name for name in _CLIENT_FOLDERS[client][2])
    return [folder for folder in folders if folder.is_dir()]


def repository_of(folder: str) -> str | None:
    """Return the name of the repository that contains a folder, or the folder's name."""
    path = Path(folder)
    return project_of(path).name if path.is_dir() else folder_name(folder)


def file_stem(session: str) -> str:
    """Return the prefix for the file names of a session's outcomes."""
    return slug(session, limit=40) or "session"


# ── the outcome of a prompt ──────────────────────────────────────────────────────────


def outcome_of_prompt(
    run: PromptRun, header: Header, options: ImportOptions
) -> dict[str, Any] | None:
    """Return the outcome of a prompt, or None without a time or if the agent did nothing."""
    ended_at = run.ended_at or run.at
    reaction = read_reaction(run.next_words, run.claim) if run.next_words else Reaction()
    has_work = run.claim or run.has_changed or run.checks or run.commands
    if ended_at is None or not run.text.strip() or not has_work:
        return None
    is_corrected = reaction.is_correction and run.next_attended is not False
    ending = _decide_ending(run, header.cwd, reaction.status)
    result = {
        **ending._asdict(),
        "claim": run.claim,
        "claimed": "success" if claims_success(run.claim) else None,
        "interrupted": run.is_interrupted or None,
        "next_words": quote_words(run) if is_corrected else "",
        "done": _describe_changes(run, header.cwd),
        "tried": run.failed_attempts or None,
    }
    return {
        "domain": options.domain or CODING,
        "occurred_at": stamp(ended_at),
        "decision": drop_empty(_decision_of(run)),
        "result": drop_empty(result),
        "context": drop_empty(
            {
                "repository": repository_of(header.cwd) if header.cwd else None,
                "model": header.model,
                "branch": header.branch,
            }
        ),
        **({"applied": run.skills} if run.skills else {}),
        "source": drop_empty(
            {
                "agent": options.client,
                "session": header.session,
                "person": options.person if is_corrected and run.next_attended else None,
                "trust": None if options.trust == "local" else options.trust,
            }
        ),
    }


def _decision_of(run: PromptRun) -> dict[str, Any]:
    action = action_of(run.text)
    failed_check = next((check for check in reversed(run.checks) if check.passed is False), None)
    return {
        "id": run.id or run.message,
        "task": run.text,
        "action": action,
        "target": target_of(
            run.text,
            run.files,
            action=action,
            error=failed_check.output if failed_check else "",
            tool=run.checks[-1].tool if run.checks else "",
        ),
        "reasoning": run.reasoning,
        "reasoning_at": "before" if run.reasoning else None,
        "made_at": stamp(run.at) if run.at else None,
    }


def _describe_changes(run: PromptRun, folder: str | None) -> str:
    """Return the distinct calls that changed a file, with paths relative to the folder."""
    changes = "; ".join(dict.fromkeys(run.changes))
    return without_folder(changes, folder) if folder else changes


def drop_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """Remove None and empty texts from values."""
    return {key: value for key, value in values.items() if value not in (None, "")}


def _decide_ending(run: PromptRun, cwd: str | None, verdict: Status | None) -> Ending:
    """Return the end of a prompt by its strongest evidence. `verdict` is the user's."""
    check = run.check
    last_check = check or next(iter(run.checks[-1:]), None)
    command = f"`{last_check.command}`" if last_check else ""
    output = last_check.output if last_check else ""
    # If the user stopped the agent, a check that failed before proves nothing.
    is_inconclusive = asks_for_failure(run.text) or run.is_interrupted
    # A command that fails during a review proves nothing, either.
    is_inconclusive |= run.is_command and action_of(run.text) == "review"
    if verdict == "failure":  # tests may pass although the user wanted something else
        return _ending_of_words(verdict, run, output)
    if check is not None and (check.passed or not is_inconclusive):
        verb = "passed" if check.passed else "failed"
        code = "" if check.exit_code is None else f" with exit code {check.exit_code}"
        status: Status = "success" if check.passed else "failure"
        return Ending(status, "exit-code", f"{command} {verb}{code}", output)
    if cwd and (state := _commits_state(run, Path(cwd))):
        status = "success" if state == "kept" else "failure"
        return Ending(status, "commit", f"commit {run.commits[-1]} was {state}", output)
    if verdict is not None:
        return _ending_of_words(verdict, run, output)
    return Ending(
        "neutral", None, f"{command} ran, and what it says is open" if last_check else "", output
    )


def _ending_of_words(status: Status, run: PromptRun, output: str) -> Ending:
    return Ending(status, "person", f"{NEXT_WORDS}{quote_words(run)}", output)


def quote_words(run: PromptRun) -> str:
    """Return the beginning of the user's next words, without secrets."""
    return redact_text(run.next_words or "")[:_MAX_QUOTE_LENGTH]


def _commits_state(run: PromptRun, folder: Path) -> str | None:
    """Return "reverted" if a commit of a prompt was reverted, else "kept", or None if unknown."""
    states = {commit_state(folder, commit) for commit in run.commits}
    return "reverted" if "reverted" in states else "kept" if "kept" in states else None

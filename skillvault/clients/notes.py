"""Store the events of each session in a file of notes, until its outcomes are in the inbox.

Each line is appended in one write, because events may come at the same time. Only the owner may
read the file. The notes of an ended session stay for a week, because a client may continue.
"""

import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from skillvault.model.errors import BadInputError
from skillvault.model.text.text import slug


def project_of(folder: Path) -> Path:
    """Return the root of the repository that contains a folder, or the folder itself."""
    return next(
        (parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), folder
    )


def exclude_file(folder: Path) -> Path | None:
    """Return the file with git's personal exclude patterns, or None outside a repository."""
    git = project_of(folder) / ".git"
    if git.is_file():  # a linked work tree
        git_dir = git.read_text(encoding="utf-8", errors="surrogateescape").removeprefix("gitdir:")
        git = git.parent / git_dir.strip()
        common_dir = git / "commondir"
        git = git / common_dir.read_text().strip() if common_dir.is_file() else git
    return git / "info" / "exclude" if git.is_dir() else None


def domain_of(folder: Path, patterns: Mapping[str, str], default: str | None) -> str:
    """Return the domain of the first pattern that matches a folder or one of its parents.

    If no pattern matches, return the default, or the name of the repository as a slug.
    """
    project = project_of(folder)
    folders = [str(parent) for parent in (folder, *folder.parents)]
    for pattern, domain in patterns.items():
        full_pattern = str(Path(pattern).expanduser())
        if any(fnmatchcase(parent, full_pattern) for parent in folders):
            return domain
    return default or slug(project.name, limit=64)


MAX_INPUT = 16 * 1024 * 1024  # the most bytes of a payload
MAX_NOTES = 4 * 1024 * 1024  # the most bytes of a session's notes
FOLDER = "sessions"
_DONE = "done"
_ENDED = ".ended"
CLAIMS = ".events"  # the process that answers an event: hooks may be registered twice
_HEX = 24
_ABANDONED = 24 * 3600.0  # after so many seconds without a note, a session counts as ended
_IDLE = 1800.0  # after so many seconds without a note, a session may have ended
_RETENTION = 7 * _ABANDONED  # seconds for which the notes of an ended session stay

Time = Annotated[datetime, Meta(tz=True)]


class SessionNote(Struct, frozen=True, kw_only=True, tag="opened"):
    """The start of a session, with the skills and rules that its agent got."""

    session: str
    briefed: list[str]
    rules: list[str] = []


class ShownSkill(Struct, frozen=True):
    """A skill that came with a prompt. `blob` is "" if only its name was shown.

    `lines` has digests of the shown lines.
    """

    name: str
    blob: str = ""
    lines: frozenset[str] = frozenset()


class PromptNote(Struct, frozen=True, kw_only=True, tag="asked"):
    """A prompt. `position` is the byte at which its part of the transcript begins.

    `attended` is True if a person wrote the prompt, or None if that is unknown. `shown`, `facts`
    and `rules` came with the prompt. `held_out` are the skills that were held out for measurement.
    `receipt` is the record of the recommendation.
    """

    id: str
    session: str
    client: str
    domain: str
    text: str
    at: Time
    cwd: str | None = None
    transcript: str | None = None
    position: Annotated[int, Meta(ge=0)] = 0
    attended: bool | None = None
    shown: list[ShownSkill] = []
    facts: list[str] = []
    rules: list[str] = []
    receipt: dict[str, Any] = {}
    held_out: list[str] = []


class CallNote(Struct, frozen=True, kw_only=True, tag="called"):
    """A tool call and its result."""

    id: str
    tool: str
    arguments: Mapping[str, Any]
    output: str
    is_error: bool
    exit_code: int | None
    at: Time


class WordNote(Struct, frozen=True, kw_only=True, tag="said"):
    """The last message of an agent before it stopped."""

    text: str
    at: Time


class HandoverNote(Struct, frozen=True, kw_only=True, tag="handed-in"):
    """A note that the outcome of a prompt, with this digest, was put into the inbox."""

    prompt: str
    digest: str


Note = SessionNote | PromptNote | CallNote | WordNote | HandoverNote
_DECODER = msgspec.json.Decoder(Note)


class SessionNotes:
    """The notes of one session, in the git folder of a vault."""

    def __init__(self, folder: Path, session: str) -> None:
        digest = hashlib.sha256(session.encode(errors="replace")).hexdigest()[:_HEX]
        self.path = folder / FOLDER / f"{digest}.jsonl"

    def claim(self, event: str, process: str) -> bool:
        """Claim an event for a process. Return False if another process answers the event.

        If that process was killed, the next process may answer.
        """
        with _open_to_append(self.path.with_suffix(CLAIMS)) as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            lines = os.pread(descriptor, MAX_NOTES, 0).decode(errors="replace").splitlines()
            owners = [line.rpartition("\t")[2] for line in lines if line.startswith(f"{event}\t")]
            if owners and owners[-1] != process and (owners[-1] == _DONE or _is_alive(owners[-1])):
                return False
            os.write(descriptor, f"{event}\t{process}\n".encode(errors="replace"))
            return True

    def settle(self, event: str) -> None:
        """Record that an event was answered."""
        with _open_to_append(self.path.with_suffix(CLAIMS)) as descriptor:
            os.write(descriptor, f"{event}\t{_DONE}\n".encode(errors="replace"))

    def close(self) -> None:
        """Mark the session as ended, and remove the claims."""
        self.path.with_suffix(CLAIMS).unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            self.path.replace(self.path.with_suffix(_ENDED))

    def restore(self) -> None:
        """Use the notes of an ended session again, because the session continues."""
        if not self.path.exists():
            with suppress(FileNotFoundError):
                self.path.with_suffix(_ENDED).replace(self.path)

    def append(self, *notes: Note) -> None:
        """Append notes in one write, unless the file would become too large."""
        data = b"".join(msgspec.json.encode(note) + b"\n" for note in notes)
        with _open_to_append(self.path) as descriptor:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode):
                raise _damage("no regular file")
            size = state.st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                data = b"\n" + data  # a truncated line must not damage the next
            if size + len(data) <= MAX_NOTES:
                os.write(descriptor, data)


def _is_alive(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:  # a process of another user
        return True
    return True


@contextmanager
def _open_to_append(path: Path) -> Iterator[int]:
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def read_notes(path: Path) -> tuple[list[Note | None], BadInputError | None]:
    """Return the notes of a file, and the first damage or None. A damaged line becomes None."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return [], _damage("no regular file")
        with path.open("rb") as file:
            data = file.read(MAX_NOTES + 1)
    except FileNotFoundError:
        return [], None
    except OSError as error:
        return [], _damage(f"cannot be read ({error.strerror})")
    notes, damage = list[Note | None](), _damage("too large") if len(data) > MAX_NOTES else None
    for number, line in enumerate(data.splitlines(), 1):
        try:
            notes.append(_parse_note(line))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError) as error:
            notes.append(None)
            damage = damage or _damage(f"line {number} is not a note ({error})", number)
    return notes, damage


def _parse_note(line: bytes) -> Note:
    note: Note = _DECODER.decode(line)
    if isinstance(note, PromptNote | CallNote | WordNote):
        note.at.astimezone(UTC)  # OverflowError for an impossible time
    return note


def _damage(reason: str, line: int | None = None) -> BadInputError:
    message = f"notes of an agent's session: {reason}; read what is left, then drop it"
    return BadInputError(message, code="bad-notes", line=line)


def calls_folder(folder: Path) -> Path:
    """Return the folder to which hooks write tool calls, one file for each call."""
    return folder / FOLDER / "calls"


class Activity(Struct, frozen=True, kw_only=True):
    """The last event of a client, and the last prompt that got a recommendation.

    `unknown_version` is a sentence about unknown lines in the client's transcripts, or "".
    """

    event: str = ""
    at: Time | None = None
    shown_at: Time | None = None
    unknown_version: str = ""


def activity_of(folder: Path, client: str) -> Activity:
    """Read the last activity of a client in a vault."""
    try:
        return msgspec.json.decode(_activity_file(folder, client).read_bytes(), type=Activity)
    except (FileNotFoundError, msgspec.DecodeError):
        return Activity()


def write_activity(folder: Path, client: str, activity: Activity) -> None:
    """Write the last activity of a client."""
    path = _activity_file(folder, client)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(activity))
    draft.replace(path)


def _activity_file(folder: Path, client: str) -> Path:
    return folder / FOLDER / f"{client}.last"


def read_calls(folder: Path) -> Iterator[tuple[Path, bytes, datetime]]:
    """Yield (file, payload, time) for each call that hooks wrote, the oldest first."""
    source_folder = calls_folder(folder)
    calls: list[tuple[int, Path, bytes]] = []
    for path in source_folder.iterdir() if source_folder.is_dir() else ():
        with suppress(FileNotFoundError), path.open("rb") as file:  # another hook has read it
            calls.append((os.fstat(file.fileno()).st_mtime_ns, path, file.read(MAX_INPUT)))
    for time_ns, path, payload in sorted(calls):
        yield path, payload, datetime.fromtimestamp(time_ns / 1e9, UTC)


def abandoned_notes(folder: Path) -> list[Path]:
    """Return the notes of this user's sessions that stopped without an end event."""
    files = sorted((folder / FOLDER).glob("*.jsonl"))
    return [path for path in files if _is_older(path, _ABANDONED)]


def has_open_session(folder: Path) -> bool:
    """Return True if this user has an active session."""
    return any(not _is_older(path, _IDLE) for path in (folder / FOLDER).glob("*.jsonl"))


def remove_ended_notes(folder: Path) -> None:
    """Remove the notes of this user's sessions that ended a week ago or earlier."""
    for path in (folder / FOLDER).glob(f"*{_ENDED}"):
        if _is_older(path, _RETENTION):
            path.unlink(missing_ok=True)


def _is_older(path: Path, age: float) -> bool:
    try:
        state = path.lstat()
    except FileNotFoundError:
        return False  # another session has removed it
    return state.st_uid == os.getuid() and state.st_mtime < time.time() - age

"""Notes of hooks about a session until it is handed to the inbox: a file of lines a session.

Each line is appended in one write, as events of a session may come at once. The file holds what the
client holds in its own transcript, is its owner's alone and is removed when the session has ended.
"""

import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from skillvault.model.text.text import slug


def project_of(folder: Path) -> Path:
    """The repository that holds a folder; the folder itself if none does."""
    return next((at for at in (folder, *folder.parents) if (at / ".git").exists()), folder)


def domain_of(folder: Path, patterns: Mapping[str, str], default: str | None) -> str:
    """The domain of the first pattern that a folder or one above it meets.

    Else the default, else the repository's name as a slug; "" if that has no letters.
    """
    project = project_of(folder)
    above = [str(at) for at in (folder, *folder.parents)]
    for pattern, domain in patterns.items():
        whole = str(Path(pattern).expanduser())
        if any(fnmatchcase(place, whole) for place in above):
            return domain
    return default or slug(project.name, limit=64)


MOST = 4 * 1024 * 1024  # bytes of a session's notes
_HEX = 24
_ABANDONED = 24 * 3600.0  # seconds after which nobody goes on with a session


class SessionNote(Struct, frozen=True, kw_only=True, tag="opened"):
    """A session began; `briefed` are the skills that its agent has read of since, or before."""

    session: str
    briefed: list[str]


class PromptNote(Struct, frozen=True, kw_only=True, tag="asked"):
    """A prompt; `position` is where its part of the transcript begins, in bytes.

    `attended`: a person wrote it. `shown` and `held_out` are the skills that came with it, and that
    did not, to compare with.
    """

    id: str
    session: str
    client: str
    domain: str
    text: str
    at: datetime
    cwd: str | None = None
    transcript: str | None = None
    position: int = 0
    attended: bool = True
    shown: list[str] = []
    held_out: list[str] = []


class CallNote(Struct, frozen=True, kw_only=True, tag="called"):
    """A tool's call and what came of it."""

    id: str
    tool: str
    arguments: Mapping[str, Any]
    output: str
    is_error: bool
    exit_code: int | None
    at: datetime


class WordNote(Struct, frozen=True, kw_only=True, tag="said"):
    """What the agent said when it stopped."""

    text: str
    at: datetime


class QuestionNote(Struct, frozen=True, kw_only=True, tag="questioned"):
    """The agent was asked how a prompt ended and what it teaches."""

    prompt: str


class HandoverNote(Struct, frozen=True, kw_only=True, tag="handed-in"):
    """The outcome of a prompt lies in the inbox; `digest` is that of what it says."""

    prompt: str
    digest: str


Note = SessionNote | PromptNote | CallNote | WordNote | QuestionNote | HandoverNote
_DECODER = msgspec.json.Decoder(Note)


class SessionNotes:
    """The notes of one session, below the git folder of a vault."""

    def __init__(self, folder: Path, session: str) -> None:
        digest = hashlib.sha256(session.encode(errors="replace")).hexdigest()[:_HEX]
        self.path = folder / "sessions" / f"{digest}.jsonl"

    def append(self, *notes: Note) -> None:
        """Append notes in one write; a session that has too many gets no more."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        data = b"".join(msgspec.json.encode(note) + b"\n" for note in notes)
        descriptor = os.open(
            self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            if os.fstat(descriptor).st_size + len(data) <= MOST:
                os.write(descriptor, data)
        finally:
            os.close(descriptor)

    def __iter__(self) -> Iterator[Note]:
        """The notes in their order; a line that is no note is left out."""
        return _notes_in(self.path)

    def remove(self) -> None:
        """Forget the session."""
        self.path.unlink(missing_ok=True)


def abandoned_sessions(folder: Path) -> list[str]:
    """The sessions whose client went away without a word, by their ids."""
    place = folder / "sessions"
    before = time.time() - _ABANDONED
    files = sorted(place.glob("*.jsonl")) if place.is_dir() else []
    old = [path for path in files if path.stat().st_mtime < before]
    first = (next(iter(_notes_in(path)), None) for path in old)
    return [n.session for n in first if isinstance(n, SessionNote | PromptNote) and n.session]


def _notes_in(path: Path) -> Iterator[Note]:
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            note = _note_in(line)
            if note is not None:
                yield note


def _note_in(line: bytes) -> Note | None:
    try:
        note: Note = _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return note

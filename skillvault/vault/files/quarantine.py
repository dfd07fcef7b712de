"""Keep files that could not be taken in quarantine/, each with its reason in a second file.

The user corrects, retries or drops these files. The program itself deletes none.
"""

import json
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.records import Trust, stamp
from skillvault.vault.disk import private_mode, read_state, write_whole
from skillvault.vault.failpoint import reach
from skillvault.vault.files import arrival, layout

_NO_REASON = (
    "no reason is stored beside it, so its source is unknown; "
    "retry it, which makes it untrusted, or drop it"
)
_NOTES = "sessions/"  # the origin of notes of an agent's session begins so


class RefusedFile(Struct, frozen=True):
    """A file that was not taken, with the reason."""

    file: str
    code: str
    message: str
    line: int | None = None


class QuarantinedFile(Struct, frozen=True, rename={"origin": "from"}):
    """A file in quarantine/ with its reason. Without a reason, `at` and `from` are null."""

    name: str
    code: str
    message: str
    line: int | None = None
    at: str | None = None
    origin: str | None = None


class ReturnedFile(Struct, frozen=True):
    """A file that went back to the inbox, with its name there."""

    name: str
    to: str


class Quarantine:
    """The quarantine of one vault."""

    def __init__(self, root: Path) -> None:
        self._inbox = root / layout.INBOX
        self._folder = root / layout.QUARANTINE

    def create_folders(self) -> bool:
        """Create the missing folders of inbox and quarantine. Return True if any was missing."""
        folders = (self._inbox / "untrusted", self._folder)
        exists = [folder.is_dir() for folder in folders]
        folders[0].mkdir(parents=True, exist_ok=True)
        folders[1].mkdir(mode=private_mode(self._inbox.parent), exist_ok=True)
        return not all(exists)

    # ── add ───────────────────────────────────────────────────────────────────────────

    def take_notes(self, source: Path, error: BadInputError, at: datetime) -> Path:
        """Move the notes of an agent's session to quarantine/ and return their path."""
        return self._folder / self.take(_NOTES + source.name, error, at, source=source).file

    def take(
        self,
        name: str,
        error: BadInputError,
        at: datetime,
        *,
        source: Path | None = None,
        identity: arrival.Identity | None = None,
        digest: str | None = None,
    ) -> RefusedFile:
        """Move a file to quarantine/ with its reason, unless the file is gone.

        `source` is by default the file of this name in the inbox. `identity` and `digest` describe
        the file at the time when it was read; they are None if it was not read.
        """
        self.create_folders()
        folder = self._folder
        source = source or self._inbox / name
        message = arrival.make_printable(error.message)
        if identity is None:
            digest, identity = _describe_unread(source)
        plain_file_name = arrival.plain_name(name.replace("/", "-"))
        if digest and (same_file := _find_same_file(folder, plain_file_name, name, digest)):
            source.unlink(missing_ok=True)  # the quarantine has the same bytes
            return RefusedFile(same_file, error.code, message, error.line)
        target = folder / _find_free_name(folder, plain_file_name, name)
        reason = {
            "code": error.code,
            "message": message,
            "line": error.line,
            # Of the bytes that were read; a file that has more bytes counts as changed.
            "sha256": digest,
            "state": list(identity[1:]) if identity else None,  # size and time of the file
            "at": stamp(at),
            "from": name,
        }
        # The reason comes first; after a kill, the file is refused once more.
        reason_file = _reason_file(target)
        text = json.dumps(reason, indent=2, ensure_ascii=False) + "\n"
        # A name that is not UTF-8 becomes a JSON escape.
        write_whole(reason_file, text.encode(errors="backslashreplace"))
        reach("quarantine-told")
        try:
            shutil.move(source, target)  # the git dir may be on another disk
        except FileNotFoundError:  # another run took it
            reason_file.unlink()
        reach("quarantined")
        return RefusedFile(target.name, error.code, message, error.line)

    # ── list ─────────────────────────────────────────────────────────────────────────

    def file_names(self) -> list[str]:
        """Return the names of the quarantined files, sorted."""
        if not self._folder.is_dir():
            return []
        names = (path.name for path in self._folder.iterdir())
        files = (name for name in names if not name.endswith(arrival.ERROR))
        return sorted(name for name in files if not arrival.DRAFT.fullmatch(name))

    def files(self) -> list[QuarantinedFile]:
        """Return the quarantined files with printable reasons, sorted by name."""
        return [_describe(name, _read_reason(self._folder / name)) for name in self.file_names()]

    def changed_files(self) -> list[arrival.ReceivedFile]:
        """Return the quarantined files that a person changed, as newly arrived files."""
        files: list[arrival.ReceivedFile] = []
        for path, origin in self._find_changed():
            trust: Trust = "untrusted" if arrival.is_untrusted(origin) else "local"
            files.append(arrival.ReceivedFile(origin, path.read_bytes(), trust))
        return files

    def _find_changed(self) -> Iterator[tuple[Path, str]]:
        for name in self.file_names():
            path = self._folder / name
            reason = _read_reason(path)
            origin = str((reason or {}).get("from", name))
            if reason is not None and not origin.startswith(_NOTES) and _has_changed(path, reason):
                yield path, origin

    # ── retry ──────────────────────────────────────────────────────────────────────────

    def requeue_changed(self) -> list[str]:
        """Move changed files back to the inbox, and return their names there."""
        names: list[str] = []
        for path, origin in self._find_changed():
            prefix = "untrusted/" if arrival.is_untrusted(origin) else ""
            folder = self._inbox / prefix
            target = folder / _find_free_name(folder, Path(origin).name)
            try:
                path.rename(target)
                reach("requeued")
                _reason_file(path).unlink()
            except FileNotFoundError:
                continue  # another run took it
            names.append(prefix + target.name)
        return names

    def obstacle(self, name: str) -> str | None:
        """Return the reason why a file cannot go back to the inbox, or None."""
        path = self._folder / name
        if str((_read_reason(path) or {}).get("from")).startswith(_NOTES):
            return "notes of an agent's session, and no outcome; read them, then drop them"
        if path.is_symlink() or not path.is_file():
            return "not a regular file; put the file itself into inbox/"
        if arrival.IGNORED.search(self._arrival(name)[1]):
            return "the inbox ignores such a name; rename the file in quarantine/"
        return None

    def put_back(self, name: str) -> str | None:
        """Move a file back to the inbox. Return its name there, or None if the file is gone.

        A file without a reason may have come from anywhere, so it becomes untrusted.
        """
        self.create_folders()
        prefix, file_name = self._arrival(name)
        source = self._folder / name
        try:
            free_name = arrival.link_to_free_name(source, self._inbox / prefix, file_name)
        except FileNotFoundError:
            return None  # another run took it
        # `remove` deletes the reason first, so a kill leaves a file that a person sees.
        self.remove(name)
        return prefix + free_name

    def retry(self, names: Sequence[str] | None = None) -> list[ReturnedFile]:
        """Move files, by default all, back to the inbox with their old trust.

        Raises UsageError before any move for a file that does not exist or cannot go back.
        """
        candidates = self._check_names(names)
        for name in candidates if names is not None else ():
            if obstacle := self.obstacle(name):
                raise UsageError(f"{name}: {obstacle}")
        moves = ((name, self.put_back(name)) for name in candidates if self.obstacle(name) is None)
        return [
            ReturnedFile(arrival.make_printable(name), arrival.make_printable(new_name))
            for name, new_name in moves
            if new_name is not None
        ]

    # ── delete ─────────────────────────────────────────────────────────────────────────

    def drop(self, names: Sequence[str] | None = None, *, dry: bool = False) -> list[str]:
        """Delete files and their reasons, by default all files but no folders.

        Raises UsageError before any deletion for a missing file or a folder.
        """
        existing_names = self._check_names(names)
        paths = {name: self._folder / name for name in existing_names}
        folders = [name for name, path in paths.items() if path.is_dir() and not path.is_symlink()]
        if folders and names is not None:
            raise UsageError(f"{folders[0]}: is a folder; look into it and remove it by hand")
        files = [name for name in existing_names if name not in folders]
        for name in files if not dry else ():
            self.remove(name)
        return [arrival.make_printable(name) for name in files]

    def _check_names(self, names: Sequence[str] | None) -> list[str]:
        if self._folder.is_symlink():
            message = "quarantine/ is a symbolic link and is not followed; remove the files by hand"
            raise UsageError(message)
        existing_names = self.file_names()
        for name in names or ():
            if name not in existing_names:
                message = "no such file in quarantine/; see `skillvault quarantine list`"
                raise UsageError(f"{name}: {message}")
        return existing_names if names is None else list(dict.fromkeys(names))

    def remove(self, name: str) -> None:
        """Delete a quarantined file or link, with its reason."""
        path = self._folder / name
        _reason_file(path).unlink(missing_ok=True)
        path.unlink(missing_ok=True)

    def _arrival(self, name: str) -> tuple[str, str]:
        """Return (`untrusted/` or "", file name), which is how the file arrived."""
        origin = (_read_reason(self._folder / name) or {}).get("from")
        if not isinstance(origin, str):
            return "untrusted/", arrival.plain_name(name)
        file_name = arrival.plain_name(Path(origin).name)
        if not file_name or arrival.IGNORED.search(file_name):
            file_name = arrival.plain_name(name)
        return "untrusted/" if arrival.is_untrusted(origin) else "", file_name


def _find_same_file(folder: Path, name: str, origin: str, digest: str) -> str | None:
    """Return the quarantined file with this origin and these bytes, or None."""
    for file_name in arrival.free_names(name):
        if not os.path.lexists(folder / file_name):
            return None
        reason = _read_reason(folder / file_name) or {}
        if (reason.get("sha256"), reason.get("from")) == (digest, origin):
            return file_name
    return None


def _has_changed(path: Path, reason: dict[str, object]) -> bool:
    """Return True if a quarantined file has changed since its reason was written.

    A file with unchanged metadata is not read.
    """
    state = read_state(path)
    if state is None:
        return False  # another run took it
    if reason.get("state") == list(arrival.identity_of(state)[1:]):
        return False
    if not stat.S_ISREG(state.st_mode) or state.st_size > arrival.MAX_OUTCOME:
        return reason.get("state") is not None and stat.S_ISREG(state.st_mode)
    return reason.get("sha256") != arrival.digest_of(path)


def _find_free_name(folder: Path, name: str, origin: str | None = None) -> str:
    """Return a name that no file and no reason in the folder has.

    A reason for a missing file of the same `origin` does not count.
    """
    for free_name in arrival.free_names(name):
        path = folder / free_name
        has_reason = os.path.lexists(_reason_file(path))
        if has_reason and origin and (_read_reason(path) or {}).get("from") == origin:
            has_reason = False
        if not (has_reason or os.path.lexists(path)):
            break
    return free_name


def _describe_unread(path: Path) -> tuple[str | None, arrival.Identity | None]:
    """Return (digest, identity) for an unread file. The digest of a very large file is None."""
    state = read_state(path)
    if state is None:
        return None, None
    digest = arrival.digest_of(path) if state.st_size <= arrival.MAX_OUTCOME else None
    return digest, arrival.identity_of(state)


def _describe(name: str, reason: dict[str, object] | None) -> QuarantinedFile:
    if reason is None:
        return QuarantinedFile(arrival.make_printable(name), "no-reason", _NO_REASON)
    line, origin = reason.get("line"), (reason.get("at"), reason.get("from"))
    return QuarantinedFile(
        arrival.make_printable(name),
        arrival.make_printable(reason.get("code") or "no-code"),
        arrival.make_printable(reason.get("message") or "its .error.json gives no reason"),
        line if isinstance(line, int) else None,
        *(arrival.make_printable(value) if value else None for value in origin),
    )


def _reason_file(path: Path) -> Path:
    return path.with_name(path.name + arrival.ERROR)


def _read_reason(path: Path) -> dict[str, object] | None:
    file = _reason_file(path)
    if file.is_symlink() or not file.is_file():
        return None
    try:
        reason = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return reason if isinstance(reason, dict) else None

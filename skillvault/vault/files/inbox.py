"""The door: agents drop files here. Truth is a scan of the folder, never an event.

Only regular files, opened without following links, within limits. A file that cannot be
taken is moved to quarantine/ with its reason beside it; none is ever deleted untaken.
"""

import errno
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from skillvault.errors import BadInputError, UsageError
from skillvault.records import Trust, stamp
from skillvault.vault.failpoint import reach
from skillvault.vault.files import layout

ENDINGS = (".yaml", ".yml", ".json", ".md")
MAX_OUTCOME = 256 * 1024
_DRAFT = re.compile(r"\.(?P<pid>[0-9]{1,9})\.tmp")  # as `put` names its drafts
_LEFT = 60.0  # seconds from which on a draft of nobody's was left behind
_IGNORED = re.compile(r"^\.|\.tmp$|\.part$|~$")
WRITING = "still being written"  # why a young file waits
_ERROR = ".error.json"
_MAX_NAME = 200  # bytes of a file name, so that what is added to it still fits
_PATIENCE = 10.0  # seconds of waiting for a file that is being written all the time
_PAUSE = 0.05


class Received(Struct, frozen=True):
    """One file that arrived: its name below inbox/, its bytes, what its door is worth."""

    name: str
    data: bytes
    trust: Trust = "local"


class Refused(Struct, frozen=True):
    """Why a file was not taken."""

    file: str
    code: str
    message: str
    line: int | None = None


class Held(Struct, frozen=True, rename={"origin": "from"}):
    """A file in quarantine/ and why it lies there; without a reason `at` and `from` are null."""

    name: str
    code: str
    message: str
    line: int | None = None
    at: str | None = None
    origin: str | None = None


class Inbox:
    """The inbox and the quarantine of one vault."""

    def __init__(self, root: Path) -> None:
        self.root = root
        # Of the files that were read: how they looked, and the digest of what they held.
        self._read: dict[str, tuple[int, int, int]] = {}
        self._digests: dict[str, str] = {}

    def create(self) -> bool:
        """Make the folders that are missing; True when there were any."""
        before = [(self.root / name).is_dir() for name in (layout.UNTRUSTED, layout.QUARANTINE)]
        (self.root / layout.UNTRUSTED).mkdir(parents=True, exist_ok=True)
        (self.root / layout.QUARANTINE).mkdir(mode=0o700, exist_ok=True)
        return not all(before)

    def names(self) -> list[str]:
        """The names below inbox/ of everything that waits there, sorted."""
        found: list[str] = []
        for folder, prefix in ((layout.INBOX, ""), (layout.UNTRUSTED, "untrusted/")):
            place = self.root / folder
            if place.is_dir():
                found += [
                    prefix + entry.name
                    for entry in os.scandir(place)
                    if not _IGNORED.search(entry.name)
                    and (entry.is_file(follow_symlinks=False) or entry.is_symlink())
                ]
        return sorted(found)

    def folders(self) -> list[str]:
        """The names of folders in the inbox: nothing below them is taken."""
        place = self.root / layout.INBOX
        own = {Path(layout.UNTRUSTED).name}
        entries = os.scandir(place) if place.is_dir() else ()
        found = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        return sorted(name for name in found if name not in own and not _IGNORED.search(name))

    def settle(self, seconds: float, patience: float | None = None) -> tuple[list[str], list[str]]:
        """Wait until what is here is no younger than `seconds`; the names (still, not yet).

        What arrives meanwhile is for the next time. Age is modification time; a time in the
        future counts from when it was first seen. After `patience` seconds it waits no more.
        """
        names = self.names()
        deadline = time.monotonic() + (seconds + _PATIENCE if patience is None else patience)
        first_seen: dict[tuple[str, int, int], float] = {}
        while True:
            young = [name for name in names if self._young(name, seconds, first_seen)]
            if not young or time.monotonic() >= deadline:
                return [name for name in names if name not in young], young
            time.sleep(_PAUSE)

    def _young(
        self, name: str, seconds: float, first_seen: dict[tuple[str, int, int], float]
    ) -> bool:
        try:
            state = (self.root / layout.INBOX / name).lstat()
        except FileNotFoundError:
            return False
        age = time.time() - state.st_mtime
        seen = first_seen.setdefault((name, state.st_size, state.st_mtime_ns), time.monotonic())
        return age < seconds if age >= 0 else time.monotonic() - seen < seconds

    def read(self, name: str) -> Received | None:
        """One waiting file, None when it is gone; BadInputError where it may not be taken."""
        path = self.root / layout.INBOX / name
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return None  # another run took it
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise BadInputError(
                    "a symbolic link; drop the file itself", code="not-a-file"
                ) from None
            raise BadInputError(f"cannot be read ({error.strerror})", code="unreadable") from None
        state = os.fstat(descriptor)
        self._read[name] = _identity(state)
        if not stat.S_ISREG(state.st_mode):
            os.close(descriptor)
            raise BadInputError("not a regular file", code="not-a-file")
        with open(descriptor, "rb") as file:  # noqa: PTH123 (a descriptor, not a path)
            _check_size(state.st_size)
            data = file.read(MAX_OUTCOME + 1)
        _check_size(len(data))
        self._digests[name] = hashlib.sha256(data).hexdigest()
        if not name.endswith(ENDINGS):
            raise BadInputError(
                f"the name must end with {', '.join(ENDINGS)}; rename it", code="unknown-ending"
            )
        trust: Trust = "untrusted" if name.startswith("untrusted/") else "local"
        return Received(name, data, trust)

    def put(self, files: Iterable[tuple[str, bytes]]) -> Iterator[str]:
        """Drop files into the inbox under free names; yields each name."""
        self.create()
        for wanted, data in files:
            yield self._put(wanted, data)

    def _put(self, wanted: str, data: bytes) -> str:
        folder = self.root / layout.INBOX
        wanted = _plain_name(wanted).lstrip(".") or "outcome"
        draft = folder / f".{os.getpid()}.tmp"
        try:
            draft.write_bytes(data)
            reach("inbox-drafted")
            for name in _free_names(wanted):
                try:
                    os.link(draft, folder / name)
                except FileExistsError:
                    continue
                reach("inbox-filled")
                return name
        finally:
            draft.unlink(missing_ok=True)
        raise UsageError(f"{wanted}: every such name is taken in inbox/; run skillvault run first")

    def sweep(self) -> None:
        """Remove the drafts of processes that were killed while they dropped a file."""
        folders = [self.root / name for name in (layout.INBOX, layout.QUARANTINE)]
        for entry in (
            entry for folder in folders if folder.is_dir() for entry in os.scandir(folder)
        ):
            draft = _DRAFT.fullmatch(entry.name)
            try:
                old = draft and time.time() - entry.stat(follow_symlinks=False).st_mtime > _LEFT
            except FileNotFoundError:
                continue
            if draft and old and not _alive(int(draft["pid"])):
                Path(entry.path).unlink(missing_ok=True)

    def done(self, names: Iterable[str]) -> None:
        """Remove files whose content is committed; one written anew since it was read stays."""
        for name in names:
            path = self.root / layout.INBOX / name
            if os.path.lexists(path) and _identity(path.lstat()) == self._read.get(name):
                reach("inbox-done")
                path.unlink(missing_ok=True)

    # ── quarantine ───────────────────────────────────────────────────────────────────

    def refuse(self, name: str, error: BadInputError, now: datetime) -> Refused:
        """Move a file to quarantine/ with its reason beside it, unless it is gone."""
        self.create()
        folder = self.root / layout.QUARANTINE
        source = self.root / layout.INBOX / name
        message = shown(error.message)
        digest, state = self._digests.get(name), self._read.get(name)
        if state is None:
            digest, state = _known(source)
        wanted = _plain_name(name.replace("/", "-"))
        if digest and (twin := _same(folder, wanted, name, digest)):
            source.unlink(missing_ok=True)  # the same bytes lie there already
            return Refused(twin, error.code, message, error.line)
        target = folder / _free_in(folder, wanted, name)
        reason = {
            "code": error.code,
            "message": message,
            "line": error.line,
            # Of what was read: had more arrived since, it counts as changed and is taken again.
            "sha256": digest,
            "state": list(state[1:]) if state else None,  # its size, and when it was written
            "at": stamp(now),
            "from": name,
        }
        # The reason goes first: were we killed in between, the file is refused once more.
        told = folder / f"{target.name}{_ERROR}"
        _write_whole(told, json.dumps(reason, indent=2, ensure_ascii=False) + "\n")
        reach("quarantine-told")
        try:
            source.rename(target)
        except FileNotFoundError:  # another run took it
            told.unlink()
        reach("quarantined")
        return Refused(target.name, error.code, message, error.line)

    def quarantined(self) -> list[str]:
        """The names in quarantine/, without the reasons, sorted."""
        folder = self.root / layout.QUARANTINE
        if not folder.is_dir():
            return []
        names = (path.name for path in folder.iterdir())
        return sorted(n for n in names if not n.endswith(_ERROR) and not _DRAFT.fullmatch(n))

    def changed(self) -> list[Received]:
        """The quarantined files whose bytes changed since, as they would arrive again."""
        return [
            Received(origin, path.read_bytes(), "untrusted" if _untrusted(origin) else "local")
            for path, origin in self._changed()
        ]

    def requeue_changed(self) -> list[str]:
        """Put quarantined files whose bytes changed since back into the inbox."""
        back: list[str] = []
        for path, origin in self._changed():
            door = "untrusted/" if _untrusted(origin) else ""
            folder = self.root / layout.INBOX / door
            target = folder / _free_in(folder, Path(origin).name)
            try:
                path.rename(target)
                reach("requeued")
                path.with_name(path.name + _ERROR).unlink()
            except FileNotFoundError:
                continue  # another run took it
            back.append(door + target.name)
        return back

    def _changed(self) -> Iterator[tuple[Path, str]]:
        """(place in quarantine, name it came with) of each file that was mended there."""
        for name in self.quarantined():
            path = self.root / layout.QUARANTINE / name
            said = _reason(path.with_name(name + _ERROR))
            if said is not None and _differs(path, said):
                yield path, str(said.get("from", name))

    def held(self) -> list[Held]:
        """What lies in quarantine/, by name, each with its reason in words that can be shown."""
        folder = self.root / layout.QUARANTINE
        return [_held(name, _reason(folder / (name + _ERROR))) for name in self.quarantined()]

    def obstacle(self, name: str) -> str | None:
        """Why a quarantined file cannot go back into the inbox; None where it can."""
        path = self.root / layout.QUARANTINE / name
        if path.is_symlink() or not path.is_file():
            return "not a regular file; put the file itself into inbox/"
        if _IGNORED.search(self._arrival(name)[1]):
            return "the inbox ignores such a name; rename the file in quarantine/"
        return None

    def put_back(self, name: str) -> str | None:
        """Move a quarantined file back through its door; its name there, None when it is gone.

        One without a reason may have come from anywhere, so it comes back untrusted.
        """
        self.create()
        door, wanted = self._arrival(name)
        source = self.root / layout.QUARANTINE / name
        for free in _free_names(wanted):
            try:
                # A link replaces nothing, whatever arrives meanwhile.
                os.link(source, self.root / layout.INBOX / door / free, follow_symlinks=False)
            except FileExistsError:
                continue
            except FileNotFoundError:
                return None  # another run took it
            # The reason goes first: a file without one is seen and asked about, never lost.
            self.remove(name)
            return door + free
        raise UsageError(f"{name}: every such name is taken in inbox/; run skillvault run first")

    def remove(self, name: str) -> None:
        """Remove a quarantined file, or link, and its reason for good."""
        path = self.root / layout.QUARANTINE / name
        path.with_name(name + _ERROR).unlink(missing_ok=True)
        path.unlink(missing_ok=True)

    def _arrival(self, name: str) -> tuple[str, str]:
        """(`untrusted/` or nothing, file name) under which a quarantined file came."""
        said = _reason(self.root / layout.QUARANTINE / (name + _ERROR)) or {}
        origin = said.get("from")
        if not isinstance(origin, str):
            return "untrusted/", _plain_name(name)
        wanted = _plain_name(Path(origin).name)
        known = wanted if wanted and not _IGNORED.search(wanted) else _plain_name(name)
        return "untrusted/" if _untrusted(origin) else "", known


def _same(folder: Path, wanted: str, origin: str, digest: str) -> str | None:
    """The quarantined file that came under this name with these bytes."""
    for known in _free_names(wanted):
        if not os.path.lexists(folder / known):
            return None
        said = _reason(folder / (known + _ERROR)) or {}
        if (said.get("sha256"), said.get("from")) == (digest, origin):
            return known
    return None


def _differs(path: Path, said: dict[str, object]) -> bool:
    """Whether a quarantined file is another than the one of which the reason tells.

    A file that looks untouched is not read again, whatever its size.
    """
    try:
        state = path.lstat()
    except FileNotFoundError:
        return False  # another run took it
    if said.get("state") == list(_identity(state)[1:]):
        return False
    if not stat.S_ISREG(state.st_mode) or state.st_size > MAX_OUTCOME:
        return said.get("state") is not None and stat.S_ISREG(state.st_mode)
    return said.get("sha256") != _digest(path)


def _write_whole(path: Path, text: str) -> None:
    """Write a file that is there whole or not at all."""
    draft = path.with_name(f".{os.getpid()}.tmp")
    try:
        # A name that is not UTF-8 becomes a JSON escape.
        draft.write_text(text, encoding="utf-8", errors="backslashreplace")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _untrusted(origin: str) -> bool:
    return origin.startswith("untrusted/")


def _check_size(size: int) -> None:
    if size > MAX_OUTCOME:
        raise BadInputError(
            f"{size / 1024:.0f} KiB; an outcome may have {MAX_OUTCOME // 1024} KiB, "
            "shorten result.evidence to the lines that show the error",
            code="too-large",
        )


def _identity(state: os.stat_result) -> tuple[int, int, int]:
    return state.st_ino, state.st_size, state.st_mtime_ns


def _free_names(wanted: str) -> Iterator[str]:
    """`name.ext`, `name-2.ext`, … without end."""
    path = Path(wanted)
    yield path.name
    number = 2
    while True:
        yield f"{path.stem}-{number}{path.suffix}"
        number += 1


def _free_in(folder: Path, wanted: str, origin: str | None = None) -> str:
    """A name that neither a file nor the reason of one has in this folder.

    The reason that was left for a file of this `origin`, which never followed, is no reason.
    """
    return next(
        name
        for name in _free_names(wanted)
        if not os.path.lexists(folder / name)
        and (
            not os.path.lexists(folder / (name + _ERROR))
            or (origin and (_reason(folder / (name + _ERROR)) or {}).get("from") == origin)
        )
    )


def _plain_name(name: str) -> str:
    """A file name that can be printed, leaves room to add to, and is no reason's."""
    path = Path("".join(char if char.isprintable() else "_" for char in name))
    if path.name.endswith(_ERROR):
        path = Path(path.name.removesuffix(_ERROR) + "-error.json")
    room = _MAX_NAME - len(path.suffix.encode())
    if room < 1:
        return path.name.encode()[:_MAX_NAME].decode(errors="ignore")
    return path.stem.encode()[:room].decode(errors="ignore") + path.suffix


def _known(path: Path) -> tuple[str | None, tuple[int, int, int] | None]:
    """(digest, how it looks) of a file that was not read; a very large one is not read here."""
    try:
        state = path.lstat()
    except FileNotFoundError:
        return None, None
    return _digest(path) if state.st_size <= MAX_OUTCOME else None, _identity(state)


def _digest(path: Path) -> str | None:
    """sha256 of a regular file's bytes; None for anything else, or one that is gone."""
    if path.is_symlink() or not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _held(name: str, said: dict[str, object] | None) -> Held:
    if said is None:
        return Held(
            shown(name),
            "no-reason",
            "no reason is stored beside it, so its source is unknown; "
            "retry it, which makes it untrusted, or drop it",
        )
    line = said.get("line")
    return Held(
        shown(name),
        shown(said.get("code") or "no-code"),
        shown(said.get("message") or "its .error.json gives no reason"),
        line if isinstance(line, int) else None,
        *(shown(value) if (value := said.get(key)) else None for key in ("at", "from")),
    )


def shown(value: object) -> str:
    """A foreign text that does nothing to a terminal and fits into JSON."""
    return "".join(
        char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in str(value)
    )


def _reason(path: Path) -> dict[str, object] | None:
    if path.is_symlink() or not path.is_file():
        return None
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None

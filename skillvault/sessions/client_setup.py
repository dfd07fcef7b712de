"""Set up an agent's client for a vault, and remove the setup, by editing the client's files.

The old content of each file is saved in the user's state folder, so that a removal can restore it
even without the vault. If a file was changed later, only the lines of the setup are removed. The
lines of each client are in `clients/setups.py`.
"""

import base64
import hashlib
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from difflib import unified_diff
from itertools import takewhile
from pathlib import Path

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from skillvault.clients.edits import FileEdit
from skillvault.clients.notes import Activity, activity_of
from skillvault.clients.setups import SKILLS, SetupOptions, edits_of
from skillvault.model.errors import BadInputError
from skillvault.vault.disk import private_mode, write_whole
from skillvault.vault.files.layout import VAULT_FILE
from skillvault.vault.git.repository import Git

_DIGEST_DIGITS = 20
# The reason why a personal setup does not change a file.
_TRACKED_REASON = "git tracks it; pass --shared to change it, or --user for all of your projects"


class FileRecord(Struct, frozen=True, kw_only=True):
    """The content of a file before the setup, in base64, and the digest of the new content.

    `before` is None if there was no file.
    """

    before: str | None
    digest: str

    @property
    def original(self) -> bytes | None:
        """The content before the setup, or None if there was no file."""
        return None if self.before is None else base64.b64decode(self.before)


class SetupRecord(Struct, frozen=True, kw_only=True):
    """The record of one setup of a client. `project` is "" for all projects of a user."""

    client: str
    project: str
    vault: str = ""
    python: str = ""
    links: bool = False
    domain: str | None = None
    files: dict[str, FileRecord] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)


class FileChange(Struct, frozen=True, kw_only=True):
    """The content of a file before and after a change, or None if there is no file.

    `trouble` is the reason if the file cannot be changed. `by_hand` is a text for the user to add.
    `summary` says in a few words what skillvault has in the file.
    """

    path: Path
    before: bytes | None = None
    after: bytes | None = None
    trouble: str = ""
    by_hand: str = ""
    summary: str = ""

    @property
    def diff(self) -> str:
        """The change as lines of a diff."""
        texts = [(content or b"").decode(errors="replace") for content in (self.before, self.after)]
        old_lines, new_lines = (text.splitlines(keepends=True) for text in texts)
        lines = unified_diff(old_lines, new_lines, str(self.path), str(self.path))
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


class ClientSetup:
    """The setups of a user's clients, recorded in the user's state folder."""

    def __init__(self) -> None:
        state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state")
        self._folder = state / "skillvault" / "setups"

    def changes(self, client: str, options: SetupOptions, *, removes: bool) -> list[FileChange]:
        """Return the file changes of a setup or of its removal."""
        record = self.record_of(client, options.project)
        edits = edits_of(client, options)
        paths = {edit.path for edit in edits}
        # Files of an earlier setup with other options are restored.
        obsolete_paths = [path for path in map(Path, record.files) if path not in paths]
        tracked_paths = set[Path]()
        if options.project and not (options.is_shared or removes):
            tracked_paths = _tracked_paths(options.project, paths)
        changes = [
            FileChange(path=edit.path, trouble=_TRACKED_REASON, by_hand=edit.by_hand)
            if edit.path in tracked_paths
            else _plan_change(edit, record, removes=removes)
            for edit in edits
        ]
        changes += [_plan_restore(path, record) for path in obsolete_paths]
        return [change for change in changes if change.trouble or change.before != change.after]

    def carry_out(
        self, client: str, options: SetupOptions, changes: Sequence[FileChange], *, removes: bool
    ) -> None:
        """Save the old content of the files, then write the changes."""
        record = self.record_of(client, options.project)
        updated_record = replace(
            record,
            links=options.links,
            domain=options.domain,
            vault=str(options.vault),
            python=sys.executable,
        )
        writable_changes = [change for change in changes if not change.trouble]
        if removes:
            for change in writable_changes:
                _write_file(change)
            self._correct_records(record, edits_of(client, options))
            _remove_folders(record.folders)
            self._path_of(client, options.project).unlink(missing_ok=True)
            _remove_empty(self._folder)
            return
        paths = [change.path for change in writable_changes]
        if options.links:  # an export creates the folder of skills later
            paths.append((options.project or Path.home()) / SKILLS[client] / "any")
        new_folders = {
            str(folder): None
            for path in paths
            for folder in takewhile(lambda folder: not folder.exists(), path.parents)
        }
        files = {str(change.path): _file_record(change, record) for change in writable_changes}
        files = {path: file for path, file in (record.files | files).items() if file is not None}
        folders = list(dict.fromkeys([*record.folders, *new_folders]))
        self._write_record(replace(updated_record, files=files, folders=folders))
        for change in writable_changes:
            _write_file(change)

    def _correct_records(self, removed: SetupRecord, edits: Iterable[FileEdit]) -> None:
        """Remove the lines of a removed setup from the contents that other setups saved."""
        edits_by_path = {str(edit.path): edit for edit in edits}
        for record in self.records():
            files = {
                path: replace(
                    file, before=_encode(_take_out(edits_by_path[path], file.original, removed))
                )
                for path, file in record.files.items()
                if path in removed.files.keys() & edits_by_path.keys() and file.before is not None
            }
            if files and (record.client, record.project) != (removed.client, removed.project):
                self._write_record(replace(record, files=record.files | files))

    def record_of(self, client: str, project: Path | None) -> SetupRecord:
        """Return the record of a setup, or an empty record if there is none."""
        path = self._path_of(client, project)
        if path.exists():
            return msgspec.json.decode(path.read_bytes(), type=SetupRecord)
        return SetupRecord(client=client, project=str(project or ""))

    def records(self, vault: Path | None = None) -> list[SetupRecord]:
        """Return the records of all setups, or of the setups for one vault."""
        files = sorted(self._folder.glob("*.json")) if self._folder.is_dir() else []
        records = [msgspec.json.decode(file.read_bytes(), type=SetupRecord) for file in files]
        return [record for record in records if vault is None or record.vault == str(vault)]

    def _path_of(self, client: str, project: Path | None) -> Path:
        digest = hashlib.sha256(f"{client}\n{project or ''}".encode()).hexdigest()[:_DIGEST_DIGITS]
        return self._folder / f"{digest}.json"

    def _write_record(self, record: SetupRecord) -> None:
        path = self._path_of(record.client, Path(record.project) if record.project else None)
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = private_mode(path.parent) & 0o666  # the saved content may be secret
        write_whole(path, msgspec.json.format(msgspec.json.encode(record)), mode)


def vault_of_setup(folder: str) -> str:
    """Return the vault for which a client is set up in a folder or above it, or ""."""
    vaults = {
        record.project: record.vault
        for record in ClientSetup().records()
        if Path(folder).is_relative_to(record.project or "/")
        and (Path(record.vault) / VAULT_FILE).is_file()
    }
    return vaults[max(vaults, key=len)] if vaults else ""


def carry_out_edit(edit: FileEdit, *, removes: bool, dry: bool) -> FileChange:
    """Apply or remove an edit of a file that no setup records, and return the change."""
    change = _plan_change(edit, SetupRecord(client="", project=""), removes=removes)
    if not (dry or change.trouble or change.before == change.after):
        _write_file(change)
    return change


class SetupState(Struct, frozen=True, kw_only=True):
    """The state of a setup, with its record, its last activity and its problems."""

    record: SetupRecord
    activity: Activity
    problems: tuple[str, ...]

    @property
    def last_activity(self) -> str:
        """A sentence about the last event, and the last prompt that got a recommendation."""
        activity = self.activity
        event = f"{activity.event} at {_format_time(activity.at)}" if activity.at else "none yet"
        last_prompt = _format_time(activity.shown_at) if activity.shown_at else "none yet"
        return f"last event: {event}; last prompt that got something: {last_prompt}"

    @property
    def lines(self) -> list[str]:
        """The state in lines for a person."""
        return [
            f"{self.record.client} in {self.record.project or 'all projects'}",
            *(f"  file: {path}" for path in self.record.files),
            f"  python: {self.record.python}",
            f"  vault: {self.record.vault}",
            f"  {self.last_activity}",
            *(f"  problem: {trouble}" for trouble in self.problems),
        ]


def state_of(record: SetupRecord) -> SetupState:
    """Return the state of a setup, even if its vault is gone."""
    remedy = f"run `skillvault setup {record.client}` again"
    problems = []
    if not Path(record.python).exists():
        problems.append(f"{record.python} is gone; {remedy}")
    root = Path(record.vault)
    if not (root / VAULT_FILE).is_file():
        problems.append(f"{record.vault} is not a vault any more; {remedy} with --vault")
        return SetupState(record=record, activity=Activity(), problems=tuple(problems))
    settings = (Path(file) for file in record.files if file.endswith((".json", ".toml")))
    problems += [
        f"{path} does not name skillvault any more; {remedy}"
        for path in settings
        if not path.exists() or "skillvault" not in path.read_text(errors="replace")
    ]
    activity = activity_of(Git(root).dirs()[0] / "skillvault", record.client)
    if record.client == "codex" and activity.at is None:
        problems.append("codex fires no hook before you trust it: in codex, `/hooks`")
    return SetupState(record=record, activity=activity, problems=tuple(problems))


def _format_time(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _tracked_paths(project: Path, paths: Iterable[Path]) -> set[Path]:
    names = [str(path.relative_to(project)) for path in paths if path.is_relative_to(project)]
    _, output = Git(project).answer("ls-files", "-z", "--", *names, ok=(0, 128))  # no repository
    return {project / os.fsdecode(name) for name in output.split(b"\0") if name}


def _plan_change(edit: FileEdit, record: SetupRecord, *, removes: bool) -> FileChange:
    path = edit.path
    try:
        old_content = _read_bytes(path)
        if removes and _is_as_written(path, old_content, record):
            new_content = record.files[str(path)].original
        elif removes:
            new_content = _take_out(edit, old_content, record)
        else:
            text = edit.put("" if old_content is None else _text_of(old_content))
            new_content = text.encode() if text else old_content
    except BadInputError as error:
        return FileChange(path=path, trouble=error.message, by_hand=edit.by_hand)
    return FileChange(path=path, before=old_content, after=new_content, summary=edit.summary)


def _take_out(edit: FileEdit, content: bytes | None, record: SetupRecord) -> bytes | None:
    """Return a file's content without the lines of the setup.

    Return the content before the setup if nothing else changed, and None if the setup created the
    file and nothing else is in it.
    """
    file = record.files.get(str(edit.path))
    original = file.original if file is not None else None
    text, old_text = (_text_of(value or b"") for value in (content, original))
    new_text = edit.take_out(text, old_text)
    if new_text == text:
        return content
    return original if new_text.strip() == old_text.strip() else new_text.encode()


def _plan_restore(path: Path, record: SetupRecord) -> FileChange:
    """Return the change that restores a file, unless the file has changed since the setup."""
    content = _read_bytes(path)
    if not _is_as_written(path, content, record):
        advice = "was changed since; take the lines of skillvault out of it by hand"
        return FileChange(path=path, trouble=advice)
    return FileChange(path=path, before=content, after=record.files[str(path)].original)


def _is_as_written(path: Path, content: bytes | None, record: SetupRecord) -> bool:
    file = record.files.get(str(path))
    return content is not None and file is not None and file.digest == _digest_of(content)


def _file_record(change: FileChange, record: SetupRecord) -> FileRecord | None:
    if change.after is None:
        return None
    file = record.files.get(str(change.path))
    digest = _digest_of(change.after)
    if file is not None and change.before is not None:
        return FileRecord(
            before=file.before, digest=digest if file.digest == _digest_of(change.before) else ""
        )
    return FileRecord(before=_encode(change.before), digest=digest)


def _encode(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode()


def _read_bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadInputError(f"cannot be read ({error.strerror})", code="unreadable") from None


def _text_of(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise BadInputError("is not UTF-8 text", code="encoding") from None


def _digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write_file(change: FileChange) -> None:
    """Write a file in one step, keeping links and permissions."""
    path = change.path.resolve()
    if change.after is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.skillvault-{os.getpid()}")
    draft.touch(mode=0o600 if path.exists() else 0o666)
    draft.write_bytes(change.after)
    if path.exists():
        draft.chmod(path.stat().st_mode & 0o7777)
    draft.replace(path)


def _remove_empty(folder: Path) -> None:
    """Remove a folder below the home folder and its parents while they are empty."""
    while folder.is_relative_to(Path.home()) and folder != Path.home():
        if folder.is_dir() and any(folder.iterdir()):
            return
        if folder.is_dir():
            folder.rmdir()
        folder = folder.parent


def _remove_folders(folders: Sequence[str]) -> None:
    for folder in sorted(map(Path, folders), key=lambda path: len(path.parts), reverse=True):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()

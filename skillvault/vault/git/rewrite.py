"""Rewrite a copy of a vault's history without erased texts, for `skillvault erase`.

git-filter-repo does this in a separate process. The vault itself is not touched: its refs move only
after the copy was checked and the user confirmed.
"""

import os
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from skillvault.model.change import STEP_TRAILER
from skillvault.model.errors import BadInputError, GitError, UsageError
from skillvault.model.section_marks import marks_of
from skillvault.model.text import front_matter
from skillvault.model.text.erasure import MARKER, Eraser, prove
from skillvault.vault.files.work_tree import blob_id

_TOOL = "git_filter_repo"  # a dependency of the extra `erase`
_REPORT = "skillvault-report.json"
_ID = re.compile(rb"\b[0-9a-f]{40}\b")
_TRAILER = re.compile(r"Skillvault-\w+: .*")
_OPTIONS = (
    *("--partial", "--force", "--quiet", "--replace-refs=delete-no-add"),
    *("--prune-empty=never", "--prune-degenerate=never"),  # each commit keeps its trailers
)


class Rewriting(Struct):
    """The result: new ids by old commit id, changed paths, and the number of changed messages."""

    commits: dict[str, str] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    messages: int = 0


def check_tool() -> None:
    """Raise UsageError if git-filter-repo is not installed."""
    if find_spec(_TOOL) is None:
        raise UsageError(
            "erase needs git-filter-repo; run "
            f"`{sys.executable} -m pip install 'git-filter-repo>=2.47,<3'`"
        )


def rewrite_history(repository: Path, eraser: Eraser, refs: list[str]) -> Rewriting:
    """Rewrite these refs of a bare repository. `^REF` leaves out the commits of REF."""
    environment = {name: value for name, value in os.environ.items() if name[:4] != "GIT_"}
    process = subprocess.run(
        [sys.executable, "-P", "-m", __name__],
        cwd=repository,
        input=msgspec.json.encode((eraser, refs)),
        capture_output=True,
        env=environment,
        check=False,
    )
    if process.returncode:
        message = process.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise GitError(f"git filter-repo: {' '.join(message) or 'failed without a message'}")
    return msgspec.json.decode((repository / _REPORT).read_bytes(), type=Rewriting)


class _Filter:
    """The callbacks of git-filter-repo."""

    def __init__(self, eraser: Eraser) -> None:
        self.eraser = eraser
        self.report = Rewriting()
        self._paths: set[str] = set()
        self._changed_marks: set[int] = set()
        self._blobs: dict[bytes, bytes] = {}

    def change_blob(self, blob: Any, tools: Any) -> None:
        """Replace erased texts in a file, and the ids of changed commits and files."""

        def translate(match: re.Match[bytes]) -> bytes:
            new_id: bytes = self._blobs.get(match[0]) or tools["commit_rename_func"](match[0])
            return new_id

        if prove(self.eraser.key).encode() in blob.data:
            return  # a tombstone, which names the old commits
        data = _ID.sub(translate, rewrite_bytes(self.eraser, blob.data))
        if data != blob.data:
            self._blobs[blob.original_id] = blob_id(data).encode()
            self._changed_marks.add(blob.id)
            blob.data = data

    def change_path(self, path: bytes) -> bytes | None:
        """Return the new path of a file, or None if its outcome is removed."""
        old_path = os.fsdecode(path)
        new_path = None if self.eraser.drops(old_path) else self.eraser.replace(old_path)
        if new_path != old_path:
            self._paths.add(old_path)
        return None if new_path is None else os.fsencode(new_path)

    def change_message(self, message: bytes) -> bytes:
        """Replace erased texts in a message, or all but the trailers for a removed outcome."""
        old_text = text = message.decode(errors="surrogateescape")
        if any(outcome in text for outcome in self.eraser.outcomes):
            subject, _, body = text.partition("\n")
            step = f"{subject.partition(':')[0]}: " if f"{STEP_TRAILER}: " in body else ""
            trailers = "\n".join(_TRAILER.findall(body))
            text = f"{step}{MARKER}\n\n{trailers}\n"
        text = self.eraser.replace(text)
        self.report.messages += text != old_text
        return text.encode(errors="surrogateescape")

    def change_name(self, name: bytes) -> bytes:
        """Replace erased texts in a person's name or address, or in the name of a ref."""
        text = name.decode(errors="surrogateescape")
        return self.eraser.replace(text).encode(errors="surrogateescape")

    def remember_paths(self, commit: Any, _tools: Any) -> None:
        """Remember the paths of the files that a commit changes."""
        for change in commit.file_changes:
            if change.blob_id in self._changed_marks:
                self._paths.add(os.fsdecode(change.filename))

    def rewrite_refs(self, refs: list[str]) -> Rewriting:
        """Rewrite the repository in the current folder."""
        git_filter_repo: Any = import_module(_TOOL)
        arguments = git_filter_repo.FilteringOptions.parse_args([*_OPTIONS, "--refs", *refs])
        git_filter_repo.RepoFilter(
            arguments,
            blob_callback=self.change_blob,
            filename_callback=self.change_path,
            message_callback=self.change_message,
            name_callback=self.change_name,
            email_callback=self.change_name,
            refname_callback=self.change_name,
            commit_callback=self.remember_paths,
        ).run()
        lines = Path("filter-repo/commit-map").read_text(encoding="ascii").splitlines()[1:]
        self.report.commits = dict(line.split() for line in lines)
        self.report.paths = sorted(self._paths)
        return self.report


def rewrite_bytes(eraser: Eraser, data: bytes) -> bytes:
    """Return the content of a file without erased texts.

    The section marks of a skill are renewed, so that its sections still count as the program's.
    """
    old_text = data.decode(errors="surrogateescape")
    text = eraser.replace(old_text)
    if text == old_text:
        return data
    if "\n---" in old_text and "written:" in old_text:
        text = _renew_marks(old_text, text)
    return text.encode(errors="surrogateescape")


def _renew_marks(old_text: str, new_text: str) -> str:
    """Return the new text of a skill, with its old section marks replaced by new ones."""
    for old_mark, new_mark in zip(_marks_of(old_text), _marks_of(new_text), strict=False):
        new_text = new_text.replace(old_mark, new_mark)
    return new_text


def _marks_of(text: str) -> list[str]:
    """Return the marks of a skill's description and sections, or [] for another file."""
    try:
        values, body = front_matter.read_document(text)
    except BadInputError:
        return []
    marks = marks_of(str(values.get("description", "")), body)
    return [f"{heading}{mark}" for heading, mark in marks.items()]


def main() -> None:
    """Rewrite the repository in the current folder by the rules on stdin."""
    eraser, refs = msgspec.json.decode(sys.stdin.buffer.read(), type=tuple[Eraser, list[str]])
    report = _Filter(eraser).rewrite_refs(refs)
    Path(_REPORT).write_bytes(msgspec.json.encode(report))


if __name__ == "__main__":
    main()

"""The repositories of the week in a temporary folder, with a home and the programs on the PATH."""

import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path

from week_script import MAIN, Call, Repositories, Session

GIT = "[user]\n\tname = Mina\n\temail = mina@example.org\n[init]\n\tdefaultBranch = master\n"
_NAMES = uuid.UUID("6f2c6f9e-4d7c-4f3c-9d55-0c5f4f0f2b11")


class WrongScriptError(Exception):
    """A step of the week ended otherwise than its script says."""


def session_uuid(name: str) -> str:
    """Return the id that a client knows a session of the week by."""
    return str(uuid.uuid5(_NAMES, name))


def write_files(folder: Path, files: Mapping[str, str], mode: int = 0o644) -> None:
    """Write files below a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)


class Workplace:
    """The folders, repositories and environment in which the developer of the week works."""

    def __init__(self, root: Path, repositories: Repositories) -> None:
        self.root, self.home = root, root / "home"
        write_files(root / "bin", repositories.programs, 0o755)
        write_files(root / "lib", repositories.libraries)
        write_files(self.home, {".gitconfig": GIT})
        for name in (*repositories.files, "blog"):
            write_files(root / name, repositories.files.get(name, {"README.md": "# blog\n"}))
            self.git(name, "init", "-q")
            self.git(name, "add", "-A")
            self.git(name, "commit", "-qm", "Begin")

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the developer's commands."""
        folders = (str(self.root / "bin"), str(Path(sys.executable).parent), os.environ["PATH"])
        return {
            "HOME": str(self.home),
            "PATH": ":".join(folders),
            "PYTHONPATH": str(self.root / "lib"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "LANG": "C.UTF-8",
            "SKILLVAULT_HOOK_SECONDS": "60",  # on a busy machine the figures are the same
        }

    def git(self, repo: str, *words: str, check: bool = True) -> str:
        """Run git in a repository, and return what it prints."""
        command = [shutil.which("git") or "git", *words]
        done = subprocess.run(
            command,
            cwd=self.root / repo,
            env=self.environment,
            check=check,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def begin(self, session: Session) -> None:
        """Switch to the branch of a session."""
        branches = self.git(session.repo, "branch", "--format=%(refname:short)").split()
        create = [] if session.branch in branches else ["-c"]
        self.git(session.repo, "switch", "-q", *create, session.branch)

    def end(self, session: Session) -> None:
        """Commit what a session left, and merge its branch, as the person does."""
        self.git(session.repo, "add", "-A")
        self.git(session.repo, "commit", "-qm", f"Work of {session.at:%A}", check=False)
        branch = self.git(session.repo, "branch", "--show-current").strip()
        if branch != MAIN:
            self.git(session.repo, "switch", "-q", MAIN)
            self.git(session.repo, "merge", "-q", branch)

    def arguments(self, repo: str, call: Call) -> dict[str, object]:
        """Return the arguments of a call, with the whole path of its file."""
        if "file_path" not in call.arguments:
            return call.arguments
        return {**call.arguments, "file_path": str(self.root / repo / call.arguments["file_path"])}

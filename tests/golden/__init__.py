"""Whole stories: `commands.sh` and the files it uses, and what must come of them.

`python -m tests.golden` writes each `expected.txt` anew; read the diff before committing it.
Ids of git's objects are masked, as each follows from every word before it.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.in_process import run_script
from tests.judge.server import serving

HERE = Path(__file__).parent
STORIES = sorted(p.parent.name for p in HERE.glob("*/commands.sh"))
# Each command of these is a process, as a user's is; those of the others run in this one.
IN_PROCESSES = ("bad-input", "one-task")
# Whole, as the program shortens them, and as git does. An id of a record has a `-` before its
# digits and stays: it follows from the record alone.
OBJECT = re.compile(r"(?<![\w-])(?:[0-9a-f]{40}|[0-9a-f]{10}|[0-9a-f]{7})(?![\w-])")


def played(story: str, place: Path) -> str:
    """Play a story; return what its person sees, and the vault's log and files afterwards.

    Where the story asks Claude, it asks the API of tests/judge.
    """
    with serving() as api:
        return _played(story, place, api.url)


def _played(story: str, place: Path, address: str) -> str:
    shutil.copytree(HERE / story, place, dirs_exist_ok=True)
    (place / "expected.txt").unlink(missing_ok=True)
    home = place / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Ada Person\n\temail = ada@example.org\n")
    env = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_DATE": "2026-11-20T13:00:00Z",
        "GIT_COMMITTER_DATE": "2026-11-20T13:00:00Z",
        "LC_ALL": "C.UTF-8",
        "ANTHROPIC_BASE_URL": address,
        "ANTHROPIC_API_KEY": "test-key",
        "PYTHONPATH": str(HERE.parent.parent),
        "EXAMPLES": str(HERE.parent.parent / "vault_template" / "examples"),
        "GOLDEN": str(HERE),
    }
    script = f"{_SAY}{(HERE / story / 'commands.sh').read_text(encoding='utf-8')}"
    if story in IN_PROCESSES:
        seen = _run(["sh", "-e", "-c", _SKILLVAULT + script], place, env)
    else:
        seen = _stripped(*run_script(script, place, env))
    vault = place / "vault"
    log = _run(["git", "log", "--reverse", "--format=%n%an: %B"], vault, env)
    text = f"{_without(seen, place)}\n\n==== log\n{log}\n\n==== files\n{_files(vault, env)}"
    return masked(text)


_SKILLVAULT = 'skillvault() { python -m skillvault "$@"; }\n'
_SAY = 'say() { echo "\\n\\$ $*"; "$@"; }\n'


def masked(text: str) -> str:
    """A text without the ids of commits and blobs."""
    return OBJECT.sub("SHA", text)


def _run(command: list[str], folder: Path, env: dict[str, str]) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=env,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return _stripped(done.stdout, done.returncode)


def _stripped(printed: str, code: int) -> str:
    """Return printed text without trailing blanks, with an exit code that is not 0."""
    text = "\n".join(line.rstrip() for line in printed.splitlines()).strip()
    return f"{text}\n(ended with exit code {code})" if code else text


def _without(seen: str, place: Path) -> str:
    return seen.replace(str(place), "HERE")


def _files(vault: Path, env: dict[str, str]) -> str:
    """Every committed file but the template's, with the text of those that people read."""
    names = _run(["git", "ls-tree", "-r", "--name-only", "HEAD"], vault, env).splitlines()
    told: list[str] = []
    for name in names:
        if "/" not in name:
            continue
        text = (vault / name).read_text(encoding="utf-8").rstrip()
        told.append(f"---- {name}")
        if not name.startswith("outcomes/"):
            told.append(text)
    return "\n".join(told) + "\n"

"""A person's command in the middle of a publication, and what must hold once both are done.

The vault has three outcomes committed and five in its inbox; the person has a file of their own
with an uncommitted edit, and a branch `feature`. A command is run at a named point of the
publication; then the person goes on where they are, comes home, and the program runs again.
"""

import os
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import yaml

from skillvault.api import Vault
from skillvault.model.errors import SkillvaultError
from skillvault.vault import failpoint
from tests.conftest import NOW
from tests.given import as_file, raw
from tests.person.given import git

RECORDED, DROPPED = 3, 5
MINE = "mine.txt"
_ASIDE = ("stash", "push", "-q", MINE)  # a person who changes branches puts their edit aside

Command = tuple[str, ...]
COMMANDS: dict[str, Sequence[Command]] = {
    "checkout": [_ASIDE, ("checkout", "-q", "feature")],
    "switch": [_ASIDE, ("switch", "-q", "feature")],
    "checkout -b": [("checkout", "-q", "-b", "new")],
    "checkout -- paths": [("checkout", "-q", "--", "outcomes")],
    "restore": [("restore", ".")],
    "stash": [("stash", "push", "-q")],
    "stash -u": [("stash", "push", "-q", "-u")],
    "stash -u + pop": [("stash", "push", "-q", "-u"), ("stash", "pop", "-q")],
    "reset": [("reset", "-q")],
    "reset --hard": [("reset", "-q", "--hard")],
    "reset --hard HEAD~1": [("reset", "-q", "--hard", "HEAD~1")],
    "reset --soft HEAD~1": [("reset", "-q", "--soft", "HEAD~1")],
    "reset --keep": [("reset", "-q", "--keep", "HEAD")],
    "clean -fd": [("clean", "-qfd")],
    "clean -fdx": [("clean", "-qfdx", "outcomes", "evaluations", "skills")],
    "rebase -i": [
        _ASIDE,
        ("-c", "sequence.editor=sed -i 1s/pick/edit/", "rebase", "-qi", "HEAD~1"),
    ],
    "merge with conflict": [_ASIDE, ("merge", "-q", "feature")],
    "cherry-pick": [_ASIDE, ("cherry-pick", "feature")],
    "revert": [_ASIDE, ("revert", "--no-edit", "HEAD")],
    "amend": [("commit", "-qna", "--amend", "--no-edit")],
    "commit -am": [("commit", "-qnam", "p")],
    "commit --allow-empty": [("commit", "-qn", "--allow-empty", "-m", "e")],
    "add -A": [("add", "-A")],
    "add -A + commit": [("add", "-A"), ("commit", "-qnm", "p")],
    "rm --cached": [("rm", "-rq", "--cached", "--ignore-unmatch", "evaluations")],
    "branch -m": [("branch", "-m", "main", "trunk")],
    "symbolic-ref": [("symbolic-ref", "HEAD", "refs/heads/feature")],
    "update-ref": [("update-ref", "refs/heads/main", "HEAD~1")],
    "detach": [("checkout", "-q", "--detach")],
    "switch --orphan": [_ASIDE, ("switch", "-q", "--orphan", "o")],
    "bisect": [("bisect", "start", "HEAD", "HEAD~1")],
    "gc --prune=now": [("gc", "-q", "--prune=now")],
    "prune": [("prune", "--expire=now")],
    "repack -ad": [("repack", "-adq")],
    "read-tree": [("read-tree", "HEAD")],
    "worktree add": [("worktree", "add", "-q", "../tree", "feature")],
}
# Once the branch has moved these do what they say, to records that are committed.
AS_ASKED = {"rm --cached", "symbolic-ref"}


def made(root: Path) -> None:
    """Make the vault described above."""
    vault, _ = Vault.init(root, ["coding"], now=NOW)
    shutil.rmtree(root / ".git/hooks", ignore_errors=True)  # a hook costs half a second
    vault.record([(f"a{n}.json", _outcome(n)) for n in range(RECORDED)], now=NOW)
    vault.run(now=NOW)
    for text, branch in (("0", "main"), ("feature", "feature"), ("main", "main")):
        git(root, "checkout", "-q", *(["-b"] if branch == "feature" else []), branch)
        (root / MINE).write_text(f"{text}\n")
        git(root, "add", MINE)
        git(root, "commit", "-qnm", f"{text} of mine")
    (root / MINE).write_text("edited\n")
    for number in range(RECORDED, RECORDED + DROPPED):
        path = root / f"inbox/a{number}.json"
        path.write_bytes(_outcome(number))
        os.utime(path, (0, time.time() - 60))


def _outcome(number: int) -> bytes:
    return as_file(
        raw(
            number,
            event_id=f"event-{number}",
            decision__target=f"target-{number % 2}",
            decision__reasoning=f"number {number} since the queue is {number * 7} long",
            result__status="failure" if number % 2 else "success",
        )
    )


def copied(template: Path, root: Path) -> Path:
    """Copy the vault and refresh git's index."""
    shutil.copytree(template, root, symlinks=True)
    git(root, "update-index", "-q", "--refresh")
    return root


@contextmanager
def in_the_middle(point: str, act: Callable[[], None]) -> Iterator[None]:
    """Let a person act the first time that a point is reached in this process."""
    with (
        patch.object(failpoint, "_act", lambda _action, _name: act()),
        patch.object(failpoint, "_counts", {}),
        patch.dict(os.environ, {failpoint.VARIABLE: f"{point}=person"}),
    ):
        yield


@contextmanager
def interrupted(root: Path, point: str, commands: Sequence[Command]) -> Iterator[list[int]]:
    """Run a person's commands when a point is first reached; yield their exit codes."""
    codes: list[int] = []

    def act() -> None:
        codes.extend(git(root, *command).returncode for command in commands)

    with in_the_middle(point, act):
        yield codes


def run(root: Path) -> str:
    """Run the program once; return its error, or an empty string."""
    try:
        Vault.open(root).run(now=NOW)
    except SkillvaultError as error:
        return str(error)
    return ""


def go_on(root: Path) -> list[str]:
    """Let the person commit, return to the branch and commit again; return the faults."""
    place = git(root, "symbolic-ref", "--short", "-q", "HEAD").stdout.strip()
    faults = _taken_up(root, place) if git(root, "commit", "-qnam", "on").returncode == 0 else []
    for name in ("merge", "rebase", "cherry-pick", "revert"):
        git(root, name, "--abort")
    git(root, "bisect", "reset")
    if place == "trunk":
        git(root, "branch", "-m", "trunk", "main")
    elif place != "main":
        back = git(root, "checkout", "-q", "main")
        if back.returncode:
            faults.append(f"the way home is barred: {back.stderr.strip()[:200]}")
            git(root, "checkout", "-qf", "main")
    if git(root, "stash", "list").stdout:
        git(root, "stash", "pop", "-q")
    if git(root, "commit", "-qnam", "home").returncode == 0:
        changes = git(root, "show", "--name-status", "--format=", "HEAD").stdout.splitlines()
        faults += [f"the commit at home removes {line}" for line in changes if line[0] == "D"]
    return faults


def _taken_up(root: Path, place: str) -> list[str]:
    """Return a sentence for each program file that a commit on another branch took in."""
    if place in {"main", "trunk"}:
        return []
    names = git(root, "show", "--name-only", "--format=", "HEAD").stdout.split()
    return [f"a commit on {place or 'no branch'} took {name}" for name in names if name != MINE]


def let_time_pass(root: Path) -> None:
    """Age everything that was set aside, so that the program may look at it again."""
    for path in (root / ".git/skillvault/taken").glob("*"):
        os.utime(path, (1, 1))


def events(root: Path) -> Counter[str]:
    """The event ids of the outcomes on main."""
    paths = git(root, "ls-tree", "-r", "--name-only", "main", "outcomes").stdout.split()
    texts = [git(root, "show", f"main:{path}").stdout for path in paths]
    return Counter(str(yaml.safe_load(text)["event_id"]) for text in texts)


def _reverted(root: Path) -> set[str]:
    """The event ids of the outcomes that a person's `git revert` took out of main again."""
    form = ("log", "-p", "--format=", "--grep=^This reverts commit", "main", "--", "outcomes")
    lines = git(root, *form).stdout.splitlines()
    return {line.split(": ")[1] for line in lines if line.startswith("-event_id: ")}


def faults(root: Path) -> list[str]:
    """Return a sentence for each condition that a vault breaks after all is done."""
    recorded = events(root)
    waiting = {path.stem for path in (root / "inbox").glob("*.json")}
    known = recorded.keys() | _reverted(root)
    lost = [n for n in range(RECORDED + DROPPED)
            if f"event-{n}" not in known and f"a{n}" not in waiting]  # fmt: skip
    status = git(root, "status", "--porcelain").stdout.splitlines()
    names = {path.name for path in (root / ".git/skillvault").iterdir()}
    drafts = root / ".git/skillvault/drafts"
    checks = {
        f"lost: {lost}": bool(lost),
        f"in the inbox still: {sorted(waiting)}": bool(waiting),
        f"twice: {recorded}": any(count > 1 for count in recorded.values()),
        f"status: {status[:3]}": any(not line.endswith(MINE) for line in status),
        f"left: {sorted(names)}": any(n.startswith(("intent", "index-", "lock-")) for n in names),
        "drafts are left": drafts.is_dir() and any(drafts.iterdir()),
        "a lock is left": (root / ".git/index.lock").exists(),
        "fsck": git(root, "fsck", "--strict", "--no-dangling", "--no-progress").returncode != 0,
        f"check: {Vault.open(root).check().problems}": bool(Vault.open(root).check().problems),
    }
    return [sentence for sentence, fails in checks.items() if fails]


def kill(root: Path, point: str) -> int:
    """Run the program, kill it at a point, and return its exit code."""
    environment = {**os.environ, failpoint.VARIABLE: f"{point}=kill"}
    command = ["skillvault", "--vault", str(root), "run"]
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode

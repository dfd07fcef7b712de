"""The start of the sequences: a vault that has learned, lessons, a picture of everything."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from skillvault.api import Vault
from skillvault.vault.files import layout
from tests.given import NOW, as_file, outcome, raw, trade

_POLICY = """record:
  settle_seconds: 0
promote:
  cluster_size: 2
merge:
  min_similar: 1
generate:
  strategy_every: 4
"""
_HIGH = "Funding is high at 0.08 % and volatility is high; I chase it."
_LOW = "Funding is low at 0.0{} % and volatility is low; I wait for it."
_PIN = "I pin the library to version {} because the next one broke the cart."
_SURE = (
    "Breakout above the level on high volume; entering at market now with full size because "
    "momentum is strong. I see no risk, this cannot fail. "
)


def _sure(day: int, target: str) -> dict[str, Any]:
    more = {"decision__reasoning": _SURE, "decision__confidence": 0.95}
    return trade(day, -0.12, decision__target=target, source__session=f"s{day}", **more)


def _pinned(day: int, version: int) -> dict[str, Any]:
    reasoning = _PIN.format(version)
    return raw(day, decision__action="pin", decision__target="cart", decision__reasoning=reasoning)


LEARNED = (
    raw(0),
    trade(1, decision__reasoning=_HIGH),
    trade(2, decision__reasoning=_HIGH),
    _sure(3, "ARB-PERP"),
)
FOREIGN = trade(4, -0.4, decision__target="ETH-PERP")
LESSONS = (
    raw(10),
    _pinned(11, 2),
    _pinned(12, 3),
    trade(13, decision__reasoning=_HIGH),
    _sure(14, "SOL-PERP"),
    _sure(15, "DOGE-PERP"),
    trade(16, 0.3, decision__reasoning=_LOW.format(1)),
    trade(17, 0.31, decision__reasoning=_LOW.format(2)),
    {"domain": "coding", "no": "outcome"},
)
_TAKEN = [outcome(given) for given in LESSONS[:-1]]
# Where the program will write once it is given the lessons.
AHEAD = tuple(
    layout.outcome_path(one.domain, one.id, folder)
    for one in _TAKEN
    for folder in ("outcomes", "evaluations")
)


def git(root: Path, *args: str, data: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """One git call, as a person's shell makes it."""
    return subprocess.run(
        ["git", *args],
        cwd=root,
        input=data,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
        env={**os.environ, **env},
    )


def asked(root: Path, *args: str) -> str:
    """Return git's output without touching the index, or an empty string if git refuses."""
    done = git(root, *args, GIT_OPTIONAL_LOCKS="0")
    return done.stdout if done.returncode == 0 else ""


def learned_vault(root: Path) -> None:
    """Make a vault with skills in every folder, a fact, a script of a person's; packed."""
    vault, _ = Vault.init(root, ["perps", "coding"], now=NOW)
    shutil.rmtree(root / ".git/hooks", ignore_errors=True)  # a hook costs half a second
    # Branches without a .gitignore let no `git clean` or `git add -A` reach the doors either.
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/exclude").write_text("/inbox/\n/quarantine/\n")
    mark = root / "vault.yaml"
    mark.write_text(mark.read_text() + _POLICY)
    _saved(root)
    for number, given in enumerate(LEARNED):
        vault.record([("o.json", as_file(given))], now=NOW + timedelta(minutes=number))
        vault.run(now=NOW + timedelta(minutes=number), patience=0)
    (root / "inbox/untrusted/u.json").write_bytes(as_file(FOREIGN))
    vault.run(now=NOW + timedelta(minutes=9), patience=0)
    tool = root / "skills" / vault.skills()[0].name / "scripts/run.sh"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho one\necho two\necho three\n")
    tool.chmod(0o755)
    (root / "notes.md").write_text("".join(f"note {number}\n" for number in range(9)))
    _saved(root)
    git(root, "gc", "--quiet")


def _saved(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", "mine")


# ── a picture of everything ──────────────────────────────────────────────────────────

Entry = tuple[str, str]  # mode, blob
BUSY = (
    "MERGE_HEAD", "rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "sequencer",
    "BISECT_LOG",
)  # fmt: skip


@dataclass(frozen=True)
class Picture:
    """HEAD, refs, stash, tree, index (by stage), work tree and status at one moment."""

    head: str
    branch: str
    refs: Mapping[str, str]
    stash: str
    tree: Mapping[str, Entry]
    index: Mapping[str, tuple[tuple[str, str, str], ...]]
    work: Mapping[str, tuple[Entry, int]]
    status: Mapping[str, str]
    busy: str

    def staged(self, path: str) -> Entry | None:
        """Return the entry of the index, or a special one if the file is unmerged."""
        found = self.index.get(path)
        if not found:
            return None
        return found[0][:2] if len(found) == 1 and found[0][2] == "0" else ("unmerged", "")

    def saved(self, path: str) -> Entry | None:
        """Return the mode and blob id of the file in the work tree."""
        return self.work[path][0] if path in self.work else None

    @property
    def hand(self) -> set[str]:
        """Every path on which HEAD, index and work tree differ."""
        paths = {*self.tree, *self.index, *self.work}
        return {p for p in paths if not self.tree.get(p) == self.staged(p) == self.saved(p)}

    def of(self, path: str) -> tuple[object, ...]:
        """Return the state of one path: its index entries, its work file and its status."""
        return self.index.get(path), self.work.get(path), self.status.get(path)

    @property
    def normal(self) -> bool:
        """True if the program may commit."""
        unmerged = any(self.staged(path) == ("unmerged", "") for path in self.index)
        on_main = self.branch == "refs/heads/main" and self.head != ""
        return on_main and not self.busy and not unmerged


def picture(root: Path) -> Picture:
    """Take a picture of everything without a change."""
    lines = (line.split(" ") for line in asked(root, "for-each-ref", _REF_FORM).splitlines())
    refs: dict[str, str] = dict(lines)
    # Read as they lie: each of them asked of git is a process, and this one is looked at often.
    head = (root / ".git/HEAD").read_text().strip()
    branch = head.removeprefix("ref: ") if head.startswith("ref: ") else ""
    stashes = root / ".git/logs/refs/stash"
    index, work = _index(root), _work(root)
    left_out = {path: (index[path][0][:2], 0) for path in _sparse_paths(root)}
    return Picture(
        head=refs.get(branch, "") if branch else head,
        branch=branch,
        refs=refs,
        stash=stashes.read_text() if stashes.is_file() else "",
        tree=_tree(root),
        index=index,
        work=left_out | work,
        status=_status(root),
        busy=" ".join(name for name in BUSY if (root / ".git" / name).exists()),
    )


_REF_FORM = "--format=%(refname) %(objectname)"


def _tree(root: Path) -> dict[str, Entry]:
    found = {}
    for line in filter(None, asked(root, "ls-tree", "-r", "-z", "HEAD").split("\0")):
        meta, _, path = line.partition("\t")
        mode, _, blob = meta.split(" ")
        found[path] = (mode, blob)
    return found


def _index(root: Path) -> dict[str, tuple[tuple[str, str, str], ...]]:
    found: dict[str, tuple[tuple[str, str, str], ...]] = {}
    for line in filter(None, asked(root, "ls-files", "--stage", "-z").split("\0")):
        meta, _, path = line.partition("\t")
        mode, blob, stage = meta.split(" ")
        found[path] = (*found.get(path, ()), (mode, blob, stage))
    return found


def _sparse_paths(root: Path) -> list[str]:
    """Return the files that a light clone leaves out; they count as in the index."""
    if not (root / ".git/info/sparse-checkout").exists():
        return []
    lines = asked(root, "ls-files", "-t", "-z").split("\0")
    return [line[2:] for line in lines if line.startswith("S ")]


def _status(root: Path) -> dict[str, str]:
    form = ("status", "--porcelain=v2", "-z", "-uall", "--no-renames")
    fields = {"1": 8, "u": 10, "?": 1}
    lines = filter(None, asked(root, *form).split("\0"))
    return {line.split(" ", fields[line[0]])[-1]: line for line in lines}


def files_below(root: Path) -> list[Path]:
    """Return every file and link of the work tree outside the inbox and the quarantine."""
    closed = {".git", layout.INBOX, layout.QUARANTINE}
    found: list[Path] = []
    for folder, folders, names in os.walk(root):
        here = Path(folder)
        if here == root:
            folders[:] = [name for name in folders if name not in closed]
        links = [name for name in folders if (here / name).is_symlink()]
        found += [here / name for name in [*names, *links]]
    return sorted(found)


def _work(root: Path) -> dict[str, tuple[Entry, int]]:
    return {path.relative_to(root).as_posix(): _seen(path) for path in files_below(root)}


def _seen(path: Path) -> tuple[Entry, int]:
    if path.is_symlink():
        return ("120000", _blob(os.fsencode(path.readlink()))), 0
    mode = path.stat().st_mode
    return ("100755" if mode & 0o100 else "100644", _blob(path.read_bytes())), mode


def _blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


# ── what the program promised ────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Made:
    """One new commit of the program: its parents, its message, what it touches."""

    sha: str
    parents: str
    message: str
    touched: Mapping[str, str]  # path -> A, M, D, T

    @property
    def refs(self) -> set[str]:
        """The records that it adds."""
        refs = [layout.ref_of(path) for path, kind in self.touched.items() if kind == "A"]
        return {str(ref) for ref in refs if ref}


def made_between(root: Path, before: str, after: str) -> list[Made]:
    """The commits of `after` that `before` has not, oldest first."""
    lines = asked(root, "rev-list", "--reverse", "--parents", f"{before}..{after}").splitlines()
    found = []
    for line in lines:
        sha, _, parents = line.partition(" ")
        message = asked(root, "log", "-1", "--format=%B", sha)
        form = ("diff-tree", "-r", "--no-renames", "--no-commit-id", "--name-status", "-z")
        fields = asked(root, *form, sha).split("\0")[:-1]
        touched = dict(zip(fields[1::2], fields[::2], strict=True))
        found.append(Made(sha, parents, message, touched))
    return found


def taken_away(root: Path, seen: Picture) -> set[str]:
    """The records that the program's commits up to here made and that are gone."""
    form = "%(trailers:key=Skillvault-Target,valueonly)"
    targets = set(asked(root, "log", f"--format={form}", seen.head).split())
    return targets - {str(layout.ref_of(path)) for path in seen.tree}


def history(root: Path) -> set[str]:
    """Every path that a commit ever added, the lost ones of the reflog included."""
    form = ("log", "--all", "--reflog", "-m", "--no-renames", "--format=", "--name-only", "-z")
    return set(asked(root, *form).replace("\n", "\0").split("\0"))


def waiting_files(root: Path) -> set[bytes]:
    """The bytes of everything in the inbox and the quarantine."""
    places = [place for door in layout.UNTRACKED for place in (root / door).rglob("*")]
    return {place.read_bytes() for place in places if place.is_file()}


def minutes(of: datetime) -> str:
    """A time as git takes it."""
    return f"{int(of.timestamp())} +0000"

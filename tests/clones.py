"""A team: clones of one vault around a bare repository, each with its person and its machine."""

import gc
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from skillvault import api
from skillvault.api import Vault
from skillvault.loop.run import Report
from skillvault.team.sync import SyncReport
from tests.conftest import NOW, Person
from tests.given import as_file, trade

LATER = NOW + timedelta(days=20)
REMOTE = "team.git"


def bare(place: Path) -> Path:
    """A bare repository, which nobody has pushed to yet."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(place)], check=True)
    return place


class Clone:
    """One clone of the team's vault; its name is that of its folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.name = root.name
        self.vault = Vault(root)
        self.person = Person(root)

    @classmethod
    def of(cls, remote: Path, root: Path) -> "Clone":
        """A clone as a person makes it, and `init` mends it."""
        subprocess.run(["git", "clone", "-q", str(remote), str(root)], check=True)
        subprocess.run(
            ["git", "-C", str(root), "config", "skillvault.clone", root.name], check=True
        )
        Vault.init(root, now=NOW)
        (root / ".git/hooks/pre-commit").unlink()  # a Python of its own in each commit
        return cls(root)

    def record(self, numbers: Iterable[int], **changes: Any) -> None:
        """Outcomes that can be told from every other one's."""
        files = []
        for number in numbers:
            named = {"event_id": f"event-{number}", "decision__target": f"TARGET-{number % 3}"}
            files.append((f"{number}.json", as_file(trade(number % 18, **{**named, **changes}))))
        self.vault.record(files, now=LATER)

    def run(self, now: datetime = LATER) -> Report:
        """The loop, once."""
        return self.vault.run(now=now)

    def sync(self, *, take_over: bool = False, now: datetime = LATER) -> SyncReport:
        """`skillvault sync`."""
        return api.sync(self.vault, take_over=take_over, now=now)

    def edit(self, path: str, *pairs: tuple[str, str]) -> None:
        """A person changes words of a file and commits that."""
        text = (self.root / path).read_text(encoding="utf-8")
        for old, new in pairs:
            assert old in text, f"{old} in {path}"
            text = text.replace(old, new, 1)
        self.person.write(path, text)
        self.person.git("commit", "-qam", f"Edit {path}")

    def tree(self) -> str:
        """The id of the committed tree."""
        return self.person.git("rev-parse", "HEAD^{tree}")

    def text(self, path: str) -> str:
        """A file of the work tree; "" if there is none."""
        place = self.root / path
        return place.read_text(encoding="utf-8") if place.is_file() else ""


class Team:
    """Some clones around one remote, all equal, the first of which learns."""

    def __init__(self, remote: Path, clones: Sequence[Clone]) -> None:
        self.remote = remote
        self.clones = clones

    @classmethod
    def made(cls, pattern: Path, place: Path, names: Sequence[str]) -> "Team":
        """A team for a vault that is like `pattern`."""
        place.mkdir(exist_ok=True)
        remote, first = bare(place / REMOTE), place / names[0]
        shutil.copytree(pattern, first, symlinks=True)
        person = Person(first)
        person.git("remote", "add", "origin", str(remote))
        person.git("config", "skillvault.clone", names[0])
        (first / ".git/hooks/pre-commit").unlink(missing_ok=True)
        clones = [Clone(first)]
        clones[0].sync()
        clones += [Clone.of(remote, place / name) for name in names[1:]]
        return cls(remote, clones)

    @classmethod
    def copied(cls, pattern: Path, place: Path) -> "Team":
        """A team like the one in the folder `pattern`, which nothing holds open."""
        if any(pattern.glob("*/.git/skillvault/*-wal")):
            gc.collect()  # a vault that nobody uses any more still holds its index open
        shutil.copytree(pattern, place, symlinks=True)
        roots = sorted(git.parent for git in place.glob("*/.git"))
        for root in roots:
            config = root / ".git/config"
            config.write_text(config.read_text().replace(str(pattern), str(place)))
        return cls(place / REMOTE, [Clone(root) for root in roots])

    def sync(self) -> None:
        """Each clone, and once more those whose turn was before others pushed."""
        for clone in [*self.clones, *self.clones]:
            synced = clone.sync()
            assert not synced.problems
            assert synced.away is None

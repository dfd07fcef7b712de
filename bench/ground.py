"""The vaults that one run of the table measures in, each made once and when it is asked for."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from learned import Dated, learned, recorded
from remembered import remembered
from shelf import shelved
from stream import START, STEP, shifted, stream
from vaults import empty, made

PER_OUTCOME = 5  # records at least, in a vault that learned


class Ground:
    """A folder for the vaults, how much is measured, and when their histories end at the latest."""

    def __init__(self, folder: Path, *, quick: bool) -> None:
        self.quick = quick
        self.sizes = (1_000, 10_000) if quick else (10_000, 100_000)
        self.ends = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
        self._folder = folder

    def vault(self, records: int) -> Path:
        """A vault that came to so many records; what learns in it takes a copy."""
        changes = learned(records, starts=self.ends - records // PER_OUTCOME * STEP)
        return self._once(f"learned-{records}", lambda at: made(at, changes))

    def recorded(self, outcomes: int) -> Path:
        """A vault of so many outcomes and their evaluations, over three years."""
        step = timedelta(days=3 * 365) / outcomes
        changes = recorded(outcomes, batch=100, starts=self.ends - outcomes * step, step=step)
        return self._once(f"recorded-{outcomes}", lambda at: made(at, changes))

    def long(self, commits: int) -> Path:
        """A vault of so many commits, in which the outcomes came one at a time."""
        changes = islice(learned(10 * commits, batch=1), commits)
        return self._once(f"long-{commits}", lambda at: made(at, changes))

    def shelf(self, skills: int) -> Path:
        """A vault of skills alone."""
        return self._once(f"shelf-{skills}", lambda at: made(at, shelved(skills)))

    def memory(self, facts: int) -> Path:
        """A vault of facts alone."""
        return self._once(f"memory-{facts}", lambda at: made(at, remembered(facts)))

    def report(self, outcomes: int, changes: Callable[[], Iterable[Dated]]) -> Path:
        """A vault of so many outcomes, of which a page is made."""
        return self._once(f"report-{outcomes}", lambda at: made(at, changes()))

    def folder(self, skills: int) -> Path:
        """An empty vault beside a folder with the skills of `shelf`."""
        return self._once(f"folder-{skills}", lambda at: self._beside(at, skills))

    def _beside(self, root: Path, skills: int) -> Path:
        shutil.copytree(self.shelf(skills) / "skills", self._folder / f"beside-{skills}")
        policy = empty(root).root / "vault.yaml"
        policy.write_text(f"{policy.read_text()}shelf: {{dirs: [../beside-{skills}]}}\n")
        subprocess.run(["git", "commit", "-qam", "Serve a folder"], cwd=root, check=True)
        return root

    def new(self, name: str) -> Path:
        """An empty vault."""
        return empty(self._folder / name).root

    def copy(self, vault: Path, name: str) -> Path:
        """A copy of a vault, in which work may be done."""
        root = self._folder / name
        subprocess.run(["cp", "-a", str(vault), str(root)], check=True)
        refreshed = ["git", "update-index", "-q", "--refresh"]
        subprocess.run(refreshed, cwd=root, check=True)
        return root

    def repository(self, vault: Path, name: str) -> Path:
        """A copy without the vault's hooks and index database: for git alone."""
        root = self.copy(vault, name)
        shutil.rmtree(root / ".git" / "hooks")
        shutil.rmtree(root / ".git" / "skillvault", ignore_errors=True)
        return root

    def drop(self, *roots: Path) -> None:
        """Remove what is not measured in any more."""
        for root in roots:
            shutil.rmtree(root)

    def _once(self, name: str, make: Callable[[Path], Path]) -> Path:
        root = self._folder / name
        return root if root.exists() else make(root)


def arriving(count: int, after: datetime, name: str) -> list[tuple[str, bytes]]:
    """Outcomes as files, which a vault that ends before `after` has not seen."""
    ahead = after - START
    found = [shifted(one, ahead) for one in stream(count, seed=2)]
    named = [{**one, "event_id": f"{name}-{number}"} for number, one in enumerate(found)]
    return [(f"{name}-{n}.json", json.dumps(one).encode()) for n, one in enumerate(named)]


def head(root: Path) -> str:
    """The commit that a repository stands at."""
    command = ["git", "rev-parse", "HEAD"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()

"""Clones of one vault around one remote: how often they stop, with `git pull` and with sync.

python bench/teams.py [ROUNDS] [SCENARIO]. A round: each clone records two outcomes and runs the
loop, then all bring themselves together. Every clone learns, but where one is named; in those
scenarios a person edits a skill in each round, and pins every fifth.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from skillvault import api
from skillvault.api import Vault
from tests.given import as_file, trade

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
DRIVER = "merge.skillvault"


class Scenario(NamedTuple):
    """A team: its clones, the share of outcomes that all see, the learner, the way to sync."""

    clones: int
    shared: int
    learner: str
    way: str

    def __str__(self) -> str:
        return f"{self.clones} clones, {self.shared} % shared, {self.learner} learns, {self.way}"


SCENARIOS = [
    *(Scenario(n, s, "all", "pull") for n, s in ((2, 0), (3, 0), (3, 20), (5, 20))),
    *(Scenario(n, s, "all", "sync") for n, s in ((2, 0), (3, 0), (3, 20), (5, 20))),
    *(Scenario(3, 20, "clone-0", way) for way in ("pull", "sync")),
]


class Figures:
    """The counts of a scenario."""

    def __init__(self) -> None:
        self.syncs = self.stops = self.paths = self.broken = self.rounds = 0
        self.last = 0

    def row(self, scenario: Scenario) -> str:
        """Return the figures as a line of a table."""
        return (
            f"| {scenario} | {self.stops} of {self.syncs} | "
            f"{100 * self.paths / max(1, self.syncs):.0f} | {self.broken} of {self.rounds} | "
            f"{self.last} |"
        )


def git(root: Path, *args: str, ok: bool = True) -> str:
    """Run git as a person and return its output."""
    command = ["git", "-C", str(root), *args]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if ok and done.returncode:
        raise SystemExit(f"git {' '.join(args)}: {done.stdout}{done.stderr}")
    return done.stdout.strip()


def clones_of(scenario: Scenario, place: Path) -> list[Vault]:
    """Make equal clones; with the way `pull`, git merges without our driver."""
    remote, roots = place / "team.git", [place / f"clone-{n}" for n in range(scenario.clones)]
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(remote)], check=True)
    Vault.init(roots[0], ["perps"], now=NOW)
    policy = roots[0] / "vault.yaml"
    policy.write_text(f"{policy.read_text()}learner: {scenario.learner}\n")
    git(roots[0], "commit", "-qanm", "Who learns")
    git(roots[0], "remote", "add", "origin", str(remote))
    git(roots[0], "push", "-qu", "origin", "main")
    for root in roots[1:]:
        git(place, "clone", "-q", str(remote), str(root))
    for root in roots:
        git(root, "config", "skillvault.clone", root.name)
        Vault.init(root)
        if scenario.way == "pull":
            git(root, "config", "--remove-section", DRIVER)
    return [Vault(root) for root in roots]


def outcomes(scenario: Scenario, clone: int, number: int) -> Iterator[tuple[str, bytes]]:
    """Yield a clone's two outcomes of a round; the first may be one that all clones see."""
    for part in range(2):
        is_shared = not part and number % 5 < scenario.shared * 2 * 5 // 100
        name = f"r{number}-{part}" + ("" if is_shared else f"-c{clone}")
        seed = number * 7 + part * 3 + (0 if is_shared else clone * 11)
        changes = {"event_id": name, "decision__target": f"T{seed % 4}"}
        yield f"{name}.json", as_file(trade(number % 18, (seed % 9 - 5) / 20, **changes))


def edit(vault: Vault, number: int, now: datetime) -> None:
    """Let a person add a section to a skill, or pin it every fifth time."""
    skills = [skill for skill in vault.skills() if skill.status in ("testing", "proven")]
    if not skills:
        return
    skill = skills[number % len(skills)]
    if number % 5 == 4:
        vault.curate.pin(skill.name, now=now)
        return
    place = vault.root / skill.path
    place.write_text(f"{place.read_text().rstrip()}\n\n## Note {number}\n\nAsk of {number}.\n")
    git(vault.root, "commit", "-qanm", f"Note {number}")


def pulled(vault: Vault) -> int:
    """Pull, resolve conflicts by the other side, push; return the number of conflicts."""
    git(vault.root, "pull", "-q", "--no-rebase", "--no-edit", ok=False)
    paths = git(vault.root, "diff", "--name-only", "--diff-filter=U").splitlines()
    for path in paths:
        git(vault.root, "checkout", "--theirs", "--", path, ok=False)
        git(vault.root, "add", "-A", "--", path, ok=False)
    if paths:
        git(vault.root, "commit", "-qn", "--no-edit")
    git(vault.root, "push", "-q", ok=False)
    return len(paths)


def together(scenario: Scenario, vault: Vault, figures: Figures, now: datetime) -> None:
    """Sync one clone and count the conflicts."""
    figures.syncs += 1
    pulls = scenario.way == "pull"
    paths = pulled(vault) if pulls else len(api.sync(vault, now=now).problems)
    figures.paths += paths
    figures.stops += bool(paths)


def measured(scenario: Scenario, rounds: int, place: Path) -> Figures:
    """Play the rounds of a scenario and return its figures."""
    vaults, figures = clones_of(scenario, place), Figures()
    for number in range(rounds):
        now = NOW + timedelta(hours=number)
        for clone, vault in enumerate(vaults):
            vault.record(outcomes(scenario, clone, number), now=now + timedelta(minutes=clone))
            vault.run(now=now + timedelta(minutes=clone))
        if scenario.learner != "all":
            edit(vaults[number % len(vaults)], number, now)
        for vault in [*vaults, *vaults]:
            together(scenario, vault, figures, now)
        figures.rounds += 1
        figures.broken += any(vault.check().problems for vault in vaults)
    _settle(scenario, vaults, figures, NOW + timedelta(hours=rounds))
    return figures


def _settle(scenario: Scenario, vaults: list[Vault], figures: Figures, now: datetime) -> None:
    """Sync until nothing is open, then count the commits that a run still makes."""
    for _ in range(2):
        vaults[0].run(now=now)
        for vault in [*vaults, *vaults]:
            together(scenario, vault, figures, now)
    figures.last = sum(len(vault.run(now=now).done) for vault in vaults)


def main() -> None:
    """Print a row a scenario, or of those whose words are named."""
    rounds = int(sys.argv[1]) if sys.argv[1:] else 20
    print(
        "| clones | syncs that stopped | conflicted paths per 100 | rounds in which check fails |"
        " commits of a last run |\n|---|---|---|---|---|"
    )
    for scenario in SCENARIOS:
        if all(word in str(scenario) for word in sys.argv[2:]):
            with tempfile.TemporaryDirectory(prefix="teams-") as place:
                print(measured(scenario, rounds, Path(place)).row(scenario), flush=True)


if __name__ == "__main__":
    main()

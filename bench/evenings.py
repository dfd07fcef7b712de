"""Rounds of a team of five: records, offline days, renames, approvals by branch, and erasures.

python bench/evenings.py [ROUNDS] [SEED]. In each round each clone records and runs, one of two
people is offline, and by turns a person renames a skill, merges the branches of proposals, or
erases a name. It prints the figures, and ends with 1 unless no sync stopped for a conflict, `check`
holds in each clone after each round, and all trees are equal at the end.
"""

import random
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

from teams import NOW, Scenario, clones_of, git

from skillvault import api
from skillvault.api import Vault
from skillvault.model.errors import SkillvaultError, UsageError
from skillvault.team import erase as erasing
from tests.given import as_file, trade

SCENARIO = Scenario(5, 0, "clone-0", "sync")
NAMES = ("Zoe Quill", "Omar Brandt", "Lena Voss", "Ivo Sander", "Nia Holm")


class Evening:
    """The clones, who is offline, and what was counted."""

    def __init__(self, place: Path, seed: int) -> None:
        self.vaults = clones_of(SCENARIO, place)
        self.chance = random.Random(seed)
        self.figures: Counter[str] = Counter()
        self.notes: list[str] = []
        for vault in self.vaults:
            (vault.root / ".git/hooks/pre-commit").unlink(missing_ok=True)
        policy = self.vaults[0].root / "vault.yaml"
        policy.write_text(f"{policy.read_text()}generate: {{gate: always}}\n")
        git(self.vaults[0].root, "commit", "-qam", "Skills wait for a pull request")
        self.sync(self.vaults, NOW)

    def play(self, number: int) -> None:
        """One round."""
        now = NOW + timedelta(hours=number)
        online = [v for v in self.vaults if v is self.vaults[0] or self.chance.random() < 0.5]
        self.figures["offline"] += len(self.vaults) - len(online)
        name = NAMES[number // 4 % len(NAMES)]
        for clone, vault in enumerate(self.vaults):
            self.record(vault, clone, number, name, now + timedelta(minutes=clone))
        self.sync(online, now)
        self.vaults[0].run(now=now)
        if number % 4 == 1:
            self.rename(self.chance.choice(self.vaults), number)
        if number % 4 == 2:
            self.approve(self.chance.choice(online), now)
        if number % 4 == 3:
            self.erase(online[-1], name, now)
        self.sync(online, now)
        self.check(f"round {number}")

    def record(self, vault: Vault, clone: int, number: int, name: str, now: datetime) -> None:
        """Two outcomes of a clone; one names a person."""
        for part in range(2):
            words = {"result__summary": f"{name} saw it"} if part else {}
            changes = {"event_id": f"r{number}-{part}-c{clone}", "decision__target": f"T{part}"}
            score = (number * 7 + clone * 3 + part) % 9 / 20 - 0.2
            one = trade(number % 18, score, **changes, **words)
            vault.record([(f"r{number}-{part}.json", as_file(one))], now=now)
        vault.run(now=now)

    def rename(self, vault: Vault, number: int) -> None:
        """A person renames the folder of a skill."""
        skills = [
            s for s in vault.skills() if s.path.startswith("skills/") and "learned" not in s.path
        ]
        if not skills:
            return
        old = self.chance.choice(skills).name
        new = f"{old.split('-renamed')[0]}-renamed-{number}"
        git(vault.root, "mv", f"skills/{old}", f"skills/{new}")
        place = vault.root / f"skills/{new}/SKILL.md"
        place.write_text(place.read_text().replace(f"name: {old}\n", f"name: {new}\n", 1))
        git(vault.root, "commit", "-qam", f"Rename {old}")
        self.figures["renames"] += 1

    def approve(self, vault: Vault, now: datetime) -> None:
        """The learner pushes branches of its proposals, and a person merges two of them."""
        self.sync([self.vaults[0], vault], now)
        made = api.proposal_branches(self.vaults[0], push=True, now=now).branches
        git(vault.root, "fetch", "-q", "origin")
        for proposal in made[:2]:
            git(vault.root, "merge", "-q", "--no-ff", "--no-edit", f"origin/{proposal.branch}")
            self.figures["approvals"] += 1

    def erase(self, vault: Vault, name: str, now: datetime) -> None:
        """A person erases a name, and hands the key to the others."""
        self.sync([vault], now)
        erasing.erase(vault.store, [name], lambda _: True, now=now)
        self.figures["erasures"] += 1

    def sync(self, vaults: list[Vault], now: datetime) -> None:
        """Each of these clones twice; a refused one follows the erasure first."""
        for vault in [*vaults, *vaults]:
            self.figures["syncs"] += 1
            try:
                report = api.sync(vault, now=now)
            except UsageError as error:
                if "--follow" not in str(error):
                    raise
                key = next(filter(None, (erasing.read_key(v.store.git) for v in self.vaults)))
                erasing.erase(vault.store, [], lambda _: True, key=key, now=now)
                self.figures["followed"] += 1
                report = api.sync(vault, now=now)
            self.figures["conflicts"] += len(report.problems)
            self.notes += [f"{vault.root.name}: {problem}" for problem in report.problems]

    def check(self, where: str) -> None:
        """Count the problems of each clone."""
        for vault in self.vaults:
            problems = vault.check().problems
            self.figures["problems"] += len(problems)
            self.notes += [f"{where}, {vault.root.name}: {problem}" for problem in problems]

    def end(self, now: datetime) -> None:
        """Everybody is online again, and the learner learns once more."""
        for _ in range(2):
            self.sync(self.vaults, now)
            self.vaults[0].run(now=now)
        self.sync(self.vaults, now)
        self.check("at the end")
        trees = {git(vault.root, "rev-parse", "HEAD^{tree}") for vault in self.vaults}
        self.figures["different trees"] = len(trees)
        for vault in self.vaults:
            grep = ["git", "-C", str(vault.root), "log", "--all", "--format=%H", "-i", "-G"]
            for name in NAMES[: self.figures["erasures"]]:
                out = subprocess.run([*grep, name], capture_output=True, text=True, check=True)
                self.figures["erased names found"] += len(out.stdout.split())


def main() -> None:
    """Play the rounds, and print what was counted."""
    rounds = int(sys.argv[1]) if sys.argv[1:] else 20
    seed = int(sys.argv[2]) if sys.argv[2:] else 1
    with tempfile.TemporaryDirectory(prefix="evenings-") as place:
        evening = Evening(Path(place), seed)
        try:
            for number in range(rounds):
                evening.play(number)
                print(number, dict(evening.figures), flush=True)
            evening.end(NOW + timedelta(hours=rounds))
        except SkillvaultError as error:
            evening.notes.append(f"stopped: {error}")
        print(*evening.notes, dict(evening.figures), sep="\n")
    bad = [evening.figures[key] for key in ("conflicts", "problems", "erased names found")]
    sys.exit(bool(any(bad) or evening.notes or evening.figures["different trees"] != 1))


if __name__ == "__main__":
    main()

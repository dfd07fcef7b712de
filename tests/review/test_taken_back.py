"""Random histories of learn, edit, undo, retract, revert and run: nothing of a person's is lost."""

import random
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest

from skillvault.api import Vault, retract, undo
from skillvault.model.errors import UncommittedEditError
from tests.conftest import NOW, Person, unguarded
from tests.given import as_file, raw, trade
from tests.thorough import THOROUGH

MINE = "\n## Mine\n\nAsk first.\n"
DEEDS = ("learn", "learn", "edit", "undo", "retract", "revert", "run")
SEEDS = range(500 if THOROUGH else 2)


class History:
    """A vault, and a person who works in it at random."""

    def __init__(self, root: Path, seed: int) -> None:
        self.vault = Vault(root)
        self.person = Person(root)
        self.chance = random.Random(seed)
        self.edited: set[str] = set()
        self.day = 0

    def learn(self) -> None:
        """Record an outcome of a known or a new target, and run."""
        self.day += 1
        target = f"t{self.chance.randrange(3)}"
        wins = self.chance.random() < 0.3
        outcome = self.chance.choice([
            raw(self.day, decision__target=target, result__evidence=f"ERROR in {target}: no route"),
            trade(self.day, score=0.3 if wins else -0.2, decision__target=target),
        ])  # fmt: skip
        self.vault.record([(f"{self.day}.json", as_file(outcome))], now=NOW)
        self.run()

    def run(self) -> None:
        """Do what is due; a second run has nothing to do."""
        self.vault.run(now=NOW)
        assert not self.vault.run(now=NOW).done

    def edit(self) -> None:
        """Let the person add a section of their own to a skill."""
        names = [one.name for one in self.vault.skills() if one.name not in self.edited]
        if names:
            name = self.chance.choice(names)
            path = self.vault.root / "skills" / name / "SKILL.md"
            path.write_text(path.read_text() + MINE)
            self.person.git("commit", "-qam", f"mine in {name}")
            self.edited.add(name)

    def undo(self) -> None:
        """Undo a skill; one with a person's words is refused and stays."""
        names = [one.name for one in self.vault.skills()]
        if names:
            name = self.chance.choice(names)
            before = self.person.git("rev-parse", "HEAD")
            if name in self.edited:
                with pytest.raises(UncommittedEditError):
                    undo(self.vault, name, now=NOW)
                assert self.person.git("rev-parse", "HEAD") == before
            else:
                undo(self.vault, name, now=NOW)
                assert name not in self.vault.store.snapshot().skills
                self.run()
                assert name not in self.vault.store.snapshot().skills

    def retract(self) -> None:
        """Retract an outcome as wrong."""
        head = self.vault.store.snapshot()
        names = sorted(set(head.outcomes) - set(head.retractions))
        if names:
            retract(self.vault, self.chance.choice(names), "wrong", now=NOW)

    def revert(self) -> None:
        """Let the person revert the latest retraction."""
        log = self.person.git("log", "-1", "--format=%H", "--grep=^retract: ")
        if log and self.person.git("revert", "--no-edit", log, ok=False) is not None:
            self.person.git("revert", "--abort", ok=False)
        self.run()


def whole(history: History) -> None:
    """Assert that `check` is clean and that the person's words stand."""
    assert history.vault.check().problems == []
    assert history.person.status() == ""
    for name in history.edited:
        skill = history.vault.store.snapshot().skills.find(name)
        assert skill is not None
        assert MINE.strip() in skill.body


@pytest.fixture
def new_root(_new_vault: Path) -> Path:
    """A vault as `init` makes it."""
    return _new_vault


@pytest.mark.parametrize("seed", SEEDS)
def test_random_histories(new_root: Path, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = History(unguarded(new_root, Path(folder) / "vault"), seed)
        for _ in range(12):
            getattr(history, history.chance.choice(DEEDS))()
            whole(history)


@pytest.mark.parametrize("seed", SEEDS)
def test_retracting_late_is_retracting_on_arrival(new_root: Path, seed: int) -> None:
    """Of random outcomes, and of a random one that was wrong: the same is served."""
    with tempfile.TemporaryDirectory() as folder:
        served: list[dict[str, str]] = []
        for late in (True, False):
            place = Path(folder) / str(late)
            history = History(unguarded(new_root, place), seed)
            if late:
                for _ in range(6):
                    history.learn()
            else:
                history.run = lambda: None  # type: ignore[method-assign]
                for _ in range(6):
                    history.learn()
            names = sorted(history.vault.store.snapshot().outcomes)
            retract(history.vault, names[seed % len(names)], "wrong", now=NOW)
            history.vault.run(now=NOW + timedelta(minutes=1))
            head = history.vault.store.snapshot()
            served.append({name: skill.body.strip() for name, skill in head.skills.items()})
        assert served[0] == served[1]

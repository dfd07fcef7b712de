"""A vault with a person's work in it, the machine that is killed, and what must hold after."""

import ast
import gc
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from skillvault.api import Vault
from tests import forked
from tests.conftest import Person
from tests.crash.scenario import BAD, DROPPED, LATE, LATER, RECORDED, RULES, noted, outcomes
from tests.vault.given import HAND_MADE

PACKAGE = Path(__file__).resolve().parents[2] / "skillvault"
KILLED = -signal.SIGKILL


def failpoints() -> list[str]:
    """Every point in the package, by its calls of `reach`.

    Those of judges that cost something are in tests/judge, those of a sync in test_sync,
    those of an erasure in tests/team, those of `cold` in tests/vault.
    """
    found: set[str] = set()
    elsewhere = {
        PACKAGE / "vault" / "spending.py",
        PACKAGE / "loop" / "judging" / "client_calls.py",
        PACKAGE / "team" / "sync.py",
        PACKAGE / "team" / "erase.py",
        PACKAGE / "vault" / "commit" / "cold.py",
    }
    for path in set(PACKAGE.rglob("*.py")) - elsewhere:
        text = path.read_text()
        if "reach(" not in text:  # to parse the whole package takes three seconds
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "reach":
                found.update(str(a.value) for a in node.args if isinstance(a, ast.Constant))
    return sorted(found)


class World:
    """One vault; `person` has work in every state in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.person = Person(root)

    @classmethod
    def made(cls, root: Path) -> "World":
        """A new vault, the person at work, the inbox full."""
        vault, _ = Vault.init(root, ["perps", "coding"])
        world = cls(root)
        person = world.person
        person.write("skills/mine/SKILL.md", HAND_MADE.format(name="mine"))
        person.write("notes.md", "one\ntwo\n")
        person.git("add", "-A")
        person.git("commit", "-qm", "mine")
        person.write("staged.md", "staged\n")
        person.write("notes.md", "one\nstaged\n")
        person.git("add", "staged.md", "notes.md")
        person.write("notes.md", "one\nedited\n")
        person.write("skills/mine/SKILL.md", HAND_MADE.format(name="mine") + "Edited.\n")
        person.write("memory/perps/mine.md", "untracked\n")
        person.write("intended.md", "later\n")
        person.git("add", "-N", "intended.md")
        vault.inbox.create_folders()
        for number, data in enumerate(outcomes()):
            world.drop(f"agent-{number}.json", data)
        world.drop("bad.yaml", BAD)
        del vault
        gc.collect()  # a vault that nobody uses any more still holds its index open
        return world

    def copied(self, root: Path) -> "World":
        """Another one like this."""
        shutil.copytree(self.root, root, symlinks=True)
        Person(root).git("update-index", "-q", "--refresh", ok=False)
        return World(root)

    def drop(self, name: str, data: bytes) -> None:
        """Put a file into the inbox as an agent does, some time ago."""
        draft = self.root / "inbox" / f".{name}"
        draft.write_bytes(data)
        os.utime(draft, (0, time.time() - 60))
        draft.rename(self.root / "inbox" / name)

    def start(self) -> subprocess.Popen[bytes]:
        """The machine, in a process group of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "tests.crash.scenario", str(self.root)],
            cwd=PACKAGE.parent,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def run(self, point: str = "") -> int | None:
        """Play the scenario in the vault, and return the exit code of its process."""
        return forked.played(self.root, point)

    def hand(self) -> tuple[str, str, dict[str, bytes]]:
        """The person's work: what differs in the index, what is not committed, its bytes."""
        person = self.person
        entries = person.git("status", "--porcelain", "--untracked-files=all").splitlines()
        status = [line for line in entries if "quarantine" not in line]
        paths = ("staged.md", "notes.md", "skills/mine/SKILL.md", "memory/perps/mine.md")
        seen = {path: (self.root / path).read_bytes() for path in (*paths, "intended.md")}
        return person.git("diff", "--cached"), "\n".join(sorted(status)), seen

    def check(self, before: tuple[str, str, dict[str, bytes]]) -> None:
        """Check that after a finished run nothing shows what happened on the way."""
        assert self.hand() == before
        assert self.person.git("fsck", "--strict", "--no-dangling", "--no-progress") == ""
        vault = Vault.open(self.root)
        head = vault.store.snapshot()
        events = sorted(one.event_id or "" for one in head.outcomes.values())
        assert events == sorted([*LATE, *(f"event-{n}" for n in range(RECORDED + DROPPED))])
        assert sorted(head.evaluations) == sorted(head.outcomes)
        assert vault.check().problems == []
        assert vault.inbox.names() == []
        assert [noted(self.root).count(rule) for rule in RULES] == [1] * len(RULES)
        assert [(one.name, one.code) for one in vault.inbox.quarantine.files()] == [
            ("bad.yaml", "yaml")
        ]
        assert not list((self.root / ".git/skillvault").glob("intent*"))
        left = [p for p in self.root.rglob(".skillvault-*") if ".git" not in p.parts]
        assert left == []
        # Every lock file is an flock of this program, which stays.
        assert {p.parent.name for p in (self.root / ".git").rglob("*.lock")} <= {"skillvault"}
        assert vault.run(now=LATER).done == []

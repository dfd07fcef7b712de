"""A daemon, a stream of outcomes and a person's git in one vault: what is lost, who is refused.

`skillvault watch` learns from a few outcomes a second while a scripted person does whatever git
can do, a command every fraction of a second. With `--kills` the daemon is killed every few
seconds and started again. At the end each outcome must be in the branch, the inbox or among those
taken, and no commit of the person's on another branch may hold a record; the exit code is 1
otherwise. The same seed draws the same commands; what they meet is the machine's.

    python bench/person.py [MINUTES] [--kills] [--seed N]
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import yaml
from stream import START, STEP, shifted, stream

from skillvault import Vault
from skillvault.model.errors import SkillvaultError
from skillvault.vault.commit import locks

PAUSE = 0.3  # seconds between two outcomes
BETWEEN = (0.02, 0.5)  # seconds between two things that the person does
KILL_EVERY = 5.0
TRIES = 100  # of a command that met a lock; a person tries again
MINE, OTHER = "mine.txt", "feature"
PUBLICATIONS, FILES = 100, 50  # that the lock's time is measured with
LOCKED = ("index.lock", "cannot lock ref", "Unable to create", "gc is already running")

Script = Sequence[Sequence[str]]
# What a person does, each as they would type it; `SAVE` saves their file first.
SCRIPTS: dict[str, Script] = {
    "commit -am": [["SAVE"], ["commit", "-qam", "mine"]],
    "add + commit": [["SAVE"], ["add", MINE], ["commit", "-qm", "mine"]],
    "add -A + commit": [["SAVE"], ["add", "-A"], ["commit", "-qm", "mine"]],
    "commit in an editor": [["SAVE"], ["add", MINE], ["EDITOR", "commit", "-q"]],
    "commit -a in an editor": [["SAVE"], ["EDITOR", "commit", "-qa"]],
    "work on another branch": [
        ["checkout", "-q", OTHER], ["SAVE"], ["commit", "-qam", "there"],
        ["checkout", "-q", "main"],
    ],
    "a new branch": [["switch", "-q", "-c", "new"], ["SAVE"], ["commit", "-qam", "there"],
                     ["switch", "-q", "main"], ["branch", "-q", "-D", "new"]],
    "detach": [["checkout", "-q", "--detach"], ["checkout", "-q", "main"]],
    "stash": [["SAVE"], ["stash", "push", "-q"], ["stash", "pop", "-q"]],
    "stash -u": [["SAVE"], ["stash", "push", "-qu"], ["stash", "pop", "-q"]],
    "reset": [["SAVE"], ["add", MINE], ["reset", "-q"]],
    "reset --hard": [["SAVE"], ["reset", "-q", "--hard"]],
    "restore": [["SAVE"], ["restore", "."]],
    "clean": [["clean", "-qfd"]],
    "rebase and abort": [["REBASE", "rebase", "-qi", "HEAD~2"], ["rebase", "--abort"]],
    "rebase and go on": [["REBASE", "rebase", "-qi", "HEAD~2"], ["rebase", "--continue"]],
    "merge and abort": [["merge", "-q", OTHER], ["merge", "--abort"]],
    "cherry-pick and abort": [["cherry-pick", OTHER], ["cherry-pick", "--abort"]],
    "bisect": [["bisect", "start", "HEAD", "HEAD~3"], ["bisect", "reset"]],
    "gc": [["gc", "-q", "--prune=now"]],
    "worktree": [["worktree", "add", "-q", "../tree", OTHER], ["worktree", "remove", "../tree"]],
    "read": [["status", "-s"], ["diff"], ["log", "-3", "--oneline"]],
}  # fmt: skip
MOSTLY = ("commit -am", "add + commit", "read", "work on another branch", "stash")
REFUSED_BY_DESIGN = ("merge", "cherry-pick")  # they end in a conflict


class Person:
    """A person with git; `commands` counts all commands, `refusals` those that met a lock."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.draw = random.Random(seed)
        self.saves = 0
        self.commands = 0
        self.refusals: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.done: Counter[str] = Counter()

    def act(self) -> None:
        """Do one thing as a person does, then return to main."""
        often = self.draw.random() < 0.5
        name = self.draw.choice(MOSTLY if often else tuple(SCRIPTS))
        self.done[name] += 1
        for words in SCRIPTS[name]:
            if words == ["SAVE"]:
                self.save()
            elif not self.git(words) and words[0] not in REFUSED_BY_DESIGN:
                break
        self.go_home()

    def save(self) -> None:
        """Save another text in the person's own file."""
        self.saves += 1
        (self.root / MINE).write_text(f"text {self.saves}\n")

    def git(self, words: Sequence[str]) -> bool:
        """Run a git command, and again while git reports a lock."""
        self.commands += 1
        done = self._typed(words)
        if locked := _meets_lock(done):
            self.refusals[" ".join(words[:2])] += 1
        for _ in range(TRIES if locked else 0):
            time.sleep(0.1)
            done = self._typed(words)
            if not _meets_lock(done):
                break
        if done.returncode:
            self.failures[done.stderr.strip().partition("\n")[0][:100]] += 1
        return done.returncode == 0

    def _typed(self, words: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        editors = {
            "EDITOR": ["-c", "core.editor=sh -c 'sleep 3; echo mine > $1' -"],
            "REBASE": ["-c", "sequence.editor=sed -i 1s/pick/edit/"],
        }
        command = ["git", *editors.get(words[0], []), *words[words[0] in editors :]]
        env = {**os.environ, "GIT_EDITOR": ""} if words[0] == "EDITOR" else dict(os.environ)
        env.pop("GIT_EDITOR", None)
        return subprocess.run(
            command, cwd=self.root, capture_output=True, text=True, check=False, env=env
        )

    def go_home(self) -> None:
        """End every open operation and return to main."""
        for name, sign in (("rebase", "rebase-merge"), ("merge", "MERGE_HEAD"),
                           ("cherry-pick", "CHERRY_PICK_HEAD")):  # fmt: skip
            if (self.root / ".git" / sign).exists():
                self.git([name, "--abort"])
        if (self.root / ".git/HEAD").read_text() != "ref: refs/heads/main\n":
            self.git(["checkout", "-qf", "main"])


def _meets_lock(done: "subprocess.CompletedProcess[str]") -> bool:
    return any(sign in done.stderr for sign in LOCKED)


class Daemon:
    """`skillvault watch`, started again whenever it was killed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.said = root.parent / "said"
        self.kills = 0
        self.child = self._started()

    def _started(self) -> "subprocess.Popen[bytes]":
        with self.said.open("ab") as said:
            command = [sys.executable, "-m", "skillvault", "watch"]
            return subprocess.Popen(command, cwd=self.root, stdout=said, stderr=said)

    def kill(self) -> None:
        """Kill it with its children still at work, and start another one."""
        self.child.kill()
        self.child.wait()
        self.kills += 1
        self.child = self._started()

    def end(self) -> int:
        """Ask it to end; its exit code."""
        self.child.terminate()
        try:
            return self.child.wait(20)
        except subprocess.TimeoutExpired:
            self.child.kill()
            return self.child.wait()


def founded(root: Path) -> None:
    """A vault with a file of the person's own and a branch on which it differs."""
    vault, _ = Vault.init(root, ["perps", "coding"])
    (root / ".git/hooks/pre-commit").unlink(missing_ok=True)  # it takes longer than git itself
    vault.record([(f"{n}.json", json.dumps(item).encode()) for n, item in enumerate(stream(3))])
    vault.run()
    for branch in ("main", OTHER, "main"):
        _git(root, "checkout", "-q", *(["-b"] if branch == OTHER else []), branch)
        (root / MINE).write_text(f"{branch} {time.monotonic_ns()}\n")
        _git(root, "add", MINE)
        _git(root, "commit", "-qm", f"mine on {branch}")


def _git(root: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout


class Feeder(threading.Thread):
    """Agents that drop an outcome every fraction of a second, until asked to stop."""

    def __init__(self, root: Path, minutes: float) -> None:
        super().__init__(daemon=True)
        self.root = root
        self.stopping = threading.Event()
        self.sent = 3
        count = int(minutes * 60 / PAUSE) + 1000
        ahead = datetime.now(UTC) - timedelta(hours=1) - (START + count * STEP)
        self.items = (shifted(item, ahead) for item in stream(count))
        for _ in range(self.sent):
            next(self.items)

    def run(self) -> None:
        """Drop them one by one."""
        while not self.stopping.wait(PAUSE):
            draft = self.root / "inbox" / f".{self.sent}.tmp"
            draft.write_text(json.dumps(next(self.items)))
            draft.rename(self.root / "inbox" / f"event-{self.sent}.json")
            self.sent += 1


def worked(root: Path, person: Person, minutes: float, *, kills: bool) -> tuple[int, Daemon]:
    """Let everybody work for some minutes; return the number of outcomes and the daemon."""
    daemon, feeder = Daemon(root), Feeder(root, minutes)
    feeder.start()
    start = time.monotonic()
    killed = told = start
    while time.monotonic() - start < minutes * 60:
        person.act()
        time.sleep(person.draw.uniform(*BETWEEN))
        now = time.monotonic()
        if kills and now - killed >= KILL_EVERY:
            daemon.kill()
            killed = now
        if now - told >= 60:
            told = now
            row = {"sent": feeder.sent, "commands": person.commands,
                   "refused": person.refusals.total(), "kills": daemon.kills}  # fmt: skip
            print(f"{(now - start) / 60:5.1f} min", row, flush=True)
    feeder.stopping.set()
    feeder.join()
    return feeder.sent, daemon


def settled(root: Path, daemon: Daemon, sent: int) -> int:
    """Wait up to three minutes for the daemon to take everything; return its exit code."""
    end = time.monotonic() + 180
    while time.monotonic() < end:
        with suppress(SkillvaultError):
            if Vault.open(root).status().outcomes >= sent and not list(_waiting(root)):
                break
        time.sleep(2)
    code = daemon.end()
    for _ in range(2):
        time.sleep(3)
        Vault.open(root).run()
    return code


def _waiting(root: Path) -> Iterator[str]:
    for folder in ("inbox", ".git/skillvault/taken"):
        for path in (root / folder).rglob("event-*"):
            yield path.name.partition(".")[0]


def faults(root: Path, person: Person, sent: int) -> list[str]:
    """Return a sentence for each condition that the vault breaks at the end."""
    texts = _git(root, "grep", "-h", "^event_id:", "main", "--", "outcomes").splitlines()
    recorded = Counter(str(yaml.safe_load(text)["event_id"]) for text in texts)
    kept = set(recorded) | set(_waiting(root))
    lost = sorted({f"event-{number}" for number in range(sent)} - kept)
    log = ("log", "--all", "--not", "main", "--no-merges", "--name-only", "--format=")
    strays = [path for path in _git(root, *log).split() if path != MINE]
    vault = Vault.open(root)
    status = [line for line in _git(root, "status", "--porcelain").splitlines() if MINE not in line]
    fsck = ["git", "fsck", "--strict", "--no-dangling", "--no-progress"]
    sound = subprocess.run(fsck, cwd=root, capture_output=True, text=True, check=False)
    share = person.refusals.total() / max(1, person.commands)
    checks = {
        f"lost: {len(lost)} of {sent} {lost[:5]}": bool(lost),
        f"twice: {[e for e, n in recorded.items() if n > 1][:5]}": any(
            count > 1 for count in recorded.values()
        ),
        f"a commit elsewhere holds {strays[:3]}": bool(strays),
        f"check: {vault.check().problems[:3]}": bool(vault.check().problems),
        f"git status: {status[:3]}": bool(status),
        f"fsck: {sound.stderr[:200]}": bool(sound.returncode),
        f"{100 * share:.1f} % of the person's commands met a lock": share > 0.03,
    }
    return [sentence for sentence, fault in checks.items() if fault]


# ── how long the lock is held ─────────────────────────────────────────────────────────────


@contextmanager
def holds() -> Iterator[list[float]]:
    """Collect the milliseconds for which each publication holds index.lock."""
    times: list[float] = []
    since = 0.0

    def reach(name: str) -> None:
        nonlocal since
        if name == "index-locked":
            since = time.perf_counter()
        elif name == "index-unlocking":
            times.append(1000 * (time.perf_counter() - since))

    with patch.object(locks, "reach", reach):
        yield times


def lock_times(root: Path) -> list[float]:
    """Return the lock's milliseconds in publications that nobody disturbs."""
    vault = Vault.open(root)
    items = stream(3 + PUBLICATIONS * FILES)
    names: Callable[[int], str] = "lock-{}.json".format
    for _ in range(3):
        next(items)
    with holds() as times:
        for number in range(PUBLICATIONS):
            group = [next(items) for _ in range(FILES)]
            vault.record(
                (names(100 * number + n), json.dumps(i).encode()) for n, i in enumerate(group)
            )
    return times


def main(minutes: float, seed: int, *, kills: bool) -> int:
    """Run it and print what came of it; 1 if something is lost."""
    for name in ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL"):
        os.environ[f"GIT_{name}"] = "bench@localhost"
    with tempfile.TemporaryDirectory() as folder:
        founded(Path(folder) / "locks")
        times = sorted(lock_times(Path(folder) / "locks"))
        print(
            f"lock held for {FILES} files: median {statistics.median(times):.1f} ms, "
            f"p99 {times[int(0.99 * len(times))]:.1f} ms, {len(times)} publications"
        )
        root = Path(folder) / "vault"
        founded(root)
        person = Person(root, seed)
        sent, daemon = worked(root, person, minutes, kills=kills)
        person.go_home()
        code = settled(root, daemon, sent)
        broken = faults(root, person, sent)
    print(
        f"{sent} outcomes, {person.done.total()} doings, {person.commands} commands, "
        f"{person.refusals.total()} met a lock, {daemon.kills} kills, exit code {code}"
    )
    for text, count in person.failures.most_common(8):
        print(f"  {count} x {text}")
    print("\n".join(broken) or "nothing is lost, and every byte is theirs")
    return 1 if broken else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("minutes", nargs="?", type=float, default=30.0)
    parser.add_argument("--kills", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sys.exit(main(options.minutes, options.seed, kills=options.kills))

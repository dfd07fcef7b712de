"""A decision is killed, its person goes on in git: nobody's work is in the other's commit."""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from skillvault import api
from skillvault.api import Vault
from skillvault.exchange.sources import parse_source
from skillvault.model.errors import SkillvaultError
from tests import forked
from tests.crash.world import KILLED
from tests.exchange.sites import skill_file
from tests.given import NOW, as_file, raw
from tests.in_process import run_script
from tests.person.given import git
from tests.person.publication import MINE
from tests.thorough import pairs

LIVE, WAITING = "guide-coding-fix-btc", "guide-coding-fix-eth"
DECISIONS: dict[str, Callable[[Vault], object]] = {
    "approve": lambda vault: vault.curate.approve(WAITING, now=NOW),
    "reject": lambda vault: vault.curate.reject(WAITING, reason="no", now=NOW),
    "retire": lambda vault: vault.curate.retire(LIVE, now=NOW),
    "restore": lambda vault: vault.curate.restore("old", now=NOW),
    "pin": lambda vault: vault.curate.pin(LIVE, now=NOW),
    "undo": lambda vault: api.undo(vault, LIVE, "bad", now=NOW),
    "retract": lambda vault: api.retract(vault, _outcome(vault), "wrong", now=NOW),
    "install": lambda vault: vault.curate.installer.install(
        parse_source(str(vault.root.with_name("theirs"))), now=NOW
    ),
    "expire": lambda vault: vault.run(["expire"], now=NOW),
    "record": lambda vault: vault.record([("c.json", as_file(_failure("SOL")))], now=NOW),
}
POINTS = ("objects-written", "intent-written", "before-lock", "index-locked", "file-placed",
          "before-index", "index-written", "before-swap", "branch-moved", "index-unlocking",
          "index-unlocked", "intent-done")  # fmt: skip
REMOVING = ("approve", "reject", "retire", "restore", "undo")
CASES = sorted({*pairs(POINTS, list(DECISIONS)), *(("file-removed", name) for name in REMOVING)})


def _failure(name: str) -> dict[str, object]:
    return raw(event_id=f"event-{name}", decision__action=f"fix-{name.lower()}")


def _outcome(vault: Vault) -> str:
    """The outcome that the live skill was learned from."""
    return next(
        one.id for one in vault.store.snapshot().outcomes.values() if one.event_id == "event-BTC"
    )


def decide(name: str, root: Path) -> None:
    """Decide in a vault, once what was cut off is settled."""
    vault = Vault.open(root)
    vault.store.recover()
    DECISIONS[name](vault)


@pytest.fixture(scope="module")
def decided(_new_vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault with its hook: a live skill, one that waits, one put away, one that expires."""
    root = tmp_path_factory.mktemp("decided") / "vault"
    shutil.copytree(_new_vault, root, symlinks=True)
    vault = Vault(root)
    _write_skill(root, "old")
    (root / "vault.yaml").write_text(
        (root / "vault.yaml").read_text() + "generate: {gate: always}\n"
    )
    (root / MINE).write_text("0\n")
    git(root, "add", "-A")
    git(root, "commit", "-qnm", "mine")
    vault.record([(f"{t}.json", as_file(_failure(t))) for t in ("BTC", "ETH")], now=NOW)
    vault.run(now=NOW)
    vault.curate.approve(LIVE, now=NOW)
    vault.curate.retire("old", now=NOW)
    vault.run(now=NOW)
    _write_skill(root, "late", expires="'2026-10-01T00:00:00Z'")
    git(root, "add", "-A")
    git(root, "commit", "-qnm", "one more")
    return root


def _write_skill(root: Path, name: str, **metadata: str) -> None:
    (root / "skills" / name).mkdir(parents=True)
    (root / "skills" / name / "SKILL.md").write_bytes(skill_file(name, "Mine.", **metadata))


@pytest.fixture(scope="module")
def undisturbed(decided: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], object]:
    """name -> the files that a decision leaves where nobody disturbs it."""

    def of(name: str) -> object:
        if name not in known:
            root = _copied(decided, tmp_path_factory.mktemp("undisturbed"))
            decide(name, root)
            known[name] = _files(root)
        return known[name]

    known: dict[str, object] = {}
    return of


def _copied(decided: Path, folder: Path) -> Path:
    root = Path(shutil.copytree(decided, folder / "vault", symlinks=True))
    theirs = folder / "theirs" / "helpful"
    theirs.mkdir(parents=True)
    (theirs / "SKILL.md").write_bytes(skill_file("helpful", "Theirs."))
    git(root, "update-index", "-q", "--refresh")
    return root


def _files(root: Path) -> set[str]:
    return set(git(root, "ls-tree", "-r", "--name-only", "main").stdout.split())


def _killed(root: Path, point: str, name: str) -> None:
    """A decision that is killed; the person removes its lock, as git's own message advises."""
    (root / MINE).write_text("staged\n")
    git(root, "add", MINE)
    (root / MINE).write_text("edited\n")
    assert forked.called(partial(decide, name), root, f"{point}=kill") == KILLED
    (root / ".git/index.lock").unlink(missing_ok=True)


def _go_on(root: Path, name: str) -> None:
    """The decision once more, and what must hold then."""
    with suppress(SkillvaultError):  # it may be made by now
        decide(name, root)
    assert git(root, "show", f"main:{MINE}").stdout == "edited\n"
    assert git(root, "status", "--porcelain").stdout == ""
    assert git(root, "fsck", "--strict", "--no-dangling", "--no-progress").returncode == 0
    assert Vault.open(root).check().problems == []
    assert not list((root / ".git/skillvault").glob("intent*"))


@pytest.mark.parametrize(("point", "name"), CASES)
def test_a_person_s_commit_takes_nothing_of_a_killed_decision(
    decided: Path, undisturbed: Callable[[str], object], tmp_path: Path, point: str, name: str
) -> None:
    root = _copied(decided, tmp_path)
    _killed(root, point, name)
    assert run_script("git commit -qam mine", root, os.environ)[1] == 0
    assert git(root, "show", "--name-only", "--format=").stdout.split() == [MINE]
    _go_on(root, name)
    assert _files(root) == undisturbed(name)


@pytest.mark.parametrize(("point", "name"), CASES)
def test_what_a_commit_without_the_hook_takes_is_finished_on_top_of_it(
    decided: Path, undisturbed: Callable[[str], object], tmp_path: Path, point: str, name: str
) -> None:
    root = _copied(decided, tmp_path)
    _killed(root, point, name)
    assert git(root, "commit", "-qnam", "mine").returncode == 0
    _go_on(root, name)
    assert _files(root) == undisturbed(name)
    assert Vault.open(root).log(1)[0].step == name

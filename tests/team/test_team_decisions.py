"""A decision taken back in any clone leaves the vault that the learner would have left."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault, proposals, retract, undo
from tests.clones import LATER, REMOTE, Clone, Team, bare
from tests.conftest import NOW, unguarded
from tests.given import as_file, raw, trade
from tests.thorough import pairs

Outcomes = Sequence[dict[str, Any]]
FIVE = [raw(0), raw(1), raw(2), trade(3), trade(4, decision__target="ETH-PERP")]
# A fact that one speaks against, and more for it.
CONTESTED = [
    raw(day, source__session=f"s{day}", result={"status": status})
    for day, status in enumerate(("success", "success", "failure", "success", "success"))
]


class Pairs:
    """Two clones with some outcomes in both; each pair is made once and copied."""

    def __init__(self, new_root: Path, folder: Path) -> None:
        self._new_root = new_root
        self._folder = folder
        self._patterns: dict[str, Path] = {}

    def copy(
        self, place: Path, outcomes: Outcomes = FIVE, rules: str = "learner: ada"
    ) -> list[Clone]:
        """Copy two clones that both have these outcomes; the first one learns."""
        key = f"{rules} {outcomes}"
        if key not in self._patterns:
            self._patterns[key] = pattern = self._folder / str(len(self._patterns))
            pattern.mkdir()
            _make_pair(self._new_root, pattern, outcomes, rules)
        return [*Team.copied(self._patterns[key], place).clones]


def _make_pair(new_root: Path, folder: Path, outcomes: Outcomes, rules: str) -> None:
    remote = bare(folder / REMOTE)
    ada = Clone(unguarded(new_root, folder / "ada"))
    ada.person.git("config", "skillvault.clone", "ada")
    ada.person.rule(f"\n{rules}")
    ada.person.git("remote", "add", "origin", str(remote))
    ada.person.git("push", "-q", "-u", "origin", "main")
    ada.vault.record([(f"{n}.json", as_file(one)) for n, one in enumerate(outcomes)], now=NOW)
    ada.run(NOW)
    ben = Clone.of(remote, folder / "ben")
    exchange(ada, ben)


def exchange(*clones: Clone) -> None:
    """Sync and run all clones until each has the others' work and the learner's conclusions."""
    for clone in (*clones[::-1], *clones):
        clone.sync()
        clone.run()
    for clone in (*clones, *clones):
        clone.sync()


@pytest.fixture(scope="module")
def made(_new_vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    return Pairs(_new_vault, tmp_path_factory.mktemp("pairs"))


@pytest.mark.parametrize(("outcomes", "place"), [(FIVE, 0), (FIVE, 3), (CONTESTED, 2)])
def test_retracting_elsewhere_is_retracting_at_the_learner(
    tmp_path: Path, made: Pairs, outcomes: Outcomes, place: int
) -> None:
    served = []
    for number in (0, 1):
        clones = made.copy(tmp_path / str(number), outcomes)
        wrong = sorted(clones[0].vault.store.snapshot().outcomes)[place]
        retract(clones[number].vault, wrong, "wrong", now=LATER)
        says = clones[number].person.git("log", "-1", "--format=%B", "--grep=^retract: ")
        assert ("ada learns, and computes" in says) is bool(number)
        exchange(*clones)
        assert clones[0].tree() == clones[1].tree()
        assert [clone.vault.check().problems for clone in clones] == [[], []]
        folders = ("skills", "proposed", "memory", "links")
        served.append(clones[0].person.git("ls-tree", "-r", "HEAD", *folders))
        assert "memory/" in served[-1]
    assert served[0] == served[1]


@pytest.mark.parametrize("is_built_anew", [False, True])
def test_a_rejection_taken_back_is_so_in_every_clone(
    tmp_path: Path, made: Pairs, is_built_anew: bool
) -> None:
    ada, ben = made.copy(tmp_path / "pair")
    name = next(one.name for one in ada.vault.skills() if one.domain == "coding")
    undo(ada.vault, name, "not ours", now=LATER)
    like = raw(5, decision__action="mend-basket")  # says the same of another action
    ada.vault.record([("5.json", as_file(like))], now=LATER)
    assert "not ours" in [one.reason for one in ada.run().rejected]
    exchange(ada, ben)
    ben.vault.curate.forget(name, now=LATER)
    ben.sync()
    ada.sync()
    if is_built_anew:
        (ada.vault.store.git.dirs()[0] / "skillvault/index.db").unlink()
        ada.vault = Vault(ada.root)
    ada.run()
    exchange(ada, ben)
    names = {one.name for one in ben.vault.skills()}
    assert {name, "guide-coding-mend-basket"} <= names
    assert not ada.run().rejected


@pytest.mark.parametrize(
    ("way", "learner"), pairs(["forget", "revert", "forget and remove"], ["ada", "all"])
)
def test_what_a_rejection_kept_away_is_due_where_its_end_is_pulled(
    tmp_path: Path, made: Pairs, learner: str, way: str
) -> None:
    """The other clone looked at what says the same, and left it: its index says so."""
    rules = f"learner: {learner}\ngenerate: {{gate: always}}"
    ada, ben = made.copy(tmp_path / "pair", [raw(0), raw(1)], rules)
    (name,) = (one.name for one in proposals(ada.vault))
    ada.vault.curate.reject(name, reason="known", now=LATER)
    like = [raw(2, decision__action="mend-till"), raw(3, decision__action="mend-till")]
    ada.vault.record([(f"{n}.json", as_file(one)) for n, one in enumerate(like)], now=LATER)
    assert "known" in [one.reason for one in ada.run().rejected]
    exchange(ada, ben)
    assert not ada.vault.store.snapshot().due.keys("generate")
    if way == "revert":
        ben.person.git("revert", "--no-edit", ben.person.git("rev-parse", "HEAD^{/^reject: }"))
    else:
        ben.vault.curate.forget(name, now=LATER)
    if way == "forget and remove":
        ben.person.git("rm", "-rq", f"proposed/{name}")
        ben.person.remove_links(f"skill/{name},")
    ben.person.git("push", "-q")
    ada.person.git("pull", "-q", "--no-rebase")
    ada.run()
    standing = [] if way == "forget and remove" else [name]
    guides = [one.name for one in proposals(ada.vault) if one.kind == "guide"]
    assert guides == [*standing, "guide-coding-mend-till"]
    exchange(ada, ben)
    assert ada.tree() == ben.tree()


@pytest.mark.parametrize("number", [0, 1])
def test_what_two_clones_made_at_once_is_undone_by_the_commit_of_either(
    tmp_path: Path, made: Pairs, number: int
) -> None:
    clones = made.copy(tmp_path / "pair", [raw(0)], "learner: all")
    same = [("1.json", as_file(trade(1)))]
    for clone, now in zip(clones, (NOW, LATER), strict=True):
        clone.vault.record(same, now=now)
        clone.run(now)
    commits = [clone.person.git("rev-parse", "HEAD^{/^generate: guide-perps}") for clone in clones]
    assert len(set(commits)) == len(clones)
    exchange(*clones)
    ada, _ = clones
    name = "guide-perps-open-long"
    assert name in {one.name for one in ada.vault.skills()}
    undo(ada.vault, commits[number], now=LATER)
    assert name not in {one.name for one in ada.vault.skills()}

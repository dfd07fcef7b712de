"""Killed anywhere while skills come in, none is half here, and the next command brings the rest."""

from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.exchange.sources import parse_source
from skillvault.vault.commit.skill_versions import folder_files
from tests import forked
from tests.conftest import NOW, Person, unguarded
from tests.crash.world import KILLED, failpoints
from tests.exchange.sites import skill_file

# What only an inbox, a quarantine, late receipts, a recovery or many objects reach.
ELSEWHERE = {
    "inbox-done", "inbox-drafted", "inbox-filled", "quarantine-told", "quarantined", "requeued",
    "undo-file", "undo-index", "intent-settled", "late-appended", "late-kept", "pack-file-placed",
}  # fmt: skip
POINTS = [point for point in failpoints() if point not in ELSEWHERE]
OLD = {"SKILL.md": b"First.", "old.md": b"old\n", "same.md": b"same\n"}
NEW = {"SKILL.md": b"Second.", "new.md": b"new\n", "same.md": b"same\n"}


def publish(root: Path, files: dict[str, bytes]) -> None:
    """Replace the files of the author's skill `review`; other skills stay."""
    folder = author_of(root) / "review"
    folder.mkdir(parents=True, exist_ok=True)
    for place in folder.iterdir():
        place.unlink()
    for path, data in files.items():
        text = skill_file("review", data.decode()) if path == "SKILL.md" else data
        (folder / path).write_bytes(text)
    (folder / "same.md").chmod(0o755 if files is NEW else 0o644)  # what else it has stays


def author_of(root: Path) -> Path:
    return root.with_name("author")


def play(root: Path) -> None:
    """Install, update, and approve the new version; repeat each step that was cut off."""
    vault = Vault.open(root)
    vault.store.recover()
    source = parse_source(str(author_of(root)))
    vault.curate.installer.install(source, now=NOW)
    vault.curate.installer.update(now=NOW)
    if vault.store.snapshot().skills.proposed.get_many(["review-next"]):
        vault.curate.approve("review-next", now=NOW)


def versions(root: Path) -> list[dict[str, bytes]]:
    """The files of each skill of the vault, by folder, as they are committed."""
    store = Vault.open(root).store
    head = store.snapshot()
    places = {path.rpartition("/SKILL.md")[0] for path in head.files if path.endswith("/SKILL.md")}
    return [folder_files(store.git, head, place) for place in sorted(places)]


def is_one_version(files: dict[str, bytes]) -> bool:
    """Return True if the files are all those of one version, and of no other."""
    text = files["SKILL.md"]
    version = next(v for v in (OLD, NEW, {"SKILL.md": b"Other."}) if v["SKILL.md"] in text)
    return files.keys() == version.keys()


@pytest.fixture(scope="module")
def approved(tmp_path_factory: pytest.TempPathFactory, _new_vault: Path) -> Path:
    """A vault with the old version, approved, whose author has a new one and another skill."""
    root = unguarded(_new_vault, tmp_path_factory.mktemp("approved") / "vault")
    publish(root, OLD)
    vault = Vault(root)
    vault.curate.installer.install(parse_source(str(author_of(root))), now=NOW)
    vault.curate.approve("review", now=NOW)
    publish(root, NEW)
    other = author_of(root) / "other"
    other.mkdir()
    (other / "SKILL.md").write_bytes(skill_file("other", "Other."))
    return root


@pytest.mark.parametrize(("number", "point"), list(enumerate(POINTS)))
def test_a_kill_leaves_no_skill_half_here(
    approved: Path, tmp_path: Path, number: int, point: str
) -> None:
    root = unguarded(approved, tmp_path / "vault")
    author_of(root).symlink_to(author_of(approved))
    # Half of them in the first publication, half in the second.
    assert forked.called(play, root, f"{point}:{1 + number % 2}=kill") == KILLED
    assert all(is_one_version(files) for files in versions(root))
    assert forked.called(play, root) == 0, forked.log_of(root).read_text()
    person = Person(root)
    assert person.status() == ""
    assert person.git("fsck", "--strict", "--no-dangling", "--no-progress") == ""
    subjects = person.git("log", "--format=%s").splitlines()
    assert len(subjects) == len(set(subjects))
    assert sorted(path.name for path in (root / "skills/review").iterdir()) == sorted(NEW)
    assert "Second." in (root / "skills/review/SKILL.md").read_text()
    assert (root / "skills/review/same.md").stat().st_mode & 0o111
    assert person.git("ls-tree", "HEAD", "skills/review/same.md").startswith("100755")
    assert [path.name for path in (root / "proposed").iterdir()] == ["other"]
    assert Vault.open(root).check().problems == []

"""init touches nothing outside its folder, whatever its name; if it fails, nothing is left."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from skillvault.api import Vault, doctor
from skillvault.cli import main
from skillvault.cli.commands import cli
from skillvault.model.errors import PausedError, SkillvaultError
from skillvault.vault.failpoint import VARIABLE
from tests.cli.test_named_vault import below
from tests.conftest import Person
from tests.given import as_file, raw
from tests.thorough import one_of, pairs
from tests.vault.given import NOW

NAMES = (
    *("costs$FOO", "$HOME", "${FOO}", "~", "~root", "%FOO%", "%PATH%", "$(id)", "`id`", "a*b"),
    *(" first", "last ", "two words", "new\nline", "\nfirst", "last\n", "tab\t", "cr\r", "a,b"),
    *('"double"', "'single'", "it's", "a;b", "a&&b", "a|b", "#a", "{a,b}", "[a]", "a?b=c#d"),
    *("-x", "--vault", "--", "back\\slash", "a:b", "user@host:x", "file:", "HEAD", "@{u}", "=a"),
    *(
        "\x01",
        "\x1b[31m",
        "\u202eltr",
        "e\u0301",
        "ü",
        "日本",
        "😀",
        "n" * 255,
        "%20",
        "\udcff\udcfe",
    ),
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a few names in the environment."""
    folder = tmp_path / "place"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("FOO", "x")
    return folder


@pytest.mark.parametrize("name", one_of(10, NAMES), ids=lambda name: ascii(name)[:40])
def test_a_vault_has_the_name_that_was_given_and_nothing_stands_beside_it(
    place: Path, name: str
) -> None:
    Vault.init(Path(name), ["coding"], now=NOW)
    vault = Vault.open(Path(name))
    vault.record([("a.json", as_file(raw(domain="coding")))], now=NOW)
    vault.run(now=NOW)
    assert vault.check().problems == []
    assert [row.detail for row in doctor(Path(name)) if row.state == "problem"] == []
    assert [path.name for path in place.iterdir()] == [name]
    person = Person(vault.root)
    assert person.status() == ""
    person.git("commit", "-q", "--allow-empty", "-m", "Work through the hook")
    assert list(place.parent.iterdir()) == [place]
    assert [path.name for path in Path.home().iterdir()] == [".gitconfig"]


def test_a_deep_place_is_a_vault_as_long_as_git_can_name_its_files(place: Path) -> None:
    Vault.init(place / "/".join(["d" * 200] * 15), now=NOW)


@pytest.mark.parametrize("length", [3800, 3900, 4000, 4040, 4060, 4075, 4090, 4100, 5000])
def test_a_place_that_is_too_long_is_refused_and_nothing_is_left(place: Path, length: int) -> None:
    folder = place
    while len(str(folder)) < length - 201:
        folder /= "d" * 200
    folder /= "e" * (length - len(str(folder)) - 1)
    try:
        Vault.init(folder, now=NOW)
    except (OSError, SkillvaultError):
        assert list(place.iterdir()) == []
    else:
        assert Vault.open(folder).check().problems == []


@pytest.mark.parametrize(
    "name", [".git", "repo/.git/x", "bare.git", "bare.git/x", "circle", "circle/x"]
)
def test_what_can_hold_no_vault_is_refused_and_stays(
    place: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "-q", "repo"], check=True)
    subprocess.run(["git", "init", "-q", "--bare", "bare.git"], check=True)
    (place / "circle").symlink_to("circle")
    everything = below(place)
    monkeypatch.setattr("sys.argv", ["skillvault", "init", "--nested", name])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code in (1, 2)
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert below(place) == everything


def test_through_a_link_the_vault_is_where_the_link_leads(place: Path) -> None:
    (place / "real").mkdir()
    (place / "link").symlink_to("real")
    (place / "ahead").symlink_to("later")
    for name in ("link", "ahead"):
        Vault.init(place / name, now=NOW)
    assert sorted(path.name for path in place.iterdir()) == ["ahead", "later", "link", "real"]


# ── what fails leaves nothing ────────────────────────────────────────────────────────


def _without_identity(_: Path) -> None:
    subprocess.run(["git", "config", "--global", "--remove-section", "user"], check=True)


def _with_a_signer_that_fails(_: Path) -> None:
    for setting in (("commit.gpgsign", "true"), ("gpg.program", "/bin/false")):
        subprocess.run(["git", "config", "--global", *setting], check=True)


def _with_a_file_for_a_folder(root: Path) -> None:
    root.mkdir(parents=True, exist_ok=True)
    (root / "inbox").write_text("mine")


POINTS = (
    *("lock-taken", "before-lock", "index-locked", "intent-written", "draft-written"),
    *("file-placed", "objects-written", "index-written", "before-swap"),
)
HARMS = (
    _without_identity,
    _with_a_signer_that_fails,
    _with_a_file_for_a_folder,
)


@pytest.mark.parametrize(
    ("harm", "stands"),
    pairs(HARMS, ["nothing", "a folder", "files", "a repository", "a commit"]),
)
def test_an_init_that_fails_leaves_what_stood_there(
    place: Path, harm: Callable[[Path], None], stands: str
) -> None:
    root = place / "above/vault"
    if stands != "nothing":
        root.mkdir(parents=True)
    if stands not in ("nothing", "a folder"):
        (root / "mine.txt").write_text("mine")
    if stands in ("a repository", "a commit"):
        Person(root).git("init", "-q")
    if stands == "a commit":
        Person(root).git("add", "-A")
        Person(root).git("commit", "-qm", "mine")
    harm(root)
    everything = standing(place)
    with pytest.raises((SkillvaultError, OSError)):
        Vault.init(root, ["coding"], now=NOW)
    assert standing(place) == everything


@pytest.mark.parametrize(("point", "stands"), pairs(POINTS, ["nothing", "files", "a repository"]))
def test_an_init_that_fails_at_any_step_leaves_what_stood_there(
    place: Path, monkeypatch: pytest.MonkeyPatch, point: str, stands: str
) -> None:
    root = place / "above/vault"
    if stands != "nothing":
        root.mkdir(parents=True)
        (root / "mine.txt").write_text("mine")
    if stands == "a repository":
        Person(root).git("init", "-q")
    everything = standing(place)
    monkeypatch.setattr("skillvault.vault.failpoint._counts", {})
    monkeypatch.setenv(VARIABLE, f"{point}=raise")
    with pytest.raises((SkillvaultError, OSError)):
        Vault.init(root, ["coding"], now=NOW)
    assert standing(place) == everything
    monkeypatch.delenv(VARIABLE)
    assert Vault.init(root, ["coding"], now=NOW)[0].check().problems == []


def standing(place: Path) -> dict[Path, bytes | None]:
    """Return the files below a folder with their contents; of a git dir only its refs."""
    return {
        path: content
        for path, content in below(place).items()
        if ".git" not in path.parts or path.name == ".git" or (content and "refs" in path.parts)
    }


# ── the repository around a vault ────────────────────────────────────────────────────


@pytest.fixture
def outer(place: Path) -> Person:
    """A repository with a commit, in which vaults may lie."""
    person = Person(place)
    person.git("init", "-q")
    person.git("commit", "-q", "--allow-empty", "-m", "mine")
    return person


def test_a_vault_without_its_git_dir_leaves_the_repository_around_it(outer: Person) -> None:
    vault, _ = Vault.init(outer.root / "inner", ["coding"], nested=True, now=NOW)
    vault.run(now=NOW)
    shutil.rmtree(vault.root / ".git")
    everything = below(outer.root / ".git")
    with pytest.raises((SkillvaultError, OSError)):
        vault.record([("a.json", as_file(raw(domain="coding")))], now=NOW)
    with pytest.raises(SkillvaultError):
        Vault.open(vault.root)
    for words in (["status"], ["run"], ["sync"], ["log"], ["check"]):
        CliRunner().invoke(cli, ["--vault", "inner", *words])
    doctor(outer.root / "inner")
    assert below(outer.root / ".git") == everything


def test_who_commits_is_not_asked_of_the_repository_around(outer: Person) -> None:
    outer.git("config", "--global", "--remove-section", "user")
    outer.git("config", "user.name", "Outer")
    outer.git("config", "user.email", "outer@example.org")
    with pytest.raises(PausedError, match="does not know who you are"):
        Vault.init(outer.root / "inner", nested=True, now=NOW)
    assert not (outer.root / "inner").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("export", "circle", "--to", "codex"),
        ("export", "circle/x", "--to", "well-known"),
        ("install", "./circle"),
        ("run", "--code", "circle"),
        ("import", "skills", "circle"),
        ("record", "circle"),
        ("report", "--out", "circle"),
        ("setup", "codex", "--project", "circle"),
    ],
)
def test_links_in_a_circle_are_one_sentence_and_change_nothing(
    learned: Vault,
    tmp_path: Path,
    command: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("circle").symlink_to("circle")
    everything = below(learned.root)
    monkeypatch.setattr("sys.argv", ["skillvault", "--vault", str(learned.root), *command])
    with pytest.raises(SystemExit):
        main()
    assert "Traceback" not in capsys.readouterr().err
    # What is the program's own in the git folder may come and go with any look.
    files = {path for path in everything if "skillvault" not in path.parts}
    assert {path for path in below(learned.root) if path in files} == files


def test_a_folder_of_the_policy_that_is_a_circle_of_links_is_named(
    learned: Vault, person: Person
) -> None:
    (learned.root / "circle").symlink_to("circle")
    person.rule("shelf: {dirs: [circle]}\ncapture: {code: [circle]}")
    assert ["circle" in problem.path for problem in learned.shelf.problems] == [True]
    assert learned.run(now=NOW).done == []

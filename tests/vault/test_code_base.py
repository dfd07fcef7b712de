"""Evidence for rules: the same files as git finds, committed or walked; what is left out."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skillvault.vault.code_base import (
    CodeBase,
    Searcher,
    UnreadableCodeError,
    lines_of,
    open_code_base,
    search_code,
)

VAULT = Path("/no/vault")
FILES = {
    "a.py": "import os\nuserId = os.environ['USER']\nx = [a*b+c]\n",
    "lib/b.py": "def userIds():\n    return '-rf'\n",
    "lib/c.ts": 'type: "module"\nconst straße = 1\n',
    "package.json": '{\n  "type": "module",\n  "name": "x"\n}\n',
    "empty.txt": "",
    "binary.bin": "userId\0",
    "README.md": "userId\n",
    "ci.yaml": "userId\n",
    "node_modules/x/index.js": "userId\n",
    "poetry.lock": "userId\n",
}
TERMS = ["userId", "-rf", "[a*b+c]", "straße", "os.environ", 'type: "module"', "absent"]


def git(place: Path, *args: str) -> bytes:
    return subprocess.check_output(["git", *args], cwd=place)


def written(place: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text, encoding="utf-8")
    return place


def committed(place: Path, files: dict[str, str]) -> Path:
    written(place, files)
    git(place, "init", "-q")
    git(place, "add", "-f", ".")
    git(place, "commit", "-qm", "code")
    return place


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return committed(tmp_path_factory.mktemp("code"), FILES)


def opened(place: Path) -> CodeBase:
    return open_code_base(place, VAULT)


def grepped(place: Path, term: str) -> set[str]:
    """The files that git finds, of those that are searched."""
    out = subprocess.run(
        ["git", "grep", "-lFIz", "-e", term, "HEAD"], cwd=place, capture_output=True, check=False
    ).stdout.decode()
    paths = {path.partition(":")[2] for path in out.split("\0") if path}
    return paths & opened(place).sizes.keys()


@pytest.mark.parametrize("term", TERMS)
def test_a_term_stands_in_the_files_that_git_greps(code: Path, term: str) -> None:
    files = set(search_code([opened(code)], TERMS).files.get(term, ()))
    looser = {"package.json"} if term.startswith("type") else set()
    assert files == grepped(code, term) | looser


def test_a_folder_without_git_is_searched_alike(code: Path, tmp_path: Path) -> None:
    walked = opened(written(tmp_path / "plain", FILES))
    assert search_code([walked], TERMS) == search_code([opened(code)], TERMS)
    assert walked.sizes == opened(code).sizes


def test_what_is_not_committed_is_no_evidence(code: Path) -> None:
    stray = code / "stray.py"
    stray.write_text("absent\n")
    assert "absent" not in search_code([opened(code)], TERMS).files
    stray.unlink()


def test_a_folder_of_a_repository_is_a_code_base(code: Path) -> None:
    base = opened(code / "lib")
    assert list(base.sizes) == ["b.py", "c.ts"]
    assert base.version == git(code, "rev-parse", "HEAD").decode().strip()


def test_a_folder_that_its_repository_does_not_hold_is_walked(tmp_path: Path) -> None:
    committed(tmp_path, {"a.py": "x\n"})
    assert list(opened(written(tmp_path / "other", {"b.py": "y\n"})).sizes) == ["b.py"]


def test_the_version_of_a_walked_folder_changes_with_its_files(tmp_path: Path) -> None:
    before = opened(written(tmp_path, FILES)).version
    assert opened(tmp_path).version == before
    (tmp_path / "a.py").unlink()
    assert opened(tmp_path).version != before


def test_the_vault_inside_of_a_code_base_is_left_out(tmp_path: Path) -> None:
    files = {"a.py": "x\n", "skills/s/run.py": "x\n", "LEARNINGS.md": "x", "memory.py": "x\n"}
    base = open_code_base(committed(tmp_path, files), tmp_path)
    assert list(base.sizes) == ["a.py", "memory.py"]


def test_files_of_several_code_bases_are_told_apart(code: Path, tmp_path: Path) -> None:
    other = opened(written(tmp_path / "other", {"a.py": "one\ntwo userId\n"}))
    bases = [opened(code), other]
    files = search_code(bases, ["userId"]).files["userId"]
    assert files == {f"{code.name}/a.py", f"{code.name}/lib/b.py", "other/a.py"}
    assert lines_of(bases, {"r": (["userId"], {"other/a.py"})}) == {"r": {"other/a.py": [2]}}


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(UnreadableCodeError, match="No such folder"):
        opened(tmp_path / "none")
    with pytest.raises(UnreadableCodeError, match="no file in it"):
        opened(tmp_path)
    (tmp_path / ".git").mkdir()
    with pytest.raises(UnreadableCodeError, match="git rev-parse"):
        opened(tmp_path)


def test_a_file_that_goes_while_it_is_read_makes_its_code_base_unreadable(tmp_path: Path) -> None:
    base = opened(written(tmp_path, FILES))
    (tmp_path / "a.py").unlink()
    with pytest.raises(UnreadableCodeError, match="No such file"):
        search_code([base], TERMS)


@pytest.mark.parametrize(
    ("path", "size", "searched"),
    [
        ("src/a.py", 10, True),
        ("src/a.py", (1 << 20) + 1, False),
        ("docs/a.md", 10, False),
        ("web/app.min.js", 10, False),
        ("vendor/x/a.go", 10, False),
        ("build.py", 10, True),
        ("Cargo.lock", 10, False),
    ],
)
def test_only_own_code_is_searched(tmp_path: Path, path: str, size: int, *, searched: bool) -> None:
    base = opened(written(tmp_path, {"own.py": "", path: "x" * size}))
    assert (path in base.sizes) is searched


@given(
    st.lists(st.text(alphabet="ab.\n\"' é", min_size=1, max_size=4), min_size=1, max_size=6),
    st.text(alphabet="ab.\n\"' é", max_size=30),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_term_is_a_fixed_text_byte_for_byte(terms: list[str], text: str) -> None:
    found = Searcher(terms).find_terms("a.py", text.encode())
    assert found == {term for term in terms if term in text}
    loose = Searcher(terms).find_terms("a.json", text.encode())
    assert found <= loose

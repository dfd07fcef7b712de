"""export_folder: what is ours follows the vault, all else in the folder stays as it is."""

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from skillvault.exchange.skills.rule_files import HOSTS, write_rules
from skillvault.model.errors import BadInputError, UncommittedEditError, VaultBusyError
from skillvault.model.export import Export
from skillvault.vault.commit import locks
from skillvault.vault.commit.files import write_file
from skillvault.vault.commit.locks import folder_lock
from skillvault.vault.export_folder import LIST_FILE, FolderReport, sync
from skillvault.vault.failpoint import VARIABLE

SKILLS = ".claude/skills"
Act = Callable[[Path], object]


def export(**skills: dict[str, bytes]) -> Export:
    return Export({f"{SKILLS}/{name}": files for name, files in skills.items()})


ONE = {"SKILL.md": b"one\n", "references/a.md": b"a\n"}
TWO = {"SKILL.md": b"two\n"}


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., FolderReport]:
    """Bring the folder `out` in step with skills."""

    def made(
        *, name: str = "claude-code", dry: bool = False, **skills: dict[str, bytes]
    ) -> FolderReport:
        return sync(tmp_path / "out", name, export(**skills), tmp_path / "drafts", dry=dry)

    return made


def state(root: Path) -> dict[str, tuple[bytes, int]]:
    """Each file's bytes and time."""
    return {
        path.relative_to(root).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def test_a_second_export_changes_neither_bytes_nor_times(
    tmp_path: Path, put: Callable[..., FolderReport]
) -> None:
    assert put(one=ONE, two=TWO).written == [
        f"{SKILLS}/one/SKILL.md", f"{SKILLS}/one/references/a.md", f"{SKILLS}/two/SKILL.md"
    ]  # fmt: skip
    before = state(tmp_path)
    again = put(one=ONE, two=TWO)
    assert (again.written, again.removed, again.unchanged, again.left) == ([], [], 3, [])
    assert state(tmp_path) == before


def test_what_is_live_no_more_goes_with_its_folder(
    tmp_path: Path, put: Callable[..., FolderReport]
) -> None:
    put(one=ONE, two=TWO)
    done = put(one={"SKILL.md": b"new\n"})
    assert done.written == [f"{SKILLS}/one/SKILL.md"]
    assert sorted(done.removed) == [f"{SKILLS}/one/references/a.md", f"{SKILLS}/two/SKILL.md"]
    assert {*state(tmp_path / "out")} == {LIST_FILE, f"{SKILLS}/one/SKILL.md"}
    put()
    assert not (tmp_path / "out" / SKILLS).exists()
    assert not (tmp_path / "out" / LIST_FILE).exists()


def test_a_dry_run_says_the_same_and_writes_nothing(
    tmp_path: Path, put: Callable[..., FolderReport]
) -> None:
    assert put(one=ONE, dry=True).written == put(one=ONE).written
    before = state(tmp_path)
    assert put(two=TWO, dry=True).removed == [
        f"{SKILLS}/one/SKILL.md",
        f"{SKILLS}/one/references/a.md",
    ]
    assert state(tmp_path) == before


def _edit(out: Path) -> None:
    (out / SKILLS / "one/references/a.md").write_text("mine\n")


def _write_another(out: Path) -> None:
    (out / SKILLS / "two").mkdir(parents=True, exist_ok=True)
    (out / SKILLS / "two/SKILL.md").write_text("mine\n")


def _lead_out(out: Path) -> None:
    (out.parent / "elsewhere").mkdir()
    (out / SKILLS / "two").symlink_to(out.parent / "elsewhere")


def _lead_nowhere(out: Path) -> None:
    (out / SKILLS / "two").mkdir()
    (out / SKILLS / "two/SKILL.md").symlink_to(out / SKILLS / "two/SKILL.md")


def _folder_there(out: Path) -> None:
    (out / SKILLS / "two/SKILL.md").mkdir(parents=True)


def _pipe_there(out: Path) -> None:
    (out / SKILLS / "two").mkdir()
    os.mkfifo(out / SKILLS / "two/SKILL.md")


@pytest.mark.parametrize(
    ("act", "place", "code"),
    [
        (_edit, "one/references/a.md", "edited"),
        (_write_another, "two/SKILL.md", "not-ours"),
        (_lead_out, "two/SKILL.md", "leads-out"),
        (_lead_nowhere, "two/SKILL.md", "leads-out"),
        (_folder_there, "two/SKILL.md", "not-a-file"),
        (_pipe_there, "two/SKILL.md", "not-a-file"),
    ],
)
def test_what_a_person_has_there_is_left_whole_and_named(
    tmp_path: Path, put: Callable[..., FolderReport], act: Act, place: str, code: str
) -> None:
    out = tmp_path / "out"
    put(one=ONE)
    act(out)
    before = state(tmp_path)
    new = {"SKILL.md": b"newer\n", "references/a.md": b"newer\n"}
    wanted = {"one": new} if place.startswith("one") else {"one": ONE, "two": TWO}
    for _ in range(2):
        done = put(**wanted)
        assert [(problem.path, problem.code) for problem in done.left] == [
            (f"{SKILLS}/{place}", code)
        ]
        assert (done.written, done.removed) == ([], [])
    assert state(tmp_path) == before
    others = put(three=TWO, **wanted)
    assert others.written == [f"{SKILLS}/three/SKILL.md"]


def test_an_edited_skill_that_is_live_no_more_stays_until_it_is_gone(
    tmp_path: Path, put: Callable[..., FolderReport]
) -> None:
    put(one=ONE)
    _edit(tmp_path / "out")
    for _ in range(2):
        done = put()
        assert [problem.code for problem in done.left] == ["edited"]
        assert "exported no more" in done.left[0].message
    (tmp_path / "out" / SKILLS / "one/references/a.md").unlink()
    assert put().removed == [f"{SKILLS}/one/SKILL.md"]


def test_a_file_beside_ours_is_a_person_s_and_stays(
    tmp_path: Path, put: Callable[..., FolderReport]
) -> None:
    put(one=ONE)
    notes = tmp_path / "out" / SKILLS / "one/notes.md"
    notes.write_text("mine\n")
    assert not put().left
    assert {*state(tmp_path / "out")} == {f"{SKILLS}/one/notes.md"}


def test_what_a_person_removed_is_written_again(
    tmp_path: Path, put: Callable[..., FolderReport]
) -> None:
    put(one=ONE)
    (tmp_path / "out" / SKILLS / "one/SKILL.md").unlink()
    assert put(one=ONE).written == [f"{SKILLS}/one/SKILL.md"]


def test_each_format_has_its_own_files_in_one_folder(
    tmp_path: Path, put: Callable[..., FolderReport]
) -> None:
    put(one=ONE)
    sync(tmp_path / "out", "codex", Export({".agents/skills/one": TWO}), tmp_path / "drafts")
    put(name="claude-code")
    assert {*state(tmp_path / "out")} == {LIST_FILE, ".agents/skills/one/SKILL.md"}


def test_a_link_inside_the_folder_is_followed(
    tmp_path: Path, put: Callable[..., FolderReport]
) -> None:
    out = tmp_path / "out"
    (out / "kept").mkdir(parents=True)
    (out / ".claude").symlink_to("kept")
    put(one=ONE)
    assert (out / "kept/skills/one/SKILL.md").read_bytes() == b"one\n"
    put()
    assert (out / ".claude").is_symlink()


# ── the list ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "json"),
        ("[]", "json"),
        ('{"format": 1, "exports": {"codex": 3}}', "json"),
        ('{"format": 9}', "format"),
    ],
)
def test_a_list_that_cannot_be_read_stops_the_export(
    tmp_path: Path, put: Callable[..., FolderReport], text: str, code: str
) -> None:
    put(one=ONE)
    (tmp_path / "out" / LIST_FILE).write_text(text)
    before = state(tmp_path)
    with pytest.raises(BadInputError, match="remove it") as refused:
        put(two=TWO)
    assert refused.value.code == code
    assert state(tmp_path) == before


@pytest.mark.parametrize("place", ["../victim", "/etc/hostname", "a/../../victim"])
def test_a_list_names_nothing_outside_of_its_folder(
    tmp_path: Path, put: Callable[..., FolderReport], place: str
) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"two\n")
    put(one=ONE)
    path = tmp_path / "out" / LIST_FILE
    said = json.loads(path.read_text())
    digest = "sha256:27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a"
    said["exports"]["claude-code"][""] = {place: digest}
    path.write_text(json.dumps(said))
    assert [problem.code for problem in put(one=ONE).left] == ["leads-out"]
    assert victim.read_bytes() == b"two\n"


def test_a_lost_list_is_made_anew_of_what_is_as_it_would_be_written(
    tmp_path: Path, put: Callable[..., FolderReport]
) -> None:
    put(one=ONE)
    (tmp_path / "out" / LIST_FILE).unlink()
    assert not put(one=ONE).left
    assert put().removed


# ── a part of a file ─────────────────────────────────────────────────────────────────


SECTION = write_rules([], host=HOSTS["agents-md"]).owned_part


def section(tmp_path: Path, text: bytes | None) -> FolderReport:
    units = {} if text is None else {"": {"AGENTS.md": text}}
    return sync(
        tmp_path / "out", "agents-md", Export(units, owned_part=SECTION), tmp_path / "drafts"
    )


def block(text: str) -> bytes:
    return f"<!-- skillvault:begin -->\n{text}\n<!-- skillvault:end -->".encode()


def test_only_what_stands_between_the_marks_is_ours(tmp_path: Path) -> None:
    page = tmp_path / "out" / "AGENTS.md"
    page.parent.mkdir()
    page.write_text("# Mine\n\nText.\n")
    page.chmod(0o600)
    section(tmp_path, block("one"))
    assert page.read_bytes() == b"# Mine\n\nText.\n\n" + block("one") + b"\n"
    page.write_bytes(page.read_bytes() + b"\n# More of mine\n")
    assert not section(tmp_path, block("two")).left
    after = b"# Mine\n\nText.\n\n" + block("two") + b"\n\n# More of mine\n"
    assert page.read_bytes() == after
    assert page.stat().st_mode & 0o777 == 0o600
    assert section(tmp_path, block("two")).unchanged == 1
    section(tmp_path, None)
    assert page.read_text() == "# Mine\n\nText.\n\n# More of mine\n"


def test_a_page_of_ours_alone_goes_when_nothing_is_live(tmp_path: Path) -> None:
    section(tmp_path, block("one"))
    section(tmp_path, None)
    assert not (tmp_path / "out" / "AGENTS.md").exists()
    assert (tmp_path / "out").is_dir()


@pytest.mark.parametrize(
    ("before", "code"),
    [
        (block("mine"), "not-ours"),
        (b"<!-- skillvault:begin -->\n", "marks"),
        (b"<!-- skillvault:end -->\n<!-- skillvault:begin -->\n", "marks"),
        (block("a") + block("b"), "marks"),
        (b"\xff\n", "not-utf8"),
    ],
)
def test_a_page_whose_marks_are_not_ours_is_left(tmp_path: Path, before: bytes, code: str) -> None:
    page = tmp_path / "out" / "AGENTS.md"
    page.parent.mkdir()
    page.write_bytes(before)
    assert [problem.code for problem in section(tmp_path, block("one")).left] == [code]
    assert page.read_bytes() == before


# ── in the middle ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("number", range(1, 6))
def test_an_export_that_fails_half_way_is_finished_by_the_next_one(
    tmp_path: Path,
    put: Callable[..., FolderReport],
    monkeypatch: pytest.MonkeyPatch,
    number: int,
) -> None:
    put(one=ONE, two=TWO)
    new = {"SKILL.md": b"newer\n", "references/a.md": b"newer\n"}
    monkeypatch.setattr("skillvault.vault.failpoint._counts", {})
    monkeypatch.setenv(VARIABLE, f"file-placed:{number}=raise")
    with pytest.raises(OSError, match="file-placed"):
        put(one=new, three=TWO)
    monkeypatch.delenv(VARIABLE)
    later = {"SKILL.md": b"later\n"}
    done = put(one=later, three=TWO)
    assert not done.left
    files = {path: content for path, (content, _) in state(tmp_path / "out").items()}
    del files[LIST_FILE]
    assert files == {f"{SKILLS}/one/SKILL.md": b"later\n", f"{SKILLS}/three/SKILL.md": b"two\n"}
    assert not list((tmp_path / "drafts").iterdir())


def test_what_a_person_saves_meanwhile_is_not_written_over(
    tmp_path: Path, put: Callable[..., FolderReport], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(one=ONE)
    place = tmp_path / "out" / SKILLS / "one/SKILL.md"

    def saved_first(*args: object, **options: object) -> None:
        place.write_bytes(b"mine\n")
        write_file(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("skillvault.vault.export_folder.write_file", saved_first)
    with pytest.raises(UncommittedEditError, match="changed meanwhile"):
        put(one={"SKILL.md": b"newer\n"})
    assert place.read_bytes() == b"mine\n"


def test_an_export_waits_for_one_that_writes_to_its_folder(
    tmp_path: Path, put: Callable[..., FolderReport]
) -> None:
    put(one=ONE)
    with ThreadPoolExecutor() as pool:
        with folder_lock(tmp_path / "out"):
            other = pool.submit(put, one=ONE, two=TWO)
            assert put(one=ONE, dry=True).unchanged == 2  # who only looks waits for nobody
            with pytest.raises(TimeoutError):
                other.result(0.2)
        assert other.result().written == [f"{SKILLS}/two/SKILL.md"]


def test_an_export_gives_up_beside_one_that_does_not_end(
    tmp_path: Path, put: Callable[..., FolderReport], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "WAIT_SECONDS", 0.0)
    put(one=ONE)
    with folder_lock(tmp_path / "out"), pytest.raises(VaultBusyError, match="out: another"):
        put(one=ONE, two=TWO)
    assert not (tmp_path / "out" / SKILLS / "two").exists()

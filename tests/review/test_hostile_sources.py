"""A hostile source installs nothing and says why: real HTTP on loopback, real git, real folders."""

import os
import socket
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from skillvault.api import Vault
from skillvault.exchange import fetch
from skillvault.exchange.skills.well_known import INDEX_PATH
from skillvault.exchange.source_tree import MAX_BYTES, MAX_FILES
from skillvault.exchange.sources import parse_source
from skillvault.model.errors import SkillvaultError
from tests.conftest import NOW, Person, unguarded
from tests.exchange.sites import (
    SKILL,
    Reply,
    Routes,
    digest,
    entry,
    index,
    offering,
    serving,
    skill_file,
    tarred,
    zipped,
)

SECONDS, SLOW = 60.0, 1.0  # that a source may take, and one that means to take for ever


@pytest.fixture(scope="module")
def shut(tmp_path_factory: pytest.TempPathFactory, _new_vault: Path) -> Vault:
    """A vault that accepts nothing, so that all tests can share it."""
    return Vault(unguarded(_new_vault, tmp_path_factory.mktemp("shut") / "vault"))


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the time limit, and resolve names as an attacker's name server does."""
    known = fetch.Fetcher
    addresses = iter(["10.1.2.3", "127.0.0.1"] * 50)

    def resolve(host: str, *args: Any, **options: Any) -> list[tuple[Any, ...]]:
        if host.endswith(".example"):
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(addresses), 443))]
        return list(socket.getaddrinfo(host, *args, **options))

    def fetcher(source: str) -> fetch.Fetcher:
        return known(source, seconds=SECONDS, resolve=resolve)

    monkeypatch.setattr(fetch, "Fetcher", fetcher)


def told(vault: Vault, source: str, **options: Any) -> str:
    """Return the reason for which a source is refused; fail if it is not."""
    before = vault.store.tip(), Person(vault.root).status()
    try:
        report = vault.curate.installer.install(parse_source(source, **options), now=NOW)
        words = " ".join(f"{p.message} [{p.code}]" for p in report.problems)
        assert not report.installed
    except SkillvaultError as error:
        words = f"{error} [{getattr(error, 'code', type(error).__name__)}]"
    assert (vault.store.tip(), Person(vault.root).status()) == before
    assert not list((vault.root / "proposed").glob("*"))
    return words


# ── a site ───────────────────────────────────────────────────────────────────────────

LINK = tarfile.TarInfo("link")
LINK.type, LINK.linkname = tarfile.SYMTYPE, "/etc/passwd"
DEVICE = tarfile.TarInfo("zero")
DEVICE.type = tarfile.CHRTYPE
FOUND = Reply(index(entry("review", SKILL)))


def archive(**files: bytes) -> Routes:
    """A site with one skill, in an archive with these files too."""
    return offering(review=zipped({"SKILL.md": SKILL, **files}))


def moved(location: str) -> Routes:
    """A site whose skill has moved."""
    reply = Reply(status=302, headers={"Location": location})
    return {**offering(review=SKILL), "/files/review": reply}


def many(count: int) -> Routes:
    return archive(**{f"f{n}": b"" for n in range(count)})


def indexed(*entries: dict[str, Any], **options: Any) -> Routes:
    return {f"/{INDEX_PATH}": Reply(index(*entries, **options)), "/files/review": Reply(SKILL)}


class Case(NamedTuple):
    """A site and the code of the reason for which its source is refused."""

    routes: Callable[[], Routes]
    code: str


SITES: dict[str, Case] = {
    "a path upward": Case(lambda: archive(**{"../x": b"x"}), "unsafe-path"),
    "an absolute path": Case(lambda: archive(**{"/etc/cron.d/x": b"x"}), "unsafe-path"),
    "a path into .git": Case(lambda: archive(**{".git/hooks/post-commit": b"x"}), "unsafe-path"),
    "names that differ in case": Case(
        lambda: archive(**{"Run.sh": b"a", "run.sh": b"b"}), "unsafe-path"
    ),
    "names that differ in form": Case(
        lambda: archive(**{"\u00e9.md": b"a", "e\u0301.md": b"b"}), "unsafe-path"
    ),
    "a link": Case(lambda: offering(review=tarred({"SKILL.md": SKILL}, LINK)), "unsafe-path"),
    "a device": Case(lambda: offering(review=tarred({"SKILL.md": SKILL}, DEVICE)), "unsafe-path"),
    "a bomb": Case(lambda: archive(bomb=b"\0" * (MAX_BYTES + 1)), "too-large"),
    "100,000 files": Case(lambda: many(100_000), "too-large"),
    "50 MB": Case(lambda: offering(review=SKILL + b"x" * (50 << 20)), "too-large"),
    "an index of 50 MB": Case(lambda: {f"/{INDEX_PATH}": Reply(b" " * (50 << 20))}, "too-large"),
    "two skills in one archive": Case(
        lambda: offering(review=zipped({"a/SKILL.md": SKILL, "b/SKILL.md": SKILL})), "no-skill"
    ),
    "no skill in an archive": Case(lambda: offering(review=zipped({"a.md": b"x"})), "no-skill"),
    "a redirect to a private address": Case(lambda: moved("http://10.0.0.1/x"), "private"),
    "a redirect to the cloud's own": Case(lambda: moved("http://169.254.169.254/x"), "private"),
    "a redirect to another port here": Case(lambda: moved("http://127.0.0.1:9/x"), "private"),
    "a redirect to a file": Case(lambda: moved("file:///etc/passwd"), "scheme"),
    "a redirect without end": Case(lambda: moved("/files/review"), "redirect"),
    "a redirect to a name that is private": Case(
        lambda: moved("https://rebind.example/x"), "private"
    ),
    "an entry at a private address": Case(
        lambda: indexed(entry("review", SKILL, url="http://192.168.0.1/x")), "private"
    ),
    "an entry that is a file": Case(
        lambda: indexed(entry("review", SKILL, url="file:///etc/passwd")), "scheme"
    ),
    "a wrong digest": Case(
        lambda: indexed(entry("review", SKILL, digest=digest(b"another"))), "digest"
    ),
    "no digest": Case(lambda: indexed(entry("review", SKILL, digest=None)), "digest"),
    "a digest of another kind": Case(
        lambda: indexed(entry("review", SKILL, digest="md5:" + "0" * 32)), "digest"
    ),
    "a file that changed since its index": Case(
        lambda: {f"/{INDEX_PATH}": FOUND, "/files/review": Reply(SKILL + b"more")}, "digest"
    ),
    "an index without a version": Case(
        lambda: indexed(entry("review", SKILL), schema=""), "bad-index"
    ),
    "an index of the older kind": Case(
        lambda: {"/.well-known/skills/index.json": FOUND}, "status"
    ),
    "a name that is a path": Case(lambda: indexed(entry("../review", SKILL)), "bad-index"),
    "no JSON": Case(lambda: {f"/{INDEX_PATH}": Reply(b"<html>")}, "bad-index"),
    "a slow drip": Case(
        lambda: {**offering(review=SKILL), "/files/review": Reply(SKILL, pause=0.1)}, "slow"
    ),
    "headers that drip": Case(
        lambda: {f"/{INDEX_PATH}": Reply(pause=0.1, slow_headers=True)}, "slow"
    ),
    "a body that is packed": Case(
        lambda: {f"/{INDEX_PATH}": Reply(b"x", headers={"Content-Encoding": "br"})}, "encoding"
    ),
    "a skill without front matter": Case(lambda: offering(review=b"---\nno end\n"), "truncated"),
}  # fmt: skip


@pytest.mark.parametrize("case", SITES)
def test_a_hostile_site_installs_nothing_and_says_why(
    shut: Vault, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if SITES[case].code == "slow":
        monkeypatch.setattr("tests.review.test_hostile_sources.SECONDS", SLOW)
    with serving(SITES[case].routes()) as site:
        assert f"[{SITES[case].code}]" in told(shut, site.url)


def test_a_name_that_leads_into_a_private_net_is_not_asked(shut: Vault) -> None:
    assert "[private]" in told(shut, "https://rebind.example")
    assert "[private]" in told(shut, "https://rebind.example")


def test_plain_http_is_spoken_on_this_machine_alone(shut: Vault) -> None:
    assert "[scheme]" in told(shut, "http://93.184.216.34")


# ── a registry ───────────────────────────────────────────────────────────────────────

SHOWN = "/api/v1/skills/review?ownerHandle=ann"
GIVEN = "/api/v1/download?slug=review&ownerHandle=ann&version=1.0.0"
CLEAN = b'{"latestVersion": {"version": "1.0.0"}, "moderation": null}'


def moderated(words: bytes) -> Routes:
    return {
        SHOWN: Reply(b'{"latestVersion": {"version": "1.0.0"}, "moderation": ' + words + b"}"),
        GIVEN: Reply(zipped({"SKILL.md": SKILL})),
    }


REGISTRIES: dict[str, tuple[Routes, str]] = {
    "blocked": (
        moderated(b'{"isMalwareBlocked": true, "isSuspicious": true, "summary": "steals keys"}'),
        "blocks it as malicious: steals keys",
    ),
    "flagged": (
        moderated(b'{"isSuspicious": true, "isMalwareBlocked": false, "reasonCodes": ["eval"]}'),
        "flags it as suspicious: eval",
    ),
    "a verdict alone": (moderated(b'{"verdict": "malicious"}'), "blocks it as malicious"),
    "held back": ({SHOWN: Reply(b"Skill is under review", 403)}, "403 Skill is under review"),
    "busy for an hour": ({SHOWN: Reply(status=429, headers={"Retry-After": "3600"})}, "busy"),
    "no version": ({SHOWN: Reply(b'{"latestVersion": null}')}, "names no version"),
    "no registry": ({SHOWN: Reply(b"[]")}, "is this a registry"),
    "a path upward": (
        {SHOWN: Reply(CLEAN), GIVEN: Reply(zipped({"SKILL.md": SKILL, "../x": b""}))},
        "leads out of",
    ),
    "no archive": ({SHOWN: Reply(CLEAN), GIVEN: Reply(b"<html>")}, "the archive is damaged"),
}  # fmt: skip


@pytest.mark.parametrize("case", REGISTRIES)
def test_what_a_registry_holds_back_or_breaks_does_not_come_in(shut: Vault, case: str) -> None:
    routes, words = REGISTRIES[case]
    with serving(routes) as site:
        assert words in told(shut, "clawhub:ann/review", registry=site.url)


# ── git ──────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def repository(tmp_path: Path) -> Person:
    """A repository of an attacker's, with a skill in it."""
    author = Person(tmp_path / "repository")
    author.root.mkdir()
    author.git("init", "-q", "-b", "main")
    (author.root / "review").mkdir()
    (author.root / "review/SKILL.md").write_bytes(SKILL)
    return author


def commit(author: Person) -> str:
    author.git("add", "-A")
    author.git("commit", "-qm", "x")
    return f"file://{author.root}"


def put_empty(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_bytes(b"")


def put_submodule(author: Person) -> None:
    entry = f"160000,{'1' * 40},review/module"
    author.git("update-index", "--add", "--cacheinfo", entry)


def put_many(author: Person) -> None:
    for number in range(MAX_FILES + 1):
        (author.root / f"review/{number}").write_text(str(number))


def put_large(author: Person) -> None:
    (author.root / "review/large").write_bytes(os.urandom(1 << 20) * 17)


def put_twins(author: Person) -> None:
    (author.root / "review/Run.sh").write_text("a")
    (author.root / "review/run.sh").write_text("b")


def put_backslash(author: Person) -> None:
    (author.root / "review/a\\b").write_text("a")


GIT_TREES: dict[str, tuple[Callable[[Person], None], str]] = {
    "very many files": (put_many, "too-large"),
    "a large file": (put_large, "too-large"),
    "names that differ in case": (put_twins, "unsafe-path"),
    "a backslash": (put_backslash, "unsafe-path"),
}


@pytest.mark.parametrize("case", GIT_TREES)
def test_a_hostile_tree_installs_nothing(shut: Vault, repository: Person, case: str) -> None:
    put, words = GIT_TREES[case]
    put(repository)
    assert words in told(shut, commit(repository))


def test_a_submodule_is_left_out_and_named(vault: Vault, repository: Person) -> None:
    put_submodule(repository)
    repository.git("add", "review/SKILL.md")
    repository.git("commit", "-qm", "x")
    source = parse_source(f"file://{repository.root}")
    report = vault.curate.installer.install(source, now=NOW)
    assert [one.name for one in report.installed] == ["review"]
    assert [(one.path, one.reason) for one in report.passed_over] == [
        ("review/module", "a submodule")
    ]


@pytest.mark.parametrize("target", ["/etc/passwd", "/etc", "../../outside", "nowhere", "link"])
@pytest.mark.parametrize("kind", ["folder", "git"])
def test_a_link_that_leads_out_is_left_out_and_named(
    vault: Vault, repository: Person, kind: str, target: str
) -> None:
    (repository.root / "review/link").symlink_to(target)
    (repository.root.parent / "outside").write_text("secret")
    address = commit(repository)
    source = parse_source(address if kind == "git" else str(repository.root))
    report = vault.curate.installer.install(source, now=NOW)
    assert [installed.name for installed in report.installed] == ["review"]
    assert [entry.path for entry in report.passed_over] == ["review/link"]
    assert sorted(p.name for p in (vault.root / "proposed/review").iterdir()) == ["SKILL.md"]


def test_a_tree_with_a_path_upward_installs_nothing(shut: Vault, repository: Person) -> None:
    def tree(*lines: str) -> str:
        made = subprocess.run(
            ["git", "mktree", "--missing"], cwd=repository.root, input="".join(lines), text=True,
            capture_output=True, check=True,
        )  # fmt: skip
        return made.stdout.strip()

    commit(repository)
    blob = repository.git("rev-parse", "HEAD:review/SKILL.md")
    inner = tree(f"100644 blob {blob}\tSKILL.md\n", f"100644 blob {blob}\t..\n")
    outer = tree(f"040000 tree {inner}\treview\n")
    bad = repository.git("commit-tree", outer, "-m", "x")
    repository.git("update-ref", "refs/heads/main", bad)
    assert "[unsafe-path]" in told(shut, f"file://{repository.root}")


def test_nothing_of_a_repository_runs(vault: Vault, repository: Person, tmp_path: Path) -> None:
    """Hooks, filters and an ssh command of its own are there, and it is installed."""
    proof = tmp_path / "ran"
    runs = f"touch {proof}"
    repository.write(".gitattributes", "* filter=evil diff=evil\n")
    repository.write("review/.gitattributes", "* filter=evil\n")
    source = commit(repository)
    for key in ("filter.evil.smudge", "filter.evil.clean", "core.sshCommand", "core.fsmonitor",
                "uploadpack.packObjectsHook", "core.gitProxy"):  # fmt: skip
        repository.git("config", key, runs)
    repository.git("config", "filter.evil.required", "true")
    for name in ("post-checkout", "pre-commit", "post-merge", "reference-transaction"):
        hook = repository.write(f".git/hooks/{name}", f"#!/bin/sh\n{runs}\n")
        hook.chmod(0o755)
    report = vault.curate.installer.install(parse_source(source), now=NOW)
    assert [installed.name for installed in report.installed] == ["review"]
    assert not proof.exists()
    assert sorted(p.name for p in (vault.root / "proposed/review").iterdir()) == ["SKILL.md"]


@pytest.mark.parametrize(
    "source",
    [
        "ext::sh -c 'touch ran'",
        "--upload-pack=touch ran",
        "-x",
        "ssh://-oProxyCommand=touch/x.git",
        "git://127.0.0.1/x.git",
        "file:///nowhere/at/all",
        "file:///etc#--help",
    ],
)
def test_a_hostile_address_starts_no_program(
    shut: Vault, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert told(shut, source)
    assert not list(tmp_path.iterdir())


def test_an_address_that_a_config_rewrites_is_still_no_program(shut: Vault, tmp_path: Path) -> None:
    config = Path(os.environ["HOME"]) / ".gitconfig"
    with config.open("a") as file:
        file.write(f'[url "ext::touch {tmp_path}/ran "]\n\tinsteadOf = https://x.example/\n')
    assert "ext is no safe kind of address" in told(shut, "https://x.example/y.git")
    assert not (tmp_path / "ran").exists()


# ── a folder ─────────────────────────────────────────────────────────────────────────


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder with one skill."""
    folder = tmp_path / "source/review"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(SKILL)
    return folder


FOLDERS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a pipe": (lambda at: os.mkfifo(at / "pipe"), "a device"),
    "very many files": (
        lambda at: put_empty(at, *map(str, range(MAX_FILES + 1))), "too-large"
    ),
    "a large file": (lambda at: os.truncate(at / "SKILL.md", MAX_BYTES + 1), "too-large"),
    "names that differ in case": (lambda at: put_empty(at, "a", "A"), "unsafe-path"),
    "no text": (lambda at: (at / "SKILL.md").write_bytes(b"\xff\xfe\0"), "not-utf8"),
}  # fmt: skip


@pytest.mark.parametrize("case", FOLDERS)
def test_a_hostile_folder_installs_nothing(shut: Vault, source: Path, case: str) -> None:
    put, words = FOLDERS[case]
    put(source)
    assert words in told(shut, str(source.parent))


def test_a_file_that_changes_between_check_and_use_is_not_used(
    shut: Vault, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_file = os.open

    def swapped(path: Any, flags: int, *args: Any, **options: Any) -> int:
        if str(path) == str(source / "SKILL.md"):
            source.joinpath("SKILL.md").rename(source / "old")
            source.joinpath("SKILL.md").write_bytes(skill_file("review", "Something else."))
        return open_file(path, flags, *args, **options)

    monkeypatch.setattr(os, "open", swapped)
    assert "[changed]" in told(shut, str(source.parent))


def test_a_file_that_becomes_a_link_is_not_followed(
    shut: Vault, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_file = os.open

    def linked(path: Any, flags: int, *args: Any, **options: Any) -> int:
        if str(path) == str(source / "SKILL.md"):
            source.joinpath("SKILL.md").unlink()
            source.joinpath("SKILL.md").symlink_to("/etc/passwd")
        return open_file(path, flags, *args, **options)

    monkeypatch.setattr(os, "open", linked)
    assert "[unreadable]" in told(shut, str(source.parent))

"""Skills come in as other programs take them: ClawHub's own client, existing repositories."""

from pathlib import Path

import pytest
from skills_ref import validate  # type: ignore[import-untyped]

from skillvault.api import Vault
from skillvault.exchange.source_tree import find_skills, folder_tree
from skillvault.exchange.sources import parse_source
from skillvault.model.errors import BadInputError
from tests.conftest import NOW
from tests.exchange.sites import Reply, Routes, serving, skill_file, zipped
from tests.interop.programs import Program, clone

FILES = {
    "SKILL.md": skill_file("review"),
    "references/more.md": b"# More\n",
    "scripts/run.py": b"print('a')\n",
    "assets/\u00e9.txt": b"\xc3\xa9\n",
}
SHOWN = b"""{
  "skill": {"slug": "review", "displayName": "Review", "summary": "s", "tags": {}, "stats": {},
            "createdAt": 1, "updatedAt": 2},
  "latestVersion": {"version": "1.2.0", "createdAt": 1, "changelog": ""},
  "owner": {"handle": "ann"},
  "moderation": null
}"""
FLAGGED = SHOWN.replace(
    b'"moderation": null',
    b'"moderation": {"isSuspicious": true, "isMalwareBlocked": true, "summary": "steals keys"}',
)


def registry(shown: bytes = SHOWN) -> Routes:
    """A registry with one skill of Ann's."""
    query = "slug=review&ownerHandle=ann&version=1.2.0"
    return {
        "/api/v1/skills/review?ownerHandle=ann": Reply(shown),
        f"/api/v1/download?{query}": Reply(zipped(FILES)),
    }


def below(folder: Path) -> dict[str, bytes]:
    """The files of a folder by path, those of the client's own left out."""
    files = (path for path in folder.rglob("*") if path.is_file() and ".clawhub" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_the_client_of_clawhub_and_install_bring_the_same_files(
    vault: Vault, tmp_path: Path
) -> None:
    clawhub = Program("clawhub", tmp_path / "home")
    with serving(registry()) as site:
        done = clawhub.run(
            "install", "ann/review", "--registry", site.url, "--workdir", str(tmp_path),
            cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        theirs = below(next((tmp_path / "skills").rglob("SKILL.md")).parent)
        source = parse_source("clawhub:ann/review", registry=site.url)
        assert not vault.curate.installer.install(source, now=NOW).problems
    ours = below(vault.root / "proposed/review")
    assert theirs == FILES
    assert ours.keys() == theirs.keys()
    assert {path: ours[path] for path in ours if path != "SKILL.md"} == {
        path: theirs[path] for path in theirs if path != "SKILL.md"
    }


def test_what_the_client_of_clawhub_refuses_install_refuses_too(
    vault: Vault, tmp_path: Path
) -> None:
    clawhub = Program("clawhub", tmp_path / "home")
    with serving(registry(FLAGGED)) as site:
        done = clawhub.run(
            "install", "ann/review", "--registry", site.url, "--workdir", str(tmp_path),
            cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode != 0
        assert not list((tmp_path / "skills").rglob("SKILL.md"))
        source = parse_source("clawhub:ann/review", registry=site.url)
        with pytest.raises(BadInputError, match="steals keys"):
            vault.curate.installer.install(source, now=NOW)
    assert not (vault.root / "proposed/review").exists()


def install_clone(vault: Vault, name: str) -> None:
    """Every skill of a clone comes in, valid, with every byte but the named keys kept."""
    place = clone(name)
    report = vault.curate.installer.install(parse_source(str(place)), now=NOW)
    assert not report.problems
    count = len(find_skills(folder_tree(place)))
    assert len(report.installed) == count > 0
    for installed in report.installed:
        files = below(vault.root / "proposed" / installed.name)
        source = below(Path(installed.url))
        assert files.keys() == source.keys()
        assert all(files[path] == source[path] for path in source if path != "SKILL.md")
        body = source["SKILL.md"].split(b"\n---", 1)[1]
        assert files["SKILL.md"].endswith(body)
        assert not validate(vault.root / "proposed" / installed.name)


def test_every_skill_of_anthropics_repository_comes_in(vault: Vault) -> None:
    install_clone(vault, "anthropics-skills")

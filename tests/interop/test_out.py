"""The real programs read what a vault and its exports have: each live skill, and none other."""

import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from skills_ref import validate  # type: ignore[import-untyped]

from skillvault.api import Vault
from skillvault.exchange.skills.formats import SKILL_FORMATS
from skillvault.exchange.skills.rule_files import HOSTS
from tests.conftest import NOW, Person
from tests.exchange.skills.given import meta_of
from tests.interop.programs import Program, as_json, clone, codex_list, copied, skills_listed

EXAMPLES = Path(__file__).parents[2] / "vault_template" / "examples"
FOREIGN = (
    "---\nname: Release_It\ndescription: 'Use before a release: reads the log.'\n"
    "allowed-tools: [Read, Bash]\ncategory: releases\n"
    "metadata: {openclaw: {requires: {bins: [git]}}}\n---\n\n# Release\n\nRead it.\n"
)
WAITING = "---\nname: waiting\ndescription: Use never.\n---\n\n# Waiting\n"
# EurekaClaw has its keys at the top, which the specification does not know.
VALID = sorted(
    name
    for name, format_ in SKILL_FORMATS.items()
    # Claude Code and OpenClaw get the front matter as its author wrote it.
    if format_.write
    and name not in ("eurekaclaw", "claude-code", "claude-plugin", "openclaw", *HOSTS)
)


@pytest.fixture
def learned(prepared: Callable[[Callable[[Vault], object]], Vault], person: Person) -> Vault:
    """A vault with skills of its own, one of another program with files, and one that waits."""
    return prepared(learn_skills)


def learn_skills(vault: Vault) -> None:
    """Let a vault learn skills and take in two, of which one waits."""
    examples = [EXAMPLES / name for name in ("trading.jsonl", "coding.jsonl")]
    vault.import_files("jsonl", examples, now=NOW)
    vault.run(now=NOW)
    with tempfile.TemporaryDirectory() as foreign:
        for name, text in (("release", FOREIGN), ("waiting", WAITING)):
            folder = Path(foreign) / name
            (folder / "scripts").mkdir(parents=True)
            (folder / "SKILL.md").write_text(text)
            (folder / "scripts/log.sh").write_text("git log -1\n")
        vault.curate.installer.import_skills(Path(foreign), now=NOW)
    vault.curate.approve("release-it", now=NOW)
    vault.curate.retire(vault.skills()[0].name, now=NOW)


@pytest.fixture
def site(learned: Vault, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The address and the folder of the vault's own site, on loopback."""
    root = tmp_path / "site"
    learned.exporter.export("well-known", root)
    handler = partial(_Quiet, directory=str(root))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", root
    server.shutdown()
    thread.join()
    server.server_close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_args: object) -> None:
        """Nothing: the tests look at what arrives."""


def live(vault: Vault) -> set[str]:
    return {skill.name for skill in vault.skills()}


# ── skills ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("options", [(), ("--full-depth",)])
def test_npx_skills_lists_each_live_skill_of_a_vault_and_none_other(
    learned: Vault, tmp_path: Path, options: tuple[str, ...]
) -> None:
    skills = Program("skills", tmp_path / "home")
    done = skills.run("add", str(learned.root), "--list", *options, cwd=tmp_path)
    assert skills_listed(done.stdout) == live(learned)


def test_npx_skills_finds_nothing_where_nothing_is_live(
    learned: Vault, person: Person, tmp_path: Path
) -> None:
    skills = Program("skills", tmp_path / "home")
    for skill in learned.skills():
        learned.curate.retire(skill.name, now=NOW)
    for options in ((), ("--full-depth",)):
        done = skills.run("add", str(learned.root), "--list", *options, cwd=tmp_path)
        assert skills_listed(done.stdout) == set()


def test_npx_skills_installs_a_site_file_by_file(
    learned: Vault, site: tuple[str, Path], tmp_path: Path
) -> None:
    skills = Program("skills", tmp_path / "home")
    project = tmp_path / "project"
    project.mkdir()
    address, _ = site
    done = skills.run("add", address, "--skill", "*", "-a", "codex", "-y", cwd=project)
    assert done.returncode == 0, done.stdout
    learned.exporter.export("codex", tmp_path / "codex", budget=10**6)
    assert _files(project / ".agents/skills") == _files(tmp_path / "codex/.agents/skills")


def test_npx_skills_refuses_what_is_not_what_the_index_says(
    learned: Vault, site: tuple[str, Path], tmp_path: Path
) -> None:
    skills = Program("skills", tmp_path / "home")
    address, root = site
    entries = as_json(root / ".well-known/agent-skills/index.json")["skills"]
    for kind in ("skill-md", "archive"):
        entry = next(entry for entry in entries if entry["type"] == kind)
        file = root / ".well-known/agent-skills" / entry["url"]
        file.write_bytes(file.read_bytes() + b" ")
    done = skills.run("add", address, "--list", cwd=tmp_path)
    refused = {entry["name"] for entry in entries} - skills_listed(done.stdout)
    assert len(refused) == 2
    assert "release-it" in refused


# ── hosts ────────────────────────────────────────────────────────────────────────────


def test_claude_takes_the_export_without_a_warning(learned: Vault, tmp_path: Path) -> None:
    claude = Program("claude", tmp_path / "home")
    out = tmp_path / "out"
    assert set(learned.exporter.export("claude-code", out).skills) == live(learned)
    done = claude.run("plugin", "validate", "--strict", str(out), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (out / ".claude/skills/release-it/SKILL.md").write_text("---\nname: release-it\n---\n")
    done = claude.run("plugin", "validate", "--strict", str(out), cwd=tmp_path)
    assert done.returncode == 1, "it looks at every skill"


def test_claude_takes_the_exported_plugin_and_its_marketplace(
    learned: Vault, tmp_path: Path
) -> None:
    claude = Program("claude", tmp_path / "home")
    out = tmp_path / "out"
    assert set(learned.exporter.export("claude-plugin", out).skills) == live(learned)
    done = claude.run("plugin", "validate", "--strict", str(out), cwd=tmp_path)  # both of them
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(f"skillvault-skills:{name}" in done.stdout for name in live(learned))
    for call in (("marketplace", "add", str(out)), ("install", "skillvault-skills")):
        assert claude.run("plugin", *call, cwd=tmp_path).returncode == 0


def test_codex_shows_its_model_every_exported_skill_uncut(learned: Vault, tmp_path: Path) -> None:
    codex = Program("codex", tmp_path / "home")
    out = tmp_path / "out"
    exported = learned.exporter.export("codex", out)
    sent = {
        path.parent.name: " ".join(meta_of(path.read_bytes())["description"].split())
        for path in (out / ".agents/skills").glob("*/SKILL.md")
    }
    assert set(sent) == set(exported.skills) == live(learned)
    assert codex_list(codex, out) == sent


def test_codex_shows_what_fits_its_list_in_the_context_that_it_has(
    learned: Vault, tmp_path: Path
) -> None:
    codex = Program("codex", tmp_path / "home")
    out = tmp_path / "out"
    assert learned.exporter.export("codex", out, budget=20_000).cut is None
    descriptions = {skill.name: skill.description for skill in learned.shelf.skills()}
    listed = codex_list(codex, out)
    assert listed == {name: " ".join(descriptions[name].split()) for name in live(learned)}


# ── the specification ────────────────────────────────────────────────────────────────


def test_the_reference_validator_takes_every_skill_of_a_vault_and_of_each_export(
    learned: Vault, tmp_path: Path
) -> None:
    for name in VALID:
        learned.exporter.export(name, tmp_path / "out" / name)
    for packed in (tmp_path / "out").rglob("*.zip"):
        zipfile.ZipFile(packed).extractall(packed.parent)
    pages = [
        *learned.root.glob("skills/*/SKILL.md"),
        *learned.root.glob("proposed/*/SKILL.md"),
        *(tmp_path / "out").rglob("SKILL.md"),
    ]
    assert len(pages) > 3 * len(live(learned))
    assert {str(page): found for page in pages if (found := validate(page.parent))} == {}


# ── real skills ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "format_name", "folder"),
    [
        ("anthropics-skills", "agent-skills", "skills"),
        ("EurekaClaw-seed_skills", "eurekaclaw", "seedskills"),
    ],
)
def test_real_skills_come_in_whole_and_go_out_whole(
    vault: Vault, tmp_path: Path, name: str, format_name: str, folder: str
) -> None:
    source = copied(clone(name), tmp_path / "clone")
    report = vault.curate.installer.import_skills(source / folder, now=NOW)
    assert not report.problems
    pages = sorted((source / folder).glob("*/SKILL.md"))
    assert len(report.installed) == len(pages)
    assert not vault.curate.installer.import_skills(source / folder, now=NOW).installed
    for installed in report.installed:
        vault.curate.approve(installed.name, now=NOW)
    to = "claude-code" if format_name == "agent-skills" else format_name
    out = tmp_path / "out"
    assert not vault.exporter.export(to, out, budget=10**6).left_out
    for page in pages:
        sent = next(out.rglob(f"{page.parent.name.replace('_', '-')}/SKILL.md"))
        said, text = _read_back(sent)
        meant, whole = _read_back(page)
        assert text == whole
        assert {key: said.get(key) for key in meant} == meant
        before, after = _files(page.parent), _files(sent.parent)
        del before["SKILL.md"], after["SKILL.md"]
        assert after == before


def _read_back(page: Path) -> tuple[dict[str, object], bytes]:
    """Return the keys of a page, its full description among them, and its text to the byte."""
    content = page.read_bytes()
    meta = meta_of(content)
    away = meta.get("metadata", {}).get("agent-skills.description")
    return {**meta, **({"description": away} if away else {})}, content.split(b"\n---", 1)[1]


def _files(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.name != "DS_Store"
    }

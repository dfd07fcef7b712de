"""installing: what comes waits in proposed/, with its origin; newer versions keep what is ours."""

from collections.abc import Callable
from pathlib import Path

import pytest
from skills_ref import validate  # type: ignore[import-untyped]

from skillvault.api import Vault
from skillvault.exchange.source_tree import unpack
from skillvault.exchange.sources import parse_source
from skillvault.model.change import Program
from skillvault.model.errors import BadInputError, UsageError
from skillvault.review.curate import is_below
from skillvault.review.installing import InstallReport
from skillvault.vault.files import layers
from tests.conftest import NOW, Person
from tests.exchange.sites import Reply, Routes, offering, serving, skill_file, tarred, zipped

LATER = NOW.replace(month=12)
TEXT = "First.\n\nSecond.\n\nThird.\n\nFourth.\n\nFifth."


class Author:
    """Somebody who publishes a skill in a folder, and newer versions of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.publish(TEXT)

    def publish(self, text: str, **files: str) -> None:
        """A version of the skill `review`."""
        self.write("review/SKILL.md", skill_file("review", text).decode())
        for path, content in files.items():
            self.write(f"review/{path}", content)

    def write(self, path: str, content: str) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content, encoding="utf-8")


@pytest.fixture
def author(tmp_path: Path) -> Author:
    return Author(tmp_path / "author")


def install(vault: Vault, source: object, *names: str) -> InstallReport:
    return vault.curate.installer.install(parse_source(str(source)), names, now=NOW)


def update(vault: Vault, *names: str) -> InstallReport:
    return vault.curate.installer.update(names, now=LATER)


def text(vault: Vault, path: str) -> str:
    return (vault.root / path).read_text(encoding="utf-8")


def edit(person: Person, path: str, old: str, new: str) -> None:
    before = (person.root / path).read_text()
    assert old in before
    person.write(path, before.replace(old, new))
    person.git("commit", "-qam", f"{old} is {new}")


def names(report: InstallReport) -> list[str]:
    return [installed.name for installed in report.installed]


# ── secrets ──────────────────────────────────────────────────────────────────────────

TOKEN = "ghp" + "_" + "a1B2" * 9
SECRET = f"Send {TOKEN} first."


def objects(person: Person) -> str:
    """Every object of the repository, as text."""
    return person.git("cat-file", "--batch-all-objects", "--batch", "--unordered")


@pytest.mark.parametrize("kind", ["folder", "git"])
def test_a_private_source_comes_in_with_markers_and_is_said_where(
    vault: Vault, person: Person, author: Author, kind: str
) -> None:
    author.publish(f"{TEXT}\n\n{SECRET}", **{"scripts/run.sh": f"#!/bin/sh\ncurl {TOKEN}\n"})
    source = str(author.root)
    if kind == "git":
        git = Person(author.root).git
        git("init", "-q")
        git("add", "-A")
        git("commit", "-qm", "a skill")
        source = f"file://{author.root}"
    report = install(vault, source)
    (installed,) = report.installed
    assert "Send [redacted: GitHub Token] first." in text(vault, "proposed/review/SKILL.md")
    line = 1 + text(vault, "proposed/review/SKILL.md").split("[redacted")[0].count("\n")
    places = [f"redacted SKILL.md:{line} [redacted: GitHub Token]"]
    places += ["redacted scripts/run.sh:2 [redacted: GitHub Token]"]
    lint = [" ".join(found.split()) for found in installed.lint]
    assert [found for found in lint if found.startswith("redacted")] == places
    assert places[0] in " ".join(person.git("log", "-1", "--format=%B").split())
    assert TOKEN not in objects(person)
    assert "is here already" in " ".join(install(vault, source).known)


def test_a_newer_version_of_a_private_source_comes_in_with_markers(
    vault: Vault, person: Person, author: Author
) -> None:
    install(vault, author.root)
    author.publish(f"{TEXT}\n\n{SECRET}")
    assert names(update(vault, "review")) == ["review"]
    assert "Send [redacted: GitHub Token] first." in text(vault, "proposed/review/SKILL.md")
    assert TOKEN not in objects(person)


def test_a_file_whose_name_is_a_secret_does_not_come_in(
    vault: Vault, person: Person, author: Author
) -> None:
    author.write(f"review/{TOKEN}.md", "A file.\n")
    (problem,) = install(vault, author.root).problems
    assert problem.code == "secret"
    assert "rename the file" in problem.message
    assert TOKEN not in objects(person)


def test_a_secret_in_a_public_source_stops_it_unless_it_is_asked_for(
    vault: Vault, person: Person
) -> None:
    page = skill_file("review", f"{TEXT}\n\n{SECRET}")
    with serving(offering(review=page)) as site:
        report = install(vault, site.url)
        assert (report.installed, [p.code for p in report.problems]) == ([], ["secret"])
        (problem,) = report.problems
        assert problem.message.startswith("SKILL.md:")
        assert "looks like a secret (GitHub Token)" in problem.message
        assert "--with-secrets" in problem.message
        assert TOKEN not in objects(person)
        source = parse_source(site.url)
        allowed = vault.curate.installer.install(source, now=NOW, with_secrets=True)
    assert names(allowed) == ["review"]
    assert SECRET in text(vault, "proposed/review/SKILL.md")
    assert TOKEN not in person.git("log", "-1", "--format=%B")


def test_a_secret_in_a_newer_version_of_a_public_source_stops_that(vault: Vault) -> None:
    with serving(offering(review=skill_file("review"))) as site:
        install(vault, site.url)
        site.routes.update(offering(review=skill_file("review", SECRET)))
        assert [p.code for p in update(vault, "review").problems] == ["secret"]


# ── coming in ────────────────────────────────────────────────────────────────────────


def test_all_of_a_source_waits_with_its_files_a_commit_a_skill_in_the_person_s_name(
    vault: Vault, person: Person, author: Author
) -> None:
    author.write("tests/SKILL.md", skill_file("tests").decode())
    author.write("review/scripts/run.sh", "#!/bin/sh\ncurl https://x.example\n")
    author.write("review/.gitattributes", "* filter=x\n")
    before = vault.store.tip()
    report = install(vault, author.root)
    assert names(report) == ["review", "tests"]
    log = person.git("log", "--format=%an %s", f"{before}..").splitlines()
    assert [line.partition(" from ")[0] for line in log] == [
        "Ada Person install: tests",
        "Ada Person install: review",
    ]
    assert person.git("ls-files", "proposed") == (
        "proposed/review/SKILL.md\nproposed/review/scripts/run.sh\nproposed/tests/SKILL.md"
    )
    message = person.git("log", "-1", "--format=%B", "--", "proposed/review")
    assert "script   scripts/run.sh  reaches the network" in message
    assert "a clean lint proves no safety" in message
    assert "Skillvault-Source: origin:" in message
    assert "Skillvault-Target: skill:review" in message
    assert person.status() == ""
    assert vault.check().problems == []
    assert not validate(vault.root / "proposed/review")


def test_the_link_says_where_it_came_from_and_why_tells_it(vault: Vault, author: Author) -> None:
    (installed,) = install(vault, author.root).installed
    (link,) = vault.store.snapshot().links.values()
    assert (link.type, link.source.kind, link.target.id) == ("installed", "origin", "review")
    assert link.source.id == installed.digest.removeprefix("sha256:")[:16]
    assert link.metadata == {
        "url": f"{author.root}/review",
        "digest": installed.digest,
        "files": 1,
    }
    (source,) = vault.why("review")["sources"]
    assert source["ref"]["path"] == f"{author.root}/review"


def test_a_dry_run_says_the_same_and_writes_nothing(vault: Vault, author: Author) -> None:
    before = vault.store.tip()
    report = vault.curate.installer.install(parse_source(str(author.root)), dry=True, now=NOW)
    assert names(report) == ["review"]
    assert vault.store.tip() == before
    assert not (vault.root / "proposed/review").exists()


def test_what_is_here_already_does_not_come_again(vault: Vault, author: Author) -> None:
    install(vault, author.root)
    before = vault.store.tip()
    report = install(vault, author.root)
    assert report.known == [f"review: is here already, from {author.root}/review"]
    author.publish("Another.")
    (sentence,) = install(vault, author.root).known
    assert "skillvault install --update review" in sentence
    assert vault.store.tip() == before


def test_a_name_that_is_taken_ends_in_its_origin_s_digest(
    vault: Vault, person: Person, author: Author
) -> None:
    person.write("skills/review/SKILL.md", skill_file("review", "Mine.").decode())
    person.git("add", "-A")
    person.git("commit", "-qm", "mine")
    (installed,) = install(vault, author.root).installed
    assert installed.name == f"review-{installed.digest.removeprefix('sha256:')[:6]}"
    assert f"name: {installed.name}\n" in text(vault, f"proposed/{installed.name}/SKILL.md")
    assert "Mine." in text(vault, "skills/review/SKILL.md")
    assert vault.check().problems == []


def test_a_skill_without_front_matter_comes_in_with_a_remark(vault: Vault, author: Author) -> None:
    author.write("plain/SKILL.md", "# Plain\n\nRead the whole diff.\n")
    (skill,) = [one for one in install(vault, author.root).installed if one.name == "plain"]
    assert any(line.startswith("plain/SKILL.md: it has no front matter") for line in skill.lint)


def test_a_malformed_skill_is_a_problem_and_the_others_come_in(
    vault: Vault, author: Author
) -> None:
    author.write("bad/SKILL.md", "---\nname: bad\n---\n")
    author.write("worse/SKILL.md", "# No paragraph\n")
    report = install(vault, author.root)
    assert names(report) == ["review"]
    assert [problem.code for problem in report.problems] == ["missing-key", "no-front-matter"]


def test_only_what_is_named_comes_in_and_what_its_author_hides_only_then(
    vault: Vault, author: Author
) -> None:
    hidden = "---\nname: hidden\ndescription: d\nmetadata:\n  internal: true\n---\n\nx\n"
    author.write("hidden/SKILL.md", hidden)
    author.write("tests/SKILL.md", skill_file("tests").decode())
    listing = vault.curate.installer.offers(parse_source(str(author.root)))
    assert [row.name for row in listing.skills] == ["review", "tests"]
    assert [entry.path for entry in listing.passed_over] == ["hidden/SKILL.md"]
    assert names(install(vault, author.root, "hidden")) == ["hidden"]
    assert names(install(vault, author.root)) == ["review", "tests"]
    with pytest.raises(UsageError, match="nothing: not in the source; it offers hidden, review"):
        install(vault, author.root, "nothing")


def test_a_folder_without_skills_is_a_sentence(vault: Vault, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a skill is a folder with a SKILL\.md"):
        install(vault, tmp_path)
    with pytest.raises(UsageError, match="not a folder"):
        install(vault, tmp_path / "nowhere")


def test_what_a_person_edits_waits_and_nothing_else_with_it(
    vault: Vault, person: Person, author: Author
) -> None:
    author.write("tests/SKILL.md", skill_file("tests").decode())
    person.write("proposed/review/SKILL.md", "mine, not committed\n")
    report = install(vault, author.root)
    assert names(report) == ["tests"]
    assert [waiting.path for waiting in report.waiting] == ["proposed/review/SKILL.md"]
    assert text(vault, "proposed/review/SKILL.md") == "mine, not committed\n"


# ── every kind of source ─────────────────────────────────────────────────────────────


def published(author: Author) -> Person:
    """The author's folder as a git repository."""
    repository = Person(author.root)
    repository.git("init", "-q", "-b", "main")
    repository.git("add", "-A")
    repository.git("commit", "-qm", "x")
    return repository


def test_a_repository_at_a_ref_and_in_a_folder(vault: Vault, author: Author) -> None:
    author.write("sub/tests/SKILL.md", skill_file("tests").decode())
    repository = published(author)
    repository.git("tag", "v1")
    commit = repository.git("rev-parse", "HEAD")
    author.publish("Newer.")
    repository.git("commit", "-qam", "y")
    source = f"file://{author.root}#v1:sub"
    assert names(install(vault, source)) == ["tests"]
    (link,) = vault.store.snapshot().links.values()
    assert link.metadata["url"] == f"file://{author.root}#v1:sub/tests"
    assert link.metadata["version"] == commit
    assert update(vault).known == [f"tests: is up to date with {link.metadata['url']}"]


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_a_site_and_a_newer_version_of_it(vault: Vault, pack: Callable[..., bytes]) -> None:
    files = {"SKILL.md": skill_file("packed"), "references/more.md": b"more\n"}
    with serving(offering(plain=skill_file("plain"), packed=pack(files))) as site:
        assert names(install(vault, site.url)) == ["plain", "packed"]
        assert text(vault, "proposed/packed/references/more.md") == "more\n"
        site.routes.update(offering(plain=skill_file("plain", "Newer."), packed=pack(files)))
        report = update(vault)
        assert names(report) == ["plain"]
        assert report.known == [f"packed: is up to date with {site.url}#packed"]
        assert "Newer." in text(vault, "proposed/plain/SKILL.md")


def test_a_registry_is_asked_for_its_latest_version_and_remembered(vault: Vault) -> None:
    shown, given = "/api/v1/skills/review?ownerHandle=ann", "/api/v1/download?slug=review"
    archive = Reply(zipped({"SKILL.md": skill_file("review"), "a/b.txt": b"b"}))
    routes: Routes = {
        shown: Reply(b'{"latestVersion": {"version": "1.2.0"}, "moderation": null}'),
        f"{given}&ownerHandle=ann&version=1.2.0": archive,
    }
    with serving(routes) as site:
        source = parse_source("clawhub:ann/review", registry=site.url)
        assert names(vault.curate.installer.install(source, now=NOW)) == ["review"]
        assert site.asked == list(routes)
        (link,) = vault.store.snapshot().links.values()
        assert link.metadata["url"] == "clawhub:ann/review"
        assert (link.metadata["version"], link.metadata["registry"]) == ("1.2.0", site.url)
        assert update(vault).known == ["review: is up to date with clawhub:ann/review"]


# ── programs ─────────────────────────────────────────────────────────────────────────

RUN, RUNS = "review/run.sh", "#!/bin/sh\n"


def mode(person: Person, path: str) -> tuple[str, bool]:
    """A file's mode as git has it, and whether the one in the work tree may be run."""
    committed = person.git("ls-tree", "HEAD", path)[:6]
    return committed, bool((person.root / path).stat().st_mode & 0o100)


@pytest.fixture
def program(author: Author) -> Path:
    """A script of the author's skill that may be run."""
    author.publish(TEXT, **{"run.sh": RUNS, "data.txt": "x\n"})
    place = author.root / RUN
    place.chmod(0o755)
    return place


@pytest.mark.parametrize("kind", ["folder", "git", "zip", "tar"])
def test_what_may_be_run_may_be_run_here_too(
    vault: Vault, person: Person, author: Author, program: Path, kind: str
) -> None:
    skill = skill_file("review")
    if kind in ("zip", "tar"):
        pack = zipped if kind == "zip" else tarred
        content = pack({"SKILL.md": skill, "run.sh": Program(RUNS.encode()), "data.txt": b"x\n"})
        with serving(offering(review=content)) as site:
            install(vault, site.url)
    else:
        if kind == "git":
            published(author)
        install(vault, author.root if kind == "folder" else f"file://{author.root}")
    vault.curate.approve("review", now=NOW)
    assert mode(person, "skills/review/run.sh") == ("100755", True)
    assert mode(person, "skills/review/data.txt") == ("100644", False)
    assert person.status() == ""
    place = person.root.with_name("out")
    for _ in range(2):
        vault.exporter.export("claude-code", place)
    out = place / ".claude/skills/review"
    assert [bool((out / name).stat().st_mode & 0o100) for name in ("run.sh", "data.txt")] == [
        True, False,
    ]  # fmt: skip
    vault.exporter.export("well-known", place)
    packed = (place / ".well-known/agent-skills/review/review.zip").read_bytes()
    assert isinstance(unpack(packed)["run.sh"], Program)


def test_a_file_that_may_be_run_since_is_a_newer_version(
    vault: Vault, person: Person, author: Author, program: Path
) -> None:
    program.chmod(0o644)
    install(vault, author.root)
    program.chmod(0o755)
    assert names(update(vault)) == ["review"]
    assert mode(person, "proposed/review/run.sh") == ("100755", True)
    assert person.status() == ""
    assert update(vault).known == [f"review: is up to date with {author.root}/review"]


def test_what_a_person_lets_nobody_run_stays_so_in_a_newer_version(
    vault: Vault, person: Person, author: Author, program: Path
) -> None:
    install(vault, author.root)
    (person.root / "proposed/review/run.sh").chmod(0o644)
    person.git("commit", "-qam", "not to be run")
    program.write_text(RUNS + "echo\n")
    assert names(update(vault)) == ["review"]
    assert mode(person, "proposed/review/run.sh") == ("100644", False)
    assert "echo" in text(vault, "proposed/review/run.sh")
    assert person.status() == ""


# ── newer versions ───────────────────────────────────────────────────────────────────


def test_a_newer_version_of_what_waits_keeps_what_was_changed_here(
    vault: Vault, person: Person, author: Author
) -> None:
    author.publish(TEXT, **{"a.md": "a\n", "b.md": "b\n", "c.md": "c\n"})
    install(vault, author.root)
    edit(person, "proposed/review/SKILL.md", "First.", "First, mine.")
    edit(person, "proposed/review/a.md", "a", "mine")
    person.git("rm", "-q", "proposed/review/c.md")
    person.git("commit", "-qm", "no c")
    author.publish(TEXT.replace("Fifth.", "Fifth, theirs."), **{"d.md": "d\n"})
    (author.root / "review/b.md").unlink()
    assert names(update(vault)) == ["review"]
    new = text(vault, "proposed/review/SKILL.md")
    assert "First, mine." in new
    assert "Fifth, theirs." in new
    files = sorted(path.name for path in (vault.root / "proposed/review").iterdir())
    assert files == ["SKILL.md", "a.md", "d.md"]
    assert text(vault, "proposed/review/a.md") == "mine\n"
    # And so does the one after it.
    author.publish(TEXT.replace("Fifth.", "Fifth, theirs again."))
    update(vault)
    new = text(vault, "proposed/review/SKILL.md")
    assert "First, mine." in new
    assert "Fifth, theirs again." in new
    assert update(vault).known == [f"review: is up to date with {author.root}/review"]
    assert vault.check().problems == []
    assert person.status() == ""


def test_where_both_changed_ours_stays_without_a_marker_and_the_commit_tells_it(
    vault: Vault, person: Person, author: Author
) -> None:
    install(vault, author.root)
    edit(person, "proposed/review/SKILL.md", "Second.", "Mine.")
    author.publish(TEXT.replace("Second.", "Theirs."))
    before = vault.store.tip()
    update(vault)
    new = text(vault, "proposed/review/SKILL.md")
    assert "Mine." in new
    assert "<<<<<<<" not in new
    assert "Theirs." not in new
    log = person.git("log", "--format=%B", f"{before}..")
    assert "SKILL.md: 1 place changed by both" in log
    # What its author wrote is there to be read.
    first = person.git("rev-list", "--reverse", f"{before}..").split()[0]
    assert "Theirs." in person.git("show", f"{first}:proposed/review/SKILL.md")


def test_an_approved_skill_is_not_changed_by_its_author(
    vault: Vault, person: Person, author: Author
) -> None:
    install(vault, author.root)
    vault.curate.approve("review", now=NOW)
    edit(person, "skills/review/SKILL.md", "First.", "First, mine.")
    before = text(vault, "skills/review/SKILL.md")
    author.publish(TEXT.replace("Fifth.", "Fifth, theirs."), **{"new.md": "new\n"})
    assert names(update(vault)) == ["review-next"]
    assert text(vault, "skills/review/SKILL.md") == before
    waiting = text(vault, "proposed/review-next/SKILL.md")
    assert "replaces: review\n" in waiting
    assert "First, mine." in waiting
    assert not validate(vault.root / "proposed/review-next")
    assert update(vault).known == [
        "review: its next version waits as review-next, which is updated in its place",
        f"review-next: is up to date with {author.root}/review",
    ]


def test_approving_the_next_version_puts_it_over_the_old_one(
    vault: Vault, person: Person, author: Author
) -> None:
    author.publish(TEXT, **{"old.md": "old\n"})
    install(vault, author.root)
    vault.curate.approve("review", now=NOW)
    author.publish("All anew.", **{"new.md": "new\n"})
    (author.root / "review/old.md").unlink()
    update(vault)
    vault.curate.approve("review-next", now=LATER)
    assert sorted(path.name for path in (vault.root / "skills/review").iterdir()) == [
        "SKILL.md",
        "new.md",
    ]
    assert not (vault.root / "proposed").exists() or not list((vault.root / "proposed").iterdir())
    skill, _ = vault.skill("review")
    assert (skill.name, skill.status, skill.replaces) == ("review", "testing", None)
    assert "All anew." in skill.body
    assert vault.check() == type(vault.check())([], [])
    assert update(vault).known == [f"review: is up to date with {author.root}/review"]
    assert len(vault.why("review")["sources"]) == 2
    assert person.status() == ""


def test_what_a_person_took_away_is_brought_again_only_if_it_is_named(
    vault: Vault, person: Person, author: Author
) -> None:
    install(vault, author.root)
    vault.curate.approve("review", now=NOW)
    author.publish("Not wanted.")
    update(vault)
    person.git("rm", "-rq", "proposed/review-next", "links/review-next.yaml")
    person.git("commit", "-qm", "no")
    (sentence,) = update(vault).known
    assert "was removed by a person" in sentence
    assert names(update(vault, "review")) == ["review-next"]


def test_a_next_version_of_a_skill_that_is_gone_is_a_sentence(vault: Vault, author: Author) -> None:
    install(vault, author.root)
    vault.curate.approve("review", now=NOW)
    author.publish("Newer.")
    update(vault)
    vault.curate.retire("review", now=LATER)
    with pytest.raises(UsageError, match="skill restore review"):
        vault.curate.approve("review-next", now=LATER)
    assert "skill restore review" in update(vault, "review").known[0]


def test_a_source_that_has_it_no_more_changes_nothing(vault: Vault, author: Author) -> None:
    install(vault, author.root)
    (author.root / "review").rename(author.root / "elsewhere")
    before = vault.store.tip()
    report = update(vault)
    assert [problem.code for problem in report.problems] == ["source"]
    assert vault.store.tip() == before
    with pytest.raises(UsageError, match="mine: not an installed skill"):
        update(vault, "mine")


def test_a_broken_link_is_a_sentence(vault: Vault, person: Person, author: Author) -> None:
    install(vault, author.root)
    edit(person, "links/review.yaml", "files: 1", "files: many")
    with pytest.raises(BadInputError, match="restore the line with git"):
        update(vault)


# ── the package's own ────────────────────────────────────────────────────────────────


def test_seeds_are_copied_and_a_name_that_stands_stays_without_force(
    vault: Vault, person: Person
) -> None:
    seeds = sorted(path.parent.name for path in layers.seed_folder().glob("*/SKILL.md"))
    person.write(f"skills/{seeds[0]}/SKILL.md", skill_file(seeds[0], "Mine.").decode())
    person.git("add", "-A")
    person.git("commit", "-qm", "mine")
    report = vault.curate.installer.seeds(now=NOW)
    assert names(report) == seeds[1:]
    assert "Mine." in text(vault, f"skills/{seeds[0]}/SKILL.md")
    assert vault.check().problems == []
    assert names(vault.curate.installer.seeds(now=NOW, force=True)) == seeds[:1]
    assert "Mine." not in text(vault, f"skills/{seeds[0]}/SKILL.md")
    assert vault.curate.installer.seeds(now=NOW, force=True).installed == []
    assert person.status() == ""


def test_a_front_matter_that_was_mended_is_named(vault: Vault, author: Author) -> None:
    author.write("b/SKILL.md", "---\nname: b\ndescription: Use when: red\n---\n\nx\n")
    report = install(vault, author.root, "b")
    assert "was not valid YAML" in report.installed[0].lint[-1]


@pytest.mark.parametrize(
    ("page", "notes"),
    [
        ("\ufeff---\nname: b\ndescription: Use it.\n---\n\nx\n", []),
        (
            "---\n---\n\nUse it.\n",
            ["b/SKILL.md: no description; its first paragraph stands for it"],
        ),
    ],
)
def test_a_remark_on_a_front_matter_is_true(
    vault: Vault, author: Author, page: str, notes: list[str]
) -> None:
    author.write("b/SKILL.md", page)
    (skill,) = install(vault, author.root, "b").installed
    assert [line for line in skill.lint if "SKILL.md" in line] == notes


@pytest.mark.parametrize(
    ("page", "words"),
    [("---\n- a\n---\n\nx\n", "`description: …` in a skill"), ("", "no paragraph; say what")],
)
def test_a_file_that_describes_nothing_is_told_what_to_say(
    vault: Vault, author: Author, page: str, words: str
) -> None:
    author.write("b/SKILL.md", page)
    (problem,) = install(vault, author.root).problems
    assert words in problem.message


def test_a_file_for_git_in_a_skill_is_named(vault: Vault, author: Author) -> None:
    author.write("review/.gitignore", "*.pyc\n")
    passed_over = {entry.path: entry.reason for entry in install(vault, author.root).passed_over}
    assert passed_over == {"review/.gitignore": "a file for git, which is no part of a skill"}


def test_an_archive_is_named_as_one(vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped({"SKILL.md": b"x"}))
    with pytest.raises(UsageError, match="an archive; unpack it"):
        vault.curate.installer.import_skills(tmp_path / "a.zip")


def test_a_pointer_of_git_lfs_is_named(vault: Vault, author: Author) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
    author.write("review/assets/a.png", pointer)
    report = install(vault, author.root)
    assert report.installed[0].lint[-1].startswith("assets/a.png: a pointer of git LFS")


def test_two_skills_of_one_name_come_in_at_once_under_two_names(
    vault: Vault, author: Author
) -> None:
    author.write("b/SKILL.md", skill_file("review", "Second.").decode())
    first, second = install(vault, author.root).installed
    assert {first.name, second.name} > {"review"}
    assert len({first.name, second.name}) == 2


@pytest.mark.parametrize(
    ("url", "source"),
    [
        ("documents:/a/b:c/CONTRIBUTING.md#x", "/a/b:c"),
        ("/a/b:c/x", "/a/b:c"),
        ("documents:https://example.com/up.md#x", "https://example.com/up.md"),
        ("https://example.com/r.git#main:x", "https://example.com/r.git"),
    ],
)
def test_a_skill_is_below_the_source_that_brought_it(url: str, source: str) -> None:
    assert is_below(url, source)
    assert not is_below(url, source[:-1])


def test_many_skills_are_approved_in_one_commit(vault: Vault, author: Author) -> None:
    author.write("b/SKILL.md", skill_file("b").decode())
    author.write("c/SKILL.md", skill_file("c").decode() + "\nFetch https://example.com.\n")
    install(vault, author.root)
    curate = vault.curate
    assert curate.select_proposals(str(author.root)) == ["b", "c", "review"]
    assert curate.select_proposals(str(author.root / "b")) == ["b"]
    assert curate.select_proposals(f"{author.root}x") == []
    assert "c" not in curate.select_proposals(clean=True)
    report = curate.approve("b", "c", "b", now=NOW)
    assert len({done.commit for done in report.done}) == 1
    assert {skill.name for skill in vault.skills()} == {"b", "c"}


def test_many_skills_are_rejected_in_one_commit_and_one_of_them_waits_again(
    vault: Vault, author: Author
) -> None:
    author.write("b/SKILL.md", skill_file("b").decode())
    author.write("b/notes.md", "More.\n")
    install(vault, author.root)
    report = vault.curate.reject("b", "review", reason="not ours", now=NOW)
    assert len({done.commit for done in report.done}) == 1
    assert vault.skills("proposed") == []
    vault.curate.forget("b", now=LATER)
    assert [skill.name for skill in vault.skills("proposed")] == ["b"]
    assert (vault.root / "proposed/b/notes.md").is_file()
    assert vault.check().problems == []


@pytest.mark.parametrize(
    ("source", "urls"),
    [
        ("o/r", ["https://github.com/o/r.git#:a", "https://github.com/o/r.git#v1:a"]),
        ("o/r/skills", ["https://github.com/o/r.git#:skills/a"]),
        ("https://github.com/o/r/tree/v1/skills", ["https://github.com/o/r.git#v1:skills/a"]),
        ("https://github.com/o/r/tree/v1", ["https://github.com/o/r.git#v1:skills/a"]),
        ("https://skills.example/", ["https://skills.example#a"]),
        ("https://example.com/up.md", ["documents:https://example.com/up.md#x"]),
        ("clawhub:o/a", ["clawhub:o/a"]),
    ],
)
def test_a_source_selects_the_skills_that_it_named_and_no_others(
    source: str, urls: list[str]
) -> None:
    address = parse_source(source).address
    assert all(is_below(url, address) for url in urls)
    others = ["https://github.com/o/r2.git#v2:a", "https://skills.example.org#a", "clawhub:o/ab"]
    assert not any(is_below(url, address) for url in others)

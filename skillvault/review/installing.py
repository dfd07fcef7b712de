"""Install skills of other people and their newer versions, one commit a skill.

Installed skills wait in proposed/; only skills of the package are copied into skills/. Files are
merged three-way; if both sides changed a file, the local text stays.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from skillvault.exchange.skills.folders import DocumentRule, MemoryFact
from skillvault.exchange.source_tree import SkippedFile
from skillvault.exchange.sources import REGISTRY, SkillSource, parse_source
from skillvault.learning import corrections, install, lint
from skillvault.learning.install import Origin
from skillvault.learning.lint import Finding
from skillvault.learning.naming import next_names
from skillvault.learning.next_version import FILE, Files, proposed_files
from skillvault.loop.documents import find_new_rules
from skillvault.loop.run import ChangeResult, WaitingWork
from skillvault.model.change import Change, Program
from skillvault.model.errors import BadInputError, GitError, UncommittedEditError, UsageError
from skillvault.model.records import Correction, Fact, Link, Problem, Ref
from skillvault.model.text.text import join_items, pluralize
from skillvault.review import commits, skill_sources
from skillvault.review.skill_sources import SourceSkill
from skillvault.sessions.transcripts import CODING, repository_of
from skillvault.vault import setup
from skillvault.vault.commit import marks
from skillvault.vault.commit.skill_versions import folder_files
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layers, layout
from skillvault.vault.files.redact import secret_kinds
from skillvault.vault.git.objects import with_mode
from skillvault.vault.git.repository import Git
from skillvault.vault.index.snapshot import Snapshot

_WEB_SCHEMES = ("https://", "http://")
_MAX_PLACES = 5  # secrets of a skill that a refusal names
_BATCH_SIZE = 50  # skills whose commits are published together


def find_origins(snapshot: Snapshot) -> dict[str, Origin]:
    """Return the origin of the latest version of each installed skill in the vault, by name."""
    links: dict[str, Link] = {}
    for link in sorted(snapshot.links.of_type("installed"), key=lambda link: link.created_at):
        if link.target in snapshot.records:
            links[link.target.id] = link
    return {name: install.origin_of(link) for name, link in links.items()}


def lint_incoming(files: Files, source_files: Files, findings: Iterable[Finding]) -> list[Finding]:
    """Lint files as they will be in proposed/, with the marker that hides them from agents.

    Files that equal a file of the source have its `findings`.
    """
    all_files = {**files, FILE: marks.mark_internal(FILE, files[FILE])}
    new_files = {path: data for path, data in all_files.items() if source_files.get(path) != data}
    equal_paths = all_files.keys() - new_files.keys()
    findings = [finding for finding in findings if finding.path in equal_paths]
    return sorted([*findings, *lint.lint_files(new_files, secret_kinds)])


def lint_proposed(store: Store, snapshot: Snapshot, name: str) -> list[Finding]:
    """Lint a skill in proposed/."""
    return lint.lint_files(folder_files(store.git, snapshot, f"proposed/{name}"), secret_kinds)


class FileMerge(Struct, frozen=True):
    """The files of a newer version merged with the local changes, and the conflicts."""

    files: dict[str, bytes]
    conflicts: list[str]

    def with_merged_modes(self, published: Files) -> dict[str, bytes]:
        """Return the files of the newer version with the executable bits of the merged files."""
        return {
            path: Program(data) if isinstance(self.files.get(path), Program) else bytes(data)
            for path, data in published.items()
        }

    def sentences(self, name: str) -> list[str]:
        """Describe the conflicts for a commit message."""
        if not self.conflicts:
            return []
        return [
            f"Changed here and by its author; {name} keeps what was changed here:",
            *(f"  {conflict}" for conflict in self.conflicts),
        ]


def merge_changes(git: Git, base: Files, local: Files, remote: Files) -> FileMerge:
    """Merge the local changes since the base into the author's files."""
    merge = FileMerge({}, [])
    for path in sorted({*base, *local, *remote}):
        versions = base.get(path), local.get(path), remote.get(path)
        content, conflict = _merge_file(git, *versions)
        if content is not None:
            # The local executable bit counts, unless only the author changed it.
            base_mode, local_mode, remote_mode = (isinstance(v, Program) for v in versions)
            only_author = local_mode == base_mode or path not in local
            is_program = remote_mode if only_author else local_mode
            merge.files[path] = Program(content) if is_program else bytes(content)
        if conflict:
            merge.conflicts.append(f"{path}: {conflict}")
    return merge


def _merge_file(
    git: Git, base: bytes | None, local: bytes | None, remote: bytes | None
) -> tuple[bytes | None, str]:
    """Return the merged content of a file, and a sentence about a conflict if there was one."""
    if local in (base, remote):
        return remote, ""
    if remote == base:
        return local, ""
    if local is None:
        return None, "removed here, and changed by its author"
    if remote is None:
        return local, "removed by its author, and changed here"
    merge = git.merge_texts(local, base or b"", remote)
    if merge is None:
        return local, "no text, and changed by both"
    content, conflicts = merge
    note = f"{conflicts} place{'s' * (conflicts > 1)} changed by both"
    return content, note if conflicts else ""


class InstalledSkill(Struct, frozen=True):
    """A skill that this run installed, with its address, its lint and its commits.

    `lint` are lines for a person, about the `findings` and what was mended.
    """

    name: str
    url: str
    digest: str
    lint: Sequence[str]
    findings: Sequence[Finding]
    done: Sequence[ChangeResult] = ()


class InstallReport(Struct):
    """The installed skills, the known skills (a sentence each), the problems, and other files."""

    installed: list[InstalledSkill] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    passed_over: list[SkippedFile] = field(default_factory=list)
    waiting: list[WaitingWork] = field(default_factory=list)
    rules: list[Correction] = field(default_factory=list)  # proposed, by the commits `done`
    passages: list[Correction] = field(default_factory=list)  # that the judge is to decide
    facts: list[Fact] = field(default_factory=list)  # added, by the commits `done`
    done: list[ChangeResult] = field(default_factory=list)

    def include(self, report: "InstallReport") -> None:
        """Add the entries of another report."""
        for name in self.__struct_fields__:
            getattr(self, name).extend(getattr(report, name))


class OfferedSkill(Struct, frozen=True):
    """A skill of a source as `install --list` shows it: `path` is its folder in the source."""

    name: str
    path: str
    description: str
    source: str
    copies: tuple[str, ...]
    links: tuple[str, ...]


class SourceListing(Struct, frozen=True):
    """The skills that a source offers, its problems, and the files that are not installed.

    `files` is the number of SKILL.md files, 0 if only named skills are listed.
    """

    skills: list[OfferedSkill]
    passed_over: list[SkippedFile]
    problems: list[Problem]
    files: int


class Installer:
    """Installs skills of other people into one vault; `clock` gives the default time."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock

    def offers(self, source: SkillSource, names: Sequence[str] = ()) -> SourceListing:
        """List the skills of a source; nothing is written."""
        skills, contents = _skills_of(source, names)
        rows = [
            OfferedSkill(
                s.name, s.path, s.folder.skill.description, s.origin.url, s.copies, s.links
            )
            for s in skills
        ]
        rows.sort(key=lambda row: row.name)
        file_count = 0 if names else contents.skill_files
        return SourceListing(rows, contents.passed_over, contents.problems, file_count)

    def install(
        self,
        source: SkillSource,
        names: Sequence[str] = (),
        *,
        now: datetime | None = None,
        dry: bool = False,
        with_secrets: bool = False,
    ) -> InstallReport:
        """Install the named skills of a source, or all of them.

        A skill that cannot be read becomes a problem. So does a skill that seems to hold a secret,
        unless `with_secrets` is set. Raise UsageError if the source lacks a named skill.
        """
        installation = self._begin(now, dry=dry, with_secrets=with_secrets)
        skills, contents = _skills_of(source, names)
        installation.report.problems += contents.problems
        installation.report.passed_over += contents.passed_over
        for skill in skills:
            installation.install(skill)
        installation.commit_incoming()
        return installation.report

    def import_skills(
        self,
        path: Path,
        format_name: str | None = None,
        *,
        now: datetime | None = None,
        dry: bool = False,
    ) -> InstallReport:
        """Import the skills of a folder or file in another program's format.

        An earlier import from the same place is updated. Raise UsageError if there is no skill of a
        known format.
        """
        installation = self._begin(now, dry=dry)
        installation.import_contents(
            skill_sources.read_path(path, format_name), _repository_of(path)
        )
        return installation.report

    def learn(
        self,
        source: str,
        *,
        domain: str | None = None,
        now: datetime | None = None,
        dry: bool = False,
    ) -> InstallReport:
        """Propose the rules and how-tos of the documents of a folder, a file or a URL.

        If the judge is a model, it is asked about the passages that structure cannot decide.
        UsageError for a domain that the vault does not have.
        """
        snapshot = self._store.snapshot()
        snapshot.check_domain(domain)
        installation = self._begin(now, dry=dry)
        judged = snapshot.policy.judge.provider != "offline"
        if source.startswith(_WEB_SCHEMES):
            contents, repository = skill_sources.read_page(source, judged=judged), None
        else:
            contents = skill_sources.read_path(Path(source), skill_sources.DOCUMENTS, judged=judged)
            repository = _repository_of(Path(source))
        installation.import_contents(contents, repository, domain)
        return installation.report

    def update(
        self,
        names: Sequence[str] = (),
        *,
        now: datetime | None = None,
        dry: bool = False,
        with_secrets: bool = False,
    ) -> InstallReport:
        """Install newer versions of the named installed skills, or of all installed skills.

        Local changes are kept. The new version of an approved skill waits beside the approved one.
        """
        installation = self._begin(now, dry=dry, with_secrets=with_secrets)
        origin_by_name = find_origins(self._store.snapshot())
        if unknown_names := [name for name in names if name not in origin_by_name]:
            raise UsageError(
                f"{', '.join(unknown_names)}: not an installed skill; `skillvault install SOURCE` "
                "installs, `skillvault skill list --proposed` names what waits"
            )
        for name in names or sorted(origin_by_name):
            try:
                installation.update(name, origin_by_name[name], is_named=name in names)
            except (BadInputError, GitError, UsageError) as error:
                installation.report.problems.append(skill_sources.problem_of(name, error))
        return installation.report

    def seeds(
        self, *, force: bool = False, now: datetime | None = None, dry: bool = False
    ) -> InstallReport:
        """Copy the package's own skills into skills/.

        A skill of the same name stays, unless `force`.
        """
        installation = self._begin(now, dry=dry)
        for name, files in _read_seeds():
            installation.copy_seed(name, files, force=force)
        return installation.report

    def _begin(
        self, now: datetime | None, *, dry: bool, with_secrets: bool = False
    ) -> "_Installation":
        return _Installation(self._store, now or self._clock(), dry=dry, with_secrets=with_secrets)


class _Installation:
    """One call of an installer: it collects skills, commits them in batches, and reports."""

    def __init__(self, store: Store, now: datetime, *, dry: bool, with_secrets: bool) -> None:
        self._store = store
        self._now = now
        self._dry = dry
        self._with_secrets = with_secrets
        self._incoming: list[tuple[InstalledSkill, Sequence[Change]]] = []
        self.report = InstallReport()

    def install(self, skill: SourceSkill) -> None:
        """Collect a skill for `commit_incoming`, unless the vault has it already."""
        snapshot, origin = self._store.snapshot(), skill.origin
        if sentence := self._explain_known(snapshot, origin):
            self.report.known.append(sentence)
            return
        findings = self._lint(skill)
        if findings is None:
            return
        names = {name for name, _ in self._name_by_source.values()}  # in a dry run not in head
        names |= snapshot.history.former_names().keys()
        name = install.free_name(
            skill.name,
            origin.digest,
            lambda name: name in names or Ref("skill", name) in snapshot.records,
        )
        if name is None:
            message = f"the name is taken; rename or remove {skill.name}, and install it again"
            self.report.problems.append(Problem(origin.url, "name", "name-taken", message))
            return
        files = proposed_files(skill.folder.files, name)
        findings = lint_incoming(files, skill.folder.files, findings)
        lines = [*lint.lint_lines(findings), *skill.notes]
        change = install.install_change(name, files, origin, lint=lines, now=self._now)
        self._collect([change], origin, lines, findings)
        if len(self._incoming) == _BATCH_SIZE:
            self.commit_incoming()

    def import_contents(
        self,
        contents: skill_sources.ImportContents,
        repository: str | None,
        domain: str | None = None,
    ) -> None:
        """Propose the skills that were read, and the rules of a repository."""
        self.report.problems, self.report.passed_over = contents.problems, contents.passed_over
        if contents.rules:
            domain = domain or self._store.snapshot().only_domain or CODING
            for page, page_rules in itertools.groupby(contents.rules, key=lambda rule: rule.page):
                self._propose_rules(page, list(page_rules), domain, repository or domain)
        for domain, memories in itertools.groupby(
            sorted(contents.facts, key=lambda fact: fact.domain), key=lambda fact: fact.domain
        ):
            setup.check_domains([domain])
            self._add_facts(domain, list(memories))
        for skill in contents.skills:
            self._install_or_renew(skill)
        self.commit_incoming()

    def update(self, name: str, origin: Origin, *, is_named: bool) -> None:
        """Install the current version of a skill from its source.

        A version that a person removed is only installed again if the person named the skill.
        """
        if sentence := skill_sources.explain_no_source(name, origin):
            self.report.known.append(sentence)
        else:
            read_newer = partial(self._newer_version, name, origin)
            self._renew(name, origin, read_newer, is_named=is_named)

    def copy_seed(self, name: str, files: Files, *, force: bool) -> None:
        """Copy a skill of the package into skills/; with `force` over a skill of this name."""
        snapshot = self._store.snapshot()
        path = snapshot.records.path_of(Ref("skill", name))
        if path and not (force and path.startswith("skills/")):
            self.report.known.append(f"{name}: is in {path.partition('/')[0]}/ and stays")
            return
        if new_name := snapshot.history.former_names().get(name):
            self.report.known.append(f"{name}: is named {new_name} here and stays")
            return
        local_files = folder_files(self._store.git, snapshot, f"skills/{name}")
        if local_files == files:
            self.report.known.append(f"{name}: is the package's version already")
            return
        origin = Origin("the package", "", install.digest_of(files), len(files))
        self._collect([install.seed_change(name, files, local_files)], origin)
        self.commit_incoming()

    def commit_incoming(self) -> None:
        """Commit the skills that were collected."""
        incoming, self._incoming = self._incoming, []
        if not incoming:
            return
        changes = [change for _, skill_changes in incoming for change in skill_changes]
        try:
            results = iter(commits.commit_changes(self._store, changes, self._now, dry=self._dry))
        except UncommittedEditError as error:
            if len(incoming) == 1:
                path, _, reason = str(error).partition(": ")
                self.report.waiting.append(WaitingWork(path, reason))
                return
            for entry in incoming:  # the edit concerns one of them
                self._incoming = [entry]
                self.commit_incoming()
            return
        for skill, skill_changes in incoming:
            done = list(itertools.islice(results, len(skill_changes)))
            self.report.installed.append(replace(skill, done=done))

    @cached_property
    def _name_by_source(self) -> dict[tuple[str, str], tuple[str, Origin]]:
        """The names and origins of the installed skills, by address and registry."""
        return {
            (origin.url, origin.registry): (name, origin)
            for name, origin in find_origins(self._store.snapshot()).items()
        }

    def _add_facts(self, domain: str, memories: Sequence[MemoryFact]) -> None:
        """Commit the facts of another program's memory that the vault never had."""
        all_facts = [
            install.memory_fact(memory.text, memory.confidence, memory.created, domain)
            for memory in memories
        ]
        facts = {fact.id: fact for fact in all_facts}
        refs = [Ref("fact", name) for name in facts]
        snapshot = self._store.snapshot()
        known_refs = {*snapshot.history.find_known(refs), *snapshot.records.existing(refs)}
        known_ids = {ref.id for ref in known_refs}
        new_facts = [fact for name, fact in facts.items() if name not in known_ids]
        if known_ids:
            count = pluralize(len(known_ids), "fact")
            self.report.known.append(f"{domain}: {count} known already")
        if new_facts:
            self.report.facts += new_facts
            self._commit_change(install.memory_change(domain, new_facts))

    def _propose_rules(
        self, page: str, entries: Sequence[DocumentRule], domain: str, scope: str
    ) -> None:
        """Commit the rules and passages of a document that were never in the vault."""
        rules, passages = list[Correction](), list[Correction]()
        for entry in entries:
            rule = corrections.document_rule(
                entry.text, domain, scope, page=page, about=entry.about, at=self._now
            )
            if entry.is_undecided:
                passages.append(corrections.document_passage(rule))
            else:
                rules.append(rule)
        proposed = find_new_rules(self._store.snapshot(), rules)
        if proposed.repeats:
            count = f"{proposed.repeats} rule{'s are' if proposed.repeats > 1 else ' is'}"
            self.report.known.append(f"{page}: {count} known already")
        self.report.rules += proposed.rules
        if proposed.rules:
            self._commit_change(corrections.document_change(page, proposed.rules))
        refs = [Ref("correction", passage.id) for passage in passages]
        known_ids = {ref.id for ref in self._store.snapshot().history.find_known(refs)}
        new_passages = [passage for passage in passages if passage.id not in known_ids]
        self.report.passages += new_passages
        if new_passages:
            self._commit_change(corrections.passage_change(page, new_passages))

    def _commit_change(self, change: Change) -> None:
        self.report.done += commits.commit_changes(self._store, [change], self._now, dry=self._dry)

    def _install_or_renew(self, skill: SourceSkill) -> None:
        """Install a skill, or the next version of a skill from the same place."""
        snapshot, origin = self._store.snapshot(), skill.origin
        installed = self._name_by_source.get((origin.url, origin.registry))
        if installed and not snapshot.links.by_source([origin.ref]):
            self._renew(*installed, lambda: skill, is_named=True)
        elif not installed and _has_same_text(self._store, snapshot, skill):
            self.report.known.append(f"{skill.name}: says the same as in {origin.url}")
        else:
            self.install(skill)

    def _renew(
        self,
        name: str,
        origin: Origin,
        read_newer: Callable[[], SourceSkill | None],
        *,
        is_named: bool,
    ) -> None:
        """Install a newer version of a skill, merged with the local changes since `origin`."""
        snapshot = self._store.snapshot()
        folder = (snapshot.records.path_of(Ref("skill", name)) or "").partition("/")[0]
        if sentence := _explain_no_update(snapshot, name, folder):
            self.report.known.append(sentence)
            return
        skill = read_newer()
        findings = self._lint(skill) if skill else None
        if skill is None or findings is None:
            return
        local_files = folder_files(self._store.git, snapshot, f"{folder}/{name}")
        local = proposed_files(local_files, name)
        remote = proposed_files(skill.folder.files, name)
        base = self._installed_files(snapshot, origin, name)
        merge = merge_changes(self._store.git, base, local, remote)
        target, replaces = install.name_update(name, local_files, is_approved=folder == "skills")
        if not is_named and _was_removed(snapshot, skill.origin, target):
            self.report.known.append(
                f"{name}: the version that {origin.url} has was removed by a person; "
                f"`skillvault install --update {name}` brings it again"
            )
            return
        files = proposed_files(merge.files, target, replaces)
        published = proposed_files(merge.with_merged_modes(remote), target, replaces)
        findings = lint_incoming(files, skill.folder.files, findings)
        lines = [*lint.lint_lines(findings), *skill.notes]
        words = [*merge.sentences(name), *lines]
        change = install.install_change(target, published, skill.origin, lint=words, now=self._now)
        waiting_files = folder_files(self._store.git, snapshot, f"proposed/{target}")
        changes = install.update_changes(change, published, files, waiting_files)
        self._collect(changes, skill.origin, lines, findings)
        self.commit_incoming()

    def _lint(self, skill: SourceSkill) -> list[Finding] | None:
        """Return the findings in a skill; None, and a problem, if a secret keeps the skill out."""
        findings = lint.lint_files(skill.folder.files, secret_kinds)
        secrets = [finding for finding in findings if finding.code == lint.KEEPS_OUT]
        if self._with_secrets or not secrets:
            return findings
        positions = join_items([finding.where for finding in secrets[:_MAX_PLACES]])
        surplus = len(secrets) - _MAX_PLACES
        more = f" and {surplus} more places" if surplus > 0 else ""
        message = (
            f"{positions}{more}: {secrets[0].message}; ask its author to remove it, or allow it "
            "with --with-secrets"
        )
        self.report.problems.append(Problem(skill.origin.url, None, "secret", message))
        return None

    def _collect(
        self,
        changes: Sequence[Change],
        origin: Origin,
        lines: Sequence[str] = (),
        findings: Sequence[Finding] = (),
    ) -> None:
        name = changes[0].targets[0].id
        self._name_by_source[origin.url, origin.registry] = (name, origin)
        skill = InstalledSkill(name, origin.url, origin.digest, lines, findings)
        self._incoming.append((skill, changes))

    def _explain_known(self, snapshot: Snapshot, origin: Origin) -> str | None:
        for link in snapshot.links.by_source([origin.ref]):
            if link.target in snapshot.records:
                return f"{link.target.id}: is here already, from {install.origin_of(link).url}"
        if installed := self._name_by_source.get((origin.url, origin.registry)):
            return (
                f"{installed[0]}: came from {origin.url} in another version; "
                f"`skillvault install --update {installed[0]}` brings this one"
            )
        return None

    def _newer_version(self, name: str, origin: Origin) -> SourceSkill | None:
        registry = origin.registry or REGISTRY
        source = parse_source(origin.url, registry=registry, is_path=origin.url.startswith("/"))
        with skill_sources.open_source(source) as contents:
            contents.offers = [offer for offer in contents.offers if offer.url == origin.url]
            skill = next(iter(skill_sources.read_offers(contents, registry)), None)
        if skill is None:
            message = f"{origin.url} no longer has it; it stays as it is"
            self.report.problems += contents.problems or [Problem(name, None, "gone", message)]
        elif skill.origin.digest == origin.digest:
            self.report.known.append(f"{name}: is up to date with {origin.url}")
            return None
        return skill

    def _installed_files(self, snapshot: Snapshot, origin: Origin, name: str) -> Files:
        """Return the files of an origin as installed, under the current name of the skill."""
        for commit in snapshot.history.commits_using(origin.ref):
            for target in commit.targets:
                folder = f"proposed/{target.removeprefix('skill:')}"
                files = self._files_of_commit(commit.sha, folder)
                if FILE in files:
                    return proposed_files(files, name)
        return {}

    def _files_of_commit(self, commit: str, folder: str) -> Files:
        entries = self._store.git.objects.files(commit, [folder])
        blobs = self._store.git.blobs(entry.id for entry in entries.values())
        return {
            path.removeprefix(f"{folder}/"): with_mode(blobs[entry.id], entry)
            for path, entry in entries.items()
        }


def _repository_of(path: Path) -> str | None:
    """Return the name of the repository of a folder or file."""
    path = path.expanduser()
    return repository_of(str(layout.real_path(path if path.is_dir() else path.parent)))


def _skills_of(
    source: SkillSource, names: Sequence[str]
) -> tuple[list[SourceSkill], skill_sources.SourceContents]:
    """Return the skills of a source that are named or offered, and the others."""
    with skill_sources.open_source(source) as contents:
        registry = source.url if source.kind == "clawhub" else REGISTRY
        skills = skill_sources.read_offers(contents, registry)
    is_complete = not contents.problems
    chosen = skill_sources.choose_skills(
        skills, names, contents.passed_over, is_complete=is_complete
    )
    contents.passed_over.sort(key=lambda entry: entry.path)
    return chosen, contents


def _read_seeds() -> Iterator[tuple[str, Files]]:
    for folder in sorted(path.parent for path in layers.seed_folder().glob(f"*/{FILE}")):
        files = (path for path in sorted(folder.rglob("*")) if path.is_file())
        yield (
            folder.name,
            {path.relative_to(folder).as_posix(): path.read_bytes() for path in files},
        )


def _was_removed(snapshot: Snapshot, origin: Origin, name: str) -> bool:
    """Return True if this version was installed under this name and is gone now."""
    target = Ref("skill", name)
    commits = snapshot.history.commits_using(origin.ref)
    return target not in snapshot.records and any(str(target) in c.targets for c in commits)


def _has_same_text(store: Store, snapshot: Snapshot, skill: SourceSkill) -> bool:
    """Return True if a skill of the vault has the same text, as after an export and re-import."""
    local_skill = snapshot.skills.find(skill.name)
    path = snapshot.records.path_of(Ref("skill", skill.name))
    if local_skill is None or path is None:
        return False
    local_files = folder_files(store.git, snapshot, path.rpartition("/")[0])
    texts, local_texts = (
        (value.description.split(), value.body.strip())
        for value in (skill.folder.skill, local_skill)
    )
    other_files = {path: data for path, data in skill.folder.files.items() if path != FILE}
    has_same_files = all(local_files.get(path) == data for path, data in other_files.items())
    return has_same_files and texts == local_texts


def _explain_no_update(snapshot: Snapshot, name: str, folder: str) -> str | None:
    if folder not in ("skills", "proposed"):
        return f"{name}: is in {folder}/; `skillvault skill restore {name}` brings it back first"
    version = next(next_names(name))
    if folder == "skills" and version in snapshot.skills.proposed:
        return f"{name}: its next version waits as {version}, which is updated in its place"
    return None

"""Skills of other people come into the vault, and their newer versions; one commit a skill.

All that comes waits in `proposed/`; only the package's own skills are copied into `skills/`. Three
versions of each file are merged, and where both sides changed one, the local text stays.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct, field

from skillvault.exchange.sources import REGISTRY, SkillSource, source_of
from skillvault.learning import install as rules
from skillvault.learning import lint
from skillvault.learning.install import Origin
from skillvault.learning.naming import next_names
from skillvault.learning.next_version import FILE, Files, as_proposed
from skillvault.loop.registry import AGENDA
from skillvault.loop.run import ChangeResult, WaitingItem
from skillvault.model.change import Change, Program
from skillvault.model.errors import BadInputError, GitError, UncommittedEditError, UsageError
from skillvault.model.records import Link, Problem, Ref
from skillvault.model.text.text import join_items
from skillvault.review import importing
from skillvault.review.importing import Incoming, chosen, problem_of, read_offers
from skillvault.review.skill_sources import opened
from skillvault.vault.commit import marks
from skillvault.vault.commit.skill_versions import folder_files
from skillvault.vault.commit.store import Store
from skillvault.vault.disk import pause_on_disk_errors
from skillvault.vault.files import layers
from skillvault.vault.files.redact import secret_kinds
from skillvault.vault.git.objects import with_mode
from skillvault.vault.git.repository import Git
from skillvault.vault.index.snapshot import Topics

_PLACES = 5  # secrets of a skill that a refusal names


def origins(head: Topics) -> dict[str, Origin]:
    """Skill -> where its latest version came from, of the installed ones that are there."""
    links: dict[str, Link] = {}
    for link in sorted(head.links.of_type("installed"), key=lambda link: link.created_at):
        if link.target in head.records:
            links[link.target.id] = link
    return {name: rules.origin_of(link) for name, link in links.items()}


def lint_of(files: Files) -> list[str]:
    """What a person should look at in a skill's files, a line each."""
    return lint.lint_lines(lint.lint_files(files, secret_kinds))


def lint_of_incoming(files: Files) -> list[str]:
    """The same of files that will stand in proposed/, with the mark of that shelf."""
    return lint_of({**files, FILE: marks.mark_internal(FILE, files[FILE])})


def lint_of_waiting(store: Store, name: str) -> list[str]:
    """What a person should look at in an installed skill that waits; [] of any other."""
    head = store.head()
    skill = head.skills.proposed.get_many([name]).get(name)
    if skill is None or skill.origin != "installed":
        return []
    return lint_of(folder_files(store.git, head, f"proposed/{name}"))


class KeptChanges(Struct, frozen=True):
    """The files of a newer version with what was changed here, and where that was decided."""

    files: dict[str, bytes]
    conflicts: list[str]

    def as_run_here(self, published: Files) -> dict[str, bytes]:
        """The files of the newer version, those as programs that are programs with the changes."""
        return {
            path: Program(data) if isinstance(self.files.get(path), Program) else bytes(data)
            for path, data in published.items()
        }

    def sentences(self, name: str) -> list[str]:
        """What a commit says of the conflicts."""
        if not self.conflicts:
            return []
        return [
            f"Changed here and by its author; {name} keeps what was changed here:",
            *(f"  {conflict}" for conflict in self.conflicts),
        ]


def keep_changes(git: Git, base: Files, ours: Files, theirs: Files) -> KeptChanges:
    """Theirs, with what is different in ours since the base."""
    kept = KeptChanges({}, [])
    for path in sorted({*base, *ours, *theirs}):
        versions = base.get(path), ours.get(path), theirs.get(path)
        content, conflict = _merged(git, *versions)
        if content is not None:
            # It may be run as it may here, unless only its author changed that.
            was, is_ours, is_theirs = (isinstance(version, Program) for version in versions)
            runs = is_theirs if is_ours == was or path not in ours else is_ours
            kept.files[path] = Program(content) if runs else bytes(content)
        if conflict:
            kept.conflicts.append(f"{path}: {conflict}")
    return kept


def _merged(
    git: Git, base: bytes | None, ours: bytes | None, theirs: bytes | None
) -> tuple[bytes | None, str]:
    """(what becomes of a file, what of it was decided against theirs)."""
    if ours in (base, theirs):
        return theirs, ""
    if theirs == base:
        return ours, ""
    if ours is None:
        return None, "removed here, and changed by its author"
    if theirs is None:
        return ours, "removed by its author, and changed here"
    merge = git.merge_texts(ours, base or b"", theirs)
    if merge is None:
        return ours, "no text, and changed by both"
    content, conflicts = merge
    places = f"{conflicts} place{'s' * (conflicts > 1)} changed by both"
    return content, places if conflicts else ""


class Installed(Struct, frozen=True):
    """A skill that came in: under which name, from where, what lint says of it."""

    name: str
    url: str
    digest: str
    lint: Sequence[str]
    done: Sequence[ChangeResult]


class InstallReport(Struct):
    """What came in, what was here already (a sentence a skill), what could not be taken."""

    installed: list[Installed] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    waiting: list[WaitingItem] = field(default_factory=list)

    def include(self, other: "InstallReport") -> None:
        """What came in with another one."""
        self.installed += other.installed
        self.known += other.known
        self.problems += other.problems
        self.waiting += other.waiting


class Offered(Struct, frozen=True):
    """A skill of a source as `install --list` shows it."""

    name: str
    description: str
    source: str


class Installer:
    """What brings skills of other people into one vault; `clock` says when by default."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock

    def offers(
        self, source: SkillSource, names: Sequence[str] = ()
    ) -> tuple[list[Offered], list[Problem]]:
        """(the skills of a source, what of it is none); nothing is written."""
        skills, problems = _skills_of(source, names)
        rows = [
            Offered(skill.name, skill.folder.skill.description, skill.origin.url)
            for skill in skills
        ]
        return sorted(rows, key=lambda row: row.name), problems

    def install(
        self,
        source: SkillSource,
        names: Sequence[str] = (),
        *,
        now: datetime | None = None,
        dry: bool = False,
        with_secrets: bool = False,
    ) -> InstallReport:
        """Bring in the skills of a source, all or those that are named.

        What cannot be taken is a problem, and the others come in; so is what looks like a secret,
        unless `with_secrets`. UsageError if one that is named is not there.
        """
        work = self._started(now, dry=dry, with_secrets=with_secrets)
        skills, problems = _skills_of(source, names)
        work.report.problems += problems
        for skill in skills:
            work.take(skill)
        return work.report

    def import_skills(
        self,
        path: Path,
        format_name: str | None = None,
        *,
        now: datetime | None = None,
        dry: bool = False,
    ) -> InstallReport:
        """Bring in the skills of a folder or file in another program's format.

        What came from there before is renewed if it is another version. UsageError where there is
        nothing of that format, or of any.
        """
        work = self._started(now, dry=dry)
        skills, work.report.problems = importing.read_path(path, format_name)
        for skill in skills:
            work.take_or_renew(skill)
        return work.report

    def update(
        self,
        names: Sequence[str] = (),
        *,
        now: datetime | None = None,
        dry: bool = False,
        with_secrets: bool = False,
    ) -> InstallReport:
        """Bring in newer versions of installed skills, all or those that are named.

        What was changed here since is kept; of an approved skill the new version waits beside it.
        `with_secrets` as in `install`.
        """
        work = self._started(now, dry=dry, with_secrets=with_secrets)
        known = origins(self._store.head())
        if missing := [name for name in names if name not in known]:
            raise UsageError(
                f"{', '.join(missing)}: not installed from anywhere; `skillvault install SOURCE` "
                "installs, `skillvault skill list --proposed` names what waits"
            )
        for name in names or sorted(known):
            try:
                work.update(name, known[name], asks=name in names)
            except (BadInputError, GitError, UsageError) as error:
                work.report.problems.append(problem_of(name, error))
        return work.report

    def seeds(
        self, *, force: bool = False, now: datetime | None = None, dry: bool = False
    ) -> InstallReport:
        """Copy the package's own skills into skills/; names that stand stay, but for `force`."""
        work = self._started(now, dry=dry)
        for name, files in _seeds():
            work.copy_seed(name, files, force=force)
        return work.report

    def _started(
        self, now: datetime | None, *, dry: bool, with_secrets: bool = False
    ) -> "_Installation":
        return _Installation(self._store, now or self._clock(), dry=dry, with_secrets=with_secrets)


class _Installation:
    """One installation: what of it is done so far."""

    def __init__(self, store: Store, now: datetime, *, dry: bool, with_secrets: bool) -> None:
        self._store = store
        self._now = now
        self._dry = dry
        self._with_secrets = with_secrets
        self.report = InstallReport()

    def take(self, skill: Incoming) -> None:
        """Commit one skill, unless it is here."""
        head, origin = self._store.head(), skill.origin
        if sentence := _known(head, origin):
            self.report.known.append(sentence)
            return
        if self._is_secret(skill):
            return
        name = rules.free_name(skill.name, origin.digest, lambda name: self._is_taken(head, name))
        if name is None:
            message = f"the name is taken; rename or remove {skill.name}, and install it again"
            self.report.problems.append(Problem(origin.url, "name", "name-taken", message))
            return
        files = as_proposed(skill.folder.files, name)
        lines = lint_of_incoming(files)
        change = rules.install_change(name, files, origin, lint=lines, now=self._now)
        self._publish([change], origin, lines)

    def take_or_renew(self, skill: Incoming) -> None:
        """Commit one skill, or its next version where another came from the same place."""
        head, origin = self._store.head(), skill.origin
        before = {known.url: name for name, known in origins(head).items()}
        if origin.url in before and not head.links.by_source([origin.ref]):
            name = before[origin.url]
            self.renew(name, origins(head)[name], lambda: skill, asks=True)
        elif origin.url not in before and _is_said(self._store, head, skill):
            self.report.known.append(f"{skill.name}: says here what it says in {origin.url}")
        else:
            self.take(skill)

    def update(self, name: str, origin: Origin, *, asks: bool) -> None:
        """Bring in the version of one skill that its source has now.

        One that a person took away comes again only if somebody `asks` for it.
        """
        if sentence := importing.is_no_source(name, origin):
            self.report.known.append(sentence)
        else:
            self.renew(name, origin, lambda: self._newer(name, origin), asks=asks)

    def renew(
        self, name: str, origin: Origin, newer: Callable[[], Incoming | None], *, asks: bool
    ) -> None:
        """Bring in a newer version of one skill, with what was changed here since `origin`."""
        head = self._store.head()
        shelf = (head.records.path_of(Ref("skill", name)) or "").partition("/")[0]
        if sentence := _stays(head, name, shelf):
            self.report.known.append(sentence)
            return
        skill = newer()
        if skill is None or self._is_secret(skill):
            return
        standing = folder_files(self._store.git, head, f"{shelf}/{name}")
        ours = as_proposed(standing, name)
        theirs = as_proposed(skill.folder.files, name)
        kept = keep_changes(self._store.git, self._base(head, origin, name), ours, theirs)
        target, replaces = rules.place_of_update(name, standing, is_approved=shelf == "skills")
        if not asks and _was_taken_away(head, skill.origin, target):
            self.report.known.append(
                f"{name}: the version that {origin.url} has was taken away by a person; "
                f"`skillvault install --update {name}` brings it again"
            )
            return
        files = as_proposed(kept.files, target, replaces)
        published = as_proposed(kept.as_run_here(theirs), target, replaces)
        lines = lint_of_incoming(files)
        words = [*kept.sentences(name), *lines]
        install = rules.install_change(target, published, skill.origin, lint=words, now=self._now)
        waiting = folder_files(self._store.git, head, f"proposed/{target}")
        changes = rules.update_changes(install, published, files, waiting)
        self._publish(changes, skill.origin, lines)

    def copy_seed(self, name: str, files: Files, *, force: bool) -> None:
        """Copy one skill of the package into skills/."""
        head = self._store.head()
        place = head.records.path_of(Ref("skill", name))
        if place and not (force and place.startswith("skills/")):
            self.report.known.append(f"{name}: stands in {place.partition('/')[0]}/ and stays")
            return
        standing = folder_files(self._store.git, head, f"skills/{name}")
        if standing == files:
            self.report.known.append(f"{name}: is the package's already")
            return
        origin = Origin("the package", "", rules.digest_of(files), len(files))
        self._publish([rules.seed_change(name, files, standing)], origin, ())

    def _is_secret(self, skill: Incoming) -> bool:
        """Return True, and say where, for a skill that may not come in as it holds secrets."""
        found = lint.lint_files(skill.folder.files, secret_kinds)
        secrets = [finding for finding in found if finding.code == lint.KEEPS_OUT]
        if self._with_secrets or not secrets:
            return False
        places = join_items([finding.where for finding in secrets[:_PLACES]])
        more = f" and {len(secrets) - _PLACES} more places" if len(secrets) > _PLACES else ""
        message = (
            f"{places}{more}: {secrets[0].message}; ask its author to remove it, or let it in with "
            "--with-secrets"
        )
        self.report.problems.append(Problem(skill.origin.url, None, "secret", message))
        return True

    def _is_taken(self, head: Topics, name: str) -> bool:
        came = {installed.name for installed in self.report.installed}  # in a dry run not in head
        return name in came or Ref("skill", name) in head.records

    def _publish(self, changes: Sequence[Change], origin: Origin, lines: Sequence[str]) -> None:
        try:
            done = _committed(self._store, changes, self._now, dry=self._dry)
        except UncommittedEditError as error:
            path, _, reason = str(error).partition(": ")
            self.report.waiting.append(WaitingItem(path, reason))
            return
        name = changes[0].targets[0].id
        self.report.installed.append(Installed(name, origin.url, origin.digest, lines, done))

    def _newer(self, name: str, origin: Origin) -> Incoming | None:
        """What the source of a skill has now; None, and the report says why, if nothing newer."""
        registry = origin.registry or REGISTRY
        problems: list[Problem] = []
        source = source_of(origin.url, registry=registry, is_folder=origin.url.startswith("/"))
        with opened(source) as place:
            offers = [offer for offer in place.offers if offer.url == origin.url]
            skill = next(read_offers(offers, registry, problems), None)
        if skill is None:
            message = f"{origin.url} has it no more; it stays as it is"
            self.report.problems += problems or [Problem(name, None, "gone", message)]
        elif skill.origin.digest == origin.digest:
            self.report.known.append(f"{name}: is what {origin.url} has")
            return None
        return skill

    def _base(self, head: Topics, origin: Origin, name: str) -> Files:
        """The files of an origin as they were installed, under a skill's present name."""
        for commit in head.history.commits_using(origin.ref):
            for target in commit.targets:
                place = f"proposed/{target.removeprefix('skill:')}"
                files = self._files_at(commit.sha, place)
                if FILE in files:
                    return as_proposed(files, name)
        return {}

    def _files_at(self, commit: str, place: str) -> Files:
        entries = self._store.git.objects.files(commit, [place])
        blobs = self._store.git.blobs(entry.id for entry in entries.values())
        return {
            path.removeprefix(f"{place}/"): with_mode(blobs[entry.id], entry)
            for path, entry in entries.items()
        }


def _skills_of(source: SkillSource, names: Sequence[str]) -> tuple[list[Incoming], list[Problem]]:
    """(the skills of a source that are named or offered, what of it cannot be read)."""
    with opened(source) as place:
        problems = list(place.problems)
        registry = source.url if source.kind == "clawhub" else REGISTRY
        skills = list(read_offers(place.offers, registry, problems))
    return chosen(skills, names, whole=not problems), problems


def _seeds() -> Iterator[tuple[str, Files]]:
    """The package's own skills: name and files."""
    for folder in sorted(path.parent for path in layers.seeds().glob(f"*/{FILE}")):
        files = (path for path in sorted(folder.rglob("*")) if path.is_file())
        yield (
            folder.name,
            {path.relative_to(folder).as_posix(): path.read_bytes() for path in files},
        )


def _committed(
    store: Store, changes: Sequence[Change], now: datetime, *, dry: bool
) -> list[ChangeResult]:
    """Make changes that belong together, all or none."""
    if dry:
        store = Store(store.root, AGENDA, apart=True)
    store.follow()
    policy, base = store.staging.policy, store.staging.commit
    try:
        staged = [store.stage(change) for change in changes]
        if dry:
            for one in staged:
                store.check_free(one)
            return [ChangeResult(one.change, None) for one in staged]
        with pause_on_disk_errors():
            commits = store.apply(staged, base, now=now, policy=policy)
    finally:
        store.roll_back()
    return [ChangeResult(one.change, commit) for one, commit in zip(staged, commits, strict=True)]


def _known(head: Topics, origin: Origin) -> str | None:
    """That a skill came in before, in words; None if it did not, or is gone since."""
    for link in head.links.by_source([origin.ref]):
        if link.target in head.records:
            return f"{link.target.id}: is here already, from {rules.origin_of(link).url}"
    for name, old in origins(head).items():
        if (old.url, old.registry) == (origin.url, origin.registry):
            return (
                f"{name}: came from {origin.url} in another version; "
                f"`skillvault install --update {name}` brings this one"
            )
    return None


def _was_taken_away(head: Topics, origin: Origin, name: str) -> bool:
    """Whether this very version came in under this name before, and is gone."""
    target = Ref("skill", name)
    commits = head.history.commits_using(origin.ref)
    return target not in head.records and any(str(target) in c.targets for c in commits)


def _is_said(store: Store, head: Topics, skill: Incoming) -> bool:
    """Whether a skill of the vault says the same, as of one that was exported and comes back."""
    place = (head.records.path_of(Ref("skill", skill.name)) or "").rpartition("/")[0]
    standing = folder_files(store.git, head, place) if place else {}
    others = skill.folder.files.items()
    same_files = all(standing.get(path) == data for path, data in others if path != FILE)
    return same_files and skill.is_said_by(head.skills.find(skill.name))


def _stays(head: Topics, name: str, shelf: str) -> str | None:
    """Why a skill gets no newer version now, in words; None if it may."""
    if shelf not in ("skills", "proposed"):
        return f"{name}: is in {shelf}/; `skillvault skill restore {name}` brings it back first"
    waiting = next(next_names(name))
    if shelf == "skills" and waiting in head.skills.proposed:
        return f"{name}: its next version waits as {waiting}, which is updated in its place"
    return None

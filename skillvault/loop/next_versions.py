"""The next versions of approved skills as they wait in the vault: which there are, what they say.

Under `generate.gate: always` the program writes in no skill that is served.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning import next_version as rules
from skillvault.learning.naming import may_be_next, next_names, with_folder_name
from skillvault.learning.next_version import FILE, ApprovedSkill, WaitingVersion
from skillvault.learning.rejection import Rejection, Rejections
from skillvault.learning.sections import WrittenTexts
from skillvault.loop.registry import WRITERS
from skillvault.model.change import FORGET, Change
from skillvault.model.errors import UsageError
from skillvault.model.policy import Policy
from skillvault.model.records import LEARNED, PROGRAM_ORIGINS, Commit, Ref, Skill, ref_of
from skillvault.vault.commit.skill_versions import folder_files, skill_files
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import parse_record
from skillvault.vault.git.repository import Git
from skillvault.vault.index.snapshot import Topics


def waiting_versions(view: Topics, names: Iterable[str]) -> dict[str, Skill]:
    """Skill -> what the program learned that would take its place, if it waits."""
    replaced = set(names)
    candidates = {new for name in replaced for new in next_names(name)}  # long names may share one
    return {
        skill.replaces: with_folder_name(new, skill)
        for new, skill in view.skills.proposed.get_many(candidates).items()
        if skill.replaces in replaced and skill.origin in PROGRAM_ORIGINS
    }


def waiting_version(view: Topics, name: str) -> Skill | None:
    """The proposal that would take the place of a skill."""
    return waiting_versions(view, [name]).get(name)


def with_waiting_accounts(view: Topics, skills: Mapping[str, Skill]) -> dict[str, Skill]:
    """Skills by name, each with the account and subject that its next version has if one waits.

    By another gate the skill itself is written, and that version goes; so it does if the skill
    waits again, because its approval was reverted.
    """
    waits = view.policy.generate.gate == "always"
    served = view.skills.get_many(skills) if waits else {}
    versions = waiting_versions(view, served)
    return {
        name: rules.with_account_of(versions[name], skill) if name in versions else skill
        for name, skill in skills.items()
    }


def with_waiting_account(view: Topics, skill: Skill) -> Skill:
    """The same of one skill."""
    return with_waiting_accounts(view, {skill.name: skill})[skill.name]


def with_version(view: Topics, name: str) -> list[Ref]:
    """A skill, and the proposal that would take its place if there is one."""
    waiting = waiting_version(view, name)
    return [Ref("skill", name), *([Ref("skill", waiting.name)] if waiting else [])]


def approved_name(view: Topics, name: str) -> str:
    """The skill whose next version the program proposes so; of any other skill its own name."""
    if not may_be_next(name):
        return name
    skill = view.skills.proposed.get_many([name]).get(name)
    is_version = skill is not None and skill.origin in PROGRAM_ORIGINS
    return skill.replaces or name if skill and is_version else name


def check_is_no_version(view: Topics, name: str) -> None:
    """UsageError if this is the next version of another skill, about which a person decides."""
    if (approved := approved_name(view, name)) != name:
        raise UsageError(
            f"{name}: waits to replace {approved}; `skillvault skill reject {name} --reason TEXT` "
            "keeps it out"
        )


def check_is_meant(view: Topics, name: str, verb: str) -> None:
    """UsageError for a served skill if what a person may decide about is its next version."""
    waiting = waiting_version(view, name) if name in view.skills else None
    if waiting is not None:
        raise UsageError(
            f"{name}: is served already, and its next version waits; `skillvault skill {verb} "
            f"{waiting.name}` decides about that"
        )


def names_of_versions(view: Topics) -> set[str]:
    """The names that the next versions of the vault's skills may have."""
    shelves = (view.skills.names(shelf) for shelf in layout.SHELVES)
    return {name for names in shelves for skill in names for name in next_names(skill)}


def programs_words(git: Git, view: Topics, name: str, commits: Iterable[Commit]) -> list[Commit]:
    """Those of these commits on a skill that brought the program's words into it.

    The steps that write, and the approvals of next versions, which name both skills, but for one
    that a person reverted: the version waits again.
    """
    reverted = _reverted_approval(git, view, name)
    return [
        commit
        for commit in commits
        if commit.step in WRITERS
        or (commit.sha != reverted and sum(t.startswith("skill:") for t in commit.targets) > 1)
    ]


# ── what the program would do ────────────────────────────────────────────────────────


class GateMaterial(Struct, frozen=True, kw_only=True):
    """What a gate needs of a run; `written` says what the program wrote of a skill.

    `commits` are those by which some steps changed a record, oldest first. `rejections` is asked
    for when it is needed, and what a person rejected goes into `rejected`.
    """

    view: Topics
    git: Git
    policy: Policy
    written: Callable[[str], WrittenTexts]
    commits: Callable[[Ref, Collection[str]], Sequence[Commit]]
    rejections: Callable[[], Rejections]
    rejected: list[Rejection]


class VersionGate:
    """Lets the program's changes pass, but for those to approved skills: these wait."""

    def __init__(self, material: GateMaterial) -> None:
        self._in = material

    def passed(self, change: Change) -> Change | None:
        """A change that rewrites an approved skill, as the proposal of its next version.

        None if a person rejected what that would say, or it says so already; one that waits goes
        if it would say that. Any other change stays as it is.
        """
        view = self._in.view
        if self._in.policy.generate.gate != "always" or change.step not in WRITERS:
            return change
        if name := rules.rewritten_skill(change, "archive"):
            return rules.restored_as_proposal(change, name)
        name = rules.rewritten_skill(change, "skills")
        skill = view.skills.get_many([name]).get(name) if name else None
        if skill is None or name in (None, LEARNED) or skill.origin not in PROGRAM_ORIGINS:
            return change
        skill = with_folder_name(name or "", skill)
        approved = ApprovedSkill(skill, written=self._in.written(skill.name))
        waiting = waiting_version(view, skill.name)
        if self._is_refused(change, skill):
            paths = list(paths_of_version(view, skill.name))
            return rules.withdrawal(change, waiting, paths) if waiting else None
        if waiting is not None:
            return self._later_version(change, approved, waiting)
        files = folder_files(self._in.git, view, f"skills/{skill.name}")
        free = (new for new in next_names(skill.name) if Ref("skill", new) not in view.records)
        return rules.first_version(change, next(free), replace(approved, files=files))

    def _later_version(
        self, change: Change, approved: ApprovedSkill, waiting: Skill
    ) -> Change | None:
        """The change that writes a waiting version anew; None if it says all of it already."""
        view = self._in.view
        later = rules.later_version(
            change,
            approved,
            WaitingVersion(waiting, self._in.written(waiting.name)),
            linked={ref_of(link) for link in view.links.by_target([Ref("skill", waiting.name)])},
            policy=self._in.policy,
        )
        files = self._free(waiting.name, later.files)
        is_news = files or later.edits or later.rewrites or later.writes or later.moves
        return replace(later, files=files) if is_news else None

    def _free(self, name: str, files: Sequence[tuple[str, bytes]]) -> tuple[tuple[str, bytes], ...]:
        """Those of these files of a version that differ, and that no person wrote in."""
        standing = self._in.view.files.read([path for path, _ in files])
        commits = self._in.commits(Ref("skill", name), WRITERS)[-1:]
        places = {path: f"{commit.sha}:{path}" for path in standing for commit in commits}
        last = self._in.git.objects.read_files(list(places.values()))
        ours = {path for path, place in places.items() if last.get(place) == standing[path]}
        return tuple(
            (path, data)
            for path, data in files
            if standing.get(path) != data and (path not in standing or path in ours)
        )

    def _is_refused(self, change: Change, skill: Skill) -> bool:
        """Whether a person rejected a version that says what this one would; reports it."""
        body = next((rewrite.body for rewrite in change.rewrites), skill.body)
        for refusal in self._in.rejections().proposals:
            is_same = refusal.replaces == skill.name
            if is_same and rules.says_no_more(body, refusal.body, skill.body):
                target = f"skill:{refusal.skill}"
                self._in.rejected.append(
                    Rejection(target, refusal.commit, refusal.reason, refusal.skill)
                )
                return True
        return False


def with_versions_removed(view: Topics, change: Change) -> Change:
    """A change after which skills need no other version, without those that wait for them.

    They go to archive/, or the program finds that they say what it would say. A version that would
    be archived itself is removed, too: it was never in service.
    """
    removed = set(_paths_of_outdated(view, change)) if change.step in WRITERS else set()
    moves = list(change.moves)
    for move in change.moves:
        shelf, _, name = move.source.partition("/")
        if not move.target.startswith("archive/"):
            continue
        if shelf == "proposed" and approved_name(view, name) != name:
            moves.remove(move)
            removed.update(_paths_of(view, name))
        waiting = waiting_version(view, name) if shelf == "skills" else None
        if waiting is not None:
            removed.update(_paths_of(view, waiting.name))
    if not removed:
        return change
    return replace(
        change,
        edits=tuple(edit for edit in change.edits if edit.path not in removed),
        moves=tuple(moves),
        removes=(*change.removes, *sorted(removed)),
    )


def _paths_of_outdated(view: Topics, change: Change) -> Iterator[str]:
    """The files of the versions of skills that say by this change what is known by now."""
    for edit in change.edits:
        shelf, _, inner = edit.path.partition("/")
        if shelf in ("skills", "proposed") and edit.key[-1] == "account":
            yield from paths_of_version(view, inner.partition("/")[0])


def paths_of_version(view: Topics, name: str) -> Iterator[str]:
    """What goes with the version that would replace a skill: its files and links."""
    if waiting := waiting_version(view, name):
        yield from _paths_of(view, waiting.name)


def _paths_of(view: Topics, name: str) -> Iterator[str]:
    links = view.links.by_target([Ref("skill", name)])
    yield from view.files.below(f"proposed/{name}")
    yield from (str(ref_of(link)) for link in links)


# ── what a person decides about ──────────────────────────────────────────────────────


def approval(store: Store, waiting: Skill) -> Change:
    """The next version of an approved skill takes its place; UsageError if that is not there."""
    head, name = store.head(), waiting.replaces or ""
    approved = head.skills.get_many([name]).get(name)
    if approved is None:
        raise UsageError(
            f"{waiting.name}: replaces {name}, which is not in skills/; `skillvault skill restore "
            f"{name}` brings it back, or remove `replaces` from its metadata"
        )
    links = head.links.by_target([Ref("skill", waiting.name)])
    if waiting.origin in PROGRAM_ORIGINS:
        approved = with_folder_name(name, approved)
        return rules.approve_learned(
            waiting,
            approved,
            as_approved(store.git, head, waiting, approved),
            files=_brought_files(store.git, head, waiting, name),
            paths=head.files.below(f"proposed/{waiting.name}"),
            links=links,
        )
    files = folder_files(store.git, head, f"proposed/{waiting.name}")
    standing = head.files.below(f"skills/{name}")
    inner = [path.removeprefix(f"skills/{name}/") for path in standing]
    return rules.approve_installed(waiting, files, inner, links)


def as_approved(git: Git, view: Topics, waiting: Skill, approved: Skill) -> Skill:
    """What an approved skill says once its next version takes its place."""
    return rules.as_approved(waiting, approved, _base(git, view, waiting, approved))


def _brought_files(git: Git, view: Topics, waiting: Skill, name: str) -> dict[str, bytes]:
    """The files beside its text that a version brings, but for those that a person wrote in."""
    before = _commit_before(git, view, waiting.name)
    files = folder_files(git, view, f"proposed/{waiting.name}")
    places = {path: f"skills/{name}/{path}" for path in files if path != FILE}
    standing = view.files.read(list(places.values()))
    copied = git.objects.read_files([f"{before}:{at}" for at in places.values()]) if before else {}
    return {
        path: files[path]
        for path, at in places.items()
        if standing.get(at) == copied.get(f"{before}:{at}")
    }


def _base(git: Git, view: Topics, waiting: Skill, approved: Skill) -> Skill:
    """What was approved when a version of it was first written, as far as git can tell."""
    before = _commit_before(git, view, waiting.name)
    if before is None:
        return approved
    path = layout.skill_path(approved.name)
    for _, content in skill_files(git, [(before, path)]).values():
        skill = parse_record(path, content)
        return with_folder_name(approved.name, skill) if isinstance(skill, Skill) else approved
    return approved


def _commit_before(git: Git, view: Topics, name: str) -> str | None:
    """The commit on which a version that waits was first written; None if git does not tell.

    Not the one on which it was brought back: what is approved may have been another text there.
    """
    commits = (commit for commit, _ in _arrivals(git, view, name))
    return next((f"{c.sha}^" for c in commits if c.step and c.step != FORGET), None)


def _reverted_approval(git: Git, view: Topics, name: str) -> str | None:
    """The approval that a person reverted, so that a skill's next version waits again."""
    if waiting := waiting_version(view, name):
        commit, before = next(_arrivals(git, view, waiting.name), (None, None))
        if commit and not commit.step and before and before.step == rules.APPROVE:
            return before.sha
    return None


def _arrivals(git: Git, view: Topics, name: str) -> Iterator[tuple[Commit, Commit | None]]:
    """The commits by which a version came into proposed/, each with the one on it before that.

    Newest first.
    """
    commits = view.history.commits_touching([Ref("skill", name)])
    own = layout.skill_path(name, "proposed")
    texts = git.objects.read_files([f"{commit.sha}^:{own}" for commit in commits])
    for commit, before in zip_longest(commits, commits[1:]):
        if f"{commit.sha}^:{own}" not in texts:
            yield commit, before

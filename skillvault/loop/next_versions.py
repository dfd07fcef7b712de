"""The next versions of approved skills, which wait in proposed/ until a person decides.

With `generate.gate: always`, skillvault does not edit the skills that agents get: the steps pass
their changes to `gate_change`, which turns an edit into a proposal, and `skill approve` calls
`approval_change`. `learning/next_version.py` writes the texts.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import zip_longest

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning import next_version
from skillvault.learning.naming import may_be_next, next_names, with_folder_name
from skillvault.learning.next_version import FILE, WrittenSkill
from skillvault.learning.rejection import Rejection, Rejections
from skillvault.learning.rules import Rules
from skillvault.learning.sections import WrittenTexts
from skillvault.loop.registry import WRITERS
from skillvault.model.change import FORGET, REVERT, Change
from skillvault.model.errors import UsageError
from skillvault.model.policy import Policy
from skillvault.model.records import LEARNED, PROGRAM_ORIGINS, Commit, Ref, Skill, ref_of
from skillvault.vault.commit.skill_versions import folder_files, skill_files
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import parse_record
from skillvault.vault.git.repository import Git
from skillvault.vault.index.snapshot import Snapshot
from skillvault.vault.index.subjects import Subjects


def waiting_versions(snapshot: Snapshot, names: Iterable[str]) -> dict[str, Skill]:
    """Map each skill to the proposal that would replace it; leave out skills without one."""
    skill_names = set(names)
    # A version keeps its name if a person renames the skill.
    aliases = [a for a, name in snapshot.history.former_names().items() if name in skill_names]
    version_names = {v for name in (*skill_names, *aliases) for v in next_names(name)}
    return {
        version.replaces: with_folder_name(name, version)
        for name, version in snapshot.skills.proposed.get_many(version_names).items()
        # Long names may share the name of a version, so check which skill it replaces.
        if version.replaces in skill_names and version.origin in PROGRAM_ORIGINS
    }


def waiting_version(snapshot: Snapshot, name: str) -> Skill | None:
    """Return the proposal that would replace a skill, or None."""
    return waiting_versions(snapshot, [name]).get(name)


def with_waiting_accounts(snapshot: Snapshot, skills: Mapping[str, Skill]) -> dict[str, Skill]:
    """Give each skill the account and subject of its waiting next version.

    With another gate this does nothing, because skillvault then rewrites the skill itself and drops
    the waiting version. Skills outside skills/ stay as they are.
    """
    is_gated = snapshot.policy.generate.gate == "always"
    served_skills = snapshot.skills.get_many(skills) if is_gated else {}
    versions = waiting_versions(snapshot, served_skills)
    return {
        name: next_version.with_account_of(versions[name], skill) if name in versions else skill
        for name, skill in skills.items()
    }


def with_waiting_account(snapshot: Snapshot, skill: Skill) -> Skill:
    """Give a skill the account and subject of its waiting next version."""
    return with_waiting_accounts(snapshot, {skill.name: skill})[skill.name]


def refs_with_version(snapshot: Snapshot, name: str) -> list[Ref]:
    """Return the ref of a skill, and of the proposal that would replace it."""
    version = waiting_version(snapshot, name)
    return [Ref("skill", name), *([Ref("skill", version.name)] if version else [])]


def approved_name(snapshot: Snapshot, name: str) -> str:
    """Return the skill that a next version would replace, or the name itself for other skills."""
    if not may_be_next(name):
        return name
    skill = snapshot.skills.proposed.get_many([name]).get(name)
    return skill.replaces or name if skill and skill.origin in PROGRAM_ORIGINS else name


def check_is_no_version(snapshot: Snapshot, name: str) -> None:
    """Raise UsageError if a skill is the next version of another skill."""
    if (served_name := approved_name(snapshot, name)) != name:
        raise UsageError(
            f"{name}: waits to replace {served_name}; `skillvault skill reject {name} "
            "--reason TEXT` keeps it out"
        )


def check_no_waiting_version(snapshot: Snapshot, name: str, verb: str) -> None:
    """Raise UsageError if the next version of a skill waits for a decision."""
    version = waiting_version(snapshot, name) if name in snapshot.skills else None
    if version is not None:
        raise UsageError(
            f"{name}: is served already, and its next version waits; `skillvault skill {verb} "
            f"{version.name}` decides about that"
        )


def possible_version_names(snapshot: Snapshot) -> set[str]:
    """Return the names that next versions of the vault's skills may have."""
    folders = (snapshot.skills.names(folder) for folder in layout.SKILL_FOLDERS)
    return {name for names in folders for skill in names for name in next_names(skill)}


def program_commits(
    git: Git, snapshot: Snapshot, name: str, commits: Iterable[Commit]
) -> list[Commit]:
    """Return the `commits` that put a text of skillvault into a skill.

    These are commits of writing steps, approvals of next versions (which name both skills), and the
    undoing of such approvals. An approval that a person reverted with git does not count, because
    the version waits again.
    """
    reverted_sha = _reverted_approval(git, snapshot, name)
    return [
        commit
        for commit in commits
        if commit.step in WRITERS
        or (commit.sha != reverted_sha and sum(t.startswith("skill:") for t in commit.targets) > 1)
    ]


# ── changes of the program ───────────────────────────────────────────────────────────


class RunContext(Struct, frozen=True, kw_only=True):
    """The parts of a run that its gate and its accounts use.

    `subjects` stores computed accounts; it is None for a question. `rejected` collects rejections
    for the report.
    """

    snapshot: Snapshot
    git: Git
    policy: Policy
    profile: Rules
    now: datetime
    subjects: Subjects | None
    written_texts: Callable[[str], WrittenTexts]
    commits_of: Callable[[Ref, Collection[str]], Sequence[Commit]]
    settle: Callable[[str, Iterable[str]], None]
    rejections: Callable[[], Rejections]
    rejected: list[Rejection]


def gate_change(context: RunContext, change: Change) -> Change | None:
    """Turn a change of an approved skill into a proposal of its next version.

    Return None if the waiting version has the text already, or if a person rejected the text; in
    the latter case withdraw a waiting version. Return other changes as they are.
    """
    snapshot = context.snapshot
    if context.policy.generate.gate != "always" or change.step not in WRITERS:
        return change
    if skill_name := next_version.rewritten_skill(change, "archive"):
        return next_version.restore_as_proposal(change, skill_name)
    skill_name = next_version.rewritten_skill(change, "skills")
    skill = snapshot.skills.get_many([skill_name]).get(skill_name) if skill_name else None
    if skill is None or skill_name in (None, LEARNED) or skill.origin not in PROGRAM_ORIGINS:
        return change
    skill = with_folder_name(skill_name or "", skill)
    written_skill = WrittenSkill(skill, written=context.written_texts(skill.name))
    version = waiting_version(snapshot, skill.name)
    if _is_rejected(context, change, skill):
        version_paths = list(paths_of_version(snapshot, skill.name))
        return next_version.withdrawal_change(change, version, version_paths) if version else None
    if version is not None:
        return _rewrite_version(context, change, written_skill, version)
    files = folder_files(context.git, snapshot, f"skills/{skill.name}")
    free_names = (n for n in next_names(skill.name) if Ref("skill", n) not in snapshot.records)
    return next_version.first_version(change, next(free_names), replace(written_skill, files=files))


def _rewrite_version(
    context: RunContext, change: Change, approved_skill: WrittenSkill, version: Skill
) -> Change | None:
    """Return the change that rewrites a waiting version, or None if it would change nothing."""
    links = context.snapshot.links.by_target([Ref("skill", version.name)])
    rewrite = next_version.later_version(
        change,
        approved_skill,
        WrittenSkill(version, written=context.written_texts(version.name)),
        linked={ref_of(link) for link in links},
        policy=context.policy,
    )
    files = _changed_files(context, version.name, rewrite.files)
    has_effect = files or rewrite.edits or rewrite.rewrites or rewrite.writes or rewrite.moves
    return replace(rewrite, files=files) if has_effect else None


def _changed_files(
    context: RunContext, name: str, files: Sequence[tuple[str, bytes]]
) -> tuple[tuple[str, bytes], ...]:
    """Return the files of a version that differ and that no person edited."""
    current_files = context.snapshot.files.read([path for path, _ in files])
    commits = context.commits_of(Ref("skill", name), WRITERS)[-1:]
    addresses = {path: f"{commit.sha}:{path}" for path in current_files for commit in commits}
    committed_files = context.git.objects.read_files(list(addresses.values()))
    unedited_paths = {p for p, a in addresses.items() if committed_files.get(a) == current_files[p]}
    return tuple(
        (path, data)
        for path, data in files
        if current_files.get(path) != data and (path not in current_files or path in unedited_paths)
    )


def _is_rejected(context: RunContext, change: Change, skill: Skill) -> bool:
    """Return True if a person rejected a version with this text, and report the rejection."""
    body = next((rewrite.body for rewrite in change.rewrites), skill.body)
    for proposal in context.rejections().proposals:
        is_same_skill = proposal.replaces == skill.name
        if is_same_skill and next_version.repeats_rejected(body, proposal.body, skill.body):
            target = f"skill:{proposal.skill}"
            rejection = Rejection(target, proposal.commit, proposal.reason, proposal.skill)
            context.rejected.append(rejection)
            return True
    return False


def with_versions_removed(snapshot: Snapshot, change: Change) -> Change:
    """Add the removal of unneeded next versions to a change.

    A version is not needed if the change archives its skill or writes the skill anew. A version
    that the change would archive is removed instead, because agents never got it.
    """
    removed_paths: set[str] = set()
    for edit in change.edits if change.step in WRITERS else ():
        folder, _, inner_path = edit.path.partition("/")
        if folder in ("skills", "proposed") and edit.key[-1] == "account":
            removed_paths.update(paths_of_version(snapshot, inner_path.partition("/")[0]))
    moves = list(change.moves)
    for move in change.moves:
        folder, _, name = move.source.partition("/")
        if not move.target.startswith("archive/"):
            continue
        if folder == "proposed" and approved_name(snapshot, name) != name:
            moves.remove(move)
            removed_paths.update(_proposal_paths(snapshot, name))
        if folder == "skills":
            removed_paths.update(paths_of_version(snapshot, name))
    if not removed_paths:
        return change
    return replace(
        change,
        edits=tuple(edit for edit in change.edits if edit.path not in removed_paths),
        moves=tuple(moves),
        removes=(*change.removes, *sorted(removed_paths)),
    )


def paths_of_version(snapshot: Snapshot, name: str) -> list[str]:
    """Return the paths of files and links of the version that would replace a skill."""
    version = waiting_version(snapshot, name)
    return _proposal_paths(snapshot, version.name) if version else []


def _proposal_paths(snapshot: Snapshot, name: str) -> list[str]:
    links = snapshot.links.by_target([Ref("skill", name)])
    return [*snapshot.files.below(f"proposed/{name}"), *(str(ref_of(link)) for link in links)]


# ── decisions of a person ────────────────────────────────────────────────────────────


def approval_change(store: Store, version: Skill, content: bytes | None = None) -> Change:
    """Return the change that replaces an approved skill with its next version.

    `content` is SKILL.md of the version if a person edited it and did not commit the edit. Raise
    UsageError if there is no approved skill.
    """
    snapshot, name = store.snapshot(), version.replaces or ""
    approved_skill = snapshot.skills.get_many([name]).get(name)
    if approved_skill is None:
        raise UsageError(
            f"{version.name}: replaces {name}, which is not in skills/; `skillvault skill restore "
            f"{name}` brings it back, or remove `replaces` from its metadata"
        )
    links = snapshot.links.by_target([Ref("skill", version.name)])
    if version.origin in PROGRAM_ORIGINS:
        approved_skill = with_folder_name(name, approved_skill)
        return next_version.approve_learned(
            version,
            approved_skill,
            skill_after_approval(store.git, snapshot, version, approved_skill),
            files=_unedited_files(store.git, snapshot, version, name),
            paths=snapshot.files.below(f"proposed/{version.name}"),
            links=links,
        )
    files = folder_files(store.git, snapshot, f"proposed/{version.name}")
    files = {**files, FILE: content or files[FILE]}
    paths = snapshot.files.below(f"skills/{name}")
    inner_paths = [path.removeprefix(f"skills/{name}/") for path in paths]
    return next_version.approve_installed(version, files, inner_paths, links)


def skill_after_approval(git: Git, snapshot: Snapshot, version: Skill, skill: Skill) -> Skill:
    """Return an approved skill as it will be after its next version replaces it."""
    return next_version.approved_skill(
        version, skill, _skill_before_version(git, snapshot, version, skill)
    )


def _unedited_files(git: Git, snapshot: Snapshot, version: Skill, name: str) -> dict[str, bytes]:
    """Return the files of a version beside SKILL.md that no person edited in the skill."""
    parent = _commit_before_version(git, snapshot, version.name)
    files = folder_files(git, snapshot, f"proposed/{version.name}")
    paths = {path: f"skills/{name}/{path}" for path in files if path != FILE}
    served_files = snapshot.files.read(list(paths.values()))
    parent_files = git.objects.read_files(f"{parent}:{p}" for p in paths.values() if parent)
    return {
        path: files[path]
        for path, served_path in paths.items()
        if served_files.get(served_path) == parent_files.get(f"{parent}:{served_path}")
    }


def _skill_before_version(git: Git, snapshot: Snapshot, version: Skill, skill: Skill) -> Skill:
    """Return the approved skill from which a version was first written, or else `skill`."""
    parent = _commit_before_version(git, snapshot, version.name)
    path = layout.skill_path(skill.name)
    addresses = [(parent, path)] if parent else []
    for _, content in skill_files(git, addresses, snapshot.history.former_names()).values():
        record = parse_record(path, content)
        return with_folder_name(skill.name, record) if isinstance(record, Skill) else skill
    return skill


def _commit_before_version(git: Git, snapshot: Snapshot, name: str) -> str | None:
    """Return the commit before the first text of a waiting version, or None if git has none.

    A commit that restored a version is skipped, because the approved text may differ by then. If an
    approval was undone while a newer version waited, the text before that approval counts.
    """
    decisions = snapshot.history.commits_changing(Ref("skill", name))
    decisions = [commit for commit in decisions if commit.step in (REVERT, next_version.APPROVE)]
    if [commit.step for commit in decisions[:2]] == [REVERT, next_version.APPROVE]:
        newer_version = f"{decisions[0].sha}^:{layout.skill_path(name, 'proposed')}"
        if git.objects.read_files([newer_version]):
            return f"{decisions[1].sha}^"
    commits = (commit for commit, _ in _commits_into_proposed(git, snapshot, name))
    return next((f"{c.sha}^" for c in commits if c.step not in ("", FORGET, REVERT)), None)


def _reverted_approval(git: Git, snapshot: Snapshot, name: str) -> str | None:
    if version := waiting_version(snapshot, name):
        commit, parent = next(_commits_into_proposed(git, snapshot, version.name), (None, None))
        if commit and not commit.step and parent and parent.step == next_version.APPROVE:
            return parent.sha
    return None


def _commits_into_proposed(
    git: Git, snapshot: Snapshot, name: str
) -> Iterator[tuple[Commit, Commit | None]]:
    """Yield (commit, commit before it) for each version put into proposed/, newest first."""
    commits = snapshot.history.commits_touching([Ref("skill", name)])
    path = layout.skill_path(name, "proposed")
    texts = git.objects.read_files([f"{commit.sha}^:{path}" for commit in commits])
    for commit, previous_commit in zip_longest(commits, commits[1:]):
        if f"{commit.sha}^:{path}" not in texts:
            yield commit, previous_commit

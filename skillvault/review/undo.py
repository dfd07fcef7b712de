"""Undo a commit of the program: a decision of a person, or records that the program made.

A decision is undone by restoring the files that it changed. Records that the program made are
removed as if their proposals had been rejected at once; the learning steps then recompute the
result, so a person's later edits stay.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import takewhile

from skillvault.inspect.lookup import undo_command
from skillvault.judge import Judge
from skillvault.learning import sections
from skillvault.learning.curate import RENAME, RETRACT, propose_again
from skillvault.learning.naming import with_folder_name
from skillvault.learning.next_version import APPROVE
from skillvault.learning.recommend.duplicates import says_same
from skillvault.learning.rejection import REJECT, UNDO
from skillvault.learning.sync.table import LINKS, rule_of
from skillvault.learning.sync.three_way import Versions
from skillvault.loop.next_versions import check_is_no_version, paths_of_version
from skillvault.loop.rejected_skills import paths_of
from skillvault.loop.run import Run, RunOptions
from skillvault.model.change import FORGET, REVERT, Change
from skillvault.model.errors import UncommittedEditError, UsageError
from skillvault.model.records import Commit, Ref, Skill, ref_of
from skillvault.model.text.text import join_items
from skillvault.review.commits import recompute
from skillvault.review.retract import is_personal, skills_without_facts
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout
from skillvault.vault.git.objects import with_mode
from skillvault.vault.git.repository import check_normal
from skillvault.vault.index.records import parse_ref
from skillvault.vault.index.snapshot import Snapshot

_Files = dict[str, bytes | None]  # contents by path, None for a removed file

# Steps that make skills and facts, and steps that change skills.
_MAKERS = frozenset({"promote", "generate", "distill", "merge"})
_LEARNING = _MAKERS | {"refresh"}
_CHANGERS = _LEARNING | {APPROVE}
# Decisions of a person, which are undone by restoring their files.
_DECISIONS = frozenset({
    "add", "import", "install", "keep", "pin", "propose", "put", "restore", "retire", "setup",
    APPROVE, FORGET, REJECT, RENAME, RETRACT, REVERT, UNDO,
})  # fmt: skip
# The step that undoes a step, if it is not REVERT: later runs look for rejections in the history.
_OPPOSITES = {REJECT: FORGET, UNDO: FORGET, FORGET: REJECT}
# Decisions that move a skill's folder, with the commands that move it back; `{0}` is the skill.
_MOVES = {RENAME: "rename {0} {1}", "restore": "retire {0}", "retire": "restore {0}"}
_RETRACTIONS = "retractions/"
_RECOMPUTED = frozenset({RETRACT, UNDO})  # commits with the consequences of the decision
_RETRACT_HINT = "an outcome that was wrong is retracted: `skillvault retract OUTCOME --reason TEXT`"
_OUTCOME_HINT = f"it follows from the outcomes; {_RETRACT_HINT}"
# For each other step, the advice about its commits that made no skill; `{0}` is a name.
_ADVICE = {
    **dict.fromkeys(("record", "evaluate"), _RETRACT_HINT),
    **dict.fromkeys(("refresh", "promote", "generate", "distill", "merge"), _OUTCOME_HINT),
    "assess": "`skillvault skill restore {0}` brings it back, `skillvault skill pin {0}` keeps it",
    "expire": "`skillvault skill restore {0}` brings it back",
    "init": "it made the vault; remove its folder if you want none",
    "capture": "delete the entry of expertise.yaml, and the pattern is not captured again",
}


def undo_changes(
    store: Store, judge: Judge, text: str, reason: str, *, now: datetime
) -> list[Change]:
    """Return the changes that undo a commit of the program, or the commit that made a skill.

    Raise UsageError if the commit cannot be undone, UncommittedEditError if a person edited a file
    that it would remove.
    """
    store.follow()
    run = Run(store, judge=judge, now=now, options=RunOptions(dry=True))
    check_normal(store.git, run.policy.branch)  # of a shallow clone, the history would mislead
    snapshot, name = run.snapshot, text.replace("_", "-")
    if Ref("skill", name) in snapshot.records:
        commit, records = _find_maker(run, Ref("skill", name))
    else:
        commit = _find_commit(run, text)
        parts = snapshot.history.parts_of(commit)
        if reopening := _reopen_approved(run, commit, parts, reason):
            return recompute(run, reopening)
        if step := next((part.step for part in parts if part.step in _DECISIONS), None):
            return _reverse_decision(run, commit, parts, step=step, reason=reason)
        records = _find_records(run, commit, parts)
    return recompute(
        Run(store, judge=judge, now=now, options=RunOptions(dry=True)),
        _reject_records(run, commit, records, reason),
    )


def _find_maker(run: Run, skill: Ref) -> tuple[str, list[Ref]]:
    """Return the commit that made a skill, and the skill alone."""
    check_is_no_version(run.snapshot, skill.id)
    if not _is_learned(run.snapshot, skill):
        raise UsageError(
            f"{skill.id}: the program did not make it; `skillvault skill retire` archives it"
        )
    return run.snapshot.history.commits_changing(skill)[-1].sha, [skill]


def _find_commit(run: Run, text: str) -> str:
    """Return the commit of the program that `text` names."""
    snapshot = run.snapshot
    sha = run.store.git.history.commit_named(text)
    if sha is None and Ref("fact", text) in snapshot.records:
        command = f"`skillvault fact retire {text} --reason TEXT`"
        raise UsageError(f"{text}: is a fact; {command} takes it out of service")
    parts = snapshot.history.parts_of(sha) if sha else []
    if sha is None or not parts:
        raise UsageError(
            f"{text}: neither a skill nor a commit of this branch; `skillvault log` lists them"
        )
    if not any(part.step for part in parts):
        raise UsageError(f"{sha[:10]}: is a person's commit; `git revert {sha[:10]}` undoes it")
    return sha


# ── decisions ────────────────────────────────────────────────────────────────────────


def _reopen_approved(run: Run, commit: str, parts: Sequence[Commit], reason: str) -> Change | None:
    """Return the change that makes approved skills wait again, with their later changes.

    None for any other commit, and for the approval of a next version, because no file has the text
    that it replaced.
    """
    snapshot = run.snapshot
    targets = [_skills_and_facts([part], {APPROVE}) for part in parts]
    if any(len(refs) != 1 or refs[0].kind != "skill" for refs in targets):
        return None
    skills: list[tuple[Skill, str]] = []
    for (ref,) in targets:
        skill = snapshot.skills.find(ref.id)
        folder = layout.top_folder(snapshot.records.path_of(ref) or "")
        if skill is not None and folder != "proposed":
            skills.append((with_folder_name(ref.id, skill), folder))
    if not skills:
        raise UsageError(f"{commit[:10]}: nothing that it approved is served or archived any more")
    return propose_again(skills, commit, reason)


def _reverse_decision(
    run: Run, commit: str, parts: Sequence[Commit], *, step: str, reason: str
) -> list[Change]:
    """Return the change that restores the files of a decision, with their later changes.

    If steps changed the same lines later, the older text returns; the next run updates it.
    """
    files, dropped_paths = _reversed_files(run, commit, step)
    for path in dropped_paths:
        _check_is_recomputed(run, parts, step, path)
    if not files:
        raise UsageError(f"{commit[:10]}: is undone already; no file has what it changed")
    _check_not_renamed(run, commit, files)
    skills = [ref for ref in _skills_and_facts(parts, {step}) if ref.kind == "skill"]
    opposite = _OPPOSITES.get(step, REVERT) if skills else REVERT
    names = join_items([ref.id for ref in skills])
    subjects = {FORGET: f"the rejection of {names}", REJECT: names}
    new_refs = [ref for path, data in files.items() if data and (ref := layout.ref_of(path))]
    old_refs = [ref for path, data in files.items() if not data and (ref := layout.ref_of(path))]
    targets = [] if opposite == REJECT else new_refs
    if opposite == REJECT or step == APPROVE:
        targets = [*skills, *targets]
    # What no step made of other records may come again, as if it had never been here.
    is_forgotten = opposite == REVERT and not any(part.sources for part in parts)
    change = Change(
        step=opposite,
        subject=subjects.get(opposite, parts[0].subject),
        reason=f"Undoes {commit[:10]}. {reason}",
        files=tuple((path, data) for path, data in files.items() if data is not None),
        removes=tuple(path for path, data in files.items() if data is None),
        sources=tuple(ref for ref in old_refs if is_forgotten and ref not in new_refs),
        targets=tuple(dict.fromkeys(targets)),
        why=reason,
    )
    return recompute(run, change) if step in _RECOMPUTED else [change]


def _reversed_files(run: Run, commit: str, step: str) -> tuple[_Files, Sequence[str]]:
    """Return the files of HEAD that a commit changed, each as if the commit had not changed it.

    For a retraction, return only its own file, because the steps learn the rest again. If a later
    commit changed the same lines, the whole skill gets its older files. Also return the paths that
    lose later changes.
    """
    git, head = run.store.git, run.snapshot.commit or ""
    changes = git.history.diff_trees(f"{commit}^", commit)
    paths = sorted(path for path in changes if step != RETRACT or path.startswith(_RETRACTIONS))
    old_entries, entries = (
        git.objects.entries(git.objects.root(revision), paths)
        for revision in (git.history.commit_named(f"{commit}^") or "", head)
    )
    older_files, merged_files, conflicting_folders = _Files(), _Files(), set[str]()
    for path in paths:
        old_entry, entry = old_entries.get(path), entries.get(path)
        if entry == old_entry:
            continue
        old, new, current = (
            with_mode(git.blobs([version.id])[version.id], version) if version else None
            for version in (old_entry, changes[path], entry)
        )
        older_files[path] = old
        if entry == changes[path]:
            continue
        if layout.kind_of(path) == LINKS:
            merged_files[path] = rule_of(LINKS)(Versions(new, current or b"", old or b"")) or None
            continue
        merge = git.merge_texts(current, new or b"", old) if current and old else None
        if merge is None or merge[1]:
            conflicting_folders.add(_skill_folder(path))
        if new is None:  # a step wrote a newer next version
            older_files[path] = current
        merged_files[path] = merge[0] if merge else older_files[path]
    dropped_paths = [p for p in merged_files if _skill_folder(p) in conflicting_folders]
    kept_files = {p: data for p, data in merged_files.items() if p not in dropped_paths}
    return older_files | kept_files, dropped_paths


def _skill_folder(path: str) -> str:
    """Return the folder of the skill that a file belongs to, or the path of any other file."""
    return path.partition("/references/")[0].removesuffix("/SKILL.md")


def _check_is_recomputed(run: Run, parts: Sequence[Commit], step: str, path: str) -> None:
    """Raise UsageError unless only learning steps changed a file after a decision."""
    snapshot, commit = run.snapshot, parts[0].sha
    for sha, _, _, subject in run.store.git.history.file_log(f"{commit}..{snapshot.commit}", path):
        later_parts = snapshot.history.parts_of(sha)
        name = _skill_folder(path).rpartition("/")[2]
        skill = snapshot.skills.find(name) if step in _MOVES else None
        if skill is not None:
            command = _MOVES[step].format(name, *skill.formerly[-1:])
            advice = f"; `skillvault skill {command}` moves it back"
        elif all(part.step in _LEARNING for part in later_parts):
            continue
        elif all(part.step in _DECISIONS | {""} for part in later_parts):
            advice = f"; `{undo_command(snapshot, sha)}` first"
        else:
            advice = _advise(snapshot, later_parts)
        raise UsageError(
            f"{commit[:10]}: {path} was changed since, in {sha[:10]} ({subject}){advice}"
        )


def _check_not_renamed(run: Run, commit: str, files: _Files) -> None:
    """Raise UsageError if a skill would return under a former name."""
    new_names = run.snapshot.history.former_names()
    refs = (layout.ref_of(path) for path, data in files.items() if data)
    for name in (ref.id for ref in refs if ref and ref.kind == "skill" and ref.id in new_names):
        new_name = new_names[name]
        if run.snapshot.records.path_of(Ref("skill", new_name)) not in files:
            raise UsageError(
                f"{commit[:10]}: {name} was renamed to {new_name} since; "
                f"`skillvault skill rename {new_name} {name}` gives the name back"
            )


# ── records that the program made ────────────────────────────────────────────────────


def _find_records(run: Run, commit: str, parts: Sequence[Commit]) -> list[Ref]:
    """Return the existing records that a commit made."""
    records = [ref for ref in _skills_and_facts(parts, _MAKERS) if _is_creation(run, ref, commit)]
    existing_records = [ref for ref in records if ref in run.snapshot.records]
    if records and not existing_records:
        raise UsageError(f"{commit[:10]}: everything that it made is gone already")
    if not records:
        advice = _advise(run.snapshot, parts)
        raise UsageError(f"{commit[:10]}: made nothing that could be rejected{advice}")
    return existing_records


def _reject_records(run: Run, commit: str, records: Sequence[Ref], reason: str) -> Change:
    """Return the change that removes records and the records made from them."""
    facts = [ref for ref in records if ref.kind == "fact"]
    skills = [ref for ref in records if ref.kind == "skill"]
    for ref in records:
        _refuse_personal(run, ref)
    derived_skills = (Ref("skill", name) for _, name in skills_without_facts(run, facts))
    skills = list(dict.fromkeys([*skills, *_later_skills(run, skills), *derived_skills]))
    snapshot, paths = run.snapshot, list[str]()
    for ref in skills:
        paths += paths_of(snapshot, layout.top_folder(snapshot.records.path_of(ref) or ""), ref.id)
        paths += [str(ref_of(link)) for link in snapshot.links.by_source([ref])]
        paths += paths_of_version(snapshot, ref.id)
    for ref in facts:
        paths += filter(None, [snapshot.records.path_of(ref)])
        links = [*snapshot.links.by_target([ref]), *snapshot.links.by_source([ref])]
        paths += [str(ref_of(link)) for link in links]
    opening = f"As if what {commit[:10]} made had been rejected when it was proposed"
    because = f": {reason}" if reason else "."
    return Change(
        step=UNDO,
        subject=", ".join(ref.id for ref in (*skills, *facts)),
        reason="\n".join([f"{opening}{because}", *(f"  {ref}" for ref in records)]),
        removes=tuple(dict.fromkeys(paths)),
        targets=(*skills, *facts),
        why=reason,
    )


def _skills_and_facts(parts: Iterable[Commit], steps: Collection[str]) -> list[Ref]:
    targets = (parse_ref(target) for part in parts if part.step in steps for target in part.targets)
    return list(dict.fromkeys(ref for ref in targets if ref.kind in ("skill", "fact")))


def _is_creation(run: Run, ref: Ref, sha: str) -> bool:
    """Return True if a commit created a record; two clones may both have done so."""
    commits = reversed(run.snapshot.history.commits_changing(ref))
    earlier_commits = takewhile(lambda commit: commit.sha != sha, commits)
    return not any(run.store.git.history.is_ancestor(commit.sha, sha) for commit in earlier_commits)


def _advise(snapshot: Snapshot, commits: Sequence[Commit]) -> str:
    """Return advice to undo a commit that did more than make a record."""
    step = next((commit.step for commit in commits if commit.step in _ADVICE), "")
    refs = [parse_ref(target) for commit in commits for target in commit.targets]
    first_name = next((ref.id for ref in refs if ref.kind == "skill"), "NAME")
    hint = _ADVICE.get(step, f"`git revert {commits[0].sha[:10]}` undoes it").format(first_name)
    changed_skills = [ref for ref in _skills_and_facts(commits, _CHANGERS) if ref.kind == "skill"]
    names = [r.id for r in changed_skills if r in snapshot.records and _is_learned(snapshot, r)]
    if not names:
        return f"; {hint}"
    remainder = f" and {len(names) - 1} more" if names[1:] else ""
    command = (
        f"`skillvault undo {names[0]}` undoes all of {'such a' if names[1:] else 'that'} skill"
    )
    return f", but changed {names[0]}{remainder}; {command}; {hint}"


def _is_learned(snapshot: Snapshot, ref: Ref) -> bool:
    commits = snapshot.history.commits_changing(ref)
    return bool(commits) and commits[-1].step in _MAKERS


def _refuse_personal(run: Run, ref: Ref) -> None:
    skill = run.snapshot.skills.find(ref.id) if ref.kind == "skill" else None
    path = run.snapshot.records.path_of(ref)
    if skill is not None:
        versions = run.written_texts(ref.id)
        is_untouched = sections.is_untouched(versions.descriptions, skill.description)
        is_edited = not is_untouched or bool(sections.edited_sections(versions.bodies, skill.body))
    else:
        is_edited = is_personal(run.snapshot, ref)
    if is_edited:
        hint = f"`skillvault skill retire {ref.id}` archives it as it is" if skill else "remove it"
        message = f"{path}: a person edited it, and undo would remove that; {hint}"
        raise UncommittedEditError(message)


def _later_skills(run: Run, skills: Sequence[Ref]) -> Iterator[Ref]:
    """Yield later skills of the program that the rejection would have prevented."""
    snapshot = run.snapshot
    for skill in filter(None, (snapshot.skills.find(ref.id) for ref in skills)):
        for name in (*snapshot.skills.names("skills"), *snapshot.skills.names("proposed")):
            candidate = snapshot.skills.find(name)
            if candidate and _is_later_skill(run, skill, candidate, Ref("skill", name)):
                yield Ref("skill", name)


def _is_later_skill(run: Run, skill: Skill, candidate: Skill, ref: Ref) -> bool:
    if ref.id == skill.name or candidate.domain != skill.domain:
        return False
    if not (run.accounts.is_managed(candidate) and says_same(skill.body, candidate.body)):
        return False
    if sections.edited_sections(run.written_texts(ref.id).bodies, candidate.body):
        return False
    first_commits = run.snapshot.history.commits_changing(Ref("skill", skill.name))[-1:]
    later_commits = run.snapshot.history.commits_changing(ref)[-1:]
    pairs = zip(first_commits, later_commits, strict=False)
    return any(run.store.git.history.is_ancestor(first.sha, later.sha) for first, later in pairs)

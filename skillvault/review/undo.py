"""Undo a commit of the program, as if its proposals had been rejected at once.

The learning steps recompute the result, so a person's later edits stay; a git revert would lose
them.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import takewhile

from skillvault.judge import Judge
from skillvault.learning import sections
from skillvault.learning.curate import propose_again
from skillvault.learning.naming import with_folder_name
from skillvault.learning.next_version import APPROVE
from skillvault.learning.recommend.duplicates import says_same
from skillvault.learning.rejection import UNDO
from skillvault.loop.next_versions import check_is_no_version, paths_of_version
from skillvault.loop.rejected_skills import paths_of
from skillvault.loop.run import Run, RunOptions
from skillvault.model.change import Change
from skillvault.model.errors import UncommittedEditError, UsageError
from skillvault.model.records import Commit, Ref, Skill, ref_of
from skillvault.review.commits import recompute
from skillvault.review.retract import is_personal, skills_without_facts
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout
from skillvault.vault.index.records import parse_ref
from skillvault.vault.index.snapshot import Topics

# Steps that make skills and facts, and steps that change skills.
_MAKERS = frozenset({"promote", "generate", "distill", "merge"})
_CHANGERS = _MAKERS | {"refresh", "approve"}
_RETRACT_HINT = "an outcome that was wrong is retracted: `skillvault retract OUTCOME --reason TEXT`"
_OUTCOME_HINT = f"it follows from the outcomes; {_RETRACT_HINT}"
# For each step, the advice about its commits that neither made nor changed a skill.
_ADVICE = {
    **dict.fromkeys(("record", "evaluate"), _RETRACT_HINT),
    **dict.fromkeys(("refresh", "promote", "generate", "distill", "merge"), _OUTCOME_HINT),
    **dict.fromkeys(("retract", "undo"), "`git revert` it, and `skillvault run`"),
    "answer": "undo an answer by `git revert`",
    "assess": "`skillvault skill pin` or `restore` sets aside what the evidence says of a skill",
    "expire": "`skillvault skill restore NAME` brings a skill back",
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
    if reopening := _reopen_approved(run, text, reason):
        return recompute(run, reopening)
    commit, records = _find_records(run, text)
    facts = [ref for ref in records if ref.kind == "fact"]
    skills = [ref for ref in records if ref.kind == "skill"]
    for ref in records:
        _refuse_personal(run, ref)
    derived_skills = (Ref("skill", name) for _, name in skills_without_facts(run, facts))
    skills = list(dict.fromkeys([*skills, *_later_skills(run, skills), *derived_skills]))
    view, paths = run.view, list[str]()
    for ref in skills:
        paths += paths_of(view, layout.shelf_of(view.records.path_of(ref) or ""), ref.id)
        paths += [str(ref_of(link)) for link in view.links.by_source([ref])]
        paths += paths_of_version(view, ref.id)
    for ref in facts:
        paths += filter(None, [view.records.path_of(ref)])
        links = [*view.links.by_target([ref]), *view.links.by_source([ref])]
        paths += [str(ref_of(link)) for link in links]
    opening = f"As if what {commit[:10]} made had been rejected when it was proposed"
    because = f": {reason}" if reason else "."
    undo_change = Change(
        step=UNDO,
        subject=", ".join(ref.id for ref in (*skills, *facts)),
        reason="\n".join([f"{opening}{because}", *(f"  {ref}" for ref in records)]),
        removes=tuple(dict.fromkeys(paths)),
        targets=(*skills, *facts),
        why=reason,
    )
    return recompute(Run(store, judge=judge, now=now, options=RunOptions(dry=True)), undo_change)


def _reopen_approved(run: Run, text: str, reason: str) -> Change | None:
    """Return the change that undoes an approval; None for any other commit.

    None for the approval of a next version too, because no file has the text that it replaced.
    """
    view = run.view
    is_skill = Ref("skill", text.replace("_", "-")) in view.records
    commit = None if is_skill else run.store.git.history.commit_named(text)
    parts = view.history.parts_of(commit) if commit else []
    targets = [_skills_and_facts([part], {APPROVE}) for part in parts]
    if commit is None or not targets or any(len(refs) != 1 for refs in targets):
        return None
    skills: list[tuple[Skill, str]] = []
    for (ref,) in targets:
        skill, shelf = view.skills.find(ref.id), layout.shelf_of(view.records.path_of(ref) or "")
        if skill is not None and shelf != "proposed":
            skills.append((with_folder_name(ref.id, skill), shelf))
    if not skills:
        facts = [ref.id for (ref,) in targets if ref.kind == "fact" and ref in view.records]
        if facts:
            raise UsageError(f"{commit[:10]}: approved a rule; {_retirement_of(facts[0])}")
        raise UsageError(f"{commit[:10]}: nothing that it approved is served or archived any more")
    return propose_again(skills, commit, reason)


def _retirement_of(fact: str) -> str:
    return f"`skillvault fact retire {fact} --reason TEXT` takes it out of service"


def _find_records(run: Run, text: str) -> tuple[str, list[Ref]]:
    """Return the commit that `text` names, and the existing records that it made.

    For the name of a skill: the commit that made the skill, and only the skill.
    """
    view, name = run.view, text.replace("_", "-")
    skill = Ref("skill", name)
    if skill in view.records:
        check_is_no_version(view, name)
        if not _is_learned(view, skill):
            raise UsageError(
                f"{name}: the program did not make it; `skillvault skill retire` archives it"
            )
        return view.history.commits_changing(skill)[-1].sha, [skill]
    sha = run.store.git.history.commit_named(text)
    parts = view.history.parts_of(sha) if sha else []
    if sha is None and Ref("fact", text) in view.records:
        raise UsageError(f"{text}: is a fact; {_retirement_of(text)}")
    if sha is None or not parts:
        raise UsageError(
            f"{text}: neither a skill nor a commit of this branch; `skillvault log` lists them"
        )
    steps = [part.step for part in parts]
    if not any(steps):
        raise UsageError(f"{sha[:10]}: is a person's commit; `git revert {sha[:10]}` undoes it")
    records = [ref for ref in _skills_and_facts(parts, _MAKERS) if _is_creation(run, ref, sha)]
    existing_records = [ref for ref in records if ref in view.records]
    if records and not existing_records:
        raise UsageError(f"{sha[:10]}: everything that it made is gone already")
    if not records:
        raise UsageError(f"{sha[:10]}: made nothing that could be rejected{_advise(view, parts)}")
    return sha, existing_records


def _skills_and_facts(parts: Iterable[Commit], steps: Collection[str]) -> list[Ref]:
    targets = (parse_ref(target) for part in parts if part.step in steps for target in part.targets)
    return list(dict.fromkeys(ref for ref in targets if ref.kind in ("skill", "fact")))


def _is_creation(run: Run, ref: Ref, sha: str) -> bool:
    """Return True if a commit created a record; two clones may both have done so."""
    commits = reversed(run.view.history.commits_changing(ref))
    earlier_commits = takewhile(lambda commit: commit.sha != sha, commits)
    return not any(run.store.git.history.is_ancestor(commit.sha, sha) for commit in earlier_commits)


def _advise(view: Topics, commits: Sequence[Commit]) -> str:
    """Say what the commit did other than making a record, and how a person may undo that."""
    step = next((commit.step for commit in commits if commit.step in _ADVICE), "")
    hint = _ADVICE.get(step, f"`git revert {commits[0].sha[:10]}` takes it back")
    changed_skills = [ref for ref in _skills_and_facts(commits, _CHANGERS) if ref.kind == "skill"]
    names = [ref.id for ref in changed_skills if ref in view.records and _is_learned(view, ref)]
    if not names:
        return f"; {hint}"
    remainder = f" and {len(names) - 1} more" if names[1:] else ""
    command = (
        f"`skillvault undo {names[0]}` undoes all of {'such a' if names[1:] else 'that'} skill"
    )
    return f", but changed {names[0]}{remainder}; {command}; {hint}"


def _is_learned(view: Topics, ref: Ref) -> bool:
    commits = view.history.commits_changing(ref)
    return bool(commits) and commits[-1].step in _MAKERS


def _refuse_personal(run: Run, ref: Ref) -> None:
    skill = run.view.skills.find(ref.id) if ref.kind == "skill" else None
    path = run.view.records.path_of(ref)
    if skill is not None:
        versions = run.versions(ref.id)
        is_description_edited = not sections.is_untouched(versions.descriptions, skill.description)
        is_edited = is_description_edited or bool(
            sections.edited_sections(versions.bodies, skill.body)
        )
    else:
        is_edited = is_personal(run.view, ref)
    if is_edited:
        hint = f"`skillvault skill retire {ref.id}` archives it as it is" if skill else "remove it"
        message = f"{path}: a person edited it, and undo would remove that; {hint}"
        raise UncommittedEditError(message)


def _later_skills(run: Run, skills: Sequence[Ref]) -> Iterator[Ref]:
    """Yield later skills of the program that the rejection would have prevented."""
    view = run.view
    for skill in filter(None, (view.skills.find(ref.id) for ref in skills)):
        for name in (*view.skills.names("skills"), *view.skills.names("proposed")):
            candidate = view.skills.find(name)
            if candidate and _is_later_skill(run, skill, candidate, Ref("skill", name)):
                yield Ref("skill", name)


def _is_later_skill(run: Run, skill: Skill, candidate: Skill, ref: Ref) -> bool:
    if ref.id == skill.name or candidate.domain != skill.domain:
        return False
    if not (run.accounts.is_managed(candidate) and says_same(skill.body, candidate.body)):
        return False
    if sections.edited_sections(run.versions(ref.id).bodies, candidate.body):
        return False
    history = run.view.history
    first_commits = history.commits_changing(Ref("skill", skill.name))[-1:]
    later_commits = history.commits_changing(ref)[-1:]
    is_ancestor = run.store.git.history.is_ancestor
    pairs = zip(first_commits, later_commits, strict=False)
    return any(is_ancestor(first.sha, later.sha) for first, later in pairs)

"""The step `merge`: merge distilled skills whose sessions say the same into one evolved skill.

`learning/distill/overlap.py` compares the sessions; `learning/merge.py` builds the changes. Skills
of outcomes are merged only by the profile `seed`, in `seed.py`.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from skillvault.learning import merge as merging
from skillvault.learning.distill.overlap import groups_of
from skillvault.learning.distill.skill import excerpt_of
from skillvault.learning.merge import STEP, SkillMerge, find_rejection, sessions_digest
from skillvault.loop.distill import session_excerpts
from skillvault.loop.managed_skills import is_mergeable, read_references
from skillvault.loop.next_versions import with_waiting_accounts
from skillvault.loop.registry import SESSIONS
from skillvault.loop.run import Run
from skillvault.model.brief import Draft, SessionExcerpt
from skillvault.model.change import Change
from skillvault.model.records import Ref, Session, Skill

_SERVED_STATUSES = ("testing", "proven")


def step(run: Run) -> Iterator[Change]:
    """Yield a change for each evolved skill that is new or grows."""
    run.settle(STEP, run.snapshot.due.keys(STEP))  # outcomes, which only the profile `seed` needs
    yield from session_changes(run)


def session_changes(run: Run) -> Iterator[Change]:
    """Yield a change for each evolved skill that merges skills of sessions."""
    for domain in run.snapshot.due.keys(SESSIONS):
        is_done = True
        for merge in list(_find_merges(run, domain)):
            name = merge.target.name if merge.target else merge.names[0]
            changes = list(run.write_skill(name, merge.brief, partial(_compose, run, merge)))
            is_done = is_done and not changes and run.report.unavailable is None
            yield from changes
        if is_done:
            run.settle(SESSIONS, [domain])


def _find_merges(run: Run, domain: str) -> Iterator[SkillMerge[SessionExcerpt]]:
    skills = _served_skills(run, domain)
    excerpts_of = {name: session_excerpts(run, name) for name in skills}
    sessions = {session.id: session for excerpts in excerpts_of.values() for session in excerpts}
    for group in groups_of(sessions.values(), run.policy.merge.similarity):
        ids = {session.id for session in group}
        names = [name for name in skills if any(session.id in ids for session in excerpts_of[name])]
        if merge := _find_merge(run, group, {name: skills[name] for name in names}):
            yield merge


def _served_skills(run: Run, domain: str) -> dict[str, Skill]:
    skills = run.snapshot.skills.get_many(run.snapshot.skills.names("skills", domain))
    distilled_skills = {
        name: skill
        for name, skill in skills.items()
        if (skill.origin, skill.trust) == ("distilled", "local")
        and skill.status in _SERVED_STATUSES
    }
    distilled_skills = with_waiting_accounts(run.snapshot, distilled_skills)
    return dict(sorted(distilled_skills.items(), key=lambda pair: (pair[1].created or "", pair[0])))


def _find_merge(
    run: Run, group: Sequence[Session], skills: dict[str, Skill]
) -> SkillMerge[SessionExcerpt] | None:
    evolved_skill = next((skill for skill in skills.values() if skill.kind == "evolved"), None)
    target = evolved_skill.name if evolved_skill else None
    names = tuple(sorted(n for n in skills if n != target and is_mergeable(run, n)))
    if evolved_skill is None and len(names) <= run.policy.distill.min_similar:
        return None
    if evolved_skill is not None and not names and evolved_skill.account == sessions_digest(group):
        return None
    merged_sources = run.snapshot.links.source_ids(Ref("skill", target), "merged") if target else []
    if rejection := find_rejection({*names, *merged_sources}, run.rejections.sets(STEP)):
        run.report.rejected.append(rejection)
        return None
    at = run.profile.time(group[-1].ended_at, run.now)
    brief = excerpt_of(group)
    return SkillMerge(domain=brief.domain, brief=brief, names=names, target=evolved_skill, at=at)


def _compose(run: Run, merge: SkillMerge[SessionExcerpt], draft: Draft) -> Change | None:
    if not draft.sections:
        return None
    if (skill := merge.target) is None:
        is_taken = run.snapshot.skills.is_name_taken
        return merging.merge_change(merge, draft, is_taken=is_taken, policy=run.policy)
    files, texts = read_references(run, "skills", skill), run.written_texts(skill.name)
    return merging.growth_change(merge, skill, draft, texts, references=files, policy=run.policy)

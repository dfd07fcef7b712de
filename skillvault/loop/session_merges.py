"""merge of sessions: the skills of a domain whose sessions say the same become one."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from skillvault.learning.distill.overlap import groups_of
from skillvault.learning.distill.skill import excerpt_of
from skillvault.learning.length import References
from skillvault.learning.merge import SESSIONS
from skillvault.learning.merge import sessions as merging
from skillvault.learning.merge.sessions import STEP, SessionMerge, find_rejection, sessions_digest
from skillvault.loop.distill import DomainSessions
from skillvault.loop.judging.judge_replies import draft_by, told_by
from skillvault.loop.next_versions import with_waiting_accounts
from skillvault.loop.run import Run
from skillvault.model.change import Change
from skillvault.model.records import Ref, Session, Skill

_SERVED = ("testing", "proven")
_References = Callable[[Run, str, Skill], References]


def session_changes(
    run: Run, is_ours: Callable[[str], bool], references: _References
) -> Iterator[Change]:
    """One change a skill that comes of it or grows."""
    for domain in run.view.due.keys(SESSIONS):
        kept = False
        for due in list(_of_domain(run, domain, is_ours)):
            name = due.into.name if due.into else due.own[0]
            changes = list(run.written(partial(_one_skill, run, due, references), name))
            kept = kept or bool(changes) or run.report.unavailable is not None
            yield from changes
        if not kept:
            run.settle(SESSIONS, [domain])


def _of_domain(run: Run, domain: str, is_ours: Callable[[str], bool]) -> Iterator[SessionMerge]:
    skills = _served(run, domain)
    excerpts = DomainSessions(run.view, domain, run.policy)
    behind = {name: excerpts.excerpts_behind(name) for name in skills}
    sessions = {session.id: session for some in behind.values() for session in some}
    for group in groups_of(sessions.values(), run.policy.merge.similarity):
        ids = {session.id for session in group}
        names = [name for name in skills if any(session.id in ids for session in behind[name])]
        if (
            due := _merge_due(run, group, {name: skills[name] for name in names}, is_ours)
        ) is not None:
            yield due


def _served(run: Run, domain: str) -> dict[str, Skill]:
    """The trusted skills of sessions in service, the oldest first."""
    skills = run.view.skills.get_many(run.view.skills.names("skills", domain))
    ours = {
        name: skill
        for name, skill in skills.items()
        if (skill.origin, skill.trust) == ("distilled", "local") and skill.status in _SERVED
    }
    ours = with_waiting_accounts(run.view, ours)
    return dict(sorted(ours.items(), key=lambda pair: (pair[1].created or "", pair[0])))


def _merge_due(
    run: Run, group: Sequence[Session], skills: dict[str, Skill], is_ours: Callable[[str], bool]
) -> SessionMerge | None:
    """What is to be done about skills whose sessions say the same; None for nothing."""
    into = next((skill for skill in skills.values() if skill.kind == "evolved"), None)
    kept = into.name if into else None
    own = tuple(sorted(name for name in skills if name != kept and is_ours(name)))
    if into is None and len(own) <= run.policy.distill.min_similar:
        return None
    if into is not None and not own and into.account == sessions_digest(group):
        return None
    told = run.view.links.source_ids(Ref("skill", kept), "merged") if kept else []
    if refused := find_rejection({*own, *told}, run.rejections.sets(STEP)):
        run.report.rejected.append(refused)
        return None
    at = run.rules.time(group[-1].ended_at, run.now)
    return SessionMerge(sessions=tuple(group), own=own, into=into, at=at)


def _one_skill(run: Run, due: SessionMerge, references: _References) -> Change | None:
    """The change, if the judge writes a text; else none."""
    draft = draft_by(run.judge, excerpt_of(due.sessions))
    if draft is None or not draft.sections:
        return None
    if due.into is None:
        taken = run.view.skills.is_name_taken
        change = merging.merge_change(due, draft, taken=taken, policy=run.policy)
        return told_by(change, draft, run.view)
    change = merging.growth_change(
        due,
        due.into,
        draft,
        run.versions(due.into.name),
        references=references(run, "skills", due.into),
        policy=run.policy,
    )
    return told_by(change, draft, run.view)

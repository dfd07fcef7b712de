"""The step `distill`: make a skill from each finished session, unless a skill says the same.

`learning/distill/` writes the text and compares the statements. `merge.py` merges similar skills.
"""

from collections.abc import Iterator
from functools import partial

from skillvault.learning.distill import skill as distill
from skillvault.learning.distill.overlap import is_repeat, says_all
from skillvault.learning.distill.skill import STEP, ExistingSessionSkill, excerpt, session_state
from skillvault.learning.generate import SkillState, expiry_time
from skillvault.loop.clock import clock
from skillvault.loop.run import Run
from skillvault.model.brief import Draft, SessionExcerpt
from skillvault.model.change import Change
from skillvault.model.records import Ref, Session, Skill, link_id, stamp


def step(run: Run) -> Iterator[Change]:
    """Yield a new skill for each session, or a link to the skill that says the same."""
    keys = run.snapshot.due.keys(STEP)
    sessions = run.snapshot.sessions.in_order(keys)
    run.settle(STEP, set(keys).difference(session.id for session in sessions))
    for session in sessions:
        state, existing = find_state(run, session)
        if state.state == "due":
            brief = distill.excerpt_of([excerpt(session, run.policy.distill)])
            compose = partial(_compose, run, session, brief)
            changes = list(run.write_skill(f"distilled-{session.id}", brief, compose))
        else:
            changes = list(_link_repeated(run, session, state, existing))
        if not changes and not run.report.unavailable:
            run.settle(STEP, [session.id])
        yield from changes


def find_state(run: Run, session: Session) -> tuple[SkillState, ExistingSessionSkill]:
    """Return the state of a session on its way to a skill, and the skill that it has already."""
    existing = _find_existing(run, session)
    return session_state(session, existing, run.policy.distill), existing


def living_skills(run: Run, domain: str) -> list[tuple[str, Skill]]:
    """Return (name, skill) of the skills of a domain that are not archived, sorted by name."""
    skills = run.snapshot.skills
    names = [*skills.names("skills", domain), *skills.names("proposed", domain)]
    return sorted(skills.live(names).items())


def session_excerpts(run: Run, skill: str) -> list[Session]:
    """Return excerpts of the sessions from which a skill was made, oldest first."""
    sessions = run.snapshot.sessions.in_order(run.snapshot.sessions.sources_of(skill))
    return [excerpt(session, run.policy.distill) for session in sessions]


def _find_existing(run: Run, session: Session) -> ExistingSessionSkill:
    source = Ref("session", session.id)
    product = run.products_of(STEP, "skill", [source]).get(session.id)
    links = [link for link in run.snapshot.links.by_source([source]) if link.type == "distilled"]
    living_refs = run.snapshot.records.existing(link.target for link in links)
    skill = product or next((ref.id for ref in sorted(living_refs)), None)
    rejection = None if skill else run.rejections.of_source(STEP, source, "skill")
    if skill or rejection:
        ref = Ref("skill", skill or "")
        merged_name = run.snapshot.links.merge_targets([ref]).get(ref.id)
        return ExistingSessionSkill(skill=skill, merged=merged_name, rejection=rejection)
    # Make no skill whose time to live is over already.
    days = run.policy.days(distill.excerpt_of([session]).kind)
    start = run.profile.time(session.ended_at, run.now)
    time = clock(run.snapshot, session.domain, run.now, run.profile)
    return ExistingSessionSkill(
        repeats=_find_repeated(run, excerpt(session, run.policy.distill)),
        is_over=bool(time and days and expiry_time(start, days) < stamp(time)),
    )


def _find_repeated(run: Run, session: Session) -> str | None:
    """Return the first skill, by name, that has all statements of a session, or None.

    A distilled skill must have exactly these statements; another skill may have more. A session is
    compared only with skills of the same trust.
    """
    for name, skill in living_skills(run, session.domain):
        if skill.trust != session.trust or skill.replaces:
            continue  # a next version does not count until it is approved
        excerpts = session_excerpts(run, name) if skill.origin == "distilled" else []
        if any(is_repeat(session, other) for other in excerpts if other.id != session.id):
            return name
        if not excerpts and says_all(skill.body, session):
            return name
    return None


def _compose(run: Run, session: Session, brief: SessionExcerpt, draft: Draft) -> Change | None:
    if not draft.sections:
        return None
    return distill.distilled_change(
        brief,
        draft,
        is_taken=run.snapshot.skills.is_name_taken,
        at=run.profile.time(session.ended_at, run.now),
        policy=run.policy,
    )


def _link_repeated(
    run: Run, session: Session, state: SkillState, existing: ExistingSessionSkill
) -> Iterator[Change]:
    """Link a session to the skill that says the same, unless the link exists or was rejected."""
    if existing.rejection:
        run.report.rejected.append(existing.rejection)
    if state.state != "repeats" or existing.repeats is None:
        return
    link = link_id("reinforced", Ref("session", session.id), Ref("skill", existing.repeats))
    if rejection := run.rejections.of_target(Ref("link", link)):
        run.report.rejected.append(rejection)
    elif Ref("link", link) not in run.snapshot.records:
        time = run.profile.time(session.ended_at, run.now)
        yield distill.repeat_change(session, existing.repeats, time)

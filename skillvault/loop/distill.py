"""distill: finished sessions become skills, unless one says the same already."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial

from skillvault.learning.distill import skill as distill
from skillvault.learning.distill.overlap import Overlaps, says_all
from skillvault.learning.distill.skill import (
    STEP,
    ExistingSessionSkill,
    excerpt,
    session_state,
)
from skillvault.learning.generate.warning_pattern import SkillState, expiry_time
from skillvault.loop.clock import clock
from skillvault.loop.judging.judge_replies import draft_by, told_by
from skillvault.loop.run import Run
from skillvault.model.change import Change
from skillvault.model.policy import Policy
from skillvault.model.records import Ref, Session, Skill, Trust, link_id, stamp
from skillvault.vault.index.snapshot import Topics


class DomainSessions:
    """What the living skills of a domain say that sessions may say again."""

    def __init__(self, view: Topics, domain: str, policy: Policy) -> None:
        self._view = view
        self._domain = domain
        self._policy = policy

    def excerpts_behind(self, skill: str) -> list[Session]:
        """What is told of the sessions that a skill was distilled from, oldest first."""
        sessions = self._view.sessions.in_order(self._view.sessions.behind(skill))
        return [excerpt(session, self._policy.distill) for session in sessions]

    def repeated_by(self, session: Session) -> str | None:
        """The living skill that says what an excerpt of a session says; the first by name.

        One of a session says neither less nor more; any other may say more. What is trusted is
        compared with what is trusted.
        """
        for name, skill in self._living(session.trust):
            behind = self.excerpts_behind(name) if skill.origin == "distilled" else []
            overlaps = Overlaps(behind).of(session)
            if any(overlap.is_whole for overlap in overlaps.values()):
                return name
            if not behind and says_all(skill.body, session):
                return name
        return None

    def _living(self, trust: Trust) -> Iterator[tuple[str, Skill]]:
        """The skills of the domain in skills/ and proposed/, by name."""
        view = self._view.skills
        names = [*view.names("skills", self._domain), *view.names("proposed", self._domain)]
        skills = view.live(names)
        # A next version tells of sessions once it takes the place of what it replaces.
        ours = (s for s in skills.items() if s[1].trust == trust and not s[1].replaces)
        yield from sorted(ours)


def step(run: Run) -> Iterator[Change]:
    """One change a session: a new skill, or a link to the one that says the same."""
    keys = run.view.due.keys(STEP)
    sessions = run.view.sessions.in_order(keys)
    run.settle(STEP, set(keys).difference(session.id for session in sessions))
    for session in sessions:
        state, present = standing(run, session)
        if state.state == "due":
            make = partial(_distilled, run, session)
            changes = list(run.written(make, f"distilled-{session.id}"))
        else:
            changes = list(_repeated(run, session, state, present))
        if not changes and not run.report.unavailable:
            run.settle(STEP, [session.id])
        yield from changes


def standing(run: Run, session: Session) -> tuple[SkillState, ExistingSessionSkill]:
    """Where a session stands with its skill, and what there is of that."""
    present = _present(run, session)
    return session_state(session, present, run.policy.distill), present


def _present(run: Run, session: Session) -> ExistingSessionSkill:
    source = Ref("session", session.id)
    own = run.made(STEP, "skill", [source]).get(session.id)
    linked = [link for link in run.view.links.by_source([source]) if link.type == "distilled"]
    living = run.view.records.existing(link.target for link in linked)
    skill = own or next((ref.id for ref in sorted(living)), None)
    rejection = None if skill else run.rejections.of_source(STEP, source, "skill")
    if skill or rejection:
        ref = Ref("skill", skill or "")
        merged = run.view.links.merge_targets([ref]).get(ref.id)
        return ExistingSessionSkill(skill=skill, merged=merged, rejection=rejection)
    cut = excerpt(session, run.policy.distill)
    return ExistingSessionSkill(
        repeats=DomainSessions(run.view, session.domain, run.policy).repeated_by(cut),
        is_over=_is_outlived(run, session),
    )


def _is_outlived(run: Run, session: Session) -> bool:
    """Whether its skill's time to live would be over by its domain's clock."""
    at, days = _made_at(run, session), run.policy.days(distill.excerpt_of([session]).kind)
    time = clock(run.view, session.domain, run.now, run.rules)
    return bool(time and days and expiry_time(at, days) < stamp(time))


def _made_at(run: Run, session: Session) -> datetime:
    """From when on its skill lives: the end of the session, or by choice the run."""
    at: datetime = run.rules.time(session.ended_at, run.now)
    return at


def _distilled(run: Run, session: Session) -> Change | None:
    """The commit that adds a session's skill; None if the judge writes no text."""
    brief = distill.excerpt_of([excerpt(session, run.policy.distill)])
    draft = draft_by(run.judge, brief)
    if draft is None or not draft.sections:
        return None
    change = distill.distilled_change(
        brief,
        draft,
        taken=run.view.skills.is_name_taken,
        at=_made_at(run, session),
        policy=run.policy,
    )
    return told_by(change, draft, run.view)


def _repeated(
    run: Run, session: Session, state: SkillState, present: ExistingSessionSkill
) -> Iterator[Change]:
    """The link of a session to the skill that says the same, unless there is or was one."""
    if present.rejection:
        run.report.rejected.append(present.rejection)
    if state.state != "repeats" or present.repeats is None:
        return
    link = link_id("reinforced", Ref("session", session.id), Ref("skill", present.repeats))
    if refused := run.rejections.of_target(Ref("link", link)):
        run.report.rejected.append(refused)
    elif Ref("link", link) not in run.view.records:
        yield distill.repeat_change(session, present.repeats, _made_at(run, session))

"""The skill of finished sessions: its text, its labels, the commits that make it and repeat it."""

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec.structs import replace

from skillvault.learning import sections
from skillvault.learning.distill.excerpt import kind_of_session
from skillvault.learning.expire import key_edits
from skillvault.learning.generate.warning_pattern import (
    ComposedText,
    expiry_after,
    placed,
)
from skillvault.learning.length import STATEMENTS, References, fit_body, head_line_limit
from skillvault.learning.naming import distilled_name
from skillvault.model.brief import Draft, SessionExcerpt
from skillvault.model.change import Change, Edit, Rewrite, skill_series
from skillvault.model.policy import Policy
from skillvault.model.records import Ref, Session, Skill, link_of, stamp
from skillvault.model.text.text import inert, listed, shorten, slug, trimmed

STEP = "distill"
_NAME = 40  # characters of a session's name in a text
_NAMED = 4  # sessions that a header names
_TAGS = 16


def excerpt_of(sessions: Sequence[Session]) -> SessionExcerpt:
    """What a judge is given of excerpts of sessions, oldest first."""
    kinds = {kind_of_session(session) for session in sessions}
    return SessionExcerpt(
        kind="pattern" if "pattern" in kinds else "warning",
        domain=sessions[0].domain,
        sessions=tuple(sessions),
    )


def composed(
    brief: SessionExcerpt,
    draft: Draft,
    *,
    title: str,
    limit: int,
    references: References | None = None,
) -> ComposedText:
    """The text within a length; the rest goes to a file, beside those that are there."""
    most, file = head_line_limit(limit), (references or References()).free(STATEMENTS)
    header = [f"*{trimmed(_of(brief.sessions), most)}*", f"*Domain: {brief.domain}*"]
    head = [f"# {title}: {trimmed(draft.title, most)}", "\n".join(header)]
    body, rest = fit_body(head, draft.sections, limit, file)
    return ComposedText(body, {file: rest} if rest else {})


def _of(sessions: Sequence[Session]) -> str:
    """From which sessions, and when they ended."""
    days = dict.fromkeys(f"{s.ended_at:%Y-%m-%d}" for s in (sessions[0], sessions[-1]))
    names = [inert(session.name, _NAME) for session in sessions]
    if len(names) > _NAMED:
        names = [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} more"]
    noun = f"{len(sessions)} sessions" if len(sessions) > 1 else "Session"
    return f"{noun} {listed(names)}, {' to '.join(days)}"


def tags_of(brief: SessionExcerpt, draft: Draft) -> tuple[str, ...]:
    """The tags of a skill, its domain the first."""
    return tuple(dict.fromkeys((slug(brief.domain), *draft.tags)))[:_TAGS]


def is_served(session: Session) -> bool:
    """Whether the skill of a session may be served before a person has read it.

    What tools put out is other people's text, so what is an extract of a transcript may not.
    """
    return session.trust == "local" and session.transcript is None


def distilled_change(
    brief: SessionExcerpt,
    draft: Draft,
    *,
    taken: Callable[[str], bool],
    at: datetime,
    policy: Policy,
) -> Change:
    """The commit that adds the skill of one session, with its link; it lives from `at` on."""
    (session,) = brief.sessions
    served = is_served(session)
    text = composed(brief, draft, title=brief.kind.capitalize(), limit=policy.generate.max_tokens)
    skill = Skill(
        name=distilled_name(session.id, taken),
        description=shorten(draft.description, 1024),
        body=text.body,
        tags=tags_of(brief, draft),
        roles=draft.roles,
        stages=draft.stages,
        kind=brief.kind,
        domain=brief.domain,
        status="testing" if served else "proposed",
        origin="distilled",
        created=stamp(at),
        expires=expiry_after(at, policy.days(brief.kind) or 0),
        trust=session.trust,
    )
    source, target = Ref("session", session.id), Ref("skill", skill.name)
    return Change(
        step=STEP,
        subject=skill.name,
        commit_with=skill_series(STEP, brief.domain),
        reason=_extract_words(session),
        writes=(skill, link_of("distilled", source, target, at)),
        files=placed(skill.name, "skills" if served else "proposed", text.files),
        sources=(source,),
        targets=(target,),
    )


def reworded_change(
    brief: SessionExcerpt,
    draft: Draft,
    skill: Skill,
    written: sections.WrittenTexts,
    *,
    shelf: str,
    references: References,
    policy: Policy,
) -> Change:
    """The commit by which a skill of sessions has other words; what a person changed in it stays.

    `shelf` is where it stands, `references` are its files.
    """
    path, is_evolved = f"{shelf}/{skill.name}/SKILL.md", skill.kind == "evolved"
    title = "Evolved" if is_evolved else brief.kind.capitalize()
    limit = policy.merge.max_tokens if is_evolved else policy.generate.max_tokens
    text = composed(brief, draft, title=title, limit=limit, references=references)
    body = sections.rewrite_body(skill.body, written.bodies, text.body)
    grown = replace(skill, description=shorten(draft.description, 1024))
    labels = {"tags": tags_of(brief, draft), "roles": draft.roles, "stages": draft.stages}
    edits = [
        Edit(path, ("metadata", key), " ".join(names) or None)
        for key, names in labels.items()
        if names != getattr(skill, key)
        and sections.is_untouched(written.labels, sections.labels_of(skill))
    ]
    return Change(
        step=STEP,
        subject=skill.name,
        commit_with=skill_series(STEP, brief.domain),
        reason=f"{skill.name} is told in other words.",
        files=placed(skill.name, shelf, references.files_to_write(text.files)),
        edits=(*key_edits(path, skill, grown, written, policy=policy), *edits),
        rewrites=(Rewrite(path, body),) if body != skill.body else (),
        targets=(Ref("skill", skill.name),),
    )


def _extract_words(session: Session) -> str:
    """How much of the session is told, and from where it is."""
    failed, worked = len(session.failures), len(session.successes)
    client = inert(session.transcript or "", 40)
    extract = f", an extract of a {client} transcript" if client else ""
    name = inert(session.name, _NAME)
    return f"Session {name}{extract}: {failed} failed, {worked} worked."


def repeat_change(session: Session, skill: str, at: datetime) -> Change:
    """The commit that links a session to the skill that says the same."""
    source, target = Ref("session", session.id), Ref("skill", skill)
    link = link_of("reinforced", source, target, at)
    return Change(
        step=STEP,
        subject=f"reinforce {skill}",
        commit_with=skill_series(STEP, session.domain),
        reason=f"Session {inert(session.name, _NAME)} says the same.",
        writes=(link,),
        sources=(source,),
        targets=(Ref("link", link.id),),
    )

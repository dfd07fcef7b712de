"""Decide if a finished session makes a skill, and build the text and the commits of the skill.

`loop/distill.py` reads the sessions. `merge.py` merges skills of several sessions.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning import sections
from skillvault.learning.expire import rewrite_skill
from skillvault.learning.gate import reinforcement_change
from skillvault.learning.generate import SkillState, expiry_time, reference_files
from skillvault.learning.length import ComposedText, References, compose_text, head_line_limit
from skillvault.learning.naming import distilled_name
from skillvault.learning.rejection import Rejection
from skillvault.model.brief import Draft, SessionExcerpt
from skillvault.model.change import Change, Edit, skill_series
from skillvault.model.policy import DistillPolicy, Policy
from skillvault.model.records import Ref, Session, SessionFailure, Skill, link_of, stamp
from skillvault.model.text.text import (
    count_of,
    join_items,
    make_inert,
    shorten,
    slug,
    trim_to_tokens,
)

STEP = "distill"
_KEY_REASON = 80  # characters of a reason by which failures are compared
_MAX_SUCCESS = 300  # characters of a success; a longer text is cut to its start and end
_START, _END = 200, 80
_MAX_NAME = 40  # characters of a session's name in a text
_MAX_NAMES = 4  # sessions to name in a header
_MAX_TAGS = 16


class ExistingSessionSkill(Struct, frozen=True, kw_only=True):
    """The skills that exist for a session, by name.

    `skill` was distilled from the session, `merged` is the skill into which it was merged, and
    `repeats` is another skill that says the same. `rejection` is set if a person removed the skill.
    `is_over` is true if its time to live would be over already.
    """

    skill: str | None = None
    merged: str | None = None
    repeats: str | None = None
    rejection: Rejection | None = None
    is_over: bool = False


def session_state(
    session: Session, existing: ExistingSessionSkill, rules: DistillPolicy
) -> SkillState:
    """Return the state of a session on its way to a skill; the state `due` makes it."""
    if existing.rejection:
        return SkillState("rejected", existing.rejection.sentence)
    if existing.skill:
        successor = f", which {existing.merged} stands for" if existing.merged else ""
        return SkillState("done", f"distilled {existing.skill}{successor}")
    failures, successes = len(unique_failures(session.failures)), len(session.successes)
    if failures < rules.min_failures and successes < rules.min_successes:
        reason = (
            f"a session needs {rules.min_failures} different failures or {rules.min_successes} "
            f"successes; it has {count_of(failures, len(session.failures))} failures that differ "
            f"and {successes} success{'es' * (successes != 1)}"
        )
        return SkillState("too little", reason)
    if existing.repeats:
        return SkillState("repeats", f"{existing.repeats} says the same already")
    if existing.is_over:
        return SkillState("over", "too old for its domain")
    return SkillState("due", f"{failures} failures that differ; `skillvault run`")


def unique_failures(failures: Iterable[SessionFailure]) -> list[SessionFailure]:
    """Return the failures that differ in their lemma or the first 80 characters of the reason."""
    failure_by_key: dict[tuple[str, str], SessionFailure] = {}
    for failure in failures:
        failure_by_key.setdefault((failure.lemma, failure.reason[:_KEY_REASON]), failure)
    return list(failure_by_key.values())


def shorten_success(text: str) -> str:
    """Shorten a success of more than 300 characters to its first 200 and its last 80."""
    if len(text) <= _MAX_SUCCESS:
        return text
    return f"{text[:_START].rstrip()} … {text[-_END:].lstrip()}"


def excerpt(session: Session, rules: DistillPolicy) -> Session:
    """Return a session with only its first different failures and its first successes."""
    return replace(
        session,
        failures=tuple(unique_failures(session.failures)[: rules.failures]),
        successes=tuple(
            replace(success, text=shorten_success(success.text))
            for success in session.successes[: rules.successes]
        ),
    )


def excerpt_of(sessions: Sequence[Session]) -> SessionExcerpt:
    """Return the brief for the judge; `sessions` are excerpts, oldest first."""
    return SessionExcerpt(
        kind="pattern" if any(session.successes for session in sessions) else "warning",
        domain=sessions[0].domain,
        sessions=tuple(sessions),
    )


def session_text(
    brief: SessionExcerpt, draft: Draft, kind: str, *, limit: int, references: References
) -> ComposedText:
    """Return the text of a skill of sessions within `limit` tokens; `kind` precedes the title."""
    source_words = trim_to_tokens(_source_words(brief.sessions), head_line_limit(limit))
    header = [source_words, f"Domain: {brief.domain}"]
    return compose_text(draft, kind, header, limit=limit, references=references)


def _source_words(sessions: Sequence[Session]) -> str:
    days = dict.fromkeys(f"{s.ended_at:%Y-%m-%d}" for s in (sessions[0], sessions[-1]))
    names = [make_inert(session.name, _MAX_NAME) for session in sessions]
    if len(names) > _MAX_NAMES:
        names = [*names[: _MAX_NAMES - 1], f"{len(names) - _MAX_NAMES + 1} more"]
    prefix = f"{len(sessions)} sessions" if len(sessions) > 1 else "Session"
    return f"{prefix} {join_items(names)}, {' to '.join(days)}"


def tags_of(brief: SessionExcerpt, draft: Draft) -> tuple[str, ...]:
    """Return the tags of a skill, its domain first."""
    return tuple(dict.fromkeys((slug(brief.domain), *draft.tags)))[:_MAX_TAGS]


def is_served(session: Session) -> bool:
    """Return True if agents may get the skill of a session before a person reads it.

    A skill from a transcript must wait, because it may quote the output of tools.
    """
    return session.trust == "local" and session.transcript is None


def distilled_change(
    brief: SessionExcerpt,
    draft: Draft,
    *,
    is_taken: Callable[[str], bool],
    at: datetime,
    policy: Policy,
) -> Change:
    """Return the change that adds the skill of one session; its time to live starts at `at`."""
    (session,) = brief.sessions
    is_local = is_served(session)
    limit = policy.generate.max_tokens
    text = session_text(brief, draft, brief.kind.capitalize(), limit=limit, references=References())
    skill = Skill(
        name=distilled_name(session.id, is_taken),
        description=shorten(draft.description, 1024),
        body=text.body,
        tags=tags_of(brief, draft),
        roles=draft.roles,
        stages=draft.stages,
        kind=brief.kind,
        domain=brief.domain,
        status="testing" if is_local else "proposed",
        origin="distilled",
        created=stamp(at),
        expires=expiry_time(at, policy.days(brief.kind) or 0),
        trust=session.trust,
    )
    source, target = Ref("session", session.id), Ref("skill", skill.name)
    return Change(
        step=STEP,
        subject=skill.name,
        commit_with=skill_series(STEP, brief.domain),
        reason=_reason_words(session),
        writes=(skill, link_of("distilled", source, target, at)),
        files=reference_files(skill.name, "skills" if is_local else "proposed", text.files),
        sources=(source,),
        targets=(target,),
    )


def rewording_change(
    brief: SessionExcerpt,
    draft: Draft,
    skill: Skill,
    texts: sections.WrittenTexts,
    *,
    folder: str,
    references: References,
    policy: Policy,
) -> Change:
    """Return the change that rewords a skill of sessions; a person's edits stay.

    `folder` is the top folder of the skill.
    """
    path, is_evolved = f"{folder}/{skill.name}/SKILL.md", skill.kind == "evolved"
    kind = "Evolved" if is_evolved else brief.kind.capitalize()
    limit = policy.merge.max_tokens if is_evolved else policy.generate.max_tokens
    text = session_text(brief, draft, kind, limit=limit, references=references)
    new_skill = replace(skill, body=text.body, description=shorten(draft.description, 1024))
    edits, rewrites = rewrite_skill(path, skill, new_skill, texts, policy=policy)
    labels = {"tags": tags_of(brief, draft), "roles": draft.roles, "stages": draft.stages}
    label_edits = [
        Edit(path, ("metadata", key), " ".join(names) or None)
        for key, names in labels.items()
        if names != getattr(skill, key)
        and sections.is_untouched(texts.labels, sections.labels_of(skill))
    ]
    return Change(
        step=STEP,
        subject=skill.name,
        commit_with=skill_series(STEP, brief.domain),
        reason=f"{skill.name} is told in other words.",
        files=reference_files(skill.name, folder, references.files_to_write(text.files)),
        edits=(*edits, *label_edits),
        rewrites=rewrites,
        targets=(Ref("skill", skill.name),),
    )


def _reason_words(session: Session) -> str:
    failures, successes = len(session.failures), len(session.successes)
    client = make_inert(session.transcript or "", 40)
    source = f", an extract of a {client} transcript" if client else ""
    name = make_inert(session.name, _MAX_NAME)
    return f"Session {name}{source}: {failures} failed, {successes} worked."


def repeat_change(session: Session, skill: str, at: datetime) -> Change:
    """Return the change that links a session to a skill that says the same."""
    reason = f"Session {make_inert(session.name, _MAX_NAME)} says the same."
    sources = [Ref("session", session.id)]
    change = reinforcement_change(STEP, Ref("skill", skill), sources, at=at, reason=reason)
    return replace(change, commit_with=skill_series(STEP, session.domain))

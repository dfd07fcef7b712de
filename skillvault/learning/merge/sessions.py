"""The evolved skill of several sessions that say the same: its text, its commits.

What stood for one session alone goes to archive/. Nothing that a person changed is written over.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning import sections
from skillvault.learning.distill.skill import composed, excerpt_of, tags_of
from skillvault.learning.expire import key_edits
from skillvault.learning.generate.warning_pattern import expiry_after, placed
from skillvault.learning.length import References
from skillvault.learning.naming import free_name
from skillvault.learning.rejection import Rejection
from skillvault.model.brief import Draft
from skillvault.model.change import Change, Edit, Move, Rewrite, skill_series
from skillvault.model.policy import Policy
from skillvault.model.records import Link, Ref, Session, Skill, link_of, stamp
from skillvault.model.text.text import shorten, slug

STEP = "merge"


def rejected(
    sources: Collection[str], sets: Iterable[tuple[frozenset[str], Rejection]]
) -> Rejection | None:
    """Return the rejection of a merge that two of these sources were part of."""
    return next((why for members, why in sets if len(members.intersection(sources)) > 1), None)


class SessionMerging(Struct, frozen=True, kw_only=True):
    """Skills of sessions that say the same, and become one.

    `sessions` are excerpts of all that stand behind them, oldest first. `own` are the names of
    those that go, `into` is the evolved one that takes them in, if there is one. `at` is when it
    is made.
    """

    sessions: tuple[Session, ...]
    own: tuple[str, ...]
    into: Skill | None
    at: datetime

    @property
    def domain(self) -> str:
        """The domain of all of them."""
        return self.sessions[0].domain


def sessions_digest(sessions: Sequence[Session]) -> str:
    """Twelve hex digits of the sessions that an evolved skill tells of."""
    return sha256("\n".join(session.id for session in sessions).encode()).hexdigest()[:12]


def joining_change(
    due: SessionMerging, draft: Draft, *, taken: Callable[[str], bool], policy: Policy
) -> Change:
    """The commit that makes one skill of several; they go to archive/."""
    brief = excerpt_of(due.sessions)
    about = f"{slug(due.domain, limit=24)}-{_most_said(due.sessions)}".rstrip("-")
    name = free_name("evolved", about, (session.id for session in due.sessions), taken)
    text = composed(brief, draft, title="Evolved", limit=policy.merge.max_tokens)
    skill = Skill(
        name=name,
        description=shorten(draft.description, 1024),
        body=text.body,
        tags=tags_of(brief, draft),
        roles=draft.roles,
        stages=draft.stages,
        kind="evolved",
        domain=due.domain,
        account=sessions_digest(due.sessions),
        status="testing",
        origin="distilled",
        created=stamp(due.at),
        expires=expiry_after(due.at, policy.generate.evolved_days),
    )
    return Change(
        step=STEP,
        subject=name,
        commit_with=skill_series(STEP, due.domain),
        reason=_reason_of(due, name),
        writes=(skill, *_merged(due, name)),
        files=placed(name, "skills", text.files),
        moves=_put_away(due),
        sources=_behind(due),
        targets=(Ref("skill", name),),
    )


def widening_change(
    due: SessionMerging,
    skill: Skill,
    draft: Draft,
    written: sections.WrittenTexts,
    *,
    references: References,
    policy: Policy,
) -> Change:
    """The commit by which an evolved skill takes in more skills, or more of their sessions."""
    path = f"skills/{skill.name}/SKILL.md"
    text = composed(
        excerpt_of(due.sessions),
        draft,
        title="Evolved",
        limit=policy.merge.max_tokens,
        references=references,
    )
    body = sections.rewrite_body(skill.body, written.bodies, text.body)
    links = tuple(_merged(due, skill.name))
    return Change(
        step=STEP,
        subject=f"grow {skill.name}",
        commit_with=skill_series(STEP, due.domain),
        reason=_reason_of(due, skill.name),
        writes=links,
        files=placed(skill.name, "skills", references.files_to_write(text.files)),
        edits=tuple(_keys(due, skill, draft, written, path=path, policy=policy)),
        rewrites=(Rewrite(path, body),) if body != skill.body else (),
        moves=_put_away(due),
        sources=_behind(due),
        targets=(Ref("skill", skill.name), *(Ref("link", link.id) for link in links)),
    )


def _keys(
    due: SessionMerging,
    skill: Skill,
    draft: Draft,
    written: sections.WrittenTexts,
    *,
    path: str,
    policy: Policy,
) -> Iterator[Edit]:
    grown = replace(
        skill,
        description=shorten(draft.description, 1024),
        account=sessions_digest(due.sessions),
        created=stamp(due.at),
        expires=expiry_after(due.at, policy.generate.evolved_days),
    )
    return key_edits(path, skill, grown, written, policy=policy)


def _most_said(sessions: Sequence[Session]) -> str:
    """What most of the sessions are about, as a slug; of equals the first by name."""
    slugs = ({slug(lemma, limit=26) for lemma in session.lemmas} for session in sessions)
    counts = Counter(lemma for some in slugs for lemma in some)
    return min(counts, key=lambda lemma: (-counts[lemma], lemma))


def _merged(due: SessionMerging, name: str) -> Iterator[Link]:
    """One link from each skill that goes."""
    for own in due.own:
        yield link_of("merged", Ref("skill", own), Ref("skill", name), due.at)


def _behind(due: SessionMerging) -> tuple[Ref, ...]:
    """What it is made of: the skills that go, or the sessions that came to it."""
    own = tuple(Ref("skill", name) for name in due.own)
    return own or tuple(Ref("session", session.id) for session in due.sessions)


def _put_away(due: SessionMerging) -> tuple[Move, ...]:
    return tuple(Move(f"skills/{name}", f"archive/{name}") for name in due.own)


def _reason_of(due: SessionMerging, name: str) -> str:
    lines = [f"{name} stands for {len(due.sessions)} sessions that say the same."]
    return "\n".join([*lines, *(f"{own} goes to archive/." for own in due.own)])

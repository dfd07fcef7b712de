"""Merge the skills of several sessions that say the same into one evolved skill.

The skills of single sessions go to archive/. A person's edits are never overwritten.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning import sections
from skillvault.learning.distill.skill import compose_text, excerpt_of, tags_of
from skillvault.learning.expire import key_edits
from skillvault.learning.generate import expiry_time, reference_files
from skillvault.learning.length import References
from skillvault.learning.naming import free_name
from skillvault.learning.rejection import Rejection
from skillvault.model.brief import Draft
from skillvault.model.change import Change, Move, Rewrite, skill_series
from skillvault.model.policy import Policy
from skillvault.model.records import Link, Ref, Session, Skill, link_of, stamp
from skillvault.model.text.text import shorten, slug

STEP = "merge"


def find_rejection(
    sources: Collection[str], sets: Iterable[tuple[frozenset[str], Rejection]]
) -> Rejection | None:
    """Return the rejection of an earlier merge of at least two of these sources."""
    for members, rejection in sets:
        if len(members.intersection(sources)) > 1:
            return rejection
    return None


class SessionMerge(Struct, frozen=True, kw_only=True):
    """Skills of sessions that say the same, to be merged into one skill.

    `sessions` are excerpts of all sessions, oldest first. `names` are the skills that are
    archived. `target` is the evolved skill that takes them in, None for a new one. `at` is
    the time of the merge.
    """

    sessions: tuple[Session, ...]
    names: tuple[str, ...]
    target: Skill | None
    at: datetime

    @property
    def domain(self) -> str:
        """The domain of all these skills."""
        return self.sessions[0].domain

    @property
    def moves(self) -> tuple[Move, ...]:
        """The moves of the merged skills to archive/."""
        return tuple(Move(f"skills/{name}", f"archive/{name}") for name in self.names)

    @property
    def sources(self) -> tuple[Ref, ...]:
        """The skills that are archived, or the sessions if no skill is archived."""
        skills = tuple(Ref("skill", name) for name in self.names)
        return skills or tuple(Ref("session", session.id) for session in self.sessions)

    def links(self, name: str) -> Iterator[Link]:
        """Yield a link from each archived skill to the merged skill."""
        for source in self.names:
            yield link_of("merged", Ref("skill", source), Ref("skill", name), self.at)

    def reason(self, name: str) -> str:
        """Return the reason for the commit that makes or extends the merged skill."""
        lines = [f"{name} stands for {len(self.sessions)} sessions that say the same."]
        return "\n".join([*lines, *(f"{source} goes to archive/." for source in self.names)])


def sessions_digest(sessions: Sequence[Session]) -> str:
    """Return twelve hex digits of the sessions of an evolved skill."""
    return sha256("\n".join(session.id for session in sessions).encode()).hexdigest()[:12]


def merge_change(
    merge: SessionMerge, draft: Draft, *, is_taken: Callable[[str], bool], policy: Policy
) -> Change:
    """Return the commit that merges several skills into a new one."""
    brief = excerpt_of(merge.sessions)
    slugs = ({slug(lemma, limit=26) for lemma in session.lemmas} for session in merge.sessions)
    counts = Counter(lemma for session_slugs in slugs for lemma in session_slugs)
    main_subject = min(counts, key=lambda lemma: (-counts[lemma], lemma))
    subject = f"{slug(merge.domain, limit=24)}-{main_subject}".rstrip("-")
    name = free_name("evolved", subject, (session.id for session in merge.sessions), is_taken)
    text = compose_text(brief, draft, title="Evolved", limit=policy.merge.max_tokens)
    skill = Skill(
        name=name,
        description=shorten(draft.description, 1024),
        body=text.body,
        tags=tags_of(brief, draft),
        roles=draft.roles,
        stages=draft.stages,
        kind="evolved",
        domain=merge.domain,
        account=sessions_digest(merge.sessions),
        status="testing",
        origin="distilled",
        created=stamp(merge.at),
        expires=expiry_time(merge.at, policy.generate.evolved_days),
    )
    return Change(
        step=STEP,
        subject=name,
        commit_with=skill_series(STEP, merge.domain),
        reason=merge.reason(name),
        writes=(skill, *merge.links(name)),
        files=reference_files(name, "skills", text.files),
        moves=merge.moves,
        sources=merge.sources,
        targets=(Ref("skill", name),),
    )


def growth_change(
    merge: SessionMerge,
    skill: Skill,
    draft: Draft,
    texts: sections.WrittenTexts,
    *,
    references: References,
    policy: Policy,
) -> Change:
    """Return the commit that extends an evolved skill by more skills or sessions."""
    path = f"skills/{skill.name}/SKILL.md"
    text = compose_text(
        excerpt_of(merge.sessions),
        draft,
        title="Evolved",
        limit=policy.merge.max_tokens,
        references=references,
    )
    body = sections.rewrite_body(skill.body, texts.bodies, text.body)
    links = tuple(merge.links(skill.name))
    extended_skill = replace(
        skill,
        description=shorten(draft.description, 1024),
        account=sessions_digest(merge.sessions),
        created=stamp(merge.at),
        expires=expiry_time(merge.at, policy.generate.evolved_days),
    )
    return Change(
        step=STEP,
        subject=f"grow {skill.name}",
        commit_with=skill_series(STEP, merge.domain),
        reason=merge.reason(skill.name),
        writes=links,
        files=reference_files(skill.name, "skills", references.files_to_write(text.files)),
        edits=tuple(key_edits(path, skill, extended_skill, texts, policy=policy)),
        rewrites=(Rewrite(path, body),) if body != skill.body else (),
        moves=merge.moves,
        sources=merge.sources,
        targets=(Ref("skill", skill.name), *(Ref("link", link.id) for link in links)),
    )

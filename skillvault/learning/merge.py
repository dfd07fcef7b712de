"""The rule of `merge`: merge the skills of a domain that say the same into one evolved skill.

The merged skills go to archive/. `loop/merge.py` finds the groups of sessions; the profile `seed`
also merges skills of outcomes, with `seed/skills.py`.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning.distill.skill import session_text, tags_of
from skillvault.learning.expire import rewrite_skill
from skillvault.learning.generate import expiry_time, reference_files
from skillvault.learning.length import References
from skillvault.learning.naming import free_name
from skillvault.learning.rejection import Rejection
from skillvault.learning.sections import WrittenTexts
from skillvault.model.brief import Agreement, Draft, SessionExcerpt
from skillvault.model.change import Change, Move, skill_series
from skillvault.model.policy import Policy
from skillvault.model.records import Ref, Session, Skill, link_of, stamp
from skillvault.model.text.text import shorten, slug

STEP = "merge"
_Brief = TypeVar("_Brief", SessionExcerpt, Agreement)


class SkillMerge(Struct, Generic[_Brief], frozen=True, kw_only=True):
    """Skills of a domain that say the same, to be merged into one skill.

    `brief` has the outcomes or sessions of all these skills. `names` are the skills to archive.
    `target` is the existing evolved skill, or None for a new skill. `at` is the time of the merge.
    """

    domain: str
    brief: _Brief
    names: tuple[str, ...]
    at: datetime
    target: Skill | None = None


def find_rejection(
    sources: Collection[str], sets: Iterable[tuple[frozenset[str], Rejection]]
) -> Rejection | None:
    """Return the rejection of an earlier merge of at least two of the sources, or None.

    `sets` has the sources of each rejected merge.
    """
    for members, rejection in sets:
        if len(members.intersection(sources)) > 1:
            return rejection
    return None


def sessions_digest(sessions: Sequence[Session]) -> str:
    """Return twelve hex digits of the hash of an evolved skill's sessions."""
    return sha256("\n".join(session.id for session in sessions).encode()).hexdigest()[:12]


def merge_change(
    merge: SkillMerge[SessionExcerpt],
    draft: Draft,
    *,
    is_taken: Callable[[str], bool],
    policy: Policy,
) -> Change:
    """Return the change that merges the skills of several sessions into a new one."""
    brief = merge.brief
    slugs = ({slug(lemma, limit=26) for lemma in session.lemmas} for session in brief.sessions)
    counts = Counter(lemma for session_slugs in slugs for lemma in session_slugs)
    main_subject = min(counts, key=lambda lemma: (-counts[lemma], lemma))
    subject = f"{slug(merge.domain, limit=24)}-{main_subject}".rstrip("-")
    text = session_text(
        brief, draft, "Evolved", limit=policy.merge.max_tokens, references=References()
    )
    skill = Skill(
        name=free_name("evolved", subject, (session.id for session in brief.sessions), is_taken),
        body=text.body,
        tags=tags_of(brief, draft),
        roles=draft.roles,
        stages=draft.stages,
        account=sessions_digest(brief.sessions),
        origin="distilled",
    )
    return _session_change(merge, evolved_skill(merge, skill, draft, policy), text.files)


def growth_change(
    merge: SkillMerge[SessionExcerpt],
    skill: Skill,
    draft: Draft,
    texts: WrittenTexts,
    *,
    references: References,
    policy: Policy,
) -> Change:
    """Return the change that adds further skills or sessions to an evolved skill."""
    text = session_text(
        merge.brief, draft, "Evolved", limit=policy.merge.max_tokens, references=references
    )
    new_skill = replace(skill, body=text.body, account=sessions_digest(merge.brief.sessions))
    new_skill = evolved_skill(merge, new_skill, draft, policy)
    path = f"skills/{skill.name}/SKILL.md"
    edits, rewrites = rewrite_skill(path, skill, new_skill, texts, policy=policy)
    files = references.files_to_write(text.files)
    return _session_change(merge, skill, files, edits=edits, rewrites=rewrites)


def _session_change(
    merge: SkillMerge[SessionExcerpt], skill: Skill, files: dict[str, str], **parts: Any
) -> Change:
    sessions = merge.brief.sessions
    reason = f"{skill.name} stands for {len(sessions)} sessions that say the same."
    change = evolution_change(merge, skill, files, reason=reason, **parts)
    if merge.names:
        return change
    return replace(change, sources=tuple(Ref("session", session.id) for session in sessions))


def evolved_skill(merge: SkillMerge[Any], skill: Skill, draft: Draft, policy: Policy) -> Skill:
    """Give a skill the description, the kind and the time to live of an evolved skill."""
    return replace(
        skill,
        description=shorten(draft.description, 1024),
        kind="evolved",
        domain=merge.domain,
        created=stamp(merge.at),
        expires=expiry_time(merge.at, policy.generate.evolved_days),
    )


def evolution_change(
    merge: SkillMerge[Any], skill: Skill, files: dict[str, str], *, reason: str, **parts: Any
) -> Change:
    """Return the change that adds or extends an evolved skill, and archives the merged skills.

    `files` has the texts in references/ by name. `parts` are further fields of the change.
    """
    target = Ref("skill", skill.name)
    sources = tuple(Ref("skill", name) for name in merge.names)
    links = tuple(link_of("merged", source, target, merge.at) for source in sources)
    is_new = merge.target is None
    return Change(
        step=STEP,
        subject=skill.name if is_new else f"grow {skill.name}",
        commit_with=skill_series(STEP, merge.domain),
        reason="\n".join([reason, *(f"{name} goes to archive/." for name in merge.names)]),
        writes=(skill, *links) if is_new else links,
        files=reference_files(skill.name, "skills", files),
        moves=tuple(Move(f"skills/{name}", f"archive/{name}") for name in merge.names),
        sources=sources,
        targets=(target, *(() if is_new else (Ref("link", link.id) for link in links))),
        **parts,
    )

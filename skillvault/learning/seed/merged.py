"""The evolved skill of several warnings or patterns that are alike: its text, its commits.

Nothing that a person changed in it is written over; what it is made of goes to archive/.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning import sections
from skillvault.learning.contrast.episodes import episode_words
from skillvault.learning.expire import key_edits
from skillvault.learning.generate.warning_pattern import (
    expiry_time,
    judges_of,
    reference_files,
    subject_words,
)
from skillvault.learning.length import STATEMENTS, References, part_of, within
from skillvault.learning.merge.sessions import STEP
from skillvault.learning.naming import numbered_name
from skillvault.model.brief import Agreement, Draft
from skillvault.model.change import Change, Move, Rewrite, skill_series
from skillvault.model.policy import Policy
from skillvault.model.records import Link, Outcome, Ref, Skill, SkillKind, link_of, stamp
from skillvault.model.text.text import count_of, listed, shorten, slug, tokens, trimmed

_NAMED = 8  # subjects that a header names
_TAGS = 16


class Merging(Struct, frozen=True, kw_only=True):
    """Skills of a domain and a kind that become one: a new one, or the evolved one that is there.

    `own` are the living skills that it takes the place of, as `<shelf>/<name>`; `skill` is the
    evolved one, None for a new one; `at` is when it is made.
    """

    domain: str
    kind: SkillKind
    brief: Agreement
    own: tuple[str, ...]
    at: datetime
    skill: Skill | None = None


# ── the text ─────────────────────────────────────────────────────────────────────────


def evolved_text(
    due: Merging, draft: Draft, policy: Policy, references: References | None = None
) -> tuple[str, dict[str, str]]:
    """Return (the body, the files in references/ by name), beside the files that are there."""
    outcomes = due.brief.together.account.outcomes
    names = [subject_words(findings.account.outcomes[0]) for findings in due.brief.apart]
    limit = policy.merge.max_tokens
    most, file = part_of(limit), (references or References()).free(STATEMENTS)
    of = f"{len(outcomes)} outcomes{episode_words(outcomes, policy.evaluate.episode_minutes)}"
    header = [
        f"*Stands for {_subjects(len(names))}: {_some(names, most)}*",
        f"*As of {of}, {outcomes[-1].occurred_at:%Y-%m-%d}*",
        f"*Domain: {due.domain}*",
    ]
    title = f"# Evolved: {trimmed(draft.title, most)}"
    body, rest = within([title, "\n".join(header)], draft.sections, limit, file)
    return body, {file: rest} if rest else {}


def _some(names: Sequence[str], most: int) -> str:
    """As many names as so many tokens hold, and how many more there are."""
    for count in range(min(len(names), _NAMED), 0, -1):
        more = [f"{len(names) - count} more"] if len(names) > count else []
        text = listed([*names[:count], *more])
        if tokens(text) <= most:
            return text
    return trimmed(text, most)


# ── the changes ──────────────────────────────────────────────────────────────────────


def merge_change(
    due: Merging, draft: Draft, *, taken: Callable[[str], bool], policy: Policy
) -> Change:
    """Return the commit that makes one skill of several, which go to archive/."""
    together = due.brief.together
    name = numbered_name("evolved", f"{slug(due.domain, limit=32)}-{draft.title}", taken)
    body, files = evolved_text(due, draft, policy)
    skill = Skill(
        name=name,
        description=shorten(draft.description, 1024),
        body=body,
        tags=_tags(together.account.outcomes),
        kind="evolved",
        domain=due.domain,
        status="testing",
        origin="generated",
        created=stamp(due.at),
        expires=expiry_time(due.at, policy.generate.evolved_days),
        trust="local",
    )
    return Change(
        step=STEP,
        subject=name,
        commit_with=skill_series(STEP, due.domain),
        reason=_reason(due, name),
        writes=(skill, *_links(due, name)),
        files=reference_files(name, "skills", files),
        moves=_moves(due),
        sources=tuple(map(_skill_at, due.own)),
        targets=(Ref("skill", name),),
        judge=judges_of(together),
    )


def growth_change(
    due: Merging,
    draft: Draft,
    written: sections.Written,
    *,
    references: References,
    policy: Policy,
) -> Change:
    """Return the commit by which an evolved skill takes others in; `references` are its files."""
    skill = due.skill
    assert skill is not None
    path = f"skills/{skill.name}/SKILL.md"
    text, files = evolved_text(due, draft, policy, references)
    body = sections.rewritten(skill.body, written.bodies, text)
    links = tuple(_links(due, skill.name))
    new = replace(
        skill,
        description=shorten(draft.description, 1024),
        created=stamp(due.at),
        expires=expiry_time(due.at, policy.generate.evolved_days),
    )
    return Change(
        step=STEP,
        subject=f"grow {skill.name}",
        commit_with=skill_series(STEP, due.domain),
        reason=_reason(due, skill.name),
        writes=links,
        files=reference_files(skill.name, "skills", references.placed(files)),
        edits=tuple(key_edits(path, skill, new, written, policy=policy)),
        rewrites=(Rewrite(path, body),) if body != skill.body else (),
        moves=_moves(due),
        sources=tuple(map(_skill_at, due.own)),
        targets=(Ref("skill", skill.name), *(Ref("link", link.id) for link in links)),
        judge=judges_of(due.brief.together),
    )


def _links(due: Merging, name: str) -> Iterator[Link]:
    """Yield a link from each skill that goes."""
    for source in map(_skill_at, due.own):
        yield link_of("merged", source, Ref("skill", name), due.at)


def _skill_at(place: str) -> Ref:
    return Ref("skill", place.partition("/")[2])


def _moves(due: Merging) -> tuple[Move, ...]:
    return tuple(Move(place, f"archive/{_skill_at(place).id}") for place in due.own)


def _subjects(count: int) -> str:
    return f"{count} subject{'s' * (count > 1)}"


def _tags(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """The domain, the actions, the targets."""
    subjects = [outcome.subject for outcome in outcomes]
    parts = [part for place in range(3) for subject in subjects if (part := subject[place])]
    return tuple(dict.fromkeys(filter(None, map(slug, parts))))[:_TAGS]


def _reason(due: Merging, name: str) -> str:
    """Return which subjects the skill stands for, and of what it is made."""
    outcomes = due.brief.together.account.outcomes
    status, what = {
        "warning": ("failure", "failures or losses"),
        "pattern": ("success", "successes or gains"),
    }[due.kind]
    count = sum(outcome.result.status == status for outcome in outcomes)
    alone = len(due.brief.apart) == 1
    lead = f"{name} stands for {_subjects(len(due.brief.apart))} that say{'s' * alone} the same"
    lines = [f"{lead}: {count_of(count, len(outcomes))} outcomes are {what}."]
    lines += [f"{ref.id} goes to archive/." for ref in map(_skill_at, due.own)]
    return "\n".join(lines)

"""The evolved skill that stands for several subjects: its text, its commits.

Nothing that a person changed in it is written over; what stood for one subject alone goes to
archive/, and comes back when the subject says something else.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning import sections
from skillvault.learning.account.account import shown_by
from skillvault.learning.contrast.episodes import in_words
from skillvault.learning.expire import key_edits
from skillvault.learning.gate import archive_change, home_of
from skillvault.learning.generate.warning_pattern import (
    Present,
    expiry_after,
    judges_of,
    made_at,
    placed,
    subject_words,
)
from skillvault.learning.length import STATEMENTS, References, part_of, within
from skillvault.learning.merge.groups import STEP, Group
from skillvault.learning.naming import free_name, numbered_name
from skillvault.model.brief import Agreement, Cause, Draft, Findings, Statement
from skillvault.model.change import Change, Edit, Move, Rewrite, skill_series
from skillvault.model.policy import Policy
from skillvault.model.reading import is_narration
from skillvault.model.records import Link, LinkType, Outcome, Ref, Skill, link_of, stamp
from skillvault.model.text import markdown
from skillvault.model.text.text import count_of, listed, shorten, slug, tokens, trimmed, whole
from skillvault.model.written import plain_section, sections_of

_HEAD = ""  # what stands before the first heading says which skill it is


class TakenIn(Struct, frozen=True):
    """The skill at `<shelf>/<name>`, and its sections (heading, text below it) of a person's."""

    place: str
    parts: tuple[tuple[str, str], ...]


def taken_in(place: str, skill: Skill, written: sections.Bodies) -> TakenIn | None:
    """What of an edited skill another can say; None if the edit is not all in sections of its own.

    A title that a person changed, or a section that one took away, says nothing elsewhere.
    """
    personal, texts = sections.theirs(written, skill.body), sections_of(skill.body)
    if not personal or not personal <= texts.keys() or any(key[0] == _HEAD for key in personal):
        return None
    parts = [(key[0], _text_under_heading(text)) for key, text in texts.items() if key in personal]
    return TakenIn(place, tuple(parts))


def with_parts(body: str, taken: Sequence[TakenIn]) -> tuple[str, tuple[str, ...]]:
    """(the body with the parts that it does not say yet, the sections by which it says them).

    A section whose heading the body has names the skill it is from.
    """
    texts = sections_of(body)
    said = set(map(_text_under_heading, texts.values()))
    headings = {heading for heading, _ in texts}
    added: list[str] = []
    for each in taken:
        name = each.place.rpartition("/")[2]
        for heading, text in each.parts:
            if text not in said:
                unique = f"{heading} ({name})" if heading in headings else heading
                added.append(f"## {unique}\n\n{text}")
                headings.add(heading)
    if markdown.swallows(body) or not added:
        return body, ()
    return "\n\n".join([body.rstrip("\r\n"), *added]), tuple(added)


def _text_under_heading(text: str) -> str:
    return plain_section(text.partition("\n")[2])


_SOURCES = "sources.md"
_TOLD = 20  # statements that a message lists
_NAMED = 8  # subjects that a header names
_TAGS = 16
_QUOTED = 300  # characters of a cause


class Merging(Struct, frozen=True, kw_only=True):
    """A group whose evolved skill is to be made, or written anew.

    `read` is twelve hex digits of what it rests on. `own` are the living skills of its subjects, as
    `<shelf>/<name>`, that it takes the place of; `taken` those that a person edited while they
    were merged; `fresh` the evaluations to be linked. `at` is when
    it is made, if that is not the time of what it rests on. A group without a key has no subject
    of its own: its skill goes by its title.
    """

    group: Group
    brief: Agreement
    read: str
    present: Present
    own: tuple[str, ...] = ()
    taken: tuple[TakenIn, ...] = ()
    fresh: tuple[str, ...] = ()
    at: datetime | None = None

    @property
    def time(self) -> datetime:
        """When it is made."""
        return self.at or made_at(self.brief.together)

    @property
    def skill_subject(self) -> str | None:
        """What its skill states as its subject."""
        return self.group.subject if self.group.key else None


# ── the text ─────────────────────────────────────────────────────────────────────────


def evolved_text(
    due: Merging, draft: Draft, policy: Policy, references: References | None = None
) -> tuple[str, dict[str, str]]:
    """(the body, the files in references/ by name), beside the files that are there."""
    together = due.brief.together
    outcomes = together.account.outcomes
    names = [subject_words(findings.account.outcomes[0]) for findings in due.brief.apart]
    limit = policy.merge.max_tokens
    most, file = part_of(limit), (references or References()).free(STATEMENTS)
    of = f"{len(outcomes)} outcomes{in_words(outcomes, policy.evaluate.episode_minutes)}"
    header = [
        f"*Stands for {_subjects(len(names))}: {_some(names, most)}*",
        f"*As of {of}, {outcomes[-1].occurred_at:%Y-%m-%d}*",
        f"*Domain: {due.group.domain}*",
    ]
    title = f"# Evolved: {trimmed(draft.title, most)}"
    body, rest = within([title, "\n".join(header)], draft.sections, limit, file)
    files = {_SOURCES: _sources_text(due)}
    return body, {**files, file: rest} if rest else files


def _some(names: Sequence[str], most: int) -> str:
    """As many names as so many tokens hold, and how many more there are."""
    for count in range(min(len(names), _NAMED), 0, -1):
        more = [f"{len(names) - count} more"] if len(names) > count else []
        text = listed([*names[:count], *more])
        if tokens(text) <= most:
            return text
    return trimmed(text, most)


def _sources_text(due: Merging) -> str:
    """What each subject says, and what became of it."""
    parts = ["# What each subject says, and where it stands"]
    for findings, lines in _fates(due):
        name = subject_words(findings.account.outcomes[0])
        parts.append(f"## {name}\n\n" + "\n".join(f"- {line}" for line in lines))
    return "\n\n".join(parts) + "\n"


def _fates(due: Merging) -> Iterator[tuple[Findings, list[str]]]:
    """Of each subject's statements: kept, fused with a named other, or dropped with a reason."""
    causes = [s for s in due.brief.together.statements if isinstance(s, Cause)]
    for findings in due.brief.apart:
        yield findings, [_fate(statement, causes) for statement in findings.statements]


def _fate(statement: Statement, causes: Sequence[Cause]) -> str:
    cause = statement if isinstance(statement, Cause) else None
    if cause is None:
        return f"fused    {type(statement).__name__.lower()} -> counted anew for all of them"
    said: str = cause.kind
    if cause.kind != "stopped" and not is_narration(cause.quote):
        said += f": “{whole(cause.quote, _QUOTED)}”"
    together = next((c for c in causes if c.kind == cause.kind and _part_of(cause, c)), None)
    if together is None:
        return f"dropped  {said} (together as much speaks against it as for it)"
    if together.quote == cause.quote:
        return f"kept     {said}"
    return f"fused    {said} -> “{whole(together.quote, _QUOTED)}”"


def _part_of(cause: Cause, whole: Cause) -> bool:
    return bool(set(cause.shown_by) & set(whole.shown_by))


# ── the changes ──────────────────────────────────────────────────────────────────────


def merge_change(
    due: Merging, draft: Draft, *, taken: Callable[[str], bool], policy: Policy
) -> Change:
    """The commit that makes one skill for several subjects; their own go to archive/."""
    together = due.brief.together
    name = _evolved_name(due, draft, taken)
    body, files = evolved_text(due, draft, policy)
    at = due.time
    skill = Skill(
        name=name,
        description=shorten(draft.description, 1024),
        body=body,
        tags=_tags(together.account.outcomes),
        kind="evolved",
        domain=due.group.domain,
        subject=due.skill_subject,
        account=due.read or None,
        status="testing",
        origin="generated",
        created=stamp(at),
        expires=expiry_after(at, policy.generate.evolved_days),
        trust="local",
    )
    links = tuple(_links(due, name, "generated"))
    return Change(
        step=STEP,
        subject=name,
        commit_with=skill_series(STEP, due.group.domain),
        reason=_reason(due, name),
        writes=(skill, *links),
        files=placed(name, "skills", files),
        moves=_moves(due),
        sources=_sources(due),
        targets=(Ref("skill", name),),
        judge=judges_of(together),
    )


def _evolved_name(due: Merging, draft: Draft, taken: Callable[[str], bool]) -> str:
    """By what most of its subjects say, or by its title."""
    group, statements = due.group, due.brief.together.statements
    if not group.key:
        return numbered_name("evolved", f"{slug(group.domain, limit=32)}-{draft.title}", taken)
    cause = next((s.quote for s in statements if isinstance(s, Cause)), draft.title)
    about = f"{slug(group.domain, limit=24)}-{slug(cause, limit=26)}".rstrip("-")
    return free_name("evolved", f"{about}-{group.key[-6:]}", group.subjects, taken)


def growth_change(
    due: Merging,
    draft: Draft,
    written: sections.Written,
    *,
    references: References,
    policy: Policy,
) -> Change:
    """The commit that writes an evolved skill anew; one whose time was over comes back.

    `references` are its files.
    """
    skill, shelf = due.present.skill, due.present.shelf
    assert skill is not None
    path = f"{shelf}/{skill.name}/SKILL.md"
    text, files = evolved_text(due, draft, policy, references)
    body = sections.rewritten(skill.body, written.bodies, text)
    body, theirs = with_parts(body, due.taken)
    home = home_of(skill) if shelf == "archive" else shelf
    back = (Move(f"archive/{skill.name}", f"{home}/{skill.name}"),) if shelf == "archive" else ()
    links = tuple(_links(due, skill.name, "reinforced"))
    return Change(
        step=STEP,
        subject=f"{'restore' if back else 'grow'} {skill.name}",
        commit_with=skill_series(STEP, due.group.domain),
        reason=_reason(due, skill.name, references.free(_SOURCES)),
        writes=links,
        files=placed(skill.name, home, references.placed(files)),
        edits=tuple(_edits(due, draft, written, policy)),
        rewrites=(Rewrite(path, body, theirs),) if body != skill.body else (),
        moves=(*back, *_moves(due)),
        sources=_sources(due),
        targets=(Ref("skill", skill.name), *(Ref("link", link.id) for link in links)),
        judge=judges_of(due.brief.together),
    )


def leave_change(skill: Skill, shelf: str) -> Change:
    """The commit that archives an evolved skill that stands for no group any more."""
    reason = "By what is recorded now it stands for no group of subjects that say the same."
    return archive_change(STEP, skill, shelf, reason)


def _links(due: Merging, name: str, support: LinkType) -> Iterator[Link]:
    """One from each skill that goes, one from each outcome that is not linked yet."""
    target, at = Ref("skill", name), due.time
    for source in map(_skill_at, due.own):
        yield link_of("merged", source, target, at)
    for outcome_id in due.fresh:
        yield link_of(support, Ref("evaluation", outcome_id), target, at)


def _skill_at(place: str) -> Ref:
    return Ref("skill", place.partition("/")[2])


def _sources(due: Merging) -> tuple[Ref, ...]:
    evaluations = [Ref("evaluation", outcome_id) for outcome_id in due.fresh]
    return (*map(_skill_at, _places(due)), *evaluations)


def _moves(due: Merging) -> tuple[Move, ...]:
    return tuple(Move(place, f"archive/{_skill_at(place).id}") for place in _places(due))


def _places(due: Merging) -> tuple[str, ...]:
    """The places of the skills that go."""
    return (*due.own, *(each.place for each in due.taken))


def fresh_of(brief: Agreement, linked: frozenset[str]) -> tuple[str, ...]:
    """The evaluations that an evolved skill rests on and is not linked to."""
    return tuple(name for name in shown_by(brief.together) if name not in linked)


def _edits(due: Merging, draft: Draft, written: sections.Written, policy: Policy) -> Iterator[Edit]:
    skill, at = due.present.skill, due.time
    assert skill is not None
    new = replace(
        skill,
        description=shorten(draft.description, 1024),
        subject=due.skill_subject or skill.subject,
        account=due.read or skill.account,
        created=stamp(at),
        expires=expiry_after(at, policy.generate.evolved_days),
    )
    path = f"{due.present.shelf}/{skill.name}/SKILL.md"
    return key_edits(path, skill, new, written, policy=policy)


def _subjects(count: int) -> str:
    return f"{count} subject{'s' * (count > 1)}"


def _tags(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """The domain, the actions, the targets."""
    subjects = [outcome.subject for outcome in outcomes]
    parts = [part for place in range(3) for subject in subjects if (part := subject[place])]
    return tuple(dict.fromkeys(filter(None, map(slug, parts))))[:_TAGS]


def _reason(due: Merging, name: str, file: str = _SOURCES) -> str:
    """Which subjects, on what, and what became of their statements; `file` tells all."""
    together = due.brief.together
    outcomes = together.account.outcomes
    status, what = {
        "warning": ("failure", "failures or losses"),
        "pattern": ("success", "successes or gains"),
    }[due.group.kind]
    count = sum(outcome.result.status == status for outcome in outcomes)
    alone = len(due.brief.apart) == 1
    lead = f"{name} stands for {_subjects(len(due.brief.apart))} that say{'s' * alone} the same"
    lines = [f"{lead}: {count_of(count, len(outcomes))} outcomes are {what}."]
    lines += [f"{ref.id} goes to archive/." for ref in map(_skill_at, due.own)]
    lines += [
        f"{_skill_at(each.place).id} goes to archive/; what a person wrote in it stands here now."
        for each in due.taken
    ]
    told = [
        f"  {subject_words(findings.account.outcomes[0])}: {line}"
        for findings, fates in _fates(due)
        for line in fates
    ]
    more = [f"{len(told) - _TOLD} more in references/{file}."] if len(told) > _TOLD else []
    return "\n".join([*lines, *told[:_TOLD], *more])

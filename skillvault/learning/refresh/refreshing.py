"""What is to be done about a subject's skill, and the change that does it.

What a person wrote stays. A skill for which nothing speaks any more leaves, and one that left so or
whose time was over comes back under its name.
"""

from collections.abc import Collection, Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning import sections
from skillvault.learning.account.statements import calls_for_skill, digest, shown_by
from skillvault.learning.expire import key_edits, lifetime
from skillvault.learning.gate import archive_change, home_of
from skillvault.learning.generate.warning_pattern import (
    Present,
    about_words,
    expiry_of,
    is_over,
    judges_of,
    made_at,
    placed,
    skill_shelf,
    skill_subject,
    skill_text,
)
from skillvault.learning.length import References
from skillvault.learning.naming import subject_key
from skillvault.learning.refresh import STEP
from skillvault.model.brief import Draft, Findings
from skillvault.model.change import Change, Edit, Move, Rewrite, skill_series
from skillvault.model.policy import Policy
from skillvault.model.records import Link, Ref, Skill, link_of, stamp
from skillvault.model.text.text import how_many, shorten


class Refreshing(Struct, frozen=True, kw_only=True):
    """What is to be done about a subject's skill of one kind.

    `what`: its text is written anew, it leaves, or it comes back.
    `fresh` are the evaluations to be linked; `merged` the older skills of the subject that leave.
    """

    what: Literal["refresh", "leave", "restore"]
    findings: Findings
    present: Present
    fresh: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()


def refreshing(
    findings: Findings, present: Present, unlinked: Collection[str], policy: Policy
) -> Refreshing | None:
    """What is due for a subject's skill; None for nothing.

    `unlinked` are the evaluations whose link to it a person took away.
    """
    skill = present.skill
    if skill is None or present.put_away:
        return None
    if skill.status in ("pinned", "retired"):
        return None
    calls = calls_for_skill(findings)
    if calls and is_over(findings, present, policy) and not _lives(skill, present, policy):
        return None  # the step expire sees to it
    what = _what(skill, present, calls=calls, said=digest(findings) if calls else "")
    if what is None:
        return None
    linked = {*present.linked, *unlinked}
    fresh = tuple(name for name in shown_by(findings) if name not in linked) if calls else ()
    return Refreshing(
        what=what, findings=findings, present=present, fresh=fresh, merged=present.more
    )


def _lives(skill: Skill, present: Present, policy: Policy) -> bool:
    """Whether a person gave it a later end, which is not over."""
    life, clock = lifetime(skill, policy), present.clock
    living = present.shelf != "archive"
    return living and life is not None and clock is not None and clock <= life.ends


def _what(
    skill: Skill, present: Present, *, calls: bool, said: str
) -> Literal["refresh", "leave", "restore"] | None:
    archived = present.shelf == "archive"
    if not calls:
        return None if archived else "leave"
    if archived:
        return "restore"
    return None if skill.account == said and not present.more else "refresh"


def leave_change(due: Refreshing) -> Change:
    """The commit that archives a skill of which nothing is left to say."""
    skill, shelf = due.present.skill, due.present.shelf
    assert skill is not None
    outcomes = due.findings.account.outcomes
    reason = (
        f"As of {how_many(len(outcomes), 'outcome')}, {outcomes[-1].occurred_at:%Y-%m-%d}, "
        "nothing that they say would change a decision."
    )
    return archive_change(STEP, skill, shelf, reason)


def bare_change(skill: Skill, shelf: str) -> Change:
    """The commit that archives a skill of whose subject no outcome is left."""
    reasons = {
        "evolved": "Fewer than three actions of its domain say the same.",
        "strategy": "No action of its domain has a rule or a lead any more.",
    }
    reason = reasons.get(skill.kind, "No evaluated outcome of its subject is left.")
    return archive_change(STEP, skill, shelf, reason)


def rewrite_change(
    due: Refreshing,
    draft: Draft,
    written: sections.WrittenTexts,
    *,
    references: References,
    policy: Policy,
) -> Change:
    """The commit by which a skill says what its account says; an archived one comes back.

    `references` are its files.
    """
    skill, findings = due.present.skill, due.findings
    assert skill is not None
    shelf, home = due.present.shelf, skill_shelf(findings.account.outcomes[0])
    path = f"{shelf}/{skill.name}/SKILL.md"
    text = skill_text(findings, draft, policy, references)
    body = sections.rewrite_body(skill.body, written.bodies, text.body)
    home = (home_of(skill) if home == "skills" else home) if shelf == "archive" else shelf
    links = tuple(_links(due, skill.name))
    moves = [Move(f"archive/{skill.name}", f"{home}/{skill.name}")] if shelf == "archive" else []
    moves += [Move(f"{at}/{name}", f"archive/{name}") for at, name in map(_split, due.merged)]
    return Change(
        step=STEP,
        subject=f"restore {skill.name}" if due.what == "restore" else skill.name,
        commit_with=skill_series(STEP, skill.domain),
        reason=_reason(due, skill.body, body),
        writes=links,
        files=placed(skill.name, home, references.files_to_write(text.files)),
        edits=tuple(_edits(due, draft, written, policy)),
        rewrites=(Rewrite(path, body),) if body != skill.body else (),
        moves=tuple(moves),
        sources=tuple(Ref("evaluation", outcome_id) for outcome_id in due.fresh),
        targets=(Ref("skill", skill.name), *(Ref("link", link.id) for link in links)),
        judge=judges_of(findings),
    )


def _split(place: str) -> tuple[str, str]:
    shelf, _, name = place.partition("/")
    return shelf, name


def _links(due: Refreshing, name: str) -> Iterator[Link]:
    at, target = made_at(due.findings), Ref("skill", name)
    for outcome_id in due.fresh:
        yield link_of("reinforced", Ref("evaluation", outcome_id), target, at)


def _edits(
    due: Refreshing, draft: Draft, written: sections.WrittenTexts, policy: Policy
) -> Iterator[Edit]:
    findings, skill = due.findings, due.present.skill
    assert skill is not None
    new = replace(
        skill,
        description=shorten(draft.description, 1024),
        subject=subject_key(skill_subject(findings)),
        account=digest(findings),
        created=stamp(made_at(findings)),
        expires=expiry_of(findings, policy),
    )
    path = f"{due.present.shelf}/{skill.name}/SKILL.md"
    return key_edits(path, skill, new, written, policy=policy)


def _reason(due: Refreshing, before: str, after: str) -> str:
    """Which statements came, went or changed, and why."""
    outcomes = due.findings.account.outcomes
    counts, *changes = sections.statement_changes(before, after)
    kept = "its text stays as it is."
    of, day = how_many(len(outcomes), "outcome"), f"{outcomes[-1].occurred_at:%Y-%m-%d}"
    about = f"{about_words(due.findings)}, as of {of}, {day}"
    lead = f"{about}: {kept if before == after else counts}"
    merged = [
        f"{place.partition('/')[2]} said it before and goes to archive/." for place in due.merged
    ]
    return "\n".join([lead, *merged, *changes])

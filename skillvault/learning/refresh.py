"""The rule of `refresh`: update the skill of a subject when its findings change.

Text that a person wrote stays. A skill without evidence is archived; with new evidence it is
restored. `generate.py` makes new skills.
"""

from collections.abc import Collection
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning import generate, sections
from skillvault.learning.account.statements import calls_for_skill, digest, evidence_ids
from skillvault.learning.expire import lifetime, rewrite_skill
from skillvault.learning.gate import archive_change, home_of
from skillvault.learning.length import References
from skillvault.learning.naming import subject_key
from skillvault.model.brief import Draft, Findings
from skillvault.model.change import Change, Move, skill_series
from skillvault.model.policy import Policy
from skillvault.model.records import Ref, Skill, link_of, stamp
from skillvault.model.text.text import pluralize, shorten

STEP = "refresh"


class SkillRefresh(Struct, frozen=True, kw_only=True):
    """An update of the skill of a subject.

    `what` says if the skill gets a new text (`refresh`), is archived (`leave`) or restored.
    `fresh` has the evaluations to link. `merged` has the folders of older skills of the subject to
    archive.
    """

    what: Literal["refresh", "leave", "restore"]
    findings: Findings
    existing: generate.ExistingSkill
    fresh: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()


def find_refresh(
    findings: Findings, existing: generate.ExistingSkill, sources: Collection[str], policy: Policy
) -> SkillRefresh | None:
    """Return the update that the skill of a subject needs, or None if it needs none.

    `sources` has the evaluations that made the skill, even if a person removed their links.
    """
    skill, is_archived = existing.skill, existing.folder == "archive"
    if skill is None or existing.archiver or skill.status in ("pinned", "retired"):
        return None
    if not calls_for_skill(findings):
        if is_archived:
            return None
        return SkillRefresh(
            what="leave", findings=findings, existing=existing, merged=existing.others
        )
    life, clock = lifetime(skill, policy), existing.clock
    has_time = not is_archived and life is not None and clock is not None and clock <= life.end
    if generate.is_expired(findings, existing, policy) and not has_time:
        return None  # the step `expire` archives the skill
    if not is_archived and skill.account == digest(findings) and not existing.others:
        return None
    linked_ids = {*existing.linked, *sources}
    return SkillRefresh(
        what="restore" if is_archived else "refresh",
        findings=findings,
        existing=existing,
        fresh=tuple(key for key in evidence_ids(findings) if key not in linked_ids),
        merged=existing.others,
    )


def withdrawal_change(refresh: SkillRefresh) -> Change:
    """Return the change that archives a skill whose findings are no longer enough."""
    skill, folder = refresh.existing.skill, refresh.existing.folder
    assert skill is not None
    outcomes = refresh.findings.account.outcomes
    reason = (
        f"As of {pluralize(len(outcomes), 'outcome')}, {outcomes[-1].occurred_at:%Y-%m-%d}, "
        "nothing that they say would change a decision."
    )
    return archive_change(STEP, skill, folder, reason)


def orphan_change(skill: Skill, folder: str) -> Change:
    """Return the change that archives a skill whose subject has no outcomes left."""
    reasons = {
        "evolved": "Fewer than three actions of its domain say the same.",
        "strategy": "No action of its domain still has a rule or a lead.",
    }
    reason = reasons.get(skill.kind, "No evaluated outcome of its subject is left.")
    return archive_change(STEP, skill, folder, reason)


def rewrite_change(
    refresh: SkillRefresh,
    draft: Draft,
    texts: sections.WrittenTexts,
    *,
    references: References,
    policy: Policy,
) -> Change:
    """Return the change that updates a skill to its findings, or restores it."""
    skill, findings = refresh.existing.skill, refresh.findings
    assert skill is not None
    folder = new_folder = refresh.existing.folder
    path = f"{folder}/{skill.name}/SKILL.md"
    text = generate.skill_text(findings, draft, policy, references)
    time, target = generate.creation_time(findings), Ref("skill", skill.name)
    links = [link_of("reinforced", Ref("evaluation", i), target, time) for i in refresh.fresh]
    moves = [Move(source, f"archive/{source.partition('/')[2]}") for source in refresh.merged]
    if folder == "archive":
        new_folder = generate.new_skill_folder(findings.account.outcomes[0])
        new_folder = home_of(skill) if new_folder == "skills" else new_folder
        moves.insert(0, Move(f"archive/{skill.name}", f"{new_folder}/{skill.name}"))
    new_skill = replace(
        skill,
        body=text.body,
        description=shorten(draft.description, 1024),
        subject=subject_key(generate.skill_subject(findings)),
        account=digest(findings),
        created=stamp(time),
        expires=generate.expiry_of(findings, policy),
    )
    edits, rewrites = rewrite_skill(path, skill, new_skill, texts, policy=policy)
    return Change(
        step=STEP,
        subject=f"restore {skill.name}" if refresh.what == "restore" else skill.name,
        commit_with=skill_series(STEP, skill.domain),
        reason=_text_changes(refresh, skill.body, rewrites[0].body if rewrites else skill.body),
        writes=tuple(links),
        files=generate.reference_files(
            skill.name, new_folder, references.files_to_write(text.files)
        ),
        edits=edits,
        rewrites=rewrites,
        moves=tuple(moves),
        sources=tuple(Ref("evaluation", outcome_id) for outcome_id in refresh.fresh),
        targets=(target, *(Ref("link", link.id) for link in links)),
        judge=generate.judges_of(findings.significant, findings.account.evaluations),
    )


def _text_changes(refresh: SkillRefresh, old_body: str, new_body: str) -> str:
    findings = refresh.findings
    counts, *changes = sections.statement_changes(old_body, new_body)
    summary = "its text stays as it is." if old_body == new_body else counts
    topic, outcomes = generate.about_words(findings), findings.account.outcomes
    names = [folder.partition("/")[2] for folder in refresh.merged]
    lines = [f"{topic}: {generate.outcome_words(outcomes)}; {summary}"]
    lines += [f"{name} said it before and goes to archive/." for name in names]
    return "\n".join([*lines, *changes])

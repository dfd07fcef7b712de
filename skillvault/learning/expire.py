"""The rule of `expire`: archive a skill at the end of its time to live, or renew the time.

A skill is renewed if it is proven and was applied lately, or if a person restored it. Other steps
rewrite keys and texts of skills with `rewrite_skill`. Each `clock` is the time of a skill's domain.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning.sections import Version, WrittenTexts, is_untouched, rewrite_body
from skillvault.model.change import Change, Edit, Move, Rewrite
from skillvault.model.policy import Policy
from skillvault.model.records import PROGRAM_ORIGINS, Ref, Skill, stamp

STEP = "expire"
EXPIRES = ("metadata", "expires")


class Lifetime(Struct, frozen=True):
    """The end and the length of a skill's time to live."""

    end: datetime
    span: timedelta


def lifetime(skill: Skill, policy: Policy) -> Lifetime | None:
    """Return the time to live of a skill, or None if the skill never expires.

    The key `expires` decides. Without the key, a generated skill lives from `created` for the days
    of its kind. Pinned skills never expire.
    """
    if skill.status == "pinned":
        return None
    start, days = time_of(skill.created), policy.days(skill.kind)
    if end := time_of(skill.expires):
        usual_span = timedelta(days=days) if days else None
        return Lifetime(end, usual_span or (end - start if start else timedelta()))
    if skill.origin in PROGRAM_ORIGINS and start and days:
        return Lifetime(start + timedelta(days=days), timedelta(days=days))
    return None


def is_cut_short(skill: Skill, written_ends: Sequence[Version], policy: Policy) -> bool:
    """Return True if a person set an earlier end of a skill's time to live than skillvault.

    `written_ends` has the ends that skillvault wrote, oldest first.
    """
    if skill.expires is None or is_untouched(written_ends, skill.expires):
        return False
    life, usual_life = lifetime(skill, policy), lifetime(replace(skill, expires=None), policy)
    return life is None or usual_life is None or life.end < usual_life.end


def rewrite_skill(
    path: str, skill: Skill, new_skill: Skill, old_texts: WrittenTexts, *, policy: Policy
) -> tuple[tuple[Edit, ...], tuple[Rewrite, ...]]:
    """Return the edits of keys and the new body that turn a skill into its new version.

    A person's sections stay, and a person's keys as in `key_edits`.
    """
    edits = tuple(key_edits(path, skill, new_skill, old_texts, policy=policy))
    body = rewrite_body(skill.body, old_texts.bodies, new_skill.body)
    return edits, (Rewrite(path, body),) if body != skill.body else ()


def key_edits(
    path: str, skill: Skill, new_skill: Skill, old_texts: WrittenTexts, *, policy: Policy
) -> Iterator[Edit]:
    """Yield the edits of the keys that turn a skill into its new version.

    A description that a person wrote stays. The end of the time to live changes only to a later
    end, and stays if a person set an earlier one.
    """
    is_unedited = is_untouched(old_texts.descriptions, skill.description)
    if is_unedited and new_skill.description != skill.description:
        yield Edit(path, ("description",), new_skill.description)
    for key in ("subject", "account", "created"):
        if getattr(skill, key) != getattr(new_skill, key):
            yield Edit(path, ("metadata", key), getattr(new_skill, key))
    life, new_end = lifetime(skill, policy), new_skill.expires
    is_longer = life is not None and new_end is not None and stamp(life.end) < new_end
    if new_end and is_longer and not is_cut_short(skill, old_texts.ends, policy):
        yield Edit(path, EXPIRES, new_end)


def expiry_change(
    skill: Skill,
    folder: str,
    *,
    load_archived: Callable[[], Skill | None],
    last_applied: datetime | None,
    clock: datetime,
    policy: Policy,
) -> Change | None:
    """Return the change that archives or renews a skill, or None if its time is not over.

    `load_archived` returns the skill as this step last archived it, or None. `last_applied` is the
    last time when a trusted outcome applied the skill.
    """
    life, name = lifetime(skill, policy), skill.name
    if life is None or clock <= life.end:
        return None
    archived_skill, renewal_reason = load_archived(), ""
    if archived_skill is not None and lifetime(archived_skill, policy) == life:
        renewal_reason = "It had expired and a person brought it back"
    elif skill.status == "proven" and last_applied and last_applied >= life.end - life.span / 2:
        renewal_reason = f"It is proven and was applied on {last_applied:%Y-%m-%d}"
    reason, target = f"Its time to live ended on {life.end:%Y-%m-%d}.", Ref("skill", name)
    new_end = stamp(clock + life.span)
    if renewal_reason:
        reason += f" {renewal_reason}; it lives until {new_end[:10]} now."
    return Change(
        step=STEP,
        subject=f"renew {name}" if renewal_reason else name,
        reason=reason,
        edits=(Edit(f"{folder}/{name}/SKILL.md", EXPIRES, new_end),) if renewal_reason else (),
        moves=() if renewal_reason else (Move(f"{folder}/{name}", f"archive/{name}"),),
        sources=(target,),
        targets=(target,),
    )


def time_of(text: str | None) -> datetime | None:
    """Return the time in a key of a skill, or None for an empty or invalid time."""
    try:
        at = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None  # the command `check` reports it
    return at if at is None or at.tzinfo else at.replace(tzinfo=UTC)

"""expire: a skill older than its time to live leaves; one that is proven and used stays.

What a person brought back after it had expired begins its time anew. Every `clock` is the time
of the skill's domain.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning.sections import Version, Written, untouched
from skillvault.model.change import Change, Edit, Move
from skillvault.model.policy import Policy
from skillvault.model.records import PROGRAM_ORIGINS, Ref, Skill, stamp

STEP = "expire"
EXPIRES = ("metadata", "expires")
_RESTORED = "It had expired and a person brought it back"


class Lifetime(Struct, frozen=True):
    """When a skill's time to live ends, and how long it is."""

    ends: datetime
    span: timedelta


class Expiry(Struct, frozen=True, kw_only=True):
    """A skill whose time is over; `renewed` says why it stays, None if it goes."""

    name: str
    shelf: str
    life: Lifetime
    clock: datetime
    renewed: str | None = None


def lifetime(skill: Skill, policy: Policy) -> Lifetime | None:
    """A skill's time to live; None for one that has none.

    An explicit `expires` wins; without one what the program wrote lives its kind's days from
    `created`. Pinned skills do not expire.
    """
    if skill.status == "pinned":
        return None
    created, days = time_of(skill.created), policy.days(skill.kind)
    if ends := time_of(skill.expires):
        usual = timedelta(days=days) if days else None
        return Lifetime(ends, usual or (ends - created if created else timedelta()))
    if skill.origin in PROGRAM_ORIGINS and created and days:
        return Lifetime(created + timedelta(days=days), timedelta(days=days))
    return None


def is_cut_short(skill: Skill, ends: Sequence[Version], policy: Policy) -> bool:
    """Whether its time ends before the usual, because a person wrote so.

    `ends` are the ends that the program wrote, oldest first.
    """
    if skill.expires is None or untouched(ends, skill.expires):
        return False
    life, usual = lifetime(skill, policy), lifetime(replace(skill, expires=None), policy)
    return life is None or usual is None or life.ends < usual.ends


def key_edits(
    path: str, skill: Skill, new: Skill, written: Written, *, policy: Policy
) -> Iterator[Edit]:
    """The keys by which a skill becomes a new version of it.

    A description that a person wrote stays, and so does a later end, or an earlier one of theirs.
    """
    if new.description != skill.description and untouched(written.descriptions, skill.description):
        yield Edit(path, ("description",), new.description)
    for key in ("subject", "account", "created"):
        if getattr(skill, key) != getattr(new, key):
            yield Edit(path, ("metadata", key), getattr(new, key))
    life, ends = lifetime(skill, policy), new.expires
    is_longer = life is not None and ends is not None and stamp(life.ends) < ends
    if ends and is_longer and not is_cut_short(skill, written.ends, policy):
        yield Edit(path, EXPIRES, ends)


def expiry(
    skill: Skill,
    shelf: str,
    *,
    archived: Callable[[], Skill | None],
    applied: datetime | None,
    clock: datetime,
    policy: Policy,
) -> Expiry | None:
    """What is to be done about a living skill; None if its time is not over.

    `archived` gives it as this step put it away before, None if it did not do so last; `applied`
    is when a trusted outcome last did.
    """
    life = lifetime(skill, policy)
    if life is None or clock <= life.ends:
        return None
    before = archived()
    restored = before is not None and lifetime(before, policy) == life
    why = _RESTORED if restored else _used(skill, life, applied)
    return Expiry(name=skill.name, shelf=shelf, life=life, clock=clock, renewed=why)


def expiry_change(expiry: Expiry) -> Change:
    """The commit that archives a skill, or that gives it another time to live."""
    target = Ref("skill", expiry.name)
    ended = f"Its time to live ended on {expiry.life.ends:%Y-%m-%d}."
    if expiry.renewed is None:
        place = Move(f"{expiry.shelf}/{expiry.name}", f"archive/{expiry.name}")
        return Change(
            step=STEP, subject=expiry.name, reason=ended, moves=(place,), targets=(target,)
        )
    ends = stamp(expiry.clock + expiry.life.span)
    path = f"{expiry.shelf}/{expiry.name}/SKILL.md"
    return Change(
        step=STEP,
        subject=f"renew {expiry.name}",
        reason=f"{ended} {expiry.renewed}; it lives until {ends[:10]} now.",
        edits=(Edit(path, EXPIRES, ends),),
        targets=(target,),
    )


def _used(skill: Skill, life: Lifetime, last: datetime | None) -> str | None:
    """That a proven skill was applied in the last half of its time."""
    if skill.status != "proven" or last is None or last < life.ends - life.span / 2:
        return None
    return f"It is proven and was applied on {last:%Y-%m-%d}"


def time_of(text: str | None) -> datetime | None:
    """A time as a skill states it; None for none and for what is no time."""
    try:
        at = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None  # `check` tells of it
    return at if at is None or at.tzinfo else at.replace(tzinfo=UTC)

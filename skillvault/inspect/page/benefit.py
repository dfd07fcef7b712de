"""Whether skills help: how decisions ended with them and without, over time, and on trial.

The figures of each skill are those of `stats`.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from skillvault.inspect.page.contents import Contents
from skillvault.learning.stats import SkillStats
from skillvault.model.records import Status
from skillvault.vault.index.rows import moment

APPLIED = frozenset({"tool", "explicit", "implicit"})
_MOST = 26  # spans of time in a line
_DAYS = (1, 7, 28, 91, 364)


class Rate(Struct, frozen=True):
    """How many succeeded, of how many that ended."""

    successes: int = 0
    count: int = 0

    @property
    def share(self) -> float | None:
        """The fraction that succeeded; None of nothing."""
        return self.successes / self.count if self.count else None


class Span(Struct, frozen=True):
    """Some days, and how the decisions that ended in them did, with a skill and without."""

    start: datetime
    days: int
    applied: Rate
    bare: Rate


class Benefit(Struct, frozen=True, kw_only=True):
    """What use changes. `skills` are those of `stats`, best lift first; `verdicts` counts them.

    `applied` and `bare` are all closed decisions with a skill and without, `spans` the same over
    time, `neutral` counts what ended neither way. `held_out` and `overruled` count decisions,
    `trials` are the skills that are tried again. `used` has of each outcome the skills that its
    decision applied.
    """

    skills: Sequence[SkillStats]
    verdicts: Mapping[str, int]
    applied: Rate
    bare: Rate
    spans: Sequence[Span]
    neutral: int
    held_out: int
    overruled: int
    trials: Sequence[str]
    used: Mapping[str, Sequence[str]]

    @property
    def measured(self) -> list[SkillStats]:
        """The skills of which a lift is known, best first."""
        return [skill for skill in self.skills if skill.lift is not None]


def benefit_of(vault: Contents) -> Benefit:
    """What the uses of a vault come to."""
    used: dict[str, list[str]] = defaultdict(list)
    for outcome, skill, match, _ in vault.view.uses.matches():
        if match in APPLIED:
            used[outcome].append(skill)
    closed = [
        (moment(at), status, outcome in used)
        for outcome, at, status in vault.view.uses.closed_decisions(vault.domain)
    ]
    skills = vault.effects
    return Benefit(
        skills=skills,
        verdicts=Counter(skill.verdict for skill in skills if skill.lift is not None),
        applied=_rate_among([status for _, status, has in closed if has]),
        bare=_rate_among([status for _, status, has in closed if not has]),
        spans=_spans(closed),
        neutral=sum(one.result.status == "neutral" for one in vault.outcomes.values()),
        held_out=sum(skill.held_out for skill in skills),
        overruled=sum(skill.overruled for skill in skills),
        trials=sorted(skill.skill for skill in skills if skill.trial),
        used=used,
    )


def _rate_among(statuses: Sequence[Status]) -> Rate:
    return Rate(sum(status == "success" for status in statuses), len(statuses))


def _spans(closed: Sequence[tuple[datetime, Status, bool]]) -> list[Span]:
    """Days, weeks or longer, as many as a line can show; those without a decision are left out."""
    if not closed:
        return []
    first = closed[0][0].astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    length = (closed[-1][0] - first).days + 1
    days = next((n for n in _DAYS if length / n <= _MOST), -(-length // _MOST))
    starts = [first + timedelta(days=days * n) for n in range(-(-length // days))]
    members: dict[int, list[tuple[Status, bool]]] = defaultdict(list)
    for at, status, has in closed:
        members[bisect_right(starts, at) - 1].append((status, has))
    return [
        Span(
            starts[place],
            days,
            _rate_among([status for status, has in of if has]),
            _rate_among([status for status, has in of if not has]),
        )
        for place, of in sorted(members.items())
    ]

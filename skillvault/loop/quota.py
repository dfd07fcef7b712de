"""What of untrusted sources is taken in and judged in a day (UTC); the rest waits.

What was taken is read off the branch's commits of that day: so it holds after a restart,
and in a clone as soon as it has the commits of the others.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from skillvault.model.policy import DailyQuota
from skillvault.model.records import Ref
from skillvault.vault.files.inbox import Inbox
from skillvault.vault.index.snapshot import Topics

_RECORD, _EVALUATE = "record", "evaluate"


class Split(NamedTuple):
    """What is taken now, and what waits for another day, in the order of arrival."""

    taken: list[str]
    held: list[str]


def split_files(view: Topics, inbox: Inbox, names: Iterable[str], now: datetime) -> Split:
    """The untrusted ones of these files by whether there is room for them today.

    The first that arrived come first; one that does not fit leaves room for those behind it.
    """
    arrivals = inbox.arrivals(names)
    if not arrivals:
        return Split([], [])
    quota = view.policy.record.untrusted_per_day
    left = _left(view, quota, now)
    split = Split([], [])
    for arrival in arrivals:
        fits = left.files > 0 and arrival.size <= left.bytes
        if fits:
            left = DailyQuota(files=left.files - 1, bytes=left.bytes - arrival.size)
        (split.taken if fits else split.held).append(arrival.name)
    return split


def left_to_judge(view: Topics, now: datetime) -> int:
    """How many untrusted outcomes may be judged yet today."""
    judged = _untrusted(view, _EVALUATE, now)
    return max(0, view.policy.evaluate.untrusted_per_day - len(judged))


def tomorrow(now: datetime) -> str:
    """The day from which on there is room again."""
    return f"{now.astimezone(UTC).date() + timedelta(days=1)}"


def why_files(view: Topics, held: Sequence[str], now: datetime) -> str:
    """Why so many files wait."""
    quota = view.policy.record.untrusted_per_day
    return (
        f"{len(held)} file{'s' * (len(held) != 1)} for which there is no room today: at most "
        f"{quota.files} files and {quota.bytes:,} bytes of untrusted sources are recorded in a day "
        f"(record.untrusted_per_day); more from {tomorrow(now)} (UTC) on"
    )


def why_outcomes(view: Topics, count: int, now: datetime) -> str:
    """Why so many outcomes wait for the judge."""
    return (
        f"{count} untrusted outcome{'s' * (count != 1)} not evaluated: at most "
        f"{view.policy.evaluate.untrusted_per_day} are judged in a day "
        f"(evaluate.untrusted_per_day); more from {tomorrow(now)} (UTC) on"
    )


def _left(view: Topics, quota: DailyQuota, now: datetime) -> DailyQuota:
    """What of a quota is left today."""
    recorded = _untrusted(view, _RECORD, now)
    paths = filter(None, map(view.records.path_of, recorded))
    size = sum(map(len, view.files.read(paths).values()))
    return DailyQuota(files=max(0, quota.files - len(recorded)), bytes=max(0, quota.bytes - size))


def _untrusted(view: Topics, step: str, now: datetime) -> list[Ref]:
    """What a step's commits of today made of untrusted sources."""
    refs = view.history.targets_of_day(step, now.astimezone(UTC).date())
    untrusted = view.outcomes.untrusted_ids(ref.id for ref in refs)
    return sorted(ref for ref in refs if ref.id in untrusted)

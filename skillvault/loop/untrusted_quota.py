"""Limit the untrusted files and outcomes of a day (UTC). The others wait.

`record` asks for files, `evaluate` for outcomes. The commits of the day are counted, so the quota
survives a restart and covers all clones. The limits are in vault.yaml.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from skillvault.model.records import Ref
from skillvault.vault.files.inbox import Inbox
from skillvault.vault.index.snapshot import Snapshot

_RECORD, _EVALUATE = "record", "evaluate"


def find_over_quota(
    snapshot: Snapshot, inbox: Inbox, names: Iterable[str], now: datetime
) -> list[str]:
    """Return the names of untrusted files that exceed today's quota.

    Files are taken in the order of arrival. A file that is too large does not block smaller files.
    """
    arrivals = inbox.arrivals(names)
    if not arrivals:
        return []
    quota = snapshot.policy.record.untrusted_per_day
    recorded_ids = _untrusted_today(snapshot, _RECORD, now)
    paths = filter(None, map(snapshot.records.path_of, recorded_ids))
    files = quota.files - len(recorded_ids)
    size = max(0, quota.bytes - sum(map(len, snapshot.files.read(paths).values())))
    excess_names: list[str] = []
    for arrival in arrivals:
        if files > 0 and arrival.size <= size:
            files -= 1
            size -= arrival.size
        else:
            excess_names.append(arrival.name)
    return excess_names


def remaining_outcomes(snapshot: Snapshot, now: datetime) -> int:
    """Return the number of untrusted outcomes that may still be judged today."""
    judged_ids = _untrusted_today(snapshot, _EVALUATE, now)
    return max(0, snapshot.policy.evaluate.untrusted_per_day - len(judged_ids))


def _tomorrow(now: datetime) -> str:
    return f"{now.astimezone(UTC).date() + timedelta(days=1)}"


def file_wait_reason(snapshot: Snapshot, names: Sequence[str], now: datetime) -> str:
    """Return the sentence that says why untrusted files wait."""
    quota = snapshot.policy.record.untrusted_per_day
    return (
        f"{len(names)} file{'s' * (len(names) != 1)} for which there is no room today: at most "
        f"{quota.files} files and {quota.bytes:,} bytes of untrusted sources are recorded in a day "
        f"(record.untrusted_per_day); more from {_tomorrow(now)} (UTC) on"
    )


def wait_reason(snapshot: Snapshot, count: int, now: datetime) -> str:
    """Return the sentence that says why `count` untrusted outcomes wait for the judge."""
    return (
        f"{count} untrusted outcome{'s' * (count != 1)} not evaluated: at most "
        f"{snapshot.policy.evaluate.untrusted_per_day} are judged in a day "
        f"(evaluate.untrusted_per_day); more from {_tomorrow(now)} (UTC) on"
    )


def _untrusted_today(snapshot: Snapshot, step: str, now: datetime) -> list[Ref]:
    refs = snapshot.history.targets_of_day(step, now.astimezone(UTC).date())
    untrusted_ids = snapshot.outcomes.untrusted_ids(ref.id for ref in refs)
    return sorted(ref for ref in refs if ref.id in untrusted_ids)

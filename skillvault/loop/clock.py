"""The clock of a domain, by which skills expire. It stops while nothing happens."""

from datetime import datetime

from skillvault.learning.rules import Rules
from skillvault.vault.index.snapshot import Snapshot


def clock(snapshot: Snapshot, domain: str | None, now: datetime, rules: Rules) -> datetime | None:
    """Return the time of the latest trusted outcome or session of a domain, or None.

    With `domain` None, look in the whole vault, so that imported old skills do not expire at once.
    The profile `seed` uses `now` instead.
    """
    latest_times = (snapshot.outcomes.latest_time(domain), snapshot.sessions.latest_time(domain))
    time: datetime | None = rules.time(max(filter(None, latest_times), default=None), now)
    return time

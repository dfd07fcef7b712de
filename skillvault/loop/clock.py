"""The clock by which skills age: their domain's, which stops while nothing happens there."""

from datetime import datetime

from skillvault.learning.rules import Rules
from skillvault.vault.index.snapshot import Topics


def clock(view: Topics, domain: str | None, now: datetime, rules: Rules) -> datetime | None:
    """Return the end of the latest trusted outcome or session of a domain; None without one.

    Without a domain, that of the vault. So an old history does not expire when it is imported. The
    rules of a profile may return `now` instead.
    """
    latest = (view.outcomes.latest_time(domain), view.sessions.latest_time(domain))
    time: datetime | None = rules.time(max(filter(None, latest), default=None), now)
    return time

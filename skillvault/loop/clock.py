"""The clock by which skills age: the time of a domain, which stops while the domain is idle."""

from datetime import datetime

from skillvault.learning.rules import Rules
from skillvault.vault.index.snapshot import Topics


def clock(view: Topics, domain: str | None, now: datetime, rules: Rules) -> datetime | None:
    """Return the end of the latest trusted outcome or session of a domain; None without any.

    Without `domain`, the whole vault counts, so imported old skills do not expire at once. A
    profile may use `now` instead.
    """
    latest_times = (view.outcomes.latest_time(domain), view.sessions.latest_time(domain))
    time: datetime | None = rules.time(max(filter(None, latest_times), default=None), now)
    return time

"""The clock by which skills age: the time of a domain, which stops while the domain is idle."""

from datetime import datetime

from skillvault.learning.rules import Rules
from skillvault.vault.index.snapshot import Topics


def clock(view: Topics, domain: str | None, now: datetime, rules: Rules) -> datetime | None:
    """Return the end of the latest trusted outcome or session of a domain; None without any.

    Without a domain, the whole vault counts. So imported old skills do not expire at once. The
    rules of a profile may return `now` instead.
    """
    latest_times = (view.outcomes.latest_time(domain), view.sessions.latest_time(domain))
    time: datetime | None = rules.time(max(filter(None, latest_times), default=None), now)
    return time

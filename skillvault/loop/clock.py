"""The time by which skills age: their domain's, which stands still while nothing happens there."""

from datetime import datetime

from skillvault.learning.rules import Rules
from skillvault.vault.index.snapshot import Topics


def clock(view: Topics, domain: str | None, now: datetime, rules: Rules) -> datetime | None:
    """The end of the latest trusted outcome or session of a domain; None without one.

    Of the vault for what has no domain. So a history that is imported late is as young as its last
    outcome. The rules may say `now` instead.
    """
    latest = (view.outcomes.latest_time(domain), view.sessions.latest_time(domain))
    time: datetime | None = rules.time(max(filter(None, latest), default=None), now)
    return time

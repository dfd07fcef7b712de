"""The time by which skills age: their domain's, which stands still while nothing happens there."""

from datetime import datetime

from skillvault.vault.index.snapshot import Topics


def clock(view: Topics, domain: str | None, now: datetime) -> datetime | None:
    """The latest trusted outcome of a domain, of the vault for what has none; None without one.

    So a history that is imported late is as young as its last outcome. By the choice of the run's
    clock it is `now`.
    """
    by_run = view.policy.choices.clock == "run"
    return now if by_run else view.outcomes.latest_time(domain)

"""A skill's digest is the same in every process."""

from collections.abc import Iterable
from datetime import UTC, datetime

from skillvault.learning.account.statements import account_of, digest
from skillvault.model.brief import Findings, Statement
from skillvault.model.conditions import Condition, Separation
from tests.given import outcome

IDS = [f"20260101t000000z-{number:010x}" for number in range(200)]


def guide(holds_for: Iterable[str]) -> Findings:
    """Return the findings of a guide that has one lead."""
    lead = Separation(
        conditions=(Condition("context", "dry_run", "is", False),),
        result="failures",
        met=(6, 6),
        other=(0, 4),
        episodes=(6, 6),
        p=0.01,
        z=3.0,
        holds_for=frozenset(holds_for),
        read=10,
        until=datetime(2026, 1, 1, tzinfo=UTC),
        lead=True,
    )
    account = account_of(outcomes=(outcome(),), evaluations={}, tasks={})
    statement = Statement(kind="rule", text="a lead", supporting=(), rule=lead)
    return Findings(
        kind="guide", account=account, statements=(statement,), significant=account.outcomes
    )


def test_a_digest_does_not_depend_on_the_order_of_a_set() -> None:
    # Sets of the same texts are iterated in another order in each process, and after other growth.
    assert list(frozenset(IDS)) != list(frozenset(reversed(IDS)))
    assert digest(guide(IDS)) == digest(guide(reversed(IDS)))

"""Accounts that tests of the rules begin with."""

from collections.abc import Mapping, Sequence
from typing import Any

from skillvault.learning.account import account as rules
from skillvault.model.brief import Account, Findings
from skillvault.model.policy import Policy
from skillvault.model.records import Outcome, SkillKind, Status, Trust
from tests.given import evaluation, outcome, raw

TENANT = "I assume that the cache key needs no tenant."
PRICES = "I assume prices as float are precise enough for invoices."
CHECKED = "I verified the total with 50 runs of the sheet."
ERROR = "FAILED test_payment - assert 504 == 200"


def ended(
    day: int, reasoning: str, status: Status = "failure", trust: Trust = "local", **changes: Any
) -> Outcome:
    """An outcome of a day that says no more than its reasoning, and what else is given."""
    result = {"status": status, **changes.pop("result", {})}
    return outcome(raw(day, decision__reasoning=reasoning, result=result, **changes), trust)


def account(outcomes: Sequence[Outcome], tasks: Mapping[str, str] | None = None) -> Account:
    """The account of these outcomes, in whatever order they came."""
    ordered = tuple(sorted(outcomes, key=lambda o: o.order))
    evaluations = {o.id: evaluation(o) for o in ordered}
    return Account(outcomes=ordered, evaluations=evaluations, tasks=tasks or {})


def findings_of(
    outcomes: Sequence[Outcome], kind: SkillKind = "warning", policy: Policy | None = None
) -> Findings:
    """What these outcomes say for a kind of skill."""
    return rules.findings_of(account(outcomes), kind, policy or Policy())

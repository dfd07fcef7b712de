"""Accounts that tests of the rules begin with."""

from collections.abc import Mapping, Sequence
from typing import Any

from skillvault.learning.account import statements
from skillvault.learning.account.statements import account_of
from skillvault.model.brief import Account, Findings
from skillvault.model.policy import Policy
from skillvault.model.records import Evaluation, Outcome, SkillKind, Status, Trust
from tests.given import evaluation, outcome, raw, trade

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


def traded(day: int, reasoning: str, score: float, **changes: Any) -> Outcome:
    """A graded outcome of a day that says no more than its reasoning, and what else is given."""
    fields = {"result": {"score": score}, "context": {}, **changes}
    return outcome(trade(day, decision__reasoning=reasoning, **fields))


def judged(one: Outcome, **changes: Any) -> Evaluation:
    """An evaluation by a model, of an outcome of which it concludes nothing else than is given."""
    return evaluation(one, **{"key_insight": None, **changes})


def account(
    outcomes: Sequence[Outcome],
    tasks: Mapping[str, str] | None = None,
    evaluations: Sequence[Evaluation] = (),
) -> Account:
    """The account of these outcomes, in whatever order they came."""
    ordered = tuple(sorted(outcomes, key=lambda o: o.order))
    every = {o.id: judged(o) for o in ordered} | {each.outcome: each for each in evaluations}
    return account_of(outcomes=ordered, evaluations=every, tasks=tasks or {})


def findings_of(
    outcomes: Sequence[Outcome],
    kind: SkillKind = "guide",
    policy: Policy | None = None,
    evaluations: Sequence[Evaluation] = (),
) -> Findings:
    """Return the findings of these outcomes for a kind of skill."""
    about = account(outcomes, evaluations=evaluations)
    return statements.findings_of(about, kind, policy or Policy())

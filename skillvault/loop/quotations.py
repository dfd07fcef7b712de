"""Accounts that quote of a person's words only what later words left standing.

A rule that the person withdrew, contradicted, rejected or still has to approve stands in no text
about a run.
"""

from collections.abc import Iterable, Mapping, Sequence

from skillvault.learning.account.statements import account_of
from skillvault.learning.corrections import StatedRules, key_of, read_stated_rules, rule_id
from skillvault.learning.tries.tries import requests_of
from skillvault.model.brief import Account
from skillvault.model.conditions import Separation
from skillvault.model.decision_outcomes import scope_of
from skillvault.model.next_words import read_reaction
from skillvault.model.records import Evaluation, Outcome, Ref
from skillvault.vault.files import redact
from skillvault.vault.index.snapshot import Topics


class Quotations:
    """The words that texts about the runs of a vault may quote."""

    def __init__(self, view: Topics) -> None:
        self._view = view
        self._stated_rules: dict[str | None, StatedRules] = {}

    def build_account(
        self,
        outcomes: Sequence[Outcome],
        evaluations: Mapping[str, Evaluation],
        rules: tuple[Separation, ...] = (),
    ) -> Account:
        """Return the account of these outcomes."""
        tasks = self._view.recommendations.tasks(outcomes)
        unquoted = {o.id for o in outcomes if not self._may_quote(o, requests_of(o))}
        quotable_tasks = {
            o.id: tasks[o.id]
            for o in outcomes
            if o.id in tasks and self._may_quote(o, read_reaction(tasks[o.id]).rules)
        }
        return account_of(outcomes, evaluations, quotable_tasks, rules, unquoted=unquoted)

    def _may_quote(self, outcome: Outcome, texts: Iterable[str]) -> bool:
        scope, texts = scope_of(outcome), list(texts)
        if scope not in self._stated_rules:
            rules = [r for r in self._view.facts.approved_corrections() if r.scope == scope]
            corrections = self._view.corrections.of_scope(scope)
            stated = read_stated_rules(corrections, rules, redact.secret_kinds)
            self._stated_rules[scope] = stated
        stated = self._stated_rules[scope]
        is_standing = all(stated.may_quote(text, outcome.occurred_at) for text in texts)
        return is_standing and not any(self._is_rejected(scope, text) for text in texts)

    def _is_rejected(self, scope: str, text: str) -> bool:
        """Return True if the person rejected a rule; only the commit that dropped it says so."""
        rule = Ref("correction", rule_id(scope, key_of(text)))
        is_waiting = rule in self._view.records
        return not is_waiting and self._view.history.last_step(rule, ["reject"]) is not None

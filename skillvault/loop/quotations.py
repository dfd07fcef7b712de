"""Build accounts that quote only the words of a person that still hold.

No text quotes a rule that the person withdrew, contradicted, rejected or still has to approve.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from skillvault.learning.account.statements import account_of
from skillvault.learning.corrections import StatedRules, read_stated_rules, rule_id
from skillvault.learning.naming import rule_digest
from skillvault.learning.tries.repairs import is_repair, words_of
from skillvault.learning.tries.tries import requests_of
from skillvault.model.brief import Account
from skillvault.model.conditions import Separation
from skillvault.model.decision_outcomes import scope_of
from skillvault.model.reaction import read_reaction
from skillvault.model.records import Evaluation, Outcome
from skillvault.vault.files import redact
from skillvault.vault.index.snapshot import Snapshot


class Quotations:
    """The words that texts about the runs of a vault may quote."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._stated_rules: dict[str | None, StatedRules] = {}

    def build_account(
        self,
        outcomes: Sequence[Outcome],
        evaluations: Mapping[str, Evaluation],
        rules: tuple[Separation, ...] = (),
    ) -> Account:
        """Return the account of these outcomes."""
        tasks = self._snapshot.recommendations.tasks(outcomes)
        unquoted = {o.id for o in outcomes if not self._may_quote(o, requests_of(o))}
        quotable_tasks = {
            o.id: tasks[o.id]
            for o in outcomes
            if o.id in tasks and self._may_quote(o, read_reaction(tasks[o.id]).rules)
        }
        repairs = {o.id: repair for o in outcomes if (repair := self._find_repair(o))}
        return account_of(
            outcomes, evaluations, quotable_tasks, rules, unquoted=unquoted, repairs=repairs
        )

    def _find_repair(self, failure: Outcome) -> Outcome | None:
        """Return the next outcome of a session if it repaired what a person had rejected.

        Outcomes that a person or a stronger observer overruled do not count.
        """
        session = failure.source.session
        if failure.result.status != "failure" or not session or not words_of(failure):
            return None
        outcomes = self._snapshot.outcomes.by_session(session, failure.trust)
        overruled_ids = self._snapshot.outcomes.overruled_ids([outcome.id for outcome in outcomes])
        later_outcomes = (
            outcome
            for outcome in outcomes
            if outcome.order > failure.order and outcome.id not in overruled_ids
        )
        repair = next(later_outcomes, None)
        if repair is None or not is_repair(failure, repair):
            return None
        is_quotable = self._may_quote(repair, requests_of(repair))
        return (
            repair if is_quotable and not self._snapshot.retractions.get_many([repair.id]) else None
        )

    def _may_quote(self, outcome: Outcome, texts: Iterable[str]) -> bool:
        scope, texts = scope_of(outcome), list(texts)
        if scope not in self._stated_rules:
            rules = [r for r in self._snapshot.facts.approved_corrections() if r.scope == scope]
            corrections = self._snapshot.corrections.of_scope(scope)
            stated = read_stated_rules(corrections, rules, redact.secret_kinds)
            self._stated_rules[scope] = stated
        stated = self._stated_rules[scope]
        is_standing = all(stated.may_quote(text, outcome.occurred_at) for text in texts)
        return is_standing and not any(self._is_rejected(scope, text) for text in texts)

    def _is_rejected(self, scope: str, text: str) -> bool:
        """Return True if the person rejected a rule. Only the commit that dropped it shows this."""
        digest = rule_digest(rule_id(scope, text))
        if digest not in self._rejected:
            return False
        waiting_rules = self._snapshot.corrections.of_scope(scope)
        return all(rule_digest(rule.id) != digest for rule in waiting_rules)

    @cached_property
    def _rejected(self) -> frozenset[str]:
        commits = self._snapshot.history.commits_of_step("reject")
        targets = (target for commit in commits for target in commit.targets)
        return frozenset(rule_digest(name) for name in targets if name.startswith("correction:"))

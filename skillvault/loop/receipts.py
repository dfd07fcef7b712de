"""Find the receipts of a decision, and translate handles into the skills that it applied.

A receipt is the record of a recommendation; it may still wait in the inbox. The step `record` and
the command `judge` use this module.
"""

from collections.abc import Iterable
from datetime import datetime
from functools import cached_property

import msgspec

from skillvault.learning import record
from skillvault.loop import effects
from skillvault.model import aliases, codec, decision_outcomes, intake
from skillvault.model.decision_outcomes import Claim
from skillvault.model.errors import BadInputError
from skillvault.model.records import Outcome, Recommendation
from skillvault.model.text.text import is_slug
from skillvault.vault.files.inbox import Inbox
from skillvault.vault.index.snapshot import Snapshot

_RECEIPT_PREFIX = "recommendation-"  # start of the names of files by `recommend --decision`


class Receipts:
    """The receipts of decisions, in the vault and in the inbox.

    The inbox is read once, when a receipt is first needed. `arrived` has receipts that the caller
    has read already from the inbox files `names`.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        inbox: Inbox,
        now: datetime,
        *,
        arrived: Iterable[Recommendation] = (),
        names: Iterable[str] = (),
    ) -> None:
        self._snapshot, self._inbox, self._now = snapshot, inbox, now
        self._arrived, self._arrived_names = arrived, frozenset(names)
        self._claims: dict[str, list[Claim]] = {}
        self._receipts: dict[str, list[Recommendation]] = {}

    def resolve_applied(self, outcome: Outcome) -> Outcome:
        """Replace the handles of applied skills by names; leave unknown handles."""
        applied = outcome.applied
        if outcome.decision.id is None or not applied or all(map(is_slug, applied)):
            return outcome
        names = aliases.aliases_of(self.own_receipts(outcome), self._read_title)
        return msgspec.structs.replace(outcome, applied=aliases.resolve_names(applied, names))

    def _read_title(self, skill: str, blob: str) -> str:
        return aliases.title_of(effects.read_version(self._snapshot, skill, blob))

    def own_receipts(self, outcome: Outcome) -> list[Recommendation]:
        """Return the receipts that the agent of an outcome got for its decision."""
        decision = outcome.decision.id
        if decision is None or not (receipts := self._by_decision(decision)):
            return []
        return decision_outcomes.select_receipts(
            decision_outcomes.claim_of(outcome), receipts, self._claims_of(decision)
        )

    def check_claim(self, outcome: Outcome) -> None:
        """Raise BadInputError if all receipts of the decision belong to another agent."""
        decision = outcome.decision.id
        is_anonymous = outcome.source.agent is None and not outcome.is_described
        if decision is not None and not is_anonymous and (receipts := self._by_decision(decision)):
            record.check_claim(outcome, receipts, self._claims_of(decision))

    def note_claim(self, outcome: Outcome) -> None:
        """Note an outcome that ends a decision, to check later outcomes against it."""
        is_claim = outcome.trust == "local" and outcome.is_described
        if outcome.decision.id is not None and is_claim:
            self._claims_of(outcome.decision.id).append(decision_outcomes.claim_of(outcome))

    def _claims_of(self, decision: str) -> list[Claim]:
        if decision not in self._claims:
            self._claims[decision] = self._snapshot.outcomes.ends(decision)
        return self._claims[decision]

    def _by_decision(self, decision: str) -> list[Recommendation]:
        if decision not in self._receipts:
            recorded_receipts = self._snapshot.recommendations.by_decision(decision)
            self._receipts[decision] = [*recorded_receipts, *self._waiting.get(decision, ())]
        return self._receipts[decision]

    @cached_property
    def _waiting(self) -> dict[str, list[Recommendation]]:
        names = [name for name in self._inbox.names() if name.startswith(_RECEIPT_PREFIX)]
        waiting_receipts = (
            _read_receipt(self._inbox, name, self._now)
            for name in names
            if name not in self._arrived_names
        )
        receipts: dict[str, list[Recommendation]] = {}
        for receipt in (*self._arrived, *filter(None, waiting_receipts)):
            receipts.setdefault(receipt.decision, []).append(receipt)
        return receipts


def _read_receipt(inbox: Inbox, name: str, now: datetime) -> Recommendation | None:
    """Return a receipt from the inbox, or None for a bad file, which `record` will refuse."""
    try:
        file = inbox.read_file(name)
        values = codec.parse_incoming(name, file.data) if file else {}
        return intake.parse_recommendation(values, trust="local", now=now) if values else None
    except BadInputError:
        return None

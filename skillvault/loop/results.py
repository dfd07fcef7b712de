"""Results alone: what somebody saw of the end of a decision, and whose domain it has.

The domain of such a file is that of its decision, as an outcome or a receipt
has it, recorded or arrived with it.
"""

from typing import Any

from skillvault.model.records import Outcome, Recommendation, Session, Trust
from skillvault.vault.files import codec
from skillvault.vault.files.arrival import Received
from skillvault.vault.index.snapshot import Topics

NO_DECISION = (
    "the vault knows no outcome and no recommendation of its decision yet, so it has no domain; "
    "it is taken when one arrives, or give --domain"
)


class DecisionDomains:
    """The domain of each decision, in the words of who described it, else of who asked."""

    def __init__(self, view: Topics) -> None:
        self._view = view
        self._arrived: dict[tuple[Trust, str], list[tuple[bool, str, str]]] = {}

    def is_wanted(self, item: Received) -> bool:
        """Whether a file is a result that leaves its domain to its decision."""
        if b"observed_by" not in item.data:
            return False
        raw = codec.incoming(item.name, item.data)
        return raw.get("type", "outcome") == "outcome" and _needs_domain(raw)

    def note(self, record: Outcome | Recommendation | Session) -> None:
        """Take in what arrived."""
        if isinstance(record, Outcome) and record.decision.id:
            self._note_domain(record.decision.id, record)
        elif isinstance(record, Recommendation):
            self._note_domain(record.decision, record)

    def domain_of(self, item: Received) -> str | None:
        """The domain of a result's decision; None while nobody knows it."""
        decision: str = codec.incoming(item.name, item.data)["decision"]["id"]
        for outcome in self._view.outcomes.by_decision(decision):
            self._note_domain(decision, outcome)
        for receipt in self._view.recommendations.by_decision(decision):
            self._note_domain(decision, receipt)
        trusts: tuple[Trust, Trust] = (item.trust, "local")
        entries = next(
            filter(None, (self._arrived.get((trust, decision)) for trust in trusts)), None
        )
        return min(entries)[2] if entries else None

    def _note_domain(self, decision: str, record: Outcome | Recommendation) -> None:
        is_receipt = isinstance(record, Recommendation)
        key = record.trust, decision
        self._arrived.setdefault(key, []).append((is_receipt, record.id, record.domain))


def _needs_domain(raw: dict[str, Any]) -> bool:
    decision, result = raw.get("decision"), raw.get("result")
    is_named = isinstance(decision, dict) and isinstance(decision.get("id"), str)
    is_observed = isinstance(result, dict) and result.get("observed_by") not in (None, "agent")
    return raw.get("domain") is None and is_named and is_observed

"""What a decision applied, by name: its handles and titles resolved with what it was shown.

What was shown may still wait in the inbox.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cached_property

import msgspec

from skillvault.learning import record
from skillvault.model import aliases, codec, decision_outcomes, intake
from skillvault.model.decision_outcomes import Claim
from skillvault.model.errors import BadInputError
from skillvault.model.records import Outcome, Recommendation
from skillvault.model.text.text import is_slug
from skillvault.vault.files.inbox import Inbox
from skillvault.vault.index.snapshot import Topics

_OURS = "recommendation-"  # how the files begin that `recommend --decision` drops


def with_names(
    outcome: Outcome,
    receipts: Callable[[Outcome], Iterable[Recommendation]],
    read: Callable[[str, str], str],
) -> Outcome:
    """The outcome with what it applied by name; what its receipts do not know stays.

    `receipts` gives an outcome's own, `read` a skill's text by its name and version.
    """
    applied = outcome.applied
    if outcome.decision.id is None or not applied or all(map(is_slug, applied)):
        return outcome
    own = receipts(outcome)
    names = aliases.aliases_of(own, lambda name, blob: aliases.title_of(read(name, blob)))
    return msgspec.structs.replace(outcome, applied=aliases.resolve_names(applied, names))


class Receipts:
    """What was shown for decisions: what is recorded, and what waits in the inbox.

    The inbox is read once, when somebody asks; `arrived` are those that were read before, from its
    files of the names in `read`.
    """

    def __init__(
        self,
        view: Topics,
        inbox: Inbox,
        now: datetime,
        *,
        arrived: Iterable[Recommendation] = (),
        read: Iterable[str] = (),
    ) -> None:
        self._view, self._inbox, self._now = view, inbox, now
        self._arrived, self._read = arrived, frozenset(read)
        self._ends: dict[str, list[Claim]] = {}
        self._shown: dict[str, list[Recommendation]] = {}

    def own(self, outcome: Outcome) -> list[Recommendation]:
        """What an outcome's agent was shown for its decision; see `claims`."""
        decision = outcome.decision.id
        if decision is None or not (receipts := self._of(decision)):
            return []
        return decision_outcomes.select_receipts(
            decision_outcomes.claim_of(outcome), receipts, self._claims_on(decision)
        )

    def check_claim(self, outcome: Outcome) -> None:
        """BadInputError if what was shown for its decision is all another agent's."""
        decision = outcome.decision.id
        is_nobodys = outcome.source.agent is None and not outcome.is_described
        if decision is not None and not is_nobodys and (receipts := self._of(decision)):
            record.check_claim(outcome, receipts, self._claims_on(decision))

    def take(self, outcome: Outcome) -> None:
        """Let an outcome that is taken be the end of its decision for those that follow."""
        is_claim = outcome.trust == "local" and outcome.is_described
        if outcome.decision.id is not None and is_claim:
            self._claims_on(outcome.decision.id).append(decision_outcomes.claim_of(outcome))

    def _claims_on(self, decision: str) -> list[Claim]:
        """The claims of the trusted outcomes that came before."""
        if decision not in self._ends:
            self._ends[decision] = self._view.outcomes.ends(decision)
        return self._ends[decision]

    def _of(self, decision: str) -> list[Recommendation]:
        """Those of one decision, of whichever agent."""
        if decision not in self._shown:
            recorded = self._view.recommendations.by_decision(decision)
            self._shown[decision] = [*recorded, *self._waiting.get(decision, ())]
        return self._shown[decision]

    @cached_property
    def _waiting(self) -> dict[str, list[Recommendation]]:
        """Decision -> what was shown for it and is not recorded yet."""
        names = [name for name in self._inbox.names() if name.startswith(_OURS)]
        others = (
            _read_one(self._inbox, name, self._now) for name in names if name not in self._read
        )
        by_decision: dict[str, list[Recommendation]] = {}
        for receipt in (*self._arrived, *filter(None, others)):
            by_decision.setdefault(receipt.decision, []).append(receipt)
        return by_decision


def _read_one(inbox: Inbox, name: str, now: datetime) -> Recommendation | None:
    """A recommendation in the inbox; None for what `record` will refuse, and says so."""
    try:
        file = inbox.read_file(name)
        raw = codec.parse_incoming(name, file.data) if file else {}
        return intake.parse_recommendation(raw, trust="local", now=now) if raw else None
    except BadInputError:
        return None

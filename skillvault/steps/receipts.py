"""What a decision applied, by name: its handles and titles resolved with what it was shown.

Floor 3, for `record` and `judge`. What was shown may still wait in the inbox.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from skillvault import aliases
from skillvault.errors import BadInputError
from skillvault.intake import recommendation_from
from skillvault.lazy import LazyModule
from skillvault.records import Outcome, Recommendation
from skillvault.text import is_slug
from skillvault.vault.files.inbox import Inbox
from skillvault.vault.index.snapshot import Topics

if TYPE_CHECKING:
    from skillvault.vault.files import codec
else:  # only who reads what waits pays for it
    codec = LazyModule("vault.files.codec")

_OURS = "recommendation-"  # how the files begin that `recommend --decision` drops


def with_names(
    outcome: Outcome,
    receipts: Callable[[str], Iterable[Recommendation]],
    read: Callable[[str, str], str],
) -> Outcome:
    """The outcome with what it applied by name; what its receipts do not know stays.

    `receipts` gives those of a decision, `read` a skill's text by its name and version.
    """
    decision, applied = outcome.decision.id, outcome.applied
    if decision is None or not applied or all(map(is_slug, applied)):
        return outcome
    counted = [r for r in receipts(decision) if outcome.trust == "untrusted" or r.trust == "local"]
    names = aliases.aliases_of(counted, lambda name, blob: aliases.title_of(read(name, blob)))
    return msgspec.structs.replace(outcome, applied=aliases.resolved(applied, names))


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

    def of(self, decision: str) -> list[Recommendation]:
        """Those of one decision."""
        recorded = self._view.recommendations.by_decision(decision)
        return [*recorded, *self._waiting.get(decision, ())]

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
        raw = codec.incoming(name, file.data) if file else {}
        return recommendation_from(raw, trust="local", now=now) if raw else None
    except BadInputError:
        return None

"""What a decision applied, by name: its handles and titles resolved with what it was shown.

Floor 3, for `record` and `judge`. What was shown may still wait in the inbox.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

import msgspec

from skillvault import aliases
from skillvault.errors import BadInputError
from skillvault.intake import recommendation_from
from skillvault.records import Outcome, Recommendation
from skillvault.text import is_slug
from skillvault.vault.files import codec
from skillvault.vault.files.inbox import Inbox
from skillvault.vault.index.snapshot import Topics

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


def receipts_of(
    view: Topics, inbox: Inbox, decision: str, now: datetime
) -> Iterator[Recommendation]:
    """What is recorded as shown for a decision, and what of it waits in the inbox."""
    yield from view.recommendations.by_decision(decision)
    for name in inbox.names():
        waiting = _waiting(inbox, name, now) if name.startswith(_OURS) else None
        if waiting is not None and waiting.decision == decision:
            yield waiting


def _waiting(inbox: Inbox, name: str, now: datetime) -> Recommendation | None:
    """A recommendation in the inbox; None for what `record` will refuse, and says so."""
    try:
        file = inbox.read_file(name)
        raw = codec.incoming(name, file.data) if file else {}
        return recommendation_from(raw, trust="local", now=now) if raw else None
    except BadInputError:
        return None

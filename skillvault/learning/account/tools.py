"""Tools: what those used that succeeded, and few of those that failed."""

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from skillvault.model.records import Outcome, Status

_TOOL_SHARE = 0.6  # of those that ended well; fewer users say nothing of it
_APART = 0.5  # by so much fewer of the others
_FEWEST = 2  # that ended well
_MOST_TOOLS = 4  # names
# A program, a function or a module in backticks or with its brackets; data files are none.
_NAMED = re.compile(
    r"`([A-Za-z][\w.+-]{2,30}(?:\(\))?)`|\b([A-Za-z_]\w{2,30}\.(?:py|sh|js))\b"
    r"|\b([A-Z]{3,}(?:/[A-Z]{3,})+)\b"
)
_DATA = re.compile(
    r"\.(?:xlsx?|csv|json|pdf|docx?|pptx?|txt|md|xml|ya?ml|html?|png|jpe?g|emf)$", re.IGNORECASE
)


class Tools(NamedTuple):
    """Tools with the outcomes that used them: of those that succeeded and failed, and all of each.

    Ids, oldest first.
    """

    names: tuple[str, ...]
    worked: tuple[str, ...]
    failed: tuple[str, ...]
    of: tuple[int, int]


def shared_tools(outcomes: Sequence[Outcome]) -> Tools | None:
    """Return what most that succeeded used and few of the others; None if there is nothing."""
    users: dict[str, set[str]] = defaultdict(set)
    for outcome in outcomes:
        for name in _used(outcome):
            users[name].add(outcome.id)
    worked, failed = (_ended(outcomes, status) for status in ("success", "failure"))
    if len(worked) < _FEWEST or not failed:
        return None
    counts = {name: (len(ids & worked), len(ids & failed)) for name, ids in users.items()}
    telling = {
        name: pair
        for name, pair in counts.items()
        if pair[0] >= max(_FEWEST, _TOOL_SHARE * len(worked))
        and pair[0] / len(worked) - pair[1] / len(failed) >= _APART
    }
    if not telling:
        return None
    best = max(telling.values(), key=lambda pair: pair[0] / len(worked) - pair[1] / len(failed))
    names = sorted(name for name, pair in telling.items() if pair == best)[:_MOST_TOOLS]
    using = [outcome.id for outcome in outcomes if outcome.id in users[names[0]]]
    return Tools(
        tuple(names),
        tuple(name for name in using if name in worked),
        tuple(name for name in using if name in failed),
        (len(worked), len(failed)),
    )


def _ended(outcomes: Sequence[Outcome], status: Status) -> set[str]:
    return {outcome.id for outcome in outcomes if outcome.result.status == status}


def _used(outcome: Outcome) -> frozenset[str]:
    """Return what an outcome's tool log has, and what its reasoning names by itself."""
    decision = outcome.decision
    given = f"{decision.task} {decision.action} {decision.target or ''}".casefold()
    named = {name for name in _named_in(decision.reasoning) if name.casefold() not in given}
    return frozenset(named.union(outcome.applied or ()))


@lru_cache(maxsize=4096)
def _named_in(reasoning: str) -> frozenset[str]:
    names = (next(filter(None, match.groups())) for match in _NAMED.finditer(reasoning))
    return frozenset(name for name in names if not _DATA.search(name))

"""Three versions of one thing made one: what one side changed, and sets.

Each function gives the same with the sides exchanged, and the same whichever two of several
clones meet first.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from skillvault.model.errors import BadInputError

_T = TypeVar("_T")
_Element = TypeVar("_Element", bound=Hashable)


class Versions(NamedTuple):
    """One file: what both sides began with (None: it was not there), and what each has."""

    base: bytes | None
    ours: bytes
    theirs: bytes

    @property
    def sides(self) -> tuple[bytes, bytes]:
        """What each side has, in an order that is the same for both."""
        return min(self.ours, self.theirs), max(self.ours, self.theirs)


Rule = Callable[[Versions], bytes]


def three_way(base: _T, ours: _T, theirs: _T, both: Callable[[_T, _T], _T]) -> _T:
    """What one side changed; `both` decides if each changed it otherwise."""
    if ours in (theirs, base):
        return theirs
    return ours if theirs == base else both(ours, theirs)


def file_by(both: Rule, versions: Versions) -> bytes:
    """What one side changed of a file; the rule `both` decides if each changed it otherwise."""
    return three_way(
        versions.base or b"", versions.ours, versions.theirs, lambda _o, _t: both(versions)
    )


def joined_set(
    base: Iterable[_Element], ours: Sequence[_Element], theirs: Sequence[_Element]
) -> list[_Element]:
    """What both have or one added, without what one took away; see `woven` for the order."""
    began = set(base)
    in_both = set(ours) & set(theirs)
    return woven(ours, theirs, {e for e in (*ours, *theirs) if e in in_both or e not in began})


def woven(
    ours: Sequence[_Element], theirs: Sequence[_Element], kept: Iterable[_Element]
) -> list[_Element]:
    """The elements to be kept in the order of both sides; the lesser first where that is open."""
    places: Any = dict.fromkeys(kept, 0)
    followers: dict[_Element, list[_Element]] = {element: [] for element in places}
    for side in (ours, theirs):
        for before, after in pairwise(
            element for element in dict.fromkeys(side) if element in places
        ):
            followers[before].append(after)
            places[after] += 1
    return _sorted_by(places, followers)


def _sorted_by(places: dict[Any, int], followers: dict[Any, list[Any]]) -> list[Any]:
    """Elements behind all that they follow; where two orders contradict, the least goes first."""
    ready = [element for element, count in places.items() if not count]
    heapify(ready)
    order: dict[Any, None] = {}
    while len(order) < len(places):
        element = heappop(ready) if ready else min(places.keys() - order.keys())
        if element in order:
            continue
        order[element] = None
        for after in followers[element]:
            places[after] -= 1
            if places[after] == 0 and after not in order:
                heappush(ready, after)
    return list(order)


def greater(first: Any, second: Any) -> Any:
    """Either of two values that nothing else decides between; nothing is less than anything."""
    return max((first, second), key=lambda value: (value is not None, str(value)))


def lesser(first: Any, second: Any) -> Any:
    """The lesser of two values; nothing is no value."""
    values = [value for value in (first, second) if value is not None]
    return min(values, key=str) if values else None


def contradiction(key: str, ours: Any, theirs: Any) -> BadInputError:
    """That two clones state one record otherwise."""
    return BadInputError(
        f"{key}: {ours!r} in one clone and {theirs!r} in another; keep one version by hand, with "
        "`git pull --no-rebase`",
        code="differs",
        key=key,
    )

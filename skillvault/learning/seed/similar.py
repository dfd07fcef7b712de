"""merge by words: which skills say the same, by the words over three letters of their statements.

As the designs have it, of whatever subjects; by causes, of subjects, it stands in `groups`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping

from msgspec import Struct

from skillvault.model.policy import MergePolicy
from skillvault.model.text import markdown
from skillvault.model.text.text import jaccard, words


class Wording(Struct, frozen=True, kw_only=True, order=True):
    """The words of a living skill's statements.

    One that is `evolved` stands for others: `texts` are then theirs too, the latest ones.
    """

    created: str
    name: str
    texts: tuple[frozenset[str], ...]
    evolved: bool = False

    def is_like(self, other: "Wording", above: float) -> bool:
        """Whether any text of the one shares more than this part of its words with the other's."""
        pairs = ((mine, theirs) for mine in self.texts for theirs in other.texts)
        return any(jaccard(mine, theirs) > above for mine, theirs in pairs)


class Gathering(Struct, frozen=True, kw_only=True):
    """Skills that are to become one: a new one, or (`into`) the evolved one that takes them in."""

    names: tuple[str, ...]
    into: str | None = None


def statement_words(body: str) -> frozenset[str]:
    """The words over three letters of a text's statements, its headings and head left out."""
    return words("\n".join(markdown.statements(body)))


def gatherings(
    wordings: Iterable[Wording],
    fresh: Collection[str],
    is_ours: Callable[[str], bool],
    rules: MergePolicy,
) -> list[Gathering]:
    """What the fresh ones of these skills become part of, oldest first.

    One similar evolved skill takes it in; else it takes so many similar ones (`min_similar`). What
    a person decided on or wrote in is not ours, and stays.
    """
    ordered = sorted(wordings)
    gathered: set[str] = set()
    taken: dict[str, list[str]] = {}
    new: list[Gathering] = []
    for wording in ordered:
        if wording.evolved or wording.name not in fresh or wording.name in gathered:
            continue
        near = [
            other
            for other in ordered
            if other.name != wording.name and other.name not in gathered
            if wording.is_like(other, rules.similarity)
        ]
        evolved = next((other.name for other in near if other.evolved), None)
        if not near or not is_ours(wording.name):
            continue
        names = [other.name for other in near if not other.evolved and is_ours(other.name)]
        if evolved:
            taken.setdefault(evolved, []).append(wording.name)
            gathered.add(wording.name)
        elif len(names) >= rules.min_similar:
            members = (*names, wording.name)
            new.append(Gathering(names=tuple(sorted(members))))
            gathered.update(members)
    return [*new, *_growths(taken)]


def _growths(taken: Mapping[str, list[str]]) -> Iterable[Gathering]:
    for evolved, names in sorted(taken.items()):
        yield Gathering(names=tuple(names), into=evolved)

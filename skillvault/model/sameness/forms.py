"""Many forms: which say the same, exactly, and far from comparing all pairs.

Texts that say the same share most of what each tells, so one of the most telling stems of either
is in the other; only forms with the same numbers and names are looked at.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from skillvault.model.english.rarity import weight
from skillvault.model.sameness.comparison import MARK, SAME, is_opposite, is_same
from skillvault.model.sameness.form import Form

_Key = tuple[frozenset[str], frozenset[str], str]  # numbers, names, a stem or "" for the two


class Forms:
    """Forms in the order in which they were added, numbered from 0."""

    def __init__(self) -> None:
        self._forms: list[Form] = []
        self._holders: dict[_Key, list[int]] = defaultdict(list)

    def add(self, form: Form) -> int:
        """Take a form in; its number."""
        number = len(self._forms)
        self._forms.append(form)
        for key, _ in _weighed(form):
            self._holders[key].append(number)
        return number

    def same(self, form: Form) -> list[int]:
        """The numbers of the forms that say the same, in order."""
        return [n for n in self.candidates(form) if self.is_same(n, form)]

    def opposite(self, form: Form) -> list[int]:
        """The numbers of the forms that say the opposite, in order."""
        candidates = self.candidates(form)
        return [n for n in candidates if is_opposite(form, self._forms[n])]

    def is_same(self, number: int, form: Form) -> bool:
        """Whether the form of a number says the same as this one."""
        return is_same(form, self._forms[number])

    def candidates(self, form: Form) -> list[int]:
        """The numbers of the forms that share enough words, numbers and names."""
        needed = SAME * _total_weight(form)
        shared: dict[int, int] = defaultdict(int)
        for key, amount in _weighed(form):
            for number in self._holders.get(key, ()):
                shared[number] += amount
        enough = ((number, amount) for number, amount in shared.items() if amount >= needed)
        return sorted(
            number
            for number, amount in enough
            if amount >= SAME * _total_weight(self._forms[number])
        )


def _weighed(form: Form) -> Iterator[tuple[_Key, int]]:
    """The keys of a form and what each weighs; one stands for its numbers and names."""
    for stem in form.stems:
        yield (form.numbers, form.names, stem), weight(stem)
    marks = len(form.numbers) + len(form.names)
    if marks or not form.stems:
        yield (form.numbers, form.names, ""), MARK * marks


def _total_weight(form: Form) -> int:
    """What all of a form weighs."""
    return form.weight + MARK * (len(form.numbers) + len(form.names))


def lookup_keys(form: Form) -> list[str]:
    """Keys of which every two forms that say the same, or the opposite, have one in common.

    The most telling stems, as long as what is left of the form could still be what both say; only
    with the same numbers and names.
    """
    marks = ",".join([*sorted(form.numbers), "|", *sorted(form.names)])
    left, keys = _total_weight(form), list[str]()
    needed = SAME * left
    amount = MARK * (len(form.numbers) + len(form.names))
    weighed = sorted(
        ((weight(stem), stem) for stem in form.stems), key=lambda pair: (-pair[0], pair[1])
    )
    for telling, stem in [(amount, "")] * bool(amount or not weighed) + weighed:
        if left < needed:
            break
        keys.append(f"{stem} {marks}")
        left -= telling
    return keys


def components(forms: Sequence[Form]) -> list[list[int]]:
    """The places of forms that say the same, directly or by way of others; whatever their order.

    Each component in order, and the components in the order of their first.
    """
    places: dict[Form, list[int]] = defaultdict(list)
    for place, form in enumerate(forms):
        places[form].append(place)
    index, roots = Forms(), list[int]()
    for form in places:
        candidates = index.candidates(form)
        roots.append(index.add(form))
        for number in candidates:
            root, other = _root(roots, len(roots) - 1), _root(roots, number)
            if root != other and index.is_same(number, form):
                roots[other] = root
    grouped: dict[int, list[int]] = defaultdict(list)
    for number, group in enumerate(places.values()):
        grouped[_root(roots, number)] += group
    return sorted(sorted(group) for group in grouped.values())


def _root(roots: list[int], number: int) -> int:
    """The number that stands for a component; paths on the way are made shorter."""
    while roots[number] != number:
        roots[number] = roots[roots[number]]
        number = roots[number]
    return number

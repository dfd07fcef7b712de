"""Compare texts that may say the same or the opposite, two or many of them.

Many texts are compared without comparing all pairs. Texts with different numbers, negations, sides
or names never say the same. Otherwise their words are compared, and rare words count more.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from skillvault.model.disjoint_sets import DisjointSets
from skillvault.model.english import weight
from skillvault.model.sameness.form import Form, Item
from skillvault.model.sameness.vocabulary import VERBS

SAME_LIKENESS = 0.61  # likeness from which two texts say the same
MARK_WEIGHT = 40  # the weight of a number or a name that both texts have

_Key = tuple[frozenset[str], frozenset[str], str]  # numbers, names, and a stem or ""

_MIN_RARE_WEIGHT = 28  # weight from which another word in its place makes another statement
_MIN_COMMON_LETTERS = 4  # letters, at least, with which two spellings of a word begin
_NEGATING_PREFIXES = ("un", "dis", "non", "de", "in", "im", "ir", "mis", "anti", "under", "over")
_ALWAYS_EXCHANGEABLE = frozenset({"relation", "negation"})


def is_same(a: Form, b: Form) -> bool:
    """Return True if two texts say the same."""
    return a == b or (_match_except_flips(a, b) and _flips(a, b) == 0)


def is_opposite(a: Form, b: Form) -> bool:
    """Return True if one text says the opposite of the other, so they differ in one flip.

    A flip is a negation, a side or an order; two flips undo each other. A text with another number
    or name is a different text, not an opposite. So is a text without the denied thing.
    """
    return (
        _match_except_flips(a, b)
        and _flips(a, b) % 2 == 1
        and (a.negated == b.negated or _affirms(*((b, a) if a.negated else (a, b))))
    )


def _affirms(affirming: Form, denying: Form) -> bool:
    for mark, scope in denying.scopes:
        if mark.kind == "negation":
            denied_stems = scope & denying.stems
            affirmed_weight = sum(map(weight, denied_stems & affirming.stems))
            return affirmed_weight >= SAME_LIKENESS * sum(map(weight, denied_stems))
    return True


def _match_except_flips(a: Form, b: Form) -> bool:
    return likeness(a, b) >= SAME_LIKENESS and not _differ(a, b) and not _is_word_replaced(a, b)


def likeness(a: Form, b: Form) -> float:
    """Return the weighted share (0..1) of the content that two texts have in common.

    The larger remainder counts in full, the smaller by half. Negations and order do not count.
    """
    stem_weight = sum(map(weight, a.stems & b.stems))
    shared = stem_weight + MARK_WEIGHT * (len(a.numbers & b.numbers) + len(a.names & b.names))
    first, second = a.weight - stem_weight, b.weight - stem_weight
    total = shared + max(first, second) + min(first, second) / 2
    return shared / total if total else 1.0


def _is_word_replaced(a: Form, b: Form) -> bool:
    """Return True if one text has a verb or rare word where the other has another word."""
    return any(
        first_context == second_context
        and not (first_word in b.stems and second_word in a.stems)
        and not _are_spellings(first_word, second_word)
        for first_context, first_word in _missing_words(a, b)
        for second_context, second_word in _missing_words(b, a)
    )


def _are_spellings(first_word: str, second_word: str) -> bool:
    """Return True if two words differ at most in the last letter of the shorter word."""
    letters = max(_MIN_COMMON_LETTERS, min(len(first_word), len(second_word)) - 1)
    return first_word[:letters] == second_word[:letters]


def _missing_words(a: Form, b: Form) -> list[tuple[tuple[str, str], str]]:
    """Return the verbs and rare words of `a` that `b` lacks, with their neighbours.

    Words of opposites are included even if `b` has them in another place.
    """
    return [
        ((left, right), stem)
        for left, stem, right in a.places
        if (stem not in b.stems or stem.startswith("~"))
        and (left or right)
        and (weight(stem) >= _MIN_RARE_WEIGHT or stem in VERBS)
    ]


def _differ(a: Form, b: Form) -> bool:
    return (
        a.numbers != b.numbers
        or a.names != b.names
        or bool(a.proper - b.stems and b.proper - a.stems)
        or any(not is_reversed for is_reversed in _opposed_axes(a, b).values())
        or _has_negating_prefix(a.stems - b.stems, b.stems - a.stems)
        or bool(_exchanged_kinds(a, b) & {"number", "name"})
    )


def _flips(a: Form, b: Form) -> int:
    """Count the negations, sides and orders in which one text reverses the other."""
    axes = _opposed_axes(a, b)
    has_other_order = not axes and bool(_exchanged_kinds(a, b))
    return (a.negated != b.negated) + len(axes) + has_other_order


def _opposed_axes(a: Form, b: Form) -> dict[str, bool]:
    """Return the axes on which two texts take different sides.

    The value of an axis is True if one text reverses the other there. A text that takes a side is a
    different text from one without a side.
    """
    first, second = _sides_by_axis(a), _sides_by_axis(b)
    contrary = _contrary_axes(a, b)
    return {
        axis: binary and (axis in contrary or first[axis, binary].isdisjoint(second[axis, binary]))
        for axis, binary in first.keys() & second.keys()
        if first[axis, binary] != second[axis, binary] or (binary and axis in contrary)
    }


def _contrary_axes(a: Form, b: Form) -> set[str]:
    """Return the axes on which the texts take contrary sides at the same place."""
    first, second = (
        {(left, side.axis, right) for left, side, right in places if left or right}
        for places in (a.side_places - b.side_places, b.side_places - a.side_places)
    )
    return {axis for _, axis, _ in first & second}


def _sides_by_axis(form: Form) -> dict[tuple[str, bool], set[int]]:
    sides: dict[tuple[str, bool], set[int]] = defaultdict(set)
    for axis, side, binary in form.sides:
        sides[axis, binary].add(side)
    return sides


def _has_negating_prefix(first: frozenset[str], second: frozenset[str]) -> bool:
    """Return True if a word with a prefix such as `un` is in the other text without it."""
    return any(
        f"{prefix}{x}" in second or (x.startswith(prefix) and x[len(prefix) :] in second)
        for x in first
        for prefix in _NEGATING_PREFIXES
    )


def _exchanged_kinds(a: Form, b: Form) -> set[str]:
    """Return the kinds of marks, such as negations, that two texts attach to exchanged things."""
    first, second = dict(a.scopes), dict(b.scopes)
    all_first, all_second = _content_keys(a), _content_keys(b)
    return {
        mark.kind
        for mark in _exchangeable(first) & _exchangeable(second)
        if (first[mark] - second[mark]) & all_second and (second[mark] - first[mark]) & all_first
    }


def _exchangeable(marks: Iterable[Item]) -> set[Item]:
    """Return the marks that another mark of their group can replace."""
    by_group = Counter(mark.group for mark in marks)
    return {mark for mark in marks if by_group[mark.group] > 1 or mark.kind in _ALWAYS_EXCHANGEABLE}


def _content_keys(form: Form) -> frozenset[str]:
    keys: frozenset[str] = form.stems | form.numbers | form.names
    return keys.union(*(scope for _, scope in form.scopes))


# ── many texts ───────────────────────────────────────────────────────────────────────


class FormIndex:
    """An index of forms. They have the numbers 0, 1, ... in the order of their addition."""

    def __init__(self) -> None:
        self._forms: list[Form] = []
        self._holders: dict[_Key, list[int]] = defaultdict(list)

    def add_form(self, form: Form) -> int:
        """Add a form and return its number."""
        number = len(self._forms)
        self._forms.append(form)
        for key, _ in _key_weights(form):
            self._holders[key].append(number)
        return number

    def same(self, form: Form) -> list[int]:
        """Return the numbers of the forms that say the same, in order."""
        return [number for number in self.candidates(form) if is_same(form, self._forms[number])]

    def candidates(self, form: Form) -> list[int]:
        """Return the numbers of the forms that share enough words, numbers and names."""
        min_weight = SAME_LIKENESS * _total_weight(form)
        shared: dict[int, int] = defaultdict(int)
        for key, key_weight in _key_weights(form):
            for number in self._holders.get(key, ()):
                shared[number] += key_weight
        matches = ((number, total) for number, total in shared.items() if total >= min_weight)
        return sorted(
            number
            for number, total in matches
            if total >= SAME_LIKENESS * _total_weight(self._forms[number])
        )


def _key_weights(form: Form) -> Iterator[tuple[_Key, int]]:
    for stem in form.stems:
        yield (form.numbers, form.names, stem), weight(stem)
    marks = len(form.numbers) + len(form.names)
    if marks or not form.stems:
        yield (form.numbers, form.names, ""), MARK_WEIGHT * marks


def _total_weight(form: Form) -> int:
    return form.weight + MARK_WEIGHT * (len(form.numbers) + len(form.names))


def lookup_keys(form: Form) -> list[str]:
    """Return search keys. Two forms that say the same or the opposite share at least one.

    The keys are the heaviest stems, as many as two equal forms cannot both lack. Each key includes
    the numbers and names.
    """
    marks = ",".join([*sorted(form.numbers), "|", *sorted(form.names)])
    remaining_weight, keys = _total_weight(form), list[str]()
    min_weight = SAME_LIKENESS * remaining_weight
    mark_weight = MARK_WEIGHT * (len(form.numbers) + len(form.names))
    stems = sorted(
        ((weight(stem), stem) for stem in form.stems), key=lambda pair: (-pair[0], pair[1])
    )
    for key_weight, stem in [(mark_weight, "")] * bool(mark_weight or not stems) + stems:
        if remaining_weight < min_weight:
            break
        keys.append(f"{stem} {marks}")
        remaining_weight -= key_weight
    return keys


def group_same(forms: Sequence[Form]) -> list[list[int]]:
    """Group the positions of forms that say the same, directly or through others.

    Each group is sorted, and the groups are sorted by their first position.
    """
    positions_by_form: dict[Form, list[int]] = defaultdict(list)
    for position, form in enumerate(forms):
        positions_by_form[form].append(position)
    distinct_forms, positions = list(positions_by_form), list(positions_by_form.values())
    index, sets = FormIndex(), DisjointSets(len(positions))
    for number, form in enumerate(distinct_forms):
        for candidate in index.candidates(form):
            are_joined = sets.find_set(number) == sets.find_set(candidate)
            if not are_joined and is_same(form, distinct_forms[candidate]):
                sets.union(candidate, number)
        index.add_form(form)
    groups = sets.sets(range(len(positions)))
    return sorted(sorted(n for number in group for n in positions[number]) for group in groups)

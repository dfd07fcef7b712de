"""When two texts say the same, and when the one says the opposite of the other.

Texts whose numbers, negations, sides or names differ never say the same, however alike they are.
Whether the rest is alike enough is a question of how much the words tell.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

from skillvault.model.english.rarity import weight
from skillvault.model.sameness.form import Form, Item
from skillvault.model.sameness.vocabulary import VERBS

SAME = 0.61  # likeness from which two texts say the same
MARK = 40  # what a number or a name weighs that both texts have

_TELLING = 28  # weight from which another word in its place makes another statement
_SPELLED = 4  # letters, at least, with which two spellings of a word begin
_PREFIXES = ("un", "dis", "non", "de", "in", "im", "ir", "mis", "anti", "under", "over")
_TWO_ENDED = frozenset({"relation", "negation"})


def is_same(a: Form, b: Form) -> bool:
    """Return True if two texts say the same."""
    return a == b or (_same_but_for_flips(a, b) and _flips(a, b) == 0)


def is_opposite(a: Form, b: Form) -> bool:
    """Whether one text says the opposite of the other: the same but for what turns it round.

    That is a negation, a side or an order; two of them undo each other. With another number or
    name a text is a different one, and no opposite; nor is one that does not say what is denied.
    """
    return (
        _same_but_for_flips(a, b)
        and _flips(a, b) % 2 == 1
        and (a.negated == b.negated or _is_said(*((a, b) if a.negated else (b, a))))
    )


def _is_said(denying: Form, other: Form) -> bool:
    """Whether one text says what the other denies."""
    for mark, scope in denying.scopes:
        if mark.kind == "negation":
            denied = scope & denying.stems
            said = sum(map(weight, denied & other.stems))
            return said >= SAME * sum(map(weight, denied))
    return True


def _same_but_for_flips(a: Form, b: Form) -> bool:
    return likeness(a, b) >= SAME and not _differ(a, b) and not _replaced(a, b)


def likeness(a: Form, b: Form) -> float:
    """How much of what two texts say both say, 0..1, by how much the words tell.

    What one says beyond the other counts in full, the lesser of the two by half. It does not look
    at what decides.
    """
    stems = sum(map(weight, a.stems & b.stems))
    shared = stems + MARK * (len(a.numbers & b.numbers) + len(a.names & b.names))
    first, second = a.weight - stems, b.weight - stems
    whole = shared + max(first, second) + min(first, second) / 2
    return shared / whole if whole else 1.0


def _replaced(a: Form, b: Form) -> bool:
    """Return True if a verb or a telling word of one stands where the other has another."""
    return any(
        place == other and not (x in b.stems and y in a.stems) and not _is_spelling(x, y)
        for place, x in _tellings(a, b)
        for other, y in _tellings(b, a)
    )


def _is_spelling(x: str, y: str) -> bool:
    """Return True for two spellings of a word: the shorter differs in its last letter at most."""
    letters = max(_SPELLED, min(len(x), len(y)) - 1)
    return x[:letters] == y[:letters]


def _tellings(a: Form, b: Form) -> list[tuple[tuple[str, str], str]]:
    """The verbs and telling words of one text that the other lacks, and what stands beside them.

    A side, too, that the other takes elsewhere.
    """
    return [
        ((before, after), stem)
        for before, stem, after in a.places
        if (stem not in b.stems or stem.startswith("~"))
        and (before or after)
        and (weight(stem) >= _TELLING or stem in VERBS)
    ]


def _differ(a: Form, b: Form) -> bool:
    """Whether two texts speak of other numbers or things."""
    return (
        a.numbers != b.numbers
        or a.names != b.names
        or bool(a.proper - b.stems and b.proper - a.stems)
        or any(not is_turned for is_turned in _axes(a, b).values())
        or _prefixed(a.stems - b.stems, b.stems - a.stems)
        or bool(_exchanged(a, b) & {"number", "name"})
    )


def _flips(a: Form, b: Form) -> int:
    """Count how often one text turns round what the other says."""
    axes = _axes(a, b)
    order = not axes and bool(_exchanged(a, b))
    return (a.negated != b.negated) + len(axes) + order


def _axes(a: Form, b: Form) -> dict[str, bool]:
    """The axes that two texts share and on which they take different sides.

    True for those on which one text turns the other round: a side stands for its contrary. A side
    that one text takes beyond those of the other makes it another text.
    """
    first, second = _by_axis(a), _by_axis(b)
    contrary = _contrary(a, b)
    return {
        axis: binary and (axis in contrary or first[axis, binary].isdisjoint(second[axis, binary]))
        for axis, binary in first.keys() & second.keys()
        if first[axis, binary] != second[axis, binary] or (binary and axis in contrary)
    }


def _contrary(a: Form, b: Form) -> set[str]:
    """The axes of which a side stands in one text where its contrary does in the other."""
    return {
        side.axis
        for before, side, after in a.side_places - b.side_places
        for place, other, behind in b.side_places - a.side_places
        if (before, side.axis, after) == (place, other.axis, behind) and (before or after)
    }


def _by_axis(form: Form) -> dict[tuple[str, bool], set[int]]:
    sides: dict[tuple[str, bool], set[int]] = defaultdict(set)
    for axis, side, binary in form.sides:
        sides[axis, binary].add(side)
    return sides


def _prefixed(first: frozenset[str], second: frozenset[str]) -> bool:
    """Whether a word of one is a word of the other behind `un` or its like."""
    return any(
        f"{prefix}{x}" in second or (x.startswith(prefix) and x[len(prefix) :] in second)
        for x in first
        for prefix in _PREFIXES
    )


def _exchanged(a: Form, b: Form) -> set[str]:
    """The kinds of marks of which two texts, for all that they share, say exchanged things."""
    first, second = dict(a.scopes), dict(b.scopes)
    all_first, all_second = _keys(a), _keys(b)
    return {
        mark.kind
        for mark in _exchangeable(first) & _exchangeable(second)
        if (first[mark] - second[mark]) & all_second and (second[mark] - first[mark]) & all_first
    }


def _exchangeable(marks: Iterable[Item]) -> set[Item]:
    """The marks beside another of their group, for it takes two; a relation has two ends."""
    by_group = Counter(mark.group for mark in marks)
    return {mark for mark in marks if by_group[mark.group] > 1 or mark.kind in _TWO_ENDED}


def _keys(form: Form) -> frozenset[str]:
    """The keys of all that a text says."""
    keys: frozenset[str] = form.stems | form.numbers | form.names
    return keys.union(*(scope for _, scope in form.scopes))

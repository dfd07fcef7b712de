"""Reduce a text to its form: its content, without the order and the inflection of words.

A form has the stems, and the parts that make a text different even if the stems are equal: numbers
with units, negations, sides of opposites, names. Texts with the same form say the same.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from msgspec import Struct
from Stemmer import Stemmer

from skillvault.model.english import base_form, weight
from skillvault.model.lazy import regex
from skillvault.model.sameness import vocabulary
from skillvault.model.sameness.vocabulary import Side
from skillvault.model.text.text import UNSPACED

Kind = Literal["stem", "number", "name", "side", "negation", "relation", "break"]


class Item(NamedTuple):
    """A part of a text that counts in a comparison."""

    kind: Kind
    key: str
    side: Side | None = None

    @property
    def group(self) -> str:
        """The group in which items can be exchanged: numbers, names, or the sides of one axis."""
        return self.side.axis if self.side else self.kind


_NEGATION = Item("negation", "not")


class Form(Struct, frozen=True, cache_hash=True):
    """The content of a text, without the order of its words."""

    stems: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]
    sides: frozenset[Side]
    negated: bool
    proper: frozenset[str]  # the stems that are written with a capital
    weight: int  # of all stems
    scopes: frozenset[tuple[Item, frozenset[str]]]  # the other keys in the clauses of each mark
    places: frozenset[tuple[str, str, str]]  # (left, stem, right): each word between its neighbours
    side_places: frozenset[
        tuple[str, Side, str]
    ]  # (left, side, right) of each word that takes a side


def normal_form(text: str, omit: Collection[str] = (), *, figures: bool = True) -> Form:
    """Return the form of a text without the literal values in `omit`.

    Without `figures`, the numbers of the text are left out, too.
    """
    omitted = {item for value in omit for item in _items(value)}
    items = [item for item in _items(text) if item not in omitted]
    if not figures:
        items = [item for item in items if item.kind != "number"]
    keys: dict[Kind, set[str]] = defaultdict(set)
    for item in items:
        keys[item.kind].add(item.key)
    stems = frozenset(keys["stem"])
    return Form(
        stems=stems,
        numbers=frozenset(keys["number"]),
        names=frozenset(keys["name"]),
        sides=frozenset(item.side for item in items if item.side),
        negated=items.count(_NEGATION) % 2 == 1,
        proper=stems & _capitalized_stems(text),
        weight=sum(map(weight, stems)),
        scopes=_scopes(items),
        places=_places(items),
        side_places=_side_places(items),
    )


def _capitalized_stems(text: str) -> frozenset[str]:
    """Return the stems of capitalized words within a sentence; none if the text is a title."""
    initials = _INITIAL.findall(text)
    if sum(initial.isupper() for initial in initials) > _MIN_TITLE_SHARE * len(initials):
        return frozenset()
    items = (item for word in _CAPITALIZED_WORD.findall(text) for item in _word_items(word))
    return frozenset(item.key for item in items if item.kind == "stem")


_MIN_TITLE_SHARE = 0.6  # of words with a capital
_INITIAL = regex(r"\b[^\W\d_]")
_CAPITALIZED_WORD = regex(r"(?<![.!?:\n] )(?<=\s)[\"'(]?([A-Z][\w'-]*)")


def _scopes(items: Iterable[Item]) -> frozenset[tuple[Item, frozenset[str]]]:
    """Return each mark with the other keys in its clauses."""
    scopes: dict[Item, set[str]] = defaultdict(set)
    for clause in _clauses(items):
        keys = {item.key for item in clause if item.kind not in ("negation", "relation")}
        for mark in clause:
            if mark.kind != "stem":
                scopes[mark] |= keys - {mark.key}
    return frozenset((mark, frozenset(keys)) for mark, keys in scopes.items())


def _places(items: Iterable[Item]) -> frozenset[tuple[str, str, str]]:
    """Return (left, stem, right) for each stem, with "" where a clause ends.

    The head of a clause is also a neighbour of its object, across any relation between them.
    """
    words = [item for item in items if item.kind != "side"]
    neighbours = _triples([item for item in words if item.kind != "relation"])
    return frozenset(_triples(words)) | {triple for triple in neighbours if not triple[0]}


def _triples(words: Sequence[Item]) -> list[tuple[str, str, str]]:
    keys = ["", *(word.key for word in words), ""]
    triples = zip(keys, words, keys[2:], strict=False)
    return [(left, word.key, right) for left, word, right in triples if word.kind == "stem"]


def _side_places(items: Iterable[Item]) -> frozenset[tuple[str, Side, str]]:
    """Return (left, side, right) for each side, with "" where a clause ends."""
    words, places = [""], list[tuple[int, Side]]()
    for item in items:
        if item.side:
            places.append((len(words), item.side))
        else:
            words.append(item.key)
    words += ["", ""]
    return frozenset((words[i - 1], side, words[i + 1]) for i, side in places)


def _clauses(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield the clauses of a sentence. A break ends a clause, and a relation begins one."""
    clause: list[Item] = []
    for item in items:
        if item.kind in ("break", "relation"):
            yield clause
            clause = []
        if item.kind != "break":
            clause.append(item)
    yield clause


def _side_item(side: Side) -> Item:
    return Item("side", f"{side.axis}:{side.side}:{side.binary:d}", side)


_REWRITES = [
    (regex(pattern, re.IGNORECASE), plain)
    for pattern, plain in (
        (r"[’ʼ]", "'"),
        (r"(?<![\w.])[-−]([$€]\s?)?(?=\d)", r"\1-"),  # the sign of `−5` and of `-$5`
        (r"\bcan(?:no|')t\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"n't\b", " not"),
        (r"\b(do|does|did|is|are|was|were|would|should|could|has|have)nt\b", r"\1 not"),
        (r"\bno longer\b", "not"),
        (r"\bprior to\b", "before"),
        (r"\b(?:rather than|in place of)\b", "instead of"),
        (r"\btr(?:y|ies|ied|ying) again\b", "retry"),
        (r"\b(?:one|a single) time\b", "once"),
        (r"\b((?:scal|opt|zoom|phas|fad|swap|fan)\w*) (in|out)\b", r"\1 \2ward"),
        (r"\b((?:roll|scroll|step|mov|fall)\w*) back\b", r"\1 backward"),
        (r"\bgo(?:es)? through(?=[^\w\s]|$)", "succeed"),
        (r"\bpa(?:ys|id) off\b", "succeed"),
        (r"\btwice\b", "2 times"),
        (r"\bthrice\b", "3 times"),
        (r"\bno\.? ?(?=\d)", "number "),
        (r"\bhalf an? (?=hour|minute|day)", "0.5 "),
        (rf"\bone (?=(?:{'|'.join(u for u in vocabulary.UNITS if len(u) > 3)})\b)", "1 "),
    )
]
_COUNTRY = regex(r"\bU\.S\.(?:A\.)?|\bUSA?\b")  # no unit, and no pronoun
_NUMERAL = regex(rf"\b(?:{'|'.join(vocabulary.NUMERALS)})\b", re.IGNORECASE)
_UNITS = "|".join(
    re.escape(unit)
    for unit in sorted(vocabulary.UNITS, key=len, reverse=True)
    if unit not in vocabulary.SHORT_UNITS
)
_TOKEN = regex(
    rf"""
    (?P<name>(?<!\S)--?[a-z][\w-]*|\b\d{{4}}s\b|\b\d{{4}}-\d\d(?:-\d\d)?\b|`[^`\s]+`)
  | (?P<time>\b\d\d?:\d\d(?::\d\d)?\b)
  | (?P<currency>[$€]\s?)?(?P<value>(?<![\w.])-?\d[\d,]*(?:\.\d+)?)
    (?:[ -]?(?P<unit>{_UNITS})(?!\w)|(?P<short>{"|".join(vocabulary.SHORT_UNITS)})(?!\w)|(?!\.?\w))
  | (?P<word>[^\W{UNSPACED}]+(?:[./:'–-]+[^\W{UNSPACED}]+)*)
  | (?P<unspaced>[{UNSPACED}]+)
  | (?P<break>[,;.:!?()\n—]|\s-\s)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_CODE = regex(r"\d|_|/|[a-z]\.[a-z]|[a-z][A-Z]")


def _items(text: str) -> Sequence[Item]:
    """Return the items of a text in order. The items of short texts are cached."""
    return _cached_items(text) if len(text) <= _MAX_CACHED else tuple(_find_items(text))


_MAX_CACHED = 1000  # characters


@lru_cache(maxsize=1 << 12)
def _cached_items(text: str) -> tuple[Item, ...]:
    return tuple(_find_items(text))


def _find_items(text: str) -> Iterator[Item]:
    text = _COUNTRY.sub("America", text)
    for pattern, replacement in _REWRITES:
        text = pattern.sub(replacement, text)
    text = _NUMERAL.sub(lambda word: str(vocabulary.NUMERALS[word[0].lower()]), text)
    for token in _TOKEN.finditer(text):
        if token["word"]:
            yield from _word_items(token["word"])
        elif token["unspaced"]:
            yield from _unspaced_items(token["unspaced"])
        elif token["break"]:
            yield Item("break", "")
        else:
            yield _exact_item(token)


def _exact_item(token: re.Match[str]) -> Item:
    """Return a number with its unit, a time, or a name that is written as code."""
    if token["name"]:
        return Item("name", token[0].strip("`").lower())
    if token["time"]:
        return Item("number", token[0])
    measure, factor = vocabulary.UNITS.get((token["unit"] or token["short"] or "").lower(), ("", 1))
    if token["currency"]:
        measure = token["currency"].strip()
    amount = float(token["value"].replace(",", "")) * factor
    return Item("number", f"{amount:.12g} {measure}".strip())


@lru_cache(maxsize=1 << 16)
def _word_items(word: str) -> tuple[Item, ...]:
    word = _POSSESSIVE.sub("", word)
    if _is_name(word):
        return (Item("name", word.lower()),)
    parts = (part.partition("'")[0] for part in _JOINT.split(word.lower()))
    return tuple(item for part in parts for item in _part_items(part))


_POSSESSIVE = regex(r"'s?$")
_JOINT = regex(r"[-–./:]")


def _is_name(word: str) -> bool:
    lower = word.lower()
    is_upper = len(word) > 1 and word.isupper() and word.isascii()
    is_code = _CODE.search(word) is not None
    return (is_upper or is_code or lower in vocabulary.NAMES) and lower not in vocabulary.GENERAL


def _part_items(word: str) -> Iterator[Item]:
    """Yield the negation, relation, sides and stem of a part of a word."""
    if word in vocabulary.NEGATIONS:
        yield _NEGATION
        return
    if word in vocabulary.RELATIONS:
        yield Item("relation", word)
    if word in vocabulary.CONJUNCTIONS:
        yield Item("break", "")
    sides = _sides(word)
    yield from map(_side_item, sides)
    if word and word not in _SILENT_WORDS:
        axes = [side.axis for side in sides if side.binary]
        root = stem(word)
        yield Item("stem", f"~{axes[0]}" if axes else vocabulary.SYNONYMS.get(root, root))


_SILENT_WORDS = vocabulary.SILENT | vocabulary.RELATIONS | vocabulary.PARTICLES


def _sides(word: str) -> tuple[Side, ...]:
    if word in vocabulary.SILENT - vocabulary.PARTICLES:
        return ()
    opposites = _opposites().get(stem(word), ())
    return vocabulary.ALTERNATIVES.get(word, ()) + opposites


@lru_cache(maxsize=1)
def _opposites() -> dict[str, tuple[Side, ...]]:
    return {stem(word): sides for word, sides in vocabulary.OPPOSITES.items()}


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the part that a word shares with its other forms, such as `retri` for `retries`.

    The word must be in lower case.
    """
    # One stemmer for each call: it keeps the word that it works on, and threads would share it.
    stemmed: str = Stemmer("english", 0).stemWord(base_form(word))
    return stemmed


def _unspaced_items(text: str) -> Iterator[Item]:
    """Yield the negations, sides and character bigrams of a text without spaces."""
    for _ in vocabulary.UNSPACED_NEGATION.findall(text):
        yield _NEGATION
    text = vocabulary.UNSPACED_NEGATION.sub(" ", text)
    for phrase, side in vocabulary.UNSPACED_SIDES.items():
        if phrase in text:
            yield _side_item(side)
            text = text.replace(phrase, " ")
    for part in vocabulary.UNSPACED_SILENT.sub(" ", text).split():
        pairs = [part[i : i + 2] for i in range(len(part) - 1)]
        yield from (Item("stem", pair) for pair in pairs or [part])

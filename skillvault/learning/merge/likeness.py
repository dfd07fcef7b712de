"""Which skills say the same: what their statements share, of the one that says less.

A word counts if it stands in a statement that has its like in the other skill. What a
skill is about (targets, actions), figures, and the words in which every skill speaks of records
and results decide nothing.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from msgspec import Struct

from skillvault.markdown import statements
from skillvault.text import STOP_WORDS, slug, words

RELATED = 1 / 3  # Jaccard index above which one statement is the like of another

_EDGE = ".,;:!?()[]{}\"'“”‘’`*_|<>…。，；：！？、"
_HOUR = re.compile(r"\d\d:00")  # the one figure that is a condition: `between 18:00 and 24:00`
_RECORD = re.compile(r"(?:size )?at entry:", re.IGNORECASE)  # the outcome's values, listed
_LETTER = re.compile(r"[^\W\d_]")
# Said of many a decision, whatever it was about, so that it tells none from another.
_OF_RECORDS = frozenset(
    """
    alternative beyond carry case cases confidence days decision decisions ended entry evidence
    exception failed failure failures figure gain gains ground grounds guess hold holds hours loss
    losses minutes named names others outcome outcomes reasoning recorded rests result results
    risk score seconds succeeded success successes threshold weigh weighed
    """.split()
)


class Saying(Struct, frozen=True):
    """What a skill says, for comparing: the telling words of each statement, and of all."""

    statements: tuple[frozenset[str], ...]
    words: frozenset[str]


@lru_cache(maxsize=1024)
def saying(body: str, about: frozenset[str] = frozenset()) -> Saying:
    """What a skill's text says; `about` are the slugs of what it is about."""
    kept_statements = (statement for statement in statements(body) if not _RECORD.match(statement))
    telling = [_telling(statement, about) for statement in kept_statements]
    distinct = tuple(dict.fromkeys(filter(None, telling)))
    return Saying(distinct, frozenset().union(*distinct))


def _telling(statement: str, about: frozenset[str]) -> frozenset[str]:
    """The words of a statement that can tell it from another."""
    stripped = (word.strip(_EDGE) for word in words(statement))
    stripped = (word for word in stripped if len(word) > 3 or not word.isascii())
    usual = STOP_WORDS | _OF_RECORDS
    candidates = {
        w for w in stripped if w not in usual and (_LETTER.search(w) or _HOUR.fullmatch(w))
    }
    return frozenset(w for w in candidates if slug(w) not in about)


def likeness(a: Saying, b: Saying) -> float:
    """The share of the words of the one that says less which both have in like statements.

    0 if one of them says nothing.
    """
    less, more = _by_length(a, b)
    pairs = ((statement, other) for statement in less.statements for other in more.statements)
    shared = (statement & other for statement, other in pairs if _related(statement, other))
    return len(frozenset().union(*shared)) / len(less.words) if less.words else 0.0


def _by_length(a: Saying, b: Saying) -> tuple[Saying, Saying]:
    """The one that says less, and the other."""
    return (a, b) if len(a.words) <= len(b.words) else (b, a)


def _related(statement: frozenset[str], other: frozenset[str]) -> bool:
    both = len(statement & other)
    return both > RELATED * (len(statement) + len(other) - both)


class Likenesses:
    """Sayings in the order in which they were added, numbered from 0; exact, and not all pairs.

    Each is found by its rarer words alone: of two that are more alike than `above`, one of the
    rarer words of the one that says less stands in the other too. Which statements are related
    is found out in the same way, once for each wording. `corpus` are all that will be asked for.
    """

    def __init__(self, above: float, corpus: Iterable[Saying]) -> None:
        self.above = above
        self._rarity = Counter(word for saying in corpus for word in saying.words)
        self._wordings = _Wordings(self._rarest)
        self._sayings: list[tuple[int, frozenset[int]]] = []  # how many words, which wordings
        self._holders: dict[str, list[int]] = {}
        self._rare_in: dict[str, list[int]] = {}

    def add_saying(self, saying: Saying) -> int:
        """Take one in; its number."""
        number = len(self._sayings)
        self._sayings.append(self._known(saying))
        for word in saying.words:
            self._holders.setdefault(word, []).append(number)
        for word in self._rarest(saying.words, self.above):
            self._rare_in.setdefault(word, []).append(number)
        return number

    def like(self, saying: Saying) -> Iterator[tuple[int, float]]:
        """(number, likeness) of those more alike than `above`, found one after the other."""
        wordings = self._known(saying)
        compared: set[int] = set()
        rarest = frozenset(self._rarest(saying.words, self.above))
        for word in sorted(saying.words, key=self._order):
            for number in (self._holders if word in rarest else self._rare_in).get(word, ()):
                if number not in compared:
                    compared.add(number)
                    value = self._likeness(wordings, self._sayings[number])
                    if value > self.above:
                        yield number, value

    def _known(self, saying: Saying) -> tuple[int, frozenset[int]]:
        return len(saying.words), frozenset(map(self._wordings.number, saying.statements))

    def _likeness(self, a: tuple[int, frozenset[int]], b: tuple[int, frozenset[int]]) -> float:
        """What `likeness` says, by the wordings that are known to be related."""
        (words, less), (_, more) = (a, b) if a[0] <= b[0] else (b, a)
        related = self._wordings.related
        shared: set[str] = set()
        for wording in less:
            for other in related[wording] & more:
                shared |= self._wordings.texts[wording] & self._wordings.texts[other]
        return len(shared) / words

    def _rarest(self, words: frozenset[str], above: float) -> list[str]:
        """The rarest words, of which one must be shared for the rest to be enough."""
        ordered = sorted(words, key=self._order)
        return ordered[: len(ordered) - int(above * len(ordered))]

    def _order(self, word: str) -> tuple[int, str]:
        return self._rarity[word], word


class _Wordings:
    """Statements by their words, numbered, and which are related to which."""

    def __init__(self, rarest: Callable[[frozenset[str], float], list[str]]) -> None:
        self.texts: list[frozenset[str]] = []
        self.related: list[set[int]] = []
        self._rarest = rarest
        self._numbers: dict[frozenset[str], int] = {}
        self._holders: dict[str, list[int]] = {}

    def number(self, text: frozenset[str]) -> int:
        """The number of a wording; of a new one its relations are found out."""
        if text in self._numbers:
            return self._numbers[text]
        number = len(self.texts)
        rarest = self._rarest(text, RELATED)
        near = {other for word in rarest for other in self._holders.get(word, ())}
        related = {other for other in near if _related(text, self.texts[other])}
        for other in related:
            self.related[other].add(number)
        self._numbers[text] = number
        self.texts.append(text)
        self.related.append(related | {number})
        for word in rarest:
            self._holders.setdefault(word, []).append(number)
        return number

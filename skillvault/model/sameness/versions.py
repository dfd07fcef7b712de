"""Recognize versions of a statement: texts that differ in one value, such as a port or an owner.

The place of the value is called a slot. Statements about other subjects or slots, about single
events, and about one of several values are not versions. In doubt the answer is no.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from skillvault.model.lazy import regex
from skillvault.model.sameness import vocabulary
from skillvault.model.sameness.comparison import is_same
from skillvault.model.sameness.form import normal_form, stem
from skillvault.model.text.tables import read_sections
from skillvault.model.text.text import rule_key

_WORDS = {
    name: frozenset(text.split())
    for name, text in read_sections("skillvault.model.sameness", "versions.txt")
}
_NUMERALS = frozenset(vocabulary.NUMERALS) | {"one", "zero"}
_MAX_VALUE = 4  # words of a value
_MAX_NOUNS = 2  # nouns between a value and the word that it belongs to, as in `on port 8080`
_MAX_TAIL = 3  # words after a figure that say what it counts

_TOKEN = regex(r"\S+")
_OPENING = "\"'(`“«["
_CLOSING = ".,;:!?)\"'`”»]"
_PHRASE_END = regex(r"[.,;!?)]+[\"'”»]?$")
_FIGURE = regex(r"[+-]?[$€£]?\d[\d.,:]*(?:e[+-]?\d+)?[%a-z]{0,3}$", re.IGNORECASE)
_ADJECTIVE = regex(r"^un|(?:able|ible|ful|less|ous|ive|ing|ed|al|y|ic)$")
_PARTICIPLE = regex(r"(?:ed|en|wn|ne|pt|lt|nt|ld|ht|de|un|et|ut)$")
_PAST = regex(r"^[a-z]+[^e\W]ed$")
_POSSESSIVE = regex(r"['’]s?$")


class ValueChange(NamedTuple):
    """The values of a slot in two versions of a statement."""

    older: str
    newer: str


class _Token(NamedTuple):
    text: str
    key: str  # equal for forms of a word
    low: str
    ends_phrase: bool

    @property
    def is_figure(self) -> bool:
        return self.low in _NUMERALS or _FIGURE.match(self.text) is not None

    @property
    def is_unit(self) -> bool:
        return self.low in vocabulary.UNITS

    @property
    def is_name(self) -> bool:
        return not self.is_figure and re.search(r"[A-Z\d_/#@.:-]", self.text) is not None

    @property
    def is_verb(self) -> bool:
        """True for a word that may be a verb: an inflected or a common one."""
        root = stem(self.low)
        is_common = root in vocabulary.VERBS or vocabulary.SYNONYMS.get(root) in vocabulary.VERBS
        return is_common or self.low in _WORDS["auxiliaries"] or self.low.endswith("s")

    def has_class(self, word_class: str) -> bool:
        is_abbreviation = len(self.text) > 1 and self.text.isupper()
        return self.low in _WORDS[word_class] and not is_abbreviation


class _ValueSpan(NamedTuple):
    """A part of a sentence: the tokens from `start` up to `end`."""

    tokens: Sequence[_Token]
    start: int
    end: int

    @property
    def value(self) -> Sequence[_Token]:
        return self.tokens[self.start : self.end]

    @property
    def tail(self) -> Sequence[_Token]:
        """The tokens after the value, up to the end of its phrase."""
        if self.value[-1].ends_phrase:
            return ()
        return self.tokens[self.end :]

    @property
    def is_quantity(self) -> bool:
        is_measured = all(token.is_figure or token.is_unit for token in self.value)
        return is_measured and any(token.is_figure for token in self.value)


def is_copy(text: str, other_text: str) -> bool:
    """Return True if two texts differ at most in case, white space and the final full stop."""
    return rule_key(text) == rule_key(other_text)


def find_value_change(older: str, newer: str) -> ValueChange | None:
    """Return the two values if both statements are about one slot, else None."""
    first, second = _read_tokens(older), _read_tokens(newer)
    if not (first and second) or _is_unstable(first) or _is_unstable(second):
        return None
    spans = _differing_spans(first, second)
    if spans is None:
        return _reworded_figure(older, newer, first, second)
    if all(map(_is_slot, spans)) and _are_alike(*spans):
        return _change(*spans)
    return None


def _change(older: _ValueSpan, newer: _ValueSpan) -> ValueChange:
    return ValueChange(*(" ".join(token.text for token in span.value) for span in (older, newer)))


def _read_tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    for match in _TOKEN.finditer(text):
        word = match[0].lstrip(_OPENING)
        core = word.rstrip(_CLOSING) or word
        low = core.lower().replace("’", "'")
        if low in _WORDS["fillers"]:
            continue
        key = stem(_POSSESSIVE.sub("", low)) if low[0].isalpha() else low
        if word.endswith(":"):
            tokens += [_Token(core, key, low, ends_phrase=False), _Token(":", ":", ":", False)]
        else:
            is_end = _PHRASE_END.search(word) is not None
            tokens.append(_Token(core, key, low, ends_phrase=is_end))
    return tokens


def _is_unstable(tokens: Sequence[_Token]) -> bool:
    """Return True for a text about an event, about one of several values, or with a denial."""
    for index, token in enumerate(tokens):
        is_one_of = token.low == "one" and any(t.low == "of" for t in tokens[index + 1 : index + 2])
        if token.has_class("unstable") or "n't" in token.low or is_one_of:
            return True
        is_past = token.has_class("past") or _PAST.search(token.text) is not None
        if is_past and not any(
            t.has_class("auxiliaries") for t in tokens[max(index - 2, 0) : index]
        ):
            return True
    return False


def _differing_spans(
    first: Sequence[_Token], second: Sequence[_Token]
) -> tuple[_ValueSpan, _ValueSpan] | None:
    """Return the only span in which two sentences differ, or None for several spans."""
    texts = [[t for t in tokens if not t.has_class("articles")] for tokens in (first, second)]
    start = 0
    shorter = min(map(len, texts))
    while start < shorter and texts[0][start].key == texts[1][start].key:
        start += 1
    end = 0
    while end < shorter - start and texts[0][-1 - end].key == texts[1][-1 - end].key:
        end += 1
    regions = [text[start : len(text) - end] for text in texts]
    if not all(0 < len(region) <= _MAX_VALUE for region in regions):
        return None
    keys, other_keys = ({token.key for token in region} for region in regions)
    if keys & other_keys or any(_is_structural(t) for region in regions for t in region):
        return None
    older, newer = (
        _ValueSpan(tokens, _index(tokens, region[0]), _index(tokens, region[-1]) + 1)
        for tokens, region in zip((first, second), regions, strict=True)
    )
    return older, newer


def _index(tokens: Sequence[_Token], token: _Token) -> int:
    return next(index for index, candidate in enumerate(tokens) if candidate is token)


def _is_structural(token: _Token) -> bool:
    return any(
        token.has_class(table) for table in ("copulas", "prepositions", "scopes", "articles")
    ) or token.low in vocabulary.CONJUNCTIONS | {"of"}


# ── the kind of a value ──────────────────────────────────────────────────────────────


def _are_alike(older: _ValueSpan, newer: _ValueSpan) -> bool:
    kinds = [_kind(span) for span in (older, newer)]
    if "mixed" in kinds:
        return False
    return kinds[0] == kinds[1] or (
        set(kinds) == {"name", "word"} and all(_is_named_slot(span) for span in (older, newer))
    )


def _kind(span: _ValueSpan) -> str:
    """Return `name`, `date`, `word`, `mixed` or `figure`, or with a unit `figure time`."""
    if span.is_quantity:
        units = [token.low for token in (*span.value, *span.tail[:1]) if token.is_unit]
        return f"figure {vocabulary.UNITS[units[0]][0]}" if units else "figure"
    words = [t for t in span.value if not (t.is_name or t.is_figure)]
    if not words:
        return "date" if any(t.has_class("calendar") for t in span.value) else "name"
    return "word" if len(words) == len(span.value) else "mixed"


def _is_named_slot(span: _ValueSpan) -> bool:
    """Return True if the text names the slot, as in `The package manager of the shop is`."""
    marker = span.tokens[span.start - 1] if span.start else None
    return marker is not None and marker.has_class("copulas")


# ── the place of a value ─────────────────────────────────────────────────────────────


def _is_slot(span: _ValueSpan) -> bool:
    if span.start == 0 or (span.start == 1 and span.tokens[0].has_class("articles")):
        return _is_value_first(span)
    marker, nouns = _find_marker(span)
    if marker < 1 or span.tokens[0].has_class("pronouns"):
        is_order = marker == 0 and span.tokens[0].has_class("use")  # `Use 4 spaces`
        return is_order and span.is_quantity and _ends(span)
    token = span.tokens[marker]
    if token.has_class("copulas"):
        return _is_predicate(span, marker)
    is_time = span.is_quantity or _kind(span) == "date"
    if token.has_class("prepositions") or (token.has_class("scopes") and is_time):
        return _is_phrase(span, marker, nouns)
    return _is_employer(span, marker) if token.low == "for" else _is_object(span, marker, nouns)


def _is_employer(span: _ValueSpan, marker: int) -> bool:
    """Return True for `Sam works for Globex`, where `for` is not a purpose."""
    match _content(span.tokens[:marker]):
        case [person, verb]:
            return person.is_name and verb.low.endswith("s") and _ends(span)
        case _:
            return False


def _find_marker(span: _ValueSpan) -> tuple[int, int]:
    """Return (index of the word that introduces a value, number of nouns between them)."""
    index, nouns = span.start - 1, 0
    while index >= 0 and nouns <= _MAX_NOUNS and not _is_marker(span, index):
        nouns += not span.tokens[index].has_class("articles")
        index -= 1
    return index, nouns


def _is_marker(span: _ValueSpan, index: int) -> bool:
    token = span.tokens[index]
    if token.has_class("articles"):
        return False
    if _is_structural(token) or token.has_class("auxiliaries") or token.low == ":":
        return True
    return token.is_verb and not (index and span.tokens[index - 1].has_class("articles"))


def _content(tokens: Sequence[_Token]) -> list[_Token]:
    return [token for token in tokens if _is_content(token)]


def _is_content(token: _Token) -> bool:
    return not (_is_structural(token) or token.has_class("auxiliaries") or token.is_figure)


def _ends(span: _ValueSpan) -> bool:
    """Return True if a phrase ends with the value, or with the noun that its number counts."""
    tail = span.tail
    is_version = span.start > 1 and span.tokens[span.start - 1].is_name
    if span.is_quantity and not is_version:
        size = 0
        while size < len(tail) and not _is_structural(tail[size]):
            size += 1
        if size > _MAX_TAIL or any(t.is_figure or t.has_class("copulas") for t in tail[:size]):
            return False
        tail = tail[size:]
        return not tail or tail[0].low == "of" or _is_structural(tail[0])
    if span.is_quantity and tail and tail[0].is_unit:
        tail = tail[1:]
    return not tail or (
        _is_structural(tail[0]) and not tail[0].has_class("copulas") and tail[0].low != "of"
    )


def _is_inflected(token: _Token) -> bool:
    return token.text.islower() and token.low.endswith("s") and not token.has_class("articles")


def _has_article(span: _ValueSpan, marker: int, table: str) -> bool:
    return any(token.has_class(table) for token in span.tokens[marker + 1 : span.start])


def _is_predicate(span: _ValueSpan, marker: int) -> bool:
    """Return True for a value after `is`, as in `The owner of billing is Maria`."""
    is_one_of_many = any(t.has_class("indefinite") for t in span.tokens) and not span.is_quantity
    if not _ends(span) or is_one_of_many:
        return False
    if _kind(span) != "word":
        return True
    subject = _content(span.tokens[:marker])
    is_person = (
        len(subject) == 1 and subject[0].is_name and not span.tokens[0].has_class("articles")
    )
    is_adjective = any(_ADJECTIVE.search(token.low) for token in span.value)
    return not (is_person or is_adjective)


def _is_phrase(span: _ValueSpan, marker: int, nouns: int) -> bool:
    """Return True for a value after a preposition, as in `The build runs on the runner Mistral`."""
    clause = span.tokens[:marker]
    if len(_content(clause)) + any(t.has_class("auxiliaries") for t in clause) < 2 or not _ends(
        span
    ):
        return False
    is_adjective = (
        len(clause) > 1
        and clause[-2].has_class("copulas")
        and not _PARTICIPLE.search(clause[-1].low)
    )
    if (
        is_adjective
        or clause[0].has_class("use")
        or clause[-1].has_class("several")
        or _has_article(span, marker, "indefinite")
    ):
        return False
    is_of_several = len(clause) > 2 and all(map(_is_inflected, clause[-2:]))
    if is_of_several and not (nouns and _has_article(span, marker, "definite")):
        return False  # one of several: `Anna handles tickets from Acme`
    if _kind(span) == "word":
        takes_sides = any(t.low in vocabulary.ALTERNATIVES for t in span.value)
        is_noun = _has_article(span, marker, "articles") and not nouns
        is_single = len(span.value) == 1 and not span.value[0].low.endswith("s")
        return is_single and not takes_sides and not is_noun
    return True


def _is_object(span: _ValueSpan, marker: int, nouns: int) -> bool:
    """Return True for an object that is unique: a quantity, a version, a named noun."""
    verb = span.tokens[marker]
    if not verb.is_verb or not (_ends(span) or span.tail):
        return False
    if verb.has_class("use") and span.tail and span.tail[0].low in ("for", "as"):
        return len(span.value) == 1
    if not _content(span.tokens[:marker]) or not _ends(span):
        return False
    if _has_article(span, marker, "definite"):
        return bool(nouns) and _kind(span) != "word"
    if not span.is_quantity:
        return False
    is_version = span.tokens[span.start - 1].is_name
    return not nouns or is_version or verb.has_class("auxiliaries")


def _is_value_first(span: _ValueSpan) -> bool:
    """Return True for a value at the start, as in `Maria owns X` or `Two approvals are needed`."""
    if not span.tail:
        return False
    first, *others = span.tail
    if span.is_quantity:
        return bool(others) and not _is_structural(first) and others[0].has_class("copulas")
    if first.has_class("copulas"):
        return bool(others) and (
            others[0].has_class("definite") or others[0].low.endswith(("'s", "sible"))
        )
    has_object = bool(others) and (others[0].has_class("articles") or not _is_structural(others[0]))
    return first.has_class("roles") and has_object and _kind(span) == "name"


# ── in other words ───────────────────────────────────────────────────────────────────


def _reworded_figure(
    older: str, newer: str, first: Sequence[_Token], second: Sequence[_Token]
) -> ValueChange | None:
    """Return the two numbers if the statements differ only in a number and in wording."""
    spans = [_last_figure(tokens) for tokens in (first, second)]
    if spans[0] is None or spans[1] is None or _kind(spans[0]) != _kind(spans[1]):
        return None
    if spans[0].value[0].key == spans[1].value[0].key:
        return None
    keys, other_keys = ({t.key for t in tokens if _is_content(t)} for tokens in (first, second))
    if keys - other_keys and other_keys - keys:
        return None
    forms = [normal_form(text, figures=False) for text in (older, newer)]
    return _change(spans[0], spans[1]) if is_same(*forms) else None


def _last_figure(tokens: Sequence[_Token]) -> _ValueSpan | None:
    indexes = [index for index, token in enumerate(tokens) if token.is_figure]
    if len(indexes) != 1 or indexes[0] < 2:
        return None
    span = _ValueSpan(tokens, indexes[0], indexes[0] + 1)
    return span if all(token.is_unit for token in span.tail) else None

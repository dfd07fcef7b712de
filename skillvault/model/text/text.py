"""Functions on texts: words, similarity, slugs, sentences, cuts, and numbers as text."""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache

from skillvault.model.lazy import regex
from skillvault.model.text.hidden_characters import remove_hidden
from skillvault.model.text.tables import read_sections

MAX_SLUG = 64
SLUG_ADVICE = "use lower-case letters, digits and single hyphens, at most 64"
ARROW = " → "  # from a deed to its result
LATER_WORKED = "later worked: "  # in the notes of a deed that failed
SLUG = regex(r"^(?=.{1,64}\Z)[a-z0-9]+(?:-[a-z0-9]+)*\Z")

# Scripts written without spaces: CJK ideographs, kana, Thai, Lao, Khmer, Myanmar.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fa1f"
)
_UNSPACED_RUN = regex(f"[{UNSPACED}]{{2,}}")
_SENTENCE_END = regex(
    r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)(?<!vs\.)(?<!cf\.)\s+(?=[^\s\da-z])|(?<=[。！？])|\n\s*\n|\n(?=\s*(?:[-*+]|\d+\.)\s)"
)
_STATEMENT_END = regex(r"[.!?][”\"')\]]*\s+(?=[^\s\da-z(])|[。！？][”」』）]*")
_BACK_REFERENCE = regex(
    r"^(?:it|its|this|that|these|those|they|them|he|she|then|so|otherwise|but|and|or|which)\b",
    re.IGNORECASE,
)
_ENDS_SENTENCE = regex(
    r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)(?<!vs\.)(?<!cf\.)(?=\s)|(?<=[。！？])"
)
_ENDS_CLAUSE = regex(r"(?<=\w)(?=[,;:]\s)|(?=\s[-—–]\s)")
_ENDS_WORD = regex(r"(?=\s)")
_TAG = regex(r"<(?=[/!?a-zA-Z])([^<>]*)>")
_TERM = regex(r"[^\W\d_][\w'-]{3,}")

_MIN_EXPONENTIAL = 1e15  # larger numbers are written with an exponent


def words(text: str) -> frozenset[str]:
    """Return the lower-case tokens that are longer than 3 characters.

    A run of two or more characters of a script without spaces gives its character bigrams instead,
    so that such texts can be compared at all. Punctuation is kept.
    """
    parts: set[str] = set()
    for token in text.lower().split():
        unspaced_runs = _UNSPACED_RUN.findall(token)
        for run in unspaced_runs:
            parts.update(run[i : i + 2] for i in range(len(run) - 1))
        spaced_words = _UNSPACED_RUN.sub(" ", token).split() if unspaced_runs else (token,)
        parts.update(part for part in spaced_words if len(part) > 3)
    return frozenset(parts)


def similarity(a: str, b: str) -> float:
    """Return the Jaccard index of the `words` of two texts, or 0.0 if both are empty."""
    return jaccard(words(a), words(b))


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the share of all words that are in both sets, or 0.0 without words."""
    union = len(a | b)
    return len(a & b) / union if union else 0.0


def theme(facts: Sequence[str]) -> str:
    """Return the first three tokens longer than 4 characters that at least 60 % of the facts share.

    They are joined by `-` in order of appearance. Without any, return `recurring-pattern`.
    Punctuation is kept, so this is not a slug.
    """
    counts: Counter[str] = Counter()
    for fact in facts:
        counts.update(list(dict.fromkeys(t for t in fact.lower().split() if len(t) > 4)))
    # Integer arithmetic: 0.6 * n as a float can land above a whole number.
    min_facts = -(-6 * len(facts) // 10)
    common_tokens = [token for token, count in counts.items() if count >= min_facts]
    return "-".join(common_tokens[:3]) or "recurring-pattern"


def slug(text: str, *, limit: int = MAX_SLUG) -> str:
    """Return a name for a path: `[a-z0-9]+(-[a-z0-9]+)*`, at most `limit` characters.

    Letters of other scripts that do not decompose to ASCII are dropped; a text with nothing left
    gives "". A cut falls between words if that keeps half of the limit.
    """
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    name = "-".join(re.findall(r"[a-z0-9]+", ascii_text.lower().replace("'", "")))
    if len(name) <= limit:
        return name
    cut = name[:limit]
    cut_at_word = cut.rpartition("-")[0] if name[limit] != "-" else cut
    return (cut_at_word if len(cut_at_word) * 2 >= limit else cut).rstrip("-")


def rule_key(text: str) -> str:
    """Return a key that is equal for rules that differ in case, white space or the final stop."""
    folded = " ".join(unicodedata.normalize("NFC", text).casefold().split())
    return folded.rstrip(".!;").rstrip()


def is_slug(text: str) -> bool:
    """Return True for a domain, id or skill name that may become part of a path."""
    return SLUG.match(text) is not None


def sentences(text: str) -> list[str]:
    """Return the sentences and list items of a text, with white space folded."""
    parts = (" ".join(part.split()) for part in _SENTENCE_END.split(text))
    return [part for part in parts if part]


@lru_cache(maxsize=2048)
def terms(text: str) -> frozenset[str]:
    """Return the words of 4 letters or more that are not stop words."""
    candidates = {t.strip("'-").lower() for t in _TERM.findall(text)}
    return frozenset(t for t in candidates - _word_lists()["stop"] if len(t) >= 4)


def can_end_name(word: str) -> bool:
    """Return False for a word such as `of` or `and`, which needs another word after it."""
    return word not in _word_lists()["open"]


@lru_cache(maxsize=1)
def _word_lists() -> dict[str, frozenset[str]]:
    """Return the lists of `words.txt` by name. Stop words are also in the list `open`."""
    sections = read_sections("skillvault.model.text", "words.txt")
    lists = {name: frozenset(text.split()) for name, text in sections}
    return lists | {"open": lists["open"] | {re.sub(r"\W", "", word) for word in lists["stop"]}}


def shorten(text: str, limit: int) -> str:
    """Fold white space and cut at a word to at most `limit` characters, with `…` if cut."""
    folded = " ".join(text.split())
    if len(folded) <= limit:
        return folded
    cut = folded[: limit - 1]
    head = cut.rpartition(" ")[0]
    return (head if len(head) * 2 >= limit else cut).rstrip(" ,;:.-") + "…"


_TOKEN_CHARACTERS = frozenset(string.ascii_letters + string.digits + "_-./+=~%:")


def cut_between_words(text: str, limit: int) -> str:
    """Cut a text to at most `limit` characters, but not inside a token.

    Half a token may be a secret that no rule recognizes.
    """
    end = limit
    if len(text) > limit:
        while end and text[end - 1] in _TOKEN_CHARACTERS:
            end -= 1
    return text[:end]


# Marks of structure at the beginning of a line, except the sign of a number.
_MARKERS = regex(r"^(?:[#>|*=]+\s*|[-+]+(?![-+.$€£¥]*\d)\s*|\d+[.)]\s+)+")


_MARKUP = r"`{3,}|~{3,}|-{3,}|(?<![\w)])\*\*|\*\*(?![\w(])"  # but 2**30 is a power


def flatten(text: str) -> str:
    """Return text as one line without structure of markdown or tags; punctuation is kept."""
    line = re.sub(_MARKUP, " ", " ".join(remove_hidden(text).split()))
    line = _TAG.sub(r"‹\1›", line).replace("<", "‹").strip()
    return " ".join(_MARKERS.sub("", line).split())


def make_inert(text: str, limit: int) -> str:
    """Return foreign text as one line that can be quoted, with straight quotation marks."""
    return shorten(flatten(text).translate(str.maketrans("“”", '""')), limit)


def whole_sentences(text: str, limit: int) -> str:
    """Return as many whole sentences of foreign text as fit, else clauses or words."""
    return cut_at_clause(make_inert(text, len(text) + 1), limit)


def cut_at_clause(line: str, limit: int, min_length: int = 0) -> str:
    """Return as many sentences of a line as fit, or else clauses or words.

    Sentences or clauses that end before `min_length` are too short to represent the line.
    """
    for pattern in (_ENDS_SENTENCE, _ENDS_CLAUSE, _ENDS_WORD):
        ends = [match.start() for match in pattern.finditer(line, min_length, limit + 1)]
        if len(line) <= limit or ends:
            return line if len(line) <= limit else line[: ends[-1]].rstrip(" ,;:—-")
    return line[:limit]


def first_sentences(text: str, limit: int) -> str:
    """Return as many of the first sentences as fit, or else the first words."""
    beginning = ""
    for sentence in split_prose(text):
        longer_beginning = f"{beginning} {sentence}".strip()
        if len(longer_beginning) > limit:
            break
        beginning = longer_beginning
    return beginning or shorten(text, limit)


def count_tokens(text: str) -> int:
    """Estimate the tokens of a text: one for 4 ASCII characters, one for each other character."""
    ascii_count = len(text.encode("ascii", "ignore"))
    return len(text) - ascii_count + -(-ascii_count // 4)


def trim_to_tokens(text: str, limit: int) -> str:
    """Fold white space and cut at a word to at most `limit` tokens, with `…` if cut."""
    size = len(text)
    while size > 1 and count_tokens(shorten(text, size)) > limit:
        size = size * 7 // 8
    return shorten(text, size)


def split_prose(paragraph: str) -> Iterator[str]:
    """Yield the sentences of a paragraph, each together with sentences that refer back to it.

    A quotation is not split, and an answer is not split from its question.
    """
    text, start, parts = " ".join(paragraph.split()), 0, list[str]()
    for match in _STATEMENT_END.finditer(text):
        part = text[start : match.end()]
        if part.count("“") == part.count("”"):
            parts.append(part.strip())
            start = match.end()
    sentence = ""
    for part in [*parts, text[start:].strip()]:
        if sentence and not (_BACK_REFERENCE.match(part) or sentence.endswith(("?", "？"))):
            yield sentence
            sentence = part
        else:
            sentence = f"{sentence} {part}".strip()
    yield sentence


def count_of(k: int, n: int) -> str:
    """Format a share as `3 of 7`."""
    return f"{k} of {n}"


def pluralize(count: int, noun: str) -> str:
    """Format a count with its noun: `1 outcome`, `1,200 outcomes`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def format_number(value: float) -> str:
    """Format a number with six digits and without an exponent."""
    return f"{Decimal(f'{value:.6g}'):f}" if abs(value) < _MIN_EXPONENTIAL else f"{value:g}"


def format_percent(fraction: float) -> str:
    """Format a fraction as a signed percentage with one decimal: `-10.4 %`."""
    return f"{fraction * 100:+.1f} %"


def join_items(items: Iterable[str], *, last: str = "and") -> str:
    """Join items as in prose: `a, b and c`."""
    parts = list(items)
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}"

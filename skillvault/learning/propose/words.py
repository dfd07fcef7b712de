"""Read a user's next words: a judgment of the work before, and rules.

Only patterns decide, for English, German, Spanish, French and Chinese. The reader is cautious: a
question, a quotation, code and a pasted text state no rule.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from skillvault.learning.propose import phrases
from skillvault.model.lazy import regex
from skillvault.model.records import Status

_MAX_TYPED = 1500  # characters that are read of a prompt
_MAX_LINES = 8  # lines in a row that a person types; more are pasted
_MIN_WORDS, _MIN_SIGNS, _MAX_RULE = 3, 4, 300  # of a rule: words, Chinese characters, characters
_OPENING = 300  # characters in which a user asks to undo the work
_PRAISE_SPAN = 80  # characters in which a "but" cancels praise

_FENCE = regex(r"^\s*(?:```|~~~)", re.MULTILINE)
_SENTENCE_END = regex(
    r"(?<=[.!;])\s+|(?<=[?？])\s*|(?<=[。！；])|\n+|(?<=[:：])\s*(?!//)|\s+[–—-]{1,2}\s+"
)
_PASTED_LINE = regex(
    r"^\s*(?:>|\||[-+@]{2,} |\$ |#+ |\d{4}-\d\d-\d\d|Traceback|File \"|at \w[\w.$]*\("
    r"|[A-Z]\w+(?:Error|Exception)\b)"
)
_LONG_QUOTE = regex(r"[\"“«„「『][^\"”»“」』]{20,}[\"”»“」』]|(?<!\w)'[^']{20,}'(?!\w)")
_TAG_QUESTION = regex(
    r",? (?:ok(?:ay)?|right|yeah|alright|got it|ja|oder|gell|verstanden|vale|sí|d'accord|hein)"
    r"\s*\?+$",
    re.IGNORECASE,
)
_COURTESY = regex(
    r"[,.!]*\s*(?:please|pls|thanks?|thank you|thx|danke|bitte|por favor|gracias|merci"
    r"|s'il te plaît|stp|svp|谢谢)?[\s.!。！,，;；]*$",
    re.IGNORECASE,
)
_CJK = regex(r"[\u4e00-\u9fff]")
_WORD = regex(r"[\w@./#:-]*\w")


class Reaction(Struct, frozen=True):
    """The user's judgment of the work before, None for none, and the rules in it, verbatim.

    `is_correction`: they reject the work, or state a rule.
    """

    status: Status | None = None
    is_correction: bool = False
    rules: tuple[str, ...] = ()


def read_reaction(text: str) -> Reaction:
    """Read the words that a user typed after an answer."""
    sentences = [*_sentences(_typed_part(text))]
    opening = " ".join(sentences)[:_OPENING]
    is_rejected = bool(sentences) and (
        phrases.at_start("rejection").match(opening) is not None
        or phrases.clause("undoing").search(opening) is not None
    )
    is_complaint = not is_rejected and _is_complaint(sentences)
    is_refused = is_rejected or is_complaint
    forms = [
        phrases.clause("rule"),
        *([phrases.clause("weak_rule"), phrases.clause("rule_after_no")] if is_refused else []),
    ]
    rules = tuple(dict.fromkeys(_find_rules(sentences, forms)))
    if is_rejected:
        return Reaction("failure", True, rules)
    if _is_praise(opening):
        return Reaction("success", bool(rules), rules)
    return Reaction("failure" if is_complaint else None, bool(rules), rules)


def _typed_part(text: str) -> str:
    """Return the part of a prompt that a person typed: up to code, a log or a pasted block."""
    text = _FENCE.split(text, maxsplit=1)[0][:_MAX_TYPED]
    lines: list[str] = []
    for line in text.splitlines():
        if _PASTED_LINE.match(line):
            break
        lines.append(line)
        if line.rstrip().endswith((":", "：")) and len(text.splitlines()) > len(lines):
            break  # what follows is a quotation
    if len(lines) > _MAX_LINES:  # nobody types so much at once
        lines = [*_first_paragraph(lines)]
    return _LONG_QUOTE.sub("''", "\n".join(lines))


def _first_paragraph(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if not line.strip():
            return
        yield line


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text; one that somebody else said ends it."""
    for piece in _SENTENCE_END.split(text):
        sentence = piece.strip()
        if sentence:
            yield sentence
            if phrases.anywhere("reported").search(sentence):
                return


def _find_rules(sentences: Sequence[str], forms: Sequence[re.Pattern[str]]) -> Iterator[str]:
    """Yield the rules of sentences; the first words may state one in a weaker form."""
    for number, sentence in enumerate(sentences):
        rule = _rule_of(sentence, forms if number else [*forms, phrases.clause("weak_rule")])
        if rule:
            yield rule


def _rule_of(sentence: str, forms: Iterable[re.Pattern[str]]) -> str:
    """Return the rule that a sentence states, from its first word to its end; "" for none."""
    sentence = _TAG_QUESTION.sub("", sentence)
    if sentence.endswith(("?", "？")) or phrases.at_start("question").match(sentence):
        return ""
    if phrases.anywhere("reported").search(sentence) or phrases.anywhere("hedge").search(sentence):
        return ""
    matches = [match for form in forms if (match := form.search(sentence))]
    if not matches:
        return ""
    start = min(match.start("rule") for match in matches)
    rule = _COURTESY.sub("", sentence[start:]).strip()
    if phrases.anywhere("once").search(rule) or len(rule) > _MAX_RULE:
        return ""
    is_long_enough = len(_CJK.findall(rule)) >= _MIN_SIGNS or len(_WORD.findall(rule)) >= _MIN_WORDS
    return rule if is_long_enough else ""


def _is_praise(opening: str) -> bool:
    has_praise = phrases.at_start("praise").match(opening) is not None
    return has_praise and not phrases.anywhere("contrast").search(opening[:_PRAISE_SPAN])


def _is_complaint(sentences: Sequence[str]) -> bool:
    """Return True if a user reports that something is broken, and asks for nothing new."""
    if not sentences or not phrases.anywhere("symptom").search(sentences[0]):
        return False
    if phrases.anywhere("aftermath").search(sentences[0]):
        return True
    text = " ".join(sentences)
    return not phrases.anywhere("request").search(text) and not sentences[0].endswith(("?", "？"))

"""Read a user's words after an agent's work: a judgment of the work, and rules.

Only patterns decide, for English, German, Spanish, French, Chinese and Portuguese. Signs for and
against a judgment are weighed and summed (`signs.py`). The reader is cautious: a question, a
quotation, code and a pasted text state no rule.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import takewhile

from msgspec import Struct

from skillvault.model.lazy import regex
from skillvault.model.reaction import signs
from skillvault.model.reaction.phrases import Words, read_words
from skillvault.model.reaction.signs import CandidateRule, TypedPrompt
from skillvault.model.records import Status

_MAX_TYPED = 1500  # characters that are read of a prompt
_MAX_LINES = 5  # lines in a row that a person types; more are pasted
_MIN_WORDS, _MIN_SIGNS, _MAX_RULE = 3, 4, 300  # of a rule: words, Chinese characters, characters
_MIN_ITEMS, _MAX_ITEMS = 2, 6  # items of a list that a person types
# The score from which on a prompt is a failure or a correction, and a statement a rule.
FAILURE, CORRECTION, RULE = 1.0, 0.0, 0.2
_LISTED = 2.5  # the score that a statement needs less in a list of rules
_MOST_FAILURE = 4.0  # a higher score says no more about the rules in a prompt

_FENCE = regex(r"^\s*(?:```|~~~)", re.MULTILINE)
_SENTENCE_END = regex(
    r"(?<=[.!;])\s+|(?<=[?？])(?!!|\s*(?:or|oder|ou|还是)\b)\s*|(?<=[。！；：])|\n+|(?<=:)\s+|\s+[–—-]{1,2}\s+"
)
_PASTED_LINE = regex(
    r"^\s*(?:>|\||- |\d+[.)] |[-+@]{2,} |\$ |#+ |#\d|\*|•|[=-]{3,}|\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|https?://\S+$"
    r"|\W?(?:WARN(?:ING)?|ERROR|INFO|DEBUG|FATAL|[Ww]arning|[Ee]rror|FEHLER|HINWEIS)\b\W"
    r"|Traceback|File \"|at \w[\w.$]*\(|[A-Z]\w+(?:Error|Exception)\b"
    r"|\S+ (?:commented|opened this|wrote)\b"
    r"|(?:[Tt]itle|[Bb]ody|[Ss]ubject|From|Steps|Expected)\b.{0,20}:)"
)
_LIST_ITEM = regex(r"(?:- |\d[.)] )([^\s-](?!.*(?:://|\*\*|\]\(|```)).{3,99})")
_INLINE_ITEM = regex(r"(?:^|\s+)(\d[.)] )")
_LONG_QUOTE = regex(  # a few Chinese signs say as much as a sentence
    r"[\"“«„「『](?:[^\"”»“」』]{20,}|[^\"”»“」』]*[\u4e00-\u9fff][^\"”»“」』]{5,})[\"”»“」』]"
    r"|(?<!\w)'[^']{20,}'(?!\w)"
)
_OPENING_DASH = regex(r"^(\W*\w+)\s+[–—-]{1,2}\s+")  # "no - every route needs it"
_TAG_QUESTION = regex(
    r",? (?:ok(?:ay)?|right|yeah|alright|got it|ja|oder|gell|verstanden|vale|sí|d'accord|hein)"
    r"\s*\?+$",
    re.IGNORECASE,
)
_COURTESY = regex(
    r"\s*[,，]?\s*\b(?:please|pls|thanks?|thank you|thx|danke|bitte|por favor|gracias|merci"
    r"|s'il te plaît|stp|svp)$|[,，]?\s*谢谢$",
    re.IGNORECASE,
)
_END_SIGNS = " \t.!。！,，;；:："
_CONJUNCTION = regex(
    r"^\s*(?:(?:and|but|so|because|since|und|aber|weil|denn|y|pero|porque|et|mais|car)\b\s*)?",
    re.IGNORECASE,
)
_CLAUSE = regex(r"[^,，、]+(?:[,，、]+|$)")
_RISK = regex(
    r"--no-verify|--force\b|\b(?:skip|disable|bypass|ignore|turn off|without)\b.{0,30}\b(?:tests?"
    r"|hooks?|checks?|review|approval|sandbox|permissions?|security|safety|ci|lint\w*|verification)\b"
    r"|`[a-z][\w./-]* [^`(=]+`"  # a command with its arguments
    r"|\b(?:rm|curl|wget|sudo|eval)\b|\$\(|://|\[redacted: ",
    re.IGNORECASE,
)
_CJK = regex(r"[\u4e00-\u9fff]")
_WORD = regex(r"[\w@./#:-]+")


class Reaction(Struct, frozen=True):
    """The user's judgment of the previous work, and the rules in their words, verbatim.

    If it `is_correction`, the words reject the work or state a rule.
    """

    status: Status | None = None
    is_correction: bool = False
    rules: tuple[str, ...] = ()


@lru_cache(256)  # a run reads the words of an outcome for each account and each step
def read_reaction(text: str, answer: str = "") -> Reaction:
    """Read a user's words after an answer. A reply to a question has few judgments."""
    prompt = read_prompt(text, answer)
    if prompt is None:
        return Reaction()
    is_praised = signs.is_praise(prompt.opening)
    failure = signs.score_failure(prompt)
    statements = [
        statement
        for statement in statements_of_prompt(prompt, failure)
        if signs.score_rule(statement) >= least_rule_score(prompt)
    ]
    texts = (s.rule.text for s in statements if not any(_explains(s, rule) for rule in statements))
    rules = tuple(dict.fromkeys(texts))
    is_neutral = is_praised or prompt.is_invited or any(s.has("later") for s in prompt.sentences)
    is_failure = failure >= FAILURE or (bool(rules) and not is_neutral)  # the work broke the rule
    is_rejected = is_failure and signs.score_correction(prompt) >= CORRECTION
    status: Status | None = "failure" if is_failure else "success" if is_praised else None
    return Reaction(status, is_rejected or bool(rules), rules)


def read_prompt(text: str, answer: str) -> TypedPrompt | None:
    """Return the part of a prompt that a person typed, or None."""
    items = _typed_list(text)
    part = "\n".join(items) or _typed_part(text)
    sentences = tuple(_split_sentences(read_words(part)))
    if not sentences:
        return None
    if sentences[0].text.endswith(":") and sentences[0].has_clause("request"):
        sentences = sentences[:1]  # what follows is the matter of a new task
    return TypedPrompt(
        sentences,
        answer,
        is_pasted=not items and len(part) < len(text.strip()),
        is_list=bool(items) and all(map(_has_rule_sign, sentences)),
    )


def _explains(statement: CandidateRule, rule: CandidateRule) -> bool:
    """Return True for the reason of a rule: "we dropped black" for "use ruff, not black"."""
    is_weaker = signs.sum_rule_meanings(statement.rule) < 2 <= signs.sum_rule_meanings(rule.rule)
    names = signs.find_names(rule.rule.text)
    return is_weaker and not set(names).isdisjoint(signs.find_names(statement.rule.text))


def statements_of_prompt(prompt: TypedPrompt, failure: float) -> Iterator[CandidateRule]:
    """Yield the statements that may be rules, up to the words of another person."""
    is_for_later = False
    for sentence in prompt.sentences:
        if sentence.has("reported"):
            return
        is_for_later = is_for_later or sentence.has("later")
        if prompt.is_list and sentence.text.endswith((":", "：")):
            continue  # the line before a list
        plain = sentence.cut(_TAG_QUESTION.sub("", sentence.text))
        if signs.is_question(plain):
            continue
        text = _COURTESY.sub("", _cut_judgment(plain).rstrip(_END_SIGNS)).strip(_END_SIGNS)
        if text and (prompt.is_list or _is_long_enough(text)):
            yield CandidateRule(
                prompt,
                sentence,
                sentence.cut(text),
                is_for_later=is_for_later,
                failure=max(-_MOST_FAILURE, min(failure, _MOST_FAILURE)),
            )


def least_rule_score(prompt: TypedPrompt) -> float:
    """Return the least score at which a statement of a prompt is a rule."""
    return RULE - _LISTED * prompt.is_list


def states_rule(text: str) -> bool:
    """Return True if a sentence of a document has a sign of a rule, such as "never" or "must"."""
    words = read_words(text)
    return not signs.is_question(words) and signs.sum_rule_meanings(words) > 0


def is_risky(text: str) -> bool:
    """Return True if a rule has a URL, a secret or a command, or is against safety."""
    return _RISK.search(text) is not None


def _typed_part(text: str) -> str:
    """Return the typed part of a prompt, up to code, a log or a pasted block."""
    text = _FENCE.split(text, maxsplit=1)[0][:_MAX_TYPED]
    lines: list[str] = []
    for line in text.splitlines():
        if _PASTED_LINE.match(line):
            break
        lines.append(line)
        if line.rstrip().endswith((":", "：")) and len(text.splitlines()) > len(lines):
            break  # what follows is a quotation
    if len(lines) > _MAX_LINES:  # nobody types so much at once
        lines = [*takewhile(str.strip, lines)]
    return _OPENING_DASH.sub(r"\1, ", _LONG_QUOTE.sub("''", "\n".join(lines)))


def _typed_list(text: str) -> list[str]:
    """Return the lines of a short list that a person typed, without its marks.

    If the line before neither rejects the work nor names the repository, the list is pasted.
    """
    lines = [line.rstrip() for line in text.strip().splitlines()]
    if len(lines) == 1:
        lines = _INLINE_ITEM.sub(r"\n\1", lines[0]).strip().splitlines()
    if len(lines) < _MIN_ITEMS:
        return []
    intro = [] if _LIST_ITEM.match(lines[0]) else [read_words(lines.pop(0))]
    items = [match[1] for line in lines if (match := _LIST_ITEM.fullmatch(line))]
    if len(items) < len(lines) or not _MIN_ITEMS <= len(items) <= _MAX_ITEMS:
        return []
    if any(words.has_clause("request") or not _opens_rules(words) for words in intro):
        return []
    return [words.text for words in intro] + items


def _has_rule_sign(words: Words) -> bool:
    return words.starts("kind") or signs.sum_rule_meanings(words) > 0 or _opens_rules(words)


def _opens_rules(words: Words) -> bool:
    return words.starts("rejection") or words.has("lasting") or words.has("later")


def _split_sentences(typed: Words) -> Iterator[Words]:
    """Yield the sentences; "Always." and a choice after a ban belong to the one before."""
    for line in typed.text.splitlines():
        texts: list[str] = []
        for piece in filter(None, map(str.strip, _SENTENCE_END.split(line))):
            if texts and _continues_rule(typed.cut(texts[-1]), typed.cut(piece)):
                texts[-1] = f"{texts[-1]} {piece}"
            else:
                texts.append(piece)
        yield from map(typed.cut, texts)


def _continues_rule(rule: Words, sentence: Words) -> bool:
    """Return True for "Always.", and for "Use uv." after "Never use pip."."""
    if len(_WORD.findall(sentence.text)) == 1:
        return any(map(sentence.has, ("ever", "lasting")))
    return sentence.starts("choice") and any(map(rule.has, ("ban", "ever")))


def _is_long_enough(rule: str) -> bool:
    if len(rule) > _MAX_RULE:
        return False
    return len(_CJK.findall(rule)) >= _MIN_SIGNS or len(_WORD.findall(rule)) >= _MIN_WORDS


def _cut_judgment(sentence: Words) -> str:
    """Return a sentence without the clauses at its start and end that judge the work."""
    text = sentence.text
    clauses = [match.span() for match in _CLAUSE.finditer(text)]
    while clauses and _is_judgment(sentence.cut(text[slice(*clauses[0])])):
        clauses.pop(0)
    while clauses and sentence.cut(text[slice(*clauses[-1])]).has_clause("accusation"):
        clauses.pop()
    return _CONJUNCTION.sub("", text[clauses[0][0] : clauses[-1][1]]) if clauses else ""


def _is_judgment(clause: Words) -> bool:
    """Return True if a clause judges the work. A rule may begin like a judgment."""
    if clause.starts("accusation") or clause.starts("praise"):
        return True
    if clause.starts("undoing"):
        return not clause.has("ban")
    is_verdict = clause.starts("rejection") or clause.has("symptom")
    return is_verdict and signs.sum_rule_meanings(clause) < 2

"""Read a user's next words: a judgment of the work before, and rules.

Only patterns decide, for English, German, Spanish, French and Chinese. A statement is a rule when
enough signs of `phrases.toml` add up. The reader is cautious: a question, a quotation, code and a
pasted text state no rule.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from msgspec import Struct

from skillvault.model.lazy import regex
from skillvault.model.next_words.phrases import Words, is_common, read_words
from skillvault.model.records import Status

_MAX_TYPED = 1500  # characters that are read of a prompt
_MAX_LINES = 5  # lines in a row that a person types; more are pasted
_MIN_WORDS, _MIN_SIGNS, _MAX_RULE = 3, 4, 300  # of a rule: words, Chinese characters, characters
_MIN_ITEMS, _MAX_ITEMS = 2, 6  # items of a list that a person types
_OPENING = 300  # characters in which a user judges the work
_PRAISE_SPAN = 80  # characters in which a "but" cancels praise

# How much each sign counts, and the sum that is enough.
_RULE_SIGNS = {"lasting": 2, "order": 2, "duty": 2, "custom": 1, "ever": 1, "ban": 1, "choice": 1}
_OTHER_SIGNS = {"symptom": -1, "just_now": -1}
_PRODUCT_SIGNS = {"product": -1, "runtime": -1}
_CODE, _LATER, _REJECTED, _MIN_RULE = 1, 2, 1, 3
_HINTS = ("aftermath", "just_now", "product", "event", "negation")
_FAULT_SIGNS, _MIN_FAULT = {"symptom": 3, **dict.fromkeys(_HINTS, 1)}, 3
_FEW_WORDS, _ECHO = 9, 2
# Signs that a sentence about a thing asks for more, or reports a fault, and requires nothing.
_NO_REQUIREMENT = (
    *("besides", "hedge", "plea", "reported", "once", "later"),
    *("symptom", "event", "aftermath", "just_now"),
)
_NO_RULE = ("hedge", "behaviour", "plan")
_NO_REPORT = ("good", "requirement", "reported", "ever", "own_fault", "plan", "later", "duty")
_STRONG = 4  # signs of a rule that need no word about code beside them

_FENCE = regex(r"^\s*(?:```|~~~)", re.MULTILINE)
_SENTENCE_END = regex(
    r"(?<=[.!;])\s+|(?<=[?？])(?!!)\s*|(?<=[。！；：])|\n+|(?<=:)\s+|\s+[–—-]{1,2}\s+"
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
# Words of courtesy and haste within a request; they change nothing about it.
_URGENCY = regex(
    r"\s+(?:please|pls|just|now|asap|quickly|immediately|right away|bitte|mal|doch|jetzt|sofort"
    r"|gleich|einfach|por favor|ya|ahora(?: mismo)?|s'il te plaît|stp|donc|vite|tout de suite)\b"
    r"|赶紧|马上|赶快",
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
_CJK_NAME = regex(r"(?:(?![的了是在不我你他这那有没都要就也和已用好个])[\u4e00-\u9fff]){2}")
_WORD = regex(r"[\w@./#:-]+")
_NAME = regex(r"[^\W_]{2,}")  # words that may name a thing
_STEM = 5  # letters by which forms of a word are told from other words
_CODE_WORD = regex(
    r"[a-z]\w*[A-Z]\w*|\b\w+(?:/|\(\))|\w_\w|[@%<]\w|(?<![\w-])--?[a-zA-Z]"
    r"|\w\.(?:py|[jt]sx?|go|rs|java|rb|json|ya?ml|toml|md|sql|sh|lock|css|html|proto|cfg|mod)\b"
)


class _Situation(Struct, frozen=True):
    """The things and the judgment around rules: `topic` has the stems of words of the answer."""

    topic: frozenset[str]
    is_failure: bool
    is_new_task: bool
    is_list: bool


class Reaction(Struct, frozen=True):
    """The user's judgment of the previous work, and the rules in their words, verbatim.

    `is_correction`: they reject the work, or state a rule.
    """

    status: Status | None = None
    is_correction: bool = False
    rules: tuple[str, ...] = ()


def read_reaction(text: str, answer: str = "") -> Reaction:
    """Read a user's words after an answer; in a reply to a question little is a judgment."""
    is_reply = _invites_words(answer)
    topic = frozenset(_find_names(answer))
    items = _typed_list(text)
    typed = read_words("\n".join(items) or _typed_part(text))
    sentences = tuple(_split_sentences(typed))
    opening = typed.cut(" ".join(sentence.text for sentence in sentences)[:_OPENING])
    if sentences and sentences[0].text.endswith(":") and sentences[0].has_clause("request"):
        sentences = sentences[:1]  # what follows is the matter of a new task
    if not sentences or opening.has("own_fault"):
        return Reaction()
    is_declined = opening.starts("declined") or (
        _is_relief(opening) and not opening.has("contrast")
    )
    is_rejected = not is_declined and (
        _is_rejection(sentences, topic, is_reply)
        or (not is_reply and _requires_otherwise(sentences[0], topic))
    )
    is_praise = not is_rejected and _is_praise(opening)
    is_neutral = is_declined or is_praise or is_reply or opening.has("later")
    is_failure = is_rejected or not (is_neutral or items or not _is_complaint(sentences))
    is_new_task = not is_rejected and (
        is_declined or is_reply or opening.has("plan") or _asks_for_work(sentences)
    )
    situation = _Situation(
        topic=topic,
        is_failure=is_failure,
        is_new_task=is_new_task,
        is_list=bool(items) and all(map(_has_sign, sentences)),
    )
    rules = tuple(dict.fromkeys(_find_rules(sentences, situation)))
    is_failure = is_failure or (bool(rules) and not is_neutral)  # the work broke the rule
    status: Status | None = "failure" if is_failure else "success" if is_praise else None
    return Reaction(status, is_rejected or bool(rules), rules)


def _invites_words(answer: str) -> bool:
    """Return True if an answer ends with a question, options to choose from, or a request."""
    if answer.rstrip().endswith(("?", "？")):
        return True
    sentences = [sentence for sentence in _SENTENCE_END.split(answer) if sentence.strip()]
    return any(read_words(sentence).has_clause("invitation") for sentence in sentences[-2:])


def states_rule(text: str) -> bool:
    """Return True if a sentence of a document has a sign of a rule, such as "never" or "must"."""
    words = read_words(text)
    return not _is_question(words) and _sum_signs(words, _RULE_SIGNS) > 0


def is_risky(text: str) -> bool:
    """Return True if a rule has a URL, a secret or a command, or is against safety."""
    return _RISK.search(text) is not None


def _asks_for_work(sentences: Sequence[Words]) -> bool:
    """Return True if a user asks for more than to make the work as just said."""
    first = next((words for words in sentences if not words.starts("praise")), sentences[0])
    if first.has_clause("request") and not first.has_clause("repair"):
        return True
    return any(sentence.has_clause("build") for sentence in sentences)


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
        lines = [*takewhile(str.strip, lines)]
    return _OPENING_DASH.sub(r"\1, ", _LONG_QUOTE.sub("''", "\n".join(lines)))


def _typed_list(text: str) -> list[str]:
    """Return the lines of a short list that a person typed, without its marks.

    A line before the list must reject the work or name the repository: else the list is pasted.
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


def _opens_rules(words: Words) -> bool:
    return words.starts("rejection") or words.has("lasting") or words.has("later")


def _split_sentences(typed: Words) -> Iterator[Words]:
    """Yield the sentences; a sentence such as "Always." belongs to the one before."""
    texts: list[str] = []
    for piece in _SENTENCE_END.split(typed.text):
        words = _WORD.findall(piece)
        if texts and len(words) == 1 and any(map(typed.cut(piece).has, ("ever", "lasting"))):
            texts[-1] = f"{texts[-1]} {piece.strip()}"
        elif piece.strip():
            texts.append(piece.strip())
    yield from map(typed.cut, texts)


def _is_rejection(sentences: Sequence[Words], topic: frozenset[str], is_reply: bool) -> bool:
    """Return True if a user says that the work is not what they want."""
    first = sentences[0]
    if any(map(_is_refusal, sentences)):
        return True
    if is_reply:
        return False
    if _is_echo(sentences, topic):
        return True
    if first.has("plan"):
        return False
    if first.starts("rejection") or first.has("once"):
        return first.starts("rejection")
    is_neutral = first.has_clause("request") or first.starts("praise") or first.has("hedge")
    order = first.cut(_TAG_QUESTION.sub("", first.text))
    is_report = _is_lack(first) or _is_relief(first)
    is_ban = order.starts("ban") and not (is_report or _is_question(order))
    return is_ban or (first.has("exclusion") and not (is_neutral or _is_question(first)))


def _is_echo(sentences: Sequence[Words], topic: frozenset[str]) -> bool:
    """Return True if a user doubts a word or two of the answer, and then says something."""
    if len(sentences) < 2 or _is_question(sentences[1]):
        return False
    names = _find_names(sentences[0].text)
    is_doubt = _is_question(sentences[0]) and not sentences[0].starts("question")
    return is_doubt and 0 < len(names) <= _ECHO and topic.issuperset(names)


def _is_relief(words: Words) -> bool:
    """Return True if words say that nothing bad is there, and not that nothing ever may be."""
    return words.starts("relief") and not words.has("ever")


def _is_lack(sentence: Words) -> bool:
    """Return True if a sentence says that the program shows nothing of a kind."""
    return sentence.starts("absence") and not _is_about_code(sentence)


def _requires_otherwise(sentence: Words, topic: frozenset[str]) -> bool:
    """Return True if a user says how a thing must be that the agent has just named."""
    if _is_question(sentence) or sentence.has_clause("request"):
        return False
    if any(map(sentence.has, _NO_REQUIREMENT)):
        return False
    subject = sentence.text_before("requirement")
    names = _find_names(subject)
    return bool(names) and (names[-1] in topic or bool(_CJK.search(subject) and topic & {*names}))


def _find_names(text: str) -> list[str]:
    """Return the stems of the words that may name a thing; in Chinese all pairs of signs."""
    words = [word for word in _NAME.findall(text.casefold()) if not _CJK.search(word)]
    pairs = [text[n : n + 2] for n in range(len(text) - 1) if _CJK_NAME.fullmatch(text, n, n + 2)]
    return [word.rstrip("s")[:_STEM] for word in words if not is_common(word)] + pairs


def _is_refusal(sentence: Words) -> bool:
    plain = sentence.cut(_URGENCY.sub("", sentence.text))
    if (
        plain.has_clause("undoing")
        or sentence.has_clause("undoing")
        or sentence.has_clause("reproach")
    ):
        return True
    is_thought = _is_question(sentence) or sentence.has("hedge")
    return sentence.has_clause("accusation") and not is_thought


def _find_rules(sentences: Sequence[Words], situation: _Situation) -> Iterator[str]:
    """Yield the rules in sentences, up to another person's words; few in a new task."""
    is_for_later = False
    for sentence in sentences:
        if sentence.has("reported"):
            return
        is_for_later = is_for_later or sentence.has("later")
        rule = _rule_of(sentence)
        if situation.is_list and sentence.text.endswith((":", "：")):
            continue  # the line before a list
        if situation.is_new_task and not (is_for_later or rule.has("lasting")):
            continue
        points = _weigh_rule(rule, situation, is_for_later)
        points += _LATER * is_for_later + _REJECTED * (situation.is_failure or situation.is_list)
        if (situation.is_list or _is_long_enough(rule.text)) and points >= _MIN_RULE:
            yield rule.text


def _rule_of(sentence: Words) -> Words:
    """Return what may be a rule in a sentence, without the judgment around it, or ""."""
    sentence = sentence.cut(_TAG_QUESTION.sub("", sentence.text))
    if _is_question(sentence) or any(map(sentence.has, _NO_RULE)):
        return sentence.cut("")
    rule = _COURTESY.sub("", _cut_judgment(sentence).rstrip(_END_SIGNS)).strip(_END_SIGNS)
    words = sentence.cut(rule)
    is_report = words.has("once") or words.starts("pointing") or _is_relief(words)
    return sentence.cut("") if is_report else words


def _weigh_rule(rule: Words, situation: _Situation, is_for_later: bool) -> int:
    """Return the sum of the signs of a rule; 0 for words about nothing that lasts.

    Strong words about the product are a rule if they reject the work, else the next task.
    """
    points = _sum_signs(rule, _RULE_SIGNS) + (rule.has if is_for_later else rule.starts)("kind")
    is_named = not situation.topic.isdisjoint(_find_names(rule.text))
    is_about_code = _is_about_code(rule) or (is_named and points >= _RULE_SIGNS["duty"])
    is_strong = points >= _STRONG and situation.is_failure
    is_about_work = is_about_code or is_strong or rule.has("lasting")
    if not is_for_later and not (points and is_about_work):
        return 0
    main = rule.cut(rule.text_before("reason") or rule.text)
    points += _sum_signs(main, _OTHER_SIGNS) + _CODE * is_about_code
    return points if _CODE_WORD.search(main.text) else points + _sum_signs(main, _PRODUCT_SIGNS)


def _has_sign(words: Words) -> bool:
    is_rule = words.starts("kind") or _sum_signs(words, _RULE_SIGNS) > 0
    return is_rule or _opens_rules(words)


def _is_about_code(words: Words) -> bool:
    return _CODE_WORD.search(words.text) is not None or words.has("code")


def _is_long_enough(rule: str) -> bool:
    if len(rule) > _MAX_RULE:
        return False
    return len(_CJK.findall(rule)) >= _MIN_SIGNS or len(_WORD.findall(rule)) >= _MIN_WORDS


def _cut_judgment(sentence: Words) -> str:
    """Return a sentence from its first to its last clause that judges nothing."""
    text = sentence.text
    clauses = [match.span() for match in _CLAUSE.finditer(text)]
    while clauses and _is_judgment(sentence.cut(text[slice(*clauses[0])])):
        clauses.pop(0)
    while clauses and sentence.cut(text[slice(*clauses[-1])]).has_clause("accusation"):
        clauses.pop()
    return _CONJUNCTION.sub("", text[clauses[0][0] : clauses[-1][1]]) if clauses else ""


def _is_judgment(clause: Words) -> bool:
    """Return True if a clause judges the work; a rule may begin like a judgment."""
    if clause.starts("accusation") or clause.starts("praise"):
        return True
    if clause.starts("undoing"):
        return not clause.has("ban")
    is_verdict = clause.starts("rejection") or clause.has("symptom")
    return is_verdict and _sum_signs(clause, _RULE_SIGNS) < _RULE_SIGNS["duty"]


def _sum_signs(words: Words, signs: Mapping[str, int]) -> int:
    return sum(points for sign, points in signs.items() if words.has(sign))


def _is_question(sentence: Words) -> bool:
    return sentence.text.endswith(("?", "？")) or sentence.starts("question")


def _is_praise(opening: Words) -> bool:
    is_praise = opening.starts("praise")
    return is_praise and not opening.cut(opening.text[:_PRAISE_SPAN]).has("contrast")


def _is_complaint(sentences: Sequence[Words]) -> bool:
    """Return True if a user reports that something is broken, and asks for nothing new."""
    statements = [sentence for sentence in sentences if not _is_question(sentence)]
    words = sentences[0].cut(" ".join(sentence.text for sentence in statements))
    subject = words.cut(words.text_before("requirement"))
    is_need = bool(subject.text) and not subject.has("symptom")
    is_praise = words.has_clause("praise") and not words.has("contrast")
    if is_need or is_praise or words.has("hedge") or words.has("once"):
        return False
    has_request = len(statements) < len(sentences) or words.has("plea")
    has_request = has_request or any(sentence.has_clause("request") for sentence in sentences)
    if not has_request and _is_lack(words):
        return True
    if has_request or (words.starts("ban") and not _is_relief(words)):
        return words.has("symptom") and words.has("aftermath")
    if words.starts("report") and not any(map(words.has, _NO_REPORT)):
        return True
    return _sum_signs(words, _FAULT_SIGNS) + _is_bare_report(words) >= _MIN_FAULT


def _is_bare_report(words: Words) -> bool:
    """Return True if a few words say what does not happen, and neither when nor what should."""
    if len(_WORD.findall(words.text)) > _FEW_WORDS or not words.has("negation"):
        return False
    return words.has("event") and not (words.has("once") or words.has("requirement"))

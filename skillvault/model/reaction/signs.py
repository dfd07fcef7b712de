"""The signs for and against a judgment in a user's next words, and their weights.

A sign is a meaning of `phrases.toml` at a place, such as `first starts praise`, or a function of
this module, such as `only questions`. `weights.toml` has the weights; `bench/fit_reactions.py` sets
them from labelled prompts.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from pkgutil import get_data
from typing import TypeVar

from skillvault.model.lazy import regex
from skillvault.model.reaction.phrases import Words, is_common, read_words

_T = TypeVar("_T")
_OPENING = 300  # characters in which a user judges the work
_PRAISE_SPAN = 80  # characters in which a "but" cancels praise
_FEW_WORDS, _SOME_WORDS, _MANY_WORDS = 4, 12, 25
_SHORT_RULE, _DOUBTED_NAMES = 5, 3
_STEM = 5  # letters by which forms of a word are told from other words
_RULE_MEANINGS = {
    **dict.fromkeys(("lasting", "order", "duty"), 2),
    **dict.fromkeys(("custom", "ever", "ban", "choice"), 1),
}
# Meanings with which a sentence about a thing asks for more, or reports a fault.
_NO_REQUIREMENT = (
    *("besides", "hedge", "plea", "reported", "once", "later"),
    *("symptom", "event", "aftermath", "just_now"),
)
_QUESTION_END = ("?", "？")
_QUESTION = regex(r"[?？](?:$|\s*(?:or|oder|ou|还是)\b)")  # "in all files? or only here"
_ANSWER_SENTENCE, _LAST_SENTENCES = regex(r"[^.!;。！；\n]*\S[.!;。！；\n]?"), 2
_NUMBER = regex(r"\d+")
_CJK = regex(r"[\u4e00-\u9fff]")
_CJK_NAME = regex(r"(?:(?![的了是在不我你他这那有没都要就也和已用好个])[\u4e00-\u9fff]){2}")
_NAME = regex(r"[^\W_]{2,}")  # words that may name a thing
_WORD = regex(r"[\w@./#:-]+")
_CODE_WORD = regex(
    r"[a-z]\w*[A-Z]\w*|\b\w+(?:/|\(\))|\w_\w|[@%<]\w|(?<![\w-])--?[a-zA-Z]"
    r"|\w\.(?:py|[jt]sx?|go|rs|java|rb|json|ya?ml|toml|md|sql|sh|lock|css|html|proto|cfg|mod)\b"
)
_THANKS = regex(
    r"(?<![^\W_])(?:thank(?:s| you)|thx|ty|cheers|danke|gracias|merci|obrigad[oa]|valeu)[\s!.)]*$"
    r"|(?:谢谢|多谢|感谢)[\s！!。.]*$",
    re.IGNORECASE,
)
# Words of courtesy and haste within a request; they change nothing about it.
_URGENCY = regex(
    r"\s+(?:please|pls|just|now|asap|quickly|immediately|right away|bitte|mal|doch|jetzt|sofort"
    r"|gleich|einfach|por favor|ya|ahora(?: mismo)?|agora|s'il te plaît|stp|donc|vite"
    r"|tout de suite)\b|赶紧|马上|赶快",
    re.IGNORECASE,
)


class TypedPrompt:
    """The material of the signs: the sentences that a person typed, and the previous answer."""

    def __init__(
        self, sentences: Sequence[Words], answer: str, *, is_pasted: bool, is_list: bool
    ) -> None:
        self.sentences = sentences
        self.first, self.later = sentences[0], sentences[1:]
        self.answer = answer
        self.is_pasted, self.is_list = is_pasted, is_list
        self.text = " ".join(sentence.text for sentence in sentences)
        self.opening = self.first.cut(self.text[:_OPENING])

    @cached_property
    def topic(self) -> frozenset[str]:
        """The stems of the answer's words that may name a thing."""
        return frozenset(find_names(self.answer))

    @cached_property
    def is_invited(self) -> bool:
        """True for an answer that ends with a question, options to choose from, or a request."""
        if self.answer.rstrip().endswith(_QUESTION_END):
            return True
        sentences = _ANSWER_SENTENCE.findall(self.answer)[-_LAST_SENTENCES:]
        return any(read_words(sentence).has_clause("invitation") for sentence in sentences)


class CandidateRule:
    """A sentence of a prompt without the judgment around it, which may be a rule."""

    def __init__(
        self,
        prompt: TypedPrompt,
        sentence: Words,
        rule: Words,
        *,
        is_for_later: bool,
        failure: float,
    ) -> None:
        self.prompt, self.sentence, self.rule = prompt, sentence, rule
        self.main = rule.cut(rule.text_before("reason") or rule.text)
        self.place = prompt.sentences.index(sentence)
        self.is_for_later, self.failure = is_for_later, failure


# ── judgments ────────────────────────────────────────────────────────────────────────


def score_failure(prompt: TypedPrompt) -> float:
    """Score the signs that a prompt rejects the work. Above 0, it probably does."""
    return _weigh(prompt, "failure", _PROMPT_PLACES, _PROMPT_SIGNS)


def score_correction(prompt: TypedPrompt) -> float:
    """Score the signs that a prompt says what the work should have been."""
    return _weigh(prompt, "correction", _PROMPT_PLACES, _PROMPT_SIGNS)


def score_rule(statement: CandidateRule) -> float:
    """Score the signs that a statement is a rule for the repository from now on."""
    return _weigh(statement, "rule", _STATEMENT_PLACES, _STATEMENT_SIGNS)


def read_prompt_sign(prompt: TypedPrompt, sign: str) -> float:
    """Return the strength of a sign in a prompt, mostly 0 or 1."""
    return _read(prompt, sign, _PROMPT_PLACES, _PROMPT_SIGNS)


def read_statement_sign(statement: CandidateRule, sign: str) -> float:
    """Return the strength of a sign in a statement, mostly 0 or 1."""
    return _read(statement, sign, _STATEMENT_PLACES, _STATEMENT_SIGNS)


def list_signs(meanings: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names of all signs of prompts, and of statements."""
    prompt_signs = [f"{place} {meaning}" for place in _PROMPT_PLACES for meaning in meanings]
    rule_signs = [f"{place} {meaning}" for place in _STATEMENT_PLACES for meaning in meanings]
    return [*_PROMPT_SIGNS, *prompt_signs], [*_STATEMENT_SIGNS, *rule_signs]


def _weigh(
    subject: _T,
    judgment: str,
    places: Mapping[str, Callable[[_T, str], bool]],
    functions: Mapping[str, Callable[[_T], float]],
) -> float:
    weights = _weights()[judgment]
    return weights["always"] + sum(
        weight * _read(subject, sign, places, functions)
        for sign, weight in weights.items()
        if sign != "always"
    )


def _read(
    subject: _T,
    sign: str,
    places: Mapping[str, Callable[[_T, str], bool]],
    functions: Mapping[str, Callable[[_T], float]],
) -> float:
    if function := functions.get(sign):
        return float(function(subject))
    place, _, meaning = sign.rpartition(" ")
    return float(places[place](subject, meaning))


@cache
def _weights() -> Mapping[str, Mapping[str, float]]:
    data = get_data("skillvault.model.reaction", "weights.toml") or b""
    return tomllib.loads(data.decode())


# ── places ───────────────────────────────────────────────────────────────────────────

_PROMPT_PLACES: Mapping[str, Callable[[TypedPrompt, str], bool]] = {
    "first starts": lambda prompt, meaning: prompt.first.starts(meaning),
    "first clause": lambda prompt, meaning: (
        not prompt.first.starts(meaning) and prompt.first.has_clause(meaning)
    ),
    "first has": lambda prompt, meaning: prompt.first.has(meaning),
    "later clause": lambda prompt, meaning: any(s.has_clause(meaning) for s in prompt.later),
    "later has": lambda prompt, meaning: any(s.has(meaning) for s in prompt.later),
}
_STATEMENT_PLACES: Mapping[str, Callable[[CandidateRule, str], bool]] = {
    "has": lambda statement, meaning: statement.main.has(meaning),
    "starts": lambda statement, meaning: statement.rule.starts(meaning),
    "clause": lambda statement, meaning: (
        not statement.rule.starts(meaning) and statement.sentence.has_clause(meaning)
    ),
}

# ── signs of a prompt ────────────────────────────────────────────────────────────────


def is_question(sentence: Words) -> bool:
    """Return True for a question, with its mark or without: "should we use uv"."""
    return _QUESTION.search(sentence.text) is not None or sentence.starts("question")


def find_names(text: str) -> list[str]:
    """Return the stems of words that may name a thing, or all pairs of Chinese characters."""
    words = [word for word in _NAME.findall(text.casefold()) if not _CJK.search(word)]
    pairs = [text[n : n + 2] for n in range(len(text) - 1) if _CJK_NAME.fullmatch(text, n, n + 2)]
    return [word.rstrip("s")[:_STEM] for word in words if not is_common(word)] + pairs


def count_words(text: str) -> int:
    """Return the number of words; two Chinese characters count as one."""
    return len(text) // 2 if _CJK.search(text) else len(_WORD.findall(text))


def is_about_code(words: Words) -> bool:
    """Return True if a text names code or a tool: "`load_all`", "migrations", "pnpm"."""
    return has_code_sign(words) or words.has("code")


def has_code_sign(words: Words) -> bool:
    """Return True if a text has the form of code: "load_all()", "src/"."""
    return _CODE_WORD.search(words.text) is not None


def sum_rule_meanings(words: Words) -> int:
    """Score words such as "every", "never" and "must", which are about all cases."""
    return sum(points for meaning, points in _RULE_MEANINGS.items() if words.has(meaning))


def is_praise(opening: Words) -> bool:
    """Return True for praise that no "but" takes back."""
    return opening.starts("praise") and not opening.cut(opening.text[:_PRAISE_SPAN]).has("contrast")


def is_relief(words: Words) -> bool:
    """Return True for the absence of something bad ("no errors"), unless it is a rule."""
    return words.starts("relief") and not words.has("ever")


def asks_for_work(sentences: Sequence[Words]) -> bool:
    """Return True if a user asks for more than the work that was just described."""
    first = next((words for words in sentences if not words.starts("praise")), sentences[0])
    if first.has_clause("request") and not any(map(first.has_clause, ("repair", "undoing"))):
        return True
    return any(sentence.has_clause("build") for sentence in sentences)


def _is_refusal(sentence: Words) -> bool:
    """Return True if a sentence undoes or accuses: "put it back", "you broke the login"."""
    plain = sentence.cut(_URGENCY.sub("", sentence.text))
    if any(words.has_clause("undoing") for words in (plain, sentence)):
        return True
    if sentence.has_clause("reproach"):
        return True
    is_thought = is_question(sentence) or sentence.has("hedge")
    return sentence.has_clause("accusation") and not is_thought


def _requires_otherwise(prompt: TypedPrompt) -> bool:
    """Return True if a user says how a thing must be after the agent named it."""
    first = prompt.first
    if is_question(first) or first.has_clause("request") or any(map(first.has, _NO_REQUIREMENT)):
        return False
    subject = first.text_before("requirement")
    names = find_names(subject)
    if not names:
        return False
    return names[-1] in prompt.topic or bool(_CJK.search(subject) and prompt.topic & {*names})


def _doubts_name(prompt: TypedPrompt) -> bool:
    """Return True for a doubt about words of the answer: "blue? the design says green"."""
    names = find_names(prompt.first.text)
    is_doubt = prompt.first.text.endswith(_QUESTION_END) and not prompt.first.starts("question")
    return is_doubt and 0 < len(names) <= _DOUBTED_NAMES and not prompt.topic.isdisjoint(names)


def _find_numbers(text: str) -> set[str]:
    return set(_NUMBER.findall(text))


_PROMPT_SIGNS: Mapping[str, Callable[[TypedPrompt], float]] = {
    "few words": lambda p: count_words(p.text) <= _FEW_WORDS,
    "some words": lambda p: _FEW_WORDS < count_words(p.text) <= _SOME_WORDS,
    "many words": lambda p: count_words(p.text) > _MANY_WORDS,
    "question first": lambda p: is_question(p.first),
    "question later": lambda p: any(map(is_question, p.later)),
    "plain question": lambda p: (
        is_question(p.first) and not (p.first.has_clause("reproach") or "!" in p.text)
    ),
    "only questions": lambda p: (
        all(map(is_question, p.sentences))
        and not any(sentence.has_clause("reproach") for sentence in p.sentences)
    ),
    "exclaims": lambda p: "!" in p.text,
    "doubts a name": _doubts_name,
    "invited": lambda p: p.is_invited,
    "invited, one sentence": lambda p: p.is_invited and not p.later,
    "pasted": lambda p: p.is_pasted,
    "list": lambda p: p.is_list,
    "names the answer": lambda p: not p.topic.isdisjoint(find_names(p.first.text)),
    "other number": lambda p: (
        bool(_find_numbers(p.answer)) and not _find_numbers(p.first.text) <= _find_numbers(p.answer)
    ),
    "same number": lambda p: not _find_numbers(p.first.text).isdisjoint(_find_numbers(p.answer)),
    "refuses": lambda p: any(map(_is_refusal, p.sentences)),
    "declines": lambda p: p.opening.starts("declined"),
    "relieved": lambda p: is_relief(p.opening),
    "pleased": lambda p: is_praise(p.opening),
    "thanks at the end": lambda p: _THANKS.search(p.text) is not None,
    "requires otherwise": _requires_otherwise,
    "speaks of a fault of others": lambda p: p.opening.has("own_fault"),
    "asks for work": lambda p: asks_for_work(p.sentences),
}

# ── signs of a statement ─────────────────────────────────────────────────────────────


def _asks_before(statement: CandidateRule) -> bool:
    return any(s.has_clause("request") for s in statement.prompt.sentences[: statement.place])


_STATEMENT_SIGNS: Mapping[str, Callable[[CandidateRule], float]] = {
    "failure": lambda s: s.failure,
    "few words": lambda s: count_words(s.rule.text) <= _SHORT_RULE,
    "code sign": lambda s: has_code_sign(s.rule),
    "about code": lambda s: is_about_code(s.rule),
    "names the answer": lambda s: not s.prompt.topic.isdisjoint(find_names(s.rule.text)),
    "for later": lambda s: s.is_for_later,
    "after a request": _asks_before,
    "not first": lambda s: s.place > 0,
    "list": lambda s: s.prompt.is_list,
    "praise first": lambda s: s.prompt.first.starts("praise"),
    "request first": lambda s: s.prompt.first.has_clause("request"),
    "question first": lambda s: is_question(s.prompt.first),
    "rejection first": lambda s: s.prompt.first.starts("rejection"),
    "invited": lambda s: s.prompt.is_invited,
    "beside a judgment": lambda s: len(s.rule.text) < len(s.sentence.text) - _SHORT_RULE,
    "two rule meanings": lambda s: sum_rule_meanings(s.rule) >= 2,
    "three rule meanings": lambda s: sum_rule_meanings(s.rule) >= 3,
    "four rule meanings": lambda s: sum_rule_meanings(s.rule) >= 4,
    "strong and about code": lambda s: is_about_code(s.rule) and sum_rule_meanings(s.rule) >= 2,
    "custom about code": lambda s: (
        is_about_code(s.rule) and (s.main.has("custom") or s.main.has("lasting"))
    ),
    "product alone": lambda s: (
        s.main.has("product") and not (has_code_sign(s.rule) or s.main.has("code"))
    ),
}

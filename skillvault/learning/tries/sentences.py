"""Rank the sentences of a reasoning as descriptions of a deed, and find the states they claim.

A sentence tells a deed ("I raise the wait to 5 s"), names a deed without a verb ("Stop 66.9k"), or
describes a state ("The test fails in 3 of 10 runs").
"""

import re
from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache

from skillvault.learning.tries import CUE, words_pattern
from skillvault.model.lazy import regex
from skillvault.model.reasoning import is_narration, is_praise
from skillvault.model.text.text import sentences


class Rank(IntEnum):
    """The information of a sentence about the deed, as an order: the least first."""

    ASIDE = 0  # a risk, an alternative, an announcement: nothing was done
    STATE = 1
    NAMED = 2  # or an investigation, or what only follows another deed
    DEED = 3
    CONCLUSION = 4  # "so I raise the wait"


# Any word with an object at its side, in the place of a verb: "Disambiguate the two functions".
_WITH_OBJECT = (
    r"(?-i:[A-Z])[a-z]+(?<!ly)(?<!s)"
    r" (?:the|an?|all|our|its|their|these|both|each|every|this|that)\b"
)
# In "adding a node buys time" the gerund is the subject.
_GERUND_SUBJECT = rf"(?![^,;:.]* {words_pattern('verb of a gerund')}\b)"
# At the start of a clause: a deed in the imperative, as a gerund, or as a participle.
_BARE_DEED = (
    r"(?:(?:only|just|then|now|first|also|never|always|don't|do not|no longer)\s+)*"
    rf"(?!{words_pattern('no deed')}\b)"
    rf"(?:(?:{words_pattern('verb')}|\w{{3,}}ing{_GERUND_SUBJECT})"
    rf"(?!\w|:| {words_pattern('describing')}\b)|{words_pattern('past')}(?!\w))"
)
# Verbs such as to think, see, own or be able tell no deed.
_FIRST_PERSON = (
    r"\b(?:I|[Ww]e)(?:\s+|(?:['’](?:ll|d|ve)|(?:['’]m| am|['’]re| are)(?= \w+ing))\s+)"
    rf"(?:{words_pattern('adverb')}\s+)*(?!{words_pattern('mental')}\b)[a-z]"
)
# An effect that the text attributes to the change.
_CHANGE_DOES = (
    r"(?:also,? )?this (?:patch |commit |change |pr )?(?:also )?"
    rf"{words_pattern('verb of a change')}\b"
)
_FIRST_PERSON_DEED = regex(_FIRST_PERSON)
_DEED = regex(
    rf"(?:then|now|so|and|but)?,?\s*{_BARE_DEED}|{_CHANGE_DOES}"
    rf"|(?!{words_pattern('no verb')}\b){_WITH_OBJECT}",
    re.IGNORECASE,
)
_LATER_DEED = regex(rf"(?:[;:—–]|, then)\s+(?:{_BARE_DEED})", re.IGNORECASE)
_CONCLUSION = regex(
    rf"\b(?:so|therefore|hence),?\s+(?:{_FIRST_PERSON}|(?:will |must |going to )?{_BARE_DEED})"
    r"|\b(?:I|we) therefore\b"
    r"|,\s+so (?:the same|no|only|at|in|half|a|an|\d[\d.,]*|(?-i:[A-Z][\w.-]*))\b"
    r"(?:\s(?!is|are)\S+){0,4}$"
    r"|^(?:the )?(?:fix|remedy|solution)(?: is)?:"
    rf"|^(?:thus|instead|accordingly|therefore),? {_FIRST_PERSON}"
    r"|^(?:fix|improve|solve|address|correct|avoid|resolve|remedy)\b.*\b(?:by|with) \w+",
    re.IGNORECASE,
)
_STATE = regex(rf"\b{words_pattern('state')}\b", re.IGNORECASE)
# A consequence is no claim.
_CONSEQUENCE = regex(r"(?:[,;]?\s+|^)so(?: that)?\s(?:(?![;:—]|\.\s).)*", re.IGNORECASE)
_AND = regex(r"\s+and\s+")
_MIN_CLAIM, _MAX_CLAIM = 8, 160  # characters
FIGURE = regex(r"(?<![\w.])[-−–+]?[$€£¥]?\d[\d.,:_]*(?:\s?%)?")
_BOLD = regex(r"(?<![\w)])\*\*|\*\*(?![\w(])")  # but 2**30 is a power


@lru_cache(maxsize=4096)
def split_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text in order, without list signs and headings."""
    prose = re.sub(r"```.*?(?:```|\Z)", "\n\n", text, flags=re.DOTALL)
    prose = re.sub(r"\n\s*\n", "\n\n", prose)  # else each empty line would scan all others
    lines = re.sub(r"(?m)^[ \t]*>[> ]*", "", prose)
    lines = re.sub(r"(?m)^[ \t]*(?:#+|[-*+•✓✅](?![-\d])|\d+[.)])\s+", "\n\n", lines)
    return tuple(part for part in sentences(_BOLD.sub("", lines)) if re.search(r"\w", part))


def rank_of(sentence: str) -> Rank:
    """Rank a sentence by its information about the deed."""
    if CUE["aside"].match(sentence) or announces(sentence) or sentence.endswith("?"):
        return Rank.ASIDE
    if CUE["contingent"].match(sentence):
        return Rank.STATE
    if _CONCLUSION.search(sentence.rstrip(".!")):
        return Rank.CONCLUSION
    if _tells_deed(sentence) or _LATER_DEED.search(sentence):
        is_lesser = CUE["investigated"].match(sentence) or CUE["lesser"].match(sentence)
        return Rank.NAMED if is_lesser else Rank.DEED
    if is_praise(sentence):
        return Rank.ASIDE
    head, _, _ = sentence.partition(": ")
    is_state = _STATE.search(head) or CUE["modal"].search(head) or CUE["pronoun"].match(head)
    return Rank.STATE if is_state else Rank.NAMED


def _tells_deed(text: str) -> bool:
    return bool(_DEED.match(text) or _FIRST_PERSON_DEED.search(text))


def announces(sentence: str) -> bool:
    """Return True if a sentence only announces the next step."""
    is_next = is_narration(sentence) and not _tells_deed(sentence)
    return is_next or bool(CUE["look"].match(sentence))


def plain_figure(figure: str) -> str:
    """Return a figure without sign, currency and unit, for comparison."""
    return figure.strip("-−–+$€£¥% .,:")


def conclusion_of(sentence: str) -> str:
    """Return the conclusion at the end of a sentence; "" without a conclusion."""
    match = _CONCLUSION.search(sentence.rstrip(".!"))
    return sentence[match.start() :].lstrip(" ,") if match else ""


def refers_back(sentence: str) -> bool:
    """Return True if a sentence cannot be understood without the sentence before."""
    return CUE["refers back"].match(sentence) is not None


def claims_of(text: str) -> Iterator[str]:
    """Yield the states that a text claims, clause by clause, in its own words."""
    for sentence in split_sentences(text):
        if not _STATE.search(sentence) or CUE["aside"].match(sentence) or sentence.endswith("?"):
            continue
        for clause in _clauses(sentence):
            if _is_claim(clause):
                yield clause


def _clauses(sentence: str) -> Iterator[str]:
    claims = _CONSEQUENCE.sub("; ", sentence) if "so " in sentence.casefold() else sentence
    for part in CUE["end of a clause"].split(claims):
        halves = _AND.split(part)
        clauses = halves if all(map(_STATE.search, halves)) else [part]
        for clause in clauses:
            yield CUE["conjunction"].sub("", clause.strip().rstrip(" ,.;:"))


def _is_claim(clause: str) -> bool:
    """Return True if a clause claims the state of a named thing."""
    state = _STATE.search(clause)
    return bool(
        state
        and state.start() > 0
        and state.end() < len(clause)
        and _MIN_CLAIM <= len(clause) <= _MAX_CLAIM
        and not CUE["pronoun"].match(clause)
        and not CUE["modal"].search(clause)
        and not _tells_deed(clause)
    )

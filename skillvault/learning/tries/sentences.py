"""Rank the sentences of a reasoning as descriptions of a deed, and find the states they claim.

A sentence tells a deed ("I raise the wait to 5 s"), names a deed without a verb ("Stop 66.9k"), or
describes a state ("The test fails in 3 of 10 runs").
"""

import re
from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache

from skillvault.learning.tries import words_pattern
from skillvault.model.lazy import regex
from skillvault.model.reasoning import is_narration, is_praise
from skillvault.model.text.text import sentences

_FLAGS = re.IGNORECASE


class Rank(IntEnum):
    """The information of a sentence about the deed, as an order: the least first."""

    ASIDE = 0  # a risk, an alternative, an announcement: nothing was done
    STATE = 1
    NAMED = 2  # or an investigation, or what only follows another deed
    DEED = 3
    CONCLUSION = 4  # "so I raise the wait"


# Verbs that tell no deed in the first person: to think, see, own or be able.
_MENTAL = rf"{words_pattern('mental')}\b"
_ADVERBS = (
    r"(?:(?:now|then|only|just|also|therefore|first|again|always|never|still|instead|simply|do"
    r"|did|don't|didn't|won't|not|will|would|rather|'ll|'d|quickly|today|at once"
    r"|ha(?:ve|d|s)(?= (?:\w+ )?\w+(?:ed|en)\b)"
    r"|successfully|both)\s+)*"
)
_BASE = words_pattern("verb")
_PAST = (
    r"ran|took|cut|put|set|sent|told|gave|made|wrote|bought|sold|built|kept|left|went|split|reset"
    r"|threw|froze|chose|drew|shut|\w{2,}ed"
)
# Any word with an object at its side, in the place of a verb: "Disambiguate the two functions".
_WITH_OBJECT = (
    r"(?-i:[A-Z])[a-z]+(?<!ly)(?<!s)"
    r" (?:the|an?|all|our|its|their|these|both|each|every|this|that)\b"
)
_NO_VERB = rf"{words_pattern('no verb')}\b"
_NO_DEED_WORD = rf"{words_pattern('no deed')}\b"
_DESCRIBING = r"(?:is|are|was|were|has|have|had|fell|rose|stays?|looks?|seems?|of|went|interest)\b"
# In "adding a node buys time" the gerund is the subject.
_GERUND_SUBJECT = (
    r"(?![^,;:.]* (?:is|was|would|will|can|could|should|buys|makes|improves|reduces|lets|helps"
    r"|means|protects|takes|gives|costs|leads|keeps|needs|hides|breaks)\b)"
)
# At the start of a clause: a deed in the imperative, as a gerund, or as a participle.
_BARE_DEED = (
    r"(?:(?:only|just|then|now|first|also|never|always|don't|do not|no longer)\s+)*"
    rf"(?!{_NO_DEED_WORD})(?:(?:{_BASE}|\w{{3,}}ing{_GERUND_SUBJECT})(?!\w|:| {_DESCRIBING})"
    rf"|(?:{_PAST})(?!\w))"
)
_FIRST_PERSON = (
    r"\b(?:I|[Ww]e)(?:\s+|(?:['’](?:ll|d|ve)|(?:['’]m| am|['’]re| are)(?= \w+ing))\s+)"
    rf"{_ADVERBS}(?!{_MENTAL})[a-z]"
)
# An effect that the text attributes to the change.
_THIS_DOES = (
    r"(?:also,? )?this (?:patch |commit |change |pr )?(?:also )?(?:adds|changes|converts|drops"
    r"|fixes|implements|introduces|limits|moves|raises|reduces|refactors|removes|renames|replaces"
    r"|reverts|sets|switches|updates|uses)\b"
)
_I_DO = regex(_FIRST_PERSON)
_DOES = regex(
    rf"(?:then|now|so|and|but)?,?\s*{_BARE_DEED}|{_THIS_DOES}|(?!{_NO_VERB}){_WITH_OBJECT}", _FLAGS
)
_LATER_DEED = regex(rf"(?:[;:—–]|, then)\s+(?:{_BARE_DEED})", _FLAGS)
_CONCLUSION = regex(
    rf"\b(?:so|therefore|hence),?\s+(?:{_FIRST_PERSON}|(?:will |must |going to )?{_BARE_DEED})"
    r"|\b(?:I|we) therefore\b"
    r"|,\s+so (?:the same|no|only|at|in|half|a|an|\d[\d.,]*|(?-i:[A-Z][\w.-]*))\b"
    r"(?:\s(?!is|are)\S+){0,4}$"
    r"|^(?:the )?(?:fix|remedy|solution)(?: is)?:"
    rf"|^(?:thus|instead|accordingly|therefore),? {_FIRST_PERSON}"
    r"|^(?:fix|improve|solve|address|correct|avoid|resolve|remedy)\b.*\b(?:by|with) \w+",
    _FLAGS,
)
_STATE = regex(rf"\b{words_pattern('state')}\b", _FLAGS)
_INVESTIGATED = regex(
    r"^(?:reproduced|ran|traced|measured|compared|tested|checked|profiled|debugged|read|asked|saw"
    r"|verified|confirmed|counted|searched|bisected)\b",
    _FLAGS,
)
# An action that depends on a condition.
_CONTINGENT = regex(
    r"^(?:if|should|unless|in case|when|once)\b.*\b(?:will|would|can)\b"
    r"|^(?:stop|exit|target|plan b):",
    _FLAGS,
)
# A state, or something that follows another deed.
_LESSER = regex(
    r"^(?:(?:only )?(?:then|after that|afterwards|otherwise)|when|while|whenever|currently"
    r"|although|usually|normally|at the moment|before|till now|until now|so far|previously)\b",
    _FLAGS,
)
_ASIDE = regex(
    r"^(?:(?:close[sd]?|(?:this )?fix(?:es|ed)?|see|ref\w*):? (?:issue )?#\d+|pull request courtesy"
    r"|(?:the |a |one |main |only )*(?:risks?|downside|alternatives?|danger)\b|alternatively\b"
    r"|(?:the )?(?:user|task) (?:wants?|asks?|is)\b|overall\b|in summary\b)",
    _FLAGS,
)
_LOOK = regex(
    r"^(?:(?:first|now|then|next),? )?(?:(?:I|we)(?:['’]ll| will|['’]d)? |let me |let's )"
    r"(?:first |now )*"
    r"(?:look|read|check|inspect|explore|examine|run|test|review|see|start by|begin)\b"
    r"(?!.*\b(?:so|and|then)\s+(?:I|we)\b)",
    _FLAGS,
)
_MODAL = regex(
    r"\b(?:will|would|should|could|might|may|can|must|cannot|won't|can't|has to|have to"
    r"|had to|if|unless|whether)\b",
    _FLAGS,
)
_POINTS_BACK = regex(
    r"^(?:it|its|it's|this|that|these|those|they|there|I|we|he|she|you|nothing|which|who|what|how)\b",
    _FLAGS,
)
_LEANS = regex(
    r"^(?:(?:\S+ ){0,4}?(?:that|those|these|this(?! (?:patch|commit|change|pr)\b)|it|them)"
    r"|(?:only )?then)\b(?! (?:\w+ )?who\b)",
    _FLAGS,
)
_CLAUSE_END = regex(
    r"(?<=[a-z%)])[.!?]\s+|[;:—]\s+|\s[-–]\s|,\s+(?:since|or)\s+"
    r"|,?\s+(?:because|while|whereas|although|but|as long as)\s+"
    r"|,\s+(?:and\s+|which\s+|then\s+)?(?=\w)|(?<=[a-z%\d])\s+(?=I\s)|[.!?]+\s*$",
    _FLAGS,
)
# A consequence is no claim.
_CONSEQUENCE = regex(r"(?:[,;]?\s+|^)so(?: that)?\s(?:(?![;:—]|\.\s).)*", _FLAGS)
_JOINED = regex(r"\s+and\s+")
_TAIL = regex(r"\s+(?:and|or|but)$", _FLAGS)
_LEAD = regex(r"^(?:because|since|as|while|although|so|and|but|given that|now|also)\s+", _FLAGS)
_LEAST, _MOST = 8, 160  # characters of a claim
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
    if _ASIDE.match(sentence) or announces(sentence) or sentence.endswith("?"):
        return Rank.ASIDE
    if _CONTINGENT.match(sentence):
        return Rank.STATE
    if _CONCLUSION.search(sentence.rstrip(".!")):
        return Rank.CONCLUSION
    if _tells_deed(sentence) or _LATER_DEED.search(sentence):
        is_lesser = _INVESTIGATED.match(sentence) or _LESSER.match(sentence)
        return Rank.NAMED if is_lesser else Rank.DEED
    if is_praise(sentence):
        return Rank.ASIDE
    head, _, _ = sentence.partition(": ")
    is_state = _STATE.search(head) or _MODAL.search(head) or _POINTS_BACK.match(head)
    return Rank.STATE if is_state else Rank.NAMED


def _tells_deed(text: str) -> bool:
    return bool(_DOES.match(text) or _I_DO.search(text))


def announces(sentence: str) -> bool:
    """Return True if a sentence only announces the next step."""
    is_next = is_narration(sentence) and not _tells_deed(sentence)
    return is_next or bool(_LOOK.match(sentence))


def plain_figure(figure: str) -> str:
    """Return a figure without sign, currency and unit, for comparison."""
    return figure.strip("-−–+$€£¥% .,:")


def conclusion_of(sentence: str) -> str:
    """Return the conclusion at the end of a sentence; "" without a conclusion."""
    match = _CONCLUSION.search(sentence.rstrip(".!"))
    return sentence[match.start() :].lstrip(" ,") if match else ""


def refers_back(sentence: str) -> bool:
    """Return True if a sentence cannot be understood without the sentence before."""
    return _LEANS.match(sentence) is not None


def claims_of(text: str) -> Iterator[str]:
    """Yield the states that a text claims, clause by clause, in its own words."""
    for sentence in split_sentences(text):
        if not _STATE.search(sentence) or _ASIDE.match(sentence) or sentence.endswith("?"):
            continue
        for clause in _clauses(sentence):
            if _is_claim(clause):
                yield clause


def _clauses(sentence: str) -> Iterator[str]:
    claims = _CONSEQUENCE.sub("; ", sentence) if "so " in sentence.casefold() else sentence
    for part in _CLAUSE_END.split(claims):
        halves = _JOINED.split(part)
        clauses = halves if all(map(_STATE.search, halves)) else [part]
        for clause in clauses:
            yield _TAIL.sub("", _LEAD.sub("", clause.strip()).rstrip(" ,.;:"))


def _is_claim(clause: str) -> bool:
    """Return True if a clause claims the state of a named thing."""
    state = _STATE.search(clause)
    return bool(
        state
        and state.start() > 0
        and state.end() < len(clause)
        and _LEAST <= len(clause) <= _MOST
        and not _POINTS_BACK.match(clause)
        and not _MODAL.search(clause)
        and not _tells_deed(clause)
    )

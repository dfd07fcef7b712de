"""Rank the sentences of a reasoning as descriptions of a deed, and find the states they claim.

A sentence tells a deed ("I raise the wait to 5 s"), names a deed without a verb ("Stop 66.9k"), or
describes a state ("The test fails in 3 of 10 runs"). Add wordings to `patterns.txt`.
"""

import re
from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache

from skillvault.learning.tries import CUE
from skillvault.model.lazy import regex
from skillvault.model.reasoning import is_narration, is_praise
from skillvault.model.text.text import sentences


class Rank(IntEnum):
    """A measure of how much a sentence tells about the deed, from the least to the most."""

    ASIDE = 0  # a risk, an alternative, an announcement: nothing was done
    STATE = 1
    NAMED = 2  # also an investigation, or a mere consequence of another deed
    DEED = 3
    CONCLUSION = 4  # "so I raise the wait"


_AND = regex(r"\s+and\s+")
_MIN_CLAIM, _MAX_CLAIM = 8, 160  # characters
FIGURE = regex(r"(?<![\w.])[-−–+]?[$€£¥]?\d[\d.,:_]*(?:\s?%)?")
_BOLD = regex(r"(?<![\w)])\*\*|\*\*(?![\w(])")  # but 2**30 is a power


@lru_cache(maxsize=4096)
def split_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text in order, without code blocks and markdown signs."""
    prose = re.sub(r"```.*?(?:```|\Z)", "\n\n", text, flags=re.DOTALL)
    prose = re.sub(r"\n\s*\n", "\n\n", prose)  # otherwise each empty line scans all others
    lines = re.sub(r"(?m)^[ \t]*>[> ]*", "", prose)
    lines = re.sub(r"(?m)^[ \t]*(?:#+|[-*+•✓✅](?![-\d])|\d+[.)])\s+", "\n\n", lines)
    return tuple(part for part in sentences(_BOLD.sub("", lines)) if re.search(r"\w", part))


def rank_of(sentence: str) -> Rank:
    """Rank a sentence by how much it tells about the deed."""
    if CUE["aside"].match(sentence) or announces(sentence) or sentence.endswith("?"):
        return Rank.ASIDE
    if CUE["contingent"].match(sentence):
        return Rank.STATE
    if CUE["conclusion"].search(sentence.rstrip(".!")):
        return Rank.CONCLUSION
    if _tells_deed(sentence) or CUE["later deed"].search(sentence):
        is_lesser = CUE["investigated"].match(sentence) or CUE["lesser"].match(sentence)
        return Rank.NAMED if is_lesser else Rank.DEED
    if is_praise(sentence):
        return Rank.ASIDE
    head, _, _ = sentence.partition(": ")
    is_state = CUE["state"].search(head) or CUE["modal"].search(head) or CUE["pronoun"].match(head)
    return Rank.STATE if is_state else Rank.NAMED


def _tells_deed(text: str) -> bool:
    return bool(CUE["deed"].match(text) or CUE["first person"].search(text))


def announces(sentence: str) -> bool:
    """Return True if a sentence only announces the next step."""
    is_next = is_narration(sentence) and not _tells_deed(sentence)
    return is_next or bool(CUE["look"].match(sentence))


def plain_figure(figure: str) -> str:
    """Return a figure without sign, currency and unit, for comparison."""
    return figure.strip("-−–+$€£¥% .,:")


def conclusion_of(sentence: str) -> str:
    """Return the conclusion at the end of a sentence, or ""."""
    match = CUE["conclusion"].search(sentence.rstrip(".!"))
    return sentence[match.start() :].lstrip(" ,") if match else ""


def claims_of(text: str) -> Iterator[str]:
    """Yield the clauses of a text that claim a state."""
    for sentence in split_sentences(text):
        is_aside = CUE["aside"].match(sentence) or sentence.endswith("?")
        if not is_aside and CUE["state"].search(sentence):
            yield from filter(_is_claim, _clauses(sentence))


def _clauses(sentence: str) -> Iterator[str]:
    claims = CUE["consequence"].sub("; ", sentence) if "so " in sentence.casefold() else sentence
    for part in CUE["end of a clause"].split(claims):
        halves = _AND.split(part)
        clauses = halves if all(map(CUE["state"].search, halves)) else [part]
        for clause in clauses:
            yield CUE["conjunction"].sub("", clause.strip().rstrip(" ,.;:"))


def _is_claim(clause: str) -> bool:
    state = CUE["state"].search(clause)
    return bool(
        state
        and state.start() > 0
        and state.end() < len(clause)
        and _MIN_CLAIM <= len(clause) <= _MAX_CLAIM
        and not CUE["pronoun"].match(clause)
        and not CUE["modal"].search(clause)
        and not _tells_deed(clause)
    )

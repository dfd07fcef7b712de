"""What several skills say alike: their statements in strands, each told once.

Two statements are one strand where they differ in a few words, and those are told; where one
denies what the other says, they never are.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from skillvault.judge.reading import telling
from skillvault.judge.sources import Sources
from skillvault.judge.speech import plain
from skillvault.text import STOP_WORDS, count_of, flat, listed

NEAR = 0.6  # Jaccard index of their words above which two statements may be one
_FEW = 4  # words in which one may differ from another
_NAMED = 3  # so many sources are named, more are counted
_FIGURES = 5  # so many variants that differ in figures alone are told
_SELF = "\0"  # stands for what its own skill is about

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff]|\w[\w'’.,:/%+-]*|\0")
_DENIALS = frozenset(
    """
    not no never without cannot nor neither none avoid don't can't won't didn't doesn't isn't
    不 没 未 无 别 非 勿
    """.split()
)
_SMALL = frozenset("all and any are but can for had has its our the was you".split())


class Said(NamedTuple):
    """A statement of a source, and its words; `place` is its position among all.

    `core` is the statement without what it says of its one outcome alone.
    """

    skill: str
    heading: str
    statement: str
    core: str
    words: tuple[str, ...]
    place: int


class Strand(NamedTuple):
    """Statements that say the same; the first stands for the others."""

    members: tuple[Said, ...]

    @property
    def lead(self) -> Said:
        """The statement that is told."""
        return self.members[0]

    @property
    def skills(self) -> list[str]:
        """Who says so, in the order of the sources."""
        return list(dict.fromkeys(m.skill for m in sorted(self.members, key=lambda m: m.place)))

    @property
    def support(self) -> int:
        """How many sources say so."""
        return len(self.skills)


def words_of(text: str, own: str) -> tuple[str, ...]:
    """The words of a statement in order; what its skill is about is one word for all of them."""
    return tuple(word.casefold() for word in _spelled(text, own))


def named(text: str, own: str, other: str) -> str:
    """A text that says `other` wherever it says, as a whole name, what its skill is about."""
    if not own:
        return text
    name = rf"(?<![A-Za-z0-9_]){re.escape(own)}(?![A-Za-z0-9_])"
    return re.sub(name, lambda _: other, text)


def _spelled(text: str, own: str) -> list[str]:
    found = _WORD.findall(named(text, own, _SELF).replace("[ ]", ""))
    return [word.rstrip(".:,") for word in found]


def strands(said: Sequence[Said]) -> list[Strand]:
    """The statements in strands, in the order in which their leads were said.

    The wording that most sources have leads; then the most telling, then the latest, whose
    counts are newest. Two wordings of one source are two statements.
    """
    worded: dict[tuple[str, ...], list[Said]] = {}
    for each in said:
        worded.setdefault(each.words, []).append(each)
    rarity = Counter(word for words in worded for word in set(words))
    holders: dict[str, list[int]] = {}
    found: list[list[Said]] = []
    for words, same in sorted(worded.items(), key=lambda item: _rank(item[1])):
        rare = sorted(set(words), key=lambda w: (rarity[w], w))
        rare = rare[: len(rare) - int(NEAR * len(rare))]
        near = sorted({n for word in rare for n in holders.get(word, ())})
        number = next((n for n in near if _one(found[n], same)), None)
        if number is None:
            number = len(found)
            found.append([])
            for word in rare:
                holders.setdefault(word, []).append(number)
        found[number] += same
    made = [Strand(tuple(members)) for members in found]
    return sorted(made, key=lambda strand: strand.lead.place)


def _rank(same: list[Said]) -> tuple[int, float, int]:
    """Where a wording stands among others; its newest statement comes first."""
    same.sort(key=lambda each: -each.place)
    return -len({each.skill for each in same}), -telling(same[0].core), -same[0].place


def _one(strand: Sequence[Said], same: Sequence[Said]) -> bool:
    """Whether a strand's lead can stand for another wording, but for a few words to be told."""
    lead, other = strand[0], same[0]
    a, b = set(lead.words), set(other.words)
    both = len(a & b)
    if both <= NEAR * (len(a) + len(b) - both) or a & _DENIALS != b & _DENIALS:
        return False
    if not {each.skill for each in strand}.isdisjoint(each.skill for each in same):
        return False
    return sum(end - start for start, end in _differing(lead, other)) <= _FEW


def _differing(lead: Said, other: Said) -> list[tuple[int, int]]:
    """The runs of words that stand in the other and not in the lead."""
    if lead.words == other.words:
        return []
    pairs = SequenceMatcher(None, lead.words, other.words, autojunk=False).get_opcodes()
    return [(start, end) for tag, _, _, start, end in pairs if tag != "equal" and end > start]


def told(strand: Strand, sources: Sources, *, briefly: bool = False) -> str:
    """A strand in one line: the statement, who says so, and in which words they differ.

    `briefly`: that they differ is all that is told.
    """
    text, names = flat(strand.lead.core), sources.names
    own = sources.about[strand.lead.skill]
    alike = all(member.words == strand.lead.words for member in strand.members)
    if alike and _SELF in strand.lead.words and strand.support > 1:
        text = named(text, own, listed(plain(sources.about[skill]) for skill in strand.skills))
        return _noted(text, count_of(strand.support, len(names)))
    by_words: dict[str, list[str]] = {"": []}
    for member in sorted(strand.members, key=lambda m: m.place):
        other = _variant(strand.lead, member, sources.about[member.skill])
        with_ = by_words.setdefault(other, [])
        with_ += [name for name in [names[member.skill]] if name not in with_]
    same = by_words.pop("")
    counted = len(same) == len(names) or len(same) > _NAMED
    others = _alike(by_words) if briefly else _differently(by_words)
    return _noted(
        text, "; ".join([count_of(len(same), len(names)) if counted else listed(same), *others])
    )


def _alike(by_words: Mapping[str, Sequence[str]]) -> list[str]:
    who = [name for with_ in by_words.values() for name in with_]
    return (
        [f"alike: {listed(who)}" if len(who) <= _NAMED else f"alike: {len(who)} more"]
        if who
        else []
    )


def _differently(by_words: Mapping[str, Sequence[str]]) -> list[str]:
    """Who says it in which other words; of other figures alone not all of many."""
    worded = [w for w in by_words if any(map(str.isalpha, w))]
    figures = [w for w in by_words if w not in worded]
    told = [f"{listed(by_words[other])}: {other}" for other in (*worded, *figures[:_FIGURES])]
    more = sum(len(by_words[other]) for other in figures[_FIGURES:])
    return [*told, f"{more} more with other figures"] if more else told


def _variant(lead: Said, other: Said, own: str) -> str:
    """The words in which another differs from the lead; function words are no difference."""
    spelled = _spelled(other.core, own)
    runs = [spelled[start:end] for start, end in _differing(lead, other)]
    kept = [run for run in runs if not all(map(_hollow, run))]
    return ", ".join(_joined(run) for run in kept).replace(_SELF, own)


def _hollow(word: str) -> bool:
    small = len(word) < 3 and word.isascii() and word.isalpha()
    return small or word.casefold() in STOP_WORDS | _SMALL


def _joined(run: Sequence[str]) -> str:
    return (" " if any(word.isascii() for word in run) else "").join(run)


def _noted(text: str, note: str) -> str:
    """A statement with a note in it, before its full stop."""
    stop = text[-1:] if text.endswith((".", "。", "！")) else ""
    return f"{text.removesuffix(stop)} ({note}){stop}"

"""What several skills say alike: their statements in strands, each told once.

Two statements are one strand where they differ in a few words, and those are told; where one
denies what the other says, they never are.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from skillvault.judge.offline.notes import Note, Voices, noted
from skillvault.judge.offline.reading import telling
from skillvault.judge.offline.speech import plain
from skillvault.text import STOP_WORDS, flat, listed

NEAR = 0.6  # Jaccard index of their words above which two statements may be one
_FEW = 4  # words in which one may differ from another
_LISTED = 8  # so many of what sources are about are listed
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

    `core` is the statement without what it says of its one outcome alone, or of who says it,
    which is `note`. `own` is what it speaks of where others speak of what they are about.
    """

    skill: str
    heading: str
    statement: str
    core: str
    own: tuple[str, ...]
    words: tuple[str, ...]
    note: Note
    place: int


class Strand(NamedTuple):
    """Statements that say the same; the first stands for the others."""

    members: tuple[Said, ...]

    @property
    def lead(self) -> Said:
        """The statement that is told."""
        return self.members[0]

    @property
    def voices(self) -> list[Said]:
        """One statement of each skill, in the order of the sources."""
        found: dict[str, Said] = {}
        for member in sorted(self.members, key=lambda m: m.place):
            if member.note.count > (found[member.skill].note.count if member.skill in found else 0):
                found[member.skill] = member
        return list(found.values())

    @property
    def support(self) -> int:
        """How many sources say so."""
        return sum(member.note.count for member in self.voices)


def words_of(text: str, own: Sequence[str]) -> tuple[str, ...]:
    """The words of a statement in order; what its skill is about is one word for all of them."""
    return tuple(word.casefold() for word in _spelled(_anyone(text, own)))


def spoken_of(text: str, names: Iterable[str]) -> tuple[str, ...]:
    """Which of these names a text says, in its order."""
    there = [name for name in names if name and name in text]
    found = re.findall(_whole(there), text) if there else []
    return tuple(dict.fromkeys(found))


def _anyone(text: str, own: Sequence[str]) -> str:
    """A text that says the same word wherever it says, or lists, what its skill is about."""
    if not own:
        return text
    one = _whole(own)
    return re.sub(rf"{one}(?:, {one})*(?: and (?:{one}|\d+ more))?", _SELF, text)


def _whole(names: Sequence[str]) -> str:
    """A pattern of any of these names, as a whole name and the longest first."""
    either = "|".join(re.escape(each) for each in sorted(names, key=len, reverse=True))
    return rf"(?<![A-Za-z0-9_])(?:{either})(?![A-Za-z0-9_])"


def named(text: str, own: str, other: str) -> str:
    """A text that says `other` wherever it says, as a whole name, what its skill is about."""
    if not own:
        return text
    return re.sub(_whole([own]), lambda _: other, text)


def _spelled(text: str) -> list[str]:
    found = _WORD.findall(text.replace("[ ]", ""))
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
    count = Strand(tuple(same)).support
    return -count, -telling(same[0].core), -same[0].place


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


def told(strand: Strand, of: int, *, briefly: bool = False) -> str:
    """A strand in one line: the statement, who of so many says so, and how they differ.

    `briefly`: that they differ is all that is told.
    """
    lead, voices = strand.lead, strand.voices
    alike = all(member.words == lead.words for member in strand.members)
    if alike and _SELF in lead.words and strand.support > 1:
        own = dict.fromkeys(plain(name) for member in voices for name in member.own)
        text = _anyone(flat(lead.core), lead.own).replace(_SELF, _some(own, strand.support))
        return noted(text, Note(Voices(strand.support)), of)
    note = Note()
    for member in voices:
        note = note.join(member.note, _variant(lead, member))
    return noted(flat(lead.core), note.brief() if briefly else note, of)


def _some(names: Iterable[str], count: int) -> str:
    """The first of so many names."""
    first = list(names)[:_LISTED]
    more = count - len(first)
    return listed([*first, f"{more} more"] if count > _LISTED else first)


def _variant(lead: Said, other: Said) -> str:
    """The words in which another differs from the lead; function words are no difference."""
    spelled = _spelled(_anyone(other.core, other.own))
    runs = [spelled[start:end] for start, end in _differing(lead, other)]
    kept = [run for run in runs if not all(map(_hollow, run))]
    return ", ".join(_joined(run) for run in kept).replace(_SELF, listed(map(plain, other.own)))


def _hollow(word: str) -> bool:
    small = len(word) < 3 and word.isascii() and word.isalpha()
    return small or word.casefold() in STOP_WORDS | _SMALL


def _joined(run: Sequence[str]) -> str:
    return (" " if any(word.isascii() for word in run) else "").join(run)

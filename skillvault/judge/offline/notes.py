"""Who says a statement, noted behind it: `Sold too late (4 of 7; SOL-PERP: too early)`.

What is written is read again when the text grows, so that counts go on where they stood.
"""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from skillvault.text import count_of, listed

BEFORE = "as before"  # who says what a person wrote into an evolved skill
_NAMED = 3  # so many sources are named, more are counted
_WORDED = 12  # so many variants in other words are told
_FIGURES = 5  # so many variants that differ in figures alone are told

_NOTED = re.compile(r" \((?P<note>[^()]+)\)(?P<stop>[.。！]?)$")
_COUNTED = re.compile(r"(?P<count>\d+) (?:of \d+|more)")
_UNTOLD = re.compile(r"(?P<count>\d+) more (?P<how>in other words|with other figures)")
_SAFE = str.maketrans("()", "[]")


class Voices(Struct, frozen=True):
    """So many sources; by name while they are few."""

    count: int = 0
    names: tuple[str, ...] = ()

    def join(self, other: "Voices") -> "Voices":
        """These and those."""
        names = tuple(dict.fromkeys(self.names + other.names))
        known = len(self.names) == self.count and len(other.names) == other.count
        count = len(names) if known else self.count + other.count
        return Voices(count, names if known and count <= _NAMED else ())

    def told(self) -> str:
        """By name, or how many more."""
        return listed(self.names) if self.names else f"{self.count} more"


class Note(Struct, frozen=True):
    """Who says a statement so, who in which other words, and how many in words not told."""

    same: Voices = Voices()
    others: Mapping[str, Voices] = field(default_factory=dict)
    alike: Voices = Voices()
    worded: int = 0
    figured: int = 0

    @property
    def count(self) -> int:
        """All that say so."""
        others = sum(voices.count for voices in self.others.values())
        return self.same.count + others + self.alike.count + self.worded + self.figured

    def join(self, other: "Note", words: str = "") -> "Note":
        """With another note, of a statement that says it in these other words if in any."""
        others = dict(self.others)
        more = [*other.others.items(), *([(words, other.same)] if words else [])]
        for each, voices in more:
            others[each] = others.get(each, Voices()).join(voices)
        return Note(
            self.same if words else self.same.join(other.same),
            others,
            self.alike.join(other.alike),
            self.worded + other.worded,
            self.figured + other.figured,
        )

    def brief(self) -> "Note":
        """Without the words in which others say it."""
        alike = self.alike
        for voices in self.others.values():
            alike = alike.join(voices)
        count = alike.count + self.worded + self.figured
        return Note(self.same, alike=alike if count == alike.count else Voices(count))


def noted(text: str, note: Note, of: int) -> str:
    """A statement of one of so many sources with its note, before its full stop."""
    stop = text[-1:] if text.endswith((".", "。", "！")) else ""
    said = "; ".join(_parts(note, of)).translate(_SAFE)
    return f"{text.removesuffix(stop)} ({said}){stop}"


def _parts(note: Note, of: int) -> Iterable[str]:
    named = note.same.names and note.same.count < of
    yield note.same.told() if named else count_of(note.same.count, of)
    if note.alike.count:
        yield f"alike: {note.alike.told()}"
    worded = [words for words in note.others if any(map(str.isalpha, words))]
    figures = [words for words in note.others if words not in worded]
    for told in (worded[:_WORDED], figures[:_FIGURES]):
        yield from (f"{note.others[words].told()}: {words}" for words in told)
    left = [sum(note.others[w].count for w in worded[_WORDED:]) + note.worded]
    left += [sum(note.others[w].count for w in figures[_FIGURES:]) + note.figured]
    for count, how in zip(left, ("in other words", "with other figures"), strict=True):
        if count:
            yield f"{count} more {how}"


def read(statement: str, known: frozenset[str]) -> tuple[str, Note]:
    """A noted statement's text and note; as it stands where nothing known is noted.

    `known` are the names that sources go by.
    """
    found = _NOTED.search(statement)
    note = _note(found["note"], known) if found else None
    if not found or note is None:
        return statement, Note(Voices(1, (BEFORE,)))
    return statement[: found.start()] + found["stop"], note


def _note(text: str, known: frozenset[str]) -> Note | None:
    first, *rest = text.split("; ")
    same = _voices(first, known)
    note = Note(same) if same else None
    for part in rest:
        note = _with(note, part, known) if note else None
    return note


def _with(note: Note, part: str, known: frozenset[str]) -> Note | None:
    untold = _UNTOLD.fullmatch(part)
    if untold:
        count, words = int(untold["count"]), untold["how"] == "in other words"
        return note.join(Note(worded=count) if words else Note(figured=count))
    who, _, words = part.rpartition(": ")
    if who == "alike":
        voices = _voices(words, known)
        return note.join(Note(alike=voices)) if voices else None
    voices = _voices(who, known)
    return note.join(Note(voices), words) if voices else None


def _voices(text: str, known: frozenset[str]) -> Voices | None:
    counted = _COUNTED.fullmatch(text)
    if counted:
        return Voices(int(counted["count"]))
    rest, _, last = text.rpartition(" and ")
    names = (text,) if text in known else (*(rest.split(", ") if rest else ()), last)
    there = all(name in known or name == BEFORE for name in names)
    return Voices(len(names), names) if there else None

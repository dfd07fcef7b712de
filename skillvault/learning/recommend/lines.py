"""Which lines of a guide answer a task, and what of the guide an answer gives."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from skillvault.model.brief import RULES
from skillvault.model.english import FUNCTION_WORDS, weight
from skillvault.model.sameness.comparison import MARK
from skillvault.model.sameness.form import Form, normal_form
from skillvault.model.text.text import ARROW

ANSWERS = 28.0  # strength from which on a line alone answers a task
RELATED = 12.0  # below it no line of a guide has to do with the task
_SIDE = 15.0  # weight of a side such as fast or open: any task may take one
_NEAR = 0.5  # of the best line's weight, from which on a line is given
_OWN = (RULES, "Do", "Avoid", "Refused", "Tried")  # sections that the program writes
_ALWAYS = (RULES, "Refused")  # sections that are given whole
_FIRST = 3  # lines of what to do that are given whatever the task
_NEAREST = 8  # lines that are near a task
_PREFIX = 4  # letters by which a word may be the other's form
_WORD = re.compile(r"\w+")
_DEED_ENDS = re.compile(rf"{ARROW}| \((?:weak|strong): ")  # in the line of a try
_PAIR = re.compile(r"(?<=[A-Z])[-/](?=[A-Z])")


class LineMatch(NamedTuple):
    """How much of a task a line says: the weight of what both say, and its share of the task."""

    weight: float
    share: float

    @property
    def strength(self) -> float:
        """How much the line says, less where that is a small part of what is asked."""
        return self.weight * self.share


NO_MATCH = LineMatch(0.0, 0.0)


def match_lines(task: str, lines: Iterable[str], about: str = "") -> dict[str, LineMatch]:
    """Return the lines that say anything of a task, each with how much.

    `about` are words that each line is read with: the action of its guide.
    """
    asked = normal_form(task)
    whole = _weight(asked.stems, asked.numbers | asked.names)
    beginnings = _beginnings(task)
    matches: dict[str, LineMatch] = {}
    is_named = not beginnings.isdisjoint(_beginnings(about))
    for line in lines:
        if whole and (is_named or not beginnings.isdisjoint(_beginnings(line))):
            parted = _PAIR.sub(" ", line)  # who asks about SOL means SOL-PERP
            said = _shared(asked, normal_form(f"{about}: {parted}"))
            matches[line] = LineMatch(said, said / whole)
    return matches


def _shared(asked: Form, form: Form) -> float:
    marks = (asked.numbers | asked.names) & (form.numbers | form.names)
    return _weight(asked.stems & form.stems, marks)


def _weight(stems: Iterable[str], marks: Sequence[str] | frozenset[str]) -> float:
    words = (_SIDE if stem.startswith("~") else weight(stem) for stem in stems)
    return sum(words) + MARK * len(marks)


def _beginnings(text: str) -> set[str]:
    words = _WORD.findall(text.casefold())
    return {word[:_PREFIX] for word in words if word not in FUNCTION_WORDS}


def excerpt_for(task: str, body: str, tried: Sequence[str], about: str = "") -> str:
    """Return a guide's text cut to a task: the lines nearest to it, rules, the first deeds.

    `tried` are further lines. A section of a person's stays whole, and the whole text where no line
    says anything of the task.
    """
    title, *sections = re.split(r"(?m)^(?=## )", body)
    headings = {
        line: section.partition("\n")[0].removeprefix("## ").strip()
        for section in sections
        for line in section.splitlines()
        if line.startswith("- ")
    }
    others = [line for line in tried if not _is_in(line, body)]
    matches = match_lines(task, [*headings, *others], about)
    best = max((match.weight for match in matches.values()), default=0.0)
    if not best:
        return body
    near = [line for line, match in matches.items() if match.weight >= _NEAR * best]
    near = sorted(near, key=lambda line: -matches[line].weight)[:_NEAREST]
    fits = [
        _labelled(line, headings.get(line, ""))
        for line in near
        if headings.get(line) not in _ALWAYS
    ]
    cuts = [text for section in sections if (text := _cut(section, near))]
    first = [text for text in cuts if text.startswith(tuple(f"## {name}" for name in _ALWAYS))]
    nearest = ["\n".join(["## For This Task", "", *fits])] if fits else []
    rest = [text for text in cuts if text not in first]
    return "\n\n".join([title.partition("\n")[0], *first, *nearest, *rest])


def omits_lines(excerpt: str, body: str) -> bool:
    """Return True if an excerpt lacks a line of the text."""
    lines = (line[2:] for line in body.splitlines() if line.startswith("- "))
    return any(line not in excerpt for line in lines)


def _cut(section: str, near: Sequence[str]) -> str:
    """Return what of a section is given beside the lines that are near a task; "" for nothing."""
    heading = section.partition("\n")[0].removeprefix("## ").strip()
    if heading not in _OWN:
        return section.strip()
    items = [line for line in section.splitlines() if line.startswith("- ")]
    if heading not in _ALWAYS:
        fresh = [line for line in items if line not in near]
        items = fresh[:_FIRST] if heading == "Do" else []
    return "\n".join([f"## {heading}", "", *items]) if items else ""


def _labelled(line: str, heading: str) -> str:
    """Return a line with the section it is from, where that says how it is meant."""
    return line.replace("- ", f"- {heading}: ", 1) if heading in ("Do", "Avoid") else line


def _is_in(line: str, body: str) -> bool:
    """Return True if a text tells a try already: by its deed, which both quote."""
    deed = _DEED_ENDS.split(line.partition(": ")[2], maxsplit=1)[0].rstrip(".")
    _, _, unlabelled = deed.partition(": ")  # a text names the target only where targets differ
    return deed in body or (unlabelled != "" and unlabelled in body)

"""Find the lines of a guide that are about a task, and cut the guide to them."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from skillvault.model.brief import RULES
from skillvault.model.english import FUNCTION_WORDS, weight
from skillvault.model.lazy import regex
from skillvault.model.sameness.comparison import MARK_WEIGHT
from skillvault.model.sameness.form import normal_form
from skillvault.model.text.text import ARROW

ANSWERS = 28.0  # strength from which on a line alone answers a task
RELATED = 12.0  # below it no line of a guide has to do with the task
_SIDE_WEIGHT = 15.0  # of a side such as fast or open: any task may take one
_NEAR_SHARE = 0.5  # of the best line's weight, from which on a line is near
_OWN_SECTIONS = (RULES, "Do", "Avoid", "Refused", "Tried")  # the program writes them
_WHOLE_SECTIONS = (RULES, "Refused")
_FIRST_DEEDS = 3  # lines of what to do that are given whatever the task
_MAX_NEAR = 8  # lines that are near a task
_PREFIX = 4  # letters that two forms of a word share
_WORD = regex(r"\w+")
_DEED_END = regex(rf"{ARROW}| \((?:weak|strong): ")  # in the line of a try
# The counts and dates that the program writes into a line: no task is about them.
_COUNTS = regex(r"\d+(?: of \d+)? (?:failed )?runs\b[^;)]*|^- \d{4}-\d\d-\d\d\b")
# In the label `file in repository: `: all lines of a repository name it, so it tells none apart.
_REPOSITORY = regex(r"^((?:- )?(?: \w+: )?[^:]{1,90}?) in [\w.-]+(?=: )")
_PAIR = regex(r"(?<=[A-Z])[-/](?=[A-Z])")


class LineMatch(NamedTuple):
    """The weight of the words that a line shares with a task, and their share of the task."""

    weight: float
    share: float

    @property
    def strength(self) -> float:
        """The weight, reduced if it is a small part of the task."""
        return self.weight * self.share


NO_MATCH = LineMatch(0.0, 0.0)


def match_lines(task: str, lines: Iterable[str], about: str = "") -> dict[str, LineMatch]:
    """Return the match of each line that shares words with a task.

    `about` are further words for each line: the action of its guide.
    """
    task_form = normal_form(task)
    marks = task_form.numbers | task_form.names
    total = _weight(task_form.stems, marks)
    stems = _word_stems(task)
    matches: dict[str, LineMatch] = {}
    is_about_task = not stems.isdisjoint(_word_stems(about))
    for line in lines:
        if total and (is_about_task or not stems.isdisjoint(_word_stems(line))):
            words = _REPOSITORY.sub(r"\1", _COUNTS.sub("", line))
            words = _PAIR.sub(" ", words)  # who asks about SOL means SOL-PERP
            form = normal_form(f"{about}: {words}")
            shared = _weight(task_form.stems & form.stems, marks & (form.numbers | form.names))
            matches[line] = LineMatch(shared, shared / total)
    return matches


def _weight(stems: Iterable[str], marks: Sequence[str] | frozenset[str]) -> float:
    words = (_SIDE_WEIGHT if stem.startswith("~") else weight(stem) for stem in stems)
    return sum(words) + MARK_WEIGHT * len(marks)


def _word_stems(text: str) -> set[str]:
    words = _WORD.findall(text.casefold())
    return {word[:_PREFIX] for word in words if word not in FUNCTION_WORDS}


def cut_excerpt(task: str, body: str, tried: Sequence[str], about: str = "") -> str:
    """Cut the text of a guide to a task: the nearest lines, rules, and the first deeds.

    `tried` are further lines. The sections of a person stay whole. The text stays whole if no line
    is about the task.
    """
    title, *sections = re.split(r"(?m)^(?=## )", body)
    headings = {
        line: section.partition("\n")[0].removeprefix("## ").strip()
        for section in sections
        for line in section.splitlines()
        if line.startswith("- ")
    }
    further_lines = [line for line in tried if not is_covered(line, body)]
    matches = match_lines(task, [*headings, *further_lines], about)
    max_weight = max((match.weight for match in matches.values()), default=0.0)
    if not max_weight:
        return body
    by_weight = sorted(matches, key=lambda line: -matches[line].weight)[:_MAX_NEAR]
    near_lines = [line for line in by_weight if matches[line].weight >= _NEAR_SHARE * max_weight]
    task_lines: list[str] = []
    for line in near_lines:
        heading = headings.get(line)
        if heading not in _WHOLE_SECTIONS:
            label = f"- {heading}: " if heading in ("Do", "Avoid") else "- "
            task_lines.append(line.replace("- ", label, 1))
    cuts = [text for section in sections if (text := _cut_section(section, near_lines))]
    whole_openings = tuple(f"## {heading}" for heading in _WHOLE_SECTIONS)
    whole_cuts = [text for text in cuts if text.startswith(whole_openings)]
    task_section = ["\n".join(["## For This Task", "", *task_lines])] if task_lines else []
    other_cuts = [text for text in cuts if text not in whole_cuts]
    return "\n\n".join([title.partition("\n")[0], *whole_cuts, *task_section, *other_cuts])


def omits_lines(excerpt: str, body: str) -> bool:
    """Return True if an excerpt lacks a line of the text."""
    lines = (line[2:] for line in body.splitlines() if line.startswith("- "))
    return any(line not in excerpt for line in lines)


def _cut_section(section: str, near_lines: Sequence[str]) -> str:
    """Return a section without the lines near the task, or "" if no line is left."""
    heading = section.partition("\n")[0].removeprefix("## ").strip()
    if heading not in _OWN_SECTIONS:
        return section.strip()
    lines = [line for line in section.splitlines() if line.startswith("- ")]
    if heading not in _WHOLE_SECTIONS:
        new_lines = [line for line in lines if line not in near_lines]
        lines = new_lines[:_FIRST_DEEDS] if heading == "Do" else []
    return "\n".join([f"## {heading}", "", *lines]) if lines else ""


def is_covered(line: str, body: str) -> bool:
    """Return True if a text has a try already: both quote its deed."""
    deed = _DEED_END.split(line.partition(": ")[2], maxsplit=1)[0].rstrip(".")
    _, _, unlabelled = deed.partition(": ")  # a text names the target only where targets differ
    return deed in body or (unlabelled != "" and unlabelled in body)

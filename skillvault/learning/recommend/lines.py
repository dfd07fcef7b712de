"""Find the lines of a guide that are about a task, and cut the guide to these lines.

`serving/` cuts guides with `cut_excerpt`; prompts choose rules with `match_lines`.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from skillvault.model.brief import RULES
from skillvault.model.english import FUNCTION_WORDS, weight
from skillvault.model.lazy import regex
from skillvault.model.sameness.comparison import MARK_WEIGHT
from skillvault.model.sameness.form import normal_form
from skillvault.model.text.text import ARROW

ANSWERS = 28.0  # strength of a line that alone answers a task
RELATED = 12.0  # a line of less strength is not about the task
_SIDE_WEIGHT = 15.0  # weight of a side such as fast or open, which occurs in many tasks
_NEAR_SHARE = 0.5  # a line with so much of the best line's weight is near the task
_GENERATED_SECTIONS = (RULES, "Do", "Avoid", "Refused", "Tried")
_WHOLE_SECTIONS = (RULES, "Refused")
_FIRST_DEEDS = 3  # lines of `Do` that are shown for any task, unless of another target
_MAX_NEAR = 8  # lines near the task to show
_PREFIX = 4  # letters that two forms of a word share
_WORD = regex(r"[^\W_]+")
_DEED_END = regex(rf"{ARROW}| \((?:weak|strong): ")  # follows the deed in the line of a try
# Counts and dates in a generated line, which no task is about.
_COUNTS = regex(r"\d+(?: of \d+)? (?:failed )?runs\b[^;)]*|^- \d{4}-\d\d-\d\d\b")
# The label `file in repository: `. To match a task, the repository is removed: all lines name it.
_REPOSITORY = regex(r"^((?:- )?(?: \w+: )?[^:]{1,90}?) in [\w.-]+(?=: )")


class LineMatch(NamedTuple):
    """The weight of the words that a line shares with a task, and its share (0..1) of the task."""

    weight: float
    share: float

    @property
    def strength(self) -> float:
        """The weight, reduced if the line covers a small part of the task."""
        return self.weight * self.share


NO_MATCH = LineMatch(0.0, 0.0)


def match_lines(task: str, lines: Iterable[str], about: str = "") -> dict[str, LineMatch]:
    """Return the match of each line that shares words with a task.

    `about` has further words for each line, such as the action of its guide.
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
            # A task about SOL is about SOL-PERP, one about the checkout about test_checkout.py.
            words = f"{words} {' '.join(_WORD.findall(words))}"
            form = normal_form(f"{about}: {words}")
            score = _weight(task_form.stems & form.stems, marks & (form.numbers | form.names))
            matches[line] = LineMatch(score, score / total)
    return matches


def _weight(stems: Iterable[str], marks: Sequence[str] | frozenset[str]) -> float:
    words = (_SIDE_WEIGHT if stem.startswith("~") else weight(stem) for stem in stems)
    return sum(words) + MARK_WEIGHT * len(marks)


def _word_stems(text: str) -> set[str]:
    words = _WORD.findall(text.casefold())
    return {word[:_PREFIX] for word in words if word not in FUNCTION_WORDS}


def cut_excerpt(task: str, body: str, tried_lines: Sequence[str], about: str = "") -> str:
    """Cut a guide to its rules, the lines nearest to a task, and its first deeds.

    A line of `tried_lines` near the task is added if the text does not cover it. Sections that a
    person wrote stay whole, and so does a text without a line about the task.
    """
    title, *sections = re.split(r"(?m)^(?=## )", body)
    headings = {
        line: section.partition("\n")[0].removeprefix("## ").strip()
        for section in sections
        for line in section.splitlines()
        if line.startswith("- ")
    }
    further_lines = [line for line in tried_lines if not is_covered(line, body)]
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
    """Return True if a line of the text is not in the excerpt."""
    lines = (line[2:] for line in body.splitlines() if line.startswith("- "))
    return any(line not in excerpt for line in lines)


def _subject(line: str) -> str:
    """Return the label `file in repository` of a line, or "" if the line is about all targets."""
    match = _REPOSITORY.match(line)
    return match[0] if match else ""


def _cut_section(section: str, near_lines: Sequence[str]) -> str:
    heading = section.partition("\n")[0].removeprefix("## ").strip()
    if heading not in _GENERATED_SECTIONS:
        return section.strip()
    lines = [line for line in section.splitlines() if line.startswith("- ")]
    if heading not in _WHOLE_SECTIONS:
        subjects = {_subject(line) for line in near_lines}
        new_lines = (line for line in lines if line not in near_lines)
        deeds = [line for line in new_lines if _subject(line) in ("", *subjects)]
        lines = deeds[:_FIRST_DEEDS] if heading == "Do" else []
    return "\n".join([f"## {heading}", "", *lines]) if lines else ""


def is_covered(line: str, body: str) -> bool:
    """Return True if a text already has the deed of a line."""
    deed = _DEED_END.split(line.partition(": ")[2], maxsplit=1)[0].rstrip(".")
    _, _, plain_deed = deed.partition(": ")  # a text leaves the target out if all are equal
    return deed in body or (plain_deed != "" and plain_deed in body)

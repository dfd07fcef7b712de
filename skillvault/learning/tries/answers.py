"""Read the answers that runs gave, and find the answers that a task refused."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation

from skillvault.learning.tries import CUE
from skillvault.model.brief import RefusedAnswers
from skillvault.model.lazy import regex
from skillvault.model.records import Outcome

_STORED = CUE["answer in a field"], CUE["answer in a file"]
_PRESENTED = (
    *(CUE["answer after a noun"], CUE["answer before a noun"], CUE["answer after a verb"]),
    *_STORED,
)
_ANSWER = regex(r"\banswer\b", re.IGNORECASE)
_PATH = regex(r"[/\\]|\.\w{2,4}$")
_MARKS = "*`\"'“” "
# `1,240` is one number, `1,2,40` three.
_GROUPED = regex(r"[-+]?\d{1,3}(?:[,_]\d{2,3})*[,_]\d{3}(?:\.\d*)?(?:[eE][-+]?\d+)?")
_UNIT = regex(r"^([-−–+]?)\s*[$€£¥]\s?")
_MAX_DIGITS = 60  # digits before or after the point; a longer figure is not normalized
_MAX_SEARCHED = 2000  # characters at the end of a text to search for an answer
_MAX_LINE = 120  # characters of a line with a value alone
_MAX_WORDS = 5  # words of an answer; a longer phrase is a sentence


def answer_of(outcome: Outcome) -> str | None:
    """Return the last answer of a run in normal form, or None without an answer."""
    text = answer_text(outcome)
    return None if text is None else normal_value(text)


def answer_text(outcome: Outcome) -> str | None:
    """Return the last answer of a run in the words of the run, or None without an answer."""
    if outcome.result.answer:
        return _strip_marks(outcome.result.answer)
    texts = (outcome.decision.report, outcome.decision.reasoning)
    answer = next((answer for text in texts if (answer := _last_answer(text))), None)
    return answer or _last_value(outcome.result.evidence, _STORED)


def _last_answer(text: str) -> str | None:
    """Return the last answer in a text, or the number that is its last line, or None."""
    last_line = text.strip().rpartition("\n")[2]
    match = CUE["lone number"].fullmatch(last_line) if len(last_line) <= _MAX_LINE else None
    answer = _last_value(text, _PRESENTED)
    return answer or (_strip_marks(match["number"]) if match else None)


def _last_value(text: str, patterns: Iterable[re.Pattern[str]]) -> str | None:
    matches = [
        (match.end(), value)
        for pattern in patterns
        for match in pattern.finditer(text[-_MAX_SEARCHED:])
        if (value := _read_value(match)) is not None
    ]
    return max(matches, default=(0, None), key=lambda pair: pair[0])[1]


def _read_value(match: re.Match[str]) -> str | None:
    groups = match.groupdict()
    if number := groups.get("number"):
        return _strip_marks(number)
    names = ("bold", "code", "said", *(["words"] if _ANSWER.search(match[0]) else []))
    words = next((groups[name] for name in names if groups.get(name)), "")
    value = words.strip().strip("*`\"'“”").strip()
    is_other = CUE["no answer"].match(value) or CUE["verdict"].fullmatch(value)
    if is_other or _PATH.search(value) or not re.search(r"\w", value):
        return None
    return _strip_marks(value) if len(value.split()) <= _MAX_WORDS else None


def _strip_marks(value: str) -> str:
    return " ".join(value.split()).lstrip(_MARKS).rstrip(f"{_MARKS}.,")


def normal_value(value: str) -> str:
    """Normalize a value for comparison: `1,240.50` and `1240.5` are equal."""
    text = _strip_marks(value)
    digits = _UNIT.sub(r"\1", text).replace("−", "-").replace("–", "-")
    number, percent = digits.removesuffix("%").rstrip(), "%" if digits.endswith("%") else ""
    if _GROUPED.fullmatch(number):
        number = re.sub("[,_]", "", number)
    try:
        decimal = Decimal(number)
    except InvalidOperation:
        return text
    if "_" in number or not decimal.is_finite() or abs(decimal.adjusted()) > _MAX_DIGITS:
        return text
    figure = f"{decimal:f}"
    figure = figure.rstrip("0").rstrip(".") if "." in figure else figure
    return f"{'0' if decimal.is_zero() else figure}{percent}"


def refused_answers(
    outcomes: Iterable[Outcome], tasks: Mapping[str, str]
) -> Iterator[RefusedAnswers]:
    """Yield the refused answers of each task, without answers that a success gave too.

    `tasks` maps outcomes to tasks. An answer is in the words of the first run that gave it.
    """
    by_task: dict[str, list[tuple[Outcome, str]]] = {}
    words: dict[tuple[str, str], str] = {}
    for outcome in sorted(outcomes, key=lambda outcome: outcome.order):
        if text := answer_text(outcome):
            task, answer = " ".join(tasks.get(outcome.id, "").split()), normal_value(text)
            by_task.setdefault(task, []).append((outcome, answer))
            words.setdefault((task, answer), text)
    for task, answers in sorted(by_task.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        successes = {answer for outcome, answer in answers if outcome.result.status == "success"}
        refusals = [
            (outcome.id, answer)
            for outcome, answer in answers
            if outcome.result.status == "failure" and answer not in successes
        ]
        counts = Counter(answer for _, answer in refusals)
        by_frequency = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        if counts:
            yield RefusedAnswers(
                task=task,
                answers=tuple((words[task, answer], count) for answer, count in by_frequency),
                shown_by=tuple(outcome_id for outcome_id, _ in refusals),
                accepted=tuple(sorted(words[task, answer] for answer in successes)),
            )

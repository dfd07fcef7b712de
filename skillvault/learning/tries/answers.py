"""Answers: the value that a run gave as its answer, and which were refused for a task."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation

from skillvault.model.brief import RefusedAnswers
from skillvault.model.lazy import regex
from skillvault.model.records import Outcome

# A figure begins at its sign or first digit: else each digit of a long one would be a beginning.
_NUMBER = (
    r"(?:[-−–+]|(?<![\d,_]))(?:[$€£¥]\s?)?(?:\d[\d,_]*(?:\.\d+)?|(?<!\.)\.\d+)"
    r"(?:[eE][-+]?\d+)?(?:\s?%)?"
)
_MARKED = (
    r"\*\*(?P<bold>[^*\n]{1,60})\*\*|`(?P<code>[^`\n]{1,60})`"
    r"|[\"“](?P<said>[^\"”\n]{1,60})[\"”]"
)
_VALUE = (
    rf"(?:{_MARKED}|(?P<number>{_NUMBER})(?![\w-]|\.\d)"
    r"|(?P<words>\w[^.,;:()\n]{0,48})(?=[.!]?\s*(?:\n|$)))"
)
_NOUN = r"(?:answer|result|solution|output value|final value)"
_ANSWER = regex(r"\banswer\b", re.IGNORECASE)
_IS = r"(?:\s*(?:is|was|are|=|:|would be|should be|comes? (?:out )?(?:to|as)|equals)(?:\s*:)?)"
# Each says: this value is the answer. `words` only count behind the plainest of them.
_GIVEN = (
    regex(
        rf"\b{_NOUN}\b(?:\s+(?:of|to|for)\s+[^.:\n]{{1,60}}?)?"
        rf"[\"'*]*{_IS}[\s*]*{_VALUE}",
        re.IGNORECASE,
    ),
    regex(
        rf"(?:{_MARKED}|(?P<number>{_NUMBER}))\s+(?:is|was|as)\s+(?:the|my|our|its|their)\s+"
        rf"(?:final |correct )?{_NOUN}\b",
        re.IGNORECASE,
    ),
    regex(
        r"\b(?:answer(?:ed|ing|s)?|conclud\w+|report(?:ed|ing)?|return(?:ed|ing|s)?"
        r"|submit(?:ted|ting)?|wr(?:ote|ite|iting|itten)|put|sav(?:ed|ing|e)|contain(?:s|ing)"
        r"|comes? (?:out )?(?:to|at))"
        r"\s+(?:with |just |only |that |it is |the (?:single )?(?:value|number|figure|answer) )*"
        rf"(?:{_MARKED}|(?P<number>{_NUMBER})(?![\w-]|\.\d))"
        r"(?=[\s.*`\"”]*(?:$|\n|,|(?:in)?to\b|in\b|and\b|as (?:the|my)\b))",
        re.IGNORECASE,
    ),
)
_FIELD = regex(
    rf"[\"'](?:final_)?(?:answer|result)[\"']\s*[:=]\s*(?:[\"'](?P<said>[^\"'\n]{{1,60}})[\"']"
    rf"|(?P<number>{_NUMBER}))",
    re.IGNORECASE,
)
_FILE = regex(
    rf"(?:answer|result|solution)[\w-]{{0,60}}\.(?:txt|md|csv|out)\b"
    r"(?:[\s\"'`:=>*]|-(?![\d$€£¥]))*"
    rf"(?:(?:contains?|holds?|reads?|says|content|was|is)\b[\s\"'`:=]*)*"
    rf"(?P<number>{_NUMBER})(?=\s*(?:$|\n|[\"'`*]))",
    re.IGNORECASE,
)
_LONE = regex(rf"[>#*_`\s]*(?P<number>{_NUMBER})[*_`.\s]*")
# What stands behind `the answer is` and is no answer.
_NO_VALUE = regex(
    r"^(?:now|not|no|in|at|to|on|as|by|be|been|being|written|saved|stored|correct|wrong|right|ready|"
    r"below|above|here|there|that|this|these|those|it|its|what|how|the|a|an|just|also|then|only|"
    r"computed|calculated|based|located|available|unknown|unclear|expected|required|needed|read|"
    r"file|files|and|or|with|for|from|of|so|very|likely|probably|consistent|we|i|my|our|all|"
    r"formatted|valid|invalid|different|same|supposed|determined|found)\b",
    re.IGNORECASE,
)
# A verifier's own word for how it ended is no answer either.
_VERDICT = regex(
    r"pass(?:ed)?|fail(?:ed|ure)?|success(?:ful)?|error|completed?|ok|done", re.IGNORECASE
)
_PATH = regex(r"[/\\]|\.\w{2,4}$")
_MARKS = "*`\"'“” "
# `1,240` is one number, `1,2,40` three.
_GROUPED = regex(r"[-+]?\d{1,3}(?:[,_]\d{2,3})*[,_]\d{3}(?:\.\d*)?(?:[eE][-+]?\d+)?")
_UNIT = regex(r"^([-−–+]?)\s*[$€£¥]\s?")
_DIGITS = 60  # before or behind the point; a figure with more stays as it is written
_TAIL = 2000  # characters in which an answer is looked for
_LINE = 120  # of a line that is nothing but a value
_WORDS = 5  # of a phrase that is an answer; more are a sentence


def answer_of(outcome: Outcome) -> str | None:
    """The last value that a run gives as its answer, as it is compared; None if it gives none."""
    text = answer_text(outcome)
    return None if text is None else normal_value(text)


def answer_text(outcome: Outcome) -> str | None:
    """The last value that a run gives as its answer, as it gave it: with its sign and unit."""
    if outcome.result.answer:
        return _unmarked(outcome.result.answer)
    own = (outcome.decision.report, outcome.decision.reasoning)
    given = next((value for text in own if (value := _last_given(text))), None)
    return given or _last(_given(outcome.result.evidence, (_FIELD, _FILE)))


def _last_given(text: str) -> str | None:
    """What an agent's own text gives last, else the value that is its last line."""
    last = text.strip().rpartition("\n")[2]
    line = _LONE.fullmatch(last) if len(last) <= _LINE else None
    return _last(_given(text, (*_GIVEN, _FIELD, _FILE))) or (
        _unmarked(line["number"]) if line else None
    )


def _last(given: Iterable[tuple[int, str]]) -> str | None:
    return max(given, default=(0, None), key=lambda found: found[0])[1]


def _given(text: str, patterns: Iterable[re.Pattern[str]]) -> Iterator[tuple[int, str]]:
    """(where, value) of everything that a text gives as an answer."""
    end = text[-_TAIL:]  # it is the last that counts
    for pattern in patterns:
        for match in pattern.finditer(end):
            value = _value(match)
            if value is not None:
                yield match.end(), value


def _value(match: re.Match[str]) -> str | None:
    found = match.groupdict()
    if number := found.get("number"):
        return _unmarked(number)
    names = ("bold", "code", "said", *(["words"] if _ANSWER.search(match[0]) else []))
    said = next((found[name] for name in names if found.get(name)), "")
    plain = said.strip().strip("*`\"'“”").strip()
    if not plain or _NO_VALUE.match(plain) or _PATH.search(plain) or _VERDICT.fullmatch(plain):
        return None
    if not re.search(r"\w", plain) or len(plain.split()) > _WORDS:
        return None
    return _unmarked(plain)


def _unmarked(value: str) -> str:
    """A value as it was written, without marks around it."""
    return " ".join(value.split()).lstrip(_MARKS).rstrip(f"{_MARKS}.,")


def normal_value(value: str) -> str:
    """A value as it is compared: `1,240.50` and `1240.5` are one."""
    text = _unmarked(value)
    plain = _UNIT.sub(r"\1", text).replace("−", "-").replace("–", "-")
    number, percent = plain.removesuffix("%").rstrip(), "%" if plain.endswith("%") else ""
    if _GROUPED.fullmatch(number):
        number = re.sub("[,_]", "", number)
    try:
        exact = Decimal(number)
    except InvalidOperation:
        return text
    if "_" in number or not exact.is_finite() or abs(exact.adjusted()) > _DIGITS:
        return text
    figure = f"{exact:f}"
    figure = figure.rstrip("0").rstrip(".") if "." in figure else figure
    return f"{'0' if exact.is_zero() else figure}{percent}"


def refused_answers(
    outcomes: Iterable[Outcome], tasks: Mapping[str, str]
) -> Iterator[RefusedAnswers]:
    """What was refused, task by task: never what a success of the same task gave.

    `tasks` says what was asked, by outcome id. A value stands as the first that gave it wrote it.
    """
    by_task: dict[str, list[tuple[Outcome, str]]] = {}
    words: dict[tuple[str, str], str] = {}
    for outcome in sorted(outcomes, key=lambda outcome: outcome.order):
        if text := answer_text(outcome):
            task, answer = " ".join(tasks.get(outcome.id, "").split()), normal_value(text)
            by_task.setdefault(task, []).append((outcome, answer))
            words.setdefault((task, answer), text)
    for task, given in sorted(by_task.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        accepted = {answer for outcome, answer in given if outcome.result.status == "success"}
        refused = [
            (outcome.id, answer)
            for outcome, answer in given
            if outcome.result.status == "failure" and answer not in accepted
        ]
        counts = Counter(answer for _, answer in refused)
        if counts:
            yield RefusedAnswers(
                task=task,
                answers=tuple(
                    (words[task, answer], count)
                    for answer, count in sorted(
                        counts.items(), key=lambda pair: (-pair[1], pair[0])
                    )
                ),
                shown_by=tuple(outcome_id for outcome_id, _ in refused),
                accepted=tuple(sorted(words[task, answer] for answer in accepted)),
            )

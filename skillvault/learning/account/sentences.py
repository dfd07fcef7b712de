"""How a statement reads: one whole sentence, with its counts."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import isclose

from msgspec.structs import replace

from skillvault.learning.account.tools import Tools
from skillvault.model.brief import Outlier, RefusedAnswers
from skillvault.model.conditions import Separation, clause, lead_line, risk
from skillvault.model.phrases import (
    amount_of,
    describe_duration,
    format_amount,
    inline,
    make_sentence,
)
from skillvault.model.records import Observer, Outcome, Scalar, Status
from skillvault.model.text.text import (
    ARROW,
    count_of,
    format_number,
    format_percent,
    join_items,
    make_inert,
    whole_sentences,
)
from skillvault.model.tries import Advice, Try

_ANSWERS = 8  # refused ones that are told
_TASK = 80  # characters of a task that tell it from another
_TEXT = 300  # characters of a lesson or a conclusion
_DEED = 200
_ALIKE = 3  # deeds of one kind that are told
_ERRORS = 2  # other ones of a deed that are told beside the latest
_FILLER = re.compile(  # what people say before what they ask for
    r"^(?:(?:great|good|perfect|nice|ok(?:ay)?|thanks?(?: you)?|no|nope|wrong|yes|now|please"
    r"|and|also|hm+|well)\b[\s,.!:;-]*)+",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\s*\([^()]*\)")
_MOST_CONTEXT = 8  # recorded values
_FEW = 3  # values of others that are named beside one
_NEAR = 0.25  # of a number: another that is as near says the same
_OBSERVERS: Mapping[Observer, str] = {
    "ci": "the CI",
    "tests": "the tests",
    "verifier": "the verifier",
    "exit-code": "the command's exit code",
    "commit": "the commit",
    "person": "a person",
    "agent": "the agent",
}


def rule_sentence(rule: Separation) -> str:
    """Return what separates the outcomes of an action, with the counts of both sides."""
    if rule.lead:
        return lead_line(rule)
    return make_sentence(f"{clause(rule.conditions)}: {risk(rule)}")


def lesson_sentence(advice: Advice, tries: Sequence[Try], labels: Mapping[str, str]) -> str:
    """Return what should have been done, and who says so after how many runs.

    A correction says little without what it corrects: `labels` say that, by id.
    """
    failed = sum(attempt.status == "failure" for attempt in tries)
    notes = ["a person says so"] if advice.by == "person" else []
    notes += ["supposed"] if advice.supposed else []
    if len(tries) > 1:
        of = f"{failed} failed runs" if failed == len(tries) else f"{len(tries)} runs"
        some = f", {failed} of which failed" if 0 < failed < len(tries) else ""
        notes.append(f"lesson of {of}{some}")
    text = whole_sentences(advice.text, _TEXT).rstrip(".")
    if advice.by == "person" and len(tries) == 1:
        text = f"{_label(tries[0], labels)}{text}"
    return make_sentence(f"{text} ({'; '.join(notes)})" if notes else text)


def insight_sentence(text: str) -> str:
    """Return what a model concluded, in one line."""
    return _closed(whole_sentences(text, _TEXT).rstrip("."))


def deed_sentence(
    tries: Sequence[Try],
    others: Sequence[Try],
    labels: Mapping[str, str],
    remedy: Try | None = None,
) -> str:
    """Return what was done and what came of it: `deed → result (3 of 3 runs failed)`.

    `tries` ended as is told, `others` otherwise. `labels` say what each was about, by id.
    """
    latest = tries[-1]
    alike = {labels.get(attempt.id) for attempt in tries}
    label = _label(latest, labels) if len(alike) == 1 else ""
    notes = [_counts(tries, others)] if len(tries) + len(others) > 1 else []
    results = {attempt.error: attempt.result for attempt in tries if attempt.error}
    results.pop(latest.error, None)
    notes += [
        f"also: {make_inert(text, _DEED).rstrip('.')}" for text in [*results.values()][-_ERRORS:]
    ]
    if remedy is not None:
        notes.append(f"later worked: {make_inert(remedy.deed, _DEED).rstrip('.')}")
    note = f" ({'; '.join(notes)})" if notes else ""
    return _closed(f"{label}{_deed_and_result(latest)}{note}")


def kinds_sentence(texts: Sequence[str], kind: str) -> str:
    """Return deeds that differ in figures alone, the latest first, as one line."""
    more = f"; {len(texts) - _ALIKE} more" if len(texts) > _ALIKE else ""
    shown = "; ".join(text.rstrip(".") for text in texts[:_ALIKE])
    every = "both" if len(texts) == 2 else "all"
    return f"{shown}{more} ({every} {kind})."


_ENDED: Mapping[Status, str] = {"success": "worked", "failure": "failed", "neutral": "open"}


def tried_sentence(attempt: Try, labels: Mapping[str, str], others: Sequence[Try] = ()) -> str:
    """Return one try in a line, with its date; `others` are earlier ones of the same deed."""
    every = [*others, attempt]
    alike = len({labels.get(each.id) for each in every}) == 1
    label = _label(attempt, labels) if alike else ""
    note = f" ({_balance(every)})" if others else ""
    what = f"{label}{_deed_and_result(attempt)}".strip()
    return _closed(f"{attempt.at:%Y-%m-%d} {_ENDED[attempt.status]}: {what}{note}")


def _balance(tries: Sequence[Try]) -> str:
    """Return how many runs there are, and how they ended: `6 runs: 4 worked, 2 failed`."""
    counts = Counter(attempt.status for attempt in tries)
    parts = [f"{counts[status]} {word}" for status, word in _ENDED.items() if counts[status]]
    return f"{len(tries)} runs: {', '.join([*parts, *_average(tries)])}"


def tried_line(attempt: Try, labels: Mapping[str, str]) -> str:
    """Return one try in a line, with what a judge found weak and strong in it."""
    remarks = (("weak", attempt.weaknesses), ("strong", attempt.strengths))
    notes = [
        f"{word}: {', '.join(whole_sentences(text, _TEXT).rstrip('.') for text in texts)}"
        for word, texts in remarks
        if texts
    ]
    line = tried_sentence(attempt, labels)
    return _closed(f"{line.rstrip('.')} ({'; '.join(notes)})") if notes else line


def _closed(text: str) -> str:
    return text if text.endswith(("!", "?", "。", "…")) else f"{text}."


def _label(attempt: Try, labels: Mapping[str, str]) -> str:
    """Return what a try was about, to stand before its deed; "" if the deed says so itself."""
    label = labels.get(attempt.id, "")
    return "" if not label or label.casefold() in attempt.deed.casefold() else f"{label}: "


def labels_of(tries: Sequence[Try], tasks: Mapping[str, str]) -> dict[str, str]:
    """Return by id what each try was about: its target, or its task where all have one target."""
    if len({attempt.target for attempt in tries}) > 1:
        return {attempt.id: inline(attempt.target or "") for attempt in tries}
    asked = {attempt.id: " ".join(tasks.get(attempt.id, "").split()) for attempt in tries}
    asked = {name: _FILLER.sub("", task) for name, task in asked.items()}
    several = len(set(asked.values())) > 1
    return (
        {name: whole_sentences(task, _TASK).rstrip(".") for name, task in asked.items()}
        if several
        else {}
    )


def _deed_and_result(attempt: Try) -> str:
    deed, result = (make_inert(text, _DEED).rstrip(".") for text in (attempt.deed, attempt.result))
    return f"{deed.rstrip('。')}{ARROW}{result}" if deed and result else deed or result


def _counts(tries: Sequence[Try], others: Sequence[Try]) -> str:
    """Return how many runs ended so, and their average where they have scores."""
    verb = "failed" if tries[-1].status == "failure" else "worked"
    every = [*tries, *others]
    counts = f"{count_of(len(tries), len(every))} runs {verb}"
    return ", ".join([counts, *_average(every)])


def balance_sentence(action: str, outcomes: Sequence[Outcome]) -> str:
    """Return how tries of an action ended: `sell: 2 of 3 worked, average win +4 %, 1 neutral.`."""
    counts = Counter(outcome.result.status for outcome in outcomes)
    decided = counts["success"] + counts["failure"]
    parts = [f"{count_of(counts['success'], decided)} worked"] if decided else []
    return f"{inline(action)}: {', '.join([*parts, *balance_parts(outcomes)])}."


def balance_parts(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield `average win +4 %` and `average loss -3 %`, if they have scores, and `1 neutral`."""
    for status, noun in (("success", "win"), ("failure", "loss")):
        of = [outcome.result for outcome in outcomes if outcome.result.status == status]
        scores = [result.score for result in of if result.score is not None]
        if scores:
            yield f"average {noun} {format_percent(sum(scores) / len(scores))}"
    if neutral := sum(outcome.result.status == "neutral" for outcome in outcomes):
        yield f"{neutral} neutral"


def _average(tries: Sequence[Try]) -> list[str]:
    """Return the average score of tries that all have one; [] if any has none."""
    scores = [attempt.score for attempt in tries if attempt.score is not None]
    every = len(scores) == len(tries)
    return [f"{format_percent(sum(scores) / len(scores))} on average"] if every else []


def tools_sentence(tools: Tools) -> str:
    """Return what was used by those that succeeded, and by few of the others."""
    names = join_items(f"`{inline(name, 40)}`" for name in tools.names)
    worked, failed = tools.of
    return make_sentence(
        f"use {names}: {count_of(len(tools.worked), worked)} that succeeded did, "
        f"{count_of(len(tools.failed), failed)} that failed"
    )


def answers_sentence(refused: RefusedAnswers, *, names_task: bool) -> str:
    """Return what was refused: `Refused as the answer to “…”: 24 (5 runs); accepted: 22`."""
    asked = refused.task if len(refused.task) <= _TASK else _ASIDE.sub("", refused.task)
    task = f" to “{whole_sentences(asked, _TEXT)}”" if refused.task else ""
    if names_task and not task:
        task = " to a task that was not recorded"
    answers = [
        f"{inline(value)} ({count} run{'s' * (count > 1)})"
        for value, count in refused.answers[:_ANSWERS]
    ]
    if len(refused.answers) > _ANSWERS:
        answers.append(f"and {len(refused.answers) - _ANSWERS} more")
    accepted = join_items(map(inline, refused.accepted[:_ANSWERS]), last="or")
    end = f"; accepted: {accepted}" if accepted else ""
    return f"Refused as the answer{task}: {', '.join(answers)}{end}."


def claims_sentence(by: Sequence[tuple[Observer, int]], failed: int) -> str:
    """Return how often success was claimed and seen to fail, and what to wait for before it."""
    observers = join_items((_OBSERVERS[observer] for observer, _ in by), last="or")
    claimed = count_of(sum(times for _, times in by), failed)
    return make_sentence(
        f"have it seen by {observers} before you claim success: {claimed} that failed were claimed "
        "as successes"
    )


def entry_sentence(outcome: Outcome, others: Sequence[Outcome]) -> str:
    """Return what was recorded before a decision, what stood out first; "" for nothing.

    `others` ended otherwise; what more than half of them had, too, is left out.
    """
    opposite: Status = "failure" if outcome.result.status == "success" else "success"
    told: list[tuple[bool, str]] = []
    for key, value in outcome.context.items():
        every = [other.context.get(key) for other in others]
        if value not in (None, "") and 2 * every.count(value) <= len(others):
            known = [o.context.get(key) for o in others if o.result.status == opposite]
            unlike = _unlike(value, known)
            note = f" ({unlike} where it {_ENDED[opposite]})" if unlike else ""
            told.append((not unlike, f"{inline(key.replace('_', ' '))} {_value(value)}{note}"))
    values = [text for _, text in sorted(told, key=lambda pair: pair[0])][:_MOST_CONTEXT]
    if outcome.result.entry_value is not None:
        values.append(f"entry value {format_amount(outcome.result.entry_value, outcome)}")
    return f"At entry: {'; '.join(values)}." if values else ""


def _unlike(value: Scalar, others: Sequence[Scalar]) -> str:
    """Return what others had, numbers as a range, a few names each, if a value is none of it."""
    if isinstance(value, int | float):
        numbers = [other for other in others if isinstance(other, int | float)]
        low, high = min(numbers, default=value), max(numbers, default=value)
        if low <= value <= high or any(isclose(value, end, rel_tol=_NEAR) for end in (low, high)):
            return ""
        return _value(low) if low == high else f"{_value(low)} to {_value(high)}"
    names = dict.fromkeys(_value(other) for other in others if other not in (None, ""))
    return "" if _value(value) in names or len(names) > _FEW else join_items(names, last="or")


def _value(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return format_number(value) if isinstance(value, int | float) else inline(str(value))


def extreme_sentence(outcome: Outcome, attempt: Try, count: int) -> str:
    """Return the greatest of so many losses or gains: how much, when, after how long, of what."""
    score = outcome.result.score or 0.0
    verb, most = ("lost", "worst") if score < 0 else ("gained", "best")
    span, money = describe_duration(outcome), amount_of(outcome)
    parts = [f"{verb} {format_percent(abs(score)).lstrip('+')}", f" ({money})" * bool(money)]
    parts += [f" on {outcome.occurred_at:%Y-%m-%d}", f" after {span}" if span else ""]
    reason = attempt.result.removeprefix(format_percent(score)).lstrip(":, ")
    what = _deed_and_result(replace(attempt, result=reason))
    such = f", the {most} of {count} such" if count > 1 else ""
    return make_sentence("".join([*parts, such, f": {what}" if what else ""]))


def outlier_sentence(outlier: Outlier) -> str:
    """Return what stood out of an outcome, which need not be its cause."""
    low, high = format_number(outlier.low), format_number(outlier.high)
    return make_sentence(
        f"what stood out on {outlier.at:%Y-%m-%d}: {inline(outlier.key)} "
        f"{format_number(outlier.value)}, where the middle half of {outlier.of} others had "
        f"{low} to {high}; it need not be the cause"
    )

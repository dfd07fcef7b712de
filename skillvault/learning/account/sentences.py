"""Render the sentences of statements, each with its counts. Change the wording of skills here.

`statements` decides which sentences a skill gets; the offline judge puts them into sections.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import isclose

from msgspec.structs import replace

from skillvault.model.brief import Account, Advice, Outlier, RefusedAnswers, Try
from skillvault.model.conditions import Separation, conditions_of, describe_lead, describe_rule
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
    LATER_WORKED,
    count_of,
    format_number,
    format_percent,
    join_items,
    make_inert,
    whole_sentences,
)

_MAX_ANSWERS = 8  # refused answers in a sentence
_MAX_TASK = 80  # characters of a task
_MAX_TEXT = 300  # characters of a lesson or a conclusion
_MAX_DEED = 200  # characters of a deed or a result
_MAX_DEEDS = 3  # deeds that differ only in figures, in a sentence
_MAX_ERRORS = 2  # errors in a sentence beside the latest
_GREETING = re.compile(  # the words before a request
    r"^(?:(?:great|good|perfect|nice|ok(?:ay)?|thanks?(?: you)?|no|nope|wrong|yes|now|please"
    r"|and|also|hm+|well)\b[\s,.!:;-]*)+",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\s*\([^()]*\)")
_MAX_CONTEXT = 8  # recorded values in a sentence
_MAX_OTHER_VALUES = 3  # values of other outcomes beside a value
_NUMBER_TOLERANCE = 0.25  # relative distance of numbers that are about the same
_RESULT_WORDS: Mapping[Status, str] = {"success": "worked", "failure": "failed", "neutral": "open"}
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
    """Render a rule or a lead with the counts of both sides."""
    if rule.lead:
        return describe_lead(rule)
    return make_sentence(describe_rule(rule))


def lesson_sentence(advice: Advice, tries: Sequence[Try], labels: Mapping[str, str]) -> str:
    """Render advice, with notes if a person gave it or several runs have it.

    `labels` maps the id of a run to its subject. A person's correction starts with the subject.
    """
    failures = sum(attempt.status == "failure" for attempt in tries)
    notes = ["a person says so"] if advice.by == "person" else []
    notes += ["supposed"] if advice.supposed else []
    if len(tries) > 1:
        all_failed = failures == len(tries)
        note = f", {failures} of which failed" if failures and not all_failed else ""
        notes.append(f"lesson of {len(tries)} {'failed ' * all_failed}runs{note}")
    text = whole_sentences(advice.text, _MAX_TEXT).rstrip(".")
    label = _label_prefix(tries, labels) if advice.by == "person" and len(tries) == 1 else ""
    return label + make_sentence(f"{text} ({'; '.join(notes)})" if notes else text)


def insight_sentence(text: str) -> str:
    """Render an insight in one line."""
    return _end_sentence(whole_sentences(text, _MAX_TEXT).rstrip("."))


def deed_sentence(
    tries: Sequence[Try],
    other_tries: Sequence[Try],
    labels: Mapping[str, str],
    remedy: Try | None = None,
) -> str:
    """Render a deed and its result: `deed → result (3 of 3 runs failed)`.

    `tries` have this result, and `other_tries` the opposite result. `labels` maps the id of a run
    to its subject.
    """
    latest_try, all_tries = tries[-1], [*tries, *other_tries]
    verb = "failed" if latest_try.status == "failure" else "worked"
    counts = f"{count_of(len(tries), len(all_tries))} runs {verb}"
    notes = [", ".join([counts, *_average(all_tries)])] if len(all_tries) > 1 else []
    results = {attempt.error: attempt.result for attempt in tries if attempt.error}
    results.pop(latest_try.error, None)
    notes += [
        f"also: {make_inert(text, _MAX_DEED).rstrip('.')}"
        for text in [*results.values()][-_MAX_ERRORS:]
    ]
    if remedy is not None:
        notes.append(f"{LATER_WORKED}{make_inert(remedy.deed, _MAX_DEED).rstrip('.')}")
    if latest_try.tried and verb == "worked":
        attempts = "; ".join(make_inert(text, _MAX_DEED).rstrip(".") for text in latest_try.tried)
        notes.append(f"before that without success: {attempts}")
    note = f" ({'; '.join(notes)})" if notes else ""
    if latest_try.status == "failure" and not (latest_try.result or notes):
        latest_try = replace(latest_try, result=verb)  # a description has no heading that tells it
    return _end_sentence(f"{_label_prefix(tries, labels)}{_deed_and_result(latest_try)}{note}")


def kinds_sentence(texts: Sequence[str], kind: str) -> str:
    """Join deeds that differ only in figures in one line, the latest first."""
    omission = f"; {len(texts) - _MAX_DEEDS} more" if len(texts) > _MAX_DEEDS else ""
    listing = "; ".join(text.rstrip(".") for text in texts[:_MAX_DEEDS])
    both_or_all = "both" if len(texts) == 2 else "all"
    return f"{listing}{omission} ({both_or_all} {kind})."


def tried_sentence(
    attempt: Try, labels: Mapping[str, str], earlier_tries: Sequence[Try] = ()
) -> str:
    """Render a run in one line with its date; `earlier_tries` had the same deed."""
    tries = [*earlier_tries, attempt]
    note = ""
    if earlier_tries:
        counts = Counter(member.status for member in tries)
        parts = [f"{counts[s]} {word}" for s, word in _RESULT_WORDS.items() if counts[s]]
        note = f" ({len(tries)} runs: {', '.join([*parts, *_average(tries)])})"
    deed, ending = (
        _deed_and_result(attempt),
        f"{attempt.at:%Y-%m-%d} {_RESULT_WORDS[attempt.status]}",
    )
    label = _label_prefix(tries, labels)
    if deed:
        return _end_sentence(f"{ending}: {label}{deed}{note}")
    subject = label.removesuffix(": ")  # without a colon, so that no task finds this line
    return _end_sentence(f"{ending}{f' ({subject})' if subject else ''}{note}")


def tried_line(attempt: Try, labels: Mapping[str, str]) -> str:
    """Render a run in one line, with the weaknesses and strengths that a judge noted."""
    remarks = (("weak", attempt.weaknesses), ("strong", attempt.strengths))
    notes = [
        f"{word}: {', '.join(whole_sentences(text, _MAX_TEXT).rstrip('.') for text in texts)}"
        for word, texts in remarks
        if texts
    ]
    line = tried_sentence(attempt, labels)
    return _end_sentence(f"{line.rstrip('.')} ({'; '.join(notes)})") if notes else line


def _end_sentence(text: str) -> str:
    return text if text.endswith(("!", "?", "。", "…")) else f"{text}."


def _label_prefix(tries: Sequence[Try], labels: Mapping[str, str]) -> str:
    """Return the subject of all tries as a prefix, or "" if they differ or the deed names it."""
    names = {labels.get(attempt.id, "") for attempt in tries}
    label = names.pop() if len(names) == 1 else ""
    return f"{label}: " if label and label.casefold() not in tries[-1].deed.casefold() else ""


def labels_of(account: Account) -> dict[str, str]:
    """Map the id of each run to its subject: its target, or its task if all targets are equal.

    The subject names the repository, too: a line about another one must not seem to be about it.
    """
    tries, tasks = account.tries, account.tasks
    repositories = {outcome.id: outcome.context.get("repository") for outcome in account.outcomes}
    if any(repositories.values()):
        return {t.id: _join_names(t.target, repositories[t.id]) for t in tries}
    if len({attempt.target for attempt in tries}) > 1:
        return {attempt.id: inline(attempt.target or "") for attempt in tries}
    requests = {t.id: _GREETING.sub("", " ".join(tasks.get(t.id, "").split())) for t in tries}
    if len(set(requests.values())) < 2:
        return {}
    return {
        name: whole_sentences(request, _MAX_TASK).rstrip(".") for name, request in requests.items()
    }


def _join_names(target: str | None, repository: Scalar | None) -> str:
    return " in ".join(dict.fromkeys(inline(str(name)) for name in (target, repository) if name))


def _deed_and_result(attempt: Try) -> str:
    deed, result = (
        make_inert(text, _MAX_DEED).rstrip(".") for text in (attempt.deed, attempt.result)
    )
    return f"{deed.rstrip('。')}{ARROW}{result}" if deed and result else deed or result


def balance_sentence(action: str, outcomes: Sequence[Outcome]) -> str:
    """Render the results of an action: `sell: 2 of 3 worked, average win +4 %, 1 neutral.`."""
    counts = Counter(outcome.result.status for outcome in outcomes)
    total = counts["success"] + counts["failure"]
    parts = [f"{count_of(counts['success'], total)} worked"] if total else []
    return f"{inline(action)}: {', '.join([*parts, *balance_parts(outcomes)])}."


def balance_parts(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the parts that apply of `average win +4 %`, `average loss -3 %` and `1 neutral`."""
    for status, noun in (("success", "win"), ("failure", "loss")):
        results = [outcome.result for outcome in outcomes if outcome.result.status == status]
        scores = [result.score for result in results if result.score is not None]
        if scores:
            yield f"average {noun} {format_percent(sum(scores) / len(scores))}"
    if neutral_count := sum(outcome.result.status == "neutral" for outcome in outcomes):
        yield f"{neutral_count} neutral"


def _average(tries: Sequence[Try]) -> list[str]:
    scores = [attempt.score for attempt in tries if attempt.score is not None]
    is_complete = len(scores) == len(tries)
    return [f"{format_percent(sum(scores) / len(scores))} on average"] if is_complete else []


def tools_sentence(tools: Sequence[str], wins: tuple[int, int], losses: tuple[int, int]) -> str:
    """Render tools with the shares of successful and failed runs that used them."""
    names = join_items(f"`{inline(name, 40)}`" for name in tools)
    return make_sentence(
        f"use {names}: {count_of(*wins)} that succeeded did, {count_of(*losses)} that failed"
    )


def answers_sentence(answers: RefusedAnswers, *, names_task: bool) -> str:
    """Render refused answers: `Refused as the answer to “…”: 24 (5 runs); accepted: 22`."""
    task_text = answers.task if len(answers.task) <= _MAX_TASK else _ASIDE.sub("", answers.task)
    task = f" to “{whole_sentences(task_text, _MAX_TEXT)}”" if answers.task else ""
    if names_task and not task:
        task = " to a task that was not recorded"
    answer_counts = answers.answers[:_MAX_ANSWERS]
    texts = [f"{inline(value)} ({count} run{'s' * (count > 1)})" for value, count in answer_counts]
    if len(answers.answers) > _MAX_ANSWERS:
        texts.append(f"and {len(answers.answers) - _MAX_ANSWERS} more")
    accepted_texts = join_items(map(inline, answers.accepted[:_MAX_ANSWERS]), last="or")
    end = f"; accepted: {accepted_texts}" if accepted_texts else ""
    return f"Refused as the answer{task}: {', '.join(texts)}{end}."


def claims_sentence(observer_counts: Sequence[tuple[Observer, int]], failures: int) -> str:
    """Render advice to let someone confirm a success, with the number of refused claims."""
    observers = join_items((_OBSERVERS[observer] for observer, _ in observer_counts), last="or")
    share = count_of(sum(times for _, times in observer_counts), failures)
    return make_sentence(
        f"let {observers} check it before you claim success: {share} that failed were claimed as "
        "successes"
    )


def entry_sentence(outcome: Outcome, other_outcomes: Sequence[Outcome]) -> str:
    """Render the values recorded before a decision, unusual values first, or "" without values.

    `other_outcomes` have another result. Leave out a value that more than half of them share, and a
    number that is not unusual: it says nothing about another decision.
    """
    opposite: Status = "failure" if outcome.result.status == "success" else "success"
    opposite_outcomes = [other for other in other_outcomes if other.result.status == opposite]
    unusual_values: list[str] = []
    usual_values: list[str] = []
    for key, value in conditions_of(outcome).items():
        other_values = [other.context.get(key) for other in other_outcomes]
        if value in (None, "") or 2 * other_values.count(value) > len(other_outcomes):
            continue
        text = f"{inline(key.replace('_', ' '))} {render_value(value)}"
        if contrast := _describe_contrast(value, [o.context.get(key) for o in opposite_outcomes]):
            unusual_values.append(f"{text} ({contrast} where it {_RESULT_WORDS[opposite]})")
        elif isinstance(value, str | bool):
            usual_values.append(text)
    values = [*unusual_values, *usual_values][:_MAX_CONTEXT]
    if outcome.result.entry_value is not None:
        values.append(f"entry value {format_amount(outcome.result.entry_value, outcome)}")
    return f"At entry: {'; '.join(values)}." if values else ""


def _describe_contrast(value: Scalar, other_values: Sequence[Scalar]) -> str:
    """Return the values of other outcomes as a range or names, or "" if they include `value`."""
    if isinstance(value, int | float):
        numbers = [number for number in other_values if isinstance(number, int | float)]
        low, high = min(numbers, default=value), max(numbers, default=value)
        bounds = dict.fromkeys((low, high))
        is_near = any(isclose(value, bound, rel_tol=_NUMBER_TOLERANCE) for bound in bounds)
        return "" if low <= value <= high or is_near else " to ".join(map(render_value, bounds))
    names = dict.fromkeys(render_value(name) for name in other_values if name not in (None, ""))
    is_unusual = render_value(value) not in names and len(names) <= _MAX_OTHER_VALUES
    return join_items(names, last="or") if is_unusual else ""


def render_value(value: Scalar, limit: int = 60) -> str:
    """Render a recorded value; cut a text to `limit` characters."""
    if isinstance(value, bool):
        return str(value).lower()
    return format_number(value) if isinstance(value, int | float) else inline(str(value), limit)


def extreme_sentence(outcome: Outcome, attempt: Try, count: int) -> str:
    """Render the greatest of `count` losses or gains: amount, date, duration and cause."""
    score = outcome.result.score or 0.0
    verb, superlative = ("lost", "worst") if score < 0 else ("gained", "best")
    span, money = describe_duration(outcome), amount_of(outcome)
    parts = [f"{verb} {format_percent(abs(score)).lstrip('+')}", f" ({money})" * bool(money)]
    parts += [f" on {outcome.occurred_at:%Y-%m-%d}", f" after {span}" if span else ""]
    reason = attempt.result.removeprefix(format_percent(score)).lstrip(":, ")
    cause = _deed_and_result(replace(attempt, result=reason))
    rank = f", the {superlative} of {count} such" if count > 1 else ""
    return make_sentence("".join([*parts, rank, f": {cause}" if cause else ""]))


def outlier_sentence(outlier: Outlier) -> str:
    """Render an unusual number of an outcome, with a note that it need not be the cause."""
    low, high = format_number(outlier.low), format_number(outlier.high)
    return make_sentence(
        f"what stood out on {outlier.at:%Y-%m-%d}: {inline(outlier.key)} "
        f"{format_number(outlier.value)}, where the middle half of {outlier.of} others had "
        f"{low} to {high}; it need not be the cause"
    )

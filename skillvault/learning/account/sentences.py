"""The sentences of statements, each with its counts. Change the wording of skills here."""

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

_ANSWERS = 8  # refused ones that are named
_TASK = 80  # characters that distinguish a task
_TEXT = 300  # characters of a lesson or a conclusion
_DEED = 200
_LISTED = 3  # deeds of one kind
_ERRORS = 2  # earlier ones of a deed, beside the latest
_FILLER = re.compile(  # what people say before what they ask for
    r"^(?:(?:great|good|perfect|nice|ok(?:ay)?|thanks?(?: you)?|no|nope|wrong|yes|now|please"
    r"|and|also|hm+|well)\b[\s,.!:;-]*)+",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\s*\([^()]*\)")
_MAX_CONTEXT = 8  # recorded values
_FEW = 3  # names that other outcomes recorded
_NEAR = 0.25  # relative distance of numbers that say the same
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
    """Render advice with its author and the number of runs.

    `labels` maps the id of a run to its subject. A person's correction starts with this subject.
    """
    failures = sum(attempt.status == "failure" for attempt in tries)
    notes = ["a person says so"] if advice.by == "person" else []
    notes += ["supposed"] if advice.supposed else []
    if len(tries) > 1:
        all_failed = failures == len(tries)
        note = f", {failures} of which failed" if failures and not all_failed else ""
        notes.append(f"lesson of {len(tries)} {'failed ' * all_failed}runs{note}")
    text = whole_sentences(advice.text, _TEXT).rstrip(".")
    if advice.by == "person" and len(tries) == 1:
        text = f"{_label(tries[0], labels)}{text}"
    return make_sentence(f"{text} ({'; '.join(notes)})" if notes else text)


def insight_sentence(text: str) -> str:
    """Render an insight in one line."""
    return _end_sentence(whole_sentences(text, _TEXT).rstrip("."))


def deed_sentence(
    tries: Sequence[Try],
    other_tries: Sequence[Try],
    labels: Mapping[str, str],
    remedy: Try | None = None,
) -> str:
    """Render what runs did, and their result: `deed → result (3 of 3 runs failed)`.

    `tries` have this result and `other_tries` the opposite result. `labels` maps the id of a run to
    its subject.
    """
    latest_try = tries[-1]
    distinct_labels = {labels.get(attempt.id) for attempt in tries}
    label = _label(latest_try, labels) if len(distinct_labels) == 1 else ""
    runs = [*tries, *other_tries]
    verb = "failed" if latest_try.status == "failure" else "worked"
    counts = f"{count_of(len(tries), len(runs))} runs {verb}"
    notes = [", ".join([counts, *_average(runs)])] if len(runs) > 1 else []
    results = {attempt.error: attempt.result for attempt in tries if attempt.error}
    results.pop(latest_try.error, None)
    notes += [
        f"also: {make_inert(text, _DEED).rstrip('.')}" for text in [*results.values()][-_ERRORS:]
    ]
    if remedy is not None:
        notes.append(f"{LATER_WORKED}{make_inert(remedy.deed, _DEED).rstrip('.')}")
    note = f" ({'; '.join(notes)})" if notes else ""
    return _end_sentence(f"{label}{_deed_and_result(latest_try)}{note}")


def kinds_sentence(texts: Sequence[str], kind: str) -> str:
    """Join deeds that differ only in figures in one line, the latest first."""
    omission = f"; {len(texts) - _LISTED} more" if len(texts) > _LISTED else ""
    listing = "; ".join(text.rstrip(".") for text in texts[:_LISTED])
    quantity = "both" if len(texts) == 2 else "all"
    return f"{listing}{omission} ({quantity} {kind})."


_ENDED: Mapping[Status, str] = {"success": "worked", "failure": "failed", "neutral": "open"}


def tried_sentence(
    attempt: Try, labels: Mapping[str, str], earlier_tries: Sequence[Try] = ()
) -> str:
    """Render a run in one line with its date; `earlier_tries` had the same deed."""
    tries = [*earlier_tries, attempt]
    is_shared = len({labels.get(run.id) for run in tries}) == 1
    label = _label(attempt, labels) if is_shared else ""
    note = ""
    if earlier_tries:
        counts = Counter(run.status for run in tries)
        parts = [f"{counts[status]} {word}" for status, word in _ENDED.items() if counts[status]]
        note = f" ({len(tries)} runs: {', '.join([*parts, *_average(tries)])})"
    deed = f"{label}{_deed_and_result(attempt)}".strip().removesuffix(":")
    ended = f"{attempt.at:%Y-%m-%d} {_ENDED[attempt.status]}"
    return _end_sentence(f"{': '.join(filter(None, [ended, deed]))}{note}")


def tried_line(attempt: Try, labels: Mapping[str, str]) -> str:
    """Render a run in one line, with the weaknesses and strengths that a judge noted."""
    remarks = (("weak", attempt.weaknesses), ("strong", attempt.strengths))
    notes = [
        f"{word}: {', '.join(whole_sentences(text, _TEXT).rstrip('.') for text in texts)}"
        for word, texts in remarks
        if texts
    ]
    line = tried_sentence(attempt, labels)
    return _end_sentence(f"{line.rstrip('.')} ({'; '.join(notes)})") if notes else line


def _end_sentence(text: str) -> str:
    return text if text.endswith(("!", "?", "。", "…")) else f"{text}."


def _label(attempt: Try, labels: Mapping[str, str]) -> str:
    """Return the subject of a run as a prefix; "" if the deed names the subject already."""
    label = labels.get(attempt.id, "")
    return "" if not label or label.casefold() in attempt.deed.casefold() else f"{label}: "


def labels_of(account: Account) -> dict[str, str]:
    """Map the id of each run to its subject: its target, or its task if all targets are equal.

    If the runs are of several repositories, the subject names the repository too.
    """
    tries, tasks = account.tries, account.tasks
    repositories = {outcome.id: outcome.context.get("repository") for outcome in account.outcomes}
    if len(set(repositories.values())) > 1:
        return {t.id: _qualify_subject(t.target, repositories[t.id]) for t in tries}
    if len({attempt.target for attempt in tries}) > 1:
        return {attempt.id: inline(attempt.target or "") for attempt in tries}
    requests = {t.id: _FILLER.sub("", " ".join(tasks.get(t.id, "").split())) for t in tries}
    if len(set(requests.values())) < 2:
        return {}
    return {name: whole_sentences(request, _TASK).rstrip(".") for name, request in requests.items()}


def _qualify_subject(target: str | None, repository: Scalar | None) -> str:
    """Join a target and its repository; a target that is the repository is named once."""
    names = dict.fromkeys(inline(str(name)) for name in (target, repository) if name)
    return " in ".join(names)


def _deed_and_result(attempt: Try) -> str:
    deed, result = (make_inert(text, _DEED).rstrip(".") for text in (attempt.deed, attempt.result))
    return f"{deed.rstrip('。')}{ARROW}{result}" if deed and result else deed or result


def balance_sentence(action: str, outcomes: Sequence[Outcome]) -> str:
    """Render the results of an action: `sell: 2 of 3 worked, average win +4 %, 1 neutral.`."""
    counts = Counter(outcome.result.status for outcome in outcomes)
    total = counts["success"] + counts["failure"]
    parts = [f"{count_of(counts['success'], total)} worked"] if total else []
    return f"{inline(action)}: {', '.join([*parts, *balance_parts(outcomes)])}."


def balance_parts(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield `average win +4 %`, `average loss -3 %` and `1 neutral`, as far as they apply."""
    for status, noun in (("success", "win"), ("failure", "loss")):
        results = [outcome.result for outcome in outcomes if outcome.result.status == status]
        scores = [result.score for result in results if result.score is not None]
        if scores:
            yield f"average {noun} {format_percent(sum(scores) / len(scores))}"
    if neutral := sum(outcome.result.status == "neutral" for outcome in outcomes):
        yield f"{neutral} neutral"


def _average(tries: Sequence[Try]) -> list[str]:
    """Return the average score in words; [] if a run has no score."""
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
    task_text = answers.task if len(answers.task) <= _TASK else _ASIDE.sub("", answers.task)
    task = f" to “{whole_sentences(task_text, _TEXT)}”" if answers.task else ""
    if names_task and not task:
        task = " to a task that was not recorded"
    texts = [
        f"{inline(value)} ({count} run{'s' * (count > 1)})"
        for value, count in answers.answers[:_ANSWERS]
    ]
    if len(answers.answers) > _ANSWERS:
        texts.append(f"and {len(answers.answers) - _ANSWERS} more")
    accepted_texts = join_items(map(inline, answers.accepted[:_ANSWERS]), last="or")
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
    """Render the values recorded before a decision, unusual values first; "" without values.

    `other_outcomes` have another result. A value that more than half of them share is left out.
    """
    opposite: Status = "failure" if outcome.result.status == "success" else "success"
    notes: list[tuple[bool, str]] = []
    for key, value in conditions_of(outcome).items():
        other_values = [other.context.get(key) for other in other_outcomes]
        if value not in (None, "") and 2 * other_values.count(value) <= len(other_outcomes):
            opposites = [o.context.get(key) for o in other_outcomes if o.result.status == opposite]
            contrast = _describe_contrast(value, opposites)
            note = f" ({contrast} where it {_ENDED[opposite]})" if contrast else ""
            notes.append(
                (not contrast, f"{inline(key.replace('_', ' '))} {_render_value(value)}{note}")
            )
    values = [text for _, text in sorted(notes, key=lambda pair: pair[0])][:_MAX_CONTEXT]
    if outcome.result.entry_value is not None:
        values.append(f"entry value {format_amount(outcome.result.entry_value, outcome)}")
    return f"At entry: {'; '.join(values)}." if values else ""


def _describe_contrast(value: Scalar, other_values: Sequence[Scalar]) -> str:
    """Return the values of other outcomes, as a range or names; "" if they include this value."""
    if isinstance(value, int | float):
        numbers = [number for number in other_values if isinstance(number, int | float)]
        low, high = min(numbers, default=value), max(numbers, default=value)
        is_near = any(isclose(value, bound, rel_tol=_NEAR) for bound in (low, high))
        if low <= value <= high or is_near:
            return ""
        return (
            _render_value(low) if low == high else f"{_render_value(low)} to {_render_value(high)}"
        )
    names = dict.fromkeys(_render_value(name) for name in other_values if name not in (None, ""))
    return (
        "" if _render_value(value) in names or len(names) > _FEW else join_items(names, last="or")
    )


def _render_value(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return format_number(value) if isinstance(value, int | float) else inline(str(value))


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
    """Render an unusual number of an outcome, and that it may not be the cause."""
    low, high = format_number(outlier.low), format_number(outlier.high)
    return make_sentence(
        f"what stood out on {outlier.at:%Y-%m-%d}: {inline(outlier.key)} "
        f"{format_number(outlier.value)}, where the middle half of {outlier.of} others had "
        f"{low} to {high}; it need not be the cause"
    )

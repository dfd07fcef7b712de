"""How a statement of an account reads: one whole sentence, in the section where it is acted on."""

from collections.abc import Callable, Mapping

from skillvault.judge.offline.speech import (
    amount_of,
    held_for,
    plain,
    quoted,
    sentence,
)
from skillvault.model.brief import (
    Cause,
    Extreme,
    Findings,
    InsightKind,
    Outlier,
    RefusedAnswers,
    RefusedClaims,
    Remedy,
    Rule,
    Statement,
    Tools,
)
from skillvault.model.conditions import as_of, clause, risk
from skillvault.model.reading import how, is_concrete, is_narration
from skillvault.model.records import Observer, Outcome, SkillKind, Status
from skillvault.model.text.text import count_of, figure, listed, percent, whole

_ANSWERS = 8  # refused ones that are told
_TASK = 80  # characters of a task that tell it from another
_QUOTE = 220  # characters of a statement; the reading takes no longer one

# Headings of a warning, then of a pattern.
RECOGNIZE, WRONG, BETTER, CHECKLIST = (
    "Pattern to Recognize", "What Went Wrong", "Better Approach", "Checklist",
)  # fmt: skip
CONDITIONS, WORKED, CRITERIA, RISK = (
    "Pattern Conditions", "Why It Worked", "Entry Criteria", "Risk Management",
)  # fmt: skip
HEADINGS: Mapping[SkillKind, tuple[str, ...]] = {
    "warning": (RECOGNIZE, WRONG, BETTER, CHECKLIST),
    "pattern": (CONDITIONS, WORKED, CRITERIA, RISK),
}
_OF_CAUSE: Mapping[SkillKind, Mapping[InsightKind, str]] = {
    "warning": {
        "lesson": BETTER, "error": WRONG, "stopped": BETTER, "unchecked": BETTER,
        "exposed": BETTER, "guess": WRONG, "claim": WRONG, "risk": WRONG, "ground": WRONG,
        "found": RECOGNIZE, "check": WRONG,
    },
    "pattern": {"lesson": CRITERIA, "found": WORKED, "ground": CRITERIA, "check": RISK},
}  # fmt: skip
_OBSERVERS: Mapping[Observer, str] = {
    "ci": "the CI",
    "tests": "the tests",
    "verifier": "the verifier",
    "exit-code": "the command's exit code",
    "commit": "the commit",
    "person": "a person",
    "agent": "the agent",
}
_ENDS: Mapping[SkillKind, tuple[Status, str]] = {
    "warning": ("failure", "failed"),
    "pattern": ("success", "succeeded"),
}


def sections_of(brief: Findings) -> dict[str, list[str]]:
    """Heading -> its sentences, each of the brief's statements in one of them."""
    lines: dict[str, list[str]] = {heading: [] for heading in HEADINGS[brief.kind]}
    for heading, line in ranked_lines(brief):
        lines[heading].append(line)
    return {heading: texts for heading, texts in lines.items() if texts}


def ranked_lines(brief: Findings) -> list[tuple[str, str]]:
    """(heading, sentence) of each statement, the most useful first."""
    extreme = next((s for s in brief.statements if isinstance(s, Extreme)), None)
    return [_placed(s, brief) for s in brief.statements if not _is_reason_of(s, extreme)]


def _is_reason_of(statement: Statement, extreme: Extreme | None) -> bool:
    """Whether a statement is what the result says of the greatest loss or gain, told with it.

    Also if all that are beyond the bound ended so.
    """
    error = statement if isinstance(statement, Cause) and statement.kind == "error" else None
    return bool(error and extreme and error.shown_by in ((extreme.outcome,), extreme.shown_by))


def _placed(statement: Statement, brief: Findings) -> tuple[str, str]:  # noqa: PLR0911 (one a kind)
    """(where a statement stands, its sentence)."""
    first, second, third, last = HEADINGS[brief.kind]
    match statement:
        case Rule():
            return first, rule_line(statement, brief)
        case Outlier():
            return first, outlier_line(statement)
        case RefusedAnswers():
            return second, refused_line(statement, brief)
        case RefusedClaims():
            return third, claims_line(statement)
        case Extreme():
            return second, extreme_line(statement, brief)
        case Tools():
            return third, tools_line(statement)
        case Remedy(cause=cause) if cause.kind == "check" and not cause.report:
            return last, f"[ ] {remedy_line(cause, brief)}"
        case Remedy(cause=cause):
            return third, remedy_line(cause, brief)
        case Cause():
            heading = _OF_CAUSE[brief.kind].get(statement.kind, second)
            return heading, cause_line(statement, brief)


# ── rules, answers, figures ──────────────────────────────────────────────────────────


def rule_line(rule: Rule, brief: Findings) -> str:
    """What separates; of a target, whose outcomes are some of the action's, in half a line."""
    separation, outcomes = rule.separation, brief.account.outcomes
    when = clause(separation.conditions)
    if rule.own is None:
        return sentence(f"{when}: {risk(separation)}{as_of(separation, outcomes)}")
    counts = f"{count_of(*separation.met)} of the action's were {separation.result}"
    date = f"{separation.until:%Y-%m-%d}"
    return sentence(f"{when}: {counts} as of {date}, here {count_of(*rule.own)}")


def refused_line(statement: RefusedAnswers, brief: Findings) -> str:
    """What was refused for a task: `Refused as answers to this task: 24 (5 runs), -19 (1 run)`."""
    asked = {" ".join(task.split()) for task in brief.account.tasks.values()}
    task = "this task"
    if len(asked | {statement.task}) > 1:
        unnamed = "a task that was not recorded"
        task = f"“{whole(statement.task, _TASK)}”" if statement.task else unnamed
    answers = [
        f"{plain(value)} ({count} run{'s' * (count > 1)})"
        for value, count in statement.refused[:_ANSWERS]
    ]
    if len(statement.refused) > _ANSWERS:
        answers.append(f"and {len(statement.refused) - _ANSWERS} more")
    return f"Refused as answers to {task}: {', '.join(answers)}."


def claims_line(statement: RefusedClaims) -> str:
    """How often success was claimed and seen to fail, and what to wait for before claiming it."""
    observers = listed((_OBSERVERS[observer] for observer, _ in statement.by), last="or")
    count = sum(times for _, times in statement.by)
    which = "the one" if statement.of == 1 else count_of(count, statement.of)
    verb = "was" if count == 1 else "were"
    return sentence(
        f"have it seen by {observers} before claiming success: {which} that failed "
        f"{verb} claimed as {'a success' if count == 1 else 'successes'}, and refused"
    )


def extreme_line(statement: Extreme, brief: Findings) -> str:
    """The greatest loss or gain: how much, when, how long it took, what the result says of it."""
    outcome = next(o for o in brief.significant if o.id == statement.outcome)
    verb, count = "lost" if statement.score < 0 else "gained", len(statement.shown_by)
    span = held_for(outcome)
    after = f" after {span}" if span else ""
    score = percent(abs(statement.score)).lstrip("+")
    money = f" ({amount_of(outcome)})" if amount_of(outcome) else ""
    most = f" at most ({count} such)," if count > 1 else ""
    on = f"{outcome.occurred_at:%Y-%m-%d}"
    reason = _reason(statement, outcome, brief)
    return sentence(f"{verb} {score}{money}{most} on {on}{after}{reason}")


def _reason(statement: Extreme, outcome: Outcome, brief: Findings) -> str:
    """What the result says of the greatest loss or gain, if that is not told as a cause."""
    shared, reason = _shared(statement, brief), how(outcome)
    every = 1 < shared == len(statement.shown_by)
    if not reason or (shared > 1 and not every):
        return ""
    return f": {whole(reason, 160).rstrip('.')}{' (as all of these)' * every}"


def _shared(extreme: Extreme, brief: Findings) -> int:
    """How many ended as the greatest loss or gain did, by what the result says."""
    errors = (s for s in brief.statements if isinstance(s, Cause) and s.kind == "error")
    return next((len(e.shown_by) for e in errors if extreme.outcome in e.shown_by), 0)


def outlier_line(statement: Outlier) -> str:
    """What stood out of an outcome, which need not be its cause."""
    low, high = figure(statement.low), figure(statement.high)
    return sentence(
        f"what stood out on {statement.at:%Y-%m-%d}: {plain(statement.key)} "
        f"{figure(statement.value)}, where the middle half of {statement.of} others had "
        f"{low} to {high}; it need not be the cause"
    )


def tools_line(statement: Tools) -> str:
    """What was used by those that ended well, and by few of the others."""
    names = listed(f"`{plain(name, 40)}`" for name in statement.names)
    return sentence(
        f"{count_of(*statement.worked)} that succeeded used {names}, "
        f"{count_of(*statement.failed)} that failed"
    )


# ── causes ───────────────────────────────────────────────────────────────────────────


def remedy_line(cause: Cause, brief: Findings) -> str:
    """What those did that ended well."""
    return sentence(f"what worked: {_lower(cause_line(cause, brief, 'pattern'))}")


def cause_line(cause: Cause, brief: Findings, kind: SkillKind | None = None) -> str:
    """A cause with its counts; what to do about it where it is the program's to say."""
    counts = _Counts(cause, brief, kind or brief.kind)
    return sentence(_CAUSES[cause.kind](cause, counts))


class _Counts:
    """Counts of the outcomes of a subject that state what a cause quotes, and of the others.

    `all` are those of the same kind, and `like` says how many of them differ in figures alone.
    """

    def __init__(self, cause: Cause, brief: Findings, kind: SkillKind) -> None:
        status, self.verb = _ENDS[kind]
        outcomes = brief.account.outcomes
        self.of = sum(outcome.result.status == status for outcome in outcomes)
        self.all = max(cause.agreeing, len(cause.shown_by))
        opposed = set(cause.stated_by).intersection(cause.against)
        self.shown = len(cause.stated_by) - len(opposed) if cause.stated_by else self.all
        self.against = len(opposed) if cause.stated_by else len(cause.against)
        more = self.all - self.shown
        self.like = f"; {more} more with other figures" if more and cause.alike else ""
        self.others = sum(o.result.status not in (status, "neutral") for o in outcomes)
        self.other_verb = "succeeded" if status == "failure" else "failed"
        self.report = "; report" if cause.report else ""

    def __str__(self) -> str:
        """`2 of 3 that failed`; of one outcome alone `the one that failed`."""
        if self.of == 1:
            return f"the one that {self.verb}"
        return f"{count_of(self.shown, max(self.of, self.shown))} that {self.verb}"

    @property
    def tellers(self) -> str:
        """`2 that succeeded and 3 that failed`: others may have said it in other words."""
        against = f" and {self.against} that {self.other_verb}" if self.against else ""
        return f"{self.shown} that {self.verb}{against}"

    @property
    def before_example(self) -> str:
        """Lead from the count of a kind to a quotation: as all there is, or as one of several."""
        return ": " if self.shown == self.all else ", as in "

    @property
    def of_kind(self) -> str:
        """`2 of 3 that failed`: all that show the kind, whatever the words."""
        return str(self) if self.of == 1 else f"{count_of(self.all, self.of)} that {self.verb}"

    @property
    def in_brackets(self) -> str:
        """`2 of 3 that failed and 1 of 4 that succeeded`; "" if there is but one outcome."""
        if self.against:
            otherwise = f"{count_of(self.against, self.others)} that {self.other_verb}"
            return f" ({self} and {otherwise}{self.like}{self.report})"
        return "" if self.of == 1 else f" ({self}{self.like}{self.report})"


def _quote(cause: Cause) -> str:
    return quoted(cause.quote.strip(" *|"), _QUOTE)


def _lesson(cause: Cause, counts: _Counts) -> str:
    whose = "supposed by" if cause.supposed else "the lesson of"
    return f"{whole(cause.quote, 300)} ({whose} {counts}{counts.like})"


def _error(cause: Cause, counts: _Counts) -> str:
    lead = "ended like this:" if counts.all > 1 else "ended with"
    return f"{lead} “{whole(cause.quote, 300)}”{counts.in_brackets}"


def _stopped(cause: Cause, counts: _Counts) -> str:  # noqa: ARG001 (every kind is told so)
    return (
        "do not end on an announced step or while something runs: carry it out, look at its "
        f"result, then report ({counts.of_kind} ended so)"
    )


def _unchecked(cause: Cause, counts: _Counts) -> str:
    is_told = is_concrete(cause.quote) and not is_narration(cause.quote)
    words = f"{counts.before_example}{_quote(cause)}" if is_told else ""
    return f"check before going on; {counts.of_kind} went on unchecked{words}"


def _exposed(cause: Cause, counts: _Counts) -> str:
    is_told = cause.alike and cause.quote and not is_narration(cause.quote)
    words = f"{counts.before_example}{_quote(cause)}" if is_told else ""
    return f"name a way out before acting; {counts.of_kind} had none{words}"


def _guess(cause: Cause, counts: _Counts) -> str:
    return f"assumed, and settled by nobody: {_quote(cause)}{counts.in_brackets}"


def _claim(cause: Cause, counts: _Counts) -> str:  # noqa: ARG001 (every kind is told so)
    return f"reported, and refused: {_quote(cause)}"


def _risk(cause: Cause, counts: _Counts) -> str:
    return f"the risk that was named: {_quote(cause)}{counts.in_brackets}"


def _ground(cause: Cause, counts: _Counts) -> str:
    return f"rested on {_quote(cause)}{counts.in_brackets}"


def _found(cause: Cause, counts: _Counts) -> str:
    return f"{_quote(cause)} (told by {counts.tellers}{counts.like}{counts.report})"


def _check(cause: Cause, counts: _Counts) -> str:
    return f"{_quote(cause)} (a check of {counts.tellers}{counts.like}{counts.report})"


_CAUSES: Mapping[InsightKind, Callable[[Cause, _Counts], str]] = {
    "lesson": _lesson,
    "error": _error,
    "stopped": _stopped,
    "unchecked": _unchecked,
    "exposed": _exposed,
    "guess": _guess,
    "claim": _claim,
    "risk": _risk,
    "ground": _ground,
    "found": _found,
    "check": _check,
}


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")

"""The texts of warnings and patterns: an account's statements, each in the section it belongs to.

A section for which there is no statement is left out.
"""

from collections.abc import Callable, Iterable, Iterator

from skillvault.brief import (
    Cause,
    Draft,
    Extreme,
    Findings,
    InsightKind,
    RefusedAnswers,
    Remedy,
    Rule,
    Statement,
)
from skillvault.conditions import Condition, clause, named, risk
from skillvault.judge.offline.speech import (
    figured,
    held_for,
    plain,
    quoted,
    sentence,
    subject,
)
from skillvault.judge.offline.telling import advice_of
from skillvault.reading import how
from skillvault.records import Outcome, Scalar, SkillKind
from skillvault.text import count_of, figure, listed, percent, shorten

TITLE = 70
DESCRIPTION = 400
_MAX_CONTEXT = 8
_ADVICE = 4
_ANSWERS = 8  # refused ones that are told
_TASK = 60  # characters of a task that tells it from another
_SHOWN: dict[InsightKind, str] = {
    "lesson": "the agent's own lesson: {}",
    "error": "{}",
    "answer": "answered {}",
    "stopped": "stopped at an announced step: {}",
    "unchecked": "went on unchecked: {}",
    "exposed": "went without a way out: {}",
    "guess": "rested on a guess: {}",
    "certainty": "had certainty in place of grounds: {}",
    "claim": "reported {}, which was refused",
    "risk": "had named the risk: {}",
    "ground": "rested on {}",
    "found": "found {}",
    "check": "checked it by {}",
}
_SUPPOSED = "the agent's own lesson, supposed: {}"
ASKED: dict[InsightKind, str] = {
    "stopped": "Is the last announced step carried out, and its result reported?",
    "unchecked": "Is this checked now: {}",
    "exposed": "Is there a way out now, where this stood: {}",
    "guess": "Is this known now, or still guessed: {}",
    "claim": "Is this tested against the task itself: {}",
}
_ENDS: dict[SkillKind, tuple[str, str]] = {
    "warning": ("failed", "succeeded"),
    "pattern": ("succeeded", "failed"),
}

Writer = Callable[[Findings], Iterator[str]]


def drafted(brief: Findings) -> Draft | None:
    """A draft of a warning or a pattern; None for a kind that is neither."""
    writers = _SECTIONS.get(brief.kind)
    if writers is None:
        return None
    bodies = [(name, bulleted(write(brief))) for name, write in writers]
    sections = tuple((name, body) for name, body in bodies if body)
    return Draft(_title(brief), _description(brief), sections)


def bulleted(lines: Iterable[str]) -> str:
    """Lines as a list, each once."""
    return "\n".join(f"- {line}" for line in dict.fromkeys(lines) if line)


# ── warning ──────────────────────────────────────────────────────────────────────────


def _recognized(brief: Findings) -> Iterator[str]:
    """What was refused, what separates, and of a single outcome what was recorded at entry."""
    for statement in brief.statements:
        if isinstance(statement, RefusedAnswers):
            yield _refused(statement, brief)
    yield from rule_lines(brief)
    if len(brief.account.outcomes) == 1:
        yield from _entry(brief.account.outcomes[0])


def _went_wrong(brief: Findings) -> Iterator[str]:
    for statement in brief.statements:
        if isinstance(statement, Extreme):
            yield extreme_line(statement, brief)
        elif isinstance(statement, Cause):
            yield cause_line(statement, brief.kind)


def _better(brief: Findings) -> Iterator[str]:
    for statement in brief.statements:
        if isinstance(statement, Remedy):
            yield sentence(f"what worked instead: it {shown(statement.cause)}")
    causes = [s for s in brief.statements if isinstance(s, Cause)]
    yield from filter(None, [advice_of(cause) for cause in causes[:_ADVICE]])


def _checklist(brief: Findings) -> Iterator[str]:
    """Questions one can answer before acting, each from something in the record."""
    for statement in brief.statements:
        if isinstance(statement, Rule):
            condition = " and ".join(map(named, statement.separation.conditions))
            yield f"[ ] Does this hold: {condition}? {sentence(risk(statement.separation))}"
        elif isinstance(statement, Cause) and statement.kind in ASKED:
            yield f"[ ] {ASKED[statement.kind].format(quoted(statement.quote))}"


# ── pattern ──────────────────────────────────────────────────────────────────────────


def _conditions(brief: Findings) -> Iterator[str]:
    yield from rule_lines(brief)
    if len(brief.significant) == 1:
        yield from _entry(brief.significant[0])


def _worked(brief: Findings) -> Iterator[str]:
    for statement in brief.statements:
        if isinstance(statement, Extreme):
            yield extreme_line(statement, brief)
        elif isinstance(statement, Cause) and statement.report:
            yield _report_line(statement, brief)
        elif isinstance(statement, Cause) and statement.kind not in ("ground", "check"):
            yield cause_line(statement, brief.kind)


def _criteria(brief: Findings) -> Iterator[str]:
    for statement in brief.statements:
        if isinstance(statement, Cause) and statement.kind == "ground" and not statement.report:
            yield cause_line(statement, brief.kind)


def _managed(brief: Findings) -> Iterator[str]:
    for statement in brief.statements:
        if isinstance(statement, Cause) and statement.kind == "check" and not statement.report:
            yield cause_line(statement, brief.kind)


# ── lines ────────────────────────────────────────────────────────────────────────────


def _refused(statement: RefusedAnswers, brief: Findings) -> str:
    """What was refused for a task: `Refused so far, same task: 24 (5 runs), -19 (1)`."""
    known = {" ".join(task.split()) for task in brief.account.tasks.values()}
    task = "same task"
    if len(known | {statement.task}) > 1:
        named = f"task {quoted(statement.task, _TASK)}"
        task = named if statement.task else "a task that was not recorded"
    answers = [
        f"{figured(value)} ({count}{' runs' if not place and count > 1 else ''})"
        for place, (value, count) in enumerate(statement.refused[:_ANSWERS])
    ]
    if len(statement.refused) > _ANSWERS:
        answers.append(f"and {len(statement.refused) - _ANSWERS} more")
    return f"Refused so far, {task}: {', '.join(answers)}."


def rule_lines(brief: Findings) -> Iterator[str]:
    """What separates, with what it means."""
    for statement in brief.statements:
        if isinstance(statement, Rule):
            yield sentence(f"{clause(statement.separation.conditions)}: {_weighed(statement)}")


def _weighed(rule: Rule) -> str:
    """What a rule means; for a target, whose outcomes are some of the action's, in half a line."""
    if rule.own is None:
        return risk(rule.separation)
    lost, of = rule.separation.met
    return f"{count_of(lost, of)} were {rule.separation.result}, here {count_of(*rule.own)}"


def shown(cause: Cause) -> str:
    """What outcomes of a cause did, as the end of a clause."""
    clause = _SUPPOSED if cause.supposed else _SHOWN[cause.kind]
    return clause.format(quoted(cause.quote))


def cause_line(cause: Cause, kind: SkillKind) -> str:
    """A cause with how often it was shown, and how often it ended otherwise all the same."""
    ended, otherwise = _ENDS[kind]
    count = len(cause.shown_by)
    if not cause.alike:
        return sentence(f"{count_of(count, cause.of)} {shown(cause)} (one of them)")
    said = shown(cause) if cause.kind in ("error", "lesson") else f"it {shown(cause)}"
    if cause.against:
        shares = count_of(len(cause.against), cause.agreeing + len(cause.against))
        return sentence(f"{said} ({shares} that said so {otherwise}, the others {ended})")
    return sentence(f"{said} ({count_of(count, cause.of)})" if cause.of > 1 else said)


def _report_line(cause: Cause, brief: Findings) -> str:
    """What those reported that ended well: told, as nobody knows whether it was known before."""
    failed = sum(o.result.status == "failure" for o in brief.account.outcomes)
    by = "none" if not cause.against else str(len(cause.against))
    others = f", by {by} of {failed} that failed" if failed else ""
    told = count_of(len(cause.shown_by), cause.of)
    return f"Told by {told} that succeeded{others}: {quoted(cause.quote)} (report)."


def extreme_line(statement: Extreme, brief: Findings) -> str:
    """The greatest loss or gain: when, how long it took, and what the result says of it."""
    outcome = next(o for o in brief.significant if o.id == statement.outcome)
    verb = "lost" if statement.score < 0 else "gained"
    span, reason = held_for(outcome), how(outcome)
    after = f" after {span}" if span else ""
    by = f": {plain(reason, 160)}" if reason else ""
    score = percent(abs(statement.score)).lstrip("+")
    count = len(statement.shown_by)
    most = f" at most ({count} such)," if count > 1 else ""
    return sentence(f"{verb} {score}{most} on {outcome.occurred_at:%Y-%m-%d}{after}{by}")


def _entry(outcome: Outcome) -> Iterator[str]:
    """The context at entry, in one line."""
    context = {key: value for key, value in outcome.context.items() if value not in (None, "")}
    values = [f"{plain(key)} {_value(value)}" for key, value in context.items()]
    del values[_MAX_CONTEXT:]
    if outcome.decision.confidence is not None:
        values.append(f"confidence {outcome.decision.confidence:g}")
    if outcome.result.entry_value is not None:
        values.append(f"entry value {_money(outcome)}")
    if values:
        yield f"At entry: {'; '.join(values)}."


def _value(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return figure(value) if isinstance(value, int | float) else plain(str(value))


def _money(outcome: Outcome) -> str:
    return f"{figure(outcome.result.entry_value or 0.0)} {outcome.result.unit or ''}".strip()


# ── title and description ────────────────────────────────────────────────────────────


def _title(brief: Findings) -> str:
    """What it is about, and its first statement."""
    about, gist = subject(brief.account.outcomes[0]), _gist(brief)
    return shorten(f"{about}: {gist}" if gist else about, TITLE)


def _gist(brief: Findings) -> str:
    """The first statement of what was done; of what the result says if there is none."""
    errors = [s for s in brief.statements if isinstance(s, Cause) and s.kind == "error"]
    ordered = [*(s for s in brief.statements if s not in errors), *errors]
    said = [short for statement in ordered if (short := _briefly(statement))]
    return said[0] if said else ""


def _briefly(statement: Statement) -> str:
    """A statement as part of a title: `mentions breakout`, `decided 18-24 UTC`."""
    match statement:
        case Rule():
            return " and ".join(map(_condition_briefly, statement.separation.conditions))
        case RefusedAnswers():
            return f"refused {listed(figured(value, 20) for value, _ in statement.refused[:3])}"
        case Cause():
            return plain(statement.quote.rstrip("."), TITLE)
        case Extreme() | Remedy():
            return ""


def _condition_briefly(condition: Condition) -> str:
    if condition.kind == "word":
        verb = "mentions" if condition.op == "mentions" else "no mention of"
        return f"{verb} {plain(str(condition.value))}"
    if condition.kind == "window" and isinstance(condition.value, tuple):
        low, high = condition.value
        no = "not " if condition.op == "outside" else ""
        return f"{no}decided {low:02.0f}-{high:02.0f} UTC"
    return named(condition)


def _description(brief: Findings) -> str:
    """What it tells and when to use it."""
    about, gist = subject(brief.account.outcomes[0]), _gist(brief)
    lead = "Warns of" if brief.kind == "warning" else "Describes what worked for"
    why = f" ({shorten(gist, 120)})" if gist else ""
    text = f"{lead} {about}{why}. Use before {about}."
    return shorten(text.replace("<", "").replace(">", ""), DESCRIPTION)


_SECTIONS: dict[SkillKind, tuple[tuple[str, Writer], ...]] = {
    "warning": (
        ("Pattern to Recognize", _recognized),
        ("What Went Wrong", _went_wrong),
        ("Better Approach", _better),
        ("Checklist", _checklist),
    ),
    "pattern": (
        ("Pattern Conditions", _conditions),
        ("Why It Worked", _worked),
        ("Entry Criteria", _criteria),
        ("Risk Management", _managed),
    ),
}

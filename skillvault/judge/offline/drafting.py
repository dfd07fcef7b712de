"""The texts of warnings and patterns: an account's statements, each in the section it belongs to.

A section for which there is no statement is left out.
"""

from collections.abc import Iterable, Iterator, Sequence

from skillvault.judge.offline.lines import HEADINGS, ranked_lines, sections_of
from skillvault.judge.offline.speech import (
    amount_in,
    figured,
    fitting,
    plain,
    subject,
)
from skillvault.model.brief import (
    Cause,
    Draft,
    Extreme,
    Findings,
    InsightKind,
    RefusedAnswers,
    RefusedClaims,
    Rule,
    Statement,
    Tools,
)
from skillvault.model.conditions import Condition, named
from skillvault.model.records import Outcome, Scalar, SkillKind
from skillvault.model.text.text import figure, listed, percent, whole

TITLE = 70
DESCRIPTION = 400
USE = 95  # characters that say when to use it: a host may show no more than a hundred
_MAX_CONTEXT = 8
_ERROR = 40  # characters of an error in a title
# What a cause is called if nothing that can be counted says more.
CAUSES: dict[InsightKind, str] = {
    "lesson": "a lesson of its agent's",
    "stopped": "stopped at an announced step",
    "unchecked": "went on unchecked",
    "exposed": "went without a way out",
    "guess": "rested on an assumption",
    "claim": "reported success and was refused",
    "risk": "the risk that was named came",
    "ground": "a ground that did not hold",
    "found": "what its runs told",
}


def drafted(brief: Findings) -> Draft | None:
    """A draft of a warning or a pattern; None for a kind that is neither."""
    if brief.kind not in HEADINGS:
        return None
    lines = sections_of(brief)
    outcomes = brief.account.outcomes
    if len(outcomes) == 1 and not any(isinstance(s, Cause) for s in brief.statements):
        first = HEADINGS[brief.kind][0]
        lines = {first: [*lines.pop(first, []), *_entry(outcomes[0])], **lines}
    sections = tuple((name, bulleted(texts)) for name, texts in lines.items() if texts)
    about = subject(outcomes[0])
    ranked = (line for _, line in ranked_lines(brief))
    description = described(f"before {about}", ranked)
    return Draft(titled(about, brief.statements, brief.kind), description, sections)


def bulleted(lines: Iterable[str]) -> str:
    """Lines as a list, each once."""
    return "\n".join(f"- {line}" for line in dict.fromkeys(lines) if line)


def _entry(outcome: Outcome) -> Iterator[str]:
    """The context at entry, in one line: of an outcome of which nothing more is known."""
    context = {key: value for key, value in outcome.context.items() if value not in (None, "")}
    values = [f"{plain(key)} {_value(value)}" for key, value in context.items()]
    del values[_MAX_CONTEXT:]
    if outcome.result.entry_value is not None:
        values.append(f"entry value {amount_in(outcome.result.entry_value, outcome)}")
    if values:
        yield f"At entry: {'; '.join(values)}."


def _value(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return figure(value) if isinstance(value, int | float) else plain(str(value))


# ── title and description ────────────────────────────────────────────────────────────


def titled(about: str, statements: Sequence[Statement], kind: SkillKind) -> str:
    """The subject and the first rule or cause, without quotes; the subject alone if none fits."""
    gists = (_gist(statement, kind) for statement in statements)
    for gist in filter(None, gists):
        title = f"{about}: {gist}"
        if fitting(title, TITLE) == title:
            return title
    return fitting(about, TITLE)


def described(use: str, ranked: Iterable[str]) -> str:
    """When to use it, then the first of what it tells, as far as whole sentences fit."""
    fits = use if len(use) <= USE else fitting(use, USE)
    description = f"Use {fits}.".translate(_UNTAGGED)
    for text in ranked:
        longer = f"{description} {text.removeprefix('[ ] ')}".translate(_UNTAGGED)
        if len(longer) > DESCRIPTION:
            break
        description = longer
    return description


_UNTAGGED = str.maketrans("<>", "‹›")  # a host may take the first for a tag; a sign stays one


def _gist(statement: Statement, kind: SkillKind) -> str:  # noqa: PLR0911 (one a kind)
    """A statement as part of a title: `mentions breakout`, `decided 18-24 UTC`."""
    match statement:
        case Rule():
            return " and ".join(map(_condition_briefly, statement.separation.conditions))
        case RefusedAnswers():
            return f"refused {listed(figured(value, 20) for value, _ in statement.refused[:3])}"
        case Extreme():
            verb = "lost" if statement.score < 0 else "gained"
            return f"{verb} {percent(abs(statement.score)).lstrip('+')}"
        case Cause(kind="error", quote=quote):
            return fitting(whole(quote, _ERROR), _ERROR)
        case Cause():
            return CAUSES.get(statement.kind, "") if kind == "warning" else "what worked"
        case RefusedClaims():
            return "success was claimed and refused"
        case Tools():
            return f"used {listed(plain(name, 20) for name in statement.names)}"
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

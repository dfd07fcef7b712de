"""Conditions and what they separate: values from the rule to the text, and how they read."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct

from skillvault.model.records import Outcome, Scalar
from skillvault.model.text.text import count_of, format_number, make_inert

ConditionKind = Literal[
    "context",  # what was observed when it was decided
    "target",
    "agent",
    "number",  # how large
    "window",  # hours of the day, UTC
    "day",  # of the week, UTC
    "word",  # of the reasoning
]
Operator = Literal[
    "is", "is not", "at least", "below", "between", "outside", "mentions", "does not mention"
]


class Condition(Struct, frozen=True):
    """One thing known before the result: what was recorded under `key`, against a value.

    `between` is from a bound up to below another, `outside` all the rest.
    """

    kind: ConditionKind
    key: str
    op: Operator
    value: Scalar | tuple[float, float]


class Separation(Struct, frozen=True, kw_only=True):
    """A condition, or two at once, under which a result is more frequent than otherwise.

    `met`, `other`, `lately` are (with the result, of so many), `other` of those that do not meet
    it although what it asks was recorded; `episodes` those of `met`. `lately` counts the later
    half of the outcomes if too few of it meet the rule to test it there, else None. `p` is
    family-wise over all that was asked at once, `z` robust to episodes; `holds_for` are the ids of
    those that meet it; `held` are the rules that were held fixed. All of it is as of the `read`
    latest outcomes of the `action`, the last of which ended at `until`. A `lead` is of few.
    """

    conditions: tuple[Condition, ...]
    result: str
    met: tuple[int, int]
    other: tuple[int, int]
    episodes: tuple[int, int]
    p: float
    z: float
    holds_for: frozenset[str]
    read: int
    until: datetime
    lately: tuple[int, int] | None = None
    held: tuple[tuple[Condition, ...], ...] = ()
    lead: bool = False
    action: str = ""

    @property
    def is_loss(self) -> bool:
        """Whether the result is one to avoid."""
        return self.result.startswith(("failures", "losses"))


def clause(conditions: Sequence[Condition]) -> str:
    """Conditions as a clause that can open or end a sentence: `when trend is up and …`."""
    first, *others = (
        (_opening(condition), describe_condition(condition)) for condition in conditions
    )
    text = " ".join(first)
    for opening, words in others:
        text += f" and {'' if opening == first[0] else f'{opening} '}{words}"
    return text


def _opening(condition: Condition) -> str:
    measured = condition.kind in ("context", "number") and condition.op not in ("is", "is not")
    return "with" if measured else "when"


def describe_condition(condition: Condition) -> str:
    """A condition by itself: `trend is up`, `spread of 3 or more`."""
    key, value = make_inert(condition.key.replace("_", " "), 60), condition.value
    if condition.kind == "word":
        return f"the reasoning {condition.op} '{make_inert(str(value), 60)}'"
    if condition.kind == "day":
        no = "" if condition.op == "is" else "not "
        return f"{no}decided on a {value}"
    if isinstance(value, tuple):
        return _ranged(condition, key, value)
    if condition.op in ("at least", "below"):
        bound = format_number(float(value or 0))
        return f"{key} of {bound} or more" if condition.op == "at least" else f"{key} below {bound}"
    text = str(value).lower() if isinstance(value, bool) else make_inert(str(value), 60)
    return f"{key} {condition.op} {text}"


def _ranged(condition: Condition, key: str, bounds: tuple[float, float]) -> str:
    if condition.kind == "window":
        no = "" if condition.op == "between" else "not "
        low, high = (f"{bound:02.0f}:00" for bound in bounds)
        return f"{no}decided between {low} and {high} UTC"
    low, high = map(format_number, bounds)
    if condition.op == "between":
        return f"{key} from {low} to below {high}"
    return f"{key} below {low} or of {high} and more"


def risk(rule: Separation) -> str:
    """What the counts mean for a decision: `then 5 of 55 were losses, otherwise 1 of 124`."""
    lost, episodes = rule.met[0], rule.episodes[0]
    fewer = f" (in {episodes} episode{'s' * (episodes > 1)})" if episodes != lost else ""
    lately = f", in the later half {count_of(*rule.lately)}" if rule.lately else ""
    otherwise = count_of(*rule.other)
    return f"then {count_of(*rule.met)} were {rule.result}{fewer}{lately}, otherwise {otherwise}"


def lead_line(lead: Separation) -> str:
    """Return a lead as a line, `Lead: with dry_run false 6 of 6 failed, otherwise 0 of 4.`."""
    failed, episodes = lead.met[0], lead.episodes[0]
    fewer = f" (in {episodes} episode{'s' * (episodes > 1)})" if episodes != failed else ""
    conditions = " and ".join(map(_as_recorded, lead.conditions))
    comma = "," if conditions[-1].isdigit() else ""  # or its number would run into the count
    counts = f"{count_of(*lead.met)} failed{fewer}, otherwise {count_of(*lead.other)}"
    return f"Lead: with {conditions}{comma} {counts}."


def _as_recorded(condition: Condition) -> str:
    """A condition with its key as it was recorded: `dry_run false`, `dry_run not true`."""
    key = make_inert(condition.key, 60)
    return key + describe_condition(condition).removeprefix(key.replace("_", " ")).removeprefix(
        " is"
    )


def sample_note(rule: Separation, outcomes: Sequence[Outcome]) -> str:
    """Of which outcomes a rule was counted, unless it is just these, oldest first; else ""."""
    if (rule.read, rule.until) == (len(outcomes), outcomes[-1].occurred_at):
        return ""
    return f" (of the {rule.read} outcomes to {rule.until:%Y-%m-%d})"

"""Describe conditions, and outcomes that they separate, as values and as text.

This module has the only list of context keys that are not conditions.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from skillvault.model.lazy import regex
from skillvault.model.records import Outcome, Result, Scalar
from skillvault.model.text.text import count_of, format_number, make_inert, pluralize

# Keys for the frame of a decision: outcomes are compared within it, and it is not a condition.
FRAME_KEYS = ("client", "model", "branch", "repository")
# Fields that an agent may copy from the result; `entry_value` is known before.
_RESULT_KEYS = {*Result.__struct_fields__, "result", "outcome", "agent"} - {"entry_value", "unit"}
_RESULT_WORD = regex(
    r"(?:un)?succe(?:ss|ed).*|fail.*|(?:un)?solved?|pass(?:ed|es|ing)?|complet(?:ed?|es|ing|ion)"
    r"|w[io]n|win(?:s|ner|ners|ning)|los[te]|los(?:es|er|ers|ing)|(?:in)?correct(?:ly)?"
    r"|wrong(?:ly)?|accomplish.*|achiev.*|finished|profitabl[ey]|unprofitable"
)

_WORD = regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_RESULT_KEY_WORDS = frozenset(
    "pnl profit profits error errors exception exceptions duration elapsed realized realised roi"
    " drawdown outcome outcomes result results holding held".split()
)
_END_WORDS = frozenset({"exit", "exited", "closed", "ended"})  # at the head of a key
# A key with such a word is about a plan, a bound or the past: `stop_loss`, `max_duration`.
_PLAN_WORDS = frozenset(
    "stop take max min maximum minimum limit target plan planned expected threshold budget"
    " previous prior last recent on".split()
)

ConditionKind = Literal[
    "context",  # a recorded value
    "target",
    "agent",
    "number",  # a quantity
    "window",  # hours of the day, UTC
    "day",  # of the week, UTC
    "word",  # of the reasoning
]
Operator = Literal[
    "is", "is not", "at least", "below", "between", "outside", "mentions", "does not mention"
]


class Condition(Struct, frozen=True):
    """A comparison of a value that was recorded under `key` before the result was known.

    `between` includes the lower bound only; `outside` is its complement.
    """

    kind: ConditionKind
    key: str
    op: Operator
    value: Scalar | tuple[float, float]


class Separation(Struct, frozen=True, kw_only=True):
    """One or two conditions under which a result is more frequent than otherwise.

    `met`, `other` and `lately` are pairs: (outcomes with the result, all outcomes). `other` counts
    outcomes that record the keys and do not meet the conditions. `episodes` counts the episodes in
    `met`. `lately` counts the later half, if too few outcomes there meet the conditions for a test.
    `p` is family-wise over all tests at once, `z` is robust to episodes. `holds_for` are the ids of
    the outcomes that meet the conditions, `held` the rules that the test held fixed. The `read`
    latest outcomes of the `action` were counted, and the last of them ended at `until`. A `lead`
    has few outcomes and is not a rule yet.
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
        """Return True if the result is to be avoided."""
        return self.result.startswith(("failures", "losses"))


def describe_conditions(conditions: Sequence[Condition]) -> str:
    """Describe conditions as a clause of a sentence: `when trend is up and …`."""
    first, *following = (
        (_conjunction(condition), describe_condition(condition)) for condition in conditions
    )
    text = " ".join(first)
    for conjunction, clause in following:
        text += f" and {'' if conjunction == first[0] else f'{conjunction} '}{clause}"
    return text


def _conjunction(condition: Condition) -> str:
    measured = condition.kind in ("context", "number") and condition.op not in ("is", "is not")
    return "with" if measured else "when"


def describe_condition(condition: Condition) -> str:
    """Describe a condition in words: `trend is up`, `spread of 3 or more`."""
    key, value = make_inert(condition.key.replace("_", " "), 60), condition.value
    if condition.kind == "word":
        return f"the reasoning {condition.op} '{make_inert(str(value), 60)}'"
    if condition.kind == "day":
        negation = "" if condition.op == "is" else "not "
        return f"{negation}decided on a {value}"
    if isinstance(value, tuple):
        return _describe_range(condition, key, value)
    if condition.op in ("at least", "below"):
        bound = format_number(float(value or 0))
        return f"{key} of {bound} or more" if condition.op == "at least" else f"{key} below {bound}"
    text = str(value).lower() if isinstance(value, bool) else make_inert(str(value), 60)
    return f"{key} {condition.op} {text}"


def _describe_range(condition: Condition, key: str, bounds: tuple[float, float]) -> str:
    if condition.kind == "window":
        negation = "" if condition.op == "between" else "not "
        low, high = (f"{bound:02.0f}:00" for bound in bounds)
        return f"{negation}decided between {low} and {high} UTC"
    low, high = map(format_number, bounds)
    if condition.op == "between":
        return f"{key} from {low} to below {high}"
    return f"{key} below {low} or of {high} and more"


def describe_rule(rule: Separation) -> str:
    """Describe a rule with its counts: `when trend is up: then 5 of 6 were losses, otherwise …`."""
    lately = f", in the later half {count_of(*rule.lately)}" if rule.lately else ""
    counts = f"{count_of(*rule.met)} were {rule.result}{_occasions(rule)}{lately}"
    conditions = describe_conditions(rule.conditions)
    return f"{conditions}: then {counts}, otherwise {count_of(*rule.other)}"


def describe_lead(lead: Separation) -> str:
    """Describe a lead, which is a rule with few outcomes, in one line.

    Example: `Lead: with dry_run false 6 of 6 failed, otherwise 0 of 4.`
    """
    conditions = " and ".join(map(_with_recorded_key, lead.conditions))
    comma = "," if conditions[-1].isdigit() else ""  # or its number would run into the count
    counts = f"{count_of(*lead.met)} failed{_occasions(lead)}, otherwise {count_of(*lead.other)}"
    return f"Lead: with {conditions}{comma} {counts}."


def _occasions(rule: Separation) -> str:
    """Return a note if several outcomes with the result belong to the same episode."""
    episodes = rule.episodes[0]
    return f" (on {pluralize(episodes, 'occasion')})" if episodes != rule.met[0] else ""


def _with_recorded_key(condition: Condition) -> str:
    """Describe a condition with its recorded key: `dry_run false`, `dry_run not true`."""
    key = make_inert(condition.key, 60)
    return key + describe_condition(condition).removeprefix(key.replace("_", " ")).removeprefix(
        " is"
    )


def conditions_of(outcome: Outcome) -> dict[str, Scalar]:
    """Return the recorded values that may be a condition or part of a text.

    Values that describe the decision itself and keys that name the result are left out.
    """
    return {
        key: value
        for key, value in outcome.context.items()
        if key not in FRAME_KEYS and not names_result(key)
    }


def is_result_word(term: str) -> bool:
    """Return True for a word about success or failure, which cannot be a cause."""
    return _RESULT_WORD.fullmatch(term) is not None


@lru_cache(maxsize=4096)
def names_result(key: str) -> bool:
    """Return True for a key about the result, such as `pnl_pct`, but not `stop_loss`."""
    words = [word.lower() for word in _WORD.findall(key)]
    if key.lower() in _RESULT_KEYS:
        return True
    if not words or _PLAN_WORDS.intersection(words):
        return False
    return words[0] in _END_WORDS or any(
        word in _RESULT_KEY_WORDS or is_result_word(word) for word in words
    )

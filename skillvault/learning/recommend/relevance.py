"""How much a skill matters in a context: the parts that the policy adds up."""

import math
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from skillvault.model.policy import BOOSTS, Boost, RecommendPolicy
from skillvault.model.records import Scalar

Context = Mapping[str, Scalar]

_LEAST = 0.3  # a task that even the best text answers less than this speaks of something else
_SEPARATOR = re.compile(r"[\s_-]+")
_INNER_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Match(NamedTuple):
    """How well a text answers a task.

    `score` orders the texts of one question; `share`, 0..1, is how much of what is asked the text
    says, the same in every vault.
    """

    score: float
    share: float


NO_MATCH = Match(0.0, 0.0)


@lru_cache(maxsize=4096)
def folded(name: str) -> str:
    """A context's key or value as it is compared: `unlockSchedule` is `unlock_schedule`."""
    return "".join(words_of(name))


def words_of(name: str) -> list[str]:
    """The words that a context's key or value is made of, in small letters."""
    return _SEPARATOR.sub(" ", _INNER_CAPITAL.sub(" ", name)).casefold().split()


def folded_keys(context: Context) -> dict[str, Scalar]:
    """A context with its keys as they are compared."""
    return {folded(key): value for key, value in context.items()}


def relevance(kind: str, body: str, context: Context) -> float:
    """The relevance, 0..1, of a skill of this kind and text by the default boosts."""
    keys = folded_keys(context)
    applied = (boost for boost in BOOSTS if holds(boost, kind, keys) and says(boost, body))
    return min(1.0, RecommendPolicy().base + sum(boost.add for boost in applied))


def value_of(text: str) -> Scalar:
    """A context's value as it is typed: true, false, a number, or else the text."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        return value if math.isfinite(value) else text
    return text


def holds(boost: Boost, kind: str, context: Context) -> bool:
    """True if all that a boost asks of kind and context, by its folded keys, is so."""
    return (
        boost.kind in (None, kind)
        and all(_same(context.get(folded(key)), value) for key, value in boost.when.items())
        and all(_above(context.get(folded(key)), least) for key, least in boost.above.items())
        and not any(context.get(folded(key)) for key in boost.unless)
    )


def says(boost: Boost, body: str) -> bool:
    """True if the text says any of what a boost asks for, or if it asks for nothing."""
    text = body.lower() if boost.says else ""
    return not boost.says or any(word.lower() in text for word in boost.says)


class Weighing:
    """The parts of the relevance in one context, what kinds have in common told once.

    `read` gives a skill's text by name; `scores` how well it answers the task, None if none is
    given.
    """

    def __init__(
        self,
        context: Context,
        policy: RecommendPolicy,
        read: Callable[[str], str],
        scores: Mapping[str, Match] | None,
    ) -> None:
        self._context = folded_keys(context)
        self._policy = policy
        self._read = read
        self._scores = scores
        self._best = max([_LEAST, *(match.score for match in (scores or {}).values())])
        self._found = scores or {}
        self._kinds: dict[str, tuple[float, list[Boost]]] = {}
        # Kind -> the relevance of its skills whose text nothing asks for and no task has found.
        self._plain: dict[str, float] = {}

    def relevance(self, name: str, kind: str) -> float:
        """The sum of the parts, 0..1."""
        if name not in self._found and kind in self._plain:
            return self._plain[kind]
        if kind not in self._kinds:
            self._kinds[kind] = self._of_kind(kind)
        total, asking = self._kinds[kind]
        if asking:
            body = self._read(name)
            total += sum(boost.add for boost in asking if says(boost, body))
        if self._scores is not None:
            total += self._task(name)
        # Rounded, so that sums of the same parts in another order are the same.
        total = round(min(1.0, max(0.0, total)), 6)
        if name not in self._found and not asking:
            self._plain[kind] = total
        return total

    @property
    def has_task(self) -> bool:
        """Whether a task is given, and texts are asked how well they answer it."""
        return self._scores is not None

    def saying(self, least: float) -> list[str]:
        """The skills that say at least this share of the task."""
        return [name for name, match in self._found.items() if match.share >= least]

    def share(self, name: str) -> float:
        """How much of what is asked the text says, 0..1."""
        return self._found.get(name, NO_MATCH).share

    def parts(self, name: str, kind: str) -> dict[str, float]:
        """Part -> what it adds, in the order of the policy; only those that add."""
        contributions = {"base": self._policy.base}
        for boost in self._policy.boosts:
            if holds(boost, kind, self._context) and says(boost, self._read(name)):
                contributions[boost.name] = contributions.get(boost.name, 0.0) + boost.add
        if self._scores is not None:
            contributions["task"] = self._task(name)
        return {part: round(value, 6) for part, value in contributions.items()}

    def _of_kind(self, kind: str) -> tuple[float, list[Boost]]:
        """(what every skill of a kind has here, the boosts that ask for its text too)."""
        applied = [boost for boost in self._policy.boosts if holds(boost, kind, self._context)]
        fixed = self._policy.base + sum(boost.add for boost in applied if not boost.says)
        return fixed, [boost for boost in applied if boost.says]

    def _task(self, name: str) -> float:
        """From minus to plus the policy's share: nothing of the task, or the best answer to it."""
        share = self._found.get(name, NO_MATCH).score / self._best
        return self._policy.task * (2 * share - 1)


def _same(value: Scalar, expected: Scalar) -> bool:
    if isinstance(value, str) and isinstance(expected, str):
        return folded(value) == folded(expected)
    return value == expected and isinstance(value, bool) == isinstance(expected, bool)


def _above(value: Scalar, least: float) -> bool:
    return isinstance(value, int | float) and value > least

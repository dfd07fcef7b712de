"""Score the relevance of a skill in a context: a base, the boosts of the policy, and the task.

`recommend` adds the evidence of use. Boosts are in vault.yaml (`recommend.boosts`).
"""

import hashlib
import math
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import NamedTuple

from skillvault.model.lazy import regex
from skillvault.model.policy import Boost, RecommendPolicy
from skillvault.model.records import Scalar

Context = Mapping[str, Scalar]

_MIN_BEST_SCORE = 0.3  # a text with a lower score does not answer the task, even if it is best
_SEPARATOR = regex(r"[\s_-]+")
_INNER_CAPITAL = regex(r"(?<=[a-z0-9])(?=[A-Z])")


class Match(NamedTuple):
    """The match of a text with a task.

    `score` compares the texts for one task. `evidence` (0..1) can be compared between tasks and
    vaults.
    """

    score: float
    evidence: float


NO_MATCH = Match(0.0, 0.0)


@lru_cache(maxsize=4096)
def fold_name(name: str) -> str:
    """Normalize a key or value of a context: `unlockSchedule` becomes `unlock_schedule`."""
    return "".join(words_of(name))


def words_of(name: str) -> list[str]:
    """Return the words of a key or value of a context, in lower case."""
    return _SEPARATOR.sub(" ", _INNER_CAPITAL.sub(" ", name)).casefold().split()


def value_of(text: str) -> Scalar:
    """Convert the text of a context value: to a boolean, a number, or the text itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        return value if math.isfinite(value) else text
    return text


def applies(boost: Boost, kind: str, context: Context) -> bool:
    """Return True if a kind and a context with normalized keys meet the conditions of a boost."""
    return (
        boost.kind in (None, kind)
        and all(_is_same(context.get(fold_name(key)), value) for key, value in boost.when.items())
        and all(_is_above(context.get(fold_name(key)), bound) for key, bound in boost.above.items())
        and not any(context.get(fold_name(key)) for key in boost.unless)
    )


def has_word(boost: Boost, body: str) -> bool:
    """Return True if the text has a word of the boost, or if the boost has no words."""
    text = body.lower() if boost.says else ""
    return not boost.says or any(word.lower() in text for word in boost.says)


class Weighing:
    """A measure of relevance in one context.

    `read_text` returns the text of a skill by name. `scores` has the matches of texts with the
    task, or is None without a task.
    """

    def __init__(
        self,
        context: Context,
        policy: RecommendPolicy,
        read_text: Callable[[str], str],
        scores: Mapping[str, Match] | None,
    ) -> None:
        self._context = {fold_name(key): value for key, value in context.items()}
        self._policy = policy
        self._read_text = read_text
        self._matches = scores or {}
        self.has_task = scores is not None
        self._best = max([_MIN_BEST_SCORE, *(match.score for match in self._matches.values())])
        # kind -> (sum for all skills of the kind, boosts that depend on the text)
        self._kinds: dict[str, tuple[float, list[Boost]]] = {}

    def relevance(self, name: str, kind: str) -> float:
        """Return the relevance (0..1) of a skill."""
        if kind not in self._kinds:
            boosts = [boost for boost in self._policy.boosts if applies(boost, kind, self._context)]
            fixed_part = self._policy.base + sum(boost.add for boost in boosts if not boost.says)
            self._kinds[kind] = fixed_part, [boost for boost in boosts if boost.says]
        total, text_boosts = self._kinds[kind]
        if text_boosts:
            body = self._read_text(name)
            total += sum(boost.add for boost in text_boosts if has_word(boost, body))
        if self.has_task:
            total += self._task_part(name)
        # Round, because the order of addition must make no difference.
        return round(min(1.0, max(0.0, total)), 6)

    def names_with_evidence(self, min_evidence: float) -> list[str]:
        """Return the skills with at least `min_evidence` that they answer the task."""
        return [name for name, match in self._matches.items() if match.evidence >= min_evidence]

    @property
    def matched_names(self) -> Collection[str]:
        """The skills whose texts share a word with the task."""
        return self._matches.keys()

    def measure_evidence(self, name: str) -> float:
        """Return the evidence (0..1) that a skill answers the task."""
        return self._matches.get(name, NO_MATCH).evidence

    def parts(self, name: str, kind: str) -> dict[str, float]:
        """Return each part of a skill's relevance with its name, in the order of the policy."""
        contributions = {"base": self._policy.base}
        for boost in self._policy.boosts:
            if applies(boost, kind, self._context) and has_word(boost, self._read_text(name)):
                contributions[boost.name] = contributions.get(boost.name, 0.0) + boost.add
        if self.has_task:
            contributions["task"] = self._task_part(name)
        return {part: round(value, 6) for part, value in contributions.items()}

    def _task_part(self, name: str) -> float:
        """Return the part of the task: negative without a match, positive with a good match."""
        share = self._matches.get(name, NO_MATCH).score / self._best
        return self._policy.task * (2 * share - 1)


def _is_same(value: Scalar, expected: Scalar) -> bool:
    if isinstance(value, str) and isinstance(expected, str):
        return fold_name(value) == fold_name(expected)
    return value == expected and isinstance(value, bool) == isinstance(expected, bool)


def _is_above(value: Scalar, bound: float) -> bool:
    return isinstance(value, int | float) and value > bound


def draw(*words: str) -> float:
    """Return a pseudorandom number in [0, 1) that depends only on the words."""
    digest = hashlib.sha256("\n".join(words).encode()).digest()[:8]
    return int.from_bytes(digest, "big") / 2**64


def draw_normal(decision: str, name: str) -> float:
    """Return a normally distributed pseudorandom number (Box and Muller)."""
    radius = math.sqrt(-2 * math.log(1 - draw(decision, name, "radius")))
    return radius * math.cos(2 * math.pi * draw(decision, name, "angle"))

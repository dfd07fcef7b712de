"""Which facts answer a task, and how they read: a line each, with what to do."""

import re
from collections.abc import Collection, Iterable

from msgspec import Struct

from skillvault.learning.recommend.duplicates import says_same
from skillvault.model.policy import RecommendPolicy
from skillvault.model.text.text import count_tokens, flatten, shorten

SUBJECT = 0.2  # a fact about what a leading skill is about needs this part of the share
_ALONE = 1.25  # one that no skill stands beside needs so many times the share
_LENGTHS = (400, 300, 220)  # characters of each line, as many as fit
_SHORT = (160, 110)  # of a line that stands alone
_ADVICE = 0.45  # of these for what to do
_ASIDE = re.compile(r"\s*\([^()]*\)")  # left out of a long text first

Action = tuple[str, str]  # domain, action


class FactHit(Struct, frozen=True):
    """A fact that a search found. `share`, 0..1, is how much of what is asked it says.

    `advice` is what to do; `actions` is what it is about.
    """

    id: str
    domain: str
    text: str
    share: float
    blob: str = ""
    advice: str = ""
    actions: frozenset[Action] = frozenset()


class ServedFact(Struct, frozen=True):
    """A fact that is shown, as its line says it."""

    handle: str
    id: str
    domain: str
    share: float
    blob: str
    text: str


def chosen_facts(
    hits: Iterable[FactHit],
    actions: Collection[Action],
    rules: RecommendPolicy,
    room: float,
) -> list[ServedFact]:
    """The facts that answer the task, the best first, no two that say the same.

    `actions` are those of the leading skills. The lines have at most `room` tokens together.
    """
    fitting: list[FactHit] = []
    for hit in sorted(hits, key=lambda hit: (-hit.share, hit.id)):
        about = SUBJECT if hit.actions.intersection(actions) else 1.0
        needed = rules.answers * (about if actions else _ALONE)
        answers = hit.share >= needed and hit.share > 0 and hit.text.strip()
        if answers and not any(_repeats(hit, other) for other in fitting):
            fitting.append(hit)
    del fitting[rules.facts :]
    while fitting:
        for size in _LENGTHS if len(fitting) > 1 else (*_LENGTHS, *_SHORT):
            lines = [_shortened(hit, size) for hit in fitting]
            if facts_tokens(lines) <= room:
                return [
                    ServedFact(f"F{n}", hit.id, hit.domain, round(hit.share, 6), hit.blob, line)
                    for n, (hit, line) in enumerate(zip(fitting, lines, strict=True), 1)
                ]
        fitting.pop()
    return []


def facts_tokens(lines: Iterable[str]) -> int:
    """The tokens of facts as they are shown."""
    return sum(count_tokens(f"[F1] {line}\n") for line in lines)


def _repeats(hit: FactHit, other: FactHit) -> bool:
    return hit.text == other.text or says_same(hit.text, other.text)


def _shortened(hit: FactHit, size: int) -> str:
    """What the fact says and then what to do, each shortened."""
    advice = flatten(hit.advice)
    statement = flatten(hit.text).removesuffix(advice).rstrip() or advice
    if len(statement) > size:
        statement = _ASIDE.sub("", statement)
    if not advice or statement == advice:
        return shorten(statement, size)
    what_to_do = shorten(advice, max(int(_ADVICE * size), size - len(statement)))
    return f"{shorten(statement, size - len(what_to_do) - 1)} → {what_to_do}"

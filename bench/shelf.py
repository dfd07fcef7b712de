"""A library of skills, as people bring one in: nothing was learned, and no two are alike."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import accumulate

from learned import DOMAINS, Dated
from stream import START

from skillvault.model.change import Change
from skillvault.model.records import Ref, Skill, stamp
from skillvault.model.text.text import slug

_TASKS = "review migrate deploy profile debug rotate backfill index cache retry encrypt".split()
_THINGS = "schema queue token invoice ledger cluster webhook pipeline session cursor".split()
_REASONS = "latency races outages drift leaks overload skew timeouts corruption noise".split()
_SYLLABLES = "ba co du el fi ga ho in ju ka lo mi na or pe qua ri so tu ve wi xa yo ze".split()
_WORDS = 5_000


def shelved(skills: int, starts: datetime = START, seed: int = 1) -> Iterator[Dated]:
    """A hundred skills in each commit, as a library of guides is brought in."""
    guides = Guides(seed)
    for first in range(0, skills, 100):
        numbers = range(first, min(first + 100, skills))
        some = tuple(guides.guide(number, starts) for number in numbers)
        targets = tuple(Ref("skill", skill.name) for skill in some)
        subject = f"{len(some)} skills"
        change = Change(step="install", subject=subject, writes=some, targets=targets)
        yield Dated(change, starts + timedelta(minutes=first))


class Guides:
    """Guides in a language whose words are as unequally frequent as those of any other."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        made = ("".join(self._chance.choices(_SYLLABLES, k=3)) for _ in range(_WORDS))
        self._words = [*_TASKS, *_THINGS, *_REASONS, *made]
        self._weights = list(accumulate(1 / rank for rank in range(1, len(self._words) + 1)))

    def guide(self, number: int, at: datetime) -> Skill:
        """One more skill, written by hand."""
        chance = self._chance
        task, thing, reason = (chance.choice(of) for of in (_TASKS, _THINGS, _REASONS))
        lines = "\n".join(f"- {self._said(12)}." for _ in range(12))
        return Skill(
            name=slug(f"{task}-{thing}-{number}"),
            description=f"How to {task} a {thing} without {reason}. {self._said(6)}.",
            body=f"# {task.capitalize()} the {thing}\n\n## Approach\n\n{lines}",
            tags=(task, thing),
            domain=chance.choice(DOMAINS),
            created=stamp(at),
        )

    def _said(self, count: int) -> str:
        return " ".join(self._chance.choices(self._words, cum_weights=self._weights, k=count))

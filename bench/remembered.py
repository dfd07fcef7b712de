"""A vault of facts alone, of many domains."""

import random
from collections.abc import Iterator

from learned import Dated
from stream import START

from skillvault.model.change import Change
from skillvault.model.records import Fact

DOMAINS = tuple(f"team-{n}" for n in range(10))
_PAGE = 500  # facts of a commit


def remembered(count: int) -> Iterator[Dated]:
    """Commits of facts; one of three says what another says, mostly in another domain."""
    chance = random.Random(3)
    texts = facts(count)
    for start in range(0, count, _PAGE):
        page = enumerate(texts[start : start + _PAGE], start)
        writes = tuple(
            Fact(id=f"fact-{n}", domain=chance.choice(DOMAINS), text=text, created_at=START)
            for n, text in page
        )
        yield Dated(Change(step="promote", subject="facts", reason="Given.", writes=writes), START)


def facts(count: int, seed: int = 1) -> list[str]:
    """Sentences of a few hundred words; one of three says an earlier one in other words."""
    chance = random.Random(seed)
    vocabulary = [f"{chance.choice(_STEMS)}{number}" for number in range(600)]
    found: list[list[str]] = []
    for _ in range(count):
        if found and chance.random() < 1 / 3:
            said = list(chance.choice(found))
            for _ in range(chance.randrange(1, 4)):
                said[chance.randrange(len(said))] = chance.choice(vocabulary)
        else:
            said = chance.sample(vocabulary, chance.randrange(8, 16))
        found.append(said)
    return [" ".join(said) for said in found]


_STEMS = "timeout funding cache parser breakout deadlock snapshot oracle schema volatility".split()

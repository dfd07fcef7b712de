"""Group decisions into episodes, which share their luck, so that one evening counts once.

Rules, leads and lifts count episodes. They depend on the decisions alone, not on the order of
arrival. To change which decisions belong together, see `group_episodes`.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from skillvault.model.disjoint_sets import DisjointSets
from skillvault.model.records import Outcome
from skillvault.model.text.text import pluralize

_HOUR = 3_600_000_000  # microseconds
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Occasion(NamedTuple):
    """The properties of a decision that decide its episode.

    `at` is the time in microseconds since 1970. `about` is the domain and action. `task` is the
    request, or the target without a request. `is_timed` is False if the time is not known or if the
    decision is an episode alone.
    """

    id: str
    at: int
    about: Hashable
    is_timed: bool
    session: Hashable | None
    task: Hashable


def episodes_of(outcomes: Sequence[Outcome], minutes: int) -> list[int]:
    """Number the episodes, and return the number of each outcome."""
    return group_episodes([_occasion(outcome) for outcome in outcomes], minutes)


def group_episodes(occasions: Sequence[Occasion], minutes: int) -> list[int]:
    """Number the episodes, and return the number of each decision.

    The decisions of an episode have one domain and action, and each follows the one before within
    `minutes`, or within an hour in one session on one task. No episode is longer than an hour. Each
    run of a batch with tasks is an episode; without tasks (the trades of a backtest), the time
    decides.
    """
    order = sorted(range(len(occasions)), key=lambda i: (occasions[i].at, occasions[i].id))
    sets = DisjointSets(len(occasions))
    for a, b in _consecutive(order, [o.about if o.is_timed else None for o in occasions]):
        if occasions[b].at - occasions[a].at <= minutes * 60_000_000:
            sets.union(a, b)
    for a, b in _consecutive(order, [o.session and (o.about, o.session) for o in occasions]):
        is_one_task = occasions[a].task == occasions[b].task
        if is_one_task and occasions[b].at - occasions[a].at <= _HOUR:
            sets.union(a, b)
    numbers = [0] * len(occasions)
    for number, members in enumerate(_split_long(occasions, sets.sets(order))):
        for i in members:
            numbers[i] = number
    return numbers


def episode_words(outcomes: Sequence[Outcome], minutes: int) -> str:
    """Return ` on 3 occasions` for 3 episodes, or "" if each outcome is an episode."""
    count = len(set(episodes_of(outcomes, minutes)))
    return f" on {pluralize(count, 'occasion')}" if count < len(outcomes) else ""


def _occasion(outcome: Outcome) -> Occasion:
    decision, source = outcome.decision, outcome.source
    task = decision.task.strip()
    return Occasion(
        id=outcome.id,
        at=((decision.made_at or outcome.occurred_at) - _EPOCH) // timedelta(microseconds=1),
        about=(outcome.domain, decision.action),
        is_timed=decision.made_at is not None and not (source.batch and task),
        session=(source.agent, source.session) if source.session else None,
        task=task or (decision.target,),
    )


def _consecutive(
    order: Iterable[int], keys: Sequence[Hashable | None]
) -> Iterator[tuple[int, int]]:
    """Yield pairs of consecutive indices with the same key; skip the key None."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for index in order:
        if keys[index] is not None:
            groups[keys[index]].append(index)
    for members in groups.values():
        yield from pairwise(members)


def _split_long(occasions: Sequence[Occasion], groups: Iterable[list[int]]) -> Iterator[list[int]]:
    for members in groups:
        episode: list[int] = []
        for index in members:
            if episode and occasions[index].at - occasions[episode[0]].at > _HOUR:
                yield episode
                episode = []
            episode.append(index)
        yield episode

"""Episodes: groups of decisions that share their luck, so that one evening counts once.

Episodes depend on the decisions alone, never on their order of arrival.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from skillvault.model.disjoint_sets import DisjointSets
from skillvault.model.records import Outcome
from skillvault.model.text.text import pluralize

_LONGEST = 3_600_000_000  # microseconds in an hour
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Occasion(NamedTuple):
    """The properties of a decision that decide its episode; times are microseconds.

    `about` is its domain and action. `task` is its request, else its target. `is_timed` is False if
    the time is not known or the decision forms an episode alone.
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

    The decisions of an episode have one domain and action. Each follows the last within `minutes`,
    or follows it in one session on one task (without a task, on one target). No episode is longer
    than an hour. The runs of a batch are no session: each is an episode, unless no run of the batch
    names a task (the trades of a backtest).
    """
    sets, gap = DisjointSets(len(occasions)), minutes * 60_000_000
    for a, b in [*_close_pairs(occasions, gap), *_session_pairs(occasions)]:
        sets.union(a, b)
    members_by_time = sets.sets(_sort_by_time(occasions, range(len(occasions))))
    numbers = [0] * len(occasions)
    for number, members in enumerate(_split_long(occasions, members_by_time)):
        for i in members:
            numbers[i] = number
    return numbers


def episode_words(outcomes: Sequence[Outcome], minutes: int) -> str:
    """Return ` on 3 occasions`, or "" if each outcome is an episode."""
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


def _sort_by_time(occasions: Sequence[Occasion], indices: Iterable[int]) -> list[int]:
    return sorted(indices, key=lambda i: (occasions[i].at, occasions[i].id))


def _close_pairs(occasions: Sequence[Occasion], gap: int) -> Iterator[tuple[int, int]]:
    """Yield the indices of consecutive decisions on one subject that are close in time."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for i, occasion in enumerate(occasions):
        if occasion.is_timed:
            groups[occasion.about].append(i)
    for members in groups.values():
        for a, b in pairwise(_sort_by_time(occasions, members)):
            if occasions[b].at - occasions[a].at <= gap:
                yield a, b


def _session_pairs(occasions: Sequence[Occasion]) -> Iterator[tuple[int, int]]:
    """Yield the indices of consecutive decisions of a session on one task."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for i, occasion in enumerate(occasions):
        if occasion.session is not None:
            groups[occasion.about, occasion.session].append(i)
    for members in groups.values():
        for a, b in pairwise(_sort_by_time(occasions, members)):
            is_one_task = occasions[a].task == occasions[b].task
            if is_one_task and occasions[b].at - occasions[a].at <= _LONGEST:
                yield a, b


def _split_long(occasions: Sequence[Occasion], groups: Iterable[list[int]]) -> Iterator[list[int]]:
    """Split groups so that no group is longer than an hour."""
    for members in groups:
        episode: list[int] = []
        for i in members:
            if episode and occasions[i].at - occasions[episode[0]].at > _LONGEST:
                yield episode
                episode = []
            episode.append(i)
        yield episode

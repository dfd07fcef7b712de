"""Which decisions are one episode, so that one evening's luck is not counted many times.

A value of the set of decisions alone: their order is nothing.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from skillvault.model.records import Outcome

LONGEST = timedelta(hours=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Occasion(NamedTuple):
    """What of a decision says with which others it is one episode; times are microseconds.

    `about` is its domain and action; `is_timed`: it states when it was made, and does not stand
    alone. `session` is None if it has none; `task` is what was asked in it, or the target.
    """

    id: str
    at: int
    about: Hashable
    is_timed: bool
    session: Hashable | None
    task: Hashable


def episodes_of(outcomes: Sequence[Outcome], minutes: int) -> list[int]:
    """The episode of each outcome, a number that those of one episode share."""
    return group_episodes([_occasion(outcome) for outcome in outcomes], minutes)


def group_episodes(occasions: Sequence[Occasion], minutes: int) -> list[int]:
    """The episode of each decision, a number that those of one episode share.

    Of one domain and action: decided within so many minutes of the one before, or in sequence in
    one session on one task (on one target if no task is recorded). None is longer than an hour.
    A batch is no session: its runs stand alone, but if none names a task (the trades of a
    backtest) they are as close in time as any.
    """
    parents = list(range(len(occasions)))
    for a, b in [
        *_close(occasions, micros_of(timedelta(minutes=minutes))),
        *_in_sequence(occasions),
    ]:
        parents[_representative(parents, a)] = _representative(parents, b)
    linked: dict[int, list[int]] = defaultdict(list)
    for i in _in_time(occasions, range(len(occasions))):
        linked[_representative(parents, i)].append(i)
    numbers = [0] * len(occasions)
    for number, members in enumerate(_cut(occasions, linked.values())):
        for i in members:
            numbers[i] = number
    return numbers


def episode_words(outcomes: Sequence[Outcome], minutes: int) -> str:
    """In how many episodes outcomes were decided, if they are fewer: ` in 3 episodes`; else ""."""
    count = len(set(episodes_of(outcomes, minutes)))
    return f" in {count} episode{'s' * (count > 1)}" if count < len(outcomes) else ""


def _occasion(outcome: Outcome) -> Occasion:
    decision, source = outcome.decision, outcome.source
    task = decision.task.strip()
    return Occasion(
        id=outcome.id,
        at=micros_of((decision.made_at or outcome.occurred_at) - _EPOCH),
        about=(outcome.domain, decision.action),
        is_timed=decision.made_at is not None and not (source.batch and task),
        session=(source.agent, source.session) if source.session else None,
        task=task or (decision.target,),
    )


def micros_of(span: timedelta) -> int:
    """A span of time in microseconds."""
    return span // timedelta(microseconds=1)


def _in_time(occasions: Sequence[Occasion], places: Iterable[int]) -> list[int]:
    return sorted(places, key=lambda i: (occasions[i].at, occasions[i].id))


def _close(occasions: Sequence[Occasion], gap: int) -> Iterator[tuple[int, int]]:
    """Neighbours in time; when no decision time is recorded, time says nothing."""
    places: dict[Hashable, list[int]] = defaultdict(list)
    for i, occasion in enumerate(occasions):
        if occasion.is_timed:
            places[occasion.about].append(i)
    for members in places.values():
        for a, b in pairwise(_in_time(occasions, members)):
            if occasions[b].at - occasions[a].at <= gap:
                yield a, b


def _in_sequence(occasions: Sequence[Occasion]) -> Iterator[tuple[int, int]]:
    """Neighbours in a session that are about one task."""
    places: dict[Hashable, list[int]] = defaultdict(list)
    for i, occasion in enumerate(occasions):
        if occasion.session is not None:
            places[occasion.about, occasion.session].append(i)
    for members in places.values():
        for a, b in pairwise(_in_time(occasions, members)):
            is_one_task = occasions[a].task == occasions[b].task
            if is_one_task and occasions[b].at - occasions[a].at <= micros_of(LONGEST):
                yield a, b


def _cut(occasions: Sequence[Occasion], groups: Iterable[list[int]]) -> Iterator[list[int]]:
    """Groups in the order of time, none longer than an hour."""
    for members in groups:
        episode: list[int] = []
        for i in members:
            if episode and occasions[i].at - occasions[episode[0]].at > micros_of(LONGEST):
                yield episode
                episode = []
            episode.append(i)
        yield episode


def _representative(parents: list[int], i: int) -> int:
    while parents[i] != i:
        parents[i] = i = parents[parents[i]]
    return i

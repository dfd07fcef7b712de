"""Which decisions are one episode, so that one evening's luck is not counted many times.

A value of the set of outcomes alone: their order is nothing.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from skillvault.records import Outcome

LONGEST = timedelta(hours=1)


def episodes_of(outcomes: Sequence[Outcome], minutes: int) -> list[int]:
    """The episode of each outcome, a number that those of one episode share.

    Of one domain and action: decided within so many minutes of the one before, or in sequence in
    one session on one task (on one target if no task is recorded). None is longer than an hour.
    A batch is no session: its runs stand alone, but if none names a task (the trades of a
    backtest) they are as close in time as any.
    """
    parents = list(range(len(outcomes)))
    for a, b in [*_close(outcomes, timedelta(minutes=minutes)), *_in_sequence(outcomes)]:
        parents[_representative(parents, a)] = _representative(parents, b)
    linked: dict[int, list[int]] = defaultdict(list)
    for i in _in_time(outcomes, range(len(outcomes))):
        linked[_representative(parents, i)].append(i)
    numbers = [0] * len(outcomes)
    for number, members in enumerate(_cut(outcomes, linked.values())):
        for i in members:
            numbers[i] = number
    return numbers


def in_words(outcomes: Sequence[Outcome], minutes: int) -> str:
    """In how many episodes outcomes were decided, if they are fewer: ` in 3 episodes`; else ""."""
    count = len(set(episodes_of(outcomes, minutes)))
    return f" in {count} episode{'s' * (count > 1)}" if count < len(outcomes) else ""


def _time(outcome: Outcome) -> datetime:
    return outcome.decision.made_at or outcome.occurred_at


def _in_time(outcomes: Sequence[Outcome], places: Iterable[int]) -> list[int]:
    return sorted(places, key=lambda i: (_time(outcomes[i]), outcomes[i].id))


def _close(outcomes: Sequence[Outcome], gap: timedelta) -> Iterator[tuple[int, int]]:
    """Neighbours in time; when no decision time is recorded, time says nothing."""
    places: dict[Hashable, list[int]] = defaultdict(list)
    for i, outcome in enumerate(outcomes):
        stands_alone = outcome.source.batch and outcome.decision.task
        if outcome.decision.made_at is not None and not stands_alone:
            places[outcome.domain, outcome.decision.action].append(i)
    for members in places.values():
        for a, b in pairwise(_in_time(outcomes, members)):
            if _time(outcomes[b]) - _time(outcomes[a]) <= gap:
                yield a, b


def _in_sequence(outcomes: Sequence[Outcome]) -> Iterator[tuple[int, int]]:
    """Neighbours in a session that are about one task."""
    places: dict[Hashable, list[int]] = defaultdict(list)
    for i, outcome in enumerate(outcomes):
        if outcome.source.session:
            session = (outcome.source.agent, outcome.source.session)
            places[outcome.domain, outcome.decision.action, session].append(i)
    for members in places.values():
        for a, b in pairwise(_in_time(outcomes, members)):
            one_task = _task(outcomes[a]) == _task(outcomes[b])
            if one_task and _time(outcomes[b]) - _time(outcomes[a]) <= LONGEST:
                yield a, b


def _task(outcome: Outcome) -> Hashable:
    task = outcome.decision.task.strip()
    return task or (outcome.decision.target,)


def _cut(outcomes: Sequence[Outcome], groups: Iterable[list[int]]) -> Iterator[list[int]]:
    """Groups in the order of time, none longer than an hour."""
    for members in groups:
        episode: list[int] = []
        for i in members:
            if episode and _time(outcomes[i]) - _time(outcomes[episode[0]]) > LONGEST:
                yield episode
                episode = []
            episode.append(i)
        yield episode


def _representative(parents: list[int], i: int) -> int:
    while parents[i] != i:
        parents[i] = i = parents[parents[i]]
    return i

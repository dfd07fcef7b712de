"""Which sessions say the same: by their statements, each with what it is about.

Compared is what was recorded, not how a judge put it: two judges would make two things of it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from skillvault.model.records import Session
from skillvault.model.sameness.comparison import Forms
from skillvault.model.sameness.form import Form, normal_form
from skillvault.model.text import markdown


class Overlap(NamedTuple):
    """How many statements of two sessions the other one has too, and of how many."""

    mine: int
    of_mine: int
    others: int
    of_others: int

    @property
    def is_whole(self) -> bool:
        """Whether both say exactly the same."""
        return self.mine == self.of_mine and self.others == self.of_others

    def is_above(self, share: float) -> bool:
        """Whether they share more than this part of what the one says that says less."""
        return min(self.mine, self.others) > share * min(self.of_mine, self.of_others)


def statements_of(session: Session) -> tuple[str, ...]:
    """What an excerpt of a session says, each with what it is about."""
    failures = (f"{failure.lemma}: {failure.reason}" for failure in session.failures)
    successes = (f"{success.lemma}: {success.text}" for success in session.successes)
    return tuple(dict.fromkeys((*failures, *successes)))


class Overlaps:
    """Excerpts of sessions, and which of those added say the same as another."""

    def __init__(self, sessions: Iterable[Session] = ()) -> None:
        self._forms = Forms()
        self._holders: list[str] = []  # by the number of a form, the session that says it
        self._counts: dict[str, int] = {}
        for session in sessions:
            self._include(session)

    def _include(self, session: Session) -> None:
        """Compare with this one, too."""
        forms = _forms_of(session)
        self._counts[session.id] = len(forms)
        for form in forms:
            self._forms.add(form)
            self._holders.append(session.id)

    def of(self, session: Session) -> dict[str, Overlap]:
        """Session -> what it shares with this one, of those that share anything."""
        mine: dict[str, set[int]] = defaultdict(set)
        others: dict[str, set[int]] = defaultdict(set)
        forms = _forms_of(session)
        for place, form in enumerate(forms):
            for number in self._forms.same(form):
                mine[self._holders[number]].add(place)
                others[self._holders[number]].add(number)
        return {
            name: Overlap(len(mine[name]), len(forms), len(others[name]), self._counts[name])
            for name in sorted(mine)
            if name != session.id
        }


def says_all(body: str, session: Session) -> bool:
    """Whether a skill's text has all that an excerpt of a session says."""
    forms = _forms_in(body)
    return all(any(forms.same(normal_form(text)) for text in texts) for texts in _wordings(session))


@lru_cache(maxsize=1024)  # each session is compared with all skills of its domain
def _forms_in(body: str) -> Forms:
    forms = Forms()
    for statement in markdown.statements(body):
        forms.add(normal_form(statement))
    return forms


def groups_of(sessions: Collection[Session], share: float) -> Iterator[list[Session]]:
    """Those that say the same, directly or by way of others, in the order of time.

    Whatever their order of arrival; one that is like no other is a group of its own.
    """
    ordered = sorted(sessions, key=lambda session: session.order)
    overlaps = Overlaps(ordered)
    roots = {session.id: session.id for session in ordered}
    for session in ordered:
        for other, overlap in overlaps.of(session).items():
            if overlap.is_above(share):
                a, b = _first(roots, session.id), _first(roots, other)
                roots[max(a, b)] = min(a, b)
    grouped: dict[str, list[Session]] = defaultdict(list)
    for session in ordered:
        grouped[_first(roots, session.id)].append(session)
    yield from grouped.values()


def _first(roots: dict[str, str], name: str) -> str:
    while roots[name] != name:
        name = roots[name]
    return name


def _forms_of(session: Session) -> list[Form]:
    return list(dict.fromkeys(map(normal_form, statements_of(session))))


def _wordings(session: Session) -> Iterator[tuple[str, ...]]:
    """Each statement as it may stand in a text: with what it is about, or alone."""
    for failure in session.failures:
        alone = (failure.reason,) if failure.reason else ()
        yield (f"{failure.lemma}: {failure.reason}", *alone)
    for success in session.successes:
        alone = (success.text,) if success.text else ()
        yield (f"{success.lemma}: {success.text}", *alone)

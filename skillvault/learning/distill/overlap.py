"""Find sessions that say the same, by the statements that they recorded.

`distill` skips a session whose statements a skill has already; `merge` groups sessions. Texts of a
judge are not compared, because two judges word one session differently.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from skillvault.model.disjoint_sets import DisjointSets
from skillvault.model.records import Session
from skillvault.model.sameness.comparison import FormIndex
from skillvault.model.sameness.form import Form, normal_form
from skillvault.model.text import markdown


class Overlap(NamedTuple):
    """The number of statements that two sessions share, and the numbers that each has."""

    shared: int
    total: int
    other_shared: int
    other_total: int

    @property
    def is_whole(self) -> bool:
        """True if both sessions have the same statements."""
        return self.shared == self.total and self.other_shared == self.other_total

    def is_above(self, share: float) -> bool:
        """Return True if more than a share of the shorter session's statements is common."""
        return min(self.shared, self.other_shared) > share * min(self.total, self.other_total)


def statements_of(session: Session) -> tuple[str, ...]:
    """Return the statements of a session, each with its subject."""
    return tuple(dict.fromkeys(wordings[0] for wordings in _wordings(session)))


class Overlaps:
    """An index of sessions by their statements."""

    def __init__(self, sessions: Iterable[Session] = ()) -> None:
        self._forms = FormIndex()
        self._holders: list[str] = []  # the session of each form, by number
        self._counts: dict[str, int] = {}
        for session in sessions:
            forms = _forms_of(session)
            self._counts[session.id] = len(forms)
            for form in forms:
                self._forms.add_form(form)
                self._holders.append(session.id)

    def of(self, session: Session) -> dict[str, Overlap]:
        """Return the overlap with each other session that shares a statement, by session id."""
        matches: dict[str, set[int]] = defaultdict(set)
        numbers: dict[str, set[int]] = defaultdict(set)
        forms = _forms_of(session)
        for index, form in enumerate(forms):
            for number in self._forms.same(form):
                matches[self._holders[number]].add(index)
                numbers[self._holders[number]].add(number)
        return {
            key: Overlap(len(matches[key]), len(forms), len(numbers[key]), self._counts[key])
            for key in sorted(matches)
            if key != session.id
        }


def says_all(body: str, session: Session) -> bool:
    """Return True if the text of a skill has every statement of a session."""
    forms = _body_forms(body)
    return all(any(forms.same(normal_form(text)) for text in texts) for texts in _wordings(session))


@lru_cache(maxsize=1024)  # each session is compared with all skills of its domain
def _body_forms(body: str) -> FormIndex:
    forms = FormIndex()
    for statement in markdown.statements(body):
        forms.add_form(normal_form(statement))
    return forms


def groups_of(sessions: Collection[Session], share: float) -> Iterator[list[Session]]:
    """Group sessions that overlap, directly or through other sessions, in order of time."""
    by_time = sorted(sessions, key=lambda session: session.order)
    overlaps = Overlaps(by_time)
    positions, sets = {s.id: index for index, s in enumerate(by_time)}, DisjointSets(len(by_time))
    for index, session in enumerate(by_time):
        for other_id, overlap in overlaps.of(session).items():
            if overlap.is_above(share):
                sets.union(index, positions[other_id])
    for members in sets.sets(range(len(by_time))):
        yield [by_time[index] for index in members]


def _forms_of(session: Session) -> list[Form]:
    return list(dict.fromkeys(map(normal_form, statements_of(session))))


def _wordings(session: Session) -> Iterator[tuple[str, ...]]:
    """Yield the possible wordings of each statement: with and without its subject."""
    pairs = [(failure.lemma, failure.reason) for failure in session.failures]
    pairs += [(success.lemma, success.text) for success in session.successes]
    for lemma, text in pairs:
        yield (f"{lemma}: {text}", text) if text else (f"{lemma}: {text}",)

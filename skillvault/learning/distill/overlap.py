"""Find sessions that say the same, by the statements that they recorded.

`distill` skips a session whose statements a skill has already; `merge` groups sessions. Texts of a
judge are not compared, because two judges word one session differently.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import combinations

from skillvault.model.disjoint_sets import DisjointSets
from skillvault.model.records import Session
from skillvault.model.sameness.comparison import FormIndex, group_same
from skillvault.model.sameness.form import normal_form
from skillvault.model.text import markdown


def is_repeat(session: Session, other: Session) -> bool:
    """Return True if two sessions have the same statements."""
    numbers, other_numbers = _number_statements([session, other])
    return numbers == other_numbers and bool(numbers)


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
    """Group sessions in order of time.

    Two sessions are in one group if they share more than a share of the shorter one's statements,
    or if both share so many with other sessions of the group.
    """
    by_time = sorted(sessions, key=lambda session: session.order)
    numbers = _number_statements(by_time)
    holders: dict[int, list[int]] = defaultdict(list)
    for index, session_numbers in enumerate(numbers):
        for number in session_numbers:
            holders[number].append(index)
    sets = DisjointSets(len(by_time))
    for a, b in {pair for indices in holders.values() for pair in combinations(indices, 2)}:
        if len(numbers[a] & numbers[b]) > share * min(len(numbers[a]), len(numbers[b])):
            sets.union(a, b)
    for members in sets.sets(range(len(by_time))):
        yield [by_time[index] for index in members]


def _number_statements(sessions: Sequence[Session]) -> list[set[int]]:
    """Return the numbers of each session's statements; those that say the same share a number."""
    forms = [
        (index, normal_form(wordings[0]))
        for index, session in enumerate(sessions)
        for wordings in _wordings(session)
    ]
    numbers: list[set[int]] = [set() for _ in sessions]
    for number, positions in enumerate(group_same([form for _, form in forms])):
        for position in positions:
            numbers[forms[position][0]].add(number)
    return numbers


def _wordings(session: Session) -> Iterator[tuple[str, ...]]:
    """Yield the possible wordings of each statement: with and without its subject."""
    pairs = [(failure.lemma, failure.reason) for failure in session.failures]
    pairs += [(success.lemma, success.text) for success in session.successes]
    for lemma, text in pairs:
        yield (f"{lemma}: {text}", text) if text else (f"{lemma}: {text}",)

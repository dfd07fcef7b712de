"""How far each account is read: kept, and counted on when an outcome comes."""

from collections.abc import Mapping, Sequence

from skillvault.learning.account import COUNTED
from skillvault.learning.account.reading import advance_position, marks_of
from skillvault.model.policy import Policy
from skillvault.model.records import IndexedOutcome, Position
from skillvault.vault.index.snapshot import Topics
from skillvault.vault.index.subjects import SCOPES, AccountKey, Subjects


class Readings:
    """The reading positions of a vault's accounts; `writes` keeps them, None if nothing may be."""

    def __init__(self, view: Topics, policy: Policy, writes: Subjects | None) -> None:
        self._view = view
        self._policy = policy
        self._writes = writes

    def read(self, key: AccountKey, changed: Sequence[IndexedOutcome] = ()) -> list[IndexedOutcome]:
        """Return the evaluated outcomes that an account reads: the latest up to a position.

        None where it is asked after changed ones, of which it reads none.
        """
        end = self._position(key).until
        # What has no evaluation may have had one, and then it was read.
        relevant = [outcome for outcome in changed if not outcome.evaluated or outcome[:2] <= end]
        if changed and not relevant:
            return []
        outcomes = self._latest(key, end)
        if changed and outcomes:
            first = outcomes[0][:2]
            relevant = [o for o in relevant if not o.evaluated or o[:2] >= first]
        return outcomes if relevant or not changed else []

    def read_at_point(self, key: AccountKey) -> list[IndexedOutcome]:
        """Return the evaluated outcomes of an account up to its last reading point, the latest."""
        return self._latest(key, self._position(key).point)

    def _latest(self, key: AccountKey, end: tuple[int, str]) -> list[IndexedOutcome]:
        return self._view.subjects.evaluated_until(key, end, self._policy.evaluate.peers)

    def _position(self, key: AccountKey) -> Position:
        """Return how far an account is counted and read; counted whole where nothing is kept."""
        if not self._writes:
            return self._advance(key, Position())[0]
        self._follow(self._writes)
        return self._writes.position(key)

    def _follow(self, writes: Subjects) -> None:
        """Count on the accounts of which an outcome came, and anew those where another changed."""
        due = self._view.due
        changed = due.keys(COUNTED.name)
        for scope in SCOPES if changed else ():
            for key, outcomes in writes.accounts(changed, scope).items():
                position = writes.position(key)
                earlier = (outcome for outcome in outcomes if outcome[:2] <= position.last)
                # What was counted and is as it was has its marks.
                if not all(outcome.evaluated and outcome.marks is not None for outcome in earlier):
                    position = Position()
                end, counts = self._advance(key, position)
                writes.keep_position(key, end, counts, is_recount=not position.outcomes)
        due.mark_done(COUNTED.name, changed)

    def _advance(self, key: AccountKey, position: Position) -> tuple[Position, Mapping[str, int]]:
        """Return how far an account is counted and read by now, and the counts of its marks."""
        subjects = self._view.subjects
        outcomes = self._with_marks(subjects.evaluated_after(key, position.last))
        marks = {mark for outcome in outcomes for mark in outcome.marks or ()}
        counts = subjects.mark_counts(key, marks) if position.outcomes else {}
        return advance_position(position, counts, outcomes)

    def _with_marks(self, outcomes: Sequence[IndexedOutcome]) -> list[IndexedOutcome]:
        """Return these outcomes, each with its marks."""
        names = [outcome.id for outcome in outcomes if outcome.marks is None]
        records = self._view.outcomes.get_many(names)
        marks = {name: marks_of(outcome, self._policy) for name, outcome in records.items()}
        if marks and self._writes:
            self._writes.keep_marks(marks)
        return [
            outcome if outcome.marks is not None else outcome._replace(marks=marks.get(outcome.id))
            for outcome in outcomes
        ]

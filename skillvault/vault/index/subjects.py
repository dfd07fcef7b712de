"""What of an outcome decides when its subject's account is read, as the index keeps it.

Texts in, texts out: what they mean is `learning.account`'s to say.
"""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from skillvault.model.records import Placed, Subject
from skillvault.vault.index.outcomes import HAS_EVALUATION
from skillvault.vault.index.reader import Topic

_BETWEEN = "\n"


Scope = Literal["action", "subject"]
_ALIKE: Mapping[Scope, str] = {
    "action": "o.domain = s.domain and o.action = s.action and o.trust = s.trust",
    "subject": (
        "o.domain = s.domain and o.action = s.action and o.target is s.target and o.trust = s.trust"
    ),
}


class SaidRow(NamedTuple):
    """What an action says, as keys, of how many tries; `first` is one of its outcomes.

    `rules` counts what separates them.
    """

    action: str
    first: str
    keys: tuple[str, ...]
    tries: int
    rules: int


class Subjects(Topic):
    """The outcomes of each subject as they are counted."""

    def history(self, outcome_id: str, scope: Scope = "subject") -> list[Placed]:
        """Return the outcomes of one subject or action and trust, oldest first.

        Nothing of an outcome that is gone.
        """
        query = (
            f"select o.at, o.id, {HAS_EVALUATION}, m.marks from outcome s "
            f"join outcome o on {_ALIKE[scope]} left join mark m on m.outcome = o.id "
            "where s.id = ? order by o.at, o.id"
        )
        rows = self._reader.rows(query, [outcome_id])
        history = (
            Placed(at, name, bool(evaluated), None if marks is None else _split(marks))
            for at, name, evaluated, marks in rows
        )
        return list({placed.id: placed for placed in history}.values())

    def said(self, domain: str) -> list[SaidRow]:
        """Return what the actions of a domain say, by name."""
        query = (
            "select s.action, s.first, s.keys, s.tries, s.rules from said_key s where s.domain = ? "
            f"and exists (select 1 from outcome o where o.id = s.first and {HAS_EVALUATION}) "
            "order by s.action"
        )
        rows = self._reader.rows(query, [domain])
        return [SaidRow(action, first, _split(keys), *more) for action, first, keys, *more in rows]

    def rules(self, domain: str, action: str) -> tuple[str, bytes]:
        """(the digest of what they were computed from, the rules) kept of an action; ("", b"")."""
        query = "select digest, rules from rule where domain = ? and action = ?"
        return next(iter(self._reader.rows(query, [domain, action])), ("", b""))

    def evaluated(self, domain: str, trust: str) -> list[Subject]:
        """The subjects of a domain that have an evaluated outcome."""
        query = (
            "select distinct o.domain, o.action, o.target from outcome o "
            f"where o.domain = ? and o.trust = ? and {HAS_EVALUATION}"
        )
        return [(of, action, on) for of, action, on in self._reader.rows(query, [domain, trust])]

    # ── keeping ──────────────────────────────────────────────────────────────────────
    def keep_marks(self, marks: Mapping[str, Iterable[str]]) -> None:
        """Keep the marks of outcomes, by id."""
        rows = [(name, _BETWEEN.join(of)) for name, of in marks.items()]
        self._reader.change_many("insert or replace into mark values (?, ?)", rows)

    def keep_said(self, domain: str, row: SaidRow) -> None:
        """Keep what an action of a domain says."""
        values = (domain, row.action, row.first, _BETWEEN.join(row.keys), row.tries, row.rules)
        query = "insert or replace into said_key values (?, ?, ?, ?, ?, ?)"
        self._reader.change_rows(query, values)

    def keep_rules(self, domain: str, action: str, rules: tuple[str, bytes]) -> None:
        """Keep the rules of an action, with the digest of what they were computed from."""
        query = "insert or replace into rule values (?, ?, ?, ?)"
        self._reader.change_rows(query, [domain, action, *rules])


def _split(marks: str) -> tuple[str, ...]:
    return tuple(marks.split(_BETWEEN)) if marks else ()

"""What of an outcome decides when its subject's account is read, as the index keeps it.

Texts in, texts out: what they mean is `learning.account`'s to say.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from skillvault.model.records import Placed, Subject
from skillvault.vault.index.outcomes import HAS_EVALUATION
from skillvault.vault.index.reader import Topic

_BETWEEN = "\n"


class VoiceRow(NamedTuple):
    """What a subject says for a kind of skill, as keys, and as part of which group it was told.

    `first` is one of its outcomes; `evolved` is "" for none.
    """

    subject: str
    first: str
    causes: tuple[str, ...]
    evolved: str


class Subjects(Topic):
    """The outcomes of each subject as they are counted."""

    def history(self, outcome_id: str) -> list[Placed]:
        """The outcomes of one subject and trust, oldest first; nothing of one that is gone."""
        same = (
            "o.domain = s.domain and o.action = s.action and o.target is s.target "
            "and o.trust = s.trust"
        )
        query = (
            f"select o.at, o.id, {HAS_EVALUATION}, m.marks from outcome s "
            f"join outcome o on {same} left join mark m on m.outcome = o.id "
            "where s.id = ? order by o.at, o.id"
        )
        rows = self._reader.rows(query, [outcome_id])
        history = (
            Placed(at, name, bool(evaluated), None if marks is None else _split(marks))
            for at, name, evaluated, marks in rows
        )
        return list({placed.id: placed for placed in history}.values())

    def voices(self, domain: str, kind: str) -> list[VoiceRow]:
        """What the subjects of a domain say for a kind of skill, by name."""
        query = (
            "select v.subject, v.first, v.causes, coalesce(v.evolved, '') from voice v "
            "where v.domain = ? and v.kind = ? "
            f"and exists (select 1 from outcome o where o.id = v.first and {HAS_EVALUATION}) "
            "order by v.subject"
        )
        rows = self._reader.rows(query, [domain, kind])
        return [VoiceRow(name, first, _split(of), evolved) for name, first, of, evolved in rows]

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

    def keep_voice(self, domain: str, kind: str, voice: VoiceRow) -> None:
        """Keep what a subject says; as part of which group it was told is kept as it is."""
        query = (
            "insert into voice values (?, ?, ?, ?, ?, ?) on conflict (domain, kind, subject) "
            "do update set first = excluded.first, causes = excluded.causes"
        )
        causes = _BETWEEN.join(voice.causes)
        values = (domain, kind, voice.subject, voice.first, causes, voice.evolved)
        self._reader.change_rows(query, values)

    def keep_groups(self, domain: str, kind: str, members: Mapping[str, str]) -> None:
        """Keep as part of which group each subject is told; of the others that it is of none."""
        query = "update voice set evolved = '' where domain = ? and kind = ? and evolved != ''"
        self._reader.change_rows(query, [domain, kind])
        query = "update voice set evolved = ? where domain = ? and kind = ? and subject = ?"
        rows = [(evolved, domain, kind, subject) for subject, evolved in members.items()]
        self._reader.change_many(query, rows)

    def keep_rules(self, domain: str, action: str, rules: tuple[str, bytes]) -> None:
        """Keep the rules of an action, with the digest of what they were computed from."""
        query = "insert or replace into rule values (?, ?, ?, ?)"
        self._reader.change_rows(query, [domain, action, *rules])

    def mark_due(self, steps: Iterable[str], outcomes: Iterable[str]) -> None:
        """Let steps look at these outcomes' subjects."""
        rows = [(step, name) for step in steps for name in outcomes]
        self._reader.change_many("insert or ignore into due values (?, ?)", rows)


def _split(marks: str) -> tuple[str, ...]:
    return tuple(marks.split(_BETWEEN)) if marks else ()

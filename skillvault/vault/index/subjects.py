"""The stored data about outcomes that decides when the account of their subject is read.

It stores and returns texts, which `learning.account` interprets.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from skillvault.model.records import IndexedOutcome, Position, Subject
from skillvault.vault.index.outcomes import HAS_EVALUATION
from skillvault.vault.index.reader import Topic

_BETWEEN = "\n"


Scope = Literal["action", "subject"]
SCOPES: tuple[Scope, ...] = ("action", "subject")
_ALIKE: Mapping[Scope, str] = {
    "action": "o.domain = s.domain and o.action = s.action and o.trust = s.trust",
    "subject": (
        "o.domain = s.domain and o.action = s.action and o.target is s.target and o.trust = s.trust"
    ),
}
_TARGET: Mapping[Scope, str] = {"action": "? is null", "subject": "o.target is ?"}
_EVALUATED = {
    scope: (
        "select o.at, o.id, true, m.marks from outcome o left join mark m on m.outcome = o.id "
        f"where o.domain = ? and o.action = ? and o.trust = ? and {target} and {HAS_EVALUATION}"
    )
    for scope, target in _TARGET.items()
}
_ACCOUNT = "scope = ? and domain = ? and action = ? and trust = ? and target is ?"


class AccountKey(NamedTuple):
    """The outcomes of a trust on an action, or on one target of it."""

    scope: Scope
    domain: str
    action: str
    trust: str
    target: str | None = None


class ActionKeys(NamedTuple):
    """The keys of what an action says, and the number of its tries; `first` is one of its outcomes.

    `rules` is the number of rules that separate them.
    """

    action: str
    first: str
    keys: tuple[str, ...]
    tries: int
    rules: int


class Subjects(Topic):
    """The counted outcomes of each subject."""

    def history(self, outcome_id: str, scope: Scope = "subject") -> list[IndexedOutcome]:
        """Return the outcomes of one subject or action and trust, oldest first.

        An outcome that is gone has none.
        """
        query = (
            f"select o.at, o.id, {HAS_EVALUATION}, m.marks from outcome s "
            f"join outcome o on {_ALIKE[scope]} left join mark m on m.outcome = o.id "
            "where s.id = ? order by o.at, o.id"
        )
        rows = self._reader.rows(query, [outcome_id])
        return list({row[1]: _parse_placed(row) for row in rows}.values())

    def accounts(
        self, outcomes: Iterable[str], scope: Scope
    ) -> dict[AccountKey, list[IndexedOutcome]]:
        """Map each account to its outcomes among these."""
        query = (
            f"select o.domain, o.action, o.trust, {'o.target' if scope == 'subject' else 'null'}, "
            f"o.at, o.id, {HAS_EVALUATION}, m.marks from outcome o "
            "left join mark m on m.outcome = o.id where o.id in {}"
        )
        accounts: dict[AccountKey, list[IndexedOutcome]] = {}
        for domain, action, trust, target, *outcome_row in self._reader.rows_matching(
            query, outcomes
        ):
            account = AccountKey(scope, domain, action, trust, target)
            accounts.setdefault(account, []).append(_parse_placed(outcome_row))
        return accounts

    def position(self, account: AccountKey) -> Position:
        """Return the position up to which an account was counted."""
        query = (
            "select outcomes, at, id, until_at, until_id, point_at, point_id from account "
            f"where {_ACCOUNT} and outcomes > 0"
        )
        for outcomes, *ends in self._reader.rows(query, account):
            return Position(outcomes, *zip(ends[::2], ends[1::2], strict=True))
        return Position()

    def mark_counts(self, account: AccountKey, marks: Collection[str]) -> dict[str, int]:
        """Map each mark to the number of counted outcomes that have it."""
        query = (
            "select m.mark, m.count from account_mark m "
            f"where m.account = (select n from account where {_ACCOUNT}) and m.mark in {{}}"
        )
        return dict(self._reader.rows_matching(query, marks, prefix=account))

    def evaluated_after(self, account: AccountKey, start: tuple[int, str]) -> list[IndexedOutcome]:
        """The evaluated outcomes of an account after one of them, oldest first."""
        query = f"{_EVALUATED[account.scope]} and (o.at, o.id) > (?, ?) order by o.at, o.id"
        rows = self._reader.rows(query, [*account[1:], *start])
        return list({row[1]: _parse_placed(row) for row in rows}.values())

    def evaluated_until(
        self, account: AccountKey, end: tuple[int, str], most: int
    ) -> list[IndexedOutcome]:
        """The latest evaluated outcomes of an account up to one of them, oldest first."""
        query = (
            f"{_EVALUATED[account.scope]} and (o.at, o.id) <= (?, ?) "
            "order by o.at desc, o.id desc limit ?"
        )
        rows = self._reader.rows(query, [*account[1:], *end, most])
        return list({row[1]: _parse_placed(row) for row in reversed(rows)}.values())

    def action_keys(self, domain: str) -> list[ActionKeys]:
        """Return the keys of a domain's actions, by name."""
        query = (
            "select s.action, s.first, s.keys, s.tries, s.rules from said_key s where s.domain = ? "
            f"and exists (select 1 from outcome o where o.id = s.first and {HAS_EVALUATION}) "
            "order by s.action"
        )
        rows = self._reader.rows(query, [domain])
        return [
            ActionKeys(action, first, _split(keys), *more) for action, first, keys, *more in rows
        ]

    def rules(self, domain: str, action: str) -> tuple[str, bytes]:
        """Return (digest of their sources, rules) stored for an action; ("", b"") without any."""
        query = "select digest, rules from rule where domain = ? and action = ?"
        return next(iter(self._reader.rows(query, [domain, action])), ("", b""))

    def evaluated_subjects(self, domain: str, trust: str) -> list[Subject]:
        """The subjects of a domain that have an evaluated outcome."""
        query = (
            "select distinct o.domain, o.action, o.target from outcome o "
            f"where o.domain = ? and o.trust = ? and {HAS_EVALUATION}"
        )
        return [(of, action, on) for of, action, on in self._reader.rows(query, [domain, trust])]

    # ── keeping ──────────────────────────────────────────────────────────────────────
    def keep_marks(self, marks: Mapping[str, Iterable[str]]) -> None:
        """Store the marks of outcomes, by id."""
        rows = [(name, _BETWEEN.join(of)) for name, of in marks.items()]
        self._reader.change_many("insert or replace into mark values (?, ?)", rows)

    def keep_position(
        self,
        account: AccountKey,
        position: Position,
        counts: Mapping[str, int],
        *,
        is_recount: bool,
    ) -> None:
        """Store the position of an account, and the changed counts of marks.

        `is_recount`: it was counted again from the first outcome.
        """
        change = self._reader.change_rows
        if is_recount:
            account_ids = f"select n from account where {_ACCOUNT}"
            change(f"delete from account_mark where account in ({account_ids})", account)
            change(f"delete from account where {_ACCOUNT}", account)
            query = (
                "insert into account (scope, domain, action, trust, target) values (?, ?, ?, ?, ?)"
            )
            change(query, account)
        query = (
            "update account set outcomes = ?, at = ?, id = ?, until_at = ?, until_id = ?, "
            f"point_at = ?, point_id = ? where {_ACCOUNT}"
        )
        ends = (*position.last, *position.until, *position.point)
        change(query, [position.outcomes, *ends, *account])
        query = f"insert or replace into account_mark select n, ?, ? from account where {_ACCOUNT}"
        self._reader.change_many(query, [(*pair, *account) for pair in counts.items()])

    def keep_action_keys(self, domain: str, row: ActionKeys) -> None:
        """Store the keys of an action."""
        values = (domain, row.action, row.first, _BETWEEN.join(row.keys), row.tries, row.rules)
        query = "insert or replace into said_key values (?, ?, ?, ?, ?, ?)"
        self._reader.change_rows(query, values)

    def keep_rules(self, domain: str, action: str, rules: tuple[str, bytes]) -> None:
        """Store the rules of an action, with the digest of their sources."""
        query = "insert or replace into rule values (?, ?, ?, ?)"
        self._reader.change_rows(query, [domain, action, *rules])


def _parse_placed(row: Sequence[Any]) -> IndexedOutcome:
    at, name, evaluated, marks = row
    return IndexedOutcome(at, name, bool(evaluated), None if marks is None else _split(marks))


def _split(marks: str) -> tuple[str, ...]:
    return tuple(marks.split(_BETWEEN)) if marks else ()

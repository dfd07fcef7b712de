"""Query and store counts of the outcomes of an action or a subject.

A subject is an action on a target. A mark is a text that outcomes may share, such as an error. An
account counts outcomes and their marks up to a position. `learning.account` interprets the texts.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from skillvault.model.records import IndexedOutcome, Position, Subject
from skillvault.vault.index.outcomes import HAS_EVALUATION
from skillvault.vault.index.reader import Topic
from skillvault.vault.index.rows import group

_SEPARATOR = "\n"
Scope = Literal["action", "subject"]
SCOPES: tuple[Scope, ...] = ("action", "subject")
_SAME_ACTION = "o.domain = s.domain and o.action = s.action and o.trust = s.trust"
_SAME_ACCOUNT: Mapping[Scope, str] = {
    "action": _SAME_ACTION, "subject": f"{_SAME_ACTION} and o.target is s.target",
}  # fmt: skip
_TARGET: Mapping[Scope, str] = {"action": "? is null", "subject": "o.target is ?"}
_EVALUATED_OUTCOMES = {
    scope: (
        "select o.at, o.id, true, m.marks from outcome o left join mark m on m.outcome = o.id "
        f"where o.domain = ? and o.action = ? and o.trust = ? and {target} and {HAS_EVALUATION}"
    )
    for scope, target in _TARGET.items()
}
_ACCOUNT = "scope = ? and domain = ? and action = ? and trust = ? and target is ?"


class AccountKey(NamedTuple):
    """The key of an account: the outcomes of one trust for an action, or for one of its targets."""

    scope: Scope
    domain: str
    action: str
    trust: str
    target: str | None = None


class ActionKeys(NamedTuple):
    """The keys of the texts of an action, with the numbers of its tries and its rules.

    `first` is the id of one of its outcomes.
    """

    action: str
    first: str
    keys: tuple[str, ...]
    tries: int
    rules: int


class Subjects(Topic):
    """The counted outcomes of each subject and each action."""

    def history(self, outcome_id: str, scope: Scope = "subject") -> list[IndexedOutcome]:
        """Return the outcomes with the same subject or action and trust, oldest first.

        The list is empty if the outcome no longer exists.
        """
        query = f"""select o.at, o.id, {HAS_EVALUATION}, m.marks
            from outcome s join outcome o on {_SAME_ACCOUNT[scope]}
            left join mark m on m.outcome = o.id where s.id = ? order by o.at, o.id"""
        rows = self._reader.rows(query, [outcome_id])
        return list({row[1]: _parse_row(row) for row in rows}.values())

    def accounts(
        self, outcomes: Iterable[str], scope: Scope
    ) -> dict[AccountKey, list[IndexedOutcome]]:
        """Return the accounts that count these outcomes, each with its outcomes among them."""
        query = f"""select o.domain, o.action, o.trust,
            {"o.target" if scope == "subject" else "null"}, o.at, o.id, {HAS_EVALUATION}, m.marks
            from outcome o left join mark m on m.outcome = o.id where o.id in {{}}"""
        rows = self._reader.rows_matching(query, outcomes)
        return group((AccountKey(scope, *row[:4]), _parse_row(row[4:])) for row in rows)

    def position(self, account: AccountKey) -> Position:
        """Return the position up to which an account was counted."""
        query = f"""select outcomes, at, id, until_at, until_id, point_at, point_id
            from account where {_ACCOUNT} and outcomes > 0"""
        for outcomes, *ends in self._reader.rows(query, account):
            return Position(outcomes, *zip(ends[::2], ends[1::2], strict=True))
        return Position()

    def mark_counts(self, account: AccountKey, marks: Collection[str]) -> dict[str, int]:
        """Return the number of counted outcomes with each mark."""
        query = f"""select m.mark, m.count from account_mark m
            where m.account = (select n from account where {_ACCOUNT}) and m.mark in {{}}"""
        return dict(self._reader.rows_matching(query, marks, prefix=account))

    def evaluated_after(self, account: AccountKey, start: tuple[int, str]) -> list[IndexedOutcome]:
        """Return the evaluated outcomes of an account after `start`, oldest first."""
        query = (
            f"{_EVALUATED_OUTCOMES[account.scope]} and (o.at, o.id) > (?, ?) order by o.at, o.id"
        )
        rows = self._reader.rows(query, [*account[1:], *start])
        return list({row[1]: _parse_row(row) for row in rows}.values())

    def evaluated_until(
        self, account: AccountKey, end: tuple[int, str], limit: int
    ) -> list[IndexedOutcome]:
        """Return the latest `limit` evaluated outcomes of an account up to `end`, oldest first."""
        query = f"""{_EVALUATED_OUTCOMES[account.scope]} and (o.at, o.id) <= (?, ?)
            order by o.at desc, o.id desc limit ?"""
        rows = self._reader.rows(query, [*account[1:], *end, limit])
        return list({row[1]: _parse_row(row) for row in reversed(rows)}.values())

    def action_keys(self, domain: str) -> list[ActionKeys]:
        """Return the keys of a domain's actions, ordered by action."""
        query = f"""select s.action, s.first, s.keys, s.tries, s.rules from said_key s
            where s.domain = ?
            and exists (select 1 from outcome o where o.id = s.first and {HAS_EVALUATION})
            order by s.action"""
        rows = self._reader.rows(query, [domain])
        return [
            ActionKeys(action, first, _split(keys), *sizes) for action, first, keys, *sizes in rows
        ]

    def rules(self, domain: str, action: str) -> tuple[str, bytes]:
        """Return (digest of the sources, rules) of an action, or ("", b"") if nothing is stored."""
        query = "select digest, rules from rule where domain = ? and action = ?"
        return next(iter(self._reader.rows(query, [domain, action])), ("", b""))

    def evaluated_subjects(self, domain: str, trust: str) -> list[Subject]:
        """Return the subjects of a domain that have an evaluated outcome of this trust."""
        query = f"""select distinct o.domain, o.action, o.target
            from outcome o where o.domain = ? and o.trust = ? and {HAS_EVALUATION}"""
        return self._reader.rows(query, [domain, trust])

    # ── storing ──────────────────────────────────────────────────────────────────────
    def keep_marks(self, marks: Mapping[str, Iterable[str]]) -> None:
        """Store the marks of outcomes, by id."""
        rows = [(key, _SEPARATOR.join(outcome_marks)) for key, outcome_marks in marks.items()]
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

        With `is_recount`, the account was counted again from its first outcome.
        """
        change = self._reader.change_rows
        if is_recount:
            account_ids = f"select n from account where {_ACCOUNT}"
            change(f"delete from account_mark where account in ({account_ids})", account)
            change(f"delete from account where {_ACCOUNT}", account)
            query = """insert into account (scope, domain, action, trust, target)
                values (?, ?, ?, ?, ?)"""
            change(query, account)
        query = f"""update account set outcomes = ?, at = ?, id = ?, until_at = ?, until_id = ?,
            point_at = ?, point_id = ? where {_ACCOUNT}"""
        ends = (*position.last, *position.until, *position.point)
        change(query, [position.outcomes, *ends, *account])
        query = f"insert or replace into account_mark select n, ?, ? from account where {_ACCOUNT}"
        self._reader.change_many(query, [(*pair, *account) for pair in counts.items()])

    def keep_action_keys(self, domain: str, row: ActionKeys) -> None:
        """Store the keys of an action."""
        values = (domain, row.action, row.first, _SEPARATOR.join(row.keys), row.tries, row.rules)
        query = "insert or replace into said_key values (?, ?, ?, ?, ?, ?)"
        self._reader.change_rows(query, values)

    def keep_rules(self, domain: str, action: str, rules: tuple[str, bytes]) -> None:
        """Store the rules of an action, with the digest of their sources."""
        query = "insert or replace into rule values (?, ?, ?, ?)"
        self._reader.change_rows(query, [domain, action, *rules])


def _parse_row(row: Sequence[Any]) -> IndexedOutcome:
    at, key, is_evaluated, marks = row
    return IndexedOutcome(at, key, bool(is_evaluated), None if marks is None else _split(marks))


def _split(marks: str) -> tuple[str, ...]:
    return tuple(marks.split(_SEPARATOR)) if marks else ()

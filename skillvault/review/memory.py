"""The facts of a vault: list, show and add them as a person.

Facts that the steps make of insights are not made here.
"""

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct

from skillvault.inspect import lookup
from skillvault.learning.promote import facts as promote
from skillvault.learning.propose import corrections
from skillvault.loop import run
from skillvault.model.change import Change
from skillvault.model.errors import UsageError
from skillvault.model.records import IMPORTANCES, Correction, Fact, Importance, Ref, kind_of
from skillvault.review import commits
from skillvault.vault import setup
from skillvault.vault.commit.store import Store
from skillvault.vault.files import redact


class ListedFact(Struct, frozen=True):
    """A fact as `fact list` shows it."""

    id: str
    domain: str
    importance: str
    kind: str
    text: str
    path: str


class FactMemory:
    """The facts of a vault; `clock` gives the default time."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock

    def facts(self, domain: str | None = None, *, trusted: bool = False) -> list[ListedFact]:
        """Return the facts that nothing supersedes, by domain, the most important first.

        `trusted`: without those of untrusted sources. UsageError for an unknown domain.
        """
        head = self._store.head()
        if domain is not None and domain not in head.domains:
            domains = ", ".join(head.domains) or "none yet"
            raise UsageError(f"{domain}: no such domain in this vault; there are {domains}")
        superseded = {fact.supersedes for fact in head.facts.values()}
        facts = [
            fact
            for fact in head.facts.values()
            if fact.id not in superseded
            and domain in (None, fact.domain)
            and not (trusted and fact.trust != "local")
        ]
        facts.sort(key=lambda f: (f.domain, IMPORTANCES.index(f.importance), f.order))
        fields = ("id", "domain", "importance", "kind", "text")
        return [
            ListedFact(
                **{field: getattr(fact, field) for field in fields},
                path=head.records.path_of(Ref("fact", fact.id)) or "",
            )
            for fact in facts
        ]

    def fact(self, name: str) -> tuple[Fact, str]:
        """Return a fact and its path; UsageError if there is none."""
        record, path = lookup.read_record(self._store, name)
        if not isinstance(record, Fact):
            kind = kind_of(record)
            raise UsageError(f"{name}: is a {kind}, not a fact; see `skillvault fact list`")
        return record, path

    def waiting(self) -> list[Correction]:
        """Return the rules that a person stated and that wait for approval, in order of review."""
        return corrections.rank_waiting(self._store.head().corrections.waiting())

    def approve(
        self, name: str, text: str = "", *, now: datetime | None = None, dry: bool = False
    ) -> "run.Report":
        """Make a stated rule a rule of its repository, with another `text` if one is given."""
        correction = self._find_waiting(name)
        superseded = self._store.head().facts.get(correction.supersedes or "")
        final_text = redact.redact_value(text.strip() or correction.text)
        return self._decide(corrections.approval(correction, final_text, superseded), now, dry=dry)

    def reject(
        self, name: str, reason: str, *, now: datetime | None = None, dry: bool = False
    ) -> "run.Report":
        """Drop a stated rule; it is not proposed again."""
        if not reason.strip():
            raise UsageError(f"{name}: why is it rejected? Say so with --reason TEXT")
        change = corrections.rejection(self._find_waiting(name), redact.redact_value(reason))
        return self._decide(change, now, dry=dry)

    def _find_waiting(self, name: str) -> Correction:
        waiting = self.waiting()
        matches = [c for c in waiting if c.id.startswith(name) and name]
        exact = [c for c in matches if c.id == name]
        if len(exact or matches) != 1:
            names = ", ".join(c.id for c in (matches or waiting)) or "none"
            raise UsageError(f"{name}: no single rule that waits has this id; there are {names}")
        return (exact or matches)[0]

    def _decide(self, change: Change, now: datetime | None, *, dry: bool) -> "run.Report":
        if not dry:
            self._store.recover()
        return run.Report(
            commits.commit_changes(self._store, [change], now or self._clock(), dry=dry)
        )

    def add_fact(
        self,
        text: str,
        domain: str,
        *,
        importance: Importance = "medium",
        supersedes: str | None = None,
        review_by: str | None = None,
        now: datetime | None = None,
        dry: bool = False,
    ) -> "run.Report":
        """Add a fact in the person's name; with `supersedes` it replaces that one."""
        now = now or self._clock()
        setup.check_domains([domain])
        head = self._store.head()
        old_fact = self.fact(supersedes)[0] if supersedes else None
        fact = promote.human_fact(
            redact.redact_value(text),
            domain,
            importance=importance,
            old_fact=old_fact,
            review_by=review_by,
            now=now,
        )
        if Ref("fact", fact.id) in head.records:
            raise UsageError(f"{fact.id}: this fact is in the vault already")
        change = promote.addition_change(fact, now)
        return run.Report(commits.commit_changes(self._store, [change], now, dry=dry))

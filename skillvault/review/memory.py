"""List, show and add facts, and decide the rules that wait, as a person.

The facts that learning steps make of insights are made in `learning/promote/`, not here.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from skillvault.inspect import lookup
from skillvault.learning.promote import facts as promote
from skillvault.learning.promote import versions
from skillvault.learning.propose import corrections
from skillvault.loop import run
from skillvault.model.change import Change
from skillvault.model.errors import UsageError
from skillvault.model.records import IMPORTANCES, Correction, Fact, Importance, Ref, kind_of
from skillvault.model.text.text import pluralize
from skillvault.review import commits
from skillvault.vault import setup
from skillvault.vault.commit.store import Store
from skillvault.vault.files import redact
from skillvault.vault.index.snapshot import Topics

_SIMILAR = 50  # facts that are compared with a new one


class ListedFact(Struct, frozen=True):
    """A fact as `fact list` shows it."""

    id: str
    domain: str
    importance: str
    kind: str
    text: str
    path: str
    note: str  # the date of the fact, and the value that held before it


class FactMemory:
    """The facts of a vault; `clock` gives the default time."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock

    def facts(self, domain: str | None = None, *, trusted: bool = False) -> list[ListedFact]:
        """Return the facts that no other fact supersedes, by domain and importance.

        With `trusted`, facts of untrusted sources are left out. UsageError for an unknown domain.
        """
        head = self._store.head()
        head.check_domain(domain)
        all_facts = dict(head.facts)
        superseded = {fact.supersedes for fact in all_facts.values()}
        facts = [
            fact
            for fact in all_facts.values()
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
                note=versions.note_of(fact, all_facts.get(fact.supersedes or "")),
            )
            for fact in facts
        ]

    def fact(self, name: str) -> tuple[Fact, str]:
        """Return a fact and its path; UsageError if the vault has no such fact."""
        record, path = lookup.read_record(self._store, name)
        if not isinstance(record, Fact):
            kind = kind_of(record)
            raise UsageError(f"{name}: is a {kind}, not a fact; see `skillvault fact list`")
        return record, path

    def waiting(self) -> list[Correction]:
        """Return the rules that a person stated and nobody approved yet, in order of review."""
        return corrections.rank_waiting(self._store.head().corrections.waiting())

    def approve(
        self, name: str, text: str = "", *, now: datetime | None = None, dry: bool = False
    ) -> "run.Report":
        """Make a stated rule a fact of its repository, with another `text` if given."""
        correction = self._find_waiting(name)
        superseded = self._store.head().facts.get(correction.supersedes or "")
        final_text = redact.redact_value(text.strip() or correction.text)
        return self._decide(corrections.approval(correction, final_text, superseded), now, dry=dry)

    def reject(
        self, name: str, reason: str, *, now: datetime | None = None, dry: bool = False
    ) -> "run.Report":
        """Reject a stated rule; the same rule is not proposed again."""
        if not reason.strip():
            raise UsageError(f"{name}: why is it rejected? Say so with --reason TEXT")
        change = corrections.rejection(self._find_waiting(name), redact.redact_value(reason))
        return self._decide(change, now, dry=dry)

    def _find_waiting(self, name: str) -> Correction:
        waiting = self.waiting()
        matches = [correction for correction in waiting if correction.id.startswith(name) and name]
        exact_matches = [correction for correction in matches if correction.id == name]
        if len(exact_matches or matches) != 1:
            names = ", ".join(correction.id for correction in (matches or waiting)) or "none"
            raise UsageError(f"{name}: no single rule that waits has this id; there are {names}")
        return (exact_matches or matches)[0]

    def _decide(self, change: Change, now: datetime | None, *, dry: bool) -> "run.Report":
        if not dry:
            self._store.recover()
        return run.Report(
            commits.commit_changes(self._store, [change], now or self._clock(), dry=dry)
        )

    def add_fact(
        self,
        text: str,
        domain: str | None = None,
        *,
        importance: Importance = "medium",
        supersedes: str | None = None,
        keep_both: bool = False,
        review_by: str | None = None,
        now: datetime | None = None,
        dry: bool = False,
    ) -> "run.Report":
        """Add a fact in the person's name; it replaces older versions of the same statement.

        With `supersedes` it replaces that fact alone, with `keep_both` none. Without a domain it
        goes into the only one. UsageError for a fact that the vault has, in any case and spacing.
        """
        now = now or self._clock()
        head = self._store.head()
        domain = domain or head.only_domain
        if domain is None:
            names = ", ".join(head.domains) or "none yet"
            raise UsageError(f"add --domain NAME, the domain of the fact; there are {names}")
        setup.check_domains([domain])
        if supersedes and keep_both:
            raise UsageError("--supersedes replaces a fact and --keep-both none; pass one of them")
        statement = redact.redact_value(text)
        similar_facts = self._find_similar(head, statement, domain)
        if copies := versions.find_copies(statement, similar_facts):
            raise UsageError(f"{copies[0].id}: this fact is in the vault already")
        remarks: list[str] = []
        if supersedes:
            replaced = [self.fact(supersedes)[0]]
        else:
            older = [fact for fact in similar_facts if (fact.created_at or now) <= now]
            replaced, remarks = self._split_versions(head, statement, older, keep_both=keep_both)
        fact = promote.human_fact(
            statement,
            domain,
            importance=importance,
            old_fact=replaced[-1] if replaced else None,
            review_by=review_by,
            now=now,
        )
        if Ref("fact", fact.id) in head.records:
            fact = replace(fact, id=promote.human_fact_id(domain, fact.text, again_at=now))
        change = versions.addition_change(
            fact, versions.plan_succession(fact.id, replaced, now), remarks
        )
        return run.Report(commits.commit_changes(self._store, [change], now, dry=dry))

    def _find_similar(self, head: Topics, text: str, domain: str) -> list[Fact]:
        """Return the current facts of a domain that share the most telling words with a text."""
        hits = head.search(text, _SIMILAR, kinds=("fact",), domains=(domain,))
        facts = head.facts.get_many(hit.id.partition(":")[2] for hit in hits)
        superseded = head.facts.superseded_ids(facts)
        return [fact for name, fact in facts.items() if name not in superseded]

    @staticmethod
    def _split_versions(
        head: Topics, text: str, facts: Sequence[Fact], *, keep_both: bool
    ) -> tuple[list[Fact], list[str]]:
        """Return the versions that a statement replaces, and a remark on each that it does not."""
        older = versions.find_predecessors(text, facts)
        names = [predecessor.fact.id for predecessor in older]
        runs, against = head.facts.supporter_counts(names), head.facts.opponent_counts(names)
        replaced, remarks = list[Fact](), list[str]()
        for fact, change in ((predecessor.fact, predecessor.change) for predecessor in older):
            if keep_both:
                remarks.append(f"{fact.id} says {change.older} and stays.")
            elif versions.is_replaceable(fact, runs.get(fact.id, 0), against.get(fact.id, 0)):
                replaced.append(fact)
            else:
                remarks.append(
                    f"{fact.id} says {change.older}, by {pluralize(runs[fact.id], 'run')}, "
                    "and stays; --supersedes replaces it."
                )
        return replaced, remarks

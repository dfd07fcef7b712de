"""List, show and add facts, and decide about waiting rules, as a person.

The facts that learning steps make of insights are made in `learning/promote/`, not here.
"""

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from skillvault.inspect import lookup
from skillvault.learning import corrections, fact_review
from skillvault.learning.promote import facts as promote
from skillvault.learning.promote import versions
from skillvault.loop import run
from skillvault.loop.similar_facts import find_similar_versions, read_family
from skillvault.model.change import LINK, Change
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
        snapshot = self._store.snapshot()
        snapshot.check_domain(domain)
        all_facts = dict(snapshot.facts)
        superseded_ids = {fact.supersedes for fact in all_facts.values()}
        facts = [
            fact
            for fact in all_facts.values()
            if fact.id not in superseded_ids
            and domain in (None, fact.domain)
            and not (trusted and fact.trust != "local")
        ]
        facts.sort(key=lambda f: (f.domain, IMPORTANCES.index(f.importance), f.order))
        fields = ("id", "domain", "importance", "kind", "text")
        return [
            ListedFact(
                **{field: getattr(fact, field) for field in fields},
                path=snapshot.records.path_of(Ref("fact", fact.id)) or "",
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
        """Return the stated rules that wait for approval, in the order of review."""
        return corrections.rank_waiting(self._store.snapshot().corrections.waiting())

    def approve(
        self, name: str, text: str = "", *, now: datetime | None = None, dry: bool = False
    ) -> "run.Report":
        """Make a stated rule a fact of its repository, with another `text` if given."""
        snapshot = self._store.snapshot()
        correction = self._find_waiting(name)
        final_text = redact.redact_value(text.strip() or correction.text)
        older_facts = find_similar_versions(
            snapshot, final_text, correction.domain, scope=correction.scope
        )
        stated_fact = snapshot.facts.get(correction.supersedes or "")
        replaced = [stated_fact] if stated_fact else older_facts.replaced
        now = now or self._clock()
        families = [read_family(snapshot, fact) for fact in replaced]
        succession = versions.plan_succession(correction.id, families, now)
        change = corrections.approval(correction, final_text, succession)
        return self._decide(change, snapshot.commit, now, dry=dry)

    def reject(
        self, name: str, reason: str, *, now: datetime | None = None, dry: bool = False
    ) -> "run.Report":
        """Reject a stated rule; the same rule is not proposed again."""
        if not reason.strip():
            raise UsageError(f"{name}: why is it rejected? Say so with --reason TEXT")
        base = self._store.snapshot().commit
        change = corrections.rejection(self._find_waiting(name), redact.redact_value(reason))
        return self._decide(change, base, now, dry=dry)

    def due(self, now: datetime | None = None) -> list[Fact]:
        """Return the facts that are due for review, the longest overdue first."""
        facts = self._store.snapshot().facts
        names = facts.due(fact_review.day_of(now or self._clock()))
        return fact_review.due_facts(facts.get_many(names).values(), facts.superseded_ids(names))

    def keep(
        self,
        name: str,
        text: str = "",
        *,
        review_by: str | None = None,
        now: datetime | None = None,
        dry: bool = False,
    ) -> "run.Report":
        """Keep a fact for another period, or until a day, with another `text` if given."""
        base = self._store.snapshot().commit
        fact, path = self._valid_fact(name)
        day = review_by or fact_review.next_review(fact, now or self._clock())
        new_text = redact.redact_value(text.strip())
        change = fact_review.keep_change(fact, path, day, new_text)
        return self._decide(change, base, now, dry=dry)

    def retire(
        self, name: str, reason: str, *, now: datetime | None = None, dry: bool = False
    ) -> "run.Report":
        """Remove a fact with its older versions; it is not made again."""
        if not reason.strip():
            raise UsageError(f"{name}: why is it retired? Say so with --reason TEXT")
        snapshot = self._store.snapshot()
        facts = read_family(snapshot, self._valid_fact(name)[0])
        refs = [Ref("fact", fact.id) for fact in facts]
        links = (*snapshot.links.by_source(refs), *snapshot.links.by_target(refs))
        paths = [path for ref in refs if (path := snapshot.records.path_of(ref))]
        paths += dict.fromkeys(f"{LINK}{link.id}" for link in links)
        change = fact_review.retire_change(facts[0], paths, redact.redact_value(reason))
        return self._decide(change, snapshot.commit, now, dry=dry)

    def add_fact(
        self,
        text: str,
        domain: str,
        *,
        importance: Importance = "medium",
        supersedes: str | None = None,
        keep_both: bool = False,
        review_by: str | None = None,
        now: datetime | None = None,
        dry: bool = False,
    ) -> "run.Report":
        """Add a fact in the person's name; it replaces older versions of the same statement.

        With `supersedes` it replaces that fact alone, with `keep_both` none. UsageError for a fact
        that the vault has, in any case and spacing.
        """
        now = now or self._clock()
        snapshot = self._store.snapshot()
        setup.check_domains([domain])
        if supersedes and keep_both:
            raise UsageError("--supersedes replaces a fact and --keep-both none; pass one of them")
        statement = redact.redact_value(text)
        similar_facts = find_similar_versions(snapshot, statement, domain, keep_both=keep_both)
        if similar_facts.copies:
            raise UsageError(f"{similar_facts.copies[0].id}: this fact is in the vault already")
        if supersedes:
            replaced, remarks = [self.fact(supersedes)[0]], list[str]()
        else:
            remarks = list(similar_facts.remarks)
            replaced = [f for f in similar_facts.replaced if (f.created_at or now) <= now]
        fact = promote.human_fact(
            statement,
            domain,
            importance=importance,
            old_fact=replaced[-1] if replaced else None,
            review_by=review_by,
            now=now,
        )
        if Ref("fact", fact.id) in snapshot.records:
            fact = replace(fact, id=promote.human_fact_id(domain, fact.text, again_at=now))
        families = [read_family(snapshot, old_fact) for old_fact in replaced]
        succession = versions.plan_succession(fact.id, families, now)
        change = versions.addition_change(fact, succession, remarks)
        return self._decide(change, snapshot.commit, now, dry=dry)

    def _valid_fact(self, name: str) -> tuple[Fact, str]:
        """Return a fact and its path; UsageError if another fact replaced it."""
        fact, path = self.fact(name)
        if newer := self._store.snapshot().facts.successors([fact.id]):
            raise UsageError(f"{name}: was replaced by {newer[fact.id]} already; name that one")
        return fact, path

    def _find_waiting(self, name: str) -> Correction:
        rules = self.waiting()
        matches = [correction for correction in rules if correction.id.startswith(name) and name]
        exact_matches = [correction for correction in matches if correction.id == name]
        if len(exact_matches or matches) != 1:
            names = ", ".join(correction.id for correction in (matches or rules)) or "none"
            raise UsageError(f"{name}: no waiting rule, or several, begins so; these wait: {names}")
        return (exact_matches or matches)[0]

    def _decide(
        self, change: Change, base: str | None, now: datetime | None, *, dry: bool
    ) -> "run.Report":
        if not dry:
            self._store.recover()
        now = now or self._clock()
        return run.Report(commits.commit_changes(self._store, [change], now, dry=dry, base=base))

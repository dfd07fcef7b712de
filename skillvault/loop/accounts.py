"""Build accounts, and find the accounts that are due for the steps `generate` and `refresh`.

An account holds the outcomes from which a skill is written. The account of an action makes a guide;
that of a subject (an action on a target) a warning and a pattern; that of several actions that
agree an evolved skill; and that of all actions with rules a strategy. To change a sentence of a
skill, see `learning/account/`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import islice
from typing import NamedTuple, TypeVar

import msgspec

from skillvault.learning.account.reading import advance_position, marks_of
from skillvault.learning.account.rules import action_rules
from skillvault.learning.account.statements import MIN_ACTIONS, account_keys, findings_of, try_keys
from skillvault.learning.generate import ExistingSkill, skill_subject
from skillvault.learning.naming import subject_key, subject_names
from skillvault.learning.rejection import Rejection
from skillvault.loop.clock import clock
from skillvault.loop.next_versions import RunMaterial, refs_with_version, with_waiting_account
from skillvault.loop.quotations import Quotations
from skillvault.loop.registry import COUNTED, RECOMPUTING
from skillvault.model.brief import Account, Findings
from skillvault.model.conditions import Separation
from skillvault.model.records import IndexedOutcome, Position, Ref, Skill, SkillKind
from skillvault.vault.index.subjects import SCOPES, AccountKey, ActionKeys, Scope, Subjects

_Task = TypeVar("_Task")
_ActionRules = tuple[Separation, ...]
_SCOPES: tuple[tuple[Scope, tuple[SkillKind, ...]], ...] = (
    ("action", ("guide",)),
    ("subject", ("warning", "pattern")),
)
# The steps that archive a skill and may restore it.
RESTORING_STEPS = ("expire", "refresh", "merge", *RECOMPUTING)
_MANAGING_STEPS = frozenset({*RESTORING_STEPS, "generate", "distill", "assess", "promote"})


class Readings:
    """The reading points of accounts: up to which outcome the skill of an account is written.

    An account does not read each new outcome at once, so that a skill is not rewritten for each.
    """

    def __init__(self, run: RunMaterial) -> None:
        self._run = run
        self._store = run.subjects

    def read_account(
        self, key: AccountKey, changes: Sequence[IndexedOutcome] = ()
    ) -> list[IndexedOutcome]:
        """Return the latest evaluated outcomes of an account up to its reading point.

        With `changes`, the list is empty unless the account reads one of these outcomes.
        """
        end = self._position(key).until
        # The account may have read an outcome before the outcome lost its evaluation.
        rows = [outcome for outcome in changes if not outcome.evaluated or outcome[:2] <= end]
        if changes and not rows:
            return []
        outcomes = self._latest(key, end)
        if changes and outcomes:
            start = outcomes[0][:2]
            rows = [row for row in rows if not row.evaluated or row[:2] >= start]
        return outcomes if rows or not changes else []

    def read_to_point(self, key: AccountKey) -> list[IndexedOutcome]:
        """Return the latest evaluated outcomes of an account up to its last reading point."""
        return self._latest(key, self._position(key).point)

    def _latest(self, key: AccountKey, end: tuple[int, str]) -> list[IndexedOutcome]:
        return self._run.snapshot.subjects.evaluated_until(
            key, end, self._run.policy.evaluate.peers
        )

    def _position(self, key: AccountKey) -> Position:
        if not self._store:
            return self._advance(key, Position())[0]
        self._follow(self._store)
        return self._store.position(key)

    def _follow(self, store: Subjects) -> None:
        """Update the stored positions for new outcomes; recount accounts with changed outcomes."""
        changed_ids = self._run.snapshot.due.keys(COUNTED.name)
        for scope in SCOPES if changed_ids else ():
            for key, outcomes in store.accounts(changed_ids, scope).items():
                position = store.position(key)
                rows = (outcome for outcome in outcomes if outcome[:2] <= position.last)
                # An unchanged outcome that was counted has marks.
                if not all(outcome.evaluated and outcome.marks is not None for outcome in rows):
                    position = Position()
                end, counts = self._advance(key, position)
                store.keep_position(key, end, counts, is_recount=not position.outcomes)
        self._run.snapshot.due.mark_done(COUNTED.name, changed_ids)

    def _advance(self, key: AccountKey, position: Position) -> tuple[Position, Mapping[str, int]]:
        subjects = self._run.snapshot.subjects
        outcomes = self._with_marks(subjects.evaluated_after(key, position.last))
        marks = {mark for outcome in outcomes for mark in outcome.marks or ()}
        counts = subjects.mark_counts(key, marks) if position.outcomes else {}
        return advance_position(position, counts, outcomes)

    def _with_marks(self, outcomes: Sequence[IndexedOutcome]) -> list[IndexedOutcome]:
        ids = [outcome.id for outcome in outcomes if outcome.marks is None]
        records = self._run.snapshot.outcomes.get_many(ids)
        marks = {key: marks_of(outcome, self._run.policy) for key, outcome in records.items()}
        if marks and self._store:
            self._store.keep_marks(marks)
        return [
            outcome if outcome.marks is not None else outcome._replace(marks=marks.get(outcome.id))
            for outcome in outcomes
        ]


class DueAccount(NamedTuple):
    """An account up to its reading point, the kinds of its skills, and the keys that were due."""

    account: Account
    kinds: tuple[SkillKind, ...]
    keys: frozenset[str]


class Accounts:
    """The accounts of a vault in one run, each computed once for all steps."""

    def __init__(self, run: RunMaterial) -> None:
        self._run = run
        self._snapshot = run.snapshot
        self._store = run.subjects
        self._accounts: dict[tuple[tuple[str, ...], bytes], Account] = {}
        self._findings: dict[tuple[int, SkillKind], Findings] = {}
        self._new_statement_keys: dict[str, dict[str, ActionKeys]] = {}
        self._clocks: dict[str, datetime | None] = {}
        self._quotations = Quotations(run.snapshot)
        self.readings = Readings(run)
        self._rules: dict[tuple[str, str], _ActionRules] = {}

    # ── accounts that are due ────────────────────────────────────────────────────────

    def find_due(
        self, step: str, decide: Callable[[Findings, ExistingSkill], _Task | None]
    ) -> Iterator[tuple[_Task, frozenset[str]]]:
        """Yield each task that `decide` finds for a step, with the due keys of the account.

        Settle keys without a task. Accounts are in the order of their first outcomes; accounts of
        domains come last.
        """
        accounts, keys = self._load_due(step)
        due_keys: set[str] = set()
        for account in accounts:
            keys |= account.keys
            for findings, existing in self.find_skills(account):
                if (task := decide(findings, existing)) is not None:
                    due_keys |= account.keys
                    yield task, account.keys
        self._run.settle(step, keys - due_keys)

    def _load_due(self, step: str) -> tuple[list[DueAccount], set[str]]:
        """Return the accounts that are due for a step, and the due keys without an account."""
        due_keys = set(self._snapshot.due.keys(step))
        accounts: list[tuple[IndexedOutcome, DueAccount]] = []
        by_domain: dict[str, set[str]] = defaultdict(set)
        for scope, kinds in _SCOPES:
            for key, outcomes in self._snapshot.subjects.accounts(due_keys, scope).items():
                history = self.readings.read_account(key, outcomes)
                if not history:
                    continue
                account, keys = self.build_account(history), frozenset(o.id for o in outcomes)
                accounts.append((history[0], DueAccount(account, kinds, keys)))
                if scope == "action" and key.trust == "local":
                    self._keep_statement_keys(account)
                    by_domain[key.domain] |= keys
        accounts.sort(key=lambda pair: (pair[0][:2], pair[1].kinds))
        due_accounts = [account for _, account in accounts]
        idle_keys = due_keys.difference(*(account.keys for account in due_accounts))
        for domain, domain_keys in sorted(by_domain.items()):
            pair = self.evolved_account(domain), self.strategy_account(domain)
            due_accounts += (a._replace(keys=frozenset(domain_keys)) for a in pair if a)
        return due_accounts, idle_keys

    def histories(self, ids: Iterable[str], scope: Scope) -> Iterator[list[IndexedOutcome]]:
        """Yield the outcomes of each account that contains one of these ids, oldest first."""
        done_ids: set[str] = set()
        for outcome_id in ids:
            if outcome_id in done_ids:
                continue
            history = self._snapshot.subjects.history(outcome_id, scope)
            done_ids.update(outcome.id for outcome in history)
            if history:
                yield history

    # ── the contents of an account ───────────────────────────────────────────────────

    def build_account(self, history: Sequence[IndexedOutcome]) -> Account:
        """Return an account with these outcomes, their evaluations, and the rules of actions."""
        ids = tuple(outcome.id for outcome in history)
        evaluations = self._snapshot.evaluations.get_many(ids)
        # An answer may change an evaluation within a run, so it is part of the key.
        cache_key = ids, msgspec.msgpack.encode(list(evaluations.values()))
        if cache_key not in self._accounts:
            records = self._snapshot.outcomes.get_many(ids)
            outcomes = tuple(records[key] for key in ids if key in records)
            trusted = (outcome for outcome in outcomes if outcome.trust == "local")
            actions = sorted({(outcome.domain, outcome.decision.action) for outcome in trusted})
            rules = tuple(rule for action in actions for rule in self.rules_of_action(*action))
            self._accounts[cache_key] = self._quotations.build_account(outcomes, evaluations, rules)
        return self._accounts[cache_key]

    def findings(self, account: Account, kind: SkillKind) -> Findings:
        """Return the statements of an account for a kind of skill."""
        key = id(account), kind  # unique, because `_accounts` keeps the account alive
        if key not in self._findings:
            self._findings[key] = findings_of(account, kind, self._run.policy)
        return self._findings[key]

    def rules_of_action(self, domain: str, action: str) -> _ActionRules:
        """Return the rules and leads of an action at its last reading point."""
        if (domain, action) not in self._rules:
            self._rules[domain, action] = self._load_rules(domain, action)
        return self._rules[domain, action]

    def _load_rules(self, domain: str, action: str) -> _ActionRules:
        key = AccountKey("action", domain, action, "local")
        ids = [outcome.id for outcome in self.readings.read_to_point(key)]
        digest = sha256("\n".join(ids).encode()).hexdigest()
        stored_digest, data = self._snapshot.subjects.rules(domain, action)
        if stored_digest == digest:
            return msgspec.msgpack.decode(data, type=_ActionRules) if data else ()
        outcomes = self._snapshot.outcomes.get_many(ids)
        rules = action_rules(list(outcomes.values()), self._run.policy)
        if self._store:
            self._store.keep_rules(domain, action, (digest, msgspec.msgpack.encode(rules)))
        return rules

    def accounts_of(self, outcome_ids: Iterable[str]) -> Iterator[DueAccount]:
        """Yield the accounts of the actions and subjects of these outcomes."""
        ids = sorted(outcome_ids)
        for scope, kinds in _SCOPES:
            for key in self._snapshot.subjects.accounts(ids, scope):
                if history := self.readings.read_account(key):
                    yield DueAccount(self.build_account(history), kinds, frozenset())

    def find_skills(self, account: DueAccount) -> Iterator[tuple[Findings, ExistingSkill]]:
        """Yield the findings for each kind of skill of an account, with the existing skill."""
        for kind in account.kinds:
            findings = self.findings(account.account, kind)
            yield findings, self.find_skill(findings)

    # ── accounts of domains ──────────────────────────────────────────────────────────

    def _keep_statement_keys(self, account: Account) -> None:
        """Store the keys of an action's statements, to compare actions by them."""
        outcome = account.outcomes[0]
        counts = len(account.outcomes), len(account.rules)
        row = ActionKeys(outcome.decision.action, outcome.id, account_keys(account), *counts)
        if self._store:
            self._store.keep_action_keys(outcome.domain, row)
        self._new_statement_keys.setdefault(outcome.domain, {})[row.action] = row

    def find_agreement(self, domain: str) -> tuple[list[str], set[str]]:
        """Return one outcome of each action that agrees with others, and the shared keys."""
        rows = self._statement_keys(domain)
        counts = Counter(key for row in rows for key in row.keys)
        shared_keys = {key for key, count in counts.items() if count >= MIN_ACTIONS}
        return [row.first for row in rows if not shared_keys.isdisjoint(row.keys)], shared_keys

    def _statement_keys(self, domain: str) -> list[ActionKeys]:
        rows = {row.action: row for row in self._snapshot.subjects.action_keys(domain)}
        return [*(rows | self._new_statement_keys.get(domain, {})).values()]

    def evolved_account(self, domain: str) -> DueAccount | None:
        """Return the account of the statements that three or more actions share, or None."""
        first_ids, shared_keys = self.find_agreement(domain)
        history: list[IndexedOutcome] = []
        for key in self._snapshot.subjects.accounts(first_ids, "action"):
            outcomes = self.readings.read_account(key)
            tries = self.build_account(outcomes).tries
            ids = {t.id for t in tries if not shared_keys.isdisjoint(try_keys(t, either=True))}
            history += (outcome for outcome in outcomes if outcome.id in ids)
        if not history:
            return None
        account = self.build_account(sorted(history)[-self._run.policy.evaluate.peers :])
        return DueAccount(account, ("evolved",), frozenset())

    def find_ruled_actions(self, domain: str) -> list[str]:
        """Return one outcome of each action with a rule or lead.

        A domain with too few outcomes for a strategy has no such actions.
        """
        rows = self._statement_keys(domain)
        if sum(row.tries for row in rows) < self._run.policy.generate.strategy_every:
            return []
        return [row.first for row in rows if row.rules]

    def strategy_account(self, domain: str) -> DueAccount | None:
        """Return the account of the actions with a rule or lead, or None."""
        keys = self._snapshot.subjects.accounts(self.find_ruled_actions(domain), "action")
        history = sorted(outcome for key in keys for outcome in self.readings.read_account(key))
        if not history:
            return None
        return DueAccount(self.build_account(history), ("strategy",), frozenset())

    # ── the skills of an account ─────────────────────────────────────────────────────

    def find_skill(self, findings: Findings) -> ExistingSkill:
        """Return the existing skill for findings, with what decides if it may be changed."""
        snapshot = self._snapshot
        domain = findings.account.outcomes[0].domain
        sources = [Ref("evaluation", outcome.id) for outcome in findings.account.outcomes]
        # The skill of the subject replaces the skills of single outcomes.
        candidates = [
            *self._skills_of_subject(findings),
            *self._skills_of_single_outcomes(findings, sources),
        ]
        skills = [(shelf, skill) for shelf, skill in candidates if not skill.replaces]
        living_skills = [(shelf, skill) for shelf, skill in skills if shelf != "archive"]
        shelf, skill = next(iter(living_skills or skills), ("", None))
        refs = refs_with_version(snapshot, skill.name) if skill else []
        linked_ids = (snapshot.links.sources_among(sources, ref) for ref in refs)
        if domain not in self._clocks:
            self._clocks[domain] = clock(snapshot, domain, self._run.now, self._run.profile)
        return ExistingSkill(
            skill=with_waiting_account(snapshot, skill) if skill else None,
            shelf=shelf,
            others=tuple(f"{at}/{s.name}" for at, s in living_skills[1:] if self.is_managed(s)),
            linked=frozenset[str]().union(*linked_ids),
            archiver=self._find_archiver(skill) if skill and shelf == "archive" else None,
            rejection=None if skill else self._find_rejection(findings),
            unreadable=None if skill else self._find_unreadable(findings.kind, sources),
            clock=self._clocks[domain],
        )

    def _skills_of_subject(self, findings: Findings) -> Iterator[tuple[str, Skill]]:
        properties = (findings.kind, findings.account.outcomes[0].trust, "generated")
        for row in self._snapshot.skills.by_subject(subject_key(skill_subject(findings))):
            skill = self._snapshot.skills.find(row.name)
            if skill and (skill.kind, skill.trust, skill.origin) == properties:
                yield row.shelf, skill

    def _skills_of_single_outcomes(
        self, findings: Findings, sources: Sequence[Ref]
    ) -> Iterator[tuple[str, Skill]]:
        """Yield (shelf, skill) of the skills that single outcomes made under the profile `seed`."""
        if findings.kind not in ("warning", "pattern"):
            return
        snapshot = self._snapshot
        names = snapshot.skills.generated_without_subject(findings.kind, sources)
        shelves = {row.name: row.shelf for row in snapshot.skills.statuses(names)}
        skills = [skill for name in names if (skill := snapshot.skills.find(name))]
        for skill in sorted(skills, key=lambda skill: (skill.created or "", skill.name)):
            if skill.origin == "generated" and skill.name in shelves:
                yield shelves[skill.name], skill

    def _last_steps(self, skill: Skill) -> list[str]:
        """Return the steps of the last commit on a skill, or [""] if a person made it."""
        commits = self._snapshot.history.commits_touching([Ref("skill", skill.name)])
        return [commit.step for commit in commits if commit.sha == commits[0].sha]

    def is_managed(self, skill: Skill) -> bool:
        """Return True if skillvault may archive a skill: no person decided on it or edited it."""
        waits = skill.status == "proposed" and skill.trust == "local"
        is_open = waits or skill.status in ("testing", "proven")
        return is_open and not _MANAGING_STEPS.isdisjoint(self._last_steps(skill))

    def _find_archiver(self, skill: Skill) -> str | None:
        """Return who archived a skill, or None if skillvault may restore the skill."""
        steps = self._last_steps(skill)
        if skill.status != "retired" and set(steps) & set(RESTORING_STEPS):
            return None
        archiver = next((step for step in steps if step in _MANAGING_STEPS), None)
        return f"the step {archiver}" if archiver else "a person"

    def _find_unreadable(self, kind: SkillKind, sources: Sequence[Ref]) -> str | None:
        links = [
            link for link in self._snapshot.links.by_source(sources) if link.type == "generated"
        ]
        names = {link.target.id for link in links if link.target.id.startswith(f"{kind}-")}
        paths = (self._snapshot.records.path_of(Ref("skill", name)) for name in sorted(names))
        return next((path for path in paths if path), None)

    def _find_rejection(self, findings: Findings) -> Rejection | None:
        rejections = self._run.rejections()
        if findings.kind == "strategy":
            names = islice(subject_names("strategy", skill_subject(findings), "local"), 2)
            matches = (rejections.of_target(Ref("skill", name)) for name in names)
            return next(filter(None, matches), None)
        scope: Scope = "subject" if findings.kind in ("warning", "pattern") else "action"
        first = findings.account.outcomes[0]
        for outcome in self._snapshot.subjects.history(first.id, scope):  # with retracted outcomes
            source = Ref("evaluation", outcome.id)
            if match := rejections.of_source("generate", source, "skill", f"{findings.kind}-"):
                return match
        return None

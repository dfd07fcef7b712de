"""Build accounts, and find the accounts that are due for the steps `generate` and `refresh`.

An account holds the outcomes from which a skill is written. The account of an action makes a guide.
The account of a subject (an action on a target) makes a warning and a pattern. The account of
several actions that agree makes an evolved skill, and the account of all actions with rules a
strategy. To change a sentence of a skill, see `learning/account/`.
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
from skillvault.loop.next_versions import RunContext, refs_with_version, with_waiting_account
from skillvault.loop.quotations import Quotations
from skillvault.loop.registry import COUNTED, RECOMPUTING
from skillvault.model.brief import Account, Findings
from skillvault.model.conditions import Separation
from skillvault.model.records import IndexedOutcome, Position, Ref, Skill, SkillKind
from skillvault.vault.index.subjects import SCOPES, AccountKey, ActionKeys, Scope, Subjects

_Task = TypeVar("_Task")
_ActionRules = tuple[Separation, ...]
_KINDS_BY_SCOPE: tuple[tuple[Scope, tuple[SkillKind, ...]], ...] = (
    ("action", ("guide",)),
    ("subject", ("warning", "pattern")),
)
# The steps that archive a skill and may restore it.
RESTORING_STEPS = ("expire", "refresh", "merge", *RECOMPUTING)
_MANAGING_STEPS = frozenset({*RESTORING_STEPS, "generate", "distill", "assess", "promote"})


class ReadingPoints:
    """The reading points of accounts: the last outcome that the skill of an account covers.

    An account does not read each new outcome at once, so that its skill is not always rewritten.
    """

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._store = context.subjects

    def read_account(
        self, key: AccountKey, changes: Sequence[IndexedOutcome] = ()
    ) -> list[IndexedOutcome]:
        """Return the latest evaluated outcomes of an account up to its reading point.

        With `changes`, the list is empty unless the account reads one of these outcomes.
        """
        end = self._position(key).until
        # The account may have read an outcome before the outcome lost its evaluation.
        read_changes = [c for c in changes if not c.evaluated or c[:2] <= end]
        if changes and not read_changes:
            return []
        outcomes = self._latest_outcomes(key, end)
        if changes and outcomes:
            start = outcomes[0][:2]
            read_changes = [c for c in read_changes if not c.evaluated or c[:2] >= start]
        return outcomes if read_changes or not changes else []

    def read_to_last_point(self, key: AccountKey) -> list[IndexedOutcome]:
        """Return the latest evaluated outcomes of an account up to its last reading point."""
        return self._latest_outcomes(key, self._position(key).point)

    def _latest_outcomes(self, key: AccountKey, end: tuple[int, str]) -> list[IndexedOutcome]:
        return self._context.snapshot.subjects.evaluated_until(
            key, end, self._context.policy.evaluate.peers
        )

    def _position(self, key: AccountKey) -> Position:
        if not self._store:
            return self._advance(key, Position())[0]
        self._update_positions(self._store)
        return self._store.position(key)

    def _update_positions(self, subjects: Subjects) -> None:
        """Update the stored positions for new outcomes; recount accounts with changed outcomes."""
        changed_ids = self._context.snapshot.due.keys(COUNTED.name)
        for scope in SCOPES if changed_ids else ():
            for key, outcomes in subjects.accounts(changed_ids, scope).items():
                position = subjects.position(key)
                counted_outcomes = (outcome for outcome in outcomes if outcome[:2] <= position.last)
                # An unchanged outcome that was counted has marks.
                if not all(o.evaluated and o.marks is not None for o in counted_outcomes):
                    position = Position()
                new_position, counts = self._advance(key, position)
                subjects.keep_position(key, new_position, counts, is_recount=not position.outcomes)
        self._context.snapshot.due.mark_done(COUNTED.name, changed_ids)

    def _advance(self, key: AccountKey, position: Position) -> tuple[Position, Mapping[str, int]]:
        subjects = self._context.snapshot.subjects
        outcomes = self._with_marks(subjects.evaluated_after(key, position.last))
        marks = {mark for outcome in outcomes for mark in outcome.marks or ()}
        counts = subjects.mark_counts(key, marks) if position.outcomes else {}
        return advance_position(position, counts, outcomes)

    def _with_marks(self, outcomes: Sequence[IndexedOutcome]) -> list[IndexedOutcome]:
        unmarked_ids = [outcome.id for outcome in outcomes if outcome.marks is None]
        unmarked_outcomes = self._context.snapshot.outcomes.get_many(unmarked_ids)
        marks = {key: marks_of(o, self._context.policy) for key, o in unmarked_outcomes.items()}
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

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._snapshot = context.snapshot
        self._store = context.subjects
        self._accounts: dict[tuple[tuple[str, ...], bytes], Account] = {}
        self._findings: dict[tuple[int, SkillKind], Findings] = {}
        self._new_statement_keys: dict[str, dict[str, ActionKeys]] = {}
        self._clocks: dict[str, datetime | None] = {}
        self._quotations = Quotations(context.snapshot)
        self.reading_points = ReadingPoints(context)
        self._rules: dict[tuple[str, str], _ActionRules] = {}

    # ── accounts that are due ────────────────────────────────────────────────────────

    def find_due(
        self, step: str, decide: Callable[[Findings, ExistingSkill], _Task | None]
    ) -> Iterator[tuple[_Task, frozenset[str]]]:
        """Yield each task that `decide` finds for a step, with the due keys of the account.

        Settle keys without a task. Accounts are in the order of their first outcomes; accounts of
        domains come last.
        """
        accounts, keys = self._load_due_accounts(step)
        due_keys: set[str] = set()
        for account in accounts:
            keys |= account.keys
            for findings, existing in self.find_skills(account):
                if (task := decide(findings, existing)) is not None:
                    due_keys |= account.keys
                    yield task, account.keys
        self._context.settle(step, keys - due_keys)

    def _load_due_accounts(self, step: str) -> tuple[list[DueAccount], set[str]]:
        """Return the accounts that are due for a step, and the due keys without an account."""
        due_keys = set(self._snapshot.due.keys(step))
        dated_accounts: list[tuple[IndexedOutcome, DueAccount]] = []
        keys_by_domain: dict[str, set[str]] = defaultdict(set)
        for scope, kinds in _KINDS_BY_SCOPE:
            for key, outcomes in self._snapshot.subjects.accounts(due_keys, scope).items():
                history = self.reading_points.read_account(key, outcomes)
                if not history:
                    continue
                account, keys = self.build_account(history), frozenset(o.id for o in outcomes)
                dated_accounts.append((history[0], DueAccount(account, kinds, keys)))
                if scope == "action" and key.trust == "local":
                    self._keep_statement_keys(account)
                    keys_by_domain[key.domain] |= keys
        dated_accounts.sort(key=lambda pair: (pair[0][:2], pair[1].kinds))
        due_accounts = [account for _, account in dated_accounts]
        idle_keys = due_keys.difference(*(account.keys for account in due_accounts))
        for domain, domain_keys in sorted(keys_by_domain.items()):
            domain_accounts = self.evolved_account(domain), self.strategy_account(domain)
            due_accounts += (a._replace(keys=frozenset(domain_keys)) for a in domain_accounts if a)
        return due_accounts, idle_keys

    def account_histories(self, ids: Iterable[str], scope: Scope) -> Iterator[list[IndexedOutcome]]:
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
            outcomes_by_id = self._snapshot.outcomes.get_many(ids)
            outcomes = tuple(outcomes_by_id[key] for key in ids if key in outcomes_by_id)
            trusted_outcomes = (outcome for outcome in outcomes if outcome.trust == "local")
            actions = sorted({(o.domain, o.decision.action) for o in trusted_outcomes})
            rules = tuple(rule for action in actions for rule in self.rules_of_action(*action))
            self._accounts[cache_key] = self._quotations.build_account(outcomes, evaluations, rules)
        return self._accounts[cache_key]

    def findings(self, account: Account, kind: SkillKind) -> Findings:
        """Return the statements of an account for a kind of skill."""
        key = id(account), kind  # unique, because `_accounts` keeps the account alive
        if key not in self._findings:
            self._findings[key] = findings_of(account, kind, self._context.policy)
        return self._findings[key]

    def rules_of_action(self, domain: str, action: str) -> _ActionRules:
        """Return the rules and leads of an action at its last reading point."""
        if (domain, action) not in self._rules:
            self._rules[domain, action] = self._load_rules(domain, action)
        return self._rules[domain, action]

    def _load_rules(self, domain: str, action: str) -> _ActionRules:
        key = AccountKey("action", domain, action, "local")
        ids = [outcome.id for outcome in self.reading_points.read_to_last_point(key)]
        digest = sha256("\n".join(ids).encode()).hexdigest()
        stored_digest, stored_rules = self._snapshot.subjects.rules(domain, action)
        if stored_digest == digest:
            return msgspec.msgpack.decode(stored_rules, type=_ActionRules) if stored_rules else ()
        outcomes = self._snapshot.outcomes.get_many(ids)
        rules = action_rules(list(outcomes.values()), self._context.policy)
        if self._store:
            self._store.keep_rules(domain, action, (digest, msgspec.msgpack.encode(rules)))
        return rules

    def accounts_of(self, outcome_ids: Iterable[str]) -> Iterator[DueAccount]:
        """Yield the accounts of the actions and subjects of these outcomes."""
        ids = sorted(outcome_ids)
        for scope, kinds in _KINDS_BY_SCOPE:
            for key in self._snapshot.subjects.accounts(ids, scope):
                if history := self.reading_points.read_account(key):
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
        keys = ActionKeys(outcome.decision.action, outcome.id, account_keys(account), *counts)
        if self._store:
            self._store.keep_action_keys(outcome.domain, keys)
        self._new_statement_keys.setdefault(outcome.domain, {})[keys.action] = keys

    def find_shared_statements(self, domain: str) -> tuple[list[str], set[str]]:
        """Return one outcome of each action that agrees with others, and the shared keys."""
        action_keys = self._action_keys(domain)
        counts = Counter(key for a in action_keys for key in a.keys)
        shared_keys = {key for key, count in counts.items() if count >= MIN_ACTIONS}
        return [a.first for a in action_keys if not shared_keys.isdisjoint(a.keys)], shared_keys

    def _action_keys(self, domain: str) -> list[ActionKeys]:
        keys_by_action = {row.action: row for row in self._snapshot.subjects.action_keys(domain)}
        return [*(keys_by_action | self._new_statement_keys.get(domain, {})).values()]

    def evolved_account(self, domain: str) -> DueAccount | None:
        """Return the account of the statements that three or more actions share, or None."""
        first_ids, shared_keys = self.find_shared_statements(domain)
        history: list[IndexedOutcome] = []
        for key in self._snapshot.subjects.accounts(first_ids, "action"):
            outcomes = self.reading_points.read_account(key)
            tries = self.build_account(outcomes).tries
            ids = {t.id for t in tries if not shared_keys.isdisjoint(try_keys(t, either=True))}
            history += (outcome for outcome in outcomes if outcome.id in ids)
        if not history:
            return None
        account = self.build_account(sorted(history)[-self._context.policy.evaluate.peers :])
        return DueAccount(account, ("evolved",), frozenset())

    def find_ruled_actions(self, domain: str) -> list[str]:
        """Return one outcome of each action with a rule or lead.

        A domain with too few outcomes for a strategy has no such actions.
        """
        action_keys = self._action_keys(domain)
        if sum(keys.tries for keys in action_keys) < self._context.policy.generate.strategy_every:
            return []
        return [keys.first for keys in action_keys if keys.rules]

    def strategy_account(self, domain: str) -> DueAccount | None:
        """Return the account of the actions with a rule or lead, or None."""
        keys = self._snapshot.subjects.accounts(self.find_ruled_actions(domain), "action")
        history = sorted(o for key in keys for o in self.reading_points.read_account(key))
        if not history:
            return None
        return DueAccount(self.build_account(history), ("strategy",), frozenset())

    # ── the skills of an account ─────────────────────────────────────────────────────

    def find_skill(self, findings: Findings) -> ExistingSkill:
        """Return the existing skill for findings, with the reasons not to change it."""
        snapshot = self._snapshot
        domain = findings.account.outcomes[0].domain
        sources = [Ref("evaluation", outcome.id) for outcome in findings.account.outcomes]
        # The skill of the subject replaces the skills of single outcomes.
        candidates = [
            *self._skills_of_subject(findings),
            *self._skills_of_single_outcomes(findings, sources),
        ]
        skills = [(folder, skill) for folder, skill in candidates if not skill.replaces]
        living_skills = [(folder, skill) for folder, skill in skills if folder != "archive"]
        folder, skill = next(iter(living_skills or skills), ("", None))
        refs = refs_with_version(snapshot, skill.name) if skill else []
        linked_ids = (snapshot.links.sources_among(sources, ref) for ref in refs)
        if domain not in self._clocks:
            self._clocks[domain] = clock(snapshot, domain, self._context.now, self._context.profile)
        return ExistingSkill(
            skill=with_waiting_account(snapshot, skill) if skill else None,
            folder=folder,
            others=tuple(f"{at}/{s.name}" for at, s in living_skills[1:] if self.is_managed(s)),
            linked=frozenset[str]().union(*linked_ids),
            archiver=self._find_archiver(skill) if skill and folder == "archive" else None,
            rejection=None if skill else self._find_rejection(findings),
            unreadable=None if skill else self._find_unreadable_skill(findings.kind, sources),
            clock=self._clocks[domain],
        )

    def _skills_of_subject(self, findings: Findings) -> Iterator[tuple[str, Skill]]:
        properties = (findings.kind, findings.account.outcomes[0].trust, "generated")
        for row in self._snapshot.skills.by_subject(subject_key(skill_subject(findings))):
            skill = self._snapshot.skills.find(row.name)
            if skill and (skill.kind, skill.trust, skill.origin) == properties:
                yield row.folder, skill

    def _skills_of_single_outcomes(
        self, findings: Findings, sources: Sequence[Ref]
    ) -> Iterator[tuple[str, Skill]]:
        """Yield (folder, skill) of skills that single outcomes made under the profile `seed`."""
        if findings.kind not in ("warning", "pattern"):
            return
        snapshot = self._snapshot
        names = snapshot.skills.generated_without_subject(findings.kind, sources)
        folders = {row.name: row.folder for row in snapshot.skills.statuses(names)}
        skills = [skill for name in names if (skill := snapshot.skills.find(name))]
        for skill in sorted(skills, key=lambda skill: (skill.created or "", skill.name)):
            if skill.origin == "generated" and skill.name in folders:
                yield folders[skill.name], skill

    def _last_steps(self, skill: Skill) -> list[str]:
        """Return the steps of the last commit on a skill, or [""] if a person made it."""
        commits = self._snapshot.history.commits_touching([Ref("skill", skill.name)])
        return [commit.step for commit in commits if commit.sha == commits[0].sha]

    def is_managed(self, skill: Skill) -> bool:
        """Return True if skillvault may archive a skill: no person decided on it or edited it."""
        is_waiting = skill.status == "proposed" and skill.trust == "local"
        is_open = is_waiting or skill.status in ("testing", "proven")
        return is_open and not _MANAGING_STEPS.isdisjoint(self._last_steps(skill))

    def _find_archiver(self, skill: Skill) -> str | None:
        """Return the person or step that archived a skill, or None if skillvault may restore it."""
        steps = self._last_steps(skill)
        if skill.status != "retired" and set(steps) & set(RESTORING_STEPS):
            return None
        archiver = next((step for step in steps if step in _MANAGING_STEPS), None)
        return f"the step {archiver}" if archiver else "a person"

    def _find_unreadable_skill(self, kind: SkillKind, sources: Sequence[Ref]) -> str | None:
        links = [
            link for link in self._snapshot.links.by_source(sources) if link.type == "generated"
        ]
        skill_names = {link.target.id for link in links if link.target.id.startswith(f"{kind}-")}
        paths = (self._snapshot.records.path_of(Ref("skill", name)) for name in sorted(skill_names))
        return next((path for path in paths if path), None)

    def _find_rejection(self, findings: Findings) -> Rejection | None:
        rejections = self._context.rejections()
        if findings.kind == "strategy":
            names = islice(subject_names("strategy", skill_subject(findings), "local"), 2)
            matches = (rejections.of_target(Ref("skill", name)) for name in names)
            return next(filter(None, matches), None)
        scope: Scope = "subject" if findings.kind in ("warning", "pattern") else "action"
        first_id = findings.account.outcomes[0].id
        for outcome in self._snapshot.subjects.history(first_id, scope):  # with retracted outcomes
            source = Ref("evaluation", outcome.id)
            if rejection := rejections.of_source("generate", source, "skill", f"{findings.kind}-"):
                return rejection
        return None

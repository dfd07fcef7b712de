"""The accounts that are to be read: what outcomes say together, and what skills they have.

An account is of an action (its guide), of a subject (its warning and its pattern), of what several
actions of a domain say (its evolved skill), or of the actions that have a rule or a lead (its
strategy). `generate` and `refresh` write the skills.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import islice
from typing import NamedTuple

import msgspec
from msgspec import Struct

from skillvault.learning.account.rules import action_rules
from skillvault.learning.account.statements import (
    ACTIONS,
    account_keys,
    account_of,
    findings_of,
    try_keys,
)
from skillvault.learning.assess import STEP as ASSESS
from skillvault.learning.distill.skill import STEP as DISTILL
from skillvault.learning.expire import STEP as EXPIRE
from skillvault.learning.generate.warning_pattern import STEP as GENERATE
from skillvault.learning.generate.warning_pattern import ExistingSkill, skill_subject
from skillvault.learning.merge.sessions import STEP as MERGE
from skillvault.learning.naming import subject_key, subject_names
from skillvault.learning.promote.facts import STEP as PROMOTE
from skillvault.learning.refresh import STEP as REFRESH
from skillvault.learning.rejection import Rejection, Rejections
from skillvault.learning.rules import Rules
from skillvault.loop.clock import clock
from skillvault.loop.next_versions import with_version, with_waiting_account
from skillvault.loop.readings import Readings
from skillvault.loop.registry import RECOMPUTING
from skillvault.model.brief import Account, Findings
from skillvault.model.conditions import Separation
from skillvault.model.policy import Policy
from skillvault.model.records import IndexedOutcome, Ref, Skill, SkillKind
from skillvault.vault.index.snapshot import Topics
from skillvault.vault.index.subjects import AccountKey, ActionKeys, Scope, Subjects

_Rules = tuple[Separation, ...]
_SCOPES: tuple[tuple[Scope, tuple[SkillKind, ...]], ...] = (
    ("action", ("guide",)),
    ("subject", ("warning", "pattern")),
)


class ActionRules:
    """The rules of a vault's actions in one run, each asked for once; `writes` keeps them."""

    def __init__(
        self, view: Topics, policy: Policy, writes: Subjects | None, readings: Readings
    ) -> None:
        self._view = view
        self._policy = policy
        self._writes = writes
        self._readings = readings
        self._ids: dict[AccountKey, list[str]] = {}  # what rules are read of
        self._rules: dict[str, _Rules] = {}  # by the digest of what they were computed from

    def rules(self, domain: str, action: str) -> _Rules:
        """What separates an action's outcomes, as of its last reading point."""
        read = self._read(domain, action)
        digest = _digest(read)
        if digest not in self._rules:
            of, kept = self._view.subjects.rules(domain, action)
            rules = _decoded(kept) if of == digest else self._asked(read)
            self._rules[digest] = rules
            if of != digest and self._writes:
                value = msgspec.msgpack.encode(rules)
                self._writes.keep_rules(domain, action, (digest, value))
        return self._rules[digest]

    def _asked(self, read: Sequence[str]) -> _Rules:
        outcomes = self._view.outcomes.get_many(read)
        return action_rules(list(outcomes.values()), self._policy)

    def _read(self, domain: str, action: str) -> list[str]:
        """The outcomes that the rules are read of: the latest ones of a reading point."""
        key = AccountKey("action", domain, action, "local")
        if key not in self._ids:
            self._ids[key] = [outcome.id for outcome in self._readings.read_at_point(key)]
        return self._ids[key]


def _digest(read: Sequence[str]) -> str:
    return sha256("\n".join(read).encode()).hexdigest()


def _decoded(kept: bytes) -> _Rules:
    return msgspec.msgpack.decode(kept, type=_Rules) if kept else ()


# By these steps the program archives what it takes out again itself.
BACK = (EXPIRE, REFRESH, MERGE, *RECOMPUTING)
_LOOP = frozenset({*RECOMPUTING, GENERATE, DISTILL, REFRESH, MERGE, EXPIRE, ASSESS, PROMOTE})


class DueAccount(NamedTuple):
    """An account as far as it is read, its kinds of skills, and the keys by which it was due."""

    account: Account
    kinds: tuple[SkillKind, ...]
    keys: frozenset[str]


class Surroundings(Struct, frozen=True, kw_only=True):
    """What accounts need of a run; `writes` keeps what is worth keeping, None if nothing may be.

    `rejections` is asked for when it is needed, and what a person took away goes into `rejected`.
    """

    view: Topics
    policy: Policy
    rules: Rules
    now: datetime
    writes: Subjects | None
    rejections: Callable[[], Rejections]
    rejected: list[Rejection]


class Accounts:
    """The accounts of a vault in one run, each made once for all steps."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._in = surroundings
        self._accounts: dict[tuple[tuple[str, ...], bytes], Account] = {}
        self._findings: dict[tuple[int, SkillKind], Findings] = {}
        self._said: dict[str, dict[str, ActionKeys]] = {}
        self._clocks: dict[str, datetime | None] = {}
        around = surroundings.view, surroundings.policy, surroundings.writes
        self.readings = Readings(*around)
        self.actions = ActionRules(*around, self.readings)

    # ── which are due ────────────────────────────────────────────────────────────────

    def due(self, step: str) -> tuple[list[DueAccount], set[str]]:
        """Return (the accounts that a step has to look at, the keys that make none due).

        They stand in the order of their first outcomes, those of domains last.
        """
        changed = set(self._in.view.due.keys(step))
        accounts: list[tuple[IndexedOutcome, DueAccount]] = []
        by_domain: dict[str, set[str]] = defaultdict(set)
        for scope, kinds in _SCOPES:
            for key, outcomes in self._in.view.subjects.accounts(changed, scope).items():
                read = self.readings.read(key, outcomes)
                if not read:
                    continue
                account, keys = self.account(read), frozenset(o.id for o in outcomes)
                accounts.append((read[0], DueAccount(account, kinds, keys)))
                if scope == "action" and key.trust == "local":
                    self._keep_said(account)
                    by_domain[key.domain] |= keys
        accounts.sort(key=lambda pair: (pair[0][:2], pair[1].kinds))
        looked_at = frozenset[str]().union(*(one.keys for _, one in accounts))
        of_domains = [
            account._replace(keys=frozenset(keys))
            for domain, keys in sorted(by_domain.items())
            for account in (self.evolved(domain), self.strategy(domain))
            if account
        ]
        return [*(one for _, one in accounts), *of_domains], changed - looked_at

    def histories(self, ids: Iterable[str], scope: Scope) -> Iterator[list[IndexedOutcome]]:
        """Yield the outcomes of each account of these, oldest first."""
        seen: set[str] = set()
        for outcome_id in ids:
            if outcome_id in seen:
                continue
            history = self._in.view.subjects.history(outcome_id, scope)
            seen.update(outcome.id for outcome in history)
            if history:
                yield history

    # ── what they say ────────────────────────────────────────────────────────────────

    def account(self, read: Sequence[IndexedOutcome]) -> Account:
        """Return the account of these outcomes."""
        ids = tuple(outcome.id for outcome in read)
        evaluations = self._in.view.evaluations.get_many(ids)
        # An answer may change what was concluded within a run.
        key = ids, msgspec.msgpack.encode(list(evaluations.values()))
        if key not in self._accounts:
            records = self._in.view.outcomes.get_many(ids)
            outcomes = tuple(records[name] for name in ids if name in records)
            about = sorted({(o.domain, o.decision.action) for o in outcomes if o.trust == "local"})
            tasks = self._in.view.recommendations.tasks(outcomes)
            rules = tuple(rule for action in about for rule in self.actions.rules(*action))
            self._accounts[key] = account_of(outcomes, evaluations, tasks, rules)
        return self._accounts[key]

    def findings(self, account: Account, kind: SkillKind) -> Findings:
        """Return what an account says for a kind of skill."""
        key = id(account), kind  # which `_accounts` holds
        if key not in self._findings:
            self._findings[key] = findings_of(account, kind, self._in.policy)
        return self._findings[key]

    def accounts_of(self, outcomes: Iterable[str]) -> Iterator[DueAccount]:
        """Yield the accounts that these outcomes are part of, but for those of domains."""
        ids = sorted(outcomes)
        for scope, kinds in _SCOPES:
            for key in self._in.view.subjects.accounts(ids, scope):
                if read := self.readings.read(key):
                    yield DueAccount(self.account(read), kinds, frozenset())

    def of_kinds(self, account: DueAccount) -> Iterator[tuple[Findings, ExistingSkill]]:
        """Yield what an account says for each of its kinds, and what there is of that skill."""
        for kind in account.kinds:
            findings = self.findings(account.account, kind)
            yield findings, self.present(findings)

    # ── which actions say the same ───────────────────────────────────────────────────

    def _keep_said(self, account: Account) -> None:
        """Keep what an action says, so that others can be compared with it unread."""
        first = account.outcomes[0]
        counts = len(account.outcomes), len(account.rules)
        row = ActionKeys(first.decision.action, first.id, account_keys(account), *counts)
        if self._in.writes:
            self._in.writes.keep_action_keys(first.domain, row)
        self._said.setdefault(first.domain, {})[row.action] = row

    def agreeing(self, domain: str) -> tuple[list[str], set[str]]:
        """Return (an outcome of each action that says what others say, what they say)."""
        rows = self._rows(domain)
        counts = Counter(key for row in rows for key in row.keys)
        shared = {key for key, count in counts.items() if count >= ACTIONS}
        return [row.first for row in rows if not shared.isdisjoint(row.keys)], shared

    def _rows(self, domain: str) -> list[ActionKeys]:
        """Return what each action of a domain says, as of its last reading."""
        rows = {row.action: row for row in self._in.view.subjects.action_keys(domain)}
        return [*(rows | self._said.get(domain, {})).values()]

    def evolved(self, domain: str) -> DueAccount | None:
        """Return the account of what three or more actions of a domain say; None if none does."""
        firsts, shared = self.agreeing(domain)
        read = [
            placed
            for key in self._in.view.subjects.accounts(firsts, "action")
            for placed in self._saying(self.readings.read(key), shared)
        ]
        if not read:
            return None
        account = self.account(sorted(read)[-self._in.policy.evaluate.peers :])
        return DueAccount(account, ("evolved",), frozenset())

    def _saying(self, read: Sequence[IndexedOutcome], shared: set[str]) -> list[IndexedOutcome]:
        """Return the outcomes that say what is shared, and those that speak against it."""
        account = self.account(read)
        ids = {t.id for t in account.tries if not shared.isdisjoint(try_keys(t, either=True))}
        return [placed for placed in read if placed.id in ids]

    # ── which actions have a rule ────────────────────────────────────────────────────

    def ruled(self, domain: str) -> list[str]:
        """Return an outcome of each action with a rule or lead; [] for a domain of few tries."""
        rows = self._rows(domain)
        if sum(row.tries for row in rows) < self._in.policy.generate.strategy_every:
            return []
        return [row.first for row in rows if row.rules]

    def strategy(self, domain: str) -> DueAccount | None:
        """Return the account of the actions with a rule or lead, as their guides read them."""
        keys = self._in.view.subjects.accounts(self.ruled(domain), "action")
        read = sorted(placed for key in keys for placed in self.readings.read(key))
        return DueAccount(self.account(read), ("strategy",), frozenset()) if read else None

    # ── what skills there are ────────────────────────────────────────────────────────

    def present(self, findings: Findings) -> ExistingSkill:
        """Return what there is of an account's skill of one kind."""
        view = self._in.view
        first = findings.account.outcomes[0]
        sources = [Ref("evaluation", outcome.id) for outcome in findings.account.outcomes]
        # What single outcomes made stands beside, and is told by the subject's own skill.
        every = [*self._of_subject(findings), *self._from_before(findings, sources)]
        skills = [(shelf, skill) for shelf, skill in every if not skill.replaces]
        living = [(shelf, skill) for shelf, skill in skills if shelf != "archive"]
        shelf, skill = next(iter(living or skills), ("", None))
        ends = with_version(view, skill.name) if skill else []
        linked = (view.links.sources_among(sources, ref) for ref in ends)
        return ExistingSkill(
            skill=with_waiting_account(view, skill) if skill else None,
            shelf=shelf,
            more=tuple(f"{place}/{o.name}" for place, o in living[1:] if self.is_ours(o)),
            linked=frozenset[str]().union(*linked),
            put_away=self.put_away(skill) if skill and shelf == "archive" else None,
            rejection=None if skill else self._taken_away(findings),
            unreadable=None if skill else self._unreadable(findings.kind, sources),
            clock=self._time_of(first.domain),
        )

    def _time_of(self, domain: str) -> datetime | None:
        if domain not in self._clocks:
            self._clocks[domain] = clock(self._in.view, domain, self._in.now, self._in.rules)
        return self._clocks[domain]

    def _of_subject(self, findings: Findings) -> Iterator[tuple[str, Skill]]:
        """(shelf, skill) of those that state the subject, by name."""
        first = findings.account.outcomes[0]
        about = (findings.kind, first.trust, "generated")
        for place in self._in.view.skills.by_subject(subject_key(skill_subject(findings))):
            skill = self._in.view.skills.find(place.name)
            if skill and (skill.kind, skill.trust, skill.origin) == about:
                yield place.shelf, skill

    def _from_before(
        self, findings: Findings, sources: Sequence[Ref]
    ) -> Iterator[tuple[str, Skill]]:
        """Yield (shelf, skill) of those that single outcomes made, under whatever rule."""
        if findings.kind not in ("warning", "pattern"):
            return
        view = self._in.view
        names = view.skills.made_alone(findings.kind, sources)
        statuses = {row.name: row.shelf for row in view.skills.statuses(names)}
        skills = [skill for name in names if (skill := view.skills.find(name))]
        for skill in sorted(skills, key=lambda skill: (skill.created or "", skill.name)):
            if skill.origin == "generated" and skill.name in statuses:
                yield statuses[skill.name], skill

    def is_ours(self, skill: Skill) -> bool:
        """Whether a skill is the program's to put away: nobody decided on it or wrote it last."""
        touching = self._in.view.history.commits_touching([Ref("skill", skill.name)])
        last = {commit.step for commit in touching if commit.sha == touching[0].sha}
        waits = skill.status == "proposed" and skill.trust == "local"
        return (waits or skill.status in ("testing", "proven")) and bool(last & _LOOP)

    def put_away(self, skill: Skill) -> str | None:
        """Who archived a skill, if that is not what the program itself takes back."""
        touching = self._in.view.history.commits_touching([Ref("skill", skill.name)])
        steps = [commit.step for commit in touching if commit.sha == touching[0].sha]
        if skill.status != "retired" and set(steps) & set(BACK):
            return None
        decided = next((step for step in steps if step in _LOOP), None)
        return f"the step {decided}" if decided else "a person"

    def _unreadable(self, kind: SkillKind, sources: Sequence[Ref]) -> str | None:
        """Where the skill stands that was made of these, if it cannot be read there."""
        view = self._in.view
        links = [link for link in view.links.by_source(sources) if link.type == "generated"]
        names = {link.target.id for link in links if link.target.id.startswith(f"{kind}-")}
        paths = (view.records.path_of(Ref("skill", name)) for name in sorted(names))
        return next((path for path in paths if path), None)

    def _taken_away(self, findings: Findings) -> Rejection | None:
        """The skill of this kind that was made of the subject and that a person took away."""
        if findings.kind == "strategy":
            names = islice(subject_names("strategy", skill_subject(findings), "local"), 2)
            found = (self._in.rejections().of_target(Ref("skill", name)) for name in names)
            return next(filter(None, found), None)
        scope: Scope = "subject" if findings.kind in ("warning", "pattern") else "action"
        first = findings.account.outcomes[0]
        for outcome in self._in.view.subjects.history(first.id, scope):  # also the retracted
            source = Ref("evaluation", outcome.id)
            rejections = self._in.rejections()
            if refused := rejections.of_source(GENERATE, source, "skill", f"{findings.kind}-"):
                return refused
        return None

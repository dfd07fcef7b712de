"""The accounts that are to be read: what a subject's outcomes say, and what skills it has.

The steps `generate`, `refresh` and `merge` write the skills.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import chain
from typing import NamedTuple

import msgspec
from msgspec import Struct

from skillvault.learning.account.account import KINDS, calls_for_skill, findings_of
from skillvault.learning.account.reading import last_point, marks_of, read_until
from skillvault.learning.account.rules import action_rules
from skillvault.learning.assess import STEP as ASSESS
from skillvault.learning.distill.skill import STEP as DISTILL
from skillvault.learning.expire import STEP as EXPIRE
from skillvault.learning.generate.warning_pattern import STEP as GENERATE
from skillvault.learning.generate.warning_pattern import Present, makes_skill
from skillvault.learning.merge.groups import STEP as MERGE
from skillvault.learning.merge.groups import (
    Group,
    Voice,
    cause_keys,
    groups,
    rejected,
    with_stated,
)
from skillvault.learning.naming import subject_key
from skillvault.learning.promote.facts import STEP as PROMOTE
from skillvault.learning.refresh import STEP as REFRESH
from skillvault.learning.rejection import Rejection, Rejections
from skillvault.learning.rules import Rules
from skillvault.loop.clock import clock
from skillvault.loop.next_versions import with_version, with_waiting_account
from skillvault.loop.registry import RECOMPUTING
from skillvault.model.brief import Account, Findings
from skillvault.model.conditions import Separation
from skillvault.model.policy import Policy
from skillvault.model.records import Placed, Ref, Skill, SkillKind
from skillvault.vault.index.snapshot import Topics
from skillvault.vault.index.subjects import Subjects, VoiceRow

_Rules = tuple[Separation, ...]


class ActionRules:
    """The rules of a vault's actions in one run, each asked for once; `writes` keeps them."""

    def __init__(self, view: Topics, policy: Policy, writes: Subjects | None) -> None:
        self._view = view
        self._policy = policy
        self._writes = writes
        self._ids: dict[tuple[str, str, str | None], list[str]] = {}  # what rules are read of
        self._rules: dict[str, _Rules] = {}  # by the digest of what they were computed from
        self._reviewed: dict[tuple[str, str], list[str]] = {}

    def rules(self, domain: str, action: str, until: str | None = None) -> _Rules:
        """What separates an action's outcomes, as of its last reading point.

        `until`: of its outcomes up to this one.
        """
        read = self._read(domain, action, until)
        digest = _digest(read)
        if digest not in self._rules:
            of, kept = self._view.subjects.rules(domain, action)
            self._rules[digest] = _decoded(kept) if of == digest else self._asked(read)
        return self._rules[digest]

    def review(self, outcomes: Iterable[str]) -> set[str]:
        """The first outcome of each subject of those actions whose rules are not those kept.

        They become due: what they tell of their action may be another.
        """
        actions = self._view.outcomes.actions_of(outcomes)
        return {first for domain, action in actions for first in self._review(domain, action)}

    def _review(self, domain: str, action: str) -> list[str]:
        if (domain, action) not in self._reviewed:
            _, kept = self._view.subjects.rules(domain, action)
            rules = self.rules(domain, action)
            changed = rules != _decoded(kept)
            firsts = self._view.outcomes.firsts_of_action(domain, action) if changed else []
            self._reviewed[domain, action] = firsts
            if self._writes:
                digest = _digest(self._read(domain, action, None))
                value = msgspec.msgpack.encode(rules)
                self._writes.keep_rules(domain, action, (digest, value))
                self._writes.mark_due((GENERATE, REFRESH), firsts)
        return self._reviewed[domain, action]

    def _asked(self, read: Sequence[str]) -> _Rules:
        outcomes = self._view.outcomes.get_many(read)
        return action_rules(list(outcomes.values()), self._policy)

    def _read(self, domain: str, action: str, until: str | None) -> list[str]:
        """The outcomes that the rules are read of: the latest ones of a reading point."""
        key = (domain, action, until)
        if key not in self._ids:
            outcomes = self._view.outcomes
            last = last_point(outcomes.count_of_action(domain, action, until))
            first = max(0, last - self._policy.evaluate.peers)
            self._ids[key] = outcomes.of_action(domain, action, first, last)
        return self._ids[key]


def _digest(read: Sequence[str]) -> str:
    return sha256("\n".join(read).encode()).hexdigest()


def _decoded(kept: bytes) -> _Rules:
    return msgspec.msgpack.decode(kept, type=_Rules) if kept else ()


# By these steps the program archives what it takes out again itself.
BACK = (EXPIRE, REFRESH, MERGE, *RECOMPUTING)
_LOOP = frozenset({*RECOMPUTING, GENERATE, DISTILL, REFRESH, MERGE, EXPIRE, ASSESS, PROMOTE})


class DueAccount(NamedTuple):
    """A subject's account as far as it is read, and the keys by which it was due."""

    account: Account
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
    """The accounts of a vault's subjects in one run, each made once for all steps."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._in = surroundings
        self._accounts: dict[tuple[str, ...], Account] = {}
        self._findings: dict[tuple[tuple[str, ...], SkillKind], Findings] = {}
        self._voices: dict[tuple[str, SkillKind], dict[str, VoiceRow]] = {}
        self._groups: dict[tuple[str, SkillKind], list[Group]] = {}
        self._members: dict[tuple[str, SkillKind], dict[str, Group]] = {}
        self._clocks: dict[str, datetime | None] = {}
        self.actions = ActionRules(surroundings.view, surroundings.policy, surroundings.writes)

    # ── which are due ────────────────────────────────────────────────────────────────

    def due(self, step: str) -> tuple[list[DueAccount], set[str]]:
        """(the accounts that a step has to look at, the keys of those that it has not).

        They stand in the order of their first outcomes.
        """
        changed = set(self._in.view.due.keys(step))
        changed |= self.actions.review(changed)
        gone: set[str] = set()  # with them a group may have lost a subject, of whatever domain
        idle: set[str] = set()
        accounts: dict[str, tuple[Placed, DueAccount]] = {}
        for history in self.histories(sorted(changed), gone):
            keys = changed.intersection(outcome.id for outcome in history)
            read = self.read_part(history)
            # What has no evaluation may have had one, and then it was read.
            unevaluated = (outcome for outcome in history if not outcome.evaluated)
            if not read or keys.isdisjoint(o.id for o in chain(read, unevaluated)):
                idle |= keys
            else:
                account = self.account(read)
                accounts[read[0].id] = read[0], DueAccount(account, frozenset(keys))
                self._keep_voices(account)
        for history in self._histories_of_left(accounts, anywhere=bool(gone)):
            if read := self.read_part(history):
                unasked = DueAccount(self.account(read), frozenset())
                accounts.setdefault(read[0].id, (read[0], unasked))
        ordered = sorted(accounts.values(), key=lambda pair: pair[0][:2])
        return [account for _, account in ordered], idle | gone

    def histories(self, ids: Iterable[str], gone: set[str]) -> Iterator[list[Placed]]:
        """The outcomes of each subject of these, oldest first; ids of none go into `gone`."""
        seen: set[str] = set()
        for outcome_id in ids:
            if outcome_id in seen:
                continue
            history = self._in.view.subjects.history(outcome_id)
            seen.update(outcome.id for outcome in history)
            if history:
                yield history
            else:
                gone.add(outcome_id)

    def _histories_of_left(
        self, due: Mapping[str, object], *, anywhere: bool
    ) -> list[list[Placed]]:
        """The subjects that were told as part of a group and are not any more.

        Of those domains of which an account was read, or of all.
        """
        firsts: list[str] = []
        domains = self._in.view.outcomes.domains("local") if anywhere else ()
        every = {(domain, kind) for domain in domains for kind in KINDS}
        for domain, kind in sorted(every | self._voices.keys()):
            members = self.members(domain, kind)
            firsts += (
                row.first
                for row in self._rows(domain, kind)
                if row.evolved and row.subject not in members
            )
        return list(self.histories((first for first in firsts if first not in due), set()))

    def read_part(self, history: Sequence[Placed]) -> list[Placed]:
        """As far as a subject's account is read: of its evaluated outcomes the first so many."""
        evaluated = [outcome for outcome in history if outcome.evaluated]
        new = [outcome.id for outcome in evaluated if outcome.marks is None]
        outcomes = self._in.view.outcomes.get_many(new)
        marks = {name: marks_of(outcome, self._in.policy) for name, outcome in outcomes.items()}
        if marks and self._in.writes:
            self._in.writes.keep_marks(marks)
        marked = [
            outcome if outcome.marks is not None else outcome._replace(marks=marks.get(outcome.id))
            for outcome in evaluated
        ]
        return marked[: read_until(outcome.marks or () for outcome in marked)]

    # ── what they say ────────────────────────────────────────────────────────────────

    def account(self, read: Sequence[Placed]) -> Account:
        """The account of these outcomes."""
        key = tuple(outcome.id for outcome in read)
        if key not in self._accounts:
            records = self._in.view.outcomes.get_many(key)
            outcomes = tuple(records[name] for name in key if name in records)
            subjects = {(*outcome.subject, outcome.trust) for outcome in outcomes}
            of_one = len(subjects) == 1 and outcomes[0].trust == "local"
            about = outcomes[0] if of_one else None
            self._accounts[key] = Account(
                outcomes=outcomes,
                evaluations=self._in.view.evaluations.get_many(key),
                tasks=self._in.view.recommendations.tasks(outcomes),
                rules=self.actions.rules(about.domain, about.decision.action) if about else (),
            )
        return self._accounts[key]

    def findings(self, account: Account, kind: SkillKind) -> Findings:
        """What an account says for a kind of skill."""
        key = tuple(outcome.id for outcome in account.outcomes), kind
        if key not in self._findings:
            self._findings[key] = findings_of(account, kind, self._in.policy)
        return self._findings[key]

    def calls_for_warning(self, history: Sequence[Placed]) -> bool:
        """Whether what is read of a subject calls for a warning of its own."""
        read = self.read_part(history)
        if any("loss" in (outcome.marks or ()) for outcome in read):
            return True  # whatever else is to be said
        if not read:
            return False
        return calls_for_skill(self.findings(self.account(read), "warning"), self._in.policy)

    def both(self, account: Account) -> Iterator[tuple[Findings, Present]]:
        """What an account says for each kind of skill, and what there is of that skill."""
        for kind in KINDS:
            findings = self.findings(account, kind)
            yield findings, self.present(findings)

    # ── which say the same ───────────────────────────────────────────────────────────

    def _keep_voices(self, account: Account) -> None:
        """Keep what a subject says, so that others can be compared with it unread."""
        first = account.outcomes[0]
        if first.trust != "local":
            return
        name = subject_key(first.subject)
        for kind in KINDS:
            findings = self.findings(account, kind)
            causes = cause_keys(findings) if calls_for_skill(findings, self._in.policy) else ()
            row = VoiceRow(name, first.id, causes, "")
            if self._in.writes:
                self._in.writes.keep_voice(first.domain, kind, row)
            self._voices.setdefault((first.domain, kind), {})[name] = row
            self._groups.pop((first.domain, kind), None)
            self._members.pop((first.domain, kind), None)

    def _rows(self, domain: str, kind: SkillKind) -> Iterator[VoiceRow]:
        """What the subjects of a domain say, those read in this run as read now."""
        now = dict(self._voices.get((domain, kind), {}))
        for row in self._in.view.subjects.voices(domain, kind):
            mine = now.pop(row.subject, None)
            yield row if mine is None else mine._replace(evolved=row.evolved)
        yield from now.values()

    def groups(self, domain: str, kind: SkillKind) -> list[Group]:
        """The groups of a domain's subjects, but for those that a person rejected."""
        if (domain, kind) not in self._groups:
            voices = [
                Voice(subject=row.subject, first=row.first, causes=row.causes)
                for row in self._rows(domain, kind)
            ]
            alike = groups(domain, kind, voices, self._in.policy.merge)
            accepted = [group for group in alike if not self.rejection(group)]
            keys = self._keys(domain, kind)
            self._groups[domain, kind] = list(with_stated(accepted, keys))
        return self._groups[domain, kind]

    def _keys(self, domain: str, kind: SkillKind) -> frozenset[str]:
        """By what the living evolved skills of a domain are known."""
        lead = f"{domain} / {kind} / "
        subjects = self._in.view.skills.subjects_of("evolved", domain)
        return frozenset(s.removeprefix(lead) for s in subjects if s.startswith(lead))

    def members(self, domain: str, kind: SkillKind) -> dict[str, Group]:
        """Subject -> the group that it is told as part of."""
        if (domain, kind) not in self._members:
            groups_of = self.groups(domain, kind)
            pairs = ((voice.subject, group) for group in groups_of for voice in group.voices)
            self._members[domain, kind] = dict(pairs)
        return self._members[domain, kind]

    def is_changed(self, group: Group) -> bool:
        """Whether any of a group's subjects was read in this run, or was not told as part of it."""
        read = self._voices.get((group.domain, group.kind), {})
        if any(voice.subject in read for voice in group.voices):
            return True
        rows = self._in.view.subjects.voices(group.domain, group.kind)
        told = {row.subject for row in rows if row.evolved == group.subject}
        return not told >= group.subjects

    def rejection(self, group: Group) -> Rejection | None:
        """The rejection of a skill that stood for two of a group's subjects."""
        sets = self._in.rejections().sets(MERGE)
        if not sets:
            return None
        sources: set[str] = set()
        for voice in group.voices:
            sources.update(outcome.id for outcome in self._in.view.subjects.history(voice.first))
            sources.update(row.name for row in self._in.view.skills.by_subject(voice.subject))
        refused = rejected(sources, sets)
        if refused:
            self._in.rejected.append(refused)
        return refused

    # ── what skills there are ────────────────────────────────────────────────────────

    def present(self, findings: Findings) -> Present:
        """What there is of a subject's skill of one kind."""
        view = self._in.view
        first = findings.account.outcomes[0]
        sources = [Ref("evaluation", outcome.id) for outcome in findings.account.outcomes]
        # What single outcomes made stands beside, and is told by the subject's own skill.
        every = [*self._of_subject(findings), *self._from_before(findings, sources)]
        skills = [(shelf, skill) for shelf, skill in every if not skill.replaces]
        living = [(shelf, skill) for shelf, skill in skills if shelf != "archive"]
        shelf, skill = next(iter(living or skills), ("", None))
        name = subject_key(first.subject)
        group = (
            self.members(first.domain, findings.kind).get(name) if first.trust == "local" else None
        )
        ends = with_version(view, skill.name) if skill else []
        linked = (view.links.sources_among(sources, ref) for ref in ends)
        return Present(
            skill=with_waiting_account(view, skill) if skill else None,
            shelf=shelf,
            group=self._told_as(group) if group else None,
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
        for place in self._in.view.skills.by_subject(subject_key(first.subject)):
            skill = self._in.view.skills.find(place.name)
            if skill and (skill.kind, skill.trust, skill.origin) == about:
                yield place.shelf, skill

    def _from_before(
        self, findings: Findings, sources: Sequence[Ref]
    ) -> Iterator[tuple[str, Skill]]:
        """(shelf, skill) of those that single outcomes made, under whatever rule."""
        view = self._in.view
        names = view.skills.made_alone(findings.kind, sources)
        statuses = {row.name: row.shelf for row in view.skills.statuses(names)}
        skills = [skill for name in names if (skill := view.skills.find(name))]
        for skill in sorted(skills, key=lambda skill: (skill.created or "", skill.name)):
            if skill.origin == "generated" and skill.name in statuses:
                yield statuses[skill.name], skill

    def _told_as(self, group: Group) -> str:
        """The name of the skill that stands for a group, else what it is about."""
        by_subject = self._in.view.skills.by_subject
        places = by_subject(group.subject) or by_subject(group.stated_subject)
        return places[0].name if places else group.subject

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
        links = [link for link in view.links.by_source(sources) if makes_skill(link)]
        names = {link.target.id for link in links if link.target.id.startswith(f"{kind}-")}
        paths = (view.records.path_of(Ref("skill", name)) for name in sorted(names))
        return next((path for path in paths if path), None)

    def _taken_away(self, findings: Findings) -> Rejection | None:
        """The skill of this kind that was made of the subject and that a person took away."""
        first = findings.account.outcomes[0]
        for outcome in self._in.view.subjects.history(first.id):  # also what is evaluated no more
            source = Ref("evaluation", outcome.id)
            refused = self._in.rejections().of_source(GENERATE, source, "skill")
            if refused and refused.target.startswith(f"skill:{findings.kind}-"):
                return refused
        return None

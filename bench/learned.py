"""The history of a vault that learned, without the learning: as fast as its texts are written.

The commits are made by the program's own rules, with their names, links and messages; what becomes
a fact, and which facts recur, is computed by them too. Which causes the outcomes of a subject
share, and which subjects say the same, is drawn instead. The proportions are those that the loop
made of 1,000 outcomes of `stream` in batches of 50: 1,000 evaluations, 4,067 links (1,744
reinforced, 1,227 generated, 944 contradicted, 74 promoted, 49 derived, 29 merged), 74 facts, 169
skills of which 19 in archive/, 944 commits (382 refresh, 240 promote, 187 generate, 55 merge).
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import islice
from typing import Any, NamedTuple

from drafts import draft_of, skill_of, unedited, whole
from promoter import Promoter
from stream import START, shifted, stream

from skillvault.judge.offline.judge import OfflineJudge
from skillvault.learning import record
from skillvault.learning.account.account import (
    KINDS,
    calls_for_skill,
    digest,
    findings_of,
    shown_by,
)
from skillvault.learning.account.reading import marks_of, read_until
from skillvault.learning.account.significance import significant
from skillvault.learning.evaluate import evaluate
from skillvault.learning.generate import strategy
from skillvault.learning.generate import warning_pattern as generate
from skillvault.learning.generate.strategy import GRADED, UNGRADED
from skillvault.learning.generate.warning_pattern import Present
from skillvault.learning.length import References
from skillvault.learning.merge import evolved
from skillvault.learning.merge.groups import Group, Voice
from skillvault.learning.naming import subject_key
from skillvault.learning.refresh import refreshing
from skillvault.learning.refresh.refreshing import Refreshing
from skillvault.loop.evaluate import by_domain
from skillvault.model.brief import (
    Account,
    Agreement,
    Cause,
    Draft,
    Extreme,
    Findings,
    Period,
    Statement,
)
from skillvault.model.change import Change
from skillvault.model.intake import outcome_from
from skillvault.model.policy import Policy
from skillvault.model.records import (
    Evaluation,
    Link,
    Outcome,
    Record,
    Skill,
    SkillKind,
    Subject,
)
from skillvault.model.text.text import sentences
from skillvault.vault.files import layout

DOMAINS = ("perps", "coding")
BATCH = 50  # outcomes that arrive together
ALIKE = 5  # one subject of so many says what others say
POLICY = Policy()
JUDGE = OfflineJudge()

Shelf = tuple[str, SkillKind, str]  # domain, kind and action: in these subjects say the same


class Dated(NamedTuple):
    """A change, and when it is committed."""

    change: Change
    at: datetime


class Known:
    """What is known of a subject: its outcomes, how far they are read, its skills by kind."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.evaluations: dict[str, Evaluation] = {}
        self.marks: list[tuple[str, ...]] = []
        self.count = 0  # of the outcomes, how many are read
        self.skills: dict[SkillKind, Skill] = {}
        self.linked: dict[SkillKind, set[str]] = defaultdict(set)
        self._warns = (0, False)

    def add(self, outcome: Outcome, evaluation: Evaluation) -> None:
        """One more outcome, the latest."""
        self.outcomes.append(outcome)
        self.evaluations[outcome.id] = evaluation
        self.marks.append(marks_of(outcome, POLICY))

    @property
    def account(self) -> Account:
        """What is read of it."""
        read = tuple(self.outcomes[: self.count])
        said = {one.id: self.evaluations[one.id] for one in read}
        return Account(outcomes=read, evaluations=said, tasks={})

    @property
    def calls_for_warning(self) -> bool:
        """Whether the program makes a warning of what is read of it."""
        count, warns = self._warns
        if count != self.count:
            account = self.account
            members = tuple(significant(account.outcomes, "warning", POLICY))
            unread = Findings(kind="warning", account=account, statements=(), significant=members)
            # A loss beyond the bound calls for one, whatever else is to be said.
            warns = calls_for_skill(unread, POLICY) or calls_for_skill(
                findings_of(account, "warning", POLICY), POLICY
            )
            self._warns = self.count, warns
        return warns


def learned(
    records: int, *, batch: int = BATCH, starts: datetime = START, seed: int = 1
) -> Iterator[Dated]:
    """The commits of a vault that comes to so many records, oldest first.

    The last batch may bring a few more than asked. The same arguments give the same commits.
    """
    loop = Loop()
    given = (shifted(one, starts - START) for one in stream(records, seed))
    while len(loop.paths) < records:
        yield from loop.cycle(list(islice(given, batch)))


def _place_of(written: Record) -> str:
    """What tells a record from every other: its path, of a link its id."""
    return written.id if isinstance(written, Link) else layout.path_of(written)


class Loop:
    """What is known of the vault so far, and the commits of one more cycle."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self._names: set[str] = set()
        self._known: dict[Subject, Known] = defaultdict(Known)
        self._promoter = Promoter(
            POLICY, self._names, lambda subject: self._known[subject].calls_for_warning
        )
        self._every: dict[str, list[tuple[Outcome, Evaluation]]] = defaultdict(list)
        self._strategies: dict[str, Skill] = {}
        self._looked_at: dict[str, set[str]] = defaultdict(set)  # by the strategies of a domain
        self._evolved: dict[Shelf, Skill] = {}
        self._merged: set[str] = set()  # the skills that an evolved one stands for
        self._resting: dict[Shelf, set[str]] = defaultdict(set)  # outcomes of evolved skills

    def cycle(self, given: Iterable[dict[str, Any]]) -> Iterator[Dated]:
        """Every step on what arrived."""
        late = START + timedelta(days=365 * 100)
        outcomes = [outcome_from(one, trust="local", now=late) for one in given]
        at = max(one.occurred_at for one in outcomes) + timedelta(minutes=1)
        for change in self._changes(outcomes, at):
            self.paths.difference_update(f"{move.source}/SKILL.md" for move in change.moves)
            self.paths.update(f"{move.target}/SKILL.md" for move in change.moves)
            self.paths.update(map(_place_of, change.writes))
            yield Dated(change, at)

    def _changes(self, outcomes: list[Outcome], at: datetime) -> Iterator[Change]:
        batches = by_domain(outcomes)
        for domain, batch in batches.items():
            yield record.record_change(domain, batch, ())
        pairs = {domain: [(o, self._judged(o)) for o in of] for domain, of in batches.items()}
        for domain, of in pairs.items():
            yield evaluate.evaluation_change(
                domain, [evaluation for _, evaluation in of], JUDGE.info
            )
        fresh = {domain: self._read(of) for domain, of in pairs.items()}
        yield from self._promoter.facts([pair for of in pairs.values() for pair in of])
        for domain in sorted(pairs):
            yield from self._promoter.skills(domain, at)
        for domain, of in pairs.items():
            yield from self._generated(fresh[domain])
            yield from self._planned(of)
        for subjects in fresh.values():
            yield from self._refreshed(subjects)
            yield from self._consolidated(subjects)

    def _judged(self, outcome: Outcome) -> Evaluation:
        decision = outcome.decision
        verdict = JUDGE.verdict(outcome.domain, decision, outcome.context, None, None)
        insight = JUDGE.insight(evaluate.case_of(outcome), verdict)
        return evaluate.evaluation_of(outcome, JUDGE.info, verdict, insight, policy=POLICY)

    def _read(self, pairs: list[tuple[Outcome, Evaluation]]) -> list[Known]:
        """The subjects of which more is read by now."""
        for outcome, evaluation in pairs:
            self._known[outcome.subject].add(outcome, evaluation)
        fresh: list[Known] = []
        for subject in dict.fromkeys(outcome.subject for outcome, _ in pairs):
            known = self._known[subject]
            count = read_until(known.marks)
            if count != known.count:
                known.count = count
                fresh.append(known)
        return fresh

    # ── generate, refresh ────────────────────────────────────────────────────────────

    def _generated(self, fresh: Iterable[Known]) -> Iterator[Change]:
        for known in fresh:
            for kind in KINDS:
                found = _findings(known.account, kind)
                if found.significant and kind not in known.skills:
                    yield self._first(known, found)

    def _first(self, known: Known, found: Findings) -> Change:
        change = generate.skill_change(
            found, _written(found), taken=self._names.__contains__, policy=POLICY
        )
        known.skills[found.kind] = skill = skill_of(change)
        known.linked[found.kind] |= {ref.id for ref in change.sources}
        self._names.add(skill.name)
        return change

    def _refreshed(self, fresh: Iterable[Known]) -> Iterator[Change]:
        for known in fresh:
            for kind, skill in known.skills.items():
                found = _findings(known.account, kind)
                grown = self._shelf(known, kind) in self._evolved
                if grown or skill.account == digest(found):
                    continue
                fresh_links = set(shown_by(found)) - known.linked[kind]
                due = Refreshing(
                    what="refresh",
                    findings=found,
                    present=Present(skill=skill, shelf="skills"),
                    fresh=tuple(sorted(fresh_links)),
                )
                change = refreshing.rewrite_change(
                    due, _written(found), unedited(skill), references=References(), policy=POLICY
                )
                change = whole(change, skill)
                known.skills[kind] = skill_of(change)
                known.linked[kind] |= fresh_links
                yield change

    def _planned(self, pairs: list[tuple[Outcome, Evaluation]]) -> Iterator[Change]:
        domain = pairs[0][0].domain
        every = self._every[domain]
        every += pairs
        count = len(every) - strategy.unread(len(every), POLICY.generate)
        if count <= len(every) - len(pairs):
            return
        read = every[max(0, count - POLICY.generate.strategy_max) : count]
        outcomes = tuple(outcome for outcome, _ in read)
        skill, looked_at = self._strategies.get(domain), self._looked_at[domain]
        ids = [outcome.id for outcome in outcomes]
        material = strategy.StrategyMaterial(
            domain=domain,
            read=tuple(ids),
            unread=len(every) - count,
            linked=frozenset(looked_at.intersection(ids)),
            skill=skill,
            path=f"skills/{skill.name}/SKILL.md" if skill else None,
        )
        period = _period(domain, outcomes, {e.id: e for _, e in read})
        text = " ".join(evaluation.key_insight or "" for _, evaluation in read[-3:])
        draft = draft_of(text, domain, _SECTIONS["strategy"])
        if skill is None:
            change = strategy.first_change(material, period, draft, policy=POLICY)
        else:
            change = strategy.next_change(material, period, draft, unedited(skill), policy=POLICY)
            change = whole(change, skill)
        self._strategies[domain] = skill_of(change)
        looked_at.update(ids)
        yield change

    # ── merge ────────────────────────────────────────────────────────────────────────

    def _shelf(self, known: Known, kind: SkillKind) -> Shelf | None:
        """In which subjects this one says what others say; None if it says something else."""
        domain, action, target = known.outcomes[0].subject
        digits = sha256(f"{domain} {action} {target}".encode()).hexdigest()
        return None if int(digits[:8], 16) % ALIKE else (domain, kind, action)

    def _consolidated(self, fresh: Iterable[Known]) -> Iterator[Change]:
        shelves = [self._shelf(known, kind) for known in fresh for kind in known.skills]
        for shelf in dict.fromkeys(filter(None, shelves)):
            _, kind, _ = shelf
            members = [
                known
                for known in self._known.values()
                if kind in known.skills and self._shelf(known, kind) == shelf
            ]
            if len(members) > POLICY.merge.min_similar:
                yield self._merge(shelf, members)

    def _merge(self, shelf: Shelf, members: Sequence[Known]) -> Change:
        _, kind, _ = shelf
        before = self._evolved.get(shelf)
        due = self._merging(shelf, members)
        draft = _written(due.brief)
        if before is None:
            change = evolved.merge_change(due, draft, taken=self._names.__contains__, policy=POLICY)
        else:
            change = evolved.growth_change(
                due, draft, unedited(before), references=References(("sources.md",)), policy=POLICY
            )
            change = whole(change, before)
        self._evolved[shelf] = skill = skill_of(change)
        self._names.add(skill.name)
        self._resting[shelf].update(due.fresh)
        self._merged.update(known.skills[kind].name for known in members)
        return change

    def _merging(self, shelf: Shelf, members: Sequence[Known]) -> evolved.Merging:
        domain, kind, _ = shelf
        accounts = [known.account for known in members]
        outcomes = sorted((o for account in accounts for o in account.outcomes), key=_order)
        said = {key: e for account in accounts for key, e in account.evaluations.items()}
        together = Account(outcomes=tuple(outcomes), evaluations=said, tasks={})
        brief = Agreement(
            together=_findings(together, kind),
            apart=tuple(_findings(account, kind) for account in accounts),
        )
        key = f"ground-{sha256(repr(shelf).encode()).hexdigest()[:12]}"
        voices = (
            Voice(subject=subject_key(a.outcomes[0].subject), first=a.outcomes[0].id, causes=(key,))
            for a in accounts
        )
        skill = self._evolved.get(shelf)
        skills = [known.skills[kind] for known in members]
        return evolved.Merging(
            group=Group(domain=domain, kind=kind, key=key, voices=tuple(sorted(voices))),
            brief=brief,
            read=sha256("".join(o.id for o in outcomes).encode()).hexdigest()[:12],
            present=Present(skill=skill, shelf="skills") if skill else Present(),
            own=tuple(f"skills/{own.name}" for own in skills if own.name not in self._merged),
            fresh=evolved.fresh_of(brief, frozenset(self._resting[shelf])),
        )


# ── texts ────────────────────────────────────────────────────────────────────────────

_SECTIONS = {"strategy": ("Core Approach", "Entry Rules", "Exit Rules", "What to Avoid")}
_VARYING = re.compile(r"\b(?:COIN|service)-\d+|\d+")


def _findings(account: Account, kind: SkillKind) -> Findings:
    """What an account says, with causes that are told apart by their first sentences alone."""
    members = significant(account.outcomes, kind, POLICY)
    return Findings(
        kind=kind,
        account=account,
        statements=tuple(_statements(members, kind)),
        significant=tuple(members),
    )


def _statements(members: Sequence[Outcome], kind: SkillKind) -> Iterator[Statement]:
    scored = [(o.result.score, o.id) for o in members if o.result.score is not None]
    if scored:
        score, outcome_id = max(scored, key=lambda pair: (abs(pair[0]), pair[1]))
        yield Extreme(score=score, outcome=outcome_id, shown_by=tuple(key for _, key in scored))
    grounds: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in members:
        grounds[_VARYING.sub("", _ground(outcome))].append(outcome)
    for of in sorted(grounds.values(), key=len, reverse=True):
        yield Cause(
            kind="guess" if kind == "warning" else "ground",
            quote=_ground(of[-1]),
            shown_by=tuple(outcome.id for outcome in of),
            of=len(members),
        )


def _written(brief: Findings | Agreement) -> Draft:
    """The judge's text."""
    draft = JUDGE.write(brief)
    if draft is None:
        raise ValueError("the judge writes nothing")
    return draft


def _period(
    domain: str, outcomes: tuple[Outcome, ...], evaluations: dict[str, Evaluation]
) -> Period:
    graded = outcomes[0].result.score is not None
    return Period(
        domain=domain,
        heading=GRADED if graded else UNGRADED,
        outcomes=outcomes,
        evaluations=evaluations,
        graded=graded,
    )


def _order(outcome: Outcome) -> tuple[datetime, str]:
    return outcome.order


def _ground(outcome: Outcome) -> str:
    return sentences(outcome.decision.reasoning)[0]

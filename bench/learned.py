"""The history of a vault that learned, without the learning: as fast as its texts are written.

The commits are made by the program's own rules, with their names, links and messages; what becomes
a fact, which facts recur, and what the accounts say is computed by them too; there are no
strategies. The loop made of 1,000 outcomes of `stream` in batches of 50: 1,000 evaluations,
3,845 links (2,182 reinforced, 797 contradicted, 766 generated, 55 promoted, 45 derived), 55 facts,
35 skills of which 2 in archive/, 384 commits (212 promote, 66 refresh, 26 generate).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import count, islice
from typing import Any, NamedTuple

from drafts import skill_of, unedited, whole
from promoter import Promoter
from stream import START, STEP, shifted, stream

from skillvault.judge.offline.judge import OfflineJudge
from skillvault.learning import evaluate, generate, record, refresh
from skillvault.learning.account.reading import advance_position, marks_of
from skillvault.learning.account.statements import account_of, digest, evidence_ids, findings_of
from skillvault.learning.generate import ExistingSkill
from skillvault.learning.length import References
from skillvault.learning.refresh import SkillRefresh
from skillvault.loop.evaluate import by_domain
from skillvault.model.brief import Account, BlindCase, Draft, Findings
from skillvault.model.change import Change
from skillvault.model.intake import parse_outcome
from skillvault.model.policy import Policy
from skillvault.model.records import (
    Evaluation,
    IndexedOutcome,
    Link,
    Outcome,
    Position,
    Record,
    Skill,
    SkillKind,
    Subject,
)
from skillvault.vault.files import layout

DOMAINS = ("perps", "coding")
BATCH = 50  # outcomes that arrive together
POLICY = Policy()
JUDGE = OfflineJudge()
KINDS: tuple[tuple[SkillKind, ...], ...] = (("guide",), ("warning", "pattern"))


class Dated(NamedTuple):
    """A change and the time of its commit."""

    change: Change
    at: datetime


class Known:
    """An action or a subject: its outcomes, the number of those already read, its skills."""

    def __init__(self, kinds: tuple[SkillKind, ...]) -> None:
        self.kinds = kinds
        self.outcomes: list[Outcome] = []
        self.evaluations: dict[str, Evaluation] = {}
        self.position = Position()
        self.counts: Mapping[str, int] = {}
        self.count = 0  # of the outcomes, how many are read
        self.skills: dict[SkillKind, Skill] = {}
        self.linked: dict[SkillKind, set[str]] = defaultdict(set)

    def add(self, outcome: Outcome, evaluation: Evaluation) -> None:
        """Add one more outcome, the latest."""
        self.outcomes.append(outcome)
        self.evaluations[outcome.id] = evaluation
        number = len(self.outcomes)
        latest = IndexedOutcome(number, outcome.id, True, marks_of(outcome, POLICY))
        self.position, self.counts = advance_position(self.position, self.counts, [latest])

    @property
    def account(self) -> Account:
        """The account of the outcomes that are read."""
        read = tuple(self.outcomes[max(0, self.count - POLICY.evaluate.peers) : self.count])
        said = {one.id: self.evaluations[one.id] for one in read}
        return account_of(outcomes=read, evaluations=said, tasks={})


def learned(
    records: int, *, batch: int = BATCH, starts: datetime = START, seed: int = 1
) -> Iterator[Dated]:
    """Yield the commits of a vault that grows to so many records, oldest first.

    The last batch may bring a few more than asked. The same arguments give the same commits.
    """
    loop = Loop()
    given = (shifted(one, starts - START) for one in stream(records, seed))
    while len(loop.paths) < records:
        yield from loop.cycle(list(islice(given, batch)))


def recorded(outcomes: int, *, batch: int, starts: datetime, step: timedelta) -> Iterator[Dated]:
    """Yield the commits of a vault of outcomes and evaluations, from which nothing was made.

    A tenth of the work of `learned`, for what depends on the number of files alone.
    """
    ahead = (starts - START + number * (step - STEP) for number in count())
    given = map(shifted, stream(outcomes), ahead)
    while of := parsed(islice(given, batch)):
        for domain, some in by_domain(of).items():
            yield Dated(record.record_change(domain, some, ()), _end_of(some))
            yield Dated(evaluated(domain, list(map(judged, some))), _end_of(some))


def parsed(given: Iterable[dict[str, Any]]) -> list[Outcome]:
    """Parse outcomes as the program does."""
    late = START + timedelta(days=365 * 100)
    return [parse_outcome(one, trust="local", now=late) for one in given]


def judged(outcome: Outcome) -> Evaluation:
    """Evaluate an outcome."""
    verdict = JUDGE.verdict(BlindCase(outcome.domain, outcome.decision, outcome.context))
    insight = JUDGE.insight(evaluate.case_of(outcome), verdict)
    return evaluate.evaluation_of(outcome, JUDGE.info, verdict, insight, policy=POLICY)


def evaluated(domain: str, evaluations: list[Evaluation]) -> Change:
    """Return the change that commits a domain's evaluations."""
    return evaluate.evaluation_change(domain, evaluations, JUDGE.info)


def _end_of(outcomes: Iterable[Outcome]) -> datetime:
    return max(one.occurred_at for one in outcomes) + timedelta(minutes=1)


def _place_of(written: Record) -> str:
    """Return the key that identifies a record: the id of a link, else the path."""
    return written.id if isinstance(written, Link) else layout.path_of(written)


class Loop:
    """The vault so far, and the commits of one more cycle."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self._names: set[str] = set()
        self._known: dict[Subject, Known] = {}
        self._promoter = Promoter(POLICY, self._names)

    def cycle(self, given: Iterable[dict[str, Any]]) -> Iterator[Dated]:
        """Run every step on the new outcomes and yield the commits."""
        outcomes = parsed(given)
        at = _end_of(outcomes)
        for change in self._changes(outcomes, at):
            self.paths.difference_update(f"{move.source}/SKILL.md" for move in change.moves)
            self.paths.update(f"{move.target}/SKILL.md" for move in change.moves)
            self.paths.update(map(_place_of, change.writes))
            yield Dated(change, at)

    def _changes(self, outcomes: list[Outcome], at: datetime) -> Iterator[Change]:
        batches = by_domain(outcomes)
        for domain, batch in batches.items():
            yield record.record_change(domain, batch, ())
        pairs = {domain: [(o, judged(o)) for o in of] for domain, of in batches.items()}
        for domain, of in pairs.items():
            yield evaluated(domain, [evaluation for _, evaluation in of])
        fresh = {domain: self._read(of) for domain, of in pairs.items()}
        yield from self._promoter.facts([pair for of in pairs.values() for pair in of])
        for domain in sorted(pairs):
            yield from self._promoter.skills(domain, at)
        for domain in pairs:
            yield from self._generated(fresh[domain])
        for accounts in fresh.values():
            yield from self._refreshed(accounts)

    def _read(self, pairs: list[tuple[Outcome, Evaluation]]) -> list[Known]:
        """Add the outcomes and return the accounts that read more of them now."""
        changed: dict[Subject, Known] = {}
        for outcome, evaluation in pairs:
            of_action = (*outcome.subject[:2], None)
            for subject, kinds in zip((of_action, outcome.subject), KINDS, strict=True):
                changed[subject] = self._known.setdefault(subject, Known(kinds))
                changed[subject].add(outcome, evaluation)
        fresh: list[Known] = []
        for known in changed.values():
            count = known.position.until[0]
            if count != known.count:
                known.count = count
                fresh.append(known)
        return fresh

    # ── generate, refresh ────────────────────────────────────────────────────────────

    def _generated(self, fresh: Iterable[Known]) -> Iterator[Change]:
        for known in fresh:
            for kind in known.kinds:
                found = findings_of(known.account, kind, POLICY)
                if found.significant and kind not in known.skills:
                    yield self._first(known, found)

    def _first(self, known: Known, found: Findings) -> Change:
        change = generate.skill_change(
            found, _draft(found), is_taken=self._names.__contains__, policy=POLICY
        )
        known.skills[found.kind] = skill = skill_of(change)
        known.linked[found.kind] |= {ref.id for ref in change.sources}
        self._names.add(skill.name)
        return change

    def _refreshed(self, fresh: Iterable[Known]) -> Iterator[Change]:
        for known in fresh:
            for kind, skill in known.skills.items():
                found = findings_of(known.account, kind, POLICY)
                if not found.significant or skill.account == digest(found):
                    continue
                fresh_links = set(evidence_ids(found)) - known.linked[kind]
                due = SkillRefresh(
                    what="refresh",
                    findings=found,
                    existing=ExistingSkill(skill=skill, folder="skills"),
                    fresh=tuple(sorted(fresh_links)),
                )
                change = refresh.rewrite_change(
                    due, _draft(found), unedited(skill), references=References(), policy=POLICY
                )
                change = whole(change, skill)
                known.skills[kind] = skill_of(change)
                known.linked[kind] |= fresh_links
                yield change


# ── texts ────────────────────────────────────────────────────────────────────────────


def _draft(found: Findings) -> Draft:
    """The judge's text."""
    draft = JUDGE.write(found)
    if draft is None:
        raise ValueError("the judge writes nothing")
    return draft

"""The history of a vault that learned, without the learning: as fast as its texts are written.

The commits are made by the program's own rules, with their names, links and messages; what the
judge would say of an outcome among its peers is drawn instead. The proportions are those that the
loop made of 1,000 outcomes of `stream` in batches of 50: 1,000 evaluations, 1,857 links (1,000 of
strategies, 426 repeats, 197 merges), 222 skills of which 197 in archive/, 24 facts, 701 commits.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple

import msgspec
from stream import START, shifted, stream

from skillvault.brief import Draft, Fate, Insight, Period
from skillvault.change import Change
from skillvault.intake import outcome_from
from skillvault.judge.offline.judge import OfflineJudge
from skillvault.learning import record
from skillvault.learning.evaluate import evaluate
from skillvault.learning.generate import strategy
from skillvault.learning.generate import warning_pattern as generate
from skillvault.learning.generate.strategy import GRADED, UNGRADED
from skillvault.learning.merge import evolved
from skillvault.learning.merge import groups as merge
from skillvault.learning.promote import facts as promote
from skillvault.learning.promote import skills as recurrence
from skillvault.markdown import statements
from skillvault.policy import Policy
from skillvault.records import Evaluation, Fact, Outcome, Skill, SkillKind, Subject
from skillvault.steps.record import by_domain
from skillvault.text import sentences, shorten
from skillvault.vault.files import layout

DOMAINS = ("perps", "coding")
BATCH = 50  # outcomes that arrive together
NEW = 0.07  # of the confirmed insights, how many are a fact; the others repeat one
STANDS_FOR = 24  # sources of which an evolved skill tells in its references
POLICY = Policy()
JUDGE = OfflineJudge()

Shelf = tuple[str, str, str]  # domain, side and action: skills of one shelf say the same


class Dated(NamedTuple):
    """A change, and when it is committed."""

    change: Change
    at: datetime


def learned(
    records: int, *, batch: int = BATCH, starts: datetime = START, seed: int = 1
) -> Iterator[Dated]:
    """The commits of a vault that comes to so many records, oldest first.

    The last batch may bring a few more than asked. The same arguments give the same commits.
    """
    loop = Loop(seed)
    given = (shifted(one, starts - START) for one in stream(records, seed))
    while len(loop.paths) < records:
        yield from loop.cycle(list(islice(given, batch)))


class Loop:
    """What is known of the vault so far, and the commits of one more cycle."""

    def __init__(self, seed: int) -> None:
        self.paths: set[str] = set()
        self._chance = random.Random(seed)
        self._names: set[str] = set()
        self._facts: dict[str, list[Fact]] = defaultdict(list)
        self._sessions: dict[str, set[str]] = defaultdict(set)  # of a fact, until it recurs
        self._before: dict[Subject, list[Outcome]] = {}
        self._warnings: dict[Subject, str] = {}
        self._since: dict[str, list[tuple[Outcome, Evaluation]]] = defaultdict(list)
        self._live: dict[Shelf, list[Skill]] = defaultdict(list)
        self._evolved: dict[Shelf, str] = {}
        self._merged: dict[str, str] = {}
        self._sources: dict[str, list[str]] = defaultdict(list)

    def cycle(self, given: Iterable[dict[str, Any]]) -> Iterator[Dated]:
        """Every step on what arrived."""
        late = START + timedelta(days=365 * 100)
        outcomes = [outcome_from(one, trust="local", now=late) for one in given]
        at = max(one.occurred_at for one in outcomes) + timedelta(minutes=1)
        for change in self._changes(outcomes, at):
            self.paths.update(map(layout.path_of, change.writes))
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
        for step in (self._promoted, self._generated, self._planned):
            for of in pairs.values():
                yield from step(of, at)
        yield from self._consolidated(at)

    def _judged(self, outcome: Outcome) -> Evaluation:
        decision = outcome.decision
        verdict = JUDGE.verdict(outcome.domain, decision, outcome.context, None, None)
        insight = Insight(key_insight=self._insight(outcome), insight_type="method")
        return evaluate.evaluation_of(outcome, JUDGE.info, verdict, insight, policy=POLICY)

    def _insight(self, outcome: Outcome) -> str:
        some, many = self._chance.randrange(3, 60), self._chance.randrange(60, 200)
        return (
            f"When volatility is {outcome.context['volatility']}, {_about(outcome)} ended in "
            f"{outcome.result.status}: it rested on “{_ground(outcome)}” This holds for {some} of "
            f"{many} {outcome.decision.action} decisions."
        )

    # ── promote ──────────────────────────────────────────────────────────────────────

    def _promoted(self, pairs: list[tuple[Outcome, Evaluation]], at: datetime) -> Iterator[Change]:
        repeats: dict[str, list[Evaluation]] = defaultdict(list)
        touched: dict[str, Fact] = {}
        for outcome, evaluation in pairs:
            if not _confirmed(evaluation):
                continue
            facts = self._facts[outcome.domain]
            if not facts or self._chance.random() < NEW:
                made = _promotion(evaluation, at)
                facts.append(next(one for one in made.writes if isinstance(one, Fact)))
                fact = facts[-1]
                yield made
            else:  # the first facts are those that are repeated most
                fact = facts[int(len(facts) * self._chance.random() ** 3)]
                repeats[fact.id].append(evaluation)
            self._sessions[fact.id].add(outcome.session)
            touched[fact.id] = fact
        for fact_id, of in repeats.items():
            yield promote.repetition_change(promote.Repetition(fact_id, tuple(of)), at)
        for fact in touched.values():
            yield from self._recurring(fact, at)

    def _recurring(self, fact: Fact, at: datetime) -> Iterator[Change]:
        known = len(self._sessions[fact.id])
        if fact.id in self._merged or known < POLICY.promote.cluster_size:
            return
        self._merged[fact.id] = ""  # one skill a fact
        change = recurrence.skill_change(
            recurrence.Pattern(facts=(fact,), fresh=(fact,), independent=True),
            _draft(fact.text, fact.id, ("Consolidated Learning", "Application", "Origin")),
            taken=self._names.__contains__,
            now=at,
            policy=POLICY,
        )
        self._shelve(change, (fact.domain, "memory", ""))
        yield change

    # ── generate ─────────────────────────────────────────────────────────────────────

    def _generated(self, pairs: list[tuple[Outcome, Evaluation]], at: datetime) -> Iterator[Change]:
        repeats: dict[str, list[Evaluation]] = defaultdict(list)
        for outcome, evaluation in pairs:
            subject = outcome.subject
            kind, reason = self._significance(subject, outcome)
            if kind is not None:
                yield self._skill(generate.DueSkill(kind, ((outcome, evaluation),), reason), at)
            elif outcome.ungraded_failure:
                warning = self._warnings[subject]
                repeats[self._merged.get(warning, warning)].append(evaluation)
        for name, of in repeats.items():
            yield generate.reinforce_change(generate.Reinforcement(name, tuple(of)), at, POLICY)

    def _significance(self, subject: Subject, outcome: Outcome) -> tuple[SkillKind | None, str]:
        """As the program says; of what came before only the first failure and the last count."""
        history = [*self._before.get(subject, ()), outcome]
        found = generate.significances(history, POLICY)[outcome.id]
        failed = next((one for one in history if one.ungraded_failure), None)
        first = [failed] if failed and failed.id != outcome.id else []
        self._before[subject] = [*first, outcome]
        return found.kind, found.reason

    def _skill(self, due: generate.DueSkill, at: datetime) -> Change:
        outcome, evaluation = pair = due.candidates[0]
        title = f"{outcome.decision.target} {outcome.decision.action}: {_ground(outcome)}"
        draft = _draft(evaluation.key_insight or "", title, _SECTIONS[due.kind])
        taken = self._names.__contains__
        change = generate.skill_change(due, pair, draft, taken=taken, now=at, policy=POLICY)
        skill = self._shelve(change, (outcome.domain, due.kind, outcome.decision.action))
        if outcome.ungraded_failure:
            self._warnings[outcome.subject] = skill.name
        return change

    def _shelve(self, change: Change, shelf: Shelf) -> Skill:
        skill = next(one for one in change.writes if isinstance(one, Skill))
        self._names.add(skill.name)
        self._live[shelf].append(skill)
        return skill

    def _planned(self, pairs: list[tuple[Outcome, Evaluation]], at: datetime) -> Iterator[Change]:
        domain = pairs[0][0].domain
        self._since[domain] += pairs
        if len(self._since[domain]) < POLICY.generate.strategy_every:
            return
        since = self._since.pop(domain)
        outcomes = tuple(outcome for outcome, _ in since)
        evaluations = {evaluation.id: evaluation for _, evaluation in since}
        graded = outcomes[0].result.score is not None
        period = Period(
            domain=domain,
            heading=GRADED if graded else UNGRADED,
            outcomes=outcomes,
            evaluations=evaluations,
            graded=graded,
        )
        material = strategy.StrategyMaterial(
            domain=domain, outcomes=outcomes, evaluations=evaluations, fresh=len(outcomes)
        )
        text = " ".join(e.key_insight or "" for e in list(evaluations.values())[:3])
        draft = _draft(text, domain, _SECTIONS["strategy"])
        yield strategy.first_change(material, period, draft, now=at, policy=POLICY)

    # ── merge ────────────────────────────────────────────────────────────────────────

    def _consolidated(self, at: datetime) -> Iterator[Change]:
        for shelf, skills in self._live.items():
            if len(skills) > POLICY.merge.min_similar or (skills and shelf in self._evolved):
                yield self._merge(shelf, list(skills), at)
                skills.clear()

    def _merge(self, shelf: Shelf, skills: list[Skill], at: datetime) -> Change:
        domain, side, action = shelf
        before = self._evolved.get(shelf)
        told = [line for skill in skills for line in statements(skill.body)]
        draft = _draft(" ".join(told[:6]), f"{side} {action}", _SECTIONS["evolved"])
        earlier = tuple(self._sources[before]) if before else ()
        references = "".join(f"- {name}\n" for name in earlier[-STANDS_FOR:])
        draft = msgspec.structs.replace(
            draft,
            references=((evolved.FILE, references),) if references else (),
            fates=tuple(Fate(s.name, line, "kept") for s in skills for line in statements(s.body)),
        )
        fresh = tuple(skill.name for skill in skills)
        change = evolved.merge_change(
            merge.Merge(domain=domain, fresh=fresh, evolved=before, earlier=earlier),
            skills,
            draft,
            judge=JUDGE.info,
            taken=lambda _name: False,  # an evolved skill that grows keeps its name
            now=at,
            policy=POLICY,
        )
        name = change.targets[0].id
        self._evolved[shelf] = name
        self._sources[name] += fresh
        self._merged.update(dict.fromkeys(fresh, name))
        return msgspec.structs.replace(change, subject=f"grow {name}") if before else change


# ── texts ────────────────────────────────────────────────────────────────────────────

_SECTIONS = {
    "warning": ("Pattern to Recognize", "What Went Wrong", "Better Approach", "Checklist"),
    "pattern": ("Pattern Conditions", "Why It Worked", "Entry Criteria", "Risk Management"),
    "strategy": ("Core Approach", "Entry Rules", "Exit Rules", "What to Avoid"),
    "evolved": ("Synthesized Insight", "When This Applies", "Key Principles", "Evidence"),
}


def _about(outcome: Outcome) -> str:
    return f"{outcome.decision.action} on {outcome.decision.target}"


def _ground(outcome: Outcome) -> str:
    return sentences(outcome.decision.reasoning)[0]


def _confirmed(evaluation: Evaluation) -> bool:
    """Whether an evaluation meets promote's conditions."""
    sure = promote.strength(evaluation) >= POLICY.promote.quality
    return sure and evaluation.judge_was_right is True


def _promotion(evaluation: Evaluation, at: datetime) -> Change:
    high = promote.strength(evaluation) >= POLICY.promote.high_from
    made = promote.fact_id(evaluation)
    promotion = promote.Promotion(evaluation, made, "high" if high else "medium")
    return promote.promotion_change(promotion, at)


def _draft(said: str, title: str, headings: Iterable[str]) -> Draft:
    """A text of the length that the judge's have: under each heading what is known."""
    lines = [shorten(line, 200) for line in sentences(said)[:4]]
    sections = tuple((name, "\n".join(f"- {name}: {line}" for line in lines)) for name in headings)
    return Draft(shorten(title, 60), f"What is known of {title}: {shorten(said, 160)}", sections)

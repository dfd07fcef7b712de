"""Promote's part of a made vault: the facts that results support, and the skills of them."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime

from drafts import draft_of, skill_of, unedited, whole
from memory import FactRuns, run_book
from msgspec.structs import replace

from skillvault.learning.promote import skills as recurrence
from skillvault.learning.promote.evaluated_runs import evaluated_run
from skillvault.learning.promote.facts import PromotionRecords, statement_of
from skillvault.learning.promote.skills import Pattern
from skillvault.learning.promote.support import Retelling, Support, fact_changes, weighing_changes
from skillvault.learning.rejection import Rejections
from skillvault.loop.profiles import rules_of
from skillvault.model.change import Change
from skillvault.model.policy import Policy
from skillvault.model.records import Evaluation, Fact, Link, Outcome, Skill

_HEADINGS = ("Consolidated Learning", "Application", "Origin")


class Promoter:
    """The facts and skills promoted so far, and the commits of one more cycle.

    `names` are the names of all skills of the vault.
    """

    def __init__(self, policy: Policy, names: set[str]) -> None:
        self._policy = policy
        self._names = names
        self._outcomes: dict[str, Outcome] = {}
        self._clocks: dict[str, datetime] = {}
        self._facts: dict[str, dict[str, Fact]] = defaultdict(dict)  # domain -> id -> fact
        self._runs = FactRuns()
        self._book = run_book(self._runs)
        self._derived: dict[str, str] = {}  # fact -> skill
        self._skills: dict[str, Skill] = {}
        self._folders: dict[str, str] = {}

    def facts(self, pairs: Sequence[tuple[Outcome, Evaluation]]) -> Iterator[Change]:
        """Promote new runs, given in the order of time, to facts."""
        runs = [evaluated_run(evaluation, outcome) for outcome, evaluation in pairs]
        for outcome, _ in pairs:
            self._outcomes[outcome.id] = outcome
            self._clocks[outcome.domain] = outcome.occurred_at
        facts = {name: fact for of in self._facts.values() for name, fact in of.items()}
        support = Support(self._book, self._records(facts), self._policy, upgrades=False)
        plan = support.plan(filter(None, runs))
        changes = list(fact_changes(plan.facts))
        if plan.links or plan.retellings:
            weighed = weighing_changes(plan.links, plan.retellings)
            changes += (_retold(change, plan.retellings) for change in weighed)
        for change in changes:
            self._keep(change)
            yield change

    def skills(self, domain: str, at: datetime) -> Iterator[Change]:
        """Promote the facts of one domain to skills."""
        records = self._records(self._facts[domain])
        plan = recurrence.plan_patterns(records, self._skills, self._policy)
        for skill in plan.leaving:
            if skill.status == "testing" and self._folders[skill.name] != "archive":
                yield recurrence.leave_change(skill, self._folders[skill.name])
                self._folders[skill.name] = "archive"
        for pattern in plan.due:
            if not self._is_told(pattern):
                yield self._written(pattern, at)

    def _records(self, facts: dict[str, Fact]) -> PromotionRecords:
        return PromotionRecords(
            outcomes=self._outcomes,
            evaluations={},
            facts=facts,
            links={},
            made_skills=self._derived,
            rejections=Rejections((), ()),
            taken_away=(),
            support=self._supporting,
            outcomes_of=lambda names: {name: self._outcomes[name] for name in names},
            sessions_of=self._runs.sessions,
            counts=self._runs,
            clock=self._clocks.get,
            rules=rules_of(self._policy),
        )

    def _supporting(self, facts: Collection[str]) -> list[Evaluation]:
        """The evaluations that made or repeat facts, in the order of time."""
        return [self._book.new[name].evaluation for name in self._runs.supporters(facts)]

    def _keep(self, change: Change) -> None:
        for record in change.writes:
            if isinstance(record, Fact):
                self._facts[record.domain][record.id] = record
            elif isinstance(record, Link):
                self._runs.add(record, self._outcomes[record.source.id])

    def _is_told(self, pattern: Pattern) -> bool:
        """Return True if the guide of an action already says what this warning would say."""
        if pattern.kind != "warning" or pattern.skill:
            return False
        subjects = self._runs.subjects(fact.id for fact in pattern.facts)
        return len({action for _, action, _ in subjects}) == 1

    def _written(self, pattern: Pattern, at: datetime) -> Change:
        """The skill of a pattern, new or grown."""
        lead, policy = pattern.facts[0], self._policy
        draft = draft_of(statement_of(lead), lead.id, _HEADINGS)
        if pattern.skill is None:
            change = recurrence.skill_change(
                pattern, draft, is_taken=self._names.__contains__, now=at, rules=rules_of(policy)
            )
        else:
            skill = self._skills[pattern.skill]
            folder = self._folders[skill.name]
            change = recurrence.growth_change(
                pattern, draft, skill, unedited(skill), folder=folder, now=at, policy=policy
            )
            change = whole(change, skill)
        skill = skill_of(change)
        self._names.add(skill.name)
        self._skills[skill.name] = skill
        self._folders[skill.name] = "proposed" if skill.status == "proposed" else "skills"
        self._derived |= {fact.id: skill.name for fact in pattern.new_facts}
        return change


def _retold(change: Change, retellings: Sequence[Retelling]) -> Change:
    """Return the change with the retold facts written as a whole instead of edited."""
    if not change.edits:
        return change
    facts = (replace(retold.fact, importance=retold.importance) for retold in retellings)
    return replace(change, writes=(*facts, *change.writes), edits=())

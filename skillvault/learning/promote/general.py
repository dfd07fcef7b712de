"""The rule for general skills: make one skill from facts that recur in several domains.

Untrusted facts do not count. `loop/general.py` finds the facts; `skills.py` has the rule for one
domain.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning import sections
from skillvault.learning.account.reading import last_point
from skillvault.learning.naming import general_name
from skillvault.learning.promote.facts import PromotionRecords, PromotionState, statement_of
from skillvault.learning.promote.skills import (
    FIXED_STATUSES,
    link_rejection,
    linked_change,
    rewrite_parts,
    skill_body,
)
from skillvault.learning.rejection import GENERAL, Rejection
from skillvault.learning.tries.insight import insights_of, specific_values
from skillvault.model.brief import Draft, Recurrence
from skillvault.model.change import Change
from skillvault.model.policy import Policy, PromotePolicy
from skillvault.model.records import Fact, Outcome, Ref, Skill, Status, stamp
from skillvault.model.sameness.comparison import group_same
from skillvault.model.sameness.form import Form, normal_form
from skillvault.model.text.text import count_of, join_items, make_inert, shorten, slug, theme

_MAX_TITLE = 70  # characters
NOT_SHOWN = (
    "Its facts lack support now: too few domains, sessions or runs say the same, or too "
    "few of the runs ended well; `skillvault why` lists them."
)


class RecurringFacts(Struct, frozen=True):
    """Facts of several domains that say the same, in order; `gist` quotes the first fact.

    `run_ids` has the runs that support the facts, up to a reading point. `decided` counts the runs
    that succeeded or failed, and `succeeded` those that succeeded.
    """

    facts: tuple[Fact, ...]
    gist: str
    run_ids: tuple[str, ...]
    succeeded: int
    decided: int

    @property
    def domain_names(self) -> list[str]:
        """The domains of the facts, sorted."""
        return sorted({fact.domain for fact in self.facts})

    @property
    def success_rate(self) -> str:
        """The rate of success in words: `2 of 3`."""
        return count_of(self.succeeded, self.decided)

    @property
    def digest(self) -> str:
        """Twelve hex digits that change with the text of a skill from these facts."""
        lines = [f"{len(self.run_ids)} {self.succeeded}", *(f"{f.id} {f.text}" for f in self.facts)]
        return sha256("\n".join(lines).encode()).hexdigest()[:12]

    def is_enough(self, settings: PromotePolicy) -> bool:
        """Return True if domains and runs are enough, and enough of the runs succeeded."""
        return (
            len(self.domain_names) >= settings.general_domains
            and len(self.run_ids) >= settings.general_runs
            and self.succeeded >= settings.general_rate * max(self.decided, 1)
        )


class GeneralPattern(Struct, frozen=True):
    """Recurring facts that become a skill, or change the text of their skill `skill`.

    `new_facts` are not part of the skill yet. `ended` is the end of the last counted run.
    """

    recurring: RecurringFacts
    new_facts: tuple[Fact, ...]
    skill: Skill | None
    ended: datetime


class FactRuns(NamedTuple):
    """Queries about runs: the outcomes that made facts, and the statuses of runs."""

    makers: Callable[[Collection[str]], Mapping[str, Outcome]]
    statuses: Callable[[Collection[str]], Mapping[str, Status]]


def recurrences(records: PromotionRecords, runs: FactRuns) -> Iterator[RecurringFacts]:
    """Yield the trusted facts that say the same in several domains, in any order."""
    trusted_facts = (fact for fact in records.current_facts if fact.trust == "local")
    facts = [fact for fact in trusted_facts if fact.id not in records.contested]
    makers = runs.makers([fact.id for fact in facts])
    for indices in group_same([form_of(fact, makers.get(fact.id)) for fact in facts]):
        group = tuple(facts[index] for index in indices)
        if len({fact.domain for fact in group}) > 1:
            fact, outcome = group[0], makers.get(group[0].id)
            quotes = (i.quote.rstrip(".") for i in (insights_of(outcome) if outcome else ()))
            gist = next((quote for quote in quotes if quote in fact.text), statement_of(fact))
            supporters = records.counts.supporters([fact.id for fact in group])
            run_ids = tuple(supporters[: last_point(len(supporters))])
            statuses = list(runs.statuses(run_ids).values())
            successes, failures = statuses.count("success"), statuses.count("failure")
            yield RecurringFacts(group, gist, run_ids, successes, successes + failures)


def form_of(fact: Fact, outcome: Outcome | None) -> Form:
    """Return the normal form of a fact without its domain, action and the values of its run."""
    if outcome is None:
        return normal_form(statement_of(fact))
    values = (*specific_values(outcome), outcome.domain, outcome.decision.action)
    return normal_form(statement_of(fact), values)


def general_pattern(
    recurring: RecurringFacts,
    records: PromotionRecords,
    skills: Mapping[str, Skill],
    policy: Policy,
) -> GeneralPattern | Rejection | None:
    """Return the work for recurring facts, or the rejection of an earlier skill, or None.

    There is no work if support is too weak or the skill is up to date. `skills` maps facts to their
    general skills.
    """
    candidates = [skills[fact.id] for fact in recurring.facts if fact.id in skills]
    skill = max(sorted(candidates, key=lambda s: s.name), key=candidates.count, default=None)
    refs = (Ref("fact", fact.id) for fact in recurring.facts if skill is None)
    rejections = (records.rejections.of_source(GENERAL, ref, "skill") for ref in refs)
    if rejection := next(filter(None, rejections), None):
        return rejection
    if not is_supported(recurring, records, policy.promote):
        return None
    if skill and (skill.status in FIXED_STATUSES or skill.account == recurring.digest):
        return None
    new_facts = (
        fact
        for fact in recurring.facts
        if fact.id not in skills and not (skill and link_rejection(fact, skill.name, records))
    )
    end = records.outcomes[recurring.run_ids[-1]].occurred_at
    return GeneralPattern(recurring, tuple(new_facts), skill, end)


def current_pattern(
    recurring: RecurringFacts, records: PromotionRecords, skills: Mapping[str, Skill]
) -> GeneralPattern | None:
    """Return the pattern of recurring facts if their skill is up to date, or None.

    `skills` maps facts to their general skills.
    """
    skill = next((skills[fact.id] for fact in recurring.facts if fact.id in skills), None)
    if skill is None or skill.status in FIXED_STATUSES:
        return None
    if skill.account != recurring.digest or not recurring.run_ids:
        return None
    end = records.outcomes[recurring.run_ids[-1]].occurred_at
    return GeneralPattern(recurring, (), skill, end)


def is_supported(
    recurring: RecurringFacts, records: PromotionRecords, settings: PromotePolicy
) -> bool:
    """Return True if enough domains, runs and sessions support recurring facts."""
    sessions = len(records.sessions(recurring.facts))
    return sessions >= settings.min_sessions and recurring.is_enough(settings)


def state_across_domains(
    fact: Fact, recurring: RecurringFacts | None, skill: str | None, policy: Policy
) -> PromotionState:
    """Return the state of a fact on its way to a general skill; `skill` is its skill so far."""
    settings = policy.promote
    if skill:
        return PromotionState("done", f"in every domain: derived {skill}")
    if recurring is None:
        return PromotionState("alone", f"in every domain: no fact but {fact.domain}'s says it")
    if recurring.is_enough(settings):
        return PromotionState("due", "in every domain: recurs; `skillvault run`")
    domains, rate = join_items(recurring.domain_names), recurring.success_rate
    return PromotionState(
        "alone",
        f"in every domain: said in {domains} by {len(recurring.run_ids)} runs, {rate} ended well; "
        f"it takes {settings.general_domains} domains, {settings.general_runs} runs and a rate of "
        f"{settings.general_rate:g}",
    )


# ── the text and the changes ─────────────────────────────────────────────────────────


def general_brief(pattern: GeneralPattern, records: PromotionRecords) -> Recurrence:
    """Return the brief for the judge that writes the skill; use facts with equal texts once."""
    recurring = pattern.recurring
    wordings = {fact.text: fact for fact in reversed(recurring.facts)}
    facts = tuple(fact for fact in recurring.facts if wordings[fact.text] is fact)
    run_ids = set(recurring.run_ids)
    support = [e for e in records.support([f.id for f in recurring.facts]) if e.id in run_ids]
    return Recurrence(
        domain=join_items(recurring.domain_names),
        theme=make_inert(theme([statement_of(fact) for fact in facts]), _MAX_TITLE),
        facts=facts,
        evaluations=tuple(support),
        outcomes=records.outcomes_of([evaluation.id for evaluation in support]),
    )


def _skill_of(pattern: GeneralPattern, draft: Draft, name: str, policy: Policy) -> Skill:
    recurring = pattern.recurring
    days = timedelta(days=policy.days("pattern") or 0)
    count, domains = len(recurring.facts), join_items(recurring.domain_names)
    rate = recurring.success_rate
    header = f"*From {count} memory facts in {domains}; {rate} runs behind them ended well*"
    return Skill(
        name=name,
        description=shorten(draft.description, 1024),
        body=skill_body(f"Pattern: {make_inert(recurring.gist, _MAX_TITLE)}", header, draft),
        tags=tuple(map(slug, recurring.domain_names)),
        kind="pattern",
        status="testing",
        origin="generated",
        created=stamp(pattern.ended),
        expires=stamp(pattern.ended + days),
        account=recurring.digest,
    )


def general_change(
    pattern: GeneralPattern, draft: Draft, *, is_taken: Callable[[str], bool], policy: Policy
) -> Change:
    """Return the change that adds a general skill."""
    recurring, reason = pattern.recurring, _reason(pattern)
    name = general_name(recurring.gist, (fact.id for fact in recurring.facts), is_taken)
    skill = _skill_of(pattern, draft, name, policy)
    return linked_change(pattern.new_facts, pattern.ended, skill, reason=reason, is_new=True)


def rewrite_change(
    pattern: GeneralPattern,
    draft: Draft,
    skill: Skill,
    versions: sections.WrittenTexts,
    *,
    folder: str,
    policy: Policy,
) -> Change:
    """Return the change that adds facts or runs to a skill; a person's edits stay.

    `folder` is the top folder of the skill. A skill in archive/ is restored.
    """
    draft_skill = _skill_of(pattern, draft, skill.name, policy)
    new_skill = replace(draft_skill, status=skill.status, subject=skill.subject)
    parts = rewrite_parts(skill, new_skill, versions, folder=folder, policy=policy)
    reason = _reason(pattern)
    return linked_change(pattern.new_facts, pattern.ended, skill, reason=reason, **parts)


def _reason(pattern: GeneralPattern) -> str:
    recurring, rate = pattern.recurring, pattern.recurring.success_rate
    counts = f"{len(recurring.facts)} facts, {len(recurring.run_ids)} runs, {rate} ended well"
    lines = [f"The same holds in {join_items(recurring.domain_names)}: {counts}."]
    lines += [f"- {fact.domain}: {shorten(fact.text, 200)}" for fact in pattern.new_facts]
    return "\n".join(lines)

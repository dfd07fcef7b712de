"""The page of a vault as one value: what it says is computed here, how it looks is not."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from skillvault.inspect.page.benefit import Benefit, benefit_of
from skillvault.inspect.page.contents import Contents, contents_of
from skillvault.inspect.page.domains import DomainFigures, domains_of
from skillvault.inspect.page.skills import SkillPage, Stop, origins_of, skill_pages, warnings_of
from skillvault.inspect.page.week import Week, week_of
from skillvault.inspect.status import Status
from skillvault.learning.stats import SkillStats
from skillvault.loop.run import Run
from skillvault.model.records import Evaluation, Fact, Outcome, Ref

_STOPS = 5  # things to stop doing that are told first


class JudgeCost(Struct, frozen=True):
    """What judging the week's outcomes took, as their evaluations say."""

    tokens: int
    usd: float


class Page(Struct, frozen=True, kw_only=True):
    """All that a page of a vault tells, as of one commit; `domain` is None for all.

    `stops` are the things to stop doing, the worst first. `cost` is None if nothing of the week
    was paid for. `origins` are what each fact's links lead from, as (type, kind, id).
    `questions` are open for an agent, None if the judge is no agent.
    """

    name: str
    domain: str | None
    head: str | None
    week: Week
    stops: Sequence[Stop]
    benefit: Benefit
    domains: Sequence[DomainFigures]
    skills: Sequence[SkillPage]
    outcomes: Mapping[str, Outcome]
    evaluations: Mapping[str, Evaluation]
    facts: Mapping[str, Fact]
    origins: Mapping[str, Sequence[tuple[str, str, str]]]
    status: Status
    cost: JudgeCost | None
    questions: int | None


def page_of(
    run: Run,
    answers: tuple[Status, Sequence[SkillStats]],
    span: tuple[datetime, datetime],
    domain: str | None = None,
    questions: int | None = None,
) -> Page:
    """The page of these days; `answers` are what `status` and `stats` say."""
    status, effects = answers
    vault = contents_of(run, effects, span, domain)
    benefit, domains, skills = benefit_of(vault), domains_of(vault), skill_pages(vault)
    return Page(
        name=run.store.root.resolve().name,
        domain=domain,
        head=run.view.commit,
        week=week_of(vault),
        stops=_stops(benefit, domains, skills),
        benefit=benefit,
        domains=domains,
        skills=skills,
        outcomes=vault.outcomes,
        evaluations=vault.evaluations,
        facts=vault.facts,
        origins={name: origins_of(vault, Ref("fact", name)) for name in vault.facts},
        status=status,
        cost=_cost(vault),
        questions=questions,
    )


def _stops(
    benefit: Benefit, domains: Sequence[DomainFigures], skills: Sequence[SkillPage]
) -> list[Stop]:
    """Skills that hurt, rules under which it goes wrong, then what most failed of."""
    hurting = [
        Stop(
            what=f"Following {skill.skill}",
            why=f"It hurts: {skill.decision}",
            domain=skill.domain,
            skill=skill.skill,
            failures=skill.failure_count,
            count=skill.times_applied,
        )
        for skill in benefit.skills
        if skill.verdict == "hurts" and skill.status != "retired"
    ]
    rules = [
        Stop(
            what=f"{cause.action} {cause.clause}",
            why=cause.risk,
            domain=domain.name,
            skill=domain.strategy,
            failures=0,
            count=0,
        )
        for domain in domains
        for action in domain.actions
        for cause in action.causes
        if cause.is_loss
    ]
    return [*hurting, *rules, *warnings_of(skills)][:_STOPS]


def _cost(vault: Contents) -> JudgeCost | None:
    """What the evaluations of outcomes of these days took."""
    judges = [
        evaluation.judge
        for name, evaluation in vault.evaluations.items()
        if name in vault.outcomes and vault.since <= vault.outcomes[name].occurred_at <= vault.until
    ]
    tokens = sum(judge.tokens or 0 for judge in judges)
    usd = sum(judge.cost_usd or 0.0 for judge in judges)
    return JudgeCost(tokens, usd) if tokens or usd else None

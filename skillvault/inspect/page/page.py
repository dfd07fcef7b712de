"""The page of a vault as one value: what it says is computed here, how it looks is not."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate

from msgspec import Struct

from skillvault.inspect.page.benefit import Benefit, Rate, benefit_of
from skillvault.inspect.page.contents import Contents, contents_of
from skillvault.inspect.page.skills import SkillPage, Stop, origins_of, skill_pages, warnings_of
from skillvault.inspect.page.week import Week, week_of
from skillvault.inspect.status import Status
from skillvault.learning.contrast.episodes import episodes_of
from skillvault.learning.naming import strategy_name, subject_key
from skillvault.learning.stats import SkillStats
from skillvault.loop.run import Run
from skillvault.model.conditions import Separation, clause, risk, sample_note
from skillvault.model.errors import UsageError
from skillvault.model.records import Evaluation, Fact, Outcome, Ref

MOST = 40  # targets of an action that have a line


class Amounts(Struct, frozen=True):
    """Money of one unit: all of it together, and the deepest fall of its running sum (>= 0)."""

    unit: str
    total: float
    drawdown: float


class Scores(Struct, frozen=True):
    """Graded outcomes: how many, their mean and the worst as fractions; `drawdown` of their sum."""

    count: int
    mean: float
    worst: float
    drawdown: float
    amounts: Sequence[Amounts]


class Figures(Struct, frozen=True, kw_only=True):
    """What some outcomes of one action came to; `target` is None for all of its targets.

    `episodes` count what was decided on one occasion once. `scores` is None if none is graded.
    """

    action: str
    target: str | None
    count: int
    neutral: int
    episodes: int
    rate: Rate
    scores: Scores | None


class ActionFigures(Struct, frozen=True, kw_only=True):
    """An action's figures, those of its targets, most outcomes first, and how many are left out.

    `causes` are the rules that its outcomes bear out, the ones to avoid first.
    """

    whole: Figures
    targets: Sequence[Figures]
    more: int
    causes: Sequence["TestedCause"]


class TestedCause(Struct, frozen=True):
    """What separates an action's outcomes, in words, whether it is a loss, and the test's p."""

    action: str
    clause: str
    risk: str
    is_loss: bool
    p: float


class DomainFigures(Struct, frozen=True, kw_only=True):
    """What a domain came to. `strategy` is the name of its strategy, if one is served."""

    name: str
    count: int
    rate: Rate
    actions: Sequence[ActionFigures]
    strategy: str | None


def domains_of(vault: Contents) -> list[DomainFigures]:
    """The domains of a vault by name, those without an outcome too."""
    by_domain: dict[str, list[Outcome]] = {
        name: [] for name in vault.view.domains if vault.is_told(name)
    }
    for outcome in vault.outcomes.values():
        if outcome.id not in vault.overruled and outcome.trust == "local":
            by_domain.setdefault(outcome.domain, []).append(outcome)
    return [_domain(vault, name, of) for name, of in sorted(by_domain.items())]


def _domain(vault: Contents, name: str, outcomes: Sequence[Outcome]) -> DomainFigures:
    ordered = sorted(outcomes, key=lambda outcome: outcome.order)
    numbers = episodes_of(ordered, vault.run.policy.evaluate.episode_minutes)
    episode_of = {outcome.id: number for outcome, number in zip(ordered, numbers, strict=True)}
    by_action: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in ordered:
        by_action[outcome.decision.action].append(outcome)
    strategy = strategy_name(name)
    return DomainFigures(
        name=name,
        count=len(ordered),
        rate=_rate_of(ordered),
        actions=[
            _action(vault, of, episode_of)
            for _, of in sorted(by_action.items(), key=lambda pair: (-len(pair[1]), pair[0]))
        ],
        strategy=strategy if strategy in vault.shelves["skills"] else None,
    )


def _action(
    vault: Contents, outcomes: Sequence[Outcome], episode_of: Mapping[str, int]
) -> ActionFigures:
    domain, action, _ = outcomes[0].subject
    by_target: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.decision.target is not None:
            by_target[outcome.decision.target].append(outcome)
    lines = [_figures(of, episode_of, target) for target, of in by_target.items()]
    lines.sort(key=lambda line: (-line.count, line.target or ""))
    rules = vault.run.accounts.actions.rules(domain, action) if action else ()
    causes = [_cause(action, rule, outcomes) for rule in rules]
    return ActionFigures(
        whole=_figures(outcomes, episode_of),
        targets=lines[:MOST],
        more=max(0, len(lines) - MOST),
        causes=sorted(causes, key=lambda cause: not cause.is_loss),
    )


def _cause(action: str, rule: Separation, outcomes: Sequence[Outcome]) -> TestedCause:
    counts = f"{risk(rule)}{sample_note(rule, outcomes)}"
    return TestedCause(action, clause(rule.conditions), counts, rule.is_loss, rule.p)


def _figures(
    outcomes: Sequence[Outcome], episode_of: Mapping[str, int], target: str | None = None
) -> Figures:
    return Figures(
        action=outcomes[0].decision.action,
        target=target,
        count=len(outcomes),
        neutral=sum(outcome.result.status == "neutral" for outcome in outcomes),
        episodes=len({episode_of[outcome.id] for outcome in outcomes}),
        rate=_rate_of(outcomes),
        scores=_scores_of(outcomes),
    )


def _rate_of(outcomes: Iterable[Outcome]) -> Rate:
    ended = Counter(outcome.result.status for outcome in outcomes)
    return Rate(ended["success"], ended["success"] + ended["failure"])


def _scores_of(outcomes: Sequence[Outcome]) -> Scores | None:
    """What graded outcomes come to, in the order of time."""
    results = [outcome.result for outcome in outcomes]
    scores = [result.score for result in results if result.score is not None]
    if not scores:
        return None
    amounts: dict[str, list[float]] = defaultdict(list)
    for result in results:
        if result.amount is not None:
            amounts[result.unit or ""].append(result.amount)
    return Scores(
        count=len(scores),
        mean=sum(scores) / len(scores),
        worst=min(scores),
        drawdown=drawdown(scores),
        amounts=[Amounts(unit, sum(of), drawdown(of)) for unit, of in sorted(amounts.items())],
    )


def drawdown(values: Iterable[float]) -> float:
    """The deepest fall of a running sum below the highest it had reached, from 0 on; >= 0."""
    highest = deepest = 0.0
    for total in accumulate(values):
        highest = max(highest, total)
        deepest = max(deepest, highest - total)
    return deepest


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
    if domain is not None and domain not in run.view.domains:
        known = ", ".join(run.view.domains) or "none yet"
        raise UsageError(f"--domain {domain}: no such domain; there are: {known}")
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
    guides = {
        page.skill.subject: page.name
        for page in skills
        if page.skill.kind == "guide" and page.shelf == "skills"
    }
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
            skill=guides.get(subject_key((domain.name, cause.action, None)), domain.strategy),
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

"""The data of `skillvault report` as one value: the week, the domains, the effect of skills.

The package `page` renders this value. The figures are those of `stats` and `status`; nothing is
written.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate

from msgspec import Struct

from skillvault.inspect import status as overview
from skillvault.inspect.lookup import Sides, both_sides
from skillvault.inspect.week import Contents, Week, contents_of, title_of, week_of
from skillvault.learning.contrast.episodes import episodes_of
from skillvault.learning.naming import strategy_name, subject_key
from skillvault.learning.skill_stats import SkillStats
from skillvault.loop.run import Run
from skillvault.model.conditions import clause, risk, sample_note
from skillvault.model.records import Evaluation, Fact, Outcome, Ref, Skill, Status
from skillvault.model.text import markdown
from skillvault.model.text.text import first_sentences, flatten
from skillvault.vault.index.rows import moment

APPLIED = frozenset({"tool", "explicit", "implicit"})
_MOST = 26  # spans of time in a line
_DAYS = (1, 7, 28, 91, 364)


class Rate(Struct, frozen=True):
    """A number of outcomes that succeeded, and of all that succeeded or failed."""

    successes: int = 0
    count: int = 0

    @property
    def share(self) -> float | None:
        """The share that succeeded; None without outcomes."""
        return self.successes / self.count if self.count else None


class Span(Struct, frozen=True):
    """A few days, and the decisions that ended in them: those with a skill and those without."""

    start: datetime
    days: int
    applied: Rate
    bare: Rate


class Benefit(Struct, frozen=True, kw_only=True):
    """The effect of all uses of skills.

    `skills` have the best lift first; `verdicts` counts them by verdict. `applied` and `bare` are
    closed decisions with and without a skill, `spans` the same over time, and `neutral` counts the
    neutral ones. `held_out` and `overruled` count decisions, `trials` the skills that are tried
    again. `used` maps each outcome to the skills that its decision applied.
    """

    skills: Sequence[SkillStats]
    verdicts: Mapping[str, int]
    applied: Rate
    bare: Rate
    spans: Sequence[Span]
    neutral: int
    held_out: int
    overruled: int
    trials: Sequence[str]
    used: Mapping[str, Sequence[str]]

    @property
    def measured(self) -> list[SkillStats]:
        """The skills with a measured lift, the best first."""
        return [skill for skill in self.skills if skill.lift is not None]


def benefit_of(vault: Contents) -> Benefit:
    """Return the effect of all uses of skills in a vault."""
    skills_by_outcome: dict[str, list[str]] = defaultdict(list)
    for outcome, skill, match, _ in vault.view.uses.matches():
        if match in APPLIED:
            skills_by_outcome[outcome].append(skill)
    decisions = [
        (moment(at), status, outcome in skills_by_outcome)
        for outcome, at, status in vault.view.uses.closed_decisions(vault.domain)
    ]
    skills = vault.effects
    return Benefit(
        skills=skills,
        verdicts=Counter(skill.verdict for skill in skills if skill.lift is not None),
        applied=_rate_among([status for _, status, is_used in decisions if is_used]),
        bare=_rate_among([status for _, status, is_used in decisions if not is_used]),
        spans=_spans(decisions),
        neutral=sum(outcome.result.status == "neutral" for outcome in vault.outcomes.values()),
        held_out=sum(skill.held_out for skill in skills),
        overruled=sum(skill.overruled for skill in skills),
        trials=sorted(skill.skill for skill in skills if skill.trial),
        used=skills_by_outcome,
    )


def _rate_among(statuses: Sequence[Status]) -> Rate:
    return Rate(sum(status == "success" for status in statuses), len(statuses))


def _spans(closed: Sequence[tuple[datetime, Status, bool]]) -> list[Span]:
    """Split decisions into days, weeks or longer spans, as many as fit a line."""
    if not closed:
        return []
    first = closed[0][0].astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    day_count = (closed[-1][0] - first).days + 1
    days = next((n for n in _DAYS if day_count / n <= _MOST), -(-day_count // _MOST))
    starts = [first + timedelta(days=days * n) for n in range(-(-day_count // days))]
    members: dict[int, list[tuple[Status, bool]]] = defaultdict(list)
    for at, status, is_used in closed:
        members[bisect_right(starts, at) - 1].append((status, is_used))
    return [
        Span(
            starts[place],
            days,
            _rate_among([status for status, is_used in decisions if is_used]),
            _rate_among([status for status, is_used in decisions if not is_used]),
        )
        for place, decisions in sorted(members.items())
    ]


_OTHERWISE: Mapping[str, Status] = {"warning": "success", "pattern": "failure"}
_WORDS = 240  # characters of what a warning says


class Touch(Struct, frozen=True):
    """A commit that touched a skill; `step` is "" for a person's."""

    commit: str
    date: str
    step: str
    subject: str


class SkillPage(Struct, frozen=True, kw_only=True):
    """A skill in any folder, with its runs and its use.

    `sides` are the runs for and against the skill, `ended` counts the supporting outcomes by
    status, and `failed` are the failures among them. `otherwise` are the outcomes with the opposite
    result: successes on the subject of a warning, failures on that of a pattern. `origins` are the
    sources of its links, as (type, kind, id).
    """

    name: str
    skill: Skill
    shelf: str
    title: str
    sides: Sides
    ended: Counter[str]
    failed: frozenset[str]
    otherwise: Sequence[str]
    origins: Sequence[tuple[str, str, str]]
    history: Sequence[Touch]

    @property
    def warns(self) -> bool:
        """True for a skill that tells what to stop: most of its outcomes failed."""
        if self.skill.kind == "guide":
            return bool(_to_avoid(self.skill))
        return self.skill.kind == "warning" or (
            self.skill.kind == "evolved" and self.ended["failure"] > self.ended["success"]
        )


class Stop(Struct, frozen=True, kw_only=True):
    """Something to stop doing: its words, its reason, and the skill that says so.

    `failures` of `count` outcomes failed; `skill` is None for a tested rule.
    """

    what: str
    why: str
    domain: str | None
    skill: str | None
    failures: int
    count: int


def skill_pages(vault: Contents) -> list[SkillPage]:
    """Return the skills of a vault: first those that agents get, each group by name."""
    history: dict[str, list[Touch]] = defaultdict(list)
    for name, sha, date, step, subject in vault.view.history.touches_of_kind("skill"):
        touches = history[name]
        if not touches or touches[-1].commit != sha[:10]:
            touches.append(Touch(sha[:10], date, step, subject))
    by_subject: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in vault.outcomes.values():
        by_subject[subject_key(outcome.subject)].append(outcome)
    return [
        _page(vault, (shelf, name), history.get(name, []), by_subject.get(skill.subject or "", ()))
        for shelf, skills in vault.shelves.items()
        for name, skill in skills.items()
    ]


def _page(
    vault: Contents, place: tuple[str, str], touches: Sequence[Touch], subject: Iterable[Outcome]
) -> SkillPage:
    shelf, name = place
    skill, ref = vault.shelves[shelf][name], Ref("skill", name)
    sides = both_sides(vault.view, ref)
    opposite = _OTHERWISE.get(skill.kind)
    return SkillPage(
        name=name,
        skill=skill,
        shelf=shelf,
        title=title_of(skill),
        sides=sides,
        ended=Counter(outcome.result.status for outcome in _outcomes(vault, sides)),
        failed=frozenset(o.id for o in _outcomes(vault, sides) if o.result.status == "failure"),
        otherwise=[outcome.id for outcome in subject if outcome.result.status == opposite],
        origins=origins_of(vault, ref),
        history=touches,
    )


def origins_of(vault: Contents, ref: Ref) -> list[tuple[str, str, str]]:
    """Return the sources of the links to a record, as (type, kind, id)."""
    links = vault.links.get(ref, ())
    return [(link.type, link.source.kind, link.source.id) for link in links]


def _outcomes(vault: Contents, sides: Sides) -> Iterator[Outcome]:
    return (vault.outcomes[name] for name in sides.supporting if name in vault.outcomes)


def warnings_of(pages: Sequence[SkillPage]) -> list[Stop]:
    """Return the warnings of the skills that agents get, the one with most failures first.

    A guide is included if it has failures that no warning covers.
    """
    warned_runs = {
        name
        for page in pages
        if page.shelf == "skills" and page.skill.kind == "warning"
        for name in page.sides.supporting
    }
    stops = [
        Stop(
            what=_warning_words(page.skill),
            why=page.title,
            domain=page.skill.domain,
            skill=page.name,
            failures=page.ended["failure"],
            count=sum(page.ended.values()),
        )
        for page in pages
        if page.shelf == "skills"
        and page.warns
        and (page.skill.kind != "guide" or not warned_runs.issuperset(page.failed))
    ]
    return sorted(stops, key=lambda stop: (-stop.failures, stop.skill or ""))


def _to_avoid(skill: Skill) -> list[str]:
    sections = markdown.sections(skill.body)
    return [
        line for part in sections if part.heading == "Avoid" for line in markdown.bullets(part.text)
    ]


def _warning_words(skill: Skill) -> str:
    """Return the first words of a warning without its condition, or what a guide says to avoid."""
    if skill.kind == "guide":
        return first_sentences(flatten(_to_avoid(skill)[0]), _WORDS)
    opening, _, text = flatten(skill.description).partition(". ")
    return first_sentences(
        text if opening.startswith("Use ") and text else flatten(skill.description), _WORDS
    )


MOST = 40  # targets of an action that have a line


class Amounts(Struct, frozen=True):
    """Amounts of one currency: their sum, and the deepest fall of their running sum (>= 0)."""

    unit: str
    total: float
    drawdown: float


class Scores(Struct, frozen=True):
    """The count, mean and minimum of scores, and the `drawdown` of their running sum."""

    count: int
    mean: float
    worst: float
    drawdown: float
    amounts: Sequence[Amounts]


class Figures(Struct, frozen=True, kw_only=True):
    """The figures of an action's outcomes on one target; `target` is None for all targets.

    `scores` is None if no outcome has a score.
    """

    action: str
    target: str | None
    count: int
    neutral: int
    episodes: int
    rate: Rate
    scores: Scores | None


class ActionFigures(Struct, frozen=True, kw_only=True):
    """The figures of an action and of its most frequent targets; `more` are left out.

    `causes` are the rules that its outcomes support; rules about losses come first.
    """

    whole: Figures
    targets: Sequence[Figures]
    more: int
    causes: Sequence["TestedCause"]


class TestedCause(Struct, frozen=True):
    """A tested rule of an action: its words, if it predicts a loss, and the p of its test."""

    action: str
    clause: str
    risk: str
    is_loss: bool
    p: float


class DomainFigures(Struct, frozen=True, kw_only=True):
    """The figures of a domain, and the name of its strategy if agents get one."""

    name: str
    count: int
    rate: Rate
    actions: Sequence[ActionFigures]
    strategy: str | None


def domains_of(vault: Contents) -> list[DomainFigures]:
    """Return the domains of a vault by name; domains without outcomes are included."""
    by_domain: dict[str, list[Outcome]] = {
        name: [] for name in vault.view.domains if vault.covers(name)
    }
    for outcome in vault.outcomes.values():
        if outcome.id not in vault.overruled and outcome.trust == "local":
            by_domain.setdefault(outcome.domain, []).append(outcome)
    return [_domain(vault, name, outcomes) for name, outcomes in sorted(by_domain.items())]


def _domain(vault: Contents, name: str, outcomes: Sequence[Outcome]) -> DomainFigures:
    outcomes = sorted(outcomes, key=lambda outcome: outcome.order)
    numbers = episodes_of(outcomes, vault.run.policy.evaluate.episode_minutes)
    episode_of = {outcome.id: number for outcome, number in zip(outcomes, numbers, strict=True)}
    by_action: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_action[outcome.decision.action].append(outcome)
    strategy = strategy_name(name)
    return DomainFigures(
        name=name,
        count=len(outcomes),
        rate=_rate_of(outcomes),
        actions=[
            _action(vault, members, episode_of)
            for _, members in sorted(by_action.items(), key=lambda pair: (-len(pair[1]), pair[0]))
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
    lines = [_figures(members, episode_of, target) for target, members in by_target.items()]
    lines.sort(key=lambda line: (-line.count, line.target or ""))
    rules = vault.run.accounts.actions.rules(domain, action) if action else ()
    causes = [
        TestedCause(
            action=action,
            clause=clause(rule.conditions),
            risk=f"{risk(rule)}{sample_note(rule, outcomes)}",
            is_loss=rule.is_loss,
            p=rule.p,
        )
        for rule in rules
    ]
    return ActionFigures(
        whole=_figures(outcomes, episode_of),
        targets=lines[:MOST],
        more=max(0, len(lines) - MOST),
        causes=sorted(causes, key=lambda cause: not cause.is_loss),
    )


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
    statuses = Counter(outcome.result.status for outcome in outcomes)
    return Rate(statuses["success"], statuses["success"] + statuses["failure"])


def _scores_of(outcomes: Sequence[Outcome]) -> Scores | None:
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
        amounts=[Amounts(unit, sum(row), drawdown(row)) for unit, row in sorted(amounts.items())],
    )


def drawdown(values: Iterable[float]) -> float:
    """Return the deepest fall of a running sum below its highest value so far (>= 0), from 0 on."""
    highest = deepest = 0.0
    for total in accumulate(values):
        highest = max(highest, total)
        deepest = max(deepest, highest - total)
    return deepest


_STOPS = 5  # things to stop doing that are told first


class JudgeCost(Struct, frozen=True):
    """The cost of judging the week's outcomes, as recorded in their evaluations."""

    tokens: int
    usd: float


class Page(Struct, frozen=True, kw_only=True):
    """All that the page of a vault shows, as of one commit; `domain` is None for all domains.

    `stops` are things to stop doing, the worst first. `cost` is None if no evaluation of the week
    was paid for. `origins` are the sources of each fact, as (type, kind, id). `questions` counts
    the open questions for an agent; it is None if the judge is not an agent.
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
    status: "overview.Status"
    cost: JudgeCost | None
    questions: int | None


def page_of(
    run: Run,
    answers: tuple["overview.Status", Sequence[SkillStats]],
    span: tuple[datetime, datetime],
    domain: str | None = None,
    questions: int | None = None,
) -> Page:
    """Return the page of these days; `answers` are the results of `status` and `stats`."""
    status, effects = answers
    run.view.check_domain(domain)
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
    guides = {
        page.skill.subject: page.name
        for page in skills
        if page.skill.kind == "guide" and page.shelf == "skills"
    }
    harmful_skills = [
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
    return [*harmful_skills, *rules, *warnings_of(skills)][:_STOPS]


def _cost(vault: Contents) -> JudgeCost | None:
    judges = [
        evaluation.judge
        for name, evaluation in vault.evaluations.items()
        if name in vault.outcomes and vault.since <= vault.outcomes[name].occurred_at <= vault.until
    ]
    tokens = sum(judge.tokens or 0 for judge in judges)
    usd = sum(judge.cost_usd or 0.0 for judge in judges)
    return JudgeCost(tokens, usd) if tokens or usd else None

"""The data of `skillvault report` as one value; the package `page` renders it.

The figures are those of `stats` and `status`; nothing is written.
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate
from typing import Literal, NamedTuple

from msgspec import Struct

from skillvault.inspect import status as overview
from skillvault.inspect.lookup import Sides, linked_sides, sides_of
from skillvault.inspect.week import (
    PageRecords,
    Week,
    read_records,
    subject_words,
    title_of,
    week_of,
)
from skillvault.learning.contrast.episodes import episodes_of
from skillvault.learning.corrections import rank_waiting
from skillvault.learning.naming import strategy_name, subject_key
from skillvault.learning.skill_stats import SkillStats
from skillvault.learning.tries.deed import deed_of
from skillvault.loop.run import Run
from skillvault.model.records import Evaluation, Fact, Outcome, Ref, Skill, Status
from skillvault.model.skill_evidence import StatementEvidence
from skillvault.model.text.text import ARROW, LATER_WORKED, pluralize
from skillvault.review.proposal import compare_with_replaced
from skillvault.vault.index.rows import moment
from skillvault.vault.index.snapshot import evidence_of

APPLIED = frozenset({"tool", "explicit", "implicit"})
_MAX_SPANS = 26  # spans of time in a line
_MIN_USES = 10  # uses from which on the rate of success is a figure
_DAYS = (1, 7, 28, 91, 364)


class Rate(Struct, frozen=True):
    """The number of successes, and the number of successes and failures."""

    successes: int = 0
    count: int = 0

    @property
    def share(self) -> float | None:
        """The share of successes; None without outcomes."""
        return self.successes / self.count if self.count else None

    @property
    def words(self) -> str:
        """The share and the number, such as `57 % of 1,200`; "" without outcomes."""
        return "" if self.share is None else f"{100 * self.share:.0f} % of {self.count:,}"


class Span(Struct, frozen=True):
    """A span of days, with the decisions that ended in it, with a skill and without."""

    start: datetime
    days: int
    applied: Rate
    bare: Rate


class Benefit(Struct, frozen=True, kw_only=True):
    """The effect of all uses of skills.

    `skills` have the best lift first. `applied` and `bare` are closed decisions with and without a
    skill, and `spans` has both by time. `held_out` and `overruled` count decisions, `trials` the
    retired skills on trial. `used` maps each outcome to the skills that its decision applied.
    """

    skills: Sequence[SkillStats]
    applied: Rate
    bare: Rate
    spans: Sequence[Span]
    held_out: int
    overruled: int
    trials: Sequence[str]
    used: Mapping[str, Sequence[str]]

    @property
    def sentence(self) -> str:
        """A sentence that says if skills help, with figures from ten uses on."""
        uses = self.applied.count
        if not uses:
            return "Not known yet: no finished task has used a lesson."
        if uses < _MIN_USES:
            return f"Too early: {pluralize(uses, 'use')}; the figure comes from {_MIN_USES} on."
        bounds = [skill.interval for skill in self.skills if skill.interval]
        helps, hurts = sum(low > 0 for low, _ in bounds), sum(high < 0 for _, high in bounds)
        answers = {(True, False): "Yes", (False, True): "No", (True, True): "Partly"}
        answer = answers.get((helps > 0, hurts > 0), "Not shown yet")
        contrast = f", {self.bare.words} without one" if self.bare.count else ""
        comparison = "no lesson is compared with decisions of the same kind yet"
        if self.measured:
            measured = pluralize(len(self.measured), "lesson")
            verbs = f"surely help{'s' * (helps == 1)} and {hurts} surely hurt{'s' * (hurts == 1)}"
            comparison = f"of the same kind compared, {helps} of {measured} {verbs}"
        return (
            f"{answer}: {self.applied.words} decisions with a lesson succeeded{contrast}; "
            f"{comparison}."
        )

    @property
    def measured(self) -> list[SkillStats]:
        """The skills with a measured lift, best first."""
        return [skill for skill in self.skills if skill.lift is not None]


def benefit_of(vault: PageRecords) -> Benefit:
    """Return the effect of all uses of skills in a vault."""
    skills_by_outcome: dict[str, list[str]] = defaultdict(list)
    for outcome, skill, match, _ in vault.snapshot.uses.matches():
        if match in APPLIED:
            skills_by_outcome[outcome].append(skill)
    decisions = [
        _ClosedDecision(moment(at), status, outcome in skills_by_outcome)
        for outcome, at, status in vault.snapshot.uses.closed_decisions(vault.domain)
    ]
    skills = vault.effects
    return Benefit(
        skills=skills,
        applied=_rate_of(decisions, has_skill=True),
        bare=_rate_of(decisions, has_skill=False),
        spans=_spans(decisions),
        held_out=sum(skill.held_out for skill in skills),
        overruled=sum(skill.overruled for skill in skills),
        trials=sorted(skill.skill for skill in skills if skill.trial),
        used=skills_by_outcome,
    )


class _ClosedDecision(NamedTuple):
    at: datetime
    status: Status
    has_skill: bool


def _rate_of(decisions: Iterable[_ClosedDecision], *, has_skill: bool) -> Rate:
    return _rate(decision.status for decision in decisions if decision.has_skill == has_skill)


def _rate(statuses: Iterable[Status]) -> Rate:
    counts = Counter(statuses)
    return Rate(counts["success"], counts["success"] + counts["failure"])


def _spans(decisions: Sequence[_ClosedDecision]) -> list[Span]:
    """Split decisions into days, weeks or longer spans, as many as fit a line."""
    if not decisions:
        return []
    midnight = decisions[0].at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    day_count = (decisions[-1].at - midnight).days + 1
    days = next((n for n in _DAYS if day_count / n <= _MAX_SPANS), -(-day_count // _MAX_SPANS))
    starts = [midnight + timedelta(days=days * n) for n in range(-(-day_count // days))]
    members: dict[int, list[_ClosedDecision]] = defaultdict(list)
    for decision in decisions:
        members[bisect_right(starts, decision.at) - 1].append(decision)
    return [
        Span(starts[index], days, _rate_of(group, has_skill=True), _rate_of(group, has_skill=False))
        for index, group in sorted(members.items())
    ]


_RUN_NOTE = re.compile(r" \(\d+ of \d+ runs failed.*")  # the page counts runs itself
_DEED_START = 20  # characters by which a deed is recognized
_OPPOSITES: Mapping[str, Status] = {"warning": "success", "pattern": "failure"}


class Revision(Struct, frozen=True):
    """A commit that touched a skill; `step` is "" for a commit of a person."""

    commit: str
    date: str
    step: str
    subject: str


class SkillPage(Struct, frozen=True, kw_only=True):
    """A skill in any folder, with its runs and its use.

    `sides` are the runs for and against the skill, `statements` those of its evidence file.
    `otherwise` are the outcomes with the opposite result: successes on the subject of a warning,
    failures on the subject of a pattern. `origins` are the sources of its links, as (type, kind,
    id).
    """

    name: str
    skill: Skill
    folder: str
    title: str
    sides: Sides
    statements: Sequence[StatementEvidence]
    otherwise: Sequence[str]
    origins: Sequence[tuple[str, str, str]]
    history: Sequence[Revision]

    @property
    def path(self) -> str:
        """The path of the skill's file."""
        return f"{self.folder}/{self.name}/SKILL.md"


class FailedDeed(Struct, frozen=True, kw_only=True):
    """A deed that failed, its result, and what to do instead, or "" without advice.

    `failures` of `count` runs failed, both 0 for a tested rule. With `is_group` the runs did
    several similar deeds. `skill` is the skill that says so.
    """

    deed: str
    result: str
    instead: str
    domain: str | None
    skill: str | None
    failures: int = 0
    count: int = 0
    is_group: bool = False


def skill_pages(vault: PageRecords) -> list[SkillPage]:
    """Return the skills of a vault by name, live skills first."""
    history: dict[str, list[Revision]] = defaultdict(list)
    for name, sha, date, step, subject in vault.snapshot.history.touches_of_kind("skill"):
        touches = history[name]
        if not touches or touches[-1].commit != sha[:10]:
            touches.append(Revision(sha[:10], date, step, subject))
    key_of = cache(subject_key)
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in vault.outcomes.values():
        groups[key_of(outcome.subject)].append(outcome)
    pages = []
    for folder, skills in vault.folders.items():
        for name, skill in skills.items():
            ref = Ref("skill", name)
            evidence, opposite = evidence_of(vault.snapshot, ref), _OPPOSITES.get(skill.kind)
            peers = groups.get(skill.subject or "", ())
            page = SkillPage(
                name=name,
                skill=skill,
                folder=folder,
                title=title_of(skill),
                sides=sides_of(evidence) if evidence else linked_sides(vault.links_to, ref),
                statements=evidence.statements if evidence else (),
                otherwise=[peer.id for peer in peers if peer.result.status == opposite],
                origins=origins_of(vault, ref),
                history=history.get(name, []),
            )
            pages.append(page)
    return pages


def origins_of(vault: PageRecords, ref: Ref) -> list[tuple[str, str, str]]:
    """Return the sources of the links to a record, as (type, kind, id)."""
    return [(link.type, link.source.kind, link.source.id) for link in vault.links_to(ref)]


def failed_deeds(vault: PageRecords, pages: Sequence[SkillPage]) -> list[FailedDeed]:
    """Return the failed deeds in the skills that agents get, the most frequent first.

    Among equals, deeds with advice come first, and guides come before warnings, because they also
    say what worked.
    """
    served_pages = [page for page in pages if page.folder == "skills"]
    served_pages.sort(key=lambda page: page.skill.kind != "guide")
    listed_runs = set[str]()
    failures: list[tuple[SkillPage, StatementEvidence]] = []
    for page in served_pages:
        for statement in page.statements:
            is_loss = statement.kind == "extreme" and page.skill.kind == "warning"
            if is_loss or statement.kind == "failed":
                if not listed_runs.issuperset(statement.supporting):
                    failures.append((page, statement))
                listed_runs.update(statement.supporting)
    failures.sort(key=lambda pair: max(pair[1].supporting), reverse=True)
    deeds = [_failed_deed(vault, page, statement) for page, statement in failures]
    return sorted(deeds, key=lambda deed: (-deed.failures, not deed.instead))


def _failed_deed(vault: PageRecords, page: SkillPage, statement: StatementEvidence) -> FailedDeed:
    outcome = vault.outcomes.get(statement.supporting[-1])
    subject = subject_words(outcome) if outcome else page.title
    loss, text = "", statement.statement
    if statement.kind == "extreme":
        loss, _, text = text.partition(": ")
    deed, arrow, result = text.partition(ARROW)
    if not arrow:
        deed, result = subject, text
    elif loss:
        deed = f"{subject}: {deed}"
    outcomes = [vault.outcomes[name] for name in statement.supporting if name in vault.outcomes]
    is_group = ARROW in result
    result, _, remedy = result_of_first(result, map(deed_of, outcomes)).partition(LATER_WORKED)
    result = _RUN_NOTE.sub("", result)
    runs = set(statement.supporting)
    lessons = (
        lesson.statement
        for lesson in page.statements
        if lesson.kind == "lesson" and not runs.isdisjoint(lesson.supporting)
    )
    advice = next(lessons, remedy.removesuffix(".").removesuffix(")"))
    result = cut_repetition(result.rstrip(" (;"), advice)
    label, colon, words = advice.partition(": ")
    if colon and deed.casefold().startswith(f"{label}: ".casefold()):
        advice = f"{words[:1].upper()}{words[1:]}"
    return FailedDeed(
        deed=deed,
        result=f"{loss}: {result}" if loss else result,
        instead=advice,
        domain=page.skill.domain,
        skill=page.name,
        failures=len(runs),
        count=len(runs) + len(statement.against),
        is_group=is_group,
    )


def cut_repetition(result: str, lesson: str) -> str:
    """Cut off the end of a person's words if the lesson, `subject: words (notes)`, quotes it."""
    words = lesson.partition(" (")[0].rstrip(".")
    for text in (words, words.partition(": ")[2]):
        quotation = re.search(rf"\W{re.escape(text)}\W*$", result, re.IGNORECASE)
        if text and quotation:
            return result[: quotation.start()].rstrip(" .,;:-–—")
    return result


def result_of_first(text: str, deeds: Iterable[str]) -> str:
    """Return the result of the first deed; `text` continues with other deeds and their results."""
    if ARROW not in text:
        return text
    starts = (text.find(deed[:_DEED_START]) for deed in deeds if deed)
    end = min((start for start in starts if start > 0), default=text.find(ARROW))
    return text[:end].rpartition("; ")[0]


MAX_TARGETS = 40  # targets of an action that have a line


class Amounts(Struct, frozen=True):
    """Amounts of one currency: the sum, and the deepest fall of the running sum (>= 0)."""

    unit: str
    total: float
    drawdown: float


class Scores(Struct, frozen=True):
    """The count, mean and minimum of scores, and the `drawdown` of the running sum."""

    count: int
    mean: float
    worst: float
    drawdown: float
    amounts: Sequence[Amounts]


class Figures(Struct, frozen=True, kw_only=True):
    """The figures of the outcomes of an action on one target; `target` is None for all targets.

    `scores` is None if no outcome has a score.
    """

    action: str
    target: str | None
    count: int
    episodes: int
    rate: Rate
    scores: Scores | None


class ActionFigures(Struct, frozen=True, kw_only=True):
    """The figures of an action and of its most frequent targets; `more` targets are left out."""

    whole: Figures
    targets: Sequence[Figures]
    more: int


class DomainFigures(Struct, frozen=True, kw_only=True):
    """The figures of a domain, and the name of its strategy if agents get one.

    `causes` are the rules and leads of its guides.
    """

    name: str
    count: int
    rate: Rate
    actions: Sequence[ActionFigures]
    strategy: str | None
    causes: Sequence[str]


def domains_of(vault: PageRecords, pages: Sequence[SkillPage]) -> list[DomainFigures]:
    """Return the domains of a vault by name; domains without outcomes are included."""
    causes: dict[str | None, list[str]] = defaultdict(list)
    for page, rule in _rules(pages):
        causes[page.skill.domain].append(f"{_action_of(rule)}: {rule.statement}")
    domains = filter(vault.covers, vault.snapshot.domains)
    outcomes: dict[str, list[Outcome]] = {name: [] for name in domains}
    for outcome in vault.outcomes.values():
        if outcome.id not in vault.overruled and outcome.trust == "local":
            outcomes.setdefault(outcome.domain, []).append(outcome)
    return [_domain(vault, *pair, causes[pair[0]]) for pair in sorted(outcomes.items())]


def _rules(pages: Iterable[SkillPage]) -> Iterator[tuple[SkillPage, StatementEvidence]]:
    """Yield the rules and leads of the guides that agents get."""
    for page in pages:
        if page.folder == "skills" and page.skill.kind == "guide":
            yield from ((page, s) for s in page.statements if s.rule is not None)


def _action_of(rule: StatementEvidence) -> str:
    return str((rule.rule or {}).get("action", ""))


def _domain(
    vault: PageRecords, name: str, outcomes: Sequence[Outcome], causes: Sequence[str]
) -> DomainFigures:
    outcomes = sorted(outcomes, key=lambda outcome: outcome.order)
    numbers = episodes_of(outcomes, vault.run.policy.evaluate.episode_minutes)
    episode_of = {outcome.id: number for outcome, number in zip(outcomes, numbers, strict=True)}
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.decision.action].append(outcome)
    strategy = strategy_name(name)
    return DomainFigures(
        name=name,
        count=len(outcomes),
        rate=_rate(outcome.result.status for outcome in outcomes),
        actions=[
            _action(members, episode_of)
            for _, members in sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0]))
        ],
        strategy=strategy if strategy in vault.folders["skills"] else None,
        causes=causes,
    )


def _action(outcomes: Sequence[Outcome], episode_of: Mapping[str, int]) -> ActionFigures:
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.decision.target is not None:
            groups[outcome.decision.target].append(outcome)
    lines = [_figures(members, episode_of, target) for target, members in groups.items()]
    lines.sort(key=lambda line: (-line.count, line.target or ""))
    return ActionFigures(
        whole=_figures(outcomes, episode_of),
        targets=lines[:MAX_TARGETS],
        more=max(0, len(lines) - MAX_TARGETS),
    )


def _figures(
    outcomes: Sequence[Outcome], episode_of: Mapping[str, int], target: str | None = None
) -> Figures:
    return Figures(
        action=outcomes[0].decision.action,
        target=target,
        count=len(outcomes),
        episodes=len({episode_of[outcome.id] for outcome in outcomes}),
        rate=_rate(outcome.result.status for outcome in outcomes),
        scores=_scores_of(outcomes),
    )


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
    """Return the deepest fall of a running sum below its highest value (>= 0), from 0 on."""
    highest = deepest = 0.0
    for total in accumulate(values):
        highest = max(highest, total)
        deepest = max(deepest, highest - total)
    return deepest


_HARMFUL_FIRST = 2  # the most harmful skills and rules that stand before the deeds


class Waiting(Struct, frozen=True, kw_only=True):
    """A rule or a skill that waits for a person: its text, its origin, and its changes."""

    name: str
    kind: Literal["rule", "skill"]
    text: str
    note: str
    diff: Sequence[str]


def waiting_of(vault: PageRecords) -> list[Waiting]:
    """Return the rules and skills that wait for a decision of a person, rules first."""
    rules = [
        Waiting(
            name=rule.id,
            kind="rule",
            text=rule.text,
            note=f"stated on {rule.created_at:%Y-%m-%d}",
            diff=[f"+{rule.text}"],
        )
        for rule in rank_waiting(vault.snapshot.corrections.waiting())
        if vault.covers(rule.domain)
    ]
    skills = [
        Waiting(
            name=name,
            kind="skill",
            text=title_of(skill),
            note=f"{skill.kind} of {skill.domain or 'every domain'}",
            diff=compare_with_replaced(vault.run, name, skill).diff,
        )
        for name, skill in sorted(vault.folders["proposed"].items())
    ]
    return [*rules, *skills]


class JudgeCost(Struct, frozen=True):
    """The cost of judging the week's outcomes, as recorded in their evaluations."""

    tokens: int
    usd: float


class Page(Struct, frozen=True, kw_only=True):
    """All that the page of a vault shows, at one commit; `domain` is None for all domains.

    `stops` are deeds that failed, the worst first. `cost` is None if no evaluation of the week was
    paid for. `origins` are the sources of each fact, as (type, kind, id). `questions` counts the
    open questions for an agent; None if the judge is not an agent.
    """

    name: str
    domain: str | None
    head: str | None
    week: Week
    stops: Sequence[FailedDeed]
    waiting: Sequence[Waiting]
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
    run.snapshot.check_domain(domain)
    vault = read_records(run, effects, span, domain)
    benefit, skills = benefit_of(vault), skill_pages(vault)
    harmful = _harmful(benefit, skills)
    return Page(
        name=run.store.root.resolve().name,
        domain=domain,
        head=run.snapshot.commit,
        week=week_of(vault),
        stops=[*harmful[:_HARMFUL_FIRST], *failed_deeds(vault, skills), *harmful[_HARMFUL_FIRST:]],
        waiting=waiting_of(vault),
        benefit=benefit,
        domains=domains_of(vault, skills),
        skills=skills,
        outcomes=vault.outcomes,
        evaluations=vault.evaluations,
        facts=vault.facts,
        origins={name: origins_of(vault, Ref("fact", name)) for name in vault.facts},
        status=status,
        cost=_cost(vault),
        questions=questions,
    )


def _harmful(benefit: Benefit, skills: Sequence[SkillPage]) -> list[FailedDeed]:
    """Return the skills that hurt, and the tested rules about losses."""
    deeds = []
    for skill in benefit.skills:
        low, high = skill.interval or (0.0, 0.0)
        if high >= 0 or skill.status == "retired":
            continue
        remover = f"skillvault skill retire {skill.skill}"
        if skill.decision.startswith("retired"):
            remover = "the next run"
        deed = FailedDeed(
            deed=f"Following {skill.skill}",
            result=f"Of 100 decisions, {-100 * (skill.lift or 0):.0f} fewer succeed with it "
            f"(95 %: {-100 * high:.0f} to {-100 * low:.0f})",
            instead=f"Decide without it; {remover} retires it",
            domain=skill.domain,
            skill=skill.skill,
            failures=skill.failure_count,
            count=skill.times_applied,
        )
        deeds.append(deed)
    for page, statement in _rules(skills):
        rule = statement.rule or {}
        if str(rule.get("result")).startswith(("failures", "losses")) and not rule.get("lead"):
            condition, _, risk = statement.statement.partition(": ")
            name = f"{_action_of(statement)} {condition}"
            deeds.append(
                FailedDeed(
                    deed=name, result=risk, instead="", domain=page.skill.domain, skill=page.name
                )
            )
    return deeds


def _cost(vault: PageRecords) -> JudgeCost | None:
    judges = [
        evaluation.judge
        for name, evaluation in vault.evaluations.items()
        if name in vault.outcomes and vault.since <= vault.outcomes[name].occurred_at <= vault.until
    ]
    tokens, usd = sum(j.tokens or 0 for j in judges), sum(j.cost_usd or 0.0 for j in judges)
    return JudgeCost(tokens, usd) if tokens or usd else None

"""promote: confirmed insights become facts, facts that recur become pattern skills."""

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC
from functools import partial
from hashlib import sha256
from itertools import chain, islice

import msgspec

from skillvault.learning.account.reading import last_point
from skillvault.learning.promote import CONSOLIDATE, RECOUNT
from skillvault.learning.promote import facts as promote
from skillvault.learning.promote import skills as recurrence
from skillvault.learning.promote.evaluated_runs import (
    CROWDED,
    EvaluatedRun,
    RunBook,
    RunHistory,
    evaluated_run,
)
from skillvault.learning.promote.facts import is_contested
from skillvault.learning.promote.support import (
    Support,
    SupportPlan,
    fact_changes,
    support_state,
    weighing_changes,
)
from skillvault.loop.clock import clock
from skillvault.loop.derived_skills import derived_skills, may_leave, shelf_of
from skillvault.loop.general import general_changes, general_plan
from skillvault.loop.judging.judge_replies import draft_by, told_by
from skillvault.loop.next_versions import approved_name, with_waiting_account, with_waiting_accounts
from skillvault.loop.run import Run
from skillvault.model.change import Change
from skillvault.model.records import Evaluation, Fact, Link, Ref, Skill, moment_of
from skillvault.model.sameness.comparison import lookup_keys
from skillvault.model.text.text import words
from skillvault.vault.index.facts import (
    Facts,
    FactTally,
    Insights,
    LazyFacts,
    Membership,
    Unit,
    UnitTally,
)
from skillvault.vault.index.snapshot import Topics


def run_book(view: Topics) -> RunBook:
    """The runs that the vault knows, to which more can be added."""
    insights = view.insights
    loaded: dict[str, EvaluatedRun | None] = {}

    def load_runs(evaluations: Collection[str]) -> dict[str, EvaluatedRun]:
        names = [name for name in evaluations if name not in loaded]
        records = view.evaluations.get_many(names)
        outcomes = view.outcomes.get_many(records)
        for name in names:
            record = records.get(name)
            loaded[name] = evaluated_run(record, outcomes.get(name)) if record else None
        return {name: run for name in evaluations if (run := loaded[name])}

    return RunBook(
        RunHistory(
            load=load_runs,
            known=insights.indexed_evaluations,
            claims=insights.claims,
            sayings=insights.sayings,
            tallies=insights.tallies,
            makers=lambda domain, words: insights.makers(domain, words, CROWDED),
            tellers=lambda fact, at: view.facts.supporters_of_moment(fact, moment_of(at)),
        )
    )


def _keep_runs(insights: Insights, book: RunBook) -> None:
    """Keep what the runs say that were not known yet, and who of them made a fact."""
    for run in book.new.values():
        insights.keep_run(run.domain, run.saying, [run.words, *run.states])
        insights.keep_claim(run.domain, run.words, lookup_keys(run.claim))
    for run in book.load(book.makers).values():
        insights.keep_maker(run.domain, run.id, [run.words, *run.grounds])


_FACT, _UNIT = msgspec.msgpack.Decoder(FactTally), msgspec.msgpack.Decoder(UnitTally)
_PAGE = 1000  # evaluations that are looked at together


def step(run: Run) -> Iterator[Change]:
    """One change a fact, a fact that is weighed, a skill, a skill that grows."""
    yield from _facts(run)
    yield from skill_changes(run)


def skill_changes(run: Run) -> Iterator[Change]:
    """One change a skill that facts make, or that grows or leaves with them."""
    if not run.options.consolidates:
        return
    is_changed = False
    for change in chain(_skills(run), general_changes(run, of_some)):
        is_changed = True
        yield change
    if is_changed and not run.report.unavailable:
        # Both settle the facts of what was made.
        deque(_plans(run), maxlen=0)
        general_plan(run, of_some)


def support_plan(run: Run, due: Iterable[str]) -> SupportPlan:
    """What these evaluations support and speak against."""
    material = of_evaluations(run, due, LazyFacts)
    evaluated = (
        evaluated_run(evaluation, material.outcomes.get(evaluation.outcome))
        for evaluation in material.evaluations.values()
    )
    book = run_book(run.view)
    plan = Support(book, material, run.policy).plan(filter(None, evaluated))
    if not run.options.asks:
        _keep_runs(run.store.staging.insights, book)
    return plan


def state(run: Run, evaluation_id: str) -> promote.PromotionState | None:
    """Where an evaluation stands with memory; None if there is none."""
    material = of_evaluations(run, [evaluation_id])
    evaluation = material.evaluations.get(evaluation_id)
    if evaluation is None:
        return None
    if not run.rules.weighs:
        return promote.insight_state(evaluation, material, run.policy)
    return support_state(evaluation, run_book(run.view), material, run.policy)


def pages(run: Run, ids: Iterable[str]) -> Iterator[promote.PromotionMaterial]:
    """What the first arrow reads for many evaluations, a page at a time."""
    left = iter(ids)
    while page := list(islice(left, _PAGE)):
        yield of_evaluations(run, page)


def of_evaluations(
    run: Run,
    ids: Iterable[str],
    facts: Callable[[Facts, Collection[str]], Mapping[str, Fact]] = Facts.by_domain,
) -> promote.PromotionMaterial:
    """What the first arrow reads of the vault for some evaluations, and of their domains."""
    view = run.view
    names = list(ids)
    overruled = view.outcomes.overruled_ids(names)
    evaluations = view.evaluations.get_many(name for name in names if name not in overruled)
    known = facts(view.facts, {e.domain for e in evaluations.values()})
    return _material(run, evaluations, known, [Ref("evaluation", name) for name in evaluations])


def of_facts(run: Run, domains: Iterable[str]) -> promote.PromotionMaterial:
    """What the second arrow reads of the vault for some domains."""
    return of_some(run, run.view.facts.by_domain(domains))


def of_some(run: Run, facts: Mapping[str, Fact]) -> promote.PromotionMaterial:
    """What the second arrow reads of the vault for these facts."""
    return _material(run, {}, facts, [Ref("fact", name) for name in facts])


def _material(
    run: Run, evaluations: Mapping[str, Evaluation], facts: Mapping[str, Fact], sources: list[Ref]
) -> promote.PromotionMaterial:
    view, rules = run.view, run.policy.promote
    refused = run.rejections.sources(promote.STEP, "fact")
    enough = None if run.options.asks else max(rules.cluster_size, rules.min_sessions)
    made = run.made(promote.STEP, "skill", (ref for ref in sources if ref.kind == "fact"))
    links = [link for link in view.links.by_source(sources) if not _leads_to_version(view, link)]
    return promote.PromotionMaterial(
        outcomes=view.outcomes.get_many(evaluations) if evaluations else view.outcomes,
        evaluations=evaluations,
        facts=facts,
        links={link.id: link for link in links},
        made_skills={fact: approved_name(view, name) for fact, name in made.items()},
        rejections=run.rejections,
        taken_away=view.evaluations.get_many(ref.partition(":")[2] for ref in refused).values(),
        support=view.evaluations.supporting,
        outcomes_of=view.outcomes.get_many,
        sessions_of=lambda names: view.facts.sessions(names, enough),
        counts=view.facts,
        clock=lambda domain: clock(view, domain, run.now, run.rules),
        rules=run.rules,
    )


def _leads_to_version(view: Topics, link: Link) -> bool:
    """Whether a link leads to the next version of a skill: its fact is told by the skill itself."""
    target = link.target
    return target.kind == "skill" and approved_name(view, target.id) != target.id


def _plans(
    run: Run,
) -> Iterator[tuple[set[str], promote.PromotionMaterial, recurrence.Patterns]]:
    """What there is to do with the facts that changed; settles those with which nothing is."""
    due, recounted = map(run.view.due.keys, (CONSOLIDATE, RECOUNT))
    by_domain = _connected_facts(run, due, recounted) if due or recounted else {}
    waiting: set[str] = set()
    for _, names in sorted(by_domain.items()):
        found = of_some(run, run.view.facts.get_many(names))
        skills = derived_skills(run, set(found.skills_of.values()))
        old = run.view.facts.superseded_ids(names)
        current = {name: fact for name, fact in found.facts.items() if name not in old}
        material = msgspec.structs.replace(found, facts=current)
        plan = recurrence.plan_patterns(material, skills, run.policy)
        plan = msgspec.structs.replace(
            plan,
            due=tuple(pattern for pattern in plan.due if not _is_told(run, pattern)),
            left=tuple(skill for skill in plan.left if may_leave(run, skill)),
        )
        leaving = {skill.name for skill in plan.left}
        keys = {fact for fact, skill in found.skills_of.items() if skill in leaving}
        keys.update(plan.refused, *([f.id for f in pattern.facts] for pattern in plan.due))
        waiting |= keys
        if not run.options.asks:
            _keep_tallies(run, names, keys)
        if plan.due or plan.rejected or plan.left:
            yield keys, material, plan
    run.settle(CONSOLIDATE, set(due) - waiting)
    run.settle(RECOUNT, set(recounted) - waiting)


def _connected_facts(
    run: Run, due: Collection[str], recounted: Collection[str]
) -> dict[str, set[str]]:
    """Domain -> the facts that changed, and all that share a cluster or a skill with them.

    Directly or by way of others, now or before. Of those that were `recounted` the ones of which
    a skill would tell something else. A question is told of whole domains: it keeps nothing.
    """
    view = run.view
    names = {*due, *recounted}
    if not run.options.asks:
        names -= _quiet_facts(run, names.difference(due))
    found = of_some(run, view.facts.get_many(names))
    old, new = view.clusters.of_facts(names), _pooled(found, view.facts.superseded_ids(names))
    facts: dict[str, set[str]] = defaultdict(set)
    if run.options.asks:
        domains = {row.domain for row in (*old.values(), *new.values())}
        for fact in view.facts.by_domain(domains).values():
            facts[fact.domain].add(fact.id)
        return facts
    changed = keep_clusters(view, old, new, run.policy.promote.cluster_above)
    _keep_counted(run, new)
    changed += [*old.values(), *view.clusters.of_facts(new).values()]
    seeds = {row.seed for row in changed if row.seed}
    skills = {row.skill for row in changed if row.skill}
    skills.update(link.target.id for link in found.links.values())
    for row in (*changed, *view.clusters.connected_facts(seeds, skills).values()):
        facts[row.domain].add(row.fact)
    return facts


def _quiet_facts(run: Run, names: Collection[str]) -> set[str]:
    """Those of these facts of which more runs speak, and of which a skill would tell the same."""
    clusters, rules = run.view.clusters, run.policy.promote
    facts, seen = run.view.facts.get_many(names), clusters.last_link()
    quiet: set[str] = set()
    for name, row in sorted(clusters.of_facts(facts).items()):
        if row.counted is None or not run.rules.weighs:
            continue
        counted = _FACT.decode(row.counted)
        links = clusters.new_links(name, counted.seen)
        more = counted.with_links(links, seen)
        if more is None or _is_contested(facts[name], more) != _is_contested(facts[name], counted):
            continue
        if row.seed:
            is_large = clusters.is_of_size(row.seed, rules.cluster_size)
            unit = clusters.of_facts([row.seed])[row.seed] if is_large else row
            told = _UNIT.decode(unit.told) if unit.told else None
            tally = told and told.with_links(links, _enough(run))
            if not (told and tally) or last_point(told.runs) != last_point(tally.runs):
                continue
            clusters.keep_unit_tally([unit.fact], tally)
        clusters.keep_fact_tally(name, more)
        quiet.add(name)
    return quiet


def _is_contested(fact: Fact, counted: FactTally) -> bool:
    return is_contested(fact, counted.runs, counted.against)


def _enough(run: Run) -> int:
    return max(run.policy.promote.cluster_size, run.policy.promote.min_sessions)


def _keep_counted(run: Run, facts: Collection[str]) -> None:
    """Keep how many runs speak of these facts."""
    clusters = run.view.clusters
    seen, counts = clusters.last_link(), clusters.fact_tallies(facts)
    for name in facts:
        clusters.keep_fact_tally(name, FactTally(seen, *counts.get(name, ("", 0, 0))))


def _keep_tallies(run: Run, names: Collection[str], waiting: Collection[str]) -> None:
    """Keep as of which runs these facts were looked at; `waiting` are looked at again."""
    clusters = run.view.clusters
    rows = clusters.of_facts(names).values()
    clusters.keep_unit_tally([row.fact for row in rows if row.told], None)
    by_seed: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row.seed:
            by_seed[row.seed].append(row.fact)
    for seed, facts in by_seed.items():
        is_large = len(facts) >= run.policy.promote.cluster_size
        units = [Unit("seed", seed)] if is_large else [Unit("fact", fact) for fact in facts]
        for unit in units if set(facts).isdisjoint(waiting) else ():
            clusters.keep_unit_tally([unit.name], clusters.tally(unit, _enough(run)))


def _pooled(material: promote.PromotionMaterial, old: Collection[str]) -> dict[str, Membership]:
    """Where facts are compared with others, if they are; of `old` another took the place."""
    pools, rows = recurrence.pools(material), dict[str, Membership]()
    for fact in material.facts.values():
        pool = None if fact.id in old else pools.get(fact.id)
        skill = material.skills_of.get(fact.id)
        at, name = fact.order
        place = f"{at.astimezone(UTC).isoformat(timespec='microseconds')} {name}"
        text = sha256(promote.statement_of(fact).encode(errors="surrogatepass")).hexdigest()
        row = Membership(fact.id, fact.domain, skill=skill)
        if pool:
            row = row._replace(pool=" ".join(pool[1:]), place=place, words=text)
        rows[fact.id] = row
    return rows


def keep_clusters(
    view: Topics, old: Mapping[str, Membership], new: Mapping[str, Membership], above: float
) -> list[Membership]:
    """Keep facts that changed in their clusters; all others that are in another one therefore.

    What is no seed changes no cluster but its own, nor does a seed that comes last. Of any other
    change the pool is clustered anew.
    """
    clusters, stale = view.clusters, set[tuple[str, str]]()
    moved = {n: row for n, row in new.items() if n not in old or _where(row) != _where(old[n])}
    for name, row in old.items():
        if name not in new or name in moved:
            clusters.drop_rows([name])
            if row.pool and row.seed == name:
                stale.add((row.domain, row.pool))
    for name, row in new.items():
        if name not in moved and row.skill != old[name].skill:
            clusters.keep_rows([row._replace(seed=old[name].seed)])
    said = {name: _fact_words(fact) for name, fact in view.facts.get_many(moved).items()}
    for row in sorted(moved.values(), key=lambda row: row.place):
        seed = clusters.first_seed(row, said[row.fact], above) if row.pool else None
        if row.pool and seed is None:
            seed = row.fact
            clusters.keep_seed(row, said[row.fact])
            if not clusters.is_last(row):
                stale.add((row.domain, row.pool))
        clusters.keep_rows([row._replace(seed=seed)])
    return [row for pool in sorted(stale) for row in _cluster_anew(view, *pool, above)]


def _cluster_anew(view: Topics, domain: str, pool: str, above: float) -> Iterator[Membership]:
    """Cluster a pool; yields what is in another cluster then, as it was and as it is."""
    rows, clusters = view.clusters.of_pool(domain, pool), view.clusters
    facts = view.facts.get_many(row.fact for row in rows)
    texts = [promote.statement_of(facts[row.fact]) for row in rows]
    for places in promote.clusters(texts, above, 1):
        seed = rows[places[0]].fact
        moved = [rows[place] for place in places if rows[place].seed != seed]
        clusters.drop_rows([row.fact for row in moved])
        kept = [row._replace(seed=seed) for row in moved]
        clusters.keep_rows(kept)
        for row in kept:
            if row.fact == seed:
                clusters.keep_seed(row, _fact_words(facts[seed]))
        yield from (*moved, *kept)


def _where(row: Membership) -> tuple[str, str | None, str, str]:
    return row.domain, row.pool, row.place, row.words


def _fact_words(fact: Fact) -> frozenset[str]:
    return words(promote.statement_of(fact))


def told_patterns(
    run: Run, domain: str
) -> Iterator[tuple[promote.PromotionMaterial, recurrence.Pattern, Skill]]:
    """What recurs in a domain, and the living skill that tells it as it is counted now."""
    found = of_facts(run, [domain])
    skills = with_waiting_accounts(run.view, run.view.skills.live(set(found.skills_of.values())))
    for pattern in recurrence.current_patterns(found, skills, run.policy):
        yield found, pattern, skills[pattern.skill or ""]


def _is_told(run: Run, pattern: recurrence.Pattern) -> bool:
    """Return True for a warning of facts about one action, whose guide says the same."""
    if pattern.kind != "warning" or pattern.skill:
        return False
    return run.view.facts.is_of_one_action([fact.id for fact in pattern.facts])


def _facts(run: Run) -> Iterator[Change]:
    due = run.view.due.keys(promote.STEP)
    weighed = support_plan(run, due)
    run.report.rejected += weighed.rejected
    yield from fact_changes(run.track(weighed.facts, "promoting"))
    links = [
        link for link in weighed.links if link.target.id in run.view.facts
    ]  # or it has to wait
    retellings = [retold for retold in weighed.retellings if retold.fact.id in run.view.facts]
    if links or retellings:
        yield from weighing_changes(links, retellings)
    if len(links) == len(weighed.links):
        # Weighing makes due what it has weighed; what somebody else made due meanwhile stays.
        run.settle(promote.STEP, _made_due(run, weighed).union(due))


def _made_due(run: Run, weighed: SupportPlan) -> set[str]:
    """The evaluations that become due by the changes of a plan."""
    facts = (Ref("fact", retelling.fact.id) for retelling in weighed.retellings)
    links = [*weighed.links, *run.view.links.by_target(facts)]
    sources = {link.source.id for link in links if link.source.kind == "evaluation"}
    return sources | {fact.evaluation.id for fact in weighed.facts}


def _skills(run: Run) -> Iterator[Change]:
    for keys, found, plan in list(_plans(run)):
        made = bool(plan.left or plan.rejected)
        run.report.rejected += plan.rejected
        for skill in plan.left:
            yield recurrence.leave_change(skill, shelf_of(run, skill))
        for pattern in plan.due:
            make = partial(_written, run, found, pattern)
            name = pattern.skill or f"pattern-{pattern.facts[0].domain}"
            for change in run.written(make, name):
                made = True
                yield change
        if not made and not run.report.unavailable:
            run.settle(CONSOLIDATE, keys)
            run.settle(RECOUNT, keys)


def _written(
    run: Run, found: promote.PromotionMaterial, pattern: recurrence.Pattern
) -> Change | None:
    """The skill of a pattern, new or grown; None where the judge writes no text."""
    draft = draft_by(run.judge, recurrence.pattern_brief(pattern, found))
    if draft is None:
        return None
    if pattern.skill is None:
        change = recurrence.skill_change(
            pattern, draft, is_taken=run.view.skills.is_name_taken, now=run.now, rules=run.rules
        )
        return told_by(change, draft, run.view)
    skill = run.view.skills.find(pattern.skill)
    if skill is None:
        return None
    skill, written = with_waiting_account(run.view, skill), run.versions(pattern.skill)
    change = recurrence.growth_change(
        pattern, draft, skill, written, shelf=shelf_of(run, skill), now=run.now, policy=run.policy
    )
    return told_by(change, draft, run.view)

"""The step `promote`: make facts from confirmed insights, and pattern skills from recurring facts.

This module reads the due records, calls the rules in `learning/promote/` and stores the clusters of
similar facts. To change when something is promoted, see `learning/promote/`; for skills across
domains, see `general.py`.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC
from functools import partial
from hashlib import sha256
from itertools import chain, islice

import msgspec

from skillvault.learning.account.reading import last_point
from skillvault.learning.promote import facts as fact_rules
from skillvault.learning.promote import skills as pattern_rules
from skillvault.learning.promote import versions as version_rules
from skillvault.learning.promote.evaluated_runs import (
    MAX_FIRST_FACTS,
    EvaluatedRun,
    RunBook,
    RunHistory,
    evaluated_run,
)
from skillvault.learning.promote.facts import (
    STEP,
    PromotionRecords,
    PromotionState,
    is_contested,
    statement_of,
)
from skillvault.learning.promote.skills import Pattern, Patterns
from skillvault.learning.promote.support import (
    Support,
    SupportPlan,
    fact_changes,
    support_state,
    weighing_changes,
)
from skillvault.loop.general import (
    general_changes,
    plan_general,
    promotion_records,
    records_of_facts,
)
from skillvault.loop.managed_skills import derived_skills, may_archive, skill_folder
from skillvault.loop.next_versions import with_waiting_account, with_waiting_accounts
from skillvault.loop.registry import CONSOLIDATE, RECOUNT
from skillvault.loop.run import Run
from skillvault.model.brief import Draft
from skillvault.model.change import Change
from skillvault.model.records import Fact, Problem, Ref, Skill, moment_of
from skillvault.model.sameness.comparison import lookup_keys
from skillvault.model.text.text import words
from skillvault.vault.index.facts import Facts, FactTally, LazyFacts, Membership, Unit, UnitTally
from skillvault.vault.index.snapshot import Snapshot

_FACT_TALLY, _UNIT_TALLY = msgspec.msgpack.Decoder(FactTally), msgspec.msgpack.Decoder(UnitTally)
_MAX_UNREVIEWED_FACTS = 5  # outdated evaluations may make so many facts without a review
_PAGE_SIZE = 1000  # evaluations to read at once


def step(run: Run) -> Iterator[Change]:
    """Yield the changes of facts and their runs, then the changes of pattern skills."""
    yield from _fact_changes(run)
    yield from skill_changes(run)


def skill_changes(run: Run) -> Iterator[Change]:
    """Yield a change for each skill that facts make or extend, or that no facts support."""
    if not run.options.consolidates:
        return
    is_changed = False
    for change in chain(_pattern_changes(run), general_changes(run)):
        is_changed = True
        yield change
    if is_changed and not run.report.unavailable:
        # Plan again, because a plan settles the facts of the new skills.
        deque(_plan_patterns(run), maxlen=0)
        plan_general(run)


# ── facts ────────────────────────────────────────────────────────────────────────────


def _fact_changes(run: Run) -> Iterator[Change]:
    keys = run.snapshot.due.keys(STEP)
    plan = _plan_support(run, keys)
    if plan.withheld:
        message = (
            f"evaluations of an earlier version would make {plan.withheld} facts by the rules of "
            "today; `skillvault doctor --upgrade` shows them, `skillvault run --upgrade` makes them"
        )
        run.report.problems.append(Problem("evaluations", None, "outdated", message))
    run.report.rejected += plan.rejected
    yield from fact_changes(run.track(plan.facts, "promoting"))
    # Leave out links to a fact that had to wait.
    links = [link for link in plan.links if link.target.id in run.snapshot.facts]
    retellings = [item for item in plan.retellings if item.fact.id in run.snapshot.facts]
    if links or retellings:
        yield from weighing_changes(links, retellings)
    fact_ids = [*(fact.id for fact in plan.facts), *(link.target.id for link in links)]
    version_changes = list(_version_changes(run, fact_ids))
    yield from version_changes
    if len(links) == len(plan.links):
        # Settle the keys that the plan itself made due, not the keys of another writer.
        refs = [Ref("fact", retelling.fact.id) for retelling in plan.retellings]
        refs += (ref for change in version_changes for ref in change.targets)
        all_links = [*plan.links, *run.snapshot.links.by_target(refs)]
        sources = {link.source.id for link in all_links if link.source.kind == "evaluation"}
        promoted_ids = {fact.run.id for fact in plan.facts}
        run.settle(STEP, sources.union(promoted_ids, keys))


def _plan_support(run: Run, keys: Iterable[str]) -> SupportPlan:
    """Plan the facts that evaluations support or contradict, and store their claims."""
    records = records_of_evaluations(run, keys, LazyFacts)
    evaluated_runs = (
        evaluated_run(evaluation, records.outcomes.get(evaluation.outcome))
        for evaluation in records.evaluations.values()
    )
    runs = list(filter(None, evaluated_runs))
    book = run_book(run.snapshot)
    plan = Support(book, records, run.policy, upgrades=run.options.upgrades).plan(runs)
    if 0 < plan.withheld <= _MAX_UNREVIEWED_FACTS:
        book = run_book(run.snapshot)
        plan = Support(book, records, run.policy, upgrades=True).plan(runs)
    if not run.options.is_question:
        insights = run.store.staging.insights
        for new_run in book.new.values():
            digests = [new_run.claim_digest, new_run.slot_digest]
            insights.keep_run(
                new_run.domain, new_run.summary, [*digests, *new_run.statement_digests]
            )
            insights.keep_claim(new_run.domain, new_run.claim_digest, lookup_keys(new_run.claim))
        for maker in book.load(book.maker_ids).values():
            digests = [maker.claim_digest, maker.slot_digest, *maker.ground_digests]
            insights.keep_maker(maker.domain, maker.id, digests)
    return plan


def _version_changes(run: Run, fact_ids: Collection[str]) -> Iterator[Change]:
    """Yield changes that replace older values of a fact with its newest value.

    Only facts that runs made are compared; a person's fact stays.
    """
    if not run.profile.weighs:
        return
    snapshot = run.snapshot
    book, makers = run_book(snapshot), snapshot.facts.makers(fact_ids)
    families: dict[tuple[str, str], set[str]] = defaultdict(set)
    for source in book.load(makers.values()).values():
        members = book.first_facts(source.domain, [source.slot_digest])
        families[source.domain, source.slot_digest].update(members)
    for family in families.values():
        if len(family) < 2:
            continue
        successors = snapshot.facts.successors(family)
        # A fact with a predecessor or successor outside the family was linked by a person.
        facts = [
            fact
            for fact_id, fact in snapshot.facts.get_many(family).items()
            if successors.get(fact_id, fact_id) in family and (fact.supersedes or fact_id) in family
        ]
        ids = [fact.id for fact in facts]
        runs, opponents = snapshot.facts.supporter_counts(ids), snapshot.facts.opponent_counts(ids)
        support = {fact_id: runs.get(fact_id, 0) - opponents.get(fact_id, 0) for fact_id in ids}
        if change := version_rules.succession_change(facts, support):
            yield change


# ── patterns ─────────────────────────────────────────────────────────────────────────


def _pattern_changes(run: Run) -> Iterator[Change]:
    for keys, records, plan in list(_plan_patterns(run)):
        is_changed = bool(plan.leaving or plan.rejected)
        run.report.rejected += plan.rejected
        for skill in plan.leaving:
            yield pattern_rules.leave_change(skill, skill_folder(run, skill))
        for pattern in plan.due:
            name = pattern.skill or f"pattern-{pattern.facts[0].domain}"
            brief = pattern_rules.pattern_brief(pattern, records)
            for change in run.write_skill(name, brief, partial(compose_pattern, run, pattern)):
                is_changed = True
                yield change
        if not is_changed and not run.report.unavailable:
            run.settle(CONSOLIDATE, keys)
            run.settle(RECOUNT, keys)


def _plan_patterns(run: Run) -> Iterator[tuple[set[str], PromotionRecords, Patterns]]:
    """Yield (fact ids, records, plan) for each domain with work; settle facts without work."""
    changed_ids, recounted_ids = map(run.snapshot.due.keys, (CONSOLIDATE, RECOUNT))
    by_domain: Mapping[str, set[str]] = {}
    if changed_ids or recounted_ids:
        by_domain = _connected_facts(run, changed_ids, recounted_ids)
    waiting_ids: set[str] = set()
    for _, ids in sorted(by_domain.items()):
        records = records_of_facts(run, run.snapshot.facts.get_many(ids))
        skills_of = records.skills_of
        skills = derived_skills(run, set(skills_of.values()))
        old_ids = run.snapshot.facts.superseded_ids(ids)
        current_facts = {key: fact for key, fact in records.facts.items() if key not in old_ids}
        records = msgspec.structs.replace(records, facts=current_facts)
        plan = pattern_rules.plan_patterns(records, skills, run.policy)
        plan = msgspec.structs.replace(
            plan,
            due=tuple(
                pattern
                for pattern in plan.due
                if not (_repeats_guide(run, pattern) or _is_outdated(run, pattern))
            ),
            leaving=tuple(skill for skill in plan.leaving if may_archive(run, skill)),
        )
        leaving_names = {skill.name for skill in plan.leaving}
        keys = {fact for fact, skill in skills_of.items() if skill in leaving_names}
        keys.update(plan.refused, *([fact.id for fact in pattern.facts] for pattern in plan.due))
        waiting_ids |= keys
        if not run.options.is_question:
            _keep_tallies(run, ids, keys)
        if plan.due or plan.rejected or plan.leaving:
            yield keys, records, plan
    run.settle(CONSOLIDATE, set(changed_ids) - waiting_ids)
    run.settle(RECOUNT, set(recounted_ids) - waiting_ids)


def _repeats_guide(run: Run, pattern: Pattern) -> bool:
    """Return True for a new warning about one action, which the guide of the action has already."""
    if pattern.kind != "warning" or pattern.skill:
        return False
    return run.snapshot.facts.is_of_one_action([fact.id for fact in pattern.facts])


def _is_outdated(run: Run, pattern: Pattern) -> bool:
    """Return True for a new pattern whose facts no current evaluation supports."""
    if pattern.skill or run.options.upgrades:
        return False
    evaluations = run.snapshot.evaluations.supporting(fact.id for fact in pattern.facts)
    is_made = all(fact.kind == "judge" for fact in pattern.facts)
    return is_made and all(evaluation.is_outdated for evaluation in evaluations)


def compose_pattern(run: Run, pattern: Pattern, draft: Draft) -> Change | None:
    """Return the change that makes or extends the skill of a pattern, or None without a change."""
    if pattern.skill is None:
        is_taken = run.snapshot.skills.is_name_taken
        return pattern_rules.skill_change(
            pattern, draft, is_taken=is_taken, now=run.now, rules=run.profile
        )
    skill = run.snapshot.skills.find(pattern.skill)
    if skill is None:
        return None
    folder, versions = skill_folder(run, skill), run.written_texts(pattern.skill)
    skill = with_waiting_account(run.snapshot, skill)
    return pattern_rules.growth_change(
        pattern, draft, skill, versions, folder=folder, now=run.now, policy=run.policy
    )


def living_patterns(run: Run, domain: str) -> Iterator[tuple[PromotionRecords, Pattern, Skill]]:
    """Yield the pattern of each living skill of a domain, with the current counts."""
    records = records_of_facts(run, run.snapshot.facts.by_domain([domain]))
    names = set(records.skills_of.values())
    skills = with_waiting_accounts(run.snapshot, run.snapshot.skills.live(names))
    for pattern in pattern_rules.current_patterns(records, skills, run.policy):
        yield records, pattern, skills[pattern.skill or ""]


# ── the records that decide ──────────────────────────────────────────────────────────


def promotion_state(run: Run, evaluation_id: str) -> PromotionState | None:
    """Return the state of an evaluation on its way to a fact, or None if it does not exist."""
    records = records_of_evaluations(run, [evaluation_id])
    evaluation = records.evaluations.get(evaluation_id)
    if evaluation is None:
        return None
    if not run.profile.weighs:
        return fact_rules.insight_state(evaluation, records, run.policy)
    return support_state(evaluation, run_book(run.snapshot), records, run.policy)


def record_pages(run: Run, ids: Iterable[str]) -> Iterator[PromotionRecords]:
    """Yield the records of many evaluations, one page at a time."""
    remaining_ids = iter(ids)
    while page := list(islice(remaining_ids, _PAGE_SIZE)):
        yield records_of_evaluations(run, page)


def records_of_evaluations(
    run: Run,
    ids: Iterable[str],
    load_facts: Callable[[Facts, Collection[str]], Mapping[str, Fact]] = Facts.by_domain,
) -> PromotionRecords:
    """Return the records that decide if evaluations become facts.

    `load_facts` reads the facts of the evaluations' domains.
    """
    snapshot = run.snapshot
    ids = list(ids)
    overruled_ids = snapshot.outcomes.overruled_ids(ids)
    evaluations = snapshot.evaluations.get_many(key for key in ids if key not in overruled_ids)
    facts = load_facts(snapshot.facts, {evaluation.domain for evaluation in evaluations.values()})
    return promotion_records(run, evaluations, facts, [Ref("evaluation", n) for n in evaluations])


def run_book(snapshot: Snapshot) -> RunBook:
    """Return a book of the runs that were weighed earlier; the step adds new runs to it."""
    insights = snapshot.insights
    loaded_runs: dict[str, EvaluatedRun | None] = {}

    def load_runs(ids: Collection[str]) -> dict[str, EvaluatedRun]:
        new_ids = [key for key in ids if key not in loaded_runs]
        evaluations = snapshot.evaluations.get_many(new_ids)
        outcomes = snapshot.outcomes.get_many(evaluations)
        for key in new_ids:
            evaluation = evaluations.get(key)
            loaded_runs[key] = evaluated_run(evaluation, outcomes.get(key)) if evaluation else None
        return {key: run for key in ids if (run := loaded_runs[key])}

    return RunBook(
        RunHistory(
            load=load_runs,
            stored_ids=insights.indexed_evaluations,
            claims=insights.claims,
            summaries=insights.sayings,
            tallies=insights.tallies,
            makers=lambda domain, words: insights.makers(domain, words, MAX_FIRST_FACTS),
            supporters_at=lambda fact, at: snapshot.facts.supporters_of_moment(fact, moment_of(at)),
        )
    )


# ── clusters of facts ────────────────────────────────────────────────────────────────


def _connected_facts(
    run: Run, changed_ids: Collection[str], recounted_ids: Collection[str]
) -> dict[str, set[str]]:
    """Return the ids of changed facts and of facts in the same cluster or skill, by domain.

    Facts that shared a cluster or skill earlier are included. A recounted fact is included only if
    its skill would change. A question reads whole domains, because it stores nothing.
    """
    snapshot = run.snapshot
    ids = {*changed_ids, *recounted_ids}
    if not run.options.is_question:
        ids -= _facts_without_effect(run, ids.difference(changed_ids))
    records = records_of_facts(run, snapshot.facts.get_many(ids))
    old_rows = snapshot.clusters.of_facts(ids)
    new_rows = _memberships(records, snapshot.facts.superseded_ids(ids))
    facts: dict[str, set[str]] = defaultdict(set)
    if run.options.is_question:
        domains = {row.domain for row in (*old_rows.values(), *new_rows.values())}
        for fact in snapshot.facts.by_domain(domains).values():
            facts[fact.domain].add(fact.id)
        return facts
    rows = keep_clusters(snapshot, old_rows, new_rows, run.policy.promote.cluster_above)
    last_link, counts = snapshot.clusters.last_link(), snapshot.clusters.fact_tallies(new_rows)
    for fact_id in new_rows:
        tally = FactTally(last_link, *counts.get(fact_id, ("", 0, 0)))
        snapshot.clusters.keep_fact_tally(fact_id, tally)
    rows += [*old_rows.values(), *snapshot.clusters.of_facts(new_rows).values()]
    seeds = {row.seed for row in rows if row.seed}
    skills = {row.skill for row in rows if row.skill}
    skills.update(link.target.id for link in records.links.values())
    for row in (*rows, *snapshot.clusters.connected_facts(seeds, skills).values()):
        facts[row.domain].add(row.fact)
    return facts


def _facts_without_effect(run: Run, fact_ids: Collection[str]) -> set[str]:
    """Return the facts whose new runs change no sentence of a skill."""
    clusters, rules = run.snapshot.clusters, run.policy.promote
    facts, last_link = run.snapshot.facts.get_many(fact_ids), clusters.last_link()
    unaffected_ids: set[str] = set()
    for fact_id, row in sorted(clusters.of_facts(facts).items()):
        if row.counted is None or not run.profile.weighs:
            continue
        tally = _FACT_TALLY.decode(row.counted)
        links = clusters.new_links(fact_id, tally.seen)
        new_tally = tally.with_links(links, last_link)
        if new_tally is None:
            continue
        if _is_contested(facts[fact_id], tally) != _is_contested(facts[fact_id], new_tally):
            continue
        if row.seed:
            is_large = clusters.is_of_size(row.seed, rules.cluster_size)
            unit = clusters.of_facts([row.seed])[row.seed] if is_large else row
            unit_tally = _UNIT_TALLY.decode(unit.told) if unit.told else None
            new_unit_tally = unit_tally and unit_tally.with_links(links, _max_counted_runs(run))
            if not (unit_tally and new_unit_tally):
                continue
            if last_point(unit_tally.runs) != last_point(new_unit_tally.runs):
                continue
            clusters.keep_unit_tally([unit.fact], new_unit_tally)
        clusters.keep_fact_tally(fact_id, new_tally)
        unaffected_ids.add(fact_id)
    return unaffected_ids


def _is_contested(fact: Fact, tally: FactTally) -> bool:
    return is_contested(fact, tally.runs, tally.against)


def _max_counted_runs(run: Run) -> int:
    return max(run.policy.promote.cluster_size, run.policy.promote.min_sessions)


def _keep_tallies(run: Run, fact_ids: Collection[str], waiting_ids: Collection[str]) -> None:
    """Store the counts of the facts' runs; waiting facts are counted again later."""
    clusters = run.snapshot.clusters
    rows = clusters.of_facts(fact_ids).values()
    clusters.keep_unit_tally([row.fact for row in rows if row.told], None)
    members: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row.seed:
            members[row.seed].append(row.fact)
    for seed, facts in members.items():
        is_large = len(facts) >= run.policy.promote.cluster_size
        units = [Unit("seed", seed)] if is_large else [Unit("fact", fact) for fact in facts]
        for unit in units if set(facts).isdisjoint(waiting_ids) else ():
            clusters.keep_unit_tally([unit.name], clusters.tally(unit, _max_counted_runs(run)))


def _memberships(records: PromotionRecords, superseded: Collection[str]) -> dict[str, Membership]:
    """Return the index row of each fact. `pool` is the group of facts to compare it with."""
    pools, rows = pattern_rules.pools(records), dict[str, Membership]()
    for fact in records.facts.values():
        row = Membership(fact.id, fact.domain, skill=records.skills_of.get(fact.id))
        pool = None if fact.id in superseded else pools.get(fact.id)
        if pool:
            at, fact_id = fact.order
            sort_key = f"{at.astimezone(UTC).isoformat(timespec='microseconds')} {fact_id}"
            digest = sha256(statement_of(fact).encode(errors="surrogatepass")).hexdigest()
            row = row._replace(pool=" ".join(pool[1:]), sort_key=sort_key, words=digest)
        rows[fact.id] = row
    return rows


def keep_clusters(
    snapshot: Snapshot,
    old_rows: Mapping[str, Membership],
    new_rows: Mapping[str, Membership],
    threshold: float,
) -> list[Membership]:
    """Store changed facts in their clusters; return the rows of other facts that moved.

    The first fact of a cluster is its seed. A change of a seed may affect other clusters, so its
    pool is clustered again, unless a new seed is the last fact of the pool.
    """
    clusters, pools = snapshot.clusters, set[tuple[str, str]]()
    moved_rows = {
        key: row
        for key, row in new_rows.items()
        if key not in old_rows or _cluster_position(row) != _cluster_position(old_rows[key])
    }
    for key, row in old_rows.items():
        if key not in new_rows or key in moved_rows:
            clusters.drop_rows([key])
            if row.pool and row.seed == key:
                pools.add((row.domain, row.pool))
    for key, row in new_rows.items():
        if key not in moved_rows and row.skill != old_rows[key].skill:
            clusters.keep_rows([row._replace(seed=old_rows[key].seed)])
    fact_words = {
        key: _fact_words(fact) for key, fact in snapshot.facts.get_many(moved_rows).items()
    }
    for row in sorted(moved_rows.values(), key=lambda row: row.sort_key):
        seed = clusters.first_seed(row, fact_words[row.fact], threshold) if row.pool else None
        if row.pool and seed is None:
            seed = row.fact
            clusters.keep_seed(row, fact_words[row.fact])
            if not clusters.is_last(row):
                pools.add((row.domain, row.pool))
        clusters.keep_rows([row._replace(seed=seed)])
    return [row for pool in sorted(pools) for row in _rebuild_clusters(snapshot, *pool, threshold)]


def _rebuild_clusters(
    snapshot: Snapshot, domain: str, pool: str, threshold: float
) -> Iterator[Membership]:
    """Cluster a pool again; yield the old rows and the new rows of all facts that moved."""
    rows, clusters = snapshot.clusters.of_pool(domain, pool), snapshot.clusters
    facts = snapshot.facts.get_many(row.fact for row in rows)
    texts = [statement_of(facts[row.fact]) for row in rows]
    for indices in fact_rules.clusters(texts, threshold, 1):
        seed = rows[indices[0]].fact
        moved_rows = [rows[index] for index in indices if rows[index].seed != seed]
        clusters.drop_rows([row.fact for row in moved_rows])
        new_rows = [row._replace(seed=seed) for row in moved_rows]
        clusters.keep_rows(new_rows)
        for row in new_rows:
            if row.fact == seed:
                clusters.keep_seed(row, _fact_words(facts[seed]))
        yield from (*moved_rows, *new_rows)


def _cluster_position(row: Membership) -> tuple[str, str | None, str, str]:
    return row.domain, row.pool, row.sort_key, row.words


def _fact_words(fact: Fact) -> frozenset[str]:
    return words(statement_of(fact))

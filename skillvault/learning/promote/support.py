"""The rule for facts: make facts of claims that results support, and link runs for and against.

A claim becomes a fact if a verdict meets the gate, if a strong verdict was wrong, or if runs of two
sessions make the claim and fewer runs are against it. A run is about a fact if it makes the same
claim, states the same ground or did the same. The result of the run decides if it counts for or
against the fact. `loop/promote.py` calls `Support.plan`, and then the functions for the changes.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning.promote.evaluated_runs import (
    EvaluatedRun,
    RunBook,
    RunSummary,
    evaluated_run,
)
from skillvault.learning.promote.facts import (
    STEP,
    PromotionRecords,
    PromotionState,
    fact_id,
    fact_path,
    fact_text,
    find_unmet,
    insight_state,
    is_surprise,
    promoted_records,
    rejection_of,
    statement_of,
    strength,
)
from skillvault.learning.rejection import Rejection
from skillvault.learning.tries.insight import specific_values
from skillvault.model.change import Change, Edit, Rewrite
from skillvault.model.policy import Policy
from skillvault.model.records import (
    Evaluation,
    Fact,
    Importance,
    Link,
    LinkType,
    Ref,
    Status,
    link_of,
    stamp,
)
from skillvault.model.sameness.comparison import SAME_LIKENESS, is_opposite, is_same, likeness
from skillvault.model.sameness.form import Form, normal_form
from skillvault.model.text.text import join_items, pluralize

_MAX_LINES = 20  # facts to list in a commit message
_FACTS_PER_COMMIT = 50
_LINKS_PER_COMMIT = 250
_OTHER_STATUS: Mapping[Status, Status] = {"success": "failure", "failure": "success"}

Stance = Literal["for", "against"]
_LINK_TYPES: Mapping[Stance, LinkType] = {"for": "reinforced", "against": "contradicted"}


class NewFact(Struct, frozen=True, kw_only=True):
    """A fact to make of the insight of a run."""

    id: str
    run: EvaluatedRun
    importance: Importance
    reason: str


class Retelling(Struct, frozen=True, kw_only=True):
    """A fact that gets the text or the importance of an earlier or more certain run."""

    fact: Fact
    run: EvaluatedRun
    importance: Importance
    is_earlier: bool


class SupportPlan(Struct, frozen=True):
    """The facts to make, the links of runs to facts, and the facts to rewrite.

    `withheld` counts the facts that only outdated evaluations would make.
    """

    facts: Sequence[NewFact]
    links: Sequence[Link]
    retellings: Sequence[Retelling]
    rejected: Sequence[Rejection]
    withheld: int = 0


def stance_of(run: EvaluatedRun, maker: EvaluatedRun, *, on_ground: bool) -> Stance | None:
    """Return the stance of a run, for or against the fact of the run `maker`, or None.

    `on_ground` is true if both runs share a ground. Opposite claims with opposite results support
    each other. A claim with another side, figure or name supports nothing, even if its run did the
    same.
    """
    same_result = run.outcome_status == maker.outcome_status
    if is_same(run.claim, maker.claim):
        return "for" if same_result else "against"
    if same_result and is_opposite(run.claim, maker.claim):
        return "against"
    if not on_ground or (same_result and likeness(run.claim, maker.claim) >= SAME_LIKENESS):
        return None
    return "for" if same_result else "against"


class Support:
    """The weighing of runs for and against facts, one after the other in the order of time.

    Without `upgrades`, an outdated evaluation makes no fact: an earlier version of the program has
    made its facts already.
    """

    def __init__(
        self, book: RunBook, records: PromotionRecords, policy: Policy, *, upgrades: bool
    ) -> None:
        self._book = book
        self._records = records
        self._policy = policy
        self._upgrades = upgrades
        self._facts: dict[str, NewFact] = {}
        self._links: dict[str, Link] = {}
        self._retellings: dict[str, Retelling] = {}
        self._rejected: set[Rejection] = set()
        self._withheld: set[tuple[str, str]] = set()

    def plan(self, runs: Iterable[EvaluatedRun]) -> SupportPlan:
        """Return the new facts, links and rewrites that follow from these runs."""
        ordered_runs = sorted(runs, key=lambda run: run.order)
        # Runs that made facts come first, because other rules may have used a later run.
        makers = [run for run in ordered_runs if run.id in self._records.promoted]
        self._book.add_runs(makers)
        for run in makers:
            for fact in self._records.promoted[run.id]:
                self._book.add_fact(run, fact)
        for run in self._order_runs(ordered_runs):
            self._weigh(run)
        return SupportPlan(
            tuple(self._facts.values()),
            tuple(self._links.values()),
            tuple(self._retellings.values()),
            tuple(sorted(self._rejected)),
            len(self._withheld),
        )

    def _order_runs(self, runs: Iterable[EvaluatedRun]) -> Iterator[EvaluatedRun]:
        """Yield the runs by time, but a run whose judge names a fact after the fact's run."""
        waiting_runs: list[EvaluatedRun] = []
        for run in runs:
            self._book.add_runs([run])
            if run.named_fact is None or self._is_known(run.named_fact):
                yield run
            else:
                waiting_runs.append(run)
        while waiting_runs:
            ready_runs = (run for run in waiting_runs if self._is_known(run.named_fact or ""))
            waiting_runs.remove(next_run := next(ready_runs, waiting_runs[0]))
            yield next_run

    def _is_known(self, fact: str) -> bool:
        return fact in self._facts or fact in self._records.facts

    def _weigh(self, run: EvaluatedRun) -> None:
        claims = self._book.find_similar(run)
        stated_stances = {**self._human_stances(run), **self._named_stances(run)}
        stances = {**self._run_stances(run, claims), **stated_stances}
        for fact, stance in stances.items():
            self._add_link(run, fact, stance)
        matching_facts = self._matching_facts(run, claims)
        for fact in matching_facts:
            if stances.get(fact) != "for":
                continue
            if fact in self._records.facts:
                self._retell(self._records.facts[fact], run)
            elif fact in self._facts and self._importance(run) == "high":
                self._facts[fact] = replace(self._facts[fact], importance="high")
        is_known = run.id in self._records.promoted or matching_facts
        if not is_known and "for" not in stated_stances.values():
            self._promote(run, claims)

    def _run_stances(self, run: EvaluatedRun, claims: Mapping[str, Form]) -> dict[str, Stance]:
        ground_makers = self._book.first_facts(run.domain, run.statement_digests)
        makers = {**self._book.first_facts(run.domain, claims), **ground_makers}
        stances: dict[str, Stance] = {}
        for fact, source in self._load_sources(makers).items():
            if source.id == run.id or not self._is_unchanged(fact, source):
                continue
            if stance := stance_of(run, source, on_ground=fact in ground_makers):
                stances[fact] = stance
        return stances

    def _matching_facts(self, run: EvaluatedRun, claims: Mapping[str, Form]) -> list[str]:
        """Return the facts of other runs with the same claim and the same result."""
        makers = self._book.first_facts(run.domain, _same_claims(claims, run))
        return [
            fact
            for fact, source in self._load_sources(makers).items()
            if source.id != run.id
            and fact not in run.evaluation.unlike
            and source.outcome_status == run.outcome_status
            and self._is_unchanged(fact, source)
        ]

    def _load_sources(self, makers: Mapping[str, str]) -> dict[str, EvaluatedRun]:
        runs = self._book.load(makers.values())
        return {fact: runs[run_id] for fact, run_id in makers.items() if run_id in runs}

    def _named_stances(self, run: EvaluatedRun) -> dict[str, Stance]:
        """Return the stance of a run to the fact that its judge names, if in the same domain."""
        fact = run.named_fact
        if fact is None or not self._is_current(fact):
            return {}
        record = self._records.facts.get(fact)
        domain = record.domain if record else self._facts[fact].run.domain
        if domain != run.domain or (record and record.trust != "local"):
            return {}
        return {fact: "against" if run.evaluation.contradicts else "for"}

    def _human_stances(self, run: EvaluatedRun) -> dict[str, Stance]:
        stances: dict[str, Stance] = {}
        for fact in self._records.current_facts:
            if fact.kind == "human" and (fact.domain, fact.trust) == (run.domain, "local"):
                form = normal_form(fact.text, specific_values(run.outcome))
                if is_same(form, run.claim):
                    stances[fact.id] = "for"
                elif is_opposite(form, run.claim):
                    stances[fact.id] = "against"
        return stances

    def _is_unchanged(self, fact: str, source: EvaluatedRun) -> bool:
        record = self._records.facts.get(fact)
        if not self._is_current(fact) or record is None or record.kind != "judge":
            return self._is_current(fact)
        statement = statement_of(record)
        if statement == source.evaluation.key_insight:
            return True
        at = record.created_at or source.order[0]
        runs = self._book.load(self._book.history.supporters_at(fact, at)).values()
        return any(statement == run.evaluation.key_insight for run in runs)

    def _is_current(self, fact: str) -> bool:
        if fact in self._records.facts:
            is_replaced = fact in self._records.successors
            return not is_replaced or fact in self._records.weighed_facts
        return fact in self._facts

    def _add_link(self, run: EvaluatedRun, fact: str, stance: Stance) -> None:
        """Link a run to a fact; if the judge named the fact, the judge decides the stance."""
        if fact == run.named_fact:
            stance = "against" if run.evaluation.contradicts else "for"
        if stance == "for" and fact in run.evaluation.unlike:
            return
        source, target = Ref("evaluation", run.id), Ref("fact", fact)
        link = link_of(_LINK_TYPES[stance], source, target, run.outcome.occurred_at)
        if rejection := self._records.rejections.of_target(Ref("link", link.id)):
            self._rejected.add(rejection)
        elif link.id not in self._records.links:
            self._links[link.id] = link

    def _retell(self, fact: Fact, run: EvaluatedRun) -> None:
        """Give a fact the text of its earliest run, and the importance of its most certain run."""
        retelling = self._retellings.get(fact.id)
        importance = retelling.importance if retelling else fact.importance
        new_importance = "high" if "high" in (importance, self._importance(run)) else importance
        is_earlier = self._is_earlier(run, fact, retelling)
        if is_earlier or new_importance != importance:
            self._retellings[fact.id] = Retelling(
                fact=fact,
                run=run if is_earlier or retelling is None else retelling.run,
                importance=new_importance,
                is_earlier=is_earlier or (retelling is not None and retelling.is_earlier),
            )

    def _is_earlier(self, run: EvaluatedRun, fact: Fact, retelling: Retelling | None) -> bool:
        """Return True if a run is earlier than the run whose text a fact has; break ties by id."""
        if retelling and retelling.is_earlier:
            return run.order < retelling.run.order
        at = fact.created_at or run.order[0]
        if run.order[0] != at:
            return run.order[0] < at
        sources = self._book.load(self._book.history.supporters_at(fact.id, at)).values()
        statement = statement_of(fact)
        orders = [source.order for source in sources if source.evaluation.key_insight == statement]
        return bool(orders) and run.order < min(orders)

    # ── new facts ───────────────────────────────────────────────────────────

    def _promote(self, run: EvaluatedRun, claims: Mapping[str, Form]) -> None:
        if rejection := rejection_of(run.evaluation, self._records) or self._find_rejection(run):
            self._rejected.add(rejection)
            return
        obstacle = find_unmet(run.evaluation, self._records, self._policy)
        digests = self._agreeing_claims(run, claims)
        if digests is None:  # a person replaced the text of this fact
            return
        if obstacle and not (run.has_content and self._is_supported(run, digests, claims)):
            return
        runs = self._book.load(self._supporter_ids(run, digests))
        source = min(runs.values(), key=lambda candidate: candidate.order)
        if source.id != run.id:  # the fact gets the text of `source`
            claims = self._book.find_similar(source)
            digests = self._agreeing_claims(source, claims) or {source.claim_digest}
            if obstacle and not self._is_supported(source, digests, claims):
                return
        if run.evaluation.is_outdated and not self._upgrades:
            self._withheld.add((source.domain, min(digests)))
        else:
            self._add_fact(source, digests, claims)

    def _supporter_ids(self, run: EvaluatedRun, digests: Collection[str]) -> list[str]:
        summaries = self._book.summaries(run.domain, digests).values()
        return [summary.evaluation for summary in summaries if summary.status == run.outcome_status]

    def _agreeing_claims(self, run: EvaluatedRun, claims: Mapping[str, Form]) -> set[str] | None:
        """Return the digests of claims that say the same as a run.

        Leave out claims that the judge of the run called different. Return None if another run with
        the same result made a fact already.
        """
        digests = _same_claims(claims, run)
        makers = self._book.first_facts(run.domain, digests)
        for fact, source in self._load_sources(makers).items():
            if source.outcome_status != run.outcome_status or not self._is_current(fact):
                continue
            if fact not in run.evaluation.unlike:
                return None
            digests -= {source.claim_digest} - {run.claim_digest}
        return digests

    def _is_supported(
        self, run: EvaluatedRun, digests: Collection[str], claims: Mapping[str, Form]
    ) -> bool:
        """Return True if runs of enough sessions make a claim, and fewer runs are against it."""
        min_sessions = self._policy.promote.min_sessions
        runs, some_sessions = self._book.count(run.domain, digests, run.outcome_status)
        if len(some_sessions) < min(min_sessions, 2):
            return False
        opposites = [digest for digest, claim in claims.items() if is_opposite(claim, run.claim)]
        opposing_count, _ = self._book.count(run.domain, digests, _OTHER_STATUS[run.outcome_status])
        contradicting_count, _ = self._book.count(run.domain, opposites, run.outcome_status)
        if runs <= opposing_count + contradicting_count:
            return False
        if min_sessions <= 2:
            return True
        summaries = self._book.summaries(run.domain, digests).values()
        return len({s.session for s in summaries if s.status == run.outcome_status}) >= min_sessions

    def _add_fact(
        self, source: EvaluatedRun, digests: Collection[str], claims: Mapping[str, Form]
    ) -> None:
        content = f"{source.domain} {source.outcome_status} {source.claim_digest}"
        fact = fact_id(source.label, source.domain, content)
        if fact in self._records.facts or fact in self._facts:
            return  # a person superseded this fact
        self._book.add_fact(source, fact)
        first_facts = {g: self._book.first_facts(source.domain, [g]) for g in source.ground_digests}
        grounds = [ground for ground, facts in first_facts.items() if fact in facts]
        related_runs = self._book.load(self._book.summaries(source.domain, [*claims, *grounds]))
        stances: dict[str, Stance] = {}
        for run in related_runs.values():
            on_ground = not run.statement_digests.isdisjoint(grounds)
            if run.id != source.id and (stance := stance_of(run, source, on_ground=on_ground)):
                stances[run.id] = stance
        runs = self._book.load(self._supporter_ids(source, digests)).values()
        supporters = [run for run in runs if fact not in run.evaluation.unlike]
        supporters = sorted(supporters, key=lambda run: run.order) or [source]
        importances = {self._importance(supporter) for supporter in supporters}
        self._facts[fact] = NewFact(
            id=fact,
            run=source,
            importance="high" if "high" in importances else "medium",
            reason=self._why(supporters, [*stances.values()].count("against")),
        )
        for run_id, stance in stances.items():
            self._add_link(related_runs[run_id], fact, stance)

    def _importance(self, run: EvaluatedRun) -> Importance:
        is_sure = strength(run.evaluation, self._policy.promote) >= self._policy.promote.high_from
        passes_gate = find_unmet(run.evaluation, self._records, self._policy) is None
        is_telling = is_sure or is_surprise(run.evaluation, self._policy)
        return "high" if passes_gate and is_telling else "medium"

    def _find_rejection(self, run: EvaluatedRun) -> Rejection | None:
        removed_ids = [e.id for e in self._records.taken_away if e.domain == run.domain]
        maker_runs = self._book.load(removed_ids).values()
        same_runs = (maker for maker in maker_runs if is_same(maker.claim, run.claim))
        rejections = (rejection_of(maker.evaluation, self._records) for maker in same_runs)
        return next(filter(None, rejections), None)

    def _why(self, supporters: Sequence[EvaluatedRun], against: int) -> str:
        """Return the reason for a fact: the first verdict that met the gate, or else the runs."""
        evaluations = (supporter.evaluation for supporter in supporters)
        qualified = (e for e in evaluations if not find_unmet(e, self._records, self._policy))
        evaluation = next(qualified, None)
        if evaluation is None:
            return f"Said by {_describe_runs(supporters)}; {pluralize(against, 'run')} against it."
        verdict = "good" if evaluation.was_good_decision else "bad"
        decision = f"A {verdict} decision (quality {evaluation.quality_score:.2f})"
        is_first = evaluation is supporters[0].evaluation
        wording_note = "" if is_first else " Worded as in an earlier run."
        if evaluation.judge_was_right:
            return f"{decision}, confirmed by the result.{wording_note}"
        return f"{decision} by the verdict, but not by the result: a surprise.{wording_note}"


def _same_claims(claims: Mapping[str, Form], run: EvaluatedRun) -> set[str]:
    """Return the digests of the claims that say the same as a run."""
    return {digest for digest, claim in claims.items() if is_same(claim, run.claim)}


def _describe_runs(runs: Sequence[EvaluatedRun] | Sequence[RunSummary]) -> str:
    sessions = {run.session for run in runs}
    return f"{pluralize(len(runs), 'run')} of {pluralize(len(sessions), 'session')}"


def own_support_state(
    evaluation: Evaluation, records: PromotionRecords, policy: Policy
) -> PromotionState:
    """Return the state of an evaluation on its way to a fact, without other runs."""
    state = insight_state(evaluation, records, policy)
    if state.state == "due" and evaluation.is_outdated:
        judge = f"{evaluation.judge.name} {evaluation.judge.version}"
        reason = f"judged by {judge}; `skillvault run --upgrade` weighs it"
        return PromotionState("outdated", reason)
    run = evaluated_run(evaluation, records.outcomes.get(evaluation.outcome))
    if run is None or run.has_content or state.state not in ("weak", "not confirmed"):
        return state
    return PromotionState("silent", f"{state.reason}; it only says how its own run ended")


def support_state(
    evaluation: Evaluation, book: RunBook, records: PromotionRecords, policy: Policy
) -> PromotionState:
    """Return the state of an evaluation on its way to a fact, and count the runs with its claim."""
    state = own_support_state(evaluation, records, policy)
    run = evaluated_run(evaluation, records.outcomes.get(evaluation.outcome))
    if run is None or state.state not in ("weak", "not confirmed"):
        return state
    book.add_runs([run])
    summaries = book.summaries(run.domain, _same_claims(book.find_similar(run), run)).values()
    status = run.outcome_status
    support = _describe_runs([summary for summary in summaries if summary.status == status])
    reason = f"{state.reason}; {support} say it, and otherwise it takes two"
    return PromotionState(state.state, reason)


# ── the changes ──────────────────────────────────────────────────────────────────────


def fact_changes(facts: Iterable[NewFact]) -> Iterator[Change]:
    """Yield the changes that add facts; facts of one domain share a change."""
    groups: dict[str, list[NewFact]] = defaultdict(list)
    for fact in facts:
        groups[fact.run.domain].append(fact)
    for domain, domain_facts in sorted(groups.items()):
        for start in range(0, len(domain_facts), _FACTS_PER_COMMIT):
            yield _facts_change(domain, domain_facts[start : start + _FACTS_PER_COMMIT])


def _facts_change(domain: str, facts: Sequence[NewFact]) -> Change:
    """Return the change for some facts; source n belongs to fact n, as `Rejections` assumes."""
    if len(facts) == 1:
        text = fact_text(facts[0].run.evaluation)
        reason = f"{facts[0].reason} Importance {facts[0].importance}.\n{text}"
    else:
        reason = "\n".join(_limit_lines([f"- {fact.id}: {fact.reason}" for fact in facts]))
    judges = {fact.run.evaluation.judge for fact in facts}
    return Change(
        step=STEP,
        subject=facts[0].id if len(facts) == 1 else f"{len(facts)} facts in {domain}",
        reason=reason,
        writes=tuple(record for fact in facts for record in _records(fact)),
        sources=tuple(Ref("evaluation", fact.run.id) for fact in facts),
        targets=tuple(Ref("fact", fact.id) for fact in facts),
        judge=join_items(sorted({f"{judge.name} {judge.version}" for judge in judges})),
    )


def _limit_lines(lines: Sequence[str]) -> list[str]:
    omission = [f"- and {len(lines) - _MAX_LINES} more"] if len(lines) > _MAX_LINES else []
    return [*lines[:_MAX_LINES], *omission]


def _records(new_fact: NewFact) -> tuple[Fact, Link]:
    evaluation, at = new_fact.run.evaluation, new_fact.run.outcome.occurred_at
    text = fact_text(evaluation)
    return promoted_records(evaluation, new_fact.id, text, importance=new_fact.importance, at=at)


def weighing_changes(links: Sequence[Link], retellings: Sequence[Retelling]) -> Iterator[Change]:
    """Yield the changes that link runs to facts and rewrite facts."""
    ordered_links = sorted(links, key=lambda link: (link.target, link.source))
    for start in range(0, max(len(ordered_links), 1), _LINKS_PER_COMMIT):
        first_retellings = retellings if not start else ()
        yield _weighing_change(ordered_links[start : start + _LINKS_PER_COMMIT], first_retellings)


def _weighing_change(links: Sequence[Link], retellings: Sequence[Retelling]) -> Change:
    facts = sorted({*(link.target.id for link in links), *(r.fact.id for r in retellings)})
    counts = Counter((link.target.id, link.type) for link in links)
    lines = [
        f"- {fact}: {counts[fact, 'reinforced']} more for it, "
        f"{counts[fact, 'contradicted']} against it"
        for fact in facts
    ]
    retold_lines = map(_describe_retelling, retellings[:_MAX_LINES])
    return Change(
        step=STEP,
        subject=f"weigh {facts[0]}" if len(facts) == 1 else f"weigh {len(facts)} facts",
        reason="\n".join([*_limit_lines(lines), *retold_lines]),
        writes=tuple(links),
        edits=tuple(edit for retelling in retellings for edit in _retelling_edits(retelling)),
        rewrites=tuple(
            Rewrite(fact_path(retelling.fact), fact_text(retelling.run.evaluation) + "\n")
            for retelling in retellings
            if retelling.is_earlier
        ),
        sources=tuple(dict.fromkeys(link.source for link in links)),
        targets=tuple(Ref("link", link.id) for link in links),
    )


def _describe_retelling(retelling: Retelling) -> str:
    notes = ["worded as in an earlier run"] if retelling.is_earlier else []
    if retelling.importance != retelling.fact.importance:
        notes.append(f"importance {retelling.importance}")
    return f"- {retelling.fact.id}: {' and '.join(notes)}"


def _retelling_edits(retelling: Retelling) -> Iterator[Edit]:
    fact = retelling.fact
    if retelling.is_earlier:
        yield Edit(fact_path(fact), ("created_at",), stamp(retelling.run.outcome.occurred_at))
    if retelling.importance != fact.importance:
        yield Edit(fact_path(fact), ("importance",), retelling.importance)

"""promote, the first arrow: what the results support becomes a fact, and what speaks against it.

A claim becomes a fact if a verdict meets the gate, if a strong verdict was wrong, or if runs of two
sessions make it and fewer are against it. For a fact, and against it, is every run that makes its
claim, states its ground or did the same, by how it ended and whatever its own insight.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from skillvault.learning.promote.evaluated_runs import (
    EvaluatedRun,
    RunBook,
    Saying,
    evaluated_run,
)
from skillvault.learning.promote.facts import (
    PromotionMaterial,
    PromotionState,
    insight_state,
    is_surprise,
    statement_of,
    strength,
    taken_away,
    unmet,
)
from skillvault.learning.promote.weighing import (
    NewFact,
    Retelling,
    Stance,
    SupportPlan,
    fact_name,
    link_to,
)
from skillvault.learning.rejection import Rejection
from skillvault.learning.tries.insight import specific_values
from skillvault.model.policy import Policy
from skillvault.model.records import Evaluation, Fact, Importance, Link, Ref, Status
from skillvault.model.sameness.comparison import SAME, likeness, opposite, same
from skillvault.model.sameness.form import Form, normal_form


def stance_of(run: EvaluatedRun, source: EvaluatedRun, *, on_ground: bool) -> Stance | None:
    """Where a run stands to the fact that another made; `on_ground`: it states what that rests on.

    Of two that say the opposite and end otherwise the one supports the other. A claim that differs
    in a side, a figure or a name supports nothing, although its run did the same.
    """
    alike = run.ending == source.ending
    if same(run.claim, source.claim):
        return "for" if alike else "against"
    if alike and opposite(run.claim, source.claim):
        return "against"
    if not on_ground or (alike and likeness(run.claim, source.claim) >= SAME):
        return None
    return "for" if alike else "against"


class Support:
    """What speaks for and against facts, one run after the other in the order of time."""

    def __init__(self, book: RunBook, material: PromotionMaterial, policy: Policy) -> None:
        self._book = book
        self._material = material
        self._policy = policy
        self._facts: dict[str, NewFact] = {}
        self._links: dict[str, Link] = {}
        self._retellings: dict[str, Retelling] = {}
        self._rejected: set[Rejection] = set()

    def plan(self, runs: Iterable[EvaluatedRun]) -> SupportPlan:
        """Return the work for these runs."""
        ordered = sorted(runs, key=lambda run: run.order)
        # By other rules a fact may be a later run's: what is known of it stands before all.
        makers = [run for run in ordered if run.id in self._material.promoted]
        self._book.add_runs(makers)
        for run in makers:
            for fact in self._material.promoted[run.id]:
                self._book.add_fact(run, fact)
        for run in self._in_turn(ordered):
            self._weigh(run)
        return SupportPlan(
            tuple(self._facts.values()),
            tuple(self._links.values()),
            tuple(self._retellings.values()),
            tuple(sorted(self._rejected)),
        )

    def _in_turn(self, ordered: Iterable[EvaluatedRun]) -> Iterator[EvaluatedRun]:
        """Yield the runs in order; one whose judge names a fact that another makes comes after."""
        waiting: list[EvaluatedRun] = []
        for run in ordered:
            self._book.add_runs([run])
            if run.named_fact is None or self._is_there(run.named_fact):
                yield run
            else:
                waiting.append(run)
        while waiting:
            ready = (run for run in waiting if self._is_there(run.named_fact or ""))
            following = next(ready, waiting[0])
            waiting.remove(following)
            yield following

    def _is_there(self, fact: str) -> bool:
        return fact in self._facts or fact in self._material.facts

    def _weigh(self, run: EvaluatedRun) -> None:
        near = self._book.near(run)
        stances = self._stances(run, near)
        for fact, stance in stances.items():
            self._connect(run, fact, stance)
        tells = self._told_facts(run, near)
        for fact in tells:
            if stances.get(fact) != "for":
                continue
            if fact in self._material.facts:
                self._retell(self._material.facts[fact], run)
            elif fact in self._facts and self._importance(run) == "high":
                self._facts[fact] = replace(self._facts[fact], importance="high")
        spoken = {**self._human_facts(run), **self._judged(run)}
        if run.id not in self._material.promoted and not tells and "for" not in spoken.values():
            self._promote(run, near)

    def _stances(self, run: EvaluatedRun, near: Mapping[str, Form]) -> dict[str, Stance]:
        """Return fact -> where a run stands to it, by words and grounds, and by its judge."""
        on_ground = self._book.facts_on(run.domain, run.states)
        made_by = {**self._book.facts_on(run.domain, near), **on_ground}
        sources = self._book.load(made_by.values())
        stances: dict[str, Stance] = {}
        for fact, name in made_by.items():
            source = sources.get(name)
            if source is None or name == run.id or not self._says_still(fact, source):
                continue
            if stance := stance_of(run, source, on_ground=fact in on_ground):
                stances[fact] = stance
        stances |= self._human_facts(run)
        return stances | self._judged(run)

    def _told_facts(self, run: EvaluatedRun, near: Mapping[str, Form]) -> list[str]:
        """The facts of other runs that make the claim of one, and ended as it did."""
        words = [words for words, claim in near.items() if same(claim, run.claim)]
        made_by = self._book.facts_on(run.domain, words)
        sources = self._book.load(made_by.values())
        return [
            fact
            for fact, name in made_by.items()
            if name in sources
            and name != run.id
            and fact not in run.evaluation.unlike
            and sources[name].ending == run.ending
            and self._says_still(fact, sources[name])
        ]

    def _judged(self, run: EvaluatedRun) -> dict[str, Stance]:
        """Return the fact that a run names in its judge's word, if it is of its domain."""
        fact = run.named_fact
        if fact is None or not self._is_current(fact):
            return {}
        record = self._material.facts.get(fact)
        domain = record.domain if record else self._facts[fact].evaluation.domain
        if domain != run.domain or (record and record.trust != "local"):
            return {}
        return {fact: "against" if run.evaluation.contradicts else "for"}

    def _human_facts(self, run: EvaluatedRun) -> dict[str, Stance]:
        """Return the facts that persons wrote which a run supports or contradicts."""
        stances: dict[str, Stance] = {}
        for fact in self._material.current_facts:
            if fact.kind == "human" and (fact.domain, fact.trust) == (run.domain, "local"):
                form = normal_form(fact.text, specific_values(run.outcome))
                if same(form, run.claim):
                    stances[fact.id] = "for"
                elif opposite(form, run.claim):
                    stances[fact.id] = "against"
        return stances

    def _says_still(self, fact: str, source: EvaluatedRun) -> bool:
        """Return True if a fact is current and says what a run did that supports it."""
        record = self._material.facts.get(fact)
        if not self._is_current(fact) or record is None or record.kind != "judge":
            return self._is_current(fact)
        statement = statement_of(record)
        if statement == source.evaluation.key_insight:
            return True
        at = record.created_at or source.order[0]
        tellers = self._book.load(self._book.kept.tellers(fact, at)).values()
        return any(statement == teller.evaluation.key_insight for teller in tellers)

    def _is_current(self, fact: str) -> bool:
        if fact in self._material.facts:
            return fact not in self._material.superseded
        return fact in self._facts

    def _connect(self, run: EvaluatedRun, fact: str, stance: Stance) -> None:
        """Link a run with a fact; where its judge knew the fact, as the judge says."""
        if fact == run.named_fact:
            stance = "against" if run.evaluation.contradicts else "for"
        if stance == "for" and fact in run.evaluation.unlike:
            return
        link = link_to(fact, run.evaluation, run.outcome, stance)
        if refused := self._material.rejections.of_target(Ref("link", link.id)):
            self._rejected.add(refused)
        elif link.id not in self._material.links:
            self._links[link.id] = link

    def _retell(self, fact: Fact, run: EvaluatedRun) -> None:
        """Tell a fact as the earliest run that says it does, as important as the surest."""
        before = self._retellings.get(fact.id)
        importance = before.importance if before else fact.importance
        surest = "high" if "high" in (importance, self._importance(run)) else importance
        is_earlier = self._is_earlier(run, fact, before)
        if is_earlier or surest != importance:
            self._retellings[fact.id] = Retelling(
                fact=fact,
                evaluation=before.evaluation if before and not is_earlier else run.evaluation,
                outcome=before.outcome if before and not is_earlier else run.outcome,
                importance=surest,
                is_earlier=is_earlier or (before is not None and before.is_earlier),
            )

    def _is_earlier(self, run: EvaluatedRun, fact: Fact, before: Retelling | None) -> bool:
        """Return True if a run is earlier than the one as which a fact is told; ties go by id."""
        if before and before.is_earlier:
            return run.order < before.outcome.order
        at = fact.created_at or run.order[0]
        if run.order[0] != at:
            return run.order[0] < at
        tellers = self._book.load(self._book.kept.tellers(fact.id, at)).values()
        statement = statement_of(fact)
        told_as = [other.order for other in tellers if other.evaluation.key_insight == statement]
        return bool(told_as) and run.order < min(told_as)

    # ── which become facts ───────────────────────────────────────────────────────────

    def _promote(self, run: EvaluatedRun, near: Mapping[str, Form]) -> None:
        """Make a fact of what a run claims, if that is supported."""
        if refused := taken_away(run.evaluation, self._material) or self._refused(run):
            self._rejected.add(refused)
            return
        gate = unmet(run.evaluation, self._material, self._policy)
        agreeing = self._agreeing(run, near)
        if agreeing is None:
            return  # a person has put other words in its place
        if gate and not (run.tells_more and self._is_supported(run, agreeing, near)):
            return
        said = self._book.sayings(run.domain, agreeing)
        alike = self._book.load(s.evaluation for s in said.values() if s.status == run.ending)
        source = min(alike.values(), key=lambda other: other.order)
        if source.id != run.id:  # the fact says what it does, so others are compared with it
            near = self._book.near(source)
            agreeing = self._agreeing(source, near) or {source.words}
            if gate and not self._is_supported(source, agreeing, near):
                return
        self._add_fact(source, agreeing, near)

    def _agreeing(self, run: EvaluatedRun, near: Mapping[str, Form]) -> set[str] | None:
        """Return the words of the same claim, without facts that its judge was shown and denied.

        None if one of the others made a fact already, of runs that ended alike.
        """
        agreeing = {words for words, claim in near.items() if same(claim, run.claim)}
        made_by = self._book.facts_on(run.domain, agreeing)
        sources = self._book.load(made_by.values())
        for fact, name in made_by.items():
            source = sources.get(name)
            if source is None or source.ending != run.ending or not self._is_current(fact):
                continue
            if fact not in run.evaluation.unlike:
                return None
            agreeing -= {source.words} - {run.words}
        return agreeing

    def _is_supported(
        self, run: EvaluatedRun, agreeing: Collection[str], near: Mapping[str, Form]
    ) -> bool:
        """Return True if enough sessions make a claim and fewer runs are against it."""
        opposed = [words for words, claim in near.items() if opposite(claim, run.claim)]
        runs, sessions = self._book.count(run.domain, agreeing, run.ending)
        enough = self._policy.promote.min_sessions
        if len(sessions) < min(enough, 2):
            return False
        otherwise, _ = self._book.count(run.domain, agreeing, _OTHER_ENDING[run.ending])
        denying, _ = self._book.count(run.domain, opposed, run.ending)
        if runs <= otherwise + denying:
            return False
        said = self._book.sayings(run.domain, agreeing).values() if enough > 2 else ()
        return enough <= 2 or len({s.session for s in said if s.status == run.ending}) >= enough

    def _add_fact(
        self, source: EvaluatedRun, agreeing: Collection[str], near: Mapping[str, Form]
    ) -> None:
        """Make a fact of the earliest claim, and link all that were for it and against it."""
        fact = fact_name(source.domain, f"{source.ending} {source.words}", source.about)
        if fact in self._material.facts or fact in self._facts:
            return  # which a person superseded
        said = self._book.sayings(source.domain, agreeing).values()
        names = [saying.evaluation for saying in said if saying.status == source.ending]
        supporters = sorted(self._book.load(names).values(), key=lambda run: run.order)
        self._book.add_fact(source, fact)
        grounds = [g for g in source.grounds if fact in self._book.facts_on(source.domain, [g])]
        others = self._book.load(self._book.sayings(source.domain, [*near, *grounds]))
        stances: dict[str, Stance] = {}
        for run in others.values():
            stance = stance_of(run, source, on_ground=not run.states.isdisjoint(grounds))
            if stance and run.id != source.id:
                stances[run.id] = stance
        supporters = [run for run in supporters if fact not in run.evaluation.unlike] or [source]
        importances = {self._importance(supporter) for supporter in supporters}
        self._facts[fact] = NewFact(
            evaluation=source.evaluation,
            outcome=source.outcome,
            fact=fact,
            importance="high" if "high" in importances else "medium",
            why=self._why(supporters, [*stances.values()].count("against")),
        )
        for name, stance in stances.items():
            self._connect(others[name], fact, stance)

    def _importance(self, run: EvaluatedRun) -> Importance:
        sure = strength(run.evaluation, self._policy.promote) >= self._policy.promote.high_from
        gate = unmet(run.evaluation, self._material, self._policy) is None
        return "high" if gate and (sure or is_surprise(run.evaluation, self._policy)) else "medium"

    def _refused(self, run: EvaluatedRun) -> Rejection | None:
        """What a person took away and this repeats."""
        removed = [e.id for e in self._material.taken_away if e.domain == run.domain]
        for other in self._book.load(removed).values():
            refused = taken_away(other.evaluation, self._material)
            if refused and same(other.claim, run.claim):
                return refused
        return None

    def _why(self, supporters: Sequence[EvaluatedRun], against: int) -> str:
        """By what it became a fact: the first verdict that met the gate, else who says it."""
        evaluations = (supporter.evaluation for supporter in supporters)
        sure = next((e for e in evaluations if not unmet(e, self._material, self._policy)), None)
        if sure is None:
            return f"Said by {_sessions_of(supporters)}; {_count(against, 'run')} against it."
        verdict = "good" if sure.was_good_decision else "bad"
        decision = f"A {verdict} decision (quality {sure.quality_score:.2f})"
        earlier = "" if sure is supporters[0].evaluation else " Told as an earlier run tells it."
        if sure.judge_was_right:
            return f"{decision}, confirmed by the result.{earlier}"
        return f"{decision} by the verdict, and the result was otherwise: a surprise.{earlier}"


_OTHER_ENDING: Mapping[Status, Status] = {"success": "failure", "failure": "success"}


def _sessions_of(runs: Sequence[EvaluatedRun] | Sequence[Saying]) -> str:
    sessions = {run.session for run in runs}
    return f"{_count(len(runs), 'run')} of {_count(len(sessions), 'session')}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def support_standing(
    evaluation: Evaluation, material: PromotionMaterial, policy: Policy
) -> PromotionState:
    """Where one evaluation stands with the first arrow, without who else says the same."""
    state = insight_state(evaluation, material, policy)
    run = evaluated_run(evaluation, material.outcomes.get(evaluation.outcome))
    if run is None or run.tells_more or state.state not in ("weak", "not confirmed"):
        return state
    return PromotionState(
        "silent", f"{state.reason}; and it tells no more than how its own run ended"
    )


def support_state(
    evaluation: Evaluation, book: RunBook, material: PromotionMaterial, policy: Policy
) -> PromotionState:
    """Where one evaluation stands with the first arrow."""
    state = support_standing(evaluation, material, policy)
    run = evaluated_run(evaluation, material.outcomes.get(evaluation.outcome))
    if run is None or state.state not in ("weak", "not confirmed"):
        return state
    book.add_runs([run])
    agreeing = [words for words, claim in book.near(run).items() if same(claim, run.claim)]
    said = book.sayings(run.domain, agreeing).values()
    sides = _sessions_of([saying for saying in said if saying.status == run.ending])
    return PromotionState(state.state, f"{state.reason}; {sides} say it, without that it takes two")

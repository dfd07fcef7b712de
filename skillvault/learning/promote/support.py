"""promote, the first arrow: what the results support becomes a fact, and what speaks against it.

An insight becomes a fact if its verdict was strong and right, or strong and wrong (a surprise), or
if two runs of different sessions say it and fewer speak against it. A run speaks against a fact if
it says the opposite, or if it says the same or rests on the same ground and ended otherwise.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning.account.causes import REASONED, own_values, wording_of
from skillvault.learning.account.insight import insights_of
from skillvault.learning.promote.facts import (
    STEP,
    PromotionMaterial,
    PromotionState,
    fact_id,
    fact_text,
    insight_state,
    is_surprise,
    statement_of,
    strength,
    taken_away,
    unmet,
)
from skillvault.learning.rejection import Rejection
from skillvault.model.brief import Insight
from skillvault.model.change import Change, Edit, Rewrite
from skillvault.model.policy import Policy
from skillvault.model.reading import stated
from skillvault.model.records import (
    Evaluation,
    Fact,
    Importance,
    Link,
    LinkType,
    Outcome,
    Ref,
    Status,
    Trust,
    link_of,
    stamp,
)
from skillvault.model.sameness.comparison import opposite, same
from skillvault.model.sameness.form import Form, normal_form
from skillvault.model.text.text import inert, listed

_LISTED = 20  # facts that a message names
_TOGETHER = 50  # facts of one commit
_AT_ONCE = 250  # links of one commit
CROWDED = 5  # facts on one ground; runs on it are linked with no more of those
_QUOTED = 8  # words of a statement by which it is found in an insight

_FIGURE = re.compile(r"[-+]?\d+(?:[.,:]\d+)*(?: ?(?:%|[a-z]{1,2}\b))?")
_MEASURED = re.compile(
    r"\b\d+ (?:of|out of) \d+\b"
    r"|\b(?:took|fell|rose|reached|measured|showed)(?: \w+)? [-+]?\d\S*(?: \S+)?"
)

_WORD = re.compile(r"\w+")
_TELLING = 4  # characters of a target by which a word is known to be named after it

Stance = Literal["for", "against"]
_LINKS: Mapping[Stance, LinkType] = {"for": "reinforced", "against": "contradicted"}


class Witness(Struct, frozen=True, kw_only=True):
    """What one evaluated run says, to be compared with what others say.

    `form` is that of its insight without the outcome's own values; `stated` are the statements of
    its reasoning, `grounds` those that its insight quotes, as digests. It `tells_more` if it does
    not only tell how its run ended.
    """

    evaluation: Evaluation
    outcome: Outcome
    form: Form
    stated: frozenset[str]
    grounds: frozenset[str]
    tells_more: bool

    @property
    def id(self) -> str:
        """The id of its evaluation."""
        return self.evaluation.id

    @property
    def outcome_status(self) -> Status:
        """How the run ended."""
        return self.outcome.result.status

    @property
    def order(self) -> tuple[datetime, str]:
        """When it ended, and its id."""
        return self.outcome.order

    @property
    def session(self) -> str:
        """In which session it was; without one it stands alone."""
        return self.outcome.source.session or self.id


class Runs(Struct, frozen=True):
    """The runs that say something, by id of their evaluations, and their sessions."""

    ids: frozenset[str]
    sessions: frozenset[str]


class Memory(Protocol):
    """What the runs of a vault witness so far."""

    def alike(self, witness: Witness) -> Sequence[Witness]:
        """Of all words that may say the same or the opposite one run that says them."""

    def heard(self, evaluations: Iterable[str]) -> Mapping[str, Witness]:
        """What these runs say."""

    def remembered(self, evaluations: Iterable[str]) -> Collection[str]:
        """Those of these runs of which is kept what they say."""

    def spread(self, firsts: Collection[str]) -> bool:
        """Whether the runs that end alike and say these words are of more than one session."""

    def speaking(self, firsts: Collection[str], status: Status) -> Runs:
        """The runs that say these words and ended so."""

    def stating(self, domain: str, grounds: Collection[str]) -> Mapping[str, Status]:
        """The runs whose reasoning states any of these grounds, and how they ended."""

    def facts_of(self, firsts: Collection[str]) -> Mapping[str, str]:
        """Fact -> the evaluation that made it, with these words."""

    def facts_on(self, domain: str, grounds: Collection[str]) -> Mapping[str, Mapping[str, str]]:
        """Ground -> fact -> the evaluation that made it, the first few of each."""

    def tellers(self, fact: str, at: datetime) -> Iterable[str]:
        """The runs that support a fact and ended at a time."""

    def remember(self, witness: Witness, first: str) -> None:
        """Keep what a run says; `first` is the run by which its words are known."""

    def keep_grounds(self, witness: Witness) -> None:
        """Keep on what the fact rests that a run made."""


class NewFact(Struct, frozen=True, kw_only=True):
    """An insight that becomes a fact: the earliest that says it, and what else does."""

    source: Witness
    fact: str
    importance: Importance
    why: str


class Retelling(Struct, frozen=True, kw_only=True):
    """A fact that an earlier run says already, or a surer one: its text, time and importance."""

    fact: Fact
    witness: Witness
    importance: Importance
    is_earlier: bool


class SupportPlan(Struct, frozen=True):
    """The first arrow's work: facts, what more speaks for and against facts, what is retold."""

    facts: Sequence[NewFact]
    links: Sequence[Link]
    retellings: Sequence[Retelling]
    rejected: Sequence[Rejection]


def witness_of(evaluation: Evaluation, outcome: Outcome | None) -> Witness | None:
    """What a run says; None if it says nothing or nothing that counts."""
    if outcome is None or outcome.trust != "local" or not evaluation.key_insight:
        return None
    if outcome.result.status == "neutral":
        return None
    own, insight = own_values(outcome), _without_end(evaluation.key_insight, outcome)
    insight_words = _WORD.findall(evaluation.key_insight.casefold())
    insights = [i for i in insights_of(outcome) if _is_quoted(i, insight_words)]
    quoted = (insight.quote for insight in insights)
    measured = (figure for insight in insights for figure in _measured(insight))
    reported = _reported(outcome)
    return Witness(
        evaluation=evaluation,
        outcome=outcome,
        form=normal_form(insight, (*own, *measured, *reported, *_named_after(evaluation, outcome))),
        stated=frozenset(_digest(text, own) for text in stated(outcome.decision.reasoning)),
        grounds=frozenset(_digest(text, own) for text in quoted),
        tells_more=_tells_more(insight, outcome, own),
    )


def _without_end(insight: str, outcome: Outcome) -> str:
    """Leave out that the run succeeded or failed: ends are compared as such, not by their words."""
    subject = re.escape(inert(outcome.decision.target or outcome.decision.action, 60))
    return re.sub(rf"(?i)({subject}) (?:succeeded|failed)\b", r"\1", insight, count=1)


def _fact_named(witness: Witness) -> str | None:
    """The fact that a run repeats or contradicts in its judge's word."""
    return witness.evaluation.repeats or witness.evaluation.contradicts


def _standing_of(
    fact: str, records: Mapping[str, Fact], new: Mapping[str, NewFact]
) -> tuple[str, Trust]:
    """The domain and the trust of a fact that is there or about to be."""
    if record := records.get(fact):
        return record.domain, record.trust
    source = new[fact].source
    return source.evaluation.domain, source.outcome.trust


def _tells_more(insight: str, outcome: Outcome, own: Collection[str]) -> bool:
    """Whether an insight tells more than what was decided and how that ended."""
    decision, result = outcome.decision, outcome.result
    recorded = (*outcome.context, decision.action, result.summary, result.evidence)
    form = normal_form(insight, (*own, *recorded, "ended at"))
    return bool(form.stems or form.numbers or form.names)


def _named_after(evaluation: Evaluation, outcome: Outcome) -> Iterator[str]:
    """The words of an insight that are named after the target, as a test of it is."""
    target = _squashed(outcome.decision.target or "")
    if len(target) >= _TELLING:
        for word in (evaluation.key_insight or "").split():
            if target in _squashed(word):
                yield word.strip("“”\"'().,:;")


def _squashed(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def _measured(insight: Insight) -> Iterator[str]:
    """The figures of an insight that its run measured: they belong to it alone.

    All of a finding or a check, else those that say that they were; never those of an instruction.
    """
    if insight.kind in ("found", "check"):
        yield from _FIGURE.findall(insight.quote)
    else:
        for match in _MEASURED.finditer(insight.quote):
            yield from _FIGURE.findall(match[0])


def _reported(outcome: Outcome) -> Iterator[str]:
    """The figures that only the result has: they too belong to its run alone."""
    reasoned = set(_FIGURE.findall(outcome.decision.reasoning))
    for text in (outcome.result.summary, outcome.result.evidence):
        yield from (figure for figure in _FIGURE.findall(text or "") if figure not in reasoned)


def _is_quoted(insight: Insight, insight_words: Collection[str]) -> bool:
    """Whether an insight's text quotes this statement of the reasoning."""
    if insight.kind not in REASONED:
        return False
    quoted = _WORD.findall(insight.quote.casefold())[:_QUOTED]
    return bool(quoted) and all(word in insight_words for word in quoted)


def _digest(statement: str, own: tuple[str, ...]) -> str:
    text = " ".join(sorted(wording_of(statement, own)))
    return blake2b(text.encode(), digest_size=8).hexdigest()


# ── for and against ──────────────────────────────────────────────────────────────────


class Support:
    """What speaks for and against facts, one run after the other in the order of time."""

    def __init__(self, memory: Memory, material: PromotionMaterial, policy: Policy) -> None:
        self._memory = memory
        self._material = material
        self._policy = policy
        self._facts: dict[str, NewFact] = {}
        self._links: dict[str, Link] = {}
        self._retellings: dict[str, Retelling] = {}
        self._rejected: set[Rejection] = set()
        self._again: Collection[str] = ()  # if something was taken back: who was weighed before
        self._sources: dict[str, dict[str, str]] = defaultdict(dict)  # first -> fact -> evaluation
        self._grounds: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)  # likewise

    def plan(self, runs: Iterable[Witness]) -> SupportPlan:
        """The work for these runs."""
        ordered = sorted(runs, key=lambda witness: witness.order)
        if self._material.by_arrival:
            self._again = self._memory.remembered(witness.id for witness in ordered)
        # By other rules a fact may be a later run's: what is known of it stands before all.
        for witness in ordered:
            if witness.id in self._material.promoted:
                self._remember(witness)
                self._memory.keep_grounds(witness)
        for witness in self._in_turn(ordered):
            self._weigh(witness)
        return SupportPlan(
            tuple(self._facts.values()),
            tuple(self._links.values()),
            tuple(self._retellings.values()),
            tuple(sorted(self._rejected)),
        )

    def _in_turn(self, ordered: Iterable[Witness]) -> Iterator[Witness]:
        """The runs in their order; one whose judge names a fact that another makes comes after.

        What it says is known from its own turn on: who says the same later makes a fact of it.
        """
        waiting: list[Witness] = []
        for witness in ordered:
            if (
                _fact_named(witness) in (None, *self._facts)
                or _fact_named(witness) in self._material.facts
            ):
                yield witness
            else:
                self._remember(witness)
                waiting.append(witness)
        while waiting:
            ready = (one for one in waiting if _fact_named(one) in self._facts)
            following = next(ready, waiting[0])
            waiting.remove(following)
            yield following

    def _remember(self, witness: Witness) -> tuple[Sequence[Witness], str]:
        """Keep what a run says; (the runs with like words, that by which its words are known)."""
        alike = self._memory.alike(witness)
        first = next((other.id for other in alike if other.form == witness.form), witness.id)
        self._memory.remember(witness, first)
        return alike, first

    def _weigh(self, witness: Witness) -> None:
        alike, first = self._remember(witness)
        agreeing = {first, *(other.id for other in alike if same(other.form, witness.form))}
        opposed = {other.id for other in alike if opposite(other.form, witness.form)}
        by_words = self._stances(witness, agreeing, opposed)
        on_ground = self._by_result(witness)
        for fact, stance in {**on_ground, **by_words}.items():
            self._connect(witness, fact, stance)
        for fact, source in self._made(agreeing).items():
            record = self._material.facts.get(fact)
            if by_words.get(fact) != "for" or not self._is_as_told(fact, source):
                continue
            if record:
                self._retell(record, witness)
            elif self._importance(witness) == "high":
                self._facts[fact] = replace(self._facts[fact], importance="high")
        is_told = witness.id in self._material.promoted or "for" in by_words.values()
        if not is_told:
            self._promote(witness, agreeing, opposed)

    def _stances(
        self, witness: Witness, agreeing: Collection[str], opposed: Collection[str]
    ) -> dict[str, Stance]:
        """Fact -> where the words of a run stand to it."""
        stances: dict[str, Stance] = {}
        for fact, source in self._made(agreeing).items():
            if source.id != witness.id and self._says(fact, source, witness):
                stances[fact] = (
                    "for" if source.outcome_status == witness.outcome_status else "against"
                )
        for fact, source in self._made(opposed).items():
            # Of two that say the opposite and end otherwise the one bears out the other.
            if source.outcome_status == witness.outcome_status and self._is_as_told(fact, source):
                stances[fact] = "against"
        stances |= self._by_judge(witness)
        for record in self._by_hand(witness.evaluation.domain):
            form = normal_form(record.text, own_values(witness.outcome))
            if same(form, witness.form):
                stances[record.id] = "for"
            elif opposite(form, witness.form):
                stances[record.id] = "against"
        return stances

    def _by_judge(self, witness: Witness) -> dict[str, Stance]:
        """Fact -> where a run stands to it in its judge's word, of the facts of its domain."""
        evaluation = witness.evaluation
        named: tuple[tuple[str | None, Stance], ...] = (
            (evaluation.repeats, "for"),
            (evaluation.contradicts, "against"),
        )
        return {
            fact: stance
            for fact, stance in named
            if fact is not None
            and self._is_current(fact)
            and _standing_of(fact, self._material.facts, self._facts)
            == (evaluation.domain, "local")
        }

    def _says(self, fact: str, source: Witness, witness: Witness) -> bool:
        """Whether a fact says what the run said that made it; else, edited, what this one does."""
        if self._is_as_told(fact, source):
            return True
        statement = statement_of(self._material.facts[fact])
        return same(normal_form(statement, own_values(source.outcome)), witness.form)

    def _is_as_told(self, fact: str, source: Witness) -> bool:
        """Whether a fact still says what a run did that supports it, and no person's words."""
        record = self._material.facts.get(fact)
        if record is None or record.kind != "judge":
            return True
        statement = statement_of(record)
        if statement == source.evaluation.key_insight:
            return True
        at = record.created_at or source.order[0]
        tellers = self._load(self._memory.tellers(fact, at)).values()
        return any(statement == teller.evaluation.key_insight for teller in tellers)

    def _by_hand(self, domain: str) -> Iterator[Fact]:
        for record in self._material.current_facts:
            if record.kind == "human" and (record.domain, record.trust) == (domain, "local"):
                yield record

    def _by_result(self, witness: Witness) -> dict[str, Stance]:
        """Fact -> where a run stands to it that rests on its ground."""
        by_ground = self._on_grounds(witness.evaluation.domain, witness.stated)
        made_by = {fact: name for facts in by_ground.values() for fact, name in facts.items()}
        sources = self._load(made_by.values())
        return {
            fact: "for" if sources[name].outcome_status == witness.outcome_status else "against"
            for fact, name in made_by.items()
            if name in sources
            and name != witness.id
            and self._is_current(fact)
            and self._is_as_told(fact, sources[name])
        }

    def _on_grounds(self, domain: str, grounds: Collection[str]) -> dict[str, dict[str, str]]:
        """Ground -> fact -> the run that made it, the first few of each."""
        by_ground: dict[str, dict[str, str]] = {}
        kept = self._memory.facts_on(domain, grounds)
        for ground in grounds:
            made_by = {**kept.get(ground, {}), **self._grounds.get((domain, ground), {})}
            ordered = sorted(made_by.items(), key=lambda pair: (pair[1], pair[0]))
            by_ground[ground] = dict(ordered[:CROWDED])
        return by_ground

    def _is_current(self, fact: str) -> bool:
        if fact in self._material.facts:
            return fact not in self._material.superseded
        return fact in self._facts

    def _made(self, firsts: Collection[str]) -> dict[str, Witness]:
        """Fact -> what the run says that made it, of those with these words."""
        made_by = dict(self._memory.facts_of(firsts))
        for first in firsts:
            made_by |= self._sources.get(first, {})
        sources = self._load(made_by.values())
        return {f: sources[n] for f, n in made_by.items() if n in sources and self._is_current(f)}

    def _load(self, evaluations: Iterable[str]) -> Mapping[str, Witness]:
        return self._memory.heard(dict.fromkeys(evaluations))

    def _connect(self, witness: Witness, fact: str, stance: Stance) -> None:
        """Link a run with a fact; where its judge named the fact, as the judge says."""
        if fact == _fact_named(witness):
            stance = "against" if witness.evaluation.contradicts else "for"
        source, target = Ref("evaluation", witness.id), Ref("fact", fact)
        link = link_of(_LINKS[stance], source, target, witness.outcome.occurred_at)
        if refused := self._material.rejections.of_target(Ref("link", link.id)):
            self._rejected.add(refused)
            return
        if link.id not in self._material.links:
            self._links[link.id] = link

    def _retell(self, fact: Fact, witness: Witness) -> None:
        """Tell a fact as the earliest run that says it does, as important as the surest."""
        before = self._retellings.get(fact.id)
        importance = before.importance if before else fact.importance
        surest = "high" if "high" in (importance, self._importance(witness)) else importance
        is_earlier = _is_earlier(witness, fact, before, self._memory)
        if is_earlier or surest != importance:
            self._retellings[fact.id] = Retelling(
                fact=fact,
                witness=before.witness if before and not is_earlier else witness,
                importance=surest,
                is_earlier=is_earlier or (before is not None and before.is_earlier),
            )

    # ── which become facts ───────────────────────────────────────────────────────────

    def _promote(
        self, witness: Witness, agreeing: Collection[str], opposed: Collection[str]
    ) -> None:
        """Make a fact of what a run says, if that is supported."""
        if refused := taken_away(witness.evaluation, self._material) or self._refused(witness):
            self._rejected.add(refused)
            return
        makers = self._made(agreeing).values()
        if any(maker.outcome_status == witness.outcome_status for maker in makers):
            return  # a person has put other words in its place
        gate = unmet(witness.evaluation, self._material, self._policy)
        if gate is not None and not (witness.tells_more and self._memory.spread(agreeing)):
            return
        source = self._earliest(self._memory.speaking(agreeing, witness.outcome_status).ids)
        if source.id != witness.id:  # the fact says what it does, so others are compared with it
            alike = self._memory.alike(source)
            agreeing = {other.id for other in alike if same(other.form, source.form)}
            opposed = {other.id for other in alike if opposite(other.form, source.form)}
        speaking, on_ground, against = self._sides(source, agreeing, opposed)
        support, enough = speaking.ids | on_ground, self._policy.promote.min_sessions
        independent = len(speaking.sessions) >= enough
        stands = independent and len(against) < len(support)
        by_arrival = self._material.by_arrival if witness.id in self._again else None
        if gate and independent and against and by_arrival:
            # A fact that stands is not unmade by what comes later: so it is without what is gone.
            runs = self._load(support | against)
            arrived = _in_order(by_arrival(runs), runs)
            stands = _has_stood(arrived, speaking.ids, against, enough)
        if gate is None or stands:
            self._add_fact(source, agreeing, (speaking, against))
            self._connect_all(source, self._load(on_ground | speaking.ids), "for")
            self._connect_all(source, self._load(against), "against")

    def _add_fact(
        self, source: Witness, agreeing: Collection[str], sides: tuple[Runs, Collection[str]]
    ) -> None:
        """Tell a fact as the earliest that says it does, as important as the surest of them."""
        supporters = sorted(self._load(sides[0].ids).values(), key=lambda other: other.order)
        importances = {self._importance(other) for other in supporters}
        fact = NewFact(
            source=source,
            fact=fact_id(source.evaluation),
            importance="high" if "high" in importances else "medium",
            why=self._why(supporters, *sides),
        )
        if fact.fact in self._material.facts:
            return  # which a person superseded
        self._facts[fact.fact] = fact
        # Known by its own words alone: who says the same as one that agrees may say another thing.
        alike = self._load(agreeing).items()
        first = next((name for name, other in alike if other.form == source.form), source.id)
        self._sources[first][fact.fact] = source.id
        for ground in source.grounds:
            self._grounds[source.evaluation.domain, ground][fact.fact] = source.id
        self._memory.keep_grounds(source)

    def _connect_all(self, source: Witness, others: Mapping[str, Witness], stance: Stance) -> None:
        """Link runs with the fact that another made."""
        fact = fact_id(source.evaluation)
        for other in others.values() if fact in self._facts else ():
            if other.id != source.id:
                self._connect(other, fact, stance)

    def _sides(
        self, witness: Witness, agreeing: Collection[str], opposed: Collection[str]
    ) -> tuple[Runs, frozenset[str], frozenset[str]]:
        """(the runs that say what one says, those on its ground, those that speak against it)."""
        memory, other = self._memory, _OTHERWISE[witness.outcome_status]
        speaking = memory.speaking(agreeing, witness.outcome_status)
        domain = witness.evaluation.domain
        grounds = witness.grounds  # on which the fact rests
        by_ground = self._on_grounds(domain, grounds)
        free = [ground for ground in grounds if len(by_ground[ground]) < CROWDED]
        stating = memory.stating(domain, free)
        on_ground = frozenset(
            name for name, status in stating.items() if status == witness.outcome_status
        )
        against = frozenset(
            {
                *memory.speaking(agreeing, other).ids,
                *memory.speaking(opposed, witness.outcome_status).ids,
                *stating.keys() - on_ground,
            }
        )
        return speaking, on_ground, against - speaking.ids - on_ground

    def _earliest(self, runs: Iterable[str]) -> Witness:
        return min(self._load(runs).values(), key=lambda witness: witness.order)

    def _importance(self, witness: Witness) -> Importance:
        sure = strength(witness.evaluation, self._policy.promote) >= self._policy.promote.high_from
        gate = unmet(witness.evaluation, self._material, self._policy) is None
        return (
            "high" if gate and (sure or is_surprise(witness.evaluation, self._policy)) else "medium"
        )

    def _refused(self, witness: Witness) -> Rejection | None:
        """What a person took away and this repeats."""
        domain, material = witness.evaluation.domain, self._material
        removed = [
            evaluation.id for evaluation in material.taken_away if evaluation.domain == domain
        ]
        for other in self._load(removed).values():
            if same(other.form, witness.form) and (
                refused := taken_away(other.evaluation, material)
            ):
                return refused
        return None

    def _why(self, supporters: Sequence[Witness], speaking: Runs, against: Collection[str]) -> str:
        """By what it became a fact: the first verdict that met the gate, else who says it."""
        evaluations = (supporter.evaluation for supporter in supporters)
        sure = next((e for e in evaluations if not unmet(e, self._material, self._policy)), None)
        if sure is None:
            sides = f"{_runs(len(speaking.ids))} of {_sessions(len(speaking.sessions))}"
            return f"Said by {sides}; {_runs(len(against))} against it."
        verdict = "good" if sure.was_good_decision else "bad"
        decision = f"A {verdict} decision (quality {sure.quality_score:.2f})"
        earlier = "" if sure is supporters[0].evaluation else " Told as an earlier run tells it."
        if sure.judge_was_right:
            return f"{decision}, confirmed by the result.{earlier}"
        return f"{decision} by the verdict, and the result was otherwise: a surprise.{earlier}"


def _is_earlier(witness: Witness, fact: Fact, before: Retelling | None, memory: Memory) -> bool:
    """Whether a run stands before the one as which a fact is told; at one time by its id."""
    if before and before.is_earlier:
        return witness.order < before.witness.order
    at = fact.created_at or witness.order[0]
    if witness.order[0] != at:
        return witness.order[0] < at
    tellers = memory.heard(dict.fromkeys(memory.tellers(fact.id, at))).values()
    statement = statement_of(fact)
    told_as = [run.order for run in tellers if run.evaluation.key_insight == statement]
    return bool(told_as) and witness.order < min(told_as)


def _in_order(
    arrivals: Iterable[Collection[str]], runs: Mapping[str, Witness]
) -> Iterator[Witness]:
    """The runs as they came, those that came together in the order of time."""
    for together in arrivals:
        yield from sorted((runs[name] for name in together), key=lambda run: run.order)


def _has_stood(
    arrived: Iterable[Witness], speaking: Collection[str], against: Collection[str], enough: int
) -> bool:
    """Whether, when a run came that says it, enough sessions did and fewer runs were against it."""
    sessions: set[str] = set()
    balance = 0
    for run in arrived:
        balance += -1 if run.id in against else 1
        if run.id in speaking:
            sessions.add(run.session)
            if len(sessions) >= enough and balance > 0:
                return True
    return False


_OTHERWISE: Mapping[Status, Status] = {"success": "failure", "failure": "success"}


def _runs(count: int) -> str:
    return f"{count} run{'s' * (count != 1)}"


def _sessions(count: int) -> str:
    return f"{count} session{'s' * (count != 1)}"


def support_standing(
    evaluation: Evaluation, material: PromotionMaterial, policy: Policy
) -> PromotionState:
    """Where one evaluation stands with the first arrow, without who else says the same."""
    state = insight_state(evaluation, material, policy)
    witness = witness_of(evaluation, material.outcomes.get(evaluation.outcome))
    if witness is None or witness.tells_more or state.state not in ("weak", "not confirmed"):
        return state
    return PromotionState(
        "silent", f"{state.reason}; and it tells no more than how its own run ended"
    )


def support_state(
    evaluation: Evaluation, memory: Memory, material: PromotionMaterial, policy: Policy
) -> PromotionState:
    """Where one evaluation stands with the first arrow."""
    state = support_standing(evaluation, material, policy)
    witness = witness_of(evaluation, material.outcomes.get(evaluation.outcome))
    if witness is None or state.state not in ("weak", "not confirmed"):
        return state
    alike = memory.alike(witness)
    agreeing = {witness.id, *(other.id for other in alike if same(other.form, witness.form))}
    speaking = memory.speaking(agreeing, witness.outcome_status)
    sides = f"{_runs(len(speaking.ids))} of {_sessions(len(speaking.sessions))} say it"
    return PromotionState(state.state, f"{state.reason}; {sides}, without that it takes two")


# ── the changes ──────────────────────────────────────────────────────────────────────


def fact_changes(new: Iterable[NewFact]) -> Iterator[Change]:
    """The commits that make insights facts; those of one run in one domain share them."""
    by_domain: dict[str, list[NewFact]] = defaultdict(list)
    for fact in new:
        by_domain[fact.source.evaluation.domain].append(fact)
    for domain, facts in sorted(by_domain.items()):
        for start in range(0, len(facts), _TOGETHER):
            yield _facts_change(domain, facts[start : start + _TOGETHER])


def _facts_change(domain: str, new: Sequence[NewFact]) -> Change:
    """One commit; each source stands where the fact stands that was made of it."""
    alone = new[0].fact if len(new) == 1 else None
    if alone:
        reason = _told(new[0])
    else:
        lines = [f"- {fact.fact}: {fact.why}" for fact in new[:_LISTED]]
        more = [f"- and {len(new) - _LISTED} more"] if len(new) > _LISTED else []
        reason = "\n".join([*lines, *more])
    judges = {f"{e.judge.name} {e.judge.version}" for e in (fact.source.evaluation for fact in new)}
    return Change(
        step=STEP,
        subject=alone or f"{len(new)} facts in {domain}",
        reason=reason,
        writes=tuple(record for fact in new for record in _records(fact)),
        sources=tuple(Ref("evaluation", fact.source.id) for fact in new),
        targets=tuple(Ref("fact", fact.fact) for fact in new),
        judge=listed(sorted(judges)),
    )


def _told(new: NewFact) -> str:
    text = fact_text(new.source.evaluation)
    return f"{new.why} Importance {new.importance}.\n{text}"


def _records(new: NewFact) -> tuple[Fact, Link]:
    """The fact, with what it says to do, and the link to what made it."""
    witness, at = new.source, new.source.outcome.occurred_at
    fact = Fact(
        id=new.fact,
        domain=witness.evaluation.domain,
        text=fact_text(witness.evaluation),
        importance=new.importance,
        kind="judge",
        created_at=at,
        insight_type=witness.evaluation.insight_type,
    )
    source, target = Ref("evaluation", witness.id), Ref("fact", new.fact)
    return fact, link_of("promoted", source, target, at)


def weighing_changes(links: Sequence[Link], retellings: Sequence[Retelling]) -> Iterator[Change]:
    """The commits that link runs to the facts that they speak for and against, fact by fact."""
    ordered = sorted(links, key=lambda link: (link.target, link.source))
    for start in range(0, max(len(ordered), 1), _AT_ONCE):
        retold = retellings if not start else ()
        yield _weighing_change(ordered[start : start + _AT_ONCE], retold)


def _weighing_change(links: Sequence[Link], retellings: Sequence[Retelling]) -> Change:
    facts = sorted({link.target.id for link in links} | {each.fact.id for each in retellings})
    counts = {
        fact: [
            sum(link.target.id == fact and link.type == kind for link in links)
            for kind in _LINKS.values()
        ]
        for fact in facts
    }
    lines = [
        f"- {fact}: {speaking} more for it, {against} against it"
        for fact, (speaking, against) in list(counts.items())[:_LISTED]
    ]
    if len(facts) > _LISTED:
        lines.append(f"- and {len(facts) - _LISTED} more")
    lines += [f"- {each.fact.id}: {_retold(each)}" for each in retellings[:_LISTED]]
    edits = [edit for each in retellings for edit in _retold_keys(each)]
    return Change(
        step=STEP,
        subject=f"weigh {facts[0]}" if len(facts) == 1 else f"weigh {len(facts)} facts",
        reason="\n".join(lines),
        writes=tuple(links),
        edits=tuple(edits),
        rewrites=tuple(
            Rewrite(_path(each.fact), fact_text(each.witness.evaluation) + "\n")
            for each in retellings
            if each.is_earlier
        ),
        sources=tuple(dict.fromkeys(link.source for link in links)),
        targets=tuple(Ref("link", link.id) for link in links),
    )


def _retold(retelling: Retelling) -> str:
    """What becomes of a fact that is retold."""
    words = ["told as an earlier run tells it"] if retelling.is_earlier else []
    if retelling.importance != retelling.fact.importance:
        words.append(f"importance {retelling.importance}")
    return " and ".join(words)


def _retold_keys(retelling: Retelling) -> Iterator[Edit]:
    fact, at = retelling.fact, retelling.witness.outcome.occurred_at
    if retelling.is_earlier:
        yield Edit(_path(fact), ("created_at",), stamp(at))
    if retelling.importance != fact.importance:
        yield Edit(_path(fact), ("importance",), retelling.importance)


def _path(fact: Fact) -> str:
    return f"memory/{fact.domain}/{fact.id}.md"

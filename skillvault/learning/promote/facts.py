"""promote, the first arrow: an insight that the result confirmed becomes a fact.

What repeats a fact supports it. Which texts are nearly the same is computed here too. `support`
makes the facts, and `skills` the skills of facts that recur.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import Protocol

from msgspec import Struct

from skillvault.learning.naming import is_general
from skillvault.learning.promote.evidence import is_contested
from skillvault.learning.rejection import Rejection, Rejections
from skillvault.learning.rules import Rules
from skillvault.model.change import Change
from skillvault.model.errors import UsageError
from skillvault.model.policy import Policy, PromotePolicy
from skillvault.model.records import (
    Evaluation,
    Fact,
    Importance,
    Link,
    Outcome,
    Ref,
    Status,
    link_id,
    link_of,
)
from skillvault.model.text.text import jaccard, slug, words

_Bits = int  # a set of texts: bit n stands for the text of number n


class Neighbours:
    """Texts in the order in which they were added, numbered from 0.

    Two are neighbours if the Jaccard index of their `text.words` is above `threshold`,
    strictly.
    """

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._sets: list[frozenset[str]] = []
        self._holders: dict[str, _Bits] = defaultdict(int)
        self._sizes: dict[int, _Bits] = defaultdict(int)

    def add(self, text: frozenset[str]) -> int:
        """Take a text's words in; its number."""
        number = len(self._sets)
        self._sets.append(text)
        self._sizes[len(text)] |= 1 << number
        for word in text:
            self._holders[word] |= 1 << number
        return number

    def first(self, text: frozenset[str]) -> int | None:
        """The earliest neighbour of a text's words."""
        neighbours = self._above(text)
        return (neighbours & -neighbours).bit_length() - 1 if neighbours else None

    def closest(self, text: frozenset[str]) -> tuple[int, float] | None:
        """The nearest neighbour and its similarity; of equally near ones the earliest."""
        near = ((n, jaccard(text, self._sets[n])) for n in _members(self._above(text)))
        return max(near, key=lambda neighbour: (neighbour[1], -neighbour[0]), default=None)

    def _above(self, text: frozenset[str]) -> _Bits:
        """Every neighbour of a text's words."""
        planes = self._shared(text)
        neighbours = 0
        for size, holders in self._sizes.items():
            if needed := self._needed(len(text), size):
                neighbours |= holders & _at_least(needed, planes)
        return neighbours

    def _needed(self, a: int, b: int) -> int | None:
        """The least number of shared words that makes sets of these sizes neighbours."""
        needed = max(int(self.threshold / (1 + self.threshold) * (a + b)) - 1, 1)
        while needed <= min(a, b):
            if needed / (a + b - needed) > self.threshold:
                return needed
            needed += 1
        return None

    def _shared(self, text: frozenset[str]) -> list[_Bits]:
        """How many of these words each text holds: plane i has bit i of every count."""
        planes: list[_Bits] = []
        for word in text:
            carry = self._holders.get(word, 0)
            for i, plane in enumerate(planes):
                planes[i], carry = plane ^ carry, plane & carry
                if not carry:
                    break
            if carry:
                planes.append(carry)
        return planes


def _at_least(number: int, planes: Sequence[_Bits]) -> _Bits:
    """The texts whose count is no less than a number above 0."""
    if number >> len(planes):
        return 0
    more, equal = 0, -1
    for i in reversed(range(len(planes))):
        if number >> i & 1:
            equal &= planes[i]
        else:
            more |= equal & planes[i]
            equal &= ~planes[i]
    return more | equal


def _members(texts: _Bits) -> Iterator[int]:
    while texts:
        lowest = texts & -texts
        yield lowest.bit_length() - 1
        texts ^= lowest


STEP = "promote"
RULES = PromotePolicy()
MIN_FACT = 10  # characters; fewer are no statement


class FactCounts(Protocol):
    """What is counted of facts: the runs for and against them."""

    def supporter_counts(self, facts: Collection[str]) -> Mapping[str, int]:
        """Fact -> how many runs made or repeat it."""

    def opponent_counts(self, facts: Collection[str]) -> Mapping[str, int]:
        """Fact -> how many runs speak against it, of those against which any do."""

    def endings(self, facts: Collection[str]) -> Mapping[str, Status]:
        """Fact -> how the run ended that made it, of those that a run made."""

    def supporters(self, facts: Collection[str]) -> Sequence[str]:
        """The runs that made or repeat any of these facts, in the order of time."""

    def opponents(self, facts: Collection[str]) -> Sequence[str]:
        """The runs that speak against any of these facts, in the order of time."""

    def counts_until(self, facts: Collection[str], until: str) -> Mapping[str, tuple[int, int]]:
        """Fact -> how many runs up to one are for it and against it, of those with any."""

    def is_of_one_subject(self, facts: Collection[str]) -> bool:
        """Whether all runs that made or repeat these facts are of one subject."""


class PromotionMaterial(Struct, kw_only=True, dict=True):
    """What the rule reads of a vault, and what it asks of it more than once.

    `made_skills` says which skill a commit made of a fact, whatever became of the link;
    `taken_away` are the evaluations whose fact a person took away. `support` gives the
    evaluations that made or repeat facts, in the order of their ids, `outcomes_of` the
    outcomes of evaluations, `sessions_of` the sessions of the outcomes behind some facts, or
    enough of them to decide. `clock` is a domain's time.
    """

    outcomes: Mapping[str, Outcome]
    evaluations: Mapping[str, Evaluation]
    facts: Mapping[str, Fact]
    links: Mapping[str, Link]
    made_skills: Mapping[str, str]
    rejections: Rejections
    taken_away: Collection[Evaluation]
    support: Callable[[Collection[str]], list[Evaluation]]
    outcomes_of: Callable[[Collection[str]], Mapping[str, Outcome]]
    sessions_of: Callable[[Sequence[str]], Collection[str]]
    counts: FactCounts
    clock: Callable[[str], datetime | None]
    rules: Rules

    @cached_property
    def texts_by_domain(self) -> "dict[str, DomainTexts]":
        """Domain -> what is known of it, for those that were asked about."""
        return {}

    @cached_property
    def fact_links(self) -> dict[str, Link]:
        """Evaluation id -> the link by which it made or supports a fact."""
        types = ("promoted", "reinforced")
        supports = (link for link in self.links.values() if link.type in types)
        return {link.source.id: link for link in supports if link.target.kind == "fact"}

    @cached_property
    def promoted(self) -> dict[str, list[str]]:
        """The evaluations that made a fact -> what they made."""
        makers: dict[str, list[str]] = defaultdict(list)
        for link in self.links.values():
            if link.type == "promoted" and link.target.kind == "fact":
                makers[link.source.id].append(link.target.id)
        return makers

    @cached_property
    def superseded(self) -> dict[str, str]:
        """Fact id -> the fact that took its place."""
        return {f.supersedes: f.id for f in self.facts.values() if f.supersedes}

    @cached_property
    def current_facts(self) -> list[Fact]:
        """The facts that nothing supersedes, in their order."""
        current = (fact for fact in self.facts.values() if fact.id not in self.superseded)
        return sorted(current, key=lambda fact: fact.order)

    @cached_property
    def contested(self) -> frozenset[str]:
        """The facts that are not told, as the runs against them weigh too much."""
        if not self.rules.weighs:
            return frozenset()
        facts = {fact.id: fact for fact in self.current_facts}
        against = self.counts.opponent_counts(facts)
        runs = self.counts.supporter_counts(against)
        return frozenset(
            name
            for name, count in against.items()
            if is_contested(facts[name], runs.get(name, 0), count)
        )

    @cached_property
    def skills_of(self) -> dict[str, str]:
        """Fact id -> its domain's skill that was derived from it, whatever became of the link."""
        derived = [
            link
            for link in self.links.values()
            if link.type == "derived" and not is_general(link.target.id)
        ]
        return {**self.made_skills, **{link.source.id: link.target.id for link in derived}}

    @cached_property
    def refused_insights(self) -> dict[str, list[tuple[Rejection, str]]]:
        """Domain -> the insights whose fact a person took away.

        They are not to come back under another evaluation's name.
        """
        refused_insights: dict[str, list[tuple[Rejection, str]]] = defaultdict(list)
        for evaluation in self.taken_away:
            refused = self.rejections.of_source(STEP, Ref("evaluation", evaluation.id), "fact")
            if refused and evaluation.key_insight:
                refused_insights[evaluation.domain].append((refused, evaluation.key_insight))
        return refused_insights

    def domain_texts(self, domain: str, rules: PromotePolicy) -> "DomainTexts":
        """What an insight of a domain may repeat; made once, for questions."""
        if domain not in self.texts_by_domain:
            self.texts_by_domain[domain] = DomainTexts(domain, self, rules)
        return self.texts_by_domain[domain]

    def sessions(self, facts: Iterable[Fact]) -> Collection[str]:
        """The sessions of the outcomes that facts rest on."""
        return self.sessions_of([fact.id for fact in facts])


class PromotionState(Struct, frozen=True):
    """Where something stands with this step: a state and why, with the numbers."""

    state: str
    reason: str


# ── first arrow: evaluation -> fact ──────────────────────────────────────────────────


def strength(evaluation: Evaluation, rules: PromotePolicy) -> float:
    """How sure a verdict is of itself: of a bad decision 1 - quality, if that teaches too."""
    quality = evaluation.quality_score
    as_it_is = evaluation.was_good_decision or rules.gate == "quality"
    return quality if as_it_is else 1 - quality


def insight_state(
    evaluation: Evaluation, material: PromotionMaterial, policy: Policy
) -> PromotionState:
    """Where one evaluation stands with the first arrow."""
    link = material.fact_links.get(evaluation.id)
    if link is not None:
        removal = "" if link.target.id in material.facts else ", taken away since"
        return PromotionState(
            "rejected" if removal else "done", f"{link.type} {link.target.id}{removal}"
        )
    if refused := taken_away(evaluation, material):
        fact = refused.target.partition(":")[2]
        return PromotionState("rejected", f"made {fact} in {refused.commit[:10]}, taken away since")
    if weak := unmet(evaluation, material, policy):
        return weak
    refused, _ = material.domain_texts(evaluation.domain, policy.promote).repeated(evaluation)
    if refused:
        origin = f"{refused.target.partition(':')[2]}, made in {refused.commit[:10]}"
        return PromotionState("rejected", f"it repeats {origin} and taken away since")
    return PromotionState("due", "`skillvault run`")


def unmet(
    evaluation: Evaluation, material: PromotionMaterial, policy: Policy
) -> PromotionState | None:
    """The first condition that an evaluation does not meet; None if it meets all."""
    outcome = material.outcomes.get(evaluation.outcome)
    if outcome is None:
        return PromotionState("without outcome", "its outcome is not in this vault")
    if evaluation.key_insight is None:
        return PromotionState("silent", "the outcome supports no insight")
    if outcome.trust != "local":
        return PromotionState(
            "untrusted", "its source is untrusted; `skillvault fact add` takes it over"
        )
    if not evaluation.judge_was_right and not material.rules.is_surprise(evaluation, policy):
        ended = outcome.result.status
        how = "confirms no verdict" if ended == "neutral" else "contradicts the verdict"
        return PromotionState("not confirmed", f"the result ({ended}) {how}")
    return _weak(evaluation, policy.promote)


def is_surprise(evaluation: Evaluation, policy: Policy) -> bool:
    """Whether a strong verdict was wrong: what the judge did not know teaches most."""
    sure = strength(evaluation, policy.promote) >= policy.promote.quality
    return evaluation.judge_was_right is False and sure


def statement_of(fact: Fact) -> str:
    """What a fact states, without what it says to do."""
    return fact.text.partition("\n")[0] if fact.kind == "judge" else fact.text


def _weak(evaluation: Evaluation, rules: PromotePolicy) -> PromotionState | None:
    """That a verdict is not strong enough, with the bound; None if it is."""
    was_good, quality = evaluation.was_good_decision, evaluation.quality_score
    if strength(evaluation, rules) >= rules.quality:
        return None
    if was_good or rules.gate == "quality":
        needs = f"{rules.quality:.2f} or more"
    else:
        needs = f"{1 - rules.quality:.2f} or less"
    verdict = "good" if was_good else "bad"
    reason = f"quality {quality:.2f}; a {verdict} decision needs {needs}"
    return PromotionState("weak", reason)


def taken_away(evaluation: Evaluation, material: PromotionMaterial) -> Rejection | None:
    """The fact, or its support of one, that a person took away."""
    return material.rejections.of_source(STEP, Ref("evaluation", evaluation.id), "fact")


class DomainTexts:
    """The trusted facts of a domain, and the insights whose fact a person took away."""

    def __init__(self, domain: str, material: PromotionMaterial, rules: PromotePolicy) -> None:
        self._rejections = material.rejections
        self._ids: list[str] = []
        self._facts = Neighbours(rules.duplicate_above)
        self._gone: list[Rejection] = []
        self._refused = Neighbours(rules.duplicate_above)
        for fact in material.current_facts:
            if (fact.domain, fact.trust) == (domain, "local"):
                self.add_fact(fact.id, statement_of(fact))
        for refused, insight in material.refused_insights.get(domain, ()):
            self._gone.append(refused)
            self._refused.add(words(insight))

    def add_fact(self, fact: str, text: str) -> None:
        """One fact more."""
        self._ids.append(fact)
        self._facts.add(words(text))

    def repeated(self, evaluation: Evaluation) -> tuple[Rejection | None, str | None]:
        """(what a person took away and this repeats, the fact that it repeats)."""
        insight_words = words(evaluation.key_insight or "")
        near = self._facts.closest(insight_words)
        if near is not None:
            fact = self._ids[near[0]]
            link = link_id("reinforced", Ref("evaluation", evaluation.id), Ref("fact", fact))
            return self._rejections.of_target(Ref("link", link)), fact
        nearest = self._refused.first(insight_words)
        return (None if nearest is None else self._gone[nearest]), None


# ── the changes ──────────────────────────────────────────────────────────────────────


def fact_text(evaluation: Evaluation) -> str:
    """What it states, and in a line of its own what to do."""
    return "\n".join(filter(None, [evaluation.key_insight, evaluation.better_approach]))


def by_hand(
    text: str,
    domain: str,
    *,
    importance: Importance,
    supersedes: Fact | None,
    review_by: str | None,
    now: datetime,
) -> Fact:
    """A fact that a person states; its id derives from its domain and text."""
    statement = text.strip()
    if not words(statement) and len(statement) < MIN_FACT:
        raise UsageError(f"{text!r}: says too little for a fact; write a sentence")
    if supersedes is not None and supersedes.domain != domain:
        raise UsageError(
            f"{supersedes.id}: is a fact of {supersedes.domain}; one of {domain} cannot take "
            "its place"
        )
    tail = sha256(f"{domain}\n{statement}".encode()).hexdigest()[:6]
    return Fact(
        id=f"{slug(statement, limit=48) or slug(domain, limit=48)}-{tail}",
        domain=domain,
        text=statement,
        importance=importance,
        created_at=now,
        supersedes=supersedes.id if supersedes else None,
        review_by=review_by,
    )


def added(fact: Fact, now: datetime) -> Change:
    """The commit by which a person writes a fact down, in their name."""
    target = Ref("fact", fact.id)
    old = Ref("fact", fact.supersedes) if fact.supersedes else None
    return Change(
        step="add",
        subject=f"fact {fact.id}",
        reason=f"It takes the place of {old.id}.\n{fact.text}" if old else fact.text,
        writes=(fact, link_of("superseded", old, target, now)) if old else (fact,),
        sources=(old,) if old else (),
        targets=(target,),
    )


# ── which facts say the same ─────────────────────────────────────────────────────────


def clusters(
    facts: Sequence[str],
    threshold: float = RULES.cluster_above,
    min_size: int = RULES.cluster_size,
) -> list[list[int]]:
    """The greedy clusters of texts, as lists of their places, each led by its seed.

    The first text in no cluster is a seed, and every later one more similar to the seed than
    `threshold` joins it; a cluster smaller than `min_size` does not count, and its texts stay
    used. Computed as: a text belongs to the earliest seed that it is similar to.
    """
    seeds = Neighbours(threshold)
    groups: list[list[int]] = []
    for place, text in enumerate(facts):
        fact_words = words(text)
        seed = seeds.first(fact_words)
        if seed is None:
            seeds.add(fact_words)
            groups.append([place])
        else:
            groups[seed].append(place)
    return [cluster for cluster in groups if len(cluster) >= min_size]

"""Shared parts of the rules that make facts: records, conditions, texts, and similar texts.

`support` makes facts (in the profile `seed`, `seed/facts.py`); `skills` and `general` make skills
from facts that recur. `find_unmet` has the conditions that an evaluation must meet.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from math import exp, lgamma, log
from typing import Any

from msgspec import Struct

from skillvault.learning.naming import is_general
from skillvault.learning.rejection import Rejection, Rejections
from skillvault.learning.rules import Rules
from skillvault.model.errors import UsageError
from skillvault.model.policy import Policy, PromotePolicy
from skillvault.model.records import (
    Evaluation,
    Fact,
    Importance,
    Link,
    Outcome,
    Ref,
    link_id,
    link_of,
)
from skillvault.model.text.text import jaccard, slug, words

STEP = "promote"
_DEFAULTS = PromotePolicy()
_MIN_FACT = 10  # characters; a shorter text is no statement
LESSON = "its own lesson"  # precedes a quoted lesson; other quotations are grounds
_MAX_COIN_CHANCE = 0.05  # probability that a fair coin gives such different results


class PromotionRecords(Struct, kw_only=True, dict=True):
    """The records and queries that the rules of `promote` use.

    `made_skills` maps facts to the skill that a commit made of them, even if the link is removed.
    `taken_away` has the evaluations whose fact a person removed. `support` returns the evaluations
    that made or repeat facts, by id. `outcomes_of` returns the outcomes of evaluations.
    `sessions_of` returns the sessions of the outcomes that support facts, or enough of them to
    decide. `counts` has the queries of the index about runs for and against facts. `clock` returns
    the time of a domain.
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
    counts: Any
    clock: Callable[[str], datetime | None]
    rules: Rules

    @cached_property
    def texts_by_domain(self) -> "dict[str, DomainTexts]":
        """The texts that an insight may repeat, by domain."""
        domains = {evaluation.domain for evaluation in self.evaluations.values()}
        return {domain: DomainTexts(domain, self) for domain in domains}

    @cached_property
    def fact_links(self) -> dict[str, Link]:
        """The links by which evaluations made or support a fact, by evaluation."""
        types = ("promoted", "reinforced")
        supports = (link for link in self.links.values() if link.type in types)
        return {link.source.id: link for link in supports if link.target.kind == "fact"}

    @cached_property
    def promoted(self) -> dict[str, list[str]]:
        """The facts that evaluations made, by evaluation."""
        makers: dict[str, list[str]] = defaultdict(list)
        for link in self.links.values():
            if link.type == "promoted" and link.target.kind == "fact":
                makers[link.source.id].append(link.target.id)
        return makers

    @cached_property
    def successors(self) -> dict[str, str]:
        """The facts that replaced other facts, by the replaced fact."""
        return {fact.supersedes: fact.id for fact in self.facts.values() if fact.supersedes}

    @cached_property
    def weighed_facts(self) -> set[str]:
        """The replaced facts whose successor was made by runs; runs still count for them."""
        return {f.supersedes for f in self.facts.values() if f.supersedes and f.kind == "judge"}

    @cached_property
    def current_facts(self) -> list[Fact]:
        """The facts without a newer version, oldest first."""
        facts = (fact for fact in self.facts.values() if fact.id not in self.successors)
        return sorted(facts, key=lambda fact: fact.order)

    @cached_property
    def contested(self) -> frozenset[str]:
        """The ids of the facts that are not used, because too many runs contradict them."""
        if not self.rules.weighs:
            return frozenset()
        facts = {fact.id: fact for fact in self.current_facts}
        opponents = self.counts.opponent_counts(facts)
        runs = self.counts.supporter_counts(opponents)
        return frozenset(
            key
            for key, count in opponents.items()
            if is_contested(facts[key], runs.get(key, 0), count)
        )

    @cached_property
    def skills_of(self) -> dict[str, str]:
        """The skills that were derived from facts in their domain, by fact."""
        derived_links = (link for link in self.links.values() if link.type == "derived")
        pairs = ((link.source.id, link.target.id) for link in derived_links)
        return {**self.made_skills, **{f: name for f, name in pairs if not is_general(name)}}

    def sessions(self, facts: Iterable[Fact]) -> Collection[str]:
        """Return the sessions of the outcomes that support these facts."""
        return self.sessions_of([fact.id for fact in facts])


class PromotionState(Struct, frozen=True):
    """The state of a record in the step `promote`, and the reason with numbers."""

    state: str
    reason: str


# ── from an evaluation to a fact ─────────────────────────────────────────────────────


def strength(evaluation: Evaluation, settings: PromotePolicy) -> float:
    """Return the certainty (0..1) of a verdict: the quality, or 1 - quality of a bad decision.

    With the gate `quality`, only good decisions teach.
    """
    quality = evaluation.quality_score
    return quality if evaluation.was_good_decision or settings.gate == "quality" else 1 - quality


def insight_state(
    evaluation: Evaluation, records: PromotionRecords, policy: Policy
) -> PromotionState:
    """Return the state of an evaluation on its way to a fact, without regard to other runs."""
    if link := records.fact_links.get(evaluation.id):
        description = f"{link.type} {link.target.id}"
        if link.target.id in records.facts:
            return PromotionState("done", description)
        return PromotionState("rejected", f"{description}, removed since")
    if rejection := rejection_of(evaluation, records):
        fact = rejection.target.partition(":")[2]
        return PromotionState("rejected", f"made {fact} in {rejection.commit[:10]}, removed since")
    if unmet_state := find_unmet(evaluation, records, policy):
        return unmet_state
    rejection, _ = records.texts_by_domain[evaluation.domain].find_repeated(evaluation)
    if rejection:
        source = f"{rejection.target.partition(':')[2]}, made in {rejection.commit[:10]}"
        return PromotionState("rejected", f"it repeats {source} and removed since")
    return PromotionState("due", "`skillvault run`")


def find_unmet(
    evaluation: Evaluation, records: PromotionRecords, policy: Policy
) -> PromotionState | None:
    """Return the first condition that an evaluation does not meet, or None if it meets all."""
    outcome = records.outcomes.get(evaluation.outcome)
    if outcome is None:
        return PromotionState("without outcome", "its outcome is not in this vault")
    if evaluation.key_insight is None:
        return PromotionState("silent", "the outcome supports no insight")
    if outcome.trust != "local":
        reason = "its source is untrusted; `skillvault fact add` adds it as yours"
        return PromotionState("untrusted", reason)
    if not evaluation.judge_was_right and not records.rules.is_surprise(evaluation, policy):
        status = outcome.result.status
        mismatch = "confirms no verdict" if status == "neutral" else "contradicts the verdict"
        return PromotionState("not confirmed", f"the result ({status}) {mismatch}")
    settings = policy.promote
    if strength(evaluation, settings) >= settings.quality:
        return None
    verdict = "good" if evaluation.was_good_decision else "bad"
    demand = f"{settings.quality:.2f} or more"
    if verdict == "bad" and settings.gate != "quality":
        demand = f"{1 - settings.quality:.2f} or less"
    reason = f"quality {evaluation.quality_score:.2f}; a {verdict} decision needs {demand}"
    return PromotionState("weak", reason)


def is_surprise(evaluation: Evaluation, policy: Policy) -> bool:
    """Return True if a strong verdict was wrong; such an error teaches most."""
    is_sure = strength(evaluation, policy.promote) >= policy.promote.quality
    return evaluation.judge_was_right is False and is_sure


def statement_of(fact: Fact) -> str:
    """Return the statement of a fact, without its advice."""
    return fact.text.partition("\n")[0] if fact.kind == "judge" else fact.text


def rejection_of(evaluation: Evaluation, records: PromotionRecords) -> Rejection | None:
    """Return the rejection of the fact that an evaluation made or supported, or None."""
    return records.rejections.of_source(STEP, Ref("evaluation", evaluation.id), "fact")


class DomainTexts:
    """The trusted facts of a domain and the insights of removed facts, for comparison."""

    def __init__(self, domain: str, records: PromotionRecords) -> None:
        threshold = records.rules.policy.promote.duplicate_above
        self._rejections = records.rejections
        self._ids: list[str] = []
        self._facts = Neighbours(threshold)
        self._refused_rejections: list[Rejection] = []
        self._refused = Neighbours(threshold)
        for fact in records.current_facts:
            if (fact.domain, fact.trust) == (domain, "local"):
                self.add_fact(fact.id, statement_of(fact))
        for evaluation in records.taken_away:
            rejection = rejection_of(evaluation, records)
            if rejection and evaluation.domain == domain and evaluation.key_insight:
                self._refused_rejections.append(rejection)
                self._refused.add(words(evaluation.key_insight))

    def add_fact(self, fact: str, text: str) -> None:
        """Add a fact, so that later insights may repeat it."""
        self._ids.append(fact)
        self._facts.add(words(text))

    def find_repeated(self, evaluation: Evaluation) -> tuple[Rejection | None, str | None]:
        """Return the rejection and the fact that the insight of an evaluation repeats, or None."""
        insight_words = words(evaluation.key_insight or "")
        nearest_fact = self._facts.closest(insight_words)
        if nearest_fact is not None:
            fact = self._ids[nearest_fact]
            link = link_id("reinforced", Ref("evaluation", evaluation.id), Ref("fact", fact))
            return self._rejections.of_target(Ref("link", link)), fact
        nearest = self._refused.first(insight_words)
        return (None if nearest is None else self._refused_rejections[nearest]), None


# ── evidence for facts and against them ──────────────────────────────────────────────


def is_contested(fact: Fact, runs: int, opponents: int) -> bool:
    """Return True if too many runs contradict a fact.

    They are at least as many as the runs for it, or the fact states a ground that occurs with
    success and failure alike. A person's statement counts as a run for the fact.
    """
    if opponents >= runs + (fact.kind == "human"):
        return opponents > 0
    statement = statement_of(fact)
    states_ground = fact.kind == "judge" and "“" in statement and LESSON not in statement
    return opponents > 0 and states_ground and not _is_biased(runs, opponents)


def text_with_rate(fact: Fact, runs: int, opponents: int, *, is_counted: bool = False) -> str:
    """Return the text of a fact with `In 2 of 3 runs:` before it, if runs contradict the fact.

    With `is_counted`, also write `In 3 runs:` if several runs support it and no run contradicts it.
    """
    if fact.kind == "human" or not (opponents or (is_counted and runs > 1)):
        return fact.text
    rate = f"{runs} of {runs + opponents}" if opponents else f"{runs}"
    return f"In {rate} runs: {fact.text}"


def _is_biased(runs: int, opponents: int) -> bool:
    """Return True if a fair coin would hardly give so many `runs` (sign test)."""
    tries = runs + opponents
    base = lgamma(tries + 1) - tries * log(2)  # in logarithms, because 2**tries may overflow
    chances = (exp(base - lgamma(n + 1) - lgamma(tries - n + 1)) for n in range(runs, tries + 1))
    return sum(chances) < _MAX_COIN_CHANCE


# ── texts, ids and paths ─────────────────────────────────────────────────────────────


def fact_text(evaluation: Evaluation) -> str:
    """Return the insight, and on a second line the advice without quotations of the insight."""
    insight, advice = evaluation.key_insight or "", evaluation.better_approach or ""
    request, _, quotation = advice.partition(": “")
    if quotation and quotation in insight:
        advice = f"{request}."
    return "\n".join(filter(None, [insight, advice]))


def promoted_records(
    evaluation: Evaluation, fact: str, text: str, *, importance: Importance, at: datetime
) -> tuple[Fact, Link]:
    """Return the fact that an evaluation makes, and the link to it."""
    record = Fact(
        id=fact,
        domain=evaluation.domain,
        text=text,
        importance=importance,
        kind="judge",
        created_at=at,
        insight_type=evaluation.insight_type,
    )
    source, target = Ref("evaluation", evaluation.id), Ref("fact", fact)
    return record, link_of("promoted", source, target, at)


def human_fact(
    text: str,
    domain: str,
    *,
    importance: Importance,
    old_fact: Fact | None,
    review_by: str | None,
    now: datetime,
) -> Fact:
    """Return a fact that a person states; its id derives from its domain and text."""
    statement = text.strip()
    if not words(statement) and len(statement) < _MIN_FACT:
        raise UsageError(f"{text!r}: says too little for a fact; write a sentence")
    if old_fact is not None and old_fact.domain != domain:
        raise UsageError(
            f"{old_fact.id}: is a fact of {old_fact.domain}; one of {domain} cannot replace it"
        )
    return Fact(
        id=human_fact_id(domain, statement),
        domain=domain,
        text=statement,
        importance=importance,
        created_at=now,
        supersedes=old_fact.id if old_fact else None,
        review_by=review_by,
    )


def human_fact_id(domain: str, statement: str, again_at: datetime | None = None) -> str:
    """Return the id of a person's fact.

    If the fact holds again after a newer version, `again_at` makes the id different.
    """
    time = f"\n{again_at.isoformat()}" if again_at else ""
    return fact_id(statement, domain, f"{domain}\n{statement}{time}")


def fact_id(subject: str, domain: str, content: str) -> str:
    """Return an id for a fact: its subject, and six hex digits of its content."""
    # A text in another script has no slug, so use the domain.
    tail = sha256(content.encode()).hexdigest()[:6]
    return f"{slug(subject, limit=48) or slug(domain, limit=48)}-{tail}"


def fact_path(fact: Fact) -> str:
    """Return the path of the file of a fact."""
    return f"memory/{fact.domain}/{fact.id}.md"


# ── texts that are nearly equal ──────────────────────────────────────────────────────


def clusters(
    facts: Sequence[str],
    threshold: float = _DEFAULTS.cluster_above,
    min_size: int = _DEFAULTS.cluster_size,
) -> list[list[int]]:
    """Return greedy clusters of texts as lists of indices; the first index is the seed.

    Each text joins the first seed to which it is more similar than `threshold`, or becomes a seed.
    Clusters below `min_size` are dropped, and their texts join no other cluster.
    """
    seeds = Neighbours(threshold)
    groups: list[list[int]] = []
    for index, text in enumerate(facts):
        fact_words = words(text)
        seed = seeds.first(fact_words)
        if seed is None:
            seeds.add(fact_words)
            groups.append([index])
        else:
            groups[seed].append(index)
    return [cluster for cluster in groups if len(cluster) >= min_size]


_TextSet = int  # bit n is set if the set has text number n


class Neighbours:
    """A list of texts that finds similar texts.

    Two texts are neighbours if the Jaccard index of their `text.words` is above `threshold`.
    """

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._sets: list[frozenset[str]] = []
        self._holders: dict[str, _TextSet] = defaultdict(int)
        self._sizes: dict[int, _TextSet] = defaultdict(int)

    def add(self, text: frozenset[str]) -> int:
        """Add the words of a text, and return its number."""
        number = len(self._sets)
        self._sets.append(text)
        self._sizes[len(text)] |= 1 << number
        for word in text:
            self._holders[word] |= 1 << number
        return number

    def first(self, text: frozenset[str]) -> int | None:
        """Return the number of the earliest neighbour of a text, or None."""
        neighbours = self._neighbours_of(text)
        return (neighbours & -neighbours).bit_length() - 1 if neighbours else None

    def closest(self, text: frozenset[str]) -> int | None:
        """Return the number of the most similar neighbour (the earliest of equals), or None."""
        texts, neighbours = self._neighbours_of(text), list[tuple[float, int]]()
        while texts:
            lowest_bit = texts & -texts
            number = lowest_bit.bit_length() - 1
            neighbours.append((jaccard(text, self._sets[number]), -number))
            texts ^= lowest_bit
        return -max(neighbours)[1] if neighbours else None

    def _neighbours_of(self, text: frozenset[str]) -> _TextSet:
        planes = self._count_shared(text)
        neighbours = 0
        for size, holders in self._sizes.items():
            if count := self._shared_needed(len(text), size):
                neighbours |= holders & _select_texts(count, planes)
        return neighbours

    def _shared_needed(self, size: int, other_size: int) -> int | None:
        """Return the number of words that sets of these sizes must share, or None for too many."""
        count = max(int(self.threshold / (1 + self.threshold) * (size + other_size)) - 1, 1)
        while count <= min(size, other_size):
            if count / (size + other_size - count) > self.threshold:
                return count
            count += 1
        return None

    def _count_shared(self, text: frozenset[str]) -> list[_TextSet]:
        """Count the words shared with each text. Plane i has bit i of the counts."""
        planes: list[_TextSet] = []
        for word in text:
            carry = self._holders.get(word, 0)
            for i, plane in enumerate(planes):
                planes[i], carry = plane ^ carry, plane & carry
                if not carry:
                    break
            if carry:
                planes.append(carry)
        return planes


def _select_texts(number: int, planes: Sequence[_TextSet]) -> _TextSet:
    if number >> len(planes):
        return 0
    larger_counts, equal_counts = 0, -1
    for i in reversed(range(len(planes))):
        if number >> i & 1:
            equal_counts &= planes[i]
        else:
            larger_counts |= equal_counts & planes[i]
            equal_counts &= ~planes[i]
    return larger_counts | equal_counts

"""Which skills earn a place before a task, in which order, and why the others did not.

A pure function of the candidates, the question and the policy: the same call has the same
answer. Chance enters by the decision's id alone.
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import heapify, heappop
from itertools import chain, islice
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct, field

from skillvault.learning.effect.verdict import (
    Evidence,
    evidence_line,
    is_new,
    next_status,
    proven,
    verdict_on,
)
from skillvault.learning.recommend import shelf
from skillvault.learning.recommend.relevance import Weighing
from skillvault.learning.recommend.relevance import relevance as relevance  # noqa: PLC0414 (named here by the rules)
from skillvault.policy import Policy
from skillvault.records import Scalar

Reason = Literal["low-effectiveness", "low-relevance", "held-out", "rank", "budget", "unknown-pin"]

NEXT = 20  # left-out skills that an answer names if not all are asked for
NO_EVIDENCE = Evidence()
_UNASKED = "a skill of the package, and neither task, role nor stage speaks for it"
_NOT_LIVE = ("proposed", "retired")


class Candidate(Struct, frozen=True, gc=False):  # in no circle, and there are thousands
    """What is asked of a live skill of the shelf before its text is read.

    `tokens` are those of its text; `blob` is its version, git's id of its bytes. `seed`: it comes
    with the package and not from anybody here.
    """

    name: str
    kind: str
    tokens: int
    domain: str | None = None
    status: str = "testing"
    roles: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    blob: str = ""
    evidence: Evidence = NO_EVIDENCE
    seed: bool = False


class Query(Struct, frozen=True, kw_only=True):
    """What an agent asks before a task; None for `limit` and `budget` means the policy's.

    `explain`: the answer names every skill that is left out, not the best of them.
    """

    domain: str
    context: dict[str, Scalar] = field(default_factory=dict)
    role: str | None = None
    stage: str | None = None
    pins: tuple[str, ...] = ()
    limit: int | None = None
    budget: int | None = None
    strategy: shelf.Strategy = "tag"
    decision: str | None = None
    explain: bool = False


class Served(Struct, frozen=True):
    """A skill that is shown. `relevance` is 0..1, `reasons` its parts; `score` orders."""

    name: str
    kind: str
    relevance: float
    score: float
    badge: str
    status: str
    blob: str
    tokens: int
    reasons: dict[str, float]
    body: str


class Withheld(Struct, frozen=True):
    """A skill that is not shown, why, and the numbers."""

    name: str
    reason: Reason
    detail: str
    blob: str = ""


class Answer(Struct, frozen=True):
    """What `recommend` answers: the shown by their place, the left out from the best on."""

    domain: str
    decision: str | None
    recommended: list[Served]
    withheld: list[Withheld]
    total_considered: int
    excluded_low_effectiveness: int
    excluded_low_relevance: int
    over_budget: int


class _Asking(NamedTuple):
    """A question, and by what it is answered."""

    query: Query
    policy: Policy
    weighing: Weighing


# (place among the pins, minus the score, name, relevance, candidate): sorts as it is shown.
_Weighed = tuple[int, float, str, float, Candidate]


def qualified(times_applied: float, success_rate: float | None, consecutive_failures: int) -> bool:
    """True for a skill that is new or helped often enough, and does not fail all the time."""
    often = times_applied < 3 or (success_rate or 0.0) >= 0.5
    return often and consecutive_failures < 5


def badge_of(times_applied: float, success_rate: float | None, is_proven: bool) -> str:
    """What is known of a skill in a few words; halves of a percent are rounded up."""
    if is_proven:
        percent = math.floor((success_rate or 0.0) * 100 + 0.5)
        return f"✅ Proven ({percent}% success, {times_applied} uses)"
    return f"📊 Testing ({times_applied} uses)" if times_applied else "🆕 New"


def recommend(
    candidates: Iterable[Candidate],
    query: Query,
    policy: Policy,
    read: Callable[[str], str],
    *,
    scores: Mapping[str, float] | None = None,
) -> Answer:
    """Answer a query with the live skills of the shelf.

    `read` gives the text of a candidate by name. `scores` (name -> the share of the task that
    its text answers, 0..1) count if a task is given and the strategy is not `tag`.
    """
    is_read = query.strategy != "tag" and policy.recommend.task
    task_scores = scores if is_read else None
    asking = _Asking(query, policy, Weighing(query.context, policy.recommend, read, task_scores))
    pinned = pin_places(query)
    among = _candidates(candidates, query, pinned)
    doubted = [c for c in among if c.name not in pinned and not _is_qualified(c, policy)]
    doubted_names = {c.name for c in doubted}
    least = policy.recommend.min_relevance
    unasked = {c.name for c in among if c.seed and not _is_asked(c, query, asking.weighing)}

    def fits(weighed: _Weighed) -> bool:
        return weighed[2] in pinned or (weighed[3] >= least and weighed[2] not in unasked)

    low: list[_Weighed] = []
    high: list[_Weighed] = []
    for weighed in (_weighed(c, asking, pinned) for c in among if c.name not in doubted_names):
        (high if fits(weighed) else low).append(weighed)
    doubted_weighed = (_weighed(c, asking, pinned) for c in doubted if not _is_retired(c, policy))
    order, explored = _explored(high, filter(fits, doubted_weighed), pinned, asking)
    weak = [c for c in doubted if c is not explored]
    shown, passed_over, over = _chosen(order, pinned, asking)
    left_out = chain(
        _unknown(pinned, among), passed_over, _irrelevant(low, least), map(_ineffective, weak)
    )
    return Answer(
        domain=query.domain,
        decision=query.decision,
        recommended=[_served(w, asking, read) for w in shown],
        withheld=list(left_out if query.explain else islice(left_out, NEXT)),
        total_considered=len(among),
        excluded_low_effectiveness=len(weak),
        excluded_low_relevance=len(low),
        over_budget=over,
    )


def plain(answer: Answer) -> dict[str, Any]:
    """The answer as its JSON."""
    plain_answer: dict[str, Any] = msgspec.to_builtins(answer)
    del plain_answer["over_budget"]
    for withheld in plain_answer["withheld"]:
        del withheld["blob"]
    return plain_answer


# ── who is asked, who is left ────────────────────────────────────────────────────────


def pin_places(query: Query) -> dict[str, int]:
    """Pin -> its place."""
    names = dict.fromkeys(pin.replace("_", "-") for pin in query.pins)
    return {name: place for place, name in enumerate(names)}


def _candidates(
    candidates: Iterable[Candidate], query: Query, pins: Mapping[str, int]
) -> list[Candidate]:
    """The live ones of the domain or of none, for the role or stage, and the pins."""
    # The semantic strategy asks the texts of all, whatever their roles.
    filtered = query.strategy != "semantic" and (query.role, query.stage) != (None, None)
    domain = query.domain
    return [
        c
        for c in candidates
        if c.status not in _NOT_LIVE
        and (
            ((c.domain is None or c.domain == domain) and (not filtered or _is_for(c, query)))
            or c.name in pins
        )
    ]


def _is_for(candidate: Candidate, query: Query) -> bool:
    return query.role in candidate.roles or query.stage in candidate.stages


def _is_asked(candidate: Candidate, query: Query, weighing: Weighing) -> bool:
    """Whether the role, the stage or the task speaks for it."""
    return _is_for(candidate, query) or weighing.answers(candidate.name)


def _unknown(pins: Iterable[str], among: Iterable[Candidate]) -> Iterator[Withheld]:
    names = {candidate.name for candidate in among}
    for pin in pins:
        if pin not in names:
            yield Withheld(pin, "unknown-pin", "no live skill has this name")


def _is_qualified(candidate: Candidate, policy: Policy) -> bool:
    evidence = candidate.evidence
    if candidate.status == "pinned" or evidence is NO_EVIDENCE:
        return True
    if policy.choices.proof == "lift":
        return not _is_retired(candidate, policy) and verdict_on(evidence, policy) != "hurts"
    return qualified(evidence.times_applied, evidence.success_rate, evidence.consecutive_failures)


def _is_retired(candidate: Candidate, policy: Policy) -> bool:
    """As its evidence says, whatever its file does."""
    return next_status(candidate.status, candidate.evidence, policy).status == "retired"


def _is_proven(candidate: Candidate, policy: Policy) -> bool:
    """By its status, which its lift gave it; by the counts if those are the rule."""
    if policy.choices.proof == "lift":
        return candidate.status == "proven"
    return candidate.evidence is not NO_EVIDENCE and proven(candidate.evidence, policy)


def _weighed(candidate: Candidate, asking: _Asking, pins: Mapping[str, int]) -> _Weighed:
    name = candidate.name
    score = relevance = asking.weighing.relevance(name, candidate.kind)
    # Of a large library hardly any was used; the others gain nothing.
    if candidate.evidence is not NO_EVIDENCE or candidate.status == "proven":
        score += sum(_gains(candidate, asking.query, asking.policy).values())
    return pins.get(name, len(pins)), -score, name, relevance, candidate


def _gains(candidate: Candidate, query: Query, policy: Policy) -> dict[str, float]:
    """What the order of a skill gains over its relevance, by part."""
    gains: dict[str, float] = {}
    if _is_proven(candidate, policy):
        gains["proven"] = policy.recommend.proven
    lift = candidate.evidence.lift
    if policy.choices.proof == "lift" and lift is not None:
        gains["lift"] = policy.effect.bonus * lift.recent.lift
        if query.decision is not None and policy.effect.sampling:
            drawn = (
                policy.effect.sampling * lift.recent.error * _normal(query.decision, candidate.name)
            )
            gains["sampling"] = policy.effect.bonus * drawn
    return gains


# ── who is shown ─────────────────────────────────────────────────────────────────────


def _chosen(
    order: Iterator[_Weighed], pins: Mapping[str, int], asking: _Asking
) -> tuple[list[_Weighed], Iterator[Withheld], int]:
    """(what is shown; what is not, the best first; how many exceed the budget)."""
    query, policy = asking.query, asking.policy
    limit = _limit(asking)
    budget = _budget(asking)
    shown: list[_Weighed] = []
    withheld: list[Withheld] = []
    over = taken = 0
    while taken < limit and (weighed := next(order, None)) is not None:
        candidate = weighed[-1]
        if candidate.tokens > budget and candidate.name not in pins:
            detail = f"{candidate.tokens} tokens; {max(0, budget)} of the budget are left"
            withheld.append(Withheld(candidate.name, "budget", detail, candidate.blob))
            over += 1
            continue
        taken += 1
        budget -= candidate.tokens
        if candidate.name not in pins and _is_held_out(candidate, query, policy):
            detail = f"not shown for {query.decision}, to compare with"
            withheld.append(Withheld(candidate.name, "held-out", detail, candidate.blob))
        else:
            shown.append(weighed)
    return shown, chain(withheld, (_beyond(weighed, limit) for weighed in order)), over


def _budget(asking: _Asking) -> float:
    """The tokens that the texts may have together; infinite if nobody bounds them."""
    stated = asking.query.budget
    budget = asking.policy.recommend.budget if stated is None else stated
    return math.inf if budget is None else budget


def _limit(asking: _Asking) -> int:
    limit = asking.query.limit
    return max(0, asking.policy.recommend.limit if limit is None else limit)


def _explored(
    weighed: list[_Weighed], doubted: Iterator[_Weighed], pins: Mapping[str, int], asking: _Asking
) -> tuple[Iterator[_Weighed], Candidate | None]:
    """(the order, the new skill that is tried); there is one in a share of the decisions.

    It has the last place that is shown: of all that are new, those that seem to hurt (`again`)
    among them, one that promises much and was applied seldom.
    """
    order, limit = _ordered(weighed), _limit(asking)
    if limit < 2 or not _explores(asking):
        return order, None
    first = list(islice(order, limit - 1))
    taken = {*pins, *(candidate[2] for candidate in first)}
    untried = (
        candidate
        for candidate in chain(weighed, doubted)
        if candidate[2] not in taken and is_new(candidate[-1].evidence, asking.policy)
    )
    new = min(untried, key=_tried_first(asking.policy), default=None)
    if new is None:
        return chain(first, order), None
    return chain(first, [new], (candidate for candidate in order if candidate is not new)), new[-1]


def _explores(asking: _Asking) -> bool:
    """By the decision alone; without one there is no chance."""
    query, policy = asking.query, asking.policy
    if query.decision is None or policy.choices.proof != "lift":
        return False
    return _drawn(query.decision, "", "explore") < policy.effect.explore


def _tried_first(policy: Policy) -> Callable[[_Weighed], tuple[float, str]]:
    """Sorts what promises most first, each use a step back; nothing of it is drawn."""
    rules = policy.effect

    def key(weighed: _Weighed) -> tuple[float, str]:
        evidence = weighed[-1].evidence
        lift = evidence.lift.recent.lift if evidence.lift else 0.0
        promise = weighed[3] + rules.bonus * lift
        return rules.explore_cost * evidence.times_applied - promise, weighed[2]

    return key


def _ordered(weighed: list[_Weighed]) -> Iterator[_Weighed]:
    """The pins in their order, then by score and name; sorted only as far as it is asked."""
    heap = list(weighed)
    heapify(heap)
    while heap:
        yield heappop(heap)


def _beyond(weighed: _Weighed, limit: int) -> Withheld:
    _, score, name, _, candidate = weighed
    return Withheld(name, "rank", f"score {-score:.2f}; at most {limit} are shown", candidate.blob)


def _is_held_out(candidate: Candidate, query: Query, policy: Policy) -> bool:
    """By the decision and the name alone, so that the same question has the same answer."""
    if query.decision is None or candidate.status == "pinned":
        return False
    return _drawn(query.decision, candidate.name) < _share_held_out(candidate, policy)


def _share_held_out(candidate: Candidate, policy: Policy) -> float:
    """The less is open about a skill that helps, the less is learned by doing without it."""
    rules, lift = policy.effect, candidate.evidence.lift
    least = min(rules.holdout, rules.holdout_proven)
    if _is_proven(candidate, policy):
        return least
    helps = 0.5 if lift is None else max(0.5, lift.recent.helps)
    if helps >= rules.proven_above:
        return least
    is_open = (rules.proven_above - helps) / (rules.proven_above - 0.5)
    return least + (rules.holdout - least) * is_open**2


def _drawn(*words: str) -> float:
    """A number from 0 to below 1 that these words always draw."""
    digest = hashlib.sha256("\n".join(words).encode()).digest()[:8]
    return int.from_bytes(digest, "big") / 2**64


def _normal(decision: str, name: str) -> float:
    """A number that is drawn from the normal distribution, by Box and Muller."""
    radius = math.sqrt(-2 * math.log(1 - _drawn(decision, name, "radius")))
    return radius * math.cos(2 * math.pi * _drawn(decision, name, "angle"))


def _served(weighed: _Weighed, asking: _Asking, read: Callable[[str], str]) -> Served:
    _, score, name, total, candidate = weighed
    evidence = candidate.evidence
    gains = _gains(candidate, asking.query, asking.policy)
    parts = {part: round(value, 6) for part, value in gains.items()}
    return Served(
        name=name,
        kind=candidate.kind,
        relevance=total,
        score=round(-score, 6),
        badge=badge_of(evidence.times_applied, evidence.success_rate, "proven" in gains),
        status=candidate.status,
        blob=candidate.blob,
        tokens=candidate.tokens,
        reasons={**asking.weighing.parts(name, candidate.kind), **parts},
        body=read(name),
    )


def _irrelevant(low: list[_Weighed], least: float) -> Iterator[Withheld]:
    for _, _, name, value, candidate in _ordered(low):
        detail = f"relevance {value:.2f} is below {least:.2f}" if value < least else _UNASKED
        yield Withheld(name, "low-relevance", detail, candidate.blob)


def _ineffective(candidate: Candidate) -> Withheld:
    return Withheld(
        candidate.name, "low-effectiveness", evidence_line(candidate.evidence), candidate.blob
    )

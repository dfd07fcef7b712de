"""Which skills earn a place before a task, in which order, and why the others did not.

A pure function of the candidates, the question and the policy: the same call has the same
answer. Chance enters by the decision's id alone.
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import heapify, heappop
from itertools import chain, islice
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from skillvault.learning import shelf
from skillvault.learning.effect import Evidence, proven
from skillvault.learning.relevance import Weighing
from skillvault.learning.relevance import relevance as relevance  # noqa: PLC0414 (named here by the rules)
from skillvault.policy import Policy
from skillvault.records import Scalar
from skillvault.text import count_of

Reason = Literal["low-effectiveness", "low-relevance", "held-out", "rank", "budget", "unknown-pin"]

NEXT = 20  # left-out skills that an answer names where not all are asked for
NO_EVIDENCE = Evidence()
_NOT_LIVE = ("proposed", "retired")


class Candidate(Struct, frozen=True):
    """What is asked of a live skill of the shelf before its text is read.

    `tokens` are those of its text; `blob` is its version, git's id of its bytes.
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


# (place among the pins, minus the score, name, relevance, candidate): sorts as it is shown.
_Weighed = tuple[int, float, str, float, Candidate]


def qualified(times_applied: float, success_rate: float | None, consecutive_failures: int) -> bool:
    """True for a skill that is new or helped often enough, and does not fail all the time."""
    often = times_applied < 3 or (success_rate or 0.0) >= 0.5
    return often and consecutive_failures < 5


def badge(times_applied: float, success_rate: float | None, is_proven: bool) -> str:
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
    scores: Mapping[str, float] | None = None,
) -> Answer:
    """The answer to a query of the live skills of the shelf.

    `read` gives the text of a candidate by name. `scores` (name -> the share of the task that
    its text answers, 0..1) join in where a task is given and the strategy is not `tag`.
    """
    asked = None if query.strategy == "tag" else scores
    weighing = Weighing(query.context, policy.recommend, read, asked)
    pins = _pins(query)
    among = _candidates(candidates, query, pins)
    weak = [c for c in among if c.name not in pins and not _is_qualified(c)]
    gone = {c.name for c in weak}
    weighed = [_weighed(c, pins, weighing, policy) for c in among if c.name not in gone]
    least = policy.recommend.min_relevance
    low = [one for one in weighed if one[3] < least and one[2] not in pins]
    high = [one for one in weighed if one[3] >= least or one[2] in pins]
    shown, rest, over = _chosen(high, pins, query, policy)
    left_out = chain(_unknown(pins, among), rest, _irrelevant(low, least), map(_ineffective, weak))
    return Answer(
        domain=query.domain,
        decision=query.decision,
        recommended=[_served(w, weighing, policy, read) for w in shown],
        withheld=list(left_out if query.explain else islice(left_out, NEXT)),
        total_considered=len(among),
        excluded_low_effectiveness=len(weak),
        excluded_low_relevance=len(low),
        over_budget=over,
    )


def plain(answer: Answer) -> dict[str, Any]:
    """The answer as its JSON."""
    found: dict[str, Any] = msgspec.to_builtins(answer)
    del found["over_budget"]
    for one in found["withheld"]:
        del one["blob"]
    return found


# ── who is asked, who is left ────────────────────────────────────────────────────────


def _pins(query: Query) -> dict[str, int]:
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


def _unknown(pins: Iterable[str], among: Iterable[Candidate]) -> Iterator[Withheld]:
    known = {candidate.name for candidate in among}
    for pin in pins:
        if pin not in known:
            yield Withheld(pin, "unknown-pin", "no live skill has this name")


def _is_qualified(candidate: Candidate) -> bool:
    known = candidate.evidence
    counts = (known.times_applied, known.success_rate, known.consecutive_failures)
    return candidate.status == "pinned" or known is NO_EVIDENCE or qualified(*counts)


def _weighed(
    candidate: Candidate, pins: Mapping[str, int], weighing: Weighing, policy: Policy
) -> _Weighed:
    name, known = candidate.name, candidate.evidence
    relevance = weighing.relevance(name, candidate.kind)
    score = relevance
    if known is not NO_EVIDENCE and proven(known, policy.profile):
        score += policy.recommend.proven
    return pins.get(name, len(pins)), -score, name, relevance, candidate


# ── who is shown ─────────────────────────────────────────────────────────────────────


def _chosen(
    weighed: list[_Weighed], pins: Mapping[str, int], query: Query, policy: Policy
) -> tuple[list[_Weighed], Iterator[Withheld], int]:
    """(what is shown; what is not, the best first; how many exceed the budget)."""
    limit = max(0, policy.recommend.limit if query.limit is None else query.limit)
    left = policy.recommend.budget if query.budget is None else query.budget
    shown: list[_Weighed] = []
    withheld: list[Withheld] = []
    over = taken = 0
    order = _ordered(weighed)
    while taken < limit and (one := next(order, None)) is not None:
        candidate = one[-1]
        if candidate.tokens > left and candidate.name not in pins:
            said = f"{candidate.tokens} tokens; {max(0, left)} of the budget are left"
            withheld.append(Withheld(candidate.name, "budget", said, candidate.blob))
            over += 1
            continue
        taken += 1
        left -= candidate.tokens
        if candidate.name not in pins and _is_held_out(candidate, query, policy):
            said = f"not shown for {query.decision}, to compare with"
            withheld.append(Withheld(candidate.name, "held-out", said, candidate.blob))
        else:
            shown.append(one)
    return shown, chain(withheld, (_beyond(one, limit) for one in order)), over


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
    drawn = hashlib.sha256(f"{query.decision}\n{candidate.name}".encode()).digest()[:8]
    return int.from_bytes(drawn, "big") / 2**64 < policy.effect.holdout


def _served(
    weighed: _Weighed, weighing: Weighing, policy: Policy, read: Callable[[str], str]
) -> Served:
    _, score, name, total, candidate = weighed
    known = candidate.evidence
    is_proven = proven(known, policy.profile)
    reasons = weighing.parts(name, candidate.kind)
    return Served(
        name=name,
        kind=candidate.kind,
        relevance=total,
        score=round(-score, 6),
        badge=badge(known.times_applied, known.success_rate, is_proven),
        status=candidate.status,
        blob=candidate.blob,
        tokens=candidate.tokens,
        reasons={**reasons, "proven": policy.recommend.proven} if is_proven else reasons,
        body=read(name),
    )


def _irrelevant(low: list[_Weighed], least: float) -> Iterator[Withheld]:
    for _, _, name, found, candidate in _ordered(low):
        said = f"relevance {found:.2f} is below {least:.2f}"
        yield Withheld(name, "low-relevance", said, candidate.blob)


def _ineffective(candidate: Candidate) -> Withheld:
    known = candidate.evidence
    said = f"{count_of(known.success_count, known.times_applied)} uses succeeded"
    if known.consecutive_failures:
        said += f", the last {known.consecutive_failures} failed"
    return Withheld(candidate.name, "low-effectiveness", said, candidate.blob)

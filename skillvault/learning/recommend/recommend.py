"""Which skills earn a place before a task, in which order, and why the others did not.

With a task, what says too little of it is left out; the relevance orders the rest. A pure function
of the candidates, the question and the policy: the same call has the same answer. Chance enters by
the decision's id alone.
"""

import hashlib
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from heapq import heapify, heappop
from itertools import chain, islice
from typing import Literal, NamedTuple

from msgspec import Struct, field

from skillvault.learning.effect.verdict import (
    NO_EVIDENCE,
    Evidence,
    evidence_line,
    is_new,
    is_on_trial,
    next_status,
)
from skillvault.learning.recommend import disclosure, shelf
from skillvault.learning.recommend.disclosure import About, Given, How
from skillvault.learning.recommend.duplicates import says_same
from skillvault.learning.recommend.facts import Action, FactHit, ServedFact
from skillvault.learning.recommend.lines import omits_lines
from skillvault.learning.recommend.relevance import Match, Weighing
from skillvault.learning.recommend.relevance import relevance as relevance  # noqa: PLC0414 (named here by the rules)
from skillvault.learning.rules import Rules
from skillvault.model.policy import Policy, RecommendPolicy
from skillvault.model.records import Scalar
from skillvault.model.text.html_table import html_table
from skillvault.model.text.text import count_of, count_tokens

Reason = Literal[
    "low-effectiveness", "low-relevance", "held-out", "same", "rank", "budget", "unknown-pin"
]

NEXT = 20  # left-out skills that an answer names if not all are asked for
_UNASKED = "a skill of the package; pin it, or ask for its role or stage"
_NOT_LIVE = ("proposed", "retired")


class Candidate(Struct, frozen=True, gc=False):  # in no circle, and there are thousands
    """What is asked of a live skill of the shelf before its text is read.

    `tokens` are those of its text; `blob` is its version, git's id of its bytes. `seed`: it comes
    with the package and not from anybody here. `elsewhere` is the lift that other tools' counters
    lead to expect.
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
    elsewhere: float = 0.0


class Query(Struct, frozen=True, kw_only=True):
    """What an agent asks before a task; None for `limit` and `budget` means the policy's.

    `explain`: the answer names every skill that is left out, not the best of them. `seen` are
    skills that the agent has read already, so that none of them can be held out.
    """

    domain: str
    context: dict[str, Scalar] = field(default_factory=dict)
    role: str | None = None
    stage: str | None = None
    pins: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    limit: int | None = None
    budget: int | None = None
    strategy: shelf.Strategy = "tag"
    decision: str | None = None
    agent: str | None = None
    action: str | None = None
    explain: bool = False


class Served(Struct, frozen=True):
    """A skill that is shown. `relevance` is 0..1, `reasons` its parts; `score` orders.

    `how` much of it is given stands in `body`, "" if it is only named; `tokens` are those of it.
    `handle` stands for the name in what is reported of this decision.
    """

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
    handle: str = ""
    how: How = "whole"
    description: str = ""
    path: str = ""


class Withheld(Struct, frozen=True):
    """A skill that is not shown, why, and the numbers."""

    name: str
    reason: Reason
    detail: str
    blob: str = ""


class Selection(Struct, frozen=True):
    """What `recommend` answers: the shown by their place, the left out from the best on.

    `near_domain` is set for a domain that the vault does not know: the known one that it looks
    like, or "". `unknown_context` are the keys and values that no boost and no skill knows.
    """

    domain: str
    decision: str | None
    recommended: list[Served]
    withheld: list[Withheld]
    total_considered: int
    excluded_low_effectiveness: int
    excluded_low_relevance: int
    over_budget: int
    facts: list[ServedFact] = field(default_factory=list)
    near_domain: str | None = None
    unknown_context: list[str] = field(default_factory=list)

    def _repr_html_(self) -> str:
        """The shown skills and facts, as notebooks show them."""
        skills = [
            (skill.handle, skill.name, skill.badge, f"{skill.relevance:.2f}", skill.description)
            for skill in self.recommended
        ]
        facts = [(fact.handle, fact.id, "", f"{fact.share:.2f}", fact.text) for fact in self.facts]
        columns = ("handle", "name", "use", "relevance", "about")
        return html_table(f"recommended in {self.domain}", columns, [*skills, *facts])


class Background(Struct, frozen=True):
    """What else is known of the skills and of the task.

    `about` gives description and path by name; `actions` what skills that answer the task are
    about; `leads` the place of those about the very action that is asked for, 0 first. `excerpts`
    are what of guides fits the task.
    """

    about: Callable[[str], About] = lambda _: About()
    actions: Mapping[str, frozenset[Action]] = field(default_factory=dict)
    leads: Mapping[str, int] = field(default_factory=dict)
    excerpts: Mapping[str, str] = field(default_factory=dict)
    facts: Sequence[FactHit] = ()


_COMPARED = 20  # places with which a skill is compared that may say the same
_NEARLY = 0.8  # of the share at which a text answers, where another one answers
LEADS = 2  # places before those of the others


class _Asking(NamedTuple):
    """A question, and by what it is answered."""

    query: Query
    rules: Rules
    policy: Policy
    weighing: Weighing
    read: Callable[[str], str]
    background: Background


class _Weighed(NamedTuple):
    """A candidate with its score, which sorts as it is shown; `place` is by pins and leads."""

    place: int
    minus_score: float
    name: str
    relevance: float
    candidate: Candidate


def badge_of(times_applied: float, success_rate: float | None, is_proven: bool) -> str:
    """What is known of a skill in a few words; halves of a percent are rounded up."""
    if is_proven:
        percent = math.floor((success_rate or 0.0) * 100 + 0.5)
        return f"✅ Proven ({percent}% success, {times_applied} uses)"
    return f"📊 Testing ({times_applied} uses)" if times_applied else "🆕 New"


def recommend(
    candidates: Iterable[Candidate],
    query: Query,
    rules: Rules,
    read: Callable[[str], str],
    *,
    scores: Mapping[str, Match] | None = None,
    background: Background | None = None,
) -> Selection:
    """Answer a query with the live skills of the shelf.

    `read` gives the text of a candidate by name. `scores` (name -> how well its text answers the
    task) count if a task is given and the strategy is not `tag`.
    """
    policy = rules.policy
    is_read = query.strategy != "tag" and policy.recommend.task
    weighing = Weighing(query.context, policy.recommend, read, scores if is_read else None)
    asking = _Asking(query, rules, policy, weighing, read, background or Background())
    pinned = pin_places(query)
    among = _candidates(candidates, query, pinned)
    doubted = [c for c in among if c.name not in pinned and not _is_qualified(c, rules)]
    doubted_names = {c.name for c in doubted}
    unasked = {c.name for c in among if c.seed and not _is_asked(c, query, pinned)}
    eligible = _eligible(asking, pinned, unasked)
    of = (query.domain, None)
    low: list[_Weighed] = []
    high: list[_Weighed] = []
    for weighed in (_weighed(c, asking, pinned) for c in among if c.name not in doubted_names):
        (high if eligible(weighed) else low).append(weighed)
    doubted_weighed = (_weighed(c, asking, pinned) for c in doubted if not _is_retired(c, rules))
    order, explored = _explored(high, filter(eligible, doubted_weighed), pinned, asking)
    weak = [c for c in doubted if c is not explored]
    if weighing.has_task:  # what says nothing of the task is not missing for its effect
        weighed_weak = [_weighed(c, asking, pinned) for c in weak]
        low += (weighed for weighed in weighed_weak if not eligible(weighed))
        weak = [weighed.candidate for weighed in weighed_weak if eligible(weighed)]
    chosen = _chosen(order, pinned, asking)
    passed_over = chain(chosen.withheld, (_beyond(w, _limit(asking)) for w in order))
    left_out = chain(
        _unknown(pinned, among), passed_over, _irrelevant(low, asking), map(_ineffective, weak)
    )
    return Selection(
        domain=query.domain,
        decision=query.decision,
        recommended=chosen.served,
        withheld=list(left_out if query.explain else islice(left_out, NEXT)),
        total_considered=sum(c.domain in of and c.name not in unasked for c in among),
        excluded_low_effectiveness=len(weak),
        excluded_low_relevance=sum(weighed.name not in unasked for weighed in low),
        over_budget=sum(withheld.reason == "budget" for withheld in chosen.withheld),
        facts=chosen.facts,
    )


def by_effect(candidates: Iterable[Candidate], rules: Rules) -> list[Candidate]:
    """Those that may be served whatever the task: the pinned first, then what helps most."""
    anything = Query(domain="")
    live = [
        c
        for c in candidates
        if c.status not in _NOT_LIVE
        and (not c.seed or c.status == "pinned")
        and _is_qualified(c, rules)
    ]

    def place(candidate: Candidate) -> tuple[bool, float, str]:
        gain = sum(_gains(candidate, anything, rules).values())
        return candidate.status != "pinned", -gain, candidate.name

    return sorted(live, key=place)


def empty(query: Query, near_domain: str) -> Selection:
    """The answer for a domain that the vault does not know; `near_domain` is one like it, or ""."""
    return Selection(query.domain, query.decision, [], [], 0, 0, 0, 0, near_domain=near_domain)


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


def _is_asked(candidate: Candidate, query: Query, pins: Mapping[str, int]) -> bool:
    """Whether it is pinned, or the role or the stage in question is its own.

    One learned here that the status alone pins is kept, and still must say enough of the task.
    """
    if candidate.name in pins or (candidate.seed and candidate.status == "pinned"):
        return True
    return (query.role, query.stage) != (None, None) and _is_for(candidate, query)


def _eligible(
    asking: _Asking, pins: Mapping[str, int], unasked: Collection[str]
) -> Callable[[_Weighed], bool]:
    """Whether a skill may be shown: pinned, asked for, or it says enough of the task.

    Without a task its relevance decides.
    """
    query, rules = asking.query, asking.policy.recommend
    asked = {*_answering(asking, unasked)}
    asked.update(asking.background.leads if query.action else ())
    has_task, least = asking.weighing.has_task, rules.min_relevance

    def eligible(weighed: _Weighed) -> bool:
        if _is_asked(weighed.candidate, query, pins):
            return True
        is_near = weighed.name in asked if has_task else weighed.relevance >= least
        return weighed.name not in unasked and is_near

    return eligible


def _answering(asking: _Asking, unasked: Collection[str]) -> list[str]:
    """The skills that say enough of the task; beside one that does, nearly enough suffices.

    One learned about other actions than the best of those that were learned says nearly as much
    as that: else it only shares a few words with the task.
    """
    weighing, rules, actions = asking.weighing, asking.policy.recommend, asking.background.actions
    if all(name in unasked for name in weighing.saying(rules.answers)):
        return []
    saying = [n for n in weighing.saying(_NEARLY * rules.answers) if n not in unasked]
    learned = [name for name in saying if actions.get(name)]
    best = min(learned, key=lambda name: (-weighing.share(name), name), default=None)
    if best is None:
        return saying
    needed = rules.beside * weighing.share(best)
    return [
        name
        for name in saying
        if not actions.get(name) or actions[name] & actions[best] or weighing.share(name) >= needed
    ]


def _unknown(pins: Iterable[str], among: Iterable[Candidate]) -> Iterator[Withheld]:
    names = {candidate.name for candidate in among}
    for pin in pins:
        if pin not in names:
            yield Withheld(pin, "unknown-pin", "no live skill has this name")


def _is_qualified(candidate: Candidate, rules: Rules) -> bool:
    evidence = candidate.evidence
    if candidate.status == "pinned" or evidence is NO_EVIDENCE:
        return True
    return rules.qualifies(candidate.status, evidence, rules.policy)


def _is_retired(candidate: Candidate, rules: Rules) -> bool:
    """As its evidence says, whatever its file does."""
    return next_status(candidate.status, candidate.evidence, rules).status == "retired"


def _weighed(candidate: Candidate, asking: _Asking, pins: Mapping[str, int]) -> _Weighed:
    name = candidate.name
    score = relevance = asking.weighing.relevance(name, candidate.kind)
    # Of a large library hardly any was used; the others gain nothing.
    known = candidate.evidence is not NO_EVIDENCE or candidate.elsewhere
    if known or candidate.status == "proven":
        score += sum(_gains(candidate, asking.query, asking.rules).values())
    lead = asking.background.leads.get(name, LEADS)
    return _Weighed(pins.get(name, len(pins) + lead), -score, name, relevance, candidate)


def _gains(candidate: Candidate, query: Query, rules: Rules) -> dict[str, float]:
    """What the order of a skill gains over its relevance, by part."""
    decision, name, evidence = query.decision, candidate.name, candidate.evidence
    draw = None if decision is None else partial(_normal, decision, name)
    is_proven = rules.is_proven(candidate.status, evidence, rules)
    proven = {"proven": rules.policy.recommend.proven} if is_proven else {}
    return proven | rules.gains(evidence, candidate.elsewhere, draw, rules.policy)


# ── who is shown ─────────────────────────────────────────────────────────────────────


class _Chosen(NamedTuple):
    """What is shown, and what of the best is not."""

    served: list[Served]
    facts: list[ServedFact]
    withheld: list[Withheld]


def _chosen(order: Iterator[_Weighed], pins: Mapping[str, int], asking: _Asking) -> _Chosen:
    """The best of the order within limit and budget; takes no more of the order than that."""
    places, repeated = _without_repeats(order, pins, asking)
    places, guided = _without_guided(places, pins, asking.background)
    repeated += guided
    shown: list[_Weighed] = []
    held_out: list[Candidate] = []
    withheld: list[Withheld] = []
    for weighed in places:
        candidate = weighed.candidate
        if candidate.name not in pins and _is_held_out(candidate, asking.query, asking.rules):
            detail = f"not shown for {asking.query.decision}, to compare with"
            withheld.append(Withheld(candidate.name, "held-out", detail, candidate.blob))
            held_out.append(candidate)
        else:
            shown.append(weighed)
    served, facts = _disclosed(shown, held_out, pins, asking)
    over = (_over_budget(weighed) for weighed in shown[len(served) :])
    return _Chosen(served, facts, [*withheld, *over, *repeated])


def _without_repeats(
    order: Iterator[_Weighed], pins: Mapping[str, int], asking: _Asking
) -> tuple[list[_Weighed], list[Withheld]]:
    """(the first of the order, up to the limit; those that say the same as one of them).

    Of two that say the same the one with more evidence stands, a pinned one before all others.
    """
    limit, read = _limit(asking), asking.read
    places: list[_Weighed] = []
    repeated: list[Withheld] = []
    while len(places) < limit and (weighed := next(order, None)) is not None:
        name = weighed.name
        is_guide = weighed.candidate.kind == "guide"  # which `_without_guided` compares
        others = [one for one in places[:_COMPARED] if is_guide == (one.candidate.kind == "guide")]
        is_same = (says_same(read(name), read(other.name)) for other in others)
        other = next((o for o, is_twin in zip(others, is_same, strict=True) if is_twin), None)
        if other is None or name in pins:
            places.append(weighed)
            continue
        if other.name not in pins and _uses(weighed) > _uses(other):
            places[places.index(other)], weighed, other = weighed, other, weighed
        detail = f"same as {other.name}"
        repeated.append(Withheld(weighed.name, "same", detail, weighed.candidate.blob))
    return places, repeated


def _without_guided(
    places: Sequence[_Weighed], pins: Mapping[str, int], background: Background
) -> tuple[list[_Weighed], list[Withheld]]:
    """Return (the places, those of warnings and patterns whose action a guide there tells)."""
    about = {w.name: _actions(background, w.candidate) or frozenset() for w in places}
    guides = {
        action: w.name for w in places if w.candidate.kind == "guide" for action in about[w.name]
    }

    def is_told(weighed: _Weighed) -> bool:
        is_graded = weighed.candidate.kind in ("warning", "pattern") and weighed.name not in pins
        return is_graded and bool(about[weighed.name]) and about[weighed.name] <= guides.keys()

    told = [
        Withheld(w.name, "same", f"told by {guides[min(about[w.name])]}", w.candidate.blob)
        for w in places
        if is_told(w)
    ]
    return [w for w in places if not is_told(w)], told


def _uses(weighed: _Weighed) -> float:
    return weighed.candidate.evidence.times_applied


def _disclosed(
    shown: Sequence[_Weighed],
    held_out: Iterable[Candidate],
    pins: Mapping[str, int],
    asking: _Asking,
) -> tuple[list[Served], list[ServedFact]]:
    """The skills as they are shown, as many as can be named, and the facts beside them."""
    background, rules = asking.background, asking.policy.recommend
    slots = [
        disclosure.Slot(
            w.name,
            background.excerpts.get(w.name) or asking.read(w.name),
            background.about(w.name),
            _actions(background, w.candidate),
            w.name in pins,
            is_cut=w.name in background.excerpts
            and omits_lines(background.excerpts[w.name], asking.read(w.name)),
            by_lines=w.candidate.kind == "guide",
        )
        for w in shown
    ]
    hidden = {c.name: _actions(background, c) or frozenset() for c in held_out}
    hits = background.facts if asking.weighing.has_task else ()
    # A guide tells what the facts of its action were made of.
    guided = {
        action
        for w in shown
        if w.candidate.kind == "guide"
        for action in _actions(background, w.candidate) or ()
    }
    hits = [hit for hit in hits if not hit.actions or not hit.actions <= guided]
    disclosed = disclosure.disclose(slots, hidden, hits, rules, budget=_budget(asking))
    served = [
        _served(weighed, given, asking, handle=f"S{number}")
        for number, (weighed, given) in enumerate(zip(shown, disclosed.skills, strict=False), 1)
    ]
    return served, disclosed.facts


def _actions(background: Background, candidate: Candidate) -> frozenset[Action] | None:
    """What a skill is about; None for a strategy, which is about all actions of its domain."""
    if candidate.kind == "strategy":
        return None
    return background.actions.get(candidate.name, frozenset())


def _budget(asking: _Asking) -> float:
    """The tokens that the answer may have; infinite if nobody bounds them."""
    stated = asking.query.budget
    budget = asking.policy.recommend.budget if stated is None else stated
    return math.inf if budget is None else budget


def _limit(asking: _Asking) -> int:
    """How many skills are shown, in whole or in a line."""
    limit, rules = asking.query.limit, asking.policy.recommend
    if limit is None:
        limit = max(rules.limit, rules.named) if asking.weighing.has_task else rules.limit
    return max(0, limit)


def _text_places(asking: _Asking) -> int:
    """How many skills may be shown with their texts."""
    most = asking.policy.recommend.bodies
    return _limit(asking) if most is None else min(most, _limit(asking))


def _explored(
    weighed: list[_Weighed], doubted: Iterator[_Weighed], pins: Mapping[str, int], asking: _Asking
) -> tuple[Iterator[_Weighed], Candidate | None]:
    """(the order, the new skill that is tried); there is one in a share of the decisions.

    It has the last place that may have a text: of all that are new, those that seem to hurt
    (`again`) among them, one that promises much and was applied seldom.
    """
    order, limit = _ordered(weighed), _text_places(asking)
    if limit < 2 or not _explores(asking):
        return order, None
    first = list(islice(order, limit - 1))
    taken = {*pins, *(one.name for one in first)}
    untried = (
        one
        for one in chain(weighed, doubted)
        if one.name not in taken and is_new(one.candidate.evidence, asking.policy)
    )
    new = min(untried, key=_tried_first(asking.policy), default=None)
    if new is None:
        return chain(first, order), None
    return chain(first, [new], (one for one in order if one is not new)), new.candidate


def _explores(asking: _Asking) -> bool:
    """By the decision alone; without one there is no chance."""
    decision, share = asking.query.decision, asking.rules.explored_share(asking.policy)
    return decision is not None and _drawn(decision, "", "explore") < share


def _tried_first(policy: Policy) -> Callable[[_Weighed], tuple[float, str]]:
    """Sorts what promises most first, each use a step back; nothing of it is drawn."""
    rules = policy.effect

    def key(weighed: _Weighed) -> tuple[float, str]:
        evidence = weighed.candidate.evidence
        lift = evidence.lift.recent.lift if evidence.lift else 0.0
        promise = weighed.relevance + rules.bonus * lift
        return rules.explore_cost * evidence.times_applied - promise, weighed.name

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


def _over_budget(weighed: _Weighed) -> Withheld:
    candidate = weighed.candidate
    return Withheld(candidate.name, "budget", "no room for another line", candidate.blob)


def _is_held_out(candidate: Candidate, query: Query, rules: Rules) -> bool:
    """By the decision and the name alone, so that the same question has the same answer."""
    if query.decision is None or candidate.status == "pinned" or candidate.name in query.seen:
        return False
    return _drawn(query.decision, candidate.name) < _share_held_out(candidate, rules)


def _share_held_out(candidate: Candidate, rules: Rules) -> float:
    """The less is open about a skill that helps, the less is learned by doing without it."""
    numbers, lift = rules.policy.effect, candidate.evidence.lift
    least = min(numbers.holdout, numbers.holdout_proven)
    if rules.is_proven(candidate.status, candidate.evidence, rules):
        return least
    helps = 0.5 if lift is None else max(0.5, lift.recent.helps)
    if helps >= numbers.proven_above:
        return least
    is_open = (numbers.proven_above - helps) / (numbers.proven_above - 0.5)
    return least + (numbers.holdout - least) * is_open**2


def _drawn(*words: str) -> float:
    """A number from 0 to below 1 that these words always draw."""
    digest = hashlib.sha256("\n".join(words).encode()).digest()[:8]
    return int.from_bytes(digest, "big") / 2**64


def _normal(decision: str, name: str) -> float:
    """A number that is drawn from the normal distribution, by Box and Muller."""
    radius = math.sqrt(-2 * math.log(1 - _drawn(decision, name, "radius")))
    return radius * math.cos(2 * math.pi * _drawn(decision, name, "angle"))


def _badge(evidence: Evidence, policy: Policy, *, is_proven: bool) -> str:
    """What is known of a skill; of one that is tried again, how far its trial is."""
    if is_on_trial(evidence, policy):
        return f"📊 Tried again ({count_of(evidence.shown, policy.effect.trial_shown)} decisions)"
    return badge_of(evidence.times_applied, evidence.success_rate, is_proven)


def _served(weighed: _Weighed, given: Given, asking: _Asking, *, handle: str) -> Served:
    _, score, name, total, candidate = weighed
    evidence = candidate.evidence
    gains = _gains(candidate, asking.query, asking.rules)
    parts = {part: round(value, 6) for part, value in gains.items()}
    return Served(
        name=name,
        kind=candidate.kind,
        relevance=total,
        score=round(-score, 6),
        badge=_badge(evidence, asking.policy, is_proven="proven" in gains),
        status=candidate.status,
        blob=candidate.blob,
        tokens=count_tokens(given.body),
        reasons={**asking.weighing.parts(name, candidate.kind), **parts},
        body=given.body,
        handle=handle,
        how=given.how,
        description=given.description,
        path=given.path,
    )


def _irrelevant(low: list[_Weighed], asking: _Asking) -> Iterator[Withheld]:
    """Those that are not eligible, the best first, each with the number that it misses."""
    rules, weighing = asking.policy.recommend, asking.weighing
    for _, _, name, value, candidate in _ordered(low):
        if candidate.seed:
            detail = _UNASKED
        elif weighing.has_task:
            detail = _too_little(weighing.share(name), rules)
        else:
            detail = f"relevance {value:.2f} is below {rules.min_relevance:.2f}"
        yield Withheld(name, "low-relevance", detail, candidate.blob)


def _too_little(share: float, rules: RecommendPolicy) -> str:
    said = f"says {share:.2f} of what is asked"
    if share < rules.answers:
        return f"{said}, less than {rules.answers:.2f}"
    return f"{said}, less than {rules.beside:.2f} times what the best says, of another action"


def _ineffective(candidate: Candidate) -> Withheld:
    return Withheld(
        candidate.name, "low-effectiveness", evidence_line(candidate.evidence), candidate.blob
    )

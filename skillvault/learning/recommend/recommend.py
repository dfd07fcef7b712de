"""Choose and order the skills for a task, with the reason for each skill that is left out.

`recommend` scores the candidates, leaves out those that are not about the task, and lets
`disclosure` decide how much of each text is shown. `serving/` reads the skills and calls it. The
result depends only on the candidates, the query and the policy: random numbers derive from the id
of the decision. `relevance.py` scores relevance, `effect/verdict.py` evidence.
"""

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
from skillvault.learning.recommend.disclosure import (
    Action,
    AnswerText,
    Extent,
    FactHit,
    ServedFact,
    Summary,
)
from skillvault.learning.recommend.duplicates import says_same
from skillvault.learning.recommend.lines import omits_lines
from skillvault.learning.recommend.relevance import Match, Weighing, draw, draw_normal
from skillvault.learning.rules import Rules
from skillvault.model.policy import Policy
from skillvault.model.records import Scalar
from skillvault.model.text import html_table
from skillvault.model.text.text import count_of, count_tokens

Reason = Literal[
    "low-effectiveness", "low-relevance", "held-out", "same", "rank", "budget", "unknown-pin"
]

MAX_NEXT = 20  # left-out skills in an answer, unless `explain` asks for all
LEAD_RANKS = 2  # ranks of skills about the requested action, before all other skills
NOT_LIVE = ("proposed", "retired")
_MAX_PEERS = 20  # shown skills with which the text of a further skill is compared
_NEAR_SHARE = 0.8  # share of the needed evidence that is enough if another skill has all of it


class Candidate(Struct, frozen=True, gc=False):  # in no cycle, and there are thousands
    """A skill of the shelf, as known before its text is read.

    `tokens` is the length of the text, and `blob` git's id of its version. `seed` is True if the
    skill comes with the package. `elsewhere` is the lift that is expected from the counters of
    other tools.
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
    """The question of an agent before a task; `limit` and `budget` default to the policy.

    With `explain`, the answer names all left-out skills. `seen` has skills that the agent has read
    already, so they cannot be held out. Facts with a review due by `day` come last.
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
    day: str = ""


class ServedSkill(Struct, frozen=True):
    """A skill that is shown.

    `reasons` has the parts of the relevance (0..1) and of `score`, which orders the skills. `body`
    is the shown text, or "" if the skill is only named; `tokens` is its length. `handle` is a short
    name that is valid for this decision.
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
    how: Extent = "whole"
    description: str = ""
    path: str = ""


class WithheldSkill(Struct, frozen=True):
    """A skill that is not shown, with the reason and its numbers."""

    name: str
    reason: Reason
    detail: str
    blob: str = ""


class Selection(Struct, frozen=True):
    """The answer of `recommend`: the shown skills in order, and the withheld skills, best first.

    `near_domain` is the domain that a misspelt domain resembles. `unknown_context` has the keys and
    values that no boost and no skill mentions. `prompt` is the text for an agent to read before the
    task, or "".
    """

    domain: str
    decision: str | None
    recommended: list[ServedSkill]
    withheld: list[WithheldSkill]
    total_considered: int
    excluded_low_effectiveness: int
    excluded_low_relevance: int
    over_budget: int
    facts: list[ServedFact] = field(default_factory=list)
    near_domain: str | None = None
    unknown_context: list[str] = field(default_factory=list)
    prompt: str = ""

    def __str__(self) -> str:
        return self.prompt

    def _repr_html_(self) -> str:
        """Show the skills and facts as a table in a notebook."""
        skills = [
            (skill.handle, skill.name, skill.badge, f"{skill.relevance:.2f}", skill.description)
            for skill in self.recommended
        ]
        facts = [
            (fact.handle, fact.id, "", f"{fact.evidence:.2f}", fact.text) for fact in self.facts
        ]
        columns = ("handle", "name", "use", "relevance", "about")
        return html_table.html_table(f"recommended in {self.domain}", columns, [*skills, *facts])


class Background(Struct, frozen=True):
    """More data about the skills and the task.

    `about` returns the description and path of a skill. `actions` has the actions of skills that
    may answer the task. `leads` ranks the skills about the requested action, from 0. `excerpts` has
    the parts of guides that fit the task.
    """

    about: Callable[[str], Summary] = lambda _: Summary()
    actions: Mapping[str, frozenset[Action]] = field(default_factory=dict)
    leads: Mapping[str, int] = field(default_factory=dict)
    excerpts: Mapping[str, str] = field(default_factory=dict)
    facts: Sequence[FactHit] = ()


class Others(Struct, frozen=True):
    """The unused live skills that have nothing to do with the task; `read` is called late."""

    count: int
    read: Callable[[], Iterable[Candidate]]


NO_OTHERS = Others(0, tuple)


class _Request(NamedTuple):
    """A query, and the data to answer it."""

    query: Query
    rules: Rules
    pins: Mapping[str, int]
    weighing: Weighing
    read_text: Callable[[str], str]
    background: Background


class _Contender(NamedTuple):
    """A candidate with its score; the fields are in sort order, and `rank` is by pins and leads."""

    rank: int
    minus_score: float
    name: str
    relevance: float
    candidate: Candidate


def badge_of(times_applied: float, success_rate: float | None, is_proven: bool) -> str:
    """Return the badge of a skill: proven with its rate of success, testing, or new."""
    if is_proven:
        percent = math.floor((success_rate or 0.0) * 100 + 0.5)
        return f"✅ Proven ({percent}% success, {times_applied} uses)"
    return f"📊 Testing ({times_applied} uses)" if times_applied else "🆕 New"


def recommend(
    candidates: Iterable[Candidate],
    query: Query,
    rules: Rules,
    read_text: Callable[[str], str],
    *,
    scores: Mapping[str, Match] | None = None,
    background: Background | None = None,
    others: Others = NO_OTHERS,
) -> Selection:
    """Answer a query with the skills of the shelf.

    `read_text` returns the text of a candidate by name. `scores` has the matches of texts with the
    task; they are ignored for the strategy `tag`, or if the policy gives the task no weight.
    `others` are the live skills that are not among the candidates.
    """
    settings = rules.policy.recommend
    if query.strategy == "tag" or not settings.task:
        scores = None
    weighing = Weighing(query.context, settings, read_text, scores)
    pins = pin_places(query)
    request = _Request(query, rules, pins, weighing, read_text, background or Background())
    pool = _select_candidates(candidates, query, pins)
    doubtful = [c for c in pool if c.name not in pins and not _is_qualified(c, rules)]
    doubtful_names = {candidate.name for candidate in doubtful}
    excluded = {c.name for c in pool if c.seed and not _is_requested(c, query, pins)}
    is_eligible = _eligibility_test(request, excluded)
    eligible: list[_Contender] = []
    irrelevant: list[_Contender] = []
    qualified = (candidate for candidate in pool if candidate.name not in doubtful_names)
    matches, unmatched = _split_by_match(qualified, request)
    for contender in (_score(candidate, request) for candidate in matches):
        (eligible if is_eligible(contender) else irrelevant).append(contender)
    doubtful_contenders = (
        _score(candidate, request)
        for candidate in doubtful
        if next_status(candidate.status, candidate.evidence, rules).status != "retired"
    )
    order, newcomer = _explore(eligible, filter(is_eligible, doubtful_contenders), request)
    weak = [candidate for candidate in doubtful if candidate is not newcomer]
    if weighing.has_task:  # an irrelevant skill is left out for its relevance, not its effect
        weak_contenders = [_score(candidate, request) for candidate in weak]
        irrelevant += (contender for contender in weak_contenders if not is_eligible(contender))
        weak = [contender.candidate for contender in weak_contenders if is_eligible(contender)]
    served_skills, facts, withheld = _choose(order, request)
    names = {candidate.name for candidate in pool}
    unknown_pins = [pin for pin in pins if pin not in names]
    cap = f"at most {_limit(request)} are shown"
    left_out = chain(
        (WithheldSkill(p, "unknown-pin", "no live skill has this name") for p in unknown_pins),
        withheld,
        (_withhold(c.candidate, "rank", f"score {-c.minus_score:.2f}; {cap}") for c in order),
        _withhold_irrelevant(irrelevant, request),
        # Skills without a word of the task are read and scored only if the answer names them.
        _withhold_irrelevant(
            (_score(c, request) for read in (unmatched.copy, others.read) for c in read()), request
        ),
        (_withhold(c, "low-effectiveness", evidence_line(c.evidence)) for c in weak),
    )
    irrelevant_names = {c.name for c in irrelevant} | {c.name for c in unmatched}
    offered = [candidate for candidate in pool if candidate.name not in excluded]
    return Selection(
        domain=query.domain,
        decision=query.decision,
        recommended=served_skills,
        withheld=list(left_out if query.explain else islice(left_out, MAX_NEXT)),
        total_considered=sum(c.domain in (query.domain, None) for c in offered) + others.count,
        excluded_low_effectiveness=len(weak),
        excluded_low_relevance=len(irrelevant_names - excluded) + others.count,
        over_budget=sum(skill.reason == "budget" for skill in withheld),
        facts=facts,
    )


def rank_by_effect(candidates: Iterable[Candidate], rules: Rules) -> list[Candidate]:
    """Return the skills to serve without a task: pinned skills, then the others, best first."""
    offered = (c for c in candidates if not c.seed or c.status == "pinned")
    pool = [c for c in offered if c.status not in NOT_LIVE and _is_qualified(c, rules)]

    def effect_order(candidate: Candidate) -> tuple[bool, float, str]:
        gain = sum(_gains(candidate, None, rules).values()) if _may_gain(candidate) else 0.0
        return candidate.status != "pinned", -gain, candidate.name

    return sorted(pool, key=effect_order)


def empty_selection(query: Query, near_domain: str) -> Selection:
    """Return the answer for a misspelt domain, which resembles `near_domain`."""
    return Selection(query.domain, query.decision, [], [], 0, 0, 0, 0, near_domain=near_domain)


# ── the eligible skills ─────────────────────────────────────────────────────────────


def pin_places(query: Query) -> dict[str, int]:
    """Map each pin to its rank."""
    names = dict.fromkeys(pin.replace("_", "-") for pin in query.pins)
    return {name: rank for rank, name in enumerate(names)}


def _select_candidates(
    candidates: Iterable[Candidate], query: Query, pins: Mapping[str, int]
) -> list[Candidate]:
    # The semantic strategy compares all texts, whatever the roles are.
    is_filtered = query.strategy != "semantic" and (query.role, query.stage) != (None, None)
    domains = (query.domain, None)
    return [
        c
        for c in candidates
        if c.status not in NOT_LIVE
        and (c.name in pins or (c.domain in domains and (not is_filtered or _has_label(c, query))))
    ]


def _has_label(candidate: Candidate, query: Query) -> bool:
    return query.role in candidate.roles or query.stage in candidate.stages


def _is_requested(candidate: Candidate, query: Query, pins: Mapping[str, int]) -> bool:
    """Return True if a skill is pinned, or has the requested role or stage.

    The status `pinned` counts only for skills of the package; a learned skill must match the task.
    """
    if candidate.name in pins or (candidate.seed and candidate.status == "pinned"):
        return True
    has_label = query.role is not None or query.stage is not None
    return has_label and _has_label(candidate, query)


def _eligibility_test(request: _Request, excluded: Collection[str]) -> Callable[[_Contender], bool]:
    """Return a function that tests if a skill is requested or close to the task."""
    query, min_relevance = request.query, request.rules.policy.recommend.min_relevance
    answers = {*_find_answering(request, excluded)}
    answers.update(request.background.leads if query.action else ())
    has_task = request.weighing.has_task

    def is_eligible(contender: _Contender) -> bool:
        if _is_requested(contender.candidate, query, request.pins):
            return True
        is_near = contender.name in answers if has_task else contender.relevance >= min_relevance
        return contender.name not in excluded and is_near

    return is_eligible


def _find_answering(request: _Request, excluded: Collection[str]) -> list[str]:
    """Return the skills that answer the task by the evidence of their texts.

    If one skill has enough evidence, the others need a little less. A learned skill about other
    actions than the best learned skill needs nearly as much evidence as the best.
    """
    weighing, actions = request.weighing, request.background.actions
    settings = request.rules.policy.recommend
    if all(name in excluded for name in weighing.names_with_evidence(settings.answers)):
        return []
    near_names = weighing.names_with_evidence(_NEAR_SHARE * settings.answers)
    names = [name for name in near_names if name not in excluded]
    learned_names = [name for name in names if actions.get(name)]
    best_name = min(
        learned_names, key=lambda name: (-weighing.measure_evidence(name), name), default=None
    )
    if best_name is None:
        return names
    min_evidence = settings.beside * weighing.measure_evidence(best_name)
    return [
        name
        for name in names
        if not actions.get(name)
        or actions[name] & actions[best_name]
        or weighing.measure_evidence(name) >= min_evidence
    ]


def _split_by_match(
    candidates: Iterable[Candidate], request: _Request
) -> tuple[list[Candidate], list[Candidate]]:
    """Return the candidates to score, and the candidates without a word of the task.

    In a large library nearly all skills have no word of the task. If the answer explains all
    skills, all are scored.
    """
    query, weighing = request.query, request.weighing
    if not weighing.has_task or query.explain:
        return list(candidates), []
    near_names = {*weighing.matched_names, *request.background.leads}
    matching_candidates: list[Candidate] = []
    unmatched_candidates: list[Candidate] = []
    for candidate in candidates:
        is_near = candidate.name in near_names or _is_requested(candidate, query, request.pins)
        (matching_candidates if is_near else unmatched_candidates).append(candidate)
    return matching_candidates, unmatched_candidates


def _is_qualified(candidate: Candidate, rules: Rules) -> bool:
    evidence = candidate.evidence
    if candidate.status == "pinned" or evidence is NO_EVIDENCE:
        return True
    return rules.qualifies(candidate.status, evidence, rules.policy)


def _score(candidate: Candidate, request: _Request) -> _Contender:
    name, pins = candidate.name, request.pins
    score = relevance = request.weighing.relevance(name, candidate.kind)
    if _may_gain(candidate):
        score += sum(_gains(candidate, request.query.decision, request.rules).values())
    lead = request.background.leads.get(name, LEAD_RANKS)
    return _Contender(pins.get(name, len(pins) + lead), -score, name, relevance, candidate)


def _may_gain(candidate: Candidate) -> bool:
    """Return True if a skill was used or proven; few skills of a large library were."""
    is_used = candidate.evidence is not NO_EVIDENCE or candidate.elsewhere != 0
    return is_used or candidate.status == "proven"


def _gains(candidate: Candidate, decision: str | None, rules: Rules) -> dict[str, float]:
    evidence = candidate.evidence
    draw = None if decision is None else partial(draw_normal, decision, candidate.name)
    is_proven = rules.is_proven(candidate.status, evidence, rules)
    bonus = {"proven": rules.policy.recommend.proven} if is_proven else {}
    return bonus | rules.gains(evidence, candidate.elsewhere, draw, rules.policy)


# ── the shown skills ─────────────────────────────────────────────────────────────────────


def _choose(
    order: Iterator[_Contender], request: _Request
) -> tuple[list[ServedSkill], list[ServedFact], list[WithheldSkill]]:
    """Return (skills to show, facts, withheld skills) within limit and budget."""
    distinct_contenders, repeats = _drop_repeats(order, request)
    shown_contenders, guided_skills = _drop_guided(distinct_contenders, request)
    contenders: list[_Contender] = []
    held_out_candidates: list[Candidate] = []
    withheld: list[WithheldSkill] = []
    for contender in shown_contenders:
        candidate = contender.candidate
        if candidate.name not in request.pins and _is_held_out(candidate, request):
            detail = f"not shown for {request.query.decision}, to compare with"
            withheld.append(_withhold(candidate, "held-out", detail))
            held_out_candidates.append(candidate)
        else:
            contenders.append(contender)
    served_skills, facts = _disclose(contenders, held_out_candidates, request)
    crowded_out = contenders[len(served_skills) :]
    withheld += (_withhold(c.candidate, "budget", "no room for another line") for c in crowded_out)
    return served_skills, facts, [*withheld, *repeats, *guided_skills]


def _drop_repeats(
    order: Iterator[_Contender], request: _Request
) -> tuple[list[_Contender], list[WithheldSkill]]:
    """Return the first skills up to the limit, and the skills that repeat one of them.

    Of two skills that say the same, the one with more uses stays; a pinned skill always stays.
    """
    limit, read_text, pins = _limit(request), request.read_text, request.pins
    contenders: list[_Contender] = []
    repeats: list[WithheldSkill] = []
    while len(contenders) < limit and (contender := next(order, None)) is not None:
        name = contender.name
        # `_drop_guided` compares the other skills with guides.
        is_guide = contender.candidate.kind == "guide"
        peers = (p for p in contenders[:_MAX_PEERS] if is_guide == (p.candidate.kind == "guide"))
        twins = (peer for peer in peers if says_same(read_text(name), read_text(peer.name)))
        twin = next(twins, None)
        if twin is None or name in pins:
            contenders.append(contender)
            continue
        uses, twin_uses = (c.candidate.evidence.times_applied for c in (contender, twin))
        if twin.name not in pins and uses > twin_uses:
            contenders[contenders.index(twin)], contender, twin = contender, twin, contender
        repeats.append(_withhold(contender.candidate, "same", f"same as {twin.name}"))
    return contenders, repeats


def _drop_guided(
    chosen: Sequence[_Contender], request: _Request
) -> tuple[list[_Contender], list[WithheldSkill]]:
    """Leave out the warnings and patterns whose action has a guide among the contenders."""
    about = {c.name: _actions(request, c.candidate) or frozenset() for c in chosen}
    guides = {
        action: c.name for c in chosen if c.candidate.kind == "guide" for action in about[c.name]
    }

    def is_guided(contender: _Contender) -> bool:
        if contender.candidate.kind not in ("warning", "pattern") or contender.name in request.pins:
            return False
        return bool(about[contender.name]) and about[contender.name] <= guides.keys()

    withheld = [
        _withhold(c.candidate, "same", f"it is in {guides[min(about[c.name])]}")
        for c in chosen
        if is_guided(c)
    ]
    return [c for c in chosen if not is_guided(c)], withheld


def _disclose(
    contenders: Sequence[_Contender], held_out: Iterable[Candidate], request: _Request
) -> tuple[list[ServedSkill], list[ServedFact]]:
    background, settings = request.background, request.rules.policy.recommend
    slots = []
    for contender in contenders:
        name, text = contender.name, request.read_text(contender.name)
        excerpt = background.excerpts.get(name)
        slot = disclosure.Slot(
            name,
            excerpt or text,
            background.about(name),
            _actions(request, contender.candidate),
            pinned=name in request.pins,
            is_cut=excerpt is not None and omits_lines(excerpt, text),
            by_lines=contender.candidate.kind == "guide",
        )
        slots.append(slot)
    hidden_actions = {c.name: _actions(request, c) or frozenset() for c in held_out}
    # A guide includes the facts about its action.
    guided_actions = frozenset[Action]().union(
        *(slot.actions or () for slot in slots if slot.by_lines)
    )
    all_hits = background.facts if request.weighing.has_task else ()
    hits = [hit for hit in all_hits if not hit.actions or not hit.actions <= guided_actions]
    budgets = (request.query.budget, settings.budget, math.inf)
    budget = next(budget for budget in budgets if budget is not None)
    texts, facts = disclosure.disclose(slots, hidden_actions, hits, settings, budget=budget)
    served_skills = [
        _serve(contender, text, request, f"S{number}")
        for number, (contender, text) in enumerate(zip(contenders, texts, strict=False), 1)
    ]
    return served_skills, facts


def _actions(request: _Request, candidate: Candidate) -> frozenset[Action] | None:
    """Return the actions of a skill, or None for a strategy, which is about a whole domain."""
    if candidate.kind == "strategy":
        return None
    return request.background.actions.get(candidate.name, frozenset())


def _limit(request: _Request) -> int:
    limit, settings = request.query.limit, request.rules.policy.recommend
    if limit is None:
        max_named = settings.named if request.weighing.has_task else 0
        limit = max(settings.limit, max_named)
    return max(0, limit)


def _explore(
    contenders: list[_Contender], doubtful_contenders: Iterator[_Contender], request: _Request
) -> tuple[Iterator[_Contender], Candidate | None]:
    """Return the order, and the new skill that was moved up, or None.

    A share of the decisions explores: the most promising skill with few uses gets the last rank
    that may have a text, even if the skill seems to hurt.
    """
    policy, order, limit = request.rules.policy, _sort_lazily(contenders), _limit(request)
    if policy.recommend.bodies is not None:
        limit = min(limit, policy.recommend.bodies)
    decision, share = request.query.decision, request.rules.explored_share(policy)
    if limit < 2 or decision is None or draw(decision, "", "explore") >= share:
        return order, None
    first = list(islice(order, limit - 1))
    names = {*request.pins, *(contender.name for contender in first)}
    others = (c for c in chain(contenders, doubtful_contenders) if c.name not in names)
    new_contenders = (c for c in others if is_new(c.candidate.evidence, policy))
    newcomer = min(new_contenders, key=partial(_exploration_cost, policy), default=None)
    if newcomer is None:
        return chain(first, order), None
    return chain(first, [newcomer], (c for c in order if c is not newcomer)), newcomer.candidate


def _exploration_cost(policy: Policy, contender: _Contender) -> tuple[float, str]:
    """Sort key: the most promising skill first; each use moves a skill back."""
    evidence, settings = contender.candidate.evidence, policy.effect
    lift = evidence.lift.recent.lift if evidence.lift else 0.0
    promise = contender.relevance + settings.bonus * lift
    return settings.explore_cost * evidence.times_applied - promise, contender.name


def _sort_lazily(contenders: Iterable[_Contender]) -> Iterator[_Contender]:
    """Yield the pins in order, then the others by score and name; sort only as far as needed."""
    heap = list(contenders)
    heapify(heap)
    while heap:
        yield heappop(heap)


def _withhold(candidate: Candidate, reason: Reason, detail: str) -> WithheldSkill:
    return WithheldSkill(candidate.name, reason, detail, candidate.blob)


def _is_held_out(candidate: Candidate, request: _Request) -> bool:
    """Return True if this decision is not shown a skill, to measure the effect of the skill.

    A hash of the decision's id and the skill's name decides. The better the effect of a skill is
    known, the more seldom it is held out.
    """
    query, rules = request.query, request.rules
    if query.decision is None or candidate.status == "pinned" or candidate.name in query.seen:
        return False
    settings, lift = rules.policy.effect, candidate.evidence.lift
    share = min_share = min(settings.holdout, settings.holdout_proven)
    helps = 0.5 if lift is None else max(0.5, lift.recent.helps)
    is_proven = rules.is_proven(candidate.status, candidate.evidence, rules)
    if not is_proven and helps < settings.proven_above:
        doubt = (settings.proven_above - helps) / (settings.proven_above - 0.5)
        share += (settings.holdout - min_share) * doubt**2
    return draw(query.decision, candidate.name) < share


def _serve(contender: _Contender, text: AnswerText, request: _Request, handle: str) -> ServedSkill:
    candidate, evidence = contender.candidate, contender.candidate.evidence
    policy = request.rules.policy
    gains = _gains(candidate, request.query.decision, request.rules)
    parts = {part: round(value, 6) for part, value in gains.items()}
    badge = badge_of(evidence.times_applied, evidence.success_rate, "proven" in gains)
    if is_on_trial(evidence, policy):
        progress = count_of(evidence.shown, policy.effect.trial_shown)
        badge = f"📊 Tried again ({progress} decisions)"
    return ServedSkill(
        name=candidate.name,
        kind=candidate.kind,
        relevance=contender.relevance,
        score=round(-contender.minus_score, 6),
        badge=badge,
        status=candidate.status,
        blob=candidate.blob,
        tokens=count_tokens(text.body),
        reasons={**request.weighing.parts(candidate.name, candidate.kind), **parts},
        body=text.body,
        handle=handle,
        how=text.how,
        description=text.description,
        path=request.background.about(candidate.name).path,
    )


def _withhold_irrelevant(
    contenders: Iterable[_Contender], request: _Request
) -> Iterator[WithheldSkill]:
    settings, weighing = request.rules.policy.recommend, request.weighing
    for contender in _sort_lazily(contenders):
        evidence = weighing.measure_evidence(contender.name)
        if contender.candidate.seed:
            detail = "a skill of the package; pin it, or ask for its role or stage"
        elif not weighing.has_task:
            relevance, bound = contender.relevance, settings.min_relevance
            detail = f"relevance {relevance:.2f} is below {bound:.2f}"
        elif evidence < settings.answers:
            bound = settings.answers
            detail = f"evidence {evidence:.2f} that it answers the task is below {bound:.2f}"
        else:
            detail = (
                f"evidence {evidence:.2f} that it answers the task is below {settings.beside:.2f} "
                "times that of the best skill, on another action"
            )
        yield _withhold(contender.candidate, "low-relevance", detail)

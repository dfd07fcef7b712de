"""What an account says for a warning or a pattern: statements, the most useful first.

A skill is an account in words: the same account gives the same statements in whatever vault.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import islice

import msgspec
from msgspec.structs import replace

from skillvault.learning.account.answers import refused_answers
from skillvault.learning.account.causes import causes
from skillvault.learning.account.rules import meets, outliers, rules_for, subject_rules
from skillvault.learning.account.significance import beyond, significant
from skillvault.model.brief import (
    Account,
    Cause,
    Extreme,
    Findings,
    Outlier,
    RefusedAnswers,
    RefusedClaims,
    Remedy,
    Rule,
    Statement,
    Tools,
)
from skillvault.model.policy import Policy
from skillvault.model.reading import telling
from skillvault.model.records import Outcome, SkillKind, Status

_TOOL_SHARE = 0.6  # of those that ended well; fewer users say nothing of it
_APART = 0.5  # by so much fewer of the others
_FEWEST = 2  # that ended well
_MOST_TOOLS = 4  # names
# A program, a function or a module in backticks or with its brackets; data files are none.
_NAMED = re.compile(
    r"`([A-Za-z][\w.+-]{2,30}(?:\(\))?)`|\b([A-Za-z_]\w{2,30}\.(?:py|sh|js))\b"
    r"|\b([A-Z]{3,}(?:/[A-Z]{3,})+)\b"
)
_DATA = re.compile(
    r"\.(?:xlsx?|csv|json|pdf|docx?|pptx?|txt|md|xml|ya?ml|html?|png|jpe?g|emf)$", re.IGNORECASE
)


def tools_of(outcomes: Sequence[Outcome]) -> Tools | None:
    """What most used of those that ended well, and few of the others; None if there is none."""
    users: dict[str, set[str]] = defaultdict(set)
    for outcome in outcomes:
        for name in _used(outcome):
            users[name].add(outcome.id)
    worked, failed = (_ended(outcomes, status) for status in ("success", "failure"))
    if len(worked) < _FEWEST or not failed:
        return None
    counts = {name: (len(ids & worked), len(ids & failed)) for name, ids in users.items()}
    telling = {
        name: pair
        for name, pair in counts.items()
        if pair[0] >= max(_FEWEST, _TOOL_SHARE * len(worked))
        and pair[0] / len(worked) - pair[1] / len(failed) >= _APART
    }
    if not telling:
        return None
    best = max(telling.values(), key=lambda pair: pair[0] / len(worked) - pair[1] / len(failed))
    names = sorted(name for name, pair in telling.items() if pair == best)[:_MOST_TOOLS]
    return Tools(names=tuple(names), worked=(best[0], len(worked)), failed=(best[1], len(failed)))


def _ended(outcomes: Sequence[Outcome], status: Status) -> set[str]:
    return {outcome.id for outcome in outcomes if outcome.result.status == status}


def _used(outcome: Outcome) -> frozenset[str]:
    """What an outcome's tool log has, and what its reasoning names that nobody told it."""
    decision = outcome.decision
    given = f"{decision.task} {decision.action} {decision.target or ''}".casefold()
    named = {name for name in _named_in(decision.reasoning) if name.casefold() not in given}
    return frozenset(named.union(outcome.applied or ()))


@lru_cache(maxsize=4096)
def _named_in(reasoning: str) -> frozenset[str]:
    names = (next(filter(None, match.groups())) for match in _NAMED.finditer(reasoning))
    return frozenset(name for name in names if not _DATA.search(name))


KINDS: tuple[SkillKind, ...] = ("warning", "pattern")
_REMEDIES = 1
_RULES = 3
_OUTLIERS = 2
_CAUSES = 5  # of one kind
_MOST = {"found": 3, "check": 1}
_SHARE = 1 / 3  # of the failures that ended on an announced step; fewer say nothing of the task
_FIGURES = 2  # of a refused claim that says what was refused
_FIGURE = re.compile(r"\d[\d.,]*")
_SAYS = 30  # characters of a statement that says what was left unchecked
# A refused answer is told by itself; certainty is a manner of speaking.
_UNTOLD = frozenset({"answer", "certainty"})
# That several rest on something each of its own changes no decision.
_TOLD_ALIKE = frozenset({"guess", "risk", "ground"})
_BY_KIND = frozenset({"stopped", "unchecked", "exposed"})  # a quote is but an example
_WORD = re.compile(r"(?:(?<!\w)[-−–])?\w+")
# The surer one can act on it, the higher a cause stands among those that are as frequent.
_ACTED_ON = (
    *("lesson", "error", "stopped", "unchecked", "exposed", "guess", "found", "check"),
    *("certainty", "claim", "ground", "risk", "answer"),
)


def findings_of(account: Account, kind: SkillKind, policy: Policy) -> Findings:
    """What a subject's account says for its warning or its pattern."""
    return findings_about(account, kind, significant(account.outcomes, kind, policy), policy)


def findings_about(
    account: Account, kind: SkillKind, members: Sequence[Outcome], policy: Policy
) -> Findings:
    """What an account says for a skill that is about these of its outcomes."""
    statements = _statements(account, kind, members, policy) if members else ()
    once = tuple(_each_once(statements))
    return Findings(kind=kind, account=account, statements=once, significant=tuple(members))


def calls_for_skill(findings: Findings, policy: Policy) -> bool:
    """Whether a skill is made of it: a loss or a gain beyond the bound always makes one."""
    graded = any(beyond(outcome, policy) for outcome in findings.significant)
    return graded or any(map(_stands_alone, findings.statements))


def _stands_alone(statement: Statement) -> bool:
    """Whether a statement makes a skill by itself: what an action tells makes none of a target."""
    if isinstance(statement, Rule):
        return statement.own is None
    return not isinstance(statement, Remedy | Outlier | Tools | RefusedClaims)


def digest(findings: Findings) -> str:
    """Twelve hex digits that differ if the statements do, or what they are counted of."""
    last = findings.account.outcomes[-1]
    values = [len(findings.account.outcomes), last.id, *map(_plain, findings.statements)]
    return sha256(msgspec.json.encode(values)).hexdigest()[:12]


def _plain(statement: Statement) -> object:
    """A statement's fields; of a rule what is told of it."""
    if isinstance(statement, Rule):
        rule = statement.separation
        counts = (rule.met, rule.other, rule.episodes, rule.lately, statement.own)
        conditions = msgspec.to_builtins(rule.conditions)
        return [rule.result, conditions, *counts, rule.read, rule.until]
    return [type(statement).__name__, msgspec.to_builtins(statement)]


def shown_by(findings: Findings) -> list[str]:
    """The outcomes that a skill of it rests on: beyond a bound, or of a cause that it tells."""
    ids = {outcome.id for outcome in findings.significant if outcome.result.score is not None}
    for statement in findings.statements:
        if isinstance(statement, Rule):
            rule = statement.separation
            ids.update(outcome.id for outcome in findings.significant if meets(rule, outcome))
        elif isinstance(statement, Cause | Extreme | RefusedAnswers | RefusedClaims):
            ids.update(statement.shown_by)
    # A rule of the whole action may hold for none of those without a target.
    return sorted(ids or {outcome.id for outcome in findings.significant})


def _statements(
    account: Account, kind: SkillKind, members: Sequence[Outcome], policy: Policy
) -> Iterator[Statement]:
    status = "failure" if kind == "warning" else "success"
    agreeing = [o for o in account.outcomes if o.result.status == status]
    others = [o for o in account.outcomes if o.result.status not in (status, "neutral")]
    rules = rules_for(account.rules, kind)
    yield from subject_rules(rules, account.outcomes, members, policy)[:_RULES]
    if kind == "warning":
        yield from refused_answers(account.outcomes, account.tasks)
        yield from _refused_claims(agreeing)
    yield from _extremes(members, kind, account.outcomes)
    if kind == "pattern" and (tools := tools_of(account.outcomes)):
        yield tools
    telling_causes = _worth_telling(_ranked(causes(members, agreeing, others)))
    # What failures alone told is no fact of the task if somebody succeeded without it.
    yield from (c for c in telling_causes if c.kind != "found" or kind == "pattern" or not others)
    if kind == "warning":
        cured = significant(account.outcomes, "pattern", policy)
        worked = _worth_telling(_ranked(causes(cured, others, agreeing)))
        remedies = [cause for cause in worked if not cause.against]
        yield from (Remedy(cause=cause) for cause in remedies[:_REMEDIES])


def _refused_claims(failures: Sequence[Outcome]) -> Iterator[RefusedClaims]:
    """The failures that were claimed as successes: told as they are counted, never as a cause."""
    refused = [outcome for outcome in failures if outcome.is_claim_refused]
    if refused:
        counts = Counter(outcome.observer for outcome in refused)
        by = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        shown_by = tuple(outcome.id for outcome in refused)
        yield RefusedClaims(by=tuple(by), of=len(failures), shown_by=shown_by)


def _each_once(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Statements of which none quotes what an earlier one does; who is counted stays without it."""
    quotes: list[str] = []
    for statement in statements:
        cause = statement.cause if isinstance(statement, Remedy) else statement
        if not isinstance(cause, Cause):
            yield statement
            continue
        words = " ".join(_WORD.findall(cause.quote.casefold()))
        is_new = not any(words in quote or quote in words for quote in quotes)
        if is_new:
            quotes.append(words)
            yield statement
        elif cause.kind in _BY_KIND:
            yield replace(cause, quote="")


def _worth_telling(ranked: Iterable[Cause]) -> Iterator[Cause]:
    """The causes that change a decision, of each kind the first few."""
    counts: Counter[str] = Counter()
    for cause in ranked:
        if _is_worth_telling(cause) and counts[cause.kind] < _MOST.get(cause.kind, _CAUSES):
            counts[cause.kind] += 1
            yield cause


def _is_worth_telling(cause: Cause) -> bool:
    if cause.kind in _UNTOLD or (not cause.alike and cause.kind in _TOLD_ALIKE):
        return False
    if cause.kind == "stopped":
        return len(cause.shown_by) >= _SHARE * cause.of
    if cause.kind == "claim":
        return len(set(_FIGURE.findall(cause.quote))) >= _FIGURES
    if cause.kind == "unchecked" and len(cause.shown_by) == 1 and len(cause.quote) < _SAYS:
        return False
    return cause.kind == "found" or not is_contested(cause)


def is_contested(cause: Cause) -> bool:
    """Whether as much speaks against it as for it."""
    return len(cause.against) >= max(cause.agreeing, len(cause.shown_by))


def _ranked(findings: Sequence[Cause]) -> list[Cause]:
    """Lessons first, then by how many show it, how well one can act on it, how late it was."""
    return sorted(
        findings,
        key=lambda cause: (
            cause.kind != "lesson",
            -len(cause.shown_by),
            _ACTED_ON.index(cause.kind),
            -telling(cause.quote) if cause.kind == "found" else 0,
            [-ord(character) for character in cause.shown_by[-1]],
            cause.quote,
        ),
    )


def _extremes(
    members: Sequence[Outcome], kind: SkillKind, every: Sequence[Outcome]
) -> Iterator[Extreme | Outlier]:
    """The greatest loss or gain, of equal ones the latest, and what stood out of it."""
    scores = {o.id: o.result.score for o in members if o.result.score is not None}
    if scores:
        sign = -1 if kind == "warning" else 1
        greatest = max(scores, key=lambda id_: (sign * scores[id_], id_))
        yield Extreme(score=scores[greatest], outcome=greatest, shown_by=tuple(scores))
        outcome = next(o for o in members if o.id == greatest)
        peers = [other for other in every if other.subject == outcome.subject]
        yield from islice(outliers(outcome, peers), _OUTLIERS)

"""What an account says for a warning or a pattern: statements, the most useful first.

A skill is an account in words: the same account gives the same statements in whatever vault.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256

import msgspec

from skillvault.brief import Account, Cause, Extreme, Findings, Remedy, Rule, Statement
from skillvault.learning.account.answers import refused_answers
from skillvault.learning.account.causes import causes
from skillvault.learning.account.rules import rules_for, told_rules
from skillvault.learning.account.significance import beyond, significant
from skillvault.policy import Policy
from skillvault.records import Outcome, SkillKind

KINDS: tuple[SkillKind, ...] = ("warning", "pattern")
_REMEDIES = 2
_RULES = 3
# The surer one can act on it, the higher a cause stands among those that are as frequent.
_ACTED_ON = (
    *("lesson", "error", "stopped", "unchecked", "exposed", "guess", "found", "check"),
    *("certainty", "claim", "ground", "risk", "answer"),
)


def findings_of(account: Account, kind: SkillKind, policy: Policy) -> Findings:
    """What a subject's account says for its warning or its pattern."""
    members = significant(account.outcomes, kind, policy)
    statements = tuple(_statements(account, kind, members, policy)) if members else ()
    return Findings(kind=kind, account=account, statements=statements, significant=tuple(members))


def calls_for_skill(findings: Findings, policy: Policy) -> bool:
    """Whether a skill is made of it: a loss or a gain beyond the bound always makes one."""
    graded = any(beyond(outcome, policy) for outcome in findings.significant)
    return graded or any(map(_stands_alone, findings.statements))


def _stands_alone(statement: Statement) -> bool:
    """Whether a statement makes a skill by itself: what an action tells makes none of a target."""
    if isinstance(statement, Rule):
        return statement.own is None
    return not isinstance(statement, Remedy)


def digest(findings: Findings) -> str:
    """Twelve hex digits that differ if the statements do, or what they are counted of."""
    last = findings.account.outcomes[-1]
    said = [len(findings.account.outcomes), last.id, *map(_plain, findings.statements)]
    return sha256(msgspec.json.encode(said)).hexdigest()[:12]


def _plain(statement: Statement) -> object:
    """A statement's fields; of a rule what is told of it."""
    if isinstance(statement, Rule):
        rule = statement.separation
        counts = [rule.met, rule.other, rule.episodes, rule.lately, statement.own]
        return [rule.result, msgspec.to_builtins(rule.conditions), *counts]
    return [type(statement).__name__, msgspec.to_builtins(statement)]


def shown_by(findings: Findings) -> list[str]:
    """The outcomes that a skill of it rests on: beyond a bound, or of a cause that it tells."""
    about = {outcome.id for outcome in findings.significant}
    ids = {outcome.id for outcome in findings.significant if outcome.result.score is not None}
    for statement in findings.statements:
        if isinstance(statement, Rule):
            ids |= about & statement.separation.holds_for
        elif not isinstance(statement, Remedy):
            ids.update(statement.shown_by)
    return sorted(ids)


def _statements(
    account: Account, kind: SkillKind, members: Sequence[Outcome], policy: Policy
) -> Iterator[Statement]:
    status = "failure" if kind == "warning" else "success"
    agreeing = [o for o in account.outcomes if o.result.status == status]
    others = [o for o in account.outcomes if o.result.status not in (status, "neutral")]
    rules = rules_for(account.rules, kind)
    yield from told_rules(rules, account.outcomes, members)[:_RULES]
    if kind == "warning":
        yield from refused_answers(account.outcomes, account.tasks)
    yield from _extreme(members, kind)
    for cause in _ranked(causes(members, agreeing, others)):
        if cause.kind != "answer" and not is_contested(cause):
            yield cause
    if kind == "warning":
        cured = significant(account.outcomes, "pattern", policy)
        worked = _ranked(causes(cured, others, agreeing))
        remedies = [cause for cause in worked if not is_contested(cause)]
        yield from (Remedy(cause=cause) for cause in remedies[:_REMEDIES])


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
            [-ord(character) for character in cause.shown_by[-1]],
            cause.quote,
        ),
    )


def _extreme(members: Sequence[Outcome], kind: SkillKind) -> Iterator[Extreme]:
    """The greatest loss or gain; of equal ones the latest."""
    scored = [(o.result.score, o.id) for o in members if o.result.score is not None]
    if scored:
        sign = -1 if kind == "warning" else 1
        score, outcome = max(scored, key=lambda pair: (sign * pair[0], pair[1]))
        yield Extreme(score=score, outcome=outcome, shown_by=tuple(id_ for _, id_ in scored))

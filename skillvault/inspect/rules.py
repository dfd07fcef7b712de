"""The rules that a skill tells, with the test that each of them passed."""

from collections.abc import Iterator, Sequence
from typing import Any

from skillvault.learning.account.account import KINDS
from skillvault.loop import strategy
from skillvault.loop.run import Run
from skillvault.model.brief import Rule
from skillvault.model.conditions import Separation, clause, risk
from skillvault.model.records import Outcome, Ref, Skill


def tested(run: Run, ref: Ref) -> list[dict[str, Any]]:
    """What a skill says separates outcomes, as of now, in words and with the figures of its test.

    Nothing of what is no skill.
    """
    skill = run.view.skills.find(ref.id) if ref.kind == "skill" else None
    if skill is None:
        return []
    is_strategy = skill.kind == "strategy" and skill.domain
    rules = _of_strategy(run, str(skill.domain)) if is_strategy else _of_subject(run, skill)
    return [_tested(action, rule) for action, rule in rules]


def _tested(action: str, rule: Separation) -> dict[str, Any]:
    """A rule of an action in words, with the figures of its test."""
    fields = ("result", "met", "other", "episodes", "lately", "p", "z")
    return {
        "action": action,
        "rule": f"{clause(rule.conditions)}: {risk(rule)}",
        **{name: getattr(rule, name) for name in fields},
        "held": [clause(conditions) for conditions in rule.held],
    }


def _of_strategy(run: Run, domain: str) -> Iterator[tuple[str, Separation]]:
    names = strategy.material(run, domain).read
    outcomes = run.view.outcomes.get_many(names)
    read: Sequence[Outcome] = [outcomes[name] for name in names if name in outcomes]
    for action, rules in strategy.rules(run, read).items():
        yield from ((action, rule) for rule in rules)


def _of_subject(run: Run, skill: Skill) -> Iterator[tuple[str, Separation]]:
    sources = (link.source for link in run.view.links.by_target([Ref("skill", skill.name)]))
    ids = [source.id for source in sources if source.kind == "evaluation"]
    for history in run.accounts.histories(ids, set()) if skill.subject else ():
        account = run.accounts.account(run.accounts.read_part(history))
        for kind in KINDS if account.outcomes else ():
            statements = (
                run.accounts.findings(account, kind).statements if kind == skill.kind else ()
            )
            rules = [rule.separation for rule in statements if isinstance(rule, Rule)]
            yield from ((account.outcomes[0].decision.action, rule) for rule in rules)

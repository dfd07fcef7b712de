"""Both sides of a fact or a skill: the runs that speak for it, and those that speak against it."""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from skillvault.loop.run import Run
from skillvault.model.brief import Cause
from skillvault.model.records import Link, Ref, Skill
from skillvault.vault.index.links import LinkEnds


class Sides(Struct, frozen=True):
    """The evaluations of the runs for and against something, by id; sorted."""

    supporting: tuple[str, ...]
    against: tuple[str, ...]


def both_sides(run: Run, ref: Ref) -> Sides:
    """What speaks for and against a fact or a skill; of a skill that of its facts too."""
    sides = linked_sides(lambda one: run.view.links.by_target([one]), ref)
    skill = run.view.skills.find(ref.id) if ref.kind == "skill" else None
    if skill is None or skill.subject is None or not sides.supporting:
        return sides
    against = {*sides.against, *_against_account(run, skill, sides.supporting)}
    return Sides(sides.supporting, tuple(sorted(against.difference(sides.supporting))))


def linked_sides(links: Callable[[Ref], Iterable[Link | LinkEnds]], ref: Ref) -> Sides:
    """What speaks for and against a fact or a skill by its links, which `links` has by target."""
    supporting, against = set[str](), set[str]()
    for link in links(ref):
        if link.source.kind == "evaluation":
            (against if link.type == "contradicted" else supporting).add(link.source.id)
        elif link.source.kind == "fact" and ref.kind == "skill":
            below = linked_sides(links, link.source)
            supporting.update(below.supporting)
            against.update(below.against)
    return Sides(tuple(sorted(supporting)), tuple(sorted(against)))


def _against_account(run: Run, skill: Skill, outcomes: Iterable[str]) -> Iterator[str]:
    """The runs that shared a cause which a subject's skill tells, and ended otherwise."""
    for history in run.accounts.histories(outcomes, set()):
        account = run.accounts.account(run.accounts.read_part(history))
        if account.outcomes:
            for findings, _ in run.accounts.both(account):
                for statement in findings.statements if findings.kind == skill.kind else ():
                    if isinstance(statement, Cause):
                        yield from statement.against

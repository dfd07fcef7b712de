"""How what something rests on reads: a sentence and a table."""

from collections.abc import Iterator

from skillvault.inspect.basis import Basis
from skillvault.review.review import WaitingSkill

_ROWS = 10  # outcomes that a table shows, the latest ones


def basis_lines(basis: Basis) -> Iterator[str]:
    """`rests on …`, and a row an outcome: how it ended, its session, its episode, the decision."""
    if not basis.rows:
        yield "rests on no outcome"
        return
    yield f"rests on {basis.sentence}"
    shown = basis.rows[-_ROWS:]
    if len(basis.rows) > len(shown):
        yield f"  … {len(basis.rows) - len(shown)} earlier ones"
    width = max(len(row.session or "-") for row in shown)
    for row in shown:
        session, episode = row.session or "-", f"episode {row.episode}"
        yield f"  {row.outcome}  {row.status:7}  {session:{width}}  {episode:10}  {row.decision}"


def notes_of(skill: WaitingSkill) -> list[str]:
    """What else a person should know of a proposal, a line each."""
    lines = [f"for it {len(skill.supporting)} runs, against it {len(skill.against)}"]
    if skill.facts:
        lines.append(f"made of facts: {', '.join(skill.facts)}")
    if skill.replaces:
        lines.append(f"replaces {', '.join(skill.replaces)}")
    if near := skill.nearest:
        lines.append(f"nearest live skill: {near.skill} ({near.share:.0%} the same)")
    if like := skill.rejected:
        why = like.reason or "without a reason"
        lines.append(f"near to {like.skill}, which was rejected: {why}")
    lines.append(skill.stats.decision if skill.stats else "never shown: its lift is not known")
    return lines

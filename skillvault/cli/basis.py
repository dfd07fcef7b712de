"""How what something rests on reads: a sentence and a table."""

from collections.abc import Iterator

from skillvault.steps.basis import Basis

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

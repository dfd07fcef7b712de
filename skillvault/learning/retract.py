"""retract: an outcome that was wrong counts nowhere from now on; it stays as it is written."""

from collections.abc import Sequence

from skillvault.model.change import Change, Move
from skillvault.model.errors import UsageError
from skillvault.model.records import Ref, Retraction
from skillvault.model.text.text import pluralize

STEP = "retract"


def retract_change(
    retraction: Retraction,
    removed: Sequence[tuple[Ref, str]],
    archived: Sequence[tuple[str, str]],
    *,
    learner: str | None = None,
) -> Change:
    """The commit that retracts an outcome.

    `removed` are the facts and links made of it, each with what `Change.removes` names; they are
    made anew of what else there is. `archived` are the skills (shelf, name) of which nothing is
    left. `learner` is the clone that makes them anew, if it is another one.
    """
    if not retraction.reason.strip():
        raise UsageError(f"{retraction.outcome}: why was it wrong? Say so with --reason TEXT")
    facts = [ref for ref, _ in removed if ref.kind == "fact"]
    anew = (
        f"{learner}, which learns, computes anew what rested on it"
        if learner
        else "what rested on it is computed anew"
    )
    lines = [retraction.reason, f"It counts nowhere from now on; {anew}."]
    if facts:
        lines.append(f"{pluralize(len(facts), 'fact')} made of it, made anew if others say it:")
        lines += [f"  {fact.id}" for fact in facts]
    return Change(
        step=STEP,
        subject=retraction.outcome,
        reason="\n".join(lines),
        writes=(retraction,),
        removes=tuple(path for _, path in removed),
        moves=tuple(Move(f"{shelf}/{name}", f"archive/{name}") for shelf, name in archived),
        sources=(Ref("outcome", retraction.outcome), *(ref for ref, _ in removed)),
        targets=(
            Ref("retraction", retraction.outcome),
            *(Ref("skill", name) for _, name in archived),
        ),
        why=retraction.reason,
    )

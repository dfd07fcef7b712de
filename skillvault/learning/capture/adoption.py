"""What agents appended to LEARNINGS.md: what of it is committed, and what stays behind."""

from collections.abc import Callable

from msgspec import Struct

from skillvault.learning.capture.rules import (
    LEARNINGS,
    MAX_LEARNINGS,
    Block,
    blocks_of,
    flaw_of,
    rule_in,
)
from skillvault.model.change import Adoption, Change
from skillvault.model.records import Problem
from skillvault.model.text.text import shorten

STEP = "capture"
_NAMED, _LISTED = 60, 20  # characters of a rule in a commit's message, and rules there


class Appended(Struct, frozen=True):
    """What stands in the work tree's file behind the committed one.

    `committed` are the bytes of that, `blob` is its version, None for no file; `text` is what
    follows, whatever bytes it is of. `still`: nobody is writing on it.
    """

    committed: bytes
    blob: str | None
    text: str
    still: bool


class Adopted(Struct, frozen=True):
    """The change that commits what was appended, None if there is nothing; why not all fits.

    `rest` is what then stands behind the committed text; `waits`: somebody is writing on it.
    """

    change: Change | None
    problems: tuple[Problem, ...]
    rest: bytes
    waits: bool


def adopt(appended: Appended, clean: Callable[[str], str]) -> Adopted:
    """Commit the blocks that may be rules, cleaned (of secrets, say); the others stay behind them.

    The last block waits while somebody may be writing on it.
    """
    blocks = blocks_of(appended.text)
    if appended.committed:  # else the file begins here, with its header
        blocks = [Block(b.text, b.end, b.line) for b in blocks]
    ready = blocks if appended.still else blocks[:-1]
    fitting, full = _fitting([b for b in ready if not flaw_of(b)], appended, clean)
    problems = [_full()] if full else []
    content = "".join(fitting.values())
    unfinished = "" if appended.still else blocks[-1].text
    waits = bool(unfinished.strip())
    if not content:
        return Adopted(None, tuple(problems), _bytes(appended.text), waits)
    rest = "".join(b.whole for b in ready if b.line not in fitting)
    adoption = Adoption(
        LEARNINGS,
        appended.blob,
        _bytes("".join(b.whole for b in ready)),
        _bytes(content),
        _bytes(rest),
    )
    taken = [_with_text(b, fitting[b.line].removesuffix(b.end)) for b in ready if b.line in fitting]
    change = _change(adoption, taken)
    return Adopted(change, tuple(problems), _bytes(rest + unfinished), waits)


def _fitting(
    blocks: list[Block], appended: Appended, clean: Callable[[str], str]
) -> tuple[dict[int, str], bool]:
    """(line -> what is committed of a block, whether there was no room for others)."""
    room = MAX_LEARNINGS - len(appended.committed)
    fitting: dict[int, str] = {}
    for block in blocks:
        text = _cleaned(block.text, clean) + block.end
        room -= len(_bytes(text))
        if room < 0:
            return fitting, True
        fitting[block.line] = text
    return fitting, False


def _cleaned(text: str, clean: Callable[[str], str]) -> str:
    """A text without secrets, its lines ended as they were."""
    if text.count("\r\n") < text.count("\n"):
        return clean(text)
    return clean(text.replace("\r\n", "\n")).replace("\n", "\r\n")


def _change(adoption: Adoption, blocks: list[Block]) -> Change:
    rules = [rule.text for block in blocks if (rule := rule_in(block))]
    count = "1 rule" if len(rules) == 1 else f"{len(rules)} rules"
    rows = [shorten(rule, _NAMED) for rule in rules[:_LISTED]]
    rows += [f"and {len(rules) - _LISTED} more"] if len(rules) > _LISTED else []
    named = "".join(f"\n  {row}" for row in rows)
    return Change(
        step=STEP,
        subject=f"adopt {count}",
        reason=f"Appended to {LEARNINGS}:{named}" if rules else f"Appended to {LEARNINGS}.",
        adopts=(adoption,),
    )


def _with_text(block: Block, text: str) -> Block:
    return Block(text, block.end, block.line, block.header)


def _full() -> Problem:
    message = (
        f"larger than {MAX_LEARNINGS >> 20} MiB, so that no more is taken; remove rules that are "
        "not needed"
    )
    return Problem(LEARNINGS, None, "too-large", message)


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")

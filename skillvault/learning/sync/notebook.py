"""LEARNINGS.md that two clones appended to: its rules as a three-way set."""

from collections.abc import Mapping

from skillvault.learning.capture.rules import SEPARATOR, blocks_of, rule_words
from skillvault.learning.sync.three_way import Versions, file_by, joined_set, three_way
from skillvault.model.text.text import rule_key


def merged_learnings(versions: Versions) -> bytes:
    """The header as one side changed it, and the rules of both, each once."""
    return file_by(_both_notebooks, versions)


def _both_notebooks(versions: Versions) -> bytes:
    texts = [(side or b"").decode(errors="surrogateescape") for side in versions]
    before, first, second = map(_header, texts)
    header = three_way(before, first, second, max)
    base, ours, theirs = map(_rule_blocks, texts)
    blocks = {
        **ours,
        **theirs,
        **{key: min(ours[key], theirs[key]) for key in ours.keys() & theirs},
    }
    rules = [blocks[key] for key in joined_set(base, [*ours], [*theirs])]
    return "".join([header, *rules]).encode(errors="surrogateescape")


def _header(text: str) -> str:
    """What stands before the first rule, up to the separator there."""
    return "".join(block.whole for block in blocks_of(text) if block.header)


def _rule_blocks(text: str) -> Mapping[str, str]:
    """The blocks below the header by what their rules say, each with a separator behind it."""
    return {
        rule_key(rule_words(block.text)): _with_end(block.text) + (block.end or SEPARATOR)
        for block in blocks_of(text)
        if not block.header and block.text.strip()
    }


def _with_end(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"

"""One evaluation of which two clones made a fact each: one stays, and supersedes the others."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from skillvault.learning.sync.texts import parted
from skillvault.model.errors import BadInputError
from skillvault.model.text import front_matter

_KEY = ("supersedes",)


def superseding(facts: Mapping[str, bytes], insight: str) -> dict[str, bytes]:
    """id -> the file of each fact that changes: the first supersedes the second, and so on.

    The first is the one that says the insight of the evaluation which is kept, else the least id.
    One that supersedes something else already stays as it is.
    """
    order = sorted(facts, key=lambda name: (not _says_insight(facts[name], insight), name))
    changed: dict[str, bytes] = {}
    for name, following in pairwise(order):
        content = _naming(facts[name], following, order)
        if content != facts[name]:
            changed[name] = content
    return changed


def _says_insight(content: bytes, insight: str) -> bool:
    return bool(insight) and " ".join(insight.split()) in " ".join(parted(content).body.split())


def _naming(content: bytes, following: str, group: Sequence[str]) -> bytes:
    superseded = parted(content).values.get("supersedes")
    if superseded is not None and superseded not in group:
        return content
    try:
        return front_matter.with_key(content, _KEY, following)
    except BadInputError:  # a person's fact without front matter supersedes nothing
        return content

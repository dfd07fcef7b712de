"""A fact that two clones changed: its keys, and its text as a set of statements."""

from skillvault.learning.sync.texts import (
    earliest,
    least_trust,
    merged_keys,
    merged_statements,
    parted,
    ranked,
    whole_file,
)
from skillvault.learning.sync.three_way import Versions, file_by, lesser, three_way
from skillvault.model.records import FACT_KINDS

_ORDER = (
    "id", "domain", "importance", "kind", "created_at", "insight_type", "trust", "supersedes",
    "review_by",
)  # fmt: skip
_RULES = {
    "importance": ranked(("low", "medium", "high")),
    "created_at": earliest,
    "trust": least_trust,
    "supersedes": lesser,
    "review_by": earliest,
    "kind": ranked([kind for kind in FACT_KINDS if kind != "human"] + ["human"]),
}


def merged_fact(versions: Versions) -> bytes:
    """The higher importance, the earliest time; the statements of both."""
    return file_by(_both_facts, versions)


def _both_facts(versions: Versions) -> bytes:
    base, ours, theirs = map(parted, versions)
    values = merged_keys(base.values, ours.values, theirs.values, rules=_RULES)
    body = three_way(
        base.body, ours.body, theirs.body, lambda o, t: merged_statements(base.body, o, t)
    )
    return whole_file(values, body, (base, ours, theirs), _ORDER)


def says_otherwise(base: bytes, side: bytes) -> bool:
    """Whether a person changed a fact's text: the program writes that once."""
    return parted(base).body != parted(side).body

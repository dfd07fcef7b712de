"""A retraction that two clones made: the outcome is wrong, whoever said so first."""

from skillvault.learning.sync.three_way import Versions
from skillvault.model.text.strict_yaml import load


def merged_retraction(versions: Versions) -> bytes:
    """The earlier one; of two of one time the one that comes first as text."""
    return min(versions.sides, key=lambda side: (str(load(side.decode()).get("at", "")), side))

"""The names of generated skills: derived from what they say, never given twice."""

from collections.abc import Callable

from skillvault.records import SkillKind
from skillvault.text import MAX_SLUG, slug


def strategy_name(domain: str) -> str:
    """The name of a domain's one strategy."""
    return slug(f"strategy-{domain}")


def is_strategy(name: str) -> bool:
    """Whether a name is a strategy's: it stands for many outcomes, and is made of none."""
    return name.startswith("strategy-")


def free_name(kind: SkillKind, domain: str, about: str, taken: Callable[[str], bool]) -> str:
    """`<kind>-<domain>-<slug of about>`, with `-2`, `-3`… if that is taken."""
    full = slug(f"{kind}-{slug(domain, limit=32)}-{about}")
    name, number = full, 1
    while taken(name):
        number += 1
        tail = f"-{number}"
        name = slug(full, limit=MAX_SLUG - len(tail)) + tail
    return name

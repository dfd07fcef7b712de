"""Make the names of generated skills from their subjects, in any order of arrival.

Each kind of skill has a function for its name here. If a name is taken or cut off, hex digits of
the sources make it unique; the profile `seed` appends numbers instead.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from itertools import chain, count

from msgspec.structs import replace

from skillvault.model.records import Skill, SkillKind, Subject, Trust
from skillvault.model.text.text import MAX_SLUG, can_end_name, slug

# The kinds of skills whose subject is a domain.
DOMAIN_KINDS: tuple[SkillKind, ...] = ("evolved", "strategy")
GENERAL_PREFIX = "general-"
_MAX_ABOUT = 48  # characters of the subject in the name of a general skill
_HEX_LENGTHS = (6, 12, 24, 48)  # hex digits at the end of a name; more if the name is taken
_NEXT_SUFFIX = "-next"
_NEXT_NAME = re.compile(rf"{_NEXT_SUFFIX}(?:-[0-9a-f]+)?$")
_SESSION_START = 8  # characters of a session's id in the name of its skill


def with_folder_name(folder: str, skill: Skill) -> Skill:
    """Give a skill the name of its folder, which overrides the name in its file."""
    return skill if skill.name == folder else replace(skill, name=folder)


def rule_digest(name: str) -> str:
    """Return the part of a rule's id that all its wordings share."""
    return name.rpartition("-")[2]


def strategy_name(domain: str) -> str:
    """Return the name of a domain's strategy."""
    return next(subject_names("strategy", (domain, "", None), "local"))


def is_strategy(name: str) -> bool:
    """Return True for the name of a strategy."""
    return name.startswith("strategy-")


def is_general(name: str) -> bool:
    """Return True for the name of a general skill, which facts of several domains made."""
    return name.startswith(GENERAL_PREFIX)


def general_name(topic: str, sources: Iterable[str], is_taken: Callable[[str], bool]) -> str:
    """Return `general-<slug of topic>`, with hex of the sources if that is taken or cut off."""
    return _free_name(slug(f"{GENERAL_PREFIX}{slug(topic, limit=_MAX_ABOUT)}"), sources, is_taken)


def subject_key(subject: Subject) -> str:
    """Return a subject as in `metadata.subject`: `perps / open_long / SOL-PERP`."""
    parts = [part for part in subject if part]
    plain_parts = [" ".join(part.split()).replace("/", "//") for part in parts]
    has_changed = any(" ".join(part.split()) != part for part in parts)
    return " / ".join(plain_parts) + (f" #{_hex(parts)[: _HEX_LENGTHS[0]]}" if has_changed else "")


def subject_names(kind: SkillKind, subject: Subject, trust: Trust) -> Iterator[str]:
    """Yield names for the skill of a subject; use the first free name.

    The first name is `<kind>-<domain>-…` if its source is trusted, if the slug loses nothing, and
    if the name does not end in a word such as `the`. The other names end in hex of the subject.
    """
    parts = [part for part in subject if part]
    slugs = [slug(part, limit=MAX_SLUG * 2) for part in parts]
    base = "-".join(filter(None, [kind, *slugs]))
    is_exact = [part.casefold().replace("_", "-") for part in parts] == slugs and trust == "local"
    if is_exact and len(base) <= MAX_SLUG and can_end_name(base.rpartition("-")[2]):
        yield base
    yield from _names_with_hex(base, [*parts, trust])


def free_name(
    kind: SkillKind, topic: str, sources: Iterable[str], is_taken: Callable[[str], bool]
) -> str:
    """Return `<kind>-<slug of topic>`, with hex of the sources if that is taken or cut off."""
    return _free_name(slug(f"{kind}-{topic}"), sources, is_taken)


def next_names(name: str) -> Iterator[str]:
    """Yield names for the next version of an approved skill; use the first free name."""
    base = name[: MAX_SLUG - len(_NEXT_SUFFIX)].rstrip("-") + _NEXT_SUFFIX
    yield base
    yield from _names_with_hex(base, [name])


def may_be_next(name: str) -> bool:
    """Return True if a name can be the name of a next version."""
    return _NEXT_NAME.search(name) is not None


def _free_name(base: str, sources: Iterable[str], is_taken: Callable[[str], bool]) -> str:
    if can_end_name(base.rpartition("-")[2]) and not is_taken(base):
        return base
    return next(name for name in _names_with_hex(base, sorted(sources)) if not is_taken(name))


def distilled_name(session: str, is_taken: Callable[[str], bool]) -> str:
    """Return `distilled-<first 8 of the session>-<6 hex>`, with more hex if that is taken."""
    prefix = f"distilled-{session[:_SESSION_START].strip('-')}"
    return next(name for name in _names_with_hex(prefix, [session]) if not is_taken(name))


def numbered_name(kind: SkillKind, topic: str, is_taken: Callable[[str], bool]) -> str:
    """Return `<kind>-<slug of topic>`, with `-2`, `-3`, … if that is taken (profile `seed`)."""
    base = slug(f"{kind}-{topic}")
    if len(slug(f"{kind}-{topic}", limit=MAX_SLUG * 2)) > len(base):
        while not can_end_name(base.rpartition("-")[2]):
            base = base.rpartition("-")[0]
    tails = chain([""], (f"-{number}" for number in count(2)))
    names = (slug(base, limit=MAX_SLUG - len(tail)) + tail for tail in tails)
    return next(name for name in names if not is_taken(name))


def _names_with_hex(base: str, parts: Iterable[str]) -> Iterator[str]:
    digits = _hex(parts)
    yield from (f"{slug(base, limit=MAX_SLUG - 1 - n)}-{digits[:n]}" for n in _HEX_LENGTHS)


def _hex(parts: Iterable[str]) -> str:
    return sha256("\0".join(parts).encode(errors="replace")).hexdigest()

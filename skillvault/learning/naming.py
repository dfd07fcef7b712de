"""The names of generated skills, made of their subjects, never of the order of arrival."""

import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from itertools import chain, count

from msgspec.structs import replace

from skillvault.model.records import Skill, SkillKind, Subject, Trust
from skillvault.model.text.text import MAX_SLUG, OPEN_WORDS, slug

OF_DOMAIN: tuple[SkillKind, ...] = ("evolved", "strategy")
_HEX = (6, 12, 24, 48)
GENERAL, _ABOUT = "general-", 48  # the start of such names; characters of the subject
_NEXT = "-next"
_NEXT_NAME = re.compile(rf"{_NEXT}(?:-[0-9a-f]+)?$")
_BEGINNING = 8  # characters of a session that its skill's name has


def with_folder_name(folder: str, skill: Skill) -> Skill:
    """Return a skill under its folder's name, whatever its front matter says."""
    return skill if skill.name == folder else replace(skill, name=folder)


def strategy_name(domain: str) -> str:
    """Return the name of a domain's one strategy."""
    return next(subject_names("strategy", (domain, "", None), "local"))


def is_strategy(name: str) -> bool:
    """Return True for a strategy's name: a strategy has no single source."""
    return name.startswith("strategy-")


def is_general(name: str) -> bool:
    """Return True for the name of a skill made from facts of several domains."""
    return name.startswith(GENERAL)


def general_name(about: str, sources: Iterable[str], is_taken: Callable[[str], bool]) -> str:
    """Return `general-<slug of about>`, with hex of its sources if taken or ending openly."""
    return _free_name(slug(f"{GENERAL}{slug(about, limit=_ABOUT)}"), sources, is_taken)


def subject_key(subject: Subject) -> str:
    """Return a subject as `metadata.subject` has it: `perps / open_long / SOL-PERP`."""
    parts = [part for part in subject if part]
    plain = [" ".join(part.split()).replace("/", "//") for part in parts]
    changed = any(" ".join(part.split()) != part for part in parts)
    return " / ".join(plain) + (f" #{_hex(parts)}" if changed else "")


def subject_names(kind: SkillKind, subject: Subject, trust: Trust) -> Iterator[str]:
    """Yield the names for a subject's skill; the first free name is used.

    `<kind>-<domain>-…` comes first if it fits, keeps every part, does not end in a word like `the`
    or `of`, and its source is trusted. The others end in hex of the subject.
    """
    parts = [part for part in subject if part]
    slugs = [slug(part, limit=MAX_SLUG * 2) for part in parts]
    full = "-".join(filter(None, [kind, *slugs]))
    is_exact = [part.casefold().replace("_", "-") for part in parts] == slugs and trust == "local"
    if is_exact and len(full) <= MAX_SLUG and full.rpartition("-")[2] not in OPEN_WORDS:
        yield full
    yield from _names_with_hex(full, [*parts, trust])


def free_name(
    kind: SkillKind, about: str, sources: Iterable[str], is_taken: Callable[[str], bool]
) -> str:
    """Return `<kind>-<slug of about>`, with hex of its sources if taken or ending openly."""
    return _free_name(slug(f"{kind}-{about}"), sources, is_taken)


def next_names(name: str) -> Iterator[str]:
    """Yield names for the next version of an approved skill; the first free name is used.

    The others end in hex of the name, in case another skill has the first name.
    """
    full = name[: MAX_SLUG - len(_NEXT)].rstrip("-") + _NEXT
    yield full
    yield from _names_with_hex(full, [name])


def may_be_next(name: str) -> bool:
    """Return True if the next version of another skill may have this name."""
    return _NEXT_NAME.search(name) is not None


def _free_name(full: str, sources: Iterable[str], is_taken: Callable[[str], bool]) -> str:
    if full.rpartition("-")[2] not in OPEN_WORDS and not is_taken(full):
        return full
    return next(name for name in _names_with_hex(full, sorted(sources)) if not is_taken(name))


def distilled_name(session: str, is_taken: Callable[[str], bool]) -> str:
    """Return `distilled-<first 8 of the session>-<6 hex of it>`, with more hex if taken."""
    prefix = f"distilled-{session[:_BEGINNING].strip('-')}"
    return next(name for name in _names_with_hex(prefix, [session]) if not is_taken(name))


def numbered_name(kind: SkillKind, about: str, is_taken: Callable[[str], bool]) -> str:
    """Return `<kind>-<slug of about>`, with `-2`, `-3`, … if taken, as the designs ask."""
    full = slug(f"{kind}-{about}")
    if len(slug(f"{kind}-{about}", limit=MAX_SLUG * 2)) > len(full):
        while full.rpartition("-")[2] in OPEN_WORDS:  # where it is cut, it ends in no such word
            full = full.rpartition("-")[0]
    tails = chain([""], (f"-{number}" for number in count(2)))
    names = (slug(full, limit=MAX_SLUG - len(tail)) + tail for tail in tails)
    return next(name for name in names if not is_taken(name))


def _names_with_hex(full: str, parts: Iterable[str]) -> Iterator[str]:
    """Yield a name with more and more hex digits of its parts."""
    digits = sha256("\0".join(parts).encode(errors="replace")).hexdigest()
    yield from (f"{slug(full, limit=MAX_SLUG - 1 - n)}-{digits[:n]}" for n in _HEX)


def _hex(parts: Iterable[str]) -> str:
    return sha256("\0".join(parts).encode(errors="replace")).hexdigest()[: _HEX[0]]

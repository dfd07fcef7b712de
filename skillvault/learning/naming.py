"""The names of generated skills: from what they are about, never from the order of arrival."""

import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from itertools import chain, count

from msgspec.structs import replace

from skillvault.model.records import Skill, SkillKind, Subject, Trust
from skillvault.model.text.text import MAX_SLUG, OPEN_WORDS, slug

OF_DOMAIN: tuple[SkillKind, ...] = ("evolved", "strategy")
_HEX = (6, 12, 24, 48)
GENERAL, _ABOUT = "general-", 48  # how such names begin; characters of what they are about
_NEXT = "-next"
_NEXT_NAME = re.compile(rf"{_NEXT}(?:-[0-9a-f]+)?$")
_BEGINNING = 8  # characters of a session that its skill's name has


def with_folder_name(folder: str, skill: Skill) -> Skill:
    """A skill under the name that all else goes by, whatever its front matter says."""
    return skill if skill.name == folder else replace(skill, name=folder)


def strategy_name(domain: str) -> str:
    """The name of a domain's one strategy."""
    return next(subject_names("strategy", (domain, "", None), "local"))


def is_strategy(name: str) -> bool:
    """Whether a name is a strategy's: it stands for many outcomes, and is made of none."""
    return name.startswith("strategy-")


def is_general(name: str) -> bool:
    """Whether a name is that of a skill that facts of several domains made."""
    return name.startswith(GENERAL)


def general_name(about: str, sources: Iterable[str], taken: Callable[[str], bool]) -> str:
    """`general-<slug of about>`; one that is taken, or ends openly, ends in hex of its sources."""
    return _free(slug(f"{GENERAL}{slug(about, limit=_ABOUT)}"), sources, taken)


def subject_key(subject: Subject) -> str:
    """A subject as `metadata.subject` of a skill states it: `perps / open_long / SOL-PERP`."""
    parts = [part for part in subject if part]
    plain = [" ".join(part.split()).replace("/", "//") for part in parts]
    changed = any(" ".join(part.split()) != part for part in parts)
    return " / ".join(plain) + (f" #{_hex(parts)}" if changed else "")


def subject_names(kind: SkillKind, subject: Subject, trust: Trust) -> Iterator[str]:
    """The names that a subject's skill may have, the first that is free: `<kind>-<domain>-…`.

    One ends in hex of the subject if it does not fit, is taken, does not say all as it is, ends in
    a word that leaves it open, or if its source is not trusted: no order of arrival decides.
    """
    parts = [part for part in subject if part]
    slugs = [slug(part, limit=MAX_SLUG * 2) for part in parts]
    full = "-".join(filter(None, [kind, *slugs]))
    faithful = [part.casefold().replace("_", "-") for part in parts] == slugs and trust == "local"
    if faithful and len(full) <= MAX_SLUG and full.rpartition("-")[2] not in OPEN_WORDS:
        yield full
    yield from _told_apart(full, [*parts, trust])


def free_name(
    kind: SkillKind, about: str, sources: Iterable[str], taken: Callable[[str], bool]
) -> str:
    """`<kind>-<slug of about>`; one that is taken, or ends openly, ends in hex of its sources."""
    return _free(slug(f"{kind}-{about}"), sources, taken)


def next_names(name: str) -> Iterator[str]:
    """How the next version of an approved skill is called while it waits, the first that is free.

    The others end in hex of the name, for a skill that happens to be called like the first.
    """
    full = name[: MAX_SLUG - len(_NEXT)].rstrip("-") + _NEXT
    yield full
    yield from _told_apart(full, [name])


def may_be_next(name: str) -> bool:
    """Whether a name may be that of the next version of another skill."""
    return _NEXT_NAME.search(name) is not None


def _free(full: str, sources: Iterable[str], taken: Callable[[str], bool]) -> str:
    if full.rpartition("-")[2] not in OPEN_WORDS and not taken(full):
        return full
    return next(name for name in _told_apart(full, sorted(sources)) if not taken(name))


def distilled_name(session: str, taken: Callable[[str], bool]) -> str:
    """`distilled-<first 8 of the session>-<6 hex of it>`, with more hex if that is taken."""
    about = f"distilled-{session[:_BEGINNING].strip('-')}"
    return next(name for name in _told_apart(about, [session]) if not taken(name))


def numbered_name(kind: SkillKind, about: str, taken: Callable[[str], bool]) -> str:
    """`<kind>-<slug of about>`, with `-2`, `-3`, … if that is taken: as the designs have it."""
    full = slug(f"{kind}-{about}")
    if len(slug(f"{kind}-{about}", limit=MAX_SLUG * 2)) > len(full):
        while full.rpartition("-")[2] in OPEN_WORDS:  # where it is cut, it ends in no such word
            full = full.rpartition("-")[0]
    tails = chain([""], (f"-{number}" for number in count(2)))
    names = (slug(full, limit=MAX_SLUG - len(tail)) + tail for tail in tails)
    return next(name for name in names if not taken(name))


def _told_apart(full: str, of: Iterable[str]) -> Iterator[str]:
    """A name with more and more hex digits of what it is about."""
    digits = sha256("\0".join(of).encode(errors="replace")).hexdigest()
    yield from (f"{slug(full, limit=MAX_SLUG - 1 - n)}-{digits[:n]}" for n in _HEX)


def _hex(parts: Iterable[str]) -> str:
    return sha256("\0".join(parts).encode(errors="replace")).hexdigest()[: _HEX[0]]

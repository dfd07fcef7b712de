"""A skill's body by its sections, and how the program rewrites only what is its own.

A section begins with a line `## Heading`; what stands before the first is the head. A
section that differs from what the program last wrote there is a person's and stays.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

_HEADING = re.compile(r"^## +(?P<heading>.*?)\s*$")
_FENCE = re.compile(r"^ {0,3}(?:`{3,}|~{3,})")

Key = tuple[str, int]  # a heading, and which of the sections of that name


class Version(NamedTuple):
    """A text that the program wrote: what stood there before (None: nothing), and after."""

    before: str | None
    after: str


class Written(NamedTuple):
    """What the program wrote of a skill, oldest first: its bodies and its descriptions."""

    bodies: Sequence[Version] = ()
    descriptions: Sequence[Version] = ()


def parts(body: str) -> dict[Key, str]:
    """The sections of a body in order, each with its heading line; joined they are the body."""
    found: dict[Key, str] = {}
    key: Key = ("", 0)
    fenced = False
    for line in body.splitlines(keepends=True):
        fenced ^= bool(_FENCE.match(line))
        heading = None if fenced else _HEADING.match(line)
        if heading:
            same = sum(name == heading["heading"] for name, _ in found)
            key = (heading["heading"], same)
        found[key] = found.get(key, "") + line
    return found


def theirs(versions: Sequence[Version], current: str) -> frozenset[Key]:
    """The sections that a person changed, added or removed since the program wrote them.

    `versions` are the program's own, oldest first. Without any, all is a person's.
    """
    if not versions:
        return frozenset(parts(current))
    found: set[Key] = set()
    left = versions[0].after
    for version in versions[1:]:
        found |= _differing(left, version.before or "")
        left = version.after
    return frozenset(found | _differing(left, current))


def untouched(versions: Sequence[Version], current: str) -> bool:
    """True where no person changed a text that the program wrote."""
    afters = [version.after.strip() for version in versions]
    befores = [(version.before or "").strip() for version in versions[1:]]
    return bool(versions) and afters == [*befores, current.strip()]


def rewritten(current: str, versions: Sequence[Version], wanted: str) -> str:
    """`current` with the program's sections as in `wanted`; a person's stay as they are."""
    kept, now, new = theirs(versions, current), parts(current), parts(wanted)
    found: dict[Key, str] = {}
    for key, text in now.items():
        if key in kept:
            found[key] = text
        elif key in new:
            found[key] = new[key]
    for key in (k for k in new if k not in now and k not in kept):
        found = _inserted(found, key, new)
    return _joined(found.values())


def _differing(a: str, b: str) -> set[Key]:
    left, right = _stripped(a), _stripped(b)
    return {key for key in left.keys() | right.keys() if left.get(key) != right.get(key)}


def _stripped(body: str) -> dict[Key, str]:
    return {key: "\n".join(text.split("\r\n")).strip() for key, text in parts(body).items()}


def _inserted(found: Mapping[Key, str], key: Key, new: Mapping[Key, str]) -> dict[Key, str]:
    """The sections with one more, behind the one it follows in `new`."""
    order = list(new)
    before = [k for k in order[: order.index(key)] if k in found]
    entries = list(found.items())
    place = 1 + list(found).index(before[-1]) if before else min(1, len(entries))
    return dict([*entries[:place], (key, new[key]), *entries[place:]])


def _joined(texts: Iterable[str]) -> str:
    """Sections with a blank line between them where there was none."""
    body = ""
    for text in texts:
        if body and not re.search(r"\n[ \t\r]*\n\Z", body):
            body = body.rstrip("\r\n") + "\n\n"
        body += text
    return body.strip("\r\n")

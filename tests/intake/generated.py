"""Skill files as people write them, made from a number, of which one value's place is known."""

import random
from typing import NamedTuple

KEY = ("metadata", "status")
NEW = ("pinned", "on", "a: b", "12:30", "# x", "é 🎉", "- x", "'", '"', "~", "017", "[a", "x #y")
FILLER = ("# a comment: with a colon", "", "#", "# '\"[{", "# ünïcode — ✓", "# status: no", "   ")
TOP = (
    "license: MIT", 'compatibility: "needs: python"', "on: true", "x-list: [a, 'b: c', {d: e}]",
    "x-block: |\n  one\n\n    two\n  # no comment\n  status: no", "x-folded: >-\n  one\n  two",
    "x-seq:\n- a\n- b: c", "x-map: {metadata: {status: other}}", "x-keep: |+\n  a\n\n",
    "x-quoted: 'it''s\n  two lines'", 'x-escaped: "a\\\n  b"', "status: top", "x-time: 12:30",
    "x-emoji: 🎉漢字", "x-null: ~", "'x quoted': \"\\u0069\"", "x-plain: a\n  b\n  c",
    "x-empty:", "x-number: 017", "x-nested:\n  metadata:\n    status: no",
)  # fmt: skip
NAME = ("name: a-skill", "name: 'a-skill'", '"name": "a-skill"  # mine', "name:   a-skill   ")
ABOUT = (
    "description: Does it", "description: >\n  Does it\n  when asked", 'description: "Does: it"',
    "description: Does it\n  on two lines", "description: |\n  Does it\n\n  twice\n",
    "description: 漢字 and ünïcode 🎉", "description: 'it''s --- this'",
)  # fmt: skip
INNER = (
    "'kind': warning  # c", "tags: a b", "created: 2026-11-20", "x: [a, b]",
    "y: {status: no}", 'version: "1.10"', "roles: >-\n  a\n  b", "other: |\n  status: no",
    "domain: perps # status: no",
)  # fmt: skip
LABELS = ("status:", "'status':", '"status":', "status :")
VALUES = (
    "testing",
    "'testing'",
    '"test\\u0069ng"',
    "",
    "~",
    "null",
    "proven",
    "'it''s'",
    '""',
    "12",
    '"a # b"',
    "'a: b'",
    "two words",
    "true",
    "2026-11-20",
    "é🎉",
    "'two\n  lines'",
    "plain\n  lines",
    '"esc\\\n  aped"',
)
BLOCKS = ("|\n  testing", ">-\n  a\n\n  b", "|2\n   a", "|-  # why\n  a\n   b")  # fmt: skip
AFTER = ("", "  # why", " # status: no", "   ")
BODY = ("", "---", "a: 1", "```", "Do it — ü 🎉", " x ", "\t", "metadata:\n  status: no", "...")


class Made(NamedTuple):
    """A file: what stands before a value, the value, what stands behind; the value's new text."""

    before: bytes
    value: bytes | None  # None: the key is not there
    after: bytes
    body: bytes  # from the line that ends the front matter
    new: str

    @property
    def data(self) -> bytes:
        """The whole file."""
        return self.before + (self.value or b"") + self.after


def made(number: int) -> Made:
    """The file of a number."""
    rng = random.Random(number)
    lead, value, rest = _metadata(rng)
    above, below = _around(rng)
    front = "\n".join(["---", *above, lead])
    body = "\n".join(["---" + rng.choice(("", "", "  ")), *_some(rng, BODY, 6)])
    end = "\n".join([rest, *below, body])
    eol, bom = rng.choice(("\n", "\n", "\r\n")), rng.choice((b"", b"", b"\xef\xbb\xbf"))
    texts = (front, value or "", end, body)
    before, middle, after, body_bytes = (text.replace("\n", eol).encode() for text in texts)
    place = None if value is None else middle
    return Made(bom + before, place, after, body_bytes, rng.choice(NEW))


def _some(rng: random.Random, lines: tuple[str, ...], most: int) -> list[str]:
    return [rng.choice(lines) for _ in range(rng.randint(0, most))]


def _around(rng: random.Random) -> tuple[list[str], list[str]]:
    """The lines above and below the metadata."""
    keys = [rng.choice(NAME), rng.choice(ABOUT), *rng.sample(TOP, rng.randint(0, 5))]
    rng.shuffle(keys)
    lines = [line for key in keys for line in (key, *_some(rng, FILLER, 2))]
    cut = rng.choice([lines.index(key) for key in keys])
    return _some(rng, FILLER, 2) + lines[:cut], lines[cut:]


def _metadata(rng: random.Random) -> tuple[str, str | None, str]:
    """(up to the value, the value or None, the rest) of the mapping that holds it."""
    shape = rng.random()
    if shape < 0.1:
        return rng.choice(("# none", "metadata:", "metadata: {}", "metadata: # empty")), None, ""
    if shape < 0.25:
        return _flow(rng)
    inner = rng.sample(INNER, rng.randint(1, 5))
    place = rng.randint(0, len(inner))
    label = None if shape < 0.4 else rng.choice(LABELS)
    value = rng.choice(VALUES + BLOCKS)
    after = "" if value in BLOCKS else rng.choice(AFTER)
    gap = " " * rng.randint(1, 3) if value else ""
    line = [] if label is None else [f"{label}{gap}\0{value}\0{after}"]
    lines = [*inner[:place], *line, *inner[place:]]
    spread = [part for one in lines for part in (*_some(rng, FILLER[:5], 1), one)]
    text = _indented("\n".join(spread), " " * rng.choice((1, 2, 4)))
    return _parts(f"metadata:{rng.choice(('', '  # of it'))}\n{text}")


def _flow(rng: random.Random) -> tuple[str, str | None, str]:
    value = rng.choice([one for one in VALUES if one])
    gap = rng.choice(("", " ", "\n  "))
    if rng.random() < 0.3:
        return _parts(f"metadata: {{kind: guide,{gap}tags: a b}}  # flow")
    label = rng.choice(LABELS[:3])
    return _parts(f"metadata: {{kind: guide,{gap}{label} \0{value}\0{gap}, tags: a b}}  # flow")


def _indented(text: str, indent: str) -> str:
    return "\n".join(indent + line if line.strip() else line for line in text.split("\n"))


def _parts(text: str) -> tuple[str, str | None, str]:
    parts = text.split("\0")
    return (parts[0], parts[1], parts[2]) if len(parts) == 3 else (text, None, "")

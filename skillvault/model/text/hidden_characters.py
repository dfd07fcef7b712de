"""Find, escape or remove characters that a reader does not see, but a terminal or a model obeys.

`remove_hidden` cleans incoming text, `escape_hidden` makes text safe to read, and
`hidden_characters` lists them for a check. Joiners, selectors and marks that a script or an emoji
needs are not hidden characters.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator

from msgspec import Struct

from skillvault.model.lazy import regex

# Unicode aliases: controls have no other names.
_C0 = """
NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI
DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US
""".split()
_C1 = """
DEL PAD HOP BPH NBH IND NEL SSA ESA HTS HTJ VTS PLD PLU RI SS2 SS3
DCS PU1 PU2 STS CCH MW SPA EPA SOS SGC SCI CSI ST OSC PM APC
""".split()

# ── hidden ────────────────────────────────────────────────────────────────────────────

_BREAKS = "\x0b\x0c\x85\u2028\u2029"  # lines end there for some readers only
_HIDDEN = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"  # controls, ESC among them
    "\u202a-\u202e\u2066-\u2069"  # embeddings, overrides and isolates: text in another order
    "\u200e\u200f\u061c"  # marks of direction
    "\u200b-\u200d\u2060-\u2065\u206a-\u206f\ufeff"  # of no width
    "\u00ad\u034f\u180e\u17b4\u17b5\ufff0-\ufffb"
    "\u115f\u1160\u3164\uffa0"  # invisible letters
    "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"  # selectors of a variant
    "\U000e0000-\U000e0fff"  # tags: invisible ASCII
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"  # no characters at all
)
_ANY_HIDDEN = regex(f"[{_BREAKS}{_HIDDEN}]|\r(?!\n)")

# ── needed ─────────────────────────────────────────────────────────────────────────

_EMOJI = (
    "[\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f"
    "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_EMOJI_WITH_STYLE = f"{_EMOJI}[\ufe0e\ufe0f]?[\U0001f3fb-\U0001f3ff]?"
# England, Scotland and Wales are the only flags that are written in tags.
_FLAG = (
    "\U0001f3f4(?:\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
    "|\U000e0077\U000e006c\U000e0073)\U000e007f)"
)
# Arabic and its kin, Mongolian, and the scripts of India and the countries around it.
_JOINING = (
    "\u0620-\u065f\u066e-\u06d3\u06d5\u06ee-\u06ff\u0710-\u074f\u0750-\u08ff\ufb50-\ufdcf"
    "\ufdf0-\ufdff\ufe70-\ufefc\u0900-\u0dff\u0f00-\u109f\u1780-\u17b3\u17b6-\u17dd\u1820-\u18aa"
    "\u1900-\u1cff\ua800-\ua8ff\ua980-\uabff\U00010a00-\U00010aff\U00011000-\U00011fff"
)
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17b3\u17b6-\u17dd\u1950-\u1a1f"
_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fa1f"
_RIGHT_TO_LEFT = regex(
    "[\u05d0-\u05f4\u0620-\u064a\u066e-\u06d3\u0700-\u08ff\ufb1d-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc]"
)
_NEEDED = (
    f"{_FLAG}|{_EMOJI_WITH_STYLE}(?:\u200d{_EMOJI_WITH_STYLE})*"
    "|[0-9#*]\ufe0f\u20e3?"
    f"|(?<=[{_JOINING}])[\u200c\u200d]"
    f"|(?<=[{_UNSPACED}])\u200b"
    f"|(?<=[{_IDEOGRAPHS}])[\ufe00-\ufe02\U000e0100-\U000e01ef]"
    "|(?<=[\u1820-\u18aa])[\u180b-\u180d\u180f]"
    "|(?<=[\u2200-\u22ff\u3001\u3002\uff01\uff0c\uff0e\uff1a\uff1b\uff1f])[\ufe00\ufe01]"
)
_MARKS = "\u200e\u200f\u061c"
# A terminal's sequence goes whole, but for one that does not end within its line.
_TERMINAL_SEQUENCE = regex(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"
    "|(?:\x1b[]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x00-\x1f\x7f-\x9f]*(?:\x07|\x9c|\x1b\\\\)"
    "|\x1b[ -/]*[0-~]"
)
_PARTS = regex(
    f"(?P<needed>{_NEEDED})|(?P<mark>[{_MARKS}])|(?P<end>\r\n?|[{_BREAKS}])|(?P<hidden>[{_HIDDEN}])"
)


class HiddenCharacter(Struct, frozen=True):
    """A hidden character in a text, with its name, and its line and column from 1."""

    line: int
    column: int
    character: str
    name: str


def has_hidden(text: str) -> bool:
    """Return True if a text may have a hidden character. This check is fast."""
    return _ANY_HIDDEN.search(text) is not None


def remove_hidden(text: str) -> str:
    """Remove hidden characters and terminal sequences, and end each line with LF."""
    if not has_hidden(text) and "\r" not in text:
        return text
    text = _TERMINAL_SEQUENCE.sub("", text)
    is_right_to_left = _has_right_to_left(text)

    def replacement(match: re.Match[str]) -> str:
        if match["end"]:
            return "\n"
        return match[0] if match["needed"] or (match["mark"] and is_right_to_left) else ""

    return _PARTS.sub(replacement, text)


def escape_hidden(text: str) -> str:
    """Replace each hidden character with a visible escape, as Python writes it."""
    return _replace_hidden(text, _escape)


def escape_json(text: str) -> str:
    """Replace each hidden character in JSON text with a JSON escape."""
    return _replace_hidden(text, _json_escape)


def hidden_characters(text: str) -> Iterator[HiddenCharacter]:
    """Yield the hidden characters of a text, in order."""
    line, start, end = 1, 0, 0
    for at in _positions(text):
        line += text.count("\n", end, at)
        start = max(start, text.rfind("\n", end, at) + 1)
        end = at
        yield HiddenCharacter(line, at - start + 1, text[at], name_of(text[at]))


def name_of(character: str) -> str:
    """Return the Unicode name of a character: `U+202E RIGHT-TO-LEFT OVERRIDE`, `U+001B ESC`."""
    code = ord(character)
    if code < len(_C0):
        name = _C0[code]
    elif 0x7F <= code < 0xA0:
        name = _C1[code - 0x7F]
    else:
        name = unicodedata.name(character, "not a character")
    return f"U+{code:04X} {name}"


def _positions(text: str) -> Iterator[int]:
    """Yield the positions of hidden characters. Needed characters and line ends are not hidden."""
    if not has_hidden(text):
        return
    is_right_to_left = _has_right_to_left(text)
    for match in _PARTS.finditer(text):
        if not (match["needed"] or match[0] == "\r\n" or (match["mark"] and is_right_to_left)):
            yield match.start()


def _replace_hidden(text: str, escape: Callable[[str], str]) -> str:
    positions = list(_positions(text))
    if not positions:  # the usual case; a page has half a million texts
        return text
    ends = [0, *(at + 1 for at in positions)]
    parts = [text[end:at] + escape(text[at]) for end, at in zip(ends, positions, strict=False)]
    return "".join([*parts, text[ends[-1] :]])


def _has_right_to_left(text: str) -> bool:
    return _RIGHT_TO_LEFT.search(text) is not None


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))

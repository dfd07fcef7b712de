"""The rules in LEARNINGS.md: read as agents write them, taken out and put in byte by byte.

A rule stands between lines of dashes. What can be no rule is a Problem, and stays where it is.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import takewhile

from msgspec import Struct
from msgspec.structs import replace

from skillvault.model.records import Problem
from skillvault.model.text.text import rule_key

LEARNINGS = "LEARNINGS.md"
LATEST = 20  # rules that a prompt gets
MAX_RULE = 2_000  # characters
MAX_LEARNINGS = 1 << 20  # bytes
_MIN_WIDTH = 10  # columns; a wide character has two
SEPARATOR = "---\n"

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_SEPARATOR = re.compile(r"-{3,}[ \t]*\r?\n?")
_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)\n?")
_KEYS = re.compile(r"(?:[\w-]+:(?:[ \t][^\n]*)?\r?\n)+")
_LEAD = re.compile(r"\s*(?:#{1,6}(?:[ \t][^\n]*)?(?:\n|\Z)|<!--.*?-->)", re.DOTALL)
_SCOPE = re.compile(r"<!--\s*scope:(?P<patterns>[^<>]*?)-->")
_CONFLICT = re.compile(r"^(?:<{7}|>{7})(?: |\r?$)|^={7}\r?$", re.MULTILINE)
_NO_UTF8 = re.compile("[\ud800-\udfff]")  # what `surrogateescape` makes of such bytes
_BULLET = re.compile(r"^[-*+] ", re.MULTILINE)


class WrittenRule(Struct, frozen=True):
    """A rule in one line, what it has in common with another that says the same, and its line.

    `seen`: it stands in so many blocks, the last of which this is. `scope`: the patterns of the
    files that it is about, if a comment `<!-- scope: *.yaml -->` in front of it says so.
    """

    text: str
    key: str
    line: int
    seen: int = 1
    scope: tuple[str, ...] = ()


class Learnings(Struct, frozen=True):
    """What LEARNINGS.md says: the rules, the newest last; its mistakes; what a reader may mend."""

    rules: tuple[WrittenRule, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()


class Block(Struct, frozen=True):
    """What stands before a separator, that separator ("" at the end), and the number of its line.

    In a `header` stands no rule.
    """

    text: str
    end: str
    line: int
    header: bool = False

    @property
    def whole(self) -> str:
        """The block as it stands, with what ends it."""
        return self.text + self.end


def rule_texts(text: str) -> list[str]:
    """The rules in a text, each once, the newest last."""
    return [rule.text for rule in read_learnings(text).rules]


def rules_for_prompt(text: str) -> list[str]:
    """The rules that a prompt gets: the latest."""
    return rule_texts(text)[-LATEST:]


def read_learnings(text: str) -> Learnings:
    """The rules and the mistakes of a text."""
    blocks = blocks_of(text)
    by_key: dict[str, WrittenRule] = {}
    problems: list[Problem] = _without_separators(blocks)
    notes: list[Problem] = []
    for block in blocks:
        if flaw := flaw_of(block):
            problems.append(flaw)
        elif rule := rule_in(block):
            before = by_key.pop(rule.key, None)
            by_key[rule.key] = replace(rule, seen=1 + (before.seen if before else 0))
            notes += _several(block, rule)
    return Learnings(tuple(by_key.values()), tuple(problems), tuple(notes))


def rule_in(block: Block) -> WrittenRule | None:
    """The rule that a block is; None for a header, and for what is too short."""
    words = rule_words(block.text)
    if block.header or _width(words) < _MIN_WIDTH:
        return None
    blank = takewhile(lambda line: not line.strip(), _LINE.findall(block.text))
    line = block.line + len(list(blank))
    return WrittenRule(words, rule_key(words), line, scope=scope_in(block.text))


def scope_in(text: str) -> tuple[str, ...]:
    """The patterns of files that the comments in front of a rule name; () for none."""
    comments = _SCOPE.finditer(text, 0, _end_of_lead(text))
    patterns = (part.strip() for comment in comments for part in comment["patterns"].split(","))
    return tuple(dict.fromkeys(filter(None, patterns)))


def with_scope(rule: str, scope: Iterable[str]) -> str:
    """A rule as it is noted, its scope in a comment in front of it."""
    patterns = ", ".join(scope)
    return f"<!-- scope: {patterns} --> {rule}" if patterns else rule


def flaw_of(block: Block) -> Problem | None:
    """Why a block can be no rule; None if it can."""
    if "\0" in block.text:
        return _problem(block.line, "nul", "a NUL byte; remove it")
    if _NO_UTF8.search(block.text):
        return _problem(block.line, "not-utf8", "bytes that are no UTF-8; save them as UTF-8")
    if _CONFLICT.search(block.text):
        return _problem(block.line, "conflict", "a merge conflict marker; resolve the conflict")
    size = 0 if block.header else len(rule_words(block.text))
    if size > MAX_RULE:
        message = f"a rule of {size:,} characters; shorten it to {MAX_RULE:,}"
        return _problem(block.line, "too-long", message)
    return None


def _without_separators(blocks: Sequence[Block]) -> list[Problem]:
    if len(blocks) > 1 or _width(rule_words(blocks[0].text)) < _MIN_WIDTH:
        return []
    return [_problem(1, "no-separator", "no rules; a rule stands between lines `---`")]


def _several(block: Block, rule: WrittenRule) -> list[Problem]:
    if len(_BULLET.findall(block.text)) < 2:
        return []
    message = "several bullets are one rule; part them with lines `---`"
    return [_problem(rule.line, "several-bullets", message)]


def _problem(line: int, code: str, message: str) -> Problem:
    return Problem(LEARNINGS, None, code, f"line {line}: {message}")


def rule_words(text: str) -> str:
    """A block's words on one line, without headings and comments in front."""
    return " ".join(text[_end_of_lead(text) :].split())


def _end_of_lead(text: str) -> int:
    """Where the headings and comments in front of a rule end."""
    start = 0
    while lead := _LEAD.match(text, start):
        start = lead.end()
    return start


def _width(text: str) -> int:
    return len(text) + sum(unicodedata.east_asian_width(char) in "WF" for char in text)


# ── blocks ───────────────────────────────────────────────────────────────────────────


def blocks_of(text: str) -> list[Block]:
    """A text cut at its separators; the blocks joined are the text, byte for byte."""
    lines = _LINE.findall(text)
    shielded = _shielded(lines)
    blocks: list[Block] = []
    start = 0
    for number, line in enumerate(lines):
        if number not in shielded and _SEPARATOR.fullmatch(line):
            blocks.append(Block("".join(lines[start:number]), line, start + 1))
            start = number + 1
    blocks.append(Block("".join(lines[start:]), "", start + 1))
    header = 3 if _has_front_matter(blocks) else 1
    return [Block(b.text, b.end, b.line, at < header) for at, b in enumerate(blocks)]


def _has_front_matter(blocks: Sequence[Block]) -> bool:
    """Whether the first two separators are those of front matter."""
    return len(blocks) > 2 and not blocks[0].text and bool(_KEYS.fullmatch(blocks[1].text))


def _shielded(lines: Sequence[str]) -> set[int]:
    """The lines inside of code fences; a fence that nothing closes within a rule is none."""
    fences = {at: fence for at, line in enumerate(lines) if (fence := _FENCE.match(line))}
    shielded: set[int] = set()
    last = -1
    for number, opening in fences.items():
        if number > last and not (opening["mark"][0] == "`" and "`" in opening["info"]):
            last = _closing(lines, fences, number)
            shielded.update(range(number, last))
    return shielded


def _closing(lines: Sequence[str], fences: Mapping[int, re.Match[str]], start: int) -> int:
    """The line that closes the fence which a line opens; the line itself if none does."""
    mark, size, number = fences[start]["mark"], 0, start
    while (number := number + 1) < len(lines) and (size := size + len(lines[number])) <= MAX_RULE:
        fence = fences.get(number)
        if fence and fence["mark"].startswith(mark) and not fence["info"].strip():
            return number
    return start


# ── writing ──────────────────────────────────────────────────────────────────────────


def without_rules(text: str, keys: Collection[str]) -> str:
    """A text without the blocks of some rules; every other byte stays."""
    blocks = [block for block in blocks_of(text) if not _holds(block, keys)]
    return "".join(block.whole for block in blocks)


def _holds(block: Block, keys: Collection[str]) -> bool:
    rule = None if flaw_of(block) else rule_in(block)
    return rule is not None and rule.key in keys


def addition(text: str, added: Iterable[str]) -> str:
    """What is appended to a text so that it has these rules too."""
    last = (_LINE.findall(text) or [""])[-1]
    start = "" if text.endswith("\n") or not text else "\n"
    begun = start if _SEPARATOR.fullmatch(last) else start + SEPARATOR
    return begun + "".join(f"{' '.join(rule.split())}\n{SEPARATOR}" for rule in added)


def whole_blocks(text: str) -> str:
    """As much of a text as no agent is about to write on: up to its last separator."""
    return "".join(block.whole for block in blocks_of(text)[:-1])

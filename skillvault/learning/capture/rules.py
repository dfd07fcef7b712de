"""Read, add, remove and adopt the rules of LEARNINGS.md; all other bytes of the file stay.

A line of dashes separates two rules. A block that cannot be a rule is reported and stays. To adopt
means to commit rules that agents appended to the file. `loop/learned.py` reads and writes the file.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import takewhile

from msgspec import Struct
from msgspec.structs import replace

from skillvault.model.change import Adoption, Change
from skillvault.model.records import LearnedPattern, Problem, Ref
from skillvault.model.text.text import pluralize, rule_key, shorten

STEP = "capture"
LEARNINGS = "LEARNINGS.md"
MAX_RULES = 20  # rules in a prompt
MAX_LENGTH = 2_000  # characters of a rule
MAX_LEARNINGS = 1 << 20  # bytes of the file
_MIN_WIDTH = 10  # columns of a rule; a wide character has two
_MAX_QUOTE, _MAX_QUOTES = 60, 20  # characters of a rule in a commit message, and rules in one
SEPARATOR = "---\n"

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_SEPARATOR = re.compile(r"-{3,}[ \t]*\r?\n?")
_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)\n?")
_KEYS = re.compile(r"(?:[\w-]+:(?:[ \t][^\n]*)?\r?\n)+")
_LEAD = re.compile(r"\s*(?:#{1,6}(?:[ \t][^\n]*)?(?:\n|\Z)|<!--.*?-->)", re.DOTALL)
_SCOPE = re.compile(r"<!--\s*scope:(?P<patterns>[^<>]*?)-->")
_REPLACES = re.compile(r"<!--\s*replaces:(?P<rule>[^<>]*?)-->")
_CONFLICT = re.compile(r"^(?:<{7}|>{7})(?: |\r?$)|^={7}\r?$", re.MULTILINE)
_NO_UTF8 = re.compile("[\ud800-\udfff]")  # `surrogateescape` decodes invalid bytes to these
_BULLET = re.compile(r"^[-*+] ", re.MULTILINE)


class WrittenRule(Struct, frozen=True):
    """A rule on one line, and the key that equal rules share.

    `count` counts the blocks with this rule, and `line` is the line number of the last block.
    `scope` has the file patterns in a comment before the rule, such as `<!-- scope: *.yaml -->`.
    """

    text: str
    key: str
    line: int
    count: int = 1
    scope: tuple[str, ...] = ()


class Learnings(Struct, frozen=True):
    """The rules of LEARNINGS.md, newest last, with errors (`problems`) and hints (`notes`)."""

    rules: tuple[WrittenRule, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()


class Block(Struct, frozen=True):
    """A part of a text, the separator after it or "" at the end, and its first line number.

    `header` is true for front matter and the title, which have no rule.
    """

    text: str
    end: str
    line: int
    header: bool = False

    @property
    def full_text(self) -> str:
        """The block with its separator."""
        return self.text + self.end


def rule_texts(text: str) -> list[str]:
    """Return the rules in a text, each once, newest last."""
    return [rule.text for rule in read_learnings(text).rules]


def replaced_keys(text: str) -> set[str]:
    """Return the keys of rules that a later rule replaces, according to a comment before it."""
    keys: set[str] = set()
    for block in blocks_of(text) if "replaces:" in text else ():
        if rule := rule_of(block):
            keys.discard(rule.key)  # a replaced rule may be noted again
            comments = _REPLACES.finditer(block.text, 0, _end_of_lead(block.text))
            keys.update(rule_key(comment["rule"]) for comment in comments)
    return keys


def repeated_rule_texts(text: str) -> list[str]:
    """Return the rules in a text, each as often as it was noted, newest last."""
    rules = (rule_of(block) for block in blocks_of(text) if not flaw_of(block))
    return [rule.text for rule in rules if rule]


def read_learnings(text: str) -> Learnings:
    """Read the rules and errors in a text, without rules that a later rule replaces."""
    blocks = blocks_of(text)
    rules: dict[str, WrittenRule] = {}
    problems: list[Problem] = []
    if len(blocks) == 1 and _width(rule_words(blocks[0].text)) >= _MIN_WIDTH:
        problems.append(_problem(1, "no-separator", "no rules; a rule stands between lines `---`"))
    notes: list[Problem] = []
    for block in blocks:
        if flaw := flaw_of(block):
            problems.append(flaw)
        elif rule := rule_of(block):
            earlier_rule = rules.pop(rule.key, None)
            rules[rule.key] = replace(rule, count=1 + (earlier_rule.count if earlier_rule else 0))
            if len(_BULLET.findall(block.text)) > 1:
                message = "several bullets are one rule; part them with lines `---`"
                notes.append(_problem(rule.line, "several-bullets", message))
    replaced_rules = replaced_keys(text)
    valid_rules = tuple(rule for rule in rules.values() if rule.key not in replaced_rules)
    return Learnings(valid_rules, tuple(problems), tuple(notes))


def rule_of(block: Block) -> WrittenRule | None:
    """Return the rule in a block, or None for a header or a text that is too short."""
    words = rule_words(block.text)
    if block.header or _width(words) < _MIN_WIDTH:
        return None
    blank_lines = takewhile(lambda line: not line.strip(), _LINE.findall(block.text))
    line = block.line + len(list(blank_lines))
    return WrittenRule(words, rule_key(words), line, scope=scope_of(block.text))


def scope_of(text: str) -> tuple[str, ...]:
    """Return the file patterns in the comments before a rule."""
    comments = _SCOPE.finditer(text, 0, _end_of_lead(text))
    patterns = (part.strip() for comment in comments for part in comment["patterns"].split(","))
    return tuple(dict.fromkeys(filter(None, patterns)))


def with_scope(rule: str, scope: Iterable[str]) -> str:
    """Return the text of a rule with a comment before it that has its scope."""
    patterns = ", ".join(scope)
    return f"<!-- scope: {patterns} --> {rule}" if patterns else rule


def with_replaced(rule: str, older_rules: Iterable[str]) -> str:
    """Return the text of a rule with comments before it that have the replaced rules."""
    return " ".join([*(f"<!-- replaces: {older_rule} -->" for older_rule in older_rules), rule])


def can_be_replaced(rule: str) -> bool:
    """Return True if a rule fits into a comment."""
    return _REPLACES.fullmatch(with_replaced("", [rule]).strip()) is not None


def flaw_of(block: Block) -> Problem | None:
    """Return the problem of a block that cannot be a rule, or None."""
    if "\0" in block.text:
        return _problem(block.line, "nul", "a NUL byte; remove it")
    if _NO_UTF8.search(block.text):
        return _problem(block.line, "not-utf8", "bytes that are not UTF-8; save them as UTF-8")
    if _CONFLICT.search(block.text):
        return _problem(block.line, "conflict", "a merge conflict marker; resolve the conflict")
    size = 0 if block.header else len(rule_words(block.text))
    if size > MAX_LENGTH:
        message = f"a rule of {size:,} characters; shorten it to {MAX_LENGTH:,}"
        return _problem(block.line, "too-long", message)
    return None


def _problem(line: int, code: str, message: str) -> Problem:
    return Problem(LEARNINGS, None, code, f"line {line}: {message}")


def rule_words(text: str) -> str:
    """Return the text of a block on one line, without headings and comments before it."""
    return " ".join(text[_end_of_lead(text) :].split())


def _end_of_lead(text: str) -> int:
    start = 0
    while lead := _LEAD.match(text, start):
        start = lead.end()
    return start


def _width(text: str) -> int:
    return len(text) + sum(unicodedata.east_asian_width(char) in "WF" for char in text)


# ── blocks ───────────────────────────────────────────────────────────────────────────


def blocks_of(text: str) -> list[Block]:
    """Split a text at its separators; the joined blocks are the text, byte for byte."""
    lines = _LINE.findall(text)
    fenced_lines = _fenced_lines(lines)
    blocks: list[Block] = []
    start = 0
    for number, line in enumerate(lines):
        if number not in fenced_lines and _SEPARATOR.fullmatch(line):
            blocks.append(Block("".join(lines[start:number]), line, start + 1))
            start = number + 1
    blocks.append(Block("".join(lines[start:]), "", start + 1))
    has_keys = len(blocks) > 2 and not blocks[0].text and _KEYS.fullmatch(blocks[1].text)
    header = 3 if has_keys else 1
    return [Block(b.text, b.end, b.line, at < header) for at, b in enumerate(blocks)]


def _fenced_lines(lines: Sequence[str]) -> set[int]:
    """Return the indices of lines in code fences; ignore a fence without an end."""
    fences = {at: fence for at, line in enumerate(lines) if (fence := _FENCE.match(line))}
    fenced_lines: set[int] = set()
    last = -1
    for number, opening in fences.items():
        if number > last and not (opening["mark"][0] == "`" and "`" in opening["info"]):
            last = _closing_line(lines, fences, number)
            fenced_lines.update(range(number, last))
    return fenced_lines


def _closing_line(lines: Sequence[str], fences: Mapping[int, re.Match[str]], start: int) -> int:
    """Return the index of the line that closes a fence, or of the opening line if none does."""
    fence_sign, size, number = fences[start]["mark"], 0, start
    while (number := number + 1) < len(lines) and (size := size + len(lines[number])) <= MAX_LENGTH:
        fence = fences.get(number)
        if fence and fence["mark"].startswith(fence_sign) and not fence["info"].strip():
            return number
    return start


# ── writing ──────────────────────────────────────────────────────────────────────────


def without_rules(text: str, keys: Collection[str]) -> str:
    """Remove the blocks of some rules from a text; every other byte stays."""
    parts: list[str] = []
    for block in blocks_of(text):
        rule = None if flaw_of(block) else rule_of(block)
        if rule is None or rule.key not in keys:
            parts.append(block.full_text)
    return "".join(parts)


def render_addition(text: str, rules: Iterable[str]) -> str:
    """Return the text to append to a text, to add some rules."""
    last_line = (_LINE.findall(text) or [""])[-1]
    start = "" if text.endswith("\n") or not text else "\n"
    opening = start if _SEPARATOR.fullmatch(last_line) else start + SEPARATOR
    return opening + "".join(f"{' '.join(rule.split())}\n{SEPARATOR}" for rule in rules)


def whole_blocks(text: str) -> str:
    """Return the text up to its last separator; an agent may still be writing after it."""
    return "".join(block.full_text for block in blocks_of(text)[:-1])


# ── adopting appended rules ──────────────────────────────────────────────────────────


_FULL = Problem(
    LEARNINGS,
    None,
    "too-large",
    f"larger than {MAX_LEARNINGS >> 20} MiB, so new rules are refused; remove rules that are not "
    "needed",
)


class AppendedText(Struct, frozen=True):
    """The text that follows the committed text in the work tree's LEARNINGS.md.

    `committed` has the committed bytes, and `blob` their version, or None without a file.
    `is_finished` is True if nobody is writing in the file.
    """

    committed: bytes
    blob: str | None
    text: str
    is_finished: bool


class AdoptionPlan(Struct, frozen=True):
    """The change that commits appended rules, or None without rules.

    `leftover` has the bytes that stay uncommitted; `is_unfinished` is True if an agent is still
    writing.
    """

    change: Change | None
    problems: tuple[Problem, ...]
    leftover: bytes
    is_unfinished: bool


def adopt(appended: AppendedText, redact: Callable[[str], str]) -> AdoptionPlan:
    """Plan to commit the appended rules without secrets; other blocks stay uncommitted.

    The last block waits while an agent may still be writing it.
    """
    blocks = blocks_of(appended.text)
    if appended.committed:  # otherwise the text begins with the header of the file
        blocks = [Block(block.text, block.end, block.line) for block in blocks]
    unfinished_text = "" if appended.is_finished else blocks[-1].text
    blocks = blocks if appended.is_finished else blocks[:-1]
    texts, is_full = _select_fitting([b for b in blocks if not flaw_of(b)], appended, redact)
    problems = [_FULL] if is_full else []
    content = "".join(texts.values())
    waits = bool(unfinished_text.strip())
    if not content:
        return AdoptionPlan(None, tuple(problems), _encode(appended.text), waits)
    leftover = "".join(block.full_text for block in blocks if block.line not in texts)
    adoption = Adoption(
        LEARNINGS,
        appended.blob,
        _encode("".join(block.full_text for block in blocks)),
        _encode(content),
        _encode(leftover),
    )
    committed_blocks = [block for block in blocks if block.line in texts]
    adopted_blocks = [replace(b, text=texts[b.line].removesuffix(b.end)) for b in committed_blocks]
    change = _adoption_change(adoption, adopted_blocks)
    return AdoptionPlan(change, tuple(problems), _encode(leftover + unfinished_text), waits)


def _select_fitting(
    blocks: list[Block], appended: AppendedText, redact: Callable[[str], str]
) -> tuple[dict[int, str], bool]:
    """Return the texts to commit by the line of their block, and True if the file got full."""
    free_bytes = MAX_LEARNINGS - len(appended.committed)
    text_by_line: dict[int, str] = {}
    for block in blocks:
        text = block.text
        if text.count("\r\n") < text.count("\n"):
            text = redact(text)
        else:
            text = redact(text.replace("\r\n", "\n")).replace("\n", "\r\n")
        text += block.end
        free_bytes -= len(_encode(text))
        if free_bytes < 0:
            return text_by_line, True
        text_by_line[block.line] = text
    return text_by_line, False


def _adoption_change(adoption: Adoption, blocks: list[Block]) -> Change:
    rules = [rule.text for block in blocks if (rule := rule_of(block))]
    rows = [shorten(rule, _MAX_QUOTE) for rule in rules[:_MAX_QUOTES]]
    rows += [f"and {len(rules) - _MAX_QUOTES} more"] if len(rules) > _MAX_QUOTES else []
    listing = "".join(f"\n  {row}" for row in rows)
    return Change(
        step=STEP,
        subject=f"adopt {pluralize(len(rules), 'rule')}",
        reason=f"Appended to {LEARNINGS}:{listing}" if rules else f"Appended to {LEARNINGS}.",
        adopts=(adoption,),
        sources=tuple(map(rule_ref, dict.fromkeys(rules))),
    )


def rule_ref(text: str) -> Ref:
    """Return the ref of a noted rule; a pattern made from the rule has the same id."""
    return Ref("rule", LearnedPattern(pattern=text).id)


def _encode(text: str) -> bytes:
    return text.encode(errors="surrogateescape")

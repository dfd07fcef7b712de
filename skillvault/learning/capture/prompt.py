"""What a prompt gets of what was learned: patterns that code bears out, then the latest rules."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from skillvault.learning.capture.rules import LATEST
from skillvault.learning.recommend import render
from skillvault.model.records import LearnedPattern
from skillvault.model.text.text import count_tokens, rule_key

BEST = 20  # patterns that a prompt gets
_RANKS = {"high": 0, "medium": 1}  # of other confidence none is told
PATTERNS = "## Validated patterns"
RULES = "## Recent learnings (unvalidated)"


class Told(Struct, frozen=True):
    """The patterns and rules of a prompt, the best and the newest, and how many were cut."""

    patterns: tuple[LearnedPattern, ...] = ()
    rules: tuple[str, ...] = ()
    cut_patterns: int = 0
    cut_rules: int = 0

    @property
    def prompt_text(self) -> str:
        """Both as they stand in a prompt; "" for none."""
        lines = [
            f"- [{pattern.confidence}] {_one_line(pattern.pattern)}" for pattern in self.patterns
        ]
        sections = [_section(PATTERNS, lines), _section(RULES, map(_bullet, self.rules))]
        return "\n\n".join(filter(None, sections))


def best_first(patterns: Iterable[LearnedPattern]) -> list[LearnedPattern]:
    """Those that are told, the best first."""
    ranked = sorted(
        (p for p in patterns if p.confidence in _RANKS), key=lambda p: (p.pattern, p.id)
    )
    ranked.sort(key=lambda p: p.promoted_at, reverse=True)
    return sorted(ranked, key=lambda p: (_RANKS[p.confidence], -p.occurrences))


def told(
    patterns: Iterable[LearnedPattern], rules: Sequence[str], budget: int | None = None
) -> Told:
    """What a prompt gets of these, in at most so many tokens: the least is cut first."""
    every = list(patterns)
    keys = {pattern.key for pattern in every}
    best = best_first(every)[:BEST]
    latest = [rule for rule in rules if rule_key(rule) not in keys][-LATEST:]
    cut = Told(tuple(best), tuple(latest))
    while budget is not None and count_tokens(cut.prompt_text) > budget:
        cut = _with_less(cut)
    return cut


def _with_less(text: Told) -> Told:
    """Without the oldest rule, or the least pattern."""
    if text.rules:
        return Told(text.patterns, text.rules[1:], text.cut_patterns, text.cut_rules + 1)
    return Told(text.patterns[:-1], (), text.cut_patterns + 1, text.cut_rules)


def augment(
    base: str, patterns: Iterable[LearnedPattern | Mapping[str, Any]], rules: Sequence[str]
) -> str:
    """A prompt with what was learned behind it; as it is if nothing was."""
    entries = [msgspec.convert(entry, LearnedPattern, from_attributes=True) for entry in patterns]
    return behind(base, told(entries, rules))


def framed(base: str, learned: Told) -> str:
    """A recommendation with patterns and rules behind it, in a frame that they cannot leave."""
    if not learned.prompt_text:
        return base
    block = render.element("learned", learned.prompt_text)
    if not base:
        return f"{block}\n{render.element('instruction', render.INSTRUCTION)}"
    return f"{base}\n\n---\n\n{block}"


def behind(base: str, learned: Told) -> str:
    """A prompt with patterns and rules behind it; as it is if there are none."""
    if not learned.prompt_text:
        return base
    head = f"{base.rstrip()}\n\n---\n\n" if base.strip() else ""
    return f"{head}{learned.prompt_text}\n"


def _section(heading: str, lines: Iterable[str]) -> str:
    bullets = "\n".join(lines)
    return f"{heading}\n\n{bullets}" if bullets else ""


def pattern_line(pattern: LearnedPattern) -> str:
    """A pattern as one bullet."""
    return f"- [{pattern.confidence}] {_one_line(pattern.pattern)}"


def _bullet(rule: str) -> str:
    return f"- {_one_line(rule)}"


def _one_line(text: str) -> str:
    """Foreign text as one line that ends no frame around it."""
    return render.inert_body(" ".join(text.split()).replace("</", "<\\/"))

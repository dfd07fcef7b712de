"""Render the part of a prompt that was learned: supported patterns, then the latest rules."""

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning.capture.rules import LATEST
from skillvault.learning.recommend import render
from skillvault.model.records import LearnedPattern
from skillvault.model.text.text import count_tokens, rule_key

BEST = 20  # patterns that a prompt gets
_RANKS = {"high": 0, "medium": 1}  # other patterns are left out
PATTERNS = "## Validated patterns"
RULES = "## Recent learnings (unvalidated)"


class LearnedText(Struct, frozen=True):
    """The patterns and rules of a prompt, the best and the newest, and how many were cut."""

    patterns: tuple[LearnedPattern, ...] = ()
    rules: tuple[str, ...] = ()
    cut_patterns: int = 0
    cut_rules: int = 0

    @property
    def prompt_text(self) -> str:
        """Both as text of a prompt; "" for none."""
        rule_lines = (f"- {_one_line(rule)}" for rule in self.rules)
        sections = [
            _section(PATTERNS, map(pattern_line, self.patterns)),
            _section(RULES, rule_lines),
        ]
        return "\n\n".join(filter(None, sections))


def rank_patterns(patterns: Iterable[LearnedPattern]) -> list[LearnedPattern]:
    """Return the patterns of high or medium confidence, the best first."""
    ranked = sorted(
        (p for p in patterns if p.confidence in _RANKS), key=lambda p: (p.pattern, p.id)
    )
    ranked.sort(key=lambda p: p.promoted_at, reverse=True)
    return sorted(ranked, key=lambda p: (_RANKS[p.confidence], -p.occurrences))


def select_learned(
    patterns: Collection[LearnedPattern], rules: Sequence[str], budget: int | None = None
) -> LearnedText:
    """Select the best patterns and latest rules; over the budget of tokens the oldest rules go."""
    keys = {pattern.key for pattern in patterns}
    best = rank_patterns(patterns)[:BEST]
    latest = [rule for rule in rules if rule_key(rule) not in keys][-LATEST:]
    text = LearnedText(tuple(best), tuple(latest))
    while budget is not None and count_tokens(text.prompt_text) > budget:
        if text.rules:
            text = replace(text, rules=text.rules[1:], cut_rules=text.cut_rules + 1)
        else:
            patterns_left = text.patterns[:-1]
            text = replace(text, patterns=patterns_left, cut_patterns=text.cut_patterns + 1)
    return text


def frame_learned(base: str, learned: LearnedText) -> str:
    """Append patterns and rules to a recommendation, in a frame that they cannot leave."""
    if not learned.prompt_text:
        return base
    block = render.element("learned", learned.prompt_text)
    if not base:
        return f"{block}\n{render.element('instruction', render.INSTRUCTION)}"
    return f"{base}\n\n---\n\n{block}"


def append_learned(base: str, learned: LearnedText) -> str:
    """Append patterns and rules to a prompt; without any it stays as it is."""
    if not learned.prompt_text:
        return base
    head = f"{base.rstrip()}\n\n---\n\n" if base.strip() else ""
    return f"{head}{learned.prompt_text}\n"


def _section(heading: str, lines: Iterable[str]) -> str:
    bullets = "\n".join(lines)
    return f"{heading}\n\n{bullets}" if bullets else ""


def pattern_line(pattern: LearnedPattern) -> str:
    """Render a pattern as one bullet."""
    return f"- [{pattern.confidence}] {_one_line(pattern.pattern)}"


def _one_line(text: str) -> str:
    """Return foreign text as one line that ends no frame around it."""
    return render.inert_body(" ".join(text.split()).replace("</", "<\\/"))

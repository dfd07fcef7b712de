"""Choose and render the rules and patterns of a prompt, within a budget of tokens.

`loop/learned.py` reads them and calls `select_learned`; hooks and recommendations append the text.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning.capture.rules import MAX_RULES
from skillvault.learning.recommend import render
from skillvault.learning.recommend.disclosure import INSTRUCTION, REMINDER
from skillvault.learning.recommend.lines import NO_MATCH, RELATED, match_lines
from skillvault.model.records import LearnedPattern
from skillvault.model.text.text import count_tokens, rule_key

MAX_PATTERNS = 20  # patterns in a prompt
_CONFIDENCE_RANKS = {"high": 0, "medium": 1}  # patterns of low confidence are left out
PATTERNS = "## Validated patterns"
STATED = "## Stated by the user"
_RULE_SHARE = 0.25  # share of the budget that noted and stated rules get at least
RULES = "## Recent learnings (unvalidated)"

_Item = TypeVar("_Item")


class StatedRule(NamedTuple):
    """A rule that the user stated; `said_at` is None if the user has approved it.

    `about` has words of the run that the rule corrected.
    """

    text: str
    said_at: datetime | None = None
    about: str = ""

    @property
    def line(self) -> str:
        """The rule as a bullet, or as a quotation with its date if it is not approved yet."""
        text = _one_line(self.text)
        if self.said_at is None:
            return f"- {text}"
        return f'- "{text}" (you said on {self.said_at:%Y-%m-%d}; not approved yet)'


class LearnedText(Struct, frozen=True):
    """The rules and patterns of a prompt, and the numbers of those that were cut.

    `stated` has rules of the user, newest first, `patterns` has patterns, best first, and `rules`
    has noted rules, newest last.
    """

    stated: tuple[StatedRule, ...] = ()
    patterns: tuple[LearnedPattern, ...] = ()
    rules: tuple[str, ...] = ()
    cut_patterns: int = 0
    cut_rules: int = 0
    cut_stated: int = 0

    @property
    def prompt_text(self) -> str:
        """All rules and patterns as text of a prompt, or "" if there are none."""
        rule_lines = (f"- {_one_line(rule)}" for rule in self.rules)
        sections = [
            _section(STATED, (rule.line for rule in self.stated)),
            _section(PATTERNS, map(pattern_line, self.patterns)),
            _section(RULES, rule_lines),
        ]
        return "\n\n".join(filter(None, sections))

    @property
    def keys(self) -> list[str]:
        """The keys of the rules and patterns. Approval changes the key of a stated rule."""
        return [
            *(rule.line for rule in self.stated),
            *(pattern.key for pattern in self.patterns),
            *map(rule_key, self.rules),
        ]

    def without(self, keys: Collection[str]) -> "LearnedText":
        """Return the text without the rules and patterns that have these keys."""
        return replace(
            self,
            stated=tuple(rule for rule in self.stated if rule.line not in keys),
            patterns=tuple(pattern for pattern in self.patterns if pattern.key not in keys),
            rules=tuple(rule for rule in self.rules if rule_key(rule) not in keys),
        )

    def matching(self, task: str) -> "LearnedText":
        """Return the rules and patterns that are about a task, the best first."""

        def strength(text: str) -> float:
            return match_lines(task, [text]).get(text, NO_MATCH).strength

        def choose(items: Iterable[_Item], text_of: Callable[[_Item], str]) -> list[_Item]:
            strengths = [(strength(text_of(item)), item) for item in items]
            related_pairs = [pair for pair in strengths if pair[0] >= RELATED]
            return [item for _, item in sorted(related_pairs, key=lambda pair: -pair[0])]

        return replace(
            self,
            stated=tuple(choose(self.stated, lambda rule: f"{rule.text} {rule.about}")),
            patterns=tuple(choose(self.patterns, lambda pattern: pattern.pattern)),
            rules=tuple(reversed(choose(self.rules, str))),
        )

    def join(self, extra: "LearnedText") -> "LearnedText":
        """Return this text followed by another text, each rule once."""
        addition = extra.without(self.keys)
        return replace(
            self,
            stated=self.stated + addition.stated,
            patterns=self.patterns + addition.patterns,
            rules=addition.rules + self.rules,  # `fit` cuts the first rules first
        )

    def fit(self, budget: int) -> "LearnedText":
        """Cut the text to a budget of tokens.

        Cut the oldest noted rules and the oldest stated rules until they use a quarter of the
        budget, then the last patterns.
        """
        text = self
        while text.prompt_text and count_tokens(text.prompt_text) > budget:
            stated_tokens = _count_line_tokens(rule.line for rule in text.stated)
            rule_tokens = _count_line_tokens(text.rules)
            rules_exceed_share = stated_tokens + rule_tokens > budget * _RULE_SHARE
            if text.patterns and (
                not rules_exceed_share or len(text.stated) + len(text.rules) == 1
            ):
                patterns_left = text.patterns[:-1]
                text = replace(text, patterns=patterns_left, cut_patterns=text.cut_patterns + 1)
            elif rule_tokens >= stated_tokens:
                text = replace(text, rules=text.rules[1:], cut_rules=text.cut_rules + 1)
            else:
                text = replace(text, stated=text.stated[:-1], cut_stated=text.cut_stated + 1)
        return text


def rank_patterns(patterns: Iterable[LearnedPattern]) -> list[LearnedPattern]:
    """Return the patterns of high or medium confidence, the best first."""
    sorted_patterns = sorted(
        (p for p in patterns if p.confidence in _CONFIDENCE_RANKS), key=lambda p: (p.pattern, p.id)
    )
    sorted_patterns.sort(key=lambda pattern: pattern.promoted_at, reverse=True)
    return sorted(sorted_patterns, key=lambda p: (_CONFIDENCE_RANKS[p.confidence], -p.occurrences))


def select_learned(
    patterns: Collection[LearnedPattern],
    rules: Sequence[str],
    budget: int | None = None,
    stated_rules: Sequence[StatedRule] = (),
) -> LearnedText:
    """Select the best patterns, the latest rules, and the rules that the user stated."""
    keys = {pattern.key for pattern in patterns}
    best_patterns = rank_patterns(patterns)[:MAX_PATTERNS]
    latest_rules = [rule for rule in rules if rule_key(rule) not in keys][-MAX_RULES:]
    text = LearnedText(tuple(stated_rules), tuple(best_patterns), tuple(latest_rules))
    return text if budget is None else text.fit(budget)


def frame_learned(base: str, learned: LearnedText, *, knows_instruction: bool = False) -> str:
    """Append patterns and rules to a recommendation, in a frame that their text cannot close.

    With `knows_instruction`, one line reminds the agent of the instruction that it read before.
    """
    if not learned.prompt_text:
        return base
    block = render.element("learned", learned.prompt_text)
    if not base:
        instruction = REMINDER if knows_instruction else INSTRUCTION
        return f"{block}\n{render.element('instruction', instruction)}"
    return f"{base}\n\n---\n\n{block}"


def append_learned(base: str, learned: LearnedText) -> str:
    """Append patterns and rules to a prompt, without a frame."""
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


def _count_line_tokens(lines: Iterable[str]) -> int:
    return sum(count_tokens(f"{line}\n") for line in lines)


def _one_line(text: str) -> str:
    """Return foreign text as one line without tags that would close the frame around it."""
    return render.inert_body(" ".join(text.split()).replace("</", "<\\/"))

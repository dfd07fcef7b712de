"""The skill that holds the patterns, for hosts that load skills/ as it is."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from skillvault.learning.capture.prompt import BEST, best_first, pattern_line
from skillvault.model.records import LEARNED, LearnedPattern, Skill, stamp

_DESCRIPTION = (
    "Use before you write, change or review code of this project: rules that its own code bears "
    "out."
)
_ALL = "resources/expertise.yaml"


def learned_skill(patterns: Iterable[LearnedPattern], now: datetime) -> Skill:
    """The skill as it is made first."""
    return Skill(
        LEARNED,
        _DESCRIPTION,
        learned_body(patterns),
        status="pinned",
        origin="generated",
        created=stamp(now),
    )


def learned_body(patterns: Iterable[LearnedPattern]) -> str:
    """Its text: the best patterns, and where all of them are."""
    ranked = best_first(patterns)
    return "\n".join(["# Learned patterns", "", *_text_lines(ranked)])


def _text_lines(ranked: Sequence[LearnedPattern]) -> list[str]:
    if not ranked:
        return ["No rule is borne out by enough code now."]
    best = ranked[:BEST]
    more = f"; the best {BEST} of {len(ranked)}" if len(ranked) > BEST else ""
    intro = f"Agents wrote these rules down, and code bears them out{more} (all: `{_ALL}`)."
    return [intro, "", *(f"{pattern_line(p)} ({_files_of(p)})" for p in best)]


def _files_of(pattern: LearnedPattern) -> str:
    return f"{pattern.occurrences} file" + "s" * (pattern.occurrences != 1)

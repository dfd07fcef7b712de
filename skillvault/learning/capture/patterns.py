"""Promote rules to patterns if code supports them, and demote patterns without support.

`loop/capture.py` scans the code and calls `promote`, `demote` and `update_patterns` in this order.
Patterns are shown to agents as the skill `learned`.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning.capture import prompt
from skillvault.learning.capture.evidence import CodeEvidence
from skillvault.learning.capture.rules import (
    WrittenRule,
    render_addition,
    rule_texts,
    with_scope,
    without_rules,
)
from skillvault.model.policy import CapturePolicy
from skillvault.model.records import (
    CAPTURED,
    LEARNED,
    EvolutionEntry,
    Expertise,
    LearnedPattern,
    MissedEvidence,
    Skill,
    stamp,
)
from skillvault.model.text.text import pluralize, rule_key

_DESCRIPTION = (
    "Use before you write, change or review code of this project: rules that its own code supports."
)
_ALL = "resources/expertise.yaml"


def learned_skill(patterns: Iterable[LearnedPattern], now: datetime) -> Skill:
    """Return a new skill `learned` with the best patterns."""
    return Skill(
        LEARNED,
        _DESCRIPTION,
        learned_body(patterns),
        status="pinned",
        origin="generated",
        created=stamp(now),
    )


def learned_body(patterns: Iterable[LearnedPattern]) -> str:
    """Return the body of the skill `learned`: the best patterns, and the path to all."""
    ranked_patterns = prompt.rank_patterns(patterns)
    if not ranked_patterns:
        return "# Learned patterns\n\nNot enough code supports any rule now."
    best_patterns = ranked_patterns[: prompt.MAX_PATTERNS]
    is_cut = len(best_patterns) < len(ranked_patterns)
    omission = f"; the best {len(best_patterns)} of {len(ranked_patterns)}" if is_cut else ""
    intro = f"Agents noted these rules, and code supports them{omission} (all: `{_ALL}`)."
    lines = ["# Learned patterns", "", intro, ""]
    for pattern in best_patterns:
        files = pluralize(pattern.occurrences, "file")
        lines.append(f"{prompt.pattern_line(pattern)} ({files})")
    return "\n".join(lines)


class CodeSupport(Struct, frozen=True):
    """The evidence of code for a rule, the number of matching lines, and the code bases."""

    evidence: CodeEvidence
    lines: int = 0
    code: str = ""


class CodeScan(Struct, frozen=True):
    """The result of a scan of the code bases.

    `support` maps the key of each positive rule to its evidence. `versions` maps the key of each
    pattern to the versions of its code bases, if all are readable.
    """

    support: Mapping[str, CodeSupport]
    versions: Mapping[str, str]
    now: datetime


class Tiers(Struct, frozen=True):
    """The rules (text of LEARNINGS.md) and the patterns (content of expertise.yaml)."""

    text: str
    expertise: Expertise


class TierChange(Struct, frozen=True):
    """The rules and patterns after a change, and the patterns that changed."""

    tiers: Tiers
    patterns: tuple[LearnedPattern, ...] = ()


def promote(
    tiers: Tiers, ready: Sequence[WrittenRule], support: Mapping[str, CodeSupport], now: datetime
) -> TierChange:
    """Move `ready` rules to the patterns; give patterns with the same key the new evidence."""
    if not ready:
        return TierChange(tiers)
    rules, patterns = {rule.key: rule for rule in ready}, tiers.expertise.patterns
    new_keys = rules.keys() - {pattern.key for pattern in patterns}
    new_rules = [rule for rule in ready if rule.key in new_keys]
    at = _format_time(now)
    patterns += tuple(LearnedPattern(pattern=rule.text, promoted_at=at) for rule in new_rules)
    promoted_patterns = tuple(
        replace(_with_support(p, support[p.key]), scope=rules[p.key].scope) if p.key in rules else p
        for p in patterns
    )
    expertise = replace(tiers.expertise, patterns=promoted_patterns)
    if new_rules:
        log = f"Promoted {len(new_rules)} patterns from Tier 1"
        expertise = _with_log(expertise, now, log, len(new_rules))
    changed_patterns = tuple(pattern for pattern in expertise.patterns if pattern.key in rules)
    return TierChange(Tiers(without_rules(tiers.text, rules), expertise), changed_patterns)


def update_patterns(tiers: Tiers, scan: CodeScan) -> TierChange:
    """Update the patterns that were missed, found again, or changed in confidence."""
    patterns = tiers.expertise.patterns
    updates = [_update_pattern(pattern, scan) for pattern in patterns]
    pairs = zip(updates, patterns, strict=True)
    changed_patterns = [update for update, pattern in pairs if update != pattern]
    expertise = replace(tiers.expertise, patterns=tuple(updates))
    return TierChange(Tiers(tiers.text, expertise), tuple(changed_patterns))


def _update_pattern(pattern: LearnedPattern, scan: CodeScan) -> LearnedPattern:
    if pattern.key not in scan.versions or pattern.key not in scan.support:
        return pattern
    support = scan.support[pattern.key]
    if not support.evidence.is_enough:
        miss = MissedEvidence(_format_time(scan.now), scan.versions[pattern.key])
        return pattern if pattern.missed else replace(pattern, missed=miss)
    if pattern.missed or pattern.confidence != support.evidence.confidence:
        return _with_support(pattern, support)
    return pattern


def demote(tiers: Tiers, scan: CodeScan, policy: CapturePolicy) -> TierChange:
    """Turn the patterns that were missed twice into rules again.

    The second miss must be `missed_hours` after the first, and at another version of the code.
    """
    span = timedelta(hours=policy.missed_hours)
    lost_patterns = [p for p in tiers.expertise.patterns if _is_gone(p, scan, span)]
    if not lost_patterns:
        return TierChange(tiers)
    keys = {pattern.key for pattern in lost_patterns}
    patterns = tuple(pattern for pattern in tiers.expertise.patterns if pattern.key not in keys)
    log = f"Put back {len(lost_patterns)} patterns to Tier 1"
    expertise = _with_log(replace(tiers.expertise, patterns=patterns), scan.now, log, 0)
    rule_keys = set(map(rule_key, rule_texts(tiers.text)))
    rules = [with_scope(p.pattern, p.scope) for p in lost_patterns if p.key not in rule_keys]
    text = tiers.text + render_addition(tiers.text, rules) if rules else tiers.text
    return TierChange(Tiers(text, expertise), tuple(lost_patterns))


def _is_gone(pattern: LearnedPattern, scan: CodeScan, span: timedelta) -> bool:
    miss, versions = pattern.missed, scan.versions.get(pattern.key)
    if miss is None or versions is None or pattern.key not in scan.support:
        return False
    if scan.support[pattern.key].evidence.is_enough or versions == miss.code:
        return False
    return scan.now - _parse_time(miss.at) >= span


def pattern_versions(
    patterns: Iterable[LearnedPattern], versions: Mapping[str, str]
) -> dict[str, str]:
    """Map the key of each captured pattern to the versions of its code bases.

    Leave out a pattern if one of its code bases cannot be read.
    """
    versions_by_key: dict[str, str] = {}
    for pattern in patterns:
        names = [part.partition("@")[0] for part in pattern.code.split(", ") if part]
        if pattern.learned_from == CAPTURED and names and all(name in versions for name in names):
            versions_by_key[pattern.key] = ", ".join(f"{name}@{versions[name]}" for name in names)
    return versions_by_key


def _with_support(pattern: LearnedPattern, support: CodeSupport) -> LearnedPattern:
    evidence = support.evidence
    return replace(
        pattern,
        confidence=evidence.confidence,
        occurrences=len(evidence.files),
        evidence=evidence.file_list,
        lines=support.lines,
        code=support.code,
        missed=None,
    )


def _with_log(expertise: Expertise, now: datetime, change: str, pattern_count: int) -> Expertise:
    entry = EvolutionEntry(
        date=f"{now.astimezone(UTC):%Y-%m-%d}", change=change, patterns_added=pattern_count
    )
    return replace(expertise, evolution_log=(*expertise.evolution_log, entry))


def _format_time(now: datetime) -> str:
    """Return a UTC time without its zone, the format of expertise.yaml."""
    return f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"


def _parse_time(at: str) -> datetime:
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)  # an invalid time never demotes a pattern
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

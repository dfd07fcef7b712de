"""Rules become patterns as code bears them out, and rules again when it does so no more."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning.capture import evidence as code_evidence
from skillvault.learning.capture import prompt
from skillvault.learning.capture.rules import (
    WrittenRule,
    addition,
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
from skillvault.model.text.text import rule_key

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
    ranked = prompt.best_first(patterns)
    return "\n".join(["# Learned patterns", "", *_text_lines(ranked)])


def _text_lines(ranked: Sequence[LearnedPattern]) -> list[str]:
    if not ranked:
        return ["No rule is borne out by enough code now."]
    best = ranked[: prompt.BEST]
    more = f"; the best {prompt.BEST} of {len(ranked)}" if len(ranked) > prompt.BEST else ""
    intro = f"Agents wrote these rules down, and code bears them out{more} (all: `{_ALL}`)."
    return [intro, "", *(f"{prompt.pattern_line(p)} ({_files_of(p)})" for p in best)]


def _files_of(pattern: LearnedPattern) -> str:
    return f"{pattern.occurrences} file" + "s" * (pattern.occurrences != 1)


class Borne(Struct, frozen=True):
    """How code bears out a rule: its evidence, on how many lines, in which code bases."""

    evidence: "code_evidence.CodeEvidence"
    lines: int = 0
    code: str = ""


class Looked(Struct, frozen=True):
    """What a look at the code bases says.

    `borne` by key of each rule that forbids nothing; `asked` in which versions of code those
    patterns were asked whose code bases can be read.
    """

    borne: Mapping[str, Borne]
    asked: Mapping[str, str]
    now: datetime


class Tiers(Struct, frozen=True):
    """Both tiers: the text of LEARNINGS.md, and what stands in expertise.yaml."""

    text: str
    expertise: Expertise


class Captured(Struct, frozen=True):
    """The tiers after a change, and the patterns that it is about; empty if it changes nothing."""

    tiers: Tiers
    patterns: tuple[LearnedPattern, ...] = ()


def promoted(
    tiers: Tiers, ready: Sequence[WrittenRule], borne: Mapping[str, Borne], now: datetime
) -> Captured:
    """The tiers once these rules are patterns; one that is a pattern already is seen again."""
    if not ready:
        return Captured(tiers)
    before, at = tiers.expertise.patterns, _zoneless(now)
    keys, present = {rule.key: rule for rule in ready}, {pattern.key for pattern in before}
    kept = [
        replace(_seen_again(p, borne[p.key]), scope=keys[p.key].scope) if p.key in keys else p
        for p in before
    ]
    fresh = [_pattern(r, borne[r.key], at) for r in ready if r.key not in present]
    expertise = _with_patterns(tiers.expertise, [*kept, *fresh])
    if fresh:
        log = f"Promoted {len(fresh)} patterns from Tier 1"
        expertise = _logged(expertise, now, log, len(fresh))
    about = [pattern for pattern in expertise.patterns if pattern.key in keys]
    return Captured(Tiers(without_rules(tiers.text, keys), expertise), tuple(about))


def looked_at(tiers: Tiers, looked: Looked) -> Captured:
    """The tiers once it is noted which patterns were missed, found again, or are worth another."""
    before = tiers.expertise.patterns
    after = [_looked_at(pattern, looked) for pattern in before]
    changed = [new for new, old in zip(after, before, strict=True) if new != old]
    return Captured(Tiers(tiers.text, _with_patterns(tiers.expertise, after)), tuple(changed))


def _looked_at(pattern: LearnedPattern, looked: Looked) -> LearnedPattern:
    if pattern.key not in looked.asked or pattern.key not in looked.borne:
        return pattern
    borne = looked.borne[pattern.key]
    if not borne.evidence.worth.promote:
        missed = MissedEvidence(_zoneless(looked.now), looked.asked[pattern.key])
        return pattern if pattern.missed else replace(pattern, missed=missed)
    if pattern.missed or pattern.confidence != borne.evidence.worth.confidence:
        return _seen_again(pattern, borne)
    return pattern


def demoted(tiers: Tiers, looked: Looked, policy: CapturePolicy) -> Captured:
    """The tiers once the patterns that were missed twice are rules again.

    The second miss is at another version of the code, and some time after the first.
    """
    span = timedelta(hours=policy.missed_hours)
    ended = [pattern for pattern in tiers.expertise.patterns if _is_gone(pattern, looked, span)]
    if not ended:
        return Captured(tiers)
    keys = {pattern.key for pattern in ended}
    kept = [pattern for pattern in tiers.expertise.patterns if pattern.key not in keys]
    log = f"Put back {len(ended)} patterns to Tier 1"
    expertise = _logged(_with_patterns(tiers.expertise, kept), looked.now, log, 0)
    present = set(map(rule_key, rule_texts(tiers.text)))
    rules = [with_scope(p.pattern, p.scope) for p in ended if p.key not in present]
    text = tiers.text + addition(tiers.text, rules) if rules else tiers.text
    return Captured(Tiers(text, expertise), tuple(ended))


def _is_gone(pattern: LearnedPattern, looked: Looked, span: timedelta) -> bool:
    missed, versions = pattern.missed, looked.asked.get(pattern.key)
    if missed is None or versions is None or pattern.key not in looked.borne:
        return False
    if looked.borne[pattern.key].evidence.worth.promote or versions == missed.code:
        return False
    return looked.now - _time(missed.at) >= span


def asked_patterns(
    patterns: Iterable[LearnedPattern], versions: Mapping[str, str]
) -> dict[str, str]:
    """Key -> in which versions its code bases can be asked, of the patterns that were captured.

    A code base that cannot be read is not asked, and neither are its patterns.
    """
    versions_by_key: dict[str, str] = {}
    for pattern in patterns:
        names = [part.partition("@")[0] for part in pattern.code.split(", ") if part]
        if pattern.learned_from == CAPTURED and names and all(name in versions for name in names):
            versions_by_key[pattern.key] = ", ".join(f"{name}@{versions[name]}" for name in names)
    return versions_by_key


def _pattern(rule: WrittenRule, borne: Borne, at: str) -> LearnedPattern:
    pattern = LearnedPattern(pattern=rule.text, promoted_at=at, scope=rule.scope)
    return _seen_again(pattern, borne)


def _seen_again(pattern: LearnedPattern, borne: Borne) -> LearnedPattern:
    evidence = borne.evidence
    return replace(
        pattern,
        confidence=evidence.worth.confidence,
        occurrences=len(evidence.files),
        evidence=evidence.told,
        lines=borne.lines,
        code=borne.code,
        missed=None,
    )


def _with_patterns(expertise: Expertise, patterns: Iterable[LearnedPattern]) -> Expertise:
    return replace(expertise, patterns=tuple(patterns))


def _logged(expertise: Expertise, now: datetime, change: str, added: int) -> Expertise:
    entry = EvolutionEntry(
        date=f"{now.astimezone(UTC):%Y-%m-%d}", change=change, patterns_added=added
    )
    return replace(expertise, evolution_log=(*expertise.evolution_log, entry))


def _zoneless(now: datetime) -> str:
    """A time in UTC as expertise.yaml has it, without its zone."""
    return f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"


def _time(at: str) -> datetime:
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)  # what a person wrote there ends nothing
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

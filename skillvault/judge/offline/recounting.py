"""What a strategy counts of its outcomes: contexts, actions, ends, sizes, verdicts.

Plain counts of what was recorded, and quotes; none of them says that it separates anything.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import NamedTuple

from skillvault.brief import Insight, InsightKind, Period
from skillvault.conditions import Condition
from skillvault.judge.offline.speech import held_for, plain, quoted, sentence, subject
from skillvault.judge.offline.telling import clause_of, main_of
from skillvault.reading import read
from skillvault.records import Outcome, Scalar, Status
from skillvault.text import count_of, figure, listed, percent, similarity

MOST = 4
KEYS = 6
QUOTES, WAYS_OUT = 3, 2
OFTEN = 0.1  # of the outcomes; a key that fewer recorded is no context of theirs
ALIKE = 0.5  # similarity above which two quotes say the same
_FEW_VALUES = 4
_ENOUGH = 20  # outcomes whose halves say anything
_HOW = ("exit_reason", "reason", "error", "cause")
_SIZE = re.compile(r"leverage|size|stake", re.IGNORECASE)
# What failures have in common, in a few words; that a ground did not hold says no more than that.
NAMES: dict[InsightKind, str] = {
    "lesson": "taught the agent a lesson of its own",
    "answer": "gave an answer that was refused",
    "stopped": "stopped before it was done",
    "unchecked": "went on unchecked",
    "exposed": "went without a way out",
    "guess": "rested on a guess",
    "certainty": "certainty in place of grounds",
    "claim": "reported success that was refused",
    "risk": "the risk it named came",
}


class Words(NamedTuple):
    """How a domain's results are called."""

    wins: str
    losses: str
    won: str
    lost: str


def words_of(period: Period) -> Words:
    """Wins and losses where there are scores, else successes and failures."""
    if period.graded:
        return Words("wins", "losses", "won", "lost")
    return Words("successes", "failures", "succeeded", "failed")


def results(outcomes: Sequence[Outcome], period: Period) -> str:
    """How these ended: `9 won, 8 lost and 4 ended neutral`."""
    words = words_of(period)
    said: tuple[tuple[Status, str], ...] = (
        ("success", words.won),
        ("failure", words.lost),
        ("neutral", "ended neutral"),
    )
    counts = [(len(_ended(outcomes, status)), word) for status, word in said]
    return listed(f"{count} {word}" for count, word in counts if count)


def _ended(outcomes: Iterable[Outcome], status: Status) -> list[Outcome]:
    return [o for o in outcomes if o.result.status == status]


def insight_of(outcome: Outcome, period: Period) -> Insight | None:
    """The insight that an outcome is told by."""
    return main_of(period.insights.get(outcome.id, ()))


def by_action(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """Action -> its outcomes, the action taken most first."""
    found: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        found.setdefault(outcome.decision.action, []).append(outcome)
    return dict(sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0])))


# ── context ──────────────────────────────────────────────────────────────────────────


def context(period: Period) -> Iterator[str]:
    """What was decided, on what, by whom, and what was recorded at entry."""
    outcomes = period.outcomes
    yield _tallied("Actions", (o.decision.action for o in outcomes))
    yield _tallied("Targets", (o.decision.target for o in outcomes))
    yield _tallied("Decided by", (o.source.agent for o in outcomes))
    known = {k: values for k, values in _recorded(outcomes).items() if not _SIZE.search(k)}
    least = OFTEN * len(outcomes)
    varied = [k for k, values in known.items() if k in period.varying and len(values) >= least]
    yield from (_spread(key, known[key], len(outcomes)) for key in varied[:KEYS])
    always = [f"{plain(k)} {_value(of[0])}" for k, of in known.items() if k not in period.varying]
    if always:
        yield f"Always the same: {', '.join(always[:KEYS])}."


def _tallied(name: str, values: Iterable[Scalar]) -> str:
    """The values given most, with how often: `Targets: SOL (52) and 3 more`."""
    counts = Counter(_value(value) for value in values if value not in (None, ""))
    if not counts:
        return ""
    ordered = sorted(counts, key=lambda value: (-counts[value], value))
    said = [f"{value} ({counts[value]})" for value in ordered[:MOST]]
    more = f" and {len(ordered) - MOST} more" if len(ordered) > MOST else ""
    return f"{name}: {', '.join(said)}{more}."


def _recorded(outcomes: Iterable[Outcome]) -> dict[str, list[Scalar]]:
    """The context keys with their values, those recorded most often first."""
    found: dict[str, list[Scalar]] = {}
    for outcome in outcomes:
        for key, value in outcome.context.items():
            if value not in (None, ""):
                found.setdefault(key, []).append(value)
    return dict(sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0])))


def _spread(key: str, values: Sequence[Scalar], total: int) -> str:
    """The values of one key: counted, or of many numbers the middle and the ends."""
    numbers = _numbers(values)
    name = plain(key) + (f" (in {count_of(len(values), total)})" if len(values) < total else "")
    if len(numbers) < len(values) or 1 < len(set(numbers)) <= _FEW_VALUES:
        return _tallied(name, values)
    return f"{name}: {_range(numbers)}."


def _range(numbers: Sequence[float]) -> str:
    middle, low, high = (figure(v) for v in (median(numbers), min(numbers), max(numbers)))
    return f"always {low}" if low == high else f"{middle} in the median, from {low} to {high}"


def _numbers(values: Iterable[Scalar]) -> list[float]:
    return [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]


def _value(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return figure(value) if isinstance(value, int | float) else plain(str(value), 40)


# ── approach ─────────────────────────────────────────────────────────────────────────


def approach(period: Period) -> Iterator[str]:
    """What was done most and how it ended; what confirmed good decisions rested on."""
    for action, of in list(by_action(period.outcomes).items())[:MOST]:
        noun = "decision" if len(of) == 1 else "decisions"
        scores = [o.result.score for o in of if o.result.score is not None]
        average = f"; {percent(sum(scores) / len(scores))} on average" if scores else ""
        yield f"{plain(action, 40)}: {len(of)} {noun}, {results(of, period)}{average}."
    shown = ((o, insight_of(o, period)) for o in _confirmed(period))
    said = [(o, insight.quote, clause_of(insight, o)) for o, insight in shown if insight]
    for about, told in _distinct(said, QUOTES):
        yield sentence(f"judged good and confirmed ({about}): {told}")


def _confirmed(period: Period) -> list[Outcome]:
    """The successes that were judged good decisions beforehand, the best first."""
    good = {e.id: e.quality_score for e in period.evaluations.values() if e.was_good_decision}
    found = [o for o in _ended(period.outcomes, "success") if o.id in good]
    return sorted(found, key=lambda o: (-good[o.id], o.id))


def _distinct(said: Iterable[tuple[Outcome, str, str]], most: int) -> Iterator[tuple[str, str]]:
    """(about what, told) of quotes that say different things, the most repeated first.

    Each of `said` is an outcome, what it is compared by, and how it is told.
    """
    groups: list[list[tuple[Outcome, str, str]]] = []
    for each in said:
        near = (group for group in groups if similarity(each[1], group[0][1]) > ALIKE)
        if (group := next(near, None)) is None:
            groups.append([each])
        else:
            group.append(each)
    for group in sorted(groups, key=len, reverse=True)[:most]:
        outcome, _, told = group[0]
        alike = f", and {len(group) - 1} alike" if len(group) > 1 else ""
        yield f"{subject(outcome)}{alike}", told


# ── exits and sizes ──────────────────────────────────────────────────────────────────


def exits(period: Period) -> Iterator[str]:
    """How wins and losses ended as recorded, how long they took, and which ways out were named."""
    words = words_of(period)
    sides = (
        (words.wins, _ended(period.outcomes, "success")),
        (words.losses, _ended(period.outcomes, "failure")),
    )
    for name, outcomes in sides:
        yield _tallied(f"How {name} ended", map(_end, outcomes))
    held = [f"{name} {span}" for name, outcomes in sides if (span := _held(outcomes))]
    if held:
        yield f"From decision to end, in the median: {', '.join(held)}."
    for about, told in _distinct(_ways_out(period), WAYS_OUT):
        yield f"Way out of a confirmed decision ({about}): {told}"


def _end(outcome: Outcome) -> str | None:
    """What the record itself names as the way it ended."""
    named = (outcome.result.extra.get(key) for key in _HOW)
    return next((value for value in named if isinstance(value, str) and value.strip()), None)


def _held(outcomes: Sequence[Outcome]) -> str | None:
    """The time that the one in the middle took."""
    times = {o.id: o.occurred_at - o.decision.made_at for o in outcomes if o.decision.made_at}
    known = sorted((o for o in outcomes if held_for(o)), key=lambda o: (times[o.id], o.id))
    return held_for(known[(len(known) - 1) // 2]) if known else None


def _ways_out(period: Period) -> Iterator[tuple[Outcome, str, str]]:
    """The ways out that confirmed decisions named, where they are not their very ground."""
    for outcome in _confirmed(period):
        insight = insight_of(outcome, period)
        for plan in read(outcome.decision.reasoning).plans[:1]:
            if insight is None or quoted(plan) not in clause_of(insight, outcome):
                yield outcome, plan, quoted(plan)


def is_size(condition: Condition) -> bool:
    """Whether a condition is about how large something was."""
    return condition.key == "entry_value" or bool(_SIZE.search(condition.key))


def sizes(period: Period) -> Iterator[str]:
    """The sizes that were taken, where they were recorded."""
    entered = [o.result for o in period.outcomes if o.result.entry_value]
    units = Counter(result.unit or "" for result in entered)
    for unit in sorted(units, key=lambda u: (-units[u], u))[:1]:
        values = [r.entry_value for r in entered if r.entry_value and (r.unit or "") == unit]
        named = f" in {plain(unit, 20)}" if unit else ""
        yield f"Entry value{named} ({len(values)} recorded): {_range(values)}."
    for key, given in _recorded(period.outcomes).items():
        if _SIZE.search(key) and (numbers := _numbers(given)):
            yield _spread(key, numbers, len(period.outcomes))


# ── notes ────────────────────────────────────────────────────────────────────────────


def notes(period: Period) -> Iterator[str]:
    """The ends of the scale, the course, the verdicts, and what failures had in common."""
    yield from _extremes(period.outcomes)
    yield _halves(period)
    given = [e.judge_was_right for e in period.evaluations.values()]
    known = [right for right in given if right is not None]
    if known:
        right = count_of(known.count(True), len(known))
        yield f"The verdict, given before the result, was right in {right}."
    yield _causes(period)


def _extremes(outcomes: Sequence[Outcome]) -> Iterator[str]:
    scores = {o.id: o.result.score for o in outcomes if o.result.score is not None}
    scored = sorted((o for o in outcomes if o.id in scores), key=lambda o: (scores[o.id], o.id))
    if len(scored) > 1:
        worst, best = (
            f"{percent(scores[o.id])} ({subject(o)}, {o.occurred_at:%Y-%m-%d})"
            for o in (scored[0], scored[-1])
        )
        yield f"Best {best}; worst {worst}."


def _halves(period: Period) -> str:
    """Whether it went better or worse over time, as counts."""
    middle = len(period.outcomes) // 2
    if 2 * middle < _ENOUGH:
        return ""
    halves = (period.outcomes[:middle], period.outcomes[middle:])
    first, second = (count_of(len(_ended(half, "success")), len(half)) for half in halves)
    return f"In the first half {first} {words_of(period).won}, in the second {second}."


def _causes(period: Period) -> str:
    """What the reasonings of failures have in common, counted, with one example each."""
    failed = _ended(period.outcomes, "failure")
    if len(failed) == len(period.outcomes):
        return ""  # then they are what to avoid, and stand there
    shown = [insight for o in failed if (insight := insight_of(o, period))]
    told = [(NAMES[insight.kind], insight.quote) for insight in shown if insight.kind in NAMES]
    often = Counter(name for name, _ in told)
    examples = {name: quoted(quote, 90) for name, quote in reversed(told)}
    said = [
        f"{name} ({count}, as in {examples[name]})"
        for name, count in sorted(often.items(), key=lambda pair: (-pair[1], pair[0]))[:QUOTES]
        if count > 1
    ]
    if not said:
        return ""
    of = sum(bool(o.decision.reasoning.strip()) for o in failed)
    return sentence(
        f"what the reasonings of {of} {words_of(period).losses} show: {'; '.join(said)}"
    )

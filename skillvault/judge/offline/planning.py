"""The text of a strategy: what a domain's outcomes say together, counted and not invented.

Only what was tested stands in Entry Rules and What to Avoid; the other sections count what was
recorded and say nothing of what separates.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from skillvault.brief import Comparison, Contrast, Draft, Period
from skillvault.judge.offline.recounting import (
    NAMES,
    approach,
    by_action,
    context,
    exits,
    insight_of,
    notes,
    results,
    sizes,
)
from skillvault.judge.offline.speech import clause, counts, kind_of, plain, risk, sentence
from skillvault.judge.offline.telling import advice_of
from skillvault.records import Outcome
from skillvault.text import count_of, listed, shorten

DESCRIPTION = 400
RULES = 3  # of one section
_ENOUGH = 3  # on either side, for a comparison that could have found something
_ACTIONS = 3


def planned(brief: Period) -> Draft | None:
    """The draft of a strategy; None without outcomes."""
    if not brief.outcomes:
        return None
    writers: tuple[tuple[str, Callable[[Period], Iterator[str]]], ...] = (
        (brief.heading, context),
        ("Core Approach", approach),
        ("Entry Rules", _entry),
        ("Exit Rules", exits),
        ("Position Sizing", _sizing),
        ("What to Avoid", _avoid),
        ("Performance Notes", notes),
    )
    bodies = ((heading, _bulleted(write(brief))) for heading, write in writers)
    sections = tuple((heading, body) for heading, body in bodies if body)
    return Draft(plain(brief.domain, 64), _description(brief), sections)


def _bulleted(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in dict.fromkeys(lines) if line)


# ── what separates ───────────────────────────────────────────────────────────────────


def _entry(period: Period) -> Iterator[str]:
    yield from _rules(period, period.seek, period.avoid)


def _avoid(period: Period) -> Iterator[str]:
    yield from _rules(period, period.avoid, period.seek)
    if all(o.result.status == "failure" for o in period.outcomes):
        yield from _advice(period.outcomes, period)


def _rules(
    period: Period, own: Sequence[Comparison], others: Sequence[Comparison]
) -> Iterator[str]:
    """What separates these groups; else what follows from the others, or that nothing does."""
    found = _found(own)
    if found:
        yield _rule(*found[0]) + _by_action(*found[0], period)
        yield from (_rule(*each) for each in found[1:RULES])
        return
    # Where every outcome is a win or a loss, what tells the one apart tells the other.
    neutral = any(o.result.status == "neutral" for o in period.outcomes)
    if own and not neutral and (turned := _found(others)):
        yield _outside(turned[0][0], own[0], period)
        return
    yield _silent(period, own)


def _found(comparisons: Sequence[Comparison]) -> list[tuple[Contrast, Comparison]]:
    """Every condition with its comparison, but for those that an earlier one has told alike."""
    found: list[tuple[Contrast, Comparison]] = []
    for comparison in comparisons:
        told = [known.holds_for for known, _ in found]
        found += [
            (each, comparison)
            for each in comparison.contrasts
            if not any(each.holds_for <= known or each.holds_for >= known for known in told)
        ]
    return found


def _rule(contrast: Contrast, comparison: Comparison) -> str:
    """A condition with its counts, read in both directions."""
    group = comparison.group
    said = f"{clause(contrast.condition)}: so in {counts(contrast, group)}; {risk(contrast, group)}"
    return sentence(said)


def _by_action(contrast: Contrast, comparison: Comparison, period: Period) -> str:
    """The same counts for each action, where there are several that differ in the condition."""
    said = []
    for action, outcomes in list(by_action(period.outcomes).items())[:_ACTIONS]:
        met = [o for o in outcomes if o.id in contrast.holds_for]
        other = [o for o in outcomes if o.id not in contrast.holds_for]
        if met and other:
            shares = (_share(side, comparison.members) for side in (met, other))
            said.append(f"{plain(action, 40)} {', otherwise '.join(shares)}")
    return f" By action: {'; '.join(said)}." if len(said) > 1 else ""


def _outside(contrast: Contrast, comparison: Comparison, period: Period) -> str:
    """What a condition of the others means for this group, by its counts."""
    met = [o for o in period.outcomes if o.id in contrast.holds_for]
    other = [o for o in period.outcomes if o.id not in contrast.holds_for]
    inside, outside = (_share(side, comparison.members) for side in (met, other))
    return sentence(
        f"other than {clause(contrast.condition)}: then {outside} were {comparison.group}, "
        f"and {inside} where this holds"
    )


def _share(outcomes: Sequence[Outcome], members: frozenset[str]) -> str:
    return count_of(sum(o.id in members for o in outcomes), len(outcomes))


def _silent(period: Period, comparisons: Sequence[Comparison]) -> str:
    """That nothing separates a group, with its counts, and what nobody recorded."""
    total = len(period.outcomes)
    groups = [(c.group, len(c.members)) for c in comparisons if c.members]
    if not groups:
        return ""
    name, count = groups[0]
    if count == total:
        return sentence(f"all {total} outcomes are {name}: there is nothing to compare them with")
    if min(count, total - count) < _ENOUGH:
        return sentence(f"too few to compare: {count_of(count, total)} were {name}")
    which = listed([f"{group} ({count_of(k, total)})" for group, k in groups], last="or")
    missing = f"; not recorded: {listed(period.unrecorded)}" if period.unrecorded else ""
    return sentence(f"nothing recorded separates the {which} from the others{missing}")


def _advice(outcomes: Sequence[Outcome], period: Period) -> Iterator[str]:
    """What to do otherwise where nothing succeeded yet, the most repeated causes first."""
    shown = [insight for o in outcomes if (insight := insight_of(o, period))]
    advised = [(i.kind, better) for i in shown if (better := advice_of(i))]
    often = Counter(kind for kind, _ in advised)
    for kind, count in sorted(often.items(), key=lambda pair: (-pair[1], pair[0]))[:_ACTIONS]:
        better = next(better for advice, better in advised if advice == kind)
        yield sentence(f"{count_of(count, len(outcomes))} {NAMES[kind]}. {better}")


# ── size, title and description ──────────────────────────────────────────────────────


def _sizing(period: Period) -> Iterator[str]:
    """The sizes that were taken, and what separates by size."""
    yield from sizes(period)
    sized = [pair for pair in _found((*period.avoid, *period.seek)) if _is_size(pair[0])]
    yield from (sentence(f"{clause(c.condition)}: {risk(c, of.group)}") for c, of in sized[:RULES])


def _is_size(contrast: Contrast) -> bool:
    return kind_of(contrast.condition) == "sizing"


def _description(period: Period) -> str:
    """What it is, from how many outcomes, and when to use it."""
    names = [plain(action, 40) for action in by_action(period.outcomes)][:_ACTIONS]
    worst = _found(period.avoid)[:1]
    above = f" Riskiest {clause(worst[0][0].condition)}." if worst else ""
    text = (
        f"What {len(period.outcomes)} outcomes in {plain(period.domain, 64)} say together: "
        f"{results(period.outcomes, period)}.{above} "
        f"Use before {listed(names, last='or')}."
    )
    return shorten(text.replace("<", "").replace(">", ""), DESCRIPTION)

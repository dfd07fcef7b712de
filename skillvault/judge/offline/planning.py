"""The text of a strategy: what a domain's outcomes say together, counted and not invented.

Only what was tested stands in Entry Rules and What to Avoid; the other sections count what was
recorded and say nothing of what separates.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from skillvault.brief import Draft, Period
from skillvault.conditions import Separation, clause, risk
from skillvault.judge.offline.recounting import (
    NAMES,
    approach,
    by_action,
    context,
    exits,
    insight_of,
    is_size,
    notes,
    results,
    sizes,
    words_of,
)
from skillvault.judge.offline.speech import plain, sentence
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
    yield from _rules(period, avoid=False)


def _avoid(period: Period) -> Iterator[str]:
    yield from _rules(period, avoid=True)
    if all(o.result.status == "failure" for o in period.outcomes):
        yield from _advice(period.outcomes, period)


def _rules(period: Period, *, avoid: bool) -> Iterator[str]:
    """What separates losses, or wins; else what follows from the others, or that nothing does."""
    rules = _distinct(period, avoid=avoid)
    yield from (_rule(*rule, period) for rule in rules[:RULES])
    if rules:
        return
    # If every outcome is a win or a loss, what tells the one apart tells the other.
    neutral = any(o.result.status == "neutral" for o in period.outcomes)
    turned = [] if neutral else _distinct(period, avoid=not avoid)
    plain_result = (rule for rule in turned if rule[1].result in ("losses", "failures"))
    opposite = next(plain_result, None)
    yield _outside(*opposite, period) if opposite else _silent(period, avoid=avoid)


def _distinct(period: Period, *, avoid: bool) -> list[tuple[str, Separation]]:
    """(action, rule), the surest first; what an earlier one tells of the same outcomes is left."""
    every = [(action, rule) for action, rules in period.rules.items() for rule in rules]
    distinct: list[tuple[str, Separation]] = []
    for action, rule in sorted(every, key=lambda pair: -pair[1].z):
        before = [earlier.holds_for for _, earlier in distinct]
        if rule.is_loss == avoid and not any(
            rule.holds_for <= ids or rule.holds_for >= ids for ids in before
        ):
            distinct.append((action, rule))
    return distinct


def _rule(action: str, rule: Separation, period: Period) -> str:
    """A rule with its counts."""
    about = f"{_of_action(action, period)}{clause(rule.conditions)}"
    return sentence(f"{about}: {risk(rule)}{_as_of(action, rule, period)}")


def _as_of(action: str, rule: Separation, period: Period) -> str:
    """As of how many outcomes a rule was read, if there are more by now."""
    read = rule.met[1] + rule.other[1]
    return f" (as of {read} outcomes)" if read < len(by_action(period.outcomes)[action]) else ""


def _of_action(action: str, period: Period) -> str:
    """Of which action a rule is, if there are several."""
    return f"{plain(action, 40)} " if len(by_action(period.outcomes)) > 1 else ""


def _outside(action: str, rule: Separation, period: Period) -> str:
    """What a rule about losses means for wins, by its counts."""
    inside, outside = (count_of(of - lost, of) for lost, of in (rule.met, rule.other))
    return sentence(
        f"{_of_action(action, period)}other than {clause(rule.conditions)}: then {outside} were "
        f"{words_of(period).wins}, and {inside} if this holds{_as_of(action, rule, period)}"
    )


def _silent(period: Period, *, avoid: bool) -> str:
    """That nothing separates a group, with its counts, and what nobody recorded."""
    words, total = words_of(period), len(period.outcomes)
    name, status = (words.losses, "failure") if avoid else (words.wins, "success")
    count = sum(o.result.status == status for o in period.outcomes)
    if not count:
        return ""
    if count == total:
        return sentence(f"all {total} outcomes are {name}: there is nothing to compare them with")
    if min(count, total - count) < _ENOUGH:
        return sentence(f"too few to compare: {count_of(count, total)} were {name}")
    missing = f"; not recorded: {listed(period.unrecorded)}" if period.unrecorded else ""
    which = f"{name} ({count_of(count, total)})"
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
    rules = [*_distinct(period, avoid=True), *_distinct(period, avoid=False)]
    sized = [rule for rule in rules if any(map(is_size, rule[1].conditions))]
    yield from (_rule(*rule, period) for rule in sized[:RULES])


def _description(period: Period) -> str:
    """What it is, from how many outcomes, and when to use it."""
    names = [plain(action, 40) for action in by_action(period.outcomes)][:_ACTIONS]
    worst = _distinct(period, avoid=True)[:1]
    above = f" Riskiest {clause(worst[0][1].conditions)}." if worst else ""
    text = (
        f"What {len(period.outcomes)} outcomes in {plain(period.domain, 64)} say together: "
        f"{results(period.outcomes, period)}.{above} "
        f"Use before {listed(names, last='or')}."
    )
    return shorten(text.replace("<", "").replace(">", ""), DESCRIPTION)

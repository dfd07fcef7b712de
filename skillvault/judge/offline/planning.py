"""The text of a strategy of the profile `seed`: what the latest outcomes of a domain say together.

Only what was tested stands as a rule; a section for which there is nothing is left out.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from skillvault.judge.offline.drafting import USE, bulleted, described
from skillvault.learning.account.rules import group_by_action
from skillvault.learning.account.sentences import outlier_sentence
from skillvault.model.brief import Draft, Period
from skillvault.model.conditions import Condition, Separation, clause, lead_line, risk
from skillvault.model.records import Outcome, Status
from skillvault.model.speech import fitting, plain, sentence
from skillvault.model.text.text import count_of, figure, listed, percent

RULES = 3  # of one section
_ACTIONS = 4


def planned(brief: Period) -> Draft | None:
    """Return the draft of a strategy; None of no outcome."""
    if not brief.outcomes:
        return None
    writers: tuple[tuple[str, Callable[[Period], Iterator[str]]], ...] = (
        (brief.heading, _context),
        ("Entry Rules", partial(_rules, avoid=False)),
        ("Position Sizing", _sizing),
        ("What to Avoid", partial(_rules, avoid=True)),
        ("Performance Notes", _notes),
    )
    lines = [(heading, list(write(brief))) for heading, write in writers]
    sections = tuple((heading, bulleted(texts)) for heading, texts in lines if texts)
    if not sections:
        return None
    ranked = sorted(lines, key=lambda section: section[0] not in _TOLD_FIRST)
    first = (text for _, texts in ranked for text in texts)
    return Draft(fitting(plain(brief.domain, 64), 64), described(_use(brief), first), sections)


def _use(period: Period) -> str:
    """Before which actions, as many of the most frequent as there is room for."""
    names = [plain(action, 40) for action in group_by_action(period.outcomes)][:_ACTIONS]
    uses = (
        f"before {listed(names[:count], last='or')} in {plain(period.domain, 64)}"
        for count in range(len(names), 0, -1)
    )
    return next((use for use in uses if len(use) <= USE), f"before {names[0]}")


_TOLD_FIRST = ("What to Avoid", "Entry Rules", "Position Sizing")


def _ended(outcomes: Iterable[Outcome], status: Status) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.result.status == status]


# ── what separates ───────────────────────────────────────────────────────────────────


def _sizing(period: Period) -> Iterator[str]:
    rules = [*_distinct(period, avoid=True), *_distinct(period, avoid=False)]
    yield from (_rule(rule, period) for rule in rules[:RULES] if _is_sized(rule))


def _rules(period: Period, *, avoid: bool) -> Iterator[str]:
    rules = [rule for rule in _distinct(period, avoid=avoid) if not _is_sized(rule)]
    yield from (_rule(rule, period) for rule in rules[:RULES])


def _distinct(period: Period, *, avoid: bool) -> list[Separation]:
    """Return the surest rules first; what an earlier one tells of the same outcomes is left."""
    distinct: list[Separation] = []
    for rule in sorted(period.rules, key=lambda rule: -rule.z):
        if rule.is_loss == avoid and not any(
            rule.holds_for <= earlier.holds_for or rule.holds_for >= earlier.holds_for
            for earlier in distinct
        ):
            distinct.append(rule)
    return distinct


def _rule(rule: Separation, period: Period) -> str:
    """A rule with its counts, of which action if there are several."""
    several = len(group_by_action(period.outcomes)) > 1
    about = f"{plain(rule.action, 40)} " if several else ""
    if rule.lead:
        return f"{about.rstrip()}: {lead_line(rule)}" if about else lead_line(rule)
    return sentence(f"{about}{clause(rule.conditions)}: {risk(rule)}")


def _is_sized(rule: Separation) -> bool:
    """Whether a rule is about how large something was."""
    return any(map(_is_size, rule.conditions))


def _is_size(condition: Condition) -> bool:
    key = condition.key.casefold()
    return key == "entry_value" or any(word in key for word in ("leverage", "size", "stake"))


# ── figures ──────────────────────────────────────────────────────────────────────────


def _context(period: Period) -> Iterator[str]:
    """What stood out of the greatest loss and the greatest gain."""
    yield from map(outlier_sentence, period.outliers)


def _notes(period: Period) -> Iterator[str]:
    """What each action came to: together and on average, else how many succeeded."""
    actions = list(group_by_action(period.outcomes).items())[:_ACTIONS]
    if period.graded:
        yield from (f"{plain(action, 40)}: {_came_to(of)}." for action, of in actions)
    else:
        rates = (
            f"{plain(action, 40)} {count_of(len(_ended(of, 'success')), len(of))}"
            for action, of in actions
        )
        yield f"Succeeded: {', '.join(rates)}."


def _came_to(outcomes: Sequence[Outcome]) -> str:
    """`12 decisions, +340 USD together, +1.2 % on average`."""
    parts = [f"{len(outcomes)} decision{'s' * (len(outcomes) > 1)}", *_together(outcomes)]
    scores = [o.result.score for o in outcomes if o.result.score is not None]
    if scores:
        of = f" of {len(scores)}" if len(scores) < len(outcomes) else ""
        parts.append(f"{percent(sum(scores) / len(scores))} on average{of}")
    return ", ".join(parts)


def _together(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """The sum of the amounts, unit by unit."""
    sums: dict[str, float] = {}
    counts: Counter[str] = Counter()
    every = list(outcomes)
    for outcome in every:
        if outcome.result.amount is not None:
            unit = plain(outcome.result.unit or "", 20)
            sums[unit] = sums.get(unit, 0.0) + outcome.result.amount
            counts[unit] += 1
    for unit, total in sorted(sums.items(), key=lambda pair: (-counts[pair[0]], pair[0])):
        of = f" of {counts[unit]}" if counts[unit] < len(every) else ""
        sign = "+" if total > 0 else ""
        yield f"{sign}{figure(total)} {unit}".strip() + f" together{of}"

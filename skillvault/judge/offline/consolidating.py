"""The text of a pattern skill: facts that say the same, numbered, and what follows of them."""

from collections import Counter
from collections.abc import Iterator, Sequence

from skillvault.brief import Draft, Recurrence
from skillvault.judge.offline.speech import plain, sentence
from skillvault.records import Evaluation, Fact
from skillvault.text import count_of, inert, listed, shorten

_MOST = 5
FACT = 600  # characters of a fact that a skill repeats


def consolidated(brief: Recurrence) -> Draft:
    """Consolidated Learning, Application, Origin."""
    sections = (
        ("Consolidated Learning", _numbered(brief.facts)),
        ("Application", "\n".join(f"- {line}" for line in _application(brief))),
        ("Origin", "\n".join(f"- {line}" for line in _origin(brief))),
    )
    return Draft(
        brief.theme, _description(brief), tuple((name, text) for name, text in sections if text)
    )


def _numbered(facts: Sequence[Fact]) -> str:
    return "\n".join(f"{number}. {inert(f.text, FACT)}" for number, f in enumerate(facts, 1))


def _application(brief: Recurrence) -> Iterator[str]:
    """What to do, most often advised first; else where it holds."""
    advice = Counter(
        " ".join(e.better_approach.split()) for e in brief.evaluations if e.better_approach
    )
    ordered = sorted(advice.items(), key=lambda pair: (-pair[1], pair[0]))
    yield from (inert(text, 300) for text, _ in ordered[:_MOST])
    if brief.kind == "pattern":
        yield from _merits([e for e in brief.evaluations if e.was_good_decision])


def _merits(good: Sequence[Evaluation]) -> Iterator[str]:
    """What the good decisions did, most common first, each with the words of one of them."""
    said: dict[str, list[str]] = {}
    for evaluation in good:
        for strength in evaluation.strengths:
            merit, quote, words = strength.partition(": “")
            if quote:
                said.setdefault(merit, []).append(quote + words)
    told: set[str] = set()
    for merit, quotes in sorted(said.items(), key=lambda pair: (-len(pair[1]), pair[0]))[:_MOST]:
        fresh = next((quote for quote in quotes if quote not in told), None)
        if fresh is not None:
            told.add(fresh)
            lead = f"{count_of(len(quotes), len(good))} good decisions" if len(good) > 1 else "it"
            yield sentence(f"{lead}: {inert(merit, 80)}{fresh}")


def _origin(brief: Recurrence) -> Iterator[str]:
    """How much stands behind it."""
    outcomes = [brief.outcomes[e.id] for e in brief.evaluations if e.id in brief.outcomes]
    ended = Counter(o.result.status for o in outcomes)
    if outcomes:
        counts = listed(f"{ended[s]} {s}" for s in ("success", "failure", "neutral") if ended[s])
        sessions = len({o.session for o in outcomes})
        yield (
            f"{len(outcomes)} evaluation{'s' * (len(outcomes) > 1)} ({counts}) from "
            f"{sessions} session{'s' * (sessions > 1)}"
        )
        if brief.against:
            yield f"{brief.against} evaluation{'s' * (brief.against > 1)} against it"
        first, last = min(o.occurred_at for o in outcomes), max(o.occurred_at for o in outcomes)
        days = dict.fromkeys((f"{first:%Y-%m-%d}", f"{last:%Y-%m-%d}"))
        yield f"Seen {' to '.join(days)}"
    by_hand = sum(f.kind == "human" for f in brief.facts)
    if by_hand:
        yield f"{count_of(by_hand, len(brief.facts))} facts written by a person"
    about = Counter(_about(e, brief) for e in brief.evaluations if e.id in brief.outcomes)
    if about:
        top = sorted(about.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST]
        yield f"Decisions: {listed(f'{name} ({count})' for name, count in top)}"


def _about(evaluation: Evaluation, brief: Recurrence) -> str:
    decision = brief.outcomes[evaluation.id].decision
    on = f" on {plain(decision.target, 40)}" if decision.target else ""
    return f"{plain(decision.action, 40)}{on}"


def _description(brief: Recurrence) -> str:
    """The designs' sentence, and when to use it."""
    count = len(brief.facts)
    noun = "fact" if count == 1 else "facts"
    actions = Counter(o.decision.action for o in brief.outcomes.values())
    names = [plain(a, 40) for a, _ in sorted(actions.items(), key=lambda p: (-p[1], p[0]))[:3]]
    when = f"before {listed(names, last='or')}" if names else f"for decisions in {brief.domain}"
    text = (
        f"Generated from {count} related memory {noun}: {brief.theme.replace('-', ' ')}. "
        f"Use {when}."
    )
    return shorten(text.replace("<", "").replace(">", ""), 400)

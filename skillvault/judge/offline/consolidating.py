"""The text of a pattern skill: facts that say the same, numbered, and what follows of them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from skillvault.judge.offline.drafting import described
from skillvault.judge.offline.speech import plain, sentence, subject
from skillvault.model.brief import Draft, Recurrence
from skillvault.model.records import Fact, Outcome
from skillvault.model.text.text import count_of, listed, tokens, whole

_MOST = 5
_ROOM = 280  # tokens of the facts in a text of at most 400
FACT = 600  # characters of a fact that a skill repeats


def consolidated(brief: Recurrence) -> Draft:
    """Consolidated Learning, Application, Origin."""
    sections = (
        ("Consolidated Learning", _numbered(brief.facts)),
        ("Application", "\n".join(f"- {line}" for line in _application(brief))),
        ("Origin", _origin(brief)),
    )
    return Draft(
        brief.theme, _description(brief), tuple((name, text) for name, text in sections if text)
    )


def _numbered(facts: Sequence[Fact]) -> str:
    """The facts within a text's length, at least one; those without room are counted."""
    lines: list[str] = []
    for number, fact in enumerate(facts, 1):
        line = f"{number}. {whole(fact.text, FACT)}"
        if lines and tokens("\n".join([*lines, line])) > _ROOM:
            return "\n".join([*lines, f"{number}. And {len(facts) - len(lines)} more alike."])
        lines.append(line)
    return "\n".join(lines)


def _application(brief: Recurrence) -> Iterator[str]:
    """What to do, most often advised first."""
    advice = Counter(
        " ".join(e.better_approach.split()) for e in brief.evaluations if e.better_approach
    )
    ordered = sorted(advice.items(), key=lambda pair: (-pair[1], pair[0]))
    texts = [fact.text for fact in brief.facts]
    fresh = (text for text, _ in ordered if not any(text in fact for fact in texts))
    yield from (whole(text, 300) for text in islice(fresh, _MOST))


def _origin(brief: Recurrence) -> str:
    """How much stands behind it, in one line."""
    outcomes = [brief.outcomes[e.id] for e in brief.evaluations if e.id in brief.outcomes]
    parts = list(_supporters(outcomes))
    if outcomes and brief.against:
        parts.append(f"{brief.against} evaluation{'s' * (brief.against > 1)} against it")
    if by_hand := sum(f.kind == "human" for f in brief.facts):
        parts.append(f"{count_of(by_hand, len(brief.facts))} facts written by a person")
    return f"- {sentence('; '.join(parts))}" if parts else ""


def _supporters(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """How many outcomes, how they ended, of when, and on what."""
    if not outcomes:
        return
    ended = Counter(outcome.result.status for outcome in outcomes)
    counts = listed(f"{ended[s]} {s}" for s in ("success", "failure", "neutral") if ended[s])
    sessions = len({outcome.session for outcome in outcomes})
    times = [outcome.occurred_at for outcome in outcomes]
    days = dict.fromkeys(f"{time:%Y-%m-%d}" for time in (min(times), max(times)))
    yield (
        f"{len(outcomes)} evaluation{'s' * (len(outcomes) > 1)} ({counts}) from "
        f"{sessions} session{'s' * (sessions > 1)}, {' to '.join(days)}"
    )
    about = Counter(map(subject, outcomes))
    top = sorted(about.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST]
    yield listed(f"{name} ({count})" for name, count in top)


def _description(brief: Recurrence) -> str:
    """When to use it, and the designs' sentence."""
    count = len(brief.facts)
    noun = "fact" if count == 1 else "facts"
    actions = Counter(o.decision.action for o in brief.outcomes.values())
    names = [plain(a, 40) for a, _ in sorted(actions.items(), key=lambda p: (-p[1], p[0]))[:3]]
    when = f"before {listed(names, last='or')}" if names else f"for decisions in {brief.domain}"
    about = brief.theme.replace("-", " ")
    return described(when, [f"Generated from {count} related memory {noun}: {about}."])

"""The sources of an evolved skill: what they are called, and the record behind them in lines."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from skillvault.brief import Agreement
from skillvault.judge.offline.speech import figure, held_for, plain
from skillvault.records import Outcome, Scalar, Skill, stamp
from skillvault.text import count_of, listed, percent

MOST = 0.6  # the share of sources from which on something is common to them
_MAX_CONTEXT = 8
_MAX_TARGETS = 8
_NAME = 40  # characters of a name
_ENDINGS = 20  # so many sources have their end told, the newest


class Sources(Struct, frozen=True, dict=True):
    """The sources, oldest first.

    `skills` are those whose text is read; `every` names them and those for whom an evolved
    one among them speaks, which is no source itself. `count` is how many may say a thing.
    `about` is what each alone is about, as it was recorded ("" where it shares that with
    another or it is not one thing), `names` what it is called in the text.
    """

    domain: str
    skills: tuple[Skill, ...]
    every: tuple[str, ...]
    outcomes: Mapping[str, tuple[Outcome, ...]]
    about: Mapping[str, str]
    names: Mapping[str, str]
    count: int

    @cached_property
    def all_outcomes(self) -> list[Outcome]:
        """Every outcome once, oldest first."""
        found = {o.id: o for each in self.outcomes.values() for o in each}
        return sorted(found.values(), key=lambda o: o.order)

    @property
    def known(self) -> frozenset[str]:
        """Whatever a source may have been called, now or when there were fewer."""
        subjects = {plain(_subject(of), _NAME) for of in self.outcomes.values()}
        return frozenset({*self.every, *self.names.values(), *subjects} - {""})


def sources_of(brief: Agreement) -> Sources:
    """The sources of a brief."""
    skills = tuple(sorted(brief.skills, key=lambda s: (s.created or "", s.name)))
    plain_ones = [skill.name for skill in skills if skill is not brief.evolved]
    every = (*brief.spoken_for, *plain_ones)
    outcomes = dict.fromkeys((*every, *(s.name for s in skills)), ()) | dict(brief.outcomes)
    subjects = {name: _subject(outcomes[name]) for name in every}
    counts = Counter(subjects.values())
    about = {name: said if counts[said] == 1 else "" for name, said in subjects.items()}
    names = {name: plain(about[name], _NAME) or name for name in every}
    count = len(every) if brief.spoken_for else len(skills)
    return Sources(brief.domain, skills, every, outcomes, about, names, count)


def _subject(outcomes: Sequence[Outcome]) -> str:
    """The one target of these outcomes, their one action where they have no target."""
    found = {o.decision.target or o.decision.action for o in outcomes}
    return next(iter(found)) if len(found) == 1 else ""


# ── lines ────────────────────────────────────────────────────────────────────────────


def decided(outcomes: Iterable[Outcome]) -> str:
    """What was decided, action by action: `open_long on SOL-PERP and ARB-PERP`."""
    targets: dict[str, dict[str, None]] = {}
    for outcome in outcomes:
        on = targets.setdefault(plain(outcome.decision.action), {})
        if outcome.decision.target:
            on[plain(outcome.decision.target)] = None
    return "; ".join(f"{action} on {_some(on)}" if on else action for action, on in targets.items())


def actions(outcomes: Iterable[Outcome]) -> str:
    """The actions alone, most frequent first."""
    counts = Counter(plain(o.decision.action) for o in outcomes)
    return listed(sorted(counts, key=lambda a: (-counts[a], a))[:3], last="or")


def _some(names: Iterable[str]) -> str:
    every = list(names)
    more = [f"{len(every) - _MAX_TARGETS} more"] if len(every) > _MAX_TARGETS else []
    return listed([*every[:_MAX_TARGETS], *more])


def entered(outcomes: Sequence[Outcome]) -> str:
    """The context at entry that most of them share: `funding high in all, leverage 3 to 5`."""
    keys = dict.fromkeys(key for o in outcomes for key in o.context)
    told = [_shared(plain(key), [o.context.get(key) for o in outcomes]) for key in keys]
    told.append(_shared("confidence", [o.decision.confidence for o in outcomes]))
    return "; ".join([each for each in told if each][:_MAX_CONTEXT])


def _shared(key: str, values: Sequence[Scalar]) -> str:
    """What the values of one key have in common; "" for nothing."""
    there = [v for v in values if v not in (None, "")]
    if len(there) < max(2, MOST * len(values)):
        return ""
    numbers = [v for v in there if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) == len(there) and len(set(numbers)) > 1:
        return f"{key} {figure(min(numbers))} to {figure(max(numbers))}"
    value, count = Counter(map(_told, there)).most_common(1)[0]
    if count < MOST * len(values):
        return ""
    return f"{key} {value} in {'all' if count == len(values) else count_of(count, len(values))}"


def _told(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return figure(value) if isinstance(value, int | float) else plain(str(value))


def evidence(sources: Sources) -> Iterator[str]:
    """How the sources' outcomes ended: all together, then source by source, newest first."""
    outcomes = sources.all_outcomes
    if outcomes:
        yield f"All together: {_ended(outcomes)}."
    newest = sorted(sources.every, key=lambda name: _latest(sources.outcomes[name]))[::-1]
    for source in newest[:_ENDINGS]:
        of, name = sources.outcomes[source], sources.names[source]
        where = "" if name == source else f" ({source})"
        ended = _result(of[0]) if len(of) == 1 else _ended(of) if of else "no outcome is recorded"
        yield f"{name}: {ended}{where}"
    if len(newest) > _ENDINGS:
        yield f"{len(newest) - _ENDINGS} more, in archive/"


def _latest(outcomes: Sequence[Outcome]) -> str:
    return max((stamp(o.occurred_at) for o in outcomes), default="")


def _ended(outcomes: Sequence[Outcome]) -> str:
    """Counts and average: `3 of 3 outcomes ended in failure, average score -14.4 %`."""
    counts = Counter(o.result.status for o in outcomes)
    status, count = max(sorted(counts.items()), key=lambda pair: pair[1])
    word = {"neutral": "neutral"}.get(status, f"in {status}")
    scores = [o.result.score for o in outcomes if o.result.score is not None]
    average = f", average score {percent(sum(scores) / len(scores))}" if scores else ""
    return f"{count_of(count, len(outcomes))} outcomes ended {word}{average}"


def _result(outcome: Outcome) -> str:
    score, span = outcome.result.score, held_for(outcome)
    parts = [
        outcome.result.status,
        f" at {percent(score)}" if score is not None else "",
        f" after {span}" if span else "",
    ]
    return f"{''.join(parts)}, {outcome.occurred_at:%Y-%m-%d}"

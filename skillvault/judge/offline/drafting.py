"""The texts of warnings, patterns and evolved skills, and of skills that retell sessions.

Each statement stands in the section it belongs to; a section without statements is left out.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from typing import NamedTuple

from skillvault.judge.offline.lines import HEADINGS, ranked_lines, sections_of
from skillvault.judge.offline.speech import (
    amount_in,
    fitting,
    plain,
    sentence,
    subject,
)
from skillvault.model.brief import (
    Agreement,
    Cause,
    Draft,
    Extreme,
    Findings,
    InsightKind,
    Recurrence,
    RefusedAnswers,
    RefusedClaims,
    Rule,
    SessionExcerpt,
    Statement,
    Tools,
)
from skillvault.model.conditions import Condition, named
from skillvault.model.records import (
    Fact,
    Outcome,
    Scalar,
    Session,
    SessionFailure,
    SessionSuccess,
    SkillKind,
)
from skillvault.model.sameness.comparison import same
from skillvault.model.sameness.form import Form, normal_form
from skillvault.model.text.text import count_of, figure, listed, percent, slug, tokens, whole

TITLE = 70
DESCRIPTION = 400
USE = 95  # characters that say when to use it: a host may show no more than a hundred
_MAX_CONTEXT = 8
_ERROR = 40  # characters of an error in a title
# What a cause is called if nothing that can be counted says more.
CAUSES: dict[InsightKind, str] = {
    "lesson": "a lesson of its agent's",
    "stopped": "stopped at an announced step",
    "unchecked": "went on unchecked",
    "exposed": "went without a way out",
    "guess": "rested on an assumption",
    "claim": "reported success and was refused",
    "risk": "the risk that was named came",
    "ground": "a ground that did not hold",
    "found": "what its runs told",
}


def drafted(brief: Findings) -> Draft | None:
    """A draft of a warning or a pattern; None for a kind that is neither."""
    if brief.kind not in HEADINGS:
        return None
    lines = sections_of(brief)
    outcomes = brief.account.outcomes
    if len(outcomes) == 1 and not any(isinstance(s, Cause) for s in brief.statements):
        first = HEADINGS[brief.kind][0]
        lines = {first: [*lines.pop(first, []), *_entry(outcomes[0])], **lines}
    sections = tuple((name, bulleted(texts)) for name, texts in lines.items() if texts)
    about = subject(outcomes[0])
    ranked = (line for _, line in ranked_lines(brief))
    description = described(f"before {about}", ranked)
    return Draft(titled(about, brief.statements, brief.kind), description, sections)


def bulleted(lines: Iterable[str]) -> str:
    """Lines as a list, each once."""
    return "\n".join(f"- {line}" for line in dict.fromkeys(lines) if line)


def _entry(outcome: Outcome) -> Iterator[str]:
    """The context at entry, in one line: of an outcome of which nothing more is known."""
    context = {key: value for key, value in outcome.context.items() if value not in (None, "")}
    values = [f"{plain(key)} {_value(value)}" for key, value in context.items()]
    del values[_MAX_CONTEXT:]
    if outcome.result.entry_value is not None:
        values.append(f"entry value {amount_in(outcome.result.entry_value, outcome)}")
    if values:
        yield f"At entry: {'; '.join(values)}."


def _value(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return figure(value) if isinstance(value, int | float) else plain(str(value))


# ── title and description ────────────────────────────────────────────────────────────


def titled(about: str, statements: Sequence[Statement], kind: SkillKind) -> str:
    """The subject and the first rule or cause, without quotes; the subject alone if none fits."""
    gists = (_gist(statement, kind) for statement in statements)
    for gist in filter(None, gists):
        title = f"{about}: {gist}"
        if fitting(title, TITLE) == title:
            return title
    return fitting(about, TITLE)


def described(use: str, ranked: Iterable[str]) -> str:
    """When to use it, then the first of what it tells, as far as whole sentences fit."""
    fits = use if len(use) <= USE else fitting(use, USE)
    description = f"Use {fits}.".translate(_UNTAGGED)
    for text in ranked:
        longer = f"{description} {text.removeprefix('[ ] ')}".translate(_UNTAGGED)
        if len(longer) > DESCRIPTION:
            break
        description = longer
    return description


_UNTAGGED = str.maketrans("<>", "‹›")  # a host may take the first for a tag; a sign stays one


def _gist(statement: Statement, kind: SkillKind) -> str:  # noqa: PLR0911 (one a kind)
    """A statement as part of a title: `mentions breakout`, `decided 18-24 UTC`."""
    match statement:
        case Rule():
            return " and ".join(map(_condition_briefly, statement.separation.conditions))
        case RefusedAnswers():
            return f"refused {listed(plain(value, 20) for value, _ in statement.refused[:3])}"
        case Extreme():
            verb = "lost" if statement.score < 0 else "gained"
            return f"{verb} {percent(abs(statement.score)).lstrip('+')}"
        case Cause(kind="error", quote=quote):
            return fitting(whole(quote, _ERROR), _ERROR)
        case Cause():
            return CAUSES.get(statement.kind, "") if kind == "warning" else "what worked"
        case RefusedClaims():
            return "success was claimed and refused"
        case Tools():
            return f"used {listed(plain(name, 20) for name in statement.names)}"
    return ""


def _condition_briefly(condition: Condition) -> str:
    if condition.kind == "word":
        verb = "mentions" if condition.op == "mentions" else "no mention of"
        return f"{verb} {plain(str(condition.value))}"
    if condition.kind == "window" and isinstance(condition.value, tuple):
        low, high = condition.value
        no = "not " if condition.op == "outside" else ""
        return f"{no}decided {low:02.0f}-{high:02.0f} UTC"
    return named(condition)


_NAMED = 8  # targets
_ACTIONS = 3
_ENDED: dict[SkillKind, str] = {"warning": "failed or lost", "pattern": "succeeded or gained"}


def joined(brief: Agreement) -> Draft:
    """Synthesized Insight, When This Applies with its counts, Key Principles."""
    together = brief.together
    lines = sections_of(together)
    first, second, *others = HEADINGS[together.kind]
    sections = (
        ("Synthesized Insight", [*lines.get(first, []), *lines.get(second, [])]),
        ("When This Applies", [_when(brief)]),
        ("Key Principles", [line for heading in others for line in lines.get(heading, [])]),
    )
    counts = Counter(plain(f.account.outcomes[0].decision.action) for f in brief.apart)
    about = listed(sorted(counts, key=lambda a: (-counts[a], a))[:_ACTIONS], last="or")
    ranked = (line for _, line in ranked_lines(together))
    return Draft(
        titled(about, together.statements, together.kind),
        described(f"before {about}", ranked),
        tuple((heading, bulleted(texts)) for heading, texts in sections if texts),
    )


def _when(brief: Agreement) -> str:
    targets: dict[str, list[str]] = {}
    for findings in brief.apart:
        decision = findings.account.outcomes[0].decision
        names = targets.setdefault(plain(decision.action), [])
        names += [plain(decision.target)] if decision.target else []
    about = (f"{action} on {_some(on)}" if on else action for action, on in targets.items())
    ended = f"{_count(brief.together)} {_ENDED[brief.together.kind]}"
    return sentence(f"before {'; '.join(about)} ({ended})")


def _some(names: list[str]) -> str:
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return listed([*names[:_NAMED], *more])


def _count(findings: Findings) -> str:
    """How many ended so, the small losses and gains with the others."""
    status = "failure" if findings.kind == "warning" else "success"
    outcomes = findings.account.outcomes
    return count_of(sum(o.result.status == status for o in outcomes), len(outcomes))


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


FAILED, WORKED = "What Failed and Why", "What Then Worked"
_LEMMA, _REASON, _ATTEMPT, _TEXT = 60, 300, 160, 300  # characters
_LABELS = 8
_MOST_LEMMAS = 3  # lemmas that a description names


class _Told(NamedTuple):
    """A line, the sessions that say it, and whether its lemma was overcome."""

    lemma: str
    line: str
    form: Form
    sessions: list[str]
    is_overcome: bool


def recounted(brief: SessionExcerpt) -> Draft | None:
    """Both parts, those that more sessions say first; None where no line says anything."""
    overcome = {_key(success.lemma) for one in brief.sessions for success in one.successes}
    failed = _ranked(_failures(brief.sessions, overcome))
    worked = _ranked(_successes(brief.sessions))
    failures = [_counted(told, brief) for told in failed]
    successes = [_counted(told, brief) for told in worked]
    sections = ((FAILED, bulleted(failures)), (WORKED, bulleted(successes)))
    lemmas = list(dict.fromkeys(told.lemma for told in (*failed, *worked)))
    if not lemmas:
        return None
    return Draft(
        fitting(listed(lemmas[:2]), TITLE),
        described(
            f"before {listed(lemmas[:_MOST_LEMMAS], last='or')}", _alternating(successes, failures)
        ),
        tuple((heading, text) for heading, text in sections if text),
        tags=_labels([label for one in brief.sessions for label in one.tags], lemmas),
        roles=_labels(label for one in brief.sessions for label in one.roles),
        stages=_labels(label for one in brief.sessions for label in one.stages),
    )


def _failures(sessions: Iterable[Session], overcome: set[str]) -> list[_Told]:
    lines: list[_Told] = []
    for one in sessions:
        for failure in one.failures:
            if line := _failure_line(failure):
                told = _Told(
                    plain(failure.lemma, _LEMMA),
                    line,
                    normal_form(f"{failure.lemma}: {failure.reason}"),
                    [one.id],
                    _key(failure.lemma) in overcome,
                )
                _add(lines, told)
    return lines


def _successes(sessions: Iterable[Session]) -> list[_Told]:
    lines: list[_Told] = []
    for one in sessions:
        for success in one.successes:
            if line := _success_line(success):
                form = normal_form(f"{success.lemma}: {success.text}")
                _add(lines, _Told(plain(success.lemma, _LEMMA), line, form, [one.id], True))
    return lines


def _add(lines: list[_Told], new: _Told) -> None:
    """One line more, or one session more that says it, whatever it had tried."""
    for told in lines:
        if same(told.form, new.form):
            told.sessions.extend(name for name in new.sessions if name not in told.sessions)
            return
    lines.append(new)


def _ranked(lines: Iterable[_Told]) -> list[_Told]:
    """What most sessions say first; of equals what was overcome."""
    return sorted(lines, key=lambda told: (-len(told.sessions), not told.is_overcome))


def _failure_line(failure: SessionFailure) -> str:
    """`checkout timeout: the gateway answers 504 (after: raise the timeout)`."""
    reason = whole(failure.reason, _REASON).rstrip(".")
    attempt = whole(failure.attempt, _ATTEMPT).rstrip(".")
    tried = f" (after: {attempt})" if attempt else ""
    lemma = plain(failure.lemma, _LEMMA)
    return sentence(f"{lemma}: {reason or 'failed'}{tried}") if reason or attempt else ""


def _success_line(success: SessionSuccess) -> str:
    text = whole(success.text, _TEXT)
    return sentence(f"{plain(success.lemma, _LEMMA)}: {text}") if text else ""


def _counted(told: _Told, brief: SessionExcerpt) -> str:
    """A line; of several sessions with how many of them say it."""
    if len(brief.sessions) == 1:
        return told.line
    counts = count_of(len(told.sessions), len(brief.sessions))
    return sentence(f"{told.line.rstrip('.')} ({counts} sessions)")


def _alternating(first: Sequence[str], second: Sequence[str]) -> Iterator[str]:
    """One of the first, one of the second, and so on."""
    for pair in zip_longest(first, second):
        yield from filter(None, pair)


def _labels(stated: Iterable[str], lemmas: Iterable[str] = ()) -> tuple[str, ...]:
    """What sessions state, then what they are about, as slugs."""
    names = (slug(name, limit=40) for name in (*stated, *lemmas))
    return tuple(dict.fromkeys(filter(None, names)))[:_LABELS]


def _key(lemma: str) -> str:
    return " ".join(lemma.casefold().split())

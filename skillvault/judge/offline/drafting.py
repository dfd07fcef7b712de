"""The texts of warnings, patterns and evolved skills, and of skills that retell sessions.

Each statement stands in the section it belongs to; a section without statements is left out.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from typing import NamedTuple

from skillvault.model.brief import (
    AVOID,
    RULES,
    Agreement,
    Draft,
    Findings,
    Recurrence,
    SessionExcerpt,
    Statement,
)
from skillvault.model.phrases import cut_name, describe_subject, inline, make_sentence
from skillvault.model.records import (
    Fact,
    Outcome,
    Session,
    SessionFailure,
    SessionSuccess,
    SkillKind,
)
from skillvault.model.sameness.comparison import is_same
from skillvault.model.sameness.form import Form, normal_form
from skillvault.model.text.text import count_of, count_tokens, join_items, slug, whole_sentences

TITLE = 160
DESCRIPTION = 400
USE = 95  # characters that say when to use it: a host may show no more than a hundred
_TARGETS = 8  # that a description names
_NAMES = 60  # characters of the names
_CHECKS = ("check", "verify", "test", "confirm", "make sure", "look", "compare", "measure", "wait")
_PLANS = ("stop", "size", "exit", "limit", "rollback", "hedge", "leverage")

STRATEGY = ("Entry Rules", "What to Avoid", "Performance Notes")
GUIDE = (RULES, "Do", AVOID, "Refused", "Tried")
WARNING = ("Pattern to Recognize", "What Went Wrong", "Better Approach", "Checklist")
PATTERN = ("Pattern Conditions", "Why It Worked", "Entry Criteria", "Risk Management")
_HEADINGS = {"warning": WARNING, "pattern": PATTERN, "strategy": STRATEGY}
_GUIDE_SECTIONS: Mapping[str, str] = {
    "lesson": "Do", "worked": "Do", "tools": "Do", "failed": AVOID, "claimed": AVOID,
    "rule": RULES, "answers": "Refused", "tried": "Tried",
}  # fmt: skip
_GRADED_SECTIONS: Mapping[str, tuple[str, str]] = {  # of a warning, of a pattern
    "entry": (WARNING[0], PATTERN[0]),
    "outlier": (WARNING[0], PATTERN[0]),
    "rule": (WARNING[0], PATTERN[0]),
    "extreme": (WARNING[1], PATTERN[1]),
    "failed": (WARNING[1], PATTERN[1]),
    "worked": (WARNING[2], PATTERN[1]),
    "answers": (WARNING[1], PATTERN[1]),
    "claimed": (WARNING[3], PATTERN[3]),
    "lesson": (WARNING[2], PATTERN[2]),
}


def drafted(brief: Findings) -> Draft | None:
    """Return the draft of a skill of an account; None if nothing is to be said."""
    lines = sections_of(brief)
    if not lines:
        return None
    sections = tuple((name, bulleted(texts)) for name, texts in lines.items())
    texts = (statement.text for statement in brief.statements if statement.kind != "tried")
    return Draft(_title(brief), described(_use_of(brief), texts), sections)


def sections_of(brief: Findings) -> dict[str, list[str]]:
    """Return heading -> its sentences, each statement in one section, in the order of headings."""
    headings = _HEADINGS.get(brief.kind, GUIDE)
    lines: dict[str, list[str]] = {heading: [] for heading in headings}
    for statement in brief.statements:
        heading = _heading(statement, brief.kind)
        box = "[ ] " if heading == "Checklist" else ""
        lines[heading].append(f"{box}{statement.text}")
    return {heading: texts for heading, texts in lines.items() if texts}


def _heading(statement: Statement, kind: SkillKind) -> str:
    """Return the section where a statement is acted on."""
    if kind == "strategy":
        entry, avoid, notes = STRATEGY
        return notes if statement.rule is None else avoid if statement.rule.is_loss else entry
    if kind not in ("warning", "pattern"):
        return _GUIDE_SECTIONS[statement.kind]
    text = statement.text.casefold()
    if kind == "warning" and statement.kind == "lesson" and text.startswith(_CHECKS):
        return "Checklist"
    is_plan = any(word in text for word in _PLANS)
    if kind == "pattern" and statement.kind in ("worked", "lesson") and is_plan:
        return "Risk Management"
    return _GRADED_SECTIONS[statement.kind][kind == "pattern"]


def bulleted(lines: Iterable[str]) -> str:
    """Lines as a list, each once."""
    return "\n".join(f"- {line}" for line in dict.fromkeys(lines) if line)


# ── title and description ────────────────────────────────────────────────────────────


def _title(brief: Findings) -> str:
    """Return what a skill is about, with the first of what it says that a title has room for."""
    latest = brief.account.outcomes[-1]
    if brief.kind == "strategy":
        return cut_name(inline(latest.domain), TITLE)
    names = {"guide": latest.decision.action, "evolved": latest.domain}
    return _entitled(inline(names.get(brief.kind, "")) or describe_subject(latest), brief)


def _entitled(about: str, brief: Findings) -> str:
    """Return a title with a rule, a lesson or the like, or what several runs say."""
    told = (one for one in brief.statements if one.kind != "tried")
    gists = (one.gist or one.text * (len(one.supporting) > 1) for one in told)
    titles = (f"{about}: {gist.rstrip('.')}" for gist in gists if gist)
    fits = (title for title in titles if len(title) <= TITLE)
    return cut_name(next(fits, about), TITLE)


def _use_of(brief: Findings) -> str:
    """Return when to use a skill, in the words by which people ask for it."""
    outcomes = brief.account.outcomes
    if brief.kind in ("evolved", "strategy"):
        actions = dict.fromkeys(inline(outcome.decision.action) for outcome in outcomes)
        return f"before {_some(list(actions), 'action', last='or')}"
    if brief.kind != "guide":
        return f"before {describe_subject(outcomes[0])}"
    targets = list(dict.fromkeys(inline(o.decision.target or "") for o in reversed(outcomes)))
    named = [target for target in targets if target]
    use = f"before {inline(outcomes[-1].decision.action)}"
    room = min(_NAMES, USE - len(f"{use} on  and 10 other targets"))
    return f"{use} on {_some(named, 'target', room=room)}" if named else use


def _some(names: Sequence[str], noun: str, *, last: str = "and", room: int = _NAMES) -> str:
    """Return names as a list, the first of many."""
    shown = list(names[:_TARGETS])
    while len(shown) > 1 and len(", ".join(shown)) > room:
        shown.pop()
    count = len(names) - len(shown)
    more = [f"{count} other {noun}{'s' * (count > 1)}"] if count else []
    return join_items([*shown, *more], last=last)


def described(use: str, ranked: Iterable[str], most: int = DESCRIPTION) -> str:
    """When to use it, then of what it tells the first whole sentences that fit."""
    fits = use if len(use) <= most // 2 else cut_name(use, most // 2)
    description = f"Use {fits}.".translate(_UNTAGGED)
    for text in ranked:
        longer = f"{description} {text.removeprefix('[ ] ')}".translate(_UNTAGGED)
        description = longer if len(longer) <= most else description
    return description


_UNTAGGED = str.maketrans("<>", "‹›")  # a host may take the first for a tag; a sign stays one


_ENDED: dict[SkillKind, str] = {"warning": "failed or lost", "pattern": "succeeded or gained"}


def joined(brief: Agreement) -> Draft:
    """Return Synthesized Insight, When This Applies with its counts, Key Principles."""
    together = brief.together
    lines = list(sections_of(together).items())
    sections = (
        ("Synthesized Insight", [text for _, texts in lines[:2] for text in texts]),
        ("When This Applies", [_when(brief)]),
        ("Key Principles", [text for _, texts in lines[2:] for text in texts]),
    )
    counts = Counter(inline(f.account.outcomes[0].decision.action) for f in brief.apart)
    about = _some(sorted(counts, key=lambda a: (-counts[a], a)), "action", last="or")
    texts = (statement.text for statement in together.statements)
    return Draft(
        _entitled(about, together),
        described(f"before {about}", texts),
        tuple((heading, bulleted(texts)) for heading, texts in sections if texts),
    )


def _when(brief: Agreement) -> str:
    targets: dict[str, list[str]] = {}
    for findings in brief.apart:
        decision = findings.account.outcomes[0].decision
        names = targets.setdefault(inline(decision.action), [])
        names += [inline(decision.target)] if decision.target else []
    about = (f"{a} on {_some(on, 'target')}" if on else a for a, on in targets.items())
    ended = f"{_count(brief.together)} {_ENDED[brief.together.kind]}"
    return make_sentence(f"before {'; '.join(about)} ({ended})")


def _count(findings: Findings) -> str:
    """Return how many ended so, the small losses and gains with the others."""
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
        line = f"{number}. {whole_sentences(fact.text, FACT)}"
        if lines and count_tokens("\n".join([*lines, line])) > _ROOM:
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
    yield from (whole_sentences(text, 300) for text in islice(fresh, _MOST))


def _origin(brief: Recurrence) -> str:
    """How much stands behind it, in one line."""
    outcomes = [brief.outcomes[e.id] for e in brief.evaluations if e.id in brief.outcomes]
    parts = list(_supporters(outcomes))
    if outcomes and brief.against:
        parts.append(f"{brief.against} evaluation{'s' * (brief.against > 1)} against it")
    if by_hand := sum(f.kind == "human" for f in brief.facts):
        parts.append(f"{count_of(by_hand, len(brief.facts))} facts written by a person")
    return f"- {make_sentence('; '.join(parts))}" if parts else ""


def _supporters(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """How many outcomes, how they ended, of when, and on what."""
    if not outcomes:
        return
    ended = Counter(outcome.result.status for outcome in outcomes)
    counts = join_items(f"{ended[s]} {s}" for s in ("success", "failure", "neutral") if ended[s])
    sessions = len({outcome.session for outcome in outcomes})
    times = [outcome.occurred_at for outcome in outcomes]
    days = dict.fromkeys(f"{time:%Y-%m-%d}" for time in (min(times), max(times)))
    yield (
        f"{len(outcomes)} evaluation{'s' * (len(outcomes) > 1)} ({counts}) from "
        f"{sessions} session{'s' * (sessions > 1)}, {' to '.join(days)}"
    )
    about = Counter(map(describe_subject, outcomes))
    top = sorted(about.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST]
    yield join_items(f"{name} ({count})" for name, count in top)


def _description(brief: Recurrence) -> str:
    """When to use it, and the designs' sentence."""
    count = len(brief.facts)
    noun = "fact" if count == 1 else "facts"
    actions = Counter(o.decision.action for o in brief.outcomes.values())
    names = [inline(a, 40) for a, _ in sorted(actions.items(), key=lambda p: (-p[1], p[0]))[:3]]
    when = f"before {join_items(names, last='or')}" if names else f"for decisions in {brief.domain}"
    about = brief.theme.replace("-", " ")
    origin = f"Generated from {count} related memory {noun}: {about}."
    return described(when, [origin, *(fact.text for fact in brief.facts)])


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
        cut_name(join_items(lemmas[:2]), TITLE),
        described(
            f"before {join_items(lemmas[:_MOST_LEMMAS], last='or')}",
            _alternating(successes, failures),
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
                    inline(failure.lemma, _LEMMA),
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
                _add(lines, _Told(inline(success.lemma, _LEMMA), line, form, [one.id], True))
    return lines


def _add(lines: list[_Told], new: _Told) -> None:
    """One line more, or one session more that says it, whatever it had tried."""
    for told in lines:
        if is_same(told.form, new.form):
            told.sessions.extend(name for name in new.sessions if name not in told.sessions)
            return
    lines.append(new)


def _ranked(lines: Iterable[_Told]) -> list[_Told]:
    """What most sessions say first; of equals what was overcome."""
    return sorted(lines, key=lambda told: (-len(told.sessions), not told.is_overcome))


def _failure_line(failure: SessionFailure) -> str:
    """`checkout timeout: the gateway answers 504 (after: raise the timeout)`."""
    reason = whole_sentences(failure.reason, _REASON).rstrip(".")
    attempt = whole_sentences(failure.attempt, _ATTEMPT).rstrip(".")
    tried = f" (after: {attempt})" if attempt else ""
    lemma = inline(failure.lemma, _LEMMA)
    return make_sentence(f"{lemma}: {reason or 'failed'}{tried}") if reason or attempt else ""


def _success_line(success: SessionSuccess) -> str:
    text = whole_sentences(success.text, _TEXT)
    return make_sentence(f"{inline(success.lemma, _LEMMA)}: {text}") if text else ""


def _counted(told: _Told, brief: SessionExcerpt) -> str:
    """A line; of several sessions with how many of them say it."""
    if len(brief.sessions) == 1:
        return told.line
    counts = count_of(len(told.sessions), len(brief.sessions))
    return make_sentence(f"{told.line.rstrip('.')} ({counts} sessions)")


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

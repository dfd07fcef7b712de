"""The first look at a person's transcripts, shown by `skillvault try`: lessons and repeated rules.

The selection works on values; `take_first_look` reads a vault for it.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, pairwise, zip_longest

from msgspec import Struct

from skillvault.learning.corrections import terms_of
from skillvault.learning.tries.deed import deed_of
from skillvault.learning.tries.repairs import is_repair, words_of
from skillvault.model.decision_outcomes import scope_of
from skillvault.model.reasoning import describe_cause
from skillvault.model.records import Correction, Outcome, Ref, Status
from skillvault.model.skill_evidence import StatementEvidence
from skillvault.model.text.text import shorten, terms
from skillvault.vault.index.snapshot import Snapshot, evidence_of

_MAX_LESSONS = 3
_MAX_QUOTE, _MAX_DEED, _MAX_TASK = 160, 220, 120  # characters of words, deeds and requests
_MIN_TERMS = 2  # terms of a rule that other words can repeat
_MAX_TERMS = 12  # terms of a text; more do not make it better
_NO_ACTION = "work"  # the action of a request that names none


class Moment(Struct, frozen=True):
    """The time, session and repository of an outcome."""

    at: datetime
    session: str
    repository: str
    outcome: str


class PersonalRule(Struct, frozen=True):
    """A rule that a person stated, with the request before each statement."""

    text: str
    origins: tuple[Moment, ...]
    tasks: tuple[str, ...]


class Takeaway(Struct, frozen=True):
    """A lesson: its heading, its labelled lines, and its origins.

    `task` is a request that the lesson is for; `words` are expected in a recommendation for such a
    request.
    """

    heading: str
    lines: tuple[tuple[str, str], ...]
    origins: tuple[Moment, ...]
    task: str
    words: str


class Need(Struct, frozen=True):
    """A request in a repository, and words expected in a recommendation for such a request."""

    repository: str
    task: str
    words: str

    def is_met(self, lines: Iterable[str]) -> bool:
        """Return True if a line has half of the words."""
        need_terms = terms(self.words)
        return any(2 * len(need_terms & terms(line)) >= len(need_terms) for line in lines)


class FirstLook(Struct, frozen=True, kw_only=True):
    """The lessons, and the rules that no file contains, best first; `ended` counts the prompts.

    `needs` are requests for which something was learned.
    """

    ended: Mapping[Status, int]
    sessions: int
    repositories: tuple[str, ...]
    span: tuple[datetime, datetime] | None
    lessons: tuple[Takeaway, ...]
    rules: tuple[PersonalRule, ...]
    needs: tuple[Need, ...]


def take_first_look(snapshot: Snapshot, is_in_file: Callable[[str, str], bool]) -> FirstLook:
    """Return the first look at a vault; see `choose` for `is_in_file`."""
    names = [row.name for row in snapshot.skills.unarchived_rows("guide")]
    guides = {
        skill.subject or "": evidence.statements
        for name, skill in snapshot.skills.get_many(names).items()
        if (evidence := evidence_of(snapshot, Ref("skill", name)))
    }
    outcomes = [outcome for outcome in snapshot.outcomes.values() if outcome.trust == "local"]
    return choose(outcomes, snapshot.corrections.waiting(), guides, is_in_file)


def choose(
    outcomes: Iterable[Outcome],
    corrections: Iterable[Correction],
    guides: Mapping[str, Sequence[StatementEvidence]],
    is_in_file: Callable[[str, str], bool],
) -> FirstLook:
    """Choose the lessons and rules that are worth showing, in any order of the records.

    `guides` are the statements of guides by subject. `is_in_file(repository, rule)` is True if a
    file of instructions has the rule already.
    """
    sorted_outcomes = sorted(outcomes, key=lambda outcome: outcome.order)
    by_id = {outcome.id: outcome for outcome in sorted_outcomes}
    rules = rank_rules(sorted_outcomes, corrections)
    repeats = [rule for rule in rules if len(rule.origins) > 1]
    stories = [*_stories(sorted_outcomes, rules)]
    groups = (
        [_repeat_lesson(rule) for rule in repeats],
        [lesson for is_told, lesson in stories if is_told],
        [*_guide_lessons(guides, by_id)],
        [lesson for is_told, lesson in stories if not is_told],
    )
    lessons = choose_lessons(groups)
    lesson_outcomes = {origin.outcome for lesson in lessons for origin in lesson.origins}
    unwritten_rules = [
        rule
        for rule in rules
        if not lesson_outcomes.issuperset(origin.outcome for origin in rule.origins)
        and not is_in_file(rule.origins[0].repository, rule.text)
    ]
    needs = [Need(lesson.origins[0].repository, lesson.task, lesson.words) for lesson in lessons]
    needs += [Need(r.origins[0].repository, r.tasks[0], r.text) for r in unwritten_rules]
    times = [outcome.occurred_at for outcome in sorted_outcomes]
    return FirstLook(
        ended=Counter(outcome.result.status for outcome in sorted_outcomes),
        sessions=len({outcome.session for outcome in sorted_outcomes}),
        repositories=tuple(dict.fromkeys(filter(None, map(_repository_of, sorted_outcomes)))),
        span=(times[0], times[-1]) if times else None,
        lessons=lessons,
        rules=tuple(unwritten_rules),
        needs=tuple(needs),
    )


def choose_lessons(groups: Iterable[Sequence[Takeaway]]) -> tuple[Takeaway, ...]:
    """Choose the best lesson of each group, then the second lessons; each outcome once."""
    lessons: list[Takeaway] = []
    used_outcomes: set[str] = set()
    for lesson in filter(None, chain.from_iterable(zip_longest(*groups))):
        outcomes = {origin.outcome for origin in lesson.origins}
        if used_outcomes.isdisjoint(outcomes) and len(lessons) < _MAX_LESSONS:
            used_outcomes |= outcomes
            lessons.append(lesson)
    return tuple(lessons)


# ── rules ────────────────────────────────────────────────────────────────────────────


def rank_rules(
    outcomes: Sequence[Outcome], corrections: Iterable[Correction]
) -> list[PersonalRule]:
    """Return the rules that persons stated, the most repeated first.

    A statement with all terms of a rule repeats the rule. A rule whose words are among the words of
    a rule with fewer terms is left out.
    """
    spoken: dict[Correction, list[Outcome]] = {}
    for correction in sorted(corrections, key=lambda correction: correction.id):
        scope_outcomes = [o for o in outcomes if scope_of(o) == correction.scope]
        spoken[correction] = [o for o in scope_outcomes if _repeats(correction, words_of(o))]
    rules = [
        PersonalRule(
            text=correction.text,
            origins=tuple(map(_origin_of, statements)),
            tasks=tuple(outcome.decision.task for outcome in statements),
        )
        for correction, statements in spoken.items()
        if statements and not _is_part(correction, spoken)
    ]
    return sorted(
        rules, key=lambda rule: (-len(rule.origins), -rule.origins[-1].at.timestamp(), rule.text)
    )


def _repeats(correction: Correction, words: str) -> bool:
    rule_terms = terms_of(correction.text)
    is_same = " ".join(correction.text.split()) in " ".join(words.split())
    return is_same or (len(rule_terms) >= _MIN_TERMS and rule_terms <= terms_of(words))


def _is_part(correction: Correction, spoken: Mapping[Correction, Sequence[Outcome]]) -> bool:
    """Return True if a more repeated rule shares a term and has all statements of this one."""
    ids = {outcome.id for outcome in spoken[correction]}
    return any(
        ids < {outcome.id for outcome in statements}
        and terms_of(rule.text) & terms_of(correction.text)
        for rule, statements in spoken.items()
    )


def _repeat_lesson(rule: PersonalRule) -> Takeaway:
    count = format_times(len(rule.origins))
    return Takeaway(
        heading=f'You said it {count}: "{shorten(rule.text, _MAX_QUOTE)}"',
        lines=(("the last time after", f'"{shorten(rule.tasks[-1], _MAX_TASK)}"'),),
        origins=rule.origins,
        task=rule.tasks[-1],
        words=rule.text,
    )


def format_times(count: int) -> str:
    """Return a count in words: `once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


# ── failures that were repaired ──────────────────────────────────────────────────────


def _stories(
    outcomes: Sequence[Outcome], rules: Collection[PersonalRule]
) -> Iterator[tuple[bool, Takeaway]]:
    """Yield the lesson of each failure with an observed repair, and True if a person saw it."""
    sessions: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        sessions.setdefault(outcome.session, []).append(outcome)
    in_rules = {origin.outcome for rule in rules for origin in rule.origins}
    stories = [
        (failure, repair, deed)
        for session in sessions.values()
        for failure, repair in pairwise(session)
        if is_repair(failure, repair) and (deed := deed_of(repair))
    ]

    def sort_key(story: tuple[Outcome, Outcome, str]) -> tuple[bool, int, float, str]:
        failure, _, deed = story
        size = sum(min(len(terms(text)), _MAX_TERMS) for text in (words_of(failure), deed))
        return failure.id in in_rules, -size, -failure.occurred_at.timestamp(), failure.id

    for failure, repair, deed in sorted(stories, key=sort_key):
        words, task = words_of(failure), failure.decision.task
        cause = describe_cause(failure) or failure.result.summary
        heading = f'You said "{shorten(words, _MAX_QUOTE)}"'
        lesson = Takeaway(
            heading=heading if words else f"It failed: {shorten(cause, _MAX_QUOTE)}",
            lines=(
                ("after", f'"{shorten(task, _MAX_TASK)}"'),
                ("what worked then", shorten(deed, _MAX_DEED)),
            ),
            origins=(_origin_of(failure), _origin_of(repair)),
            task=task,
            words=deed,
        )
        yield bool(words), lesson


# ── guides ───────────────────────────────────────────────────────────────────────────


def _guide_lessons(
    guides: Mapping[str, Sequence[StatementEvidence]], outcomes: Mapping[str, Outcome]
) -> Iterator[Takeaway]:
    """Yield a lesson for each action in a repository that worked and failed, most tries first."""
    tries: dict[tuple[str, str], dict[str, Outcome]] = {}
    for name, outcome in outcomes.items():
        key = (outcome.decision.action, _repository_of(outcome))
        tries.setdefault(key, {})[name] = outcome
    lessons = []
    for (action, repository), group in tries.items():
        statements = [
            statement
            for subject, guide in guides.items()
            if subject.split(" / ")[1:2] == [action] != [_NO_ACTION]
            for statement in guide
            if group.keys() & statement.supporting
        ]
        groups = {kind: [s for s in statements if s.kind == kind] for kind in ("worked", "failed")}
        if not all(groups.values()):
            continue
        statuses = Counter(outcome.result.status for outcome in group.values())
        counts = statuses["success"], statuses["failure"]
        best = {kind: max(group, key=_weight) for kind, group in groups.items()}
        names = [name for statement in best.values() for name in statement.supporting]
        origins = tuple(_origin_of(group[name]) for name in names if name in group)
        request = f"{action} something" + (f" in {repository}" if repository else "")
        lesson = Takeaway(
            heading=f"Asked to {request}: {counts[0]} of {sum(counts)} tries worked",
            lines=(
                ("do", shorten(best["worked"].statement, _MAX_DEED)),
                ("avoid", shorten(best["failed"].statement, _MAX_DEED)),
            ),
            origins=origins,
            task=outcomes[origins[-1].outcome].decision.task,
            words=best["failed"].statement,
        )
        lessons.append(((min(counts), sum(counts), action, repository), lesson))
    yield from (lesson for _, lesson in sorted(lessons, key=lambda pair: pair[0], reverse=True))


def _weight(statement: StatementEvidence) -> tuple[int, int, str]:
    size = min(len(terms(statement.statement)), 2 * _MAX_TERMS)
    return len(statement.supporting) + len(statement.others_against), size, statement.statement


def _origin_of(outcome: Outcome) -> Moment:
    return Moment(outcome.occurred_at, outcome.session, _repository_of(outcome), outcome.id)


def _repository_of(outcome: Outcome) -> str:
    return str(outcome.context.get("repository") or "")

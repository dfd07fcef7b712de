"""The first look: what is chosen of some outcomes, corrections and guides, as values."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest
from msgspec.structs import replace

from skillvault.inspect.first_look import FirstLook, choose, format_times, rank_rules
from skillvault.model.decision_outcomes import NEXT_WORDS
from skillvault.model.records import Correction, Outcome
from skillvault.model.skill_evidence import StatementEvidence
from tests.given import START, outcome, raw

UV = "we use uv here, never pip"


def prompt(minute: int, task: str, *, session: str = "s-1", **result: Any) -> Outcome:
    """A prompt of a session in the repository shop."""
    at = START + timedelta(minutes=minute)
    fields: dict[str, Any] = {
        "context": {"repository": "shop"},
        "source": {"agent": "a", "session": session},
    }
    decision = {"action": "add", "task": task, "made_at": at.isoformat()}
    told = {"status": "neutral", **result}
    return outcome(raw(occurred_at=at.isoformat(), decision=decision, result=told, **fields))


def refused(minute: int, task: str, words: str, **more: Any) -> Outcome:
    """A prompt whose work a person refused in these words."""
    quotation = {"summary": f"{NEXT_WORDS}{words}", "next_words": words}
    return prompt(minute, task, status="failure", observed_by="person", **quotation, **more)


def repaired(minute: int, words: str, claim: str, **more: Any) -> Outcome:
    """A prompt of these words, after which a check passed."""
    summary = "`pytest -q` passed with exit code 0"
    told = {"observed_by": "exit-code", "summary": summary, "claim": claim, **more}
    return prompt(minute, words, status="success", **told)


def correction(text: str, name: str = "rule") -> Correction:
    """A rule that a person stated in shop."""
    return Correction(
        id=name, domain="coding", text=text, scope="shop", session="s-1", created_at=START
    )


def look(
    outcomes: Sequence[Outcome],
    corrections: Sequence[Correction] = (),
    guides: Mapping[str, Sequence[StatementEvidence]] | None = None,
    in_files: Sequence[str] = (),
) -> FirstLook:
    return choose(outcomes, corrections, guides or {}, lambda _, rule: rule in in_files)


OLD_PRICES = refused(0, "make the import of prices faster", "customers see old prices now")
CACHE = repaired(5, "customers see old prices now", "The import clears the cache of each price.")


def test_other_words_repeat_a_rule_if_they_have_its_terms() -> None:
    outcomes = [
        refused(0, "add a filter", f"no, {UV}"),
        refused(9, "add an export", "again pip... it's uv in this repo", session="s-2"),
        refused(19, "add a test", "that is too slow", session="s-3"),
    ]
    (rule,) = rank_rules(outcomes, [correction(UV)])
    assert [moment.session for moment in rule.origins] == ["s-1", "s-2"]
    (lesson,) = look(outcomes, [correction(UV)]).lessons
    assert lesson.heading == f'You said it twice: "{UV}"'


def test_words_that_a_shorter_rule_covers_are_no_rule_of_their_own() -> None:
    later = "you put pip into the image. Only uv please, as everywhere in this repo"
    outcomes = [
        refused(0, "add a filter", f"no, {UV}"),
        refused(9, "fix the image", later, session="s-2"),
    ]
    rules = [correction(UV, "a"), correction("Only uv please, as everywhere in this repo", "b")]
    assert [rule.text for rule in rank_rules(outcomes, rules)] == [UV]


def test_two_rules_of_one_sentence_are_two_rules() -> None:
    outcomes = [refused(0, "add a view", "no, log with structlog. Money is Decimal here.")]
    rules = [correction("log with structlog", "a"), correction("Money is Decimal here", "b")]
    assert len(rank_rules(outcomes, rules)) == 2


def test_a_rule_that_a_file_has_is_not_said_in_vain() -> None:
    outcomes = [refused(0, "add a filter", f"no, {UV}")]
    assert [rule.text for rule in look(outcomes, [correction(UV)]).rules] == [UV]
    assert not look(outcomes, [correction(UV)], in_files=[UV]).rules


def test_a_rule_that_a_lesson_tells_is_not_told_again() -> None:
    outcomes = [refused(n, "add a filter", f"no, {UV}", session=f"s-{n}") for n in range(3)]
    first_look = look(outcomes, [correction(UV)])
    assert len(first_look.lessons) == 1
    assert not first_look.rules


def test_a_failure_teaches_with_the_repair_that_a_check_saw() -> None:
    (lesson,) = look([OLD_PRICES, CACHE]).lessons
    assert lesson.heading == 'You said "customers see old prices now"'
    assert dict(lesson.lines)["what worked then"].startswith("The import clears the cache")
    assert [moment.outcome for moment in lesson.origins] == [OLD_PRICES.id, CACHE.id]


@pytest.mark.parametrize(
    "follower",
    [
        prompt(5, "customers see old prices now"),  # nobody knows how it ended
        repaired(5, "now add a test", "A test is there."),  # about something else
        repaired(5, "customers see old prices now", "", done="Edit a.py: replace `a` by `b`"),
    ],
    ids=["no end", "another task", "calls alone"],
)
def test_a_failure_without_a_repair_in_words_is_no_lesson(follower: Outcome) -> None:
    assert not look([OLD_PRICES, follower]).lessons


def test_a_check_that_failed_and_passed_later_teaches() -> None:
    summary, error = "`pytest -q` failed with exit code 1", "ImportError: no name utc"
    failed = {"status": "failure", "observed_by": "exit-code", "summary": summary}
    failure = prompt(0, "upgrade django", evidence=error, **failed)
    repair = repaired(5, "look at the imports", "I replaced the name utc by timezone.utc.")
    (lesson,) = look([failure, repair]).lessons
    assert lesson.heading == f"It failed: {error}"


def test_a_guide_teaches_if_something_worked_and_something_failed() -> None:
    worked, failed = repaired(0, "add a column", ""), refused(5, "add a page", "anybody sees it")
    sides = [
        StatementEvidence(statement="Backfill it first.", kind="worked", supporting=(worked.id,)),
        StatementEvidence(statement="No decorator.", kind="failed", supporting=(failed.id,)),
    ]
    guides = {"coding / add": sides, "coding / fix": sides[:1], "coding / work": sides}
    (lesson,) = look([worked, failed], guides=guides).lessons
    assert lesson.heading == "Asked to add something in shop: 1 of 2 tries worked"
    assert lesson.lines == (("do", "Backfill it first."), ("avoid", "No decorator."))
    worked = replace(worked, context={"repository": "pickup"})
    assert look([worked, failed], guides=guides).lessons == ()  # nothing worked in this repository


def test_each_kind_of_lesson_comes_before_a_second_of_one() -> None:
    outcomes = [refused(n, "add a filter", f"no, {UV}", session=f"s-{n}") for n in (20, 30)]
    outcomes += [refused(n, "log it", "log with structlog", session=f"s-{n}") for n in (40, 50)]
    rules = [correction(UV, "a"), correction("log with structlog", "b")]
    headings = [lesson.heading for lesson in look([*outcomes, OLD_PRICES, CACHE], rules).lessons]
    assert headings == [
        'You said it twice: "log with structlog"',
        'You said "customers see old prices now"',
        f'You said it twice: "{UV}"',
    ]


def test_the_order_of_the_outcomes_makes_no_difference() -> None:
    outcomes = [OLD_PRICES, CACHE, refused(9, "add a filter", f"no, {UV}", session="s-2")]
    looks = {repr(look(order, [correction(UV)])) for order in permutations(outcomes)}
    assert len(looks) == 1


def test_nothing_to_learn_is_no_lesson() -> None:
    first_look = look([prompt(0, "thanks")])
    assert not first_look.lessons
    assert not first_look.rules
    assert look([]).span is None


def test_how_often_is_told_in_words() -> None:
    assert [format_times(count) for count in (1, 2, 3)] == ["once", "twice", "3 times"]

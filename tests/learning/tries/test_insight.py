"""insights: what an outcome shows by itself, of which kind, the most telling first."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.tries.insight import insights_of
from skillvault.model.decision_outcomes import NEXT_WORDS
from skillvault.model.records import Status
from tests.given import outcome, raw

ERROR = "FAILED test_payment - assert 504 == 200"
STOPPED = (
    "I read it. Let me open the second tab. Let me add the columns. Now let me run the checks."
)
UNCHECKED = "I merge the change without testing the migration on a copy."
EXPOSED = "I open the position at full size with no stop."
GUESS = "I assume that the cache key needs no tenant."
CERTAIN = "This is a sure thing, all in."
CLAIM = "Read it. Summed it. Compared it. Wrote the page. The report has been saved with 12 rows."
RISK = "The canary could fail on the old servers."
GROUND = "I raise the timeout because the machine is slow."
PLAIN = "Raise the timeout of the checkout test."
CHECKED = "I verified the total with 50 runs of the sheet."
FOUND = "The actual cause is that `checkout_test` binds port 8080 as `payment_test` does."
LESSON = {
    "when": "two tests share a port",
    "do": "give each its own.",
    "because": "the second one fails",
}


def _shown(reasoning: str, status: Status = "failure", **changes: Any) -> list[tuple[str, str]]:
    result = {"status": status, **changes.pop("result", {})}
    found = insights_of(outcome(raw(decision__reasoning=reasoning, result=result, **changes)))
    return [(insight.kind, insight.quote) for insight in found]


@pytest.mark.parametrize(
    ("reasoning", "kind", "quote"),
    [
        (STOPPED, "stopped", "Now let me run the checks."),
        (UNCHECKED, "unchecked", UNCHECKED),
        (EXPOSED, "exposed", EXPOSED),
        (GUESS, "guess", GUESS),
        (CERTAIN, "certainty", CERTAIN),
        (CLAIM, "claim", "The report has been saved with 12 rows."),
        (RISK, "risk", RISK),
        (GROUND, "ground", GROUND),
        (PLAIN, "ground", PLAIN),
        ("The final answer is 24.", "answer", "24"),
    ],
)
def test_a_failure_shows_what_was_not_done_checked_or_known(
    reasoning: str, kind: str, quote: str
) -> None:
    assert _shown(reasoning) == [(kind, quote)]


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        (UNCHECKED, EXPOSED, "unchecked"),
        (EXPOSED, GUESS, "exposed"),
        (GUESS, CERTAIN, "guess"),
        (CERTAIN, RISK, "certainty"),
        (RISK, GROUND, "risk"),
    ],
)
def test_of_two_shortcomings_the_one_is_shown_that_can_be_acted_on(
    first: str, second: str, kind: str
) -> None:
    assert [shown for shown, _ in _shown(f"{first} {second}")] == [kind]
    assert [shown for shown, _ in _shown(f"{second} {first}")] == [kind]


@pytest.mark.parametrize(
    ("result", "quote"),
    [
        ({"evidence": f"collected 3 items\n{ERROR}\n"}, ERROR),
        ({"evidence": f"E   {ERROR}"}, ERROR),
        ({"summary": "stopped out during the cascade"}, "stopped out during the cascade"),
    ],
)
def test_an_error_is_what_the_result_says_of_it(result: dict[str, str], quote: str) -> None:
    assert _shown("", result=result) == [("error", quote)]


@pytest.mark.parametrize("reasoning", [GROUND, CERTAIN, f"{GROUND} {GUESS}", CLAIM])
def test_words_of_a_person_that_refuse_the_work_do_not_say_that_its_reason_was_wrong(
    reasoning: str,
) -> None:
    result = {"observed_by": "person", "summary": f"{NEXT_WORDS}undo that commit"}
    assert _shown(reasoning, result=result) == []
    assert _shown(reasoning, result=result, lesson=LESSON)[0][0] == "lesson"


@pytest.mark.parametrize("summary", ["verifier reward 0.00", "failed", "FAIL", "score: 0"])
def test_a_bare_verdict_is_no_error(summary: str) -> None:
    assert _shown("", result={"summary": summary}) == []


@pytest.mark.parametrize("reasoning", [CLAIM, RISK])
def test_what_the_result_says_is_told_in_place_of_a_claim_or_a_risk(reasoning: str) -> None:
    assert _shown(reasoning, result={"evidence": ERROR}) == [("error", ERROR)]


@pytest.mark.parametrize("reasoning", [CLAIM, RISK, GROUND])
def test_a_refused_answer_is_told_in_place_of_the_ground(reasoning: str) -> None:
    assert _shown(reasoning, result={"answer": "24"}) == [("answer", "24")]


@pytest.mark.parametrize("reasoning", [GROUND, STOPPED, UNCHECKED, EXPOSED, GUESS, CERTAIN])
def test_the_ground_and_what_was_left_undone_are_told_beside_it(
    reasoning: str,
) -> None:
    kinds = [kind for kind, _ in _shown(reasoning, result={"evidence": ERROR})]
    assert kinds[0] == "error"
    assert len(kinds) == 2


def test_an_error_a_refused_answer_and_a_guess_stand_in_this_order() -> None:
    shown = _shown(GUESS, result={"evidence": ERROR, "answer": "24"})
    assert shown == [("error", ERROR), ("answer", "24"), ("guess", GUESS)]


@pytest.mark.parametrize(
    ("reasoning", "kinds"),
    [
        (FOUND, ["found"]),
        (CHECKED, ["check"]),
        (f"{FOUND} {CHECKED}", ["found", "check"]),
        ("I raise it because the machine answers in 4 s.", ["ground"]),
        (PLAIN, ["ground"]),
        ("", []),
    ],
)
def test_a_success_shows_what_was_found_how_it_was_checked_else_its_ground(
    reasoning: str, kinds: list[str]
) -> None:
    assert [kind for kind, _ in _shown(reasoning, "success")] == kinds


@pytest.mark.parametrize(
    "reasoning",
    [
        "Let me raise the timeout because the machine is slow.",
        "Here is why the machine of the checkout test is slow:",
        "I raised the timeout successfully because the machine is slow.",
        GUESS,
        UNCHECKED,
        EXPOSED,
    ],
)
def test_a_success_rests_on_no_announced_step_no_praise_and_no_luck(reasoning: str) -> None:
    assert _shown(reasoning, "success") == []


def test_an_answer_that_was_accepted_is_no_insight() -> None:
    shown = _shown("The final answer is 24.", "success", result={"answer": "24"})
    assert "answer" not in [kind for kind, _ in shown]


@pytest.mark.parametrize(("status", "reasoning"), [("failure", GUESS), ("success", CHECKED)])
def test_the_agents_lesson_comes_first_in_its_own_words(status: Status, reasoning: str) -> None:
    said = "when two tests share a port, give each its own, because the second one fails"
    shown = _shown(reasoning, status, lesson=LESSON)
    assert shown[0] == ("lesson", said)
    assert shown[1:] == _shown(reasoning, status)


def test_a_lesson_without_a_condition_is_what_to_do() -> None:
    assert _shown("", lesson={"do": "Give each its own."})[0] == ("lesson", "Give each its own")


@pytest.mark.parametrize("changes", [{}, {"lesson": LESSON}, {"result": {"evidence": ERROR}}])
def test_a_neutral_outcome_shows_nothing(changes: dict[str, Any]) -> None:
    assert _shown(f"{FOUND} {CHECKED} {GUESS}", "neutral", **changes) == []


SENTENCES = st.lists(
    st.sampled_from([STOPPED, UNCHECKED, EXPOSED, GUESS, CERTAIN, RISK, GROUND, PLAIN, CHECKED])
    | st.text(max_size=60),
    max_size=6,
).map(" ".join)


@given(SENTENCES, st.sampled_from(["failure", "success"]))
def test_each_kind_is_shown_at_most_once_and_quotes_the_reasoning(
    reasoning: str, status: Status
) -> None:
    shown = _shown(reasoning, status)
    assert len({kind for kind, _ in shown}) == len(shown)
    folded = " ".join(reasoning.split())
    assert all(" ".join(quote.split()) in folded for kind, quote in shown if kind != "answer")


RUN = (
    "Let me read the file. Let me look at row 9. {} Let me write the sheet. Now I sum the rows. "
    "The sheet is ready."
)


@pytest.mark.parametrize(
    ("sentence", "quote"),
    [
        ("The years are in row 9, not row 10.", "The years are in row 9, not row 10."),
        ('I see that the sheet `EU` stores text, e.g. "1.204,50", while `US` stores numbers.',
         'the sheet `EU` stores text, e.g. "1.204,50", while `US` stores numbers.'),
        ('The issue is that pandas reads the header, which has "???" but no values.',
         'pandas reads the header, which has "???" but no values.'),
        ("**LibreOffice** is not installed.", "LibreOffice is not installed."),
    ],
)  # fmt: skip
@pytest.mark.parametrize("status", ["failure", "success"])
def test_a_transcript_shows_what_it_saw(sentence: str, quote: str, status: Status) -> None:
    assert ("found", quote) in _shown(RUN.format(sentence), status)


@pytest.mark.parametrize(
    "sentence",
    [
        "It is not in row 9.",
        "The year might be in row 9, not in row 10.",
        "Now I need row 9 instead of row 10.",
        "All 9 rows have been written, not 8.",
        "Years: 2019 instead of 2018.",
        "Here are the rows, but only 9 of them:",
        "Is the year in row 9 and not in row 10?",
        "My script added row 9 instead of row 10.",
        "The year stands elsewhere but is there.",
    ],
    ids=["leans", "guess", "intention", "claim", "label", "lead", "question", "own work", "vague"],
)
def test_what_says_nothing_by_itself_was_not_seen(sentence: str) -> None:
    assert "found" not in [kind for kind, _ in _shown(RUN.format(sentence), "success")]


def test_what_the_task_says_was_not_seen_on_the_way() -> None:
    task = "Keep the years in row 9, not in row 10, and sum them."
    said = RUN.format("The years are in row 9, not in row 10.")
    assert "found" not in [kind for kind, _ in _shown(said, "success", decision__task=task)]
    told = RUN.format("The years are in row 7, not in row 10.")
    assert "found" in [kind for kind, _ in _shown(told, "success", decision__task=task)]


def test_a_transcript_that_thinks_aloud_guesses_and_fears_nothing() -> None:
    aloud = f"{RUN.format(GUESS)} {RISK} {GROUND}"
    assert {kind for kind, _ in _shown(aloud)} <= {"claim", "found"}

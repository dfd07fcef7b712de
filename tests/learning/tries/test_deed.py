"""The deed: what was done, in the outcome's own words, never cut before its point."""

from typing import Any

import pytest

from skillvault.learning.tries.tries import try_of
from tests.given import outcome, raw

LONG_STATE = (
    "The queue of the mail worker holds 14,000 messages since nine and grows by forty a minute. "
    "The log repeats one address that the remote host refuses. "
)
TRANSCRIPT = (
    "The user wants the missing rows filled.\n\nLet me read the workbook.\n\n"
    "Let me check the sheets.\n\nNow let me fill the rows.\n\n" + "It has many columns. " * 60
)


def deed(reasoning: str, **changes: Any) -> str:
    return try_of(outcome(raw(decision__reasoning=reasoning, **changes))).deed


@pytest.mark.parametrize(
    "note",
    [
        "Try 2.0 again with the wheels rebuilt from source.",
        "Low of the range at 22.40, stop 22.10.",
        "The server is slow at noon; no index yet.",
        "I'll raise the limit to 40 and watch the queue.",
    ],
)
def test_a_short_note_is_the_deed_whole(note: str) -> None:
    assert deed(note) == note


@pytest.mark.parametrize(
    ("said", "done"),
    [
        (f"{LONG_STATE}I skip one message.", "I skip one message."),
        (
            f"{LONG_STATE}I skip that one message.",
            "The log repeats one address that the remote host refuses. I skip that one message.",
        ),
        (
            f"{LONG_STATE}If it grows, I will stop. Stop: a hundred a minute. Wait a day.",
            "Wait a day.",
        ),
        (
            f"{LONG_STATE}Adding a node only buys time. Low load, so no node.",
            "Low load, so no node.",
        ),
        (
            f"{LONG_STATE}So I raise the batch from 10 to 50. It needs 2 GB more.",
            "So I raise the batch from 10 to 50. It needs 2 GB more.",
        ),
        (
            (
                f"Add a second worker beside the first one. {LONG_STATE}"
                "That looks like a lock, so I drop the lock."
            ),
            (
                "The log repeats one address that the remote host refuses. "
                "That looks like a lock, so I drop the lock."
            ),
        ),
        (
            f"Split the job in two. {LONG_STATE}",
            (
                "Split the job in two. The queue of the mail worker holds 14,000 messages since "
                "nine and grows by forty a minute."
            ),
        ),
        (
            f"{LONG_STATE}The risk is a late mail. Alternatively wait until noon. Cut it by half.",
            "Cut it by half.",
        ),
        (
            (
                "Reproduced under load in 4 of 20 runs: the click comes before the handler of the "
                "button is there, and nothing waits for it in any of the helpers of the suite. "
                "Wait for the handler instead of a time."
            ),
            "Wait for the handler instead of a time.",
        ),
    ],
)
def test_of_a_longer_note_the_sentence_that_does_most(said: str, done: str) -> None:
    assert deed(said) == done


def test_a_sentence_that_is_too_long_ends_with_a_clause() -> None:
    said = "Move the rows in batches of 500, " + "with a pause for each of the replicas, " * 5
    assert deed(said + "then set NOT NULL.").endswith("with a pause for each of the replicas")


def test_of_a_sentence_that_is_too_long_the_conclusion_stays() -> None:
    said = "The meter " + "writes thousands of warnings to the main log of each node, " * 4
    assert deed(f"{said}so I turn it off.") == "so I turn it off."


def test_a_step_that_is_only_announced_is_no_deed() -> None:
    assert deed("I look at the failing test first. I round at the end.") == "I round at the end."
    assert deed("I look at the code first.") == ""


@pytest.mark.parametrize(
    ("claim", "done"),
    [
        (
            "Replaced `utc` by `timezone.utc`; all green.",
            "Replaced `utc` by `timezone.utc`; all green",
        ),
        ("All tests pass now: sums are rounded once.", "sums are rounded once."),
        ("Done.", ""),
        ("Everything works and is done.", ""),
        ("All done, it works.", ""),
        ("I completed the task as requested, all tests passed.", ""),
    ],
)
def test_where_nothing_was_said_before_the_closing_words_count(claim: str, done: str) -> None:
    assert deed("", result__claim=claim) == done


@pytest.mark.parametrize(
    ("claim", "done"),
    [
        (
            "The query of tides.sql compared in UTC; it uses AT TIME ZONE now.",
            "The query of tides.sql compared in UTC; it uses AT TIME ZONE now.",
        ),
        ("The coupon test passes.", "I poll `queue` until the message arrives."),
    ],
)
def test_a_report_that_names_something_says_what_worked(claim: str, done: str) -> None:
    plan = "I poll `queue` until the message arrives."
    assert deed(plan, result={"status": "success", "claim": claim}) == done


def test_an_attempt_that_the_deed_completes_is_not_told_apart() -> None:
    tried = ["I add a lock around `latest`. → error: unused", "I let the test sleep. → 1 failed"]
    result = {"status": "success", "claim": "A lock around `latest` orders it.", "tried": tried}
    attempt = try_of(outcome(raw(decision__reasoning="", result=result)))
    assert attempt.tried == ("I let the test sleep → 1 failed",)


def test_of_many_attempts_only_the_last_are_told() -> None:
    tried = [f"I raise limit number {n}. → {n} failed" for n in range(2000)]
    result = {"status": "success", "claim": "A lock around `latest` orders it.", "tried": tried}
    attempt = try_of(outcome(raw(decision__reasoning="", result=result)))
    assert attempt.tried == tuple(
        f"I raise limit number {n} → {n} failed" for n in range(1997, 2000)
    )


def test_of_a_transcript_the_closing_report_says_what_was_done() -> None:
    closing = "Perfect!\n\n- Filled 15 cells from the row totals\n- Saved the file as `out.xlsx`"
    assert deed(TRANSCRIPT + closing) == "Filled 15 cells from the row totals"


def test_a_note_with_lists_is_no_transcript() -> None:
    said = "Merge the files.\n\nOurs has:\n- a\n\nTheirs has:\n- b\n\nThe base has:\n- c\n\n"
    assert deed(said + LONG_STATE) == "Merge the files. Ours has: a"


def test_of_a_transcript_without_a_report_the_answer_is_the_deed() -> None:
    attempt = try_of(outcome(raw(decision__reasoning=TRANSCRIPT + "\n\nThe answer is **-19**.")))
    assert (attempt.deed, attempt.answer) == ("Answered -19", "-19")


def test_a_task_that_is_said_again_is_no_deed() -> None:
    task = "Filled rows: have every missing row of the workbook filled from the totals."
    closing = "Perfect!\n\n- Filled every missing row of the workbook"
    assert deed(TRANSCRIPT + closing, decision__task=task) == ""


def test_a_lesson_is_no_deed() -> None:
    lesson = {"when": "the runner is slow", "do": "poll the queue"}
    attempt = try_of(outcome(raw(decision__reasoning=None, lesson=lesson)))
    assert (attempt.deed, len(attempt.advice)) == ("", 1)


@pytest.mark.parametrize(
    "done",
    [
        "Disambiguate the two functions.",
        "This patch moves the check before the loop.",
        "Thus we pass the index to the iterator.",
        "Solution: read the file again.",
        "Fix the leak by closing both handles.",
    ],
)
def test_what_a_change_does_stands_before_how_it_was(done: str) -> None:
    was = "When reading the file, we only look at its first line, which is wrong for most files. "
    assert deed(f"{was}Currently we use a list for the handles of all of them. {done}") == done

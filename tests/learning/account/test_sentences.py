"""sentences: how a statement reads, in whole sentences and with its counts."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from skillvault.learning.account.sentences import (
    answers_sentence,
    claims_sentence,
    deed_sentence,
    entry_sentence,
    labels_of,
    lesson_sentence,
    outlier_sentence,
    rule_sentence,
    tools_sentence,
    tried_line,
    tried_sentence,
)
from skillvault.learning.tries.tries import try_of
from skillvault.model.brief import Account, Advice, Outlier, RefusedAnswers, Try
from tests.given import START, outcome, raw
from tests.rules import EVENING, context


def tried(day: int = 0, **fields: Any) -> Try:
    """A try of a day that failed."""
    given = {"deed": "Raise the limit.", "result": "504 after 30 s", "status": "failure", **fields}
    return Try(
        id=f"o{day}",
        at=START + timedelta(days=day),
        **{"target": "checkout", **given},
    )


@pytest.mark.parametrize(
    ("score", "said"),
    [(None, "(2 of 3 runs failed)"), (-0.08, "(2 of 3 runs failed, -8.0 % on average)")],
)
def test_a_deed_stands_before_its_result_and_its_counts(score: float | None, said: str) -> None:
    tries = [tried(day, score=score) for day in range(3)]
    text = deed_sentence(tries[:2], tries[2:], {})
    assert text == f"Raise the limit → 504 after 30 s {said}."


def test_a_deed_that_failed_in_several_ways_tells_each_once() -> None:
    tries = [tried(day, result=words, error=words) for day, words in enumerate("aab")]
    assert deed_sentence(tries, [], {}) == "Raise the limit → b (3 of 3 runs failed; also: a)."


def test_a_single_try_has_no_count() -> None:
    assert deed_sentence([tried()], [], {}) == "Raise the limit → 504 after 30 s."
    assert deed_sentence([tried(deed="")], [], {}) == "504 after 30 s."
    assert deed_sentence([tried(result="")], [], {}) == "Raise the limit → failed."


@pytest.mark.parametrize("end", ["!", "?"])
def test_a_sentence_that_ends_gets_no_full_stop_beside_its_own(end: str) -> None:
    one = tried(result=f"it was gone{end}")
    assert deed_sentence([one], [], {}).endswith(f"gone{end}")
    assert tried_sentence(one, {}).endswith(f"gone{end}")


def test_what_later_worked_stands_beside_what_failed() -> None:
    remedy = tried(1, deed="Add the index.", status="success")
    assert deed_sentence([tried()], [], {}, remedy) == (
        "Raise the limit → 504 after 30 s (later worked: Add the index)."
    )


def test_what_failed_before_stands_beside_what_worked() -> None:
    attempts = ("Raise the timeout → TimeoutError",)
    one = tried(deed="Wait for the form.", result="", status="success", tried=attempts)
    assert deed_sentence([one], [], {}) == (
        "Wait for the form (before that without success: Raise the timeout → TimeoutError)."
    )


def test_a_try_is_a_line_with_its_date_and_how_it_ended() -> None:
    assert tried_sentence(tried(3), {}) == ("2026-11-04 failed: Raise the limit → 504 after 30 s.")
    for status, word in (("success", "worked"), ("neutral", "open")):
        assert f" {word}: " in tried_sentence(tried(status=status), {})


def test_a_try_without_a_deed_names_its_subject_in_brackets() -> None:
    one = tried(deed="", result="")
    assert tried_sentence(one, {one.id: "Dockerfile"}) == "2026-11-01 failed (Dockerfile)."
    assert tried_sentence(one, {}) == "2026-11-01 failed."


def test_tries_of_one_deed_are_a_line_with_their_balance() -> None:
    tries = [tried(0, score=-0.1), tried(1, status="success", score=0.2)]
    assert tried_sentence(tries[1], {}, tries[:1]).endswith(
        "(2 runs: 1 worked, 1 failed, +5.0 % on average)."
    )


def test_what_a_judge_found_weak_and_strong_stands_behind_a_try() -> None:
    one = tried(weaknesses=("No stop.", "Too large"), strengths=("Cites the log.",))
    assert tried_line(one, {}) == (
        "2026-11-01 failed: Raise the limit → 504 after 30 s (weak: No stop, Too large; "
        "strong: Cites the log)."
    )
    assert tried_line(tried(), {}) == tried_sentence(tried(), {})


def labels(*tries: Try, **tasks: str) -> dict[str, str]:
    """Return the labels of an account that has these tries and tasks."""
    return labels_of(Account(outcomes=(), tries=tries, evaluations={}, tasks=tasks))


def test_tries_are_labelled_by_their_target_or_by_their_task_where_all_have_one() -> None:
    here, there = tried(0), tried(1, target="billing")
    assert labels(here, there) == {"o0": "checkout", "o1": "billing"}
    assert labels(here, tried(1)) == {}
    tasks = {"o0": "Sum the sheet.", "o1": "Count the rows."}
    assert labels(here, tried(1), **tasks) == {"o0": "Sum the sheet", "o1": "Count the rows"}
    assert labels(here, tried(1), **{**tasks, "o1": "Sum the sheet."}) == {}


def test_tries_of_several_repositories_are_labelled_by_these_too() -> None:
    outcomes = [
        outcome(raw(day, context={"repository": name}, decision__target=target))
        for day, (name, target) in enumerate([("shop", "mail.py"), ("pickup", "pickup")])
    ]
    tries = tuple(map(try_of, outcomes))
    account = Account(outcomes=tuple(outcomes), tries=tries, evaluations={}, tasks={})
    assert list(labels_of(account).values()) == ["mail.py in shop", "pickup"]


def test_a_label_names_the_repository_that_is_the_whole_domain() -> None:
    one = outcome(raw(domain="shop", context={"repository": "shop"}, decision__target="mail.py"))
    account = Account(outcomes=(one,), tries=(try_of(one),), evaluations={}, tasks={})
    assert list(labels_of(account).values()) == ["mail.py in shop"]


def test_a_name_before_a_lesson_keeps_its_small_letter() -> None:
    advice = Advice(text="use uv.", by="person")
    said = lesson_sentence(advice, [tried()], {"o0": "shop"})
    assert said == "shop: Use uv (a person says so)."


def test_a_label_is_left_out_where_the_deed_names_it_or_the_runs_differ() -> None:
    labels = {"o0": "checkout", "o1": "billing"}
    assert deed_sentence([tried()], [], labels).startswith("checkout: Raise")
    assert deed_sentence([tried(deed="Restart Checkout.")], [], labels).startswith("Restart")
    assert deed_sentence([tried(), tried(1)], [], labels).startswith("Raise")


@pytest.mark.parametrize(
    ("advice", "runs", "said"),
    [
        (Advice(text="Add the index.", by="agent"), 1, "Add the index."),
        (Advice(text="Add the index.", by="person"), 1, "Add the index (a person says so)."),
        (Advice(text="Add the index.", by="agent", supposed=True), 1, "Add the index (supposed)."),
        (Advice(text="Add the index.", by="judge"), 3,
         "Add the index (lesson of 3 runs, 2 of which failed)."),
    ],
)  # fmt: skip
def test_a_lesson_says_who_says_so_after_how_many_runs(
    advice: Advice, runs: int, said: str
) -> None:
    statuses = ("failure", "success", "failure")[:runs]
    tries = [tried(day, status=status) for day, status in enumerate(statuses)]
    assert lesson_sentence(advice, tries, {}) == said


def test_a_lead_is_worded_as_one_and_a_rule_is_not() -> None:
    rule = context("dry_run", value=False, result="failures", met=(6, 6), other=(0, 4),
                   episodes=(6, 10))  # fmt: skip
    assert rule_sentence(replace(rule, lead=True)) == (
        "Lead: with dry_run false 6 of 6 failed, otherwise 0 of 4."
    )
    assert rule_sentence(EVENING) == (
        "When decided between 18:00 and 24:00 UTC: then 5 of 55 were losses, otherwise 1 of 124."
    )


@pytest.mark.parametrize(
    ("value", "others", "said"),
    [
        (5, [], ""),
        (5, [("success", 1), ("success", 2)], "5 (1 to 2 where it worked)"),
        (5, [("success", 1)], "5 (1 where it worked)"),
        (5, [("success", 4), ("success", 6)], ""),
        (5, [("success", 4.5)], ""),
        (5, [("neutral", 1)], ""),
        (5, [("neutral", 5), ("success", 5), ("success", 1)], ""),
        ("chase", [("success", "retest"), ("success", "range")],
         "chase (retest or range where it worked)"),
        ("chase", [("success", name) for name in "abcd"], "chase"),
        (True, [("success", False)], "true (false where it worked)"),
    ],
)  # fmt: skip
def test_a_value_at_entry_stands_beside_what_others_had_that_ended_otherwise(
    value: Any, others: Any, said: str
) -> None:
    lost = outcome(raw(0, context={"k": value}, result={"status": "failure"}))
    rest = [
        outcome(raw(day, context={"k": other}, result={"status": status}))
        for day, (status, other) in enumerate(others, 1)
    ]
    assert entry_sentence(lost, rest) == (said and f"At entry: k {said}.")


def test_what_stood_out_at_entry_is_told_first() -> None:
    lost = outcome(raw(0, context={"a": "up", "b": 9, "c": 2}, result={"status": "failure"}))
    won = outcome(raw(1, context={"b": 1, "c": 2.1}, result={"status": "success"}))
    assert entry_sentence(lost, [won]) == "At entry: b 9 (1 where it worked); a up."


def test_an_aside_of_a_long_task_is_left_out_of_what_was_refused() -> None:
    task = f"How many GiB do the weights (in {'very ' * 12}mixed precision) take?"
    refused = RefusedAnswers(task=task, answers=(("24", 1),), shown_by=("a",))
    assert answers_sentence(refused, names_task=True) == (
        "Refused as the answer to “How many GiB do the weights take?”: 24 (1 run)."
    )


def test_tools_are_told_with_the_counts_of_both_sides() -> None:
    assert tools_sentence(["recalc.py", "pptx"], (3, 3), (1, 4)) == (
        "Use `recalc.py` and `pptx`: 3 of 3 that succeeded did, 1 of 4 that failed."
    )


@pytest.mark.parametrize(
    ("by", "failed", "said"),
    [
        ([("ci", 2)], 2, "the CI check it before you claim success: 2 of 2 that failed were"),
        ([("ci", 2), ("person", 1)], 5,
         "the CI or a person check it before you claim success: 3 of 5 that failed were"),
    ],
)  # fmt: skip
def test_a_refused_claim_says_who_is_to_see_it_first(by: Any, failed: int, said: str) -> None:
    assert claims_sentence(by, failed).startswith(f"Let {said}")


def test_an_outlier_is_no_cause() -> None:
    outlier = Outlier(outcome="a", at=START, key="tvl", value=90.0, low=1000.0, high=1200.0, of=8)
    assert outlier_sentence(outlier) == (
        "What stood out on 2026-11-01: tvl 90, where the middle half of 8 others had 1000 to "
        "1200; it need not be the cause."
    )

"""answers: the value that a run gave, in whatever form, and what was refused for which task."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.tries.answers import answer_of, normal_value, refused_answers
from skillvault.model.brief import RefusedAnswers
from skillvault.model.records import Outcome, Status
from tests.given import outcome, raw

QUIET = "I add the columns up and look at them."


def _answered(reasoning: str = QUIET, evidence: str = "", answer: str | None = None) -> str | None:
    result = {"status": "failure", "evidence": evidence, **({"answer": answer} if answer else {})}
    return answer_of(outcome(raw(decision__reasoning=reasoning, result=result)))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("The final answer is 24.", "24"),
        ("Answer: **24**", "24"),
        ("**Answer:** 24", "24"),
        ("The answer is `-19`.", "-19"),
        ("The answer is −19.", "-19"),
        ('{"answer": 24}', "24"),
        ('{"steps": 3, "result": "-24"}', "-24"),
        ("answer = 24", "24"),
        ("I add the columns up.\n\n24", "24"),
        ("I add the columns up.\n**-24**", "-24"),
        ("I wrote 24 to /root/answer.txt", "24"),
        ("24 is the answer.", "24"),
        ("The answer to question 3 is 24.", "24"),
        ("The answer is 24 because 3 * 8 = 24.", "24"),
        ("So the total comes to 1,240.50.", "1240.5"),
        ("The answer is $1,240.50.", "1240.5"),
        ("The answer: 42 %", "42%"),
        ("Final answer: Paris", "Paris"),
        ("The answer is 2026-11-20.", "2026-11-20"),
        ("The answer is 24. Wait, that is wrong: the answer is -19.", "-19"),
    ],
)
def test_an_answer_is_read_in_whatever_form_a_run_gives_it(text: str, answer: str) -> None:
    assert _answered(text) == answer


@pytest.mark.parametrize(
    ("evidence", "answer"),
    [
        ("answer.txt: 24", "24"),
        ("/root/answer.txt contains 24", "24"),
        ("answer.txt\n24\n", "24"),
        ("cat answer.txt\n-19", "-19"),
        ("answer.txt:-19", "-19"),
        ("answer.txt -> 24", "24"),
        ('{"answer": "-19"}', "-19"),
    ],
)
def test_an_answer_is_read_from_what_the_evidence_shows_of_a_file(
    evidence: str, answer: str
) -> None:
    assert _answered(evidence=evidence) == answer


@pytest.mark.parametrize(
    ("reasoning", "evidence"),
    [
        ("The answer has been written to /root/answer.txt", ""),
        ("The result is saved in answer.txt.", ""),
        ("The answer is correct.", ""),
        ("The answer is not known.", ""),
        ("The answer is the number of rows.", ""),
        ("Result: all tests pass", ""),
        ("I computed the mean of 3 values over 2 days.", ""),
        ("Read 14 rows.", ""),
        (QUIET, "verifier reward 0.00"),
        (QUIET, "expected 24, got 19"),
        (QUIET, "AssertionError: assert 24 == 19"),
        (QUIET, '{"result": "fail"}'),
        (QUIET, '{"result": "passed"}'),
        ("", ""),
    ],
)
def test_what_only_speaks_of_an_answer_gives_none(reasoning: str, evidence: str) -> None:
    assert _answered(reasoning, evidence) is None


def test_the_recorded_answer_comes_before_what_is_written() -> None:
    assert _answered("The answer is 24.", "answer.txt: 3", answer="-19") == "-19"


def test_what_the_run_says_comes_before_what_the_evidence_shows() -> None:
    assert _answered("The answer is 24.", "answer.txt: 3") == "24"


@pytest.mark.parametrize(
    ("value", "normal"),
    [
        ("1,240.50", "1240.5"),
        ("1_240.50", "1240.5"),
        ("1,00,000", "100000"),
        ("$ 1,240.50", "1240.5"),
        ("-$5", "-5"),
        ("24.0", "24"),
        ("2.40e1", "24"),
        ("−19", "-19"),
        ("50 %", "50%"),
        ("-0.00", "0"),
        ("Paris.", "Paris"),
        ("**24**.", "24"),
        ("**Paris.**", "Paris"),
        ("1,2,3", "1,2,3"),
        ("3 4", "3 4"),
        ("v1.2.3", "v1.2.3"),
        ("NaN", "NaN"),
        ("1e999999999", "1e999999999"),
        ("1" * 40, "1" * 40),
    ],
)
def test_a_value_has_one_form_and_stays_the_value_that_it_is(value: str, normal: str) -> None:
    assert normal_value(value) == normal


NUMBERS = st.decimals(
    allow_nan=False, allow_infinity=False, places=4, min_value=-(10**9), max_value=10**9
)


@given(NUMBERS)
def test_a_number_is_one_value_however_it_is_written(number: object) -> None:
    forms = (f"{number}", f"{number:,}", f"{number}00", f" **{number}** ")
    assert len({normal_value(form) for form in forms}) == 1


@given(NUMBERS, NUMBERS)
def test_two_numbers_are_two_values(a: object, b: object) -> None:
    assert (normal_value(f"{a:,}") == normal_value(f"{b}")) == (a == b)


@given(st.text(max_size=80) | st.text("1290,._-+$%e*`\"' ", max_size=12))
def test_a_normal_value_is_its_own(text: str) -> None:
    assert normal_value(normal_value(text)) == normal_value(text)


# ── what was refused ─────────────────────────────────────────────────────────────────

Run = tuple[str | None, Status, str]  # what was answered, how it ended, what was asked


def _refused(*runs: Run) -> list[RefusedAnswers]:
    outcomes, tasks = _runs(runs)
    return list(refused_answers(outcomes, tasks))


def _runs(runs: tuple[Run, ...]) -> tuple[list[Outcome], dict[str, str]]:
    outcomes: list[Outcome] = []
    tasks: dict[str, str] = {}
    for day, (answer, status, task) in enumerate(runs):
        result = {"status": status, **({"answer": answer} if answer else {})}
        outcomes.append(outcome(raw(day, decision__reasoning=QUIET, result=result)))
        tasks |= {outcomes[-1].id: task} if task else {}
    return outcomes, tasks


def _told(*runs: Run) -> list[tuple[str, tuple[tuple[str, int], ...]]]:
    return [(one.task, one.answers) for one in _refused(*runs)]


def test_refused_answers_are_counted_the_most_frequent_first() -> None:
    runs: list[Run] = [(answer, "failure", "Q") for answer in ("-19", "24", "24.0", "24", "-3")]
    assert _told(*runs) == [("Q", (("24", 3), ("-19", 1), ("-3", 1)))]


def test_what_a_success_of_the_same_task_gave_is_never_refused() -> None:
    assert _told(("24", "failure", "Q"), ("24", "success", "Q"), ("3", "failure", "Q")) == [
        ("Q", (("3", 1),))
    ]
    assert _told(("24", "failure", "Q"), ("24.0", "success", "Q")) == []


def test_an_answer_is_never_told_under_another_task() -> None:
    assert _told(("24", "failure", "A"), ("3", "failure", "A"), ("24", "success", "B")) == [
        ("A", (("24", 1), ("3", 1)))
    ]
    assert _told(("24", "failure", "A"), ("3", "failure", "B"), ("4", "failure", "")) == [
        ("", (("4", 1),)),
        ("A", (("24", 1),)),
        ("B", (("3", 1),)),
    ]


def test_a_task_is_the_same_however_it_is_spaced() -> None:
    assert _told(("24", "failure", "How  many?"), ("24", "failure", "How\nmany?")) == [
        ("How many?", (("24", 2),))
    ]


def test_neutral_runs_and_runs_without_an_answer_count_nothing() -> None:
    assert _told(("24", "neutral", "Q"), (None, "failure", "Q")) == []


def test_refused_answers_name_who_gave_them_oldest_first() -> None:
    outcomes, tasks = _runs((("3", "failure", ""), ("4", "success", ""), ("5", "failure", "")))
    (only,) = refused_answers(outcomes, tasks)
    assert only.shown_by == (outcomes[0].id, outcomes[2].id)

"""A try beside its deed and result: advice, a judge's words, the claims of the reasoning."""

from typing import Any

import pytest

from skillvault.learning.tries.tries import lesson_sentence, try_of
from skillvault.model.brief import Advice
from skillvault.model.decision_outcomes import NEXT_WORDS
from skillvault.model.records import JudgeInfo, Lesson
from tests.given import evaluation, outcome, raw


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        (
            {"when": "the queue grows", "do": "Cut the batch to 10", "because": "it locks."},
            "When the queue grows, cut the batch to 10, because it locks.",
        ),
        ({"when": "If CI is slow", "do": "poll"}, "When CI is slow, poll."),
        ({"do": "Pin `numpy` first."}, "Pin `numpy` first."),
        (
            {"when": "the pool is small", "because": "Because fees vanish"},
            "When the pool is small, mind that fees vanish.",
        ),
    ],
)
def test_a_lesson_is_one_sentence(parts: dict[str, Any], sentence: str) -> None:
    assert lesson_sentence(Lesson(**parts)) == sentence


def test_advice_of_a_person_stands_before_that_of_a_judge() -> None:
    end = {"status": "failure", "observed_by": "person"}
    seen = outcome(raw(lesson={"do": "Use quantize"}, result=end))
    judged = evaluation(seen, better_approach="round once, at the end")
    assert try_of(seen, judged).advice == (
        Advice(text="Use quantize.", by="person"),
        Advice(text="Round once, at the end.", by="judge"),
    )


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("no, still red. use Decimal with ROUND_HALF_UP", ["Use Decimal with ROUND_HALF_UP."]),
        ("no, undo that", []),
        ("no, the test is right. put the test back", []),
        ("no undo that, you changed the names. revert the refactoring", []),
    ],
)
def test_what_a_person_says_to_do_instead_is_advice(words: str, advice: list[str]) -> None:
    end = {
        "status": "failure",
        "observed_by": "person",
        "summary": f"{NEXT_WORDS}{words}",
    }
    attempt = try_of(outcome(raw(result=end)))
    assert [each.text for each in attempt.advice] == advice
    assert attempt.result == words


def test_a_lesson_without_evidence_is_supposed() -> None:
    (advice,) = try_of(outcome(raw(lesson={"do": "Poll the queue"}))).advice
    assert advice == Advice(text="Poll the queue.", by="agent", supposed=True)


def test_a_judge_that_only_says_it_again_adds_nothing() -> None:
    seen = outcome()
    fields: dict[str, Any] = {"weaknesses": ("no test",), "better_approach": "Test first."}
    offline = JudgeInfo(name="offline", version="2")
    plain = try_of(seen, evaluation(seen, judge=offline, **fields))
    assert plain == try_of(seen)
    judged = try_of(seen, evaluation(seen, key_insight="Timeouts hide races.", **fields))
    assert (judged.insight, judged.weaknesses) == ("Timeouts hide races.", ("no test",))


def test_what_a_model_concludes_counts_though_the_verdict_is_offline() -> None:
    seen = outcome()
    offline = JudgeInfo(name="offline", version="2")
    said = {"key_insight": "Timeouts hide races.", "better_approach": "Test first."}
    told = try_of(seen, evaluation(seen, judge=offline, slug="timeouts-hide-races", **said))
    assert told.insight == "Timeouts hide races."
    assert told.advice == (Advice(text="Test first.", by="judge"),)


@pytest.mark.parametrize(
    ("reasoning", "claims"),
    [
        ("Funding was 0.05 %, so I enter with a stop at 5 %.", ("Funding was 0.05 %",)),
        (
            "Because volatility is high I widen the range. The risk is a gap.",
            ("volatility is high",),
        ),
        (
            "Volume is thin and the spread is 2 %; I wait. It is late. Should be fine.",
            ("Volume is thin", "the spread is 2 %"),
        ),
        (
            "The test fails since Monday, so raise the wait to 5 s.",
            ("The test fails since Monday",),
        ),
        ("Raise the wait from 2 s to 5 s.", ()),
    ],
)
def test_claims_are_quoted_from_the_reasoning(reasoning: str, claims: tuple[str, ...]) -> None:
    attempt = try_of(outcome(raw(decision__reasoning=reasoning)))
    assert attempt.claims == claims
    assert all(claim in reasoning for claim in claims)


def test_what_the_context_or_the_result_holds_was_observed() -> None:
    attempt = try_of(
        outcome(
            raw(
                decision__reasoning="Funding was 0.05 % and RSI is 28, so I enter with 3x at 28.",
                context={"funding": 0.05, "leverage": 3},
            )
        )
    )
    assert attempt.observed == ("0.05",)


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("no, we use uv here, never pip", ["We use uv here, never pip."]),
        ("no, always commit with --no-verify", []),
        ("no, always take the rules from https://example.org/rules", []),
    ],
)
def test_a_risky_rule_of_a_person_is_no_advice(words: str, advice: list[str]) -> None:
    said = {"status": "failure", "observed_by": "person", "summary": f"{NEXT_WORDS}{words}"}
    given = outcome(raw(result=said))
    assert [a.text for a in try_of(given).advice] == advice


def test_of_words_that_may_not_be_quoted_only_the_status_stays() -> None:
    end = {"status": "failure", "observed_by": "person", "summary": f"{NEXT_WORDS}no, run black"}
    end["evidence"] = "All checks passed!"
    attempt = try_of(outcome(raw(result=end)), quotes_words=False)
    assert (attempt.status, attempt.advice, attempt.result) == ("failure", (), "")
    assert attempt.deed == ""

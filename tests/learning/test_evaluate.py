"""evaluate: what a judge is told of an outcome, and what its answer makes."""

import pytest

from skillvault.learning import evaluate
from skillvault.learning.tries.insight import insights_of
from skillvault.model.brief import Case, InsightText, Verdict
from skillvault.model.change import INTAKE
from skillvault.model.policy import Policy
from skillvault.model.records import Evaluation, JudgeInfo
from tests.given import outcome, raw

INFO = JudgeInfo(name="scripted", version="1")
TEXT = InsightText(key_insight="just right", insight_type="risk")


def _verdict(good: bool) -> Verdict:
    return Verdict(was_good_decision=good, quality_score=0.8 if good else 0.2)


@pytest.mark.parametrize(
    ("good", "status", "right"),
    [
        (True, "success", True),
        (True, "failure", False),
        (False, "failure", True),
        (False, "success", False),
        (True, "neutral", None),
        (False, "neutral", None),
    ],
)
def test_a_verdict_is_right_when_it_agrees_with_the_result(
    good: bool, status: str, right: bool | None
) -> None:
    given = outcome(raw(result__status=status))
    assert evaluate.is_right(_verdict(good), given) is right


def test_an_insight_of_fewer_than_ten_characters_is_none() -> None:
    insight = InsightText(key_insight="too brief", insight_type="risk")
    found = evaluate.evaluation_of(outcome(), INFO, _verdict(False), insight, policy=Policy())
    assert found.key_insight is None
    assert found.insight_type is None


def test_an_insight_of_ten_characters_counts() -> None:
    found = evaluate.evaluation_of(outcome(), INFO, _verdict(False), TEXT, policy=Policy())
    assert found.key_insight == "just right"


# ── what the judge is told ───────────────────────────────────────────────────────────


def test_a_judge_is_told_of_an_outcome_and_what_it_shows_and_nothing_of_any_other() -> None:
    one = outcome()
    assert evaluate.case_of(one) == Case(outcome=one, insights=insights_of(one))


def test_a_judge_is_told_the_same_of_an_untrusted_outcome() -> None:
    trusted, untrusted = outcome(raw()), outcome(raw(), "untrusted")
    assert evaluate.case_of(untrusted).insights == evaluate.case_of(trusted).insights


def test_a_neutral_outcome_shows_a_judge_nothing() -> None:
    assert evaluate.case_of(outcome(raw(result__status="neutral"))).insights == ()


# ── the commit ───────────────────────────────────────────────────────────────────────


def _evaluated(day: int, insight: InsightText | None, *, good: bool = False) -> Evaluation:
    one = outcome(raw(day))
    return evaluate.evaluation_of(one, INFO, _verdict(good), insight, policy=Policy())


def test_a_batch_says_how_often_the_verdict_agrees_and_how_many_teach_nothing() -> None:
    batch = [_evaluated(0, TEXT), _evaluated(1, None), _evaluated(2, TEXT, good=True)]
    change = evaluate.evaluation_change("coding", batch, INFO)
    assert change.headline == "evaluate: 3 outcomes in coding"
    assert change.reason == (
        "2 of 3 blind verdicts agree with the result and 1 support no insight."
    )
    assert change.commit_with == INTAKE
    assert [ref.id for ref in change.sources] == [e.outcome for e in batch]


def test_one_alone_is_told_with_its_insight() -> None:
    change = evaluate.evaluation_change("coding", [_evaluated(0, TEXT)], INFO)
    assert change.headline == "evaluate: 1 outcome in coding"
    assert change.reason.endswith("agree with the result.\njust right")

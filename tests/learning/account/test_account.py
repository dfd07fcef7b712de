"""account: what a subject's outcomes say for its warning and its pattern, the most useful first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from skillvault.learning.account.account import (
    KINDS,
    calls_for_skill,
    digest,
    is_contested,
    shown_by,
)
from skillvault.learning.account.account import (
    findings_of as of_account,
)
from skillvault.learning.account.account import findings_of as tell
from skillvault.model.brief import Cause, Extreme, Findings, RefusedAnswers, Remedy, Rule
from skillvault.model.policy import GeneratePolicy, Policy
from skillvault.model.records import Outcome, SkillKind
from tests.given import outcome, raw, trade
from tests.learning.accounts import CHECKED, ERROR, PRICES, TENANT, account, ended, findings_of
from tests.rules import context, of


def _kinds(found: Findings) -> list[str]:
    return [s.kind if isinstance(s, Cause) else type(s).__name__ for s in found.statements]


# ── which outcomes a skill is about ──────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("score", "kind"),
    [
        (-0.1001, "warning"),
        (-0.10, None),
        (-0.07 / 0.7, None),
        (-0.05, None),
        (0.0, None),
        (0.11, None),
        (0.20, None),
        (0.07 / 0.35, None),
        (0.2001, "pattern"),
    ],
)
def test_a_score_strictly_beyond_the_threshold_is_significant(
    score: float, kind: str | None
) -> None:
    one = outcome(trade(score=score))
    for asked in KINDS:
        assert findings_of([one], asked).significant == ((one,) if asked == kind else ())


def test_the_thresholds_are_the_policys() -> None:
    one = outcome(trade(score=-0.06))
    policy = Policy(generate=GeneratePolicy(warning_below=-0.05))
    assert findings_of([one], policy=policy).significant == (one,)


def test_every_failure_without_a_score_is_significant() -> None:
    failed = [ended(day, TENANT) for day in range(3)]
    assert findings_of([*failed, ended(5, TENANT, "success")]).significant == tuple(failed)


def test_a_success_without_a_score_counts_if_its_subject_failed() -> None:
    won = [ended(1, CHECKED, "success"), ended(3, CHECKED, "success")]
    assert findings_of(won, "pattern").significant == ()
    assert findings_of([*won, ended(2, TENANT)], "pattern").significant == tuple(won)
    scored = outcome(raw(2, result={"score": -0.05}))
    assert findings_of([*won, scored], "pattern").significant == tuple(won)


def test_a_neutral_outcome_is_never_significant() -> None:
    failed, neutral = ended(0, TENANT), ended(1, TENANT, "neutral")
    assert findings_of([failed, neutral]).significant == (failed,)
    assert findings_of([failed, neutral], "pattern").significant == ()


# ── what is said ─────────────────────────────────────────────────────────────────────


def test_the_agents_lesson_stands_before_what_more_outcomes_show() -> None:
    taught = ended(3, "", lesson={"do": "give each test a port"})
    found = findings_of([ended(0, TENANT), ended(1, TENANT), taught])
    assert _kinds(found) == ["lesson", "guess"]


def test_of_causes_those_that_more_outcomes_show_stand_first() -> None:
    failed = [ended(0, "", result={"evidence": ERROR}), ended(1, TENANT), ended(2, TENANT)]
    assert _kinds(findings_of(failed)) == ["guess", "error"]


def test_of_equally_frequent_ones_the_one_that_can_be_acted_on_stands_first() -> None:
    failed = [
        ended(0, "I raise it because the machine is slow."),
        ended(1, TENANT),
        ended(2, "", result={"evidence": ERROR}),
    ]
    assert _kinds(findings_of(failed)) == ["error", "guess", "ground"]


def test_of_otherwise_equal_ones_the_later_stands_first() -> None:
    lines = ("KeyError: 'total'", "ValueError: 'total'")
    failed = [ended(day, "", result={"evidence": line}) for day, line in enumerate(lines)]
    quotes = [s.quote for s in findings_of(failed).statements if isinstance(s, Cause)]
    assert quotes == [*reversed(lines)]


def test_refused_answers_stand_first_and_not_once_more_as_causes() -> None:
    failed = [ended(day, TENANT, result={"answer": a}) for day, a in enumerate(("24", "24", "3"))]
    found = findings_of(failed)
    assert _kinds(found) == ["RefusedAnswers", "guess"]
    (refused, _) = found.statements
    assert isinstance(refused, RefusedAnswers)
    assert refused.refused == (("24", 2), ("3", 1))


def test_answers_are_told_by_the_task_that_was_asked() -> None:
    failed = [ended(day, "", result={"answer": "24"}) for day in range(2)]
    told = of_account(account(failed, {failed[0].id: "How many rows?"}), "warning", Policy())
    tasks = [s.task for s in told.statements if isinstance(s, RefusedAnswers)]
    assert sorted(tasks) == ["", "How many rows?"]


def test_a_pattern_tells_no_answer() -> None:
    won = ended(1, CHECKED, "success", result={"answer": "24"})
    assert _kinds(findings_of([ended(0, TENANT, result={"answer": "3"}), won], "pattern")) == [
        "check"
    ]


@pytest.mark.parametrize(("won", "told"), [(0, True), (1, True), (2, False), (3, False)])
def test_a_cause_with_as_much_against_as_for_it_is_not_told(won: int, told: bool) -> None:
    failed = [ended(day, TENANT) for day in range(2)]
    others = [ended(5 + day, TENANT, "success") for day in range(won)]
    found = findings_of([*failed, *others])
    assert ("guess" in _kinds(found)) is told


def test_thirty_alike_of_which_three_won_make_no_pattern() -> None:
    lost = [ended(0, TENANT, occurred_at=f"2026-11-02T09:{n:02}:00Z", decision__made_at=None)
            for n in range(27)]  # fmt: skip
    won = [ended(0, TENANT, "success", occurred_at=f"2026-11-03T09:{n:02}:00Z",
                  decision__made_at=None) for n in range(3)]  # fmt: skip
    pattern = findings_of([*lost, *won], "pattern")
    assert pattern.statements == ()
    assert not calls_for_skill(pattern, Policy())
    (cause,) = (s for s in findings_of([*lost, *won]).statements if isinstance(s, Cause))
    assert (len(cause.shown_by), len(cause.against)) == (27, 3)


def test_neutral_outcomes_speak_neither_for_nor_against() -> None:
    neutral = [ended(5 + day, TENANT, "neutral") for day in range(3)]
    (cause,) = findings_of([ended(0, TENANT), *neutral]).statements
    assert isinstance(cause, Cause)
    assert cause.against == ()


def test_a_warning_tells_what_worked_instead() -> None:
    outcomes = [ended(0, TENANT), ended(1, CHECKED, "success"), ended(2, CHECKED, "success")]
    (_, remedy) = findings_of(outcomes).statements
    assert isinstance(remedy, Remedy)
    assert (remedy.cause.kind, len(remedy.cause.shown_by)) == ("check", 2)


def test_what_failures_had_as_often_did_not_work_instead() -> None:
    outcomes = [ended(0, CHECKED), ended(1, CHECKED, "success")]
    assert "Remedy" not in _kinds(findings_of(outcomes))


def test_the_greatest_loss_is_told_with_all_that_are_beyond_the_bound() -> None:
    scores = (-0.12, -0.3, -0.05, -0.3)
    lost = [outcome(trade(day, score)) for day, score in enumerate(scores)]
    (extreme,) = (s for s in findings_of(lost).statements if isinstance(s, Extreme))
    assert (extreme.score, extreme.outcome) == (-0.3, lost[3].id)
    assert extreme.shown_by == (lost[0].id, lost[1].id, lost[3].id)


def test_the_greatest_gain_is_told_of_a_pattern() -> None:
    won = [outcome(trade(day, score)) for day, score in enumerate((0.21, 0.5, 0.05))]
    (extreme,) = (s for s in findings_of(won, "pattern").statements if isinstance(s, Extreme))
    assert (extreme.score, len(extreme.shown_by)) == (0.5, 2)


def test_what_separates_the_outcomes_of_its_action_is_told_first() -> None:
    outcomes = [replace(o, context={"mode": "strict"}) for o in BASE]
    strict = context("mode", "strict", result="failures")
    about = replace(account(outcomes), rules=(strict,))
    rule = tell(about, "warning", Policy()).statements[0]
    assert rule == Rule(separation=strict, own=(2, 3))


def test_a_subject_that_never_failed_says_nothing_for_a_warning() -> None:
    assert findings_of([ended(0, TENANT, "success")]).statements == ()


def test_what_failures_alone_saw_is_told_as_long_as_nobody_succeeded() -> None:
    steps = (
        "Let me read it. Let me look. Let me sum. The sheet `EU` has 12 rows, but not 13. "
        "The sum is in its place. All is there. It is 12."
    )
    failed = [ended(0, steps)]
    assert "found" in _kinds(findings_of(failed))
    other = steps.replace("The sheet `EU` has 12 rows, but not 13. ", "")
    assert "found" not in _kinds(findings_of([*failed, ended(1, other, "success")]))


def test_what_successes_and_failures_saw_is_quoted_from_those_it_is_about() -> None:
    lead, end = "Let me read it. Let me look. Let me sum. ", " The sum is there. All is well."
    seen = "The sheet `EU` has 12 rows of text, but {} rows of numbers."
    failed = [ended(day, lead + seen.format("no") + end) for day in range(3)]
    won = ended(5, lead + seen.format("not any") + end, "success")
    (found,) = (
        s
        for s in findings_of([*failed, won], "pattern").statements
        if isinstance(s, Cause) and s.kind == "found"
    )
    assert found.quote == seen.format("not any")
    assert (len(found.shown_by), len(found.against)) == (1, 3)


# ── does it make a skill ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("score", "kind"), [(-0.1001, "warning"), (-0.9, "warning"), (0.2001, "pattern")]
)
def test_a_loss_or_gain_beyond_the_bound_always_calls_for_a_skill(
    score: float, kind: SkillKind
) -> None:
    bare = outcome(raw(decision__reasoning="", decision__made_at=None, result={"score": score}))
    assert calls_for_skill(findings_of([bare], kind), Policy())


@pytest.mark.parametrize("score", [-0.10, -0.05, 0.20])
def test_a_small_loss_or_gain_calls_for_none(score: float) -> None:
    one = outcome(trade(score=score))
    assert not any(
        calls_for_skill(findings_of([one], kind), Policy()) for kind in ("warning", "pattern")
    )


def test_a_failure_that_says_nothing_calls_for_none() -> None:
    assert not calls_for_skill(findings_of([ended(0, "", result={"summary": "failed"})]), Policy())


def test_a_failure_that_says_something_calls_for_one() -> None:
    assert calls_for_skill(findings_of([ended(0, TENANT)]), Policy())


# ── on what it rests ─────────────────────────────────────────────────────────────────


def test_a_skill_rests_on_losses_beyond_the_bound_and_on_causes_that_it_tells() -> None:
    lost, small = outcome(trade(0, -0.3)), outcome(trade(1, -0.02))
    assert shown_by(findings_of([lost, small])) == [lost.id]
    contested = [ended(0, PRICES), ended(1, PRICES, "success")]
    failed = [ended(day, TENANT) for day in (2, 3)]
    assert shown_by(findings_of([*contested, *failed])) == [one.id for one in failed]


def test_what_worked_instead_is_nothing_that_a_warning_rests_on() -> None:
    failed, won = ended(0, TENANT), ended(1, CHECKED, "success")
    assert shown_by(findings_of([failed, won])) == [failed.id]


def test_those_who_gave_a_refused_answer_are_what_it_rests_on() -> None:
    failed = [ended(day, "", result={"answer": "24"}) for day in range(2)]
    assert shown_by(findings_of([*failed, ended(5, "")])) == [one.id for one in failed]


# ── the digest ───────────────────────────────────────────────────────────────────────

BASE = [ended(0, TENANT), ended(1, TENANT), ended(2, CHECKED, "success")]


def test_equal_findings_have_equal_digests() -> None:
    again = replace(findings_of(BASE), account=replace(account(BASE), evaluations={}))
    assert digest(again) == digest(findings_of(BASE))
    assert len(digest(again)) == 12


@pytest.mark.parametrize(
    "outcomes",
    [
        [*BASE, ended(5, TENANT)],
        [*BASE, ended(5, "", "neutral")],
        [*BASE, ended(5, TENANT, "success")],
        [*BASE[:2], ended(3, CHECKED, "success")],
        [BASE[0], ended(1, PRICES), BASE[2]],
        BASE[:2],
    ],
)
def test_other_statements_or_counts_have_another_digest(outcomes: list[Outcome]) -> None:
    assert digest(findings_of(outcomes)) != digest(findings_of(BASE))


def test_the_two_kinds_of_a_subject_have_digests_of_their_own() -> None:
    assert digest(findings_of(BASE, "pattern")) != digest(findings_of(BASE))


def test_a_rule_is_the_same_whoever_it_holds_for() -> None:
    found = findings_of(BASE)
    rule = Rule(separation=of(["a"]))
    other = Rule(separation=of(["x"], p=0.02))
    fewer = Rule(separation=of(["a"], met=(4, 55)))
    digests = [digest(replace(found, statements=(each,))) for each in (rule, other, fewer)]
    assert digests[0] == digests[1] != digests[2]


# ── any order ────────────────────────────────────────────────────────────────────────

POOL = [
    *BASE,
    ended(3, PRICES),
    ended(4, "", result={"evidence": ERROR}),
    ended(5, "", result={"answer": "24"}),
    ended(6, PRICES, "success"),
    ended(7, "", "neutral"),
]


@given(st.permutations(POOL), st.sampled_from(KINDS))
def test_the_order_of_arrival_changes_nothing(order: list[Outcome], kind: SkillKind) -> None:
    assert findings_of(order, kind) == findings_of(POOL, kind)
    assert digest(findings_of(order, kind)) == digest(findings_of(POOL, kind))


@given(st.lists(st.sampled_from(POOL), unique_by=lambda one: one.id, min_size=1),
       st.sampled_from(KINDS))  # fmt: skip
def test_what_is_told_has_more_for_it_than_against_it(
    outcomes: list[Outcome], kind: SkillKind
) -> None:
    found = findings_of(outcomes, kind)
    significant = {one.id for one in found.significant}
    for statement in found.statements:
        if isinstance(statement, Cause):
            assert not is_contested(statement)
            assert set(statement.shown_by) <= significant
            assert not significant & set(statement.against)
    assert set(shown_by(found)) <= significant


def test_what_one_statement_quotes_no_other_does() -> None:
    """A lesson that says why in the words of its reasoning says it once."""
    seen = "The actual cause is that `checkout_test` binds port 8080 as `payment_test` does."
    steps = "Let me look. Let me read. Let me think. "
    found = findings_of([ended(0, steps + seen, lesson={"do": "Give it a port", "because": seen})])
    assert _kinds(found) == ["lesson", "stopped"]


def test_a_rule_that_holds_for_none_of_its_own_rests_on_what_the_skill_is_about() -> None:
    failed = ended(0, "", decision__target=None, result={"evidence": ""})
    rule = context("trend", "up")
    made = tell(replace(account([failed]), rules=(rule,)), "warning", Policy())
    assert _kinds(made) == ["Rule"]
    assert shown_by(made) == [failed.id]

"""statements: what an action's outcomes say for its guide, a subject's for warning and pattern."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from skillvault.learning.account.statements import (
    KINDS,
    account_keys,
    calls_for_skill,
    digest,
    evidence_ids,
    is_one_sided,
)
from skillvault.learning.account.statements import (
    findings_of as say,
)
from skillvault.model.brief import Findings, Statement, StatementKind
from skillvault.model.policy import GeneratePolicy, Policy
from skillvault.model.records import Outcome, SkillKind, Status
from tests.given import outcome, trade
from tests.learning.accounts import (
    CHECKED,
    ERROR,
    PRICES,
    TENANT,
    account,
    ended,
    findings_of,
    judged,
    traded,
)
from tests.rules import context

CHASE = "I chase the breakout with full size."


def texts(found: Findings, *kinds: StatementKind) -> list[str]:
    """The sentences of these kinds, or of all."""
    return [one.text for one in found.statements if not kinds or one.kind in kinds]


def only(found: Findings, kind: StatementKind) -> Statement:
    """The only statement of a kind."""
    (one,) = (each for each in found.statements if each.kind == kind)
    return one


# ── deeds and their counts ───────────────────────────────────────────────────────────


def test_what_lost_27_of_30_is_told_as_failed_with_both_counts_and_never_as_a_success() -> None:
    scores = [0.05 if number in (3, 11, 25) else -0.08 for number in range(30)]
    every = [
        traded(number // 2, CHASE, score, event_id=f"e{number}")
        for number, score in enumerate(scores)
    ]
    won, lost = (
        sorted((o for o in every if o.result.status == status), key=lambda o: o.order)
        for status in ("success", "failure")
    )
    found = findings_of(every)
    told = only(found, "failed")
    assert told.text == (
        "I chase the breakout with full size → -8.0 % (27 of 30 runs failed, -6.7 % on average)."
    )
    assert (told.supporting, told.against) == (ids(lost), ids(won))
    assert [one.kind for one in found.statements] == ["failed"]


def ids(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """Their ids."""
    return tuple(one.id for one in outcomes)


@pytest.mark.parametrize(
    ("wins", "losses", "told"),
    [(1, 0, True), (0, 1, True), (0, 0, False), (1, 1, False), (3, 27, True), (1, 5, False),
     (0, 6, True), (1, 8, True), (7, 7, False)],
)  # fmt: skip
def test_a_deed_that_ended_both_ways_is_told_if_it_leans_by_more_than_chance(
    wins: int, losses: int, told: bool
) -> None:
    assert is_one_sided(wins, losses) is told
    assert is_one_sided(losses, wins) is told


def test_a_deed_that_ended_both_ways_without_leaning_is_no_advice() -> None:
    both = [ended(0, TENANT), ended(1, TENANT, "success"), ended(2, TENANT)]
    found = findings_of(both)
    assert texts(found, "failed", "worked") == []
    (tried,) = texts(found, "tried")
    assert tried.endswith("(3 runs: 1 worked, 2 failed).")


def test_a_count_is_of_the_deed_beside_it_and_not_of_what_is_like_it() -> None:
    """Two tries of label smoothing stand in one line, each with its own count."""
    tried = [(0.05, "failure"), (0.05, "failure"), (0.1, "failure"), (0.2, "success")]
    found = findings_of(
        [ended(day, f"Set label smoothing to {value}.", status)  # type: ignore[arg-type]
         for day, (value, status) in enumerate(tried)]
    )  # fmt: skip
    assert texts(found, "failed") == [
        (
            "Set label smoothing to 0.1 (later worked: Set label smoothing to 0.2); "
            "Set label smoothing to 0.05 (2 of 2 runs failed; later worked: Set label smoothing to "
            "0.2) (both failed)."
        )
    ]


def test_what_worked_after_several_deeds_of_a_line_stands_against_it_once() -> None:
    failed = [ended(day, f"Set label smoothing to 0.{day + 1}.") for day in range(2)]
    won = ended(2, "Set label smoothing to 0.3.", "success")
    assert only(findings_of([*failed, won]), "failed").others == ((), (won.id,))


@pytest.mark.parametrize("result", ["-19", "-0.46 points", "−5 %", "+3 %", "≥ 3 GB", "-$5"])
def test_a_result_keeps_its_sign_and_its_unit(result: str) -> None:
    one = ended(0, TENANT, result={"summary": f"The sum was {result} in the end."})
    assert result in only(findings_of([one]), "failed").text
    answered = ended(0, "I add the columns.", result={"answer": result})
    assert f"{result} (1 run)" in only(findings_of([answered]), "answers").text


def test_what_failed_is_told_with_what_worked_instead_for_the_same_target() -> None:
    failed, won = ended(0, TENANT), ended(1, "I add the tenant to the cache key.", "success")
    found = findings_of([failed, won])
    told = only(found, "failed")
    assert told.text == (
        "I assume that the cache key needs no tenant (later worked: I add the tenant to the "
        "cache key)."
    )
    assert told.others == ((), (won.id,))
    assert texts(found, "worked") == []  # said beside what failed


def test_an_earlier_success_or_one_of_another_target_is_not_what_worked_instead() -> None:
    other = ended(3, CHECKED, "success", decision__target="billing")
    found = findings_of([ended(0, CHECKED, "success"), ended(2, TENANT), other])
    assert only(found, "failed").others == ((), ())


def test_the_next_trade_is_not_what_worked_instead_of_the_last() -> None:
    found = findings_of([traded(0, CHASE, -0.05), traded(1, "I wait for the retest.", 0.05)])
    assert only(found, "failed").others == ((), ())


def test_tries_of_different_targets_name_them() -> None:
    found = findings_of([
        ended(0, TENANT, decision__target="checkout"),
        ended(1, PRICES, decision__target="billing"),
    ])  # fmt: skip
    assert [text.partition(":")[0] for text in texts(found, "failed")] == ["billing", "checkout"]


def test_what_most_runs_say_stands_first_then_the_latest() -> None:
    failed = [ended(0, TENANT), ended(1, TENANT), ended(2, PRICES), ended(3, CHECKED)]
    assert [len(one.supporting) for one in findings_of(failed).statements] == [2, 1, 1]
    assert texts(findings_of(failed))[1].startswith(CHECKED.rstrip("."))


def test_of_single_trades_six_of_each_end_are_told_those_of_the_greatest_scores() -> None:
    deeds = [f"Buy {name} at the open." for name in
             ("alpha", "bravo", "carbon", "delta", "echo", "fox", "gold", "hotel")]  # fmt: skip
    found = findings_of([traded(day, deed, -day / 100) for day, deed in enumerate(deeds, 1)])
    told = texts(found, "failed")
    assert len(told) == 6
    assert "hotel" in told[0]
    assert list(texts(found, "tried")) == [
        "2026-11-03 failed: Buy bravo at the open → -2.0 %.",
        "2026-11-02 failed: Buy alpha at the open → -1.0 %.",
    ]


def test_a_failure_of_which_only_the_error_is_known_is_told_as_tried() -> None:
    outcomes = [ended(0, "", result={"evidence": ERROR}), ended(1, "", result={"score": -0.05})]
    assert texts(findings_of(outcomes)) == [f"2026-11-01 failed: {ERROR}."]


# ── lessons, refused answers, claims ─────────────────────────────────────────────────


def test_a_persons_words_stand_first_then_what_more_runs_say_then_the_judges() -> None:
    port = {"do": "give each test a port"}
    outcomes = [
        ended(0, "", lesson=port),
        ended(1, "", lesson=port),
        ended(2, ""),
        ended(3, "", result={"summary": "A person said next: No. Use the staging key instead."}),
    ]
    judge = judged(outcomes[2], better_approach="Restore the backup once a week")
    found = findings_of(outcomes, evaluations=[judge])
    assert texts(found, "lesson")[-2:] == [
        "Give each test a port (supposed; lesson of 2 failed runs).",
        "Restore the backup once a week.",
    ]


def test_lessons_that_say_the_same_are_one_with_its_runs() -> None:
    said = ("Give each test its own port", "give each test its own port.")
    found = findings_of([ended(day, "", lesson={"do": text}) for day, text in enumerate(said)])
    assert only(found, "lesson").supporting == ids(found.account.outcomes)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Reduce the limit when the queue grows", "Increase the limit when the queue grows"),
        ("Wait 5 s before the retry", "Wait 50 s before the retry"),
        ("Never restart the worker", "Restart the worker"),
    ],
)
def test_lessons_that_say_the_opposite_are_two(first: str, second: str) -> None:
    found = findings_of([
        ended(day, "", lesson={"do": text}) for day, text in enumerate((first, second))
    ])  # fmt: skip
    assert len(texts(found, "lesson")) == 2


def test_refused_answers_are_told_with_their_runs_task_by_task() -> None:
    given_ = [("24", "Sum it."), ("24.0", "Sum it."), ("-19", "Sum it."), ("24", "Count it.")]
    failed = [ended(day, "", result={"answer": value}) for day, (value, _) in enumerate(given_)]
    tasks = {one.id: task for one, (_, task) in zip(failed, given_, strict=True)}
    found = say(account(failed, tasks), "guide", Policy())
    assert texts(found, "answers") == [
        "Refused as the answer to “Sum it.”: 24 (2 runs), -19 (1 run).",
        "Refused as the answer to “Count it.”: 24 (1 run).",
    ]


def test_claims_that_were_refused_are_counted_by_who_saw_it() -> None:
    said = {"claimed": "success", "observed_by": "ci"}
    outcomes = [ended(0, "", result=said), ended(1, "", result=said), ended(2, TENANT)]
    told = only(findings_of(outcomes), "claimed")
    assert told.text == (
        "Let the CI check it before you claim success: 2 of 3 that failed were claimed as "
        "successes."
    )
    assert texts(findings_of(outcomes[1:]), "claimed") == []


def test_nobody_can_let_a_person_check_each_claim() -> None:
    said = {"claimed": "success", "observed_by": "person"}
    assert texts(findings_of([ended(n, TENANT, result=said) for n in range(3)]), "claimed") == []


def test_a_report_of_an_unexplained_failure_is_no_deed_to_avoid() -> None:
    report = f"{'Let me look at the next sheet. ' * 40}\n\nFilled 15 cells from the row totals."
    verdict = {"summary": "verifier reward 0.00"}
    found = findings_of([ended(0, report, result=verdict)])
    assert texts(found) == ["2026-11-01 failed: Filled 15 cells from the row totals."]
    assert only(findings_of([ended(0, TENANT, result=verdict)]), "failed").text.endswith(
        "→ failed."
    )


# ── a judge's conclusions ────────────────────────────────────────────────────────────


def test_what_a_model_concluded_stands_with_how_it_ended() -> None:
    lost, won = ended(0, TENANT), ended(1, CHECKED, "success")
    found = findings_of([lost, won], evaluations=[
        judged(lost, key_insight="A key without a tenant leaks carts."),
        judged(won, key_insight="Fifty runs show a race."),
    ])  # fmt: skip
    assert "A key without a tenant leaks carts." in texts(found, "failed")
    assert "Fifty runs show a race." in texts(found, "worked")


@pytest.mark.parametrize(("kind", "score"), [("warning", -0.3), ("pattern", 0.3)])
def test_a_models_conclusion_reaches_the_warning_and_the_pattern(
    kind: SkillKind, score: float
) -> None:
    one = traded(0, CHASE, score)
    found = findings_of([one], kind, evaluations=[
        judged(one, key_insight="Full size leaves no second try.",
               better_approach="Enter with a third"),
    ])  # fmt: skip
    ended_so: StatementKind = "failed" if kind == "warning" else "worked"
    assert "Full size leaves no second try." in texts(found, ended_so)
    assert texts(found, "lesson") == ["Enter with a third."]


@pytest.mark.parametrize(
    ("kind", "score", "told"),
    [
        ("warning", -0.3, {"No way out is named.": "failed", "Size is all of it.": "failed"}),
        ("pattern", 0.3, {"It cites the funding.": "worked"}),
        ("guide", -0.3, {}),
    ],
)
def test_what_a_model_found_weak_or_strong_reaches_the_warning_and_the_pattern(
    kind: SkillKind, score: float, told: dict[str, str]
) -> None:
    outcomes = [traded(day, CHASE, score) for day in range(2)]
    words = {"weaknesses": ("No way out is named", "Size is all of it."),
             "strengths": ("It cites the funding.",)}  # fmt: skip
    found = findings_of(outcomes, kind, evaluations=[judged(one, **words) for one in outcomes])
    said = {one.text: one.kind for one in found.statements if one.text in ALL_REMARKS}
    assert said == told
    assert all(one.supporting == ids(outcomes) for one in found.statements if one.text in said)


ALL_REMARKS = ("No way out is named.", "Size is all of it.", "It cites the funding.")


# ── rules ────────────────────────────────────────────────────────────────────────────


def test_what_separates_the_outcomes_stands_first_counted_of_all_that_are_read() -> None:
    modes = (("strict", "failure"), ("strict", "failure"), ("strict", "success"),
             ("loose", "success"), ("loose", "failure"))  # fmt: skip
    outcomes = [
        ended(day, TENANT, status, context={"mode": mode})  # type: ignore[arg-type]
        for day, (mode, status) in enumerate(modes)
    ]
    strict = context("mode", "strict", result="failures", episodes=(3, 5))
    about = replace(account(outcomes), rules=(strict,))
    rule = say(about, "guide", Policy()).statements[0]
    assert rule.kind == "rule"
    assert rule.text == ("When mode is strict: then 2 of 3 were failures, otherwise 1 of 2.")
    assert (rule.supporting, rule.against) == (ids(outcomes[:2]), ids(outcomes[2:3]))
    assert rule.others == (ids(outcomes[4:]), ids(outcomes[3:4]))


# ── a strategy ───────────────────────────────────────────────────────────────────────


def test_a_strategy_tells_the_rules_of_its_guides_in_their_words_with_their_counts() -> None:
    modes = ("strict", "strict", "loose", "loose")
    actions = {
        action: [
            ended(day, TENANT, status, decision__action=action, context={"mode": mode})
            for day, (mode, status) in enumerate(zip(modes, statuses, strict=True))
        ]
        for action, statuses in _ENDS.items()
    }
    rules = {
        action: context("mode", "strict", result="failures", action=action) for action in actions
    }
    every = [one for outcomes in actions.values() for one in outcomes]
    found = say(replace(account(every), rules=tuple(rules.values())), "strategy", Policy())
    for action, outcomes in actions.items():
        guide = say(replace(account(outcomes), rules=(rules[action],)), "guide", Policy())
        (rule,) = (one for one in found.statements if one.rule and one.rule.action == action)
        assert rule.text == f"{action}: {guide.statements[0].text}"
        assert replace(rule, text="") == replace(guide.statements[0], text="")


_ENDS: dict[str, tuple[Status, ...]] = {
    "deploy": ("failure", "failure", "success", "success"),
    "migrate": ("failure", "success", "success", "neutral"),
}


def test_of_base_rates_alone_there_is_no_strategy() -> None:
    found = findings_of([ended(day, CHECKED, "success") for day in range(3)], "strategy")
    assert texts(found) == ["fix-flaky-test: 3 of 3 worked."]
    assert not calls_for_skill(found)


def test_what_ended_even_counts_neither_as_won_nor_as_decided() -> None:
    trades = [traded(day, "Buy.", score) for day, score in enumerate((0.1, 0.2, -0.3, 0.0))]
    assert texts(findings_of(trades, "strategy")) == [
        "open_long: 2 of 3 worked, average win +15.0 %, average loss -30.0 %, 1 neutral."
    ]
    assert texts(findings_of(trades[3:], "strategy")) == ["open_long: 1 neutral."]


# ── a warning, a pattern ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("score", "kind"),
    [(-0.1001, "warning"), (-0.10, None), (-0.07 / 0.7, None), (0.0, None), (0.20, None),
     (0.07 / 0.35, None), (0.2001, "pattern")],
)  # fmt: skip
def test_a_score_strictly_beyond_the_bound_calls_for_a_warning_or_a_pattern(
    score: float, kind: str | None
) -> None:
    one = outcome(trade(score=score))
    for asked in ("warning", "pattern"):
        found = findings_of([one], asked)
        assert found.significant == ((one,) if asked == kind else ())
        assert calls_for_skill(found) is (asked == kind)


def test_the_bounds_are_the_policys() -> None:
    one = outcome(trade(score=-0.06))
    policy = Policy(generate=GeneratePolicy(warning_below=-0.05))
    assert findings_of([one], "warning", policy).significant == (one,)


@pytest.mark.parametrize("kind", ["warning", "pattern"])
def test_what_has_no_score_calls_for_neither(kind: SkillKind) -> None:
    outcomes = [ended(0, TENANT), ended(1, CHECKED, "success")]
    assert findings_of(outcomes, kind).statements == ()


def test_the_greatest_loss_is_told_with_all_that_are_beyond_the_bound() -> None:
    scores = (-0.12, -0.3, -0.05, -0.3)
    lost = [traded(day, f"Buy it at {day}.", score) for day, score in enumerate(scores)]
    found = findings_of(lost, "warning")
    told = only(found, "extreme")
    assert told.text == (
        "Lost 30.0 % on 2026-11-04 after 60 minutes, the worst of 3 such: Buy it at 3."
    )
    assert told.supporting == ids([lost[0], lost[1], lost[3]])


def test_the_greatest_gain_is_told_of_a_pattern_with_what_was_known_at_entry() -> None:
    won = [traded(day, CHASE, score, context={"trend": "up"})
           for day, score in enumerate((0.21, 0.5, 0.05))]  # fmt: skip
    found = findings_of(won, "pattern")
    assert "Gained 50.0 % on 2026-11-02 after 60 minutes, the best of 2 such" in (
        only(found, "extreme").text
    )
    assert only(found, "entry").text == "At entry: trend up."
    assert found.statements[-1].kind == "entry"


def test_a_title_may_say_a_lesson_without_why() -> None:
    lesson = {"when": "the queue grows", "do": "Poll it", "because": "it blocks"}
    found = findings_of([ended(0, TENANT, lesson=lesson)])
    assert only(found, "lesson").gist.startswith("When the queue grows, poll it")
    assert "because" not in only(found, "lesson").gist


def test_a_title_may_say_what_worked_instead_and_what_lost_most() -> None:
    found = findings_of([ended(0, TENANT), ended(1, CHECKED, "success")])
    assert only(found, "failed").gist == CHECKED
    lost = findings_of([traded(1, "Buy it at 3.", -0.3)], "warning")
    assert only(lost, "extreme").gist == "Buy it at 3 → -30.0 %"


def test_an_answer_beside_a_score_is_told_after_it() -> None:
    one = traded(0, "", 0.3, result={"score": 0.3, "answer": "24"})
    assert only(findings_of([one], "pattern"), "extreme").text.endswith("minutes: answered 24.")


# ── does it make a skill, and on what does it rest ───────────────────────────────────


def test_a_guide_exists_from_its_first_deed_or_lesson_or_from_two_tries_on() -> None:
    silent = [ended(day, "", "neutral") for day in range(2)]
    tried = [ended(day, CHECKED, "neutral") for day in range(2)]
    assert calls_for_skill(findings_of([ended(0, CHECKED, "success")]))
    assert calls_for_skill(findings_of([ended(0, "", lesson={"do": "give each test a port"})]))
    assert not calls_for_skill(findings_of(tried[:1]))
    assert calls_for_skill(findings_of(tried))
    assert not calls_for_skill(findings_of(silent))


def test_a_run_without_a_known_result_is_not_told_beside_others() -> None:
    known = ended(1, TENANT, "neutral", result={"summary": "No difference."})
    told = texts(findings_of([ended(0, CHECKED, "neutral"), known]))
    assert [text for text in told if "No difference" in text] == told != []


def test_a_skill_rests_on_those_behind_its_statements() -> None:
    lost, small = traded(0, CHASE, -0.3), traded(1, "I wait for the retest.", -0.02)
    assert evidence_ids(findings_of([lost, small], "warning")) == [lost.id]
    failed = [ended(0, TENANT), ended(1, TENANT), ended(2, "", "neutral")]
    assert evidence_ids(findings_of(failed)) == [*ids(failed[:2])]


# ── the digest ───────────────────────────────────────────────────────────────────────

BASE = [ended(0, TENANT), ended(1, TENANT), ended(2, CHECKED, "success")]


@pytest.mark.parametrize(
    "outcomes",
    [
        [*BASE, ended(5, TENANT)],
        [*BASE, ended(5, "", "neutral")],
        [*BASE[:2], ended(3, CHECKED, "success")],
        [BASE[0], ended(1, PRICES), BASE[2]],
        BASE[:2],
    ],
)
def test_other_statements_or_counts_have_another_digest(outcomes: list[Outcome]) -> None:
    assert digest(findings_of(BASE)) == digest(findings_of(BASE))
    assert digest(findings_of(outcomes)) != digest(findings_of(BASE))


def test_actions_that_say_the_same_have_a_key_in_common() -> None:
    lesson = {"do": "Give each test its own port"}
    here, there = (
        account_keys(account([ended(day, text, lesson=lesson)]))
        for day, text in enumerate((TENANT, PRICES))
    )
    assert len(set(here) & set(there)) == 1
    assert set(here) != set(there)


# ── any order ────────────────────────────────────────────────────────────────────────

POOL = [
    *BASE,
    ended(3, PRICES),
    ended(4, "", result={"evidence": ERROR}),
    ended(5, "", result={"answer": "24"}),
    ended(6, PRICES, "success"),
    ended(7, "", "neutral"),
    ended(8, "", lesson={"do": "give each test a port"}),
    *(traded(10 + day, CHASE, score) for day, score in enumerate((-0.3, 0.4, -0.2, 0.05))),
]  # fmt: skip


@given(st.permutations(POOL), st.sampled_from(KINDS))
def test_the_order_of_arrival_changes_nothing(order: list[Outcome], kind: SkillKind) -> None:
    assert findings_of(order, kind) == findings_of(POOL, kind)
    assert digest(findings_of(order, kind)) == digest(findings_of(POOL, kind))


@given(st.lists(st.sampled_from(POOL), unique_by=lambda one: one.id, min_size=1),
       st.sampled_from(KINDS))  # fmt: skip
def test_no_statement_is_made_twice_and_each_has_more_for_it_than_against_it(
    outcomes: list[Outcome], kind: SkillKind
) -> None:
    found = findings_of(outcomes, kind)
    told = texts(found)
    assert len(told) == len(set(told))
    names = set(ids(outcomes))
    for one in found.statements:
        assert one.supporting
        assert names.issuperset((*one.supporting, *one.against))
        if one.kind in ("worked", "failed"):
            assert len(one.supporting) > len(one.against)

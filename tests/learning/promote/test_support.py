"""promote: what results support becomes a fact; what contests it serves nothing."""

import random
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from skillvault.learning.promote.support import support_state
from skillvault.model.records import Evaluation, Fact, Outcome, Status
from tests.learning.promote.runs import POLICY, KnownRuns, Run, run_of

RETRY = "Do retry failed payments in pay.py, because the gateway drops 3 of 5 calls."
NO_RETRY = "Do not retry failed payments in pay.py, because the gateway drops 3 of 5 calls."
LEDGER = "Read the ledger before a payment, since its clock runs five minutes late."
HALF = "Wait 30 s before a retry of the payment, since the gateway is flaky now."


def facts(known: KnownRuns) -> dict[str, Fact]:
    """Return each fact by its ending and its ground."""
    return {_ground(fact.text): fact for fact in known.facts.values()}


def _ground(text: str) -> str:
    ground = re.search("“(.*?)”", text)
    ended = "failed" if "checkout failed" in text else "succeeded"
    return f"{ended}: {ground[1]}" if ground else text


def why_not(known: KnownRuns, run: Run) -> str:
    """Return the reason why a run is no fact."""
    return support_state(run[1], known.book, known.records(), POLICY).reason


def test_an_insight_of_one_session_alone_is_no_fact() -> None:
    runs = [run_of(day, HALF, source__session="one") for day in range(3)]
    known = KnownRuns(runs)
    assert known.facts == {}
    assert why_not(known, runs[0]).endswith(
        "3 runs of 1 session say it, and otherwise it takes two"
    )


def test_an_insight_of_two_sessions_is_a_fact_told_as_the_earliest() -> None:
    known = KnownRuns([run_of(1, HALF)], [run_of(0, HALF)])
    (fact,) = known.facts.values()
    assert fact.created_at == datetime(2026, 11, 1, 9, tzinfo=UTC)
    assert known.linked(fact, "promoted", "reinforced") == {"01", "02"}


def test_of_runs_that_ended_at_once_the_same_tells_a_fact_whichever_came_first() -> None:
    told = []
    for targets in (("cart", "till"), ("till", "cart")):
        first, second = (
            run_of(0, HALF, decision__target=name, source__session=name, event_id=name)
            for name in targets
        )
        known = KnownRuns([run_of(1, HALF), first], [second])
        told += [fact.text for fact in known.facts.values()]
    assert told == [told[0]] * 2


def test_runs_that_ended_otherwise_contradict() -> None:
    runs = [
        run_of(0, HALF), run_of(1, HALF, "failure"), run_of(2, HALF, "failure"),
        run_of(3, HALF), run_of(4, HALF, "failure"),
    ]  # fmt: skip
    known = KnownRuns(*([run] for run in runs))
    failed = facts(known)[f"failed: {HALF}"]
    assert known.linked(failed, "promoted", "reinforced") == {"02", "03", "05"}
    assert known.linked(failed, "contradicted") == {"01", "04"}


def test_as_many_against_an_insight_as_for_it_make_no_fact_of_it() -> None:
    failed = [run_of(day, HALF, "failure", source__session="one") for day in range(2)]
    known = KnownRuns(failed, [run_of(2, HALF), run_of(3, HALF)])
    assert known.facts == {}


def test_a_run_that_rests_on_the_ground_of_a_fact_and_ended_otherwise_contradicts() -> None:
    both = run_of(2, f"{LEDGER} {RETRY}", "failure", insight=LEDGER)
    known = KnownRuns([run_of(0, RETRY), run_of(1, RETRY)], [both])
    assert known.linked(facts(known)[f"succeeded: {RETRY}"], "contradicted") == {"03"}


def test_the_opposite_that_ended_alike_contradicts() -> None:
    sure = run_of(2, NO_RETRY, quality_score=0.8)
    known = KnownRuns([run_of(0, RETRY)], [run_of(1, RETRY)], [sure])
    said = facts(known)
    assert known.linked(said[f"succeeded: {RETRY}"], "contradicted") == {"03"}
    assert known.linked(said[f"succeeded: {NO_RETRY}"], "contradicted") == {"01", "02"}


def test_the_opposite_that_ended_otherwise_contradicts_nothing() -> None:
    known = KnownRuns([run_of(0, RETRY)], [run_of(1, RETRY)], [run_of(2, NO_RETRY, "failure")])
    assert known.linked(facts(known)[f"succeeded: {RETRY}"], "contradicted") == set()


@pytest.mark.parametrize("status", ["success", "failure"])
@pytest.mark.parametrize(
    ("lesson", "verbs"),
    [
        ("{} the limit to 40 when the queue grows.", "Reduce Increase"),
        ("{} the limit to 40 when the queue grows.", "Lower Raise"),
        ("When the load increases, {} the pool.", "shrink grow"),
        ("{} the limit when the error rate rises.", "Hold Increase"),
        ("Once the market opens, {} the position.", "hold close"),
        ("{} the worker before the queue grows.", "Restart Kill"),
        ("A larger batch {} on the staging cluster.", "works fails"),
        ("Label smoothing {} the score on small data.", "improves spoils"),
        ("A retry of the payment {} when the queue grows.", "succeeded failed"),
    ],
)
def test_a_contrary_or_another_deed_that_ended_alike_supports_nothing(
    lesson: str, verbs: str, status: Status
) -> None:
    one, other = (lesson.format(verb) for verb in verbs.split())
    known = KnownRuns(
        [run_of(0, one, status)], [run_of(1, one, status)], [run_of(2, other, status)]
    )
    (fact,) = known.facts.values()
    assert known.linked(fact, "promoted", "reinforced") == {"01", "02"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (HALF, HALF.replace("30 s", "300 s")),
        ("Pin the client to v1 of the API.", "Pin the client to v2 of the API."),
        ("Hedge the book with BTC futures.", "Hedge the book with ETH futures."),
    ],
)
def test_other_numbers_and_names_support_nothing(one: str, other: str) -> None:
    known = KnownRuns([run_of(0, one)], [run_of(1, other)], [run_of(2, other)])
    (fact,) = known.facts.values()
    assert known.linked(fact, "promoted", "reinforced") == {"02", "03"}


def test_what_a_run_measured_does_not_tell_it_from_another() -> None:
    said = "I reproduced the failure first: {} of {} runs under load failed."
    known = KnownRuns([run_of(0, said.format(3, 41))], [run_of(1, said.format(7, 18))])
    (fact,) = known.facts.values()
    assert known.linked(fact, "promoted", "reinforced") == {"01", "02"}


def test_a_failure_that_nothing_was_said_about_is_no_fact() -> None:
    runs = [run_of(day, "", "failure", result__evidence="assert 504 == 200") for day in range(3)]
    known = KnownRuns(runs)
    assert known.facts == {}
    assert why_not(known, runs[0]).endswith("it only says how its own run ended")


def test_the_figures_of_a_result_tell_no_insights_apart() -> None:
    known = KnownRuns(
        [
            run_of(day, HALF, result__evidence=f"ERROR consumer: shard {day} lags")
            for day in range(2)
        ]
    )
    (fact,) = known.facts.values()
    assert known.linked(fact, "promoted", "reinforced") == {"01", "02"}


# ── whatever the insight of the others ───────────────────────────────────────────────

FUNDING = "Funding was 0.05 % and RSI 28, so I enter with a stop at 5 %; risk: liquidation cascade"


def ending_of(day: int, score: float, why: str = FUNDING, **changes: Any) -> Run:
    """A graded run whose failure tells no more than how it ended."""
    status: Status = "success" if score > 0 else "failure"
    return run_of(
        day, why, status, insight=why if score > 0 else "", result__score=score, **changes
    )


@pytest.mark.parametrize("why", [FUNDING, "The spread is wide. Buy at 5 % off. It may fall on."])
def test_the_losers_of_a_ground_are_against_the_fact_of_its_winners(why: str) -> None:
    won = {3, 9, 14}
    runs = [ending_of(day, 0.05 if day in won else -0.08, why) for day in range(18)]
    for known in (KnownRuns(runs), KnownRuns(*([run] for run in runs))):
        (fact,) = known.facts.values()
        assert known.linked(fact, "promoted", "reinforced") == {"04", "10", "15"}
        assert len(known.linked(fact, "contradicted")) == 15
        assert known.records().contested == {fact.id}


def test_runs_that_did_the_same_count_whatever_each_was_found_to_teach() -> None:
    said = "A pool of little TVL loses whatever its APR"
    runs = [run_of(0, LEDGER, "failure", insight=said, quality_score=0.1)]
    runs += [run_of(day, LEDGER, "failure", insight=f"Lesson {day}") for day in range(1, 4)]
    runs += [run_of(4, LEDGER, insight="Rain")]
    judged = [(of, replace(e, key_insight=f"{e.key_insight}".split("“")[-1])) for of, e in runs]
    known = KnownRuns(judged)
    (fact,) = (fact for fact in known.facts.values() if said in fact.text)
    assert known.linked(fact, "promoted", "reinforced") == {"01", "02", "03", "04"}
    assert known.linked(fact, "contradicted") == {"05"}


def test_a_figure_of_the_deed_makes_another_fact() -> None:
    one, other = (f"Reg_alpha {n}, reg_lambda 1.5, since the fit is noisy." for n in (0.1, 0.05))
    known = KnownRuns([run_of(0, one), run_of(1, one), run_of(2, other)])
    (fact,) = known.facts.values()
    assert known.linked(fact, "promoted", "reinforced") == {"01", "02"}


def test_a_figure_of_the_result_that_a_ground_holds_too_stays() -> None:
    known = KnownRuns([run_of(n, FUNDING, result__score=0.01 * (n + 4)) for n in range(3)])
    (fact,) = known.facts.values()
    assert known.linked(fact, "promoted", "reinforced") == {"01", "02", "03"}


# ── the opposite ─────────────────────────────────────────────────────────────────────

SIDES = (
    "Increase Reduce", "Raise Lower", "Enable Disable", "Add Remove", "Open Close",
    "Allow Deny", "Expand Shrink", "Start Stop", "Lock Unlock", "Tighten Loosen",
)  # fmt: skip
DEEDS = (
    "{} the limit to 40 when the queue grows",
    "When the load peaks, {} the cache of the checkout service",
    "{} the retry before the nightly batch, since the gateway is slow",
    "If the spread is above 5 %, {} the hedge of the book",
)
OPPOSITES = [(deed, sides) for deed in DEEDS for sides in SIDES] + [
    ("{} retry the payment while the ledger is locked", "Always Never"),
    ("{} trust the first reading of the sensor", "Do Do-not"),
    ("Enter the position {} the funding payment", "before after"),
    ("Keep the stop {} the level of the day", "above below"),
]


def _lesson(of: Outcome, said: Evaluation, text: str) -> Run:
    """A run whose agent, or whose judge, says something in place of a ground."""
    return of, replace(said, key_insight=text)


@pytest.mark.parametrize("status", ["success", "failure"])
@pytest.mark.parametrize(("deed", "sides"), OPPOSITES)
def test_an_opposite_never_supports(deed: str, sides: str, status: Status) -> None:
    one, other = (deed.format(side.replace("-", " ")) for side in sides.split())
    shared = "The queue of the day was long."
    grounds = KnownRuns(
        [run_of(0, f"{shared} {one}.", status, insight=f"{one}."), run_of(1, one, status)],
        [run_of(2, f"{shared} {other}.", status, insight=f"{other}.")],
    )
    judged = KnownRuns(
        [_lesson(*run_of(day, shared, status), one) for day in range(2)],
        [_lesson(*run_of(2, shared, status), other)],
    )
    for known in (grounds, judged):
        for fact in known.facts.values():
            linked = known.linked(fact, "promoted", "reinforced")
            assert "03" not in linked or linked == {"03"}


def test_what_a_judge_was_shown_and_found_new_supports_nothing() -> None:
    known = KnownRuns([run_of(0, HALF), run_of(1, HALF)])
    (first,) = known.facts.values()
    denied = [
        (of, replace(said, unlike=(first.id,)))
        for of, said in (run_of(day, HALF.replace("now", "today")) for day in (2, 3))
    ]
    known.weigh(denied)
    assert known.linked(known.facts[first.id], "promoted", "reinforced") == {"01", "02"}
    (second,) = (fact for fact in known.facts.values() if fact.id != first.id)
    assert known.linked(second, "promoted", "reinforced") >= {"03", "04"}


# ── any order ────────────────────────────────────────────────────────────────────────

MEASURED = "I reproduced the failure first: {} of {} runs under load failed."
POOL = [
    run_of(0, RETRY), run_of(1, RETRY), run_of(2, RETRY, quality_score=0.9), run_of(3, NO_RETRY),
    run_of(4, HALF, "failure", quality_score=0.1), run_of(5, HALF, "failure"), run_of(6, HALF),
    run_of(7, MEASURED.format(3, 41)), run_of(8, MEASURED.format(7, 18), quality_score=0.9),
    run_of(8, HALF, "failure", decision__target="till", event_id="till"),
    run_of(9, RETRY.replace("3 of 5", "4 of 5")),
    run_of(10, f"{LEDGER} {RETRY}", insight=LEDGER),
    run_of(11, f"{LEDGER} {RETRY}", insight=LEDGER),
]  # fmt: skip


def stated(known: KnownRuns) -> list[tuple[object, ...]]:
    """The facts that nothing contests, each with the runs that are for and against it."""
    return sorted(
        (
            fact.id, fact.text, fact.created_at, fact.importance,
            sorted(known.linked(fact, "promoted", "reinforced")),
            sorted(known.linked(fact, "contradicted")),
        )
        for fact in known.facts.values()
        if fact.id not in known.records().contested
    )  # fmt: skip


@settings(max_examples=25)
@given(st.permutations(POOL), st.randoms(use_true_random=False))
def test_the_order_of_arrival_changes_nothing(order: list[Run], chance: random.Random) -> None:
    batches, rest = [], order
    while rest:
        size = chance.randint(1, 4)
        batches.append(rest[:size])
        rest = rest[size:]
    assert stated(KnownRuns(*batches)) == stated(KnownRuns(POOL)) != []

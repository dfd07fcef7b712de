"""A page has the numbers of `stats` and `status`, and its week those of the commits."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from skillvault.api import Vault, page
from skillvault.inspect.page import Rate, cut_repetition, drawdown, result_of_first
from skillvault.inspect.week import find_reason
from skillvault.model.decision_outcomes import NEXT_WORDS
from skillvault.model.errors import UsageError
from skillvault.page.html import html_of
from skillvault.sessions.closing import Closing
from tests.conftest import NOW, Person
from tests.given import as_file, raw, trade
from tests.judge.conftest import appoint
from tests.used import use_skills

LATER = NOW + timedelta(hours=1)


@pytest.fixture
def used(vault: Vault, person: Person) -> Vault:
    return use_skills(vault, person)


def test_its_numbers_are_those_of_stats_and_status(used: Vault) -> None:
    told = page(used, now=LATER)
    assert list(told.benefit.skills) == used.stats()
    assert told.status == used.status()


def test_the_rates_with_a_skill_and_without_are_of_all_closed_decisions(used: Vault) -> None:
    benefit = page(used, now=LATER).benefit
    by_name = {one.skill: one for one in used.stats()}
    succeeded = by_name["good"].success_count + by_name["bad"].success_count
    assert (benefit.applied.successes, benefit.applied.count) == (succeeded, 60)
    assert benefit.bare.count == 30
    assert sum(span.applied.count for span in benefit.spans) == 60
    assert sum(span.bare.count for span in benefit.spans) == 30


def test_one_sentence_says_if_lessons_help(used: Vault) -> None:
    benefit = page(used, now=LATER).benefit
    assert benefit.sentence == (
        "Partly: 50 % of 60 decisions with a lesson succeeded, 50 % of 30 without one; of the same "
        "kind compared, 1 of 2 lessons surely helps and 1 surely hurts."
    )
    assert replace(benefit, skills=[]).sentence == (
        "Not shown yet: 50 % of 60 decisions with a lesson succeeded, 50 % of 30 without one; "
        "no lesson is compared with decisions of the same kind yet."
    )
    unsure = [replace(one, interval=(-0.01, 0.3)) for one in benefit.skills]
    assert (
        "0 of 2 lessons surely help and 0 surely hurt" in replace(benefit, skills=unsure).sentence
    )
    early = "Too early: 9 uses; the figure comes from 10 on."
    assert replace(benefit, applied=Rate(9, 9)).sentence == early


def test_a_skill_that_hurts_is_to_be_stopped_before_all_else(used: Vault) -> None:
    assert page(used, now=LATER).stops[0].skill == "bad"


def test_what_is_older_than_the_week_is_not_told_as_learned(vault: Vault) -> None:
    vault.record([("a.json", as_file(raw()))], now=NOW)
    vault.run(now=NOW)
    week = page(vault, now=NOW + timedelta(days=8)).week
    assert (week.recorded, sum(week.counts.values()), list(week.happened)) == (0, 0, [])
    assert page(vault, since=NOW, now=NOW + timedelta(days=8)).week.counts["learned"] == 1


def test_a_claim_that_ci_refused_is_the_first_surprise(vault: Vault) -> None:
    claimed = {"status": "success", "claim": "All tests pass.", "claimed": "success"}
    vault.record([("a.json", as_file(raw(decision__id="d-1", result=claimed)))], now=NOW)
    seen = Closing(status="failure", observed_by="ci", evidence="FAILED test_payment")
    vault.close("d-1", seen, now=NOW)
    vault.run(now=NOW)
    first = page(vault, now=LATER).week.surprises[0]
    assert first.title == "claimed success, CI refused"
    assert "FAILED test_payment" in first.why


def test_a_claim_that_a_person_refused_is_told_in_the_persons_words(vault: Vault) -> None:
    refused = {"status": "failure", "observed_by": "person", "claimed": "success"}
    refused |= {"summary": f"{NEXT_WORDS}excel shows umlauts wrong", "evidence": "149 passed"}
    vault.record([("a.json", as_file(raw(result=refused)))], now=NOW)
    vault.run(now=NOW)
    (first,) = page(vault, now=LATER).week.surprises
    assert (first.title, first.why) == (
        "claimed success, the person refused",
        "excel shows umlauts wrong",
    )


def test_what_a_person_took_away_is_told_as_rejected(vault: Vault, person: Person) -> None:
    vault.record([("a.json", as_file(raw()))], now=NOW)
    vault.run(now=NOW)
    (name,) = (one.name for one in vault.skills())
    person.git("rm", "-rq", f"skills/{name}")
    person.git("commit", "-qm", "We like that timeout")
    happened = page(vault, since=NOW).week.happened  # a person's git has the real time
    (one,) = (one for one in happened if one.event == "rejected")
    assert (one.ref.id, one.why) == (name, "A person removed it: We like that timeout")


def test_a_retired_skill_is_told_as_retired(vault: Vault) -> None:
    vault.record([("a.json", as_file(raw()))], now=NOW)
    vault.run(now=NOW)
    vault.curate.retire(vault.skills()[0].name, now=NOW)
    week = page(vault, now=LATER).week
    assert week.counts["retired"] == 1


def test_each_record_has_its_part_of_a_message_that_several_share() -> None:
    message = """promote: 2 facts in coding

- one-fact: A bad decision
(quality 0.03), confirmed by the result.
- other-fact: A good decision, a surprise.

generate: warning-coding-x
x: 7 of 7 outcomes are failures.

Skillvault-Step: promote
"""
    assert (
        find_reason(message, "one-fact")
        == "A bad decision (quality 0.03), confirmed by the result."
    )
    assert find_reason(message, "other-fact") == "A good decision, a surprise."
    assert find_reason(message, "warning-coding-x") == "x: 7 of 7 outcomes are failures."


def test_a_record_beyond_where_a_message_was_cut_has_no_other_ones_reason() -> None:
    message = """generate: warning-a and 2 more

generate: warning-a
a: 7 of 7 outcomes are failures.

generate: warning-b
… 3 more lines; the diff has all of it

Skillvault-Step: generate
Skillvault-Source: evaluation:e1
Skillvault-Target: skill:warning-a
Skillvault-Step: generate
Skillvault-Source: evaluation:e2
Skillvault-Target: skill:warning-b
Skillvault-Step: generate
Skillvault-Source: evaluation:e3
Skillvault-Source: evaluation:e4
Skillvault-Source: fact:f1
Skillvault-Target: skill:warning-c
"""
    assert find_reason(message, "warning-a") == "a: 7 of 7 outcomes are failures."
    assert find_reason(message, "warning-b") == "From 1 evaluation."
    assert find_reason(message, "warning-c") == "From 2 evaluations and 1 fact."


def test_a_domain_that_is_not_known_is_refused(vault: Vault) -> None:
    with pytest.raises(UsageError, match="--domain cooking: no such domain; there are: coding"):
        page(vault, domain="cooking")


@pytest.mark.parametrize(
    ("values", "fall"),
    [
        ([], 0.0),
        ([0.1, 0.2], 0.0),
        ([-0.1, -0.2, 0.5], 0.3),
        ([0.5, -0.1, 0.05, -0.3, 0.4], 0.35),
    ],
)
def test_the_drawdown_is_the_deepest_fall_of_a_running_sum(
    values: list[float], fall: float
) -> None:
    assert drawdown(values) == pytest.approx(fall)


def test_money_has_its_sum_mean_worst_and_drawdown(vault: Vault) -> None:
    scores = (0.05, -0.112, 0.02)
    vault.record([(f"{n}.json", as_file(trade(n, s))) for n, s in enumerate(scores)], now=NOW)
    told = page(vault, domain="perps", now=LATER)
    (domain,) = told.domains
    scored = domain.actions[0].whole.scores
    assert scored is not None
    assert scored.mean == pytest.approx(sum(scores) / 3)
    assert scored.worst == -0.112
    (money,) = scored.amounts
    assert money.unit == "USD"
    assert money.total == pytest.approx(-42)
    assert money.drawdown == pytest.approx(112)
    assert [line.target for line in domain.actions[0].targets] == ["SOL-PERP"]


def test_it_counts_the_questions_that_are_open_for_an_agent(vault: Vault) -> None:
    vault.record([("a.json", as_file(raw()))], now=NOW)
    vault.run(now=NOW)
    assert page(vault, now=LATER).questions is None
    appoint(vault, provider="agent")
    questions = vault.queue.next_questions(99)
    assert page(vault, now=LATER).questions == len(questions) > 0
    assert f"{len(questions)} question".encode() in html_of(page(vault, now=LATER))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("It was red; all was lost.", "It was red; all was lost."),
        ("red; cart: I wait 5 s → red (both failed).", "red"),
        ("red; cart: I double the time; a mock costs more → red (both failed).", "red"),
        (
            "red; all lost; I double the time; a mock costs more → red (both failed).",
            "red; all lost",
        ),
    ],
)
def test_a_stop_has_the_result_of_its_own_deed(text: str, result: str) -> None:
    deeds = ["I raise the sleep", "I double the time; a mock costs more"]
    assert result_of_first(text, deeds) == result


def test_of_deeds_that_failed_as_often_one_with_a_remedy_comes_first(vault: Vault) -> None:
    failed = {"status": "failure", "evidence": "assert 504 == 200"}
    lesson = {"when": "a test is flaky", "do": "Freeze the clock.", "because": "It passed then."}
    first = raw(decision__reasoning="I raise the sleep.", result=failed, lesson=lesson)
    later = raw(1, decision__reasoning="I delete the fixture.", result=failed)
    vault.record([("a.json", as_file(first)), ("b.json", as_file(later))], now=NOW)
    vault.run(now=NOW)
    stops = page(vault, now=LATER).stops
    assert [bool(stop.instead) for stop in stops] == [True, False]


def test_a_deed_that_failed_is_to_stop_once_whoever_says_it(vault: Vault) -> None:
    result = {"status": "failure", "evidence": "assert 504 == 200"}
    failed = raw(decision__reasoning="I raise the sleep.", result=result)
    lost = trade(decision__reasoning="I chase the move.", score=-0.2)
    vault.record([("a.json", as_file(failed)), ("b.json", as_file(lost))], now=NOW)
    vault.run(now=NOW)
    stops = page(vault, now=LATER).stops
    assert [str(stop.skill).partition("-")[0] for stop in stops] == ["guide", "guide"]
    assert ("I raise the sleep", "assert 504 == 200.") in [
        (stop.deed, stop.result) for stop in stops
    ]


@pytest.mark.parametrize(
    ("result", "lesson", "cut"),
    [
        ("no, drop black. Use ruff.", "ruff check: Use ruff (a person says so).", "no, drop black"),
        ("stop printing, we use structlog", "We use structlog.", "stop printing"),
        ("Use ruff.", "ruff check: Use ruff (a person says so).", "Use ruff."),
        ("504 after 30 s", "Add the index.", "504 after 30 s"),
        ("not a good idea", "a (the first letter)", "not a good idea"),
    ],
)
def test_what_to_do_instead_is_said_once(result: str, lesson: str, cut: str) -> None:
    assert cut_repetition(result, lesson) == cut

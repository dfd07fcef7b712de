"""causes: what outcomes show alike, kind by kind, in whatever order they came."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.account.causes import causes, form_of, own_values, signature
from skillvault.learning.account.insight import insights_of
from skillvault.model.brief import Cause
from skillvault.model.records import Outcome
from tests.given import outcome, trade
from tests.learning.accounts import PRICES, TENANT, ended

TENANT_TOO = "I assume the cache key does not need a tenant."
ORDER = "I guess the deploy order of the services is irrelevant."
UNCHECKED = "I merge the change without testing the migration on a copy."


def _causes(members: Sequence[Outcome], others: Sequence[Outcome]) -> list[Cause]:
    """What the members show, if all that ended so are looked at."""
    return causes(members, members, others)


def _failed(*reasonings: str) -> list[Outcome]:
    return [ended(day, reasoning) for day, reasoning in enumerate(reasonings)]


def _with_error(day: int, line: str) -> Outcome:
    return ended(day, "", result={"evidence": line})


def _counts(found: Sequence[Cause]) -> list[tuple[str, int, bool]]:
    return [(cause.quote, len(cause.shown_by), cause.alike) for cause in found]


# ── errors ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("FAILED test_a - assert 504 == 200", "FAILED test_a - assert 500 == 200"),
        ("KeyError: 'total' in /srv/app/cart.py:33", "KeyError: 'total' in C:\\x\\cart.py:7"),
        ("KeyError: 'total' in cart.py:33", "KeyError: 'total' in cart.py:7"),
        (
            "TimeoutError after 30 s (request 3f2a9bc1d2)",
            "TimeoutError after 5 s (request 77aa9bc1ee)",
        ),
        ("OPS-12: the disk is full", "OPS-134: the disk is full"),
        ("job 2026-11-20T10:15:00 failed", "job 2026-11-21T11:00:30 failed"),
        ("Error:  the disk  is full", "error: the disk is full"),
    ],
)
def test_an_error_is_the_same_without_paths_numbers_and_ids(a: str, b: str) -> None:
    assert signature(a) == signature(b)
    assert _counts(_causes([_with_error(0, a), _with_error(1, b)], []))[0][1:] == (2, True)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("KeyError: 'total'", "KeyError: 'price'"),
        ("KeyError: 'total'", "ValueError: 'total'"),
        ("FAILED test_a - assert 504 == 200", "FAILED test_b - assert 504 == 200"),
        ("Permission denied: deadline", "Permission denied: headline"),
    ],
)
def test_another_type_or_message_is_another_error(a: str, b: str) -> None:
    assert signature(a) != signature(b)
    assert _counts(_causes([_with_error(0, a), _with_error(1, b)], [])) == [
        (a, 1, True),
        (b, 1, True),
    ]


def test_an_error_is_quoted_as_its_first_outcome_had_it() -> None:
    members = [_with_error(day, f"FAILED test_a - assert {500 + day} == 200") for day in range(3)]
    assert _counts(_causes(members[::-1], []))[0][0] == "FAILED test_a - assert 500 == 200"


@given(st.text(max_size=80))
def test_a_signature_holds_no_number(text: str) -> None:
    assert not any(character in "0123456789" for character in signature(text))


# ── what is said ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("other", [TENANT, TENANT_TOO, f"Well: {TENANT}", TENANT.lower()])
def test_the_same_words_are_one_cause(other: str) -> None:
    (only,) = _causes(_failed(TENANT, other), [])
    assert (len(only.shown_by), only.of, only.alike) == (2, 2, True)


def test_what_is_an_outcomes_own_does_not_make_two_causes_of_one() -> None:
    said = "I chase it because longs crowd into {} and funding is {}."
    members = [
        outcome(
            trade(
                day,
                decision__target=target,
                decision__reasoning=said.format(target, funding),
                context={"funding": funding},
                result={"score": -0.2},
            )
        )
        for day, (target, funding) in enumerate([("SOL-PERP", 0.08), ("ETH-PERP", 0.05)])
    ]
    assert [(c.kind, len(c.shown_by), c.alike) for c in _causes(members, [])] == [
        ("ground", 2, True)
    ]


def test_what_two_say_word_for_word_is_the_same_whatever_they_observed() -> None:
    """The 0 of the one's observation is no part of the sentence that both say."""
    said = {"decision__reasoning": "I ship because the suite ended with 0 errors in 86 tests."}
    lost = outcome(trade(0, -0.2, context={"load": 1000.0}, **said))
    won = outcome(trade(1, 0.3, context={}, **said))
    (cause,) = [c for c in causes([lost], [lost], [won]) if c.kind == "ground"]
    assert cause.against == (won.id,)


def test_an_outcomes_own_values_are_its_target_its_figures_and_what_it_observed() -> None:
    one = outcome(trade(score=-0.2))
    assert own_values(one) == ("SOL-PERP", "-0.2", "-200", "1000", "-20.0 %", "high", "bearish")


def test_where_nothing_but_the_kind_agrees_it_is_one_cause_with_its_count() -> None:
    (only,) = _causes(_failed(TENANT, PRICES, ORDER), [])
    assert (only.kind, only.alike, only.of, only.quote) == ("guess", False, 3, ORDER)
    assert len(only.shown_by) == 3


def test_what_two_share_stands_apart_from_what_each_says_alone() -> None:
    found = _causes(_failed(TENANT, PRICES, TENANT_TOO, ORDER), [])
    assert sorted((len(c.shown_by), c.alike) for c in found) == [(2, False), (2, True)]


def test_a_single_one_beside_them_is_quoted_as_it_is() -> None:
    found = _causes(_failed(TENANT, PRICES, TENANT_TOO), [])
    assert (PRICES, 1, True) in _counts(found)


def test_each_lesson_each_error_and_each_answer_is_a_cause_of_its_own() -> None:
    lessons = [{"do": "give each test a port"}, {"do": "restore the backup once a week"}]
    members = [
        ended(
            day, "", lesson=lesson, result={"evidence": f"{name}Error: no", "answer": f"{day + 3}"}
        )
        for day, (lesson, name) in enumerate(zip(lessons, ("Key", "Value"), strict=True))
    ]
    found = _causes(members, [])
    assert all(cause.alike and len(cause.shown_by) == 1 for cause in found)
    assert sorted(cause.kind for cause in found) == ["answer"] * 2 + ["error"] * 2 + ["lesson"] * 2


def test_kinds_are_never_one_cause() -> None:
    kinds = {cause.kind for cause in _causes(_failed(TENANT, UNCHECKED), [])}
    assert kinds == {"guess", "unchecked"}


def test_answers_of_the_same_value_are_one_cause() -> None:
    members = [ended(day, "", result={"answer": a}) for day, a in enumerate(("24", "24.0", "-24"))]
    assert _counts(_causes(members, [])) == [("24", 2, True), ("-24", 1, True)]


def test_one_that_says_it_beside_something_worse_counts_too() -> None:
    members = _failed(TENANT, TENANT, f"{UNCHECKED} {TENANT}")
    found = {cause.kind: len(cause.shown_by) for cause in _causes(members, [])}
    assert found == {"guess": 3, "unchecked": 1}


# ── for and against ──────────────────────────────────────────────────────────────────


def test_outcomes_that_say_the_same_and_ended_otherwise_are_against() -> None:
    others = [ended(day, TENANT, "success") for day in (5, 6)]
    others.append(ended(7, PRICES, "success"))
    (only,) = _causes(_failed(TENANT, TENANT), others)
    assert only.against == tuple(one.id for one in others[:2])
    assert (len(only.shown_by), only.of) == (2, 2)


def test_one_that_says_it_among_much_else_is_against_too() -> None:
    other = ended(5, f"I read the code. {TENANT} Then I verified it with 50 runs.", "success")
    assert _causes(_failed(TENANT), [other])[0].against == (other.id,)


def test_nothing_speaks_against_what_a_result_says() -> None:
    line = "KeyError: 'total'"
    other = ended(5, line, "success", result={"evidence": line})
    assert [c.against for c in _causes([_with_error(0, line)], [other])] == [()]


def test_members_that_show_nothing_make_no_cause() -> None:
    assert _causes(_failed("", ""), _failed(TENANT)) == []
    assert _causes([], _failed(TENANT)) == []


# ── any order ────────────────────────────────────────────────────────────────────────

POOL = [
    *_failed(TENANT, PRICES, TENANT_TOO, ORDER, UNCHECKED, TENANT),
    _with_error(10, "FAILED test_a - assert 504 == 200"),
    _with_error(11, "FAILED test_a - assert 500 == 200"),
    ended(12, "", result={"answer": "24"}),
    ended(13, "", lesson={"do": "give each test a port"}),
]
OTHERS = [ended(15, TENANT, "success"), ended(16, ORDER, "success")]


def _sorted(found: Sequence[Cause]) -> list[Cause]:
    return sorted(found, key=lambda cause: (cause.kind, cause.shown_by, cause.quote))


@given(st.permutations(POOL), st.permutations(OTHERS))
def test_the_order_of_outcomes_makes_no_difference(
    members: list[Outcome], others: list[Outcome]
) -> None:
    assert _sorted(_causes(members, others)) == _sorted(_causes(POOL, OTHERS))


@given(st.lists(st.sampled_from(POOL), unique_by=lambda one: one.id))
def test_every_insight_stands_in_exactly_one_cause_of_its_kind(members: list[Outcome]) -> None:
    found = _causes(members, [])
    for one in members:
        for insight in insights_of(one):
            kinds = [cause.kind for cause in found if one.id in cause.shown_by]
            assert kinds.count(insight.kind) == 1
    assert all(cause.of == len(members) for cause in found)


def test_errors_and_answers_are_compared_by_value() -> None:
    forms = {form_of(one, insight) for one in POOL[6:9] for insight in insights_of(one)}
    assert forms == {"failed test_a - assert ==", "24"}

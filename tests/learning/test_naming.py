"""naming: names of generated skills come from what they are about, never from arrival."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.naming import free_name, is_strategy, subject_key, subject_names
from skillvault.model.records import SkillKind, Subject
from skillvault.model.text.text import MAX_SLUG, is_slug

HEX = r"-[0-9a-f]{6}"


def _name(
    subject: Subject, kind: SkillKind = "warning", taken: tuple[str, ...] = (), trust: str = "local"
) -> str:
    names = subject_names(kind, subject, "local" if trust == "local" else "untrusted")
    return next(name for name in names if name not in taken)


@pytest.mark.parametrize(
    ("kind", "subject", "name"),
    [
        ("warning", ("perps", "open_long", "SOL-PERP"), "warning-perps-open-long-sol-perp"),
        ("pattern", ("perps", "open_long", "SOL-PERP"), "pattern-perps-open-long-sol-perp"),
        ("warning", ("coding", "fix-flaky-test", None), "warning-coding-fix-flaky-test"),
        ("warning", ("ops", "Deploy", "web_v2"), "warning-ops-deploy-web-v2"),
    ],
)
def test_a_name_is_kind_domain_action_and_target(
    kind: SkillKind, subject: Subject, name: str
) -> None:
    assert _name(subject, kind) == name


@pytest.mark.parametrize(
    ("subject", "begins"),
    [
        (("coding", "do-not", None), "warning-coding-do-not"),
        (("coding", "deploy", "never"), "warning-coding-deploy-never"),
        (("coding", "restart", "without"), "warning-coding-restart-without"),
        (("coding", "wait", "for"), "warning-coding-wait-for"),
        (("coding", "deploy", "before"), "warning-coding-deploy-before"),
        (("coding", "retry", "don't"), "warning-coding-retry-don"),
        (("coding", "修复", None), "warning-coding"),
        (("coding", "修复", "checkout"), "warning-coding-checkout"),
        (("coding", "deploy", "比特币"), "warning-coding-deploy"),
        (("coding", "x" * 70, None), "warning-coding-x"),
        (("coding", "deploy", "word " * 30), "warning-coding-deploy-word"),
    ],
)
def test_what_does_not_fit_or_ends_openly_ends_in_hex_of_its_subject(
    subject: Subject, begins: str
) -> None:
    name = _name(subject)
    assert name.startswith(begins)
    assert re.search(f"{HEX}$", name)
    assert is_slug(name)


def test_a_name_that_is_taken_ends_in_hex_of_its_subject() -> None:
    subject = ("perps", "open_long", "SOL-PERP")
    full = _name(subject)
    second = _name(subject, taken=(full,))
    assert re.fullmatch(f"{full}{HEX}", second)
    third = _name(subject, taken=(full, second))
    assert third.startswith(second)
    assert len(third) == len(second) + 6
    assert _name(subject, taken=(full, "other")) == second


def test_subjects_whose_words_are_left_out_have_names_apart_in_any_order_of_arrival() -> None:
    swapped: tuple[Subject, ...] = (("coding", "修复", "比特币"), ("coding", "比特币", "修复"))
    alone = [_name(subject) for subject in swapped]
    assert alone[0] != alone[1]
    assert [_name(s, taken=(n,)) for s, n in zip(swapped, alone[::-1], strict=True)] == alone


def test_an_untrusted_skill_of_the_same_subject_has_another_name() -> None:
    subject = ("perps", "open_long", "SOL-PERP")
    full = _name(subject)
    names = {_name(subject, taken=(full,), trust=trust) for trust in ("local", "untrusted")}
    assert len(names) == 2


PARTS = st.text(min_size=1, max_size=40).filter(str.strip)
SUBJECTS = st.tuples(PARTS, PARTS, st.none() | PARTS)


@given(st.lists(SUBJECTS, unique=True, max_size=6), st.sampled_from(["warning", "pattern"]))
def test_any_subjects_have_free_names_that_end_in_no_number_by_order(
    subjects: list[Subject], kind: SkillKind
) -> None:
    names: list[str] = []
    for subject in subjects:
        names.append(_name(subject, kind, tuple(names)))
    assert len(set(names)) == len(names)
    assert all(is_slug(name) and len(name) <= MAX_SLUG for name in names)


@given(st.integers(1, 4))
def test_no_name_ever_ends_in_a_number_by_order(collisions: int) -> None:
    names: list[str] = []
    for number in range(collisions):
        names.append(free_name("evolved", "canary", [f"s{number}"], names.__contains__))
    assert names[0] == "evolved-canary"
    assert all(re.fullmatch(f"evolved-canary{HEX}", name) for name in names[1:])


@pytest.mark.parametrize(
    ("subject", "key"),
    [
        (("perps", "open_long", "SOL-PERP"), "perps / open_long / SOL-PERP"),
        (("coding", "deploy", None), "coding / deploy"),
        (("coding", "a/b", None), "coding / a//b"),
    ],
)
def test_a_subject_is_stated_in_its_own_words(subject: Subject, key: str) -> None:
    assert subject_key(subject) == key


TIGHT = st.text("a/ #\n", min_size=1, max_size=6).filter(str.strip)


@given(st.tuples(TIGHT, TIGHT, st.none() | TIGHT), st.tuples(TIGHT, TIGHT, st.none() | TIGHT))
def test_distinct_subjects_are_stated_apart_on_one_line(a: Subject, b: Subject) -> None:
    assert (subject_key(a) == subject_key(b)) == (a == b)
    assert "\n" not in subject_key(a)


@pytest.mark.parametrize("about", ["canary", "do not", "修复", "x" * 80])
def test_a_free_name_of_the_same_sources_is_the_same_in_whatever_order(about: str) -> None:
    names = {
        free_name("evolved", about, sources, {"evolved-canary"}.__contains__)
        for sources in (["a", "b", "c"], ["c", "a", "b"])
    }
    assert len(names) == 1


@pytest.mark.parametrize(
    ("name", "is_one"), [("strategy-coding", True), ("warning-strategy-x", False)]
)
def test_a_strategy_is_known_by_its_name(name: str, is_one: bool) -> None:
    assert is_strategy(name) is is_one

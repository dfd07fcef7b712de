"""The terms by which a rule is looked for, and the files that are evidence for it."""

import pytest

from skillvault.learning.capture.evidence import rule_evidence, search_terms


@pytest.mark.parametrize(
    "rule",
    [
        "Never use `eval` on input.",
        "Avoid `print` in libraries.",
        "Don't call `time.sleep` in tests.",
        "Don’t call `time.sleep` in tests.",
        "`os.system` is forbidden here.",
        "We no longer use `nose`.",
        "Modules MUST NOT import `api`.",
    ],
)
def test_a_rule_that_forbids_is_negative(rule: str) -> None:
    assert search_terms(rule).polarity == "negative"


@pytest.mark.parametrize("rule", ["Call `never_again` twice.", "Use a bank holiday calendar."])
def test_a_word_in_code_or_inside_another_forbids_nothing(rule: str) -> None:
    assert search_terms(rule).polarity == "positive"


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("Use `pathlib` instead of `os.path`.", ["pathlib"]),
        ("Prefer `msgspec` rather than `pydantic`.", ["msgspec"]),
        ("Choose `httpx2` over `requests`.", ["httpx2"]),
        ("Use `one of` these, not `two of` those.", ["one of"]),
    ],
)
def test_of_a_contrast_only_the_first_part_is_looked_for(rule: str, code: list[str]) -> None:
    assert search_terms(rule).code == code


def files(*names: str) -> frozenset[str]:
    return frozenset(names)


ABC, ABCD, CDE = files("a", "b", "c"), files("a", "b", "c", "d"), files("c", "d", "e")


@pytest.mark.parametrize(
    ("rule", "occurrences", "searched", "expected"),
    [
        # the best term alone, or all terms together if that is enough
        ("Use `foo_x` with `bar_x`.", {"foo_x": ABCD, "bar_x": CDE}, 9, "abcd"),
        ("Use `foo_x` with `bar_x`.", {"foo_x": ABCD, "bar_x": ABC}, 9, "abc"),
        ("Use `foo_x` with `gone_x`.", {"foo_x": ABCD}, 9, "abcd"),
        # a term in more than half of twenty files tells nothing
        ("Use `self_x` here.", {"self_x": files(*map(str, range(11)))}, 20, ""),
        ("Use `self_x` here.", {"self_x": files(*map(str, range(10)))}, 19, "0123456789"),
        # of words two must stand together
        ("Cache stale tokens.", {"Cache": ABC, "stale": ABCD, "tokens": CDE}, 9, "abcd"),
        ("Cache stale tokens.", {"Cache": files("a"), "stale": files("b")}, 9, ""),
    ],
)
def test_files_count_as_evidence(
    rule: str, occurrences: dict[str, frozenset[str]], searched: int, expected: str
) -> None:
    assert "".join(rule_evidence(search_terms(rule), occurrences, searched).files) == expected


def test_words_alone_are_worth_at_most_medium() -> None:
    many = files(*map(str, range(9)))
    worth = rule_evidence(search_terms("Cache stale tokens."), {"Cache": many, "stale": many}, 9)
    assert (worth.confidence, worth.is_enough) == ("medium", True)


def test_five_files_are_named_and_the_others_counted() -> None:
    occurrences = {"foo_x": files("e", "b", "a", "d", "c", "g", "f")}
    found = rule_evidence(search_terms("Use `foo_x`."), occurrences, 9)
    assert found.file_list == "a, b, c, d, e (+2 more)"

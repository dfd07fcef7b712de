"""text: similarity, theme, slugs and sentences, by the vectors and by rules."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.model.text import text


def _vectors(shared: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((shared / "vectors" / f"{name}.json").read_text())[
        "vectors"
    ]
    return found


@pytest.mark.parametrize("name", ["similarity", "theme"])
def test_equals_the_vectors(shared: Path, name: str) -> None:
    for vector in _vectors(shared, name):
        assert getattr(text, name)(*vector["args"]) == vector["expect"], vector["id"]


def test_words_of_scripts_without_spaces_are_compared_by_bigrams() -> None:
    same = text.similarity("高波动时入场会亏损", "高波动时入场常亏损")
    other = text.similarity("高波动时入场会亏损", "数据库迁移先做演练")
    assert same > 0.4 > other == 0.0


def test_words_of_mixed_scripts_keep_their_latin_tokens() -> None:
    assert text.words("流动性liquidity") == {"流动", "动性", "liquidity"}


@given(st.text(), st.text())
def test_similarity_is_symmetric_and_a_share(a: str, b: str) -> None:
    assert text.similarity(a, b) == text.similarity(b, a)
    assert 0.0 <= text.similarity(a, b) <= 1.0


@given(st.text(), st.integers(min_value=8, max_value=64))
def test_a_slug_is_empty_or_fit_for_a_path(any_text: str, limit: int) -> None:
    found = text.slug(any_text, limit=limit)
    assert found == "" or (text.is_slug(found) and len(found) <= limit)


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("XLM/BTC long, stopped out", "xlm-btc-long-stopped-out"),
        ("my_old_name", "my-old-name"),
        ("Can't verify", "cant-verify"),
        ("Crème brûlée", "creme-brulee"),
        ("流动性", ""),
    ],
)
def test_slug_examples(given_text: str, expected: str) -> None:
    assert text.slug(given_text) == expected


def test_a_long_slug_is_cut_between_words() -> None:
    assert text.slug("one two three four five", limit=12) == "one-two"


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a--b", "a/b", "..", "a" * 65, "a\n"])
def test_what_is_no_slug(name: str) -> None:
    assert not text.is_slug(name)


def test_sentences_end_at_stops_and_at_list_items() -> None:
    assert text.sentences("First try. Then e.g. this.\n- one\n- two") == [
        "First try.",
        "Then e.g. this.",
        "- one",
        "- two",
    ]


@given(st.text(), st.integers(min_value=4, max_value=200))
def test_shorten_keeps_the_limit(any_text: str, limit: int) -> None:
    assert len(text.shorten(any_text, limit)) <= limit


def test_terms_are_words_that_could_be_a_condition() -> None:
    assert text.terms("We should verify the nested runs, don't we?") == {
        "verify",
        "nested",
        "runs",
    }


@given(st.text())
def test_flat_text_is_one_line_that_stays_as_it_is(body: str) -> None:
    once = text.flatten(body)
    assert len(once.splitlines()) <= 1
    assert not once.startswith(("#", ">", "|"))
    assert text.make_inert(body, 10**6) == text.make_inert(once, 10**6)


@pytest.mark.parametrize(
    ("said", "count"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("追涨", 2), ("ab追", 2)]
)
def test_tokens_are_estimated(said: str, count: int) -> None:
    assert text.count_tokens(said) == count


@pytest.mark.parametrize(
    ("said", "limit", "kept"),
    [
        ("use token-a1 now", 16, "use token-a1 now"),
        ("use token-a1 now", 9, "use "),
        ("use token-a1 now", 14, "use token-a1 "),
        ("token-a1", 5, ""),
        ("一二三四五", 3, "一二三"),
    ],
)
def test_a_text_is_cut_between_words(said: str, limit: int, kept: str) -> None:
    assert text.cut_between_words(said, limit) == kept

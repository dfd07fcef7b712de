"""meaning: what is near in meaning is found before what is not, with the extra `semantic`."""

import logging
import sqlite3
from contextlib import closing

import pytest

from skillvault.vault.search import ranking
from skillvault.vault.search.ranking import Document

pytest.importorskip("wordllama", reason="the extra `semantic` is not installed")

from skillvault.vault.search.vectors import compute_nearness


def test_a_text_of_like_words_is_nearer_than_one_of_others() -> None:
    puppy, boat = compute_nearness({"dog": 1.0}, [["puppy", "garden"], ["boat", "harbour"]])
    assert puppy == 1.0
    assert boat < 0.5


def test_a_word_asked_weighs_as_much_as_is_said() -> None:
    texts = [["puppy"], ["ship"]]
    assert compute_nearness({"dog": 1.0, "boat": 0.1}, texts)[0] == 1.0
    assert compute_nearness({"dog": 0.1, "boat": 1.0}, texts)[1] == 1.0


@pytest.mark.parametrize("texts", [[], [[]], [["dog"], []]])
def test_a_text_without_words_is_near_to_nothing(texts: list[list[str]]) -> None:
    found = compute_nearness({"dog": 1.0}, texts)
    assert [share for share, text in zip(found, texts, strict=True) if not text] == [0.0] * (
        texts.count([])
    )


def test_nothing_asked_is_near_to_nothing() -> None:
    assert compute_nearness({}, [["dog"]]) == [0.0]


def test_of_two_texts_with_the_word_the_one_near_in_meaning_is_first() -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        ranking.create_tables(database)
        said = ["Ada painted a boat", "Ada painted a puppy", "Ben sings", "Cleo runs", "Dan reads"]
        texts = [Document(f"f{i}", "fact", body=text) for i, text in enumerate(said)]
        ranking.add_documents(database, texts)
        assert ranking.search_texts(database, "painted dog")[0].id == "f0"
        assert (
            ranking.search_texts(database, "painted dog", nearness=compute_nearness)[0].id == "f1"
        )


def test_the_model_leaves_the_program_its_logging() -> None:
    compute_nearness({"dog": 1.0}, [["puppy"]])
    assert not any(type(one) is logging.StreamHandler for one in logging.getLogger().handlers)

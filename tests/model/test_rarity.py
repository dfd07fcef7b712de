"""english: the weight of a word does not depend on what a vault holds."""

from skillvault.model.english import FULL, bands, weight
from skillvault.model.sameness.form import stem


def test_a_rarer_word_tells_more() -> None:
    assert weight("time") < weight("market") < weight(stem("idempotent")) == FULL


def test_the_table_knows_stems_as_the_stemmer_makes_them() -> None:
    entries = [entry.partition("=") for _, line in bands() for entry in line.split()]
    stems = [stemmed for stemmed, _, _ in entries]
    assert len(stems) == len(set(stems))
    assert [s for s, _, word in entries if stem(word or s) != s] == []

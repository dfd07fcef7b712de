"""rarity: how much a word tells does not depend on what a vault holds."""

from skillvault.model.english.rarity import FULL, bands, weight, word_of
from skillvault.model.sameness.stemming import stem


def test_a_rarer_word_tells_more() -> None:
    assert weight("time") < weight("market") < weight(stem("idempotent")) == FULL


def test_the_table_knows_stems_as_the_stemmer_makes_them() -> None:
    stems = [entry.partition("=")[0] for _, entries in bands() for entry in entries.split()]
    assert len(stems) == len(set(stems))
    assert [s for s in stems if stem(word_of(s)) != s] == []


def test_a_stem_is_told_by_its_commonest_word() -> None:
    assert word_of(stem("companies")) == "company"
    assert word_of(stem("puppies")) == "puppy"

"""The code reads as plainly as before; `python -m tests.measures` prints the measures."""

from tests import measures


def _share(part: int, whole: int) -> float:
    return 100 * part / whole


def test_docstrings_open_with_a_verb_or_a_noun() -> None:
    assert _share(len(measures.docstrings_of_questions()), len(measures.docstrings())) <= 0.0


def test_local_names_are_nouns() -> None:
    names = measures.local_names_in_all()
    places = [place for place in names if place.name in measures.NO_NOUNS]
    assert _share(len(places), len(names)) <= 0.71


def test_functions_are_not_named_by_a_bare_participle() -> None:
    assert _share(len(measures.participles()), len(measures.function_names())) <= 0.72


def test_function_names_do_not_end_in_a_preposition() -> None:
    assert _share(len(measures.prepositions()), len(measures.function_names())) <= 0.05


def test_classes_are_not_named_by_participles_or_adverbs() -> None:
    assert len(measures.classes_without_noun()) <= 2

"""What was reached in names, sizes and imports is kept; `python -m tests.measures` prints it."""

from tests import measures


def test_local_names_say_what_they_hold() -> None:
    names, count = measures.placeholders()
    assert len(names) <= 0.016 * count, list(map(str, names))


def test_a_function_name_means_one_thing() -> None:
    assert len(measures.repeated_functions()) <= 13


def test_a_class_name_means_one_thing() -> None:
    assert len(measures.repeated_classes()) <= 4


def test_no_class_does_everything() -> None:
    methods, place = measures.class_sizes()[0]
    assert methods <= 25, place


def test_few_functions_take_more_than_four_positional_arguments() -> None:
    assert len(measures.many_arguments()) <= 5


def test_few_imports_stand_inside_functions() -> None:
    assert len(measures.inner_imports()) <= 28

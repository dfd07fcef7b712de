"""The vectors of two-tier learning."""

from collections.abc import Callable
from typing import Any

import pytest

from skillvault.learning import capture
from tests.vectors import vectors


def _terms(rule: str) -> dict[str, Any]:
    found = capture.search_terms(rule)
    return {key: getattr(found, key) for key in ("polarity", "code", "quoted", "words")}


def _worth(files: int) -> dict[str, Any]:
    found = capture.confidence(files)
    return {"confidence": found.confidence, "promote": found.promote}


ANSWERS: dict[str, Callable[[Any], Any]] = {
    "parse": capture.rules,
    "terms": _terms,
    "conf": _worth,
    "prompt": lambda given: capture.augment(**given),
}


@pytest.mark.parametrize("row", vectors("two_tier"))
def test_equals_the_vectors(row: dict[str, Any]) -> None:
    assert ANSWERS[row["group"]](row["input"]) == row["expect"]
    if row["group"] == "parse":
        assert capture.rules_for_prompt(row["input"]) == row["last20"]

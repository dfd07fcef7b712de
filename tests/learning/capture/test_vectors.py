"""The vectors of two-tier learning."""

from collections.abc import Callable
from typing import Any

import pytest

from skillvault.learning.capture.evidence import confidence, search_terms
from skillvault.learning.capture.prompt import augment
from skillvault.learning.capture.rules import rule_texts, rules_for_prompt
from tests.vectors import vectors


def _terms(rule: str) -> dict[str, Any]:
    found = search_terms(rule)
    return {key: getattr(found, key) for key in ("polarity", "code", "quoted", "words")}


def _worth(files: int) -> dict[str, Any]:
    found = confidence(files)
    return {"confidence": found.confidence, "promote": found.promote}


ANSWERS: dict[str, Callable[[Any], Any]] = {
    "parse": rule_texts,
    "terms": _terms,
    "conf": _worth,
    "prompt": lambda given: augment(**given),
}


@pytest.mark.parametrize("row", vectors("two_tier"))
def test_equals_the_vectors(row: dict[str, Any]) -> None:
    assert ANSWERS[row["group"]](row["input"]) == row["expect"]
    if row["group"] == "parse":
        assert rules_for_prompt(row["input"]) == row["last20"]

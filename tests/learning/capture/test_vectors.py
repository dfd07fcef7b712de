"""The vectors of two-tier learning."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from skillvault.learning.capture.evidence import rate_confidence, search_terms
from skillvault.learning.capture.prompt import append_learned, select_learned
from skillvault.learning.capture.rules import MAX_RULES, rule_texts
from skillvault.model.records import LearnedPattern
from tests.vectors import vectors


def _terms(rule: str) -> dict[str, Any]:
    found = search_terms(rule)
    return {key: getattr(found, key) for key in ("polarity", "code", "quoted", "words")}


def _worth(files: int) -> dict[str, Any]:
    found = rate_confidence(files)
    return {"confidence": found, "promote": found != "low"}


def _augment(base: str, patterns: list[dict[str, Any]], rules: list[str]) -> str:
    entries = [msgspec.convert(pattern, LearnedPattern) for pattern in patterns]
    return append_learned(base, select_learned(entries, rules))


ANSWERS: dict[str, Callable[[Any], Any]] = {
    "parse": rule_texts,
    "terms": _terms,
    "conf": _worth,
    "prompt": lambda given: _augment(**given),
}


@pytest.mark.parametrize("row", vectors("two_tier"))
def test_equals_the_vectors(row: dict[str, Any]) -> None:
    assert ANSWERS[row["group"]](row["input"]) == row["expect"]
    if row["group"] == "parse":
        assert rule_texts(row["input"])[-MAX_RULES:] == row["last20"]

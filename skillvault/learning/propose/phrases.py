"""The phrases of `phrases.toml` as patterns."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain
from pathlib import Path

_FILE = Path(__file__).with_name("phrases.toml")
# The beginning of a clause in which a rule may stand.
_CLAUSE_START = (
    r"(?:^|[,，、(]\s*|\b(?:and|but|so|because|since|und|aber|weil|denn|y|pero|porque|et|mais|car"
    r"|parce que)\s+)"
)
_LED_BY_FILLER = r"\W*(?:(?:{})[,，]?\s*)*(?:{})"


@cache
def anywhere(meaning: str) -> re.Pattern[str]:
    """Return a pattern for a phrase of a meaning, wherever it stands."""
    words = dict(_table()[meaning])
    unspaced = words.pop("zh", [])  # Chinese has no spaces between words
    return _compile("|".join([rf"(?<!\w)(?:{'|'.join(_all_of(words))})(?!\w)", *unspaced]))


@cache
def at_start(meaning: str) -> re.Pattern[str]:
    """Return a pattern for a text that starts with a phrase of a meaning, or with filler."""
    return _compile(
        f"^{_LED_BY_FILLER.format('|'.join(_phrases('filler')), '|'.join(_phrases(meaning)))}"
    )


@cache
def clause(meaning: str) -> re.Pattern[str]:
    """Return a pattern for a clause that starts with a phrase of a meaning; its group is `rule`."""
    return _compile(f"{_CLAUSE_START}(?P<rule>{'|'.join(_phrases(meaning))})")


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _phrases(meaning: str) -> Iterable[str]:
    return _all_of(_table()[meaning])


def _all_of(phrases_by_language: Mapping[str, list[str]]) -> Iterable[str]:
    return chain.from_iterable(phrases_by_language.values())


@cache
def _table() -> Mapping[str, Mapping[str, list[str]]]:
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))

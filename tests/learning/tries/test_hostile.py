"""The work of a reader of foreign text grows with the text's length, however it is made."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from skillvault.learning.tries.answers import answer_of
from skillvault.learning.tries.insight import signature
from skillvault.learning.tries.sentences import split_sentences
from skillvault.learning.tries.tries import try_of
from skillvault.model import reasoning
from tests.given import outcome, raw


def _try_again(**changes: Any) -> object:
    split_sentences.cache_clear()
    return try_of(outcome(raw(result__evidence=None, **changes)))


READERS: dict[str, Callable[[str], object]] = {
    "read": reasoning.read_reasoning.__wrapped__,
    "stated": reasoning.read_statements.__wrapped__,
    "how": lambda text: reasoning.describe_cause(
        outcome(raw(result__summary=text, result__evidence=None))
    ),
    "signature": signature,
    "answer": lambda text: answer_of(outcome(raw(decision__reasoning=text))),
    "try": lambda text: _try_again(decision__reasoning=text),
    "claim": lambda text: _try_again(decision__reasoning="", result__claim=text),
}
PARTS = (
    "a/",
    "-",
    "(",
    "1.",
    "1",
    "1,",
    " ",
    "\n",
    "\n ",
    '"',
    "`",
    "_",
    ".",
    "the ",
    "answer.txt ",
)


LEAST = 0.01  # seconds; below, a ratio says nothing


def _work(reader: Callable[[str], object], text: str) -> float:
    """The least of five times, in seconds of the processor; the first that is below `LEAST`."""
    times: list[float] = []
    while len(times) < 5 and min(times, default=LEAST) >= LEAST:
        start = time.process_time()
        reader(text)
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("part", PARTS)
def test_reading_grows_no_faster_than_what_is_read(reader: str, part: str) -> None:
    few, many = (f"x{part * (count // len(part))}!x" for count in (5_000, 20_000))
    work = _work(READERS[reader], many)
    # Four times the text: linear work takes 4 times as long, quadratic 16 times.
    assert work < LEAST or work < 9 * _work(READERS[reader], few)

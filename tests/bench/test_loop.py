"""The streams of the bench of the loop are what their names say."""

from itertools import islice
from random import Random
from typing import Any

from loop import STREAMS
from stream import stream


def outcomes(name: str, count: int = 2_000) -> list[dict[str, Any]]:
    chance = Random(name)
    return [STREAMS[name](one, chance) for one in islice(stream(count), count)]


def subjects(name: str) -> set[tuple[str, str, str]]:
    return {
        (one["domain"], one["decision"]["action"], one["decision"]["target"])
        for one in outcomes(name)
    }


def test_few_subjects_and_about_a_thousand() -> None:
    assert len(subjects("few subjects")) == 16
    assert 800 <= len(subjects("a thousand subjects")) <= 1_000


def test_one_action_is_one() -> None:
    assert {action for _, action, _ in subjects("one action")} == {"fix"}


def test_one_topic_is_told_in_many_ways_of_one_subject() -> None:
    assert len(subjects("one topic")) == 1
    assert len({one["decision"]["reasoning"] for one in outcomes("one topic")}) > 400

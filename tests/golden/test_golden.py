"""Each story still ends as it is written."""

import pytest

from tests.golden import HERE, STORIES, masked
from tests.golden.stage import Stage


@pytest.mark.parametrize("story", STORIES)
def test_the_story_ends_as_written(story: str, stage: Stage) -> None:
    expected = (HERE / story / "expected.txt").read_text(encoding="utf-8")
    assert stage.text(story) == expected


def test_ids_of_objects_are_masked_and_those_of_records_stay() -> None:
    commit = "4fbb60d198e4a2c1d7b09f3362ab55e0c1d2f3a4"
    ids = f"{commit} {commit[:10]} [main {commit[:7]}] index {commit[:7]}..c0fb74f 100644"
    assert masked(ids) == "SHA SHA [main SHA] index SHA..SHA 100644"
    kept = "20261102t111500z-97baddc21c link:merged-0a1b2c3d4e prompt: 06f28e3649d9 a-f71139"
    assert masked(kept) == kept

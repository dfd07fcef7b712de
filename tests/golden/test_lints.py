"""Every text that the program wrote in a story reads as it should."""

from pathlib import Path

import pytest
import yaml

from tests import lints
from tests.golden import STORIES
from tests.golden.stage import Stage

CLAUDES = "with-claude"  # whose words are a model's


@pytest.mark.parametrize("story", [story for story in STORIES if story != CLAUDES])
def test_the_texts_of_a_story_pass_the_lints(story: str, stage: Stage) -> None:
    outcomes = map(yaml.safe_load, stage.outcomes(story))
    sources = [text for outcome in outcomes for text in lints.strings_in(outcome)]
    paths = sorted(stage.vault(story).glob("*/*/SKILL.md"))
    texts = [lints.read_text(path.parent, sources) for path in paths if is_generated(path)]
    assert [problem for text in texts for problem in lints.problems(text)] == []
    assert list(lints.told_in_both(texts)) == []


def is_generated(path: Path) -> bool:
    """Return True if the program wrote a SKILL.md."""
    return "\n  origin: generated\n" in path.read_text(encoding="utf-8")

"""Write what stories give now, those named or all; the diff is for a person to read."""

import sys
import tempfile
from pathlib import Path

from tests.golden import HERE, STORIES, played

for story in sys.argv[1:] or STORIES:
    with tempfile.TemporaryDirectory() as folder:
        text = played(story, Path(folder) / "place")
    (HERE / story / "expected.txt").write_text(text, encoding="utf-8")
    print(story)

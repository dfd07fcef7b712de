"""Stories that are played once in a run of the tests, whichever workers ask for them.

The present program plays them, and the result is deleted when the run ends.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.golden import played


class Stage:
    """Stories in a folder that all workers share; its files are only read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)

    def text(self, story: str) -> str:
        """Return what the story's person sees, and the vault's log and files afterwards."""
        self._play(story)
        return self._text(story).read_text(encoding="utf-8")

    def outcomes(self, story: str) -> list[str]:
        """The text of each outcome in the work tree of the story's vault, by path."""
        paths = sorted(self.vault(story).glob("outcomes/**/*.yaml"))
        return [path.read_text(encoding="utf-8") for path in paths]

    def vault(self, story: str) -> Path:
        """The story's vault afterwards."""
        self._play(story)
        return self._folder / story / "vault"

    def _play(self, story: str) -> None:
        with self._locked(story):
            if not self._text(story).exists():
                text = played(story, self._folder / story)
                draft = self._folder / f"{story}.draft"
                draft.write_text(text, encoding="utf-8")
                draft.rename(self._text(story))

    def _text(self, story: str) -> Path:
        return self._folder / f"{story}.txt"

    @contextmanager
    def _locked(self, story: str) -> Iterator[None]:
        with (self._folder / f"{story}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
